"""Waiting for what a namespace's clients do: for so many requests, or for every answer to have ended."""

import asyncio
from collections.abc import Callable

from mockserver.control.journal.exchanges import Journal


async def wait_until(journal: Journal, holds: Callable[[Journal], bool], seconds: float) -> bool:
    """Wait until something holds of a journal, looking whenever it changes; False when the time was over first."""
    changed = asyncio.Event()
    stop = journal.watch(lambda exchange: changed.set())
    try:
        async with asyncio.timeout(seconds):
            while not holds(journal):
                changed.clear()
                await changed.wait()
        return True
    except TimeoutError:
        return holds(journal)
    finally:
        stop()


def has_requests(count: int) -> Callable[[Journal], bool]:
    """Whether a model was asked so many times, be it in exchanges that are forgotten by now."""
    return lambda journal: journal.asked >= count


def is_idle(journal: Journal) -> bool:
    """Whether every answer has ended."""
    return journal.is_idle
