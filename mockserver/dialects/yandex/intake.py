"""The checks on a request's way to a model: its form, the model's URI and its context window, with their refusals."""

from collections.abc import Mapping

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import GenerationRequest
from mockserver.dialects.contracts import Contract
from mockserver.dialects.openai.fields import Body, json_object
from mockserver.dialects.yandex.errors import explain
from mockserver.dialects.yandex.models import is_offered
from mockserver.dialects.yandex.schemas import request_fields
from mockserver.dialects.yandex.sessions import in_session
from mockserver.dialects.yandex.uri import ModelUri, parse_uri


def checked_body(call: Call, site: Site, contract: Mapping[Edition, Contract]) -> Body | Rejection:
    """The body, without fields that are null, which count as absent; or its refusal if it violates the contract."""
    body = json_object(call.body)
    if isinstance(body, Rejection):
        return body
    schema = contract[site.edition]
    if not schema.accepts(body):
        return explain(schema.violations(body), request_fields(site.edition, schema.name))
    return {name: value for name, value in body.items() if value is not None}


def checked_uri(text: str, site: Site) -> ModelUri | Rejection:
    """The model's URI, or its refusal: "a bare name gives 400 `Failed to parse model URI`"."""
    if "://" not in text:
        return Rejection(FailureKind.INVALID_REQUEST, "Failed to parse model URI", "model")
    uri = parse_uri(text)
    if uri is None or uri.scheme != "gpt":
        return Rejection(FailureKind.INVALID_REQUEST, "invalid model_uri", "model")
    return uri if is_offered(uri, site) else Rejection(FailureKind.UNKNOWN_MODEL, param="model")


def fitting(request: GenerationRequest, uri: ModelUri, call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request if its prompt fits into the model's context window, else its refusal."""
    limit, count = request.limits.context, request.prompt_tokens
    if count <= limit:
        return request
    message = f"number of input tokens must be no more than {limit}, got {count}"
    return in_session(FailureKind.CONTEXT_LENGTH, message, uri, call, site)
