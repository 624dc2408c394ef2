"""`server.verify`: checks of exchanges, which raise AssertionError with what was expected, found, and nearest."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from mockserver.core.messages import attribute_of
from mockserver.state.journal.views import journal_lines
from mockserver.state.verify import (
    expectations,
    read_amount,
    read_bounds,
    read_matches,
    read_prices,
    read_seconds,
    read_whole,
)
from mockserver.state.verify.client_review import Handling, Outcome, Verdict, client_facts_of, review_client
from mockserver.state.verify.expectations import Bounds
from mockserver.state.verify.selection import Match, Selector
from mockserver.testing.backend import HandleBackend
from mockserver.testing.matchers import match_table, matcher_value

# A check that fails is shown where the test makes it.
__tracebackhide__ = True
# How many seconds a check waits for open answers, since clients disconnect without notice.
_SETTLING = 0.5


class Verifier:
    """The exchanges that are checked: initially all in which a model was asked, after `calls` those that matched.

    Every check returns these exchanges, so that checks can be chained. Invalid arguments raise ValueError.
    """

    def __init__(self, backend: HandleBackend, declared: dict[str, Any], subject: Selector | None = None) -> None:
        self._backend = backend
        self._declared = declared
        self._subject = subject or Selector(backend.past, backend.filter_exchanges)

    if not TYPE_CHECKING:
        __getattr__ = attribute_of

    def calls(
        self, count: int | None = None, *, at_least: int | None = None, at_most: int | None = None, **match: Any
    ) -> "Verifier":
        """Expect so many matching requests; by default at least one."""
        bounds = _bounds(count, at_least, at_most, "calls")
        found = self._subject.narrowed(match_table(match), ("at_least", "at_most"))
        self._expect(expectations.calls(found.select(), bounds))
        return Verifier(self._backend, self._declared, found)

    def never(self, **match: Any) -> Self:
        """Expect no matching request."""
        return self._expect(expectations.never(self._subject.narrowed(match_table(match)).select()))

    def spaced_at_least(self, seconds: float) -> Self:
        """Expect so many seconds from the end of each answer to the next request, by the server's clock."""
        least = read_seconds(seconds, "spaced_at_least")
        self._backend.wait(_SETTLING)
        return self._expect(expectations.spaced_at_least(self._subject.select(), least))

    def in_order(self, *matches: Match) -> Self:
        """Expect requests that match one after the other; others may have come in between."""
        if not matches:
            raise TypeError("in_order needs matches, such as in_order({'turn': 1}, {'turn': 2})")
        groups = [self._subject.narrowed(match_table(match)) for match in read_matches(matches, "in_order")]
        return self._expect(expectations.in_order([group.select() for group in groups], self._subject.select()))

    def concurrency(self, *, at_most: int) -> Self:
        """Expect no more concurrent requests than this."""
        most = read_whole(at_most, "concurrency: at_most")
        return self._expect(expectations.concurrency(self._subject.select(), most))

    def tokens(self, *, at_most: int) -> Self:
        """Expect no more tokens than this in all prompts and completions together."""
        return self._expect(expectations.tokens(self._subject.select(), read_amount(at_most, "tokens: at_most")))

    def cached_tokens(self, *, at_least: int) -> Self:
        """Expect at least this many tokens of the prompts to have come from the engine's prompt cache."""
        least = read_amount(at_least, "cached_tokens: at_least")
        return self._expect(expectations.cached_tokens(self._subject.select(), least))

    def cost(self, *, at_most: float, prices: Mapping[str, Sequence[float]]) -> Self:
        """Expect at most this cost. `prices`: model (or "*") -> what a million tokens cost: of prompts, of completions,
        and of cached prompts if they are cheaper."""
        most, priced = read_amount(at_most, "cost: at_most"), read_prices(prices, "cost: prices")
        return self._expect(expectations.cost(self._subject.select(), most, priced))

    def tool_called(self, name: str, **arguments: Any) -> Self:
        """Expect an answer that calls a tool with these arguments (values or matchers), and possibly others."""
        wanted = {key: matcher_value(value) for key, value in arguments.items()}
        return self._expect(expectations.tool_called(self._subject.select(), name, wanted))

    def tool_answered(self, name: str, result: Any = None) -> Self:
        """Expect a request with the result of a tool: any result, or one that equals or matches `result`."""
        return self._expect(expectations.tool_answered(self._subject.select(), name, matcher_value(result)))

    def schema(self, schema: Mapping[str, Any] | None = None) -> Self:
        """Expect every request to conform to a JSON Schema; without one, to the vendor's contract."""
        found = self._subject.select()
        return self._expect(expectations.contract(found) if schema is None else expectations.schema(found, schema))

    def cancelled(self, count: int | None = None, *, at_least: int | None = None, at_most: int | None = None) -> Self:
        """Expect so many answers that the client left before their end; by default at least one."""
        bounds = _bounds(count, at_least, at_most, "cancelled")
        self._backend.wait(_SETTLING)
        return self._expect(expectations.cancelled(self._subject.select(), bounds))

    def all_used(self) -> Self:
        """Expect every stub to be used, and a limited one as often as its limit."""
        return self._expect(expectations.all_used(self._backend.stubs()))

    def all_matched(self) -> Self:
        """Expect every request to be answered by a stub, if there are any."""
        return self._expect(expectations.all_matched(self._subject.select()))

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
            self._expect("\n".join(lines))
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

    def _expect(self, problem: str | None) -> Self:
        if problem is not None:
            raise AssertionError(problem)
        return self


def _bounds(count: int | None, least: int | None, most: int | None, place: str) -> Bounds:
    if count is not None:
        if least is not None or most is not None:
            raise TypeError("Give a number, or at_least and at_most, but not both")
        return read_bounds(count, place)
    bounds = {name: bound for name, bound in (("at_least", least), ("at_most", most)) if bound is not None}
    return read_bounds(bounds or {"at_least": 1}, place)
