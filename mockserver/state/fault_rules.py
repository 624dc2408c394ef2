"""The fault rules of a namespace, and which of them a request triggers.

Each namespace counts what its rules have seen. If a rule applies to only a share of the requests, the draw is derived
from the request and how often it has come before, so that the same requests trigger it in any order of arrival,
retries can succeed, and the share is also that of a load test which repeats one request.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from email.utils import formatdate
from functools import partial
from typing import NamedTuple

from mockserver.core.dialects import Broken
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import RawHeaders, TimedFrames, Timeline, instant, joined, to_timeline
from mockserver.core.matching.requests import ANYTHING, decided
from mockserver.core.matching.values import Decision
from mockserver.core.seeding import Draws, derive
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.parse_faults import FaultError, read_faults
from mockserver.faults.rules import RANDOM, Chance, Fault, Place, is_open, triggers
from mockserver.faults.streams import Vendor, differ, events_of, goes_on_twice, split_at
from mockserver.model.prepared import ScriptedOutput
from mockserver.state.context import HeaderError, RequestContext, refuse
from mockserver.state.plan import Origin, Plan, RuleCount, TriggeredFault, is_among
from mockserver.state.quotas import used_up
from mockserver.state.stubs.registry import raised
from mockserver.state.stubs.stub import Prepared


class FaultRule(NamedTuple):
    """A fault with its origin and what it has counted; its window is counted from `armed_at`, in seconds.

    `scenario` is the common name of rules that were armed together.
    """

    name: str
    fault: Fault
    armed_at: float
    by: Origin
    seen: RuleCount
    scenario: str = ""


class FaultRules:
    """The fault rules of a namespace: those of the settings and the routes, and those armed at run time.

    `armed` are the latter, to be read only. Instants are in seconds on the namespace's clock, which only goes forward.
    """

    def __init__(self) -> None:
        self.armed: dict[str, FaultRule] = {}
        # What the rules of settings and routes have counted.
        self._counts: defaultdict[str, RuleCount] = defaultdict(RuleCount)

    def arm(self, name: str, fault: Fault, now: float, scenario: str = "") -> None:
        """Add a rule, or replace the one of that name; its counts start at zero."""
        self.armed[name] = FaultRule(name, fault, now, "armed", RuleCount(), scenario or name)

    def disarm(self, name: str) -> bool:
        """Remove a rule, or all rules of a scenario; False if there is none of that name."""
        taken = [own for own, rule in self.armed.items() if name in (own, rule.scenario)]
        for own in taken:
            del self.armed[own]
        return bool(taken)

    def reset(self) -> None:
        """Remove all armed rules, and all counts."""
        self.armed.clear()
        self._counts.clear()

    def recount(self) -> None:
        """Reset the counts of the rules of settings and routes, which have changed."""
        self._counts.clear()

    def pick(self, plan: Plan, now: float, since: float = 0.0) -> tuple[TriggeredFault, ...]:
        """The faults that a request triggers by rules: those of its route, of the settings, and armed ones.

        They count as applied; only the answer shows which of them have no effect (`refund_counts`). The windows
        of the settings' and the routes' rules are counted from `since`.
        """
        triggered = []
        for rule in (*self._configured(plan.context, since), *self.armed.values()):
            chance, count, elapsed = rule.fault.chance, rule.seen, now - rule.armed_at
            met = is_open(chance, elapsed) and misfit(rule.fault, plan) is None and _met(rule, plan)
            if met is None:
                count.undecided += 1
            if not met:
                continue
            count.matched += 1
            # A rule for every request needs no draw.
            draw = 0.0 if chance.share == 1 and chance.share_end is None else _draw(plan.context, rule)
            if triggers(chance, count.matched, count.applied, elapsed, draw):
                count.applied += 1
                name = rule.name if rule.by == "armed" else ""
                triggered.append(TriggeredFault(rule.fault, rule.by, name, count))
        return tuple(triggered)

    def _configured(self, context: RequestContext, since: float) -> Iterator[FaultRule]:
        """The rules of the request's route and those of the settings."""
        route = context.route.configured
        if route is not None:
            for number, fault in enumerate(route.faults):
                name = f"{route.path} {number}"
                yield FaultRule(name, fault, since, "route", self._counts[name])
        for number, fault in enumerate(context.settings.fault):
            name = f"settings {number}"
            yield FaultRule(name, fault, since, "settings", self._counts[name])


