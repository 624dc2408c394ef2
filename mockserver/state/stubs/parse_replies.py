"""A REPLY in text form: a text, which the model writes in the dialect's own format, or a table, whose keys the page on
stubs explains; in Python also a function, which receives the request's facts (`state/facts.py`) and returns a REPLY, or
None for a generated answer."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping
from functools import partial
from inspect import iscoroutinefunction
from itertools import pairwise
from pathlib import PurePath
from re import fullmatch
from typing import Any, get_args

from mockserver.core.generation import FinishReason, Measure, Measures
from mockserver.core.http import RawHeaders
from mockserver.core.matching.requests import ANYTHING
from mockserver.core.messages import short_repr, unknown_name
from mockserver.core.seeding import SEEDS
from mockserver.core.toml import TomlError, read_toml_value
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.parse_faults import FaultError, read_faults
from mockserver.faults.rules import Chance, Fault
from mockserver.latency.parse_latency import NotationError, read_latency, read_output_tokens
from mockserver.latency.traces import TraceError, TraceFile, read_trace
from mockserver.model.prepared import Counts, ScriptedCall, ScriptedOutput
from mockserver.state.stubs.stub import Prepared, Raw
from mockserver.state.stubs.templates import TemplateError, groups_in
from mockserver.state.stubs.values import (
    StubError,
    Table,
    flag_of,
    header_of,
    json_of,
    list_of,
    number_of,
    seconds_of,
    table_of,
    text_of,
    whole_of,
)

# Reads the file that a reply names; raises OSError.
Files = Callable[[str], bytes]

_BODIES = ("body", "body_base64", "file")
_RAW = (*_BODIES, "status", "content_type", "event_times")
_TYPES = {
    ".json": "application/json",
    ".sse": "text/event-stream",
    ".html": "text/html; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
_BINARY = "application/octet-stream"
_EVENT_END = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)")

SHARED = ("error", "faults", "latency", "output_tokens", "seed", "headers")
_CONTENTS = ("text", "chunks", "json", "refusal")
CHOICE_KEYS = (*_CONTENTS, "tool_calls", "reasoning", "finish_reason")
_SPEECH = (*CHOICE_KEYS, "choices", "usage")
_MEASURES = get_args(Measure)
REPLY_KEYS = (*_SPEECH, *_MEASURES, *_RAW, *SHARED, "template")
# What a vendor's own body may have, too.
_IN_BODIES = ("choices", "usage")
_WHOLE = (
    "A whole response body is { body = {...} }, in Python raw({...}); JSON that the model writes is { json = {...} }, "
    "in Python as_json({...})"
)


def read_prepared(
    value: object, place: str = "reply", files: Files | None = None, groups: Collection[str] = ()
) -> Prepared:
    """A reply from a string, a table or a function; templates may use the `groups` of the match. Raises StubError."""
    if isinstance(value, str):
        return Prepared(ScriptedOutput(text_of(value, place)))
    if callable(value):
        if iscoroutinefunction(value):
            raise StubError(f"{place}: is a coroutine function; use a plain function")
        return Prepared(value)
    example = '"It rains." or { text = "It rains.", finish_reason = "length" }'
    keys: Collection[str] = value.keys() if isinstance(value, Mapping) else ()
    unknown = [key for key in keys if key not in REPLY_KEYS]
    if unknown and all(key in unknown or key in _IN_BODIES for key in keys):
        raise StubError(f"{place}: {unknown_name('key', unknown[0], REPLY_KEYS)}. {_WHOLE}")
    table = with_files(table_of(value, place, REPLY_KEYS, example), place, files)
    prepared = read_shared(table, place)._replace(content=_content(table, place))
    _check_faults(prepared, place)
    if prepared.output_tokens is not None and prepared.content is not None:
        raise StubError(f"{place}.output_tokens: is for generated answers, but this reply has a content of its own")
    if not flag_of(table.get("template", False), f"{place}.template"):
        return prepared
    draft = {key: item for key, item in table.items() if key != "template"}
    try:
        used = tuple(groups_in(draft))
    except TemplateError as error:
        raise StubError(f"{place}: {error}") from None
    for name in used:
        if name not in groups:
            known = f"; the match has {', '.join(groups)}" if groups else ""
            raise StubError(f"{place}: {{{{groups.{name}}}}}: no regex of the match has a group (?P<{name}>...){known}")
    return prepared._replace(template=draft)


def read_header_reply(text: str) -> Prepared:
    """A reply from a header: plain text, or a table in JSON or TOML. Raises StubError."""
    stripped = text.strip()
    if not stripped.startswith("{"):
        return read_prepared(text)
    try:
        table = read_toml_value(stripped)
    except TomlError as error:
        raise StubError(f"{short_repr(text)} is not a valid table in JSON or TOML: {error}") from None
    return read_prepared(table)


def read_shared(table: Table, place: str) -> Prepared:
    """The fields that any answer can have: faults, latency, lengths, seed, headers."""

    def given(key: str, read: Callable[[object, str], Any], otherwise: object = None) -> Any:
        return read(table[key], f"{place}.{key}") if key in table else otherwise

    return Prepared(
        faults=(*given("error", _error, ()), *given("faults", _faults, ())),
        latency=given("latency", partial(_notation, read_latency)),
        output_tokens=given("output_tokens", partial(_notation, read_output_tokens)),
        seed=given("seed", partial(whole_of, least=SEEDS[0], most=SEEDS[-1])),
        headers=given("headers", _headers, ()),
    )


def _error(value: object, place: str) -> tuple[Fault, ...]:
    table = {"error": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping) or "error" not in table:
        raise StubError(f'{place}: must be the name of a failure, or {{ error = "rate_limit", retry_after = 2 }}')
    return _faults({"kind": "error", **table}, place)


def _faults(value: object, place: str) -> tuple[Fault, ...]:
    try:
        faults = read_faults(value)
    except FaultError as error:
        raise StubError(f"{place}: {error}") from None
    for fault in faults:
        if FAULTS[fault.kind].listens:
            raise StubError(
                f"{place}: {fault.kind!r} affects the whole server, not one answer; take reset, or "
                "a server of its own that is down: MockServer(fault='refuse')"
            )
        if fault.chance != Chance() or fault.match != ANYTHING:
            raise StubError(
                f"{place}: share, times, match and the like are not possible here; the stub's own match and times "
                "apply (in Python .times(2)). For a share of the requests set a fault rule, in Python by "
                "settle(fault={...})"
            )
    return faults


def _check_faults(prepared: Prepared, place: str) -> None:
    """Raise StubError for faults of a model's text, which cannot change a given body."""
    if isinstance(prepared.content, Raw):
        for fault in prepared.faults:
            if FAULTS[fault.kind].says is not None:
                raise StubError(f"{place}.faults: {fault.kind!r} changes what the model says, but this reply is a body")


