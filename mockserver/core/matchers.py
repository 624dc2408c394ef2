"""Matchers: what the values of one field have to be.

A field may have several values (the tools on offer, the items of a list): a matcher holds when it holds for any of
them. Matchers are values: equal ones match alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockserver.core.decisions import Decision, conjunction, contrary
from mockserver.core.json_values import among, same
from mockserver.core.naming import shortened


class Matcher:
    """What the values of a field have to be; each kind says what fits, or else what holds of all values together."""

    __slots__ = ()

    @property
    def wanted(self) -> str:
        """What it wants, for people."""
        raise NotImplementedError

    @property
    def equal_to(self) -> Sequence[object]:
        """The values of which one is wanted outright."""
        return ()

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether it holds for the values of a field; None where a search that was given up would have to tell."""
        return any(map(self.fits, values))

    def fits(self, value: Any) -> bool:
        """Whether one value is as it is wanted."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Equals(Matcher):
    """The same JSON value: true is not 1."""

    value: object

    @property
    def wanted(self) -> str:
        """The value."""
        return shortened(self.value)

    @property
    def equal_to(self) -> Sequence[object]:
        """The value alone."""
        return (self.value,)

    def fits(self, value: Any) -> bool:
        """Whether it is the same."""
        return same(self.value, value)


@dataclass(frozen=True, slots=True)
class Contains(Matcher):
    """A text with this part, or a list with this item."""

    part: str

    @property
    def wanted(self) -> str:
        """The part, and that it is one."""
        return f"with {shortened(self.part)} in it"

    def fits(self, value: Any) -> bool:
        """Whether the part is in it."""
        return self.part in value if isinstance(value, str | list | tuple) else False


@dataclass(frozen=True, slots=True)
class Regex(Matcher):
    """A text in which the regular expression finds something: `search` tells, or None where it was given up."""

    pattern: str
    search: Callable[[str], Decision] = field(compare=False, repr=False)

    @property
    def wanted(self) -> str:
        """The pattern."""
        return f"like /{self.pattern}/"

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether it finds something in any of the values. The first search that is given up is the last one."""
        for value in values:
            found = self.search(value) if isinstance(value, str) else False
            if found is not False:
                return found
        return False


@dataclass(frozen=True, slots=True)
class OneOf(Matcher):
    """One of these JSON values."""

    values: tuple[object, ...]

    @property
    def wanted(self) -> str:
        """The values."""
        return f"one of {', '.join(map(shortened, self.values))}"

    @property
    def equal_to(self) -> Sequence[object]:
        """All of the values."""
        return self.values

    def fits(self, value: Any) -> bool:
        """Whether it is among them."""
        return among(value, self.values)


@dataclass(frozen=True, slots=True)
class Between(Matcher):
    """A number within bounds, which belong to it; None is no bound."""

    least: float | None = None
    most: float | None = None

    @property
    def wanted(self) -> str:
        """The bounds that there are."""
        bounds = ("at least", self.least), ("at most", self.most)
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)

    def fits(self, value: Any) -> bool:
        """Whether it is a number within them."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        return (self.least is None or self.least <= value) and (self.most is None or value <= self.most)


@dataclass(frozen=True, slots=True)
class Exists(Matcher):
    """Any value at all, or none."""

    present: bool = True

    @property
    def wanted(self) -> str:
        """Anything or nothing."""
        return "anything" if self.present else "nothing"

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether there are values, or none."""
        return bool(values) == self.present


@dataclass(frozen=True, slots=True)
class Satisfies(Matcher):
    """A value for which a Python function says yes."""

    predicate: Callable[[Any], object]

    @property
    def wanted(self) -> str:
        """The function's name."""
        return f"what {getattr(self.predicate, '__name__', 'a predicate')}() accepts"

    def fits(self, value: Any) -> bool:
        """Whether the function says yes."""
        return bool(self.predicate(value))


@dataclass(frozen=True, slots=True)
class Not(Matcher):
    """No value for which the matcher holds."""

    matcher: Matcher

    @property
    def wanted(self) -> str:
        """What is not wanted."""
        return f"not {self.matcher.wanted}"

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether the matcher does not."""
        return contrary(self.matcher.holds(values))


@dataclass(frozen=True, slots=True)
class Every(Matcher):
    """What all of these matchers hold for."""

    matchers: tuple[Matcher, ...]

    @property
    def wanted(self) -> str:
        """What each of them wants."""
        return " and ".join(each.wanted for each in self.matchers)

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether all of them do."""
        return conjunction(each.holds(values) for each in self.matchers)
