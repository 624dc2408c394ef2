"""Checks in words, for tests in any language: a list of tables, each with one check and whom it is about.

    [ { "calls": 3, "match": { "dialect": "cerebras", "status": 429 } },      # or { "at_least": 1, "at_most": 3 }
      { "never": true, "match": { "model": "gpt-4" } },
      { "spaced_at_least": 0.2 }, { "concurrency": 4 }, { "tokens": 5000 },
      { "cost": 0.01, "prices": { "*": [0.1, 0.4] } },
      { "in_order": [ { "turn": 1 }, { "turn": 2 } ] },
      { "tool_called": "get_weather", "arguments": { "city": "Oslo" } },
      { "tool_answered": "get_weather", "result": { "contains": "rain" } },
      { "schema": { ... } }, { "contract": true }, { "cancelled": 1 },
      { "all_used": true }, { "all_matched": true },
      { "resilience": { "handles": "retry", "outcome": "answer", "patience": 2 } } ]

The match says which exchanges are looked at; without it, all in which a model was asked.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any

from mockserver.control.journal.views import View
from mockserver.control.verify import verifier as verify
from mockserver.control.verify.verdict import Declaration, judge
from mockserver.control.verify.verifier import Sifted
from mockserver.core.naming import unknown


class CheckError(ValueError):
    """A check that cannot be meant; the text says what would have been valid."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What checks look at: the exchanges, who of them matches what, the stubs with their counts, and the clock."""

    views: Sequence[View]
    sift: Callable[[Mapping[str, Any]], Mapping[int, Sequence[str]]]
    stubs: Sequence[Mapping[str, Any]] = ()
    now: float | None = None
    ahead: float = 0.0

    def sifted(self, match: Mapping[str, Any]) -> Sifted:
        """The exchanges that a match is about, and the others. Raises CriteriaError."""
        request, answer = verify.split_match(match)
        views = self.views
        if not any(name in request for name in ("operation", "path", "method")):
            views = [view for view in views if view.is_question]
        return verify.sift_answers(views, answer, self.sift(request) if request else {})


@dataclass(frozen=True, slots=True)
class _Subject:
    """One check: its table, and whom it is about."""

    table: Mapping[str, Any]
    match: Mapping[str, Any]
    evidence: Evidence

    @property
    def sifted(self) -> Sifted:
        return self.evidence.sifted(self.match)

    @property
    def views(self) -> Sequence[View]:
        return self.sifted.matching


Check = Callable[[Any, _Subject], str | None]


def run_checks(checks: object, evidence: Evidence) -> list[dict[str, Any]]:
    """What comes of each check: `check`, `passed`, and `problem` where it has not. Raises CheckError, CriteriaError."""
    if not isinstance(checks, list) or not checks:
        raise CheckError("checks: is a list of tables")
    return [_run(table, f"checks[{number}]", evidence) for number, table in enumerate(checks)]


def _run(table: object, place: str, evidence: Evidence) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise CheckError(f"{place}: is a table")
    named = [name for name in table if name in CHECKS]
    stray = next((name for name in table if name not in (*CHECKS, *_BESIDE)), None)
    if stray is not None:
        raise CheckError(f"{place}: {unknown('check', stray, (*CHECKS, *_BESIDE) if named else CHECKS)}")
    if len(named) != 1:
        raise CheckError(f"{place}: has one check: {', '.join(CHECKS)}")
    [name] = named
    idle = next((key for key in table if key in _BESIDE and name not in _BESIDE[key]), None)
    if idle is not None:
        raise CheckError(f"{place}: {name} takes no {idle}")
    match = table.get("match", {})
    if not isinstance(match, Mapping):
        raise CheckError(f"{place}.match: is a table")
    if name in _FLAGS and table[name] is not True:
        raise CheckError(f"{place}.{name}: is true, or is left out")
    try:
        problem = CHECKS[name](table[name], _Subject(table, match, evidence))
    except (TypeError, AttributeError, KeyError) as error:
        raise CheckError(f"{place}.{name}: {table[name]!r} is not what it takes: {error}") from None
    return {"check": name, "passed": problem is None, **({"problem": problem} if problem is not None else {})}


