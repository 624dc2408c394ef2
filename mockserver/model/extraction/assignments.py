"""Values that a prompt gives by name: "city = Oslo", "with the subject Hello and the body See you"."""

import re
from collections.abc import Iterator
from json import JSONDecoder
from math import isfinite
from typing import Any

from mockserver.model.intent import STRETCH

LONGEST_NUMBER = 15
UNQUOTED = r"(?![\"'“„«`])"
# Keys of an object may be listed, as in "JSON with title and year".
NO_KEYS = r"(?!(?:and|or)\b)"


def number_of(text: str) -> int | float:
    """The number that a text stands for; a ValueError if it is long, or fits in no JSON."""
    if len(text) > LONGEST_NUMBER or not isfinite(value := int(text) if text.strip("-").isdecimal() else float(text)):
        raise ValueError(text)
    return value


# What an assignment gives, and what may follow it.
_JSON = JSONDecoder(parse_int=number_of, parse_float=number_of, parse_constant=number_of)
_AFTER_VALUE = re.compile(r"(?=[,;)]|\.?(?:\s|$))")
_ASSIGNED = re.compile(
    r"'([^'\n]{1,200})'(?!\w)|`([^`\n]{1,200})`"
    r"|([^\s\"'`,;()][^\n,;()]{0,200}?)(?= (?:and|exactly|in parallel)\b|[,;()]|\.(?:\s|$)|\s*(?:\n|$))"
)


# "name: bob, city: berlin": a single colon may as well stand before a text that is worked on.
_LISTED = re.compile(r"(?:^|[,;\n])\s*\w{1,40}: ?[^\s{\[]", re.ASCII)


def assigned_to(parameter: str, topic: str) -> Iterator[Any]:
    """The values that an assignment has for a parameter, as JSON and as text: "city = Oslo", "sizes=[1, 2]", or several
    such as "name: bob, city: berlin"."""
    if not ("=" in topic or ":" in topic) or len(parameter) > STRETCH or not parameter.isidentifier():
        return
    colon = rf"|(?:^|[,;\n]\s*){parameter}:" if len(_LISTED.findall(topic)) > 1 else ""
    for match in re.finditer(rf"(?:(?<!\w){parameter} ?=(?![=>]){colon}) ?", topic, re.IGNORECASE):
        try:
            value, end = _JSON.raw_decode(topic, match.end())
            if _AFTER_VALUE.match(topic, end):
                yield value
        except (ValueError, RecursionError):
            pass
        text = _ASSIGNED.match(topic, match.end())
        if text is not None:
            yield text[text.lastindex or 0]


def _spelled(name: str, topic: str) -> str:
    """The expression for a name of a property, written with underscores or blanks; empty if the topic lacks it."""
    is_there = name.isidentifier() and name.lower().replace("_", " ") in topic.lower().replace("_", " ")
    return name.replace("_", "[_ ]") if is_there else ""


def named_value(name: str, topic: str) -> Iterator[str]:
    """What follows the name of a property: "with the subject Hello and the body See you", "the command: `ls`"."""
    spelled = _spelled(name, topic)
    if len(name) < 3 or not spelled:
        return iter(())
    found = re.finditer(
        rf"\b{spelled}(?:(?: of| is|:|=) ?| )(?:\"([^\"\n]{{1,300}})\"|'([^'\n]{{1,300}})'(?!\w)|`([^`\n]{{1,300}})`)"
        rf"|\b(?:with|and) (?:the |an? )?{spelled}(?: of(?! (?:an?|the|each|every|all)\b)| is|:)? {NO_KEYS}(?!\(|of\b)"
        rf"{UNQUOTED}([^\n]{{1,120}}?)"
        r"(?= and (?:(?:the|an?|with)\b|\w+ \S*[@\d])|[.,;!?](?:\s|$)|\s*\n|\s*$)",
        topic,
        re.IGNORECASE,
    )
    return (next(filter(None, match.groups())) for match in found)


def listed_for(name: str, topic: str) -> list[str]:
    """The items of a list that follows the name of a property: "skills: Python, Go and SQL"."""
    spelled = _spelled(name, topic)
    if not spelled:
        return []
    found = re.search(rf"\b{spelled}(?::| are| include) ?([^\n.;:\[{{\"]{{3,300}})", topic, re.IGNORECASE)
    return [item.strip() for item in re.split(r",\s*(?:and )?| and ", found[1]) if item.strip()] if found else []
