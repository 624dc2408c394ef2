"""How a request enters a graph: its body, its model, its path; and what is refused on the way (vendor notes 1 and 7).

Graphs that do not generate text "do not look at the path": they require their own fields at every endpoint. Every path
that ends with `tokenize` tokenizes, which is why this is here as well.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.timeline import RawHeaders, Reply
from mockserver.dialects.openai.read import json_object
from mockserver.dialects.openai.replies import body_reply
from mockserver.dialects.ovms.errors import JSON, Kind, graph_fault, not_json
from mockserver.dialects.ovms.models import kind_of
from mockserver.model import tokens

Fields = Mapping[str, Any]
INT32 = range(-(2**31), 2**31)
UINT32 = range(2**32)
UINT64 = range(2**64)


def is_whole(value: object, width: range) -> bool:
    """Whether a value is an integer of a width."""
    return type(value) is int and value in width


def is_number(value: object) -> bool:
    """Whether the server accepts a value as a number: a float, or an integer of 32 bits."""
    return type(value) is float or is_whole(value, INT32)


# "B treats null as absent except ...".
_NULL_IS_A_VALUE = ("stream", "max_tokens", "prompt", "model", "messages")


def without_nulls(fields: Fields, edition: Edition) -> Fields:
    """The fields that the server takes as sent: the newer one those that are not null. For the older one null is a
    value, but for `top_k`, of which the page says: "Set to empty or -1 to consider all tokens"."""
    if edition == "documented":
        return {name: value for name, value in fields.items() if value is not None or name != "top_k"}
    return {name: value for name, value in fields.items() if value is not None or name in _NULL_IS_A_VALUE}


# --- bodies ----------------------------------------------------------------------------------------------------------

# The server states no number; its own tests nest 200 deep, and are refused.
_DEEPEST = 100
_FIELDS = (
    "model", "prompt", "stream", "stream_options", "max_tokens", "ignore_eos", "stop", "include_stop_str_in_output",
    "logprobs", "echo", "n", "best_of", "temperature", "top_p", "top_k", "min_p", "seed", "frequency_penalty",
    "presence_penalty", "repetition_penalty", "length_penalty", "diversity_penalty", "num_assistant_tokens",
    "assistant_confidence_threshold", "skip_special_tokens", "include_usage", "response_format", "messages", "tools",
    "tool_choice", "max_completion_tokens", "chat_template_kwargs", "input", "encoding_format", "query", "documents",
    "top_n", "return_documents", "rank_fields", "max_chunks_per_doc", "max_output_tokens", "reasoning", "text",
)  # fmt: skip

_WRITTEN_FIELD = re.compile(f'"(?:{"|".join(_FIELDS)})"'.encode())
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
_FORM_MODEL = re.compile(rb'name="model"\r?\n\r?\n([^\r\n]*)')
_SAYS_JSON = "application/json"


class Admitted(NamedTuple):
    """A body that has reached a graph, and the model of that graph."""

    fields: Fields
    model: Model


def admit(call: Call, scope: RequestScope) -> Admitted | Refusal:
    """The body and its model, or why the server refuses it before any graph."""
    body, path, newer = call.body, call.path, scope.edition == "observed"
    if newer and call.headers.get("content-type") != _SAYS_JSON and _media_type(call) != _SAYS_JSON:
        return _unread(call, scope)
    # Few bodies have brackets enough to nest so deeply.
    if newer and body.count(b"[") + body.count(b"{") > _DEEPEST and _depth(body) > _DEEPEST:
        return not_json("JSON body exceeds maximum nesting depth")
    fields = json_object(body)
    if isinstance(fields, Refusal):
        return fields
    written = _WRITTEN_FIELD.findall(body)
    if len(written) > len(set(written)):
        fields = _first_of_equals(body, fields)
    name = fields.get("model")
    if not isinstance(name, str):
        return not_json(f"model field is {'not a string' if 'model' in fields else 'missing in JSON body'}")
    # "only if the path contains `completions`; B also `responses`". In neither edition is null a boolean.
    if not isinstance(fields.get("stream", False), bool) and ("completions" in path or (newer and "responses" in path)):
        return not_json("stream field is not a boolean")
    # "An empty `model` string also falls back to the path." There, `completions` or an empty name mean no model.
    model = scope.model(name) if name else scope.listed(_named_by(path) if newer else "")
    return Refusal(FailureKind.UNKNOWN_MODEL) if model is None else Admitted(fields, model)


def _media_type(call: Call) -> str:
    return (call.headers.get("content-type") or "").partition(";")[0].strip().lower()


def _unread(call: Call, scope: RequestScope) -> Refusal:
    """A body with another content type than JSON: "anything else takes the model name from the path"."""
    form = _FORM_MODEL.search(call.body) if _media_type(call) == "multipart/form-data" else None
    known = scope.model(form[1].decode("utf-8", "replace")) if form and form[1] else scope.listed(_named_by(call.path))
    if known is None:
        return Refusal(FailureKind.UNKNOWN_MODEL)
    return graph_fault("Non-json request received in text generation calculator")


def _named_by(path: str) -> str:
    return path.removeprefix("/v3/").removeprefix("/v1/")


def _depth(body: bytes) -> int:
    depth = deepest = 0
    for token in _NESTING.finditer(body):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(token[0], 0)
        deepest = max(depth, deepest)
    return deepest


def _first_of_equals(body: bytes, fields: dict[str, Any]) -> dict[str, Any]:
    """The object with the first of duplicate keys ("duplicate keys: the first counts")."""
    try:
        first: dict[str, Any] = json.loads(body, object_pairs_hook=_first, parse_int=_int)
    except RecursionError:
        return fields
    return first


def _first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(dict(reversed(pairs)).items()))


def _int(digits: str) -> int | float:
    """An integer as the server stores it: in 64 bits, else as a float."""
    value = int(digits) if len(digits) <= 20 else float(digits)
    return value if -(2**63) <= value < 2**64 else float(value)


# --- endpoints -------------------------------------------------------------------------------------------------------

# "V3 route regex: [...] also `/v1/...`; POST only". One path below a root belongs to the server itself.
_ROOTS = ("/v3/", "/v1/")
CONFIG_PATH, RELOAD_PATH = "/v1/config", "/v1/config/reload"
# "on every response [...] each default `*`".
_CORS: RawHeaders = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"*"),
    (b"access-control-allow-headers", b"*"),
)

_WRONG_ENDPOINT = (
    "Wrong endpoint. Allowed endpoints: /v[13]/chat/completions, /v[13]/completions, /v[13]/responses, /v[13]/tokenize"
)


def below_roots(name: str) -> tuple[str, ...]:
    """Both versions know `/v3/` and `/v3/v1/`; `/v1/` has been there since v2026.3."""
    return f"/v3/{name}", f"/v3/v1/{name}", f"/v1/{name}"


# The only operation that the documented edition has of its own.
_COMPLETIONS = below_roots("completions")


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers that each answer carries, errors included: CORS since v2025.2.1, none before."""
    return _CORS if scope.edition == "observed" or call.path not in _COMPLETIONS else ()


