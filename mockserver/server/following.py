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
        self.events: asyncio.Queue[bytes] = asyncio.Queue(_LONGEST_QUEUE)
        self.missed = 0

    def put(self, event: bytes) -> None:
        """Add an event, unless too many are unread."""
        if self.events.full():
            self.missed += 1
        else:
            self.events.put_nowait(event)

    def end(self) -> None:
        """End the feed of a subscriber, discarding unread events."""
        while not self.events.empty():
            self.events.get_nowait()
        self.events.put_nowait(b"")


class _Feed:
    """The live feed of a journal: an event is serialised once for all of its subscribers."""

    def __init__(self, journal: Journal) -> None:
        self.subscribers: set[_Subscriber] = set()
        self.loop = asyncio.get_running_loop()
        self.stop = journal.watchers.add(self._put)

    def _put(self, exchange: Exchange) -> None:
        # Serialised now, because the exchange changes while the event waits to be read.
        event = b"event: exchange\ndata: %b\n\n" % orjson.dumps(summary_of(exchange))
        for subscriber in self.subscribers:
            subscriber.put(event)


_feeds: dict[Journal, _Feed] = {}


def end_feeds() -> None:
    """End the feeds of all subscribers on this loop, so that their server need not break them off."""
    own = asyncio.get_running_loop()
    for feed in list(_feeds.values()):  # servers in other threads have some, too
        if feed.loop is own:
            for subscriber in feed.subscribers:
                subscriber.end()


async def subscribe(journal: Journal) -> AsyncIterator[bytes]:
    """The events of a journal, until the subscriber or the server stops."""
    feed = _feeds[journal] = _feeds.get(journal) or _Feed(journal)
    subscriber = _Subscriber()
    feed.subscribers.add(subscriber)
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
        feed.subscribers.remove(subscriber)
        if not feed.subscribers:
            feed.stop()
            del _feeds[journal]
