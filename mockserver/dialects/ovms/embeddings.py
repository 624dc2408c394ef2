"""`POST /v3/embeddings` of a graph that embeds (vendor note 7)."""

import re
from functools import lru_cache

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import Generation, GenerationRequest
from mockserver.core.timeline import Pace, Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.embeddings import EmbeddingForm, embedding_request, embeddings, read_usage
from mockserver.dialects.ovms.endpoints import enter_graph
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.graphs import node_of
from mockserver.dialects.ovms.headers import JSON
from mockserver.dialects.ovms.paths import EMBEDDINGS_PATHS

# The dimensions of a model's vectors, by a part of its name; the first that is found counts.
_SIZES = (("minilm|small", 384), ("base|nomic|roberta|mpnet", 768), (r"(?<!\d)8b", 4096), (r"(?<!\d)4b", 2560))
_USUAL_SIZE = 1024
# The longest text, in tokens, and how many of these the tokenizer adds.
_CONTEXT = 8_192
_SPECIAL = 2


def read_embedding(call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request, or why the server or its graph refuses it."""
    fields = enter_graph(call, site, EMBEDDINGS_PATHS, "embeddings")
    if isinstance(fields, Rejection):
        return fields
    form = EmbeddingForm(fields["model"], _size_of(fields["model"]), base64=fields.get("encoding_format") == "base64")
    request = embedding_request(fields["model"], fields["input"], _CONTEXT, form)
    prompts = tuple(
        prompt if prompt.ids else prompt._replace(token_count=prompt.token_count + _SPECIAL)
        for prompt in request.prompts
    )
    longest = max(prompt.token_count for prompt in prompts)
    if longest <= _CONTEXT:
        return request._replace(prompts=prompts)
    message = f"Input length {longest} longer than allowed {_CONTEXT}"
    return graph_fault(message, kind=FailureKind.CONTEXT_LENGTH, node=node_of("embeddings", site.edition))


def write_embedding(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The answer, "no `model` member"."""
    data = [
        {"object": "embedding", "embedding": orjson.Fragment(made), "index": index}
        for index, made in enumerate(embeddings(generation))
    ]
    return body_reply({"object": "list", "data": data, "usage": read_usage(generation)}, generation, content_type=JSON)


@lru_cache(maxsize=256)
def _size_of(model: str) -> int:
    return next((size for pattern, size in _SIZES if re.search(pattern, model, re.IGNORECASE)), _USUAL_SIZE)
