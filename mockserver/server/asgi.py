"""Answers over ASGI: the player fills a queue of messages, which are sent one by one.

Our own server offers a `Transport` in the scope, to which the player writes at once instead.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import ClassVar, Protocol, runtime_checkable

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from mockserver.core.http import ConnectionFault, RawHeaders, Record, Timeline
from mockserver.server.clock import ShiftedClock
from mockserver.server.player import Callback, Playback, ResponseWriter

# The key in a scope for the path of our application within the one that it is part of.
ROOT = "mockserver.root_path"
# The key in a scope for its `Headers`, once they have been read.
HEADERS = "mockserver.headers"
# The answer to a health check, which only shows that the process responds.
WELL = b'{\n  "status": "ok"\n}'


@runtime_checkable
class Transport(ResponseWriter, Protocol):
    """A connection of our own server, offered in a scope as an ASGI extension: it can also be reset, closed half-way,
    and given raw bytes. The whole body of the request has arrived, unless that is `too_large`."""

    EXTENSION: ClassVar[str] = "mockserver.transport"
    too_large: bool

    def play(self, playback: Playback) -> None:
        """Play an answer on the connection, until it ends or the client leaves."""


class ClientLeftError(Exception):
    """The client disconnected while it was still sending."""


class AsgiWriter(ResponseWriter):
    """A writer that queues ASGI messages for sending. It cannot break off an answer, because it has no wire."""

    # The transport behind ASGI is unknown; a TLS record holds so many bytes.
    longest_write = 16_384

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._news = asyncio.Event()
        self._resume: Callback | None = None
        self._aborted = False

    def begin(self, status: int, headers: RawHeaders, length: int | None) -> None:
        """Queue the message that starts an answer."""
        if length is not None:
            headers = (*headers, (b"content-length", b"%d" % length))
        # A list, which middleware may change.
        self._put({"type": "http.response.start", "status": status, "headers": [*headers]})

    def write(self, data: bytes, *, last: bool) -> bool:
        """Queue a message with a part of the body. Return False, since it waits to be sent."""
        self._put({"type": "http.response.body", "body": data, "more_body": not last})
        return False

    def blocked(self, resume: Callback) -> bool:
        """Whether messages wait to be sent."""
        self._resume = resume if self._messages else None
        return bool(self._messages)

    def break_off(self, ending: ConnectionFault, ended: Callback) -> None:
        """Impossible without a wire; a timeline with such an ending is only played with one."""
        raise NotImplementedError(f"{ending.how} needs a socket")

    def abort(self) -> None:
        """Send nothing more; the application's call fails."""
        self._messages.clear()
        self._aborted = True
        self._news.set()

    def wake(self) -> None:
        """Wake the task that waits for news."""
        self._news.set()

    async def flush(self, send: Send) -> None:
        """Send all queued messages, and all that are queued as a result."""
        if self._aborted:
            raise RuntimeError("the answer cannot continue; see the log of mockserver")
        while self._messages or self._resume is not None:
            while self._messages:
                await send(self._messages.popleft())
            resume, self._resume = self._resume, None
            if resume is not None:
                resume()

    async def news(self) -> None:
        """Wait for a message to send, or for the end."""
        self._news.clear()
        await self._news.wait()

    def _put(self, message: Message) -> None:
        self._messages.append(message)
        self._news.set()


async def play(playback: Playback, writer: AsgiWriter, receive: Receive, send: Send) -> None:
    """Play to the end of the timeline, or until the client leaves."""
    playback.play()
    listener: asyncio.Future[None] | None = None
    try:
        await writer.flush(send)
        while not playback.over:
            listener = listener or asyncio.ensure_future(_listen(receive, playback, writer))
            await writer.news()
            await writer.flush(send)
    finally:
        if listener is not None:
            listener.cancel()
        playback.leave()


async def _listen(receive: Receive, playback: Playback, writer: AsgiWriter) -> None:
    """Wait until the client leaves, and stop playing."""
    while (await receive())["type"] != "http.disconnect":
        pass
    playback.leave()
    writer.wake()


async def live(receive: Receive, send: Send, end: Callable[[], Awaitable[None]]) -> None:
    """ASGI's lifespan; `end` is called when the application shuts down."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await end()
    await send({"type": "lifespan.shutdown.complete"})


async def refuse_websocket(send: Send) -> None:
    """Close a WebSocket, which no dialect speaks, before it opens."""
    await send({"type": "websocket.close", "code": 1003, "reason": "mockserver does not support WebSockets"})


async def send_json(send: Send, status: int, body: bytes, headers: RawHeaders = ()) -> None:
    """Send an answer of our own, in JSON."""
    own = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """The whole body, or None if it is larger than the limit, in bytes. Raises ClientLeftError."""
    transport = scope.get("extensions", {}).get(Transport.EXTENSION)
    if transport is not None and transport.too_large:
        return None
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeftError
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            return None
        if not message.get("more_body"):
            return b"".join(chunks)


class PlayedResponse(Response):
    """A response that is sent frame by frame, each when it is due on a clock; the request arrived there at `arrived`.

    On a connection of our own server it is written to the transport, past `send`, unless the application has middleware
    of the user's, which would not see it then.
    """

    def __init__(
        self,
        timeline: Timeline,
        clock: ShiftedClock,
        arrived: float,
        record: Record | None = None,
        ended: Callback = lambda: None,
        *,
        joined: bool = True,
    ) -> None:
        self.timeline = timeline
        self.status_code = timeline.status
        self.raw_headers = [*timeline.headers]
        self.background = None
        self._clock, self._arrived, self._ended, self._joined = clock, arrived, ended, joined
        self._record = Record() if record is None else record

    def playback(self, writer: ResponseWriter) -> Playback:
        """The playback of the answer to a writer."""
        return Playback(
            self.timeline, writer, self._clock, self._arrived, self._record, self._ended, joined=self._joined
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Play the answer to the end; on a transport of our own, begin to."""
        transport: Transport | None = scope.get("extensions", {}).get(Transport.EXTENSION)
        if transport is not None and (
            self.timeline.ending is not None or getattr(scope.get("app"), "answers_at_once", True)
        ):
            transport.play(self.playback(transport))
            return
        writer = AsgiWriter()
        await play(self.playback(writer), writer, receive, send)
