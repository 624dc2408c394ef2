"""Stories: texts of choices, under the constraint of their request, written only as far as they have been needed.

A story has no single end, only places where it may end: the first is its natural end. Recent stories are cached, since
test suites send the same requests again and again; the texts do not depend on that.
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import TYPE_CHECKING

from mockserver.core.generation import Constraint, Prompt
from mockserver.core.haste import breathe, loaded_once, take_time
from mockserver.generation.corpus import Phrase
from mockserver.generation.prose.texts import write_prose

if TYPE_CHECKING:
    from mockserver.generation.forms import FormWriter

_KEPT_STORIES = 256
_LONGEST_KEPT = 4096
# Stories for longer prompts, in characters, are not cached.
_LONGEST_PROMPT = 16_384
# How many tokens are written at a time.
_STRETCH = 1024


class SpoiltError(Exception):
    """The writer of a story has failed for another thread."""


class Story:
    """A text written phrase by phrase, usually endless. `ids` and `texts` are its tokens so far.

    `ends` are the places, in tokens, where it may end: its natural end, and the end of each phrase after that. If the
    phrases run out, as they may under a pattern, the end of the last one is the end, even if it comes too early. A
    `spoilt` story cannot go on, since its writer has failed.
    """

    def __init__(self, phrases: Iterator[Phrase | None]) -> None:
        self.ids: list[int] = []
        self.texts: list[str] = []
        self.ends: list[int] = []
        self.spoilt = False
        self._phrases = phrases
        self._over = False
        self._writing = Lock()

    def tell(self, limit: int, least: int) -> int | None:
        """Write on to `limit` tokens or to a place to end after at least `least` tokens; returns that place, if any.

        Raises SpoiltError if the story is spoilt.
        """
        while True:
            # The lock is released between parts: another thread may need only the beginning of a long story.
            self._await_turn()
            try:
                if self.spoilt:
                    raise SpoiltError
                end = self._end_after(least)
                if end is not None or len(self.ids) >= limit:
                    return end
                self._write_some(min(limit, len(self.ids) + _STRETCH), least)
            except BaseException:
                self.spoilt = True
                raise
            finally:
                self._writing.release()
            breathe()

    def _await_turn(self) -> None:
        if not self._writing.acquire(blocking=False):
            # Whoever writes at leisure may be waiting for the event loop.
            take_time()
            self._writing.acquire()

    def _write_some(self, limit: int, least: int) -> None:
        """Write on to the natural end, or after that to an end after `least` tokens, until the limit is reached."""
        ids, texts, ends = self.ids, self.texts, self.ends
        for phrase in self._phrases:
            if phrase is None:
                break
            ids += phrase.ids
            texts += phrase.texts
            if ends:
                ends.append(len(ids))
            if len(ids) >= limit or (ends and len(ids) >= least):
                return
        # The natural end is marked only once; later, the loop ends only when there are no more phrases.
        self._over = bool(ends)
        ends.append(len(ids))

    def _end_after(self, least: int) -> int | None:
        place = bisect_left(self.ends, least)
        if place < len(self.ends):
            return self.ends[place]
        return len(self.ids) if self._over else None


# The oldest one gives way: to free all of them at once would hold up the event loop for two milliseconds.
_kept: OrderedDict[int, Story] = OrderedDict()


def beginning(
    prompt: Prompt, key: int, constraint: Constraint | None, *, limit: int, least: int
) -> tuple[list[int], list[str], bool]:
    """The first tokens of the story of a key, at most `limit`, and whether it ends before that.

    It does not end before it has `least` tokens. Different prompts and constraints need different keys.
    """
    return remembered_beginning(prompt, key, lambda: _phrases(prompt, key, constraint), limit=limit, least=least)


def remembered_beginning(
    prompt: Prompt, key: int, write: Callable[[], Iterator[Phrase | None]], *, limit: int, least: int
) -> tuple[list[int], list[str], bool]:
    """The same for a story that `write` begins, unless it is cached under its key."""
    story = _kept.get(key)
    if story is None or story.spoilt:
        story = Story(write())
        # A story keeps its prompt in memory.
        if len(prompt.text) <= _LONGEST_PROMPT:
            _kept[key] = story
            if len(_kept) > _KEPT_STORIES:
                _kept.popitem(last=False)
    try:
        end = story.tell(limit, least)
    except SpoiltError:
        return remembered_beginning(prompt, key, write, limit=limit, least=least)
    if len(story.ids) > _LONGEST_KEPT:
        _kept.pop(key, None)
    ended = end is not None and end < limit
    stop = end if ended else limit
    return story.ids[:stop], story.texts[:stop], ended


def _phrases(prompt: Prompt, key: int, constraint: Constraint | None) -> Iterator[Phrase | None]:
    if constraint is None:
        return write_prose(prompt, key)
    return _writers()[constraint.kind](prompt, key, constraint.schema)


@loaded_once
def _writers() -> "Mapping[str, FormWriter]":
    """The writers of constrained answers. They take some 40 ms to import, and few requests need them."""
    from mockserver.generation.forms import WRITERS

    return WRITERS
