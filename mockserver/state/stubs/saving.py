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
    written: dict[str, Any] = _null_in_texts(table)
    if not is_writable(written):
        raise StubError("TOML has no null; save it with format=json")
    return written


# What replies have as JSON, each with the key under which it can be written as a text.
_AS_TEXTS = {"body": "body", "json": "text", "arguments": "arguments"}
_AS_THEY_ARE = ("match", "request", *_AS_TEXTS)


def _null_in_texts(value: Any) -> Any:
    """A part of a stub's table in which JSON with null is written as a text, where that is the same."""
    if isinstance(value, list):
        return [_null_in_texts(each) for each in value]
    if not isinstance(value, Mapping) or value.get("template"):
        return value
    written = {key: each if key in _AS_THEY_ARE else _null_in_texts(each) for key, each in value.items()}
    for key, text in _AS_TEXTS.items():
        if not is_writable(value.get(key, "")):
            written[text] = json_of(written.pop(key), key)
            if key == "body":
                written.setdefault("content_type", "application/json")
    return written


# The formats of stub files, by their names' extension.
WRITERS: Mapping[str, Callable[[Iterable[Stub]], str]] = {"toml": stubs_in_toml, "json": stubs_in_json}
