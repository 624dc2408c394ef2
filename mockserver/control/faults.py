"""Which faults strike a request, and how they change its plan.

Each namespace counts what its rules have seen. If a rule strikes only a share of the requests, the draw is derived from
the request and how often it has come before, so that the same requests are struck in any order of arrival, retries can
succeed, and the share is also that of a load test which repeats one request.
"""

from collections.abc import Iterator, Sequence
from email.utils import formatdate
from typing import NamedTuple

from mockserver.control.facts import RequestFacts
from mockserver.control.plan import Heard, Plan, Question, refuse
from mockserver.control.strikes import Count, Origin, Strike, is_among
from mockserver.control.visits import Visit, WishError
from mockserver.core.criteria import ANYTHING, decided
from mockserver.core.dialects import Broken
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.seeding import Draws, derive
from mockserver.core.timeline import RawHeaders, Run, Timeline
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.events import events_of, parted
from mockserver.faults.notation import FaultError, read_faults
from mockserver.faults.rules import Chance, Fault, holds, strikes

# Distinguishes the counters of armed rules from those of the settings and the routes.
_ARMED = "armed "


class FaultRule(NamedTuple):
    """A fault with the name of its counter and its origin; its window is counted from `armed_at`, in seconds.

    `scenario` is the common name of rules that were armed together.
    """

    name: str
    fault: Fault
    armed_at: float
    by: Origin
    scenario: str = ""


class FaultDesk:
    """The fault rules of a namespace: those of the settings and the routes, and those armed at run time.

    Instants are in seconds on the namespace's clock, which only goes forward.
    """

    def __init__(self) -> None:
        self._armed: dict[str, FaultRule] = {}
        self._counts: dict[str, Count] = {}

    def arm(self, name: str, fault: Fault, now: float, scenario: str = "") -> None:
        """Add a rule, or replace the one of that name; its counts start at zero."""
        self._armed[name] = FaultRule(_ARMED + name, fault, now, "armed", scenario or name)
        self._counts.pop(_ARMED + name, None)

    def disarm(self, name: str) -> bool:
        """Remove a rule, or all rules of a scenario; False if there is none of that name."""
        taken = [own for own, rule in self._armed.items() if name in (own, rule.scenario)]
        for own in taken:
            del self._armed[own]
            self._counts.pop(_ARMED + own, None)
        return bool(taken)

    def reset(self) -> None:
        """Remove all armed rules, and all counts."""
        self._armed.clear()
        self._counts.clear()

    def recount(self) -> None:
        """Reset the counts of the rules of settings and routes, which have changed."""
        self._counts = {name: count for name, count in self._counts.items() if name.startswith(_ARMED)}

    @property
    def has_rules(self) -> bool:
        """Whether any fault is armed."""
        return bool(self._armed)

    def armed(self) -> list[tuple[str, Fault, Count]]:
        """The armed faults, each with its name and its counts."""
        return [(name, rule.fault, self._counts.get(rule.name, Count())) for name, rule in self._armed.items()]

    def pick(
        self, heard: Heard, now: float, since: float = 0.0, facts: RequestFacts | None = None
    ) -> tuple[Strike, ...]:
        """The faults with which rules strike a request: those of its route, of the settings, and armed ones.

        They count as having struck; only the answer shows which of them have no effect (`take_back`). The windows of
        the settings' and the routes' rules are counted from `since`; `facts` are those of the request.
        """
        rules = (*_standing(heard.visit, since), *self._armed.values())
        if not rules:
            return ()
        facts = facts or RequestFacts(heard)
        decisions = [(rule, decided(rule.fault.match, facts)) for rule in rules if _fits(rule.fault, heard)]
        for rule, decision in decisions:
            if decision is None:
                self._count(rule).undecided += 1
        meant = [rule for rule, met in decisions if met and self._count_and_draw(heard.visit, rule, now)]
        return tuple(Strike(rule.fault, rule.by, _own_name(rule), self._count(rule)) for rule in meant)

    def _count(self, rule: FaultRule) -> Count:
        return self._counts.setdefault(rule.name, Count())

    def _count_and_draw(self, visit: Visit, rule: FaultRule, now: float) -> bool:
        """Count the request if the rule's window is open, and return whether it is struck."""
        chance, elapsed = rule.fault.chance, now - rule.armed_at
        if not holds(chance, elapsed):
            return False
        count = self._count(rule)
        count.matched += 1
        # A rule that strikes every request needs no draw.
        draw = 0.0 if chance.share == 1 and chance.share_end is None else _draw(visit, rule.name, count)
        struck = strikes(chance, count.matched, count.struck, elapsed, draw)
        count.struck += struck
        return struck


