"""The live feed of a journal: exchanges as they begin and end, as server-sent events to whoever listens.

Each exchange is written once, in the same bytes for all listeners. A listener that reads too slowly misses some, and is
told how many.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

import orjson

from mockserver.control.journal.exchanges import Exchange, Journal
from mockserver.control.journal.transcripts import summary_of

# A listener that lags behind by more than this many events misses what follows.
_LONGEST_QUEUE = 1000
# A word now and then, so that neither side takes the silence for a broken line.
_HEARTBEAT_SECONDS = 15.0


class _Listener:
    """The events that one listener has not read yet, and how many it has missed; b"" is the end of them."""

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
        """Let go of a listener, whatever it has not read."""
        while not self.events.empty():
            self.events.get_nowait()
        self.events.put_nowait(b"")


class _Feed:
    """All that listen to one journal."""

    def __init__(self, journal: Journal) -> None:
        self.listeners: list[_Listener] = []
        self.stop: Callable[[], None] = journal.watch(self._tell)

    def _tell(self, exchange: Exchange) -> None:
        # Written now: the exchange goes on while the event waits to be read.
        event = b"event: exchange\ndata: %b\n\n" % orjson.dumps(summary_of(exchange))
        for listener in self.listeners:
            listener.put(event)


# Of the journals that anybody listens to.
_feeds: dict[Journal, _Feed] = {}


def end_feeds() -> None:
    """Let go of all that listen to the server whose loop this is, so that it need not break them off."""
    own = asyncio.get_running_loop()
    for feed in _feeds.values():
        for listener in feed.listeners:
            if listener.loop is own:
                listener.end()


async def listen(journal: Journal) -> AsyncIterator[bytes]:
    """The events of a journal, for as long as somebody takes them and the server goes on."""
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
