"""Completions and chats, plain and streamed (vendor notes 3 and 6): one body, or chunks of some tokens each."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, islice
from typing import Any, Literal, NamedTuple

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.generation import Choice, Generation, ToolCall
from mockserver.core.seeding import alphanumerics
from mockserver.core.timeline import FrameBatch, LazyFrames, Reply, TokenTiming
from mockserver.dialects.openai.replies import (
    DONE,
    SLOT,
    at_step,
    body_reply,
    event,
    stream_reply,
    template,
    usage_object,
)
from mockserver.dialects.ovms.errors import JSON, STREAM
from mockserver.dialects.ovms.models import thinking
from mockserver.dialects.ovms.read import Asked
from mockserver.dialects.ovms.streams import GROUPING, Flush, Stretch, by_delay, stretch_frames

# The `object` of bodies. The page has it for chunks too, whose name has a `.chunk` more in every version of the server.
_TEXT, _CHAT = "text_completion", "chat.completion"


def _envelope(choices: list[Any], kind: str, generation: Generation, scope: RequestScope) -> dict[str, Any]:
    """The choices as an answer, or as a chunk of one, of the kind that `object` names."""
    # No id and no system_fingerprint; `created` is "request arrival time in seconds, the same in all chunks".
    return {"choices": choices, "created": int(scope.now), "model": generation.request.model, "object": kind}


def _body(choices: list[Any], kind: str, generation: Generation, scope: RequestScope) -> Reply:
    body = _envelope(choices, kind, generation, scope)
    body["usage"] = usage_object(generation.usage)
    return body_reply(body, generation, content_type=JSON)


class _Chunks(NamedTuple):
    """The chunks of a stream's only choice."""

    kind: str
    generation: Generation
    scope: RequestScope

    def chunk(self, content: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        """A chunk with this content; the last one has the `reason` why the choice ends."""
        choice: dict[str, Any] = {"index": 0, "logprobs": None, **content}
        # "finish_reason first up to v2026.0".
        first = self.scope.edition == "documented"
        choice = {"finish_reason": reason, **choice} if first else {**choice, "finish_reason": reason}
        usage = {"usage": None} if self.generation.request.output.include_usage else {}
        return _envelope([choice], self.kind, self.generation, self.scope) | usage

    def handshake(self, content: dict[str, Any]) -> FrameBatch:
        """The newer server's first event if there is a token but no text yet: "no logprobs and no usage member"."""
        choice = {"index": 0, **content, "finish_reason": None}
        return at_step(0, (event(_envelope([choice], self.kind, self.generation, self.scope)),))

    def ending(self, content: dict[str, Any], reason: str) -> tuple[bytes, ...]:
        """The last chunk, the usage if it is requested, and [DONE]: "all of these go out in one write"."""
        last = event(self.chunk(content, reason))
        if not self.generation.request.output.include_usage:
            return last, DONE
        usage = {"usage": usage_object(self.generation.usage)}
        return last, event(_envelope([], self.kind, self.generation, self.scope) | usage), DONE


# --- write -----------------------------------------------------------------------------------------------------------


def write(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    if generation.request.output.stream:
        return stream_reply(LazyFrames(partial(_chunks, generation, scope)), STREAM)
    output = generation.request.output
    choices = [
        {
            "finish_reason": choice.finish_reason,
            "index": choice.index,
            "logprobs": None if output.logprobs is None else _logprobs(choice, output.echo),
            "text": (choice.prompt.text if output.echo else "") + choice.text,
        }
        for choice in generation.choices
    ]
    return _body(choices, _TEXT, generation, scope)


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


# --- a stream ----------------------------------------------------------------------------------------------------


def _chunks(generation: Generation, scope: RequestScope) -> Iterator[FrameBatch]:
    """The chunks of the only choice, the last with its finish reason; then the usage if requested, and the end."""
    (choice,), chunks = generation.choices, _Chunks(f"{_TEXT}.chunk", generation, scope)
    echo, texts, newer = choice.echo_texts, choice.texts, scope.edition == "observed"
    if echo:
        # It comes with the first token: joined to it by the older server, token by token by the newer.
        texts = [*echo, *texts] if newer else ["".join((*echo, *texts[:1])), *texts[1:]]
    ahead = len(echo) if newer else 0
    flushes = GROUPING[scope.edition](texts)
    first = next(flushes)
    if newer and first.at > ahead:
        yield chunks.handshake({"text": ""})
    around = template(chunks.chunk({"text": SLOT}))
    stretch = Stretch(chain((first,), flushes), around, len(choice.ids), -ahead)
    yield from stretch_frames(stretch, lambda text: chunks.ending({"text": text}, choice.finish_reason))


# --- spoken ----------------------------------------------------------------------------------------------------------


def is_parsed(generation: Generation) -> bool:
    """Whether thoughts and calls are separated from the text."""
    options = generation.request.extra
    return isinstance(options, Asked) and options.parsed


def finish_reason(choice: Choice, generation: Generation) -> str:
    """Why the choice ends: "`tool_calls` [...] if any tool call was seen and generation stopped normally"."""
    if choice.finish_reason == "length":
        return "length"
    return "tool_calls" if choice.calls and is_parsed(generation) else "stop"


def words(choice: Choice) -> Sequence[str]:
    """The text and the calls of a choice, as the tokens of one text."""
    if not choice.calls:
        return choice.texts
    return [*choice.texts, *(text for call in choice.calls for text in _written(call))]


def _written(call: ToolCall) -> Iterator[str]:
    """A call in the model's own notation, here that of the page's model."""
    yield f'{{"name": {orjson.dumps(call.name).decode()}, "parameters": '
    yield from call.texts[:-1]
    yield from (text + "}" for text in call.texts[-1:])


def thoughts(choice: Choice, generation: Generation) -> Sequence[str]:
    """The texts of the thoughts, with their end tag unless they are cut short."""
    family = thinking(generation.request.model)
    over = choice.texts or choice.calls or choice.finish_reason != "length"
    if not choice.thoughts or family is None or not over:
        return choice.thoughts
    return [*choice.thoughts[:-1], choice.thoughts[-1] + family.end]


def call_head(choice: Choice, place: int, scope: RequestScope) -> dict[str, Any]:
    """The members with which a call begins, in bodies and chunks alike."""
    # "id = 9 random letters/digits"
    return {"id": alphanumerics(scope.identity, 9, "call", choice.index, place), "type": "function"}


# --- parts -----------------------------------------------------------------------------------------------------------

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


def parts_of(choice: Choice, generation: Generation) -> list[AnswerPart]:
    """The parts in the order of the stream, at least one."""
    if not is_parsed(generation):
        texts = words(choice)
        return [AnswerPart("text", by_delay(texts), len(texts))]
    thought, spoken = len(choice.thoughts), len(choice.thoughts) + len(choice.texts)
    parts = [AnswerPart("thought", by_delay(thoughts(choice, generation)), thought)] if thought else []
    if choice.texts:
        parts.append(AnswerPart("text", by_delay(choice.texts), len(choice.texts), thought))
    parts += _calls(choice, spoken)
    return parts or [AnswerPart("text", by_delay(()), 0)]


def _calls(choice: Choice, step: int) -> Iterator[AnswerPart]:
    for place, call in enumerate(choice.calls):
        count = len(call.texts)
        flushes = by_delay(call.texts, _CALL_DELAY)
        # The name is sent once the arguments have begun, which those of a call that is cut short may not have.
        yield AnswerPart("call", flushes, count, step + min(count, 1), place, step + min(count, 2))
        step += call.steps


# --- chats -----------------------------------------------------------------------------------------------------------


def write_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    if generation.request.output.stream:
        return stream_reply(LazyFrames(partial(_chat_chunks, generation, scope)), STREAM)
    choices = [
        {
            "finish_reason": finish_reason(choice, generation),
            "index": choice.index,
            "logprobs": None if generation.request.output.logprobs is None else {"content": _chat_logprobs(choice)},
            "message": _message(choice, generation, scope),
        }
        for choice in generation.choices
    ]
    return _body(choices, _CHAT, generation, scope)


def _message(choice: Choice, generation: Generation, scope: RequestScope) -> dict[str, Any]:
    """The message: text, thoughts and tool calls."""
    if not is_parsed(generation):
        return {"content": "".join(words(choice)), "role": "assistant", "tool_calls": []}
    # "`reasoning_content` (only if not empty), `role`, `tool_calls` (always an array, `[]` if none ...)"
    thought = {"reasoning_content": "".join(thoughts(choice, generation))} if choice.thoughts else {}
    calls = []
    for place, call in enumerate(choice.calls):
        function = {"name": call.name, "arguments": call.arguments}
        calls.append({**call_head(choice, place, scope), "function": function})
    return {"content": choice.text, **thought, "role": "assistant", "tool_calls": calls}


def _chat_logprobs(choice: Choice) -> list[dict[str, Any]]:
    """A row for each token of the text, without alternatives."""
    return [
        {"token": text, "logprob": position.logprob, "bytes": list(text.encode()), "top_logprobs": []}
        for text, position in zip(choice.texts, choice.positions, strict=True)
    ]


def _chat_chunks(generation: Generation, scope: RequestScope) -> Iterator[FrameBatch]:
    """The whole stream: its chunks, the last with the finish reason; then the usage if requested, and the end."""
    (choice,), chunks = generation.choices, _Chunks(f"{_CHAT}.chunk", generation, scope)
    first, *rest = parts_of(choice, generation)
    flush = next(first.flushes)
    waits = flush.at > 0 or first.kind == "call" or bool(choice.thoughts)
    if waits and choice.steps > 1:
        yield chunks.handshake({"delta": {"role": "assistant", "content": None}})
    parts = (first._replace(flushes=chain((flush,), first.flushes)), *rest)
    for part in parts:
        yield from _frames(part, part is parts[-1], choice, chunks)


def _frames(part: AnswerPart, last: bool, choice: Choice, chunks: _Chunks) -> Iterator[FrameBatch]:
    def close(text: str) -> tuple[bytes, ...]:
        # "empty `{}` if only a finish is left".
        return chunks.ending({"delta": _delta(part, text) if text else {}}, finish_reason(choice, chunks.generation))

    if part.kind == "call":
        # "first tool delta" with its name, then its arguments.
        name = {"name": choice.calls[part.place].name}
        head = {**call_head(choice, part.place, chunks.scope), "index": part.place, "function": name}
        yield FrameBatch((event(chunks.chunk({"delta": {"tool_calls": [head]}})),), (part.begun,), (1,))
    around = template(chunks.chunk({"delta": _delta(part, SLOT)}))
    yield from stretch_frames(Stretch(part.flushes, around, part.tokens, part.step), close if last else None)


def _delta(part: AnswerPart, text: Any) -> dict[str, Any]:
    if part.kind == "call":
        return {"tool_calls": [{"index": part.place, "function": {"arguments": text}}]}
    return {"content" if part.kind == "text" else "reasoning_content": text}
