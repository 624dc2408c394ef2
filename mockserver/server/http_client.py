"""An HTTP/1.1 client for requests to applications of the user's: one connection each, no redirects, no proxies.

Whoever can send requests to this server can let it send some, so the setting `deliver` says how far they go. What
counts is the address that a connection is made to: a name is resolved once, its addresses are checked, and one of
those is connected to, whatever the name stands for afterwards.
"""

import asyncio
import re
import socket
import ssl
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache, partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import h11

from mockserver.core.dialect_state import WebhookRequest, WebhookResult
from mockserver.server.scheduling import Threads
from mockserver.server.urls import ADMIN, reason_of, tls_refused

# The longest answer that is read, in bytes; the rest is ignored.
_MOST = 1_048_576
_READ = 65_536
# What may stand in a request target as it is; everything else is quoted.
_PLAIN = "/?:@!$&'()*+,;=-._~%[]"
# The offset by which zlib reads gzip.
_GZIP = 31


# What addresses each value of the setting lets through.
_REACH: Mapping[str, tuple[str, ...]] = {
    "loopback": ("loopback",),
    "private": ("loopback", "private"),
    "any": ("loopback", "private", "public"),
}
# What to do about an address that it does not let through.
_ADVICE = {
    "private": "is in a private network; to call it, use --deliver private",
    "public": "is a public address; to call it, use --deliver any",
    "never": "is never called: clouds answer there with the credentials of their machines",
}
_PRIVATE = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))
# Where clouds answer with credentials: all link-local addresses, and those of AWS, Google, Alibaba, Oracle and Azure.
_NEVER = tuple(
    map(
        ip_network,
        (
            *("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32", "fd20:ce::/32"),
            *("100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32"),
        ),
    )
)
_METADATA = re.compile(r"(metadata|instance-data)[^.]*(\..*)?")
# The prefixes after which the last 32 bits are an IPv4 address: compatible, translated, and those of NAT64.
_WITH_IPV4 = tuple(map(ip_network, ("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")))
_ISATAP = 0x5EFE

# A host that is an address, also one that is written as a number, in hexadecimal or in octal, which is not looked up.
_NUMERIC = re.compile(r".*:.*|(.*\.)?(\d+|0x[0-9a-f]*)", re.IGNORECASE)
# The names that may stand for a loopback address. Others are not even looked up if no other address is let through, so
# that recorded traffic with the URLs of production asks nobody for them.
_LOOPBACK = re.compile(r"(.+\.)?localhost")
_LOCAL = re.compile(rf"{_LOOPBACK.pattern}|.+\.(local|internal|test|lan|home\.arpa)|[a-z_][a-z0-9_-]*")
# Where names are looked up, so many at once at most: each takes a thread, for as long as the system's resolver takes.
_RESOLVERS = Threads(32)

Address = IPv4Address | IPv6Address


class UnsentError(Exception):
    """A request that got no answer; the message says why."""


def reach_of(address: Address) -> str:
    """How far away an address is: "loopback", "private" or "public"; "never" if nothing may be sent there.

    The unspecified addresses (0.0.0.0 and ::) lead to this machine, as loopback addresses do.
    """
    if any(each in network for each in (address, *_embedded(address)) for network in _NEVER):
        return "never"
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_loopback or address.is_unspecified:
        return "loopback"
    return "private" if any(address in network for network in _PRIVATE) else "public"


def _embedded(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 address may lead to."""
    if isinstance(address, IPv4Address):
        return
    number = int(address)
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if any(address in network for network in _WITH_IPV4) or number >> 32 & 0xFDFF_FFFF == _ISATAP:
        yield IPv4Address(number & 0xFFFF_FFFF)


async def send(task: WebhookRequest, deliver: str) -> WebhookResult:
    """Send a request and return its answer. Raises UnsentError if there is none, or if the setting does not let it."""
    try:
        parts = urlsplit(task.url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise UnsentError(f"invalid URL: {error}") from None
    # Nobody may reach the admin API by way of the server itself, whose own requests have no origin.
    if ADMIN in unquote(unquote(parts.path)):
        raise UnsentError(f"{ADMIN} is the admin API of a mockserver, to which nothing is delivered")
    secure = _tls_context() if parts.scheme == "https" else None
    try:
        # What stands of the URL in the request line.
        target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_PLAIN)
        name = host.encode("idna").decode() if not host.isascii() else host
        reader, writer = await _connect(await _addresses(name.rstrip("."), deliver), name, port, secure)
        with closing(writer):
            return await _exchange(task, parts.netloc.rpartition("@")[2], target, reader, writer)
    except (OSError, EOFError, UnicodeError, h11.ProtocolError) as error:
        raise UnsentError(f"{host}:{port}: {_reason(error)}") from None


async def _addresses(host: str, deliver: str) -> list[Address]:
    """The addresses of a host that the setting lets through. Raises UnsentError if there is none, OSError and
    UnicodeError if it has no address at all."""
    if _METADATA.fullmatch(host):
        raise UnsentError(f"{host} {_ADVICE['never']}")
    if _NUMERIC.fullmatch(host):
        found = _parsed(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST))
    elif _LOOPBACK.fullmatch(host):
        found = [ip_address("127.0.0.1"), ip_address("::1")]
    elif deliver == "loopback" and not _LOCAL.fullmatch(host):
        raise UnsentError(f"{host} is not this machine; to call it, use --deliver private, or any for public addresses")
    else:
        look_up = partial(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM)
        found = _parsed(await asyncio.get_running_loop().run_in_executor(_RESOLVERS, look_up))
    allowed = [address for address in found if reach_of(address) in _REACH[deliver]]
    if not allowed:
        address = "" if str(found[0]) == host else f" leads to {found[0]}, which"
        raise UnsentError(f"{host}{address} {_ADVICE[reach_of(found[0])]}")
    return allowed


def _parsed(found: list[tuple[Any, ...]]) -> list[Address]:
    return [ip_address(each[4][0].partition("%")[0]) for each in found]


async def _connect(
    addresses: list[Address], host: str, port: int, secure: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first of some addresses that takes one. Raises UnsentError if none does."""
    failure = ""
    for address in addresses:
        try:
            return await asyncio.open_connection(
                str(address), port, ssl=secure, server_hostname=host if secure is not None else None
            )
        except OSError as error:
            failure = failure or _reason(error)
    raise UnsentError(f"{host}:{port}: {failure}")


async def _exchange(
    task: WebhookRequest, host: str, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> WebhookResult:
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
            break
        if isinstance(event, h11.ConnectionClosed):
            raise EOFError("the connection was closed before the answer")
    received, data = tuple((bytes(name), bytes(value)) for name, value in answer.headers), bytes(body[:_MOST])
    if (b"content-encoding", b"gzip") in received:
        # Decompressed, and without the headers that describe the compressed body.
        received = tuple(each for each in received if each[0] not in (b"content-encoding", b"content-length"))
        try:
            data = zlib.decompressobj(_GZIP).decompress(data, _MOST)
        except zlib.error as error:
            raise EOFError(f"the answer is not valid gzip: {error}") from None
    return WebhookResult(answer.status_code, received, data)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{error.verify_message}. Trust the certificate: SSL_CERT_FILE=<its file, or that of its authority>"
    if isinstance(error, ssl.SSLError) and (advice := tls_refused(error)):
        return advice
    return reason_of(error)


@cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()
