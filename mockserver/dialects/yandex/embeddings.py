"""`POST /v1/embeddings` (vendor note A1: the recorded answer, and the page on its fields).

A request embeds one text: "embeddings for single strings"."""

from functools import reduce

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Generation, GenerationRequest
from mockserver.core.http import Call, Reply, TokenTiming
from mockserver.dialects.contracts import by_edition
from mockserver.dialects.openai.embeddings import EmbeddingForm, embedding_request, embedding_rows, read_usage
from mockserver.dialects.openai.read import whole
from mockserver.dialects.yandex.errors import fault
from mockserver.dialects.yandex.models import EMBEDDING_CONTEXT, checked_uri, json_reply
from mockserver.dialects.yandex.read import CONTRACT, checked_body, fitting

_REQUEST = by_edition(CONTRACT, "EmbeddingRequest")
# "[256 floats]"; of the second generation "128/256(default)/512/768".
_USUAL = 256
_SIZES = {"text-embeddings-v2": (128, _USUAL, 512, 768)}
# Documents and queries are embedded by two models, which share one vector space.
_SIDES = ("-doc", "-query")


def read_embedding(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Yandex refuses it."""
    body = checked_body(call, scope, _REQUEST)
    if isinstance(body, Refusal):
        return _input_fault(orjson.loads(call.body).get("input")) if body.param == "input" else body
    uri = checked_uri(body["model"], call, scope, "emb")
    if isinstance(uri, Refusal):
        return uri
    space = reduce(str.removesuffix, _SIDES, uri.name)
    sizes = _SIZES.get(space, (_USUAL,))
    dimensions = whole(body.get("dimensions")) or _USUAL
    if dimensions not in sizes:
        return fault("dimensions", f"must be one of {', '.join(map(str, sizes))}")
    form = EmbeddingForm(space, sizes[-1], dimensions)
    return fitting(embedding_request(str(uri), body["input"], EMBEDDING_CONTEXT, form), uri, call, scope)


def _input_fault(given: object) -> Refusal:
    """The refusal of an `input` that cannot be embedded, in the recorded words if there are any."""
    texts = given if isinstance(given, list) else [given]
    if given is None:
        return fault("input", "is required")
    if not all(isinstance(text, str) for text in texts):
        # This is how token ids were refused, which OpenAI's clients send for long texts.
        return Refusal(FailureKind.MALFORMED_JSON, param="input")
    if len(texts) != 1:
        return Refusal(FailureKind.INVALID_REQUEST, "Array input must contain exactly one string", "input")
    return fault("input", "must not be empty")


def write_embedding(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The answer: object, model, data, usage."""
    data = embedding_rows(generation, "index", "embedding", "object")
    body = {"object": "list", "model": generation.request.model, "data": data, "usage": read_usage(generation)}
    return json_reply(body, generation)
