"""Prepared answers, such as those of stubs: given texts and tool calls as a generation like any other.

Neither limits nor stops shorten them. Log-probabilities, token ids and usage are computed from the text.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mockserver.core.generation import (
    Choice,
    FinishReason,
    Generation,
    GenerationRequest,
    Prompt,
    ToolCall,
    Unseen,
    Usage,
)
from mockserver.core.seeding import Draws, derive
from mockserver.model import languages, tokens
from mockserver.model.generate import foreseen
from mockserver.model.intent import detect_intent
from mockserver.model.logprobs import asked_positions, echo_of
from mockserver.model.tokens import fresh_phrase, phrase


class Counts(NamedTuple):
    """Token counts to be stated in the usage; None stands for the real count."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class ScriptedCall(NamedTuple):
    """A prepared tool call; its `id` is empty for one of the vendor's."""

    name: str
    arguments: str
    id: str = ""


class ScriptedOutput(NamedTuple):
    """The answer of a choice, and in `others` those of the choices after it; the last of them is that of all further
    ones. `pieces` are its text as it is streamed: one token each, whatever their length.

    `delays[k]` is the delay before `pieces[k]` in seconds, None for that of the engine; the first choice has those of
    all. `calls` are its tool calls. A `refusal` declines to answer. `reasoning` precedes the answer, in dialects that
    show reasoning. `stop` is the stop sequence that ended it, if any. The `counts` are those of all choices together.
    """

    text: str = ""
    pieces: tuple[str, ...] = ()
    delays: tuple[float | None, ...] = ()
    calls: tuple[ScriptedCall, ...] = ()
    refusal: bool = False
    reasoning: str = ""
    finish_reason: FinishReason | None = None
    counts: Counts = Counts()
    stop: str | None = None
    others: "tuple[ScriptedOutput, ...]" = ()

    @property
    def choices(self) -> "tuple[ScriptedOutput, ...]":
        """The answers of all choices."""
        return (self, *self.others)


def to_generation(request: GenerationRequest, scripted: ScriptedOutput, seed: int) -> Generation:
    """The generation whose choices for every prompt are the prepared ones."""
    outputs = scripted.choices
    said = (text for each in outputs for text in (each.text, *(part for call in each.calls for part in call[:2])))
    key = derive(seed, "prepared", request.model, *said)
    calls = [_calls(each, request) for each in outputs]
    places = [(prompt, index) for prompt in request.prompts for index in range(request.n)]
    which = [min(index, len(scripted.others)) for _, index in places]
    choices = tuple(
        _choice(number, prompt, _seed(request, key, index), outputs[place], calls[place], request)
        for number, ((prompt, index), place) in enumerate(zip(places, which, strict=True))
    )
    ids = [tokens.encode(each.text) for each in outputs]
    usage = _usage(request, choices, [ids[place] for place in which], scripted.counts)
    return Generation(request, choices, usage, key, prepared=True)


def _calls(scripted: ScriptedOutput, request: GenerationRequest) -> tuple[ToolCall, ...]:
    # The legacy form has only one function call.
    called = scripted.calls[:1] if request.tool_choice.legacy else scripted.calls
    kinds = {tool.name: tool.kind for tool in request.tools} if called else {}
    return tuple(
        ToolCall(call.name, *fresh_phrase(call.arguments), kinds.get(call.name, "function"), call.id) for call in called
    )


def _choice(
    number: int,
    prompt: Prompt,
    seed: int,
    scripted: ScriptedOutput,
    calls: tuple[ToolCall, ...],
    request: GenerationRequest,
) -> Choice:
    ids: Sequence[int]
    texts: Sequence[str]
    if request.output.stream and scripted.pieces:
        # A token for each piece, with the id of the piece's first.
        ids = [next(iter(tokens.encode(piece)), tokens.EOS) for piece in scripted.pieces]
        texts = scripted.pieces
    else:
        ids, texts = fresh_phrase(scripted.text)
    thoughts = fresh_phrase(scripted.reasoning)[1] if request.output.reasoning else ()
    echo = echo_of(request, prompt, derive(seed, "echo"))
    called: FinishReason = "function_call" if request.tool_choice.legacy else "tool_calls"
    return Choice(
        index=number,
        seed=seed,
        ids=ids,
        texts=texts,
        finish_reason=scripted.finish_reason or (called if calls else "stop"),
        prompt=prompt,
        stop=scripted.stop,
        calls=calls,
        refusal=scripted.refusal,
        positions=asked_positions(request, prompt, ids, texts, seed, request.sampling),
        echo_texts=echo.texts,
        echo_positions=echo.positions,
        reasoning=len(thoughts),
        thoughts=thoughts,
    )


def _seed(request: GenerationRequest, key: int, index: int) -> int:
    given = request.sampling.seeds
    return given[min(index, len(given) - 1)] if given else derive(key, "seed", index) >> 33


def _usage(
    request: GenerationRequest, choices: Sequence[Choice], ids: Sequence[Sequence[int]], counts: Counts
) -> Usage:
    """The usage of the whole texts, whose tokens have these `ids`, streamed or not, in pieces or not; counts that are
    stated override it."""
    completion = sum(map(len, ids)) + sum(call.steps for choice in choices for call in choice.calls)
    reasoning = _or(counts.reasoning_tokens, sum(choice.reasoning for choice in choices))
    more: Unseen | None = None
    if reasoning or any(each is not None for each in (request.effort, request.prediction, counts.reasoning_tokens)):
        more = Unseen() if request.prediction is None else foreseen(request.prediction, ids)
        more = more._replace(reasoning=reasoning)
        completion += more.reasoning + more.rejected
    return Usage(
        _or(counts.prompt_tokens, request.prompt_tokens),
        _or(counts.completion_tokens, completion),
        _or(counts.cached_tokens, 0),
        more,
    )


def _or(stated: int | None, counted: int) -> int:
    return counted if stated is None else stated


def word_refusals(generation: Generation) -> Generation:
    """The generation with a text for every choice that refuses without one."""
    silent = [choice.refusal and not choice.texts for choice in generation.choices]
    if not any(silent):
        return generation
    pairs = zip(generation.choices, silent, strict=True)
    return generation.with_choices(tuple(_worded(each, generation.request) if mute else each for each, mute in pairs))


def _worded(choice: Choice, request: GenerationRequest) -> Choice:
    language = detect_intent(choice.prompt.topic).language
    wording = phrase(Draws(derive(choice.seed, "refusal")).pick(languages.sentences(language)["refusals"]))
    most = request.limits.max_tokens
    limit = None if most is None else max(most - choice.reasoning, 0)
    ids, texts = wording.ids[:limit], wording.texts[:limit]
    return choice._replace(
        ids=ids,
        texts=texts,
        finish_reason="stop" if len(ids) == len(wording.ids) else "length",
        positions=asked_positions(request, choice.prompt, ids, texts, choice.seed, request.sampling),
    )
