"""The way of a request, from top to bottom.

    route       Starlette                -> route           dialect, operation, path
    context     + settings, headers      -> context         seed, edition, latency, credentials
    parse       dialect.read             -> request | reply | refusal
    resolve     + namespace              -> stub, faults, quota, engine      the only stage that meets state
    generate    model                    -> generation, pace
    write       dialect.write            -> reply           status, headers, frames, each after a decoding step
    schedule    latency                  -> timeline        absolute due times
    faults      each of the triggered    -> timeline
    record      journal                  -> exchange        before the first byte is sent

One `Plan` goes through them all. Parse and everything from generate to faults is pure, and so may run in a thread;
resolve and record belong to the thread of the server's event loop.
"""

from collections.abc import Sequence

from mockserver.core.dialects import Operation
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Generation, GenerationRequest, Measures
from mockserver.core.http import Call, Reply, TokenTiming, instant, joined, to_timeline
from mockserver.core.seeding import derive
from mockserver.faults.model_output import give_the_same_answer, with_changed_choices
from mockserver.latency.timing import delayed, draw_timing, recorded
from mockserver.model.generate import fingerprint_of, with_prediction_recounted
from mockserver.model.generate import generate as generate_text
from mockserver.model.prepared import ScriptedOutput, to_generation, word_refusals
from mockserver.state.context import (
    RequestContext,
    RouteMatch,
    make_context,
    overridden,
    paced,
    refuse,
    with_headers,
    with_lengths,
)
from mockserver.state.fault_rules import apply_faults, check_faults, requested_faults
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.namespaces import Namespace
from mockserver.state.plan import Plan, TriggeredFault, refund_counts, too_much
from mockserver.state.rate_limiter import admit, settle
from mockserver.state.settings import Settings
from mockserver.state.stub_answers import (
    check_calls,
    checked_measures,
    choose,
    render,
    reply_of,
    requested_reply,
    rule_headers,
    unmatched,
)
from mockserver.state.stubs.registry import HandlerError
from mockserver.state.stubs.stub import Prepared, Raw, Stub


def answer(
    call: Call,
    route: RouteMatch,
    settings: Settings,
    namespace: Namespace,
    now: float = 0.0,
    since: float = 0.0,
    stubs: Sequence[Stub] = (),
) -> Plan:
    """The plan of the answer to a call that arrives at the instant `now`: the whole way up to the journal.

    `stubs` are those of the settings, whose rules count from `since`. Raises HeaderError if one of our own headers
    cannot be obeyed.
    """
    plan = parse(make_context(call, route, settings))
    resolve(plan, namespace, now, since, stubs)
    complete(plan)
    return plan


def parse(context: RequestContext) -> Plan:
    """What a call asks of a model; or the reply of an operation without one; or why it is refused."""
    operation, dialect = context.route.operation, context.route.dialect
    if operation is None:
        return _without_model(context, dialect.unrouted(context.call, context.scope, context.route.allowed))
    refused = _check_credentials(context, operation)
    if refused is not None:
        return Plan(context, refusal=refused)
    if operation.handler is not None:
        given = operation.handler(context.call, context.scope)
        return _without_model(context, given, operation)
    request = operation.read(context.call, context.scope)
    if not isinstance(request, GenerationRequest):
        return Plan(context, refusal=_refusal(request, GenerationRequest, operation, "read"))
    if request.limits.lengths is not context.lengths:
        request = with_lengths(request, context.lengths)
    refused = too_much(request)
    if refused is not None:
        return Plan(context, refusal=refused)
    return Plan(context if context.profile is None else paced(context, request.model), request)


def resolve(plan: Plan, namespace: Namespace, now: float, since: float = 0.0, stubs: Sequence[Stub] = ()) -> None:
    """Let a request meet the state of its namespace: a stub is chosen, faults and quotas count, an engine is found.

    Raises HeaderError if a header of our own cannot be obeyed; whoever calls gives back (`release`) what was counted.
    """
    context, settings = plan.context, plan.context.settings
    namespace.attempts.count(plan)
    faults: tuple[TriggeredFault, ...] = ()
    reply: Prepared | None = None
    if context.overrides:
        faults = tuple(TriggeredFault(fault, "header") for fault in requested_faults(plan))
        reply = requested_reply(plan)
    if settings.quota and plan.asks_model:
        admit(plan, namespace.quotas, now)
        if plan.refusal is not None:
            return
    if stubs or namespace.stubs.added or reply is not None or settings.unmatched == "refuse":
        choose(plan, namespace.stubs, stubs, reply)
        if plan.prepared is not None:
            _override(plan, plan.prepared)
    plan.triggered = faults
    if settings.fault or namespace.faults.armed or context.route.configured is not None:
        plan.triggered = (*namespace.faults.pick(plan, now, since), *faults)
    if plan.request is not None and not (plan.prepared is not None and isinstance(plan.prepared.content, Raw)):
        dialect, profile = plan.context.route.dialect, plan.context.profile
        cacheable = plan.request.cacheable
        caching = dialect.prompt_caching if settings.prompt_cache or cacheable is not None else None
        if profile is not None or caching is not None:
            plan.engine = namespace.engines.state(dialect.name, plan.request, profile, caching, now)


