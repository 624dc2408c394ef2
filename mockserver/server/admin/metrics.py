"""The admin API of the metrics: all metrics of a server, in Prometheus' text format (version 0.0.4)."""

import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from operator import itemgetter

from starlette.responses import Response

from mockserver.core import __version__
from mockserver.core.caches import resident_memory
from mockserver.server.admin.endpoints import AdminRequest, endpoint, per_server
from mockserver.server.app_state import AppState
from mockserver.server.metrics import Histogram, Metric
from mockserver.server.scheduling import in_slices
from mockserver.state.namespaces import Namespace

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


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
    found = (*app_state.metrics.all(), *_of_state(app_state, totals), *_of_process(app_state.started))
    return Response(as_text(found, everywhere), headers={"content-type": CONTENT_TYPE})


def _of_state(app_state: AppState, totals: _Totals) -> Iterator[Metric]:
    yield _gauge("mockserver_in_flight", "Answers in progress.", app_state.metrics.in_flight)
    serving = "Requests that engines are serving, and those that wait."
    yield Metric("mockserver_engine_requests", "gauge", serving, ("dialect", "state"), totals.slots)
    running = {(name,): count for name, count in totals.running.items()}
    counting = "Requests that count towards a quota of concurrency."
    yield Metric("mockserver_quota_running", "gauge", counting, ("dialect",), running)
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
    versions = {(__version__, platform.python_version()): 1}
    yield Metric("mockserver_build_info", "gauge", "The running program.", ("version", "python"), versions)
    yield _gauge("process_start_time_seconds", "When the process started, in Unix seconds.", started)
    spent = os.times()
    cpu = spent.user + spent.system
    yield Metric("process_cpu_seconds_total", "counter", "CPU time that the process has used.", (), {(): cpu})
    if resident := resident_memory():
        yield _gauge("process_resident_memory_bytes", "Memory that the process uses.", resident)


def _gauge(name: str, help: str, value: float) -> Metric:
    return Metric(name, "gauge", help, (), {(): value})


def as_text(found: Iterable[Metric], everywhere: Mapping[str, str]) -> bytes:
    """Metrics in the text format; the labels `everywhere` are added to every sample."""
    lines: list[str] = []
    for metric in found:
        lines.append(f"# HELP {metric.name} {_escaped(metric.help)}\n# TYPE {metric.name} {metric.kind}\n")
        for values, value in sorted(metric.samples.items(), key=itemgetter(0)):
            every = {**everywhere, **dict(zip(metric.labels, map(str, values), strict=True))}
            if not isinstance(value, Histogram):
                lines.append(_line(metric.name, every, value))
                continue
            counts = list(accumulate(value.counts))
            for bound, count in zip((*value.borders, float("inf")), counts, strict=True):
                lines.append(_line(f"{metric.name}_bucket", {**every, "le": _number(bound)}, count))
            lines.append(_line(f"{metric.name}_sum", every, value.total))
            lines.append(_line(f"{metric.name}_count", every, counts[-1]))
    return "".join(lines).encode()


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
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
