"""The way out over ASGI, for applications that are called in process: the same player, with a queue of messages."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mockserver.core.timeline import Ending, RawHeaders
from mockserver.serving.player import Performance, Then

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]


class AsgiSink:
    """A sink of ASGI messages, which somebody has to send on. It cannot break an answer off: it has no wire."""

    # Who knows what carries them on: a record of TLS has room for so much.
    longest_write = 16_384

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._news = asyncio.Event()
        self._resume: Then | None = None
        self._aborted = False

    def begin(self, status: int, headers: RawHeaders, length: int | None) -> None:
        """The message that starts an answer."""
        if length is not None:
            headers = (*headers, (b"content-length", b"%d" % length))
        self._put({"type": "http.response.start", "status": status, "headers": headers})

    def write(self, data: bytes, *, last: bool) -> bool:
        """The message that goes on with it, and waits to be sent."""
        self._put({"type": "http.response.body", "body": data, "more_body": not last})
        return False

    def blocked(self, resume: Then) -> bool:
        """Whether messages wait to be sent."""
        self._resume = resume if self._messages else None
        return bool(self._messages)

    def break_off(self, ending: Ending, ended: Then) -> None:
        """Impossible without a wire: who plays such a timeline has one."""
        raise NotImplementedError(f"{ending.how} needs a socket")

    def abort(self) -> None:
        """Nothing more comes; the application fails where it is called."""
        self._messages.clear()
        self._aborted = True
        self._news.set()

    def wake(self) -> None:
        """Let whoever waits for news look around."""
        self._news.set()

    async def flush(self, send: Send) -> None:
        """Send all that there is, and all that comes of having sent it."""
        if self._aborted:
            raise RuntimeError("the answer cannot go on; see the log of mockserver")
        while self._messages or self._resume is not None:
            while self._messages:
                await send(self._messages.popleft())
            resume, self._resume = self._resume, None
            if resume is not None:
                resume()

    async def news(self) -> None:
        """Wait for something to send, or for the end."""
        self._news.clear()
        await self._news.wait()

    def _put(self, message: Message) -> None:
        self._messages.append(message)
        self._news.set()


async def play(performance: Performance, sink: AsgiSink, receive: Receive, send: Send) -> None:
    """Play a performance to its end, or until the client leaves."""
    performance.play()
    listener: asyncio.Future[None] | None = None
    try:
        await sink.flush(send)
        while not performance.over:
            listener = listener or asyncio.ensure_future(_listen(receive, performance, sink))
            await sink.news()
            await sink.flush(send)
    finally:
        if listener is not None:
            listener.cancel()
        performance.leave()


async def _listen(receive: Receive, performance: Performance, sink: AsgiSink) -> None:
    """Notice when the client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass
    performance.leave()
    sink.wake()
