"""The server's headers (vendor note 5): names in lower case, no date, no server, no request id."""

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.timeline import RawHeaders

JSON = b"application/json; charset=utf-8"
STREAM: RawHeaders = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"connection", b"keep-alive"),
)

# "on every response [...] each default `*`".
_CORS: RawHeaders = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"*"),
    (b"access-control-allow-headers", b"*"),
)


def every_answer(call: Call, site: Site) -> RawHeaders:
    """The headers that each answer carries, errors included: CORS since v2025.2.1, none before."""
    return _CORS if site.edition == "observed" else ()
