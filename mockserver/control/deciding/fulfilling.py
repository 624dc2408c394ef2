"""Prepared answers become plans: texts for the model, bodies as they are, and what users' functions return."""

from collections.abc import Mapping, Sequence

from mockserver.control.deciding.choosing import Chosen, check_faults, measure_of
from mockserver.control.engines import EngineState
from mockserver.control.plan import Heard, Plan, Question, answer, plan_reply, refuse
from mockserver.control.strikes import Strike
from mockserver.control.stubs.bodies import events_in, is_stream
from mockserver.control.stubs.book import MEASURED, Handler, HandlerError, Near, Prepared, Raw, raised
from mockserver.control.stubs.replies import read_prepared
from mockserver.control.stubs.templates import TemplateError, fill_all
from mockserver.control.stubs.values import StubError
from mockserver.control.visits import WishError
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import Measures
from mockserver.core.headers import joined
from mockserver.core.timeline import Frames, RawHeaders, Reply
from mockserver.generation.prepared import Speech

_NOTHING = Prepared()


def fulfil(heard: Heard, chosen: Chosen, strikes: tuple[Strike, ...], engine: EngineState | None) -> Plan:
    """The plan for what was chosen: prepared or not, struck by the prepared answer's own faults and then by the others.

    If a function fails, the answer is the vendor's server error, and the plan has what the function raised. Raises
    WishError if a prepared answer is impossible here.
    """
    try:
        if chosen.trouble is not None:
            raise HandlerError(chosen.trouble)
        prepared = resolved(chosen.prepared, chosen) if chosen.prepared is not None else _NOTHING
    except HandlerError as error:
        return _with_explanation(_failed(heard, str(error)), chosen)
    check_faults(prepared, heard, chosen.by)
    own = (Strike(fault, "header" if chosen.rule is None else "stub") for fault in prepared.faults)
    strikes = (*own, *strikes)
    plan = _with_headers(_before_faults(heard, chosen, prepared, strikes, engine), prepared.headers)
    if strikes:
        from mockserver.control.faults.effects import strike  # most servers have no faults: they start sooner without

        plan = strike(plan, strikes)
    return _with_explanation(plan, chosen)


def _before_faults(
    heard: Heard, chosen: Chosen, prepared: Prepared, strikes: Sequence[Strike], engine: EngineState | None
) -> Plan:
    """The plan before any faults strike it, except those of the model itself."""
    content = prepared.content
    if isinstance(content, Raw):
        return plan_reply(_reply(content), heard, content.times)
    if not isinstance(heard, Question):
        return heard
    if chosen.nearest is not None and heard.visit.settings.unmatched == "refuse":
        return unmatched(heard, chosen.nearest)
    if isinstance(content, Measures):
        return answer(heard, strikes, engine, measures=_checked_measures(content, heard, chosen.by))
    speech = content if isinstance(content, Speech) else None
    _check_calls(speech, heard, chosen.by)
    return answer(heard, strikes, engine, speech)


def _failed(heard: Heard, trouble: str) -> Plan:
    """The plan of the vendor's server error, because a user's function has failed."""
    refusal = refuse(Rejection(FailureKind.SERVER_ERROR, trouble), heard.visit, heard.request)
    return refusal._replace(trouble=trouble)


def _with_explanation(plan: Plan, chosen: Chosen) -> Plan:
    """The plan with its explanation; the stub's name is also sent in a header of our own."""
    rule, attempt = chosen.rule, chosen.facts.attempt
    if rule is None and chosen.nearest is None and attempt == 1:
        return plan
    timeline = plan.timeline
    if rule is not None and not plan.visit.settings.strict:
        header = (b"x-mockserver-rule", rule.encode("ascii", "backslashreplace"))
        timeline = timeline._replace(headers=(*timeline.headers, header))
    return plan._replace(timeline=timeline, rule=rule, nearest=chosen.nearest, attempt=attempt)


def unmatched(heard: Question, nearest: Sequence[Near]) -> Plan:
    """The plan of a refusal with status 404, for a request without a matching stub if only stubs may answer."""
    message = f"No stub matches this request. {in_words(nearest)}"
    return refuse(Rejection(FailureKind.INVALID_REQUEST, message, status=404), heard.visit, heard.request)


