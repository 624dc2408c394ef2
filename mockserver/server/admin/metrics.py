"""The admin API of the metrics: all metrics of a server, for Prometheus."""

import os
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import attrgetter

from starlette.responses import Response

from mockserver.core.version import __version__
from mockserver.server.admin.endpoint import (
    AdminRequest,
    endpoint,
    per_server,
)
from mockserver.server.exposition import CONTENT_TYPE, Family, Sample, exposition, histogram
from mockserver.server.metrics import Metrics, Tally
from mockserver.server.scheduling import in_slices
from mockserver.server.simulator import Simulator
from mockserver.state.namespaces import Namespace


class _Stock:
    """The present state of all namespaces, added up."""

    def __init__(self) -> None:
        self.namespaces = self.kept = self.armed = 0
        self.slots: Counter[tuple[str, str]] = Counter()
        self.running: Counter[str] = Counter()

    def add(self, space: Namespace, now: float) -> None:
        """Add the state of a namespace at the instant `now` of its clock."""
        self.namespaces += 1
        self.kept += len(space.journal.exchanges())
        self.armed += len(space.faults.armed())
        for engine in space.engines.occupied(now):
            self.slots[engine.dialect, "busy"] += engine.busy
            self.slots[engine.dialect, "waiting"] += engine.waiting
        self.running += space.quotas.running()


@endpoint("GET", per_server("/metrics"), {200: "text/plain"})
async def metrics(request: AdminRequest) -> Response:
    """All metrics, for Prometheus."""
    # If several processes serve one port, each returns its own metrics, with its number as a label.
    simulator, stock = request.simulator, _Stock()
    everywhere = {} if simulator.worker is None else {"worker": str(simulator.worker)}
    # There may be thousands of namespaces.
    await in_slices(lambda space: stock.add(space, simulator.clock(space).now()), simulator.namespaces.all())
    return Response(exposition(_families(simulator, stock), everywhere), headers={"content-type": CONTENT_TYPE})


def _families(simulator: Simulator, stock: _Stock) -> Iterator[Family]:
    metrics = simulator.metrics
    yield from _answers(metrics.tallies(), metrics)
    yield from _times(metrics)
    yield from _state(simulator, stock)
    yield from _process(simulator.started)


def _answers(tallies: list[Tally], metrics: Metrics) -> Iterator[Family]:
    """The families about answers so far."""
    rows = [
        ({"dialect": tally.dialect, "operation": tally.operation, "status": str(tally.status)}, tally)
        for tally in sorted(tallies, key=attrgetter("dialect", "operation", "status"))
    ]
    yield Family(
        "mockserver_requests_total",
        "counter",
        "Exchanges that have ended, by dialect, operation and status; without a dialect, those that no dialect serves.",
        [Sample(labels, tally.requests) for labels, tally in rows],
    )
    yield Family(
        "mockserver_clients_left_total",
        "counter",
        "Exchanges that the client left before their end.",
        [Sample(labels, tally.left) for labels, tally in rows],
    )
    yield histogram(
        "mockserver_request_seconds",
        "Time from the arrival of a request to the end of its answer.",
        ((labels, tally.seconds) for labels, tally in rows),
    )
    yield Family(
        "mockserver_errors_total",
        "counter",
        "Refusals in the vendor's words, and denials of the server itself (without a dialect), by kind.",
        _by_kind(metrics.failures),
    )
    yield Family("mockserver_faults_total", "counter", "Faults that struck answers, by kind.", _by_kind(metrics.faults))
    used = "Tokens of prompts and answers, as stated in their usage; the cached ones of prompts also by themselves."
    yield Family("mockserver_tokens_total", "counter", used, _by_kind(_tokens(tallies)))


