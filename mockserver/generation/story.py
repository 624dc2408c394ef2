"""Stories: the text that a choice tells, in the form that its request demands, as far as anybody has heard it.

A story has no end of its own, only places where it may end: the first is its natural one. Stories heard lately are
kept, since test suites ask the same things again and again; what they say does not depend on that.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator
from threading import Lock

from mockserver.core.generation import Constraint, Prompt
from mockserver.core.seeding import Draws
from mockserver.generation import corpus
from mockserver.generation.corpus import Phrase, phrase
from mockserver.generation.prose import write_prose
from mockserver.generation.subject import brief

_KEPT_STORIES = 256
_LONGEST_KEPT = 4096


class Story:
    """A text without end, told phrase by phrase. `ids` and `texts` are its tokens as far as it has been told.

    `ends` are the places, in tokens, where it may end: its natural end, and the end of each phrase after that.
    """

    def __init__(self, phrases: Iterator[Phrase | None]) -> None:
        self.ids: list[int] = []
        self.texts: list[str] = []
        self.ends: list[int] = []
        self._phrases = phrases
        self._telling = Lock()

    def tell(self, limit: int, least: int) -> int | None:
        """Tell on until there are `limit` tokens or a place to end after `least` of them; that place, if it came."""
        with self._telling:
            end = self._end_after(least)
            while end is None and len(self.ids) < limit:
                self._next()
                end = self._end_after(least)
            return end

    def _next(self) -> None:
        told = next(self._phrases)
        if told is not None:
            self.ids += told.ids
            self.texts += told.texts
        if told is None or self.ends:
            self.ends.append(len(self.ids))

    def _end_after(self, least: int) -> int | None:
        place = bisect_left(self.ends, least)
        return self.ends[place] if place < len(self.ends) else None


_kept: dict[int, Story] = {}


def beginning(
    prompt: Prompt, key: int, constraint: Constraint | None, *, limit: int, least: int
) -> tuple[list[int], list[str], bool]:
    """The first tokens of the story that a key tells, `limit` at the most, and whether it ends by itself before that.

    It does not end before it has `least` of them. The key stands for the prompt and the constraint too.
    """
    story = _kept.get(key)
    if story is None:
        if len(_kept) >= _KEPT_STORIES:
            _kept.clear()
        story = _kept[key] = Story(_writer(constraint)(prompt, key))
    end = story.tell(limit, least)
    if len(story.ids) > _LONGEST_KEPT:
        _kept.pop(key, None)
    ended = end is not None and end < limit
    stop = end if ended else limit
    return story.ids[:stop], story.texts[:stop], ended


def _writer(constraint: Constraint | None) -> Callable[[Prompt, int], Iterator[Phrase | None]]:
    """Who writes: JSON is a small plain object whatever the schema; patterns and grammars are not obeyed yet."""
    return _json_object if constraint is not None and constraint.kind in ("json_object", "json_schema") else write_prose


def _json_object(prompt: Prompt, key: int) -> Iterator[Phrase | None]:
    about = brief(prompt.topic)
    draws = Draws(key)
    answer = draws.pick(corpus.language(about.language)["body"])
    value = {"subject": about.subject, "answer": answer, "confidence": round(0.5 + draws.unit() / 2, 2)}
    yield phrase(json.dumps(value, ensure_ascii=False, indent=2))
    yield None
    while True:
        yield phrase("\n")
