"""`POST /v3/rerank` of a graph that scores documents by a query (vendor note 7)."""

from array import array
from collections.abc import Mapping
from math import exp
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import Rejection
from mockserver.core.generation import Generation, GenerationRequest
from mockserver.core.seeding import derive
from mockserver.core.timeline import Pace, Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.fields import text_prompt
from mockserver.dialects.ovms.endpoints import enter_graph
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.graphs import node_of, too_many
from mockserver.dialects.ovms.headers import JSON
from mockserver.dialects.ovms.paths import RERANK_PATHS

# The scores of texts about the same subjects, and of texts without a common subject.
_SIZE = 256
_SURE, _UNSURE = 10.0, -4.0


class _RerankOptions(NamedTuple):
    top: int
    documents: bool


def read_rerank(call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request, or why the server or its graph refuses it."""
    fields = enter_graph(call, site, RERANK_PATHS, "scores")
    if isinstance(fields, Rejection):
        return fields
    failed = too_many(fields, site.edition)
    if failed is not None:
        return failed
    documents, returned = fields["documents"], fields.get("return_documents") is True
    if documents and isinstance(documents[0], Mapping):
        # "add support for document map": the server reads them, and scores none.
        if returned:
            return graph_fault("document map not supported", node=node_of("scores", site.edition))
        documents = []
    top = fields.get("top_n")
    # Compared as an unsigned number, a negative one cuts nothing off.
    options = _RerankOptions(len(documents) if top is None or top < 0 else top, returned)
    # Reports of a request with several prompts show the last one.
    prompts = tuple(map(text_prompt, (*documents, fields["query"])))
    return GenerationRequest(fields["model"], prompts, n=0, extra=options)


def write_rerank(generation: Generation, pace: Pace, site: Site) -> Reply:
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
    *documents, query = (embed(prompt.text, _SIZE, key) for prompt in generation.request.prompts)
    logits = (_UNSURE + (_SURE - _UNSURE) * likeness(query, document) for document in documents)
    return array("f", [1 / (1 + exp(-logit)) for logit in logits]).tolist()
