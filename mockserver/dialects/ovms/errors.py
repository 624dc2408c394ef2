"""OVMS' errors, all in one format: `{"error": "<text>"}` (vendor note 4); and the content types of all answers."""

from collections.abc import Callable, Mapping
from typing import Literal

import orjson

from mockserver.core.dialects import Edition, ErrorTable, ErrorTemplate
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.timeline import RawHeaders

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
_FAILED = _GRAPH + "Response generation failed"
# What most chat templates say of a conversation that they cannot write.
ROLES_ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."
_NOT_JSON = "The file is not valid json - "


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
    return Refusal(FailureKind.INVALID_REQUEST, _NOT_JSON + detail, status=412)


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


# The vendor has "no 401, 422, 429 anywhere": 401 to 403, 408 and 429 are only for faults that request them.
_COMMON: ErrorTable = {
    FailureKind.MALFORMED_JSON: _row(412, _NOT_JSON + "Cannot parse JSON body"),
    FailureKind.NOT_AN_OBJECT: _row(412, _NOT_JSON + "JSON body must be an object"),
    FailureKind.UNKNOWN_MODEL: _row(404, "Mediapipe graph definition with requested name is not found"),
    FailureKind.UNKNOWN_PATH: _row(400, "Invalid request URL"),
    FailureKind.WRONG_METHOD: _row(406, "Unsupported method"),
    FailureKind.UNSUPPORTED_MEDIA_TYPE: _row(404, "Mediapipe graph definition with requested name is not found"),
    # "from the HTTP library", which then closes the connection.
    FailureKind.BODY_TOO_LARGE: ErrorTemplate(413, "", lambda *_: b"", content_type=b"text/html; charset=utf-8"),
    FailureKind.INVALID_REQUEST: _graph("Response generation failed"),
    # One token too many for a Llama 3: clients search the message for these words.
    FailureKind.CONTEXT_LENGTH: _graph("Number of prompt tokens: 8193 exceeds model max length: 8192"),
    FailureKind.CHAT_TEMPLATE: _graph(ROLES_ALTERNATE, _template_object),
    FailureKind.CONTENT_FILTER: _row(400, _FAILED),
    FailureKind.FORBIDDEN: _row(403, "Forbidden"),
    FailureKind.PAYMENT_REQUIRED: _row(402, "Payment required"),
    FailureKind.RATE_LIMIT: _row(429, "Too many requests"),
    FailureKind.OVERLOADED: _row(503, "Server is not ready"),
    FailureKind.TIMEOUT: _row(408, "Request timeout"),
    # Once a stream has begun, it is the graph that fails: with class INTERNAL, unless the request is to blame.
    FailureKind.SERVER_ERROR: _row(500, "Internal server error")._replace(
        midstream_message=_FAILED.replace("INVALID_ARGUMENT", "INTERNAL")
    ),
}
_KEY = "Unauthorized request due to invalid or missing api-key"

ERRORS: dict[Edition, ErrorTable] = {
    # The older server knows no keys.
    "documented": {
        **_COMMON,
        FailureKind.MISSING_CREDENTIALS: _row(401, _KEY),
        FailureKind.UNAUTHORIZED: _row(401, _KEY),
    },
    # "HTTP 500 because UNAUTHORIZED is missing from the status map".
    "observed": {
        **_COMMON,
        FailureKind.MISSING_CREDENTIALS: _row(500, _KEY),
        FailureKind.UNAUTHORIZED: _row(500, _KEY),
    },
}
