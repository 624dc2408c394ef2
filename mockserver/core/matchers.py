"""Matchers: what is required of the values of one field.

A field may have several values (the tools on offer, the items of a list); a matcher holds if any of them fits. Matchers
are values: equal ones match the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockserver.core.decisions import Decision, conjunction, contrary
from mockserver.core.json_values import among, same
from mockserver.core.naming import shortened
from mockserver.core.regexes import Regex as Expression

# A tuple, because making a union of types takes as long as a search.
_CONTAINERS = (str, list, tuple)


class Matcher:
    """What is required of a field's values. Each kind defines `fits` for one value, or `holds` for all together."""

    __slots__ = ()

    @property
    def wanted(self) -> str:
        """The requirement, in words."""
        raise NotImplementedError

    @property
    def equal_to(self) -> Sequence[object]:
        """The values of which the field must equal one; empty if the matcher does not test for equality."""
        return ()

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether the matcher holds for the values of a field; None if that depends on a search that was given up."""
        return any(map(self.fits, values))

    def fits(self, value: Any) -> bool:
        """Whether one value meets the requirement."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Equals(Matcher):
    """An equal JSON value: true is not 1."""

    value: object

    @property
    def wanted(self) -> str:
        """The value."""
        return shortened(self.value)

    @property
    def equal_to(self) -> Sequence[object]:
        """The value."""
        return (self.value,)

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether any of the values is equal."""
        # A text equals nothing but the same text.
        return self.value in values if type(self.value) is str else any(map(self.fits, values))

    def fits(self, value: Any) -> bool:
        """Whether the value is equal."""
        return same(self.value, value)


@dataclass(frozen=True, slots=True)
class Contains(Matcher):
    """A text that contains this part, or a list that contains this item."""

    part: str

    @property
    def wanted(self) -> str:
        """The part, named as such."""
        return f"containing {shortened(self.part)}"

    def fits(self, value: Any) -> bool:
        """Whether the value contains the part."""
        return isinstance(value, _CONTAINERS) and self.part in value


@dataclass(frozen=True, slots=True)
class Regex(Matcher):
    """A text in which a regular expression finds a match; None if the search was given up."""

    pattern: str
    expression: Expression = field(compare=False, repr=False)

    @property
    def wanted(self) -> str:
        """The pattern."""
        return f"matching /{self.pattern}/"

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether the expression finds a match in any of the values. No search follows one that was given up."""
        for value in values:
            found = self.expression.search(value) if isinstance(value, str) else False
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
        """Whether the value is among them."""
        return among(value, self.values)


@dataclass(frozen=True, slots=True)
class Between(Matcher):
    """A number within inclusive bounds; None is no bound."""

    least: float | None = None
    most: float | None = None

    @property
    def wanted(self) -> str:
        """The bounds that are set."""
        bounds = ("at least", self.least), ("at most", self.most)
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)

    def fits(self, value: Any) -> bool:
        """Whether the value is a number within the bounds."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        return (self.least is None or self.least <= value) and (self.most is None or value <= self.most)


@dataclass(frozen=True, slots=True)
class Exists(Matcher):
    """A field that has a value, or has none."""

    present: bool = True

    @property
    def wanted(self) -> str:
        """`anything` or `nothing`."""
        return "anything" if self.present else "nothing"

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether the presence of values is as required."""
        return bool(values) == self.present


@dataclass(frozen=True, slots=True)
class Satisfies(Matcher):
    """A value that a Python function accepts."""

    predicate: Callable[[Any], object]

    @property
    def wanted(self) -> str:
        """The function's name."""
        return f"accepted by {getattr(self.predicate, '__name__', 'a predicate')}()"

    def fits(self, value: Any) -> bool:
        """Whether the function accepts the value."""
        return bool(self.predicate(value))


@dataclass(frozen=True, slots=True)
class Not(Matcher):
    """A field for which the matcher does not hold."""

    matcher: Matcher

    @property
    def wanted(self) -> str:
        """The requirement, negated."""
        return f"not {self.matcher.wanted}"

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether the matcher does not hold."""
        return contrary(self.matcher.holds(values))


@dataclass(frozen=True, slots=True)
class Every(Matcher):
    """A field for which all of these matchers hold."""

    matchers: tuple[Matcher, ...]

    @property
    def wanted(self) -> str:
        """The requirements, joined."""
        return " and ".join(each.wanted for each in self.matchers)

    def holds(self, values: Sequence[object]) -> Decision:
        """Whether all matchers hold."""
        return conjunction(each.holds(values) for each in self.matchers)
