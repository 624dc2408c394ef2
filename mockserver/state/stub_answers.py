"""The prepared answer of a request: chosen by its own header or by the stubs, its templates filled, its functions
called."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Measure, Measures
from mockserver.core.http import FrameBatch, RawHeaders, Reply, joined
from mockserver.core.matching.requests import all_of, groups_of
from mockserver.model.prepared import ScriptedOutput
from mockserver.state.context import HeaderError
from mockserver.state.plan import Plan
from mockserver.state.stubs.parse_replies import events_in, is_stream, read_header_reply, read_prepared
from mockserver.state.stubs.registry import HandlerError, NearMiss, StubRegistry, exhausted, raised
from mockserver.state.stubs.stub import MEASURED, Prepared, Raw, ReplyFunction, Stub
from mockserver.state.stubs.templates import TemplateError, fill
from mockserver.state.stubs.values import StubError

_OF_CREDENTIALS = (FailureKind.MISSING_CREDENTIALS, FailureKind.UNAUTHORIZED)


def choose(
    plan: Plan, registry: StubRegistry, configured: Sequence[Stub] = (), requested: Prepared | None = None
) -> None:
    """Choose the prepared answer of a request: the `requested` one, else a stub's; `configured` are the stubs of the
    settings. If only stubs may answer, having no stubs at all also counts as no match.

    The vendor's own refusals are replaced only by what it was recorded to answer to this very request, for instance
    since it knew of an earlier one. Where nothing is simulated, stubs answer that name the path, and the method if the
    path is simulated with others; if they are for other requests there, the refusal says so. Raises HeaderError if what
    the request's own header asks for does not fit it.
    """
    route = plan.context.route
    refusal = None if route.operation is None else plan.refusal
    if refusal is not None and refusal.kind in _OF_CREDENTIALS:
        return
    fits = partial(_fits, generates=plan.generates, measure=None if plan.generates else _measure_of(plan))
    if requested is not None:
        if not fits(requested):
            raise HeaderError(f"X-Mockserver-Reply: {_misfit(plan)}")
        if not plan.asks_model and (requested.latency is not None or requested.output_tokens is not None):
            raise HeaderError(
                "X-Mockserver-Reply: this request does not ask a model, so the reply has no latency and no "
                'output_tokens; for a delay write faults = [ { kind = "stall", seconds = 1 } ]'
            )
        plan.prepared = requested
        return
    is_refused = refusal is not None
    possible = None if is_refused else fits
    named = () if route.operation is not None else ("path", "method") if route.allowed else ("path",)
    try:
        found = registry.take(plan.facts, configured, possible, is_refused=is_refused, named=named)
        if found is None:
            if plan.asks_model:
                plan.nearest = registry.explain(plan.facts, configured, fits)
            elif named and (nearest := registry.explain(plan.facts, configured, fits, named)):
                plan.nearest, plan.refusal = nearest, unmatched(nearest)
        elif found.prepared is not None:
            plan.rule, plan.prepared = found.stub.name, found.prepared
            plan.criteria, plan.stale = found.criteria, found.stale
        elif not is_refused:
            plan.nearest = (exhausted(found.stub),)
            plan.refusal = unmatched(plan.nearest)
    except HandlerError as error:
        plan.handler_error = str(error)


def requested_reply(plan: Plan) -> Prepared | None:
    """The answer that a request's own header prescribes, unless the vendor refuses the request at a path and by a
    method that are simulated. Raises HeaderError if it cannot be read."""
    text = plan.context.overrides.get("reply")
    if text is None or (plan.refusal is not None and plan.context.route.operation is not None):
        return None
    # Most clients send non-ASCII text in UTF-8.
    with suppress(UnicodeDecodeError):
        text = text.encode("latin-1").decode()
    try:
        return read_header_reply(text)
    except StubError as error:
        raise HeaderError(f"X-Mockserver-Reply: {error}") from None


def _measure_of(plan: Plan) -> Measure | None:
    """What the model that a request asks measures; None if it asks none, or one that generates text."""
    operation = plan.context.route.operation
    return operation.measure if plan.asks_model and operation is not None else None


def _fits(prepared: Prepared, *, generates: bool, measure: Measure | None) -> bool:
    """Whether a prepared answer is possible for a request: a text is for models that generate text, a measure for those
    that measure, and a body, or no content at all, for every request."""
    content: Any = prepared.content
    if isinstance(content, Measures):
        return content.kind == measure
    return generates or content is None or isinstance(content, Raw)


def _misfit(plan: Plan) -> str:
    """Why a reply does not fit a request, and which would."""
    if plan.generates:
        return "this request asks for a text, so the reply cannot be an embedding or scores"
    measure = _measure_of(plan)
    other = f" or {{ {measure} = [...] }}" if measure is not None else ""
    return f"this request does not ask a model, so the reply must be a body{other}"


def render(prepared: Prepared, plan: Plan) -> Prepared:
    """The prepared answer of a plan, its templates filled and its functions called. Raises HandlerError."""
    if prepared.template is not None:
        try:
            groups = groups_of(all_of(*plan.criteria), plan.facts)
            filled = read_prepared(fill(prepared.template, plan.facts, groups))
        except (StubError, TemplateError) as error:
            raise HandlerError(f"{plan.by}: its filled template: {error}") from None
        return prepared._replace(content=filled.content, headers=joined(filled.headers, prepared.headers))
    content = prepared.content
    if content is None or isinstance(content, ScriptedOutput | Measures | Raw):
        return prepared
    returned = _returned(content, plan)
    return prepared._replace(
        content=returned.content,
        faults=(*prepared.faults, *returned.faults),
        headers=joined(returned.headers, prepared.headers),
    )


def _returned(handler: ReplyFunction, plan: Plan) -> Prepared:
    """The answer that a user's function returns for a request. Raises HandlerError."""
    try:
        value = handler(plan.facts)
    except Exception as error:
        raise HandlerError(f"{plan.by}: its function {raised(error)}") from error
    if not (value is None or isinstance(value, str | Mapping) or callable(value)):
        raise HandlerError(
            f"{plan.by}: its function returned {value!r}; it may return a string, a reply such as tool_call(...), "
            "as_json(...), error(...) or {'text': 'It rains.'}, or None for a generated answer"
        )
    try:
        returned = Prepared() if value is None else read_prepared(value)
    except StubError as error:
        raise HandlerError(f"{plan.by}: its function returned an invalid reply: {error}") from error
    if isinstance(returned.content, ScriptedOutput) and not plan.generates:
        raise HandlerError(f"{plan.by}: its function returned a text, but {_misfit(plan)}")
    own = (returned.seed, returned.latency, returned.output_tokens)
    if callable(returned.content) or own != (None, None, None):
        raise HandlerError(
            f"{plan.by}: its function returned a function, a seed, a latency or output_tokens; set these in the stub "
            "itself"
        )
    return render(returned, plan)


