"""Browsers that open the server's address: nothing is served there, so they are redirected to the live page."""

from mockserver.core.calls import Headers
from mockserver.core.timeline import Timeline
from mockserver.server.addresses import live_page_from


def to_live_page(method: str, path: str, headers: Headers, requested: str) -> Timeline | None:
    """A redirect to the live page if a browser requests the root; else None.

    The `path` is the requested one without the namespace.
    """
    if path != "/" or method not in ("GET", "HEAD") or "text/html" not in (headers.get("accept") or ""):
        return None
    location = (b"location", live_page_from(requested).encode())
    return Timeline(307, (location, (b"cache-control", b"no-store")), ())
