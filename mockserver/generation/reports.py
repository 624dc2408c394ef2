"""Answers to what tools have found: in the prompt's language, with the gist of the results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockserver.core.generation import Message
from mockserver.core.seeding import Draws
from mockserver.generation import corpus
from mockserver.generation.corpus import Phrase, fresh_phrase, phrase

# A report has at most so many results; the gist of each at most so many values, or so many characters.
_MOST_RESULTS = 4
_MOST_VALUES = 6
_MOST_CHARACTERS = 160


def results(messages: Sequence[Message]) -> list[Message]:
    """What tools have answered since the user spoke last, in order."""
    found: list[Message] = []
    for message in reversed(messages):
        if message.answers is not None:
            found.append(message)
        elif message.role == "user":
            break
    return found[::-1]


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
