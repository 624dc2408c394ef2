"""Which prepared answer a request gets, and if none, why: its own header first, then the stubs of its namespace."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mockserver.control.facts import RequestFacts
from mockserver.control.namespaces import Namespace
from mockserver.control.plan import Heard, Plan, Question
from mockserver.control.stubs.book import HandlerError, Near, Prepared, Raw, Stub
from mockserver.control.stubs.replies import read_wish
from mockserver.control.stubs.values import StubError
from mockserver.control.visits import WishError, overridden
from mockserver.core.calls import Headers
from mockserver.faults.catalogue import FAULTS
from mockserver.generation.prepared import Speech

# A text of so many characters takes some milliseconds to say.
_LONG_TEXT = 20_000


class Chosen(NamedTuple):
    """What is prepared for a request: by the rule of a name, or by its own header; nothing where `prepared` is None.

    `nearest` tells of a request that no stub has matched, though there are some. `trouble` is what a function of the
    user's has raised in matching.
    """

    facts: RequestFacts
    rule: str | None = None
    prepared: Prepared | None = None
    nearest: tuple[Near, ...] | None = None
    trouble: str | None = None

    @property
    def by(self) -> str:
        """Who has prepared it, in words."""
        return "X-Mockserver-Reply" if self.rule is None else f"stub {self.rule!r}"

    @property
    def is_reusable(self) -> bool:
        """Whether nothing was prepared, looked for in vain, or tried before."""
        return self.prepared is None and self.nearest is None and self.trouble is None and self.facts.attempt == 1

    @property
    def takes_long(self) -> bool:
        """Whether saying it may take more than some milliseconds."""
        content = self.prepared.content if self.prepared is not None else None
        return callable(content) or (isinstance(content, Speech) and len(content.text) > _LONG_TEXT)

    @property
    def is_body(self) -> bool:
        """Whether no engine is asked, since a body is given."""
        return self.prepared is not None and isinstance(self.prepared.content, Raw)


def facts_of(heard: Heard, namespace: Namespace) -> RequestFacts:
    """The facts of a request, which is counted with this."""
    number = namespace.retries.count() if isinstance(heard, Question) else 0
    return RequestFacts(heard, number, namespace.retries.attempt(heard.visit))


def choose(heard: Heard, facts: RequestFacts, namespace: Namespace, standing: Sequence[Stub] = ()) -> Chosen:
    """The answer that is prepared for a request. `standing` are the stubs of the settings.

    What the vendor refuses stays refused. Raises WishError when the request's own header cannot be obeyed.
    """
    asks = isinstance(heard, Question)
    # Words are for a model that speaks, not for one that embeds texts.
    fits = None if isinstance(heard, Question) and heard.speaks else _fits_body
    if isinstance(heard, Plan) and heard.rejection is not None:
        return Chosen(facts)
    wish = wished_reply(heard.visit.call.headers)
    if wish is not None:
        if fits is not None and not fits(wish):
            raise WishError("X-Mockserver-Reply: no model speaks here; only a body can be given")
        return Chosen(facts, prepared=wish)
    book = namespace.stubs
    if book.is_empty(standing):
        # Where only stubs may answer, none at all matches nothing either.
        return Chosen(facts, nearest=() if asks and heard.visit.settings.unmatched == "refuse" else None)
    try:
        found = book.take(facts, standing, fits)
        if found is not None:
            return Chosen(facts, found.stub.name, found.prepared)
        return Chosen(facts, nearest=book.explain(facts, standing, fits) if asks else None)
    except HandlerError as error:
        return Chosen(facts, trouble=str(error))


def overridden_by(question: Question, chosen: Chosen) -> Question:
    """The question under the seed and the latency that its prepared answer has."""
    prepared = chosen.prepared
    if prepared is None or (prepared.seed is None and prepared.latency is None):
        return question
    return question._replace(visit=overridden(question.visit, question.request.model, prepared.seed, prepared.latency))


def check_faults(prepared: Prepared, heard: Heard, by: str) -> None:
    """Raise WishError when a fault of an answer that somebody has prepared cannot strike it."""
    streamed = isinstance(heard, Question) and heard.request.output.stream
    for fault in prepared.faults:
        kind = FAULTS[fault.kind]
        if kind.streams and not streamed:
            raise WishError(f"{by}: {fault.kind!r} strikes streams, and this request asks for none")
        if kind.says is not None and not (isinstance(heard, Question) and heard.speaks):
            raise WishError(f"{by}: {fault.kind!r} strikes what a model says, and no model speaks here")


def wished_reply(headers: Headers) -> Prepared | None:
    """The answer that a request's own header asks for. Raises WishError when it cannot be read."""
    text = headers.get("x-mockserver-reply")
    if text is None:
        return None
    try:
        return read_wish(_decoded(text))
    except StubError as error:
        raise WishError(f"X-Mockserver-Reply: {error}") from None


def _decoded(text: str) -> str:
    """The text of a header: in UTF-8, as most clients send what is beyond ASCII, else in Latin-1."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError:
        return text


def _fits_body(prepared: Prepared) -> bool:
    """Whether an answer can be given where no model speaks: words cannot."""
    content: Any = prepared.content
    return content is None or isinstance(content, Raw)
