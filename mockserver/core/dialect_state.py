"""What a dialect keeps in a namespace: the history of its responses, and the webhooks that it still has to send.

A dialect may have a history, for operations that tell of earlier responses: the vendor's own metrics, stored answers.
It is told of every response that begins, in the server's thread; the dialect's operations read it.

A webhook queue has messages and callbacks to deliver, and decides which requests are due and what follows from their
results. It never waits and never sends anything: a sender (in `server`) makes the requests that it hands out. Times are
Unix seconds.

A response may carry `orders` that change either, functions that are called when it begins.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from mockserver.core.failures import Refusal
from mockserver.core.generation import Generation, GenerationRequest
from mockserver.core.http import Call, RawHeaders, TokenTiming


class ServedResponse(NamedTuple):
    """A call that an operation answers.

    - `scope`: what the operation knows of the call, a `dialects.RequestScope` (whose module imports this one).
    - `request`: what was asked of a model, None if the call was refused before, or asks no model.
    - `refusal`: why it is refused, None if it is not.
    - `status`: that of the answer; without a refusal, an error's is a fault's.
    - `generation`, `pace`: what the model says, and when; None if it says nothing, or a fault keeps all of it back.
    - `orders`: what the answer changes in the history; none if it is refused.
    """

    operation: str
    call: Call
    scope: Any
    request: GenerationRequest | None
    refusal: Refusal | None
    status: int
    generation: Generation | None = None
    pace: TokenTiming | None = None
    orders: tuple[Any, ...] = ()


class Progress(NamedTuple):
    """How far an answer got: how many events were sent, after how many seconds it ended, and whether it was complete
    rather than left by the client."""

    events: int
    seconds: float
    complete: bool


class ResponseHistory(Protocol):
    """What a dialect remembers in a namespace: of the answers of these `operations`, each with a text that the body of
    the request must have (`b""` if any will do), and of all answers with orders."""

    operations: Mapping[str, bytes]

    def has_stored(self, id_: str) -> bool:
        """Whether it has an answer with this id."""

    def begin(self, served: ServedResponse) -> Callable[[Progress], None] | None:
        """Note an answer that begins; return what notes its end, None if nothing does."""


class WebhookRequest(NamedTuple):
    """A request to make.

    - `message`: the id of what it delivers; `attempt` counts its attempts from 0.
    - `url`: absolute for an application of the user's. A mere path is one of the dialect's own: the server answers it
      itself, as if a client had asked, and the exchange is in the journal.
    - `timeout`: how many seconds of the namespace's clock it may take.
    """

    message: str
    method: str
    url: str
    headers: RawHeaders = ()
    body: bytes = b""
    attempt: int = 0
    timeout: float = 60.0

    @property
    def is_internal(self) -> bool:
        """Whether the server itself answers it."""
        return self.url.startswith("/")


class WebhookResult(NamedTuple):
    """The answer to a request; without a `status` there was none, and `error` says why."""

    status: int | None = None
    headers: RawHeaders = ()
    body: bytes = b""
    error: str = ""


class WebhookQueue(Protocol):
    """What a dialect still has to send in a namespace. It is used by one thread; answers may read it from any."""

    def due(self, now: float, real: float, most: int) -> Sequence[WebhookRequest]:
        """The requests to begin now, `most` at most. Each is handed out once, and its result is reported later.

        It is `now` on the namespace's clock, which tests may have advanced, and the `real` time.
        """

    def next_due(self) -> float | None:
        """When the next request is due; None if none is waiting."""

    def done(self, task: WebhookRequest, outcome: WebhookResult, now: float) -> None:
        """Take note of the result of a request."""
