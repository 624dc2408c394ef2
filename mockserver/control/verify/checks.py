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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
    if len(named) != 1:
        stray = next((name for name in table if name not in (*CHECKS, *_BESIDE)), "")
        raise CheckError(
            f"{place}: {unknown('check', stray, CHECKS)}" if stray else f"{place}: has one check: {', '.join(CHECKS)}"
        )
    match = table.get("match", {})
    if not isinstance(match, Mapping):
        raise CheckError(f"{place}.match: is a table")
    [name] = named
    try:
        problem = CHECKS[name](table[name], _Subject(table, match, evidence))
    except (TypeError, AttributeError, KeyError) as error:
        raise CheckError(f"{place}.{name}: {table[name]!r} is not what it takes: {error}") from None
    return {"check": name, "passed": problem is None, **({"problem": problem} if problem is not None else {})}


def _calls(wanted: Any, subject: _Subject) -> str | None:
    least, most = _bounds(wanted)
    return verify.calls(subject.sifted, least, most, verify.asked_for(subject.match))


def _in_order(wanted: Any, subject: _Subject) -> str | None:
    matches = [{**subject.match, **match} for match in wanted]
    groups = [(verify.asked_for(match) or " request", subject.evidence.sifted(match).matching) for match in matches]
    return verify.in_order(groups, subject.views)


def _resilience(wanted: Any, subject: _Subject) -> str | None:
    evidence = subject.evidence
    declared = Declaration(**(wanted if isinstance(wanted, Mapping) else {}))
    verdict = judge(subject.views, declared, now=evidence.now, ahead=evidence.ahead)
    return None if verdict.is_clean else verdict.as_text()


CHECKS: Mapping[str, Check] = {
    "calls": _calls,
    "never": lambda wanted, subject: verify.never(subject.sifted, verify.asked_for(subject.match)),
    "spaced_at_least": lambda wanted, subject: verify.spaced_at_least(subject.views, wanted),
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
_BESIDE = ("match", "prices", "arguments", "result")


def _bounds(wanted: Any) -> tuple[int, int | None]:
    """A number, or a table of `at_least` and `at_most`, as bounds."""
    if isinstance(wanted, Mapping):
        return wanted.get("at_least", 0), wanted.get("at_most")
    if wanted is True:
        return 1, None
    if isinstance(wanted, bool) or not isinstance(wanted, int):
        raise CheckError(f'{wanted!r} is neither a number nor {{"at_least": 1, "at_most": 3}}')
    return wanted, wanted
