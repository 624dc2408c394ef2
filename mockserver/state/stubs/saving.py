"""Stubs that were added at run time, as a stub file that reads as the same stubs.

A file holds values only: a stub with a function of Python is left out, and so is one with null in TOML, unless the
null is within a JSON text that can be written as that text. What is left out is named, with the reason.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

from mockserver.core.json_values import DEEPEST
from mockserver.core.toml import is_writable, toml_of
from mockserver.state.stubs.stub import Stub
from mockserver.state.stubs.values import StubError, json_of, text_of

# A reply may nest as deeply as JSON, within the levels of its stub.
_DEEPEST = DEEPEST + 8
# Names that a registry has given: in a file they would be taken for those of later stubs.
_GIVEN_NAME = re.compile(r"stub-\d+")


def stubs_in_toml(stubs: Iterable[Stub]) -> str:
    """A stub file in TOML; comments name what is left out."""
    tables, left_out = _saved(stubs, _in_toml)
    comments = "".join(f"# {each}\n" for each in left_out)
    return comments + ("\n" if comments and tables else "") + toml_of("stub", tables)


def stubs_in_json(stubs: Iterable[Stub]) -> str:
    """A stub file in JSON; `$comment` names what is left out."""
    tables, left_out = _saved(stubs, dict)
    comments = {"$comment": left_out} if left_out else {}
    return json.dumps({**comments, "stubs": tables}, indent=2, ensure_ascii=False) + "\n"


def _saved(
    stubs: Iterable[Stub], written: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The tables of a stub file, and the name of each stub that it cannot hold, with the reason."""
    tables, left_out = [], []
    for stub in stubs:
        name = {} if _GIVEN_NAME.fullmatch(stub.name) else {"name": stub.name}
        try:
            values = {key: _plain(value, key) for key, value in stub.table.items() if key != "name"}
            tables.append(written({**name, **values}))
        except StubError as error:
            left_out.append(f"Not saved: stub {json.dumps(stub.name, ensure_ascii=False)}: {error}")
    return tables, left_out


def _plain(value: Any, place: str, level: int = 0) -> Any:
    """A value of a stub's table as JSON has it. Raises StubError."""
    if level > _DEEPEST:
        raise StubError("it is nested too deeply")
    if isinstance(value, Mapping):
        return {
            text_of(key, f"{place}: a key"): _plain(item, f"{place}.{key}", level + 1) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{number}]", level + 1) for number, item in enumerate(value)]
    if isinstance(value, str):
        return text_of(value, place)
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value)):
        return value
    if callable(value):
        raise StubError(f"{place} is a Python function")
    raise StubError(f"{place} is {value if isinstance(value, float) else type(value).__name__}, not a JSON value")


def _in_toml(table: Mapping[str, Any]) -> dict[str, Any]:
    """A stub's table without null. Raises StubError."""
    written = {key: _ANSWERS[key](value) if key in _ANSWERS else value for key, value in table.items()}
    if not is_writable(written):
        raise StubError("TOML has no null; save it with format=json")
    return written


def _reply_in_toml(reply: Any) -> Any:
    """A reply without null where the same JSON can be written as a text."""
    if not isinstance(reply, Mapping) or reply.get("template"):
        return reply
    written = dict(reply)
    if not is_writable(reply.get("body", "")):
        written |= {
            "body": json_of(reply["body"], "body"),
            "content_type": reply.get("content_type", "application/json"),
        }
    if not is_writable(reply.get("json", "")):
        written["text"] = json_of(written.pop("json"), "json")
    if "choices" in reply:
        written["choices"] = [_reply_in_toml(each) for each in reply["choices"]]
    if "tool_calls" in reply:
        written["tool_calls"] = [_call_in_toml(call) for call in reply["tool_calls"]]
    return written


def _call_in_toml(call: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = call.get("arguments", {})
    return call if is_writable(arguments) else {**call, "arguments": json_of(arguments, "arguments")}


def _step_in_toml(step: Any) -> Any:
    if isinstance(step, Mapping) and step.keys() & {"match", "reply"}:
        return {key: _reply_in_toml(value) if key == "reply" else value for key, value in step.items()}
    return _reply_in_toml(step)


_ANSWERS: Mapping[str, Callable[[Any], Any]] = {
    "reply": _reply_in_toml,
    "replies": lambda replies: [_reply_in_toml(each) for each in replies],
    "script": lambda steps: [_step_in_toml(each) for each in steps],
}
# The formats of stub files, by their names' extension.
WRITERS: Mapping[str, Callable[[Iterable[Stub]], str]] = {"toml": stubs_in_toml, "json": stubs_in_json}
