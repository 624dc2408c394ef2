"""Following what happens in a namespace: waiting for requests and deliveries, and the live feed of its exchanges."""

import asyncio
from collections.abc import AsyncIterator, Callable

import orjson

from mockserver.state.deliveries import Deliveries
from mockserver.state.journal.exchanges import Exchange, Journal, Subscribers
from mockserver.state.journal.transcripts import summary_of

# How many unread events a subscriber may have; it misses later ones.
_LONGEST_QUEUE = 1000
# The interval of comments that keep idle connections from being considered broken.
_HEARTBEAT_SECONDS = 15.0


async def wait_for_requests(journal: Journal, count: int | None, seconds: float) -> bool:
    """Wait until so many requests to a model have begun, including forgotten ones; without a number, until every answer
    has ended. Return False on timeout."""
    return await _wait(journal.watchers, lambda: journal.is_idle if count is None else journal.asked >= count, seconds)


async def wait_for_deliveries(deliveries: Deliveries, count: int, seconds: float) -> bool:
    """Wait until so many deliveries have ended, including forgotten ones; return False on timeout."""
    return await _wait(deliveries.watchers, lambda: deliveries.ended >= count, seconds)


async def _wait(watchers: Subscribers, holds: Callable[[], bool], seconds: float) -> bool:
    changed = asyncio.Event()
    stop = watchers.add(lambda one: changed.set())
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


class _Subscriber:
    """The events of a journal that a subscriber has not read yet, and how many it has missed; b"" ends them."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.events: asyncio.Queue[bytes] = asyncio.Queue(_LONGEST_QUEUE)
        self.missed = 0

    def put(self, exchange: Exchange) -> None:
        """Add an event, unless too many are unread."""
        if self.events.full():
            self.missed += 1
        else:
            # Serialised now, because the exchange changes while the event waits to be read.
            self.events.put_nowait(b"event: exchange\ndata: %b\n\n" % orjson.dumps(summary_of(exchange)))

    def end(self) -> None:
        """End the feed of a subscriber, discarding unread events."""
        while not self.events.empty():
            self.events.get_nowait()
        self.events.put_nowait(b"")


_subscribers: set[_Subscriber] = set()


def end_feeds() -> None:
    """End the feeds of all subscribers on this loop, so that their server need not break them off."""
    own = asyncio.get_running_loop()
    for subscriber in list(_subscribers):  # servers in other threads have some, too
        if subscriber.loop is own:
            subscriber.end()


async def subscribe(journal: Journal) -> AsyncIterator[bytes]:
    """The events of a journal, until the subscriber or the server stops."""
    subscriber = _Subscriber()
    _subscribers.add(subscriber)
    stop = journal.watchers.add(subscriber.put)
    try:
        yield b": listening\n\n"
        while True:
            try:
                event = await asyncio.wait_for(subscriber.events.get(), _HEARTBEAT_SECONDS)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if not event:
                return
            if subscriber.missed:
                yield b'event: missed\ndata: {"count": %d}\n\n' % subscriber.missed
                subscriber.missed = 0
            yield event
    finally:
        stop()
        _subscribers.remove(subscriber)
