"""Walks through a pattern's tree, each of which writes a natural-looking text.

Each node writes what it requires, so that without look-arounds, anchors and word boundaries the text matches by
construction, whatever the pattern's size. Conditions on a place are noted during the walk, to be checked afterwards.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mockserver.core.seeding import Draws
from mockserver.generation.patterns.characters import NONE
from mockserver.generation.patterns.spelling import letter, run
from mockserver.generation.patterns.trees import (
    Anchor,
    Back,
    Condition,
    Either,
    Group,
    Look,
    Node,
    One,
    Repeat,
    Sequence,
    Tree,
)

# The maximum number of repetitions beyond those that are required.
MOST_EXTRAS = 40
# The maximum number of characters of a text.
LONGEST = 16_384


class Note(NamedTuple):
    """A condition on a place of the text, with what the groups had matched by then."""

    node: Anchor | Look
    position: int
    groups: Mapping[int, str]


class _DeadEndError(Exception):
    """Nothing can be written here: an empty set of characters, or a reference to a group that has not matched yet."""


class Walk:
    """One walk through a tree: the text that it writes, and the conditions that it encounters.

    The text should have `least` to `most` characters. `_slack` is the number of characters missing from the minimum,
    `_room` the number allowed beyond the shortest text; every character beyond the shortest of its node is subtracted
    from both. `extras` limits the repetitions that are not required.
    """

    def __init__(self, tree: Tree, draws: Draws, extras: int, least: int, most: int) -> None:
        self.notes: list[Note] = []
        self._tree = tree
        self._draws = draws
        self._extras = extras
        self._slack = least - tree.root.shortest
        self._room = most - tree.root.shortest
        self._parts: list[str] = []
        self._length = 0
        self._groups: dict[int, str] = {}

    def text(self) -> str | None:
        """The text; None if the walk came to a dead end."""
        try:
            self._write(self._tree.root)
        except _DeadEndError:
            return None
        return "".join(self._parts)

    def _write(self, node: Node) -> None:
        _WRITERS[type(node)](self, node)

    def _add(self, text: str, due: int) -> None:
        """Add a text for which `due` characters have been accounted for."""
        self._parts.append(text)
        self._length += len(text)
        # Back-references may double the text each time.
        if self._length > LONGEST:
            raise _DeadEndError
        self._charge(len(text) - due)

    def _charge(self, extra: int) -> None:
        self._slack -= extra
        self._room -= extra

    def _one(self, node: One) -> None:
        if node.found == NONE:
            raise _DeadEndError
        self._add(letter(node.found, self._draws), 1)

    def _sequence(self, node: Sequence) -> None:
        for part in node.parts:
            self._write(part)

    def _either(self, node: Either) -> None:
        options = [option for option in node.options if option.shortest - node.shortest <= self._room]
        if not self._extras:
            options = [option for option in node.options if option.shortest == node.shortest]
        option = self._draws.pick(options or node.options)
        self._charge(option.shortest - node.shortest)
        self._write(option)

    def _repeat(self, node: Repeat) -> None:
        if isinstance(node.part, One):
            self._run(node, node.part)
            return
        for _ in range(node.least):
            self._write(node.part)
        more = self._draws.below(2 if node.most == 1 else 3)
        allowed = self._room // node.part.shortest if node.part.shortest else MOST_EXTRAS
        if node.most is not None:
            allowed = min(allowed, node.most - node.least)
        while allowed > 0 and (self._slack > 0 or (more > 0 and self._extras > 0)):
            before = self._length
            self._charge(node.part.shortest)
            self._write(node.part)
            more, allowed, self._extras = more - 1, allowed - 1, self._extras - 1
            if self._length == before:
                break

    def _run(self, node: Repeat, part: One) -> None:
        room = self._room if node.most is None else min(self._room, node.most - node.least)
        least = node.least + max(min(self._slack, room), 0)
        most = node.least + max(room, 0) if self._extras else least
        if part.found == NONE:
            if node.least:
                raise _DeadEndError
            return
        self._add(run(part.found, least, most, self._draws), node.least)

    def _group(self, node: Group) -> None:
        start = len(self._parts)
        self._write(node.part)
        self._groups[node.number] = "".join(self._parts[start:])

    def _back(self, node: Back) -> None:
        text = self._groups.get(self._tree.number(node.group))
        if text is None:
            raise _DeadEndError
        self._add(text, 0)

    def _condition(self, node: Condition) -> None:
        part = node.yes if self._tree.number(node.group) in self._groups else node.no
        self._charge(part.shortest - node.shortest)
        self._write(part)

    def _note(self, node: Anchor | Look) -> None:
        self.notes.append(Note(node, self._length, dict(self._groups) if isinstance(node, Look) else {}))


_WRITERS: dict[type, Callable[[Walk, Any], None]] = {
    One: Walk._one,
    Sequence: Walk._sequence,
    Either: Walk._either,
    Repeat: Walk._repeat,
    Group: Walk._group,
    Back: Walk._back,
    Condition: Walk._condition,
    Anchor: Walk._note,
    Look: Walk._note,
}