def _notation(read: Callable[[object], str], value: object, place: str) -> str:
    try:
        return read(value)
    except NotationError as error:
        raise StubError(f"{place}: {error}") from None


def _headers(value: object, place: str) -> RawHeaders:
    if not isinstance(value, Mapping):
        raise StubError(f'{place}: must be a table, such as {{ x-trace = "abc" }}')
    for name in value:
        if not fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            raise StubError(f"{place}: {short_repr(name)} is not a valid header name")
        if name.lower() in ("content-length", "transfer-encoding", "connection"):
            raise StubError(f"{place}: {name} is set by the server; to send a wrong one, use a fault")
    return tuple((name.lower().encode(), header_of(text, f"{place}.{name}")) for name, text in value.items())


def _content(table: Table, place: str) -> ScriptedOutput | Measures | Raw | None:
    """The content of a reply: a scripted output, measures, a body, or nothing."""
    measures = _measures(table, place)
    if measures is not None:
        return measures
    spoken = [key for key in _SPEECH if key in table]
    raw = [key for key in _RAW if key in table]
    if spoken and raw:
        raise StubError(
            f"{place}: {raw[0]} belongs to a body and cannot be combined with {spoken[0]}, which is written in the "
            f"vendor's format; for an error of the vendor use error"
        )
    if "error" in table and (spoken or raw):
        raise StubError(f"{place}: error is a whole answer and cannot be combined with {(spoken or raw)[0]}")
    if raw:
        return _raw(table, place)
    return _scripted(table, place) if spoken else None


