"""The forms of answers: which one a prompt asks for in words, if its request has no constraint, and what writes each.

`Answer only with valid JSON`, DSPy's sections, the code of smolagents, the steps of agents that call tools in words.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from mockserver.core.generation import Constraint, Prompt
from mockserver.model.tokens import Phrase

# Writes the answer to a prompt, with a key that decides what is random, under a schema.
FormatWriter = Callable[[Prompt, int, Any], Iterator[Phrase | None]]

# How many characters of a message are searched for an order, from its end.
_SEARCHED = 20_000
# How many characters of a sentence before its order are examined.
_SENTENCE = 300
# How many characters of the first message are searched for an agent's tools.
_SYSTEM = 40_000
# The longest order, up to "json", and what is looked at behind that.
_LONGEST_ORDER = 200
_BEHIND = 40

# These expressions are compiled with the first text that mentions JSON, so that the server starts sooner.
_ORDER = (
    r"(?i)\b(?:answer|respond|reply|response|return|output|provide|give|produce|generate|emit|list|extract|classify|"
    r"format(?:ted)?|ответь|отвечай|ответ|верни|выведи|дай|antworte|gib|réponds|renvoie|responde|devuelve)\w*\b"
    r"(?=(?P<list>(?:(?!json)[^.?!\n]){0,40}?\b(?:list|array) of\b)?)[^.?!\n]{0,120}?"
    # "the advantages of JSON" are a subject
    r"\b(?:(?<!of )(?<!about )json|json(?= (?:objects|arrays|records|values)))\b"
    r"(?!\s*(?:schema\b(?!\s+below)|parser|files?\b|library|path|web))[- ]?(?P<array>array|list)?"
    # Of JSON that is only wanted, its content must be said.
    r"|\b(?:create|make|build|write|need|want|send|show)\w*\b[^.?!\n]{0,40}?\b(?:an?|some|valid|the) json"
    r"(?: object| document| response| answer)? (?:with|containing|including|that|of|for|describing|representing)\b"
    r"|\bjson format:\s{0,9}(?P<object>\{)|\bjson only\b|\b(?:only|nothing but)\b(?: \w+){0,3} json\b"
)
# How an answer begins that the request goes on from: "{", "```json".
_BEGUN_JSON = r"(?:\A|\n)[ \t]{0,9}(?:(?P<array>\[)|\{|```json)\s{0,9}\Z"
_LONGEST_BEGUN = 400
_SENTENCE_END = r"[.?!\n](?=\s|$)"
# Words of sentences about reading, explaining or programming JSON rather than answering with it.
_OTHER_MATTERS = (
    r"(?i)\b(?:function|method|script|code|program|class|endpoint|parser?|parsing|from|this|explain|difference|what|why|"
    r"how|функци\w+|код|скрипт)\b"
)


def requested_format(prompt: Prompt) -> Constraint | None:
    """The form that a prompt asks for: an object, an array of them, sections, code, steps or tags; None for most."""
    if "[[ ## completed ## ]]" in prompt.topic[-_SEARCHED:] or (
        prompt.messages and "def final_answer(" in prompt.messages[0].text[:_SYSTEM]
    ):
        # Few prompts are those of such frameworks, so the module is imported with the first.
        from mockserver.model.output_formats.frameworks import framework_format

        form = framework_format(prompt)
        if form is not None:
            return form
    if "Action Input:" in prompt.text[:_SYSTEM]:
        from mockserver.model.output_formats.frameworks import wants_steps

        form = wants_steps(prompt)
        if form is not None:
            return form
    if prompt.messages and prompt.messages[-1].role == "assistant":
        begun = re.search(_BEGUN_JSON, prompt.messages[-1].text[-_LONGEST_BEGUN:])
        if begun is not None:
            return Constraint("json_array" if begun["array"] else "json_object")
    form = None
    text = prompt.text
    if prompt.chat and ">" in text and ("</" in text or "> tag" in text or "> XML tag" in text):
        from mockserver.model.output_formats.tags import holds_json, tagged

        form = tagged(prompt)
        if form is not None and holds_json(form.schema):
            return form
    # The latest text first; few mention JSON.
    for whole in (prompt.topic, *(reversed(prompt.instructions) if len(prompt.messages) > 1 else ())):
        text = whole[-_SEARCHED:]
        if "json" not in text.lower():
            continue
        orders = _orders(text)
        first = next(filter(_is_meant, orders), None)
        if first is not None:
            # An object that is written out goes before a list in words, which may be one of its values.
            is_list = (first["array"] or first["list"]) and not any(order["object"] for order in orders)
            return Constraint("json_array" if is_list else "json_object")
    return form


def _is_meant(order: re.Match[str]) -> bool:
    """Whether the sentence asks for an answer in JSON, and not for a program or an explanation."""
    before = order.string[max(order.start() - _SENTENCE, 0) : order.start()]
    return not re.search(_OTHER_MATTERS, re.split(_SENTENCE_END, before)[-1] + order[0])


def _orders(text: str) -> Iterator[re.Match[str]]:
    """What may be an order in a text; only the surroundings of "json" are searched."""
    places = [mention.start() for mention in re.finditer("(?i)json", text)]
    while places:
        start = max(places[0] - _LONGEST_ORDER, 0)
        end = start
        while places and places[0] - _LONGEST_ORDER <= end:
            end = places.pop(0) + _BEHIND
        yield from _order().finditer(text, start, end)


@cache
def _order() -> re.Pattern[str]:
    return re.compile(_ORDER)


@cache
def writers() -> Mapping[str, FormatWriter]:
    """The writers of answers, by the kind of constraint; each gets the schema of the constraint.

    They take some 40 ms to import, and few requests need them.
    """
    from mockserver.model.output_formats.frameworks import write_action, write_sections, write_steps
    from mockserver.model.output_formats.json_answers import write_array, write_grammar, write_object, write_schema
    from mockserver.model.output_formats.tags import write_tags
    from mockserver.model.regex import tell_match

    return {
        "json_object": write_object,
        "json_array": write_array,
        "json_schema": write_schema,
        "json_complete": partial(write_schema, complete=True),
        "regex": lambda prompt, key, pattern: tell_match(pattern, key),
        "grammar": write_grammar,
        "sections": write_sections,
        "action": write_action,
        "steps": write_steps,
        "tags": write_tags,
    }
