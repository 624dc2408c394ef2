"""Where a server is: the addresses that it listens on, the URLs by which it is reached, and its own API's path."""

import socket

from mockserver.control.routing import ADMIN as ADMIN

HEALTH = ADMIN + "/health"
# Hosts that only this machine reaches: there the admin API needs no token.
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def url_of(listener: socket.socket, *, secure: bool = False) -> str:
    """The base URL of a bound socket, without a slash at the end."""
    host, port = listener.getsockname()[:2]
    return url_at(host, port, secure=secure)


def url_at(host: str, port: int, *, secure: bool = False) -> str:
    """The base URL by which this machine reaches a server that listens on an address."""
    scheme = "https" if secure else "http"
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{reached}]:{port}" if ":" in reached else f"{scheme}://{reached}:{port}"
