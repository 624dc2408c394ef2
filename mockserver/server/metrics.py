"""Counters of all exchanges since the server started: requests, failures, faults, tokens and times.

Counting is part of every answer, so it costs only about a microsecond: a lookup and a few additions. The gaps of a
stream are counted in bulk at its end. No label has a value that clients choose freely.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import sub

from mockserver.core.timeline import Record
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


def _times() -> Histogram:
    return Histogram(_TIMES)


@dataclass(slots=True)
class Tally:
    """The counts for one operation of a dialect and one status. For errors of our own the dialect is empty."""

    dialect: str
    operation: str
    status: int
    requests: int = 0
    left: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: Histogram = field(default_factory=_times)


@dataclass(slots=True)
class StreamTimes:
    """When the tokens of a dialect's streams were due and when they were sent, in seconds."""

    first_due: Histogram = field(default_factory=_times)
    first: Histogram = field(default_factory=_times)
    gaps_due: Histogram = field(default_factory=lambda: Histogram(_GAPS))
    gaps: Histogram = field(default_factory=lambda: Histogram(_GAPS))


class Metrics:
    """The metrics of a server, updated in its thread."""

    __slots__ = ("_tallies", "failures", "faults", "in_flight", "streams")

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, str, int], Tally] = {}
        self.in_flight = 0
        self.failures: Counter[tuple[str, str]] = Counter()
        self.faults: Counter[tuple[str, str]] = Counter()
        self.streams: defaultdict[str, StreamTimes] = defaultdict(StreamTimes)

    def tallies(self) -> list[Tally]:
        """One tally for each combination of dialect, operation and status so far."""
        return list(self._tallies.values())

    def ended(self, exchange: Exchange) -> None:
        """Count an answer that has ended, successfully or not."""
        self.in_flight -= 1
        plan, record = exchange.plan, exchange.record
        if plan is None:
            self._denied(exchange)
            return
        route = plan.context.route
        dialect, operation = route.dialect.name, route.operation
        tally = self._note(dialect, "" if operation is None else operation.name, plan.timeline.status, record)
        # Few answers have faults.
        visible = plan.visible_generation if plan.applied else plan.generation
        if visible is not None:
            usage = visible.usage
            tally.prompt_tokens += usage.prompt_tokens
            tally.cached_tokens += usage.cached_tokens
            tally.completion_tokens += usage.completion_tokens
        if plan.refusal is not None:
            self.failures[dialect, plan.refusal.kind] += 1
        if plan.applied:
            self.faults.update((dialect, kind) for kind in plan.faults)
        if plan.timeline.streamed and record.tokens_sent:
            _note_times(self.streams[dialect], plan, record)

    def _denied(self, exchange: Exchange) -> None:
        simulator_error = exchange.simulator_error
        assert simulator_error is not None, "an exchange without a plan has been denied"
        self._note("", "", simulator_error.status, exchange.record)
        self.failures["", simulator_error.kind] += 1

    def _note(self, dialect: str, operation: str, status: int, record: Record) -> Tally:
        """Count an answer, and return the tally in which it is counted."""
        key = dialect, operation, status
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = Tally(dialect, operation, status)
        tally.requests += 1
        tally.seconds.note(record.seconds)
        if record.closed_by == "client":
            tally.left += 1
        return tally


def _note_times(times: StreamTimes, plan: Plan, record: Record) -> None:
    """Count the time to the first token and the gaps: as planned, if there is a schedule, and as sent."""
    schedule = plan.pace.schedule if plan.pace is not None else ()
    if schedule:
        times.first_due.note(schedule[0])
        times.gaps_due.note_all(_gaps(schedule))
    instants = record.token_instants()
    times.first.note(instants[0])
    times.gaps.note_all(_gaps(instants))


def _gaps(instants: Sequence[float]) -> list[float]:
    """The times between instants; tokens that were sent together count as one."""
    few = instants[: _MOST_GAPS + 1]
    gaps = list(map(sub, few[1:], few))
    return [gap for gap in gaps if gap] if 0.0 in gaps else gaps
