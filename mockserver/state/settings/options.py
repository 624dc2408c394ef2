"""Options: the settings that can be written as strings, from command line, environment, config file or program.

One table, `OPTIONS`, is used for all of them. A mistake raises `ConfigError`, which names the place, the key, and what
would have been valid.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from pathlib import PurePath
from typing import Any, NamedTuple, get_args

from mockserver.core.dialects import Edition
from mockserver.core.messages import short_repr, unknown_name
from mockserver.core.seeding import SEEDS
from mockserver.faults.parse_faults import read_faults
from mockserver.latency.parse_latency import FASTEST, read_latency, read_output_tokens
from mockserver.latency.traces import NO_TRACES, Tracing
from mockserver.state.quotas import read_quotas
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.origins import read_cors, read_hosts

# How many values an option may have that may be given several times: each fault is looked at for each request.
_MOST = 1_000
# The first Unix second whose year has five digits.
_END_OF_TIME = 253_402_300_800


class Option(NamedTuple):
    """One setting that has a command-line option: how its value is read, and its help.

    A `switch` without a value means true. An option that may be given several times is `often`. One that may name
    recorded traces is `traced`: its reader also gets what loads them. One with a fixed set of values has `choices`.
    """

    name: str
    read: Callable[..., Any]
    help: str
    metavar: str
    switch: bool = False
    often: bool = False
    traced: bool = False
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"MOCKSERVER_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The command-line flag that sets it."""
        return "--" + self.name.replace("_", "-")


def _choice(name: str, known: tuple[str, ...], help: str, metavar: str) -> Option:
    """An option with a fixed set of values."""

    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(unknown_name("value", value, known))
        return str(value)

    return Option(name, read, help, metavar, choices=known)


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,30}", value.strip()) else value
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
            raise ValueError(f"{value!r} is not a whole number from {least} to {most}")
        return number

    return read


def _seconds(value: Any) -> float:
    seconds = _number(value)
    if not 0 <= seconds < _END_OF_TIME:
        raise ValueError(f"{value} is not a Unix time, such as 1700000000")
    return seconds


def _speed(value: Any) -> float:
    speed = _number(value)
    if isinstance(value, bool) or not 1 / FASTEST <= speed <= FASTEST:
        raise ValueError(f"{value} is not a number from {1 / FASTEST:f} to {FASTEST}, such as 10 for ten times as fast")
    return speed


def _number(value: Any) -> float:
    """A value as a number; infinity, which is out of all bounds, if it is not one."""
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return inf


