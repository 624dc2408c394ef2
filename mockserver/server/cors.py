"""Pages in browsers: which of them are turned away, and headers that let the others read answers.

Requests without `Origin` get no headers. With the setting `cors = "vendor"` all of them are left out: then a page sees
what the vendor would let it see.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from mockserver.core.calls import Headers
from mockserver.core.dialects import Dialect
from mockserver.core.failures import SimulatorError
from mockserver.core.timeline import RawHeaders, Timeline
from mockserver.faults.responses import HEAD
from mockserver.server.asgi import HEADERS, send_json
from mockserver.server.logs import log, printable
from mockserver.state.settings import Settings
from mockserver.state.settings.origins import (
    VENDOR,
    allows_host,
    allows_origin,
    host_refusal,
    is_loopback,
    page_refusal,
)

# How many seconds browsers cache a preflight.
_REMEMBERED = b"600"
_METHODS = b"GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS"
_OURS = b"access-control-"
# Of the refusals of one second, so many are logged; the next line says how many were not.
_LOGGED = 10
# What an answer to a page depends on.
VARY = (b"vary", b"Origin")


class AccessGuard:
    """Turns away requests of foreign pages, and those to names that are not the server's.

    Names are only checked if they are listed, or if the server is bound to loopback: then no others are needed. An
    application that another server serves does not know where it is bound.
    """

    def __init__(self, dialects: Mapping[str, Dialect]) -> None:
        self._vendors = tuple(host for dialect in dialects.values() for host in dialect.hosts)
        self._is_local = False
        self._second, self._logged, self._unlogged = 0, 0, 0

    def bound_to(self, address: str) -> None:
        """Take note of the address that the server listens on."""
        self._is_local = is_loopback(address)

    def refusal(self, method: str, headers: Headers, settings: Settings) -> SimulatorError | None:
        """Why a request is turned away, which is logged; None if it is let in."""
        simulator_error, host = None, headers.get("host")
        # No browser leaves out the host.
        if host is not None and (self._is_local or settings.allow_host):
            allowed = self._vendors + settings.allow_host
            simulator_error = None if allows_host(host, allowed) else host_refusal(host)
        if simulator_error is None and ("origin" in headers or "sec-fetch-site" in headers):
            simulator_error = page_refusal(method, headers, settings.cors)
        if simulator_error is not None:
            self._log(simulator_error)
        return simulator_error

    def _log(self, simulator_error: SimulatorError) -> None:
        """Log a refusal, unless there are many: a page may send thousands of requests."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._logged = second, 0
        if self._logged == _LOGGED:
            self._unlogged += 1
            return
        self._logged += 1
        more = f" ({self._unlogged:,} others before it were not logged)" if self._unlogged else ""
        self._unlogged = 0
        log.warning("refused with %d: %s%s", simulator_error.status, printable(simulator_error.message), more)


class AccessMiddleware:
    """The guard of an ASGI application. What it turns away leaves no trace in the journal of any namespace."""

    def __init__(self, app: ASGIApp, guard: AccessGuard, settings: Callable[[], Settings]) -> None:
        self._app, self._guard, self._settings = app, guard, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "http":
            headers = scope[HEADERS] = Headers(scope["headers"])
            simulator_error = self._guard.refusal(scope["method"], headers, self._settings())
            if simulator_error is not None:
                await send_json(send, simulator_error.status, simulator_error.body, (VARY,))
                return
        await self._app(scope, receive, send)


def preflight(method: str, headers: Headers) -> Timeline | None:
    """The answer to a preflight request of a page that was let in, which allows everything. None if it is none."""
    if method != "OPTIONS":
        return None
    origin, wanted = headers.get("origin"), headers.get("access-control-request-method")
    if origin is None or wanted is None:
        return None
    allowed: RawHeaders = (*_opened(origin), (b"access-control-allow-methods", _METHODS))
    names = headers.get("access-control-request-headers")
    if names is not None:
        allowed = (*allowed, (b"access-control-allow-headers", names.encode("latin-1")))
    if headers.get("access-control-request-private-network") == "true":
        allowed = (*allowed, (b"access-control-allow-private-network", b"true"))
    varies = b"Access-Control-Request-Headers, Access-Control-Request-Private-Network"
    return Timeline(204, (*allowed, (b"access-control-max-age", _REMEMBERED), (b"vary", varies)), ())


async def answer_preflight(method: str, headers: Headers, send: Send) -> bool:
    """Answer a preflight request; return False if it is none."""
    allowed = preflight(method, headers)
    if allowed is None:
        return False
    await send({"type": "http.response.start", "status": allowed.status, "headers": list(allowed.headers)})
    await send({"type": "http.response.body"})
    return True


def reader_of(headers: Headers, settings: Settings) -> str | None:
    """The origin of the page that may read the answer by our headers; None if there is none."""
    origin = headers.get("origin")
    may_read = origin is not None and settings.cors != VENDOR and allows_origin(settings.cors, origin)
    return origin if may_read else None


def shared(timeline: Timeline, origin: str) -> Timeline:
    """The timeline with headers that let a page of that origin read everything."""
    ending = timeline.ending
    if ending is not None and ending.raw.startswith(HEAD):
        # The raw bytes begin with a complete head.
        lines = b"".join(b"%b: %b\r\n" % header for header in _opened(origin))
        ending = ending._replace(raw=HEAD + lines + ending.raw[len(HEAD) :])
    return timeline._replace(headers=shared_headers(timeline.headers, origin), ending=ending)


def shared_headers(headers: RawHeaders, origin: str) -> RawHeaders:
    """Headers that let a page of that origin read everything, including all header names.

    They replace such headers of the vendor, since browsers reject duplicates.
    """
    kept = tuple(header for header in headers if not header[0].startswith(_OURS))
    exposed = b", ".join(dict.fromkeys(name for name, _ in kept))
    return (*kept, *_opened(origin), (b"access-control-expose-headers", exposed))


def _opened(origin: str) -> RawHeaders:
    return (
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-credentials", b"true"),
        VARY,
    )


def open_to_pages(api: ASGIApp, settings: Callable[[], Settings]) -> ASGIApp:
    """An ASGI application whose answers can be read by pages of the allowed origins."""

    async def opened(scope: Any, receive: Receive, send: Send) -> None:
        headers = Headers(scope.get("headers", ()))
        origin = headers.get("origin")
        may_read = origin is not None and allows_origin(settings().cors, origin)
        if may_read and await answer_preflight(scope["method"], headers, send):
            return
        more = _opened(origin) if origin is not None and may_read else (VARY,)

        async def send_opened(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await api(scope, receive, send_opened)

    return opened
