"""Stubs in words: the tables of a stub file, of `[[stub]]` in a config file, of the admin API and of the fixture.

    name = "weather"                     # default: its number
    match = { dialect = "yandex", last_user = { contains = "weather" } }       # default: every request
    reply = { tool_calls = [ { name = "get_weather", arguments = { city = "Oslo" } } ] }
    priority = 0                         # the highest goes first; of equal ones those armed at run time, then by age
    times = 2                            # so many uses, then it matches nothing; default: for ever

`match` is written as `core/criteria_notation.py` says. A stub has one of

    reply   = REPLY                      # the same every time
    replies = [ REPLY, REPLY, ... ]      # one after the other; the last one stays
    script  = [ STEP, STEP, ... ]        # one after the other, each of them once; then the stub matches nothing
    (none)                               # generated answers, with the stub's faults, latency, seed and headers

A STEP is a REPLY, or { match = {...}, reply = REPLY }: then it waits for a request that matches.

A REPLY is a text, which the model says in the dialect's own format; or a table with one of

    text = "It rains."
    chunks = [ "It ", { text = "rains.", delay = "200ms" } ]    # an event each; the delay is the time before it
    json = { city = "Oslo" }                                    # the model says this as JSON
    refusal = "I cannot help with that."
    tool_calls = [ { name = "get_weather", arguments = { city = "Oslo" } } ]   # beside a text, or alone
    body = "anything" | { any = "JSON" }                        # the body as it goes out, in no vendor's words
    body_base64 = "AAEC"
    file = "recorded.sse"                                       # a body, from beside the stub file
    error = "rate_limit" | { error = "rate_limit", retry_after = 2, message = ".." }   # the vendor's own error
    (none)                                                      # a generated answer; {} is one too

and with these, where they belong:

    finish_reason = "length"                                    # what is said
    usage = { prompt_tokens = 1, completion_tokens = 2, cached_tokens = 0, reasoning_tokens = 0 }      # any of them
    status = 503; content_type = "text/html"                    # bodies; a status may stand alone
    headers = { x-trace = "abc" }                               # any answer
    faults = [ { kind = "cut", after_event = 3 } ]; latency = "ttft=2s"; seed = 7       # any answer
    template = true                                             # fill {{ last_user }} in its texts: `templates.py`

`error`, `faults`, `latency`, `seed` and `headers` may also stand in the stub itself, for all of its replies. In Python
a reply may be a function: it gets the request's facts (`control/facts.py`) and returns a REPLY, or None for a
generated answer.

A mistake raises `StubError`, which names the place and what would have been valid.
"""

import json
import tomllib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import iscoroutinefunction
from pathlib import PurePath
from re import fullmatch
from typing import Any, get_args

from mockserver.control.stubs.book import Prepared, Raw, Step, Stub
from mockserver.control.stubs.templates import TemplateError, check_all
from mockserver.core.criteria import ANYTHING, Criteria, strange_name
from mockserver.core.criteria_notation import CriteriaError, read_criteria
from mockserver.core.generation import FinishReason
from mockserver.core.json_values import is_shallow
from mockserver.core.naming import unknown
from mockserver.core.timeline import RawHeaders
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.notation import FaultError, read_faults, read_table
from mockserver.faults.rules import Chance, Fault
from mockserver.generation.prepared import Counts, Speech
from mockserver.latency.distributions import Constant
from mockserver.latency.notation import NotationError, read_distribution, read_profile
from mockserver.latency.presets import OFF, REALISTIC

Table = Mapping[str, Any]
# Reads a file by the name that a reply gives it; raises OSError.
Files = Callable[[str], bytes]

_SHARED = ("error", "faults", "latency", "seed", "headers")
_ANSWERS = ("reply", "replies", "script")
STUB_KEYS = ("name", "match", *_ANSWERS, "priority", "times", *_SHARED)
_SAID = ("text", "chunks", "json", "refusal")
_BODIES = ("body", "body_base64", "file")
_SPEECH = (*_SAID, "tool_calls", "finish_reason", "usage")
_RAW = (*_BODIES, "status", "content_type")
REPLY_KEYS = (*_SPEECH, *_RAW, *_SHARED, "template")
_CALL = ("name", "arguments")
_CHUNK = ("text", "delay")
_COUNTS = Counts._fields

