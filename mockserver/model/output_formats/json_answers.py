"""Answers in JSON: an instance of a schema or, if only JSON is requested, of an object that the prompt describes; or a
text of a grammar of JSON values and function calls, or of any of its rules:

    root        = fcall | nofcall
    fcall       = func
    nofcall     = prose that is no JSON
    funcarray   = "[" ws func { "," ws func } ws "]" ws
    func        = an object of "name", a string, and "arguments", an object
    value       = insidevalue ws
    insidevalue = object | array | string | number | "true" | "false" | "null"
    ws          = { " " | tab | line end }

Objects, arrays, strings and numbers are those of JSON, each with white space after it, which continues a text that must
not end. A text of `ws` itself has at least one character.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.core.seeding import Draws, derive
from mockserver.model import languages
from mockserver.model.extraction import accepting, filled
from mockserver.model.extraction.narrowed import of_kind, wanted_items, with_items
from mockserver.model.intent import NUMBERS, Intent, detect_intent
from mockserver.model.output_formats.descriptions import SEARCHED, described_object, stated_pairs
from mockserver.model.output_formats.frameworks import next_step, without_headings
from mockserver.model.output_formats.keys import restricted
from mockserver.model.prose import write_prose
from mockserver.model.schema import array_of, as_part, compact, object_of, write_instance
from mockserver.model.terms import terms
from mockserver.model.tokens import Phrase, fresh_phrase, phrase
from mockserver.model.tools.corrections import corrected, refusals, with_request

# How many characters of a text are tokenized at a time.
_PIECE = 1000
# How much of the last message may be the beginning of an answer, in characters.
_LONGEST_BEGUN = 400
# Longer instances are not filled.
_LONGEST_FILLED = 4000

_MINIFIED = re.compile(
    r"\b(?:minified|compact|(?:single|one)[- ]line)\b[^.\n]{0,30}\bjson\b|\bjson\b[^.\n]{0,40}\b(?:on|in) (?:a|one) "
    r"(?:single )?line\b",
    re.IGNORECASE,
)
USUAL = object_of({
    "subject": {"type": "string"},
    "answer": {"type": "string"},
    "confidence": {"type": "number", "minimum": 0.5, "maximum": 1},
})  # fmt: skip
_USUAL_ITEMS = 3
# "a list of colors", "three cities as JSON", "two users in JSON, each with"
_LISTED = re.compile(
    rf"\b(?:(?P<list>list|array) of|\d{{1,2}}|{'|'.join(NUMBERS)}|some|several|a few) "
    r"(?:[\w-]{1,20} ){0,2}?(?P<noun>[^\W\d_]{2,30}s)\b(?(list)|[^.\n]{0,20}? (?:as|in) (?:an? )?(?:valid )?json\b)"
    r"(?P<each>[^.\n]{0,20},? each\b)?",
    re.IGNORECASE,
)


def write_schema(prompt: Prompt, key: int, schema: object, *, complete: bool = False) -> Iterator[Phrase | None]:
    """An instance of a schema, in the language of the prompt, filled with what the prompt names; if `complete`, with
    every property that the schema names, as far as they are compatible."""
    prompt = with_request(prompt)
    about = detect_intent(prompt.topic)
    stated = of_kind(restricted(schema, prompt.text[-SEARCHED:]), prompt.topic)
    sized = with_items(stated, wanted_items(prompt.topic))
    text = write_instance(sized, key, about.language, about.subject, complete=complete)
    return _then_blanks(_holding(text, stated, prompt, key))


def write_object(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """An object that the prompt describes by a schema, an example or its keys; or of the list that it asks for, such as
    "three cities"; else one of our own."""
    described, listed = described_object(prompt), _LISTED.search(prompt.topic[-SEARCHED:])
    if listed is not None and (listed["each"] or not described):
        described = object_of({listed["noun"]: _several(prompt, described)})
    return _written(with_request(prompt), key, described or USUAL)


def write_array(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """An array of such objects; of strings, such as "a list of colors" has, if the prompt describes no object."""
    described, listed = described_object(prompt), _LISTED.search(prompt.topic[-SEARCHED:])
    name = listed["noun"] if listed and not described else ""
    return _written(prompt, key, object_of({name: _several(prompt, described)}), within=name)


def _several(prompt: Prompt, item: Any) -> Any:
    """The schema of an array with as many items as a prompt asks for: of different strings if there is no `item`."""
    array = array_of(as_part(item)) if item else {**array_of({"type": "string"}), "uniqueItems": True}
    return with_items(array, detect_intent(prompt.topic).items or _USUAL_ITEMS)


def _written(prompt: Prompt, key: int, schema: object, within: str | None = None) -> Iterator[Phrase | None]:
    """An instance of a schema, or what is `within` it; indented as models write JSON in answers, or on one line if the
    prompt asks for that."""
    about = detect_intent(without_headings(prompt.topic))
    text = _holding(write_instance(schema, key, about.language, about.subject), schema, prompt, key)
    value = json.loads(text) if within is None else json.loads(text)[within]
    if _MINIFIED.search(prompt.text[-SEARCHED:]):
        return _then_blanks(_continuing(prompt, compact(value)))
    return _then_blanks(_continuing(prompt, json.dumps(value, ensure_ascii=False, indent=2)))


def _continuing(prompt: Prompt, text: str) -> str:
    """The rest of a text of which the last message has the beginning: `{`, `{"name":`, "```json", in any spacing."""
    last = prompt.messages[-1] if prompt.messages else None
    if last is None or last.role != "assistant":
        return text
    begun = last.text[-_LONGEST_BEGUN:].rstrip()
    if begun.endswith(("}", "]", "```")):
        # It is complete, and another answer follows.
        return text
    _, fence, behind = begun.rpartition("```json")
    _, opening, behind = (behind if fence else begun).partition(text[0])
    if opening:
        same = re.match(r"\s*".join(map(re.escape, opening + "".join(behind.split()))), text)
        text = text[same.end() :] if same else text
    elif fence:
        text = f"\n{text}"
    return f"{text}\n```" if fence else text


def _holding(text: str, schema: Any, prompt: Prompt, key: int) -> str:
    """An instance of a schema filled with what the prompt names, or with the next step of an agent.

    Questions whose answers are unknown fill nothing, since they do not name these; examples and schemas in a prompt are
    ignored.
    """
    parts = schema.get("properties") if isinstance(schema, Mapping) else None
    step = next_step(prompt, parts, key) if isinstance(parts, Mapping) else {}
    if step and accepting(schema)(stepped := {**json.loads(text), **step}):
        return json.dumps(stepped, ensure_ascii=False)
    topic = without_braces(without_headings(prompt.topic[:SEARCHED])).rstrip()
    if len(text) > _LONGEST_FILLED or not text.startswith("{"):
        return text
    instance = held = json.loads(text)
    if not topic.endswith(("?", "？")):
        about = terms(schema["title"]) if isinstance(schema.get("title"), str) else frozenset[str]()
        held = filled(instance, schema, topic, about)
    accepts = accepting(schema)
    for name, value in stated_pairs(topic).items():
        if name in held and accepts({**held, name: value}):
            held = {**held, name: value}
    held = corrected(held, refusals(prompt.messages), accepts)
    return text if held == instance else compact(held)


def without_braces(topic: str) -> str:
    """A topic without the examples and schemas in it, from the first brace to the last."""
    start, end = topic.find("{"), topic.rfind("}")
    return f"{topic[:start]} {topic[end + 1 :]}" if 0 <= start < end else topic


def _then_blanks(text: str) -> Iterator[Phrase | None]:
    """A text, its natural end, and endless white space for requests that forbid to stop there."""
    for start in range(0, len(text), _PIECE):
        yield fresh_phrase(text[start : start + _PIECE])
    yield None
    while True:
        yield phrase("\n")


# --- grammars of JSON ------------------------------------------------------------------------------------------------

# Functions that suit any subject, with their parameters.
_FUNCTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("search", ("query", "limit")),
    ("look_up", ("term", "language")),
    ("summarize", ("topic", "max_words")),
    ("create_note", ("title", "body")),
    ("find_documents", ("query", "limit", "exact")),
)
_STRING: Mapping[str, Any] = {"type": "string"}
_NUMBER: Mapping[str, Any] = {"type": "number", "minimum": -300, "maximum": 3000}
_PARTS: Mapping[str, Any] = {
    "subject": _STRING,
    "summary": _STRING,
    "count": {"type": "integer"},
    "score": {"type": "number", "minimum": 0, "maximum": 1},
    "verified": {"type": "boolean"},
    "details": {"anyOf": [{"type": "null"}, {"type": "array", "items": _STRING, "maxItems": 3}]},
}
_OBJECT: Mapping[str, Any] = {"type": "object", "properties": _PARTS, "required": ["subject", "summary"]}
_ARRAY: Mapping[str, Any] = {"type": "array", "items": {"anyOf": [_OBJECT, _STRING]}, "minItems": 1, "maxItems": 4}
_VALUE: Mapping[str, Any] = {"anyOf": [_OBJECT, _ARRAY, _STRING, _NUMBER, {"type": ["boolean", "null"]}]}
_CALLS = frozenset(("root", "fcall", "func", "funcarray"))
# The schemas of values. The rule `root` may give prose, but gives a call: a request with a constraint wants structure.
_SCHEMAS = {
    "value": _VALUE, "insidevalue": _VALUE, "object": _OBJECT, "array": _ARRAY, "string": _STRING, "number": _NUMBER,
}  # fmt: skip
ROOTS = frozenset((*_CALLS, *_SCHEMAS, "nofcall", "ws"))


def write_grammar(prompt: Prompt, key: int, root: str) -> Iterator[Phrase | None]:
    """The phrases of a text that the grammar derives from one of its `ROOTS`, and what may follow.

    None marks where it is complete. Raises KeyError for another root.
    """
    draws, about = Draws(key), detect_intent(prompt.topic)
    if root == "nofcall":
        yield from write_prose(prompt, draws)
        return
    if root == "ws":
        yield fresh_phrase(draws.pick(("\n", "\n\n", " ", "  ", "\n    ", "\t")))
    else:
        if root not in _CALLS:
            written = write_instance(_SCHEMAS[root], derive(key, "grammar"), about.language, about.subject)
            value: Any = json.loads(written)
        elif root == "funcarray":
            value = [_call(about, draws) for _ in range(1 + draws.below(3))]
        else:
            value = _call(about, draws)
        yield fresh_phrase(json.dumps(value, ensure_ascii=False, indent=draws.pick((None, None, 2, 4))))
    yield None
    while True:
        yield phrase("\n")


def _call(about: Intent, draws: Draws) -> dict[str, Any]:
    """A call of one of the functions."""
    name, parameters = draws.pick(_FUNCTIONS)
    arguments: dict[str, Any] = {}
    for parameter in parameters:
        if parameter in ("limit", "max_words"):
            arguments[parameter] = 5 + 5 * draws.below(10)
        elif parameter == "exact":
            arguments[parameter] = draws.below(2) == 0
        elif parameter == "body":
            arguments[parameter] = draws.pick(languages.sentences(about.language)["body"])
        else:
            arguments[parameter] = about.language if parameter == "language" else about.subject
    return {"name": name, "arguments": arguments}
