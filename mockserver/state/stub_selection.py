"""Selecting the prepared answer of a request, or explaining why there is none: its own header first, then the stubs."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from mockserver.core.generation import Measure, Measures
from mockserver.faults.catalogue import FAULTS
from mockserver.state.context import HeaderError, RequestContext
from mockserver.state.plan import Plan
from mockserver.state.stubs.registry import Fits, HandlerError, Prepared, Raw, Stub, StubRegistry
from mockserver.state.stubs.replies import read_header_reply
from mockserver.state.stubs.values import StubError


def choose(plan: Plan, book: StubRegistry, standing: Sequence[Stub] = ()) -> None:
    """Choose the prepared answer of a request; `standing` are the stubs of the settings.

    The vendor's own refusals are never replaced. Raises HeaderError if the request's own header cannot be obeyed.
    """
    if plan.rejection is not None:
        return
    requested = requested_reply(plan.context) if plan.context.overrides else None
    if requested is None and book.is_empty(standing):
        # If only stubs may answer, having no stubs at all also counts as no match.
        plan.nearest = () if plan.context.settings.unmatched == "refuse" and plan.asks_model else None
        return
    fits = _fits_for(plan)
    if requested is not None:
        if not fits(requested):
            raise HeaderError(f"X-Mockserver-Reply: {_misfit(plan)}")
        plan.prepared = requested
        return
    facts = plan.facts
    assert facts is not None, "a request that meets stubs has facts"
    try:
        found = book.take(facts, standing, fits)
        if found is not None:
            plan.rule, plan.prepared, plan.criteria = found.stub.name, found.prepared, found.criteria
        elif plan.asks_model:
            plan.nearest = book.explain(facts, standing, fits)
    except HandlerError as error:
        plan.trouble = str(error)


def check_faults(prepared: Prepared, plan: Plan) -> None:
    """Raise HeaderError if a fault of a prepared answer cannot strike it."""
    for fault in prepared.faults:
        kind = FAULTS[fault.kind]
        if kind.streams and not (plan.request is not None and plan.request.output.stream):
            raise HeaderError(f"{plan.by}: {fault.kind!r} needs a stream, but this request does not ask for one")
        if kind.says is not None and not plan.speaks:
            raise HeaderError(
                f"{plan.by}: {fault.kind!r} changes what a model says, but this request does not ask a model"
            )


def requested_reply(context: RequestContext) -> Prepared | None:
    """The answer that a request's own header prescribes. Raises HeaderError if it cannot be read."""
    text = context.overrides.get("reply")
    if text is None:
        return None
    try:
        return read_header_reply(_decoded(text))
    except StubError as error:
        raise HeaderError(f"X-Mockserver-Reply: {error}") from None


def _decoded(text: str) -> str:
    """The text of a header: decoded from UTF-8, as most clients send non-ASCII text, else from Latin-1."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError:
        return text


def _fits_for(plan: Plan) -> Fits:
    """Whether a prepared answer is possible for a request: a text is for models that generate text, a measure for those
    that measure, and a body, or no content at all, for every request."""
    if plan.speaks:
        return _fits_speech
    measure = measure_of(plan)
    return _fits_body if measure is None else partial(_fits_measure, measure)


def measure_of(plan: Plan) -> Measure | None:
    """What the model that a request asks measures; None if it asks none, or one that generates text."""
    operation = plan.context.route.operation
    return operation.measure if plan.asks_model and operation is not None else None


def _fits_speech(prepared: Prepared) -> bool:
    return not isinstance(prepared.content, Measures)


def _fits_measure(measure: Measure, prepared: Prepared) -> bool:
    content: Any = prepared.content
    return content.kind == measure if isinstance(content, Measures) else _fits_body(prepared)


def _fits_body(prepared: Prepared) -> bool:
    content: Any = prepared.content
    return content is None or isinstance(content, Raw)


def _misfit(plan: Plan) -> str:
    """Why a reply does not fit a request, and which would."""
    if plan.speaks:
        return "this request asks for a text, so the reply cannot be an embedding or scores"
    measure = measure_of(plan)
    other = f" or {{ {measure} = [...] }}" if measure is not None else ""
    return f"this request does not ask a model, so the reply must be a body{other}"
