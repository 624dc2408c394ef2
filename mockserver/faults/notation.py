"""Faults in words: TOML tables, the same in a config file, in an option and in a request's header.

    { kind = "error", error = "rate_limit", retry_after = 2, times = 2 }
    { kind = "cut", after_event = 5, share = 0.01, match = { dialect = "cerebras" } }

A bare name stands for a table with that kind alone. A mistake raises `FaultError`, which names the key.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

from mockserver.core.failures import FailureKind
from mockserver.core.generation import FinishReason
from mockserver.core.naming import unknown
from mockserver.faults.catalogue import FAULTS, Kind
from mockserver.faults.rules import Chance, Fault, Match, Place

_PLACE = {"after_event": int, "after_token": int, "after_bytes": int, "at": (int, float)}
_CHANCE = {"times": int, "every": int, "skip": int, "share": (int, float), "for": (int, float)}
_MATCH = {item.name: bool if item.name == "stream" else str for item in fields(Match)}


# No count, time or rate that is meant goes beyond this.
_MOST = 1e9


class FaultError(ValueError):
    """A fault that cannot be meant; the text names the key and what would have been valid."""


def read_faults(text: str) -> tuple[Fault, ...]:
    """The faults of a text: one table, a list of tables, or the names of kinds parted by commas."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return tuple(read_fault({"kind": name.strip()}) for name in stripped.split(","))
    try:
        value = tomllib.loads(f"fault = {stripped}")["fault"]
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FaultError(f"{text!r} is no TOML table: {error}") from None
    tables = value if isinstance(value, list) else [value]
    return tuple(read_fault(table) for table in tables)


def read_fault(table: object) -> Fault:
    """A fault from its table. Raises FaultError."""
    if not isinstance(table, dict):
        raise FaultError(f'{table!r} is no table, such as {{ kind = "cut", after_event = 5 }}')
    name = table.get("kind")
    kind = FAULTS.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(name, str):
        raise FaultError(f"kind: {unknown('fault', name, FAULTS)}")
    known = [*kind.settings, *kind.places, *_CHANCE, "match"]
    for key in table:
        if key != "kind" and key not in known:
            raise FaultError(f"{name}: {unknown('key', key, known)}")
    if sum(key in table for key in _PLACE) > 1:
        raise FaultError(
            f"{name}: strikes in one place: {', '.join(key for key in table if key in _PLACE)} are too many"
        )
    return Fault(
        kind=name,
        settings=_settings(name, kind, table),
        place=Place(**_typed(name, table, _PLACE)),
        chance=_chance(name, table),
        match=_match(name, table.get("match", {})),
    )


def _settings(name: str, kind: Kind, table: Mapping[str, Any]) -> dict[str, Any]:
    given = _typed(name, table, {key: setting.type for key, setting in kind.settings.items()})
    settings = {key: setting.default for key, setting in kind.settings.items()} | given
    if "error" in settings and settings["error"] not in list(FailureKind):
        raise FaultError(f"{name}.error: {unknown('failure', settings['error'], list(FailureKind))}")
    if settings.get("retry_after_as", "seconds") not in ("seconds", "ms", "date"):
        raise FaultError(f"{name}.retry_after_as: is seconds, ms or date")
    if not 200 <= settings.get("status", 200) < 600:
        raise FaultError(f"{name}.status: {settings['status']} is no status from 200 to 599")
    if settings.get("status") in (204, 304) and settings["body"]:
        raise FaultError(f"{name}.body: an answer of status {settings['status']} has none")
    if settings.get("reason", "stop") not in get_args(FinishReason)[:3]:
        raise FaultError(f"{name}.reason: is stop, length or content_filter")
    for key, value in settings.items():
        if isinstance(value, str) and key != "body" and not value.isprintable():
            raise FaultError(f"{name}.{key}: {value!r} holds more than one line")
    for key in ("pieces", "piece", "bytes_per_second"):
        if settings.get(key, 1) < 1:
            raise FaultError(f"{name}.{key}: is a number from 1 on")
    if "name" in settings:
        _check_encoding(name, settings["name"])
    return settings


def _check_encoding(name: str, encoding: str) -> None:
    try:
        "a".encode(encoding, "replace")
    except (LookupError, UnicodeError):
        raise FaultError(f"{name}.name: Python knows no encoding {encoding!r}, as it knows 'utf-16-le'") from None


def _chance(name: str, table: Mapping[str, Any]) -> Chance:
    given = _typed(name, table, _CHANCE)
    if "for" in given:
        given["seconds"] = given.pop("for")
    if not 0 <= given.get("share", 1) <= 1:
        raise FaultError(f"{name}.share: {given['share']} is no probability from 0 to 1")
    if given.get("every", 1) < 1:
        raise FaultError(f"{name}.every: is a whole number from 1 on")
    return Chance(**given)


def _match(name: str, table: object) -> Match:
    if not isinstance(table, dict):
        raise FaultError(f'{name}.match: is a table, such as {{ dialect = "cerebras" }}')
    for key in table:
        if key not in _MATCH:
            raise FaultError(f"{name}.match: {unknown('key', key, _MATCH)}")
    return Match(**_typed(f"{name}.match", table, _MATCH))


def _typed(name: str, table: Mapping[str, Any], types: Mapping[str, Any]) -> dict[str, Any]:
    """The values of some keys, each of its type; no count and no time is negative."""
    given = {key: table[key] for key in types if key in table}
    for key, value in given.items():
        right = isinstance(value, types[key]) and (types[key] is bool or not isinstance(value, bool))
        if not right or (isinstance(value, int | float) and not 0 <= value <= _MOST):
            raise FaultError(f"{name}.{key}: {value!r} is no {_type_name(types[key])}")
    return given


def _type_name(wanted: Any) -> str:
    names = {int: "whole number from 0 on", str: "text", bool: "true or false"}
    return names.get(wanted, "number from 0 on")
