"""The headers of every answer, and the key that a request carries (vendor note A1)."""

import re

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.seeding import derive, uuid4_text
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.openai.fields import json_object
from mockserver.dialects.yandex.backends import D2, Backend, backend_of
from mockserver.dialects.yandex.uri import parse_uri

_SCHEMES = ("api-key", "bearer")
_NAME = b'"model"'
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]*)"')


def credentials(call: Call) -> str | None:
    """The key of `Authorization: Api-Key <key>` or `Bearer <key or IAM token>`; None if there is none."""
    scheme, _, key = (call.headers.get("authorization") or "").partition(" ")
    return key.strip() or None if scheme.lower() in _SCHEMES else None


def every_answer(call: Call, site: Site) -> RawHeaders:
    """The headers of every answer, including errors; only some engines add the ids that trace a call."""
    always = ((b"x-server-trace-id", _trace_id(site)), (b"server", b"ycalb"))
    if not _requested_backend(call).traced:
        return always
    own = call.headers.get("x-client-request-id")
    echoed = ((b"x-client-request-id", own.encode("latin-1")),) if own else ()
    return (*always, (b"x-request-id", request_id(site).encode()), *echoed)


def request_id(site: Site) -> str:
    """The id of this call within the service."""
    return uuid4_text(site.identity, "request")


def _trace_id(site: Site) -> bytes:
    """`<hex16>:<hex16>:<hex16>:1`, "no zero padding"."""
    trace, span, parent = (derive(site.identity, "trace", part) for part in ("trace", "span", "parent"))
    return f"{trace:x}:{span:x}:{parent:x}:1".encode()


def _requested_backend(call: Call) -> Backend:
    """The engine of the model in a call's body; vLLM, whose headers any other call gets, if the body names none."""
    model = _requested_model(call.body)
    uri = parse_uri(model) if isinstance(model, str) else None
    return backend_of(uri.name) if uri is not None else D2


def _requested_model(body: bytes) -> object:
    """The model in a body. It is searched for, since parsing takes milliseconds if the body has megabytes, unless the
    name of its field occurs more often or the value has escapes."""
    found = _MODEL.search(body) if body.count(_NAME) == 1 else None
    if found is not None:
        return found[1].decode(errors="replace")
    fields = json_object(body) if body else {}
    return fields.get("model") if isinstance(fields, dict) else None
