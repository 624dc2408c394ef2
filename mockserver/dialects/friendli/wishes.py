"""A request with the wishes that only this vendor knows."""

from typing import Literal, NamedTuple

from mockserver.core.generation import GenerationRequest

# Where thoughts go: apart from the content, into it, or nowhere; or their tags stand in it with nothing between.
Thoughts = Literal["apart", "inside", "hidden", "empty"]


class Wishes(NamedTuple):
    """What the neutral request has no place for.

    `timeout` is in seconds, None for none; `forced` are the tokens that the answer has to be, none for its own;
    `logprobs` and `logits` say what each choice of the documented edition shows of its tokens. A chat's `thoughts` go
    where they are told.
    """

    timeout: float | None = None
    forced: tuple[int, ...] = ()
    logprobs: bool = False
    logits: bool = False
    thoughts: Thoughts = "apart"


def wishes_of(request: GenerationRequest) -> Wishes:
    """The wishes of a request; none where it came another way."""
    return request.wishes if isinstance(request.wishes, Wishes) else Wishes()
