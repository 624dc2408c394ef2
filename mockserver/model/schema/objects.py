"""Building one object: which properties it has, and their values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockserver.core.json_values import ValueSet, among
from mockserver.model.schema.demands import Demand, properties_of
from mockserver.model.schema.documents import Node
from mockserver.model.schema.made import EXCLUDED, NO_PATTERN
from mockserver.model.schema.search import NOTHING, Search
from mockserver.model.schema.trails import DEAR, Trails
from mockserver.model.schema.values import Setting

_KEYS_TRIED = 12
# How many trails are tried to build an object that differs from some others in the same properties.
_TRAILS = 200
# The work to find what applies to a name, and to hold it against a pattern.
_NAME_WORK, _PATTERN_WORK = 100, 50


class ObjectBuilder:
    """Builds one object."""

    def __init__(self, search: Search, demand: Demand, setting: Setting, depth: int) -> None:
        self._search, self._demand, self._setting, self._depth = search, demand, setting, depth
        self._draws = search.draws
        self._dropped: set[str] = set(demand.forbidden)
        self._patterns = sum(len(shape.node.schema.get("patternProperties", ())) for shape in demand.objects)
        if demand.properties is None:
            named = sum(len(shape.node.schema.get("properties", ())) for shape in demand.objects)
            search.work(named * (_NAME_WORK + _PATTERN_WORK * self._patterns + len(demand.objects)))
        self._properties = properties_of(demand)
        # Names that added properties may not have; None until there is one. It grows with them.
        self._taken: ValueSet | None = None
        self._more: dict[str, list[Node]] = {}
        self._least = demand.min_properties
        self._all = search.complete

    def write(self, more: int) -> Any:
        """The object with so many properties more than it needs, or NOTHING."""
        demand = self._demand
        self._least = demand.min_properties + more
        if demand.max_properties is not None and demand.max_properties < demand.min_properties:
            return NOTHING
        while True:
            chosen = self._chosen()
            if chosen is None:
                return NOTHING
            made = self._made(chosen)
            if not isinstance(made, str):
                return made
            self._dropped.add(made)

    def write_unlike(self, others: Sequence[Any]) -> Any:
        """An object that differs from the others, with as many of its named properties as possible; else NOTHING."""
        self._all = True
        while (chosen := self._chosen()) is not None:
            made = self._made_unlike(others, chosen)
            optional = [name for name in chosen if name not in self._closure(self._demand.required)]
            if made is not NOTHING or not optional:
                return made
            self._dropped.add(optional[-1])
        return NOTHING

    def _made_unlike(self, others: Sequence[Any], chosen: Sequence[str]) -> Any:
        names = set(chosen)
        alike = (other for other in others if isinstance(other, dict) and other.keys() == names)
        trails = Trails([other[name] for name in chosen] for other in alike)
        for _ in range(_TRAILS):
            self._search.spend(1 + len(others) // DEAR)
            values = self._values(chosen, trails)
            if len(values) == len(chosen):
                made = self._extended(dict(zip(chosen, values, strict=True)))
                if made is not NOTHING and not among(made, others):
                    return made
            if not trails.close(values):
                break
        return NOTHING

    def _made(self, chosen: Sequence[str]) -> Any:
        """The object with the chosen properties and all that must be added; or NOTHING; or the name of one to omit."""
        values = self._values(chosen)
        if len(values) == len(chosen):
            return self._extended(dict(zip(chosen, values, strict=True)))
        name = chosen[len(values)]
        return NOTHING if name in self._closure(self._demand.required) else name

    def _values(self, chosen: Sequence[str], trails: Trails | None = None) -> list[Any]:
        """The values of properties, up to the first one for which there is none."""
        values: list[Any] = []
        for name in chosen:
            value = self._value(name, self._unlike(trails.closed(values)) if trails else ())
            if value is NOTHING:
                break
            values.append(value)
        return values

    def _unlike(self, values: list[Any]) -> list[Node]:
        return [next(iter(self._demand.seen.values())).made({EXCLUDED: ValueSet(values)})] if values else []

    def _extended(self, made: dict[str, Any]) -> Any:
        """The object with all properties that must be added, or NOTHING."""
        demand = self._demand
        self._taken = None
        for key_nodes, value_nodes in self._wanted():
            if not self._extend(made, key_nodes, value_nodes):
                return NOTHING
        most = demand.max_properties
        least = max(self._least, self._usual_more(made))
        while len(made) < (least if most is None else min(least, most)):
            if not self._extend_somehow(made):
                break
        return NOTHING if len(made) < demand.min_properties or (most is not None and len(made) > most) else made

    # --- the properties that are named ---------------------------------------------------------------------------

    def _chosen(self) -> list[str] | None:
        """The names of its properties, in the schemas' own order; None if the required ones are impossible."""
        demand = self._demand
        if not self._dropped and not self._more and self._needs_all():
            return [*self._properties.declared]
        required = self._closure(demand.required)
        most = demand.max_properties
        if (
            required & self._dropped
            or (most is not None and len(required) > most)
            or not all(map(self._may_be, required))
        ):
            return None
        names = self._properties.declared
        chosen = set(required)
        least = self._least
        optional = [name for name in names if name not in required and name not in self._dropped and self._may_be(name)]
        for index, name in enumerate(optional):
            left = len(optional) - index
            needed = len(chosen) + left <= least
            # Of an object in which nothing has to be, something mostly is.
            last = not chosen and left == 1
            wanted = needed or self._all or (not self._search.frugal and (self._draws.below(8) > 0 or last))
            added = self._closure([name]) - chosen
            fits = (most is None or len(chosen) + len(added) <= most) and not added & self._dropped
            if wanted and fits and all(map(self._may_be, added)):
                chosen |= added
        order = dict.fromkeys([*names, *demand.required])
        return [*(name for name in order if name in chosen), *sorted(chosen - order.keys())]

    def _needs_all(self) -> bool:
        """Whether it plainly has exactly the properties that are declared: mostly all of them are required."""
        demand = self._demand
        free = not demand.dependents and not demand.names and demand.max_properties is None
        return free and self._properties.are_exactly(demand.required)

    def _closure(self, names: Any) -> set[str]:
        """The names and all those that they require in turn."""
        found, dependents = set(names), self._demand.dependents
        waiting = list(found) if dependents else []
        while waiting:
            for other in dependents.get(waiting.pop(), ()):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return found

    def _may_be(self, name: str) -> bool:
        self._search.work(_PATTERN_WORK * self._patterns)
        if self._demand.names and not all(node.holds(name) for node in self._demand.names):
            return False
        more = self._more.get(name)
        return self._properties.may_have(name) and (not more or all(node.schema is not False for node in more))

    def _value(self, name: str, beside: Sequence[Node] = ()) -> Any:
        return self._search.solve(
            [*self._pieces(name), *beside] if beside else self._pieces(name), name, self._depth + 1
        )

    def _pieces(self, name: str) -> Sequence[Node]:
        """All the schemas that apply to a property."""
        self._search.work(_PATTERN_WORK * self._patterns)
        found, more = self._properties.pieces(name), self._more.get(name)
        return (*found, *more) if more else found

    # --- properties beyond those -----------------------------------------------------------------------------------

    def _wanted(self) -> Iterator[tuple[list[Node], list[Node]]]:
        """Required properties without a given name: the schemas of their names, and of their values."""
        demand = self._demand
        for shape, part in demand.extras:
            yield [self._unnamed_by(shape)], [part]
        for pattern, part in demand.named:
            yield [part.made({"pattern": pattern})], [part]
        for part in demand.name_demands:
            yield [part], []

    def _unnamed_by(self, shape: Node) -> Node:
        names = list(shape.schema.get("properties", ()))
        patterns = list(shape.schema.get("patternProperties", ()))
        parts = [shape.made({EXCLUDED: ValueSet(names)}), *(shape.made({NO_PATTERN: pattern}) for pattern in patterns)]
        schema: dict[str, Any] = {"allOf": [None] * len(parts)}
        return shape.made(schema, {("allOf", index): part for index, part in enumerate(parts)})

    def _usual_more(self, made: Mapping[str, Any]) -> int:
        """How many properties would be natural: maps have some even if none are required."""
        if self._search.frugal or made:
            return 0
        for node, _ in self._demand.objects:
            extra = node.schema.get("additionalProperties")
            if node.schema.get("patternProperties") or (isinstance(extra, dict) and extra):
                return 1 + self._draws.below(3)
        return 0

    def _extend_somehow(self, made: dict[str, Any]) -> bool:
        """Add a property with any name that is allowed."""
        for name in self._properties.declared:
            if name not in made and name not in self._dropped and self._may_be(name) and self._add(made, name, []):
                return True
        patterns = [pattern for node, _ in self._demand.objects for pattern in node.schema.get("patternProperties", ())]
        root = self._demand.objects[0].node if self._demand.objects else None
        if root is not None:
            for pattern in patterns:
                if self._extend(made, [root.made({"pattern": pattern})], []):
                    return True
        return self._extend(made, [], [])

    def _extend(self, made: dict[str, Any], key_nodes: list[Node], value_nodes: list[Node]) -> bool:
        """Add a property whose name and value conform to the given schemas, in addition to those of the object."""
        tried = ValueSet()
        for attempt in range(_KEYS_TRIED):
            self._search.spend()
            name = self._key(made, key_nodes, tried, attempt)
            if name is None:
                return False
            if self._may_be(name) and self._add(made, name, value_nodes):
                return True
            tried.add(name)
        return False

    def _key(self, made: Mapping[str, Any], key_nodes: list[Node], tried: ValueSet, attempt: int) -> str | None:
        taken = self._taken
        if taken is None:
            taken = self._taken = ValueSet([*made, *self._dropped])
        nodes = [*self._demand.names, *key_nodes]
        if not nodes:
            count = len(taken) + len(tried)
            word = self._setting.english("key") if attempt < 4 else f"item_{count + attempt}"
            return f"{word}_{count}" if word in taken or word in tried else word
        new = [nodes[0].made({"type": "string", EXCLUDED: taken}), nodes[0].made({EXCLUDED: tried})]
        found = self._search.solve([*nodes, *new], "key", self._depth + 1)
        return found if isinstance(found, str) else None

    def _add(self, made: dict[str, Any], name: str, value_nodes: list[Node]) -> bool:
        if name in made:
            return False
        others = self._closure([name]) - made.keys() - {name}
        if others & self._dropped or not all(map(self._may_be, others)):
            return False
        self._more[name] = [*self._more.get(name, ()), *value_nodes]
        value = self._value(name)
        if value is NOTHING:
            del self._more[name]
            return False
        added = {name: value}
        for other in sorted(others):
            added[other] = self._value(other)
            if added[other] is NOTHING:
                return False
        made.update(added)
        if self._taken is not None:
            for each in added:
                self._taken.add(each)
        return True
