"""Rendering prepared answers: templates are filled, users' functions called, and what comes out is checked."""

from collections.abc import Mapping, Sequence

from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import Measures
from mockserver.core.groups import groups_of
from mockserver.core.headers import joined
from mockserver.core.timeline import Frames, Reply
from mockserver.model.prepared import Speech
from mockserver.state.context import HeaderError
from mockserver.state.plan import Plan
from mockserver.state.stub_selection import measure_of
from mockserver.state.stubs.bodies import events_in, is_stream
from mockserver.state.stubs.registry import MEASURED, Handler, HandlerError, NearMiss, Prepared, Raw, raised
from mockserver.state.stubs.replies import read_prepared
from mockserver.state.stubs.templates import TemplateError, fill_all
from mockserver.state.stubs.values import StubError


def render(prepared: Prepared, plan: Plan) -> Prepared:
    """The prepared answer of a plan, its templates filled and its functions called. Raises HandlerError."""
    if prepared.template is not None:
        facts = plan.facts
        assert facts is not None, "a request that has met a stub has facts"
        try:
            filled = read_prepared(fill_all(prepared.template, facts, groups_of(plan.criteria, facts)))
        except (StubError, TemplateError) as error:
            raise HandlerError(f"{plan.by}: its filled template: {error}") from None
        return prepared._replace(content=filled.content, headers=joined(filled.headers, prepared.headers))
    content = prepared.content
    if content is None or isinstance(content, Speech | Measures | Raw):
        return prepared
    returned = _returned(content, plan)
    return prepared._replace(
        content=returned.content,
        faults=(*prepared.faults, *returned.faults),
        headers=joined(returned.headers, prepared.headers),
    )


def _returned(handler: Handler, plan: Plan) -> Prepared:
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
    own = (returned.seed, returned.latency, returned.output_tokens)
    if callable(returned.content) or own != (None, None, None):
        raise HandlerError(
            f"{plan.by}: its function returned a function, a seed, a latency or output_tokens; set these in the stub "
            "itself"
        )
    return render(returned, plan)


def unmatched(nearest: Sequence[NearMiss]) -> Rejection:
    """The refusal with status 404 of a request without a matching stub, if only stubs may answer."""
    return Rejection(
        FailureKind.INVALID_REQUEST, f"No stub matches this request. {describe_near_misses(nearest)}", status=404
    )


def describe_near_misses(nearest: Sequence[NearMiss]) -> str:
    """The stubs that are nearest to a request and how they differ, as a sentence."""
    stubs = (f"{near.name!r} ({'; '.join(map(str, near.differences))})" for near in nearest)
    return f"Nearest: {', '.join(stubs)}." if nearest else "There are no stubs."


def checked_measures(measures: Measures, plan: Plan) -> Measures:
    """One measure for each text of a request. Raises HeaderError if it has another number of texts, or asks none."""
    kind, given = measures.kind, len(measures.values)
    what = MEASURED[kind]
    if measure_of(plan) != kind or plan.request is None:
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


def check_calls(speech: Speech, plan: Plan) -> None:
    """Raise HeaderError if tool calls are prepared for an operation that has none."""
    operation, dialect = plan.context.route.operation, plan.context.route.dialect
    if speech.calls and not (operation is not None and operation.calls_tools):
        named = operation.name if operation is not None else ""
        raise HeaderError(f"{plan.by}: tool_calls: {dialect.name}'s {named} cannot call tools")


def reply_of(raw: Raw) -> Reply:
    """A body as it is; server-sent events become separate frames, so that faults and latency can act between them."""
    streamed = is_stream(raw.content_type)
    events = events_in(raw.body) if streamed else [raw.body]
    frames = Frames(events, range(len(events)), (1 if streamed else 0,) * len(events))
    return Reply(raw.status, ((b"content-type", raw.content_type.encode("latin-1")),), (frames,), streamed)
