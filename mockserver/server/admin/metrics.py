"""The admin API of the metrics: all metrics of a server, in Prometheus' text format (version 0.0.4)."""

import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from operator import attrgetter
from typing import Literal, NamedTuple

from starlette.responses import Response

from mockserver.core import __version__
from mockserver.core.caches import resident_memory
from mockserver.server.admin.endpoints import AdminRequest, endpoint, per_server
from mockserver.server.app_state import AppState
from mockserver.server.metrics import Histogram
from mockserver.server.scheduling import in_slices
from mockserver.state.namespaces import Namespace

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]


class Metric(NamedTuple):
    """Samples under one name, and their meaning. A sample has labels, and a value or a histogram."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: Iterable[tuple[Labels, float | Histogram]]


class _Totals:
    """The present state of all namespaces, added up."""

    def __init__(self) -> None:
        self.namespaces = self.exchanges = self.armed = 0
        self.slots: Counter[tuple[str, str]] = Counter()
        self.running: Counter[str] = Counter()

    def add(self, space: Namespace, now: float) -> None:
        """Add the state of a namespace at the instant `now` of its clock."""
        self.namespaces += 1
        self.exchanges += len(space.journal.exchanges())
        self.armed += len(space.faults.armed)
        for engine in space.engines.occupied(now):
            self.slots[engine.dialect, "busy"] += engine.busy
            self.slots[engine.dialect, "waiting"] += engine.waiting
        self.running += space.quotas.running()


@endpoint("GET", per_server("/metrics"), {200: "text/plain"})
async def metrics(request: AdminRequest) -> Response:
    """All metrics, for Prometheus."""
    app_state, totals = request.app_state, _Totals()
    # Each of several processes that serve one port returns its own metrics.
    everywhere = {} if app_state.worker is None else {"worker": str(app_state.worker)}
    # There may be thousands of namespaces.
    await in_slices(lambda space: totals.add(space, app_state.clocks.of(space).now()), app_state.namespaces.all())
    found = (*_of_answers(app_state), *_of_state(app_state, totals), *_of_process(app_state.started))
    return Response(as_text(found, everywhere), headers={"content-type": CONTENT_TYPE})


def _of_answers(app_state: AppState) -> Iterator[Metric]:
    counted = app_state.metrics
    tallies = sorted(counted.tallies(), key=attrgetter("dialect", "operation", "status"))
    rows = [({"dialect": it.dialect, "operation": it.operation, "status": str(it.status)}, it) for it in tallies]
    tokens: Counter[tuple[str, str]] = Counter()
    for tally in tallies:
        if tally.prompt_tokens or tally.completion_tokens:
            tokens[tally.dialect, "prompt"] += tally.prompt_tokens
            tokens[tally.dialect, "completion"] += tally.completion_tokens
        if tally.cached_tokens:
            tokens[tally.dialect, "cached"] += tally.cached_tokens
    yield Metric(
        "mockserver_requests_total",
        "counter",
        "Exchanges that have ended, by dialect, operation and status; without a dialect, those that no dialect serves.",
        [(labels, tally.requests) for labels, tally in rows],
    )
    yield Metric(
        "mockserver_clients_left_total",
        "counter",
        "Exchanges that the client left before their end.",
        [(labels, tally.left) for labels, tally in rows],
    )
    yield Metric(
        "mockserver_request_seconds",
        "histogram",
        "Time from the arrival of a request to the end of its answer.",
        [(labels, tally.seconds) for labels, tally in rows],
    )
    yield Metric(
        "mockserver_errors_total",
        "counter",
        "Refusals in the vendor's words, and errors of the server itself (without a dialect), by kind.",
        _by("kind", counted.failures),
    )
    applied = "Faults that were applied to answers, by kind."
    yield Metric("mockserver_faults_total", "counter", applied, _by("kind", counted.faults))
    used = "Tokens of prompts and answers, as stated in their usage; the cached ones of prompts also by themselves."
    yield Metric("mockserver_tokens_total", "counter", used, _by("kind", tokens))
    streams = sorted(counted.streams.items())
    planned = [({"dialect": name, "time": "planned"}, times) for name, times in streams]
    actual = [({"dialect": name, "time": "actual"}, times) for name, times in streams]
    yield Metric(
        "mockserver_ttft_seconds",
        "histogram",
        "Time to the first token of a stream.",
        [*((labels, it.first_due) for labels, it in planned), *((labels, it.first) for labels, it in actual)],
    )
    yield Metric(
        "mockserver_inter_token_seconds",
        "histogram",
        "Time between the tokens of a stream; tokens that are sent together count as one.",
        [*((labels, it.gaps_due) for labels, it in planned), *((labels, it.gaps) for labels, it in actual)],
    )


def _of_state(app_state: AppState, totals: _Totals) -> Iterator[Metric]:
    yield _gauge("mockserver_in_flight", "Answers in progress.", app_state.metrics.in_flight)
    serving = "Requests that engines are serving, and those that wait."
    yield Metric("mockserver_engine_requests", "gauge", serving, _by("state", totals.slots))
    running = [({"dialect": name}, count) for name, count in sorted(totals.running.items())]
    yield Metric("mockserver_quota_running", "gauge", "Requests that count towards a quota of concurrency.", running)
    yield _gauge("mockserver_namespaces", "Namespaces in use.", totals.namespaces)
    yield _gauge("mockserver_journal_exchanges", "Exchanges that the journals keep.", totals.exchanges)
    held, most = app_state.namespaces.weight
    yield _gauge("mockserver_journal_bytes", "Approximate memory that the journals take.", held)
    yield _gauge("mockserver_journal_bytes_limit", "The most memory that the journals may take.", most)
    armed = len(app_state.setup.settings.fault) + totals.armed
    yield _gauge("mockserver_faults_armed", "Fault rules in force, of the settings and of all namespaces.", armed)
    valid = app_state.config_fault is None
    yield _gauge("mockserver_config_ok", "0 if the latest config or stub files are invalid and not in force.", valid)


def _of_process(started: float) -> Iterator[Metric]:
    """What every exporter tells of its process, under the usual names."""
    labels = {"version": __version__, "python": platform.python_version()}
    yield Metric("mockserver_build_info", "gauge", "The running program.", [(labels, 1)])
    yield _gauge("process_start_time_seconds", "When the process started, in Unix seconds.", started)
    spent = os.times()
    cpu = spent.user + spent.system
    yield Metric("process_cpu_seconds_total", "counter", "CPU time that the process has used.", [({}, cpu)])
    if resident := resident_memory():
        yield _gauge("process_resident_memory_bytes", "Memory that the process uses.", resident)


def _gauge(name: str, help: str, value: float) -> Metric:
    return Metric(name, "gauge", help, [({}, value)])


def _by(label: str, counted: Counter[tuple[str, str]]) -> list[tuple[Labels, float | Histogram]]:
    """What is counted by dialect and something else."""
    return [({"dialect": name, label: text}, count) for (name, text), count in sorted(counted.items())]


def as_text(found: Iterable[Metric], everywhere: Labels) -> bytes:
    """Metrics in the text format; the labels `everywhere` are added to every sample."""
    lines: list[str] = []
    for metric in found:
        lines.append(f"# HELP {metric.name} {_escaped(metric.help)}\n# TYPE {metric.name} {metric.kind}\n")
        for labels, value in metric.samples:
            every = {**everywhere, **labels}
            if not isinstance(value, Histogram):
                lines.append(_line(metric.name, every, value))
                continue
            counts = list(accumulate(value.counts))
            for bound, count in zip((*value.borders, float("inf")), counts, strict=True):
                lines.append(_line(f"{metric.name}_bucket", {**every, "le": _number(bound)}, count))
            lines.append(_line(f"{metric.name}_sum", every, value.total))
            lines.append(_line(f"{metric.name}_count", every, counts[-1]))
    return "".join(lines).encode()


def _line(name: str, labels: Labels, value: float) -> str:
    quoted = ((label, _escaped(text).replace('"', '\\"')) for label, text in labels.items())
    pairs = ",".join(f'{label}="{text}"' for label, text in quoted)
    return f"{name}{f'{{{pairs}}}' if pairs else ''} {_number(value)}\n"


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


ENDPOINTS = (metrics,)
