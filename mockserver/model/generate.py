"""Generations for requests: texts cut by limits and stops, with their seeds, log-probabilities and usage.

The text of a choice depends on the seed, the model, the prompt, the constraint, the sampling parameters and the
choice's own seed; limits, stops and log-probabilities only decide how much of it is returned. So a lower limit gives a
prefix, choice 0 of three equals an only choice, and a request with the seed stated in an answer gives that answer
again.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from sys import getsizeof
from typing import NamedTuple

import orjson

from mockserver.core.caches import Cache
from mockserver.core.generation import (
    LONGEST_CHOICE,
    Choice,
    Constraint,
    Effort,
    FinishReason,
    Form,
    Generation,
    GenerationRequest,
    Position,
    Prompt,
    Sampling,
    ToolCall,
    Unseen,
    Usage,
    first_steps,
)
from mockserver.core.seeding import Draws, derive
from mockserver.model import tokens
from mockserver.model.intent import detect_intent
from mockserver.model.logprobs import NO_ECHO, asked_positions, echo_of, positions, ranked, scale
from mockserver.model.output_formats import requested_format
from mockserver.model.prose import think
from mockserver.model.sampling import (
    GREEDY,
    GREEDY_SEED,
    ChoiceSeeds,
    choice_tokens,
    cut_at_stop,
    drawn_length,
    freedom,
    stops_early,
)
from mockserver.model.tokens import name_of

# How many more candidates a search draws at most, in place of those that say the same as another.
_SPARE = 16

_text_of, _tokens_of = attrgetter("text"), attrgetter("answer_tokens")


class _Draft(NamedTuple):
    """A choice before it has an index. `seed` is the seed that it states, `key` decides how likely its tokens are.

    `likeliest` marks the one that greedy sampling gives.
    """

    seed: int
    key: int
    ids: Sequence[int]
    texts: Sequence[str]
    finish_reason: FinishReason
    stop: str | int | None
    calls: tuple[ToolCall, ...] = ()
    reasoning: int = 0
    thoughts: Sequence[str] = ()
    likeliest: bool = False


def generate(request: GenerationRequest, seed: int) -> Generation:
    """Generate all choices for all prompts, in order: the choices of the first prompt, then those of the next."""
    if request.n < 1:
        # The model only reads.
        return Generation(request, (), Usage(request.prompt_tokens, 0))
    form = repr(None) if request.constraint is None else _form_of(request.constraint)
    choices: list[Choice] = []
    occurrences: dict[str, int] = {}
    for prompt in request.prompts:
        name = name_of(prompt.text)
        time = occurrences.get(name, 0)
        occurrences[name] = time + 1
        drafts = _drafts(request, prompt, (form, name), time, seed)
        # A prompt is not sampled, so all of its choices have the same echo.
        echo_key = derive(drafts[0].key, "echo") if request.output.echo else 0
        for draft in drafts if request.best_of == 1 else _best(drafts, request, prompt):
            choices.append(_choice(draft, len(choices), request, prompt, echo_key))
    completion, hidden = sum(map(_tokens_of, choices)), None
    if request.effort is not None or request.prediction is not None:
        hidden = unseen(request, choices)
        completion += hidden.reasoning + hidden.rejected
    return Generation(request, tuple(choices), Usage(request.prompt_tokens, completion, 0, hidden))


def fingerprint_of(request: GenerationRequest, seed: int) -> int:
    """A number for everything that is asked, from which the pace of the answer is derived."""
    names = map(name_of, map(_text_of, request.prompts))
    if not request.generates:
        return derive(seed, "read", request.model, *names)
    form = repr(None) if request.constraint is None else _form_of(request.constraint)
    return derive(derive(seed, "request", request.model, form, *names), *request.sampling.seeds)


def _form_of(constraint: Constraint) -> str:
    """A text for a constraint, from which seeds are derived."""
    if type(constraint.schema) is not dict:
        return repr(constraint)
    try:
        key = constraint.kind, orjson.dumps(constraint.schema)
    except TypeError:
        # Integers of more than 64 bits.
        return repr(constraint)
    known = _forms.find(key)
    if known is None:
        known = repr(constraint)
        _forms.keep(key, known, len(key[1]) + getsizeof(known))
    return known


# The texts for schemas: `repr` takes ten times as long as it takes to find one.
_forms: Cache[tuple[Form, bytes], str] = Cache(2 * 2**20)


def _drafts(request: GenerationRequest, prompt: Prompt, names: tuple[str, str], time: int, seed: int) -> list[_Draft]:
    """The candidates for a prompt; `time` counts its earlier occurrences in this request.

    `names` stand for the constraint and for the prompt's text.
    """
    if request.constraint is None:
        asked = requested_format(prompt)
        if asked is not None:
            request = request._replace(constraint=asked)
    searched, free = request.sampling.beams > 1, freedom(request.sampling)
    # Everything that the choices of a prompt share.
    shared = (request.model, *names, name_of(prompt.topic) if prompt.chat else "", int(prompt.chat))
    content = derive(seed, "content", *shared)
    likely = content if free == 1 else derive(GREEDY_SEED, "content", *shared)
    # The seeds that the choices state, and those that decide them.
    seeds = owns = _choice_seeds(request, content, time)
    if searched and free == 0:
        # The beams of a deterministic search do not depend on the seed; the first is the result of greedy sampling.
        more = max(request.n, request.best_of) + _SPARE
        owns = [GREEDY, *_choice_seeds(request._replace(sampling=Sampling(), best_of=more), likely, time)[1:]]
    elif searched:
        # All beams of a search are drawn from one seed.
        owns = _choice_seeds(request._replace(sampling=Sampling((seeds[0],))), content, time)
    elif free == 0:
        owns = [GREEDY] * len(seeds)
    source = ChoiceSeeds(likely if free == 0 else content, likely, free, searched)
    drafts = [*map(partial(_draft, request, prompt, source), seeds, owns)]
    spare = owns[len(seeds) :]
    return _unlike(drafts, (_draft(request, prompt, source, 0, own) for own in spare)) if spare else drafts


def _unlike(drafts: list[_Draft], spare: Iterator[_Draft]) -> list[_Draft]:
    """The drafts, with spare ones in place of those that say the same as an earlier one, as far as there are any.

    The beams of a search differ, while samples may be equal.
    """
    said: set[object] = set()
    for place, draft in enumerate(drafts):
        other: _Draft | None = draft
        while other is not None and _saying(other) in said:
            other = next(spare, None)
        if other is not None:
            said.add(_saying(other))
            drafts[place] = other._replace(seed=draft.seed)
    return drafts


def _saying(draft: _Draft) -> object:
    return tuple(draft.texts), tuple((call.name, call.arguments) for call in draft.calls)


def _choice_seeds(request: GenerationRequest, content: int, time: int) -> list[int]:
    """One seed per candidate: those of the request, or derived ones in place of a server's random ones."""
    given = request.sampling.seeds
    wanted = max(request.n, request.best_of)
    if len(given) >= wanted:
        return [*given[:wanted]]
    if not given:
        if wanted == 1:
            return [derive(content, "seed", time, 0) >> 33]
        return [derive(content, "seed", time, index) >> 33 for index in range(wanted)]
    return [given[index] if index < len(given) else derive(given[-1], "seed", index) >> 33 for index in range(wanted)]


