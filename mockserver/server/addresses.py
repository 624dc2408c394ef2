"""Addresses of a server: the URLs at which it is reached, and paths of its own API."""

import socket

from mockserver.state.routing import ADMIN as ADMIN

HEALTH = ADMIN + "/health"

# Endpoints of the admin API that people also look for at the root, as servers of other kinds have them there.
SOUGHT = ("/health", "/ready", "/version", "/metrics", "/routes", "/openapi.json")


def own_place(path: str) -> str:
    """A sentence on where the server has what people look for at a path; empty for any other path."""
    return f" The server's own is at {ADMIN}{path}." if path in SOUGHT else ""


def live_page_from(path: str) -> str:
    """The address of the live page relative to a path: a proxy may have stripped the beginning of that path."""
    return f"{'../' * (path.count('/') - 1)}{ADMIN[1:]}/ui/"


def url_of(listener: socket.socket, *, secure: bool) -> str:
    """The base URL of a bound socket, without a trailing slash."""
    host, port = listener.getsockname()[:2]
    return url_at(host, port, secure=secure)


def url_at(host: str, port: int, *, secure: bool) -> str:
    """The base URL at which this machine reaches a server that listens on an address."""
    scheme = "https" if secure else "http"
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{reached}]:{port}" if ":" in reached else f"{scheme}://{reached}:{port}"
