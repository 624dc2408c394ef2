"""The echo of a prompt, for requests with `echo`: its tokens before those of the answer."""

from collections.abc import Sequence
from typing import NamedTuple

from mockserver.core.generation import GenerationRequest, Position, Prompt, Sampling
from mockserver.model import tokens
from mockserver.model.positions import asked_positions


class Echo(NamedTuple):
    """The tokens of a prompt as an answer repeats them, with log-probabilities if these are requested."""

    texts: Sequence[str] = ()
    positions: Sequence[Position] = ()


NO_ECHO = Echo()


def echo_of(request: GenerationRequest, prompt: Prompt, key: int) -> Echo:
    """The echo of a prompt; empty if the request asks for none. The key decides how likely its tokens are."""
    if not request.output.echo:
        return NO_ECHO
    ids = prompt.ids or tokens.encode(prompt.text)
    texts = tokens.texts(ids)
    # A prompt is not sampled, so the request's sampling parameters do not apply.
    return Echo(texts, asked_positions(request, prompt, ids, texts, key, Sampling()))