def in_words(nearest: Sequence[Near]) -> str:
    """The stubs that are nearest to a request and how they differ, as a sentence."""
    stubs = (f"{near.name!r} ({'; '.join(map(str, near.differences))})" for near in nearest)
    return f"Nearest: {', '.join(stubs)}." if nearest else "There are no stubs."


def resolved(prepared: Prepared, chosen: Chosen) -> Prepared:
    """The prepared answer for this request: templates are filled, functions called. Raises HandlerError."""
    if prepared.template is not None:
        try:
            from mockserver.core.groups import groups_of  # few stubs have templates

            groups = groups_of(chosen.criteria, chosen.facts)
            filled = read_prepared(fill_all(prepared.template, chosen.facts, groups))
        except (StubError, TemplateError) as error:
            raise HandlerError(f"{chosen.by}: its filled template: {error}") from None
        return prepared._replace(content=filled.content, headers=joined(filled.headers, prepared.headers))
    content = prepared.content
    if content is None or isinstance(content, Speech | Measures | Raw):
        return prepared
    returned = _from_handler(content, chosen)
    return prepared._replace(
        content=returned.content,
        faults=(*prepared.faults, *returned.faults),
        headers=joined(returned.headers, prepared.headers),
    )


def _from_handler(handler: Handler, chosen: Chosen) -> Prepared:
    """The answer that a user's function returns for a request. Raises HandlerError."""
    try:
        value = handler(chosen.facts)
    except Exception as error:
        raise HandlerError(f"{chosen.by}: its function {raised(error)}") from error
    if not (value is None or isinstance(value, str | Mapping) or callable(value)):
        raise HandlerError(
            f"{chosen.by}: its function returned {value!r}; it may return a string, a reply such as tool_call(...), "
            "as_json(...), error(...) or {'text': 'It rains.'}, or None for a generated answer"
        )
    try:
        returned = Prepared() if value is None else read_prepared(value)
    except StubError as error:
        raise HandlerError(f"{chosen.by}: its function returned an invalid reply: {error}") from error
    own = (returned.seed, returned.latency, returned.output_tokens)
    if callable(returned.content) or own != (None, None, None):
        raise HandlerError(
            f"{chosen.by}: its function returned a function, a seed, a latency or output_tokens; set these in the stub "
            "itself"
        )
    return resolved(returned, chosen)


def _checked_measures(measures: Measures, heard: Question, by: str) -> Measures:
    """One measure for each text of a request. Raises WishError if it has another number of texts, or asks for none."""
    kind, given = measures.kind, len(measures.values)
    what = MEASURED[kind]
    if measure_of(heard) != kind:
        raise WishError(f"{by}: {kind}: this request does not ask for {what}")
    wanted = len(heard.request.prompts) - (kind == "scores")
    if kind == "embedding" and given == 1:
        return measures._replace(values=measures.values * wanted)
    if given != wanted:
        hint = ", or a single one for all" if kind == "embedding" else ""
        raise WishError(
            f"{by}: {kind}: has {given} {what}, but the request has {wanted} texts; give one for each{hint}"
        )
    return measures


def _check_calls(speech: Speech | None, heard: Question, by: str) -> None:
    operation, dialect = heard.visit.landing.operation, heard.visit.landing.dialect
    if speech is not None and speech.calls and not (operation is not None and operation.calls_tools):
        named = operation.name if operation is not None else ""
        raise WishError(f"{by}: tool_calls: {dialect.name}'s {named} cannot call tools")


def _reply(raw: Raw) -> Reply:
    """A body as it is; server-sent events become separate frames, so that faults and latency can act between them."""
    streamed = is_stream(raw.content_type)
    events = events_in(raw.body) if streamed else [raw.body]
    frames = Frames(events, range(len(events)), (1 if streamed else 0,) * len(events))
    return Reply(raw.status, ((b"content-type", raw.content_type.encode("latin-1")),), (frames,), streamed)


def _with_headers(plan: Plan, headers: RawHeaders) -> Plan:
    if not headers:
        return plan
    return plan._replace(timeline=plan.timeline._replace(headers=joined(headers, plan.timeline.headers)))
