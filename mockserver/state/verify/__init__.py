"""Checks in text form, for tests in any language: a list of tables, each with one check and the match of its subject.

    [ { "calls": 3, "match": { "dialect": "cerebras", "status": 429 } },      # or { "at_least": 1, "at_most": 3 }
      { "cost": 0.01, "prices": { "*": [0.1, 0.4] } },
      { "resilience": { "handles": "retry", "outcome": "answer", "patience": 2 } } ]

The match selects the exchanges; without it, all requests to a model are checked. A check is validated before it runs:
an error names the invalid key.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from mockserver.core.matching.values import CriteriaError
from mockserver.core.messages import short_repr, unknown_name
from mockserver.state.verify import expectations
from mockserver.state.verify.client_review import CLIENT_FACTS, CheckError, ClientFacts, client_facts_of, review_client
from mockserver.state.verify.expectations import Bounds, Price
from mockserver.state.verify.selection import Selector

Table = Mapping[str, Any]

_BOUNDS = ("at_least", "at_most")


def _checked(fits: Callable[[Any], bool], valid: str) -> Callable[[object, str], Any]:
    """A reader that gives a value back, and refuses one that does not fit."""

    def read(value: object, place: str) -> Any:
        if not fits(value):
            raise CheckError(f"{place}: {short_repr(value)} is not {valid}")
        return value

    return read


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < inf


def _are_prices(value: object) -> bool:
    return isinstance(value, Mapping) and value != {} and all(map(_is_price, value.values()))


def _is_price(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) in (2, 3) and all(map(_is_amount, value))


read_whole = _checked(_is_whole, "a whole number of at least 0")
read_seconds = _checked(_is_amount, "a number of seconds of at least 0")
_amount = _checked(_is_amount, "a number of at least 0")
_bound = _checked(_is_whole, 'a whole number, or a table such as {"at_least": 1, "at_most": 3}')
_tool = _checked(lambda value: isinstance(value, str) and bool(value), "a name")
_prices = _checked(
    _are_prices,
    'a table with the prices of a million prompt and answer tokens by model, such as {"*": [0.1, 0.4]}',
)


def _bounds(value: object, place: str) -> Bounds:
    """Bounds from a number, from true for at least one, or from a table of `at_least` and `at_most`."""
    if value is True:
        return Bounds(1)
    given = [name for name in _BOUNDS if value.get(name) is not None] if isinstance(value, Mapping) else []
    if isinstance(value, Mapping) and given and not value.keys() - set(_BOUNDS):
        least, most = (_bound(value[name], place) if name in given else None for name in _BOUNDS)
        if least is not None and most is not None and least > most:
            raise CheckError(f"{place}: at_least {least} is more than at_most {most}")
        return Bounds(least or 0, most)
    number = _bound(value, place)
    return Bounds(number, number)


def _table(value: object, place: str) -> Mapping[str, Any]:
    """A table."""
    if not isinstance(value, Mapping):
        raise CheckError(f"{place}: must be a table")
    return value


def _matches(value: object, place: str) -> Sequence[Mapping[str, Any]]:
    """A non-empty list of matches."""
    if not isinstance(value, list | tuple) or not value:
        raise CheckError(f'{place}: must be a list of matches, such as [{{"turn": 1}}, {{"turn": 2}}]')
    return [_table(match, f"{place}[{number}]") for number, match in enumerate(value)]


class Evidence(NamedTuple):
    """The evidence for a check: the exchanges that it is about, the stubs with their counts, and the clock."""

    exchanges: Selector
    stubs: Sequence[Table] = ()
    now: float | None = None
    ahead: float = 0.0


class Check(NamedTuple):
    """A check: `read` makes arguments of its value and its table, and `run` checks the evidence with them.

    The result of `run` describes what is wrong, if anything. `beside` are the keys that a table may have besides the
    check and its match.
    """

    read: Callable[[object, Table, str], tuple[Any, ...]]
    run: Callable[..., str | None]
    beside: tuple[str, ...] = ()


def run_checks(checks: object, evidence: Evidence) -> list[dict[str, Any]]:
    """The result of each check: `check`, `passed`, and `problem` if it has failed. Raises CheckError, CriteriaError."""
    if not isinstance(checks, list) or not checks:
        raise CheckError("checks: must be a list of tables, with at least one")
    return [_run(table, f"checks[{number}]", evidence) for number, table in enumerate(checks)]


def _run(value: object, place: str, evidence: Evidence) -> dict[str, Any]:
    table = _table(value, place)
    name = _name(table, place)
    check = CHECKS[name]
    arguments = check.read(table[name], table, f"{place}.{name}")
    match = _table(table.get("match", {}), f"{place}.match")
    try:
        about = evidence._replace(exchanges=evidence.exchanges.narrowed(match)) if match else evidence
        problem = check.run(about, *arguments)
    except (CheckError, CriteriaError) as error:
        raise type(error)(f"{place}: {error}") from None
    return {"check": name, "passed": problem is None, **({"problem": problem} if problem is not None else {})}


def _name(table: Table, place: str) -> str:
    named = [name for name in table if name in CHECKS]
    stray = next((name for name in table if name not in (*CHECKS, *_BESIDE)), None)
    if stray is not None:
        raise CheckError(f"{place}: {unknown_name('check', stray, (*CHECKS, *_BESIDE) if named else CHECKS)}")
    if len(named) != 1:
        raise CheckError(f"{place}: must have exactly one check: {', '.join(CHECKS)}")
    [name] = named
    idle = next((key for key in table if key not in (name, "match", *CHECKS[name].beside)), None)
    if idle is not None:
        raise CheckError(f"{place}: {name} cannot be combined with {idle}")
    return name


def _alone(read: Callable[[object, str], Any]) -> Callable[[object, Table, str], tuple[Any]]:
    """A reader of the check's value without other keys."""
    return lambda value, table, place: (read(value, place),)