_TYPES = {
    ".json": "application/json",
    ".sse": "text/event-stream",
    ".html": "text/html; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
_PLAIN_TEXT = _TYPES[".txt"]

# No count and no number of seconds that is meant goes beyond this.
_MOST = 1_000_000_000
_LARGEST_SEED = 2**63


class StubError(ValueError):
    """A stub that cannot be meant; the text names the place and what would have been valid."""


def read_stub(table: object, place: str = "stub", files: Files | None = None, origin: str = "") -> Stub:
    """A stub from its table; `files` reads what its replies name. Raises StubError."""
    told = _table(table, place, STUB_KEYS, '{ match = { model = "m" }, reply = "It rains." }')
    given = [key for key in _ANSWERS if key in told]
    if len(given) > 1:
        raise StubError(f"{place}: has one of {', '.join(_ANSWERS)}; {' and '.join(given)} are too many")
    if "script" in told and "times" in told:
        raise StubError(f"{place}.times: a script is used once from its beginning to its end")
    criteria, shared = _criteria(told.get("match", {}), f"{place}.match"), _shared(told, place)
    if not given and shared == Prepared():
        raise StubError(f"{place}: answers nothing; say reply, replies, script, or one of {', '.join(_SHARED)}")
    return Stub(
        name=_name(told.get("name", ""), place),
        criteria=criteria,
        steps=tuple(_with_shared(step, shared) for step in _steps(told, place, files)),
        stays="script" not in told,
        priority=_whole(told.get("priority", 0), f"{place}.priority", least=-_MOST),
        times=_whole(told["times"], f"{place}.times", least=1) if "times" in told else None,
        table=told,
        origin=origin,
    )


def read_stubs(tables: object, place: str, files: Files | None = None, origin: str = "") -> tuple[Stub, ...]:
    """The stubs of a list of tables; those without a name are named after their place. Raises StubError."""
    if not isinstance(tables, list | tuple):
        raise StubError(f"{place}: is a list of tables: write each as [[stub]]")
    stubs = [read_stub(table, f"{place}[{number}]", files, origin) for number, table in enumerate(tables)]
    named = tuple(
        each if each.name or not origin else each._replace(name=f"{origin}-{n}") for n, each in enumerate(stubs, 1)
    )
    check_unique(named)
    return named


def check_unique(stubs: Sequence[Stub]) -> None:
    """Raise StubError when two stubs have the same name."""
    seen: dict[str, Stub] = {}
    for stub in stubs:
        if stub.name and stub.name in seen:
            places = " and ".join(dict.fromkeys(each.origin for each in (seen[stub.name], stub) if each.origin))
            raise StubError(f"two stubs are called {stub.name!r}{f' ({places})' if places else ''}")
        seen[stub.name] = stub


def check_names(stub: Stub, operations: Mapping[str, Iterable[str]]) -> None:
    """Raise StubError where a stub matches a dialect or an operation that does not exist.

    `operations` are the names of a dialect's operations, by its name.
    """
    for criteria in (stub.criteria, *(step.criteria for step in stub.steps)):
        complaint = strange_name(criteria, operations)
        if complaint is not None:
            raise StubError(f"stub {stub.name!r}: {complaint}")


def read_prepared(value: object, place: str = "reply", files: Files | None = None) -> Prepared:
    """A reply from a text, a table or a function. Raises StubError."""
    if isinstance(value, str):
        return Prepared(Speech(_text(value, place)))
    if callable(value):
        if iscoroutinefunction(value):
            raise StubError(f"{place}: is a coroutine function; a plain function is wanted")
        return Prepared(value)
    example = '"It rains.", { text = "It rains.", finish_reason = "length" }'
    table = _loaded(_table(value, place, REPLY_KEYS, example), place, files)
    prepared = _shared(table, place)._replace(content=_content(table, place))
    _check_faults(prepared, place)
    if not _flag(table.get("template", False), f"{place}.template"):
        return prepared
    draft = {key: item for key, item in table.items() if key != "template"}
    try:
        check_all(draft)
    except TemplateError as error:
        raise StubError(f"{place}: {error}") from None
    return prepared._replace(template=draft)


def read_wish(text: str) -> Prepared:
    """A reply as a header has it: a plain text, or a table in JSON or TOML. Raises StubError."""
    stripped = text.strip()
    if not stripped.startswith("{"):
        return read_prepared(text)
    try:
        return read_prepared(json.loads(stripped))
    except (json.JSONDecodeError, RecursionError):
        pass
    try:
        return read_prepared(tomllib.loads(f"reply = {stripped}")["reply"])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise StubError(f"{text!r} is a table neither in JSON nor in TOML: {error}") from None


# --- the steps of a stub -----------------------------------------------------------------------------------------


def _steps(table: Table, place: str, files: Files | None) -> tuple[Step, ...]:
    if "script" in table:
        return tuple(
            _scripted(each, f"{place}.script[{number}]", files)
            for number, each in enumerate(_list(table["script"], f"{place}.script"))
        )
    if "replies" in table:
        replies = _list(table["replies"], f"{place}.replies")
        return tuple(
            Step(read_prepared(each, f"{place}.replies[{number}]", files)) for number, each in enumerate(replies)
        )
    return (Step(read_prepared(table.get("reply", {}), f"{place}.reply", files)),)


def _scripted(value: object, place: str, files: Files | None) -> Step:
    """A step of a script: a reply, or a reply that waits for a request."""
    if not isinstance(value, Mapping) or not value.keys() & {"match", "reply"}:
        return Step(read_prepared(value, place, files))
    table = _table(value, place, ("match", "reply"), "{ match = {...}, reply = ... }")
    prepared = read_prepared(table.get("reply", {}), f"{place}.reply", files)
    return Step(prepared, _criteria(table.get("match", {}), f"{place}.match"))


def _with_shared(step: Step, shared: Prepared) -> Step:
    """The step with what its stub says of all of its replies; what it says itself goes first."""
    own = step.prepared
    names = {name for name, _ in own.headers}
    both = own._replace(
        faults=(*shared.faults, *own.faults),
        latency=shared.latency if own.latency is None else own.latency,
        seed=shared.seed if own.seed is None else own.seed,
        headers=(*own.headers, *(header for header in shared.headers if header[0] not in names)),
    )
    return Step(both, step.criteria)


def _shared(table: Table, place: str) -> Prepared:
    """What any answer can be told: faults, latency, seed, headers."""
    faults = _error(table["error"], f"{place}.error") if "error" in table else ()
    return Prepared(
        faults=(*faults, *(_faults(table["faults"], f"{place}.faults") if "faults" in table else ())),
        latency=_latency(table["latency"], f"{place}.latency") if "latency" in table else None,
        seed=_whole(table["seed"], f"{place}.seed", -_LARGEST_SEED, _LARGEST_SEED - 1) if "seed" in table else None,
        headers=_headers(table.get("headers", {}), f"{place}.headers"),
    )


def _error(value: object, place: str) -> tuple[Fault, ...]:
    table = {"error": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping) or "error" not in table:
        raise StubError(f'{place}: is a failure by its name, or {{ error = "rate_limit", retry_after = 2 }}')
    return _faults([{"kind": "error", **table}], place)


def _faults(value: object, place: str) -> tuple[Fault, ...]:
    try:
        if isinstance(value, str):
            faults = read_faults(value)
        else:
            tables = value if isinstance(value, list | tuple) else [value]
            faults = tuple(fault for table in tables for fault in read_table(table))
    except FaultError as error:
        raise StubError(f"{place}: {error}") from None
    for fault in faults:
        if FAULTS[fault.kind].listens:
            raise StubError(f"{place}: {fault.kind!r} strikes the whole server, not an answer")
        if fault.chance != Chance() or fault.match != ANYTHING:
            raise StubError(f"{place}: which requests are struck is the stub's to say, by its match and times")
    return faults


def _check_faults(prepared: Prepared, place: str) -> None:
    """What strikes the words of a model cannot strike a body that is given."""
    if isinstance(prepared.content, Raw):
        for fault in prepared.faults:
            if FAULTS[fault.kind].says is not None:
                raise StubError(f"{place}.faults: {fault.kind!r} strikes what a model says, and this is a body")


def _latency(value: object, place: str) -> str:
    text = ", ".join(f"{key}={item}" for key, item in value.items()) if isinstance(value, Mapping) else value
    if text in (OFF, REALISTIC):
        return str(text)
    try:
        read_profile(_text(text, place), realistic="fast")
    except NotationError as error:
        raise StubError(f"{place}: {text!r}: {error}. Also: {OFF}, {REALISTIC}") from None
    return str(text)


def _headers(value: object, place: str) -> RawHeaders:
    if not isinstance(value, Mapping):
        raise StubError(f'{place}: is a table, such as {{ x-trace = "abc" }}')
    return tuple((_header_name(name, place), _header_value(text, f"{place}.{name}")) for name, text in value.items())


def _header_name(name: str, place: str) -> bytes:
    if not fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise StubError(f"{place}: {name!r} is no name of a header")
    if name.lower() in ("content-length", "transfer-encoding", "connection"):
        raise StubError(f"{place}: {name} is the server's own to say; there are faults for a false one")
    return name.lower().encode()


def _header_value(value: object, place: str) -> bytes:
    text = _text(value, place)
    if not text.isprintable() or text != text.strip():
        raise StubError(f"{place}: {text!r} holds what no header can")
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise StubError(f"{place}: {text!r} holds characters beyond Latin-1") from None


# --- what is said ------------------------------------------------------------------------------------------------


def _content(table: Table, place: str) -> Speech | Raw | None:
    """What a reply says: words, a body, or nothing."""
    said = [key for key in _SPEECH if key in table]
    raw = [key for key in _RAW if key in table]
    if said and raw:
        raise StubError(
            f"{place}: {said[0]} is said in the vendor's own format, {raw[0]} goes with a body; "
            f"for the vendor's error say error"
        )
    if "error" in table and (said or raw):
        raise StubError(f"{place}: error is the whole answer, so {(said or raw)[0]} is too much")
    if raw:
        return _raw(table, place)
    return _speech(table, place) if said else None


def _speech(table: Table, place: str) -> Speech:
    given = [key for key in _SAID if key in table]
    if len(given) > 1:
        raise StubError(f"{place}: says one of {', '.join(_SAID)}; {' and '.join(given)} are too many")
    if not given and "tool_calls" not in table:
        raise StubError(f"{place}: says nothing; say one of {', '.join((*_SAID, 'tool_calls'))}")
    if "refusal" in table and "tool_calls" in table:
        raise StubError(f"{place}: who refuses calls no tools")
    chunks = [
        _chunk(each, f"{place}.chunks[{n}]")
        for n, each in enumerate(_list(table.get("chunks", ()), f"{place}.chunks", least=0))
    ]
    pieces = tuple(text for text, _ in chunks)
    return Speech(
        text="".join(pieces) if "chunks" in table else _words(table, given[0], place) if given else "",
        pieces=pieces,
        delays=tuple(delay for _, delay in chunks),
        calls=_calls(table["tool_calls"], f"{place}.tool_calls") if "tool_calls" in table else (),
        refusal="refusal" in table,
        finish_reason=_reason(table["finish_reason"], f"{place}.finish_reason") if "finish_reason" in table else None,
        counts=_counts(table.get("usage", {}), f"{place}.usage"),
    )


def _words(table: Table, key: str, place: str) -> str:
    return _json(table[key], f"{place}.{key}") if key == "json" else _text(table[key], f"{place}.{key}")


def _chunk(value: object, place: str) -> tuple[str, float | None]:
    if isinstance(value, str):
        return _text(value, place), None
    table = _table(value, place, _CHUNK, '"It ", or { text = "rains.", delay = "200ms" }')
    delay = _seconds(table["delay"], f"{place}.delay") if "delay" in table else None
    return _text(table.get("text", ""), f"{place}.text"), delay


def _calls(value: object, place: str) -> tuple[tuple[str, str], ...]:
    found = []
    for number, each in enumerate(_list(value, place)):
        where = f"{place}[{number}]"
        table = _table(each, where, _CALL, '{ name = "get_weather", arguments = { city = "Oslo" } }')
        arguments = table.get("arguments", {})
        name = _text(table.get("name", ""), f"{where}.name")
        if not name:
            raise StubError(f"{where}.name: is missing, or empty")
        text = _text(arguments, where) if isinstance(arguments, str) else _json(arguments, f"{where}.arguments")
        found.append((name, text))
    return tuple(found)


def _reason(value: object, place: str) -> FinishReason:
    for known in get_args(FinishReason):
        if known == value:
            reason: FinishReason = known
            return reason
    raise StubError(f"{place}: {unknown('reason', value, get_args(FinishReason))}")


def _counts(value: object, place: str) -> Counts:
    table = _table(value, place, _COUNTS, "{ prompt_tokens = 10 }")
    return Counts(**{key: _whole(count, f"{place}.{key}") for key, count in table.items()})


# --- bodies ------------------------------------------------------------------------------------------------------


def _raw(table: Table, place: str) -> Raw:
    given = [key for key in _BODIES if key in table]
    if len(given) > 1:
        raise StubError(f"{place}: has one of {', '.join(_BODIES)}; {' and '.join(given)} are too many")
    body, guess = _body(table, place)
    status = _whole(table.get("status", 200), f"{place}.status", 200, 599)
    if status in (204, 304) and body:
        raise StubError(f"{place}.status: an answer of status {status} has no body")
    kind = table.get("content_type", guess)
    return Raw(status, body, _header_value(kind, f"{place}.content_type").decode("latin-1"))


def _body(table: Table, place: str) -> tuple[bytes, str]:
    """The body, and what its content type seems to be."""
    if "body_base64" in table:
        return _decoded(table["body_base64"], f"{place}.body_base64"), "application/octet-stream"
    body = table.get("body", "")
    if not isinstance(body, str):
        return _json(body, f"{place}.body").encode(), "application/json"
    data = _text(body, f"{place}.body").encode()
    return data, _kind_of(data)


def _kind_of(data: bytes) -> str:
    """The content type of a text: by how it begins."""
    begin = data.lstrip()[:6]
    if begin.startswith((b"{", b"[")):
        return _TYPES[".json"]
    return _TYPES[".sse"] if begin.startswith((b"data:", b"event:", b":")) else _PLAIN_TEXT


def _decoded(value: object, place: str) -> bytes:
    try:
        return b64decode(_text(value, place), validate=True)
    except (Base64Error, ValueError):
        raise StubError(f"{place}: is no base64") from None


def _loaded(table: Table, place: str, files: Files | None) -> Table:
    """The table with the file that it names as its body."""
    if "file" not in table:
        return table
    both = next((key for key in ("body", "body_base64") if key in table), None)
    if both is not None:
        raise StubError(f"{place}: has one of {', '.join(_BODIES)}; file and {both} are too many")
    name = _text(table["file"], f"{place}.file")
    if files is None:
        raise StubError(f"{place}.file: only a stub file or a config file can name files; send body or body_base64")
    try:
        data = files(name)
    except OSError as error:
        raise StubError(f"{place}.file: {name}: {error.strerror or error}") from None
    kind = {"content_type": table.get("content_type", _TYPES.get(PurePath(name).suffix) or _kind_of(data))}
    rest = {key: value for key, value in table.items() if key != "file"}
    try:
        return {**rest, **kind, "body": data.decode()}
    except UnicodeDecodeError:
        return {**rest, **kind, "body_base64": b64encode(data).decode()}


# --- values ------------------------------------------------------------------------------------------------------


def _table(value: object, place: str, known: Sequence[str], example: str) -> Table:
    if not isinstance(value, Mapping):
        raise StubError(f"{place}: {value!r} is not {example}")
    for key in value:
        if key not in known:
            raise StubError(f"{place}: {unknown('key', key, known)}")
    return value


def _list(value: object, place: str, least: int = 1) -> Sequence[Any]:
    if not isinstance(value, list | tuple) or len(value) < least:
        raise StubError(f"{place}: is a list{' of one at least' if least else ''}")
    return value


def _criteria(table: object, place: str) -> Criteria:
    try:
        return read_criteria(table, place)
    except CriteriaError as error:
        raise StubError(str(error)) from None


def _name(value: object, place: str) -> str:
    text = _text(value, f"{place}.name")
    if not text.isprintable() or text != text.strip() or len(text) > 200:
        raise StubError(f"{place}.name: {text!r} is no name of one line")
    return text


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise StubError(f"{place}: {value!r} is no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise StubError(f"{place}: {value!r} holds half a character, which UTF-8 cannot say") from None
    return value


def _json(value: object, place: str) -> str:
    if not is_shallow(value):
        raise StubError(f"{place}: nests deeper than anybody reads")
    try:
        return _text(json.dumps(value, ensure_ascii=False, allow_nan=False), place)
    except (TypeError, ValueError, RecursionError) as error:
        raise StubError(f"{place}: is no JSON value: {error}") from None


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise StubError(f"{place}: is true or false")
    return value


def _whole(value: object, place: str, least: int = 0, most: int = _MOST) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise StubError(f"{place}: {value!r} is no whole number from {least} to {most}")
    return value


def _seconds(value: object, place: str) -> float:
    if isinstance(value, str):
        try:
            read = read_distribution(value)
        except NotationError as error:
            raise StubError(f"{place}: {error}") from None
        value = read.seconds if isinstance(read, Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        raise StubError(f"{place}: is a number of seconds, or a duration such as '200ms'")
    return float(value)
