"""Refusals by the server of a model, which name the session (public logs of the native API)."""

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.seeding import derive
from mockserver.dialects.yandex.headers import request_id
from mockserver.dialects.yandex.uri import ModelUri


def in_session(kind: FailureKind, said: str, uri: ModelUri, call: Call, site: Site) -> Rejection:
    """A refusal whose message is that of the fault (`said`), preceded by the session of the request."""
    words = (f"{derive(site.identity, 'session', part) & 0xFFFF_FFFF:x}" for part in range(4))
    request = request_id(site)
    client = call.headers.get("x-client-request-id") or request
    session = f"internal_id={'-'.join(words)}&request_id={request}&client_request_id={client}&folder_id={uri.folder}"
    return Rejection(kind, f"Error in session {session}: {said}")
