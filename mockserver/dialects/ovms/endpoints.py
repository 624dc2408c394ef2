"""How a request enters a graph: its body, its model, its path; and what is refused on the way."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.json_values import may_nest_deeper
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.fields import json_object
from mockserver.dialects.ovms.errors import JSON, graph_fault, not_json
from mockserver.dialects.ovms.fields import UINT32, Fields, whole
from mockserver.dialects.ovms.graphs import (
    RELOAD_PATH,
    Kind,
    Paths,
    fields_fault,
    kind_of,
    node_of,
    texts_fault,
)
from mockserver.model import tokens

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
# "only if the path contains `completions`; B also `responses`".
_STREAMING_PATHS: dict[Edition, tuple[str, ...]] = {
    "documented": ("completions",),
    "observed": ("completions", "responses"),
}
_WRITTEN_FIELD = re.compile(f'"(?:{"|".join(_FIELDS)})"'.encode())
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
_FORM_MODEL = re.compile(rb'name="model"\r?\n\r?\n([^\r\n]*)')


class Admitted(NamedTuple):
    """A body that has reached a graph, and the model of that graph."""

    fields: dict[str, Any]
    model: Model

    @property
    def streamed(self) -> bool:
        """Whether a stream is requested."""
        return self.fields.get("stream") is True


def admit(call: Call, scope: RequestScope, path: str) -> Admitted | Refusal:
    """The body and its model, or why the server refuses it before any graph. `path` is the vendor's own."""
    if scope.edition == "observed" and not _says_json(call):
        return _unread(call, scope, path)
    fields = _fields(call.body, scope)
    if isinstance(fields, Refusal):
        return fields
    fault = _http_fault(fields, path, scope.edition)
    if fault is not None:
        return not_json(fault)
    # "An empty `model` string also falls back to the path."
    name = fields["model"] or (_named_by(path) if scope.edition == "observed" else "")
    model = scope.model(name) if fields["model"] else _listed(name, scope)
    return Refusal(FailureKind.UNKNOWN_MODEL) if model is None else Admitted(fields, model)


def _says_json(call: Call) -> bool:
    return _media_type(call) == "application/json"


def _media_type(call: Call) -> str:
    return (call.headers.get("content-type") or "").partition(";")[0].strip().lower()


def _unread(call: Call, scope: RequestScope, path: str) -> Refusal:
    """A body with another content type than JSON: "anything else takes the model name from the path"."""
    form = _FORM_MODEL.search(call.body) if _media_type(call) == "multipart/form-data" else None
    known = scope.model(form[1].decode("utf-8", "replace")) if form and form[1] else _listed(_named_by(path), scope)
    if known is None:
        return Refusal(FailureKind.UNKNOWN_MODEL)
    return graph_fault("Non-json request received in text generation calculator")


def _named_by(path: str) -> str:
    return path.removeprefix("/v3/").removeprefix("/v1/")


def _listed(name: str, scope: RequestScope) -> Model | None:
    """The model of that name, if it is really served: `completions` or an empty name mean no model."""
    return next((model for model in scope.models if model.id == name), None)


def _fields(body: bytes, scope: RequestScope) -> dict[str, Any] | Refusal:
    if scope.edition == "observed" and _depth(body) > _DEEPEST:
        return not_json("JSON body exceeds maximum nesting depth")
    fields = json_object(body)
    if isinstance(fields, Refusal):
        return fields
    written = _WRITTEN_FIELD.findall(body)
    return _first_of_equals(body, fields) if len(written) > len(set(written)) else fields


def _depth(body: bytes) -> int:
    """How deeply the body nests; one with few brackets is not examined closely."""
    if not may_nest_deeper(body, _DEEPEST):
        return 0
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
    """An object with the first of duplicate keys, in order."""
    return dict(reversed(dict(reversed(pairs)).items()))


