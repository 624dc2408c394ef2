"""The recorder: an ASGI application that forwards requests to the vendors, and records what they answer.

target -> request to the vendor -> head, pieces, end: to the client at once, and into a take -> tape
"""

import asyncio
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio.lowlevel
import httpx
from starlette.types import Receive, Send

from mockserver.core.calls import Call, Headers
from mockserver.core.dialects import Dialect
from mockserver.core.timeline import Ending, RawHeaders
from mockserver.server.asgi import WELL, ClientLeftError, live, read_body, refuse_websocket, send_json
from mockserver.server.cors import VARY, AccessGuard, answer_preflight, reader_of, shared_headers
from mockserver.server.logs import log
from mockserver.server.recording.forwarding import forwarded, reason
from mockserver.server.recording.logbook import Logbook
from mockserver.server.recording.messages import refusal, replayed, summary, unanswered
from mockserver.server.recording.takes import Take
from mockserver.server.recording.tapes import Tape
from mockserver.server.recording.targets import Targets
from mockserver.server.recording.upstreams import Upstreams
from mockserver.server.sockets.wire import WIRE, Wire
from mockserver.server.urls import HEALTH
from mockserver.state.journal.exchanges import Denial
from mockserver.state.settings import Settings

if TYPE_CHECKING:
    from mockserver.server.recording.replays import Replay, Replays
    from mockserver.state.journal.exchanges import Journal

# How an answer ends here if the vendor's is broken off, by the error that says so.
_ENDINGS: tuple[tuple[type[Exception], Ending], ...] = (
    (httpx.TimeoutException, Ending("hang")),
    (httpx.NetworkError, Ending("reset")),
    (Exception, Ending("close")),
)
# The prefix of headers that are for this server.
_OURS = b"x-mockserver-"
_BREAKS = (httpx.TransportError, zlib.error)


class _Guest(NamedTuple):
    """The client of one request: what it may be sent, its connection, and the origin of its page."""

    send: Send
    wire: Wire | None
    origin: str | None

    def opened(self, headers: RawHeaders = ()) -> RawHeaders:
        """The headers of an answer, with those that let a page of another origin read it."""
        return headers if self.origin is None else shared_headers(headers, self.origin)