def _draft(request: GenerationRequest, prompt: Prompt, source: ChoiceSeeds, seed: int, own: int) -> _Draft:
    """A choice of the request's `seed`, which its `own` seed decides: the calls of tools, or else a text."""
    limits, stops = request.limits, request.stops
    # The request's limit, or what the context window leaves.
    limit = max(min(limits.context - prompt.token_count, LONGEST_CHOICE), 0)
    if limits.max_tokens is not None:
        limit = min(limits.max_tokens, limit)
    calls: Sequence[ToolCall] = ()
    if request.tools:
        # Few requests offer tools: without this import the server starts sooner.
        from mockserver.model.tools.calls import decide

        calls = decide(request, prompt, derive(source.content, "calls", own))
    length = None
    if limits.lengths is not None and not calls:
        length = drawn_length(request, prompt, source.content, own)
    reasoning = 0
    thoughts: Sequence[str] = ()
    if request.effort is not None:
        # "An upper bound [...] including visible output tokens and reasoning tokens."
        thought = thinking(request.effort, source.content, own)
        reasoning = min(thought, limit if request.budget is None else request.budget, limit)
        if length is not None:
            # The length is that of thoughts and text together, and some text there must be.
            reasoning = min(reasoning, length // 2)
            length -= reasoning
        limit -= reasoning
        if request.output.reasoning:
            thoughts = think(prompt, thought, derive(own, "thoughts"))[:reasoning]
    if calls:
        return _with_calls(_Draft(seed, own, (), (), "length", None, (), reasoning, thoughts), request, calls, limit)
    least, most = limits.min_tokens, limit
    if limits.ignore_eos:
        least = limit
    elif length is not None:
        least = most = min(max(length, least), limit)
    sampling = request.sampling
    ids, texts, ended = choice_tokens(prompt, request.constraint, sampling, source, own, most, least)
    protected = limits.min_tokens
    if stops.texts and stops_early(texts, stops, protected):
        # "The stop phrases are excluded from the result", but must not end it yet: the model says something else.
        sampling = sampling._replace(bad_words=(*sampling.bad_words, *stops.texts))
        ids, texts, ended = choice_tokens(prompt, request.constraint, sampling, source, own, most, least)
        if stops_early(texts, stops, protected):
            # A format may leave nothing else to say.
            protected = 0
    likeliest = source.free == 0 and own == GREEDY
    key = derive(source.content, "likeliest") if likeliest else own
    reason: FinishReason = "stop" if ended or most < limit else "length"
    stop = None
    if stops.texts or stops.tokens:
        stopped = cut_at_stop(ids, texts, stops, protected)
        if stopped is not None:
            ids, texts, stop = stopped
            reason = "stop"
    return _Draft(seed, key, ids, texts, reason, stop, (), reasoning, thoughts, likeliest)


def _with_calls(draft: _Draft, request: GenerationRequest, calls: Sequence[ToolCall], limit: int) -> _Draft:
    """A draft of calls, cut by a limit (in decoding steps) and by stops, which end them within the arguments."""
    kept = first_steps(calls, limit)
    for place, call in enumerate(kept):
        stopped = cut_at_stop(call.ids, call.texts, request.stops)
        if stopped is not None:
            cut = call._replace(ids=stopped.ids, texts=stopped.texts)
            return draft._replace(finish_reason="stop", stop=stopped.stop, calls=(*kept[:place], cut))
    if sum(call.steps for call in calls) > limit:
        return draft._replace(calls=kept)
    return draft._replace(finish_reason="function_call" if request.tool_choice.legacy else "tool_calls", calls=kept)


def _best(drafts: list[_Draft], request: GenerationRequest, prompt: Prompt) -> list[_Draft]:
    """The `n` likeliest candidates, best first."""
    language = detect_intent(prompt.topic).language
    scales = [scale(request.sampling, language, found=not draft.likeliest) for draft in drafts]
    scored = [positions(it.ids, it.texts, 0, it.key, likely) for it, likely in zip(drafts, scales, strict=True)]
    places = ranked(scored, request.sampling)[: request.n]
    # The results of a search state the seeds with which it began.
    return [drafts[place]._replace(seed=drafts[index].seed) for index, place in enumerate(places)]


def _choice(draft: _Draft, index: int, request: GenerationRequest, prompt: Prompt, echo_key: int) -> Choice:
    echo = echo_of(request, prompt, echo_key) if request.output.echo else NO_ECHO
    seed, key, ids, texts, reason, stop, calls, reasoning, thoughts, likeliest = draft
    scores: Sequence[Position] = ()
    if request.output.logprobs is not None:
        found = request.best_of > 1 and not likeliest
        scores = asked_positions(request, prompt, ids, texts, key, request.sampling, found=found)
    return Choice(index, seed, ids, texts, reason, prompt, stop, calls, False, scores, *echo, reasoning, thoughts)


# --- tokens that are not seen ----------------------------------------------------------------------------------------

# The number of reasoning tokens at each effort: at least the first, less than the second.
_THINKING: dict[Effort, tuple[int, int]] = {
    "none": (0, 1),
    "minimal": (8, 32),
    "low": (48, 160),
    "medium": (192, 512),
    "high": (640, 1536),
    "xhigh": (1664, 4096),
}
_SPAN = 3


def thinking(effort: Effort, content: int, own: int) -> int:
    """The number of reasoning tokens of a choice; `content` and `own` are the seeds of its text."""
    least, most = _THINKING[effort]
    return least + Draws(derive(content, "thinking", own)).below(most - least)


def unseen(request: GenerationRequest, choices: Sequence[Choice]) -> Unseen:
    """The unseen tokens of all choices together; rejected ones only as many as fit into the token limit."""
    reasoning = sum(choice.reasoning for choice in choices)
    if request.prediction is None:
        return Unseen(reasoning)
    most = request.limits.max_tokens
    visible = sum(choice.answer_tokens for choice in choices)
    room = None if most is None else most * len(choices) - visible - reasoning
    return foreseen(request.prediction, [choice.ids for choice in choices], room)._replace(reasoning=reasoning)


def foreseen(prediction: str, answers: Sequence[Sequence[int]], room: int | None = None) -> Unseen:
    """The accepted and rejected tokens of a prediction for all answers; at most `room` tokens are rejected."""
    expected = tokens.encode(prediction)
    accepted = sum(_came_true(expected, ids) for ids in answers)
    rejected = len(expected) * len(answers) - accepted
    return Unseen(0, accepted, rejected if room is None else max(min(rejected, room), 0))


def with_prediction_recounted(generation: Generation) -> Generation:
    """A generation whose choices have been changed, with the tokens of its prediction counted again."""
    old, prediction = generation.usage.unseen, generation.request.prediction
    if old is None or prediction is None:
        return generation
    more = unseen(generation.request, generation.choices)._replace(reasoning=old.reasoning)
    completion = generation.usage.completion_tokens + more.rejected - old.rejected
    return generation._replace(usage=generation.usage._replace(completion_tokens=completion, unseen=more))


def _came_true(expected: Sequence[int], answer: Sequence[int]) -> int:
    """The number of tokens of a prediction that an answer has, in its order.

    Both are read in parallel. Once they differ, the prediction is resumed after the next place with the same last three
    tokens, as by a server that verifies a draft with its model.
    """
    behind: dict[tuple[int, ...], int] = {}
    for end in range(_SPAN, len(expected) + 1):
        behind.setdefault(tuple(expected[end - _SPAN : end]), end)
    accepted, at = 0, 0
    for count, token in enumerate(answer, 1):
        if at < len(expected) and expected[at] == token:
            accepted, at = accepted + 1, at + 1
        else:
            at = max(behind.get(tuple(answer[max(count - _SPAN, 0) : count]), at), at)
    return accepted