def _int(digits: str) -> int | float:
    """An integer as the server stores it: in 64 bits, else as a float."""
    value = int(digits) if len(digits) <= 20 else float(digits)
    return value if -(2**63) <= value < 2**64 else float(value)


def _http_fault(fields: dict[str, Any], path: str, edition: Edition) -> str | None:
    """The first check of the HTTP layer that fails, in the server's order."""
    if "model" not in fields:
        return "model field is missing in JSON body"
    if not isinstance(fields["model"], str):
        return "model field is not a string"
    # In neither edition is null a boolean.
    streams = any(word in path for word in _STREAMING_PATHS[edition])
    if streams and not isinstance(fields.get("stream", False), bool):
        return "stream field is not a boolean"
    return None


# --- endpoints -------------------------------------------------------------------------------------------------------

# "V3 route regex: A `/v3/.*?(/|$)`; B also `/v1/...`; POST only".
_ROOTS: dict[Edition, tuple[str, ...]] = {"documented": ("/v3/",), "observed": ("/v3/", "/v1/")}
# A path below a root that belongs to the server itself.
_CONFIG = "/v1/config"
_WRONG_ENDPOINT: dict[Edition, str] = {
    "documented": "Wrong endpoint. Allowed endpoints: /v3/chat/completions, /v3/completions",
    "observed": "Wrong endpoint. Allowed endpoints: "
    "/v[13]/chat/completions, /v[13]/completions, /v[13]/responses, /v[13]/tokenize",
}


def _asked_path(call: Call, scope: RequestScope) -> str:
    """The path as requested, with its variables filled in."""
    path = call.path
    for name, value in scope.variables.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def _reaches_graph(path: str, edition: Edition) -> bool:
    """Whether a POST to the path reaches a graph."""
    return path.startswith(_ROOTS[edition]) and path != _CONFIG


def _climbing(path: str) -> Refusal | None:
    """The refusal of a path with a `..`, which precedes all other checks."""
    if ".." not in path.split("/"):
        return None
    return Refusal(FailureKind.UNKNOWN_PATH, "The provided base path is invalid or doesn't exists")


def ask_graph(call: Call, scope: RequestScope) -> Reply | Refusal:
    """Any other path below a root, such as one with "a trailing slash", reaches the graph, which refuses it.

    The newer server's graph tokenizes if the path ends with that word.
    """
    admitted = _admitted(call, scope)
    if isinstance(admitted, Refusal):
        return admitted
    tokenizes = scope.edition == "observed" and _asked_path(call, scope).endswith("tokenize")
    if tokenizes and kind_of(admitted.fields["model"]) != "scores":
        return tokenize(admitted, scope)
    return wrong_endpoint(admitted, scope.edition)


def refuse_endpoint(call: Call, scope: RequestScope) -> Refusal:
    """The refusal of a path that the graph does not know; the server's own layers come first."""
    admitted = _admitted(call, scope)
    return admitted if isinstance(admitted, Refusal) else wrong_endpoint(admitted, scope.edition)


def _admitted(call: Call, scope: RequestScope) -> Admitted | Refusal:
    """A request on its way to a graph, or why it does not get there."""
    path = _asked_path(call, scope)
    if not _reaches_graph(path, scope.edition):
        return Refusal(FailureKind.UNKNOWN_PATH)
    return _climbing(path) or admit(call, scope, path)


def enter_graph(call: Call, scope: RequestScope, paths: Paths, kind: Kind) -> Fields | Refusal:
    """The fields of a request to a graph that does not generate text, or why the server or a graph refuses it."""
    if call.path not in paths[scope.edition]:
        return Refusal(FailureKind.UNKNOWN_PATH)
    admitted = admit(call, scope, call.path)
    if isinstance(admitted, Refusal):
        return admitted
    made = kind_of(admitted.fields["model"])
    fault = (
        wrong_endpoint(admitted, scope.edition) if made != kind else fields_fault(admitted.fields, made, scope.edition)
    )
    return fault or admitted.fields


