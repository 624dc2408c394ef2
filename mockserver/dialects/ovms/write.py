"""Completions and chats, plain and streamed (vendor notes 3 and 6): one body, or chunks of some tokens each.

A stream groups tokens as the server's two text streamers do (note 3, "Grouping"). Both hold text back: the older one
until a space ends a word, the newer one for three tokens. Both flush everything at a line end, and wait while a
character is incomplete; a token without text is part of a character.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, islice
from operator import sub
from typing import Any, Literal, NamedTuple

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.generation import Choice, FinishReason, Generation, ToolCall
from mockserver.core.http import RUN_LENGTH, FrameBatch, LazyFrames, Reply, TokenTiming
from mockserver.core.seeding import alphanumerics
from mockserver.dialects.openai.replies import SLOT, Members, body_reply, event, usage_object
from mockserver.dialects.openai.streams import DONE, at_step, template
from mockserver.dialects.ovms.errors import JSON, STREAM_HEADERS
from mockserver.dialects.ovms.models import thinking
from mockserver.dialects.ovms.read import OvmsOptions

# The `object` of bodies.
_TEXT, _CHAT = "text_completion", "chat.completion"


def write_completion(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """A completion as one body, or as a stream of chunks."""
    output = generation.request.output

    def told(choice: Choice) -> Members:
        logprobs = None if output.logprobs is None else _logprobs(choice, output.echo)
        return {"logprobs": logprobs, "text": (choice.prompt.text if output.echo else "") + choice.text}

    return _reply(_TEXT, generation, scope, told, _completion_frames)


def _logprobs(choice: Choice, echo: bool) -> dict[str, Any]:
    """The log-probability of each token of the output, including an echoed prompt and its BOS token.

    BOS has no text and, as nothing precedes it, no probability: "first echoed token is null". The server's own tests
    count as many entries as prompt tokens.
    """
    bos = ("",) * echo
    texts = [*bos, *choice.echo_texts, *choice.texts]
    values = [*(None for _ in bos), *(position.logprob for position in (*choice.echo_positions, *choice.positions))]
    # "offsets are byte lengths from the start of this output (0 first)"
    offsets = accumulate((len(text.encode()) for text in texts), initial=0)
    return {
        "tokens": texts,
        "token_logprobs": values,
        "top_logprobs": [{text: value} for text, value in zip(texts, values, strict=True)],
        "text_offset": list(islice(offsets, len(texts))),
    }


def _completion_frames(generation: Generation, scope: RequestScope) -> Iterator[FrameBatch]:
    (choice,), newer = generation.choices, scope.edition == "observed"
    echo, texts = choice.echo_texts, choice.texts
    if echo:
        # It comes with the first token: joined to it by the older server, token by token by the newer.
        texts = [*echo, *texts] if newer else ["".join((*echo, *texts[:1])), *texts[1:]]
    flushes = by_delay(texts) if newer else by_words(texts)
    parts = [AnswerPart("text", flushes, len(choice.ids), -len(echo) if newer else 0)]
    opening = {"text": ""} if newer else None
    # The page: "always `text_completion`".
    kind = f"{_TEXT}.chunk" if newer else _TEXT
    return _frames(kind, generation, scope, parts, lambda part, text: {"text": text}, opening)


def write_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """An answer to a conversation as one body, or as a stream of chunks."""
    scored = generation.request.output.logprobs is not None

    def told(choice: Choice) -> Members:
        logprobs = {"content": _chat_logprobs(choice)} if scored else None
        return {"logprobs": logprobs, "message": _message(choice, scope)}

    return _reply(_CHAT, parsed_output(generation), scope, told, _chat_frames)


def _message(choice: Choice, scope: RequestScope) -> dict[str, Any]:
    # "`reasoning_content` (only if not empty), `role`, `tool_calls` (always an array, `[]` if none ...)"
    thought = {"reasoning_content": "".join(choice.thoughts)} if choice.thoughts else {}
    calls = []
    for place, call in enumerate(choice.calls):
        function = {"name": call.name, "arguments": call.arguments}
        calls.append({**call_head(choice, place, scope), "function": function})
    return {"content": choice.text, **thought, "role": "assistant", "tool_calls": calls}


def _chat_logprobs(choice: Choice) -> list[dict[str, Any]]:
    """A row for each token of the text, without alternatives; a call that is part of the text has none."""
    return [
        {"token": text, "logprob": position.logprob, "bytes": list(text.encode()), "top_logprobs": []}
        for text, position in zip(choice.texts, choice.positions, strict=False)
    ]


def _chat_frames(generation: Generation, scope: RequestScope) -> Iterator[FrameBatch]:
    (choice,) = generation.choices
    opening = {"delta": {"role": "assistant", "content": None}} if choice.steps > 1 else None
    kind, parts = f"{_CHAT}.chunk", parts_of(choice)
    return _frames(kind, generation, scope, parts, lambda part, text: {"delta": _delta(part, text)}, opening)


def _delta(part: "AnswerPart", text: Any) -> dict[str, Any]:
    """The delta with a text: "empty `{}` if only a finish is left"."""
    if text == "":
        return {}
    if part.kind == "call":
        return {"tool_calls": [{"index": part.place, "function": {"arguments": text}}]}
    return {"content" if part.kind == "text" else "reasoning_content": text}


def _envelope(choices: list[Any], kind: str, generation: Generation, scope: RequestScope) -> dict[str, Any]:
    """The choices as an answer, or as a chunk of one, of the kind that `object` names."""
    # No id and no system_fingerprint; `created` is "request arrival time in seconds, the same in all chunks".
    return {"choices": choices, "created": int(scope.now), "model": generation.request.model, "object": kind}


def _reply(
    kind: str,
    generation: Generation,
    scope: RequestScope,
    told: Callable[[Choice], Members],
    frames: Callable[[Generation, RequestScope], Iterator[FrameBatch]],
) -> Reply:
    """The generation as chunks, or as one body with what is `told` of each choice."""
    if generation.request.output.stream:
        return Reply(200, STREAM_HEADERS, LazyFrames(partial(frames, generation, scope)), streamed=True)
    choices = [
        {"finish_reason": choice.finish_reason, "index": choice.index, **told(choice)} for choice in generation.choices
    ]
    body = _envelope(choices, kind, generation, scope) | {"usage": _usage(generation, scope)}
    return body_reply(body, generation, content_type=JSON)


def _usage(generation: Generation, scope: RequestScope) -> dict[str, Any]:
    """The counts; the page's example lists them by name."""
    usage = usage_object(generation.usage)
    return dict(sorted(usage.items())) if scope.edition == "documented" else usage


