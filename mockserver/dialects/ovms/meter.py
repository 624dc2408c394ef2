"""What the server counts of each of its graphs, for `/metrics`."""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection
from functools import partial
from typing import Literal

from mockserver.core.failures import Rejection
from mockserver.core.ledgers import Extent, Served
from mockserver.dialects.openai.fields import json_object
from mockserver.dialects.ovms.errors import is_of_graph

Method = Literal["Unary", "Stream", "ModelReady"]

# "floor(10 x 1.8^i)", 33 of them, in microseconds.
BORDERS = tuple(math.floor(10 * 1.8**power) for power in range(33))

_OF_GRAPHS = ("completions", "chat_completions", "responses", "embeddings", "rerank", "tokenize", "wrong_endpoint")
_PROBE = "model_ready"
# Requests may name any graph: so many have counts, and names of so many characters.
_MOST_GRAPHS = 1_000
_LONGEST_NAME = 500
# The body of a refused request is read for the name of its graph; a longer one is not counted.
_LONGEST_READ = 1 << 20


class Counts:
    """The counts of one graph and one method. `times` counts durations by BORDERS, `total` adds them up, both in
    microseconds."""

    __slots__ = ("accepted", "failed", "responses", "running", "times", "total")

    def __init__(self) -> None:
        self.accepted = self.failed = self.responses = self.running = self.total = 0
        self.times = [0] * (len(BORDERS) + 1)


class Graphs:
    """The counts of all graphs in a namespace."""

    operations: Collection[str] = (*_OF_GRAPHS, _PROBE)

    def __init__(self) -> None:
        self._counts: dict[str, dict[Method, Counts]] = {}

    def names(self) -> tuple[str, ...]:
        """The graphs that have counts, in their order of appearance."""
        return tuple(self._counts)

    def counts(self, name: str, method: Method) -> Counts:
        """The counts of a graph and a method so far."""
        return self._counts.get(name, {}).get(method) or Counts()

    def running(self, name: str) -> int:
        """How many requests a graph is answering."""
        return sum(counts.running for counts in tuple(self._counts.get(name, {}).values()))

    def begin(self, served: Served) -> Callable[[Extent], None] | None:
        """Count a request that reaches a graph, and return what counts the end of its answer."""
        name, method = _graph_of(served), _method_of(served)
        if name is None or len(name) > _LONGEST_NAME:
            return None
        if name not in self._counts and len(self._counts) >= _MOST_GRAPHS:
            return None
        counts = self._counts.setdefault(name, {}).setdefault(method, Counts())
        # "for V3 API, the LLM request is validated at graph node level meaning that packet creation always succeeds"
        counts.accepted += 1
        if method == "ModelReady":
            return None
        counts.failed += served.rejection is not None
        counts.running += 1
        return partial(_end, counts, served)


def _end(counts: Counts, served: Served, extent: Extent) -> None:
    """Count the responses that a graph has generated, and how long that took if it got to its end."""
    counts.running -= 1
    if served.rejection is not None:
        return
    counts.responses += _packets(served, extent.events)
    if extent.complete:
        microseconds = round(extent.seconds * 1e6)
        counts.times[bisect_left(BORDERS, microseconds)] += 1
        counts.total += microseconds


def _packets(served: Served, events: int) -> int:
    """How many packets of a graph these events are: the usage and [DONE] come in one packet with the last chunk."""
    if served.request is None or not served.request.output.stream:
        return min(events, 1)
    return max(events - 1 - served.request.output.include_usage, 0)


def _graph_of(served: Served) -> str | None:
    """The name of the graph that a request has reached; None if it has reached none, like one that a fault refuses."""
    rejection = served.rejection
    if served.operation == _PROBE:
        return None if rejection is not None else served.site.variables["id"].partition("/versions/")[0]
    if served.status >= 400 and rejection is None:
        return None
    if rejection is not None and not is_of_graph(rejection):
        return None
    return served.request.model if served.request is not None else _named(served.call.body)


def _named(body: bytes) -> str | None:
    fields = json_object(body) if len(body) <= _LONGEST_READ else {}
    name = None if isinstance(fields, Rejection) else fields.get("model")
    return name if isinstance(name, str) and name else None


def _method_of(served: Served) -> Method:
    if served.operation == _PROBE:
        return "ModelReady"
    if served.request is not None:
        return "Stream" if served.request.output.stream else "Unary"
    return "Stream" if served.rejection is not None and served.rejection.streamed else "Unary"
