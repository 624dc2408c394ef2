"""The positions of tokens, which state how likely each of them was, for requests that ask for log-probabilities."""

from collections.abc import Sequence

from mockserver.core.generation import GenerationRequest, Position, Prompt, Sampling
from mockserver.model.intent import detect_intent


def asked_positions(
    request: GenerationRequest,
    prompt: Prompt,
    ids: Sequence[int],
    texts: Sequence[str],
    key: int,
    sampling: Sampling,
    *,
    found: bool = False,
) -> Sequence[Position]:
    """The positions of tokens that follow a prompt; empty if the request asks for no log-probabilities."""
    alternatives = request.output.logprobs
    if alternatives is None:
        return ()
    # Few requests ask for them: without this import the server starts sooner.
    from mockserver.model.logprobs import positions, scale

    return positions(ids, texts, alternatives, key, scale(sampling, detect_intent(prompt.topic).language, found=found))
