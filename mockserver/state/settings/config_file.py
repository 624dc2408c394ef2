"""A config file's text as settings: options, routes, tables of names, stubs. A mistake is reported with its line."""

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from mockserver.core.dialects import Dialect
from mockserver.core.messages import unknown_name
from mockserver.core.toml import TomlError, read_toml
from mockserver.latency.traces import NO_TRACES, Tracing
from mockserver.state.settings import ConfigError, RouteSettings
from mockserver.state.settings.checks import check_all, check_no_listener_faults
from mockserver.state.settings.options import BY_NAME, read_option, settle
from mockserver.state.stubs.parse_replies import Files
from mockserver.state.stubs.parse_stubs import check_names, read_stubs
from mockserver.state.stubs.values import StubError

_ROUTE_KEYS = tuple(item.name for item in fields(RouteSettings))


def from_toml(
    text: str,
    name: str,
    files: Files | None = None,
    traces: Tracing = NO_TRACES,
    dialects: Mapping[str, Dialect] | None = None,
) -> dict[str, Any]:
    """Settings from a config file's text; `name` is what errors call it, `files` reads what its stubs name, `traces`
    what its latencies do. With `dialects`, all is checked as by `check_all`."""
    try:
        document = read_toml(text)
    except TomlError as error:
        other = "" if name.endswith(".toml") else "; config files are written in TOML"
        raise ConfigError(f"{name}: {error}{other}") from None
    try:
        settings = dict(_setting(key, value, files, traces) for key, value in document.items() if key != "$schema")
    except (ConfigError, StubError) as error:
        raise ConfigError(located(str(error), text, name)) from None
    if "routes" in settings:
        settings["routes"] = tuple(
            replace(route, origin=f"{name}, line {line_of(text, f'route[{number}]')}: ")
            for number, route in enumerate(settings["routes"])
        )
    if dialects is not None:
        _check(settings, dialects, text, name)
    return settings


def _check(settings: Mapping[str, Any], dialects: Mapping[str, Dialect], text: str, name: str) -> None:
    """Raise ConfigError, which names the line, where settings of a config file name what does not exist."""
    try:
        check_all(settle(settings), dialects)
        for number, stub in enumerate(settings.get("stub", ())):
            check_names(stub, dialects, f"stub[{number}]")
    except (ConfigError, StubError) as error:
        # Routes know their lines.
        raise ConfigError(str(error) if str(error).startswith(name) else located(str(error), text, name)) from None


def _setting(key: str, value: Any, files: Files | None, traces: Tracing) -> tuple[str, Any]:
    """A key of a config file as a field of Settings, with its value."""
    if key == "stub":
        return key, read_stubs(value, key, files, "config")
    if key == "stubs" and not isinstance(value, str):
        raise ConfigError(f"{key}: is the name of a folder; write each stub as [[stub]]")
    if key == "route":
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise ConfigError(
                f"{key}: must be tables, each written as [[route]] with the keys {', '.join(_ROUTE_KEYS)}"
            )
        return "routes", tuple(_route(entry, f"{key}[{number}]", traces) for number, entry in enumerate(value))
    if key == "models":
        if not isinstance(value, dict):
            raise ConfigError(f"{key}: must be a table, such as [{key}]")
        return key, {str(each): _names(item, f"{key}: {each}") for each, item in value.items()}
    if key not in BY_NAME:
        raise ConfigError(f"{key}: {unknown_name('key', key, (*BY_NAME, 'models', 'route', 'stub'))}")
    return key, read_option(BY_NAME[key], value, key, traces)


def _route(entry: dict[str, Any], place: str, traces: Tracing) -> RouteSettings:
    for key in entry:
        if key not in _ROUTE_KEYS:
            raise ConfigError(f"{place}.{key}: {unknown_name('key', key, _ROUTE_KEYS)}")
    for key in ("path", "dialect", "operation"):
        if not isinstance(entry.get(key), str):
            raise ConfigError(f"{place}: {key} is missing or not a string")
    if not entry["path"].startswith("/"):
        raise ConfigError(f"{place}.path: {entry['path']!r} must start with /")
    options = {"faults": "fault", **{key: key for key in ("edition", "latency", "seed", "output_tokens")}}
    checked: dict[str, Any] = {
        key: read_option(BY_NAME[option], entry[key], f"{place}.{key}", traces)
        for key, option in options.items()
        if key in entry
    }
    check_no_listener_faults(checked.get("faults", ()), f"{place}.faults")
    return RouteSettings(**{**entry, **checked})


def _names(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{place}: {value!r} is not a list of strings")
    return tuple(value)


# A place as in error messages: `latency`, `route[1].faults`, `stub[0].reply.file`.
_PLACE = re.compile(r"[\w-]+(?:\[\d+\])?(?:\.[\w-]+(?:\[\d+\])?)*")
_PART = re.compile(r"([\w-]+)(?:\[(\d+)\])?")
# What follows a place in messages about an unknown key or value, and about a key that is a path.
_STRANGE = re.compile(r"(?:: \w+)?: unknown \w+ '([\w-]+)'")
_PATH = re.compile(r" (/\S*):")


def located(message: str, text: str, name: str) -> str:
    """A message that begins with a place in a text, prefixed with the text's name and the line of that place."""
    place = _PLACE.match(message)
    if place is None:
        return f"{name}: {message}"
    strange, path = _STRANGE.match(message, place.end()), _PATH.match(message, place.end())
    line = None
    if strange is not None:
        # The first line that gives the last key of the place this value, which is wrong wherever it is.
        last, value = re.escape(_PART.findall(place[0])[-1][0]), re.escape(strange[1])
        at = _nth(text.splitlines(), rf"(?:.*[\s{{,.])?{last}\s*=.*[\"']{value}[\"']", 0)
        line = None if at is None else at + 1
    if line is None:
        key = strange or path
        line = line_of(text, place[0], *([] if key is None else [key[1]]))
    return f"{name}: {message}" if line is None else f"{name}, line {line}: {message}"


def line_of(text: str, place: str, *keys: str) -> int | None:
    """The line number of a place in a TOML document, and of a key within it if given, or else of the closest enclosing
    place that is found; None if there is none."""
    lines = text.splitlines()
    (key, number), *inner = _PART.findall(place)
    inner += [(name, "") for name in keys]
    at = _nth(lines, rf"\s*\[\[\s*{re.escape(key)}\s*\]\]", int(number or 0))
    if at is None:
        at = _nth(lines, rf"\s*(?:\[\s*)?{re.escape(key)}\s*[=.\]]", 0)
    if at is None:
        return None
    end = next((n for n in range(at + 1, len(lines)) if re.match(r"\s*\[\[", lines[n])), len(lines))
    for name, _ in inner:
        found = _nth(lines[at:end], rf"(?:.*[\s{{,.\[])?[\"']?{re.escape(name)}[\"']?\s*[=.\]]", 0)
        if found is None:
            break
        at += found
    return at + 1


def _nth(lines: list[str], pattern: str, number: int) -> int | None:
    """The index of the line that matches a pattern after `number` other matching lines."""
    matching = [index for index, line in enumerate(lines) if re.match(pattern, line)]
    return matching[number] if number < len(matching) else None