def _standing(visit: Visit, since: float) -> Iterator[FaultRule]:
    """The rules of the request's route and those of the settings."""
    route, settings = visit.landing.route, visit.settings
    if route is None and not settings.fault:
        return
    if route is not None:
        for number, fault in enumerate(route.faults):
            yield FaultRule(f"{route.path} {number}", fault, since, "route")
    for number, fault in enumerate(settings.fault):
        yield FaultRule(f"settings {number}", fault, since, "settings")


def _own_name(rule: FaultRule) -> str:
    """The name under which a rule was armed; empty for all others."""
    return rule.name.removeprefix(_ARMED) if rule.by == "armed" else ""


def strike(plan: Plan, strikes: Sequence[Strike]) -> Plan:
    """The plan with its timeline changed by each fault in turn; it records those that had an effect."""
    timeline, struck = plan.timeline, list[Strike]()
    for each in strikes:
        if not _takes_effect(each, timeline, plan, struck):
            continue
        before, apply = timeline, each.kind.apply
        if apply is not None:
            timeline = apply(timeline, each.fault, lambda fault: _words(fault, plan))
        if each.leaves_nothing:
            struck = _still_seen(struck, before, timeline)
        struck.append(each)
    return plan._replace(timeline=timeline, struck=tuple(struck))


def _takes_effect(each: Strike, timeline: Timeline, plan: Plan, struck: Sequence[Strike]) -> bool:
    """Whether a fault has an effect on an answer, after those that have struck it before."""
    kind, ending = each.kind, timeline.ending
    if kind.says is not None:
        # What the model says was changed before it was written; a later fault may have replaced all of it.
        return is_among(each, plan.struck) and not any(other.leaves_nothing for other in struck)
    # An earlier fault may have turned the stream into a plain answer.
    if kind.streams and not timeline.streamed:
        return False
    # Of an answer without even a head nothing is left to change: it can only be replaced.
    if ending is not None and not ending.head and not each.leaves_nothing:
        return False
    if kind.within is not None and not kind.within(timeline, each.fault.place):
        return False
    return kind.needs is None or kind.needs(timeline)


def _still_seen(struck: list[Strike], before: Timeline, after: Timeline) -> list[Strike]:
    """The earlier faults that still show when no events are left: those that changed the head."""
    if after.headers is not before.headers or (after.ending is not None and not after.ending.head):
        return []
    return [each for each in struck if each.kind.head]


def wished(heard: Heard) -> tuple[Fault, ...]:
    """The faults that a request's own header asks for. Raises WishError if they make no sense for it."""
    text = heard.visit.call.headers.get("x-mockserver-fault")
    if text is None:
        return ()
    try:
        faults = read_faults(text)
    except FaultError as error:
        raise WishError(f"X-Mockserver-Fault: {error}") from None
    for fault in faults:
        if not _fits(fault, heard):
            raise WishError(f"X-Mockserver-Fault: {fault.kind!r} {_demand(fault, heard)}")
        if fault.chance != Chance() or fault.match != ANYTHING:
            raise WishError(
                "X-Mockserver-Fault: times, every, skip, share, from, for and match are only possible in the faults of "
                "settings and of the admin API, not in those of one request"
            )
    return faults


