"""Demands: what is required of one value, with all schemas that apply to it merged.

A demand grows schema by schema, keyword by keyword (`keywords.py`). A choice among several ways to meet a schema
(`anyOf`, `oneOf`, `not`, `if`, `dependentSchemas`) is put off as a `Fork`. A way may be optimistic: then its schema is
noted in `checks`, and a finished value is held against that.
"""

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from mockserver.core.json_values import ValueSet
from mockserver.model.schema.documents import Node
from mockserver.model.schema.made import TYPES
from mockserver.model.schema.properties import Properties, Scopes, Shape

# The types of a demand's parts that grow in place.
_GROWING = (list, dict, set)


class Fork(NamedTuple):
    """Several ways to meet a keyword, each a tuple of schemas to be added; the first is preferred."""

    options: Sequence[tuple[Node, ...]]
    scopes: Scopes


class Containing(NamedTuple):
    """How many items must conform to a schema (`contains`)."""

    node: Node
    least: int
    most: int | None
    scopes: Scopes


class Demand:
    """What is required of one value. `dead` is True if no value can be like that.

    `properties` and `grids` are derived from it once it is complete (`properties_of`, `numbers.py`); `kept` is a cache
    of the demands to which its forks lead, None for a demand that is not cached itself.
    """

    __slots__ = (
        "_impossible", "arrays", "checks", "contains", "dead", "dependents", "excluded", "extras", "forbidden", "forks",
        "formats", "grids", "high", "high_open", "hints", "kept", "low", "low_open", "max_items", "max_length",
        "max_properties", "min_items", "min_length", "min_properties", "multiples", "name_demands", "named", "names",
        "no_multiples", "no_patterns", "objects", "patterns", "properties", "required", "samples", "seen", "twins",
        "types", "unevaluated_items", "unevaluated_properties", "unique", "values", "whole",
    )  # fmt: skip

    def __init__(self) -> None:
        self.dead = False
        self.types: tuple[str, ...] = TYPES
        self.whole: bool | None = None
        self.values: list[Any] | None = None
        self.excluded: list[ValueSet] = []
        self.samples: list[Any] = []
        self.hints: list[str] = []
        self.low: Fraction | None = None
        self.high: Fraction | None = None
        self.low_open = self.high_open = False
        self.multiples: list[Fraction] = []
        self.no_multiples: list[Fraction] = []
        self.min_length, self.max_length = 0, None  # type: int, int | None
        self.patterns: list[str] = []
        self.no_patterns: list[str] = []
        self.formats: list[str] = []
        self.objects: list[Shape] = []
        self.required: dict[str, None] = {}
        self.forbidden: set[str] = set()
        self.dependents: dict[str, list[str]] = {}
        self.names: list[Node] = []
        self.extras: list[tuple[Node, Node]] = []
        self.named: list[tuple[str, Node]] = []
        self.name_demands: list[Node] = []
        self.min_properties, self.max_properties = 0, None  # type: int, int | None
        self.unevaluated_properties: list[Node] = []
        self.arrays: list[Shape] = []
        self.contains: list[Containing] = []
        self.unique = self.twins = False
        self.min_items, self.max_items = 0, None  # type: int, int | None
        self.unevaluated_items: list[Node] = []
        self.checks: list[Node] = []
        self.forks: list[Fork] = []
        self.seen: dict[tuple[int, Scopes], Node] = {}
        self.properties: Properties | None = None
        self.grids: dict[tuple[Any, ...], Any] = {}
        self.kept: dict[Hashable, Any] | None = None
        self._impossible: bool | None = None

    def without_forks(self) -> "Demand":
        """A copy without the forks, which can grow independently."""
        other = Demand.__new__(Demand)
        for name in _SHARED:
            value = getattr(self, name)
            setattr(other, name, value.copy() if isinstance(value, _GROWING) else value)
        other.forks, other.grids = [], {}
        other.properties = other.kept = other._impossible = None
        return other

    def narrow(self, types: Sequence[str]) -> None:
        """Restrict it to these types."""
        self.types = tuple(name for name in self.types if name in types)
        self.dead = self.dead or not self.types

    def excludes(self, value: object) -> bool:
        """Whether a value is among those that are forbidden."""
        # Hardly any demand excludes anything, but every value is checked.
        return bool(self.excluded) and any(value in values for values in self.excluded)

    @property
    def impossible(self) -> bool:
        """Whether it is obvious that no value can meet it; only for a complete demand."""
        if self._impossible is None:
            self._impossible = self._is_impossible()
        return self._impossible

    def _is_impossible(self) -> bool:
        if self.dead or (self.values is not None and not self.values):
            return True
        bounds = [_POSSIBLE[name] for name in self.types if name in _POSSIBLE]
        return len(bounds) == len(self.types) and not any(possible(self) for possible in bounds)


# What a demand shares with its copies: everything that neither depends on its forks nor is derived from it.
_SHARED = tuple(sorted({*Demand.__slots__} - {"_impossible", "forks", "grids", "kept", "properties"}))


def _ordered(least: Any, most: Any) -> bool:
    return least is None or most is None or least <= most


# For types whose bounds may contradict each other: whether they do not.
_POSSIBLE: dict[str, Callable[[Demand], bool]] = {
    "number": lambda demand: _ordered(demand.low, demand.high),
    "string": lambda demand: _ordered(demand.min_length, demand.max_length),
    "array": lambda demand: _ordered(demand.min_items, demand.max_items),
    "object": lambda demand: (
        _ordered(max(demand.min_properties, len(demand.required)), demand.max_properties)
        and demand.forbidden.isdisjoint(demand.required)
    ),
}


# Lets a demand grow by a keyword. Arguments: the demand, the keyword's schema, its value, and the scopes (see `add`).
Keyword = Callable[[Demand, Node, Any, Scopes], None]


def properties_of(demand: Demand) -> Properties:
    """The properties of a complete demand; cached with it."""
    if demand.properties is None:
        demand.properties = Properties(demand.objects, demand.unevaluated_properties)
    return demand.properties
