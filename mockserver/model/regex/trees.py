"""Patterns as trees: a node for each part of a regular expression.

Each node has the minimum number of characters that it can match (`shortest`) and the number of steps to write them
(`effort`), so that excessive patterns can be refused in advance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mockserver.model.regex.char_classes import Characters


@dataclass(frozen=True, slots=True)
class One:
    """One character out of a set."""

    found: Characters
    shortest: int = 1
    effort: int = 1


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other."""

    parts: "tuple[Node, ...]"
    shortest: int
    effort: int


@dataclass(frozen=True, slots=True)
class Either:
    """One of several options."""

    options: "tuple[Node, ...]"
    shortest: int
    effort: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part, `least` to `most` times; a `most` of None means any number of times."""

    part: "Node"
    least: int
    most: int | None
    shortest: int
    effort: int


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group, with its number."""

    number: int
    part: "Node"
    shortest: int
    effort: int


@dataclass(frozen=True, slots=True)
class Back:
    """A back-reference to a group, by number or by name (which `Tree.number` resolves)."""

    group: int | str
    shortest: int = 0
    effort: int = 1


@dataclass(frozen=True, slots=True)
class Condition:
    """A conditional: one part if a group has matched, another if it has not."""

    group: int | str
    yes: "Node"
    no: "Node"
    shortest: int
    effort: int


@dataclass(frozen=True, slots=True)
class Anchor:
    """A condition on a place: an end of the text, of a line or of a word (`inside`: no end of a word)."""

    kind: Literal["start", "end", "line_start", "line_end", "boundary", "inside"]
    shortest: int = 0
    effort: int = 1


@dataclass(frozen=True, slots=True)
class Look:
    """A look-around: a condition on what follows a place (`ahead`) or precedes it; negative unless `wanted`."""

    part: "Node"
    ahead: bool
    wanted: bool
    shortest: int = 0
    effort: int = 1


Node = One | Sequence | Either | Repeat | Group | Back | Condition | Anchor | Look


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed pattern: its root, and the numbers of its named groups."""

    root: Node
    names: tuple[tuple[str, int], ...] = ()

    def number(self, group: int | str) -> int:
        """The number of a group."""
        return group if isinstance(group, int) else dict(self.names)[group]


def sequence(parts: list[Node]) -> Node:
    """A sequence of parts; a single part is returned itself."""
    if len(parts) == 1:
        return parts[0]
    return Sequence(tuple(parts), sum(p.shortest for p in parts), 1 + sum(p.effort for p in parts))


def either(options: list[Node]) -> Node:
    """A choice of options; a single option is returned itself."""
    if len(options) == 1:
        return options[0]
    return Either(tuple(options), min(o.shortest for o in options), 1 + max(o.effort for o in options))


def repeat(part: Node, least: int, most: int | None) -> Node:
    """A part repeated `least` to `most` times."""
    return Repeat(part, least, most, least * part.shortest, 1 + max(least, 1) * part.effort)


def nodes(node: Node) -> Iterator[Node]:
    """A node and all nodes within it."""
    waiting: list[Node] = [node]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, Sequence):
            waiting += found.parts
        elif isinstance(found, Either):
            waiting += found.options
        elif isinstance(found, Repeat | Group | Look):
            waiting.append(found.part)
        elif isinstance(found, Condition):
            waiting += (found.yes, found.no)


def starts_the_text(node: Node) -> bool:
    """Whether a node can match only at the start of the text."""
    if isinstance(node, Sequence):
        return bool(node.parts) and starts_the_text(node.parts[0])
    if isinstance(node, Either):
        return all(map(starts_the_text, node.options))
    return starts_the_text(node.part) if isinstance(node, Group) else isinstance(node, Anchor) and node.kind == "start"
