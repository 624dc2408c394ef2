"""The notation of faults: TOML tables, the same in a config file, in an option and in a request's header.

    { kind = "error", error = "rate_limit", retry_after = 2, times = 2 }
    { kind = "cut", after_event = 5, share = 0.01, match = { dialect = "cerebras" } }
    { kind = "html", from = 10, for = 30, share = [0, 0.5] }
    { scenario = "outage", for = 30 }

A bare name is short for a table with only that kind, `scenario:` and a name for one with that scenario; a table may
also be written in JSON. A mistake raises `FaultError`, which names the key.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from mockserver.core.criteria import ANYTHING, Criteria, CriteriaError, in_words
from mockserver.core.naming import shortened, unknown
from mockserver.core.toml import TomlError, read_toml_value
from mockserver.faults.catalogue import FAULTS, Kind
from mockserver.faults.rules import Chance, Fault, Place
from mockserver.faults.scenarios import SCENARIOS, acts
from mockserver.faults.values import COUNT_KEYS, PLACE_KEYS, TEXT, WINDOW_KEYS, Setting, ValueType, fits

_CHANCE_KEYS = {**COUNT_KEYS, **WINDOW_KEYS}
# The fields of a chance whose keys have other names.
_FIELDS = {"from": "start", "for": "seconds"}
_WORDS = {"start": "from", "seconds": "for", "share_end": "share to"}
# A synonym of a failure: the name of its status.
OTHER_WORDS = {"not_found": "unknown_model"}
# How long a listener fails by default, in seconds: if it failed for ever, nobody could reach it to end that.
_LISTENER_FAILS = 5.0
# The upper bound of every count, time and rate.
_MOST = 1e9


class FaultError(ValueError):
    """A fault that makes no sense; the message names the key and what would have been valid."""


def read_faults(text: str) -> tuple[Fault, ...]:
    """Read the faults of a text: a table, a list of tables, or names of kinds and scenarios separated by commas."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return tuple(fault for name in stripped.split(",") for fault in read_table(_named(name.strip())))
    value = _value(stripped)
    tables = value if isinstance(value, list) else [value]
    return tuple(fault for table in tables for fault in read_table(table))


def _value(text: str) -> Any:
    try:
        return read_toml_value(text)
    except TomlError as error:
        complaint = f"{shortened(text)} is not a valid TOML table: {error}"
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise FaultError(complaint) from None


def read_table(table: object) -> tuple[Fault, ...]:
    """Read the fault of a table, or the faults of the scenario that it names. Raises FaultError."""
    if isinstance(table, dict) and "scenario" in table:
        return _scenario(table)
    return (read_fault(table),)


