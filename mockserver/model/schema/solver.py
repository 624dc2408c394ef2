"""Values that keep to schemas: made by draws, checked, and made anew where they fail.

All the schemas that apply to one value are merged (`merged_schema.py`), and the ways to meet them are
taken one after another. For each type that the value may have, candidates are made and held against the schemas that
were put off; the parts of objects and arrays are solved in the same way, each by itself. The first candidates are
natural: most properties, one to four items. Where these fail, later ones vary more: other properties, lengths, repeated
items. Where schemas repeat themselves a search turns frugal: only what is required, and the branches that end soonest;
so recursion ends. Every step is counted, and a search that costs too much is given up.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

from mockserver.core.json_values import ValueSet, type_of
from mockserver.core.seeding import Draws
from mockserver.model.schema.documents import SchemaNode
from mockserver.model.schema.keywords import Containing, negate
from mockserver.model.schema.merged_schema import MergedSchema, branches, merged
from mockserver.model.schema.numbers import numbers, range_of
from mockserver.model.schema.texts import Setting, fits, name_parts, texts

# What a search gives for a value that there is none of; None is a value.
NOTHING: Any = object()

_DEEPEST = 90
# How often a schema may lie within itself before arrays are short; once more, and the search turns frugal.
_REPEATS = 1
# How many objects or arrays are made before one passes: at least, for each value that it must differ from, and at most.
_TRIED, _TRIED_EACH, _MOST_TRIED = 12, 4, 200
# Of these the first are natural, and the next is frugal.
_NATURAL_TRIED = 2
_NAMES_TRIED = 12
_LONGEST_ARRAY = 20_000
# How much of a property's name, and of what is said about it, counts.
_NAME, _ABOUT = 200, 2000
# What a search spends, in units of some ten nanoseconds: on a step that turns out to be in vain, on a value, on an item
# that may be contained, and on holding a name against a pattern.
_STEP, _VALUE, _WANT, _PATTERN = 13_000, 2_500, 10, 50
# How much more it takes to find an object or an array in a list than a text.
_COMPOSED = 8
# Words in the names of verdicts. They are favourable, since agents repeat their work until one is.
_VERDICTS = frozenset((
    "verified", "valid", "passed", "passes", "pass", "approved", "correct", "success", "successful", "satisfied",
    "satisfactory", "acceptable", "sufficient", "compliant", "good", "complete", "completed", "done", "finished",
))  # fmt: skip
# Where any type will do: a text says most.
_RANKS = {"string": 0, "number": 1, "object": 2, "array": 3, "boolean": 4, "null": 5}


class TooMuchError(Exception):
    """A search that costs more than it may."""


class Search:
    """One search for a value. After `natural` values it is frugal; a `complete` one leaves nothing out.

    `budget` is what is left for it to spend, in units of some ten nanoseconds.
    """

    def __init__(
        self, draws: Draws, language: str, subject: str, *, budget: int, natural: int, complete: bool = False
    ) -> None:
        self.budget = budget
        self._draws, self._topic = draws, (language, subject)
        self._natural, self._complete, self._frugal = natural, complete, natural == 0
        # Whether some schema lies within itself here; whether what is natural has failed.
        self._nested = self._varied = False
        self._made = 0
        self._open: dict[int, int] = {}

    def solve(self, nodes: Sequence[SchemaNode], name: str = "", depth: int = 0, taken: ValueSet | None = None) -> Any:
        """A value that keeps to all the schemas and is not taken, or NOTHING.

        `name` is what it is called, `depth` how deep it lies.
        """
        self._step()
        if depth > _DEEPEST:
            return NOTHING
        first = id(nodes[0]) if nodes else 0
        often = self._open[first] = self._open.get(first, 0) + 1
        before = self._frugal, self._nested, self._varied
        self._frugal = self._frugal or often > _REPEATS + 1 or self._made >= self._natural
        self._nested = self._nested or often > _REPEATS
        try:
            found = self._search(nodes, name, depth, taken)
        finally:
            self._frugal, self._nested, self._varied = before
            self._open[first] -= 1
        if found is not NOTHING:
            # The step was not in vain.
            self._spend(_VALUE - _STEP)
            self._made += 1
        return found

    def _spend(self, units: int) -> None:
        self.budget -= units
        if self.budget < 0:
            raise TooMuchError

    def _step(self, steps: int = 1) -> None:
        """Spend steps that may be in vain."""
        self._spend(steps * _STEP)

    def _search(self, nodes: Sequence[SchemaNode], name: str, depth: int, taken: ValueSet | None) -> Any:
        known = merged(nodes)
        if known.kept is None or known.alternatives:
            self._spend(100 * len(known.seen) + 20 * sum(len(each.options) for each in known.alternatives))
        for way in branches(known, self._draws, self._step, frugal=self._frugal):
            for value in self._listed(way, nodes, taken) if way.values else self._candidates(way, name, depth, taken):
                is_new = taken is None or value not in taken
                if is_new and (not way.checks or all(check.holds(value) for check in way.checks)):
                    return value
        return NOTHING

    def _listed(self, way: MergedSchema, nodes: Sequence[SchemaNode], taken: ValueSet | None) -> Iterator[Any]:
        """The listed values that all schemas allow."""
        listed = way.values or ()
        start = self._draws.below(len(listed))
        fit = fits(way)
        for value in (*listed[start:], *listed[:start]):
            if taken is not None and value in taken:
                continue
            self._spend(len(listed) * (_COMPOSED if isinstance(value, dict | list) else 1))
            fitting = type_of(value) in way.types and (not isinstance(value, str) or fit(value))
            if fitting and all(node.holds(value) for node in nodes):
                yield value

    def _candidates(self, way: MergedSchema, name: str, depth: int, taken: ValueSet | None) -> Iterator[Any]:
        """Values that may meet a way; an object or array only once if it needs no check."""
        setting = Setting(self._draws, name[-_NAME:], " ".join(way.hints[:4])[:_ABOUT], *self._topic)
        for kind in self._types(way) if len(way.types) > 1 else way.types:
            match kind:
                case "string":
                    yield from texts(way, setting, self._step, taken)
                case "number":
                    self._spend(20 * len(taken or ()))
                    usual = range_of(setting.name, setting.about, whole=way.whole)
                    yield from numbers(way, self._draws, usual, taken.numbers if taken else ())
                case "boolean":
                    yes = self._draws.below(2) or not _VERDICTS.isdisjoint(name_parts(setting.name))
                    yield from (True, False) if yes else (False, True)
                case "null":
                    yield None
                case _:
                    yield from self._composed(kind, way, setting, depth, taken)

    def _composed(
        self, kind: str, way: MergedSchema, setting: Setting, depth: int, taken: ValueSet | None
    ) -> Iterator[Any]:
        """Objects or arrays, which vary more and more; a complete search does not vary them, since this leaves out."""
        tried = 1
        if taken or (way.checks and not self._complete):
            tried = min(_TRIED + _TRIED_EACH * len(taken or ()), _MOST_TRIED)
        before = self._frugal, self._varied
        for attempt in range(tried):
            # What only has what is required soon is all taken.
            self._frugal = attempt == _NATURAL_TRIED or (before[0] and not (taken and attempt > _NATURAL_TRIED))
            self._varied = before[1] or attempt > _NATURAL_TRIED
            found = self._object(way, setting, depth) if kind == "object" else self._array(way, setting, depth)
            self._frugal, self._varied = before
            if found is NOTHING:
                return
            yield found
            self._step()

    def _types(self, way: MergedSchema) -> list[str]:
        """The types that it may have, the likeliest first: the one whose keywords it has, and null last of all."""
        bounded = {
            "object": way.objects or way.required or way.min_properties or way.names or way.max_properties,
            "array": way.arrays or way.contains or way.min_items or way.unique or way.max_items,
            "string": way.patterns or way.formats or way.min_length or way.max_length or way.no_patterns,
            "number": way.multiples or way.whole or way.low is not None or way.high is not None,
        }
        order = list(way.types)
        start = self._draws.below(len(order))
        order = order[start:] + order[:start]
        rank = _RANKS if len(order) == len(_RANKS) else dict.fromkeys(_RANKS, 1)
        wanted_null = self._draws.below(8) == 0
        return sorted(order, key=lambda kind: (not bounded.get(kind), rank[kind], (kind == "null") is not wanted_null))

    # --- objects -----------------------------------------------------------------------------------------------------

    def _object(self, way: MergedSchema, setting: Setting, depth: int) -> Any:
        """An object, or NOTHING."""
        least, most = way.min_properties, way.max_properties
        if most is not None and most < least:
            return NOTHING
        required, dropped = _closure(way, way.required), set[str]()
        while (chosen := self._chosen(way, required, dropped)) is not None:
            made: dict[str, Any] = {}
            for name in chosen:
                value = self._property(way, name, depth)
                if value is NOTHING:
                    break
                made[name] = value
            else:
                least = max(least, len(made) + self._draws.below(3) if self._varied else self._usual_more(way, made))
                self._extend(way, made, dropped, least if most is None else min(least, most), setting, depth)
                return made if way.min_properties <= len(made) <= (inf if most is None else most) else NOTHING
            if name in required:
                break
            dropped.add(name)
        return NOTHING

    def _chosen(self, way: MergedSchema, required: set[str], dropped: set[str]) -> Sequence[str] | None:
        """The names of its properties, in the schemas' own order; None if the required ones are impossible."""
        declared, most = way.properties.declared, inf if way.max_properties is None else way.max_properties
        free = not (dropped or way.dependents or way.names) and way.max_properties is None
        if free and way.properties.are_exactly(way.required):
            return declared
        if len(required) > most or not all(self._may_be(way, name) for name in required):
            return None
        chosen = set(required)
        excepted = required | dropped
        optional = [each for each in declared if each not in excepted and self._may_be(way, each)]
        for index, name in enumerate(optional):
            left = len(optional) - index
            if len(chosen) + left > way.min_properties:
                # Of an object in which nothing has to be, something mostly is.
                last = not chosen and left == 1
                if self._frugal or (self._varied and self._draws.below(2)):
                    continue
                if not (self._varied or self._complete or self._draws.below(8) or last):
                    continue
            added = _closure(way, [name]) - chosen
            if len(chosen) + len(added) <= most and not added & dropped and all(self._may_be(way, e) for e in added):
                chosen |= added
        order = dict.fromkeys([*declared, *way.required])
        return [*(name for name in order if name in chosen), *sorted(chosen - order.keys())]

    def _may_be(self, way: MergedSchema, name: str) -> bool:
        properties = way.properties
        self._spend(_PATTERN * properties.patterns)
        return properties.may_have(name) and (not way.names or all(node.holds(name) for node in way.names))

    def _property(self, way: MergedSchema, name: str, depth: int) -> Any:
        self._spend(_PATTERN * way.properties.patterns)
        return self.solve(way.properties.schemas(name), name, depth + 1)

    def _usual_more(self, way: MergedSchema, made: Mapping[str, Any]) -> int:
        """How many properties would be natural: maps have some even if none are required."""
        if not (self._frugal or made):
            for node, _ in way.objects:
                extra = node.schema.get("additionalProperties")
                if node.schema.get("patternProperties") or (isinstance(extra, dict) and extra):
                    return 1 + self._draws.below(3)
        return 0

    def _extend(
        self, way: MergedSchema, made: dict[str, Any], dropped: set[str], least: int, setting: Setting, depth: int
    ) -> None:
        """Add properties until there are so many: those that are declared, that match a pattern, or any."""
        if len(made) >= least:
            return
        used = ValueSet([*made, *dropped])
        shapes = [shape.node for shape in way.objects]
        patterns = [(node, pattern) for node in shapes for pattern in node.schema.get("patternProperties", ())]
        named = [node.made({"type": "string", "pattern": pattern}) for node, pattern in patterns]
        for source in (*([name] for name in way.properties.declared if name not in used), *named, None):
            tried = 0
            while len(made) < least and tried < _NAMES_TRIED:
                self._step()
                if isinstance(source, list):
                    (name,), tried = source, _NAMES_TRIED
                elif source is not None or way.names:
                    found = self.solve(way.names if source is None else [*way.names, source], "key", depth + 1, used)
                    if not isinstance(found, str):
                        break
                    name = found
                else:
                    word = setting.english("key") if tried < 4 else f"item_{len(used) + tried}"
                    name = f"{word}_{len(used)}" if word in used else word
                tried += 1
                used.add(name)
                added: dict[str, Any] = {}
                for each in (name, *sorted(_closure(way, [name]) - made.keys() - {name})):
                    possible = each not in dropped and self._may_be(way, each)
                    added[each] = self._property(way, each, depth) if possible else NOTHING
                    if added[each] is NOTHING:
                        break
                else:
                    made.update(added)
                    for each in added:
                        used.add(each)
                    tried = tried if isinstance(source, list) else 0

    # --- arrays ------------------------------------------------------------------------------------------------------

    def _array(self, way: MergedSchema, setting: Setting, depth: int) -> Any:
        """An array, or NOTHING."""
        most = way.max_items
        wanted = [want for want in way.contains for _ in range(min(want.least, _LONGEST_ARRAY + 1))]
        if (most is not None and most < way.min_items) or max(way.min_items, len(wanted)) > _LONGEST_ARRAY:
            return NOTHING
        prefixed = max((len(_prefix(shape.node)) for shape in way.arrays), default=0)
        length = self._length(way, prefixed, len(wanted))
        # The first items may have schemas of their own, so what must be contained may have to come after them.
        longest = max(length, prefixed + len(wanted))
        longest = longest if most is None else min(longest, most)
        made: list[Any] = []
        counts: dict[SchemaNode, int] = {}
        taken = ValueSet() if way.unique else None
        while len(made) < length or (wanted and len(made) < longest):
            self._spend(_WANT * len(wanted))
            full = [want for want in way.contains if want.most is not None and counts.get(want.node, 0) >= want.most]
            # If possible an item that the array must contain, or several at once where there is little room.
            distinct = list({want.node: want for want in wanted}.values())
            choices: list[Sequence[Containing]] = [*([want] for want in distinct), []]
            if most is not None and len(wanted) > most - len(made):
                choices.insert(0, distinct)
            if way.unevaluated_items:
                # What is contained once more is evaluated by that, though nothing else allows it.
                choices += [[want] for want in way.contains if want not in wanted and want not in full]
            value = NOTHING
            for wants in choices:
                nodes = [*_item_schemas(way, len(made), wants), *(want.node for want in wants)]
                nodes += [negate(want.node) for want in full if want not in wants]
                again = self._varied and made and taken is None and self._draws.below(4) == 0
                if again and all(node.holds(made[-1]) for node in nodes):
                    value = made[-1]
                else:
                    value = self.solve(nodes, setting.name, depth + 1, taken)
                if value is not NOTHING:
                    break
            if value is NOTHING:
                break
            made.append(value)
            if taken is not None:
                taken.add(value)
            for want in way.contains:
                if want.node.holds(value):
                    counts[want.node] = counts.get(want.node, 0) + 1
                    if want in wanted:
                        wanted.remove(want)
        return NOTHING if wanted or len(made) < way.min_items else made

    def _length(self, way: MergedSchema, prefixed: int, wanted: int) -> int:
        """A natural length: that of the tuple, else one to four items."""
        least = way.min_items
        if self._frugal:
            usual = least
        elif self._varied:
            usual = least + self._draws.below(4)
        else:
            usual = prefixed or max(1 + self._draws.below(2 if self._nested else 4), least)
            if not way.arrays and not way.unevaluated_items:
                usual = max(least, 1 + self._draws.below(2))
            usual = max(usual, least, wanted)
        return usual if way.max_items is None else min(usual, way.max_items)


def _closure(way: MergedSchema, names: Any) -> set[str]:
    """The names and all those that they require in turn."""
    found = set(names)
    waiting = list(found) if way.dependents else []
    while waiting:
        for other in way.dependents.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def _prefix(node: SchemaNode) -> Sequence[Any]:
    """The schemas of the first items; before draft 2020-12 these were `items` as a list."""
    items = node.schema.get("items")
    if isinstance(items, list):
        return items
    return node.schema.get("prefixItems", ()) if node.document.draft >= 2020 else ()


def _item_schemas(way: MergedSchema, index: int, wants: Sequence[Containing]) -> list[SchemaNode]:
    found: list[SchemaNode] = []
    covered: set[SchemaNode] = {scope for want in wants for scope in want.scopes}
    for node, scopes in way.arrays:
        first = "items" if isinstance(node.schema.get("items"), list) else "prefixItems"
        rest = "additionalItems" if first == "items" else "items"
        if index < len(_prefix(node)):
            found.append(node.child(first, index))
        elif rest in node.schema:
            found.append(node.child(rest))
        else:
            continue
        covered.update(scopes)
    return found + [node.child("unevaluatedItems") for node in way.unevaluated_items if node not in covered]
