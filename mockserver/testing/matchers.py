"""Functions for tests that make matchers and replies, as plain values that any server accepts."""

import json
import re
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from mockserver.core.matching.requests import WITHIN
from mockserver.core.matching.values import CriteriaError
from mockserver.state.stubs.values import StubError

Table = dict[str, Any]


def contains(part: str) -> Table:
    """A matcher: a text that contains this part."""
    return {"contains": part}


def regex(pattern: str | re.Pattern[str]) -> Table:
    """A matcher: a text in which the regular expression is found."""
    return {"regex": _pattern(pattern)}


def one_of(*values: Any) -> Table:
    """A matcher: one of these values."""
    return {"one_of": list(values)}


def at_least(number: float) -> Table:
    """A matcher: this number or a greater one."""
    return {"at_least": number}


def at_most(number: float) -> Table:
    """A matcher: this number or a smaller one."""
    return {"at_most": number}


def anything() -> Table:
    """A matcher: any value, which must be present."""
    return {"exists": True}


def nothing() -> Table:
    """A matcher: no value."""
    return {"exists": False}


def but_not(value: Any) -> Table:
    """A matcher: anything except what this value or matcher accepts."""
    return {"not": matcher_value(value)}


def tool_call(name: str, text: str | None = None, /, *, call_id: str | None = None, **arguments: Any) -> Table:
    """A reply, or a part of one: the model calls a tool. `text` replaces the arguments, and need not be JSON; `call_id`
    is the id that the call has, instead of one of the vendor's."""
    call = {"name": name, "arguments": arguments if text is None else text}
    return {"tool_calls": [call if call_id is None else {**call, "id": call_id}]}


def chunk(text: str, delay: float | str = 0.0) -> Table:
    """A part of a reply: a separate event, so many seconds (or "200ms") after the previous one."""
    return {"chunks": [{"text": text, "delay": delay if isinstance(delay, str) else f"{delay * 1000:.9g}ms"}]}


def as_json(*value: Any, **fields: Any) -> Table:
    """A reply: the model writes JSON: one value, None being null, or an object with these fields."""
    if len(value) > 1 or (value and fields):
        raise TypeError("Give one value, as_json([1, 2]), or the fields of an object, as_json(city='Oslo')")
    return {"json": value[0] if value else fields}


def refusal(text: str) -> Table:
    """A reply: the model declines to answer."""
    return {"refusal": text}


def error(kind: str, *, retry_after: float | None = None, message: str | None = None, **settings: Any) -> Table:
    """A reply: the vendor's own error, by its neutral name."""
    table = {"error": kind, "retry_after": retry_after, "message": message, **settings}
    return {"error": {name: value for name, value in table.items() if value is not None}}


def raw(
    body: Any = "", *, status: int = 200, content_type: str | None = None, headers: Mapping[str, str] | None = None
) -> Table:
    """A reply: a body as it is sent, in no vendor's format; bytes are sent unchanged."""
    reply: Table = {"status": status}
    if isinstance(body, bytes):
        from base64 import b64encode

        reply["body_base64"] = b64encode(body).decode()
    else:
        reply["body"] = body
    return reply | {name: value for name, value in (("content_type", content_type), ("headers", headers)) if value}


def template(text: str, **settings: Any) -> Table:
    """A reply: a text with gaps such as `{{ last_user }}`, which are filled from the request."""
    return {"text": text, "template": True, **settings}


