"""The parser of regular expressions, and the trees that it makes of them.

It reads what the dialects of JavaScript, Python etc. have in common:

pattern  = option { "|" option }
option   = { piece [ quantifier ] }
piece    = character | class | escape | anchor | group
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NoReturn

from mockserver.core.caches import Cache
from mockserver.model.regex.char_classes import (
    ANY,
    DIGITS,
    LINE,
    NONE,
    SPACE,
    WORD,
    Characters,
    Range,
    characters,
    either_case,
    members,
    property_set,
)
from mockserver.model.regex.sizes import LONGEST_PATTERN, PatternError

_DEEPEST = 60
# A boundary of a word counts as four.
_MOST_LOOKS = 1_000
# To find the characters of a property takes a millisecond.
_MOST_PROPERTIES = 64


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A part of a pattern, by its `kind`.

    - one: a character out of a set (`found`)
    - sequence, either: all of the `parts`, or one of them
    - repeat: a part, `least` to `most` times; a `most` of None means any number of times
    - group: a capturing group, with its `number`; back: a back-reference to it; condition: the first of the `parts` if
      it has matched, else the second
    - ahead, behind: a look-around, a condition on what follows or precedes a place; negative unless `wanted`. So are
      the anchors: `^` is a place with no character before it.

    `shortest` is the minimum number of characters that it matches.
    """

    kind: str
    parts: "tuple[Node, ...]" = ()
    found: Characters = NONE
    least: int = 0
    most: int | None = None
    number: int = 0
    wanted: bool = True
    shortest: int = 0


def one(found: Characters) -> Node:
    """One character out of a set."""
    return Node("one", found=found, shortest=1)


def sequence(parts: Sequence[Node]) -> Node:
    """A sequence of parts; a single part is returned itself."""
    if len(parts) == 1:
        return parts[0]
    return Node("sequence", tuple(parts), shortest=sum(part.shortest for part in parts))


def either(options: Sequence[Node]) -> Node:
    """A choice of options; a single option is returned itself."""
    if len(options) == 1:
        return options[0]
    return Node("either", tuple(options), shortest=min(option.shortest for option in options))


def spelled(text: str) -> Node:
    """The characters of a text, one after the other."""
    return sequence([one(members(character)) for character in text])


