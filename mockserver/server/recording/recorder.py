"""The recorder: an ASGI application that forwards requests to the vendors, and records what they answer.

target -> request to the vendor -> head, pieces, end: to the client at once, and into an exchange -> file
"""

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import anyio.lowlevel
import httpx
from starlette.types import Receive, Send

from mockserver.core.dialects import Dialect
from mockserver.core.failures import SimulatorError
from mockserver.core.http import Call, ConnectionFault, Headers, Timeline
from mockserver.core.messages import shortened
from mockserver.core.secrets import masked_text
from mockserver.pipeline import parse
from mockserver.server.asgi import WELL, ClientLeftError, live, read_body, refuse_websocket, send_json
from mockserver.server.cors import VARY, AccessGuard, allowed_origin, answer_preflight, readable
from mockserver.server.logs import duration, log, printable
from mockserver.server.recording.exchanges import BODILESS, RecordedExchange, RecorderJournal, end_to_end
from mockserver.server.recording.recording_file import RecordingFile, Replays
from mockserver.server.recording.upstreams import Target, Targets, Upstream, Upstreams
from mockserver.server.sockets.wire import WIRE, Wire
from mockserver.server.urls import HEALTH, tls_refused
from mockserver.state.context import make_context
from mockserver.state.journal.exchanges import Journal
from mockserver.state.settings import Settings
from mockserver.state.stubs.parse_replies import events_in, is_stream

# How long making a connection may take, in seconds.
_CONNECT = 10.0
# Headers of a request that the forwarded one has values of its own for.
_SETTLED = frozenset((b"host", b"content-length", b"accept-encoding", b"expect"))
# Loggers that would show the whole URL of each request, with the keys in its query.
_LOGGERS = ("httpx", "httpcore")
# How an answer ends here if the vendor's is broken off, by the error that says so.
_ENDINGS: tuple[tuple[type[Exception], ConnectionFault], ...] = (
    (httpx.TimeoutException, ConnectionFault("hang")),
    (httpx.NetworkError, ConnectionFault("reset")),
    (Exception, ConnectionFault("close")),
)
# The prefix of headers that are for this server.
_OURS = b"x-mockserver-"
_BREAKS = (httpx.TransportError, httpx.DecodingError)