# --- groups of tokens ------------------------------------------------------------------------------------------------

_DELAY = 3
_INCOMPLETE = "\ufffd"


class Flush(NamedTuple):
    """The text of one event. It is sent once token `at` is decoded, and completes the first `out` tokens."""

    text: str
    at: int
    out: int
    last: bool = False


def by_words(texts: Sequence[str]) -> Iterator[Flush]:
    """Flushes up to the last space, the last one with all that is left; `texts[k]` is what token k adds.

    Text that the last token releases is part of the last flush.
    """
    held = ""  # words without an end
    fresh = ""  # what no end was looked for in, since it breaks off within a character
    for at, text in enumerate(texts[:-1]):
        ending = text[-1:]
        fresh = fresh + text if fresh else text
        if not ending or ending == _INCOMPLETE:
            continue
        # All can go up to a line end, else "up to and including the last space (only U+0020)".
        cut = len(fresh) if ending == "\n" else fresh.rfind(" ") + 1
        if cut:
            yield Flush(held + fresh[:cut], at, at + (cut == len(fresh)))
            held = fresh[cut:]
        else:
            held += fresh
        fresh = ""
    yield Flush(held + fresh + "".join(texts[-1:]), max(len(texts) - 1, 0), len(texts), last=True)


def by_delay(texts: Sequence[str], delay: int = _DELAY) -> Iterator[Flush]:
    """Flushes with a delay of some tokens, the last one with all that is left."""
    held: list[str] = []
    for at, text in enumerate(texts):
        held.append(text)
        ending = text[-1:]
        if ending == "\n":
            yield Flush("".join(held), at, at + 1)
            held = []
            continue
        ready = len(held) + 1 - delay
        # A slot whose own text was incomplete counts for nothing, and neither does anything before the last is whole.
        if ready > 0 and ending and ending != _INCOMPLETE and held[ready - 1][-1:] not in ("", _INCOMPLETE):
            text = held[0] if ready == 1 else "".join(held[:ready])
            del held[:ready]
            yield Flush(text, at, at + 1 - len(held))
    yield Flush("".join(held), max(len(texts) - 1, 0), len(texts), last=True)


