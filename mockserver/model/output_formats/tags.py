"""Answers between XML tags: those that a prompt orders in words ("put your answer in <answer> tags"), and those of a
form that it writes out ("in this format: <reasoning>...</reasoning><selection>...</selection>")."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mockserver.core.generation import Constraint, Prompt
from mockserver.core.seeding import derive
from mockserver.model.extraction import filled
from mockserver.model.intent import detect_intent
from mockserver.model.output_formats.descriptions import SEARCHED, described_object
from mockserver.model.output_formats.json_answers import USUAL, without_braces
from mockserver.model.schema import as_part, object_of, write_instance
from mockserver.model.tokens import Phrase, fresh_phrase

# The most tags of an answer.
_MOST = 20
# The most characters of a list of choices.
_SHORT = 120
_TEXT = {"type": "string"}
# Of what stands as JSON between its tags: the object that the prompt describes.
_JSON = {"type": "object"}
_TAG = r"[A-Za-z][\w-]{0,40}"
# "Think ... inside <thinking></thinking> tags", "between <a> and </a>": the tags, and the order that ends before them
_TAGS = re.compile(
    rf"<(?P<tag>{_TAG})>(?:</(?P=tag)>|(?: and |\.\.\.|…) ?</(?P=tag)>| (?:XML )?tags?\b)",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:output|put|write|place|provide|give|return|respond|answer|reply|wrap|enclose|include|think|explain|list|format|"
    r"state|produce|print|generate|present|show|summari[sz]e|draft|extract|describe|say|reason|brainstorm|use)\w*\b"
    r"(?P<words>[^.\n<>]{0,240}?)\b(?:in|inside|within|between|using|with|into)\b[^.\n<>]{0,30}\Z",
    re.IGNORECASE,
)
_LONGEST_ORDER = 300
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
_FILLED = re.compile(rf"<({_TAG})>(?! ?(?:XML )?tags?\b| and </|\.\.\.|…)\s*[^<\s]")
_HTML = frozenset((
    "p", "a", "b", "i", "u", "br", "hr", "em", "div", "span", "strong", "h1", "h2", "h3", "h4", "ul", "li", "table",
    "ol", "tr", "td", "th", "pre", "code", "img", "html", "head", "body", "script", "style", "form", "input", "button",
))  # fmt: skip
# Of several verdicts, the one that ends the loops of agents.
_GOOD = frozenset(("pass", "passed", "correct", "yes", "true", "approved", "accept", "accepted", "good", "valid"))


def wanted_tags(text: str) -> dict[str, Any] | None:
    """The schema of the object of what an answer holds between tags, by tag; None if a text asks for no tags."""
    stretch = text[-SEARCHED:]
    announced = _ANNOUNCED.search(stretch)
    form = _form(stretch, announced.end()) if announced else {}
    # What stands between tags already is a text of the prompt's.
    filled_in = frozenset(_FILLED.findall(stretch))
    for tag, order in _orders(stretch):
        if len(form) == _MOST:
            break
        if tag not in form and tag not in filled_in and tag.lower() not in _HTML:
            offered = _QUOTED.findall(order["words"])
            if "json" in tag.lower() or re.search(r"(?i)\bjson\b", order["words"]):
                form[tag] = _JSON
            else:
                form[tag] = _one_of(offered) if len(offered) > 1 else _TEXT
    return object_of(form) if form else None


def _orders(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """The tags that a text orders in words, each with the order."""
    before = 0
    for tags in _TAGS.finditer(text):
        order = _ORDER.search(text, max(tags.start() - _LONGEST_ORDER, before), tags.start())
        before = tags.end()
        if order is not None:
            yield tags["tag"], order


def _form(text: str, place: int) -> dict[str, Any]:
    form: dict[str, Any] = {}
    while len(form) < _MOST and (block := _BLOCK.match(text, place)):
        held, place = block["held"].strip(), block.end()
        if re.match(rf"<{_TAG}>", held):
            inner = _form(held, 0)
            form[block["tag"]] = object_of(inner) if inner else _TEXT
        elif held.startswith("{"):
            form[block["tag"]] = _JSON
        elif len(held) <= _SHORT and _CHOICE.fullmatch((choices := _PARTED.split(held.strip("[]")))[0]) and choices[1:]:
            form[block["tag"]] = _one_of(choices)
        elif _CHOSEN.search(held) and (options := _OPTIONS.search(text)):
            form[block["tag"]] = _one_of([each.strip(" '\"") for each in options[1].split(",")])
        else:
            form[block["tag"]] = {"const": held} if _EXAMPLE.fullmatch(held) else _TEXT
    return form


def _one_of(choices: Sequence[str]) -> dict[str, Any]:
    good = next((choice for choice in choices if choice.lower() in _GOOD), None)
    return {"enum": choices} if good is None else {"const": good}


def tagged(prompt: Prompt) -> Constraint | None:
    """The constraint of the tags that a prompt, or else the instructions before it, asks for."""
    for text in (prompt.topic, *reversed(prompt.instructions if len(prompt.messages) > 1 else ())):
        schema = wanted_tags(text) if "<" in text else None
        if schema is not None:
            return Constraint("tags", schema)
    return None


def holds_json(schema: Any) -> bool:
    """Whether JSON stands between some of the tags."""
    return _JSON in schema["properties"].values()


def write_tags(prompt: Prompt, key: int, schema: Any) -> Iterator[Phrase | None]:
    """The tags that a schema names, each with its value."""
    content = _without_orders(prompt.topic[-SEARCHED:], schema["properties"])
    about = detect_intent(content)
    parts = schema["properties"]
    if holds_json(schema):
        described, content = as_part(described_object(prompt) or USUAL), without_braces(content)
        schema = object_of({tag: described if part == _JSON else part for tag, part in parts.items()})
    values = json.loads(write_instance(schema, derive(key, "tags"), about.language, about.subject))
    values = filled(values, schema, content)
    return iter((fresh_phrase("\n\n".join(_written(parts, values))), None))


def _without_orders(topic: str, tags: Iterable[str]) -> str:
    """A topic without its form of tags, its orders of tags and its choices: no answer is about these."""
    announced = _ANNOUNCED.search(topic)
    if announced and (end := max(topic.rfind(f"</{tag}>", announced.end()) for tag in tags)) > 0:
        start = topic.rfind("\n", 0, announced.start()) + 1
        topic = topic[:start] + topic[end:].partition(">")[2]
    for _, order in reversed([*_orders(topic)]):
        topic = topic[: order.start()] + topic[order.end() :]
    return _OPTIONS.sub("", topic).strip()


def _written(parts: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[str]:
    for tag, part in parts.items():
        value = values[tag]
        if part == _JSON:
            value = json.dumps(value, ensure_ascii=False, indent=2)
        elif "properties" in part:
            value = "\n".join(_written(part["properties"], value))
        # Words that are given stand on the line of their tags.
        yield f"<{tag}>\n{value}\n</{tag}>" if "type" in part else f"<{tag}>{value}</{tag}>"
