"""`POST /v1/embeddings` (facts C1, E5): texts or token ids in, a vector for each of them out."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from struct import pack
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import Generation, GenerationRequest, Limits, Prompt
from mockserver.core.http import Call, Reply, TokenTiming
from mockserver.core.seeding import derive
from mockserver.dialects.contracts import Contract, components
from mockserver.dialects.openai.checks import Checks, RequestRules, accept, too_long
from mockserver.dialects.openai.models import SNAPSHOTS, Family
from mockserver.dialects.openai.read import Body, text_prompts, whole
from mockserver.dialects.openai.refusals import refused
from mockserver.dialects.openai.replies import Members, body_reply, ordered
from mockserver.model import tokens

_RULES = RequestRules(Contract(components(__package__, "openai"), "EmbeddingRequest"))
# How many tokens all texts of a request may have.
_MOST_TOKENS = 300_000


class EmbeddingForm(NamedTuple):
    """Which embeddings are wanted: those of a `space`, which several models may share, of `size` dimensions.

    The answer has the first `dimensions` of them (None for all), as numbers or in base64.
    """

    space: str
    size: int
    dimensions: int | None = None
    base64: bool = False


def embedding_request(
    model: str, texts: str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]], context: int, form: EmbeddingForm
) -> GenerationRequest:
    """A request for embeddings: to a model that only reads."""
    return GenerationRequest(model, text_prompts(texts), limits=Limits(context=context), n=0, extra=form)


def _dimensions(body: Body, family: Family, model: str) -> Refusal | None:
    asked = body.get("dimensions")
    if asked is None:
        return None
    if not family.shortens:
        return refused("This model does not support specifying dimensions.")
    if asked > family.dimensions:
        words = f"Invalid value for 'dimensions' = {int(asked)}. Must be less than or equal to {family.dimensions}."
        return refused(words)
    return None


_CHECKS: Checks = (({"dimensions"}, _dimensions),)


def read_embedding(call: Call, scope: RequestScope, rules: RequestRules = _RULES) -> GenerationRequest | Refusal:
    """The request, or why it is refused by the rules of OpenAI, or of a vendor that differs a little."""
    asked = accept(call, scope, "embeddings", rules, _CHECKS)
    if isinstance(asked, Refusal):
        return asked
    body, model, family = asked
    dimensions, encoding = whole(body.get("dimensions")), body.get("encoding_format")
    form = EmbeddingForm(model.id, family.dimensions, dimensions, base64=encoding == "base64")
    request = embedding_request(model.id, body["input"], model.context, form)
    counts = [prompt.token_count for prompt in request.prompts]
    if sum(counts) > _MOST_TOKENS:
        words = f"Requested {sum(counts)} tokens, max {_MOST_TOKENS} tokens per request"
        return refused(words, code="max_tokens_per_request")
    return too_long(max(counts), model, family, "embeddings") or request


def write_embedding(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The answer: object, data, model, usage."""
    model = generation.request.model
    data = embedding_rows(generation, "object", "embedding", "index")
    name = SNAPSHOTS.get(model, model)
    body = {"object": "list", "data": data, "model": name, "usage": read_usage(generation)}
    return body_reply(orjson.dumps(body), generation)


def embedding_rows(generation: Generation, *names: str) -> list[Members]:
    """A row for each text with its embedding, whose members are in the order of these names."""
    made = enumerate(embeddings(generation))
    rows = ({"object": "embedding", "embedding": orjson.Fragment(each), "index": index} for index, each in made)
    return [ordered(names, row) for row in rows]


def read_usage(generation: Generation) -> dict[str, int]:
    """The usage of a request to a model that only reads."""
    count = generation.usage.prompt_tokens
    return {"prompt_tokens": count, "total_tokens": count}


def embeddings(generation: Generation) -> Iterator[bytes]:
    """An embedding for each text, as JSON: its numbers, or base64 of them in single precision, little-endian.

    Unless they are given, they depend on no seed, so that what one server has put into an index is found by another.
    They are encoded one by one: to encode a thousand at once would block every thread.
    """
    # Imported on first use: most servers never embed anything.
    from mockserver.model.embeddings import embed, shortened

    form: Any = generation.request.extra
    if generation.measures is not None:
        for vector in generation.measures.values:
            yield _written(vector, form)
        return
    key = derive(0, "embedding", form.space)
    for prompt in generation.request.prompts:
        full = embed(_text(prompt), form.size, key)
        yield _written(full if form.dimensions is None else shortened(full, form.dimensions), form)


def _written(embedding: Sequence[float], form: EmbeddingForm) -> bytes:
    if form.base64:
        return orjson.dumps(b64encode(pack(f"<{len(embedding)}f", *embedding)).decode())
    return orjson.dumps(list(embedding))


def _text(prompt: Prompt) -> str:
    """The text to embed of a prompt: tokens of a vocabulary other than ours are represented by their ids."""
    strange = [token for token in prompt.ids if not 0 <= token < tokens.VOCABULARY_SIZE]
    return " ".join([prompt.text, *map(str, strange)])