def complete(plan: Plan) -> None:
    """Generate, write, schedule and apply faults. Raises HeaderError if a prepared answer or its faults do not fit."""
    generate(plan)
    write(plan)
    schedule(plan)
    if plan.triggered:
        apply_faults(plan)
    if plan.rule is not None and not plan.context.settings.strict:
        plan.timeline = plan.timeline._replace(headers=(*plan.timeline.headers, *rule_headers(plan)))


def generate(plan: Plan) -> None:
    """Let the model say what is prepared, or its own words; or take the prepared body as it is."""
    try:
        if plan.handler_error is not None:
            raise HandlerError(plan.handler_error)
        if plan.prepared is not None:
            plan.prepared = render(plan.prepared, plan)
    except HandlerError as error:
        plan.handler_error = str(error)
        plan.refusal = Refusal(FailureKind.SERVER_ERROR, plan.handler_error)
        return
    prepared = plan.prepared
    if prepared is not None and prepared.faults:
        check_faults(prepared, plan)
        own = (TriggeredFault(fault, "header" if plan.rule is None else "stub") for fault in prepared.faults)
        plan.triggered = (*own, *plan.triggered)
    content = prepared.content if prepared is not None else None
    if isinstance(content, Raw):
        plan.refusal, plan.reply = None, reply_of(content)
        plan.pace = _body_pace(plan, content.times)
    elif not plan.asks_model:
        return
    elif plan.nearest is not None and plan.context.settings.unmatched == "refuse":
        plan.refusal = unmatched(plan.nearest)
    else:
        _generate(plan, content if isinstance(content, ScriptedOutput | Measures) else None)


def write(plan: Plan) -> None:
    """Write the reply in the vendor's format: the generation, a refusal, or what is given; with all its headers."""
    context, operation = plan.context, plan.context.route.operation
    if plan.generation is not None and plan.refusal is None:
        assert operation is not None, "an operation has asked the model"
        assert plan.pace is not None, "what is generated has a pace"
        written = operation.write(plan.generation, plan.pace, context.scope)
        if isinstance(written, Reply):
            plan.reply = with_headers(written, context)
        else:
            plan.refusal = _refusal(written, Reply, operation, "write")
            plan.generation = plan.pace = None
    elif plan.reply is not None:
        plan.reply = with_headers(plan.reply, context)
    if plan.refusal is not None:
        plan.reply = refuse(plan.refusal, context, plan.request)
    assert plan.reply is not None, "what is neither generated nor refused is given"
    if plan.prepared is not None:
        headers = plan.reply.headers
        if isinstance(plan.prepared.content, Raw):
            # The answer's own headers replace the vendor's.
            headers = tuple(reversed(dict(reversed(headers)).items()))
        plan.reply = plan.reply._replace(headers=joined(plan.prepared.headers, headers))


def schedule(plan: Plan) -> None:
    """Give every frame of the reply its due time."""
    assert plan.reply is not None, "the reply is written"
    plan.timeline = to_timeline(plan.reply, plan.pace or instant(0))


def record(plan: Plan, namespace: Namespace, path: str, now: float) -> Exchange:
    """Settle with the namespace what the plan has come to, and note it in the journal under the requested path."""
    if plan.reservation is not None:
        settle(plan, namespace.quotas, now)
    if plan.reuse is not None and plan.visible_generation is not None:
        plan.reuse.keep()
    if plan.triggered:
        refund_counts(plan.triggered, plan.applied)
    namespace.attempts.record(plan)
    return namespace.journal.open(namespace.name, path, plan.context.call, plan, arrived=now, ahead=namespace.shift)


def release(plan: Plan, namespace: Namespace) -> None:
    """Give back what a request has been counted for, since it gets no answer after all."""
    if plan.reservation is not None:
        namespace.quotas.release(plan.reservation)
    refund_counts(plan.triggered)


# --- what the stages need ----------------------------------------------------------------------------------------


def _without_model(context: RequestContext, given: Reply | Refusal, operation: Operation | None = None) -> Plan:
    if isinstance(given, Reply):
        return Plan(context, reply=given)
    return Plan(context, refusal=_refusal(given, Reply, operation, "handler"))


def _refusal(given: Refusal | object, hoped: type, operation: Operation | None, function: str) -> Refusal:
    """What a dialect gives instead of what it is asked for. Raises TypeError, for its author, if that is no refusal."""
    if isinstance(given, Refusal):
        return given
    name = "unrouted" if operation is None else f"the {function} of operation {operation.name}"
    raise TypeError(f"{name} must give a {hoped.__name__} or a Refusal, not {given!r:.80}")


