"""Quotas in text form: who may request how much, the same in an option, the environment and a config file.

    off        vendor        free        requests=30/min, requests=900/hour, tokens=60k/min, concurrent=10
    { tier = "free", tokens = ["30k/min", "1M/day"], dialect = "cerebras", model = "gpt-oss-120b", key = "csk-a" }

A rule names a tier, or limits, or a tier with limits that override its own, and whom it is for. The first rule that
applies to a request counts, and each key has its own buckets. A mistake raises ValueError, which names the key.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mockserver.core.dialects import Dialect
from mockserver.core.messages import short_repr, unknown_name
from mockserver.core.quotas import PERIODS, Allowance, Limit, LimitState, LimitUnit, QuotaPolicy, Refused
from mockserver.core.toml import TomlError, read_toml_value

OFF = "off"
VENDOR = "vendor"

_SCOPE = ("dialect", "model", "key")
_MEASURES: tuple[LimitUnit, ...] = ("requests", "tokens")
_KEYS = ("tier", *_MEASURES, "concurrent", *_SCOPE)
_WORDS = {"second": ("s", "sec"), "minute": ("m", "min"), "hour": ("h",), "day": ("d",)}
_PERIODS = {word: PERIODS[name] for name, words in _WORDS.items() for word in (name, *words)}
_AMOUNT = re.compile(r"(\d{1,12}(?:_\d{3})*)(\.\d{1,6})?\s*([kM]?)\s*/\s*(\w+)")
_FACTORS = {"": 1, "k": 1_000, "M": 1_000_000}
_MOST = 10**12


@dataclass(frozen=True, slots=True)
class Quota:
    """A rule: how much may be requested, and by whom. Without a `dialect`, `model` or `key` it applies to all of them.

    `limits` override those of the `tier`, which is OFF, VENDOR (a dialect's first) or a name that some dialects know.
    """

    tier: str | None = None
    limits: tuple[Limit, ...] = ()
    concurrent: int | None = None
    dialect: str | None = None
    model: str | None = None
    key: str | None = None

    def is_for(self, dialect: Dialect, model: str, key: str) -> bool:
        """Whether the rule applies to a request; a tier only applies to the dialects that have it."""
        facts = ((self.dialect, dialect.name), (self.model, model), (self.key, key))
        known = (None, OFF, VENDOR, *(dialect.quotas.tiers if dialect.quotas else ()))
        return self.tier in known and all(wanted in (None, found) for wanted, found in facts)


def allowance_of(quotas: Iterable[Quota], dialect: Dialect, model: str, key: str) -> Allowance | None:
    """What a key may request of a model; None if no quota applies."""
    rule = next((quota for quota in quotas if quota.is_for(dialect, model, key)), None)
    if rule is None or rule.tier == OFF or dialect.quotas is None:
        return None
    tiers = dialect.quotas.tiers
    base = tiers[next(iter(tiers)) if rule.tier == VENDOR else rule.tier] if rule.tier is not None else Allowance()
    own = (limit._replace(fixed=True) for limit in rule.limits) if dialect.quotas.fixed_windows else rule.limits
    limits = {(limit.measure, limit.window): limit for limit in (*base.limits, *own)}
    concurrent = base.concurrent if rule.concurrent is None else rule.concurrent
    return Allowance(tuple(limits.values()), concurrent, base.answer)


def used_up(policy: QuotaPolicy, what: str, limit_states: tuple[LimitState, ...], cost: int) -> Refused:
    """Why a request that costs so many tokens is refused when `what` is used up: "requests", "tokens" or "queue".

    `limit_states` are the caller's, without which those of the vendor's first tier with such a limit count.
    """
    if what == "queue":
        return Refused(concurrent=next((tier.concurrent for tier in policy.tiers.values() if tier.concurrent), 1))
    measure: LimitUnit = "tokens" if what == "tokens" else "requests"
    usual = Limit(measure, PERIODS["minute"], 60_000 if what == "tokens" else 60)
    tiers = (tuple(map(LimitState, tier.limits)) for tier in policy.tiers.values())
    known = (limit_states, *tiers, (LimitState(usual),))
    states = next(states for states in known if any(each.limit.measure == measure for each in states))
    full = next(each for each in states if each.limit.measure == measure)
    spent = full._replace(spent=full.limit.amount, ends_in=full.limit.window)
    worst = spent.faced_with(min(cost, full.limit.amount) if what == "tokens" else 1)
    return Refused(tuple(worst if each is full else each for each in states))


def quota_in_words(quota: Quota) -> str:
    """A rule in one line, without its key."""
    limits = (f"{limit.measure}={limit.amount} per {limit.period}" for limit in quota.limits)
    whom = {"concurrent": quota.concurrent, "dialect": quota.dialect, "model": quota.model}
    pairs = (f"{name}={value}" for name, value in whom.items() if value is not None)
    parts = (quota.tier, *limits, *pairs, "for one key" if quota.key is not None else None)
    return ", ".join(part for part in parts if part)


def read_quotas(value: object) -> tuple[Quota, ...]:
    """The rules in an option's text, or in a config file's table or list of tables. `off` alone means no rules."""
    items = value if isinstance(value, list | tuple) else [value]
    rules = tuple(rule for item in items for rule in _rules(item))
    return () if rules == (Quota(OFF),) else rules


def _rules(item: object) -> tuple[Quota, ...]:
    if isinstance(item, Quota):
        return (item,)
    if not isinstance(item, str):
        return (_rule(item),)
    text = item.strip()
    if text.startswith(("{", "[")):
        try:
            tables = read_toml_value(text)
        except TomlError as error:
            raise ValueError(f"{short_repr(item)} is not a valid TOML table: {error}") from None
        return tuple(_rule(table) for table in (tables if isinstance(tables, list) else [tables]))
    # Words separated by commas; one without a value is a tier.
    table: dict[str, Any] = {}
    for word in text.split(","):
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals:
            name, value = "tier", name
        if name in _MEASURES:
            table.setdefault(name, []).append(value)
        elif name in table:
            raise ValueError(f"{name}: is set twice")
        else:
            table[name] = int(value) if name == "concurrent" and value.isdecimal() and value.isascii() else value
    return (_rule(table),)


def _rule(table: object) -> Quota:
    if not isinstance(table, dict):
        raise ValueError(f"{short_repr(table)} is not a quota such as 'free' or 'requests=30/min, tokens=60k/min'")
    for key in table:
        if key not in _KEYS:
            raise ValueError(unknown_name("key", key, _KEYS))
    if not any(key in table for key in _KEYS[:4]):
        raise ValueError(f"sets no limit; add one of {', '.join(_KEYS[:4])}")
    texts = {key: table[key] for key in ("tier", *_SCOPE) if key in table}
    for key, text in texts.items():
        if not isinstance(text, str) or not text:
            raise ValueError(f"{key}: {short_repr(text)} is not a string")
    if texts.get("tier") == OFF and any(key in table for key in _KEYS[1:4]):
        raise ValueError("tier: off cannot be combined with limits")
    limits: dict[tuple[str, int], Limit] = {}
    for measure in _MEASURES:
        given = table.get(measure, [])
        for text in given if isinstance(given, list) else [given]:
            limit = _limit(measure, text)
            if (measure, limit.window) in limits:
                raise ValueError(f"{measure}: is limited twice per {limit.period}")
            limits[measure, limit.window] = limit
    most = table.get("concurrent")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= _MOST):
        raise ValueError(f"concurrent: {short_repr(most)} is not a whole number of at least 1")
    return Quota(limits=tuple(limits.values()), concurrent=most, **texts)


def _limit(measure: LimitUnit, text: object) -> Limit:
    matched = _AMOUNT.fullmatch(text.strip()) if isinstance(text, str) else None
    if matched is None:
        raise ValueError(f"{measure}: {short_repr(text)} is not a limit such as '30/min', '60k/min' or '1M/day'")
    whole, fraction, factor, period = matched.groups()
    if period not in _PERIODS:
        raise ValueError(f"{measure}: {unknown_name('period', period, PERIODS)}")
    amount = _FACTORS[factor] * float(whole + (fraction or ""))
    if not 1 <= amount <= _MOST or amount != int(amount):
        raise ValueError(f"{measure}: {short_repr(text)} is not a whole number of at least 1")
    return Limit(measure, _PERIODS[period], int(amount))