def _flag(value: object, table: Table, place: str) -> tuple[()]:
    if value is not True:
        raise CheckError(f"{place}: must be true, or be left out")
    return ()


def _priced(value: object, table: Table, place: str) -> tuple[float, Mapping[str, Price]]:
    most, prices = _amount(value, place), table.get("prices")
    if prices is None:
        raise CheckError(f'{place}: needs prices beside it, such as "prices": {{"*": [0.1, 0.4]}}')
    return most, {str(model): Price(*price) for model, price in _prices(prices, f"{place}.prices").items()}


def _schema(value: object, place: str) -> object:
    if value is None:
        raise CheckError(f'{place}: must be a JSON Schema; for the vendor\'s contract use {{"contract": true}}')
    return value


def _declaration(value: object, place: str) -> ClientFacts:
    declared = {} if value is True else value
    if not isinstance(declared, Mapping):
        raise CheckError(f"{place}: {short_repr(value)} is not true or a table of {', '.join(CLIENT_FACTS)}")
    try:
        return client_facts_of(declared)
    except CheckError as error:
        raise CheckError(f"{place}: {error}") from None


def _about(expectation: Callable[..., str | None]) -> Callable[..., str | None]:
    """A runner for an expectation of exchanges."""
    return lambda evidence, *arguments: expectation(evidence.exchanges.select(), *arguments)


def _in_order(evidence: Evidence, matches: Sequence[Table]) -> str | None:
    exchanges = evidence.exchanges
    return expectations.in_order([exchanges.narrowed(match).select() for match in matches], exchanges.select())


def _resilience(evidence: Evidence, declared: ClientFacts) -> str | None:
    found = evidence.exchanges.select()
    verdict = review_client(found.matching, declared, now=evidence.now, ahead=evidence.ahead, forgotten=found.forgotten)
    return None if verdict.is_proven else verdict.as_text()


CHECKS: Mapping[str, Check] = {
    "calls": Check(_alone(_bounds), _about(expectations.calls)),
    "never": Check(_flag, _about(expectations.never)),
    "spaced_at_least": Check(_alone(read_seconds), _about(expectations.spaced_at_least)),
    "in_order": Check(_alone(_matches), _in_order),
    "concurrency": Check(_alone(read_whole), _about(expectations.concurrency)),
    "tokens": Check(_alone(_amount), _about(expectations.tokens)),
    "cached_tokens": Check(_alone(_amount), _about(expectations.cached_tokens)),
    "cost": Check(_priced, _about(expectations.cost), beside=("prices",)),
    "tool_called": Check(
        lambda value, table, place: (_tool(value, place), _table(table.get("arguments", {}), f"{place}.arguments")),
        _about(expectations.tool_called),
        beside=("arguments",),
    ),
    "tool_answered": Check(
        lambda value, table, place: (_tool(value, place), table.get("result")),
        _about(expectations.tool_answered),
        beside=("result",),
    ),
    "schema": Check(_alone(_schema), _about(expectations.schema)),
    "contract": Check(_flag, _about(expectations.contract)),
    "cancelled": Check(_alone(_bounds), _about(expectations.cancelled)),
    "all_used": Check(_flag, lambda evidence: expectations.all_used(evidence.stubs)),
    "all_matched": Check(_flag, _about(expectations.all_matched)),
    "resilience": Check(_alone(_declaration), _resilience),
}
# All keys that may be given besides a check.
_BESIDE = ("match", *(key for check in CHECKS.values() for key in check.beside))
