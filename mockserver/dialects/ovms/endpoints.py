"""How a request enters a graph: its body, its model, its path; what is refused on the way (vendor notes 1 and 7); and
how each graph counts its requests, for Prometheus.
"""

import json
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate
from types import UnionType
from typing import Any, NamedTuple

from mockserver.core.dialect_state import Progress, ServedResponse
from mockserver.core.dialects import Edition, Model, RequestScope, on_demand
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import Call, RawHeaders, Reply
from mockserver.dialects.openai.read import json_object
from mockserver.dialects.openai.replies import body_reply
from mockserver.dialects.ovms.errors import JSON, Kind, graph_fault, is_of_graph, not_json
from mockserver.dialects.ovms.models import kind_of

# --- fields ----------------------------------------------------------------------------------------------------------

Fields = Mapping[str, Any]
INT32 = range(-(2**31), 2**31)
UINT32 = range(2**32)
UINT64 = range(2**64)
# The name of a field, and what is wrong with its value, given all fields: the server's message, None if all is well. It
# is asked if the request has the field.
Check = tuple[str, Callable[[Any, Fields], str | None]]
# What the value of a field must be: of a type, an integer of a width, or what a function of it and of all fields says.
Must = type | UnionType | range | Callable[[Any, Fields], object]


def is_whole(value: object, width: range) -> bool:
    """Whether a value is an integer of a width."""
    return type(value) is int and value in width


def is_number(value: object, fields: Fields) -> bool:
    """Whether the server accepts a value as a number: a float, or an integer of 32 bits."""
    return type(value) is float or is_whole(value, INT32)


def check(name: str, *rules: tuple[Must, str]) -> Check:
    """A check of what a value must be, rule by rule, with the message if it is not."""

    def fault(value: Any, fields: Fields) -> str | None:
        for must, message in rules:
            if isinstance(must, range):
                fits: object = type(value) is int and value in must
            else:
                fits = isinstance(value, must) if isinstance(must, type | UnionType) else must(value, fields)
            if not fits:
                return message
        return None

    return name, fault


def first_fault(checks: Iterable[Check], fields: Fields) -> str | None:
    """The message of the first check that fails, None if none does."""
    for name, fault in checks:
        if name in fields and (message := fault(fields[name], fields)) is not None:
            return message
    return None


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
    return admitted if kind == "texts" else _refused_by(kind, admitted.fields) or admitted


# Why a graph that does not generate text refuses a request; None if it accepts it. Loaded with the first one.
_refused_by: Callable[[Kind, Fields], Refusal | None] = on_demand(f"{__package__}.embeddings:refused_by")
_tokenized: Callable[[Fields, Kind], Reply | Refusal] = on_demand(f"{__package__}.embeddings:tokenized")


def _wrong_endpoint(fields: Fields, kind: Kind) -> Refusal:
    """The refusal of a request by a graph for another task. Graphs that do not generate text "do not look at the path":
    they require their own fields at every endpoint."""
    words = graph_fault(_WRONG_ENDPOINT, stream=fields.get("stream") is True)
    return words if kind == "texts" else _refused_by(kind, fields) or words


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
            return _tokenized(admitted.fields, kind)
        return _wrong_endpoint(admitted.fields, kind)
    # "POST on a GET-only route"; "methods other than GET/POST(/OPTIONS) 406, GET on a POST-only /v3 path 400". The
    # server treats HEAD as GET.
    known = bool(allowed) if call.method == "POST" else call.method not in ("GET", "HEAD") or path == RELOAD_PATH
    return Refusal(FailureKind.WRONG_METHOD if known else FailureKind.UNKNOWN_PATH)


# --- metrics ---------------------------------------------------------------------------------------------------------

# The labels of a series beside the name of the graph: their names, and their values in the order of the series.
_LABELS = ("api", "interface", "method")
Labels = tuple[str, ...]
_V3, _KSERVE, _GRPC = ("V3", "REST"), ("KServe", "REST"), ("KServe", "gRPC")
_STREAM, _UNARY, _PROBED = (*_V3, "Stream"), (*_V3, "Unary"), (*_KSERVE, "ModelReady")
_OF_REQUESTS = (_STREAM, _UNARY, (*_KSERVE, "ModelInfer"), (*_GRPC, "ModelInferStream"), (*_GRPC, "ModelInfer"))
_OF_PROBES = tuple((*api, method) for api in (_KSERVE, _GRPC) for method in ("ModelReady", "ModelMetadata"))
_OF_TIMES = (("ModelInferStream",), ("ModelInfer",), ("Stream",), ("Unary",))
# The metrics that tell of more than zeros.
_ACCEPTED, _FAILED, _RESPONSES = "ovms_requests_accepted", "ovms_graph_error", "ovms_responses"
_SUCCESS, _RUNNING, _TIMES = "ovms_requests_success", "ovms_current_graphs", "ovms_graph_processing_time_us"
# Every graph has all series of these: their type and help, and their labels.
_METRICS: tuple[tuple[str, str, str, tuple[Labels, ...]], ...] = (
    (_ACCEPTED, "counter",
     "Number of accepted requests which ended up inserting packet(s) into the MediaPipe graph.", _OF_REQUESTS),
    ("ovms_requests_rejected", "counter",
     "Number of rejected requests which did not end up being inserted into the MediaPipe graph.", _OF_REQUESTS),
    (_FAILED, "counter", "Number of errors generated by the MediaPipe graph.", _OF_REQUESTS),
    (_RESPONSES, "counter", "Number of responses generated the MediaPipe graph.", _OF_REQUESTS),
    ("ovms_requests_fail", "counter", "Number of failed requests to a mediapipe.", _OF_PROBES),
    (_SUCCESS, "counter", "Number of successful requests to a mediapipe.", _OF_PROBES),
    (_RUNNING, "gauge", "Number of MediaPipe graphs in process.", ((),)),
    (_TIMES, "histogram", "Time packet spent in the MediaPipe graph.", _OF_TIMES),
)  # fmt: skip
# "floor(10 x 1.8^i)", 33 of them, in microseconds.
_BORDERS = tuple(math.floor(10 * 1.8**power) for power in range(33))

