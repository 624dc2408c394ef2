"""A request with the wishes that only this vendor knows."""

from typing import NamedTuple

from mockserver.core.generation import GenerationRequest


class Wishes(NamedTuple):
    """What the neutral request has no place for.

    `timeout` is in seconds, None for none; `forced` are the tokens that the answer has to be, none for its own;
    `logprobs` and `logits` say what each choice of the documented edition shows of its tokens.
    """

    timeout: float | None = None
    forced: tuple[int, ...] = ()
    logprobs: bool = False
    logits: bool = False


def wishes_of(request: GenerationRequest) -> Wishes:
    """The wishes of a request; none where it came another way."""
    return request.wishes if isinstance(request.wishes, Wishes) else Wishes()
