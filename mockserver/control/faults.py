"""Which faults strike a request, and what they make of its plan.

Rules count what they have seen per namespace; whether a share of requests is struck is drawn from the request itself,
so that the same requests are struck whatever their order.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import NamedTuple

from mockserver.control.plan import Plan, Question, Visit, WishError, refuse
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.seeding import Draws, derive, fingerprint
from mockserver.core.timeline import RawHeaders, Run, Timeline
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.notation import FaultError, read_faults
from mockserver.faults.rules import Fault, Match

_REMEMBERED = 4096


class Rule(NamedTuple):
    """A fault under the name that its counter has; its time runs from `armed_at`, in seconds."""

    name: str
    fault: Fault
    armed_at: float


@dataclass(slots=True)
class Count:
    """What a rule has seen in a namespace: the requests that matched, and those that it struck."""

    matched: int = 0
    struck: int = 0


class FaultDesk:
    """The rules of a server, from its settings or armed while it runs, and what each namespace has seen of them.

    Instants are in seconds on a clock that goes forward.
    """

    def __init__(self, started_at: float) -> None:
        self._started_at = started_at
        self._armed: dict[str, dict[str, Rule]] = {}
        self._counts: dict[tuple[str, str], Count] = {}

    def arm(self, namespace: str, name: str, fault: Fault, now: float) -> None:
        """Add a rule to a namespace, or put it in the place of the one of that name; it counts from nothing."""
        self._armed.setdefault(namespace, {})[name] = Rule(name, fault, now)
        self._counts.pop((namespace, name), None)

    def disarm(self, namespace: str, name: str) -> bool:
        """Take a rule back; False when the namespace has none of that name."""
        self._counts.pop((namespace, name), None)
        return self._armed.get(namespace, {}).pop(name, None) is not None

    def reset(self, namespace: str) -> None:
        """Forget all that was armed and counted in a namespace."""
        self._armed.pop(namespace, None)
        for key in [key for key in self._counts if key[0] == namespace]:
            del self._counts[key]

    def armed(self, namespace: str) -> list[tuple[Rule, Count]]:
        """The rules armed in a namespace, with what they have seen."""
        rules = self._armed.get(namespace, {}).values()
        return [(rule, self._counts.get((namespace, rule.name), Count())) for rule in rules]

    def pick(self, question: Question, namespace: str, now: float) -> tuple[Fault, ...]:
        """The faults that strike a question: those of its route, of the settings, of its namespace, of its header.

        Raises WishError when the request's own header asks for a fault that cannot be.
        """
        rules = (*self._standing(question), *self._armed.get(namespace, {}).values())
        matching = [rule for rule in rules if _matches(rule.fault.match, question)]
        struck = [rule.fault for rule in matching if self._strikes(question, namespace, rule, now)]
        return (*struck, *_wished(question))

    def _standing(self, question: Question) -> Iterator[Rule]:
        """The rules of the request's route and those of the settings."""
        route, settings = question.visit.landing.route, question.visit.settings
        places = ((route.path, route.faults) if route else ("", ()), ("settings", settings.fault))
        for place, faults in places:
            yield from (Rule(f"{place}[{number}]", fault, self._started_at) for number, fault in enumerate(faults))

    def _strikes(self, question: Question, namespace: str, rule: Rule, now: float) -> bool:
        """Count the request, and say whether it is struck."""
        fault, chance = rule.fault, rule.fault.chance
        if FAULTS[fault.kind].streams and not question.request.output.stream:
            return False
        if len(self._counts) >= _REMEMBERED:
            self._counts.clear()
        count = self._counts.setdefault((namespace, rule.name), Count())
        count.matched += 1
        turn = count.matched - chance.skip - 1
        if turn < 0 or turn % chance.every or (chance.times is not None and count.struck >= chance.times):
            return False
        if chance.seconds is not None and now - rule.armed_at > chance.seconds:
            return False
        struck = chance.share == 1 or _draw(question, rule.name) < chance.share
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


def _draw(question: Question, name: str) -> float:
    visit = question.visit
    return Draws(derive(visit.site.seed, "fault", name, visit.call.path, fingerprint(visit.call.body))).unit()


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
