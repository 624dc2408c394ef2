"""Browsers that open the server's address: nothing is served there, so they are redirected to the live page."""

from mockserver.core.calls import Headers
from mockserver.core.timeline import Timeline
from mockserver.serving.addresses import ADMIN

_LIVE_PAGE = (b"location", f"{ADMIN}/ui/".encode())


def to_live_page(method: str, path: str, headers: Headers) -> Timeline | None:
    """A redirect to the live page if a browser requests the root; else None."""
    if path != "/" or method not in ("GET", "HEAD") or "text/html" not in (headers.get("accept") or ""):
        return None
    return Timeline(307, (_LIVE_PAGE, (b"cache-control", b"no-store")), ())
