"""Choosing the prepared answer of a request, or explaining why there is none: its own header first, then the stubs."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from mockserver.control.facts import RequestFacts
from mockserver.control.namespaces import Namespace
from mockserver.control.plan import Heard, Plan, Question, of_lengths
from mockserver.control.stubs.book import Fits, HandlerError, Near, Prepared, Raw, Stub
from mockserver.control.stubs.replies import read_wish
from mockserver.control.stubs.values import StubError
from mockserver.control.visits import WishError, overridden
from mockserver.core.calls import Headers
from mockserver.core.criteria import Criteria
from mockserver.core.generation import Measure, Measures
from mockserver.faults.catalogue import FAULTS
from mockserver.generation.prepared import Speech

# A text of more characters takes some milliseconds to turn into an answer.
_LONG_TEXT = 20_000


class Chosen(NamedTuple):
    """The prepared answer of a request, if any, from the stub named `rule` or from the request's own header.

    `criteria` are those of the stub that the request has met.
    `nearest` are the nearest stubs if there are stubs but none has matched. `trouble` describes the exception that a
    user's function has raised while matching.
    """

    facts: RequestFacts
    rule: str | None = None
    prepared: Prepared | None = None
    nearest: tuple[Near, ...] | None = None
    trouble: str | None = None
    criteria: tuple[Criteria, ...] = ()

    @property
    def by(self) -> str:
        """What has prepared the answer, for messages."""
        return "X-Mockserver-Reply" if self.rule is None else f"stub {self.rule!r}"

    @property
    def is_reusable(self) -> bool:
        """Whether no answer is prepared, no stub has been searched in vain, and this is the first attempt."""
        return self.prepared is None and self.nearest is None and self.trouble is None and self.facts.attempt == 1

    @property
    def takes_long(self) -> bool:
        """Whether the prepared answer may take more than some milliseconds to write."""
        content = self.prepared.content if self.prepared is not None else None
        return callable(content) or (isinstance(content, Speech) and len(content.text) > _LONG_TEXT)

    @property
    def is_body(self) -> bool:
        """Whether a body is prepared, so that no engine is needed."""
        return self.prepared is not None and isinstance(self.prepared.content, Raw)


def facts_of(heard: Heard, namespace: Namespace) -> RequestFacts:
    """The facts of a request. This call counts the request."""
    number = namespace.retries.count() if isinstance(heard, Question) else 0
    return RequestFacts(heard, number, namespace.retries.attempt(heard.visit))


def choose(heard: Heard, facts: RequestFacts, namespace: Namespace, standing: Sequence[Stub] = ()) -> Chosen:
    """Choose the prepared answer of a request; `standing` are the stubs of the settings.

    The vendor's own refusals are never replaced. Raises WishError if the request's own header cannot be obeyed.
    """
    asks = isinstance(heard, Question)
    fits = _fits_for(heard)
    if isinstance(heard, Plan) and heard.rejection is not None:
        return Chosen(facts)
    wish = wished_reply(heard.visit.call.headers)
    if wish is not None:
        if not fits(wish):
            raise WishError(f"X-Mockserver-Reply: {_misfit(heard)}")
        return Chosen(facts, prepared=wish)
    book = namespace.stubs
    if book.is_empty(standing):
        # If only stubs may answer, having no stubs at all also counts as no match.
        return Chosen(facts, nearest=() if asks and heard.visit.settings.unmatched == "refuse" else None)
    try:
        found = book.take(facts, standing, fits)
        if found is not None:
            return Chosen(facts, found.stub.name, found.prepared, criteria=found.criteria)
        return Chosen(facts, nearest=book.explain(facts, standing, fits) if asks else None)
    except HandlerError as error:
        return Chosen(facts, trouble=str(error))


def overridden_by(question: Question, chosen: Chosen) -> Question:
    """The question with the seed, the latency and the lengths of its prepared answer."""
    prepared = chosen.prepared
    if prepared is None or (prepared.seed, prepared.latency, prepared.output_tokens) == (None, None, None):
        return question
    request = question.request
    visit = overridden(question.visit, request.model, prepared.seed, prepared.latency, prepared.output_tokens)
    limited = of_lengths(request, visit.lengths)
    return Question(visit, limited, question.kept and limited is request)


def check_faults(prepared: Prepared, heard: Heard, by: str) -> None:
    """Raise WishError if a fault of a prepared answer cannot strike it."""
    streamed = isinstance(heard, Question) and heard.request.output.stream
    for fault in prepared.faults:
        kind = FAULTS[fault.kind]
        if kind.streams and not streamed:
            raise WishError(f"{by}: {fault.kind!r} needs a stream, but this request does not ask for one")
        if kind.says is not None and not (isinstance(heard, Question) and heard.speaks):
            raise WishError(f"{by}: {fault.kind!r} changes what a model says, but this request does not ask a model")


def wished_reply(headers: Headers) -> Prepared | None:
    """The answer that a request's own header prescribes. Raises WishError if it cannot be read."""
    text = headers.get("x-mockserver-reply")
    if text is None:
        return None
    try:
        return read_wish(_decoded(text))
    except StubError as error:
        raise WishError(f"X-Mockserver-Reply: {error}") from None


def _decoded(text: str) -> str:
    """The text of a header: decoded from UTF-8, as most clients send non-ASCII text, else from Latin-1."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError:
        return text


def _fits_for(heard: Heard) -> Fits:
    """Whether a prepared answer is possible for a request: a text is for models that generate text, a measure for those
    that measure, and a body, or no content at all, for every request."""
    if isinstance(heard, Question) and heard.speaks:
        return _fits_speech
    measure = measure_of(heard)
    return _fits_body if measure is None else partial(_fits_measure, measure)


def measure_of(heard: Heard) -> Measure | None:
    """What the model that a request asks measures; None if it asks none, or one that generates text."""
    operation = heard.visit.landing.operation
    return operation.measure if isinstance(heard, Question) and operation is not None else None


def _fits_speech(prepared: Prepared) -> bool:
    return not isinstance(prepared.content, Measures)


def _fits_measure(measure: Measure, prepared: Prepared) -> bool:
    content: Any = prepared.content
    return content.kind == measure if isinstance(content, Measures) else _fits_body(prepared)


def _fits_body(prepared: Prepared) -> bool:
    content: Any = prepared.content
    return content is None or isinstance(content, Raw)


def _misfit(heard: Heard) -> str:
    """Why a reply does not fit a request, and which would."""
    if isinstance(heard, Question) and heard.speaks:
        return "this request asks for a text, so the reply cannot be an embedding or scores"
    measure = measure_of(heard)
    other = f" or {{ {measure} = [...] }}" if measure is not None else ""
    return f"this request does not ask a model, so the reply must be a body{other}"
