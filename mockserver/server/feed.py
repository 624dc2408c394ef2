"""The live feed of a journal: server-sent events for exchanges that begin and end.

Each exchange is serialised once for all listeners. A listener that reads too slowly misses events, and gets a count.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

import orjson

from mockserver.state.journal.exchanges import Exchange, Journal
from mockserver.state.journal.transcripts import summary_of

# How many unread events a listener may have; it misses later ones.
_LONGEST_QUEUE = 1000
# The interval of comments that keep idle connections from being considered broken.
_HEARTBEAT_SECONDS = 15.0


class _Listener:
    """The events that a listener has not read yet, and how many it has missed; b"" ends them."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[bytes] = asyncio.Queue(_LONGEST_QUEUE)
        self.missed = 0
        self.loop = asyncio.get_running_loop()

    def put(self, event: bytes) -> None:
        if self.events.full():
            self.missed += 1
        else:
            self.events.put_nowait(event)

    def end(self) -> None:
        """End the feed of a listener, discarding unread events."""
        while not self.events.empty():
            self.events.get_nowait()
        self.events.put_nowait(b"")


class _Feed:
    """All listeners to one journal."""

    def __init__(self, journal: Journal) -> None:
        self.listeners: list[_Listener] = []
        self.stop: Callable[[], None] = journal.watch(self._publish)

    def _publish(self, exchange: Exchange) -> None:
        # Serialised now, because the exchange changes while the event waits to be read.
        event = b"event: exchange\ndata: %b\n\n" % orjson.dumps(summary_of(exchange))
        for listener in self.listeners:
            listener.put(event)


# The feeds of the journals that have listeners.
_feeds: dict[Journal, _Feed] = {}


def end_feeds() -> None:
    """End the feeds of all listeners on this loop, so that their server need not break them off."""
    own = asyncio.get_running_loop()
    for feed in _feeds.values():
        for listener in feed.listeners:
            if listener.loop is own:
                listener.end()


async def listen(journal: Journal) -> AsyncIterator[bytes]:
    """The events of a journal, until the listener or the server stops."""
    listener, feed = _Listener(), _feeds.get(journal)
    if feed is None:
        feed = _feeds[journal] = _Feed(journal)
    feed.listeners.append(listener)
    try:
        yield b": listening\n\n"
        while True:
            try:
                event = await asyncio.wait_for(listener.events.get(), _HEARTBEAT_SECONDS)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if not event:
                return
            if listener.missed:
                yield b'event: missed\ndata: {"count": %d}\n\n' % listener.missed
                listener.missed = 0
            yield event
    finally:
        feed.listeners.remove(listener)
        if not feed.listeners:
            feed.stop()
            del _feeds[journal]
