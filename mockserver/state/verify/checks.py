"""Checks in text form, for tests in any language: a list of tables, each with one check and the match of its subject.

    [ { "calls": 3, "match": { "dialect": "cerebras", "status": 429 } },      # or { "at_least": 1, "at_most": 3 }
      { "never": true, "match": { "model": "gpt-4" } },
      { "spaced_at_least": 0.2 }, { "concurrency": 4 }, { "tokens": 5000 }, { "cached_tokens": 512 },
      { "cost": 0.01, "prices": { "*": [0.1, 0.4] } },
      { "in_order": [ { "turn": 1 }, { "turn": 2 } ] },
      { "tool_called": "get_weather", "arguments": { "city": "Oslo" } },
      { "tool_answered": "get_weather", "result": { "contains": "rain" } },
      { "schema": { ... } }, { "contract": true }, { "cancelled": 1 },
      { "all_used": true }, { "all_matched": true },
      { "resilience": { "handles": "retry", "outcome": "answer", "patience": 2 } } ]

The match selects the exchanges; without it, all requests to a model are checked. A check is validated before it runs:
an error names the invalid key.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mockserver.core.naming import shortened, unknown
from mockserver.state.journal.exchanges import NOTHING, Forgotten
from mockserver.state.journal.views import Past, View
from mockserver.state.verify import expectations
from mockserver.state.verify.arguments import (
    CheckError,
    Price,
    read_amount,
    read_bounds,
    read_keys,
    read_matches,
    read_name,
    read_prices,
    read_seconds,
    read_table,
    read_whole,
)
from mockserver.state.verify.declarations import DECLARED, Declaration
from mockserver.state.verify.subjects import Match, Sift, Subject
from mockserver.state.verify.verdict import judge

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for checks: the exchanges, what matches, the stubs with their counts, and the clock."""

    views: Sequence[View]
    sift: Sift
    stubs: Sequence[Table] = ()
    now: float | None = None
    ahead: float = 0.0
    forgotten: Forgotten = NOTHING

    def subject(self, match: Match) -> Subject:
        """The subject of a check with this match."""
        everybody = Subject(lambda: Past(self.views, self.forgotten), self.sift)
        return everybody.narrowed(match) if match else everybody


class Check(NamedTuple):
    """A check: `read` makes arguments of its table, and `run` checks the subject with them.

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
    table = read_table(value, place)
    name = _name(table, place)
    check = CHECKS[name]
    arguments = check.read(table[name], table, f"{place}.{name}")
    subject = evidence.subject(read_table(table.get("match", {}), f"{place}.match"))
    problem = check.run(subject, evidence, *arguments)
    return {"check": name, "passed": problem is None, **({"problem": problem} if problem is not None else {})}


def _name(table: Table, place: str) -> str:
    """The one check in a table."""
    named = [name for name in table if name in CHECKS]
    stray = next((name for name in table if name not in (*CHECKS, *_BESIDE)), None)
    if stray is not None:
        raise CheckError(f"{place}: {unknown('check', stray, (*CHECKS, *_BESIDE) if named else CHECKS)}")
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
    """The value of a check that has no arguments: true."""
    if value is not True:
        raise CheckError(f"{place}: must be true, or be left out")
    return ()


def _priced(value: object, table: Table, place: str) -> tuple[float, Mapping[str, Price]]:
    most = read_amount(value, place)
    if "prices" not in table:
        raise CheckError(f'{place}: needs prices beside it, such as "prices": {{"*": [0.1, 0.4]}}')
    return most, read_prices(table["prices"], f"{place}.prices")


def _tool_call(value: object, table: Table, place: str) -> tuple[str, Table]:
    return read_name(value, place), read_table(table.get("arguments", {}), f"{place}.arguments")


def _tool_result(value: object, table: Table, place: str) -> tuple[str, object]:
    return read_name(value, place), table.get("result")


def _schema(value: object, place: str) -> object:
    if value is None:
        raise CheckError(f'{place}: must be a JSON Schema; for the vendor\'s contract use {{"contract": true}}')
    return value


def _declaration(value: object, place: str) -> Declaration:
    fields = {} if value is True else value
    if not isinstance(fields, Mapping):
        raise CheckError(f"{place}: {shortened(value)} is not true or a table of {', '.join(DECLARED)}")
    return Declaration(**read_keys(fields, DECLARED, place))


def _about(expectation: Callable[..., str | None]) -> Callable[..., str | None]:
    """A runner for an expectation of the subject's exchanges."""
    return lambda subject, evidence, *arguments: expectation(subject.sifted(), *arguments)


def _in_order(subject: Subject, evidence: Evidence, matches: Sequence[Match]) -> str | None:
    return expectations.in_order([subject.narrowed(match).sifted() for match in matches], subject.sifted())


def _all_used(subject: Subject, evidence: Evidence) -> str | None:
    return expectations.all_used(evidence.stubs)


def _resilience(subject: Subject, evidence: Evidence, declared: Declaration) -> str | None:
    found = subject.sifted()
    verdict = judge(found.matching, declared, now=evidence.now, ahead=evidence.ahead, forgotten=found.forgotten)
    return None if verdict.is_proven else verdict.as_text()


CHECKS: Mapping[str, Check] = {
    "calls": Check(_alone(read_bounds), _about(expectations.calls)),
    "never": Check(_flag, _about(expectations.never)),
    "spaced_at_least": Check(_alone(read_seconds), _about(expectations.spaced_at_least)),
    "in_order": Check(_alone(read_matches), _in_order),
    "concurrency": Check(_alone(read_whole), _about(expectations.concurrency)),
    "tokens": Check(_alone(read_amount), _about(expectations.tokens)),
    "cached_tokens": Check(_alone(read_amount), _about(expectations.cached_tokens)),
    "cost": Check(_priced, _about(expectations.cost), beside=("prices",)),
    "tool_called": Check(_tool_call, _about(expectations.tool_called), beside=("arguments",)),
    "tool_answered": Check(_tool_result, _about(expectations.tool_answered), beside=("result",)),
    "schema": Check(_alone(_schema), _about(expectations.schema)),
    "contract": Check(_flag, _about(expectations.contract)),
    "cancelled": Check(_alone(read_bounds), _about(expectations.cancelled)),
    "all_used": Check(_flag, _all_used),
    "all_matched": Check(_flag, _about(expectations.all_matched)),
    "resilience": Check(_alone(_declaration), _resilience),
}
# All keys that may be given besides a check.
_BESIDE = ("match", *(key for check in CHECKS.values() for key in check.beside))