def enter(call: Call, scope: RequestScope, kind: Kind) -> Admitted | Refusal:
    """A request to a graph of that kind, or why the server refuses it, or a graph of another kind."""
    admitted = admit(call, scope)
    if isinstance(admitted, Refusal):
        return admitted
    made = kind_of(admitted.fields["model"])
    if made != kind:
        return _wrong_endpoint(admitted.fields, made)
    return admitted if kind == "texts" else _fields_fault(admitted.fields, kind) or admitted


def _wrong_endpoint(fields: Fields, kind: Kind) -> Refusal:
    return _fields_fault(fields, kind) or graph_fault(_WRONG_ENDPOINT, stream=fields.get("stream") is True)


def unrouted(call: Call, scope: RequestScope, allowed: tuple[str, ...]) -> Reply | Refusal:
    """The answer to a call that no operation serves: a graph's, a wrong URL, or a wrong method.

    A POST below a root, such as one with "a trailing slash", reaches the graph, which refuses it, or tokenizes if the
    path ends with that word. OPTIONS is answered with CORS headers at any path, but by the older server.
    """
    path = call.path
    for name, value in scope.variables.items():
        path = path.replace(f"{{{name}}}", value)
    if ".." in path.split("/"):
        return Refusal(FailureKind.UNKNOWN_PATH, "The provided base path is invalid or doesn't exists")
    if call.method == "OPTIONS" and (scope.edition == "observed" or path not in _COMPLETIONS):
        return body_reply(b"", content_type=JSON)
    if call.method == "POST" and path.startswith(_ROOTS) and path != CONFIG_PATH:
        admitted = admit(call._replace(path=path), scope._replace(edition="observed"))
        if isinstance(admitted, Refusal):
            return admitted
        kind = kind_of(admitted.fields["model"])
        if path.endswith("tokenize") and kind != "scores":
            return _tokens(admitted.fields, kind)
        return _wrong_endpoint(admitted.fields, kind)
    # "POST on a GET-only route"; "methods other than GET/POST(/OPTIONS) 406, GET on a POST-only /v3 path 400". The
    # server treats HEAD as GET.
    known = bool(allowed) if call.method == "POST" else call.method not in ("GET", "HEAD") or path == RELOAD_PATH
    return Refusal(FailureKind.WRONG_METHOD if known else FailureKind.UNKNOWN_PATH)