# --- the parts of a choice -------------------------------------------------------------------------------------------


def parsed_output(generation: Generation) -> Generation:
    """The generation as the server tells it: its parsers separate thoughts and calls from the text, if they are on."""
    options, model = generation.request.extra, generation.request.model
    parsed = isinstance(options, OvmsOptions) and options.parsed
    return generation._replace(choices=tuple([_parsed(choice, model, parsed=parsed) for choice in generation.choices]))


def _parsed(choice: Choice, model: str, *, parsed: bool) -> Choice:
    texts, thoughts, is_cut = choice.texts, choice.thoughts, choice.finish_reason == "length"
    if choice.calls and not parsed:
        texts = [*texts, *(text for call in choice.calls for text in _written(call))]
        reason: FinishReason = "length" if is_cut else "stop"
        return choice._replace(ids=range(len(texts)), texts=texts, calls=(), finish_reason=reason)
    # "`tool_calls` [...] if any tool call was seen and generation stopped normally"
    reason = "length" if is_cut else "tool_calls" if choice.calls else "stop"
    family = thinking(model) if thoughts else None
    if family is not None and (texts or choice.calls or not is_cut):
        thoughts = [*thoughts[:-1], thoughts[-1] + family.end]
    elif reason == choice.finish_reason:
        return choice
    return choice._replace(thoughts=thoughts, finish_reason=reason)


def _written(call: ToolCall) -> Iterator[str]:
    """A call in the model's own notation, here that of the page's model."""
    yield f'{{"name": {orjson.dumps(call.name).decode()}, "parameters": '
    yield from call.texts[:-1]
    yield from (text + "}" for text in call.texts[-1:])


def call_head(choice: Choice, place: int, scope: RequestScope) -> dict[str, Any]:
    """The members with which a call begins, in bodies and chunks alike."""
    # "id = 9 random letters/digits"
    id_ = choice.calls[place].id or alphanumerics(scope.identity, 9, "call", choice.index, place)
    return {"id": id_, "type": "function"}


# Arguments are held back by one token more than texts, because of their closing bracket.
_CALL_DELAY = 4


class AnswerPart(NamedTuple):
    """A part of a choice: the flushes of its texts, the number of its tokens, and the decoding step of the first.

    A call has its index among the calls in `place`; its name is sent with a decoding step of its own, `begun`.
    """

    kind: Literal["thought", "text", "call"]
    flushes: Iterator[Flush]
    tokens: int
    step: int = 0
    place: int = 0
    begun: int = 0


def parts_of(choice: Choice) -> list[AnswerPart]:
    """The parts in the order of the stream, at least one."""
    step = len(choice.thoughts)
    parts = [AnswerPart("thought", by_delay(choice.thoughts), step)] if step else []
    if choice.texts:
        parts.append(AnswerPart("text", by_delay(choice.texts), len(choice.texts), step))
        step += len(choice.texts)
    for place, call in enumerate(choice.calls):
        count = len(call.texts)
        flushes = by_delay(call.texts, _CALL_DELAY)
        # The name is sent once the arguments have begun, which those of a call that is cut short may not have.
        parts.append(AnswerPart("call", flushes, count, step + min(count, 1), place, step + min(count, 2)))
        step += call.steps
    return parts or [AnswerPart("text", by_delay(()), 0)]


