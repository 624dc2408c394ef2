"""Values that keep to schemas: proposed by draws, checked, and proposed anew where they fail.

All the schemas that apply to one value are merged (`merged_schema.py`), and the ways to meet them are taken one after
another. For each type that the value may have, candidates are made and held against the schemas that were put off; the
parts of objects and arrays are solved in the same way, each by itself. The first candidates are natural: most
properties, one to four items. Where these fail, later ones vary more: other properties, other lengths. Where
schemas repeat themselves a search turns frugal: only what is required, and the branches that end soonest; so recursion
ends. Every step is counted, and a search that costs too much is given up.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from mockserver.core.json_values import ValueSet, type_of
from mockserver.core.seeding import Draws
from mockserver.model.schema.documents import Document, SchemaNode
from mockserver.model.schema.merged_schema import Branch, MergedSchema, merged, prefix_length
from mockserver.model.schema.numbers import numbers, range_of
from mockserver.model.schema.texts import Setting, matching, name_parts, texts

# What a search gives for a value that there is none of; None is a value.
NOTHING: Any = object()

_DEEPEST = 90
# How often a schema may lie within itself before arrays are short; once more, and the search turns frugal.
_REPEATS = 1
# How many objects or arrays are made before one passes: at least, for each value that it must differ from, and at most.
_TRIED, _TRIED_EACH, _MOST_TRIED = 12, 4, 200
# Of these the first are natural, and one of the next is frugal.
_NATURAL_TRIED, _FRUGAL_TRY = 2, 4
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
# The keywords that say of which type a value is to be, where it may have several.
_BOUNDING = {
    "object": {"minProperties", "maxProperties", "propertyNames"},
    "array": {"minItems", "maxItems", "uniqueItems", "contains"},
    "string": {"pattern", "format", "minLength", "maxLength", "not_pattern"},
    "number": {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
}
# Where any type will do: a text says most.
_RANKS = {"string": 0, "number": 1, "object": 2, "array": 3, "boolean": 4, "null": 5}


class TooMuchError(Exception):
    """A search that costs more than it may."""


class Search:
    """One search for a value. After `natural` values it is frugal; a `complete` one leaves nothing out.

    `budget` is what is left for it to spend, in units of some ten nanoseconds.
    """

    def __init__(
        self,
        document: Document,
        draws: Draws,
        language: str,
        subject: str,
        *,
        budget: int,
        natural: int,
        complete: bool = False,
    ) -> None:
        self.budget = budget
        self._document = document
        self._draws, self._topic = draws, (language, subject)
        self._natural, self._complete, self._frugal = natural, complete, natural == 0
        # Whether some schema lies within itself here; whether what is natural has failed (1), what has less too (2).
        self._nested, self._varied = False, 0
        self._made = 0
        self._open: dict[SchemaNode | None, int] = {}

    def solve(self, nodes: Branch, name: str = "", depth: int = 0, taken: ValueSet | None = None) -> Any:
        """A value that keeps to all the schemas, and is not taken; or NOTHING.

        `name` is what it is called, `depth` how deep it lies.
        """
        self._step()
        if depth > _DEEPEST:
            return NOTHING
        first = nodes[0] if nodes else None
        often = self._open[first] = self._open.get(first, 0) + 1
        before = self._frugal, self._nested
        self._frugal = self._frugal or often > _REPEATS + 1 or self._made >= self._natural
        self._nested = self._nested or often > _REPEATS
        found = self._search(nodes, name, depth, taken)
        self._frugal, self._nested = before
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

    def _search(self, nodes: Branch, name: str, depth: int, taken: ValueSet | None) -> Any:
        known = merged(self._document, nodes)
        if known.alternatives:
            self._spend(100 * known.size)
        for way in known.ways(self._ordered, self._step):
            if way.values is None:
                candidates = self._candidates(way, name, depth, taken, safe=not (way.checks or taken))
            else:
                candidates = self._listed(way, nodes, taken)
            for value in candidates:
                if taken is not None and value in taken:
                    continue
                # Most schemas ask for no checks, and there are many.
                if not way.checks or all(node.holds(value) for node in way.checks):
                    return value
        return NOTHING

    def _ordered(self, options: Sequence[Branch]) -> Sequence[Branch]:
        """Branches as they are tried: in drawn order, null seldom first; if frugal those that lead to least first."""
        if self._frugal:
            return sorted(options, key=lambda option: max((node.effort for node in option), default=0))
        if () in options:
            return options
        start = self._draws.below(len(options))
        turned = [*options[start:], *options[:start]]
        return sorted(turned, key=lambda option: option[0].is_null) if self._draws.below(8) else turned

    def _listed(self, way: MergedSchema, nodes: Branch, taken: ValueSet | None) -> Iterator[Any]:
        """The listed values that all schemas allow."""
        listed = way.values or ()
        start = self._draws.below(len(listed))
        for value in (*listed[start:], *listed[:start]):
            if type_of(value) in way.types and (taken is None or value not in taken):
                self._spend(len(listed) * (_COMPOSED if isinstance(value, dict | list) else 1))
                if all(node.holds(value) for node in nodes):
                    yield value

    def _candidates(
        self, way: MergedSchema, name: str, depth: int, taken: ValueSet | None, *, safe: bool
    ) -> Iterator[Any]:
        """Values that may meet a way; an object or array only once if that is safe to be right."""
        setting = Setting(self._draws, name[-_NAME:], " ".join(way.all("hints")[:4])[:_ABOUT], *self._topic)
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
                    tried = 1 if safe else min(_TRIED + _TRIED_EACH * len(taken or ()), _MOST_TRIED)
                    yield from self._composed(kind, way, setting, depth, tried)

    def _composed(self, kind: str, way: MergedSchema, setting: Setting, depth: int, tried: int) -> Iterator[Any]:
        """Objects or arrays, which vary more and more."""
        before = self._frugal, self._varied
        for attempt in range(tried):
            # What only has what is required soon is all taken.
            self._frugal = attempt == _FRUGAL_TRY or (before[0] and attempt <= _FRUGAL_TRY)
            self._varied = max(before[1], (attempt >= _NATURAL_TRIED) + (attempt > _FRUGAL_TRY))
            found = self._object(way, setting, depth) if kind == "object" else self._array(way, setting, depth)
            self._frugal, self._varied = before
            if found is NOTHING:
                return
            yield found
            self._step()

    def _types(self, way: MergedSchema) -> list[str]:
        """The types that it may have, the likeliest first: the one whose keywords it has, and null last of all."""
        bounded = {kind: not keywords.isdisjoint(way.rules) for kind, keywords in _BOUNDING.items()}
        bounded["object"] = bounded["object"] or bool(way.properties or way.open_shapes or way.required)
        bounded["array"] = bounded["array"] or bool(way.arrays)
        bounded["number"] = bounded["number"] or way.whole
        order = list(way.types)
        start = self._draws.below(len(order))
        order = order[start:] + order[:start]
        rank = _RANKS if len(order) == len(_RANKS) and self._varied < 2 else dict.fromkeys(_RANKS, 1)
        wanted_null = self._draws.below(8) == 0
        return sorted(order, key=lambda kind: (not bounded.get(kind), rank[kind], (kind == "null") is not wanted_null))

    # --- objects -----------------------------------------------------------------------------------------------------

    def _object(self, way: MergedSchema, setting: Setting, depth: int) -> Any:
        """An object, or NOTHING."""
        least, most = way.get("minProperties", 0), way.get("maxProperties", inf)
        required = _closure(way, way.required)
        if len(required) > most:
            return NOTHING
        made: dict[str, Any] = {}
        for name in self._chosen(way, required):
            value = self._property(way, name, depth)
            if value is not NOTHING:
                made[name] = value
            elif name in required:
                return NOTHING
        more = len(made) + self._draws.below(3) if self._varied > 1 else self._usual_more(way, made)
        self._extend(way, made, min(max(least, more), most), setting, depth)
        return made if least <= len(made) <= most and _closure(way, made) <= made.keys() else NOTHING

    def _chosen(self, way: MergedSchema, required: set[str]) -> Sequence[str]:
        """The names of its properties, in the schemas' own order."""
        declared, most = way.properties, way.get("maxProperties", inf)
        self._spend(_PATTERN * way.patterns * len(declared))
        chosen = set(required)
        optional = [name for name in declared if not (name in required or way.schemas(name) is None)]
        for index, name in enumerate(optional):
            left = len(optional) - index
            if len(chosen) + left > way.get("minProperties", 0):
                # Of an object in which nothing has to be, something mostly is.
                last = not chosen and left == 1
                if self._frugal or (self._varied and self._draws.below(2)):
                    continue
                if not (self._varied or self._complete or self._draws.below(8) or last):
                    continue
            added = _closure(way, [name]) - chosen
            if len(chosen) + len(added) <= most:
                chosen |= added
        order = dict.fromkeys([*declared, *way.required])
        return [*(name for name in order if name in chosen), *sorted(chosen - order.keys())]

    def _property(self, way: MergedSchema, name: str, depth: int) -> Any:
        self._spend(_PATTERN * way.patterns)
        nodes = way.schemas(name)
        return NOTHING if nodes is None else self.solve(nodes, name, depth + 1)

    def _usual_more(self, way: MergedSchema, made: dict[str, Any]) -> int:
        """How many properties would be natural: maps have some even if none are required."""
        if not (self._frugal or made):
            for node in way.open_shapes:
                extra = node.schema.get("additionalProperties")
                if node.schema.get("patternProperties") or (isinstance(extra, dict) and extra):
                    return 1 + self._draws.below(3)
        return 0

    def _extend(self, way: MergedSchema, made: dict[str, Any], least: int, setting: Setting, depth: int) -> None:
        """Add properties until there are so many."""
        if len(made) >= least:
            return
        tried, used = 0, ValueSet(made)
        names = self._names(way, setting, depth, used)
        while len(made) < least and tried < _NAMES_TRIED and (name := next(names, None)) is not None:
            self._step()
            tried += 1
            used.add(name)
            if _closure(way, [name]) <= {name, *made}:
                value = self._property(way, name, depth)
                if value is not NOTHING:
                    made[name], tried = value, 0

    def _names(self, way: MergedSchema, setting: Setting, depth: int, used: ValueSet) -> Iterator[str]:
        """Names for more properties: those that are declared, that match a pattern, that are allowed, or any."""
        yield from (name for name in way.properties if name not in used)
        rules = [rule for node in way.open_shapes for rule in node.schema.get("patternProperties", {}).items()]
        patterns = [pattern for pattern, schema in rules if schema is not False]
        while patterns:
            for pattern in tuple(patterns):
                name = matching([pattern], self._draws, self._step, [*map(str, used)])
                if name is None:
                    patterns.remove(pattern)
                else:
                    yield name
        while way.all("propertyNames"):
            found = self.solve(way.all("propertyNames"), "key", depth + 1, used)
            if not isinstance(found, str):
                return
            yield found
        for number in range(_LONGEST_ARRAY):
            word = setting.english("key") if number < 4 else f"item_{len(used)}"
            yield f"{word}_{len(used)}" if word in used else word

    # --- arrays ------------------------------------------------------------------------------------------------------

    def _array(self, way: MergedSchema, setting: Setting, depth: int) -> Any:
        """An array, or NOTHING."""
        least, most = way.get("minItems", 0), way.get("maxItems", inf)
        containing: Sequence[tuple[SchemaNode, int]] = way.all("contains")
        wanted = [node for node, often in containing for _ in range(min(often, _LONGEST_ARRAY + 1))]
        if most < least or max(least, len(wanted)) > _LONGEST_ARRAY:
            return NOTHING
        prefixed = max(map(prefix_length, way.arrays), default=0)
        length = self._length(way, prefixed, len(wanted))
        # The first items may have schemas of their own, so what must be contained may have to come after them.
        longest = min(max(length, prefixed + len(wanted)), most)
        made: list[Any] = []
        taken = ValueSet() if way.get("uniqueItems") else None
        while len(made) < length or (wanted and len(made) < longest):
            self._spend(_WANT * len(wanted))
            # If possible an item that the array must contain, or several at once where there is little room.
            distinct = tuple(dict.fromkeys(wanted))
            # Where nothing else may be in it, more of what it contains will do.
            more = (node for node, _ in containing if node not in distinct)
            choices: list[Branch] = [*((node,) for node in distinct), (), *((node,) for node in more)]
            if len(wanted) > most - len(made):
                choices.insert(0, distinct)
            value = NOTHING
            for also in choices:
                own = way.items(len(made)) or (() if also else way.all("unevaluatedItems"))
                value = self.solve(own + also, setting.name, depth + 1, taken)
                if value is not NOTHING:
                    break
            if value is NOTHING:
                break
            made.append(value)
            if taken is not None:
                taken.add(value)
            for node in distinct:
                if node.holds(value):
                    wanted.remove(node)
        return NOTHING if wanted or len(made) < least else made

    def _length(self, way: MergedSchema, prefixed: int, wanted: int) -> int:
        """A natural length: that of the tuple, else one to four items."""
        least: int = way.get("minItems", 0)
        if self._frugal:
            usual = least
        elif self._varied:
            usual = least + self._draws.below(4)
        else:
            few = 4 if (way.arrays or "unevaluatedItems" in way.rules) and not self._nested else 2
            usual = max(prefixed or 1 + self._draws.below(few), least, wanted)
        most: int = way.get("maxItems", usual)
        return min(usual, most)


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