def _check_credentials(context: RequestContext, operation: Operation) -> Refusal | None:
    """Why the credentials of a call are not accepted; None if they are, or if the operation needs none."""
    credentials, auth = context.route.dialect.credentials, context.settings.auth
    if auth == "off" or credentials is None or not operation.secured:
        return None
    key = credentials(context.call)
    if key is None:
        return Refusal(FailureKind.MISSING_CREDENTIALS)
    accepted = (auth,) if isinstance(auth, str) else auth
    return None if auth == "any" or key in accepted else Refusal(FailureKind.UNAUTHORIZED, key=key)


def _override(plan: Plan, prepared: Prepared) -> None:
    """Put the seed, the latency and the lengths of the prepared answer in force."""
    request = plan.request
    if request is not None:
        plan.context = overridden(plan.context, request.model, prepared.seed, prepared.latency, prepared.output_tokens)
        plan.request = with_lengths(request, plan.context.lengths)


def _generate(plan: Plan, content: ScriptedOutput | Measures | None) -> None:
    """Let the model say the content, or its own words, at the pace of its engine."""
    request, context, engine = plan.request, plan.context, plan.engine
    assert request is not None, "a model is asked"
    scripted = content if isinstance(content, ScriptedOutput) else None
    if scripted is not None:
        check_calls(scripted, plan)
        generation = to_generation(request, scripted, context.scope.seed)
    else:
        generation = generate_text(request, context.scope.seed)
    if isinstance(content, Measures):
        generation = generation._replace(measures=checked_measures(content, plan), prepared=True)
    if plan.triggered:
        generation = _with_model_faults(plan, generation)
    if plan.triggered or scripted is not None:
        # The model itself refuses nothing.
        generation = word_refusals(generation)
    if engine is not None and engine.prompts is not None:
        plan.reuse = engine.prompts.look_up(request)
        if scripted is None or scripted.counts.cached_tokens is None:
            usage = generation.usage._replace(cached_tokens=plan.reuse.cached, written_tokens=plan.reuse.written)
            generation = generation._replace(usage=usage)
    if context.profile is None and scripted is None:
        timing = instant(generation.steps)
    else:
        timing = _draw_pace(plan, generation, scripted)
    if engine is not None and engine.slots is not None:
        taken = engine.slots.take(timing)
        if isinstance(taken, Refusal):
            plan.refusal = taken
            return
        timing, plan.slot = taken
    plan.generation, plan.pace = generation, timing


def _with_model_faults(plan: Plan, generation: Generation) -> Generation:
    """The generation after the faults of the model itself; those that have changed it were applied."""
    applied = []
    for triggered in plan.triggered:
        if triggered.kind.says is None:
            continue
        changed = with_prediction_recounted(with_changed_choices(generation, triggered.fault, triggered.kind.says))
        if not give_the_same_answer(generation, changed):
            applied.append(triggered)
        generation = changed
    plan.applied = tuple(applied)
    return generation


def _draw_pace(plan: Plan, generation: Generation, scripted: ScriptedOutput | None) -> TokenTiming:
    """The pace of the engine, with the delays that a prepared answer prescribes."""
    context, request, unseen = plan.context, generation.request, generation.usage.unseen
    # Thoughts that are shown take decoding steps like the rest of the answer; hidden ones take time before it.
    shown = max((len(choice.thoughts) for choice in generation.choices), default=0) if request.output.reasoning else 0
    hidden = unseen.reasoning if unseen is not None and not shown else 0
    if context.profile is None:
        timing = instant(generation.steps)
    else:
        seed, asked = context.scope.seed, generation.fingerprint
        key = derive(seed, "pace", fingerprint_of(request, seed) if asked is None else asked)
        prompt_tokens = max(request.prompt_tokens - generation.usage.cached_tokens, 0)
        timing = draw_timing(context.profile, generation.steps, prompt_tokens, key, hidden)
    if scripted is None:
        return timing
    delays = (*[None] * shown, *scripted.delays)
    return delayed(timing, delays, generation.steps, apart=request.output.stream and bool(scripted.pieces))


def _body_pace(plan: Plan, times: Sequence[float]) -> TokenTiming:
    """The pace of a prepared body: that of a generated answer with as many tokens as it has events.

    If it has `times`, its events are sent at these, unless the request's own header sets the latency.
    """
    context, request, reply = plan.context, plan.request, plan.reply
    assert reply is not None, "the body is prepared"
    if times and not context.overrides.get("latency"):
        return recorded(times, context.settings.speed)
    steps = sum(len(frames.data) for frames in reply.frames)
    if request is None:
        return instant(steps)
    return draw_timing(
        context.profile, steps, request.prompt_tokens, derive(context.scope.seed, "pace", context.scope.identity)
    )
