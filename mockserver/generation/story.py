"""Stories: the text that a choice tells, in the form that its request demands, as far as anybody has heard it.

A story has no end of its own, only places where it may end: the first is its natural one. Stories heard lately are
kept, since test suites ask the same things again and again; what they say does not depend on that.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from threading import Lock

from mockserver.core.generation import Constraint, Prompt
from mockserver.generation.corpus import Phrase
from mockserver.generation.prose import write_prose

_KEPT_STORIES = 256
_LONGEST_KEPT = 4096
# In characters.
_LONGEST_PROMPT = 16_384
# So many tokens are told at a time.
_STRETCH = 1024


class Story:
    """A text told phrase by phrase, mostly without end. `ids` and `texts` are its tokens as far as it has been told.

    `ends` are the places, in tokens, where it may end: its natural end, and the end of each phrase after that. Where
    the phrases are over, as a pattern may demand, the last of them is the end, however little there is.
    """

    def __init__(self, phrases: Iterator[Phrase | None]) -> None:
        self.ids: list[int] = []
        self.texts: list[str] = []
        self.ends: list[int] = []
        self._phrases = phrases
        self._over = False
        self._telling = Lock()

    def tell(self, limit: int, least: int) -> int | None:
        """Tell on until there are `limit` tokens or a place to end after `least` of them; that place, if it came."""
        while True:
            # Somebody else may want a short stretch of a story that is told at length in another thread.
            with self._telling:
                end = self._end_after(least)
                if end is not None or len(self.ids) >= limit:
                    return end
                self._tell_some(min(limit, len(self.ids) + _STRETCH), least)

    def _tell_some(self, limit: int, least: int) -> None:
        """Tell on to the natural end, behind that to an end after `least` tokens; but no further than the limit."""
        ids, texts, ends = self.ids, self.texts, self.ends
        for told in self._phrases:
            if told is None:
                break
            ids += told.ids
            texts += told.texts
            if ends:
                ends.append(len(ids))
            if len(ids) >= limit or (ends and len(ids) >= least):
                return
        # The mark of the natural end comes once; nothing after that is the end of all.
        self._over = bool(ends)
        ends.append(len(ids))

    def _end_after(self, least: int) -> int | None:
        place = bisect_left(self.ends, least)
        if place < len(self.ends):
            return self.ends[place]
        return len(self.ids) if self._over else None


_kept: dict[int, Story] = {}


def beginning(
    prompt: Prompt, key: int, constraint: Constraint | None, *, limit: int, least: int
) -> tuple[list[int], list[str], bool]:
    """The first tokens of the story that a key tells, `limit` at the most, and whether it ends by itself before that.

    It does not end before it has `least` of them. The key stands for the prompt and the constraint too.
    """
    return remembered_beginning(prompt, key, lambda: _phrases(prompt, key, constraint), limit=limit, least=least)


def remembered_beginning(
    prompt: Prompt, key: int, write: Callable[[], Iterator[Phrase | None]], *, limit: int, least: int
) -> tuple[list[int], list[str], bool]:
    """The same of the story that somebody writes, if it is not known by its key."""
    story = _kept.get(key)
    if story is None:
        story = Story(write())
        # A writer holds on to its prompt.
        if len(prompt.text) <= _LONGEST_PROMPT:
            if len(_kept) >= _KEPT_STORIES:
                _kept.clear()
            _kept[key] = story
    try:
        end = story.tell(limit, least)
    except BaseException:
        # Its writer cannot go on.
        _kept.pop(key, None)
        raise
    if len(story.ids) > _LONGEST_KEPT:
        _kept.pop(key, None)
    ended = end is not None and end < limit
    stop = end if ended else limit
    return story.ids[:stop], story.texts[:stop], ended


def _phrases(prompt: Prompt, key: int, constraint: Constraint | None) -> Iterator[Phrase | None]:
    if constraint is None:
        return write_prose(prompt, key)
    # Few demand a form, or speak of one: a server that is never asked for any starts the sooner.
    from mockserver.generation.forms import WRITERS

    return WRITERS[constraint.kind](prompt, key, constraint.schema)
