"""Answers to what tools have found: in the prompt's language, with the gist of the results."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockserver.core.generation import Message, Prompt
from mockserver.core.seeding import Draws
from mockserver.generation import corpus
from mockserver.generation.corpus import Phrase, fresh_phrase, phrase

# A report has at most so many results; the gist of each at most so many values, or so many characters.
_MOST_RESULTS = 4
_MOST_VALUES = 6
_MOST_CHARACTERS = 160

# How smolagents writes out what was called, and what came of it.
_CALLING = "Calling tools:"
_CALLED = r"'function': \{'name': '([^']+)'"
_OBSERVED = "Observation:"


def results(messages: Sequence[Message]) -> list[Message]:
    """What tools have answered since the user spoke last, in order; some agents tell it in the user's name."""
    found: list[Message] = []
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.answers is not None:
            found.append(message)
        elif message.role == "user":
            told = _told(messages, place)
            if not told:
                break
            found += told
    return found[::-1]


def asked(prompt: Prompt) -> str:
    """What the user asked last: the topic, unless a result stands there in the user's name."""
    messages = prompt.messages
    users = [place for place, message in enumerate(messages) if message.role == "user"]
    if not users or not _told(messages, users[-1]):
        return prompt.topic
    return next((messages[place].text for place in reversed(users) if not _told(messages, place)), prompt.topic)


def _told(messages: Sequence[Message], place: int) -> list[Message]:
    """The results in a user's message, as smolagents writes them out behind the calls; none in any other."""
    told, before = messages[place], messages[place - 1] if place else None
    if before is None or before.role != "assistant" or not told.text.startswith(_OBSERVED):
        return []
    called = re.findall(_CALLED, before.text.partition(_CALLING)[2])
    text = told.text[len(_OBSERVED) :].strip()
    # All of them stand in one message, which the first one tells.
    return [Message("tool", "" if number else text, name) for number, name in enumerate(called)][::-1]


def report(answers: Sequence[Message], language: str, draws: Draws) -> Iterator[Phrase]:
    """A sentence that says what the tools have found."""
    findings = "; ".join(text for answer in answers[-_MOST_RESULTS:] if (text := gist(answer.text)))
    before, _, after = draws.pick(corpus.language(language)["reports"]).partition("{result}")
    # The blank before a slot goes with what fills it, as in its tokens.
    blank = " " if before.endswith(" ") else ""
    yield phrase(before.removesuffix(" "))
    yield fresh_phrase(f"{blank}{findings or '—'}")
    yield phrase(after)


def gist(text: str) -> str:
    """The first values of a JSON object by name, or the beginning of any other text, in one line."""
    try:
        value = json.loads(text)
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
