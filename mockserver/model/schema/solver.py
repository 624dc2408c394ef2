"""Values that keep to schemas: a search through what the schemas leave open, guided by draws.

Strategy. All the schemas that apply to one value are merged into a demand (`demands.py`); its forks are taken one
after another until a value is found. Parts of objects and arrays are solved the same way, each by itself. A search
first tries what is natural: most properties, one to four items, the branches of `anyOf` in drawn order. Where schemas
repeat themselves it turns frugal: only what is required, and the branches that end soonest; so recursion ends. What has
failed once at some depth is not tried again below it. Every step is counted, and a search that costs too much is given
up.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mockserver.core.json_values import type_of
from mockserver.core.seeding import Draws
from mockserver.model.schema import texts
from mockserver.model.schema.arrays import ArrayBuilder
from mockserver.model.schema.demands import Demand, Fork
from mockserver.model.schema.documents import Node
from mockserver.model.schema.heights import ordered
from mockserver.model.schema.numbers import write_number
from mockserver.model.schema.objects import ObjectBuilder
from mockserver.model.schema.ranges import range_of
from mockserver.model.schema.search import NOTHING
from mockserver.model.schema.values import Setting
from mockserver.model.schema.ways import demand_of, settled

_DEEPEST = 90
_FILLS = 3
# How often a schema may lie within itself before arrays are short; once more, and the search turns frugal.
_REPEATS = 1


# How much of a property's name, and of what is said about it, counts.
_NAME, _ABOUT = 200, 2000
# How much more it takes to find an object or an array in a list than a text.
_COMPOSED = 8


class TooMuchError(Exception):
    """A search that costs more than it may."""


class Cost(NamedTuple):
    """What a search may cost.

    `steps` may be taken in vain, `values` may be made, and `natural` of them before it turns frugal. `work` is what the
    steps may do, in values that they look at, each some ten nanoseconds. A `complete` one leaves nothing out.
    """

    steps: int
    values: int
    natural: int
    work: int
    complete: bool = False


class Solver:
    """One search for a value: its draws, and its cost."""

    def __init__(self, draws: Draws, language: str, subject: str, cost: Cost) -> None:
        self.draws = draws
        self.complete = cost.complete
        self.frugal = cost.natural == 0
        # Whether some schema lies within itself here: then arrays are short.
        self.nested = False
        self._cost = cost
        self._steps = cost.steps
        self._made = 0
        self._work = cost.work
        self._topic = language, subject
        self._open: dict[int, int] = {}
        self._failed: dict[tuple[int, ...], int] = {}

    @property
    def work_left(self) -> int:
        """What its steps may still do."""
        return max(self._work, 0)

    def solve(self, nodes: Sequence[Node], name: str = "", depth: int = 0) -> Any:
        """A value that keeps to all the schemas, or NOTHING. `name` is what it is called, `depth` how deep it lies."""
        self.spend()
        if depth > _DEEPEST or (self._failed and depth >= self._failed.get(_places(nodes), _DEEPEST + 1)):
            return NOTHING
        first = id(nodes[0]) if nodes else 0
        self._open[first] = self._open.get(first, 0) + 1
        often = self._open[first] > _REPEATS + 1 or self._made >= self._cost.natural
        before, self.frugal = (self.frugal, self.nested), self.frugal or often
        self.nested = self.nested or self._open[first] > _REPEATS
        try:
            found = self._search(nodes, name, depth)
        finally:
            self.frugal, self.nested = before
            self._open[first] -= 1
        if found is not NOTHING:
            self._earn()
        elif places := _places(nodes):
            self._failed[places] = min(depth, self._failed.get(places, depth))
        return found

    def spend(self, steps: int = 1) -> None:
        """Count steps that may be in vain."""
        self._steps -= steps
        if self._steps < 0:
            raise TooMuchError

    def work(self, values: int) -> None:
        """Count work that a step does with so many values."""
        self._work -= values
        if self._work < 0:
            raise TooMuchError

    def _earn(self) -> None:
        """Count a value; the step that it took was not in vain."""
        self._steps += 1
        self._made += 1
        if self._made > self._cost.values:
            raise TooMuchError

    def _search(self, nodes: Sequence[Node], name: str, depth: int) -> Any:
        demand = demand_of(nodes)
        self.work(20 * sum(len(fork.options) for fork in demand.forks))
        if demand.kept is None:
            self.work(100 * len(demand.seen))
        if not (demand.forks or demand.checks or demand.impossible):
            # Most demands are met in one way only, and whatever meets them is right.
            return self._fill(demand, nodes, name, depth)
        forks = [Fork(ordered(each.options, self.draws, frugal=self.frugal), each.scopes) for each in demand.forks]
        for way in settled(demand, forks, self.spend):
            checks = {id(check): check for check in way.checks}.values()
            for _ in range(_FILLS if checks else 1):
                found = self._fill(way, nodes, name, depth)
                if found is NOTHING:
                    break
                if all(check.holds(found) for check in checks):
                    return found
                self.spend()
        return NOTHING

    # --- one value ---------------------------------------------------------------------------------------------------

    def _fill(self, demand: Demand, nodes: Sequence[Node], name: str, depth: int) -> Any:
        if demand.values is not None:
            return self._one_of(demand, nodes)
        setting = Setting(self.draws, name[-_NAME:], " ".join(demand.hints[:4])[:_ABOUT], *self._topic)
        for kind in self._types(demand) if len(demand.types) > 1 else demand.types:
            found = self._of_type(kind, demand, setting, depth)
            if found is not NOTHING:
                return found
        return NOTHING

    def _one_of(self, demand: Demand, nodes: Sequence[Node]) -> Any:
        """One of the listed values, which all schemas allow."""
        listed = demand.values or []
        if not listed:
            return NOTHING
        start = self.draws.below(len(listed))
        fit = texts.fits(demand)
        for value in (*listed[start:], *listed[:start]):
            self.work(len(listed) * (_COMPOSED if isinstance(value, dict | list) else 1))
            if type_of(value) not in demand.types or demand.excludes(value):
                continue
            if isinstance(value, str) and not fit(value):
                continue
            if all(node.holds(value) for node in (*nodes, *demand.checks)):
                return value
        return NOTHING

    def _types(self, demand: Demand) -> list[str]:
        """The types that it may have, the likeliest first: the one whose keywords it has, and null last of all."""
        bounded = {
            "object": bool(demand.objects or demand.required or demand.min_properties or demand.names or demand.extras
                           or demand.named or demand.name_demands or demand.max_properties),
            "array": bool(demand.arrays or demand.contains or demand.min_items or demand.unique or demand.twins
                          or demand.max_items),
            "string": bool(demand.patterns or demand.formats or demand.min_length or demand.max_length
                           or demand.no_patterns),
            "number": bool(demand.multiples or demand.whole is not None or demand.low is not None
                           or demand.high is not None or demand.no_multiples),
        }  # fmt: skip
        order = list(demand.types)
        start = self.draws.below(len(order))
        order = order[start:] + order[:start]
        usual = len(demand.types) == len(_RANKS)
        rank = {kind: _RANKS[kind] if usual else 1 for kind in order}
        wanted_null = self.draws.below(8) == 0
        return sorted(
            order, key=lambda kind: (not bounded.get(kind, False), rank[kind], (kind == "null") is not wanted_null)
        )

    def _of_type(self, kind: str, demand: Demand, setting: Setting, depth: int) -> Any:
        if kind in ("object", "array"):
            return self._composed(kind, demand, setting, depth)
        if kind == "string":
            text = texts.write_text(demand, setting, self.spend)
            return NOTHING if text is None else text
        return self._number(demand, setting) if kind == "number" else self._simple(kind, demand)

    def _composed(self, kind: str, demand: Demand, setting: Setting, depth: int) -> Any:
        """An object or an array; if it is one that it must not be, one that is made unlike those, or a larger one."""
        make = ObjectBuilder if kind == "object" else ArrayBuilder
        for more in range(_FILLS):
            found = make(self, demand, setting, depth).write(more)
            if found is not NOTHING and more == 0 and demand.excludes(found):
                others = [value for values in demand.excluded for value in values]
                found = make(self, demand, setting, depth).write_unlike(others)
                if found is NOTHING:
                    continue
            if found is NOTHING or not demand.excludes(found):
                return found
        return NOTHING

    def _simple(self, kind: str, demand: Demand) -> Any:
        options = [None] if kind == "null" else [True, False] if self.draws.below(2) else [False, True]
        return next((value for value in options if not demand.excludes(value)), NOTHING)

    def _number(self, demand: Demand, setting: Setting) -> Any:
        self.work(20 * sum(map(len, demand.excluded)))
        found = write_number(demand, self.draws, range_of(setting.name, setting.about, whole=bool(demand.whole)))
        return NOTHING if found is None else found


def _places(nodes: Sequence[Node]) -> tuple[int, ...]:
    """What names schemas that stand in a document, which have failed for good; empty if one of them was made."""
    return tuple(map(id, nodes)) if all(node.place is not None for node in nodes) else ()


# Where any type will do: a text says most.
_RANKS = {"string": 0, "number": 1, "object": 2, "array": 3, "boolean": 4, "null": 5}
