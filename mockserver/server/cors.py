"""Pages in browsers: which of them are turned away, and headers that let the others read answers.

A browser sends requests to loopback for any page. It tells the page's origin in `Origin`, or at least that it is
another one in `Sec-Fetch-Site`, and pages can fake neither. A page whose own name has been rebound to this machine
passes for one of the server's; it is known by that name, in `Host`.

Requests without `Origin` get no headers. With the setting `cors = "vendor"` all of them are left out: then a page sees
what the vendor would let it see.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from mockserver.core.dialects import Dialect
from mockserver.core.failures import SimulatorError
from mockserver.core.http import Headers, RawHeaders, Timeline
from mockserver.core.messages import short_repr
from mockserver.faults.responses import HEAD
from mockserver.server.asgi import HEADERS, ROOT, send_json
from mockserver.server.logs import log, printable
from mockserver.state.settings import Settings
from mockserver.state.settings.origins import ANY, HOST, LONGEST, USUAL_HOSTS, USUAL_PORTS, VENDOR, is_loopback

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
            simulator_error = None if allows_host(host, allowed) else _host_refusal(host)
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
    """The guard of an application. What it turns away leaves no trace in the journal of any namespace."""

    def __init__(self, app: ASGIApp, guard: AccessGuard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope, which may come from an application that this one is part of."""
        scope[ROOT] = scope.get("root_path", "")
        if scope["type"] == "http":
            headers = scope[HEADERS] = Headers(scope["headers"])
            simulator_error = self._guard.refusal(scope["method"], headers, scope["app"].settings)
            if simulator_error is not None:
                await send_json(send, simulator_error.status, simulator_error.body, (VARY,))
                return
        await self._app(scope, receive, send)


def allows_origin(cors: str | tuple[str, ...], origin: str) -> bool:
    """Whether pages of an origin, as in the header, may use the server."""
    if cors == ANY:
        return True
    if len(origin) > LONGEST:
        return False
    origin = origin.lower()
    if isinstance(cors, tuple) and origin in cors:
        return True
    scheme, _, host = origin.partition("://")
    return scheme in USUAL_PORTS and is_loopback(_name_in(host))


def allows_host(host: str, allowed: Collection[str]) -> bool:
    """Whether a `Host` is a name of this machine, or among those that are allowed, such as `*.example.test`."""
    plain, _, port = host.partition(":")
    if plain in USUAL_HOSTS and (not port or port.isdecimal()):
        return True
    name = _name_in(host.lower()) if len(host) <= LONGEST else ""
    if not name:
        return False
    return is_loopback(name) or any(
        name.endswith(each[1:]) if each.startswith("*.") else name == each for each in allowed
    )


def _name_in(host: str) -> str:
    """The name or address in a `Host`, which is in lower case; empty if there is none."""
    found = HOST.fullmatch(host)
    return (found[1] or found[2]).removesuffix(".") if found else ""


def is_own(headers: Headers) -> bool:
    """Whether a request with an `Origin` comes from a page of this very server, also by a proxy that changes `Host`."""
    origin, host = headers.get("origin") or "", headers.get("host")
    return headers.get("sec-fetch-site") == "same-origin" or (bool(host) and origin.partition("://")[2] == host)


def page_refusal(method: str, headers: Headers, cors: str | tuple[str, ...]) -> SimulatorError | None:
    """The refusal of a request from a page that may not use the server; None for all others.

    Without `Origin` come images, scripts and frames of other pages, which cannot read what they get, but would count;
    and links, which are let through.
    """
    origin = headers.get("origin")
    if cors == ANY or (origin is None and headers.get("sec-fetch-site") != "cross-site"):
        return None
    if origin is None:
        is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if is_link and method in ("GET", "HEAD"):
            return None
        message = "A page of another origin may not load anything of this server."
        return SimulatorError(403, "foreign_origin", f"{message} If the page is yours, list its origin with --cors.")
    if is_own(headers) or allows_origin(cors, origin):
        return None
    message = (
        f"A page of the origin {short_repr(origin)} may not use this server, which serves pages of loopback origins "
        "and of listed ones. If the page is yours, list its origin with --cors (MOCKSERVER_CORS, or cors in the "
        "config)."
    )
    return SimulatorError(403, "foreign_origin", message)


def _host_refusal(host: str) -> SimulatorError:
    """The refusal of a request to a name that is not the server's."""
    message = (
        f"This server does not answer to the host {short_repr(host)}: a web page could have led that name to this "
        "machine. If it is yours, allow it with --allow-host (MOCKSERVER_ALLOW_HOST, or allow_host in the config)."
    )
    return SimulatorError(421, "wrong_host", message)


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


def allowed_origin(headers: Headers, settings: Settings) -> str | None:
    """The origin of the page that may read the answer by our headers; None if there is none."""
    origin = headers.get("origin")
    may_read = origin is not None and settings.cors != VENDOR and allows_origin(settings.cors, origin)
    return origin if may_read else None


def with_cors(timeline: Timeline, origin: str) -> Timeline:
    """The timeline with headers that let a page of that origin read everything."""
    ending = timeline.ending
    if ending is not None and ending.raw.startswith(HEAD):
        # The raw bytes begin with a complete head.
        lines = b"".join(b"%b: %b\r\n" % header for header in _opened(origin))
        ending = ending._replace(raw=HEAD + lines + ending.raw[len(HEAD) :])
    return timeline._replace(headers=with_cors_headers(timeline.headers, origin), ending=ending)


def with_cors_headers(headers: RawHeaders, origin: str) -> RawHeaders:
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
        await api(scope, receive, readable(send, origin if may_read else None))

    return opened


def readable(send: Send, origin: str | None) -> Send:
    """Sends answers with headers that let a page of that origin read them, if there is one; without, they say that they
    depend on it."""

    async def send_readable(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = tuple(message["headers"])
            message = {**message, "headers": [*own, VARY] if origin is None else [*with_cors_headers(own, origin)]}
        await send(message)

    return send_readable
