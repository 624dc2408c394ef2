"""Recorded exchanges, whatever they were read from: as values, as calls to a dialect, as events of an answer, and what
the model wrote in these."""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, get_args

import orjson

from mockserver.core.generation import FinishReason
from mockserver.core.http import Call, Headers
from mockserver.core.json_values import nests_absurdly
from mockserver.core.secrets import is_secret
from mockserver.model.prepared import Counts, ScriptedCall, ScriptedOutput
from mockserver.pipeline import parse
from mockserver.routes import Routes, choose_dialect
from mockserver.state.context import HeaderError, RouteMatch, make_context
from mockserver.state.plan import Plan
from mockserver.state.settings import Settings
from mockserver.state.stubs.parse_replies import events_in, is_stream

# Statuses that are due to the state of the vendor or the caller, not to the request.
CIRCUMSTANCES = (401, 402, 403, 408, 429, *range(500, 600))
# The headers by which clients decide what to do next, and the ids by which vendors find requests.
_SIGNIFICANT = re.compile(
    r"retry-after(?:-ms)?|x-should-retry|[\w.-]*rate-?limit[\w.-]*|(?:x-)?request-id|www-authenticate", re.ASCII
)
# The prefix of headers that our server would obey.
_OVERRIDES = "x-mockserver-"
# An answered request had a key, which hardly any recording keeps.
_KEY = (b"authorization", b"Bearer recorded")


class RecordingError(ValueError):
    """A text that is not a recording; the message says what would have been one."""


class Recorded(NamedTuple):
    """One exchange as it was recorded: `place` is where in the recording, `dialect` whose API it used, if known.

    Header names are in lower case. `times` are when the events of a stream arrived, or a body, in seconds after the
    request; empty if that was not recorded.
    """

    place: str
    method: str
    host: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    status: int
    answered: Mapping[str, str]
    answer: bytes
    dialect: str | None = None
    times: tuple[float, ...] = ()

    @property
    def streamed(self) -> bool:
        """Whether the answer is a stream of events."""
        return is_stream(self.answered.get("content-type", ""))

    @property
    def events(self) -> "list[RecordedEvent]":
        """The events of the answer; a body is one."""
        return events_of(self.answer, streamed=self.streamed)


class Lost(NamedTuple):
    """An exchange that cannot be replayed, and why."""

    place: str
    why: str


class LostError(Exception):
    """An exchange lacks what is needed to replay it; the message says what."""


