"""Addresses of a server: the URLs at which it is reached, and paths of its own API."""

import socket

from mockserver.control.routing import ADMIN as ADMIN

HEALTH = ADMIN + "/health"
# Hosts that only this machine can reach: there the admin API needs no token.
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def url_of(listener: socket.socket, *, secure: bool = False) -> str:
    """The base URL of a bound socket, without a trailing slash."""
    host, port = listener.getsockname()[:2]
    return url_at(host, port, secure=secure)


def url_at(host: str, port: int, *, secure: bool = False) -> str:
    """The base URL at which this machine reaches a server that listens on an address."""
    scheme = "https" if secure else "http"
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{reached}]:{port}" if ":" in reached else f"{scheme}://{reached}:{port}"
