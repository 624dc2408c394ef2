"""Graphs by the output of their model (texts, embeddings or scores), and the checks of the latter two (note 7).

The kind of a graph depends on its model's name. Those that do not generate text "do not look at the path": they require
their own fields at every endpoint.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from mockserver.core.dialects import Edition
from mockserver.core.failures import Refusal
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.fields import INT32, Fields, whole

Paths = Mapping[Edition, tuple[str, ...]]


def _below_roots(name: str) -> Paths:
    """Both versions know `/v3/` and `/v3/v1/`; `/v1/` has been there since v2026.3."""
    older = (f"/v3/{name}", f"/v3/v1/{name}")
    return {"documented": older, "observed": (*older, f"/v1/{name}")}


COMPLETIONS_PATHS = _below_roots("completions")
CHATS_PATHS = _below_roots("chat/completions")
EMBEDDINGS_PATHS = _below_roots("embeddings")
RERANK_PATHS = _below_roots("rerank")
TOKENIZE_PATHS: Paths = {"documented": (), "observed": _below_roots("tokenize")["observed"]}
# "since v2026.2".
RESPONSES_PATHS: Paths = {"documented": (), "observed": _below_roots("responses")["observed"]}
RELOAD_PATH = "/v1/config/reload"

# --- graphs ----------------------------------------------------------------------------------------------------------

Kind = Literal["texts", "embeddings", "scores"]

_NAMES: tuple[tuple[str, Kind], ...] = (
    (r"rerank|cross-encoder", "scores"),
    (r"embed|(?<![a-z])(?:bge|gte|e5)-|minilm|sentence-transformers", "embeddings"),
)
# "max_allowed_chunks [...] default = 10000": no reranker takes more documents.
_MOST_DOCUMENTS = 10_000


@lru_cache(maxsize=256)
def kind_of(model: str) -> Kind:
    """The output of a model of that name."""
    return next((kind for pattern, kind in _NAMES if re.search(pattern, model, re.IGNORECASE)), "texts")


def node_of(kind: Kind, edition: Edition) -> str:
    """The node that errors of such a graph name; in the older server it is named after its kind."""
    return _GRAPHS[kind].nodes[edition]


def fields_fault(fields: Fields, kind: Kind, edition: Edition) -> Refusal | None:
    """Why a graph that does not generate text refuses a request; None if it accepts it, or if it generates text."""
    graph = _GRAPHS.get(kind)
    fault = None if graph is None else graph.fault(fields, edition)
    return None if fault is None else graph_fault(fault, node=node_of(kind, edition))


def too_many(fields: Fields, edition: Edition) -> Refusal | None:
    """The refusal of too many documents by a reranker's graph, which only counts those that are texts."""
    texts = sum(isinstance(document, str) for document in fields["documents"])
    if texts <= _MOST_DOCUMENTS:
        return None
    message = "Number of documents exceeds max_allowed_chunks"
    return graph_fault(message, node=node_of("scores", edition), status="INTERNAL")


def embedding_fault(fields: Fields, edition: Edition) -> str | None:
    """The message of the first check of an embeddings graph that fails."""
    return texts_fault(fields, "input", edition) or _form_fault(fields.get("encoding_format", "float"))


def _form_fault(form: object) -> str | None:
    if not isinstance(form, str):
        return "encoding_format should be string"
    return None if form in ("float", "base64") else "encoding_format should either base64 or float"


def texts_fault(fields: Fields, name: str, edition: Edition) -> str | None:
    """What is wrong with the field of that name, which has a text or several, each as it is or in tokens."""
    if name not in fields:
        return f"{name} field is required"
    texts = fields[name]
    if isinstance(texts, str):
        return None
    if not isinstance(texts, list) or (edition == "documented" and all(each == [] for each in texts)):
        return f"{name} should be string, array of strings or array of integers"
    if not texts:
        return f"{name} array should not be empty"
    faults = (_element_fault(each, type(texts[0]), name, edition) for each in texts)
    return next(filter(None, faults), None)


def _element_fault(element: object, kind: type, name: str, edition: Edition) -> str | None:
    """What is wrong with an element (a text, a token or a list of tokens), given the kind of the first one."""
    if element == [] and edition == "observed":
        return f"inner arrays in {name} should not be empty"
    if not isinstance(element, str | list) and not _is_int(element):
        return f"every element in {name} array should be either string or int"
    alike = type(element) is kind and (not isinstance(element, list) or all(map(_is_int, element)))
    return None if alike else f"{name} must be homogeneous"


def _is_int(value: object) -> bool:
    return whole(value, INT32)


def scoring_fault(fields: Fields, edition: Edition) -> str | None:
    """The message of the first check of a reranker's graph that fails."""
    faults = (check(fields) for check in _SCORING_CHECKS)
    return next((fault for fault in faults if fault is not None), None)


def _query_fault(fields: Fields) -> str | None:
    if "query" not in fields:
        return "query field is missing in request"
    return None if isinstance(fields["query"], str) else "query is not a string"


def _documents_fault(fields: Fields) -> str | None:
    if "documents" not in fields:
        return "documents field is missing in request"
    documents = fields["documents"]
    if not isinstance(documents, list):
        return "documents is not an array"
    faults = (_document_fault(document, type(documents[0])) for document in documents)
    return next(filter(None, faults), None)


def _document_fault(document: object, kind: type) -> str | None:
    if not isinstance(document, str | dict):
        return "documents array element is neither string nor object"
    if type(document) is not kind:
        return "all documents have to be the same type (string or objects)"
    return _table_fault(document) if isinstance(document, dict) else None


def _table_fault(document: Fields) -> str | None:
    for name in ("title", "text"):
        if name not in document:
            return f"document {name} field is missing"
        if not isinstance(document[name], str):
            return f"document {name} field have to be string"
    return None


def _optional(name: str, accepts: Callable[[Any], bool], message: str) -> Callable[[Fields], str | None]:
    """A check of a field that may be absent or null."""
    return lambda fields: None if fields.get(name) is None or accepts(fields[name]) else message


_SCORING_CHECKS: tuple[Callable[[Fields], str | None], ...] = (
    _query_fault,
    _documents_fault,
    _optional("top_n", _is_int, "top_n accepts integer values"),
    _optional("rank_fields", lambda value: isinstance(value, list), "rank_fields is not an array"),
    _optional(
        "rank_fields",
        lambda value: all(isinstance(each, str) for each in value),
        "rank_fields array element is not a string",
    ),
    _optional("return_documents", lambda value: isinstance(value, bool), "return_documents accepts boolean values"),
    _optional("max_chunks_per_doc", _is_int, "max_chunks_per_doc accepts integer values"),
)


class _Graph(NamedTuple):
    """A kind of graph: the name of its node in errors, and its checks."""

    nodes: Mapping[Edition, str]
    fault: Callable[[Fields, Edition], str | None]


_GRAPHS: dict[Kind, _Graph] = {
    "embeddings": _Graph({"documented": "EmbeddingsCalculator", "observed": "EmbeddingsExecutor"}, embedding_fault),
    "scores": _Graph({"documented": "RerankCalculator", "observed": "RerankExecutor"}, scoring_fault),
}
