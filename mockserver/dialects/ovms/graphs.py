"""Graphs by what their model makes: texts, embeddings or scores; and what the latter two ask of a request (note 7).

A graph is told by its model's name. Those that make no texts "do not look at the path": they ask for their own fields
whatever they are asked for.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from mockserver.core.failures import Rejection
from mockserver.dialects.ovms.errors import graph_fault

Kind = Literal["texts", "embeddings", "scores"]
Fields = Mapping[str, Any]

_NAMES: tuple[tuple[str, Kind], ...] = (
    (r"rerank", "scores"),
    (r"embed|(?<![a-z])(?:bge|gte|e5)-|minilm", "embeddings"),
)


@lru_cache(maxsize=256)
def kind_of(model: str) -> Kind:
    """What a model of that name makes."""
    return next((kind for pattern, kind in _NAMES if re.search(pattern, model, re.IGNORECASE)), "texts")


def fields_fault(fields: Fields, kind: Kind) -> Rejection | None:
    """Why a graph that makes no texts refuses a request; None where it does not, and for all that make texts."""
    graph = _GRAPHS.get(kind)
    fault = None if graph is None else graph.fault(fields)
    return None if graph is None or fault is None else graph_fault(fault, node=graph.node)


def embedding_fault(fields: Fields) -> str | None:
    """The message of the first check of an embeddings graph that fails."""
    if "input" not in fields:
        return "input field is required"
    form = fields.get("encoding_format", "float")
    if not isinstance(form, str):
        return _input_fault(fields["input"]) or "encoding_format should be string"
    known = form in ("float", "base64")
    return _input_fault(fields["input"]) or (None if known else "encoding_format should either base64 or float")


def _input_fault(texts: object) -> str | None:
    if isinstance(texts, str):
        return None
    if not isinstance(texts, list) or not texts:
        return "input should be string, array of strings or array of integers"
    kinds = {type(each) for each in texts}
    if kinds == {list} and all(each and {type(token) for token in each} == {int} for each in texts):
        return None
    if not kinds <= {str, int}:
        return "every element in input array should be either string or int"
    return "input must be homogeneous" if len(kinds) > 1 else None


def scoring_fault(fields: Fields) -> str | None:
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
    kinds = {type(document) for document in documents}
    if not kinds <= {str, dict}:
        return "documents array element is neither string nor object"
    if len(kinds) > 1:
        return "all documents have to be the same type (string or objects)"
    return next(filter(None, map(_table_fault, documents)), None) if kinds == {dict} else None


def _table_fault(document: Fields) -> str | None:
    for name in ("title", "text"):
        if name not in document:
            return f"document {name} field is missing"
        if not isinstance(document[name], str):
            return f"document {name} field have to be string"
    return None


def _optional(name: str, accepts: Callable[[Any], bool], message: str) -> Callable[[Fields], str | None]:
    """A field that may be left out, or null."""
    return lambda fields: None if fields.get(name) is None or accepts(fields[name]) else message


_SCORING_CHECKS: tuple[Callable[[Fields], str | None], ...] = (
    _query_fault,
    _documents_fault,
    _optional("top_n", lambda value: type(value) is int, "top_n accepts integer values"),
    _optional("rank_fields", lambda value: isinstance(value, list), "rank_fields is not an array"),
    _optional(
        "rank_fields",
        lambda value: all(isinstance(each, str) for each in value),
        "rank_fields array element is not a string",
    ),
    _optional("return_documents", lambda value: isinstance(value, bool), "return_documents accepts boolean values"),
    _optional("max_chunks_per_doc", lambda value: type(value) is int, "max_chunks_per_doc accepts integer values"),
)


class _Graph(NamedTuple):
    """The node that a graph's errors name, and its checks."""

    node: str
    fault: Callable[[Fields], str | None]


_GRAPHS: dict[Kind, _Graph] = {
    "embeddings": _Graph("EmbeddingsExecutor", embedding_fault),
    "scores": _Graph("RerankExecutor", scoring_fault),
}
