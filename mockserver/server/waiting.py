"""Waiting in a namespace: for a number of requests or deliveries, or until every answer has ended."""

import asyncio
from collections.abc import Callable

from mockserver.state.deliveries import Deliveries
from mockserver.state.journal.exchanges import Journal


async def wait_for_requests(journal: Journal, count: int | None, seconds: float) -> bool:
    """Wait until so many requests to a model have begun, including forgotten ones; without a number, until every answer
    has ended. Return False on timeout."""
    changed = asyncio.Event()
    stop = journal.watch(lambda exchange: changed.set())
    return await _wait(changed, stop, lambda: journal.is_idle if count is None else journal.asked >= count, seconds)


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
