"""Graphs by the output of their model (texts, embeddings or scores), and the checks of the latter two (note 7).

The kind of a graph depends on its model's name. Those that do not generate text "do not look at the path": they require
their own fields at every endpoint.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

from mockserver.core.failures import Refusal
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.fields import INT32, Fields, whole

Kind = Literal["texts", "embeddings", "scores"]

_NAMES: tuple[tuple[str, Kind], ...] = (
    (r"rerank|cross-encoder", "scores"),
    (r"embed|(?<![a-z])(?:bge|gte|e5)-|minilm|sentence-transformers", "embeddings"),
)
# The nodes that errors of a graph name.
NODES: Mapping[Kind, str] = {"texts": "LLMExecutor", "embeddings": "EmbeddingsExecutor", "scores": "RerankExecutor"}
# "max_allowed_chunks [...] default = 10000": no reranker takes more documents.
_MOST_DOCUMENTS = 10_000


@lru_cache(maxsize=256)
def kind_of(model: str) -> Kind:
    """The output of a model of that name."""
    return next((kind for pattern, kind in _NAMES if re.search(pattern, model, re.IGNORECASE)), "texts")


def fields_fault(fields: Fields, kind: Kind) -> Refusal | None:
    """Why a graph that does not generate text refuses a request; None if it accepts it, or if it generates text."""
    fault = _FAULTS[kind](fields) if kind in _FAULTS else None
    return None if fault is None else graph_fault(fault, node=NODES[kind])


def too_many(fields: Fields) -> Refusal | None:
    """The refusal of too many documents by a reranker's graph, which only counts those that are texts."""
    texts = sum(isinstance(document, str) for document in fields["documents"])
    if texts <= _MOST_DOCUMENTS:
        return None
    return graph_fault("Number of documents exceeds max_allowed_chunks", node=NODES["scores"], status="INTERNAL")


# --- embeddings ------------------------------------------------------------------------------------------------------


def _embedding_fault(fields: Fields) -> str | None:
    fault, form = texts_fault(fields, "input"), fields.get("encoding_format", "float")
    if fault is not None:
        return fault
    if not isinstance(form, str):
        return "encoding_format should be string"
    return None if form in ("float", "base64") else "encoding_format should either base64 or float"


def texts_fault(fields: Fields, name: str) -> str | None:
    """What is wrong with the field of that name, which has a text or several, each as it is or in tokens."""
    if name not in fields:
        return f"{name} field is required"
    texts = fields[name]
    if isinstance(texts, str):
        return None
    if not isinstance(texts, list):
        return f"{name} should be string, array of strings or array of integers"
    if not texts:
        return f"{name} array should not be empty"
    return next(filter(None, (_element_fault(each, type(texts[0]), name) for each in texts)), None)


def _element_fault(element: object, kind: type, name: str) -> str | None:
    """What is wrong with an element (a text, a token or a list of tokens), given the kind of the first one."""
    if element == []:
        return f"inner arrays in {name} should not be empty"
    if not isinstance(element, str | list) and not _is_int(element):
        return f"every element in {name} array should be either string or int"
    alike = type(element) is kind and (not isinstance(element, list) or all(map(_is_int, element)))
    return None if alike else f"{name} must be homogeneous"


def _is_int(value: object) -> bool:
    return whole(value, INT32)


# --- scores ----------------------------------------------------------------------------------------------------------


def _scoring_fault(fields: Fields) -> str | None:
    if "query" not in fields:
        return "query field is missing in request"
    if not isinstance(fields["query"], str):
        return "query is not a string"
    if "documents" not in fields:
        return "documents field is missing in request"
    documents: list[Any] = fields["documents"]
    if not isinstance(documents, list):
        return "documents is not an array"
    for document in documents:
        if (fault := _document_fault(document, type(documents[0]))) is not None:
            return fault
    # These may also be null.
    options = ((message, accepts(fields[name])) for name, accepts, message in _OPTIONS if fields.get(name) is not None)
    return next((message for message, fit in options if not fit), None)


def _document_fault(document: object, kind: type) -> str | None:
    if not isinstance(document, str | dict):
        return "documents array element is neither string nor object"
    if type(document) is not kind:
        return "all documents have to be the same type (string or objects)"
    if isinstance(document, str):
        return None
    for name in ("title", "text"):
        if name not in document:
            return f"document {name} field is missing"
        if not isinstance(document[name], str):
            return f"document {name} field have to be string"
    return None


_OPTIONS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("top_n", _is_int, "top_n accepts integer values"),
    ("rank_fields", lambda value: isinstance(value, list), "rank_fields is not an array"),
    (
        "rank_fields",
        lambda value: all(isinstance(each, str) for each in value),
        "rank_fields array element is not a string",
    ),
    ("return_documents", lambda value: isinstance(value, bool), "return_documents accepts boolean values"),
    ("max_chunks_per_doc", _is_int, "max_chunks_per_doc accepts integer values"),
)
_FAULTS: Mapping[Kind, Callable[[Fields], str | None]] = {"embeddings": _embedding_fault, "scores": _scoring_fault}
