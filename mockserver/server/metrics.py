"""Counters of all exchanges since the server started: requests, failures, faults, tokens and times.

Counting is part of every answer, so it costs only about a microsecond: a few lookups and additions. The gaps of a
stream are counted in bulk at its end. No label has a value that clients choose freely.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from operator import sub
from typing import Any, Literal, NamedTuple

from mockserver.core.http import Record
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.plan import Plan

# Upper bounds, in seconds.
_TIMES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_GAPS = (0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 5.0)
# How many gaps of an answer are counted: more would delay other answers.
_MOST_GAPS = 8_192


class Histogram:
    """Counts of values by buckets with upper bounds, and the sum of the values."""

    __slots__ = ("borders", "counts", "total")

    def __init__(self, borders: tuple[float, ...]) -> None:
        self.borders = borders
        self.counts = [0] * (len(borders) + 1)
        self.total = 0.0

    def note(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.borders, value)] += 1
        self.total += value

    def note_all(self, values: Sequence[float]) -> None:
        """Count many values, at a tenth of a microsecond each."""
        for place, count in Counter(map(partial(bisect_left, self.borders), values)).items():
            self.counts[place] += count
        self.total += sum(values)


Values = tuple[str | int, ...]


class Metric(NamedTuple):
    """What is told under one name: a number or a histogram for each tuple of values of the labels."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...]
    samples: Mapping[Any, float | Histogram]


class Metrics:
    """The counts of a server, updated in its thread. Errors of its own have no dialect."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.requests = defaultdict[Values, int](int)
        self.left = defaultdict[Values, int](int)
        self.seconds = defaultdict[Values, Histogram](partial(Histogram, _TIMES))
        self.errors = defaultdict[Values, int](int)
        self.faults = defaultdict[Values, int](int)
        self.tokens = defaultdict[Values, int](int)
        self.ttft = defaultdict[Values, Histogram](partial(Histogram, _TIMES))
        self.gaps = defaultdict[Values, Histogram](partial(Histogram, _GAPS))

    def ended(self, exchange: Exchange) -> None:
        """Count an answer that has ended, successfully or not."""
        self.in_flight -= 1
        plan, record, simulator_error = exchange.plan, exchange.record, exchange.simulator_error
        if plan is None:
            assert simulator_error is not None, "an exchange without a plan has been denied"
            dialect, answered = "", ("", "", simulator_error.status)
            self.errors[dialect, simulator_error.kind] += 1
        else:
            operation, dialect = plan.context.route.operation, plan.context.route.dialect.name
            answered = dialect, "" if operation is None else operation.name, plan.timeline.status
            self._of_plan(plan, dialect, record)
        self.requests[answered] += 1
        self.left[answered] += record.closed_by == "client"
        self.seconds[answered].note(record.seconds)

    def _of_plan(self, plan: Plan, dialect: str, record: Record) -> None:
        # Few answers have faults.
        visible = plan.visible_generation if plan.applied else plan.generation
        if visible is not None:
            usage = visible.usage
            if usage.prompt_tokens or usage.completion_tokens:
                self.tokens[dialect, "prompt"] += usage.prompt_tokens
                self.tokens[dialect, "completion"] += usage.completion_tokens
            if usage.cached_tokens:
                self.tokens[dialect, "cached"] += usage.cached_tokens
        if plan.refusal is not None:
            self.errors[dialect, plan.refusal.kind] += 1
        for kind in plan.faults if plan.applied else ():
            self.faults[dialect, kind] += 1
        if plan.timeline.streamed and record.tokens_sent:
            if plan.pace is not None and plan.pace.schedule:
                self._note_times((dialect, "planned"), plan.pace.schedule)
            self._note_times((dialect, "actual"), record.token_instants())

    def _note_times(self, of: Values, instants: Sequence[float]) -> None:
        """Count the time to the first token, and the gaps; tokens that were sent together count as one."""
        few = instants[: _MOST_GAPS + 1]
        gaps = list(map(sub, few[1:], few))
        self.ttft[of].note(instants[0])
        self.gaps[of].note_all([gap for gap in gaps if gap] if 0.0 in gaps else gaps)

    def all(self) -> tuple[Metric, ...]:
        """What is counted, with its meaning."""
        of_answers, of_kinds, of_streams = ("dialect", "operation", "status"), ("dialect", "kind"), ("dialect", "time")
        ended = (
            "Exchanges that have ended, by dialect, operation and status; without a dialect, those that no dialect "
            "serves."
        )
        left = "Exchanges that the client left before their end."
        seconds = "Time from the arrival of a request to the end of its answer."
        errors = "Refusals in the vendor's words, and errors of the server itself (without a dialect), by kind."
        faults = "Faults that were applied to answers, by kind."
        tokens = (
            "Tokens of prompts and answers, as stated in their usage; the cached ones of prompts also by themselves."
        )
        ttft = "Time to the first token of a stream."
        gaps = "Time between the tokens of a stream; tokens that are sent together count as one."
        return (
            Metric("mockserver_requests_total", "counter", ended, of_answers, self.requests),
            Metric("mockserver_clients_left_total", "counter", left, of_answers, self.left),
            Metric("mockserver_request_seconds", "histogram", seconds, of_answers, self.seconds),
            Metric("mockserver_errors_total", "counter", errors, of_kinds, self.errors),
            Metric("mockserver_faults_total", "counter", faults, of_kinds, self.faults),
            Metric("mockserver_tokens_total", "counter", tokens, of_kinds, self.tokens),
            Metric("mockserver_ttft_seconds", "histogram", ttft, of_streams, self.ttft),
            Metric("mockserver_inter_token_seconds", "histogram", gaps, of_streams, self.gaps),
        )