class Recorder:
    """Forwards requests, by `client`, and writes the exchanges to a `tape`; `clock` gives the instant, in seconds.

    Requests to which the `replays` have an answer get that instead; `replayed` counts them. A `journal` tells of all.
    """

    def __init__(
        self,
        settings: Settings,
        dialects: Mapping[str, Dialect],
        upstreams: Upstreams,
        tape: Tape,
        client: httpx.AsyncClient,
        clock: Callable[[], float] = time.monotonic,
        replays: "Replays | None" = None,
        journal: "Journal | None" = None,
    ) -> None:
        self.settings, self.replayed = settings, 0
        self.guard = AccessGuard(dialects)
        self._replays = replays
        self._targets = Targets(dialects, settings, upstreams)
        self._tape, self._client, self._clock = tape, client, clock
        self._logbook = Logbook(journal, settings)

    def answers_at_once(self, path: str) -> bool:
        """Whether an answer is made within the turn of the loop in which its request has come: not a vendor's."""
        return False

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "lifespan":
            # What the first connection would have to import, which would count as the vendor's time.
            await anyio.lowlevel.checkpoint()
            await live(receive, send, self._client.aclose)
        elif scope["type"] != "http":
            await refuse_websocket(send)
        elif denial := self.guard.refusal(scope["method"], headers := Headers(scope["headers"]), self.settings):
            await send_json(send, denial.status, denial.body, (VARY,))
        elif scope["path"] == HEALTH and scope["method"] in ("GET", "HEAD"):
            await send_json(send, 200, WELL)
        else:
            await self._serve(scope, headers, receive, send)

    async def _serve(self, scope: Any, headers: Headers, receive: Receive, send: Send) -> None:
        method, path, query = scope["method"], scope["path"], scope["query_string"]
        origin = reader_of(headers, self.settings)
        if origin is not None and await answer_preflight(method, headers, send):
            return
        guest = _Guest(send, scope.get("extensions", {}).get(WIRE), origin)
        target = self._targets.find(method, path, scope["raw_path"], query, headers)
        if isinstance(target, Denial):
            self._logbook.deny(method, path, headers, target, self._clock())
            await _deny(guest, method, path, target)
            return
        try:
            body = await read_body(scope, receive, self.settings.max_body)
        except ClientLeftError:
            return
        if body is None:
            message = f"The body has more than {self.settings.max_body} bytes; --max-body says how many it may have."
            too_large = Denial(413, "body_too_large", message)
            self._logbook.deny(method, path, headers, too_large, self._clock())
            await _deny(guest, method, path, too_large)
            return
        sent = tuple(header for header in headers.raw if not header[0].startswith(_OURS))
        call = Call(method, target.route.path, Headers(sent), body, query.decode("latin-1"), time.time())
        replay = None if self._replays is None else self._replays.answer(target, call)
        if replay is not None:
            self.replayed += 1
            self._logbook.replay(target, call, replay, self._clock())
            log.info("%s", replayed(target, call, replay))
            await _replay(replay, guest)
            return
        take = Take(target, call, self._clock())
        self._logbook.begin(take)
        await self._perform(take, guest, receive)

    async def _perform(self, take: Take, guest: _Guest, receive: Receive) -> None:
        """Relay an answer until it ends, its client leaves, or the recorder is stopped."""
        relay = asyncio.ensure_future(self._relay(take, guest))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((relay, leaving), return_when=asyncio.FIRST_COMPLETED)
            if take.closed_by is None and not relay.done():
                take.end("client", self._clock())
                relay.cancel()
        except asyncio.CancelledError:
            # What was sent as a whole is not broken off.
            if take.closed_by is None:
                take.end("server", self._clock(), Ending("close"))
            relay.cancel()
        await _over(relay)
        self._keep(take)
        if take.ending is not None:
            await _break_off(take.ending, guest.wire)
            # The server wants to hear that the connection is gone before its request is done with.
            await _over(leaving)
        leaving.cancel()
        if not relay.cancelled():
            relay.result()

    async def _relay(self, take: Take, guest: _Guest) -> None:
        """Ask the vendor, and pass the answer to the client as it comes."""
        try:
            response = await self._client.send(forwarded(take.target, take.call), stream=True)
        except httpx.TransportError as error:
            await self._give_up(take, unanswered(take, reason(error, self._client.timeout.read or 0.0)), guest)
            return
        except httpx.InvalidURL as error:
            await self._give_up(take, Denial(400, "bad_url", f"{error}."), guest)
            return
        try:
            async with aclosing(response):
                take.answered(response.status_code, tuple(response.headers.raw), self._clock())
                await self._pass(take, response, guest)
        except _BREAKS as error:
            ending = next(ending for kind, ending in _ENDINGS if isinstance(error, kind))
            take.end("server", self._clock(), ending)

    async def _give_up(self, take: Take, denial: Denial, guest: _Guest) -> None:
        self._logbook.give_up(take, denial, self._clock())
        await _deny(guest, take.call.method, take.target.path, denial)

    async def _pass(self, take: Take, response: httpx.Response, guest: _Guest) -> None:
        send, headers = guest.send, guest.opened(take.headers)
        await send({"type": "http.response.start", "status": take.status, "headers": list(headers)})
        async for piece in response.aiter_raw():
            data = take.add(piece, self._clock())
            if take.is_whole:
                self._finish(take)
            if data:
                await send({"type": "http.response.body", "body": data, "more_body": True})
        rest = take.rest(self._clock())
        self._finish(take)
        await send({"type": "http.response.body", "body": rest})

    def _finish(self, take: Take) -> None:
        """The answer is complete; it is recorded before the client can know that."""
        if take.closed_by is None:
            take.end("server", self._clock())
            self._keep(take)

    def _keep(self, take: Take) -> None:
        """Record a take that has ended, unless it is recorded already, or the vendor has not answered."""
        if take.closed_by is None or take.is_kept:
            return
        take.is_kept = True
        self._logbook.end(take)
        if take.status:
            # The client's answer does not depend on the file.
            try:
                self._tape.write(take)
            except OSError as error:
                log.error("%s: %s: this exchange is not recorded: %s", self._tape.path, error.strerror, summary(take))
            except Exception:
                log.exception("an error in mockserver itself: this exchange is not recorded")
        log.info("%s", summary(take))


async def _replay(replay: "Replay", guest: _Guest) -> None:
    """Send a recorded answer again, each event of a stream by itself."""
    headers = [*guest.opened(replay.headers)]
    await guest.send({"type": "http.response.start", "status": replay.status, "headers": headers})
    for piece in replay.pieces:
        await guest.send({"type": "http.response.body", "body": piece, "more_body": True})
    await guest.send({"type": "http.response.body", "body": b""})


async def _over(task: asyncio.Future[None]) -> None:
    """Wait until a task is over; a recorder that is stopped meanwhile ends it."""
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            task.cancel()


async def _left(receive: Receive) -> None:
    """Wait until the client leaves, or has its whole answer."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _break_off(ending: Ending, wire: Wire | None) -> None:
    """End the connection to the client in the middle of an answer, as the vendor ended its own."""
    if wire is None:
        raise ConnectionError("the answer was broken off")
    await wire.drain()
    if ending.how == "reset":
        await wire.reset()
    else:
        wire.close()


async def _deny(guest: _Guest, method: str, path: str, denial: Denial) -> None:
    """Answer in our own words, which are not recorded."""
    log.warning("%s", refusal(method, path, denial))
    await send_json(guest.send, denial.status, denial.body, guest.opened())
