"""TOML, read and written: a stub file is a list of tables."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from mockserver.core.json_values import read_json

# How many parts a dotted key may have, and how deep values may be nested: parsing takes the square of the former.
_MOST_LEVELS = 100
# Strings and comments as wholes, so that what is in them does not count; unclosed ones end with the text.
_TOKEN = re.compile(
    r'''"""(?:\\.|[^"\\]|"(?!""))*+(?:"""|\Z)|\'{3}(?:[^']|'(?!''))*+(?:\'{3}|\Z)'''
    r"""|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|\#[^\n]*|[\w-]+|[ \t]+|(?P<sign>[.\[\]{}])|.""",
    re.DOTALL,
)

# What makes a document of a single value, and how the parser tells of a place in its first line.
_NAME = "value = "
_IN_LINE_1 = re.compile(r"\(at line 1, column (\d+)\)")


class TomlError(ValueError):
    """A text is not valid TOML; the message says where and why."""


def read_toml(text: str) -> dict[str, Any]:
    """Parse a document. Raises TomlError."""
    if max(map(text.count, ".[{")) > _MOST_LEVELS:
        _check_levels(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        unquoted = "; a text needs quotes" if str(error).startswith("Invalid value") else ""
        raise TomlError(f"{error}{unquoted}") from None
    except RecursionError:
        raise TomlError("it is nested too deeply") from None
    except ValueError:
        # The parser leaves it to `int` to refuse those of more than 4,300 digits.
        raise TomlError("a number has too many digits") from None


def read_toml_value(text: str) -> Any:
    """Parse a single value, such as an inline table, which may also be written in JSON. Raises TomlError."""
    try:
        return read_toml(f"{_NAME}{text}")["value"]
    except TomlError as error:
        with suppress(ValueError):
            return read_json(text)
        found = _IN_LINE_1.sub(lambda place: f"(at column {int(place[1]) - len(_NAME)})", str(error))
        raise TomlError(found) from None


def _check_levels(text: str) -> None:
    """Raise TomlError if a key has too many parts, or a value is nested too deeply; takes linear time."""
    parts = depth = 0
    for token in _TOKEN.finditer(text):
        sign = token["sign"]
        if sign == ".":
            parts += 1
        elif sign is not None or token[0] in ("=", ",", "\n"):
            parts = 0
            depth = max(depth + (sign in ("[", "{")) - (sign in ("]", "}")), 0) if sign is not None else depth
        if parts > _MOST_LEVELS:
            raise TomlError(f"a key has more than {_MOST_LEVELS} parts")
        if depth > _MOST_LEVELS:
            raise TomlError("it is nested too deeply")


_BARE = re.compile(r"[A-Za-z0-9_-]+")
# Strings between single quotes have no escapes: they may contain anything but these and the quote.
_LITERAL = re.compile(r"[^'\x00-\x08\x0a-\x1f\x7f]*")
# Between triple quotes line feeds are allowed too, and up to two quotes in a row.
_LINES = re.compile(r"(?:'{0,2}[^'\x00-\x08\x0b-\x1f\x7f])*")


def toml_of(name: str, tables: Iterable[Mapping[str, Any]]) -> str:
    """A list of tables: `[[name]]` for each, with a section of its own for each table, or list of tables, in it."""
    return "\n".join("".join(_written(name, table)) for table in tables)


def is_writable(value: object) -> bool:
    """Whether TOML can represent all of a value: it must not contain null."""
    if isinstance(value, Mapping):
        return all(map(is_writable, value.values()))
    return all(map(is_writable, value)) if isinstance(value, list) else value is not None


def _written(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    yield f"[[{name}]]\n"
    parts = {key: value for key, value in table.items() if isinstance(value, Mapping) or _is_list_of_tables(value)}
    yield from _lines({key: value for key, value in table.items() if key not in parts})
    for key, part in parts.items():
        for inner in [part] if isinstance(part, Mapping) else part:
            yield f"[{name}.{_key(key)}]\n" if isinstance(part, Mapping) else f"[[{name}.{_key(key)}]]\n"
            yield from _lines(inner)


def _is_list_of_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield f"{_key(key)} = {_text(value) if isinstance(value, str) else _value(value)}\n"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)


def _value(value: object) -> str:
    if isinstance(value, str):
        # An inline table must be on one line.
        return f"'{value}'" if '"' in value and _LITERAL.fullmatch(value) else _quoted(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    # Numbers and booleans are written as in JSON.
    return json.dumps(value)


def _text(value: str) -> str:
    """A string, without backslashes if possible."""
    if '"' in value and _LITERAL.fullmatch(value):
        return f"'{value}'"
    return f"'''\n{value}'''" if '"' in value and _LINES.fullmatch(value) else _quoted(value)


def _quoted(text: str) -> str:
    """A basic string of TOML is a JSON string, except for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