# --- graphs of embeddings and scores ---------------------------------------------------------------------------------


def _fields_fault(fields: Fields, kind: Kind) -> Refusal | None:
    """Why a graph that does not generate text refuses a request; None if it accepts it, or if it generates text."""
    fault = _FAULTS[kind](fields) if kind in _FAULTS else None
    return None if fault is None else graph_fault(fault, graph=kind)


def _embedding_fault(fields: Fields) -> str | None:
    fault, form = _texts_fault(fields, "input"), fields.get("encoding_format", "float")
    if fault is not None:
        return fault
    if not isinstance(form, str):
        return "encoding_format should be string"
    return None if form in ("float", "base64") else "encoding_format should either base64 or float"


def _texts_fault(fields: Fields, name: str) -> str | None:
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
    return is_whole(value, INT32)


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

# --- tokenize --------------------------------------------------------------------------------------------------------

# "MAX_LENGTH_LIMIT = 1000000", which "guards against unbounded allocation": here of all texts together.
_LONGEST = 1_000_000
# The padding token. The engine's own depends on the model.
_PAD = tokens.EOS


def _tokens(fields: Fields, kind: Kind) -> Reply | Refusal:
    fault = _tokens_fault(fields)
    if fault is not None:
        return graph_fault(fault, graph=kind)
    texts = [fields["text"]] if isinstance(fields["text"], str) else fields["text"]
    marked = fields.get("add_special_tokens", True)
    begin, end = (tokens.BOS,) * marked, (tokens.EOS,) * (marked and kind == "embeddings")
    lists = [(*begin, *tokens.encode(text), *end)[: fields.get("max_length")] for text in texts]
    if fields.get("pad_to_max_length"):
        lists = _padded(lists, fields)
    return body_reply({"tokens": lists if len(lists) > 1 else lists[0]}, content_type=JSON)


def _padded(lists: Sequence[tuple[int, ...]], fields: Fields) -> list[tuple[int, ...]]:
    """The lists, padded to the requested length, or to that of the longest."""
    length = fields.get("max_length", max(map(len, lists)))
    filling = [(_PAD,) * (length - len(each)) for each in lists]
    if fields.get("padding_side") == "left":
        return [(*more, *each) for each, more in zip(lists, filling, strict=True)]
    return [(*each, *more) for each, more in zip(lists, filling, strict=True)]


def _tokens_fault(fields: Fields) -> str | None:
    """What is wrong, in the server's order, except for texts that are token ids already: it refuses these last."""
    fault = _texts_fault(fields, "text")
    if fault is not None:
        return fault
    text, length, side = fields["text"], fields.get("max_length", 1), fields.get("padding_side", "right")
    if not isinstance(text, str) and not isinstance(text[0], str):
        return "Input should be string or array of strings"
    if not is_whole(length, UINT32):
        return "max_length should be unsigned integer"
    if length == 0:
        return "max_length should be greater than 0"
    most = _LONGEST if isinstance(text, str) else max(_LONGEST // len(text), 1)
    if length > most:
        return f"max_length {length} exceeds the allowed limit of {most}"
    for name in ("pad_to_max_length", "add_special_tokens"):
        if not isinstance(fields.get(name, False), bool):
            return f"{name} should be boolean"
    if not isinstance(side, str):
        return "padding_side should be string, either left or right"
    return None if side in ("left", "right") else "padding_side should be either left or right"
