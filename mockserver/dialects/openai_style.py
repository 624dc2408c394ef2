"""What the dialects share, since all of them descend from one API: functions, none of which knows a vendor."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from email.utils import formatdate
from functools import lru_cache
from heapq import merge
from itertools import accumulate, islice
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from mockserver.core.calls import Call
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import Choice, Generation, Message, Position, Prompt, Usage
from mockserver.core.timeline import OPENING, RUN_LENGTH, Frames, Lazy, RawHeaders, Reply, Wrapped
from mockserver.generation import tokens
from mockserver.generation.readings import token_count

JSON = b"application/json"
EVENT_STREAM = b"text/event-stream"
DONE = b"data: [DONE]\n\n"

# How many ranks a chat looks for a token in, and the log-probability that it states of one which is in none of them.
_RANKS = 20
_UNLIKELY = -9999.0

# How many levels deep a body may be nested, and up to how many bytes its brackets are counted.
_DEEPEST = 100
_COUNTED = 65_536
_CONTAINERS = (dict, list)

# What a chat template adds to each message, and to open the answer, in tokens.
_MESSAGE_OVERHEAD = 4
_ANSWER_OVERHEAD = 3


# --- reading -----------------------------------------------------------------------------------------------------


def json_object(body: bytes) -> dict[str, Any] | Rejection:
    """The body as a JSON object, or why it is none; what nests absurdly deep counts as no JSON."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Rejection(FailureKind.MALFORMED_JSON)
    if not isinstance(value, dict):
        return Rejection(FailureKind.NOT_AN_OBJECT)
    if may_nest_deeper(body, _DEEPEST) and not is_shallow(value):
        return Rejection(FailureKind.MALFORMED_JSON)
    return value


def may_nest_deeper(body: bytes, levels: int) -> bool:
    """Whether JSON has enough brackets to nest deeper than so many levels. Few bodies have, and need a closer look."""
    if len(body) <= _COUNTED:
        return body.count(b"[") + body.count(b"{") > levels
    # To count takes half a millisecond for a megabyte, to look for the next one hardly anything.
    for bracket in (b"[", b"{"):
        place = body.find(bracket)
        while place >= 0:
            levels -= 1
            if levels < 0:
                return True
            place = body.find(bracket, place + 1)
    return False


def is_shallow(value: object) -> bool:
    """Whether a value nests no deeper than anything that is meant, so that it may be walked through recursively."""
    level = [value]
    for _ in range(_DEEPEST):
        held = [node.values() if isinstance(node, dict) else node for node in level if isinstance(node, _CONTAINERS)]
        level = [child for children in held for child in children if isinstance(child, _CONTAINERS)]
        if not level:
            return True
    return False


def bearer(call: Call) -> str | None:
    """The key of an `Authorization: Bearer` header, None when there is none."""
    scheme, _, key = (call.headers.get("authorization") or "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def stop_texts(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """A `stop` field as a tuple: one text, several, or none."""
    if not value:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def whole(value: float | None) -> int | None:
    """A whole number as such: to JSON Schema 3.0 is an integer too."""
    return None if value is None else int(value)


def token_biases(value: Mapping[str, float] | None) -> tuple[tuple[int, float], ...]:
    """A `logit_bias` field as (token, bias); a key that is no token's id says nothing."""
    return tuple((int(key), float(bias)) for key, bias in (value or {}).items() if _is_token(key))


def _is_token(key: str) -> bool:
    return key.isascii() and key.isdecimal() and len(key) < 10 and int(key) < tokens.VOCABULARY_SIZE


def text_prompt(value: str | Sequence[int]) -> Prompt:
    """A prompt to be continued, given as text or as token ids."""
    if isinstance(value, str):
        return Prompt(value, value, token_count(value))
    ids = tuple(int(token) for token in value)
    text = tokens.decode(ids)
    return Prompt(text, text, len(ids), ids=ids)


def text_prompts(value: str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]) -> tuple[Prompt, ...]:
    """The `prompt` field of a completions request: a text, texts, token ids, or lists of them."""
    if isinstance(value, str) or not value or isinstance(value[0], int | float):
        return (text_prompt(value),)  # type: ignore[arg-type]
    return tuple(text_prompt(item) for item in value)  # type: ignore[arg-type]


