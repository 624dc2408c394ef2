"""Samples of a pattern: walks through its tree, each of which writes a natural-looking text.

Each node writes what it requires, so that without look-arounds, anchors and word boundaries the text matches by
construction, whatever the pattern's size. Conditions on a place are noted during the walk, to be checked afterwards.
"""

from collections.abc import Mapping
from string import ascii_letters, digits
from typing import NamedTuple

from mockserver.core.seeding import Draws
from mockserver.model.regex.char_classes import NONE, Characters
from mockserver.model.regex.syntax import Node

_WORDS = (
    "amber", "anchor", "apple", "atlas", "autumn", "basin", "beacon", "birch", "bridge", "canyon", "cedar", "cloud",
    "copper", "coral", "delta", "dune", "eagle", "echo", "ember", "falcon", "fern", "field", "forest", "garden",
    "glade", "grove", "harbor", "hazel", "heron", "island", "ivory", "jasper", "juniper", "lake", "lantern", "lark",
    "linden", "maple", "marble", "meadow", "mint", "moss", "north", "oak", "ocean", "olive", "orchid", "otter",
    "pearl", "pine", "quartz", "raven", "reed", "ridge", "river", "sage", "shore", "silver", "sparrow", "spruce",
    "stone", "summit", "thistle", "tide", "valley", "violet", "willow", "winter",
)  # fmt: skip
_VOWELS, _CONSONANTS = "aeiou", "bcdfghklmnprstv"
_CODE_LENGTH = 6


def run(found: Characters, least: int, most: int, draws: Draws) -> str:
    """A run of characters of a non-empty set, of a natural length within the bounds."""
    pool = found.usual
    if most == 0 or (least == 0 and draws.below(4) == 0):
        return ""
    if len(pool) < 26 or pool[0] != "a":
        return _row(pool, least, most, draws)
    mixed = "0" in found and "-" not in found and "_" not in found
    if mixed and least >= _CODE_LENGTH:
        known = "".join(character for character in ascii_letters + digits if character in found)
        return _row(known, least, most, draws)
    return _words(" " if " " in found else "", least, most, draws)


def _row(pool: str, least: int, most: int, draws: Draws) -> str:
    extra = min(most - least, 0 if pool.isspace() and least else 3)
    length = max(least + draws.below(extra + 1), 1)
    text = draws.spell(pool, length)
    leading = pool.replace("0", "")
    return draws.pick(leading) + text[1:] if text[0] == "0" and length > 1 and leading else text


def _words(space: str, least: int, most: int, draws: Draws) -> str:
    wanted = 2 + draws.below(3) if space else 1
    words: list[str] = []
    length = 0
    while len(words) < wanted or length < least:
        words.append(draws.pick(_WORDS))
        length += len(words[-1]) + len(space)
    text = space.join(words)[:most]
    # No space at the end; if the text would be too short without it, a letter replaces it.
    text = text.rstrip() if space and len(text.rstrip()) >= least else text
    missing = max(least - len(text), 0) + (1 if text.endswith(" ") else 0)
    return text if not missing else text.rstrip(" ") + _syllables(missing, draws)


def _syllables(length: int, draws: Draws) -> str:
    return "".join(draws.pick(_VOWELS if place % 2 else _CONSONANTS) for place in range(length))


# The maximum number of repetitions beyond those that are required.
MOST_EXTRAS = 40
# The maximum number of characters of a text.
LONGEST = 16_384


class Note(NamedTuple):
    """A condition on a place of the text, with what the groups had matched by then."""

    node: Node
    position: int
    groups: Mapping[int, str]


class _DeadEndError(Exception):
    """Nothing can be written here: an empty set of characters, or a reference to a group that has not matched yet."""


class RegexSampler:
    """One walk through a tree: the text that it writes, and the conditions that it encounters.

    The text should have `least` to `most` characters. `_slack` is the number of characters missing from the minimum,
    `_room` the number allowed beyond the shortest text; every character beyond the shortest of its node is subtracted
    from both. `extras` limits the repetitions that are not required.
    """

    def __init__(self, root: Node, draws: Draws, extras: int, least: int, most: int) -> None:
        self.notes: list[Note] = []
        self._root = root
        self._draws = draws
        self._extras = extras
        self._slack = least - root.shortest
        self._room = most - root.shortest
        self._parts: list[str] = []
        self._length = 0
        self._groups: dict[int, str] = {}

    def text(self) -> str | None:
        """The text; None if the walk came to a dead end."""
        try:
            self._write(self._root)
        except _DeadEndError:
            return None
        return "".join(self._parts)

    def _write(self, node: Node) -> None:
        kind = node.kind
        if kind == "one":
            if node.found == NONE:
                raise _DeadEndError
            self._add(self._draws.pick(node.found.usual), 1)
        elif kind == "sequence":
            for part in node.parts:
                self._write(part)
        elif kind == "either":
            room = self._room if self._extras else 0
            options = [option for option in node.parts if option.shortest - node.shortest <= room]
            option = self._draws.pick(options or node.parts)
            self._charge(option.shortest - node.shortest)
            self._write(option)
        elif kind == "repeat":
            self._repeat(node, node.parts[0])
        elif kind == "group":
            start = len(self._parts)
            self._write(node.parts[0])
            self._groups[node.number] = "".join(self._parts[start:])
        elif kind == "back":
            if node.number not in self._groups:
                raise _DeadEndError
            self._add(self._groups[node.number], 0)
        elif kind == "condition":
            part = node.parts[node.number not in self._groups]
            self._charge(part.shortest - node.shortest)
            self._write(part)
        else:
            self.notes.append(Note(node, self._length, dict(self._groups) if node.parts else {}))

    def _repeat(self, node: Node, part: Node) -> None:
        if part.kind == "one":
            room = self._room if node.most is None else min(self._room, node.most - node.least)
            least = node.least + max(min(self._slack, room), 0)
            if part.found != NONE:
                most = node.least + max(room, 0) if self._extras else least
                self._add(run(part.found, least, most, self._draws), node.least)
            elif node.least:
                raise _DeadEndError
            return
        for _ in range(node.least):
            self._write(part)
        more = self._draws.below(2 if node.most == 1 else 3)
        allowed = self._room // part.shortest if part.shortest else MOST_EXTRAS
        if node.most is not None:
            allowed = min(allowed, node.most - node.least)
        while allowed > 0 and (self._slack > 0 or (more > 0 and self._extras > 0)):
            before = self._length
            self._charge(part.shortest)
            self._write(part)
            more, allowed, self._extras = more - 1, allowed - 1, self._extras - 1
            if self._length == before:
                break

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
