"""Requests to applications of the user's, over HTTP/1.1: one connection each, no redirects, no proxies."""

import asyncio
import re
import ssl
import zlib
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import quote, urlsplit

import h11

from mockserver.core.outbox import Outcome, Task
from mockserver.serving.misdirected import tls_refused

# The longest answer that is read, in bytes; the rest is ignored.
_MOST = 1_048_576
_READ = 65_536
# What may stand in a request target as it is; everything else is quoted.
_PLAIN = "/?:@!$&'()*+,;=-._~%[]"
# The offset by which zlib reads gzip.
_GZIP = 31


# The names of hosts that are local wherever they are: those of loopback, networks at home, containers and tests; and a
# name without a dot, which is one of this network, as of a service in a compose file. It is no number, since there are
# numbers that mean addresses.
_LOCAL = re.compile(r".+\.(localhost|local|internal|test|lan|home\.arpa)|[a-z_][a-z0-9_-]*")


class UnsentError(Exception):
    """A request that got no answer; the message says why."""


def is_local(url: str) -> bool:
    """Whether a URL leads to this machine or a private network, judged by its host alone.

    Link-local addresses do not count: clouds answer there with the credentials of their machines.
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    try:
        address: IPv4Address | IPv6Address = ip_address(host)
    except ValueError:
        return _LOCAL.fullmatch(host) is not None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_private and not address.is_link_local


async def send(task: Task) -> Outcome:
    """Send a request and return its answer. Raises UnsentError if there is none."""
    try:
        parts = urlsplit(task.url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise UnsentError(f"{task.url}: {error}") from None
    secure = _trusting() if parts.scheme == "https" else None
    try:
        reader, writer = await asyncio.open_connection(host, port, ssl=secure)
    except (OSError, UnicodeError) as error:
        raise UnsentError(f"{host}:{port}: {_reason(error)}") from None
    try:
        return await _exchange(task, parts.netloc.rpartition("@")[2], _target(task.url), reader, writer)
    except (OSError, EOFError, UnicodeError, h11.ProtocolError) as error:
        raise UnsentError(f"{host}:{port}: {_reason(error)}") from None
    finally:
        writer.close()


async def _exchange(
    task: Task, host: str, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Outcome:
    connection = h11.Connection(h11.CLIENT)
    length = [(b"Content-Length", b"%d" % len(task.body))] if task.body or task.method != "GET" else []
    headers = [(b"Host", host.encode("idna" if not host.isascii() else "ascii")), *task.headers, *length]
    headers += [(b"Accept-Encoding", b"gzip"), (b"Connection", b"close")]
    request = h11.Request(method=task.method, target=target, headers=headers)
    for part in (request, h11.Data(data=task.body), h11.EndOfMessage()):
        writer.write(connection.send(part) or b"")
    await writer.drain()
    answer: h11.Response | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_READ))
        elif isinstance(event, h11.Response):
            answer = event
        elif isinstance(event, h11.Data):
            body += event.data
        if answer is not None and (isinstance(event, h11.EndOfMessage) or len(body) >= _MOST):
            return _outcome(answer, bytes(body[:_MOST]))
        if isinstance(event, h11.ConnectionClosed):
            raise EOFError("the connection was closed before the answer")


def _outcome(answer: h11.Response, body: bytes) -> Outcome:
    """The answer, decompressed if it is compressed: then without the headers that describe the compressed body."""
    headers = tuple((bytes(name), bytes(value)) for name, value in answer.headers)
    if (b"content-encoding", b"gzip") not in headers:
        return Outcome(answer.status_code, headers, body)
    about = (b"content-encoding", b"content-length")
    return Outcome(answer.status_code, tuple(each for each in headers if each[0] not in about), _unzipped(body))


def _unzipped(body: bytes) -> bytes:
    try:
        return zlib.decompressobj(_GZIP).decompress(body, _MOST)
    except zlib.error as error:
        raise EOFError(f"the answer is not valid gzip: {error}") from None


def _target(url: str) -> str:
    """What stands of a URL in the request line: its path and its query."""
    parts = urlsplit(url)
    return quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_PLAIN)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{error.verify_message}. Trust the certificate: SSL_CERT_FILE=<its file, or that of its authority>"
    if isinstance(error, ssl.SSLError) and (advice := tls_refused(error)):
        return advice
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


@cache
def _trusting() -> ssl.SSLContext:
    return ssl.create_default_context()
