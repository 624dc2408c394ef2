"""Counts of the graphs, and `GET /metrics` for Prometheus."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import accumulate
from typing import Literal

from mockserver.core.calls import Call
from mockserver.core.dialect_state import Progress, ServedResponse
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.read import json_object
from mockserver.dialects.openai.replies import body_reply
from mockserver.dialects.ovms.errors import is_of_graph

Method = Literal["Unary", "Stream", "ModelReady"]

# "floor(10 x 1.8^i)", 33 of them, in microseconds.
_BORDERS = tuple(math.floor(10 * 1.8**power) for power in range(33))

_OF_GRAPHS = ("completions", "chat_completions", "responses", "embeddings", "rerank", "tokenize")
_PROBE = "model_ready"
# Requests may name any graph: so many have counts, and names of so many characters.
_MOST_GRAPHS = 1_000
_LONGEST_NAME = 500
# The body of a refused request is read for the name of its graph; a longer one is not counted.
_LONGEST_READ = 1 << 20


class GraphCounts:
    """The counts of one graph and one method. `times` counts durations by _BORDERS, `total` adds them up, both in
    microseconds."""

    __slots__ = ("accepted", "failed", "responses", "running", "times", "total")

    def __init__(self) -> None:
        self.accepted = self.failed = self.responses = self.running = self.total = 0
        self.times = [0] * (len(_BORDERS) + 1)


class Graphs:
    """The counts of all graphs in a namespace."""

    operations: Mapping[str, bytes] = dict.fromkeys((*_OF_GRAPHS, _PROBE), b"")

    def __init__(self) -> None:
        self._counts: dict[str, dict[Method, GraphCounts]] = {}

    def names(self) -> tuple[str, ...]:
        """The graphs that have counts, in their order of appearance."""
        return tuple(self._counts)

    def counts(self, name: str, method: Method) -> GraphCounts:
        """The counts of a graph and a method so far."""
        return self._counts.get(name, {}).get(method) or GraphCounts()

    def running(self, name: str) -> int:
        """How many requests a graph is answering."""
        return sum(counts.running for counts in tuple(self._counts.get(name, {}).values()))

    def has_stored(self, id_: str) -> bool:
        """Whether it has an answer with this id: it only counts them."""
        return False

    def begin(self, served: ServedResponse) -> Callable[[Progress], None] | None:
        """Count a request that reaches a graph, and return what counts the end of its answer."""
        name, method = _graph_of(served)
        if not name or len(name) > _LONGEST_NAME or (name not in self._counts and len(self._counts) >= _MOST_GRAPHS):
            return None
        methods = self._counts.setdefault(name, {})
        counts = methods.get(method) or methods.setdefault(method, GraphCounts())
        # "for V3 API, the LLM request is validated at graph node level meaning that packet creation always succeeds"
        counts.accepted += 1
        if method == "ModelReady":
            return None
        counts.failed += served.refusal is not None
        counts.running += 1
        return partial(_end, counts, served)


def _graph_of(served: ServedResponse) -> tuple[str, Method]:
    """The graph that a request has reached, and how; no name if it has reached none, like one that a fault refuses."""
    request, refusal = served.request, served.refusal
    if served.operation == _PROBE:
        return "" if refusal is not None else served.scope.variables["id"].partition("/versions/")[0], "ModelReady"
    if served.status >= 400 if refusal is None else not is_of_graph(refusal):
        return "", "Unary"
    if request is not None:
        return request.model, "Stream" if request.output.stream else "Unary"
    body = served.call.body
    fields = json_object(body) if len(body) <= _LONGEST_READ else {}
    name = "" if isinstance(fields, Refusal) else fields.get("model")
    return name if isinstance(name, str) else "", "Stream" if refusal is not None and refusal.streamed else "Unary"


def _end(counts: GraphCounts, served: ServedResponse, extent: Progress) -> None:
    """Count the responses that a graph has generated, and how long that took if it got to its end."""
    counts.running -= 1
    if served.refusal is not None:
        return
    request, packets = served.request, min(extent.events, 1)
    if request is not None and request.output.stream:
        # The usage and [DONE] come in one packet with the last chunk.
        packets = max(extent.events - 1 - request.output.include_usage, 0)
    counts.responses += packets
    if extent.complete:
        microseconds = round(extent.seconds * 1e6)
        counts.times[bisect_left(_BORDERS, microseconds)] += 1
        counts.total += microseconds


# --- metrics ---------------------------------------------------------------------------------------------------------

# The labels of series beside the name of the graph: their names, and their values in the order of the series.
_LABELS = ("api", "interface", "method")
_V3, _KSERVE, _GRPC = ("V3", "REST"), ("KServe", "REST"), ("KServe", "gRPC")
_OF_REQUESTS: tuple[tuple[str, ...], ...] = (
    *((*_V3, "Stream"), (*_V3, "Unary")),
    *((*_KSERVE, "ModelInfer"), (*_GRPC, "ModelInferStream"), (*_GRPC, "ModelInfer")),
)
_OF_PROBES = tuple((*api, method) for api in (_KSERVE, _GRPC) for method in ("ModelReady", "ModelMetadata"))
_OF_TIMES = (("ModelInferStream",), ("ModelInfer",), ("Stream",), ("Unary",))
# The series that this server counts, by their labels, and the method of which; all others stay at 0.
_METHODS: Mapping[tuple[str, ...], Method] = {
    (*_V3, "Stream"): "Stream", (*_V3, "Unary"): "Unary", (*_KSERVE, "ModelReady"): "ModelReady",
    ("Stream",): "Stream", ("Unary",): "Unary",
}  # fmt: skip

# Every graph has series of these names: their type and help, their labels, and which of GraphCounts they tell.
_FAMILIES: tuple[tuple[str, str, str, tuple[tuple[str, ...], ...], str], ...] = (
    ("ovms_requests_accepted", "counter",
     "Number of accepted requests which ended up inserting packet(s) into the MediaPipe graph.",
     _OF_REQUESTS, "accepted"),
    ("ovms_requests_rejected", "counter",
     "Number of rejected requests which did not end up being inserted into the MediaPipe graph.",
     _OF_REQUESTS, ""),
    ("ovms_graph_error", "counter", "Number of errors generated by the MediaPipe graph.", _OF_REQUESTS, "failed"),
    ("ovms_responses", "counter", "Number of responses generated the MediaPipe graph.", _OF_REQUESTS, "responses"),
    ("ovms_requests_fail", "counter", "Number of failed requests to a mediapipe.", _OF_PROBES, ""),
    ("ovms_requests_success", "counter", "Number of successful requests to a mediapipe.", _OF_PROBES, "accepted"),
    ("ovms_current_graphs", "gauge", "Number of MediaPipe graphs in process.", ((),), "running"),
    ("ovms_graph_processing_time_us", "histogram", "Time packet spent in the MediaPipe graph.", _OF_TIMES, "times"),
)  # fmt: skip


def publish(call: Call, scope: RequestScope) -> Reply:
    """The metrics of all graphs on offer, and of others that have been asked."""
    graphs = scope.history if isinstance(scope.history, Graphs) else Graphs()
    return body_reply("".join(_lines(graphs, scope)).encode(), content_type=b"text/plain")


def _lines(graphs: Graphs, scope: RequestScope) -> Iterator[str]:
    """All lines, as the server's library for Prometheus writes them."""
    names = tuple(dict.fromkeys((*(model.id for model in scope.models), *graphs.names())))
    for family, kind, help, series, told in _FAMILIES:
        yield f"# HELP {family} {help}\n# TYPE {family} {kind}\n"
        for name in names:
            for values in series:
                labels = (*zip(_LABELS[-len(values) :], values, strict=False), ("name", name))
                written = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels)
                counts = graphs.counts(name, _METHODS[values]) if values in _METHODS else GraphCounts()
                if told == "times":
                    yield from _of_times(family, written, counts)
                else:
                    value = graphs.running(name) if told == "running" else getattr(counts, told, 0)
                    yield f"{family}{{{written}}} {value}\n"


def _of_times(name: str, labels: str, counts: GraphCounts) -> Iterator[str]:
    upto = [*accumulate(counts.times)]
    yield f"{name}_count{{{labels}}} {upto[-1]}\n{name}_sum{{{labels}}} {counts.total}\n"
    for border, count in zip((*_BORDERS, "+Inf"), upto, strict=True):
        yield f'{name}_bucket{{{labels},le="{border}"}} {count}\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
