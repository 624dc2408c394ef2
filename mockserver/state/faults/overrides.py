"""Which faults make sense for a request, and those that its own header asks for."""

from mockserver.core.criteria import ANYTHING
from mockserver.core.failures import Rejection
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.notation import FaultError, read_faults
from mockserver.faults.rules import Chance, Fault
from mockserver.state.context import HeaderError, RequestContext
from mockserver.state.plan import Plan


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
        if not fits(fault, plan):
            raise HeaderError(f"X-Mockserver-Fault: {fault.kind!r} {_demand(fault, plan)}")
        if fault.chance != Chance() or fault.match != ANYTHING:
            raise HeaderError(
                "X-Mockserver-Fault: times, every, skip, share, from, for and match are only possible in the faults of "
                "settings and of the admin API, not in those of one request"
            )
    return faults


def fits(fault: Fault, plan: Plan) -> bool:
    """Whether a fault is applicable to the answer: some strike only streams, some only what a model says."""
    kind = FAULTS[fault.kind]
    if kind.listens or not _knows_the_end(fault, plan.context):
        return False
    request = plan.request
    if request is not None and plan.rejection is None:
        says = plan.speaks or kind.says is None
        return says and (request.output.stream or not kind.streams) and (bool(request.tools) or not kind.calls)
    return not kind.streams and kind.says is None


def _knows_the_end(fault: Fault, context: RequestContext) -> bool:
    """Whether the vendor knows the finish reason that a fault sets, if it sets one."""
    reason = fault.settings.get("reason")
    return reason is None or reason in context.route.dialect.finish_reasons


def _demand(fault: Fault, plan: Plan) -> str:
    """What a fault needs or does, for the message that it cannot apply to this request."""
    kind, dialect = FAULTS[fault.kind], plan.context.route.dialect
    if not _knows_the_end(fault, plan.context):
        reasons = ", ".join(dialect.finish_reasons)
        return f"ends an answer with {fault.settings['reason']}, which {dialect.name} does not do. Known: {reasons}"
    if kind.listens:
        return "affects all connections: set it with --fault, in the config file or through the admin API"
    if plan.rejection is not None:
        return f"needs an answer of the model, but this request is refused: {_reason(plan.rejection)}"
    if kind.streams:
        return 'needs a stream, but this request does not ask for one with "stream": true'
    if kind.calls:
        return "needs tool calls, but this request offers no tools"
    return "changes what a model says, but this request does not ask a model"


def _reason(rejection: Rejection) -> str:
    """Why a request is refused, on one line."""
    violations = "; ".join(f"{each.field or 'body'}: {each.message}" for each in rejection.violations)
    return " ".join(rejection.message.split()) or violations or rejection.kind.replace("_", " ")