def _tokens(tallies: Iterable[Tally]) -> Counter[tuple[str, str]]:
    """The tokens of each dialect's prompts and completions, if there were any."""
    tokens: Counter[tuple[str, str]] = Counter()
    for tally in tallies:
        if tally.prompt_tokens or tally.completion_tokens:
            tokens[tally.dialect, "prompt"] += tally.prompt_tokens
            tokens[tally.dialect, "completion"] += tally.completion_tokens
        if tally.cached_tokens:
            tokens[tally.dialect, "cached"] += tally.cached_tokens
    return tokens


def _by_kind(counted: Counter[tuple[str, str]]) -> list[Sample]:
    return [Sample({"dialect": name, "kind": kind}, count) for (name, kind), count in sorted(counted.items())]


def _times(metrics: Metrics) -> Iterator[Family]:
    """The families about when the tokens of streams were sent, as planned and actually."""
    streams = sorted(metrics.streams.items())
    planned, actual = {"time": "planned"}, {"time": "actual"}
    first = [({"dialect": name, **planned}, times.first_due) for name, times in streams]
    first += [({"dialect": name, **actual}, times.first) for name, times in streams]
    yield histogram("mockserver_ttft_seconds", "Time to the first token of a stream.", first)
    gaps = [({"dialect": name, **planned}, times.gaps_due) for name, times in streams]
    gaps += [({"dialect": name, **actual}, times.gaps) for name, times in streams]
    yield histogram(
        "mockserver_inter_token_seconds",
        "Time between the tokens of a stream; tokens that are sent together count as one.",
        gaps,
    )


def _state(simulator: Simulator, stock: _Stock) -> Iterator[Family]:
    """The families about the present state."""
    yield _gauge("mockserver_in_flight", "Answers in progress.", simulator.metrics.in_flight)
    held = [Sample({"dialect": name, "state": state}, count) for (name, state), count in sorted(stock.slots.items())]
    yield Family("mockserver_engine_requests", "gauge", "Requests that engines are serving, and those that wait.", held)
    gauges = [Sample({"dialect": name}, count) for name, count in sorted(stock.running.items())]
    yield Family("mockserver_quota_running", "gauge", "Requests that count towards a quota of concurrency.", gauges)
    yield _gauge("mockserver_namespaces", "Namespaces in use.", stock.namespaces)
    yield _gauge("mockserver_journal_exchanges", "Exchanges that the journals keep.", stock.kept)
    held_bytes, most = simulator.namespaces.weight
    yield _gauge("mockserver_journal_bytes", "Approximate memory that the journals take.", held_bytes)
    yield _gauge("mockserver_journal_bytes_limit", "The most memory that the journals may take.", most)
    armed = len(simulator.setup.settings.fault) + stock.armed
    yield _gauge("mockserver_faults_armed", "Fault rules in force, of the settings and of all namespaces.", armed)
    taken_up = simulator.config_fault is None
    yield _gauge(
        "mockserver_config_ok",
        "0 if the latest config or stub files are invalid and not in force.",
        taken_up,
    )


def _process(started: float) -> Iterator[Family]:
    """The families about the process, under the names that every exporter uses."""
    labels = {"version": __version__, "python": platform.python_version()}
    yield Family("mockserver_build_info", "gauge", "The running program.", [Sample(labels, 1)])
    yield _gauge("process_start_time_seconds", "When the process started, in Unix seconds.", started)
    spent = os.times()
    cpu = Sample({}, spent.user + spent.system)
    yield Family("process_cpu_seconds_total", "counter", "CPU time that the process has used.", [cpu])
    resident = _resident_bytes()
    if resident is not None:
        yield _gauge("process_resident_memory_bytes", "Memory that the process uses.", resident)


def _gauge(name: str, help: str, value: float) -> Family:
    return Family(name, "gauge", help, [Sample({}, value)])


def _resident_bytes() -> int | None:
    """The resident memory of this process; None if the system does not provide it."""
    if not sys.platform.startswith("linux"):
        return None
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


ENDPOINTS = (metrics,)
