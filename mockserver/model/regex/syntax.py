"""The parser of regular expressions: reads into trees what the dialects of JavaScript, Python etc. have in common.

pattern  = option { "|" option }
option   = { piece [ quantifier ] }
piece    = character | class | escape | anchor | group
"""

import re
from typing import Literal, NoReturn

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
from mockserver.model.regex.sizes import LONGEST_PATTERN, PatternError, size_of
from mockserver.model.regex.trees import (
    Anchor,
    Back,
    Condition,
    Either,
    Group,
    Look,
    Node,
    One,
    Tree,
    either,
    repeat,
    sequence,
)

_DEEPEST = 60
# Every one may have to be checked against a whole text, or together with all others.
_MOST_LOOKS = 64


def read_pattern(pattern: str) -> Tree:
    """The tree of a pattern. Raises PatternError if it is malformed or not supported."""
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"the pattern is longer than {LONGEST_PATTERN} characters")
    if size_of(pattern).looks > _MOST_LOOKS:
        raise PatternError(f"the pattern looks ahead or behind more than {_MOST_LOOKS} times")
    return _Reader(pattern).tree()


_QUANTIFIER = re.compile(r"[*+?]|\{(?:(\d+)(,(\d*))?|,(\d*))\}")
_FLAGS = re.compile(r"\(\?([aiLmsux]*)(?:-([imsx]+))?([:)])")
_NAMED = re.compile(r"\(\?P?<([^\W\d]\w*)>")
_BACK_BY_NAME = re.compile(r"\(\?P=([^\W\d]\w*)\)|\\k<([^\W\d]\w*)>|\\k\{([^\W\d]\w*)\}")
_CONDITION = re.compile(r"\(\?\((\w+)\)")
_LOOKS = {"(?=": (True, True), "(?!": (True, False), "(?<=": (False, True), "(?<!": (False, False)}
_ANCHORS: dict[str, Literal["start", "end", "boundary", "inside"]] = {
    "A": "start", "Z": "end", "z": "end", "b": "boundary", "B": "inside",
}  # fmt: skip
_SHORTHANDS = {"d": DIGITS, "D": ~DIGITS, "w": WORD, "W": ~WORD, "s": SPACE, "S": ~SPACE}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-3][0-7]{2}")
_PROPERTY = re.compile(r"[pP](?:\{(\^?)([\w=]+)\}|(\w))")


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._flags = frozenset[str]()
        self._groups = 0
        self._names: dict[str, int] = {}
        self._mentioned: list[int | str] = []

    def tree(self) -> Tree:
        root = self._options()
        if self._at < len(self._pattern):
            self._fail("unbalanced parenthesis")
        for group in self._mentioned:
            if group not in self._names if isinstance(group, str) else group > self._groups:
                self._fail(f"no group {group}")
        return Tree(root, tuple(self._names.items()))

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
        flags = self._flags
        options = [self._option()]
        while self._takes("|"):
            options.append(self._option())
        self._depth -= 1
        self._flags = flags
        return either(options)

    def _option(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            part = self._piece()
            if part is not None:
                parts.append(self._quantified(part))
        return sequence(parts)

    def _quantified(self, part: Node) -> Node:
        found = self._taken(_QUANTIFIER)
        if found is None:
            return part
        if isinstance(part, Anchor):
            self._fail("nothing to repeat")
        least, most = self._bounds(found)
        if most is not None and most < least:
            self._fail("min repeat greater than max repeat")
        if not self._takes("?") and self._takes("+"):
            self._fail("possessive quantifiers are not supported")
        if _QUANTIFIER.match(self._pattern, self._at):
            self._fail("multiple repeat")
        return repeat(part, least, most)

    @staticmethod
    def _bounds(found: re.Match[str]) -> tuple[int, int | None]:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if found[0] in simple:
            return simple[found[0]]
        # Longer numbers are cut: with ten digits they already exceed the length of any text.
        least, most = (int(text[:10]) if text else None for text in (found[1], found[3] or found[4]))
        return least or 0, least if found[2] is None and found[4] is None else most

    def _piece(self) -> Node | None:
        """The next piece; None for one that is not a node, such as a comment or flags."""
        character = self._pattern[self._at]
        if character == "(":
            return self._group()
        if character == "\\":
            return self._escape()
        if character in "*+?" or (character == "{" and _QUANTIFIER.match(self._pattern, self._at)):
            self._fail("nothing to repeat")
        self._at += 1
        if character == "[":
            return self._one(self._set())
        if character == ".":
            return One(ANY if "s" in self._flags else LINE)
        if character == "^":
            return Anchor("line_start" if "m" in self._flags else "start")
        if character == "$":
            return Anchor("line_end" if "m" in self._flags else "end")
        return self._one(members(character))

    def _one(self, found: Characters) -> One:
        return One(either_case(found) if "i" in self._flags else found)

    def _group(self) -> Node | None:
        if self._takes("(?#"):
            end = self._pattern.find(")", self._at)
            if end < 0:
                self._fail("missing ), unterminated comment")
            self._at = end + 1
            return None
        for opening, (ahead, wanted) in _LOOKS.items():
            if self._takes(opening):
                return Look(self._closed(), ahead, wanted)
        if found := self._taken(_CONDITION):
            return self._condition(found[1])
        if found := self._taken(_BACK_BY_NAME):
            return self._back(found[1])
        if found := self._taken(_NAMED):
            return self._remembered(found[1])
        if found := self._taken(_FLAGS):
            return self._flagged(found)
        if self._pattern.startswith("(?", self._at):
            self._fail("this kind of group is not supported")
        self._at += 1
        return self._remembered(None)

    def _closed(self) -> Node:
        part = self._options()
        if not self._takes(")"):
            self._fail("missing ), unterminated subpattern")
        return part

    def _remembered(self, name: str | None) -> Node:
        self._groups += 1
        number = self._groups
        if name in self._names:
            self._fail(f"redefinition of group name {name!r}")
        if name is not None:
            self._names[name] = number
        part = self._closed()
        return Group(number, part, part.shortest, part.effort + 1)

    def _flagged(self, found: re.Match[str]) -> Node | None:
        if "x" in found[1]:
            self._fail("verbose patterns are not supported")
        before = self._flags
        self._flags = (before | set(found[1])) - set(found[2] or "")
        if found[3] == ")":
            return None  # they apply to the rest of the group
        part = self._closed()
        self._flags = before
        return part

    def _condition(self, name: str) -> Node:
        group: int | str = int(name[:9]) if name.isdecimal() else name
        self._mentioned.append(group)
        part = self._closed()
        options = part.options if isinstance(part, Either) else (part, sequence([]))
        if len(options) > 2:
            self._fail("conditional backref with more than two branches")
        yes, no = options
        return Condition(group, yes, no, min(yes.shortest, no.shortest), 1 + max(yes.effort, no.effort))

    def _back(self, group: int | str) -> Node:
        self._mentioned.append(group)
        return Back(group)

    def _escape(self) -> Node:
        if found := self._taken(_BACK_BY_NAME):
            return self._back(found[2] or found[3])
        self._at += 1
        if self._at == len(self._pattern):
            self._fail("bad escape (end of pattern)")
        following = self._pattern[self._at]
        if following in _ANCHORS:
            self._at += 1
            return Anchor(_ANCHORS[following])
        if following in "123456789" and not _OCTAL.fullmatch(self._pattern[self._at : self._at + 3]):
            number = re.compile(r"\d{1,2}").match(self._pattern, self._at)
            assert number is not None, "it begins with a digit"
            self._at = number.end()
            return self._back(int(number[0]))
        return self._one(self._escaped())

    def _escaped(self) -> Characters:
        """The set of an escape, inside a class or outside; the backslash has been read."""
        if found := self._taken(_PROPERTY):
            named = property_set(found[2] or found[3])
            if named is None:
                self._fail(f"unknown property {found[2] or found[3]}")
            return ~named if (found[0][0] == "P") != bool(found[1]) else named
        if found := self._taken(_HEX):
            return self._coded(int(next(filter(None, found.groups())), 16))
        if found := self._taken(_OCTAL):
            return members(chr(int(found[0], 8)))
        character = self._pattern[self._at : self._at + 1]
        self._at += 1
        if character in _SHORTHANDS:
            return _SHORTHANDS[character]
        if character == "c" and self._pattern[self._at : self._at + 1].isalpha():
            self._at += 1
            return members(chr(ord(self._pattern[self._at - 1]) % 32))
        if character == "" or (character.isascii() and character.isalnum() and character not in _CONTROLS):
            self._fail(f"bad escape \\{character}")
        return members(_CONTROLS.get(character, character))

    def _coded(self, code: int) -> Characters:
        if 0xD800 <= code < 0xDC00 and (low := re.compile(r"\\u([dD][c-fC-F]..)").match(self._pattern, self._at)):
            self._at = low.end()
            code = 0x10000 + ((code - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
        if code > 0x10FFFF:
            self._fail("no such character")
        return members(chr(code)) if not 0xD800 <= code < 0xE000 else NONE

    def _set(self) -> Characters:
        """The set of a class, whose opening bracket has been read."""
        negated = self._takes("^")
        ranges: list[Range] = []
        # A closing bracket at the start is literal, unless it is the only one that could close the class.
        closable = self._pattern.find("]", self._at + 1) >= 0
        start = self._at
        while (closable and self._at == start) or not self._takes("]"):
            if self._at >= len(self._pattern):
                self._fail("unterminated character set")
            ranges += self._range().ranges
        found = characters(ranges)
        return ~(either_case(found) if "i" in self._flags else found) if negated else found

    def _range(self) -> Characters:
        """A member of a class, or a range."""
        low = self._member()
        follows = self._pattern[self._at : self._at + 2]
        if len(follows) < 2 or follows[0] != "-" or follows[1] == "]":
            return low
        self._at += 1
        high = self._member()
        ends = (*low.ranges, *high.ranges)
        if any(start != end for start, end in ends) or len(ends) != 2:
            return low | members("-") | high  # a shorthand cannot end a range: the dash is literal
        if ends[0] > ends[1]:
            self._fail("bad character range")
        return characters([(ends[0][0], ends[1][0])]) & ANY

    def _member(self) -> Characters:
        if not self._takes("\\"):
            self._at += 1
            return members(self._pattern[self._at - 1])
        return members("\b") if self._takes("b") else self._escaped()
