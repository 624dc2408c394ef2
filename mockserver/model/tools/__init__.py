"""Tools in a prompt: what they have returned, and the answer in words that states it, in the prompt's language.

Which tools are called, and with which arguments, is decided by `calls.py`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from mockserver.core.generation import Message
from mockserver.core.json_values import read_json
from mockserver.model.languages import sections
from mockserver.model.tokens import Phrase, fresh_phrase, phrase

# The maximum number of results in a report, and of values and of characters in the gist of each.
_MOST_RESULTS = 4
_MOST_VALUES = 6
_MOST_CHARACTERS = 160

# How smolagents writes out calls and their results.
_CALLING = "Calling tools:"
_CALLED = r"'function': \{'name': '([^']+)'"
_OBSERVED = "Observation:"


def results(messages: Sequence[Message]) -> list[Message]:
    """The results of tools since the last user message, in order; some agents send them as user messages."""
    found: list[Message] = []
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.answers is not None:
            found.append(message)
        elif message.role == "user":
            observed = observations(messages, place)
            if not observed:
                break
            found += observed
    return found[::-1]


def observations(messages: Sequence[Message], place: int) -> list[Message]:
    """The results in a user message that smolagents sends after calls, in reverse order; none in other messages."""
    message, before = messages[place], messages[place - 1] if place else None
    if before is None or before.role != "assistant" or not message.text.startswith(_OBSERVED):
        return []
    called = re.findall(_CALLED, before.text.partition(_CALLING)[2])
    text = message.text[len(_OBSERVED) :].strip()
    # One message has all results together; their text goes to the first call.
    return [Message("tool", "" if number else text, name) for number, name in enumerate(called)][::-1]


def report(answers: Sequence[Message], wording: str) -> Iterator[Phrase]:
    """A sentence that states the results of the tools, in a wording with a slot for them."""
    findings = "; ".join(text for answer in answers[-_MOST_RESULTS:] if (text := gist(answer.text)))
    before, _, after = wording.partition("{result}")
    # The space before a slot belongs to what fills it, as in its tokens.
    blank = " " if before.endswith(" ") else ""
    yield phrase(before.removesuffix(" "))
    yield fresh_phrase(f"{blank}{findings or '—'}")
    yield phrase(after)


def gist(text: str) -> str:
    """The first values of a JSON object with their names, or the beginning of any other text, on one line."""
    try:
        value = read_json(text)
    except ValueError:
        value = text
    if isinstance(value, Mapping):
        return _shortened(", ".join(list(_values(value))[:_MOST_VALUES]))
    return _shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _values(value: Mapping[str, Any]) -> Iterator[str]:
    for name, own in value.items():
        if isinstance(own, Mapping):
            yield from _values(own)
        elif isinstance(own, str):
            yield f"{name}: {own}"
        else:
            yield f"{name}: {json.dumps(own, ensure_ascii=False)}"


def _shortened(text: str) -> str:
    line = " ".join(text.split()).rstrip(".。")
    if len(line) <= _MOST_CHARACTERS:
        return line
    return line[:_MOST_CHARACTERS].rsplit(" ", 1)[0] + "…"


@cache
def words(name: str) -> frozenset[str]:
    """A section of `words.txt`, whose words may have several endings: `us(e|ing)`."""
    lines = sections("tools/words.txt")[name]
    return frozenset(word for line in lines for written in line.split() for word in _spelled_out(written))


def _spelled_out(written: str) -> Iterator[str]:
    stem, varies, endings = written.partition("(")
    return (stem + ending for ending in endings.rstrip(")").split("|")) if varies else iter((written,))
