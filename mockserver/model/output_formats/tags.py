"""Answers between XML tags: those that a prompt orders in words ("put your answer in <answer> tags"), and those of a
form that it writes out ("in this format: <reasoning>...</reasoning><selection>...</selection>")."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.generation import Constraint, Prompt
from mockserver.core.seeding import Draws, derive
from mockserver.model.corpus import Phrase, fresh_phrase
from mockserver.model.extraction.instances import filled
from mockserver.model.intent import detect_intent
from mockserver.model.schema import object_of, write_instance

# How many characters at the end of a text are searched, and the most tags of an answer.
_SEARCHED = 20_000
_MOST = 20
# The most characters of a list of choices.
_SHORT = 120
_TAG = r"[A-Za-z][\w-]{0,40}"
# "Think ... inside <thinking></thinking> tags", "between <a> and </a>"
_ORDERED = re.compile(
    r"\b(?:output|put|write|place|provide|give|return|respond|answer|reply|wrap|enclose|include|think|explain|list|format|"
    r"state|produce|print|generate|present|show|summari[sz]e|draft|extract|describe|say|reason|brainstorm|use)\w*\b"
    rf"(?P<words>[^.\n<>]{{0,240}}?)\b(?:in|inside|within|between|using|with|into)\b[^.\n<>]{{0,30}}<(?P<tag>{_TAG})>"
    rf"(?:</(?P=tag)>|(?: and |\.\.\.|…) ?</(?P=tag)>| (?:XML )?tags?\b)",
    re.IGNORECASE,
)
# Where a form begins.
_ANNOUNCED = re.compile(
    r"\b(?:format|structure|template|form|as follows|like this|xml)\b[^\n<]{0,60}[ \t]{0,9}\n{1,3}(?:```\w*\n)?\s{0,9}"
    rf"(?=<{_TAG}>)",
    re.IGNORECASE,
)
_BLOCK = re.compile(rf"\s{{0,20}}<(?P<tag>{_TAG})>(?P<held>.{{0,2000}}?)</(?P=tag)>", re.DOTALL)
# "PASS, NEEDS_IMPROVEMENT, or FAIL"
_CHOICE = re.compile(r"[\w-]{1,40}(?: [\w-]{1,40}){0,2}")
_PARTED = re.compile(r", or |, | or | ?[|/] ?")
_QUOTED = re.compile(r"['\"]([\w -]{1,40})['\"]")
# "from these options: ['billing', 'account']"
_OPTIONS = re.compile(
    r"\b(?:options|categories|labels|teams|classes|choices)\b[^:\n\[]{0,40}:?\s{0,3}\[([^\]\n]{1,1000})\]",
    re.IGNORECASE,
)
_CHOSEN = re.compile(r"\b(?:chosen|selected|selection|category|label|choice|class)\b", re.IGNORECASE)
_EXAMPLE = re.compile(r"[a-z][a-z_-]{0,30}")
_HTML = frozenset((
    "p", "a", "b", "i", "u", "br", "hr", "em", "div", "span", "strong", "h1", "h2", "h3", "h4", "ul", "li", "table",
    "ol", "tr", "td", "th", "pre", "code", "img", "html", "head", "body", "script", "style", "form", "input", "button",
))  # fmt: skip
# Of several verdicts, the one that ends the loops of agents.
_GOOD = frozenset(("pass", "passed", "correct", "yes", "true", "approved", "accept", "accepted", "good", "valid"))


def wanted_tags(text: str) -> dict[str, Any] | None:
    """What an answer holds between tags, by tag: a schema, an example (a text), or the same of the tags within it. None
    if a text asks for no tags."""
    stretch = text[-_SEARCHED:]
    announced = _ANNOUNCED.search(stretch)
    form = _form(stretch, announced.end()) if announced else {}
    for order in _ORDERED.finditer(stretch):
        tag = order["tag"]
        # What stands between tags already is a text of the prompt's.
        filled_in = re.search(rf"<{tag}>(?! ?(?:XML )?tags?\b| and </|\.\.\.|…)\s*[^<\s]", stretch)
        if tag not in form and len(form) < _MOST and not filled_in and tag.lower() not in _HTML:
            offered = _QUOTED.findall(order["words"])
            form[tag] = {"enum": offered} if len(offered) > 1 else {"type": "string"}
    return form or None


def _form(text: str, place: int) -> dict[str, Any]:
    form: dict[str, Any] = {}
    while len(form) < _MOST and (block := _BLOCK.match(text, place)):
        held, place = block["held"].strip(), block.end()
        if re.match(rf"<{_TAG}>", held):
            form[block["tag"]] = _form(held, 0) or {"type": "string"}
        elif len(held) <= _SHORT and _CHOICE.fullmatch((choices := _PARTED.split(held.strip("[]")))[0]) and choices[1:]:
            form[block["tag"]] = {"enum": choices}
        elif _CHOSEN.search(held) and (options := _OPTIONS.search(text)):
            form[block["tag"]] = {"enum": [each.strip(" '\"") for each in options[1].split(",")]}
        else:
            form[block["tag"]] = held if _EXAMPLE.fullmatch(held) else {"type": "string"}
    return form


def tagged(prompt: Prompt) -> Constraint | None:
    """The constraint of the tags that a prompt, or else the instructions before it, asks for."""
    for text in (prompt.topic, *reversed(prompt.instructions if len(prompt.messages) > 1 else ())):
        form = wanted_tags(text) if "<" in text else None
        if form is not None:
            return Constraint("tags", form)
    return None


def write_tags(prompt: Prompt, key: int, form: Any) -> Iterator[Phrase | None]:
    """The tags of a form, each with what it asks for."""
    about = detect_intent(prompt.topic)
    schema = object_of(_texts(form))
    values = json.loads(write_instance(schema, derive(key, "tags"), about.language, about.subject))
    values = filled(values, schema, prompt.topic, frozenset(), guessing=False)
    return iter((fresh_phrase("\n\n".join(_written(form, values, Draws(derive(key, "choices"))))), None))


def _texts(form: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of all texts in a form by their tags."""
    texts: dict[str, Any] = {}
    for tag, held in form.items():
        if held == {"type": "string"}:
            texts[tag] = held
        elif isinstance(held, Mapping) and "enum" not in held:
            texts |= _texts(held)
    return texts


def _written(form: Mapping[str, Any], values: Mapping[str, Any], draws: Draws) -> Iterator[str]:
    for tag, held in form.items():
        if isinstance(held, str):
            yield f"<{tag}>{held}</{tag}>"
        elif "enum" in held:
            good = next((choice for choice in held["enum"] if choice.lower() in _GOOD), None)
            yield f"<{tag}>{draws.pick(held['enum']) if good is None else good}</{tag}>"
        elif held == {"type": "string"}:
            yield f"<{tag}>\n{values[tag]}\n</{tag}>"
        else:
            inner = "\n".join(_written(held, values, draws))
            yield f"<{tag}>\n{inner}\n</{tag}>"
