"""Samples of a pattern: walks through its tree, each of which writes a natural-looking text.

Each node writes what it requires, so that without look-arounds, anchors and word boundaries the text matches by
construction, whatever the pattern's size. Conditions on a place are noted, and not obeyed.
"""

from string import ascii_letters, digits

from mockserver.core.seeding import Draws
from mockserver.model.regex.char_classes import NONE, WORD, Characters
from mockserver.model.regex.sizes import PatternError
from mockserver.model.regex.syntax import ANCHORS, END, START, Node, resolved, sequence, spelled

_WORDS = (
    "amber", "anchor", "apple", "atlas", "autumn", "basin", "beacon", "birch", "bridge", "canyon", "cedar", "cloud",
    "copper", "coral", "delta", "dune", "eagle", "echo", "ember", "falcon", "fern", "field", "forest", "garden",
    "glade", "grove", "harbor", "hazel", "heron", "island", "ivory", "jasper", "juniper", "lake", "lantern", "lark",
    "linden", "maple", "marble", "meadow", "mint", "moss", "north", "oak", "ocean", "olive", "orchid", "otter",
    "pearl", "pine", "quartz", "raven", "reed", "ridge", "river", "sage", "shore", "silver", "sparrow", "spruce",
    "stone", "summit", "thistle", "tide", "valley", "violet", "willow", "winter",
)  # fmt: skip
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
    while len(words) < wanted or length < least + len(space):
        words.append(draws.pick(_WORDS))
        length += len(words[-1]) + len(space)
    text = space.join(words)[:most]
    if not text.endswith(" "):
        return text
    # If the text would be too short without the space, a letter replaces it.
    return text[:-1] + ("" if len(text) > least else draws.pick("aeiou"))


# The maximum number of repetitions beyond those that are required.
_MOST_EXTRAS = 40
# The maximum number of characters of a text, and of nodes that a walk may pass.
LONGEST, _MOST_EFFORT = 16_384, 50_000


class _DeadEndError(Exception):
    """Nothing can be written here: an empty set of characters, or a reference to a group that has not matched yet."""


class Walk:
    """A walk through a tree: the `text` that it has written, empty if it came to a dead end.

    The text should have `least` to `most` characters; unless the tree has to match it as a `whole`, others follow.
    A `hurried` walk writes nothing that is not required. `_slack` is the number of characters missing from the minimum,
    `_room` the number allowed beyond the shortest text; every character beyond the shortest of its node is subtracted
    from both. Raises PatternError for too large a pattern.
    """

    def __init__(self, root: Node, draws: Draws, least: int, most: int, *, whole: bool, hurried: bool) -> None:
        self.root = root
        self.text = ""
        # The look-arounds that it has met, with what they refer to, and their places.
        self._looks: list[tuple[Node, int]] = []
        self._draws = draws
        self._extras = 0 if hurried else _MOST_EXTRAS
        self._effort = self._length = 0
        self._slack, self._room = least - root.shortest, most - root.shortest
        self._parts: list[str] = []
        self._groups: dict[int, str] = {}
        try:
            self._write(root)
            if self._length < least and not whole:
                self._add(run(WORD, least - self._length, least - self._length, draws), 0)
            self.text, self.stuck = "".join(self._parts), False
        except _DeadEndError:
            self.stuck = True

    @property
    def matches(self) -> bool:
        """Whether the text is known to match: it met no look-arounds but the ends of the text, in their places."""
        return not self.stuck and {(START, 0), (END, self._length)}.issuperset(self._looks)

    @property
    def followed(self) -> Node:
        """The text as a node that matches if the walk was right about what is around its places."""
        parts, last = [], 0
        for node, place in self._looks:
            parts += [spelled(self.text[last:place]), node]
            last = place
        return sequence([*parts, spelled(self.text[last:])])

    def _write(self, node: Node) -> None:
        self._effort += 1
        if self._effort > _MOST_EFFORT:
            raise PatternError(f"the pattern asks for more than {LONGEST} characters")
        kind = node.kind
        if kind in ("ahead", "behind") or node in ANCHORS:
            self._looks.append((resolved(node, self._groups), self._length))
        elif kind == "one":
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
        allowed = self._room // part.shortest if part.shortest else _MOST_EXTRAS
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
