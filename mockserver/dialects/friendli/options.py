"""What only this vendor's requests ask of its writers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from mockserver.core.generation import GenerationRequest

# Where thoughts go: apart from the content, inside it, or nowhere; or the content has their empty tags. Those that are
# `leaked` are inside it with only the closing tag.
Thoughts = Literal["apart", "inside", "leaked", "hidden", "empty"]


class ChatOptions(NamedTuple):
    """What the neutral request has no field for.

    `timeout` is in seconds, None for none; `forced` are the tokens of a prescribed answer, empty for none;
    `logprobs` and `logits` are what each choice of the documented edition shows of its tokens; `thoughts` is where the
    thoughts of a chat go; `media` are how many tokens of a chat's prompt each medium counts.
    """

    timeout: float | None = None
    forced: tuple[int, ...] = ()
    logprobs: bool = False
    logits: bool = False
    thoughts: Thoughts = "apart"
    media: Mapping[str, int] = MappingProxyType({})


def options_of(request: GenerationRequest) -> ChatOptions:
    """The options of a request; the defaults for one that another dialect has read."""
    return request.extra if isinstance(request.extra, ChatOptions) else ChatOptions()