def _measures(table: Table, place: str) -> Measures | None:
    """An embedding or scores, which are a whole answer."""
    kind: Measure | None = "embedding" if "embedding" in table else "scores" if "scores" in table else None
    if kind is None:
        return None
    other = next(
        (key for key in ("error", *_SPEECH, *_MEASURES, *_RAW, "template") if key in table and key != kind), None
    )
    if other is not None:
        raise StubError(f"{place}: {kind} is a whole answer and cannot be combined with {other}")
    place = f"{place}.{kind}"
    values = list_of(table[kind], place)
    if kind == "scores":
        return Measures(kind, tuple((number_of(each, place),) for each in values))
    vectors = values if isinstance(values[0], list | tuple) else [values]
    return Measures(kind, tuple(tuple(number_of(each, place) for each in list_of(vector, place)) for vector in vectors))


def _choices(table: Table, place: str) -> ScriptedOutput:
    """The answers of several choices, with their common usage."""
    other = next((key for key in CHOICE_KEYS if key in table), None)
    if other is not None:
        raise StubError(f"{place}: {other} cannot be beside choices; put it into one of them")
    read = []
    for number, each in enumerate(list_of(table["choices"], f"{place}.choices")):
        where = f"{place}.choices[{number}]"
        example = '"It rains." or { text = "It rains.", finish_reason = "length" }'
        choice = {"text": each} if isinstance(each, str) else table_of(each, where, CHOICE_KEYS, example)
        read.append(_scripted(choice, where))
        if number and any(read[number].delays):
            raise StubError(f"{where}: choices come together: only the first can have delays")
    return read[0]._replace(others=tuple(read[1:]), counts=_counts(table, place))


def _scripted(table: Table, place: str) -> ScriptedOutput:
    if "choices" in table:
        return _choices(table, place)
    given = [key for key in _CONTENTS if key in table]
    if len(given) > 1:
        raise StubError(f"{place}: can have only one of {', '.join(_CONTENTS)}, not both {' and '.join(given)}")
    if not given and "tool_calls" not in table:
        raise StubError(f"{place}: has no content; add one of {', '.join((*_CONTENTS, 'tool_calls', 'choices'))}")
    if "refusal" in table and "tool_calls" in table:
        raise StubError(f"{place}: refusal cannot be combined with tool_calls")
    listed = list_of(table.get("chunks", ()), f"{place}.chunks", least=0)
    chunks = [_chunk(each, f"{place}.chunks[{number}]") for number, each in enumerate(listed)]
    pieces = tuple(text for text, _ in chunks)
    if "chunks" in table:
        text = "".join(pieces)
    elif "json" in table:
        text = json_of(table["json"], f"{place}.json")
    else:
        text = text_of(table[given[0]], f"{place}.{given[0]}") if given else ""
    reason: FinishReason | None = table.get("finish_reason")
    if "finish_reason" in table and reason not in get_args(FinishReason):
        raise StubError(f"{place}.finish_reason: {unknown_name('reason', reason, get_args(FinishReason))}")
    return ScriptedOutput(
        text=text,
        pieces=pieces,
        delays=tuple(delay for _, delay in chunks),
        calls=_calls(table["tool_calls"], f"{place}.tool_calls") if "tool_calls" in table else (),
        refusal="refusal" in table,
        reasoning=text_of(table.get("reasoning", ""), f"{place}.reasoning"),
        finish_reason=reason,
        counts=_counts(table, place),
    )


def _counts(table: Table, place: str) -> Counts:
    usage = table_of(table.get("usage", {}), f"{place}.usage", Counts._fields, "{ prompt_tokens = 10 }")
    return Counts(**{key: whole_of(count, f"{place}.usage.{key}") for key, count in usage.items()})


def _chunk(value: object, place: str) -> tuple[str, float | None]:
    if isinstance(value, str):
        return text_of(value, place), None
    table = table_of(value, place, ("text", "delay"), '"It " or { text = "rains.", delay = "200ms" }')
    delay = seconds_of(table["delay"], f"{place}.delay") if "delay" in table else None
    return text_of(table.get("text", ""), f"{place}.text"), delay


def _calls(value: object, place: str) -> tuple[ScriptedCall, ...]:
    found = []
    for number, each in enumerate(list_of(value, place)):
        where = f"{place}[{number}]"
        example = '{ name = "get_weather", arguments = { city = "Oslo" } }'
        table = table_of(each, where, ("name", "arguments", "id"), example)
        arguments = table.get("arguments", {})
        name = text_of(table.get("name", ""), f"{where}.name")
        if not name:
            raise StubError(f"{where}.name: is missing or empty")
        if not isinstance(arguments, str | Mapping):
            raise StubError(f"{where}.arguments: {short_repr(arguments)} is neither a table nor a text")
        text = text_of(arguments, where) if isinstance(arguments, str) else json_of(arguments, f"{where}.arguments")
        found.append(ScriptedCall(name, text, text_of(table.get("id", ""), f"{where}.id")))
    return tuple(found)


