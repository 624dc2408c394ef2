"""`server.verify`: checks of what came, which raise AssertionError with what was expected, found, and nearest."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Self

from mockserver.control.journal.views import View
from mockserver.control.verify import verifier as verify
from mockserver.control.verify.verdict import Declaration, Handling, Outcome, Verdict, judge
from mockserver.control.verify.verifier import Sifted
from mockserver.testing.links import Link
from mockserver.testing.notation import told_match, told_matcher

# How long a check waits for answers that are still open, because clients leave without a word, in seconds.
_SETTLING = 0.5


class Verify:
    """The exchanges that are checked: at first all in which a model was asked, after `calls` those that matched.

    Every check gives these exchanges back, so that the next one can follow it.
    """

    def __init__(self, link: Link, declared: dict[str, Any], match: Mapping[str, Any] | None = None) -> None:
        self._link = link
        self._declared = declared
        self._match = dict(match or {})

    def calls(
        self, count: int | None = None, *, at_least: int | None = None, at_most: int | None = None, **match: Any
    ) -> "Verify":
        """So many requests that match; without a number at least one."""
        __tracebackhide__ = True
        least, most = _bounds(count, at_least, at_most)
        found = self._narrowed(match)
        _raise(verify.calls(found._sifted(), least, most, found._asked))
        return found

    def never(self, **match: Any) -> Self:
        """No request that matches."""
        __tracebackhide__ = True
        found = self._narrowed(match)
        _raise(verify.never(found._sifted(), found._asked))
        return self

    def spaced_at_least(self, seconds: float) -> Self:
        """So many seconds from the end of each answer to the next request, by the server's clock."""
        __tracebackhide__ = True
        if not 0 <= seconds < inf:
            raise ValueError(f"{seconds!r} is no number of seconds")
        self._link.wait(_SETTLING)
        _raise(verify.spaced_at_least(self._views(), seconds))
        return self

    def in_order(self, *matches: Mapping[str, Any]) -> Self:
        """Requests that match one after the other; others may have come in between."""
        __tracebackhide__ = True
        if not matches:
            raise TypeError("In which order? Say matches, such as {'turn': 1}, {'turn': 2}")
        groups = [self._narrowed(match) for match in matches]
        _raise(verify.in_order([(group._asked or " request", group._views()) for group in groups], self._views()))
        return self

    def concurrency(self, *, at_most: int) -> Self:
        """No more requests than this at once."""
        __tracebackhide__ = True
        _raise(verify.concurrency(self._views(), at_most))
        return self

    def tokens(self, *, at_most: int) -> Self:
        """No more tokens than this in all prompts and answers together."""
        __tracebackhide__ = True
        _raise(verify.tokens(self._views(), at_most))
        return self

    def cost(self, *, at_most: float, prices: Mapping[str, Sequence[float]]) -> Self:
        """No higher cost. `prices`: model (or "*") -> (of a million prompt tokens, of a million completion tokens)."""
        __tracebackhide__ = True
        _raise(verify.cost(self._views(), at_most, prices))
        return self

    def tool_called(self, name: str, **arguments: Any) -> Self:
        """An answer that calls a tool with these arguments (values or matchers), and maybe others."""
        __tracebackhide__ = True
        _raise(verify.tool_called(self._views(), name, arguments))
        return self

    def tool_answered(self, name: str, result: Any = None) -> Self:
        """A request that brings the result of a tool: any, or one that is equal or matches."""
        __tracebackhide__ = True
        _raise(verify.tool_answered(self._views(), name, told_matcher(result)))
        return self

    def schema(self, schema: Mapping[str, Any] | None = None) -> Self:
        """Every request keeps to a JSON Schema; without one, to the vendor's contract."""
        __tracebackhide__ = True
        _raise(verify.schema(self._views(), schema))
        return self

    def cancelled(self, count: int | None = None, *, at_least: int | None = None, at_most: int | None = None) -> Self:
        """So many answers that the client left before their end; without a number at least one."""
        __tracebackhide__ = True
        self._link.wait(_SETTLING)
        _raise(verify.cancelled(self._views(), *_bounds(count, at_least, at_most)))
        return self

    def all_used(self) -> Self:
        """Every stub was used, and one for a number of times so often."""
        __tracebackhide__ = True
        _raise(verify.all_used(self._link.stubs()))
        return self

    def all_matched(self) -> Self:
        """Every request was answered by a stub, where there are any."""
        __tracebackhide__ = True
        _raise(verify.all_matched(self._views()))
        return self

    def resilience(
        self,
        handles: Handling | None = None,
        outcome: Outcome | BaseException | None = None,
        **limits: float,
    ) -> Verdict:
        """The client behaved well towards a server that failed; the answer is the verdict in full.

        `handles` says what correct handling is: "retry", "raise" or "fallback". `outcome` says what the application
        made of it: an "answer", an "error" (or the exception itself), or that it was "cancelled". `patience` (seconds),
        `least_attempts` and `most_attempts` are limits.
        """
        __tracebackhide__ = True
        verdict = self.verdict(handles, outcome, **limits)
        if not verdict.is_clean:
            told = [verdict.as_text(), "The exchanges:", *verify.journal_lines(self._views())]
            _raise("\n".join(told))
        return verdict

    def verdict(
        self,
        handles: Handling | None = None,
        outcome: Outcome | BaseException | None = None,
        **limits: float,
    ) -> Verdict:
        """The same verdict, which raises nothing."""
        said: Any = "error" if isinstance(outcome, BaseException) else outcome
        told = {name: value for name, value in (("handles", handles), ("outcome", said)) if value is not None}
        # What was declared once holds for the report too.
        self._declared |= {**told, **limits}
        declared = Declaration(**self._declared)
        self._link.wait(_SETTLING)
        views, clock = self._views(), self._link.clock()
        return judge(views, declared, now=clock.now, ahead=clock.ahead)

    @property
    def _asked(self) -> str:
        return verify.asked_for(self._match)

    def _narrowed(self, match: Mapping[str, Any]) -> "Verify":
        return Verify(self._link, self._declared, self._match | told_match(match))

    def _views(self) -> tuple[View, ...]:
        return self._sifted().matching

    def _sifted(self) -> Sifted:
        request, answer = verify.split_match(self._match)
        views = self._link.views()
        if not any(name in request for name in ("operation", "path", "method")):
            views = [view for view in views if view.is_question]
        return verify.sift_answers(views, answer, self._link.sift(request) if request else {})


def _bounds(count: int | None, least: int | None, most: int | None) -> tuple[int, int | None]:
    if count is not None:
        if least is not None or most is not None:
            raise TypeError("Say a number, or at_least and at_most, not both")
        return count, count
    return (0 if most is not None else 1) if least is None else least, most


def _raise(problem: str | None) -> None:
    __tracebackhide__ = True
    if problem is not None:
        raise AssertionError(problem)
