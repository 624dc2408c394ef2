"""Building one array: how many items it has, which of them it must contain, and that they are unique."""

from collections.abc import Sequence
from typing import Any

from mockserver.core.json_values import ValueSet, among
from mockserver.model.schema.demands import Containing, Demand
from mockserver.model.schema.documents import Node
from mockserver.model.schema.made import EXCLUDED, opposite
from mockserver.model.schema.search import NOTHING, Search
from mockserver.model.schema.trails import DEAR, Trails
from mockserver.model.schema.values import Setting

_LONGEST_ARRAY = 20_000
# How often an item is drawn to find one that is not yet in the array.
_ITEMS_TRIED = 12
# How many lengths, and trails for each, are tried to build an array that differs from some others.
_LENGTHS, _TRAILS = 8, 200


class ArrayBuilder:
    """Builds one array."""

    def __init__(self, search: Search, demand: Demand, setting: Setting, depth: int) -> None:
        self._search, self._demand, self._setting, self._depth = search, demand, setting, depth
        self._trails: Trails | None = None
        self._begin()

    def _begin(self) -> None:
        self._wanted = [want for want in self._demand.contains for _ in range(min(want.least, _LONGEST_ARRAY + 1))]
        self._found: dict[int, int] = {}
        # The items so far, and those of them that are scalars.
        self._known, self._simple = ValueSet(), ValueSet()

    def write(self, more: int) -> Any:
        """The array with so many items more than it needs, or NOTHING."""
        least, most = self._least(), self._demand.max_items
        if (most is not None and most < least) or least > _LONGEST_ARRAY or len(self._wanted) > _LONGEST_ARRAY:
            return NOTHING
        made = self._items(self._length(least + more, most))
        return made if self._suffices(made) else NOTHING

    def write_unlike(self, others: Sequence[Any]) -> Any:
        """An array that differs from the others, of about the minimum length; NOTHING if none is found."""
        least, most = self._least(), self._demand.max_items
        longest = least + _LENGTHS if most is None else min(most, least + _LENGTHS)
        for length in range(least, longest + 1):
            self._trails = Trails(other for other in others if isinstance(other, list) and len(other) == length)
            for _ in range(_TRAILS):
                self._search.spend(1 + len(others) // DEAR)
                self._begin()
                made = self._items(length)
                if self._suffices(made) and not among(made, others):
                    return made
                if not self._trails.close(made):
                    break
        return NOTHING

    def _items(self, length: int) -> list[Any]:
        """So many items; more if those that it must contain need them, or fewer if there are not that many."""
        most = self._demand.max_items
        # The first items may have schemas of their own, so what must be contained may have to come after them.
        longest = max(length, self._prefixed() + len(self._wanted))
        longest = longest if most is None else min(longest, most)
        made: list[Any] = []
        while len(made) < length or (self._wanted and len(made) < longest):
            value = self._next(made, most)
            if value is NOTHING:
                break
            made.append(value)
        return made

    def _suffices(self, made: Sequence[Any]) -> bool:
        return not self._wanted and len(made) >= self._least()

    def _least(self) -> int:
        return max(self._demand.min_items, 2 if self._demand.twins else 0)

    def _length(self, least: int, most: int | None) -> int:
        """A natural length: that of the tuple, else one to four items."""
        demand, draws = self._demand, self._search.draws
        if self._search.frugal:
            return least if most is None else min(least, most)
        prefix = self._prefixed()
        usual = prefix if prefix else max(1 + draws.below(2 if self._search.nested else 4), least)
        if not demand.arrays and not demand.unevaluated_items:
            usual = max(least, 1 + draws.below(2))
        usual = max(usual, least, min(len(self._wanted), _LONGEST_ARRAY))
        return usual if most is None else min(usual, most)

    def _prefixed(self) -> int:
        return max((len(_prefix(shape.node)) for shape in self._demand.arrays), default=0)

    def _next(self, made: list[Any], most: int | None) -> Any:
        """The next item; if possible one that the array must contain."""
        index = len(made)
        slots = None if most is None else most - index
        if self._wanted and slots is not None and len(self._wanted) > slots:
            found = self._item(made, self._distinct_wants())
            if found is not NOTHING:
                return found
        for wants in (*([want] for want in self._distinct_wants()), [], *([want] for want in self._welcome())):
            found = self._item(made, wants)
            if found is not NOTHING:
                return found
        return NOTHING

    def _welcome(self) -> list[Containing]:
        """What may be contained once more: items that are it are evaluated by that, though nothing else allows them."""
        if not self._demand.unevaluated_items:
            return []
        return [want for want in self._demand.contains if want not in self._wanted and not self._is_full(want)]

    def _distinct_wants(self) -> list[Containing]:
        self._search.work(10 * len(self._wanted))
        return list({id(want.node): want for want in self._wanted}.values())

    def _item(self, made: list[Any], wants: Sequence[Containing]) -> Any:
        demand, index = self._demand, len(made)
        nodes = [*self._pieces(index, wants), *(want.node for want in wants)]
        nodes += [opposite(want.node) for want in demand.contains if self._is_full(want) and want not in wants]
        if self._trails:
            nodes += self._excluding(ValueSet(self._trails.closed(made)), nodes)
        if demand.twins and index == 1:
            return made[0] if all(node.holds(made[0]) for node in nodes) else NOTHING
        found = self._distinct(nodes) if demand.unique else self._solve(nodes)
        if found is not NOTHING:
            self._count(found)
        return found

    def _is_full(self, want: Containing) -> bool:
        return want.most is not None and self._found.get(id(want.node), 0) >= want.most

    def _count(self, item: Any) -> None:
        """Count which of the required items this one is."""
        for want in self._demand.contains:
            if want.node.holds(item):
                self._found[id(want.node)] = self._found.get(id(want.node), 0) + 1
                if want in self._wanted:
                    self._wanted.remove(want)

    def _distinct(self, nodes: list[Node]) -> Any:
        """An item that is not there yet: what is there is excluded when it has come again, what is composed at last."""
        excluding: list[Node] = []
        for attempt in range(_ITEMS_TRIED):
            found = self._solve([*nodes, *excluding])
            if found is NOTHING or found not in self._known:
                break
            excluding = self._excluding(self._known if attempt == _ITEMS_TRIED - 2 else self._simple, nodes)
        else:
            return NOTHING
        self._known.add(found)
        if not isinstance(found, dict | list):
            self._simple.add(found)
        return found

    def _excluding(self, values: ValueSet, nodes: list[Node]) -> list[Node]:
        """A schema that excludes these values."""
        root = nodes[0] if nodes else next(iter(self._demand.seen.values()), None)
        return [root.made({EXCLUDED: values})] if values and root else []

    def _solve(self, nodes: list[Node]) -> Any:
        return self._search.solve(nodes, self._setting.name, self._depth + 1)

    def _pieces(self, index: int, wants: Sequence[Containing]) -> list[Node]:
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


def _prefix(node: Node) -> Sequence[Any]:
    """The schemas of the first items; before draft 2020-12 these were `items` as a list."""
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
