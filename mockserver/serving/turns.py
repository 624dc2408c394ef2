"""Work on many items that yields to other tasks: the event loop is never held for more than about a millisecond."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_TURN_SECONDS = 0.0005


async def in_turns(
    work: Callable[[Item], Result], items: Iterable[Item], is_long: Callable[[Item], bool] = lambda item: False
) -> list[Result]:
    """The results of `work` for the items, in order; long items are processed in a thread."""
    results: list[Result] = []
    began = time.monotonic()
    for item in items:
        results.append(await asyncio.to_thread(work, item) if is_long(item) else work(item))
        if time.monotonic() - began > _TURN_SECONDS:
            await asyncio.sleep(0)
            began = time.monotonic()
    return results
