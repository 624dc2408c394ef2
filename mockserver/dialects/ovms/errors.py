"""OVMS' errors, all in one format: `{"error": "<text>"}` (vendor note 4); and the content types of all answers.

`contract/refusals.json` has the texts. The vendor has "no 401, 422, 429 anywhere": 401 to 403, 408 and 429 are only for
faults that request them. Clients search for the words of a prompt that is too long, here by a token for a Llama 3.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import orjson

from mockserver.core.dialects import Edition, ErrorTable, ErrorTemplate
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import RawHeaders
from mockserver.dialects.contracts import components

JSON = b"application/json; charset=utf-8"
STREAM_HEADERS: RawHeaders = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"connection", b"keep-alive"),
)

ErrorBody = Callable[[Refusal, str], object]

# Graphs by what their model makes.
Kind = Literal["texts", "embeddings", "scores"]
# The nodes that their errors name.
_NODES: Mapping[Kind, str] = {"texts": "LLMExecutor", "embeddings": "EmbeddingsExecutor", "scores": "RerankExecutor"}
_WRAPPED = "Mediapipe execution failed."


def _graph_words(kind: Kind = "texts", status: str = "INVALID_ARGUMENT") -> str:
    """The prefix of the message of a graph that fails; there is a space before the line end."""
    return (
        f"{_WRAPPED} MP status - {status}: CalculatorGraph::Run() failed: \n"
        f'Calculator::Process() for node "{_NODES[kind]}" failed: '
    )


_GRAPH = _graph_words()
_WORDS = components(__package__, "refusals")()
_OF_GRAPHS = {FailureKind(kind): message for kind, message in _WORDS["graph"].items()}
_FAILED = _GRAPH + _OF_GRAPHS[FailureKind.INVALID_REQUEST]
# What most chat templates say of a conversation that they cannot write.
ROLES_ALTERNATE: str = _OF_GRAPHS[FailureKind.CHAT_TEMPLATE]


def graph_fault(
    message: str,
    *,
    stream: bool = False,
    kind: FailureKind = FailureKind.INVALID_REQUEST,
    graph: Kind = "texts",
    status: str = "INVALID_ARGUMENT",
) -> Refusal:
    """The refusal of a graph: its own message, with the server's words around it.

    These name its node and the `status` class of the failure, on which the status of HTTP does not depend.
    """
    return Refusal(kind, _graph_words(graph, status) + message, streamed=stream)


def is_of_graph(refusal: Refusal) -> bool:
    """Whether it is a graph that refuses a request, rather than the server in front of it."""
    return refusal.message.startswith(_WRAPPED)


def own_words(message: str) -> str:
    """A graph's own message, without the words that the server wraps around it."""
    return message.rpartition('" failed: ')[2]


def stream_error(status: int, body: object) -> bytes:
    """The end of a failing stream: "bare `{"error":...}` (no `data:` prefix) is appended"."""
    return orjson.dumps(body)


def not_json(detail: str) -> Refusal:
    """The refusal of the HTTP layer, which parses a body before any graph."""
    return Refusal(FailureKind.INVALID_REQUEST, f"The file is not valid json - {detail}", status=412)


def _object(refusal: Refusal, words: str) -> dict[str, str]:
    return {"error": words}


def _template_object(refusal: Refusal, words: str) -> dict[str, str]:
    """The text of a template's exception, with the words of the graph around it, which a fault leaves to us."""
    return {"error": words if words.startswith(_WRAPPED) else _GRAPH + words}


def _row(status: int, message: str) -> ErrorTemplate:
    return ErrorTemplate(status, message, _object, content_type=JSON)


def _graph(message: str, body: ErrorBody = _object) -> ErrorTemplate:
    """A graph's refusal; of a stream it is the bare JSON, without `data:` and without [DONE]. "HTTP 400 with
    content-type still text/event-stream"."""
    (_, content_type), *headers = STREAM_HEADERS
    streamed = ErrorTemplate(400, _GRAPH + message, body, tuple(headers), content_type)
    return ErrorTemplate(400, _GRAPH + message, body, content_type=JSON, streamed=streamed)


_COMMON: dict[FailureKind, ErrorTemplate] = {
    **{FailureKind(kind): _row(*row) for kind, row in _WORDS["server"].items()},
    **{kind: _graph(message) for kind, message in _OF_GRAPHS.items()},
    FailureKind.CHAT_TEMPLATE: _graph(ROLES_ALTERNATE, _template_object),
    FailureKind.CONTENT_FILTER: _row(400, _FAILED),
    # "from the HTTP library", which then closes the connection.
    FailureKind.BODY_TOO_LARGE: ErrorTemplate(413, "", lambda *_: b"", content_type=b"text/html; charset=utf-8"),
}
# Once a stream has begun, it is the graph that fails: with class INTERNAL, unless the request is to blame.
_COMMON[FailureKind.SERVER_ERROR] = _COMMON[FailureKind.SERVER_ERROR]._replace(
    midstream_message=_FAILED.replace("INVALID_ARGUMENT", "INTERNAL")
)


def _with_keys(status: int) -> ErrorTable:
    kinds = (FailureKind.MISSING_CREDENTIALS, FailureKind.UNAUTHORIZED)
    return {**_COMMON, **dict.fromkeys(kinds, _row(status, _WORDS["key"]))}


# The older server knows no keys. "HTTP 500 because UNAUTHORIZED is missing from the status map".
ERRORS: dict[Edition, ErrorTable] = {"documented": _with_keys(401), "observed": _with_keys(500)}
