"""How faults change the plan of an answer, and which of them have an effect on it."""

from collections.abc import Sequence
from email.utils import formatdate

from mockserver.core.dialects import Broken
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.timeline import RawHeaders, Run, Timeline
from mockserver.faults.events import events_of, parted
from mockserver.faults.rules import Fault
from mockserver.latency.assemble import assemble
from mockserver.latency.pace import instant
from mockserver.state.context import RequestContext
from mockserver.state.plan import Plan
from mockserver.state.refusals import refuse
from mockserver.state.strikes import Strike, is_among


def apply_faults(plan: Plan) -> None:
    """Change the timeline by each fault that is meant, in turn, and keep those that had an effect."""
    timeline, struck = plan.timeline, list[Strike]()
    for each in plan.meant:
        if not _takes_effect(each, timeline, plan, struck):
            continue
        before, apply = timeline, each.kind.apply
        if apply is not None:
            timeline = apply(timeline, each.fault, lambda fault: _words(fault, plan))
        if each.leaves_nothing:
            struck = _still_seen(struck, before, timeline)
        struck.append(each)
    plan.timeline, plan.struck = timeline, tuple(struck)


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


def _words(fault: Fault, plan: Plan) -> Timeline:
    """The vendor's wording of a failure: its refusal, or the event that it sends in a stream that has begun."""
    kind, context = FailureKind(fault.settings["error"]), plan.context
    model = None if plan.request is None else plan.request.model
    rejection = Rejection(kind, fault.settings["message"], headers=_retry_after(fault, context), model=model)
    if fault.kind != "error_event":
        return assemble(refuse(rejection, context, plan.request), instant(0))
    dialect, operation = context.route.dialect, context.route.operation
    row = dialect.errors[context.site.edition][kind]
    message = rejection.message or row.midstream_message or row.message
    if operation is None or operation.stream_error is None:
        event = dialect.stream_error(row.status, row.body(rejection, message))
    else:
        events = tuple(each.data for each in events_of(plan.timeline))
        sent = tuple(each.data for each in parted(events_of(plan.timeline), fault.place)[0])
        event = operation.stream_error(Broken(row.status, message, events, len(sent)))
    return Timeline(200, (), (Run((event,), (0.0,), (0,)),), streamed=True)


def _retry_after(fault: Fault, context: RequestContext) -> RawHeaders:
    seconds = fault.settings.get("retry_after")
    if seconds is None:
        return ()
    form = fault.settings["retry_after_as"]
    if form == "ms":
        return ((b"retry-after-ms", b"%d" % round(seconds * 1000)),)
    text = formatdate(context.site.now + seconds, usegmt=True) if form == "date" else _decimal(seconds)
    return ((b"retry-after", text.encode()),)


def _decimal(number: float) -> str:
    """A number without an exponent and without trailing zeros."""
    return f"{number:.9f}".rstrip("0").rstrip(".")