def events_in(body: bytes) -> list[bytes]:
    """The server-sent events of a body, each with the blank line after it; joined, they are the body."""
    return [event for event in _EVENT_END.split(body) if event]


def with_files(table: Table, place: str, files: Files | None) -> Table:
    """The table with the contents of the files that it names: its body, and the times of the body's events."""
    if isinstance(table.get("event_times"), str):
        name, at = text_of(table["event_times"], f"{place}.event_times"), f"{place}.event_times"
        try:
            table = {**table, "event_times": read_trace(TraceFile(name), _read_file(name, at, "a list", files))}
        except TraceError as error:
            raise StubError(f"{at}: {error}") from None
    if "file" not in table:
        return table
    both = next((key for key in ("body", "body_base64") if key in table), None)
    if both is not None:
        raise StubError(f"{place}: can have only one of {', '.join(_BODIES)}, not both file and {both}")
    name = text_of(table["file"], f"{place}.file")
    data = _read_file(name, f"{place}.file", "body or body_base64", files)
    kind = {"content_type": table.get("content_type", _TYPES.get(PurePath(name).suffix) or _kind_of(data))}
    rest = {key: value for key, value in table.items() if key != "file"}
    try:
        return {**rest, **kind, "body": data.decode()}
    except UnicodeDecodeError:
        return {**rest, **kind, "body_base64": b64encode(data).decode()}


def _read_file(name: str, place: str, otherwise: str, files: Files | None) -> bytes:
    """The content of the file of that name."""
    if files is None:
        raise StubError(f"{place}: only stub files and config files can name files; use {otherwise}")
    try:
        return files(name)
    except OSError as error:
        raise StubError(f"{place}: {name}: {error.strerror or error}") from None


def _raw(table: Table, place: str) -> Raw:
    """The body of a reply, with its status and content type."""
    given = [key for key in _BODIES if key in table]
    if len(given) > 1:
        raise StubError(f"{place}: can have only one of {', '.join(_BODIES)}, not both {' and '.join(given)}")
    value = table.get("body", "")
    if "body_base64" in table:
        try:
            body, guess = b64decode(text_of(table["body_base64"], f"{place}.body_base64"), validate=True), _BINARY
        except ValueError:
            raise StubError(f"{place}.body_base64: is not valid base64") from None
    elif isinstance(value, str):
        body = text_of(value, f"{place}.body").encode()
        guess = _kind_of(body)
    else:
        body, guess = json_of(value, f"{place}.body").encode(), _TYPES[".json"]
    status = whole_of(table.get("status", 200), f"{place}.status", 200, 599)
    if status in (204, 304) and body:
        raise StubError(f"{place}.status: an answer with status {status} cannot have a body")
    kind = header_of(table.get("content_type", guess), f"{place}.content_type").decode("latin-1")
    return Raw(status, body, kind, _times(table, place, body, kind))


def is_stream(content_type: str) -> bool:
    """Whether a body of this type is a stream of server-sent events."""
    return content_type.partition(";")[0].strip().lower() == "text/event-stream"


def _times(table: Table, place: str, body: bytes, kind: str) -> tuple[float, ...]:
    """When the events of a body are sent; none if the latency decides."""
    if "event_times" not in table:
        return ()
    place = f"{place}.event_times"
    if not is_stream(kind):
        raise StubError(f"{place}: a body of type {kind} is sent at once; only text/event-stream has events")
    if "latency" in table:
        raise StubError(f"{place}: cannot be combined with latency, which also sets when events are sent")
    times = tuple(seconds_of(each, place) for each in list_of(table["event_times"], place))
    events = len(events_in(body))
    if len(times) != events:
        raise StubError(f"{place}: has {len(times)} times, but the body has {events} events")
    if any(later < earlier for earlier, later in pairwise(times)):
        raise StubError(f"{place}: an event cannot be sent before the previous one")
    return times


def _kind_of(data: bytes) -> str:
    """The probable content type of a text, by its beginning."""
    begin = data.lstrip()[:6]
    if begin.startswith((b"{", b"[")):
        return _TYPES[".json"]
    return _TYPES[".sse"] if begin.startswith((b"data:", b"event:", b":")) else _TYPES[".txt"]
