"""What a schema may cost, counted before a validator of it is built, or a search for a value begins.

A validator follows each reference anew. So its work may be exponential in the length of the schema, and so may the work
to build it, where `unevaluatedProperties` or `unevaluatedItems` look through references; neither can be interrupted.
Here each subschema is counted once, and the counts are added up along the references:

- the *visits* of a subschema: how many subschemas are applied along one path from a value down to a part of it. Schemas
  of different properties count once, since each applies to a part of its own. A check of a value takes as many steps
  as the value has parts, times this, at most. Where schemas contain themselves it depends on the depth of the value.

Sizes are bounded first: they are what the metaschema's check, and these counts, cost. All limits are guesses: services
that publish theirs have smaller ones.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.model.regex.sizes import size_of
from mockserver.model.schema import NAMED, InvalidSchemaError, SchemaLimitError

# One of `documents.py`, which imports this module.
Node = Any

MOST_CHARACTERS = 500_000
MOST_SPELLED = 5_000_000  # the paths to all parts, which repeat the names of what these are in
MOST_PARTS = 12_000  # objects and lists
MOST_VALUES = 60_000
MOST_LEVELS = 200
MOST_DIGITS = 1_000
MOST_PATTERNS = 1_500
MOST_STATES = 60_000  # of all patterns together, what they repeat counted as often
MOST_COPIES = 60_000  # values within `not`, of which a validator keeps a copy, in each `not` again
MOST_VISITS = 20_000
MOST_SIFTED = 50_000  # schemas that are looked through for what they evaluate, each anew in a validator
# The subschemas that one check of a value may visit, some 50 ns each.
MOST_CHECKED = 3_000_000
# The schemas in all validators that are made for parts of a schema.
MOST_BUILT = 40_000
# Backtracking steps of a pattern that looks around or back, and what a search with such a pattern counts as, in visits.
MOST_BACKTRACKS = 10_000
# The states that a search may follow, for all characters of a text together: some 100 ns each.
MOST_FOLLOWED = 1_000_000
# Patterns of so few states are not counted: even in the longest text they are followed soon.
_FEW_STATES = 100
_LOOKS_AROUND = 1_000
# Values are not checked against a count where every one that is made costs less.
_LIGHT = 100
# How deep a value may be where schemas contain themselves, and how many counts that may take.
_MOST_DEPTHS, _MOST_COUNTS = 100, 20_000

# What applies schemas to the same value, without and with a reference, and to parts of it: one to each, or several.
_APPLIED = ("not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies")
_REFERRING = ("$ref", "$dynamicRef", "$recursiveRef")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_APART = ("properties", "additionalProperties", "items", "prefixItems", "additionalItems", *_UNEVALUATED)
_TOGETHER = ("patternProperties", "contains", "propertyNames")

# A little more than one digit has.
_BITS_EACH = 3.33
_LOOKING = re.compile(r"\(\?(?:[=!>]|<[=!])|\\[1-9k]|[*+?}]\+")


def check_size(schema: Any) -> int:
    """The bytes of memory, roughly, that a schema takes with its validators and what a search keeps of it.

    Raises SchemaLimitError for a schema that is too large for anything to be done with it.
    """
    parts = characters = patterns = states = copies = 0
    # Each with its level, and with the number of `not` that it stands in.
    values: list[tuple[Any, int, int]] = [(schema, 0, 0)]
    for value, level, nots in values:
        copies += nots
        if isinstance(value, str):
            characters += len(value)
        elif isinstance(value, int) and value.bit_length() > _BITS_EACH * MOST_DIGITS:
            raise SchemaLimitError(f"It has a number of more than {MOST_DIGITS:,} digits")
        elif isinstance(value, dict | list):
            parts += 1
            if level == MOST_LEVELS:
                raise SchemaLimitError(f"It is nested more than {MOST_LEVELS} levels deep")
            if isinstance(value, dict):
                characters += sum(map(len, value))
                patterns += sum(1 for _ in _patterns(value))
                states += sum(size_of(pattern).states for pattern in _patterns(value))
            members = value.items() if isinstance(value, dict) else enumerate(value)
            values += ((part, level + 1, nots + (key == "not")) for key, part in members)
            if len(values) > MOST_VALUES:
                raise SchemaLimitError(f"It has more than {MOST_VALUES:,} values")
    for count, most, what in (
        (parts, MOST_PARTS, "objects and lists"),
        (characters, MOST_CHARACTERS, "characters"),
        (patterns, MOST_PATTERNS, "patterns"),
        (states, MOST_STATES, "characters in its patterns, where what is repeated counts as often"),
        (copies, MOST_COPIES, "values within not, where those of a not in another count twice"),
    ):
        if count > most:
            raise SchemaLimitError(f"It has more than {most:,} {what}")
    return 3000 * parts + 400 * (len(values) + copies) + 10 * characters + 8000 * patterns + 400 * states


def _patterns(schema: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(schema.get("pattern"), str):
        yield schema["pattern"]
    named = schema.get("patternProperties")
    if isinstance(named, dict):
        yield from named


class Reach(NamedTuple):
    """Which values may be checked against a schema: `visits` along a path, by the depth of the value.

    If it is `finite`, deeper values make no more visits than the last. `loose` are the states of large patterns that
    may have to be followed for each character of a text.
    """

    visits: tuple[int, ...]
    finite: bool
    loose: int = 0

    def guarded(self, accepts: Callable[[object], bool]) -> Callable[[object], bool]:
        """A check that a value fails which would take too long to check."""
        if self.finite and self.visits[-1] <= _LIGHT and not self.loose:
            return accepts
        return lambda value: self.allows(value) and accepts(value)

    def allows(self, value: object) -> bool:
        """Whether a value can be checked in reasonable time."""
        size, characters, depth, level = 0, 0, -1, [value]
        while level:
            depth += 1
            size += len(level)
            if depth >= len(self.visits) and not self.finite:
                return False
            below: list[Any] = []
            for part in level:
                if isinstance(part, dict):
                    below.extend(part.values())
                    characters += sum(map(len, part))
                elif isinstance(part, list):
                    below.extend(part)
                elif isinstance(part, str):
                    size += len(part) // 64
                    characters += len(part)
            level = below
        if characters * self.loose > MOST_FOLLOWED:
            return False
        return size * self.visits[min(depth, len(self.visits) - 1)] <= MOST_CHECKED


class Part:
    """What a subschema costs, and what it leads to: the schemas that are `applied` to the same value, those of which
    one is applied to a part of it (`apart`), and those of which several may be (`together`)."""

    __slots__ = ("apart", "applied", "loose", "sifted", "together", "unevaluated", "visits", "weight")

    def __init__(self, node: Node) -> None:
        schema = node.schema
        self.weight = _weight(schema)
        loose = (size_of(pattern).loose for pattern in _patterns(schema))
        self.loose = sum(states for states in loose if states > _FEW_STATES)
        targets = (target for keyword in _REFERRING for target in node.document.targets(node, keyword))
        self.applied = _schemas(node, _APPLIED) + [target for target in targets if isinstance(target.schema, dict)]
        self.apart, self.together = _schemas(node, _APART), _schemas(node, _TOGETHER)
        self.unevaluated = any(keyword in schema for keyword in _UNEVALUATED)
        # Visits, and those for finding out what is evaluated.
        self.visits = self.sifted = 0

    @property
    def leads(self) -> list[Node]:
        """All that it leads to."""
        return self.applied + self.apart + self.together

    def count(self) -> None:
        """Count the visits anew, from those of what it leads to."""
        applied = [node.part for node in self.applied]
        self.sifted = min(sum(each.visits + each.sifted for each in applied), MOST_CHECKED + 1)
        here = self.weight + sum(each.visits for each in applied) + self.unevaluated * self.sifted
        apart = max((node.part.visits for node in self.apart), default=0)
        self.visits = min(here + apart + sum(node.part.visits for node in self.together), MOST_CHECKED + 1)


def reach_of(root: Node) -> Reach:
    """How large values may be for a check of them to end soon. Raises SchemaLimitError if it ends soon for none."""
    if not isinstance(root.schema, dict):
        return Reach((1,), finite=True)
    order, recursive = inner_first([root])
    if recursive:
        order, circles = inner_first(order, "applied")
        if circles:
            raise InvalidSchemaError("A reference in it leads back to itself for the same value")
    parts = [_part_of(node) for node in order]
    loose = sum(part.loose for part in parts)
    found: list[int] = []
    for _ in range(max(min(_MOST_DEPTHS, _MOST_COUNTS // len(order)), 1) if recursive else 1):
        before = [part.visits for part in parts]
        for part in parts:
            part.count()
        counted = [part.visits for part in parts]
        if not found and sum(part.sifted for part in parts if part.unevaluated) > MOST_SIFTED:
            raise SchemaLimitError("Its unevaluatedProperties or unevaluatedItems look through too many schemas")
        if max(counted) > (MOST_CHECKED if found else MOST_VISITS):
            break
        found.append(max(counted))
        if not recursive or counted == before:
            return Reach(tuple(found), finite=True, loose=loose)
    if not found:
        raise SchemaLimitError(f"A value would be checked against more than {MOST_VISITS:,} schemas")
    return Reach(tuple(found), finite=False, loose=loose)


def _part_of(node: Node) -> Part:
    if node.part is None:
        node.part = Part(node)
    part: Part = node.part
    return part


def inner_first(starts: Iterable[Node], which: str = "leads") -> tuple[list[Node], int]:
    """All that is reached by references and by what schemas contain, or only what is `applied` to the same value,
    each after what it leads to; and how often something leads back to itself."""
    order: list[Node] = []
    # Whether all is known that a schema leads to.
    ended: dict[Node, bool] = {}
    circles = 0
    waiting = [(None, iter(starts))]
    while waiting:
        node, rest = waiting[-1]
        following = next(rest, None)
        if following is not None and following not in ended:
            ended[following] = False
            waiting.append((following, iter(getattr(_part_of(following), which))))
        elif following is not None:
            circles += not ended[following]
        else:
            waiting.pop()
            if node is not None:
                ended[node] = True
                order.append(node)
    return order, circles


def _weight(schema: Mapping[str, Any]) -> int:
    """What the keywords of a schema itself cost, in visits."""
    weight = 1
    for keyword in ("enum", "required"):
        weight += len(schema[keyword]) // 16 if isinstance(schema.get(keyword), list) else 0
    if isinstance(schema.get("oneOf"), list):
        # Each branch excludes all others.
        weight += len(schema["oneOf"]) ** 2 // 25
    if isinstance(schema.get("patternProperties"), dict):
        # Each is tried with each name.
        patterns, names = len(schema["patternProperties"]), schema.get("properties")
        weight += patterns * (patterns + (len(names) if isinstance(names, dict) else 0)) // 10
    for pattern in _patterns(schema):
        weight += _LOOKS_AROUND if _LOOKING.search(pattern) else size_of(pattern).states // 100
    return weight


def _schemas(node: Node, keywords: Sequence[str]) -> list[Node]:
    """The schemas that some keywords hold: one, or those in a list or by name."""
    found: list[Node] = []
    for keyword in keywords:
        held = node.schema.get(keyword)
        if isinstance(held, dict):
            held = held.values() if keyword in NAMED else [held]
        elif not isinstance(held, list):
            continue
        found += [node.document.nodes[id(part)] for part in held if isinstance(part, dict)]
    return found
