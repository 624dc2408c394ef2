"""Values that keep to schemas: a search through what the schemas leave open, guided by draws.

Strategy. All the schemas that apply to one value are merged into a demand (`demands.py`); its choices are made one
after another until a value is found. Parts of objects and arrays are solved the same way, each by itself. A search
first tries what is natural: most properties, one to four items, the branches of `anyOf` in drawn order. Where schemas
repeat themselves it turns frugal: only what is required, and the branches that end soonest; so recursion ends. What has
failed once at some depth is not tried again below it. Every step is counted, and a search that costs too much is given
up.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.seeding import Draws
from mockserver.generation.schemas import texts, values
from mockserver.generation.schemas.demands import Choice, Contains, Demand, among, demand_of, settled, type_of
from mockserver.generation.schemas.documents import Node
from mockserver.generation.schemas.heights import ordered
from mockserver.generation.schemas.made import EXCLUDED, opposite
from mockserver.generation.schemas.numbers import write_number
from mockserver.generation.schemas.properties import properties_of
from mockserver.generation.schemas.values import Setting

# What a search gives for a value that there is none of; None is a value.
NOTHING: Any = object()

_DEEPEST = 90
_FILLS = 3
_LONGEST_ARRAY = 20_000
_KEYS_TRIED = 12
# How often a schema may lie within itself before arrays are short; once more, and the search turns frugal.
_REPEATS = 1


class TooMuchError(Exception):
    """A search that costs more than it may."""


class Cost(NamedTuple):
    """What a search may cost.

    `steps` may be taken in vain, `values` may be made, and `natural` of them before it turns frugal. A `complete` one
    leaves nothing out.
    """

    steps: int
    values: int
    natural: int
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
        self._topic = language, subject
        self._open: dict[int, int] = {}
        self._failed: dict[tuple[int, ...], int] = {}

    def solve(self, nodes: Sequence[Node], name: str = "", depth: int = 0) -> Any:
        """A value that keeps to all the schemas, or NOTHING. `name` is what it is called, `depth` how deep it lies."""
        self.spend()
        key = tuple([id(node) for node in nodes if node.place is not None])
        whole = len(key) == len(nodes)
        if depth > _DEEPEST or (whole and depth >= self._failed.get(key, _DEEPEST + 1)):
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
        elif whole:
            self._failed[key] = min(depth, self._failed.get(key, depth))
        return found

    def spend(self, steps: int = 1) -> None:
        """Count steps that may be in vain."""
        self._steps -= steps
        if self._steps < 0:
            raise TooMuchError

    def _earn(self) -> None:
        """Count a value; the step that it took was not in vain."""
        self._steps += 1
        self._made += 1
        if self._made > self._cost.values:
            raise TooMuchError

    def _search(self, nodes: Sequence[Node], name: str, depth: int) -> Any:
        demand = demand_of(nodes)
        if demand.choices:
            demand = demand.copy()
            demand.choices = [
                Choice(ordered(choice.options, self.draws, frugal=self.frugal), choice.scopes)
                for choice in demand.choices
            ]
        for way in settled(demand, self.spend):
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
        setting = Setting(self.draws, name, " ".join(demand.hints[:4]), *self._topic)
        for kind in self._types(demand):
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
        for value in (*listed[start:], *listed[:start]):
            if type_of(value) not in demand.types or among(value, demand.excluded):
                continue
            if isinstance(value, str) and not texts.fits(demand)(value):
                continue
            if all(node.holds(value) for node in (*nodes, *demand.checks)):
                return value
        return NOTHING

    def _types(self, demand: Demand) -> list[str]:
        """The types that it may have, the likeliest first: the one whose keywords it has, and null last of all."""
        if len(demand.types) == 1:
            return list(demand.types)
        told = {
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
            order, key=lambda kind: (not told.get(kind, False), rank[kind], (kind == "null") is not wanted_null)
        )

    def _of_type(self, kind: str, demand: Demand, setting: Setting, depth: int) -> Any:
        if kind in ("object", "array"):
            return self._composed(kind, demand, setting, depth)
        if kind == "string":
            text = texts.write_text(demand, setting, self.spend)
            return NOTHING if text is None else text
        return self._number(demand, setting) if kind == "number" else self._simple(kind, demand)

    def _composed(self, kind: str, demand: Demand, setting: Setting, depth: int) -> Any:
        """An object or an array; a larger one each time that it is one which it must not be."""
        for more in range(_FILLS):
            if kind == "object":
                found = _Objects(self, demand, setting, depth).write(more)
            else:
                found = _Arrays(self, demand, setting, depth).write(more)
            if found is NOTHING or not among(found, demand.excluded):
                return found
        return NOTHING

    def _simple(self, kind: str, demand: Demand) -> Any:
        options = [None] if kind == "null" else [True, False] if self.draws.below(2) else [False, True]
        return next((value for value in options if not among(value, demand.excluded)), NOTHING)

    def _number(self, demand: Demand, setting: Setting) -> Any:
        low, high, places = values.range_of(setting.name, setting.about, whole=bool(demand.whole))
        found = write_number(demand, self.draws, low, high, places)
        return NOTHING if found is None else found


# Where any type will do: a text says most.
_RANKS = {"string": 0, "number": 1, "object": 2, "array": 3, "boolean": 4, "null": 5}


class _Objects:
    """The making of one object."""

    def __init__(self, solver: Solver, demand: Demand, setting: Setting, depth: int) -> None:
        self._solver, self._demand, self._setting, self._depth = solver, demand, setting, depth
        self._draws = solver.draws
        self._dropped: set[str] = set(demand.forbidden)
        self._properties = properties_of(demand)
        self._more: dict[str, list[Node]] = {}
        self._least = 0

    def write(self, more: int) -> Any:
        """The object, or NOTHING; with so many properties more than it needs."""
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

    def _made(self, chosen: Sequence[str]) -> Any:
        """The object with the chosen properties and what must be added, NOTHING, or the name of one to do without."""
        demand = self._demand
        required = self._closure(demand.required)
        made: dict[str, Any] = {}
        for name in chosen:
            value = self._value(name)
            if value is NOTHING:
                return NOTHING if name in required else name
            made[name] = value
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
        """The names to be there, in the schemas' own order; None when what is required cannot be."""
        demand = self._demand
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
            wanted = needed or self._solver.complete or (not self._solver.frugal and self._draws.below(8) > 0)
            added = self._closure([name]) - chosen
            fits = (most is None or len(chosen) + len(added) <= most) and not added & self._dropped
            if wanted and fits and all(map(self._may_be, added)):
                chosen |= added
        order = dict.fromkeys([*names, *demand.required])
        return [*(name for name in order if name in chosen), *sorted(chosen - order.keys())]

    def _closure(self, names: Any) -> set[str]:
        """The names with all those that have to be there too."""
        found, dependents = set(names), self._demand.dependents
        waiting = list(found) if dependents else []
        while waiting:
            for other in dependents.get(waiting.pop(), ()):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return found

    def _may_be(self, name: str) -> bool:
        if self._demand.names and not all(node.holds(name) for node in self._demand.names):
            return False
        return all(node.schema is not False for node in self._pieces(name))

    def _value(self, name: str) -> Any:
        return self._solver.solve(self._pieces(name), name, self._depth + 1)

    def _pieces(self, name: str) -> Sequence[Node]:
        """All the schemas that apply to a property."""
        found, more = self._properties.pieces(name), self._more.get(name)
        return (*found, *more) if more else found

    # --- properties beyond those -----------------------------------------------------------------------------------

    def _wanted(self) -> Iterator[tuple[list[Node], list[Node]]]:
        """Properties that must be there without a name: the schemas of their names, and of their values."""
        demand = self._demand
        for shape, part in demand.extras:
            yield [self._unnamed_by(shape)], [part]
        for pattern, part in demand.named:
            yield [shape.made({"pattern": pattern}) for shape in [part]], [part]
        for part in demand.name_demands:
            yield [part], []

    def _unnamed_by(self, shape: Node) -> Node:
        from mockserver.generation.schemas.made import NO_PATTERN

        names = list(shape.schema.get("properties", ()))
        patterns = list(shape.schema.get("patternProperties", ()))
        parts = [shape.made({EXCLUDED: names}), *(shape.made({NO_PATTERN: pattern}) for pattern in patterns)]
        schema: dict[str, Any] = {"allOf": [None] * len(parts)}
        return shape.made(schema, {("allOf", index): part for index, part in enumerate(parts)})

    def _usual_more(self, made: Mapping[str, Any]) -> int:
        """How many properties there would be: maps have some, also where nothing asks for them."""
        if self._solver.frugal or made:
            return 0
        for node, _ in self._demand.objects:
            extra = node.schema.get("additionalProperties")
            if node.schema.get("patternProperties") or (isinstance(extra, dict) and extra):
                return 1 + self._draws.below(3)
        return 0

    def _extend_somehow(self, made: dict[str, Any]) -> bool:
        """One more property, of whatever name is allowed."""
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
        """One more property whose name and value keep to some schemas, beside all those of the object."""
        taken = [*made, *self._dropped]
        for attempt in range(_KEYS_TRIED):
            self._solver.spend()
            name = self._key(key_nodes, taken, attempt)
            if name is None:
                return False
            if self._may_be(name) and self._add(made, name, value_nodes):
                return True
            taken.append(name)
        return False

    def _key(self, key_nodes: list[Node], taken: list[str], attempt: int) -> str | None:
        nodes = [*self._demand.names, *key_nodes]
        if not nodes:
            word = f"{self._setting.english('key')}" if attempt < 4 else f"item_{len(taken) + attempt}"
            return word if word not in taken else f"{word}_{len(taken)}"
        node = nodes[0]
        found = self._solver.solve(
            [*nodes, node.made({"type": "string", EXCLUDED: list(taken)})], "key", self._depth + 1
        )
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
        return True