_PROBE = "model_ready"
# Requests may name any graph: so many have counts, and names of so many characters.
_MOST_GRAPHS = 1_000
_LONGEST_NAME = 500
# The body of a refused request is read for the name of its graph; a longer one is not counted.
_LONGEST_READ = 1 << 20


class Graphs:
    """The counts of all graphs in a namespace, by metric, graph and labels; of `times`, which add up to a count in
    microseconds, also how many there were up to each of _BORDERS, and beyond the last."""

    operations: Mapping[str, bytes] = dict.fromkeys(
        ("completions", "chat_completions", "responses", "embeddings", "rerank", "tokenize", _PROBE), b""
    )

    def __init__(self) -> None:
        self.names = dict[str, None]()
        self.counts = Counter[tuple[str, str, Labels]]()
        self.times = dict[tuple[str, Labels], list[int]]()

    def has_stored(self, id_: str) -> bool:
        """Whether it has an answer with this id: it only counts them."""
        return False

    def begin(self, served: ServedResponse) -> Callable[[Progress], None] | None:
        """Count a request that reaches a graph, and return what counts the end of its answer."""
        name, labels = _graph_of(served)
        if not name or len(name) > _LONGEST_NAME or (name not in self.names and len(self.names) >= _MOST_GRAPHS):
            return None
        self.names[name] = None
        if labels is _PROBED:
            self.counts[_SUCCESS, name, labels] += 1
            return None
        # "for V3 API, the LLM request is validated at graph node level meaning that packet creation always succeeds"
        self.counts[_ACCEPTED, name, labels] += 1
        self.counts[_RUNNING, name, ()] += 1
        if served.refusal is not None:
            self.counts[_FAILED, name, labels] += 1
        return partial(self._end, name, labels, served)

    def _end(self, name: str, labels: Labels, served: ServedResponse, extent: Progress) -> None:
        """Count the responses that a graph has generated, and how long that took if it got to its end."""
        self.counts[_RUNNING, name, ()] -= 1
        if served.refusal is not None:
            return
        request, packets = served.request, min(extent.events, 1)
        if request is not None and request.output.stream:
            # The usage and [DONE] come in one packet with the last chunk.
            packets = max(extent.events - 1 - request.output.include_usage, 0)
        self.counts[_RESPONSES, name, labels] += packets
        if extent.complete:
            method, microseconds = labels[-1:], round(extent.seconds * 1e6)
            self.counts[_TIMES, name, method] += microseconds
            times = self.times.setdefault((name, method), [0] * (len(_BORDERS) + 1))
            times[bisect_left(_BORDERS, microseconds)] += 1


def _graph_of(served: ServedResponse) -> tuple[str, Labels]:
    """The graph that a request has reached, and how; no name if it has reached none, like one that a fault refuses."""
    request, refusal = served.request, served.refusal
    if served.operation == _PROBE:
        return "" if refusal is not None else served.scope.variables["id"].partition("/versions/")[0], _PROBED
    if served.status >= 400 if refusal is None else not is_of_graph(refusal):
        return "", _UNARY
    if request is not None:
        return request.model, _STREAM if request.output.stream else _UNARY
    body = served.call.body
    fields = json_object(body) if len(body) <= _LONGEST_READ else {}
    name = "" if isinstance(fields, Refusal) else fields.get("model")
    return name if isinstance(name, str) else "", _STREAM if refusal is not None and refusal.streamed else _UNARY


def metrics(call: Call, scope: RequestScope) -> Reply:
    """The counts of all graphs on offer, and of others that have been asked, for Prometheus."""
    graphs = scope.history if isinstance(scope.history, Graphs) else Graphs()
    return body_reply("".join(_lines(graphs, scope)).encode(), content_type=b"text/plain")


def _lines(graphs: Graphs, scope: RequestScope) -> Iterator[str]:
    """All lines, as the server's library for Prometheus writes them."""
    names = tuple(dict.fromkeys((*(model.id for model in scope.models), *graphs.names)))
    for metric, kind, help, series in _METRICS:
        yield f"# HELP {metric} {help}\n# TYPE {metric} {kind}\n"
        for name in names:
            for values in series:
                labels = (*zip(_LABELS[-len(values) :], values, strict=False), ("name", name))
                written = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels)
                count = graphs.counts[metric, name, values]
                if kind != "histogram":
                    yield f"{metric}{{{written}}} {count}\n"
                    continue
                upto = [*accumulate(graphs.times.get((name, values), [0] * (len(_BORDERS) + 1)))]
                yield f"{metric}_count{{{written}}} {upto[-1]}\n{metric}_sum{{{written}}} {count}\n"
                for border, times in zip((*_BORDERS, "+Inf"), upto, strict=True):
                    yield f'{metric}_bucket{{{written},le="{border}"}} {times}\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
