"""`forced_output_tokens`: "a token sequence that is enforced as a generation output".

The model generates a text of the same length, whose tokens are then replaced while its timing is kept. The scores are
those of the forced tokens: they depend on the model, the prompt and the preceding tokens, but on no seed, as needed by
an evaluation that compares the likelihood of several answers to one question.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mockserver.core.generation import Choice, Generation, GenerationRequest, Position, Sampling
from mockserver.core.seeding import derive
from mockserver.dialects.friendli.reasoning import options_of
from mockserver.model import tokens
from mockserver.model.intent import detect_intent
from mockserver.model.logprobs import positions, scale


def enforced(generation: Generation) -> Generation:
    """The generation with its request's forced tokens in every choice; unchanged if there are none."""
    forced = options_of(generation.request).forced
    if not forced or generation.prepared:
        return generation
    made = tuple(_enforced(choice, forced, generation.request) for choice in generation.choices)
    return generation._replace(choices=made)


def _enforced(choice: Choice, forced: tuple[int, ...], request: GenerationRequest) -> Choice:
    ids = forced[: len(choice.ids)]
    texts = tokens.texts(ids)
    reason = choice.finish_reason if len(ids) < len(forced) else "stop"
    scores = tuple(_scores(choice, ids, texts, request)) if choice.positions else ()
    return replace(choice, ids=ids, texts=texts, finish_reason=reason, positions=scores)


def _scores(choice: Choice, ids: Sequence[int], texts: Sequence[str], request: GenerationRequest) -> Iterator[Position]:
    """The log-probability of each token, given those before it."""
    likely = scale(Sampling(), detect_intent(choice.prompt.topic).language)
    key = derive(0, "forced", request.model, choice.prompt.text)
    for token, text in zip(ids, texts, strict=True):
        key = derive(key, token)
        yield from positions((token,), (text,), request.output.logprobs or 0, key, likely)