class Recorder:
    """Forwards requests, by `client`, and writes the exchanges to a `file`; `clock` gives the instant, in seconds.

    Requests to which the `replays` have an answer get that instead; `replayed` counts them. A `journal` tells of all.
    """

    # A vendor takes its time.
    answers_at_once = False

    def __init__(
        self,
        settings: Settings,
        dialects: Mapping[str, Dialect],
        upstreams: Upstreams,
        file: RecordingFile,
        client: httpx.AsyncClient,
        clock: Callable[[], float] = time.monotonic,
        replays: Replays | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.settings, self.replayed = settings, 0
        self.guard = AccessGuard(dialects)
        self._replays = replays
        self._targets = Targets(dialects, settings, upstreams)
        self.file, self._client, self._clock = file, client, clock
        self._journal = RecorderJournal(journal or Journal(most=1), clock)
        # Whose key is accepted is for the vendor to say. Headers that name our stubs are none of the vendor's.
        self._parsing = replace(settings, auth="off", strict=True)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "lifespan":
            # What the first connection would have to import, which would count as the vendor's time.
            await anyio.lowlevel.checkpoint()
            await live(receive, send, self._client.aclose)
        elif scope["type"] != "http":
            await refuse_websocket(send)
        elif simulator_error := self.guard.refusal(
            scope["method"], headers := Headers(scope["headers"]), self.settings
        ):
            await send_json(send, simulator_error.status, simulator_error.body, (VARY,))
        elif scope["path"] == HEALTH and scope["method"] in ("GET", "HEAD"):
            await send_json(send, 200, WELL)
        else:
            await self._serve(scope, headers, receive, send)

    async def _serve(self, scope: Any, headers: Headers, receive: Receive, send: Send) -> None:
        method, path, query = scope["method"], scope["path"], scope["query_string"]
        origin = allowed_origin(headers, self.settings)
        if origin is not None:
            if await answer_preflight(method, headers, send):
                return
            send = readable(send, origin)
        target, body = self._targets.find(method, path, scope["raw_path"], query, headers), None
        if isinstance(target, Target):
            try:
                body = await read_body(scope, receive, self.settings.max_body)
            except ClientLeftError:
                return
        if isinstance(target, SimulatorError) or body is None:
            most = self.settings.max_body
            message = f"The body has more than {most} bytes; --max-body says how many it may have."
            denied = target if isinstance(target, SimulatorError) else SimulatorError(413, "body_too_large", message)
            self._journal.deny(method, path, headers, denied)
            await _deny(send, method, path, denied)
            return
        sent = tuple(header for header in headers.raw if not header[0].startswith(_OURS))
        call = Call(method, target.route.path, Headers(sent), body, query.decode("latin-1"), time.time())
        plan = parse(make_context(call, target.route, self._parsing))
        if self._replays is not None and self._replays.answer(plan):
            self.replayed += 1
            self._journal.replay(target, plan)
            course = f"{plan.timeline.status}, from the recording ({plan.rule})"
            log.info("%s", _summary(target, call, course))
            await _replay(plan.timeline, send)
            return
        recorded = self._journal.begin(target, plan)
        await self._perform(recorded, receive, send, scope.get("extensions", {}).get(WIRE))

    async def _perform(self, recorded: RecordedExchange, receive: Receive, send: Send, wire: Wire | None) -> None:
        """Relay an answer until it ends, its client leaves, or the recorder is stopped."""
        relay = asyncio.ensure_future(self._relay(recorded, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((relay, leaving), return_when=asyncio.FIRST_COMPLETED)
            if recorded.closed_by is None and not relay.done():
                recorded.end("client", self._clock())
                relay.cancel()
        except asyncio.CancelledError:
            # What was sent as a whole is not broken off.
            if recorded.closed_by is None:
                recorded.end("server", self._clock(), ConnectionFault("close"))
            relay.cancel()
        await _over(relay)
        self._keep(recorded)
        if recorded.ending is not None:
            await _break_off(recorded.ending, wire)
            # The server wants to hear that the connection is gone before its request is done with.
            await _over(leaving)
        leaving.cancel()
        if not relay.cancelled():
            relay.result()

    async def _relay(self, recorded: RecordedExchange, send: Send) -> None:
        """Ask the vendor, and pass the answer to the client as it comes."""
        try:
            response = await self._client.send(_forwarded(recorded.target, recorded.exchange.call), stream=True)
        except httpx.TransportError as error:
            why = _reason(error, self._client.timeout.read or 0.0)
            message = f"{recorded.target.upstream.url} did not answer: {why}. Nothing was recorded."
            await self._give_up(recorded, SimulatorError(502, "bad_gateway", message), send)
            return
        except httpx.InvalidURL as error:
            await self._give_up(recorded, SimulatorError(400, "bad_url", f"{error}."), send)
            return
        try:
            async with aclosing(response):
                recorded.answered(response.status_code, tuple(response.headers.raw), self._clock())
                await self._pass(recorded, response, send)
        except _BREAKS as error:
            ending = next(ending for kind, ending in _ENDINGS if isinstance(error, kind))
            recorded.end("server", self._clock(), ending)

    async def _give_up(self, recorded: RecordedExchange, simulator_error: SimulatorError, send: Send) -> None:
        self._journal.give_up(recorded.exchange, simulator_error)
        await _deny(send, recorded.exchange.call.method, recorded.target.path, simulator_error)

    async def _pass(self, recorded: RecordedExchange, response: httpx.Response, send: Send) -> None:
        await send({"type": "http.response.start", "status": recorded.status, "headers": recorded.headers})
        async for piece in response.aiter_bytes() if recorded.is_packed else response.aiter_raw():
            recorded.add(piece, self._clock())
            if recorded.is_whole:
                self._finish(recorded)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        self._finish(recorded)
        await send({"type": "http.response.body", "body": b""})

    def _finish(self, recorded: RecordedExchange) -> None:
        """The answer is complete; it is recorded before the client can know that."""
        if recorded.closed_by is None:
            recorded.end("server", self._clock())
            self._keep(recorded)

    def _keep(self, recorded: RecordedExchange) -> None:
        """Record an exchange that has ended, unless it is recorded already, or the vendor has not answered."""
        if recorded.closed_by is None or recorded.is_kept:
            return
        recorded.is_kept = True
        self._journal.end(recorded)
        summary = _summary(recorded.target, recorded.exchange.call, ", ".join(_course(recorded)))
        if recorded.status:
            # The client's answer does not depend on the file.
            try:
                self.file.write(recorded)
            except OSError as error:
                log.error("%s: %s: this exchange is not recorded: %s", self.file.path, error.strerror, summary)
            except Exception:
                log.exception("an error in mockserver itself: this exchange is not recorded")
        log.info("%s", summary)


async def _replay(timeline: Timeline, send: Send) -> None:
    """Send an answer at once."""
    frames = [frame for run in timeline.runs for frame in run.data]
    length = (
        ()
        if timeline.streamed or timeline.status in BODILESS
        else ((b"content-length", b"%d" % sum(map(len, frames))),)
    )
    await send({"type": "http.response.start", "status": timeline.status, "headers": (*timeline.headers, *length)})
    for frame in frames:
        await send({"type": "http.response.body", "body": frame, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


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


async def _break_off(ending: ConnectionFault, wire: Wire | None) -> None:
    """End the connection to the client in the middle of an answer, as the vendor ended its own."""
    if wire is None:
        raise ConnectionError("the answer was broken off")
    await wire.break_off(ending if ending.how == "reset" else ConnectionFault("close"))


async def _deny(send: Send, method: str, path: str, simulator_error: SimulatorError) -> None:
    """Answer in our own words, which are not recorded."""
    refusal = f"{method} {shortened(masked_text(path))} -> {simulator_error.status}: {simulator_error.message}"
    log.warning("%s", printable(refusal))
    await send_json(send, simulator_error.status, simulator_error.body)


# --- the upstreams ------------------------------------------------------------------------------------------------


def vendor_client(upstreams: Iterable[Upstream], silence: float) -> httpx.AsyncClient:
    """An HTTP client for the upstreams, which times out after so many seconds of `silence`.

    Proxies and certificates are those of the environment; an upstream on this machine is reached without a proxy.
    """
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    direct = {each.origin: None for each in upstreams if each.is_local}
    return httpx.AsyncClient(
        timeout=httpx.Timeout(silence, connect=min(_CONNECT, silence), pool=None),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        mounts=direct,
    )


def _forwarded(target: Target, call: Call) -> httpx.Request:
    """The request for the upstream: all of a call but what concerns its connection.

    It asks for an answer that is not compressed, so that the recording is readable. Raises httpx.InvalidURL.
    """
    kept = [header for header in end_to_end(call.headers.raw) if header[0] not in _SETTLED]
    url = httpx.URL(target.upstream.origin).copy_with(raw_path=target.raw_path)
    headers = [*kept, (b"accept-encoding", b"identity")]
    return httpx.Request(call.method, url, headers=headers, content=call.body or None)


def _reason(error: httpx.TransportError, silence: float) -> str:
    """Why an upstream did not answer, in few words."""
    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection within {min(_CONNECT, silence):g} s"
    if isinstance(error, httpx.TimeoutException):
        return f"silent for {silence:g} s"
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return tls_refused(cause) or f"TLS: {getattr(cause, 'verify_message', '') or cause.reason or cause}"
    for cause in causes:
        if isinstance(cause, OSError) and cause.strerror:
            return f"its name is not found: {cause.strerror}" if isinstance(cause, socket.gaierror) else cause.strerror
    return str(error) or type(error).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """What an error was raised from, the nearest first."""
    while error is not None:
        yield error
        grouped = isinstance(error, BaseExceptionGroup)
        error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__ or error.__context__
        assert error is not None or not grouped, "a group has at least one error"


# --- the log ------------------------------------------------------------------------------------------------------


def _summary(target: Target, call: Call, course: str) -> str:
    """An exchange in one line, with how it went."""
    return printable(f"{target.route.dialect.name} {call.method} {shortened(masked_text(target.path))} -> {course}")


def _course(recorded: RecordedExchange) -> Iterator[str]:
    yield str(recorded.status or "no answer")
    if recorded.first is not None:
        yield f"first byte after {duration(recorded.first)}"
    yield f"in {duration(recorded.seconds)}"
    if is_stream(recorded.content_type):
        yield f"{len(events_in(b''.join(recorded.pieces)))} events"
    if recorded.ending is not None:
        yield f"broken off ({recorded.ending.how})"
    if recorded.closed_by == "client":
        yield "client left"
