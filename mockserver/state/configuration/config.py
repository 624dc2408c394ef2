"""A config file's text as settings: options, routes, tables of names, stubs. A mistake is reported with its line."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from mockserver.core.naming import unknown
from mockserver.core.toml import TomlError, read_toml
from mockserver.latency.traces import NO_TRACES, Tracing
from mockserver.state.configuration.names import Operations, check_names, check_strikes
from mockserver.state.configuration.options import BY_NAME, read_option, settle
from mockserver.state.configuration.toml_places import line_of, located
from mockserver.state.settings import ConfigError, RouteSettings
from mockserver.state.stubs.bodies import Files
from mockserver.state.stubs.notation import check_names as check_stub_names
from mockserver.state.stubs.notation import read_stubs
from mockserver.state.stubs.values import StubError

_ROUTE_KEYS = tuple(item.name for item in fields(RouteSettings))


def from_toml(
    text: str,
    name: str,
    files: Files | None = None,
    traces: Tracing = NO_TRACES,
    operations: Operations | None = None,
) -> dict[str, Any]:
    """Settings from a config file's text; `name` is what errors call it, `files` reads what its stubs name, `traces`
    what its latencies do. With the `operations`, names are checked as by `check_names`."""
    try:
        document = read_toml(text)
    except TomlError as error:
        other = "" if name.endswith(".toml") else "; config files are written in TOML"
        raise ConfigError(f"{name}: {error}{other}") from None
    try:
        settings = dict(_setting(key, value, files, traces) for key, value in document.items() if key != "$schema")
    except ConfigError as error:
        raise ConfigError(located(str(error), text, name)) from None
    if "routes" in settings:
        settings["routes"] = tuple(
            replace(route, origin=f"{name}, line {line_of(text, f'route[{number}]')}: ")
            for number, route in enumerate(settings["routes"])
        )
    if operations is not None:
        _check_names_of(settings, operations, text, name)
    return settings


def _check_names_of(settings: Mapping[str, Any], operations: Operations, text: str, name: str) -> None:
    """Raise ConfigError, which names the line, where settings of a config file name what does not exist."""
    try:
        check_names(settle(settings), operations)
        for number, stub in enumerate(settings.get("stub", ())):
            check_stub_names(stub, operations, f"stub[{number}]")
    except (ConfigError, StubError) as error:
        # Routes know their lines.
        raise ConfigError(str(error) if str(error).startswith(name) else located(str(error), text, name)) from None


def _setting(key: str, value: Any, files: Files | None, traces: Tracing) -> tuple[str, Any]:
    """A key of a config file as a field of Settings, with its value."""
    if key == "stub":
        try:
            return key, read_stubs(value, key, files, "config")
        except StubError as error:
            raise ConfigError(str(error)) from None
    if key == "route":
        return "routes", _routes(value, key, traces)
    if key in ("bare", "models"):
        return key, _table(value, key, lists=key == "models")
    if key not in BY_NAME:
        raise ConfigError(f"{key}: {unknown('key', key, (*BY_NAME, 'bare', 'models', 'route', 'stub'))}")
    return key, read_option(BY_NAME[key], value, key, traces)


def _routes(value: Any, place: str, traces: Tracing) -> tuple[RouteSettings, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ConfigError(f"{place}: must be tables, each written as [[route]] with the keys {', '.join(_ROUTE_KEYS)}")
    return tuple(_route(entry, f"{place}[{number}]", traces) for number, entry in enumerate(value))


def _route(entry: dict[str, Any], place: str, traces: Tracing) -> RouteSettings:
    for key in entry:
        if key not in _ROUTE_KEYS:
            raise ConfigError(f"{place}.{key}: {unknown('key', key, _ROUTE_KEYS)}")
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
    check_strikes(checked.get("faults", ()), f"{place}.faults")
    return RouteSettings(**{**entry, **checked})


def _table(value: Any, place: str, *, lists: bool) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{place}: must be a table, such as [{place}]")
    return {str(key): (_names if lists else _name)(item, f"{place}: {key}") for key, item in value.items()}


def _name(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{place}: {value!r} is not a string")
    return value


def _names(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"{place}: {value!r} is not a list of strings")
    return tuple(_name(item, place) for item in value)