def wrong_endpoint(admitted: Admitted, edition: Edition) -> Refusal:
    """The refusal of a graph at an endpoint that it does not serve."""
    fault = fields_fault(admitted.fields, kind_of(admitted.fields["model"]), edition)
    return fault or graph_fault(_WRONG_ENDPOINT[edition], stream=admitted.streamed)


def unrouted(call: Call, scope: RequestScope, allowed: tuple[str, ...]) -> Reply | Refusal:
    """The answer to a call that no operation serves: a graph's refusal, a wrong URL, or a wrong method.

    Only the newer server knows OPTIONS, and answers it with its CORS headers at any path.
    """
    path = _asked_path(call, scope)
    climbs = _climbing(path)
    if climbs is not None:
        return climbs
    if call.method == "OPTIONS" and scope.edition == "observed":
        return body_reply(b"", content_type=JSON)
    if call.method == "POST" and _reaches_graph(path, scope.edition):
        return ask_graph(call, scope)
    return Refusal(FailureKind.WRONG_METHOD if _is_known(call, allowed) else FailureKind.UNKNOWN_PATH)


def _is_known(call: Call, allowed: tuple[str, ...]) -> bool:
    """Whether the server blames the method of a call rather than its URL; it treats HEAD as GET."""
    if call.method == "POST":
        # "POST on a GET-only route"
        return bool(allowed)
    # "methods other than GET/POST(/OPTIONS) 406, GET on a POST-only /v3 path 400"
    return call.method not in ("GET", "HEAD") or call.path == RELOAD_PATH


# --- tokenize --------------------------------------------------------------------------------------------------------

# "MAX_LENGTH_LIMIT = 1000000", which "guards against unbounded allocation": here of all texts together.
_LONGEST = 1_000_000
# The padding token. The engine's own depends on the model.
_PAD = tokens.EOS


def tokenize(admitted: Admitted, scope: RequestScope) -> Reply | Refusal:
    """The answer: a list of token ids, or a list of them for each of several texts."""
    fields = admitted.fields
    embeds = kind_of(fields["model"]) == "embeddings"
    fault = next((found for check in _CHECKS if (found := check(fields)) is not None), None)
    if fault is not None:
        return graph_fault(fault, node=node_of("embeddings", scope.edition)) if embeds else graph_fault(fault)
    texts = [fields["text"]] if isinstance(fields["text"], str) else fields["text"]
    marked = fields.get("add_special_tokens", True)
    begin, end = (tokens.BOS,) * marked, (tokens.EOS,) * (marked and embeds)
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


def _text_fault(fields: Fields) -> str | None:
    fault = texts_fault(fields, "text", "observed")
    if fault is not None or isinstance(fields["text"], str) or isinstance(fields["text"][0], str):
        return fault
    return "Input should be string or array of strings"


def _length_fault(fields: Fields) -> str | None:
    if "max_length" not in fields:
        return None
    length = fields["max_length"]
    if not whole(length, UINT32):
        return "max_length should be unsigned integer"
    if length == 0:
        return "max_length should be greater than 0"
    most = _LONGEST if isinstance(fields["text"], str) else max(_LONGEST // len(fields["text"]), 1)
    return None if length <= most else f"max_length {length} exceeds the allowed limit of {most}"


def _boolean(name: str) -> Callable[[Fields], str | None]:
    return lambda fields: None if isinstance(fields.get(name, False), bool) else f"{name} should be boolean"


def _side_fault(fields: Fields) -> str | None:
    side = fields.get("padding_side", "right")
    if not isinstance(side, str):
        return "padding_side should be string, either left or right"
    return None if side in ("left", "right") else "padding_side should be either left or right"


# In the server's order, except for texts that are token ids already, which the server refuses last.
_CHECKS = (_text_fault, _length_fault, _boolean("pad_to_max_length"), _boolean("add_special_tokens"), _side_fault)
