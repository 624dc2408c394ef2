"""Settings as values: what a server is told, from wherever it is told.

One table, `OPTIONS`, serves the command line, the environment and the config file. A mistake raises `ConfigError`,
which names the place, the key, and what would have been valid.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, get_args

from mockserver.core.dialects import Edition
from mockserver.faults.notation import read_fault, read_faults
from mockserver.faults.rules import Fault
from mockserver.latency.notation import NotationError, read_profile
from mockserver.latency.profiles import OFF, REALISTIC


class ConfigError(Exception):
    """A setting that cannot be meant; the text names its place and what would have been valid."""


@dataclass(frozen=True, slots=True)
class RouteSettings:
    """A route of the user's own: a path that answers as an operation of a dialect."""

    path: str
    dialect: str
    operation: str
    edition: Edition | None = None
    latency: str | None = None
    seed: int | None = None
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """All that a server can be told. `created` freezes the clock of the answers, in Unix seconds.

    `auth` is "any", "off" or the accepted keys; `ids` "derived" (from the request) or "unique" (per call); `writes`
    "joined" (events due at the same instant leave together) or "single"; `models` closes a dialect's catalogue.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    seed: int = 42
    latency: str = REALISTIC
    edition: Edition = "documented"
    auth: str | tuple[str, ...] = "any"
    dialect: str | None = None
    strict: bool = False
    created: float | None = None
    ids: str = "derived"
    writes: str = "joined"
    max_body: int = 64 * 1024 * 1024
    admin_token: str | None = None
    log_level: str = "info"
    bare: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    routes: tuple[RouteSettings, ...] = ()
    fault: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """One setting that has a word on the command line: how its text is read, and what it means.

    A switch may stand alone, and then means true.
    """

    name: str
    read: Callable[[Any], Any]
    help: str
    metavar: str
    switch: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"MOCKSERVER_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The command-line flag that sets it."""
        return "--" + self.name.replace("_", "-")