def nodes(node: Node) -> Iterator[Node]:
    """A node and all nodes within it."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += found.parts


def refers(node: Node) -> bool:
    """Whether what a node matches depends on what a group has matched."""
    return any(part.kind in ("back", "condition") for part in nodes(node))


def resolved(node: Node, groups: Mapping[int, str]) -> Node:
    """A node with what groups have matched in place of the references to them."""
    if node.kind == "back":
        return spelled(groups[node.number]) if node.number in groups else one(NONE)
    if node.kind == "condition":
        return resolved(node.parts[node.number not in groups], groups)
    return replace(node, parts=tuple(resolved(part, groups) for part in node.parts)) if refers(node) else node


_trees: Cache[str, Node] = Cache(8 * 2**20)
# What a tree takes, roughly, in bytes: for each of its nodes, and for each range of their characters.
_NODE_MEMORY, _RANGE_MEMORY = 300, 130


def read_pattern(pattern: str) -> Node:
    """The tree of a pattern. Raises PatternError if it is malformed or not supported."""
    root = _trees.find(pattern)
    if root is None:
        if len(pattern) > LONGEST_PATTERN:
            raise PatternError(f"the pattern is longer than {LONGEST_PATTERN} characters")
        root = _Reader(pattern).root()
        parts = [*nodes(root)]
        if sum(part.kind in ("ahead", "behind") for part in parts) > _MOST_LOOKS:
            raise PatternError(f"the pattern looks around more than {_MOST_LOOKS} times")
        _trees.keep(pattern, root, sum(_NODE_MEMORY + _RANGE_MEMORY * len(part.found.ranges) for part in parts))
    return root


_NAME = r"[^\W\d]\w*"
_REPEAT = re.compile(r"(?:(?P<simple>[*+?])|\{(?=[\d,])(?P<least>\d*)(?P<range>,(?P<most>\d*))?\})(?P<mode>[?+]?)")
_SIMPLE: Mapping[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_PIECE = re.compile(
    rf"""
    (?P<anchor>[$^]|\\[AZzbB])
    | \\(?![1-3][0-7]{{2}})(?P<number>[1-9]\d?)
    | (?P<reference>\\k<(?P<back>{_NAME})>|\\k\{{(?P<braced>{_NAME})\}}|\(\?P=(?P<named>{_NAME})\))
    | \(\?(?P<comment>\#[^)]*\)?)
    | \(\?(?P<look><?[=!])
    | \(\?\((?P<condition>\w+)\)
    | \(\?(?P<on>[aiLmsux]*)(?:-(?P<off>[imsx]+))?(?P<flags>[:)])
    | (?P<group>\((?:\?P?<(?P<name>{_NAME})>|(?!\?)))
    | \[(?P<set>\^?)
    | (?P<any>\.)
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"""\\(?:
        [pP](?:\{(?P<except>\^?)(?P<property>[\w=]+)\}|(?P<category>\w))
        | (?P<coded>u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
            | x[0-9a-fA-F]{2} | u[0-9a-fA-F]{4} | U000[0-9a-fA-F]{5} | U0010[0-9a-fA-F]{4}
            | 0[0-7]{0,2} | [1-3][0-7]{2} | [afnrtv])
        | u\{(?P<code>[0-9a-fA-F]{1,6})\}
        | c(?P<control>[A-Za-z])
        | (?P<other>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_RANGE = re.compile(r"-(?!\]|\Z)")
_SHORTHANDS = {"d": DIGITS, "D": ~DIGITS, "w": WORD, "W": ~WORD, "s": SPACE, "S": ~SPACE}


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = self._depth = self._groups = 0
        self._flags = frozenset[str]()
        self._names: dict[str, int] = {}
        self._mentioned: list[int | str] = []
        self._properties: set[str] = set()
        self._either_case = cache(either_case)

    def root(self) -> Node:
        root = self._options()
        if self._at < len(self._pattern):
            self._fail("unbalanced parenthesis")
        for group in self._mentioned:
            if group not in self._names if isinstance(group, str) else group > self._groups:
                self._fail(f"no group {group}")
        return root

    def _fail(self, why: str) -> NoReturn:
        raise PatternError(f"{why} at position {self._at}")

    def _takes(self, text: str) -> bool:
        if not self._pattern.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _taken(self, what: re.Pattern[str]) -> re.Match[str] | None:
        found = what.match(self._pattern, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _options(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail("nested too deeply")
        flags, options, parts = self._flags, list[Node](), list[Node]()
        while self._at < len(self._pattern) and self._pattern[self._at] != ")":
            if self._takes("|"):
                options.append(sequence(parts))
                parts = []
            elif (part := self._piece()) is not None:
                parts.append(self._quantified(part))
        self._depth -= 1
        self._flags = flags
        return either([*options, sequence(parts)])

    def _quantified(self, part: Node) -> Node:
        found = self._taken(_REPEAT)
        if found is None:
            return part
        if part in ANCHORS:
            self._fail("nothing to repeat")
        if found["simple"]:
            least, most = _SIMPLE[found["simple"]]
        else:
            # Longer numbers are cut: with ten digits they already exceed the length of any text.
            least = int(found["least"][:10] or 0)
            most = least if not found["range"] else int(found["most"][:10]) if found["most"] else None
        if most is not None and most < least:
            self._fail("min repeat greater than max repeat")
        if found["mode"] == "+":
            self._fail("possessive quantifiers are not supported")
        if _REPEAT.match(self._pattern, self._at):
            self._fail("multiple repeat")
        return Node("repeat", (part,), least=least, most=most, shortest=least * part.shortest)

    def _piece(self) -> Node | None:
        """The next piece; None for one that is not a node, such as a comment or flags."""
        if _REPEAT.match(self._pattern, self._at):
            self._fail("nothing to repeat")
        found = self._taken(_PIECE)
        if found is None:
            if self._pattern[self._at] == "(":
                self._fail("this kind of group is not supported")
            return self._one(self._member())
        text = found[found.lastgroup or 0]
        match found.lastgroup:
            case "anchor":
                return ("m" in self._flags and _LINE_ANCHORS.get(text)) or _ANCHORS[text]
            case "number":
                return self._back(int(text))
            case "reference":
                return self._back(found["back"] or found["braced"] or found["named"])
            case "comment":
                if not text.endswith(")"):
                    self._fail("missing ), unterminated comment")
                return None
            case "look":
                return Node("behind" if text.startswith("<") else "ahead", (self._closed(),), wanted=text.endswith("="))
            case "condition":
                back = self._back(int(text[:9]) if text.isdecimal() else text)
                part = self._closed()
                options = part.parts if part.kind == "either" else (part, sequence([]))
                if len(options) > 2:
                    self._fail("conditional backref with more than two branches")
                return replace(either(options), kind="condition", number=back.number)
            case "flags":
                if "x" in found["on"]:
                    self._fail("verbose patterns are not supported")
                before, self._flags = self._flags, (self._flags | set(found["on"])) - set(found["off"] or "")
                if text == ")":
                    return None  # they apply to the rest of the group
                part = self._closed()
                self._flags = before
                return part
            case "group":
                self._groups += 1
                number, name = self._groups, found["name"]
                if name in self._names:
                    self._fail(f"redefinition of group name {name!r}")
                if name:
                    self._names[name] = number
                part = self._closed()
                return Node("group", (part,), number=number, shortest=part.shortest)
            case "set":
                return self._one(self._set(negated=text == "^"))
        return one(ANY if "s" in self._flags else LINE)

    def _one(self, found: Characters) -> Node:
        return one(self._either_case(found) if "i" in self._flags else found)

    def _closed(self) -> Node:
        part = self._options()
        if not self._takes(")"):
            self._fail("missing ), unterminated subpattern")
        return part

    def _back(self, group: int | str) -> Node:
        self._mentioned.append(group)
        # A group that is named later has not matched yet.
        return Node("back", number=self._names.get(group, 0) if isinstance(group, str) else group)

    def _escaped(self) -> Characters:
        """The set of an escape, inside a class or outside."""
        found = self._taken(_ESCAPE)
        if found is None:
            self._at += 1
            self._fail("bad escape (end of pattern)")
        if name := found["property"] or found["category"]:
            self._properties.add(name)
            if len(self._properties) > _MOST_PROPERTIES:
                self._fail(f"more than {_MOST_PROPERTIES} different properties are not supported")
            named = property_set(name)
            if named is None:
                self._fail(f"unknown property {name}")
            return ~named if (found[0][1] == "P") != bool(found["except"]) else named
        if found["coded"]:
            text = found[0].encode().decode("unicode_escape")
            # Two surrogates are one character; one is none.
            return members(text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")) & ANY
        if found["code"]:
            code = int(found["code"], 16)
            if code > 0x10FFFF:
                self._fail("no such character")
            return characters([(code, code)]) & ANY
        if found["control"]:
            return members(chr(ord(found["control"]) % 32))
        character = found["other"]
        if character in _SHORTHANDS:
            return _SHORTHANDS[character]
        if character.isascii() and character.isalnum():
            self._fail(f"bad escape \\{character}")
        return members(character)

    def _set(self, *, negated: bool) -> Characters:
        """The set of a class, whose opening bracket has been read."""
        ranges: list[Range] = []
        # A closing bracket at the start is literal, unless it is the only one that could close the class.
        start, closable = self._at, self._pattern.find("]", self._at + 1) >= 0
        while (closable and self._at == start) or not self._takes("]"):
            if self._at >= len(self._pattern):
                self._fail("unterminated character set")
            low = self._set_member()
            ranges += low.ranges
            if not self._taken(_RANGE):
                continue
            high = self._set_member()
            ends = (*low.ranges, *high.ranges)
            if any(first != last for first, last in ends) or len(ends) != 2:
                ranges += (members("-") | high).ranges  # a shorthand cannot end a range: the dash is literal
            elif ends[0] > ends[1]:
                self._fail("bad character range")
            else:
                ranges += (characters([(ends[0][0], ends[1][0])]) & ANY).ranges
        found = characters(ranges)
        return ~(self._either_case(found) if "i" in self._flags else found) if negated else found

    def _set_member(self) -> Characters:
        return members("\b") if self._takes(r"\b") else self._member()

    def _member(self) -> Characters:
        if self._pattern[self._at] == "\\":
            return self._escaped()
        self._at += 1
        return members(self._pattern[self._at - 1])


START, END = _Reader(r"(?<![\s\S])").root(), _Reader(r"(?![\s\S])").root()
# There is a character beside `\B` at least: Python and JavaScript do not agree about the empty text.
_INSIDE = _Reader(r"(?<=\w)(?=\w)|(?<=\W)(?!\w)|(?<!\w)(?=\W)").root()
_BOUNDARY = _Reader(r"(?<=\w)(?!\w)|(?<!\w)(?=\w)").root()
_ANCHORS = {"^": START, "$": END, r"\A": START, r"\Z": END, r"\z": END, r"\b": _BOUNDARY, r"\B": _INSIDE}
_LINE_ANCHORS = {"^": _Reader(r"(?<!.)").root(), "$": _Reader(r"(?!.)").root()}
ANCHORS = frozenset([*_ANCHORS.values(), *_LINE_ANCHORS.values()])
