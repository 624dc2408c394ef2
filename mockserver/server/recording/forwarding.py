"""Forwarding: the HTTP client for the upstreams, the requests it sends, and why an upstream did not answer."""

import logging
import socket
import ssl
from collections.abc import Iterable, Iterator
from itertools import chain

import httpx

from mockserver.core.calls import Call
from mockserver.core.timeline import RawHeaders
from mockserver.server.recording.targets import Target
from mockserver.server.recording.upstreams import Upstream
from mockserver.server.urls import tls_refused

# How long making a connection may take, in seconds.
_CONNECT = 10.0
# Headers that concern one connection only (RFC 9110, 7.6.1), with those that proxies have taken for such.
_HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
# Headers of a request that the forwarded one has values of its own for.
_SETTLED = frozenset((b"host", b"content-length", b"accept-encoding", b"expect"))
# Loggers that would show the whole URL of each request, with the keys in its query.
_LOGGERS = ("httpx", "httpcore")


def vendor_client(upstreams: Iterable[Upstream], silence: float) -> httpx.AsyncClient:
    """An HTTP client for the upstreams, which times out after so many seconds of `silence`.

    Proxies and certificates are those of the environment; an upstream on this machine is reached without a proxy.
    """
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    direct = {f"all://{_bracketed(each.host)}": None for each in upstreams if each.is_local}
    return httpx.AsyncClient(
        timeout=httpx.Timeout(silence, connect=min(_CONNECT, silence), pool=None),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        mounts=direct,
    )


def forwarded(target: Target, call: Call) -> httpx.Request:
    """The request for the upstream: all of a call but what concerns its connection.

    It asks for an answer that is not compressed, so that the recording is readable. Raises httpx.InvalidURL.
    """
    kept = [header for header in end_to_end(call.headers.raw) if header[0] not in _SETTLED]
    url = httpx.URL(target.upstream.origin).copy_with(raw_path=target.raw_path)
    headers = [*kept, (b"accept-encoding", b"identity")]
    return httpx.Request(call.method, url, headers=headers, content=call.body or None)


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """The headers, with lower-case names, that a proxy passes on."""
    lowered = [(name.lower(), value) for name, value in headers]
    named = chain.from_iterable(value.split(b",") for name, value in lowered if name == b"connection")
    dropped = _HOP_BY_HOP | {name.strip().lower() for name in named}
    return tuple(each for each in lowered if each[0] not in dropped)


def reason(error: httpx.TransportError, silence: float) -> str:
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


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
