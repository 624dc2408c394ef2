"""Waiting in a namespace: for a number of requests or deliveries, or until every answer has ended."""

import asyncio
from collections.abc import Callable

from mockserver.state.deliveries import Deliveries
from mockserver.state.journal.exchanges import Journal


async def wait_until(journal: Journal, holds: Callable[[Journal], bool], seconds: float) -> bool:
    """Wait until a condition on a journal holds, checking at each change; return False on timeout."""
    changed = asyncio.Event()
    stop = journal.watch(lambda exchange: changed.set())
    return await _wait(changed, stop, lambda: holds(journal), seconds)


async def wait_for_deliveries(deliveries: Deliveries, count: int, seconds: float) -> bool:
    """Wait until so many deliveries have ended, including forgotten ones; return False on timeout."""
    changed = asyncio.Event()
    stop = deliveries.watch(changed.set)
    return await _wait(changed, stop, lambda: deliveries.ended >= count, seconds)


async def _wait(changed: asyncio.Event, stop: Callable[[], None], holds: Callable[[], bool], seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            while not holds():
                changed.clear()
                await changed.wait()
        return True
    except TimeoutError:
        return holds()
    finally:
        stop()


def has_requests(count: int) -> Callable[[Journal], bool]:
    """A condition: there have been so many requests to a model, including forgotten ones."""
    return lambda journal: journal.asked >= count


def is_idle(journal: Journal) -> bool:
    """Whether every answer has ended."""
    return journal.is_idle
