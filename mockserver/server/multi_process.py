"""What several processes behind one port cannot do: each has a state of its own, which the others do not know.

So they refuse whatever depends on earlier requests, instead of answering by chance: settings at the start, requests
with 409. What depends on a request alone gets the same bytes as from one process.
"""

from collections.abc import Iterator, Sequence

from mockserver.core.http import Call
from mockserver.core.matching.requests import RequestMatcher, fields_in
from mockserver.faults.rules import Chance, Fault
from mockserver.latency.profiles import REALISTIC
from mockserver.latency.traces import Traces
from mockserver.state.context import RequestContext, RouteMatch, profile_of
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.stubs.stub import Stub

# Fields whose values are counted from request to request.
_COUNTED = ("number", "attempt")


def needs_one_process(what: str) -> str:
    """The sentence that refuses something to several processes, and names the way out."""
    return (
        f"{what} needs a server with a single process, since each of several has its own journal, stubs and counts; "
        "leave workers at 1"
    )


def check_processes(settings: Settings, stubs: Sequence[Stub]) -> None:
    """Raise ConfigError if several processes are to serve, and settings or stubs depend on earlier requests."""
    if settings.workers > 1:
        for what in _stateful(settings, stubs):
            raise ConfigError(f"workers: {needs_one_process(what)}")


def _stateful(settings: Settings, stubs: Sequence[Stub]) -> Iterator[str]:
    if settings.quota:
        yield "quota"
    if settings.prompt_cache:
        yield "prompt_cache"
    for latency in (settings.latency, *(route.latency for route in settings.routes)):
        if latency is not None and _has_slots(latency, settings.traces):
            yield _of_slots(latency)
    for fault in settings.fault:
        if _counts(fault):
            yield f"a fault ({fault.kind}) that applies to some of the requests"
    for route in settings.routes:
        if any(map(_counts, route.faults)):
            yield f"a fault at {route.path} that applies to some of the requests"
    for stub in stubs:
        several = len(stub.steps) > 1 or stub.most is not None
        if several or any(map(_asks_counts, (stub.criteria, *(step.criteria for step in stub.steps)))):
            yield f"stub {stub.name!r}, whose answer depends on the requests before,"
        for latency in (step.prepared.latency for step in stub.steps):
            if latency is not None and _has_slots(latency, settings.traces):
                yield _of_slots(latency)


def _counts(fault: Fault) -> bool:
    """Whether earlier requests decide if a fault is triggered; a share draws anew when a request is repeated."""
    windowed = Chance(start=fault.chance.start, seconds=fault.chance.seconds)
    return fault.chance != windowed or _asks_counts(fault.match)


def _asks_counts(criteria: RequestMatcher) -> bool:
    return any(each.field in _COUNTED for each in fields_in(criteria))


def _has_slots(latency: str, traces: Traces) -> bool:
    """Whether a latency is asked for that limits the slots of engines; the realistic ones do so in each process."""
    if latency.startswith(REALISTIC):
        return "slots" in latency
    profile = profile_of(latency, REALISTIC, 1, traces)
    return profile is not None and profile.slots is not None


def stateful_call(call: Call, route: RouteMatch) -> str | None:
    """What of a call several processes refuse; None if its answer depends on the call alone."""
    operation = route.operation
    if operation is None:
        return None
    if operation.remembers:
        return f"{call.method} {call.path}"
    marker = operation.history_marker(call.body)
    return None if marker is None else f"A request with {marker.decode()}"


def stateful_context(context: RequestContext) -> str | None:
    """The same for the latency that a request has asked for."""
    return _of_slots(context.latency) if _has_slots(context.latency, context.settings.traces) else None


def _of_slots(latency: str) -> str:
    return f"latency {latency!r}, whose slots are shared by all requests,"