def chat_prompt(messages: Sequence[Mapping[str, Any]]) -> Prompt:
    """A conversation as a prompt. Its topic is the last user message, else the last message at all."""
    history = list(_history(messages))
    texts = [_text_of(message, said.text) for message, said in zip(messages, history, strict=True)]
    topics = (text for said, text in zip(reversed(history), reversed(texts), strict=True) if said.role == "user")
    text = "\n".join(f"{said.role}: {text}" for said, text in zip(history, texts, strict=True))
    count = sum(map(token_count, texts)) + len(texts) * _MESSAGE_OVERHEAD + _ANSWER_OVERHEAD
    topic = next(topics, texts[-1] if texts else "")
    return Prompt(text, topic, count, chat=True, messages=tuple(history))


def _history(messages: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    """The conversation in neutral words; a tool's result names the tool by the call that it answers."""
    names: dict[str, str] = {}
    for message in messages:
        calls = called(message)
        names.update((id_, name) for id_, name in calls if id_)
        role, answers = str(message.get("role", "")), None
        if role == "tool":
            id_ = str(message.get("tool_call_id", ""))
            answers = names.get(id_, id_)
        elif role == "function":
            answers = str(message.get("name", ""))
        yield Message(role, _content_text(message.get("content")), answers, tuple([name for _, name in calls]))


def called(message: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """The tools that a message calls, as (id, name); a function of the older form has no id."""
    rows = _call_rows(message)
    return [(id_, str(call["name"])) for id_, call in rows if "name" in call] if rows else ()


def _call_rows(message: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The calls of a message with their ids: what is called, and with what. Most messages make none."""
    found, older = message.get("tool_calls"), message.get("function_call")
    if not found and older is None:
        return ()
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    calls = [(str(row.get("id", "")), row.get("function") or row.get("custom")) for row in rows]
    calls.append(("", older))
    return [(id_, call) for id_, call in calls if isinstance(call, dict)]


def _call_text(call: Mapping[str, Any]) -> str:
    written = call.get("arguments", call.get("input", ""))
    return written if isinstance(written, str) else orjson.dumps(written).decode()


def _content_text(content: object) -> str:
    """What a message says in words: its text, or the texts of its parts."""
    if isinstance(content, list):
        return "".join(filter(None, map(_part_text, content)))
    return content if isinstance(content, str) else ""


def _part_text(part: Any) -> str | None:
    text = part.get("text") or part.get("refusal") if isinstance(part, dict) else None
    return text if isinstance(text, str) else None


def _text_of(message: Mapping[str, Any], words: str) -> str:
    """All that a message says: its words, the tools and functions it calls, its refusal.

    The ids of calls are nothing that a model reads, and the order of their keys is not either.
    """
    calls = "".join([f"{call.get('name')}({_call_text(call)})" for _, call in _call_rows(message)])
    refusal = message.get("refusal")
    return words + calls + (refusal if isinstance(refusal, str) else "")


# --- writing -----------------------------------------------------------------------------------------------------


def date_header(now: float) -> tuple[bytes, bytes]:
    """The `date` header of an instant in Unix seconds."""
    return _date_header(int(now))


@lru_cache(maxsize=8)
def _date_header(second: int) -> tuple[bytes, bytes]:
    return b"date", formatdate(second, usegmt=True).encode()


class Template(NamedTuple):
    """A chunk of a stream around the one text that changes from token to token."""

    before: bytes
    after: bytes


# Longer texts come from stubs, and hardly ever again.
_LONGEST_TOKEN = 64


class JsonTexts(dict[str, bytes]):
    """Texts as JSON strings, those of tokens written once each; begins anew when it is full, since a prompt may hold
    any text."""

    def __init__(self, write: Callable[[str], bytes]) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, text: str) -> bytes:
        if len(text) > _LONGEST_TOKEN:
            return self._write(text)
        if len(self) >= 65_536:
            self.clear()
        written = self[text] = self._write(text)
        return written


json_texts = JsonTexts(orjson.dumps)

# Stands for the text in the chunk that a template is made of: a byte that no UTF-8 text has.
_SLOT = b"\xff"
SLOT: Any = orjson.Fragment(_SLOT)


def event(value: object) -> bytes:
    """A server-sent event of one data line."""
    return b"data: " + orjson.dumps(value) + b"\n\n"


def template(make: Mapping[str, Any]) -> Template:
    """The template of an event in which the value SLOT stands for the text."""
    before, _, after = event(make).partition(_SLOT)
    return Template(before, after)


def body_reply(
    value: object, generation: Generation | None = None, *, headers: RawHeaders = (), content_type: bytes = JSON
) -> Reply:
    """A reply of one body (a JSON value, or bytes as they are), due when the generation is complete, or at once."""
    body = value if isinstance(value, bytes) else orjson.dumps(value)
    step, tokens = (generation.last_step, generation.usage.completion_tokens) if generation else (0, 0)
    return Reply(200, ((b"content-type", content_type), *headers), (Frames((body,), (step,), (tokens,)),))


def stream_reply(frames: Lazy[Frames], headers: RawHeaders) -> Reply:
    """A reply of server-sent events; `headers` name the content type."""
    return Reply(200, headers, frames, streamed=True)


def choice_frames(
    choice: Choice, around: Template, first: Sequence[bytes] = (), last: Sequence[bytes] = ()
) -> Iterator[Frames]:
    """One event per token, after the events that open the choice and before those that close it."""
    if first:
        yield at_step(OPENING, first)
    yield from token_frames(choice.texts, around)
    if last:
        yield at_step(choice.last_step, last)


def token_frames(texts: Sequence[str], around: Template, step: int = 0) -> Iterator[Frames]:
    """One event per token; the first leaves with a decoding step, the others with those after it."""
    written = json_texts.__getitem__
    for start in range(0, len(texts), RUN_LENGTH):
        said = [*map(written, texts[start : start + RUN_LENGTH])]
        data = Wrapped(around.before, said, around.after)
        yield Frames(data, range(step + start, step + start + len(said)), (1,) * len(said))


def at_step(step: int, events: Sequence[bytes]) -> Frames:
    """Events that carry no token and leave with a decoding step."""
    return Frames(tuple(events), (step,) * len(events), (0,) * len(events))


def weave(choices: Sequence[Iterable[Frames]]) -> Iterator[Frames]:
    """The frames of several choices as one stream: step after step, within a step choice after choice."""
    if len(choices) == 1:
        yield from choices[0]
        return
    rows = merge(*map(_rows, choices), key=itemgetter(1))
    while batch := list(islice(rows, RUN_LENGTH)):
        yield Frames(*zip(*batch, strict=True))


def _rows(frames: Iterable[Frames]) -> Iterator[tuple[bytes, int, int]]:
    for run in frames:
        yield from zip(*run, strict=True)


def usage_object(usage: Usage) -> dict[str, int]:
    """Token counts in the usual order: prompt, completion, total."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def legacy_logprobs(
    texts: Sequence[str], positions: Sequence[Position], offset: int, *, with_top: bool = True
) -> dict[str, Any]:
    """Log-probabilities as completions have them: four lists side by side; offsets count characters from `offset`."""
    rows: dict[str, Any] = {
        "text_offset": list(accumulate(map(len, texts), initial=offset))[: len(texts)],
        "token_logprobs": [position.logprob for position in positions],
        "tokens": list(texts),
    }
    if with_top:
        rows["top_logprobs"] = [
            {text: logprob for _, text, logprob in position.top} | {own: position.logprob}
            for own, position in zip(texts, positions, strict=True)
        ]
    return rows


def chat_logprobs(choice: Choice, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
    """Log-probabilities as chats have them: one object per token of a stretch, with its bytes and rivals."""
    kept = slice(start, stop)
    return [
        {**_chat_logprob(token, text, _told(position)), "top_logprobs": [_chat_logprob(*row) for row in position.top]}
        for token, text, position in zip(choice.ids[kept], choice.texts[kept], choice.positions[kept], strict=True)
    ]


def _told(position: Position) -> float:
    """The log-probability "if it is within the top 20 most likely tokens. Otherwise, the value -9999.0"."""
    return position.logprob if position.rank < _RANKS else _UNLIKELY


def _chat_logprob(token: int, text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(_bytes_said(token, text))}


def _bytes_said(token: int, text: str) -> bytes:
    """The token's own bytes, which may be part of a character, unless a stop has cut its text short."""
    whole, said = tokens.token_bytes(token), text.encode()
    return said if said and whole.startswith(said) else whole
