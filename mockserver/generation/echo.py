"""The echo of a prompt, where a request asks for it: its tokens in front of the answer's own."""

from collections.abc import Sequence
from typing import NamedTuple

from mockserver.core.generation import GenerationRequest, Position, Prompt, Sampling
from mockserver.generation import tokens
from mockserver.generation.logprobs import asked_positions


class Echo(NamedTuple):
    """A prompt as its answer repeats it: token by token, with log-probabilities where these are asked for."""

    ids: Sequence[int] = ()
    texts: Sequence[str] = ()
    positions: Sequence[Position] = ()


_NONE = Echo()


def echo_of(request: GenerationRequest, prompt: Prompt, key: int) -> Echo:
    """The echo of a prompt; empty where the request asks for none. The key decides how likely its tokens are."""
    if not request.output.echo:
        return _NONE
    ids = prompt.ids or tokens.encode(prompt.text)
    texts = tokens.texts(ids)
    # Nothing is drawn of a prompt: it is what it is.
    return Echo(ids, texts, asked_positions(request, prompt, ids, texts, key, Sampling()))