def _calls(wanted: Any, subject: _Subject) -> str | None:
    least, most = _bounds(wanted)
    return verify.calls(subject.sifted, least, most, verify.asked_for(subject.match))


def _spaced(wanted: Any, subject: _Subject) -> str | None:
    if isinstance(wanted, bool) or not 0 <= wanted < inf:
        raise CheckError(f"{wanted!r} is no number of seconds")
    return verify.spaced_at_least(subject.views, wanted)


def _in_order(wanted: Any, subject: _Subject) -> str | None:
    if not wanted:
        raise CheckError("in_order: is a list of matches")
    matches = [{**subject.match, **match} for match in wanted]
    groups = [(verify.asked_for(match) or " request", subject.evidence.sifted(match).matching) for match in matches]
    return verify.in_order(groups, subject.views)


def _resilience(wanted: Any, subject: _Subject) -> str | None:
    evidence = subject.evidence
    told = {} if wanted is True else wanted
    if not isinstance(told, Mapping):
        raise CheckError(f"resilience: {wanted!r} is neither true nor a table of {', '.join(_DECLARED)}")
    for name in told:
        if name not in _DECLARED:
            raise CheckError(f"resilience: {unknown('key', name, _DECLARED)}")
    declared = Declaration(**told)
    verdict = judge(subject.views, declared, now=evidence.now, ahead=evidence.ahead)
    return None if verdict.is_clean else verdict.as_text()


CHECKS: Mapping[str, Check] = {
    "calls": _calls,
    "never": lambda wanted, subject: verify.never(subject.sifted, verify.asked_for(subject.match)),
    "spaced_at_least": _spaced,
    "in_order": _in_order,
    "concurrency": lambda wanted, subject: verify.concurrency(subject.views, wanted),
    "tokens": lambda wanted, subject: verify.tokens(subject.views, wanted),
    "cost": lambda wanted, subject: verify.cost(subject.views, wanted, subject.table["prices"]),
    "tool_called": lambda wanted, subject: verify.tool_called(
        subject.views, wanted, subject.table.get("arguments", {})
    ),
    "tool_answered": lambda wanted, subject: verify.tool_answered(subject.views, wanted, subject.table.get("result")),
    "schema": lambda wanted, subject: verify.schema(subject.views, wanted),
    "contract": lambda wanted, subject: verify.contract(subject.views),
    "cancelled": lambda wanted, subject: verify.cancelled(subject.views, *_bounds(wanted)),
    "all_used": lambda wanted, subject: verify.all_used(subject.evidence.stubs),
    "all_matched": lambda wanted, subject: verify.all_matched(subject.views),
    "resilience": _resilience,
}
# What may stand beside a check, and beside which.
_BESIDE: Mapping[str, Container[str]] = {
    "match": CHECKS,
    "prices": ("cost",),
    "arguments": ("tool_called",),
    "result": ("tool_answered",),
}
# Checks that are asked for by being named.
_FLAGS = ("never", "contract", "all_used", "all_matched")
_DECLARED = tuple(each.name for each in fields(Declaration))
_BOUNDS = ("at_least", "at_most")


def _bounds(wanted: Any) -> tuple[int, int | None]:
    """A number, or a table of `at_least` and `at_most`, as bounds."""
    if isinstance(wanted, Mapping) and wanted and not wanted.keys() - set(_BOUNDS):
        least, most = (None if wanted.get(name) is None else _number(wanted[name]) for name in _BOUNDS)
        return least or 0, most
    if wanted is True:
        return 1, None
    number = _number(wanted)
    return number, number


def _number(wanted: Any) -> int:
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
        raise CheckError(f'{wanted!r} is neither a number nor {{"at_least": 1, "at_most": 3}}')
    return wanted
