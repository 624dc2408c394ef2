"""CORS: preflights and headers that let pages of other origins read answers.

Requests without `Origin` get none of it. With the setting `cors = "vendor"` all of it is left out: then a page sees
what the vendor would let it see.
"""

from collections.abc import Callable
from typing import Any

from mockserver.core.calls import Headers
from mockserver.core.timeline import Ending, RawHeaders, Timeline
from mockserver.faults.connections import HEAD
from mockserver.serving.asgi import Application, Receive, Send

# How many seconds browsers cache a preflight.
_REMEMBERED = b"600"
_METHODS = b"GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS"
_OURS = b"access-control-"


def preflight(method: str, headers: Headers) -> Timeline | None:
    """The answer to a preflight request, which allows everything. None if it is not a preflight."""
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


def shared(timeline: Timeline, origin: str) -> Timeline:
    """The timeline with headers that let a page of that origin read everything."""
    ending = _ending_shared(timeline.ending, origin)
    return timeline._replace(headers=shared_headers(timeline.headers, origin), ending=ending)


def shared_headers(headers: RawHeaders, origin: str) -> RawHeaders:
    """Headers that let a page of that origin read everything, including all header names.

    They replace such headers of the vendor, since browsers reject duplicates.
    """
    kept = tuple(header for header in headers if not header[0].startswith(_OURS))
    exposed = b", ".join(dict.fromkeys(name for name, _ in kept))
    return (*kept, *_opened(origin), (b"access-control-expose-headers", exposed))


def _ending_shared(ending: Ending | None, origin: str) -> Ending | None:
    """The ending, with the headers inserted into the raw head that it sends, if it sends a complete one."""
    if ending is None or not ending.raw.startswith(HEAD):
        return ending
    lines = b"".join(b"%b: %b\r\n" % header for header in _opened(origin))
    return ending._replace(raw=HEAD + lines + ending.raw[len(HEAD) :])


def _opened(origin: str) -> RawHeaders:
    return (
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-allow-credentials", b"true"),
        (b"vary", b"Origin"),
    )


def open_to_pages(api: Application, is_open: Callable[[], bool]) -> Application:
    """An ASGI application, open to pages of any origin if `is_open`, which means that a token protects it."""

    async def opened(scope: Any, receive: Receive, send: Send) -> None:
        headers = Headers(scope.get("headers", ()))
        origin = headers.get("origin")
        if origin is None or not is_open():
            await api(scope, receive, send)
            return
        if await answer_preflight(scope["method"], headers, send):
            return

        async def send_opened(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_opened(origin)]}
            await send(message)

        await api(scope, receive, send_opened)

    return opened