def reply_value(*parts: Any, **settings: Any) -> Any:
    """A reply made of parts: texts, tables such as `tool_call(...)`, or a single function of the request."""
    if len(parts) == 1 and callable(parts[0]):
        if settings:
            raise TypeError(f"A function defines the whole reply: put {', '.join(settings)} into what it returns")
        return parts[0]
    in_chunks = any(isinstance(part, Mapping) and "chunks" in part for part in parts)
    reply: Table = {}
    for part in parts:
        if isinstance(part, list):
            raise StubError(
                "a reply is no list: write its parts as .reply(a, b), answers in turn as .replies(a, b), and those of "
                "several choices as .reply(choices=[a, b])"
            )
        if not isinstance(part, str | Mapping):
            raise StubError(
                f"{part!r} is not a part of a reply; use strings, tool_call(...), chunk(...), as_json(...), or a "
                "single function"
            )
        text = chunk(part) if in_chunks and isinstance(part, str) else {"text": part}
        _join(reply, text if isinstance(part, str) else part)
    if isinstance(settings.get("choices"), list | tuple):
        settings["choices"] = [step_value(choice) for choice in settings["choices"]]
    return reply | settings


def step_value(step: Any) -> Any:
    """A step of a script: a reply, or a table with `match` and `reply`."""
    if isinstance(step, Mapping) and step.keys() & {"match", "reply"}:
        match, reply = match_table(step.get("match", {})), step.get("reply", {})
        return {"match": match, "reply": reply_value(*reply) if isinstance(reply, tuple) else reply_value(reply)}
    return reply_value(*step) if isinstance(step, tuple) else reply_value(step)


def match_table(match: Any) -> Any:
    """A match as a table of values: `any_`, `all_` and `not_` lose their underscore, patterns become strings. What is
    no table is left to be refused where matches are read."""
    if not isinstance(match, Mapping):
        return match
    fields = ((_FIELDS.get(str(name), str(name)), value) for name, value in match.items())
    return {name: _field_value(name, value) for name, value in fields}


def matcher_value(value: Any) -> Any:
    """A matcher as a value: a pattern becomes a string, everything else is unchanged."""
    return {"regex": _pattern(value)} if isinstance(value, re.Pattern) else value


_FIELDS = {"any_": "any", "all_": "all", "not_": "not"}


def _field_value(name: str, value: Any) -> Any:
    if name in ("any", "all", "not"):
        return [match_table(each) for each in value] if isinstance(value, list | tuple) else match_table(value)
    if name in WITHIN and isinstance(value, Mapping):
        return {place: matcher_value(inner) for place, inner in value.items()}
    return matcher_value(value)


def _join(reply: Table, part: Mapping[str, Any]) -> None:
    """Add a part to a reply: lists (tool calls, chunks) are extended, texts are concatenated."""
    for name, value in part.items():
        if name in reply and isinstance(value, list):
            reply[name] = [*reply[name], *value]
        elif name == "text" and "text" in reply:
            reply[name] = reply[name] + value
        elif name in reply:
            raise TypeError(f"A reply can have {name} only once, not {json.dumps(reply[name])} and {json.dumps(value)}")
        else:
            reply[name] = value


def _pattern(pattern: Any) -> str:
    """A regular expression as a string with its flags. Raises CriteriaError if a string cannot express it."""
    if isinstance(pattern, str):
        return pattern
    if not isinstance(pattern, re.Pattern) or not isinstance(pattern.pattern, str):
        raise CriteriaError(f"{pattern!r} is not a regular expression for strings; use r'...' or re.compile(r'...')")
    unsupported = re.RegexFlag(pattern.flags & ~_SUPPORTED)
    if unsupported:
        known = ", ".join(flag.name or "" for flag in _FLAGS.values())
        raise CriteriaError(f"{pattern!r}: {unsupported!r} cannot be written within a pattern. Possible: {known}")
    flags = "".join(letter for letter, flag in _FLAGS.items() if pattern.flags & flag)
    return f"(?{flags}){pattern.pattern}" if flags else pattern.pattern


_FLAGS: Mapping[str, re.RegexFlag] = {
    "a": re.ASCII,
    "i": re.IGNORECASE,
    "m": re.MULTILINE,
    "s": re.DOTALL,
    "x": re.VERBOSE,
}
# Patterns of text are Unicode by default.
_SUPPORTED = reduce(or_, _FLAGS.values(), re.UNICODE)
