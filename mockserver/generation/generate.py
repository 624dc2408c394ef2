"""Requests become generations: stories cut by limits and stops, with their seeds, log-probabilities and usage.

What a choice says depends on the seed, the model, the prompt, the constraint and the choice's own seed; limits, stops
and log-probabilities only decide how much of it is heard. So a lower limit gives a prefix, choice 0 of three is the
choice of one, and asking with the seed that an answer stated gives that answer again.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from mockserver.core.generation import Choice, FinishReason, Generation, GenerationRequest, Position, Prompt, Usage
from mockserver.core.seeding import derive
from mockserver.generation import tokens
from mockserver.generation.logprobs import positions, score
from mockserver.generation.stops import cut_at_stop
from mockserver.generation.story import beginning
from mockserver.generation.subject import brief

# Where the model would say more but nobody limits it: no choice is longer than this many tokens.
_LONGEST = 131_072


class _Draft(NamedTuple):
    """A choice before it has its place: its seed, its tokens and why it ended."""

    seed: int
    ids: Sequence[int]
    texts: Sequence[str]
    finish_reason: FinishReason
    stop: str | int | None


def generate(request: GenerationRequest, seed: int) -> Generation:
    """All choices for all prompts, in order: the choices of the first prompt, then those of the next."""
    fingerprint = derive(seed, "request", request.model, repr(request.constraint), *(p.text for p in request.prompts))
    choices: list[Choice] = []
    asked: Counter[str] = Counter()
    for prompt in request.prompts:
        drafts = _drafts(request, prompt, asked[prompt.text], seed)
        asked[prompt.text] += 1
        for draft in _best(drafts, request, prompt):
            choices.append(_choice(draft, len(choices), request, prompt))
    completion = sum(choice.steps for choice in choices)
    usage = Usage(request.prompt_tokens, completion)
    own_seeds = (str(number) for number in request.sampling.seeds)
    return Generation(request, tuple(choices), usage, derive(fingerprint, *own_seeds))


def _drafts(request: GenerationRequest, prompt: Prompt, time: int, seed: int) -> list[_Draft]:
    """The candidates for a prompt, which is asked for the `time`-th time in this request."""
    topic = prompt.topic if prompt.chat else ""
    content = derive(seed, "content", request.model, repr(request.constraint), prompt.text, topic, int(prompt.chat))
    seeds = _choice_seeds(request, content, time)
    # The most likely answer is one and the same whatever the seed; beams and candidates still differ.
    single = request.sampling.greedy and request.best_of == 1
    return [_draft(request, prompt, derive(content, "text", 0 if single else own), own) for own in seeds]


def _choice_seeds(request: GenerationRequest, content: int, time: int) -> list[int]:
    """One seed per candidate: the request's own, or picked as a server would, but derived."""
    given = request.sampling.seeds
    wanted = max(request.n, request.best_of)
    if not given:
        return [derive(content, "seed", time, index) >> 33 for index in range(wanted)]
    return [given[index] if index < len(given) else derive(given[-1], "seed", index) >> 33 for index in range(wanted)]


def _draft(request: GenerationRequest, prompt: Prompt, key: int, own_seed: int) -> _Draft:
    limit = _limit(request, prompt)
    least = limit if request.limits.ignore_eos else request.limits.min_tokens
    ids, texts, ended = beginning(prompt, key, request.constraint, limit=limit, least=least)
    stopped = cut_at_stop(ids, texts, request.stops, request.limits.min_tokens)
    if stopped is not None:
        return _Draft(own_seed, stopped.ids, stopped.texts, "stop", stopped.stop)
    return _Draft(own_seed, ids, texts, "stop" if ended else "length", None)


def _limit(request: GenerationRequest, prompt: Prompt) -> int:
    """The most tokens that a choice may have: the request's limit, or what the context window leaves."""
    room = max(min(request.limits.context - prompt.token_count, _LONGEST), 0)
    asked = request.limits.max_tokens
    return room if asked is None else min(asked, room)


def _best(drafts: list[_Draft], request: GenerationRequest, prompt: Prompt) -> list[_Draft]:
    """The `n` likeliest of the candidates, best first; all of them where there is nothing to choose."""
    if len(drafts) == request.n:
        return drafts
    language = brief(prompt.topic).language
    return sorted(drafts, key=lambda d: -score(d.ids, d.texts, d.seed, language))[: request.n]


def _choice(draft: _Draft, index: int, request: GenerationRequest, prompt: Prompt) -> Choice:
    echo: Sequence[int] = (prompt.ids or tokens.encode(prompt.text)) if request.output.echo else ()
    echo_texts = tokens.texts(echo)
    return Choice(
        index=index,
        seed=draft.seed,
        ids=draft.ids,
        texts=draft.texts,
        finish_reason=draft.finish_reason,
        prompt=prompt,
        stop=draft.stop,
        positions=_positions(draft.ids, draft.texts, draft.seed, request, prompt),
        echo_ids=echo,
        echo_texts=echo_texts,
        echo_positions=_positions(echo, echo_texts, derive(draft.seed, "echo"), request, prompt),
    )


def _positions(
    ids: Sequence[int], texts: Sequence[str], key: int, request: GenerationRequest, prompt: Prompt
) -> Sequence[Position]:
    alternatives = request.output.logprobs
    if alternatives is None:
        return ()
    language = brief(prompt.topic).language
    return positions(ids, texts, alternatives, key, greedy=request.sampling.greedy, language=language)
