"""Stories that several threads need at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event

import pytest

from mockserver.core.generation import Prompt
from mockserver.core.haste import TakesLongError, in_haste
from mockserver.generation.corpus import Phrase, phrase
from mockserver.generation.story import remembered_beginning

PATIENCE = 10.0
KEYS = count(1 << 65)
PROMPT = Prompt("Hello", "Hello", 1)
WHOLE = list(phrase("one two three").texts)


class Slow:
    """A writer that has begun, and waits to be told to go on."""

    def __init__(self, *, fails: bool = False) -> None:
        self.has_begun, self.goes_on = Event(), Event()
        self._fails = fails

    def __call__(self) -> Iterator[Phrase | None]:
        self.has_begun.set()
        assert self.goes_on.wait(PATIENCE)
        if self._fails:
            raise TakesLongError
        yield phrase("one two three")
        yield None


def whole(write: Slow, key: int) -> list[str]:
    """The texts of the tokens of a whole story."""
    _, texts, ended = remembered_beginning(PROMPT, key, write, limit=100, least=1)
    assert ended
    return texts


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as threads:
        yield threads


def test_who_is_in_haste_does_not_wait_for_another_thread(threads: ThreadPoolExecutor) -> None:
    write, key = Slow(), next(KEYS)
    first = threads.submit(whole, write, key)
    assert write.has_begun.wait(PATIENCE)
    with pytest.raises(TakesLongError):
        in_haste(lambda: whole(write, key))
    second = threads.submit(whole, write, key)
    write.goes_on.set()
    assert first.result(PATIENCE) == second.result(PATIENCE) == WHOLE
    assert in_haste(lambda: whole(write, key)) == WHOLE


def test_a_story_whose_writer_has_failed_is_begun_anew_by_all_who_wait(threads: ThreadPoolExecutor) -> None:
    failing, write, key = Slow(fails=True), Slow(), next(KEYS)
    write.goes_on.set()
    first = threads.submit(whole, failing, key)
    assert failing.has_begun.wait(PATIENCE)
    second = threads.submit(whole, write, key)
    failing.goes_on.set()
    with pytest.raises(TakesLongError):
        first.result(PATIENCE)
    assert second.result(PATIENCE) == WHOLE
    assert whole(write, key) == WHOLE