def _met(rule: FaultRule, plan: Plan) -> Decision:
    """Whether a request meets the match of a rule; False if a function of the user's fails (`handler_error`)."""
    try:
        return decided(rule.fault.match, plan.facts)
    except Exception as error:
        plan.handler_error = f"fault {rule.fault.kind!r}: its predicate {raised(error)}"
        return False


def _draw(context: RequestContext, rule: FaultRule) -> float:
    """The draw of a rule for a request; it is another one each time that the same request is repeated."""
    name = f"armed {rule.name}" if rule.by == "armed" else rule.name
    request = (context.scope.seed, "fault", name, context.call.path, context.call.fingerprint)
    time = rule.seen.times_seen(derive(*request))
    return Draws(derive(*request, *((time,) if time > 1 else ()))).unit()


def requested_faults(plan: Plan) -> tuple[Fault, ...]:
    """The faults that a request's own header asks for. Raises HeaderError if they make no sense for it."""
    text = plan.context.overrides.get("fault")
    if text is None:
        return ()
    try:
        faults = read_faults(text)
    except FaultError as error:
        raise HeaderError(f"X-Mockserver-Fault: {error}") from None
    for fault in faults:
        why = misfit(fault, plan)
        if why is not None:
            raise HeaderError(f"X-Mockserver-Fault: {fault.kind!r} {why}")
        if fault.chance != Chance() or fault.match != ANYTHING:
            raise HeaderError(
                "X-Mockserver-Fault: times, every, skip, share, from, for and match are only possible in the faults of "
                "settings and of the admin API, not in those of one request"
            )
    return faults


def misfit(fault: Fault, plan: Plan) -> str | None:
    """Why a fault cannot be applied to the answer of a request, to follow its name; None if it can: some are only for
    streams, some only for what a model says."""
    kind, reason = FAULTS[fault.kind], fault.settings.get("reason")
    dialect, request = plan.context.route.dialect, plan.request
    if reason is not None and reason not in dialect.finish_reasons:
        reasons = ", ".join(dialect.finish_reasons)
        return f"ends an answer with {reason}, which {dialect.name} does not do. Known: {reasons}"
    if kind.listens:
        return "affects all connections: set it with --fault, in the config file or through the admin API"
    if not kind.streams and kind.says is None:
        return None
    if plan.refusal is not None:
        return f"needs an answer of the model, but this request is refused: {plan.refusal.reason}"
    if kind.streams and not (request is not None and request.output.stream):
        return 'needs a stream, but this request does not ask for one with "stream": true'
    if kind.says is not None and not plan.generates:
        return "changes what a model says, but this request does not ask a model"
    content = plan.prepared.content if plan.prepared is not None else None
    are_prepared = isinstance(content, ScriptedOutput) and any(choice.calls for choice in content.choices)
    if kind.calls and not are_prepared and not (request is not None and request.tools):
        return "needs tool calls, but this request offers no tools"
    return None


def check_faults(prepared: Prepared, plan: Plan) -> None:
    """Raise HeaderError if a fault of a prepared answer cannot be applied to it."""
    for fault in prepared.faults:
        why = misfit(fault, plan)
        if why is not None:
            raise HeaderError(f"{plan.by}: {fault.kind!r} {why}")


def apply_faults(plan: Plan) -> None:
    """Change the timeline by each triggered fault, in turn, and keep those that had an effect."""
    if any(each.fault.place.after_event == RANDOM for each in plan.triggered):
        plan.triggered = tuple(_placed(each, number, plan) for number, each in enumerate(plan.triggered))
    timeline, applied = plan.timeline, list[TriggeredFault]()
    vendor = Vendor(partial(_words, plan), plan.context.route.dialect.finish_keys)
    for each in plan.triggered:
        if not _takes_effect(each, timeline, plan, applied):
            continue
        apply = each.kind.apply
        after = timeline if apply is None else apply(timeline, each.fault, vendor)
        if each.kind.removes and not differ(timeline, after):
            continue
        if each.leaves_nothing:
            applied = _still_seen(applied, timeline, after)
            if plan.prepared is not None and each.fault in plan.prepared.faults:
                # The stub's own answer has the stub's own headers.
                after = after._replace(headers=joined(plan.prepared.headers, after.headers))
        applied.append(each)
        timeline = after
    plan.timeline, plan.applied = timeline, tuple(applied)


