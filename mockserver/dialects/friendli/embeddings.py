"""`POST /dedicated/v1/embeddings`: texts or token ids in, a vector for each of them out (types of SDK 0.16)."""

from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Generation, GenerationRequest
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import Reply, TokenTiming
from mockserver.dialects.friendli.errors import invalid
from mockserver.dialects.friendli.models import Place
from mockserver.dialects.friendli.read import beyond_window, valid_body
from mockserver.dialects.openai.embeddings import EmbeddingForm, embedding_request, embedding_rows
from mockserver.dialects.openai.replies import body_reply, usage_object

# "The length of vector depends on the model": a usual one.
_DIMENSIONS = 1_024


def read_embedding(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or its refusal."""
    found = valid_body(place, call, scope, "EmbeddingRequest")
    if isinstance(found, Refusal):
        return found
    body, name, model = found
    texts, tokens = body.get("input"), body.get("tokens")
    # "Either `input` or `tokens` field is required."
    if texts is None and tokens is None:
        return invalid([Violation(("input",), "required", "Field required")])
    if texts is not None and tokens is not None:
        return invalid([Violation(("tokens",), "conflict", "only one of input and tokens is allowed")])
    form = EmbeddingForm(name, _DIMENSIONS, base64=body.get("encoding_format") == "base64")
    given: Any = tokens if texts is None else texts
    request = embedding_request(name, given, model.context, form)
    longest = max([prompt.token_count for prompt in request.prompts])
    if longest <= model.context:
        return request
    misfit = beyond_window("tokens" if texts is None else "input", longest, model.context)
    return invalid((misfit,), FailureKind.CONTEXT_LENGTH)


def write_embedding(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The vectors, their usage and their model, with the keys in alphabetical order, as all answers of today."""
    body = {
        "created": int(scope.now),
        "data": embedding_rows(generation, "embedding", "index", "object"),
        "id": f"embd-{hex_digits(scope.identity, 32, 'id')}",
        "model": generation.request.model,
        "object": "list",
        "usage": dict(sorted(usage_object(generation.usage).items())),
    }
    return body_reply(body, generation)