def _choice(*known: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(_unknown(value, known))
        return str(value)

    return read


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number = int(value) if isinstance(value, str) else value
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
            raise ValueError(f"{value} is not a whole number from {least} to {most}")
        return number

    return read


def _seconds(value: Any) -> float:
    return float(value)


def _switch(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if str(value).lower() not in words:
        raise ValueError(f"{value!r} is neither true nor false")
    return words[str(value).lower()]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


def _auth(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, list):
        return tuple(_text(key) for key in value)
    return value if value in ("any", "off") else tuple(key.strip() for key in _text(value).split(","))


def _latency(value: Any) -> str:
    text = ", ".join(f"{key}={item}" for key, item in value.items()) if isinstance(value, dict) else _text(value)
    if text not in (OFF, REALISTIC):
        try:
            read_profile(text)
        except NotationError as error:
            raise ValueError(f"{text!r}: {error}, or {OFF}, or {REALISTIC}") from None
    return text


def _faults(value: Any) -> tuple[Fault, ...]:
    if isinstance(value, str):
        return read_faults(value)
    return tuple(read_fault(table) for table in (value if isinstance(value, list) else [value]))


OPTIONS: tuple[Option, ...] = (
    Option("host", _text, "address to listen on", "ADDRESS"),
    Option("port", _whole(0, 65_535), "port to listen on; 0 picks a free one and prints it", "PORT"),
    Option("dialect", _text, "serve this dialect alone, at the root", "NAME"),
    Option("edition", _choice(*get_args(Edition)), "documented (the page) or observed (the service today)", "EDITION"),
    Option("seed", _whole(-(2**63), 2**63 - 1), "what every answer is derived from", "NUMBER"),
    Option("latency", _latency, "off, realistic, a preset, or settings such as 'ttft=180ms, rate=50 tok/s'", "LATENCY"),
    Option("fault", _faults, "what goes wrong, such as '{ kind = \"cut\", after_event = 5, share = 0.1 }'", "FAULT"),
    Option("auth", _auth, "any (a key must be there), off, or the accepted keys, parted by commas", "KEYS"),
    Option("strict", _switch, "leave out the headers that the vendor does not send", "BOOL", switch=True),
    Option("created", _seconds, "freeze the clock of the answers at this Unix time", "SECONDS"),
    Option("ids", _choice("derived", "unique"), "ids derived from the request, or unique for every call", "KIND"),
    Option("writes", _choice("joined", "single"), "join events due at once, or one write for each", "KIND"),
    Option("max_body", _whole(1, 2**40), "largest request body, in bytes", "BYTES"),
    Option("admin_token", _text, "token that the admin API asks for beyond loopback", "TOKEN"),
    Option("log_level", _choice("debug", "info", "warning", "error"), "how much the server says", "LEVEL"),
)
_BY_NAME = {option.name: option for option in OPTIONS}
_ROUTE_KEYS = tuple(item.name for item in fields(RouteSettings))


def from_texts(values: Mapping[str, str], place: str) -> dict[str, Any]:
    """Settings from texts by option name, as the command line and the environment give them."""
    return {name: _read(_BY_NAME[name], value, f"{place} {name}") for name, value in values.items()}


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Settings from `MOCKSERVER_*` variables; others are left alone."""
    given = {option.name: environ[option.variable] for option in OPTIONS if option.variable in environ}
    return from_texts(given, "environment variable for")


def from_toml(text: str, name: str) -> dict[str, Any]:
    """Settings from a config file's text; `name` is what errors call it."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: {error}") from None
    return dict(_setting(key, value, f"{name}, {_line(text, key)}: {key}") for key, value in document.items())


def _setting(key: str, value: Any, place: str) -> tuple[str, Any]:
    """A key of a config file as a field of Settings, with its value."""
    if key == "route":
        return "routes", _routes(value, place)
    if key in ("bare", "models"):
        return key, _table(value, place, lists=key == "models")
    if key not in _BY_NAME:
        raise ConfigError(f"{place}: {_unknown(key, (*_BY_NAME, 'bare', 'models', 'route'))}")
    return key, _read(_BY_NAME[key], value, place)


def settle(*layers: Mapping[str, Any]) -> Settings:
    """Settings from layers of values, the strongest last."""
    settings = Settings()
    for layer in layers:
        settings = replace(settings, **layer)
    return settings


def check_names(settings: Settings, operations: Mapping[str, Iterable[str]]) -> None:
    """Raise ConfigError where settings name a dialect or an operation that does not exist."""
    for place, name in _named_dialects(settings):
        if name not in operations:
            raise ConfigError(f"{place}: {_unknown(name, tuple(operations))}")
    for route in settings.routes:
        known = tuple(operations[route.dialect])
        if route.operation not in known:
            raise ConfigError(f"route {route.path}: operation: {_unknown(route.operation, known)}")


def _named_dialects(settings: Settings) -> list[tuple[str, str]]:
    named = [(f"route {route.path}: dialect", route.dialect) for route in settings.routes]
    named += [(f"bare {path}", name) for path, name in settings.bare.items()]
    named += [("models", name) for name in settings.models]
    return named + ([("dialect", settings.dialect)] if settings.dialect else [])


def _routes(value: Any, place: str) -> tuple[RouteSettings, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ConfigError(f"{place}: write it as [[route]] with the keys {', '.join(_ROUTE_KEYS)}")
    return tuple(_route(entry, f"{place}[{number}]") for number, entry in enumerate(value))


def _route(entry: dict[str, Any], place: str) -> RouteSettings:
    for key in entry:
        if key not in _ROUTE_KEYS:
            raise ConfigError(f"{place}.{key}: {_unknown(key, _ROUTE_KEYS)}")
    for key in ("path", "dialect", "operation"):
        if not isinstance(entry.get(key), str):
            raise ConfigError(f"{place}: {key} is missing, or no text")
    if not entry["path"].startswith("/"):
        raise ConfigError(f"{place}.path: {entry['path']!r} does not start with /")
    options = {"edition": "edition", "latency": "latency", "seed": "seed", "faults": "fault"}
    checked: dict[str, Any] = {
        key: _read(_BY_NAME[option], entry[key], f"{place}.{key}") for key, option in options.items() if key in entry
    }
    return RouteSettings(**{**entry, **checked})


def _table(value: Any, place: str, *, lists: bool) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{place}: is a table, such as [{place.rsplit(' ', 1)[-1]}]")
    return {str(key): (_names if lists else _name)(item, f"{place}: {key}") for key, item in value.items()}


def _name(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{place}: {value!r} is not a text")
    return value


def _names(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"{place}: {value!r} is not a list of texts")
    return tuple(_name(item, place) for item in value)


def _read(option: Option, value: Any, place: str) -> Any:
    try:
        return option.read(value)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{place}: {error}") from None


def _unknown(name: object, known: Iterable[str]) -> str:
    """What to say of a name that nothing has: the known ones, the nearest first."""
    names = list(known)
    near = get_close_matches(str(name), names, n=1)
    return f"unknown name {name!r}.{f' Did you mean {near[0]!r}?' if near else ''} Known: {', '.join(names)}"


def _line(text: str, key: str) -> str:
    """Where a key stands in a config file, for people."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.replace("[", "").split("=")[0].split("]")[0].strip().split(".")[0] == key:
            return f"line {number}"
    return "line ?"