def peeked(part: AnswerPart) -> tuple[int, AnswerPart]:
    """The decoding step after which the first of its flushes is sent, and the part."""
    first = next(part.flushes)
    return max(part.step + first.at, 0), part._replace(flushes=chain((first,), part.flushes))


def runs(part: AnswerPart, *, closes: bool = False) -> Iterator[tuple[list[str], list[int], list[int], bool]]:
    """Its flushes, some at a time: their texts, the decoding steps after which they are sent, their tokens, and whether
    they are the last ones. The very last is left out if it is empty, unless it `closes` the answer."""
    step, ahead, most, out = part.step, max(-part.step, 0), part.tokens, 0
    while run := list(islice(part.flushes, RUN_LENGTH)):
        over = run[-1].last
        if over and not closes and not run[-1].text:
            run.pop()
        totals = [min(total - ahead, most) if total > ahead else 0 for _, _, total, _ in run]
        if run:
            steps = [at + step if at + step > 0 else 0 for _, at, _, _ in run]
            yield [text for text, *_ in run], steps, [*map(sub, totals, (out, *totals))], over
            out = totals[-1]


# --- frames ----------------------------------------------------------------------------------------------------------


def _frames(
    kind: str,
    generation: Generation,
    scope: RequestScope,
    parts: Sequence[AnswerPart],
    said: Callable[[AnswerPart, Any], Members],
    opening: Members | None,
) -> Iterator[FrameBatch]:
    """The chunks of the only choice, one for each flush of its parts; then the usage if requested, and [DONE].

    `said` are the members of a chunk with a text. The newer server's first chunk is the `opening` if there is a token
    but no text yet.
    """
    (choice,), asked = generation.choices, generation.request.output.include_usage

    def envelope(choices: list[Any], **usage: Any) -> dict[str, Any]:
        return _envelope(choices, kind, generation, scope) | (usage if asked else {})

    def chunk(members: Members, finish_reason: str | None = None) -> dict[str, Any]:
        finish = {"finish_reason": finish_reason}
        # "finish_reason first up to v2026.0".
        first, last = (finish, {}) if scope.edition == "documented" else ({}, finish)
        return envelope([{**first, "index": 0, "logprobs": None, **members, **last}], usage=None)

    first, begins = peeked(parts[0])
    if opening is not None and (begins.kind == "call" or choice.thoughts or first > 0):
        # "no logprobs and no usage member".
        first_choice = {"index": 0, **opening, "finish_reason": None}
        yield at_step(0, (event(_envelope([first_choice], kind, generation, scope)),))
    for number, part in enumerate((begins, *parts[1:]), start=1):
        if part.kind == "call":
            # "first tool delta" with its name, then its arguments.
            name = {"name": choice.calls[part.place].name}
            head = {**call_head(choice, part.place, scope), "index": part.place, "function": name}
            yield FrameBatch((event(chunk({"delta": {"tool_calls": [head]}})),), (part.begun,), (1,))
        (before, after), dumps, closes = template(chunk(said(part, SLOT))), orjson.dumps, number == len(parts)
        for texts, steps, tokens, over in runs(part, closes=closes):
            data = [before + dumps(text) + after for text in texts]
            if over and closes:
                # "all of these go out in one write"
                usage = (event(envelope([], usage=_usage(generation, scope))),) if asked else ()
                data[-1:] = closing = (event(chunk(said(part, texts[-1]), choice.finish_reason)), *usage, DONE)
                steps += [steps[-1]] * (len(closing) - 1)
                tokens += [0] * (len(closing) - 1)
            yield FrameBatch(data, steps, tokens)
