"""The checks of a body before any graph: JSON, an object, a model that is served (layers 1 and 2 of vendor note 2)."""

import json
import re
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Model, Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.json_values import may_nest_deeper
from mockserver.dialects.openai.fields import json_object
from mockserver.dialects.ovms.errors import graph_fault, not_json

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


def admit(call: Call, site: Site, path: str) -> Admitted | Rejection:
    """The body and its model, or why the server refuses it before any graph. `path` is the vendor's own."""
    if site.edition == "observed" and not _says_json(call):
        return _unread(call, site, path)
    fields = _fields(call.body, site)
    if isinstance(fields, Rejection):
        return fields
    fault = _http_fault(fields, path, site.edition)
    if fault is not None:
        return not_json(fault)
    # "An empty `model` string also falls back to the path."
    name = fields["model"] or (_named_by(path) if site.edition == "observed" else "")
    model = site.model(name) if fields["model"] else _listed(name, site)
    return Rejection(FailureKind.UNKNOWN_MODEL) if model is None else Admitted(fields, model)


def _says_json(call: Call) -> bool:
    return _media_type(call) == "application/json"


def _media_type(call: Call) -> str:
    return (call.headers.get("content-type") or "").partition(";")[0].strip().lower()


def _unread(call: Call, site: Site, path: str) -> Rejection:
    """A body with another content type than JSON: "anything else takes the model name from the path"."""
    form = _FORM_MODEL.search(call.body) if _media_type(call) == "multipart/form-data" else None
    known = site.model(form[1].decode("utf-8", "replace")) if form and form[1] else _listed(_named_by(path), site)
    if known is None:
        return Rejection(FailureKind.UNKNOWN_MODEL)
    return graph_fault("Non-json request received in text generation calculator")


def _named_by(path: str) -> str:
    return path.removeprefix("/v3/").removeprefix("/v1/")


def _listed(name: str, site: Site) -> Model | None:
    """The model of that name, if it is really served: `completions` or an empty name mean no model."""
    return next((model for model in site.models if model.id == name), None)


def _fields(body: bytes, site: Site) -> dict[str, Any] | Rejection:
    if site.edition == "observed" and _depth(body) > _DEEPEST:
        return not_json("JSON body exceeds maximum nesting depth")
    fields = json_object(body)
    if isinstance(fields, Rejection):
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
