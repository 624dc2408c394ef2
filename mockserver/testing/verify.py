"""`server.verify`: checks of exchanges, which raise AssertionError with what was expected, found, and nearest."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from mockserver.core.messages import WithHints
from mockserver.state.journal.views import journal_lines
from mockserver.state.verify import CHECKS, Evidence
from mockserver.state.verify.client_review import Handling, Outcome, Verdict, client_facts_of, review_client
from mockserver.state.verify.selection import Match, Selector
from mockserver.testing.backend import HandleBackend
from mockserver.testing.matchers import match_table, matcher_value

# A check that fails is shown where the test makes it.
__tracebackhide__ = True
# How many seconds a check waits for open answers, since clients disconnect without notice.
_SETTLING = 0.5


class Verifier(WithHints):
    """The exchanges that are checked: initially all in which a model was asked, after `calls` those that matched.

    Every check returns these exchanges, so that checks can be chained. Invalid arguments raise ValueError.
    """

    def __init__(self, backend: HandleBackend, declared: dict[str, Any], subject: Selector | None = None) -> None:
        self._backend = backend
        self._declared = declared
        self._subject = subject or Selector(backend.past, backend.filter_exchanges)

    def calls(
        self, count: int | None = None, *, at_least: int | None = None, at_most: int | None = None, **match: Any
    ) -> "Verifier":
        """Expect so many matching requests; by default at least one."""
        found = self._subject.narrowed(match_table(match), ("at_least", "at_most"))
        return Verifier(self._backend, self._declared, found)._check("calls", _bounds(count, at_least, at_most))

    def never(self, **match: Any) -> Self:
        """Expect no matching request."""
        Verifier(self._backend, self._declared, self._subject.narrowed(match_table(match)))._check("never")
        return self

    def spaced_at_least(self, seconds: float) -> Self:
        """Expect so many seconds from the end of each answer to the next request, by the server's clock."""
        self._backend.wait(_SETTLING)
        return self._check("spaced_at_least", seconds)

    def in_order(self, *matches: Match) -> Self:
        """Expect requests that match one after the other; others may have come in between."""
        if not matches:
            raise TypeError("in_order needs matches, such as in_order({'turn': 1}, {'turn': 2})")
        return self._check("in_order", [match_table(match) for match in matches])

    def concurrency(self, *, at_most: int) -> Self:
        """Expect no more concurrent requests than this."""
        return self._check("concurrency", at_most)

    def tokens(self, *, at_most: int) -> Self:
        """Expect no more tokens than this in all prompts and completions together."""
        return self._check("tokens", at_most)

    def cached_tokens(self, *, at_least: int) -> Self:
        """Expect at least this many tokens of the prompts to have come from the engine's prompt cache."""
        return self._check("cached_tokens", at_least)

    def cost(self, *, at_most: float, prices: Mapping[str, Sequence[float]]) -> Self:
        """Expect at most this cost. `prices`: model (or "*") -> what a million tokens cost: of prompts, of completions,
        and of cached prompts if they are cheaper."""
        return self._check("cost", at_most, prices=prices)

    def tool_called(self, name: str, **arguments: Any) -> Self:
        """Expect an answer that calls a tool with these arguments (values or matchers), and possibly others."""
        wanted = {key: matcher_value(value) for key, value in arguments.items()}
        return self._check("tool_called", name, arguments=wanted)

    def tool_answered(self, name: str, result: Any = None) -> Self:
        """Expect a request with the result of a tool: any result, or one that equals or matches `result`."""
        return self._check("tool_answered", name, result=matcher_value(result))

    def schema(self, schema: Mapping[str, Any] | None = None) -> Self:
        """Expect every request to conform to a JSON Schema; without one, to the vendor's contract."""
        return self._check("contract") if schema is None else self._check("schema", schema)

    def cancelled(self, count: int | None = None, *, at_least: int | None = None, at_most: int | None = None) -> Self:
        """Expect so many answers that the client left before their end; by default at least one."""
        self._backend.wait(_SETTLING)
        return self._check("cancelled", _bounds(count, at_least, at_most))

    def all_used(self) -> Self:
        """Expect every stub to be used, and a limited one as often as its limit."""
        return self._check("all_used")

    def all_matched(self) -> Self:
        """Expect every request to be answered by a stub, if there are any."""
        return self._check("all_matched")

    def resilience(
        self,
        handles: Handling | None = None,
        outcome: Outcome | BaseException | None = None,
        **limits: float,
    ) -> Verdict:
        """Expect the client to have behaved well when the server failed, and return the full verdict.

        `handles` is the correct handling: "retry", "raise" or "fallback". `outcome` is what the application made of the
        answer: an "answer", an "error" (or the exception itself), or that it was "cancelled". `patience` (seconds),
        `least_attempts` and `most_attempts` are limits.
        """
        verdict = self.verdict(handles, outcome, **limits)
        if not verdict.is_proven:
            lines = [verdict.as_text(), "The exchanges:", *journal_lines(self._subject.select().matching)]
            raise AssertionError("\n".join(lines))
        return verdict

    def verdict(
        self,
        handles: Handling | None = None,
        outcome: Outcome | BaseException | None = None,
        **limits: float,
    ) -> Verdict:
        """The same verdict, without raising AssertionError."""
        outcome_word: Any = "error" if isinstance(outcome, BaseException) else outcome
        words = {name: value for name, value in (("handles", handles), ("outcome", outcome_word)) if value is not None}
        declared = client_facts_of(self._declared | words | limits)
        # Declared values also apply to the report.
        self._declared |= {**words, **limits}
        self._backend.wait(_SETTLING)
        found, clock = self._subject.select(), self._backend.clock()
        return review_client(found.matching, declared, now=clock.now, ahead=clock.ahead, forgotten=found.forgotten)

    def _check(self, name: str, value: object = True, **beside: Any) -> Self:
        check = CHECKS[name]
        stubs = self._backend.stubs() if name == "all_used" else ()
        problem = check.run(Evidence(self._subject, stubs), *check.read(value, beside, name))
        if problem is not None:
            raise AssertionError(problem)
        return self


def _bounds(count: int | None, least: int | None, most: int | None) -> object:
    """Bounds as a check has them; by default at least one."""
    bounds = {name: bound for name, bound in (("at_least", least), ("at_most", most)) if bound is not None}
    if count is not None and bounds:
        raise TypeError("Give a number, or at_least and at_most, but not both")
    return bounds or True if count is None else count