def _fits(fault: Fault, heard: Heard) -> bool:
    """Whether a fault is applicable to the answer: some strike only streams, some only what a model says."""
    kind = FAULTS[fault.kind]
    if kind.listens or not _knows_the_end(fault, heard.visit):
        return False
    if isinstance(heard, Question):
        request = heard.request
        says = heard.speaks or kind.says is None
        return says and (request.output.stream or not kind.streams) and (bool(request.tools) or not kind.calls)
    return not kind.streams and kind.says is None


def _knows_the_end(fault: Fault, visit: Visit) -> bool:
    """Whether the vendor knows the finish reason that a fault sets, if it sets one."""
    reason = fault.settings.get("reason")
    return reason is None or reason in visit.landing.dialect.finish_reasons


def _demand(fault: Fault, heard: Heard) -> str:
    """What a fault needs or does, for the message that it cannot apply to this request."""
    kind, dialect = FAULTS[fault.kind], heard.visit.landing.dialect
    if not _knows_the_end(fault, heard.visit):
        reasons = ", ".join(dialect.finish_reasons)
        return f"ends an answer with {fault.settings['reason']}, which {dialect.name} does not do. Known: {reasons}"
    if kind.listens:
        return "affects all connections: set it with --fault, in the config file or through the admin API"
    if isinstance(heard, Plan) and heard.rejection is not None:
        return f"needs an answer of the model, but this request is refused: {_reason(heard.rejection)}"
    if kind.streams:
        return 'needs a stream, but this request does not ask for one with "stream": true'
    if kind.calls:
        return "needs tool calls, but this request offers no tools"
    return "changes what a model says, but this request does not ask a model"


def _reason(rejection: Rejection) -> str:
    """Why a request is refused, on one line."""
    violations = "; ".join(f"{each.field or 'body'}: {each.message}" for each in rejection.violations)
    return " ".join(rejection.message.split()) or violations or rejection.kind.replace("_", " ")


def _draw(visit: Visit, name: str, count: Count) -> float:
    """The draw of a rule for a request; it is another one each time that the same request is repeated."""
    request = (visit.site.seed, "fault", name, visit.call.path, visit.call.fingerprint)
    time = count.times_seen(derive(*request))
    return Draws(derive(*request, *((time,) if time > 1 else ()))).unit()


def _words(fault: Fault, plan: Plan) -> Timeline:
    """The vendor's wording of a failure: its refusal, or the event that it sends in a stream that has begun."""
    kind, visit = FailureKind(fault.settings["error"]), plan.visit
    rejection = Rejection(kind, fault.settings["message"], headers=_retry_after(fault, visit))
    if fault.kind != "error_event":
        return refuse(rejection, visit, plan.request).timeline
    dialect, operation = visit.landing.dialect, visit.landing.operation
    row = dialect.errors[visit.site.edition][kind]
    message = rejection.message or row.midstream_message or row.message
    if operation is None or operation.stream_error is None:
        event = dialect.stream_error(row.status, row.body(rejection, message))
    else:
        events = tuple(each.data for each in events_of(plan.timeline))
        sent = tuple(each.data for each in parted(events_of(plan.timeline), fault.place)[0])
        event = operation.stream_error(Broken(row.status, message, events, len(sent)))
    return Timeline(200, (), (Run((event,), (0.0,), (0,)),), streamed=True)


def _retry_after(fault: Fault, visit: Visit) -> RawHeaders:
    seconds = fault.settings.get("retry_after")
    if seconds is None:
        return ()
    form = fault.settings["retry_after_as"]
    if form == "ms":
        return ((b"retry-after-ms", b"%d" % round(seconds * 1000)),)
    text = formatdate(visit.site.now + seconds, usegmt=True) if form == "date" else _decimal(seconds)
    return ((b"retry-after", text.encode()),)


def _decimal(number: float) -> str:
    """A number without an exponent and without trailing zeros."""
    return f"{number:.9f}".rstrip("0").rstrip(".")