def read_fault(table: object) -> Fault:
    """Read a fault from its table. Raises FaultError."""
    if not isinstance(table, dict):
        raise FaultError(f'{shortened(table)} is not a table such as {{ kind = "cut", after_event = 5 }}')
    name = table.get("kind")
    kind = FAULTS.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(name, str):
        raise FaultError(f"kind: {unknown('fault', name, FAULTS)}")
    chosen = WINDOW_KEYS if kind.listens else (*_CHANCE_KEYS, "share", "match")
    _check_keys(name, table, ("kind", *kind.settings, *kind.places, *chosen))
    if sum(key in table for key in PLACE_KEYS) > 1:
        raise FaultError(
            f"{name}: can have only one place, not {' and '.join(key for key in table if key in PLACE_KEYS)}"
        )
    return Fault(
        kind=name,
        settings=_settings(name, kind, table),
        place=Place(**_typed(name, table, PLACE_KEYS)),
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


def _named(name: str) -> dict[str, str]:
    if "=" in name:
        raise FaultError(
            f'{shortened(name)} is not a name; write settings as a table such as {{ kind = "cut", after_event = 5 }}'
        )
    word, colon, rest = name.partition(":")
    return {"scenario": rest.strip()} if colon and word.strip() == "scenario" else {"kind": name}


def _scenario(table: Mapping[str, Any]) -> tuple[Fault, ...]:
    name = table["scenario"]
    scenario = SCENARIOS.get(name) if isinstance(name, str) else None
    if scenario is None:
        raise FaultError(f"scenario: {unknown('scenario', name, SCENARIOS)}")
    _check_keys(name, table, ("scenario", *WINDOW_KEYS, "match"))
    window = _typed(name, table, WINDOW_KEYS)
    match = _match(name, table.get("match", {}))
    tables = acts(scenario, window.get("from", 0.0), window.get("for"))
    return tuple(replace(read_fault(act), match=match) for act in tables)


def _check_keys(name: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise FaultError(f"{name}: {unknown('key', key, known[1:])}")


def _settings(name: str, kind: Kind, table: Mapping[str, Any]) -> dict[str, Any]:
    given = _typed(name, table, {key: setting.type for key, setting in kind.settings.items()})
    if "error" in given:
        given["error"] = OTHER_WORDS.get(given["error"], given["error"])
    for key, value in given.items():
        _check_setting(f"{name}.{key}", key, kind.settings[key], value)
    settings = {key: setting.default for key, setting in kind.settings.items()} | given
    if not 200 <= settings.get("status", 200) < 600:
        raise FaultError(f"{name}.status: {settings['status']} is not a status from 200 to 599")
    if settings.get("status") in (204, 304) and settings["body"]:
        raise FaultError(f"{name}.body: an answer with status {settings['status']} cannot have a body")
    if "charset" in given:
        _check_encoding(name, given["charset"])
    return settings


def _check_setting(place: str, key: str, setting: Setting, value: Any) -> None:
    if isinstance(value, str) and key != "body" and not value.isprintable():
        raise FaultError(f"{place}: {shortened(value)} contains line breaks or control characters")
    if setting.choices and value not in setting.choices:
        raise FaultError(f"{place}: {unknown(key, value, setting.choices)}")
    if isinstance(value, int | float) and value < setting.least:
        raise FaultError(f"{place}: must be a number of at least {setting.least}")


def _check_encoding(name: str, encoding: str) -> None:
    try:
        "a".encode(encoding, "replace")
    except (LookupError, UnicodeError):
        raise FaultError(
            f"{name}.charset: Python has no encoding {shortened(encoding)}; use one such as 'utf-16-le'"
        ) from None


def _chance(name: str, table: Mapping[str, Any]) -> Chance:
    given = _typed(name, table, _CHANCE_KEYS)
    if given.get("every", 1) < 1:
        raise FaultError(f"{name}.every: must be a whole number of at least 1")
    return Chance(**{_FIELDS.get(word, word): value for word, value in given.items()}, **_share(name, table))


def _share(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The share of the requests: one probability, or two between which it moves until the window ends."""
    given = table.get("share", 1.0)
    shares = given if isinstance(given, list) and len(given) == 2 else [given]
    for share in shares:
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
            raise FaultError(
                f"{name}.share: {shortened(share)} is not a probability from 0 to 1, or two such as [0, 0.5]"
            )
    if len(shares) == 1:
        return {"share": shares[0]}
    if not table.get("for"):
        raise FaultError(f"{name}.share: to move from {shares[0]} to {shares[1]} it needs a duration, such as for = 30")
    return {"share": shares[0], "share_end": shares[1]}


def _match(name: str, table: object) -> Criteria:
    """The criteria of a rule: the same as for stubs, except that a plain text means a part of the prompt."""
    if not isinstance(table, dict):
        raise FaultError(f'{name}.match: must be a table, such as {{ dialect = "cerebras" }}')
    plain = {key: value for key, value in table.items() if key != "header"}
    if isinstance(plain.get("prompt"), str):
        plain["prompt"] = {"contains": plain["prompt"]}
    # Imported with the first rule that is for certain requests only.
    from mockserver.core.criteria_notation import read_criteria

    try:
        criteria = read_criteria(plain, f"{name}.match")
    except CriteriaError as error:
        raise FaultError(str(error)) from None
    if "header" not in table:
        return criteria
    header = read_criteria({"headers": _header(name, table["header"])})
    return criteria._replace(criteria=(*criteria.criteria, *header.criteria))


def _header(name: str, text: object) -> dict[str, object]:
    """The short form of a required header: `name`, or `name: value`."""
    if not isinstance(text, str):
        raise FaultError(f"{name}.match.header: {shortened(text)} is not a string")
    key, colon, value = text.partition(":")
    return {key.strip(): value.strip() if colon else {"exists": True}}


def _typed(name: str, table: Mapping[str, Any], types: Mapping[str, ValueType]) -> dict[str, Any]:
    """The values of some keys, each checked to be of its type; no count and no time is negative."""
    given = {key: table[key] for key in types if key in table}
    for key, value in given.items():
        wanted = types[key]
        if not fits(value, wanted) or (wanted != TEXT and not 0 <= value <= _MOST):
            raise FaultError(
                f"{name}.{key}: {shortened(value)} is not a {'string' if wanted == TEXT else f'{wanted} of at least 0'}"
            )
    return given
