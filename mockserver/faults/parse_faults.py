"""The notation of faults: TOML tables, the same in a config file, in an option and in a request's header.

    { kind = "error", error = "rate_limit", retry_after = 2, times = 2 }
    { kind = "cut", after_event = 5, share = 0.01, match = { dialect = "cerebras" } }
    { kind = "reset", after_event = "random" }
    { kind = "html", from = 10, for = 30, share = [0, 0.5] }
    { scenario = "outage", for = 30 }

A bare name is short for a table with only that kind, `scenario:` and a name for one with that scenario; a table may
also be written in JSON. The name of a failure stands for the kind `error` with that failure. A mistake raises
`FaultError`, which names the key.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from mockserver.core.failures import FailureKind
from mockserver.core.matching.requests import ANYTHING, RequestMatcher, in_words, read_criteria
from mockserver.core.matching.values import CriteriaError
from mockserver.core.messages import short_repr, unknown_name
from mockserver.core.toml import TomlError, read_toml_value
from mockserver.faults.catalogue import FAULTS, FaultKind
from mockserver.faults.rules import (
    COUNT_KEYS,
    PLACE_KEYS,
    RANDOM,
    WINDOW_KEYS,
    Chance,
    Fault,
    Place,
)

_CHANCE_KEYS = {**COUNT_KEYS, **WINDOW_KEYS}
# The fields of a chance whose keys have other names.
_FIELDS = {"from": "start", "for": "seconds"}
_WORDS = {"start": "from", "seconds": "for", "share_end": "share to"}
# A synonym of a failure: the name of its status.
OTHER_WORDS = {"not_found": "unknown_model"}
_FAILURES = frozenset(FailureKind)
# What other tools call a kind (WireMock and toxiproxy among them), for the message about its name.
SYNONYMS = {
    **dict.fromkeys(("delay", "latency", "fixed_delay", "pause", "sleep"), "stall"),
    **dict.fromkeys(("slow", "throttle", "limit_rate"), "bandwidth"),
    **dict.fromkeys(("dribble", "trickle", "chunked_dribble"), "drip"),
    **dict.fromkeys(("reset_peer", "connection_reset", "connection_reset_by_peer", "abort"), "reset"),
    **dict.fromkeys(("disconnect", "drop_connection", "empty_response", "limit_data"), "close"),
    **dict.fromkeys(("black_hole", "blackhole", "no_response", "never_respond"), "hang"),
    **dict.fromkeys(("corrupt", "invalid_json", "bad_json"), "malformed"),
    **dict.fromkeys(("down", "offline", "connection_refused"), "refuse"),
    "malformed_response_chunk": "bad_chunk",
    "random_data_then_close": "garbage",
    "slicer": "split",
}
# How long a listener fails by default, in seconds: if it failed for ever, nobody could reach it to end that.
_LISTENER_FAILS = 5.0
# What values of a type are called.
_NOUNS = {str: "string", int: "whole number of at least 0", float: "number of at least 0"}
# Half of a surrogate pair.
_HALF = re.compile("[\ud800-\udfff]")
# The upper bound of every count, time and rate.
_MOST = 1e9


class FaultError(ValueError):
    """A fault that makes no sense; the message names the key and what would have been valid."""


def read_faults(value: object) -> tuple[Fault, ...]:
    """Read the faults of a text or a table, or of a list of these. Raises FaultError.

    A text is a table, a list of tables, or names of kinds and scenarios separated by commas.
    """
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(fault for item in items for fault in _faults(item))


def _faults(item: object) -> tuple[Fault, ...]:
    if isinstance(item, Fault):
        return (item,)
    return _faults_in(item) if isinstance(item, str) else read_table(item)


def _faults_in(text: str) -> tuple[Fault, ...]:
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return tuple(fault for name in stripped.split(",") for fault in read_table(_named(name.strip())))
    try:
        value = read_toml_value(stripped)
    except TomlError as error:
        raise FaultError(f"{short_repr(stripped)} is not a valid TOML table: {error}") from None
    tables = value if isinstance(value, list) else [value]
    return tuple(fault for table in tables for fault in read_table(table))


def _named(name: str) -> dict[str, str]:
    if "=" in name:
        raise FaultError(
            f'{short_repr(name)} is not a name; write settings as a table such as {{ kind = "cut", after_event = 5 }}'
        )
    word, colon, rest = name.partition(":")
    return {"scenario": rest.strip()} if colon and word.strip() == "scenario" else {"kind": name}


def read_table(table: object) -> tuple[Fault, ...]:
    """Read the fault of a table, or the faults of the scenario that it names. Raises FaultError."""
    if not (isinstance(table, dict) and "scenario" in table):
        return (read_fault(table),)
    name = table["scenario"]
    scenario = SCENARIOS.get(name) if isinstance(name, str) else None
    if scenario is None:
        raise FaultError(f"scenario: {unknown_name('scenario', name, SCENARIOS)}")
    _check_keys(name, table, ("scenario", *WINDOW_KEYS, "match"))
    window = _typed(name, table, WINDOW_KEYS)
    match = _match(name, table.get("match", {}))
    tables = acts(scenario, window.get("from", 0.0), window.get("for"))
    return tuple(replace(read_fault(act), match=match) for act in tables)


def read_fault(table: object) -> Fault:
    """Read a fault from its table. Raises FaultError."""
    if not isinstance(table, dict):
        raise FaultError(f'{short_repr(table)} is not a table such as {{ kind = "cut", after_event = 5 }}')
    name = table.get("kind")
    if isinstance(name, str) and (name in _FAILURES or name in OTHER_WORDS):
        return read_fault({**table, "kind": "error", "error": name})
    kind = FAULTS.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(name, str):
        if name is None:
            raise FaultError(f"kind: is missing, and so is scenario. Known kinds: {', '.join(FAULTS)}")
        raise FaultError(f"kind: {_unknown('fault', name, FAULTS)}")
    chosen = WINDOW_KEYS if kind.listens else (*_CHANCE_KEYS, "share", "match")
    _check_keys(name, table, ("kind", *kind.settings, *kind.places, *chosen))
    places = [key for key in table if key in PLACE_KEYS]
    if len(places) > 1:
        raise FaultError(f"{name}: can have only one place, not {' and '.join(places)}")
    return Fault(
        kind=name,
        settings=_settings(name, kind, table),
        place=Place(RANDOM) if table.get("after_event") == RANDOM else Place(**_typed(name, table, PLACE_KEYS)),
        chance=_chance(name, {"for": _LISTENER_FAILS, **table} if kind.listens else table),
        match=_match(name, table.get("match", {})),
    )


def table_of(fault: Fault) -> dict[str, Any]:
    """The table of a fault as it would be written for one request: its kind, its place, and the settings that differ
    from their defaults."""
    settings = FAULTS[fault.kind].settings
    changed = {key: value for key, value in fault.settings.items() if value != settings[key].default}
    place = {key: getattr(fault.place, key) for key in PLACE_KEYS if getattr(fault.place, key) is not None}
    return {"kind": fault.kind, **changed, **place}


def fault_in_words(fault: Fault) -> str:
    """A fault in one line: its kind, settings and place, and whatever of its chance and match is not the default."""
    usual = asdict(Chance())
    chance = {_WORDS.get(key, key): value for key, value in asdict(fault.chance).items() if value != usual[key]}
    known = {**fault.settings, **asdict(fault.place), **chance}
    match = f" where {in_words(fault.match)}" if fault.match != ANYTHING else ""
    return fault.kind + "".join(f", {key}={value}" for key, value in known.items() if value not in (None, "")) + match


def _check_keys(name: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise FaultError(f"{name}: {unknown_name('key', key, known[1:])}")


def _unknown(what: str, name: object, known: Iterable[str]) -> str:
    """The complaint about the name of a kind or of a failure; a status is no such name."""
    if str(name).isdecimal():
        named = ", ".join(FailureKind)
        return f'{name} is a status: {{ kind = "status", status = {name} }}. What fails has a name: {named}'
    return unknown_name(what, name, known, SYNONYMS)


def _settings(name: str, kind: FaultKind, table: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(table.get("error"), str):
        table = {**table, "error": OTHER_WORDS.get(table["error"], table["error"])}
    for key, setting in kind.settings.items():
        if setting.choices and key in table and table[key] not in setting.choices:
            raise FaultError(f"{name}.{key}: {_unknown(key, table[key], setting.choices)}")
    given = _typed(name, table, {key: setting.type for key, setting in kind.settings.items()})
    for key, value in given.items():
        setting, place = kind.settings[key], f"{name}.{key}"
        if isinstance(value, str) and key != "body" and not value.isprintable():
            raise FaultError(f"{place}: {short_repr(value)} contains line breaks or control characters")
        if key == "body" and _HALF.search(value):
            raise FaultError(
                f"{place}: {short_repr(value)} contains half of a surrogate pair, which UTF-8 cannot encode"
            )
        if isinstance(value, int | float) and value < setting.least:
            raise FaultError(f"{place}: must be a number of at least {setting.least}")
    settings = {key: setting.default for key, setting in kind.settings.items()} | given
    if not 200 <= settings.get("status", 200) < 600:
        raise FaultError(f"{name}.status: {settings['status']} is not a status from 200 to 599")
    if settings.get("status") in (204, 304) and settings["body"]:
        raise FaultError(f"{name}.body: an answer with status {settings['status']} cannot have a body")
    if "limit" in given and settings["error"] != FailureKind.RATE_LIMIT:
        raise FaultError(f'{name}.limit: is only of error = "rate_limit", not of {settings["error"]}')
    if "charset" in given:
        encoding = given["charset"]
        try:
            "a".encode(encoding, "replace")
        except (LookupError, UnicodeError):
            raise FaultError(
                f"{name}.charset: Python has no encoding {short_repr(encoding)}; use one such as 'utf-16-le'"
            ) from None
    return settings


def _chance(name: str, table: Mapping[str, Any]) -> Chance:
    """How often, and when. The share is one probability, or two between which it moves until the window ends."""
    given = {_FIELDS.get(key, key): value for key, value in _typed(name, table, _CHANCE_KEYS).items()}
    for key in ("every", "times"):
        if given.get(key, 1) < 1:
            raise FaultError(f"{name}.{key}: must be a whole number of at least 1")
    share = table.get("share", 1.0)
    shares = share if isinstance(share, list) and len(share) == 2 else [share]
    for each in shares:
        if not isinstance(each, int | float) or isinstance(each, bool) or not 0 <= each <= 1:
            raise FaultError(
                f"{name}.share: {short_repr(each)} is not a probability from 0 to 1, or two such as [0, 0.5]"
            )
    if len(shares) == 1:
        return Chance(**given, share=shares[0])
    if not table.get("for"):
        raise FaultError(f"{name}.share: to move from {shares[0]} to {shares[1]} it needs a duration, such as for = 30")
    return Chance(**given, share=shares[0], share_end=shares[1])


def _match(name: str, table: object) -> RequestMatcher:
    """The match of a rule: as for stubs, except that a plain text means a part of the prompt, and that `header` is
    short for a required header: `name`, or `name: value`."""
    if not isinstance(table, dict):
        raise FaultError(f'{name}.match: must be a table, such as {{ dialect = "cerebras" }}')
    plain = {key: value for key, value in table.items() if key != "header"}
    if isinstance(plain.get("prompt"), str):
        plain["prompt"] = {"contains": plain["prompt"]}
    try:
        match = read_criteria(plain, f"{name}.match")
    except CriteriaError as error:
        raise FaultError(str(error)) from None
    if "header" not in table:
        return match
    if not isinstance(table["header"], str):
        raise FaultError(f"{name}.match.header: {short_repr(table['header'])} is not a string")
    key, colon, value = table["header"].partition(":")
    header = read_criteria({"headers": {key.strip(): value.strip() if colon else {"exists": True}}})
    return match._replace(fields=(*match.fields, *header.fields))


def _typed(name: str, table: Mapping[str, Any], types: Mapping[str, type]) -> dict[str, Any]:
    """The values of some keys, each checked to be of its type; no count and no time is negative."""
    given = {key: table[key] for key in types if key in table}
    for key, value in given.items():
        wanted = types[key]
        fits = isinstance(value, (int, float) if wanted is float else wanted) and not isinstance(value, bool)
        if not fits or (wanted is not str and not 0 <= value <= _MOST):
            what = _NOUNS[wanted]
            or_random = f', nor "{RANDOM}"' if key == "after_event" else ""
            raise FaultError(f"{name}.{key}: {short_repr(value)} is not a {what}{or_random}")
    return given


Act = Mapping[str, Any]


class Scenario(NamedTuple):
    """Acts that take place within so many seconds, unless another time is set; None if their counts end them."""

    summary: str
    acts: tuple[Act, ...]
    seconds: float | None = None


_OVERLOADED: Act = {"kind": "error", "error": "overloaded"}
_RATE_LIMIT: Act = {"kind": "error", "error": "rate_limit", "retry_after": 1}

SCENARIOS: dict[str, Scenario] = {
    "rate-limited": Scenario("two rate-limit errors, then normal answers", ({**_RATE_LIMIT, "times": 2},)),
    "retry-storm": Scenario(
        "rate-limit errors that increase to nine in ten requests, then decrease again",
        (
            {**_RATE_LIMIT, "from": 0, "for": 0.5, "share": [0.1, 0.9]},
            {**_RATE_LIMIT, "from": 0.5, "for": 0.5, "share": [0.9, 0]},
        ),
        60.0,
    ),
    "outage": Scenario("the vendor's overload error for all requests", ({**_OVERLOADED, "from": 0, "for": 1},), 30.0),
    "slow-recovery": Scenario(
        "normal for a tenth of the time, an outage for three tenths, then delays and errors that decrease",
        (
            {"kind": "stall", "seconds": 2, "from": 0.4, "for": 0.6, "share": [1, 0]},
            {**_OVERLOADED, "from": 0.1, "for": 0.3},
            {**_OVERLOADED, "from": 0.4, "for": 0.6, "share": [0.8, 0]},
        ),
        100.0,
    ),
    "brownout": Scenario(
        "more and more late or failing answers, up to half of them, then fewer again",
        (
            {"kind": "stall", "seconds": 2, "from": 0, "for": 0.5, "share": [0, 1]},
            {"kind": "stall", "seconds": 2, "from": 0.5, "for": 0.5, "share": [1, 0]},
            {"kind": "error", "error": "server_error", "from": 0, "for": 0.5, "share": [0, 0.5]},
            {"kind": "error", "error": "server_error", "from": 0.5, "for": 0.5, "share": [0.5, 0]},
        ),
        60.0,
    ),
    "flapping": Scenario(
        "three short outages with connection resets, and normal answers in between",
        tuple({"kind": "reset", "from": start / 5, "for": 1 / 5} for start in (0, 2, 4)),
        60.0,
    ),
    "restart": Scenario(
        "connection resets, then overload errors, then delays",
        (
            {"kind": "reset", "from": 0, "for": 0.25},
            {**_OVERLOADED, "from": 0.25, "for": 0.25},
            {"kind": "stall", "seconds": 3, "from": 0.5, "for": 0.5, "share": [1, 0]},
        ),
        20.0,
    ),
}


def acts(scenario: Scenario, start: float, seconds: float | None) -> list[Act]:
    """The faults of a scenario that begins at `start` and takes `seconds` (None: its own time), as tables in the usual
    notation."""
    whole = scenario.seconds if seconds is None else seconds
    if whole is None:
        return [{**act, "from": start} for act in scenario.acts]
    return [
        {**act, "from": start + act.get("from", 0) * whole, "for": act.get("for", 1) * whole} for act in scenario.acts
    ]