def by_lower_name(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by their names in lower case; the first of equal names counts. HTTP/2 pseudo-headers are left out."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        if not name.startswith(":"):
            headers.setdefault(name.lower(), value)
    return headers


class RecordedEvent(NamedTuple):
    """One event: the names of its fields as they were written (`data: `), and its data.

    `value` is the data as JSON, or as text if it is not JSON, such as `[DONE]`.
    """

    fields: tuple[str, ...]
    value: Any


def route_of(recorded: Recorded, router: Routes) -> RouteMatch | None:
    """Where a request lands: at its dialect if that is known, else by the longest end of its path that is served. A
    route of the user's own takes precedence. What a vendor has that its dialect does not serve has no operation."""
    unserved: RouteMatch | None = None
    parts = recorded.path.split("/")[1:]
    ends = ["/" + "/".join(parts[start:]) for start in range(len(parts))]
    known = [f"/{recorded.dialect}{end}" for end in ends] if recorded.dialect is not None else []
    for path, host in ((recorded.path, recorded.host), *((path, "") for path in (*known, *ends))):
        route = router.find(recorded.method, path, host)
        if route is None:
            continue
        if route.operation is None:
            is_for_vendor = recorded.dialect == route.dialect.name or recorded.host in route.dialect.hosts
            # Browsers ask for leave by OPTIONS, which the server grants by itself.
            if unserved is None and is_for_vendor and recorded.method != "OPTIONS":
                unserved = route
            continue
        if route.others and recorded.dialect is None:
            return choose_dialect(route, call_of(recorded, route).headers, recorded.body, {})
        if route.configured is not None or recorded.dialect in (None, route.dialect.name):
            return route
    return unserved


def call_of(recorded: Recorded, route: RouteMatch) -> Call:
    """The call at the dialect's own path with a made-up key, without secrets and headers that would be obeyed here."""
    plain = ((name, value) for name, value in recorded.headers.items() if not (is_secret(name) or _OVERRIDES in name))
    key = (b"api-key", b"recorded") if "api-key" in recorded.headers else _KEY
    sent = ((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in plain)
    return Call(recorded.method, route.path, Headers([key, *sent]), recorded.body, recorded.query)


def parsed(recorded: Recorded, router: Routes, settings: Settings) -> Plan | Lost:
    """A recorded request as its dialect understands it, or why none does."""
    route = route_of(recorded, router)
    if route is None:
        return Lost(recorded.place, f"no dialect serves {recorded.method} {recorded.path}")
    try:
        return parse(make_context(call_of(recorded, route), route, settings))
    except HeaderError as error:
        return Lost(recorded.place, str(error))


def is_significant(name: str, value: str) -> bool:
    """Whether a header of a recorded answer tells its client something: of retries, limits or ids, and no secret."""
    return bool(_SIGNIFICANT.fullmatch(name)) and not is_secret(name) and can_be_sent(value)


def can_be_sent(value: str) -> bool:
    """Whether a header of an answer can have this value."""
    return value.isprintable() and value == value.strip() and all(ord(letter) < 256 for letter in value)


def events_of(answer: bytes, *, streamed: bool) -> list[RecordedEvent]:
    """The events of an answer, in order."""
    if not streamed:
        return [RecordedEvent((), _value(answer))]
    return [_event(block) for block in events_in(answer) if block.strip()]


def event_times(events: Iterable[bytes], pieces: Iterable[bytes], times: Sequence[float]) -> list[float]:
    """When each event of a stream was complete, which came in these pieces at these times."""
    ends = [*accumulate(map(len, pieces))]
    return [times[bisect_left(ends, end)] for end in accumulate(map(len, events))]


def _event(block: bytes) -> RecordedEvent:
    fields, data = [], []
    for line in filter(None, block.splitlines()):
        name, colon, rest = line.partition(b":")
        blank = b" " if rest.startswith(b" ") else b""
        fields.append((name + colon + blank).decode(errors="replace"))
        if name == b"data":
            data.append(rest.removeprefix(b" "))
    return RecordedEvent(tuple(fields), _value(b"\n".join(data)))


def _value(data: bytes) -> Any:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return data.decode(errors="replace")
    return data.decode() if nests_absurdly(data, value) else value


# --- what the model wrote: with this, a dialect here gives an answer with the same parts --------------------------

_REASONS: Mapping[object, FinishReason] = {reason: reason for reason in get_args(FinishReason)}
# The fields for reasoning, which differ between servers.
_THOUGHTS = ("reasoning", "reasoning_content")


def scripted_output(events: Sequence[RecordedEvent]) -> ScriptedOutput | None:
    """What the model says in the first choice in the events of a stream or in a body; None if no model answered."""
    values = [_table(event.value) for event in events]
    if values and _is_of_responses(values[0]):
        return _output_of_response(values)
    if values and _is_of_messages(values[0]):
        return _output_of_message(values)
    choices = [each for value in values for each in _tables(value.get("choices")) if not each.get("index")]
    if not choices:
        return None
    texts, calls = dict.fromkeys(("content", "text", "refusal", *_THOUGHTS), ""), dict[int, list[str]]()
    finish = stop = None
    for choice in choices:
        finish, stop = choice.get("finish_reason") or finish, choice.get("stop_reason") or stop
        message = _table(choice.get("delta")) or _table(choice.get("message")) or choice
        for key in texts:
            texts[key] += message[key] if isinstance(message.get(key), str) else ""
        # Each part of a call has a name, a piece of the arguments, or both.
        alone = _table(message.get("function_call"))
        for place, part in enumerate([{"function": alone}] if alone else _tables(message.get("tool_calls"))):
            index, function = part.get("index"), _table(part.get("function"))
            call = calls.setdefault(index if isinstance(index, int) else place, ["", ""])
            for at, key in enumerate(("name", "arguments")):
                call[at] += function[key] if isinstance(function.get(key), str) else ""
    usage = next((found for value in reversed(values) if (found := _table(value.get("usage")))), {})
    return ScriptedOutput(
        text=texts["content"] or texts["text"] or texts["refusal"],
        calls=tuple(ScriptedCall(name, arguments) for name, arguments in calls.values()),
        refusal=bool(texts["refusal"]),
        reasoning="".join(texts[key] for key in _THOUGHTS),
        finish_reason=_REASONS.get(str(finish)),
        counts=_counts(usage, "prompt", "completion"),
        stop=stop if isinstance(stop, str) else None,
    )


def has_output(event: RecordedEvent) -> bool:
    """Whether an event of a stream has a part of what the model says, and does not only announce it."""
    value = _table(event.value)
    if _is_of_responses(value):
        return str(value.get("type")).endswith(".delta")
    if _is_of_messages(value):
        return bool(value.get("type") == "content_block_delta")
    scripted = scripted_output([event])
    return scripted is not None and bool(scripted.text or scripted.reasoning or scripted.calls)


# The Responses API: the events that end a stream, the reasons for an incomplete response, and the field with the
# arguments of a call, by the type of its item.
_LAST = ("response.completed", "response.incomplete", "response.failed")
_INCOMPLETE: Mapping[object, FinishReason] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}


def _is_of_responses(value: Mapping[str, Any]) -> bool:
    return value.get("object") == "response" or str(value.get("type")).startswith("response.")


def _output_of_response(values: Sequence[Mapping[str, Any]]) -> ScriptedOutput | None:
    """What the model says, if the whole response is among the values."""
    ends = (_table(value.get("response")) if value.get("type") in _LAST else value for value in reversed(values))
    whole = (each for each in ends if isinstance(each.get("output"), list) and each.get("object") == "response")
    response: Mapping[str, Any] = next(whole, {})
    items = _tables(response.get("output"))
    if not items:
        return None
    calls = tuple(
        ScriptedCall(str(item.get("name")), str(item.get(_ARGUMENTS[item["type"]], "")))
        for item in items
        if item.get("type") in _ARGUMENTS
    )
    messages = [part for item in items if item.get("type") == "message" for part in _tables(item.get("content"))]
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    refusal = "".join(str(part.get("refusal", "")) for part in messages)
    reason = _table(response.get("incomplete_details")).get("reason")
    return ScriptedOutput(
        text=_text(messages) or refusal,
        calls=calls,
        refusal=bool(refusal),
        reasoning="".join(_text(each.get("content")) or _text(each.get("summary")) for each in thoughts),
        finish_reason=_INCOMPLETE.get(reason) or ("tool_calls" if calls else "stop"),
        counts=_counts(_table(response.get("usage")), "input", "output"),
    )


# The Messages API: why a message has ended, in the words of chats (of any other reason nothing is told); and the texts
# of deltas, with the members of their blocks that they are parts of.
_ENDS: Mapping[object, FinishReason] = {
    **dict.fromkeys(("end_turn", "stop_sequence", "refusal"), "stop"),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    "tool_use": "tool_calls",
}
_TEXTS = {"text": "text", "thinking": "thinking", "partial_json": "input"}


def _is_of_messages(value: Mapping[str, Any]) -> bool:
    kind = str(value.get("type"))
    return kind in ("message", "ping") or kind.startswith(("message_", "content_block_"))


def _output_of_message(values: Iterable[dict[str, Any]]) -> ScriptedOutput | None:
    """What the model says; for a stream that broke off as much as was sent."""
    message, blocks = dict[str, Any](), list[dict[str, Any]]()
    for value in values:
        if value.get("type") == "message":
            message, blocks = value, _tables(value.get("content"))
        elif value.get("type") == "content_block_start":
            blocks.append({**_table(value.get("content_block")), "input": ""})
        elif value.get("type") == "content_block_delta" and blocks:
            for name, said in _table(value.get("delta")).items():
                if name in _TEXTS and isinstance(said, str):
                    blocks[-1][_TEXTS[name]] = str(blocks[-1].get(_TEXTS[name], "")) + said
        else:
            message |= _table(value.get("message")) | _table(value.get("delta"))
            message["usage"] = _table(message.get("usage")) | _table(value.get("usage"))
    if not blocks and "stop_reason" not in message:
        return None
    usage, stop = _table(message.get("usage")), message.get("stop_sequence")
    read = [_count(usage.get(f"{name}input_tokens")) for name in ("", "cache_creation_", "cache_read_")]
    thought = _table(usage.get("output_tokens_details")).get("thinking_tokens")
    given = [(each, each.get("input") or "{}") for each in blocks if each.get("type") == "tool_use"]
    return ScriptedOutput(
        text=_text(blocks),
        calls=tuple(
            ScriptedCall(str(each.get("name")), said if isinstance(said, str) else json.dumps(said, ensure_ascii=False))
            for each, said in given
        ),
        refusal=message.get("stop_reason") == "refusal",
        reasoning="".join(str(each.get("thinking", "")) for each in blocks),
        finish_reason=_ENDS.get(message.get("stop_reason")),
        counts=Counts(
            None if read[0] is None else sum(count or 0 for count in read),
            _count(usage.get("output_tokens")),
            read[2] or None,
            _count(thought) or None,
        ),
        stop=stop if isinstance(stop, str) else None,
    )


def _counts(usage: Mapping[str, Any], prompt: str, completion: str) -> Counts:
    """The counts in a usage, which calls the tokens of a prompt and those of a completion by these words."""
    read, written = (_table(usage.get(f"{word}_tokens_details")) for word in (prompt, completion))
    return Counts(
        _count(usage.get(f"{prompt}_tokens")),
        _count(usage.get(f"{completion}_tokens")),
        _count(read.get("cached_tokens")),
        _count(written.get("reasoning_tokens")),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _text(parts: Any) -> str:
    return "".join(str(part.get("text", "")) for part in _tables(parts))


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _tables(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
