"""`POST /v3/embeddings` and `/v3/rerank` of graphs that embed and rank (vendor note 7)."""

import re
from array import array
from collections.abc import Mapping
from functools import lru_cache
from math import exp
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Generation, GenerationRequest
from mockserver.core.seeding import derive
from mockserver.core.timeline import Reply, TokenTiming
from mockserver.dialects.openai.embeddings import EmbeddingForm, embedding_request, embedding_rows, read_usage
from mockserver.dialects.openai.read import text_prompt
from mockserver.dialects.openai.replies import body_reply
from mockserver.dialects.ovms.endpoints import enter
from mockserver.dialects.ovms.errors import JSON, graph_fault

# The dimensions of a model's vectors, by a part of its name; the first that is found counts.
_SIZES = (("minilm|small", 384), ("base|nomic|roberta|mpnet", 768), (r"(?<!\d)8b", 4096), (r"(?<!\d)4b", 2560))
_USUAL_SIZE = 1024
# The longest text, in tokens, and how many of these the tokenizer adds.
_CONTEXT = 8_192
_SPECIAL = 2


def read_embedding(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why the server or its graph refuses it."""
    admitted = enter(call, scope, "embeddings")
    if isinstance(admitted, Refusal):
        return admitted
    fields = admitted.fields
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
    return graph_fault(message, kind=FailureKind.CONTEXT_LENGTH, graph="embeddings")


def write_embedding(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The answer, "no `model` member"."""
    data = embedding_rows(generation, "object", "embedding", "index")
    return body_reply({"object": "list", "data": data, "usage": read_usage(generation)}, generation, content_type=JSON)


@lru_cache(maxsize=256)
def _size_of(model: str) -> int:
    return next((size for pattern, size in _SIZES if re.search(pattern, model, re.IGNORECASE)), _USUAL_SIZE)


# --- rerank ----------------------------------------------------------------------------------------------------------

# "max_allowed_chunks [...] default = 10000": no reranker takes more documents.
_MOST_DOCUMENTS = 10_000
# The dimensions in which a query and a document are compared.
_COMPARED = 256
# The logits of texts about the same subjects, and of texts without a common subject.
_SURE, _UNSURE = 10.0, -4.0


class _RerankOptions(NamedTuple):
    top: int
    documents: bool


def read_rerank(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why the server or its graph refuses it."""
    admitted = enter(call, scope, "scores")
    if isinstance(admitted, Refusal):
        return admitted
    fields = admitted.fields
    documents, returned = fields["documents"], fields.get("return_documents") is True
    # The graph only counts documents that are texts.
    if sum(isinstance(document, str) for document in documents) > _MOST_DOCUMENTS:
        return graph_fault("Number of documents exceeds max_allowed_chunks", graph="scores", status="INTERNAL")
    if documents and isinstance(documents[0], Mapping):
        # "add support for document map": the server reads them, and scores none.
        if returned:
            return graph_fault("document map not supported", graph="scores")
        documents = []
    top = fields.get("top_n")
    # Compared as an unsigned number, a negative one cuts nothing off.
    options = _RerankOptions(len(documents) if top is None or top < 0 else top, returned)
    # Reports of a request with several prompts show the last one.
    prompts = tuple(map(text_prompt, (*documents, fields["query"])))
    return GenerationRequest(fields["model"], prompts, n=0, extra=options)


def write_rerank(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The answer: "sorted by score, top_n cut"."""
    options: Any = generation.request.extra
    documents = generation.request.prompts
    ranked = sorted(enumerate(_scores(generation)), key=lambda row: -row[1])[: options.top]
    results = [
        {"index": index, "relevance_score": score}
        | ({"document": {"text": documents[index].text}} if options.documents else {})
        for index, score in ranked
    ]
    return body_reply({"results": results}, generation, content_type=JSON)


def _scores(generation: Generation) -> list[float]:
    """How well each document answers the query, between 0 and 1, in single precision; or as it is given."""
    if generation.measures is not None:
        return [score for (score,) in generation.measures.values]
    # Imported on first use: most servers never rank anything.
    from mockserver.model.embeddings import embed, likeness

    key = derive(0, "rerank", generation.request.model)
    *documents, query = (embed(prompt.text, _COMPARED, key) for prompt in generation.request.prompts)
    logits = (_UNSURE + (_SURE - _UNSURE) * likeness(query, document) for document in documents)
    return array("f", [1 / (1 + exp(-logit)) for logit in logits]).tolist()