def rule_headers(plan: Plan) -> RawHeaders:
    """The headers that name the stub that has answered, and where the request differs from the recorded one."""
    rule = (b"x-mockserver-rule", (plan.rule or "").encode("ascii", "backslashreplace"))
    if not plan.stale:
        return (rule,)
    places = ", ".join(each.field for each in plan.stale)
    return rule, (b"x-mockserver-stale", places.encode("ascii", "backslashreplace"))


def unmatched(nearest: Sequence[NearMiss]) -> Refusal:
    """The refusal with status 404 of a request without a matching stub, if only stubs may answer."""
    return Refusal(
        FailureKind.INVALID_REQUEST, f"No stub matches this request. {_describe_near_misses(nearest)}", status=404
    )


def _describe_near_misses(nearest: Sequence[NearMiss]) -> str:
    """The stubs that are nearest to a request and how they differ, as a sentence."""
    stubs = (f"{near.name!r} ({'; '.join(map(str, near.differences))})" for near in nearest)
    return f"Nearest: {', '.join(stubs)}." if nearest else "There are no stubs."


def checked_measures(measures: Measures, plan: Plan) -> Measures:
    """One measure for each text of a request. Raises HeaderError if it has another number of texts, or asks none."""
    kind, given = measures.kind, len(measures.values)
    what = MEASURED[kind]
    if _measure_of(plan) != kind or plan.request is None:
        raise HeaderError(f"{plan.by}: {kind}: this request does not ask for {what}")
    wanted = len(plan.request.prompts) - (kind == "scores")
    if kind == "embedding" and given == 1:
        return measures._replace(values=measures.values * wanted)
    if given != wanted:
        hint = ", or a single one for all" if kind == "embedding" else ""
        raise HeaderError(
            f"{plan.by}: {kind}: has {given} {what}, but the request has {wanted} texts; give one for each{hint}"
        )
    return measures


def check_calls(scripted: ScriptedOutput, plan: Plan) -> None:
    """Raise HeaderError if tool calls are prepared for an operation that has none."""
    operation, dialect = plan.context.route.operation, plan.context.route.dialect
    calls = any(choice.calls for choice in scripted.choices)
    if calls and not (operation is not None and operation.supports_tools):
        named = operation.name if operation is not None else ""
        raise HeaderError(f"{plan.by}: tool_calls: {dialect.name}'s {named} cannot call tools")


def reply_of(raw: Raw) -> Reply:
    """A body as it is; server-sent events become separate frames, so that faults and latency can act between them."""
    streamed = is_stream(raw.content_type)
    events = events_in(raw.body) if streamed else [raw.body]
    frames = FrameBatch(events, range(len(events)), (1 if streamed else 0,) * len(events))
    return Reply(raw.status, ((b"content-type", raw.content_type.encode("latin-1")),), (frames,), streamed)
