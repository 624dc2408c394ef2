"""What a dialect remembers of its answers, for operations that tell of them: the vendor's own metrics, stored answers.

A dialect may have a ledger, one in each namespace. It is told of every answer that begins, in the server's thread; the
dialect's operations read it.
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, Protocol

from mockserver.core.calls import Call
from mockserver.core.failures import Rejection
from mockserver.core.generation import Generation, GenerationRequest
from mockserver.core.timeline import Pace


class Served(NamedTuple):
    """A call that an operation answers.

    - `site`: what the operation knows of the call, a `dialects.Site` (whose module imports this one).
    - `request`: what was asked of a model, None if the call was refused before, or asks no model.
    - `rejection`: why it is refused, None if it is not.
    - `status`: that of the answer; without a rejection, an error's is a fault's.
    - `generation`, `pace`: what the model says, and when; None if it says nothing, or a fault keeps all of it back.
    """

    operation: str
    call: Call
    site: Any
    request: GenerationRequest | None
    rejection: Rejection | None
    status: int
    generation: Generation | None = None
    pace: Pace | None = None


class Extent(NamedTuple):
    """How far an answer got: how many events were sent, after how many seconds it ended, and whether it was complete
    rather than left by the client."""

    events: int
    seconds: float
    complete: bool


class Ledger(Protocol):
    """What a dialect remembers in a namespace, of the answers of these `operations`."""

    operations: Collection[str]

    def begin(self, served: Served) -> Callable[[Extent], None] | None:
        """Note an answer that begins; return what notes its end, None if nothing does."""
