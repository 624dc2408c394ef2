"""Which faults strike a request, and what they make of its plan.

Rules count what they have seen per namespace; whether a share of requests is struck is drawn from the request itself,
so that the same requests are struck whatever their order.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from email.utils import formatdate

from mockserver.control.plan import Plan, Question, Visit, WishError, refuse
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.seeding import Draws, derive, fingerprint
from mockserver.core.timeline import RawHeaders, Run, Timeline
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.notation import FaultError, read_faults
from mockserver.faults.rules import Fault, Match

_REMEMBERED = 4096


@dataclass(slots=True)
class _Count:
    """What a rule has seen in a namespace: the requests that matched, and those that it struck."""

    matched: int = 0
    struck: int = 0


class FaultDesk:
    """The rules of a server and their counters."""

    def __init__(self, armed_at: float) -> None:
        self._armed_at = armed_at
        self._counts: dict[tuple[str, str, int], _Count] = {}

    def pick(self, question: Question, namespace: str, now: float) -> tuple[Fault, ...]:
        """The faults that strike a question, in the order of their rules; `now` is in seconds, as `armed_at` was.

        Raises WishError when the request's own header asks for a fault that cannot be.
        """
        rules = [(place, number, fault) for place, number, fault in _rules(question) if _matches(fault.match, question)]
        picked = [
            fault for place, number, fault in rules if self._strikes(question, namespace, place, number, fault, now)
        ]
        return (*picked, *_wished(question))

    def _strikes(self, question: Question, namespace: str, place: str, number: int, fault: Fault, now: float) -> bool:
        """Count the request, and say whether it is struck."""
        if FAULTS[fault.kind].streams and not question.request.output.stream:
            return False
        if len(self._counts) >= _REMEMBERED:
            self._counts.clear()
        count, chance = self._counts.setdefault((namespace, place, number), _Count()), fault.chance
        count.matched += 1
        turn = count.matched - chance.skip - 1
        if turn < 0 or turn % chance.every or (chance.times is not None and count.struck >= chance.times):
            return False
        if chance.seconds is not None and now - self._armed_at > chance.seconds:
            return False
        struck = chance.share == 1 or _draw(question, place, number) < chance.share
        count.struck += struck
        return struck


def strike(plan: Plan, faults: tuple[Fault, ...]) -> Plan:
    """The plan with the faults folded over its timeline, in order."""
    timeline, struck = plan.timeline, []
    for fault in faults:
        kind = FAULTS[fault.kind]
        # What an earlier fault has turned into a plain answer is no stream any more.
        if kind.streams and not timeline.streamed:
            continue
        timeline = kind.apply(timeline, fault, lambda fault: _words(fault, plan.visit))
        struck.append(fault.kind)
    return replace(plan, timeline=timeline, faults=tuple(struck))


def _rules(question: Question) -> Iterator[tuple[str, int, Fault]]:
    """The rules of the request's route and those of the server, each with what names its counter."""
    route = question.visit.landing.route
    if route is not None:
        yield from ((route.path, number, fault) for number, fault in enumerate(route.faults))
    yield from (("", number, fault) for number, fault in enumerate(question.visit.settings.fault))


def _wished(question: Question) -> tuple[Fault, ...]:
    text = question.visit.call.headers.get("x-mockserver-fault")
    if text is None:
        return ()
    try:
        faults = read_faults(text)
    except FaultError as error:
        raise WishError(f"X-Mockserver-Fault: {error}") from None
    for fault in faults:
        if FAULTS[fault.kind].streams and not question.request.output.stream:
            raise WishError(f"X-Mockserver-Fault: {fault.kind!r} strikes streams, and this request asks for none")
    return faults


def _matches(match: Match, question: Question) -> bool:
    visit, request = question.visit, question.request
    landing, call = visit.landing, visit.call
    facts = (
        (match.dialect, landing.dialect.name),
        (match.operation, landing.operation and landing.operation.name),
        (match.path, landing.route.path if landing.route else call.path),
        (match.model, request.model),
        (match.stream, request.output.stream),
        (match.key, landing.dialect.credentials and landing.dialect.credentials(call)),
    )
    if any(wanted is not None and wanted != found for wanted, found in facts):
        return False
    if match.header is not None and not _has_header(match.header, question):
        return False
    return match.prompt is None or any(match.prompt in prompt.text for prompt in request.prompts)


def _has_header(wanted: str, question: Question) -> bool:
    """Whether the request has a header: `name`, or `name: value`."""
    name, colon, value = wanted.partition(":")
    found = question.visit.call.headers.get(name.strip().lower())
    return found is not None and (not colon or found == value.strip())


def _draw(question: Question, place: str, number: int) -> float:
    visit = question.visit
    return Draws(derive(visit.site.seed, "fault", place, number, visit.call.path, fingerprint(visit.call.body))).unit()


def _words(fault: Fault, visit: Visit) -> Timeline:
    """What the vendor says of a failure: its refusal, or what it puts into a stream that has begun."""
    kind = FailureKind(fault.settings["error"])
    rejection = Rejection(kind, fault.settings["message"], headers=_retry_after(fault, visit))
    if fault.kind != "error_event":
        return refuse(rejection, visit).timeline
    dialect = visit.landing.dialect
    row = dialect.errors[visit.site.edition][kind]
    event = dialect.stream_error(row.status, row.body(rejection, rejection.message or row.message))
    return Timeline(200, (), (Run((event,), (0.0,), (0,)),), streamed=True)


def _retry_after(fault: Fault, visit: Visit) -> RawHeaders:
    seconds = fault.settings.get("retry_after")
    if seconds is None:
        return ()
    said = fault.settings["retry_after_as"]
    if said == "ms":
        return ((b"retry-after-ms", b"%d" % (seconds * 1000)),)
    text = formatdate(visit.site.now + seconds, usegmt=True) if said == "date" else f"{seconds:g}"
    return ((b"retry-after", text.encode()),)