class _Arrays:
    """The making of one array."""

    def __init__(self, solver: Solver, demand: Demand, setting: Setting, depth: int) -> None:
        self._solver, self._demand, self._setting, self._depth = solver, demand, setting, depth
        self._wanted = [want for want in demand.contains for _ in range(min(want.least, _LONGEST_ARRAY + 1))]
        self._found: dict[int, int] = {}
        self._known: set[Any] = set()

    def write(self, more: int) -> Any:
        """The array, or NOTHING; with so many items more than it needs."""
        demand = self._demand
        least, most = self._least(), demand.max_items
        if (most is not None and most < least) or least > _LONGEST_ARRAY or len(self._wanted) > _LONGEST_ARRAY:
            return NOTHING
        length = self._length(least + more, most)
        # What must be contained may have to wait until the first items, which have schemas of their own, are over.
        longest = max(length, self._prefixed() + len(self._wanted))
        longest = longest if most is None else min(longest, most)
        made: list[Any] = []
        while len(made) < length or (self._wanted and len(made) < longest):
            value = self._next(made, most)
            if value is NOTHING:
                break
            made.append(value)
        if self._wanted or len(made) < least:
            return NOTHING
        return made

    def _least(self) -> int:
        return max(self._demand.min_items, 2 if self._demand.twins else 0)

    def _length(self, least: int, most: int | None) -> int:
        """A natural length: all that a tuple has, else one to four items."""
        demand, draws = self._demand, self._solver.draws
        if self._solver.frugal:
            return least
        prefix = self._prefixed()
        usual = prefix if prefix else max(1 + draws.below(2 if self._solver.nested else 4), least)
        if not demand.arrays and not demand.unevaluated_items:
            usual = max(least, 1 + draws.below(2))
        usual = max(usual, least, min(len(self._wanted), _LONGEST_ARRAY))
        return usual if most is None else min(usual, most)

    def _prefixed(self) -> int:
        return max((len(_prefix(shape.node)) for shape in self._demand.arrays), default=0)

    def _next(self, made: list[Any], most: int | None) -> Any:
        """The item after those that are made; it serves what the array must contain, if it can."""
        index = len(made)
        slots = None if most is None else most - index
        if self._wanted and slots is not None and len(self._wanted) > slots:
            found = self._item(made, self._distinct_wants())
            if found is not NOTHING:
                return found
        for want in self._distinct_wants():
            found = self._item(made, [want])
            if found is not NOTHING:
                return found
        return self._item(made, [])

    def _distinct_wants(self) -> list[Contains]:
        return list({id(want.node): want for want in self._wanted}.values())

    def _item(self, made: list[Any], wants: Sequence[Contains]) -> Any:
        demand, index = self._demand, len(made)
        nodes = [*self._pieces(index, wants), *(want.node for want in wants)]
        nodes += [opposite(want.node) for want in demand.contains if self._is_full(want) and want not in wants]
        if demand.twins and index == 1:
            return made[0] if all(node.holds(made[0]) for node in nodes) else NOTHING
        found = self._distinct(nodes, made) if demand.unique else self._solve(nodes)
        if found is not NOTHING:
            self._count(found)
        return found

    def _is_full(self, want: Contains) -> bool:
        return want.most is not None and self._found.get(id(want.node), 0) >= want.most

    def _count(self, item: Any) -> None:
        """Note which of the things that the array must contain an item is."""
        for want in self._demand.contains:
            if want.node.holds(item):
                self._found[id(want.node)] = self._found.get(id(want.node), 0) + 1
                if want in self._wanted:
                    self._wanted.remove(want)

    def _distinct(self, nodes: list[Node], made: list[Any]) -> Any:
        """An item that is not there yet: what is there is excluded only when it has come again."""
        root = nodes[0] if nodes else self._any_node()
        excluding: list[Node] = []
        for _ in range(_KEYS_TRIED):
            found = self._solve([*nodes, *excluding])
            if found is NOTHING or _identity(found) not in self._known:
                self._known.add(_identity(found))
                return found
            simple = [value for value in made if not isinstance(value, dict | list)]
            excluding = [root.made({EXCLUDED: simple})] if simple and root else []
        return NOTHING

    def _any_node(self) -> Node | None:
        demand = self._demand
        return next(iter(demand.seen.values()), None)

    def _solve(self, nodes: list[Node]) -> Any:
        return self._solver.solve(nodes, self._setting.name, self._depth + 1)

    def _pieces(self, index: int, wants: Sequence[Contains]) -> list[Node]:
        found: list[Node] = []
        covered: set[int] = set()
        for node, scopes in self._demand.arrays:
            part = _item_schema(node, index)
            if part is not None:
                found.append(part)
                covered.update(id(scope) for scope in scopes)
        for want in wants:
            covered.update(id(scope) for scope in want.scopes)
        found += [node.child("unevaluatedItems") for node in self._demand.unevaluated_items if id(node) not in covered]
        return found


def _identity(value: Any) -> Any:
    """What equal values have in common."""
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True)
    return (type_of(value), value) if value is not NOTHING else NOTHING


def _prefix(node: Node) -> Sequence[Any]:
    """The schemas of the first items; before draft 2020-12 they were a list of `items`."""
    schema = node.schema
    items = schema.get("items")
    return items if isinstance(items, list) else schema.get("prefixItems", ())


def _item_schema(node: Node, index: int) -> Node | None:
    schema = node.schema
    prefix = "items" if isinstance(schema.get("items"), list) else "prefixItems"
    if index < len(schema.get(prefix, ())):
        return node.child(prefix, index)
    rest = "additionalItems" if prefix == "items" else "items"
    return node.child(rest) if rest in schema else None