def _switch(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if str(value).lower() not in words:
        raise ValueError(f"{value!r} must be true or false")
    return words[str(value).lower()]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    return value


def _path(value: Any) -> str:
    """A path: a text, or in Python a `Path`."""
    if not isinstance(value, str | PurePath):
        raise ValueError(f"{short_repr(value)} is not a path")
    return str(value)


def _host(value: Any) -> str:
    """An address as sockets take it: one of IPv6 without the brackets that it has in URLs."""
    host = _text(value)
    if "/" in host or re.fullmatch(r"[^:]*:\d+|\[.*\]:\d+", host):
        raise ValueError(f"{host!r} is not an address alone, such as 127.0.0.1, ::1 or 0.0.0.0; the port has an option")
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


# Words that are hardly keys: whoever writes them wants no check of keys, or one of all.
_NO_KEYS = ("none", "no", "false", "disabled", "on", "yes", "true", "all", "*")


def _auth(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, list | tuple) and value:
        return tuple(_text(key) for key in value)
    if value in ("any", "off"):
        return str(value)
    keys = tuple(key.strip() for key in _text(value).split(",") if key.strip())
    if not keys or (len(keys) == 1 and keys[0].lower() in _NO_KEYS):
        raise ValueError(f"{value!r} names no key; write any, off, or the accepted keys, separated by commas")
    return keys


OPTIONS: tuple[Option, ...] = (
    Option("host", _host, "address to listen on", "ADDRESS"),
    Option("port", _whole(0, 65_535), "port to listen on; 0 picks a free one and prints it", "PORT"),
    Option("dialect", _text, "the only dialect that answers at the root (the others: under their names)", "NAME"),
    Option("bare", _text, "the dialect that answers at a root path of several (default: the request decides)", "NAME"),
    _choice(
        "edition",
        get_args(Edition),
        "documented (as the vendor's page says) or observed (as the service behaves today)",
        "EDITION",
    ),
    Option("seed", _whole(SEEDS[0], SEEDS[-1]), "the number from which every answer is derived", "NUMBER"),
    Option(
        "output_tokens",
        read_output_tokens,
        "how many tokens an answer in prose has: off (as its text demands), 128, or a distribution such as "
        "'normal(128, 20)'",
        "TOKENS",
        traced=True,
    ),
    Option(
        "latency",
        read_latency,
        "off, realistic, a preset, or settings such as 'ttft=180ms, rate=50 tok/s'",
        "LATENCY",
        traced=True,
    ),
    Option("speed", _speed, "how many times faster than their latency answers come, such as 10", "FACTOR"),
    Option(
        "prompt_cache",
        _switch,
        "cache prompts as the vendor does: usage counts the cached tokens, and the first token comes sooner",
        "BOOL",
        switch=True,
    ),
    Option(
        "fault", read_faults, "a fault, such as '{ kind = \"cut\", after_event = 5, share = 0.1 }'", "FAULT", often=True
    ),
    Option(
        "quota",
        read_quotas,
        "off, vendor, a tier, or limits such as 'requests=30/min, tokens=60k/min, concurrent=10, dialect=cerebras'",
        "QUOTA",
        often=True,
    ),
    Option("stubs", _path, "a folder of stub files (*.toml, *.json), or one such file", "PATH"),
    _choice(
        "unmatched",
        ("generate", "refuse"),
        "what happens to requests that no stub matches: generate (an answer) or refuse (404, with the nearest stubs)",
        "KIND",
    ),
    _choice(
        "deliver",
        ("loopback", "private", "any"),
        "where messages and callbacks may go: loopback (this machine), private (and private networks, as of services "
        "in compose) or any (wherever URLs lead); never to the metadata addresses of clouds",
        "KIND",
    ),
    Option(
        "auth",
        _auth,
        "any (every API key is accepted, but one is needed), off, or the accepted keys, separated by commas",
        "KEYS",
    ),
    Option(
        "cors",
        read_cors,
        "which web pages may use the server: loopback (those of localhost and the like), an origin besides, such as "
        "https://app.example, vendor (as loopback, with the vendor's own headers alone) or any",
        "ORIGIN",
        often=True,
    ),
    Option("strict", _switch, "send no headers that the vendor does not send", "BOOL", switch=True),
    Option("created", _seconds, "the Unix time that all answers state, instead of the present", "SECONDS"),
    _choice(
        "ids", ("derived", "unique"), "ids of answers: derived (from the request) or unique (for every call)", "KIND"
    ),
    _choice(
        "writes",
        ("joined", "single"),
        "events due at the same instant: joined (sent in one write) or single (a write each)",
        "KIND",
    ),
    Option(
        "max_body",
        _whole(1, 2**40),
        "largest request body, in bytes; more than 500,000 JSON values are also too many",
        "BYTES",
    ),
    Option("journal", _whole(0, 1_000_000), "how many exchanges the journal of each namespace keeps", "NUMBER"),
    Option("tls_cert", _path, "the certificate for HTTPS, a PEM file", "FILE"),
    Option(
        "tls_key", _path, "the certificate's key, a PEM file; not needed if the certificate's file contains it", "FILE"
    ),
    Option(
        "allow_host",
        read_hosts,
        "a host name that a server on loopback answers to besides those of loopback and the vendors, such as "
        "mock.example.test or *.example.test",
        "NAME",
        often=True,
    ),
    Option(
        "admin_token",
        _text,
        "the token that the admin API requires; needed if the server listens beyond loopback",
        "TOKEN",
    ),
    _choice(
        "log_level",
        ("debug", "info", "warning", "error"),
        "the lowest level to log: debug, info (every exchange), warning or error",
        "LEVEL",
    ),
    _choice(
        "log_format",
        ("text", "json"),
        "the format of the log: text (for people) or json (one object per line)",
        "FORMAT",
    ),
    Option("workers", _whole(1, 256), "how many processes serve the port; several keep no state", "NUMBER"),
)
BY_NAME = {option.name: option for option in OPTIONS}
# Settings that cannot change while a server runs; those that the admin API can change (others are tables, which are
# easier to write in a file); and those that each namespace can have of its own.
FIXED = ("host", "port", "tls_cert", "tls_key", "workers", "journal", "log_level", "log_format")
LIVE = (
    *("seed", "edition", "latency", "speed", "prompt_cache", "cors", "strict", "created", "ids", "writes", "quota"),
    *("deliver", "output_tokens"),
)
OWN = (
    *("seed", "latency", "speed", "prompt_cache", "edition", "fault", "quota", "auth", "strict", "created", "ids"),
    *("writes", "unmatched", "deliver", "output_tokens"),
)
# Container platforms describe a service named `mockserver` in variables that look like ours, such as
# MOCKSERVER_PORT=tcp://10.0.0.7:8000.
_LINKED = re.compile(r"(tcp|udp|sctp)://")
_LINKS = re.compile(r"MOCKSERVER_(SERVICE_|PORT_\d)")


def from_names(values: Mapping[str, Any], place: str, traces: Tracing = NO_TRACES) -> dict[str, Any]:
    """Settings by the names of their options, read and checked, from strings as on the command line or from values of
    Python; distributions may name `traces`. Raises ConfigError, which names the `place`."""
    for name in values:
        if name not in BY_NAME:
            raise ConfigError(f"{place}: {unknown_name('setting', name, BY_NAME)}")
    return {name: read_option(BY_NAME[name], value, f"{place} {name}", traces) for name, value in values.items()}


def from_environment(environ: Mapping[str, str], traces: Tracing = NO_TRACES) -> dict[str, Any]:
    """Settings from `MOCKSERVER_*` variables; empty and unknown ones are ignored."""
    texts = {option.name: environ.get(option.variable) for option in OPTIONS}
    given = {name: text for name, text in texts.items() if text and not _LINKED.match(text)}
    return {name: read_option(BY_NAME[name], value, BY_NAME[name].variable, traces) for name, value in given.items()}


def strange_variables(environ: Mapping[str, str]) -> list[str]:
    """A warning for each unknown `MOCKSERVER_*` variable, with the nearest known one."""
    known = ("MOCKSERVER_CONFIG", "MOCKSERVER_URL", *(option.variable for option in OPTIONS))
    strange = (name for name in sorted(environ) if name.startswith("MOCKSERVER_") and name not in known)
    return [
        f"{unknown_name('variable', name, known)}. It is ignored"
        for name in strange
        if not (_LINKED.match(environ[name]) or _LINKS.match(name))
    ]


def settle(*layers: Mapping[str, Any]) -> Settings:
    """Settings from layers of values; later layers take precedence."""
    return Settings(**{name: value for layer in layers for name, value in layer.items()})


def settings_or(default: Settings, given: object, example: str) -> Settings:
    """The settings that are given in Python, or the default ones. Raises ConfigError with an example."""
    if given is None:
        return default
    if not isinstance(given, Settings):
        raise ConfigError(f"{short_repr(given)} is no Settings(...); name what you set, as in {example}")
    return given


def checked(settings: Settings, traces: Tracing | None = None) -> Settings:
    """Settings made in Python, checked like any others: strings are read, mistakes raise ConfigError. A latency may
    name `traces`, by default the settings' own."""
    known = settings.traces if traces is None else traces
    values = {option.name: getattr(settings, option.name) for option in OPTIONS}
    given = {name: value for name, value in values.items() if value is not None}
    return replace(
        settings,
        **{name: read_option(BY_NAME[name], value, f"Settings: {name}", known) for name, value in given.items()},
    )


def read_option(option: Option, value: Any, place: str, traces: Tracing) -> Any:
    """The value of an option for the settings. Raises ConfigError, which names the place."""
    try:
        if option.often and isinstance(value, list | tuple) and len(value) > _MOST:
            raise ValueError(f"{len(value):,} values are too many; at most {_MOST:,} are possible")
        return option.read(value, traces) if option.traced else option.read(value)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{place}{_number_of_the_bad(option, value)}: {error}") from None


def _number_of_the_bad(option: Option, value: Any) -> str:
    """The position of the first invalid value, as `[1]`, if an option has several; else an empty string."""
    if not (option.often and isinstance(value, list | tuple) and len(value) > 1):
        return ""
    for number, item in enumerate(value[:_MOST]):
        try:
            option.read(item)
        except (ValueError, TypeError):
            return f"[{number}]"
    return ""