def _placed(each: TriggeredFault, number: int, plan: Plan) -> TriggeredFault:
    """The fault with its place: a random one is after the first event and before the last, before the only one, and
    another for each attempt."""
    if each.fault.place.after_event != RANDOM:
        return each
    call, needed = plan.context.call, 2 if each.kind.within is goes_on_twice else 1
    possible = sum(1 for _ in events_of(plan.timeline)) - needed
    drawn = derive(plan.context.scope.seed, "place", call.path, call.fingerprint, plan.attempt, number)
    after = 1 + Draws(drawn).below(possible) if possible > 0 else 0
    return each._replace(fault=replace(each.fault, place=Place(after)))


def _takes_effect(each: TriggeredFault, timeline: Timeline, plan: Plan, applied: Sequence[TriggeredFault]) -> bool:
    """Whether a fault has an effect on an answer, after those that were applied to it before."""
    kind, ending = each.kind, timeline.ending
    if kind.says is not None:
        # What the model says was changed before it was written; a later fault may have replaced all of it.
        return is_among(each, plan.applied) and not any(other.leaves_nothing for other in applied)
    # An earlier fault may have turned the stream into a plain answer.
    if kind.streams and not timeline.streamed:
        return False
    # Of an answer without even a head nothing is left to change: it can only be replaced.
    if ending is not None and not ending.head and not each.leaves_nothing:
        return False
    return kind.within is None or kind.within(timeline, each.fault.place)


def _still_seen(applied: list[TriggeredFault], before: Timeline, after: Timeline) -> list[TriggeredFault]:
    """The earlier faults that still show when no events are left: those that changed the head."""
    if after.headers is not before.headers or (after.ending is not None and not after.ending.head):
        return []
    return [each for each in applied if each.kind.head]


def _words(plan: Plan, fault: Fault) -> Timeline:
    """The vendor's wording of a failure: its refusal, or the event that it sends in a stream that has begun."""
    kind, context, settings = FailureKind(fault.settings["error"]), plan.context, fault.settings
    dialect, operation = context.route.dialect, context.route.operation
    refusal = Refusal(kind)
    if settings.get("limit") and dialect.quotas is not None:
        cost = 1 if plan.request is None else sum(prompt.token_count for prompt in plan.request.prompts)
        refused = used_up(dialect.quotas, settings["limit"], context.scope.limit_states, cost)
        refusal = dialect.quotas.refuse(refused, context.scope.now)
        # The headers of the answer state the same limits.
        context = context._replace(scope=context.scope._replace(limit_states=refused.limit_states))
    refusal = refusal._replace(
        message=settings["message"] or refusal.message,
        param=settings.get("param") or refusal.param,
        code=settings.get("code") or refusal.code,
        headers=(*refusal.headers, *_retry_after(fault, context)),
        key=dialect.credentials(context.call) if dialect.credentials else None,
        model=None if plan.request is None else plan.request.model,
        identity=context.scope.identity,
        call=context.call,
    )
    if fault.kind != "error_event":
        return to_timeline(refuse(refusal, context, plan.request), instant(0))
    row = dialect.error(context.scope.edition, kind)
    message = refusal.message or row.midstream_message or row.message
    if operation is None or operation.stream_error is None:
        event = dialect.stream_error(row.status, row.body(refusal, message))
    else:
        events = tuple(each.data for each in events_of(plan.timeline))
        sent = tuple(each.data for each in split_at(events_of(plan.timeline), fault.place)[0])
        event = operation.stream_error(Broken(row.status, message, events, len(sent)))
    return Timeline(200, (), (TimedFrames((event,), (0.0,), (0,)),), streamed=True)


def _retry_after(fault: Fault, context: RequestContext) -> RawHeaders:
    seconds = fault.settings.get("retry_after")
    if seconds is None:
        return ()
    form = fault.settings["retry_after_as"]
    if form == "ms":
        return ((b"retry-after-ms", b"%d" % round(seconds * 1000)),)
    # Without an exponent and without trailing zeros.
    decimal = f"{seconds:.9f}".rstrip("0").rstrip(".")
    text = formatdate(context.scope.now + seconds, usegmt=True) if form == "date" else decimal
    return ((b"retry-after", text.encode()),)
