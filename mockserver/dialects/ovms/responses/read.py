"""`POST /v3/responses` becomes a request to a model; since v2026.2 (vendor note 7; the server's source and page)."""

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import GenerationRequest
from mockserver.dialects.ovms.endpoints import refuse_endpoint
from mockserver.dialects.ovms.fields import Fields
from mockserver.dialects.ovms.graphs import RESPONSES_PATHS
from mockserver.dialects.ovms.read import Asked, Endpoint, parsed, read_request, take
from mockserver.dialects.ovms.responses.checks import RESPONSES_CHECKS, output_limit
from mockserver.dialects.ovms.responses.items import read_input


def read(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why the server or its graph refuses it; the older server has no such endpoint."""
    if scope.edition == "documented":
        return refuse_endpoint(call, scope)
    taken = take(call, scope, _RESPONSES)
    if isinstance(taken, Refusal):
        return taken
    fields = _as_chat(taken.fields)
    request = parsed(read_request(taken._replace(fields=fields), scope.edition), fields)
    return request._replace(extra=Asked(request.extra is not None, taken.fields))


def _as_chat(fields: Fields) -> Fields:
    """The fields in chat form: "any effort value enables thinking", and `text.format` becomes a `response_format`."""
    chat = dict(fields)
    if fields.get("reasoning", {}).get("effort") is not None:
        chat["chat_template_kwargs"] = {"enable_thinking": True, **fields.get("chat_template_kwargs", {})}
    form = fields["text"].get("format") if isinstance(fields.get("text"), dict) else None
    if isinstance(form, dict) and "response_format" not in fields:
        chat["response_format"] = {"type": form.get("type"), "json_schema": {"schema": form.get("schema")}}
    return chat


_RESPONSES = Endpoint(RESPONSES_PATHS, RESPONSES_CHECKS, read_input, output_limit)
