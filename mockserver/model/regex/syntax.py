"""Trees of regular expressions, in what the dialects of JavaScript, Python etc. have in common.

The standard library's own parser reads them, once what is peculiar to the other dialects is written in Python's way.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from re import _parser as parser  # type: ignore[attr-defined, unused-ignore]
from typing import Any

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
    - ahead, behind: a look-around, the condition that a part follows a place, or a character out of a set precedes it;
      negative unless `wanted`. So are the anchors: `^` is a place with no character before it.

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
        root = _Reader().root(pattern)
        parts = [*nodes(root)]
        if sum(part.kind in ("ahead", "behind") for part in parts) > _MOST_LOOKS:
            raise PatternError(f"the pattern looks around more than {_MOST_LOOKS} times")
        _trees.keep(pattern, root, sum(_NODE_MEMORY + _RANGE_MEMORY * len(part.found.ranges) for part in parts))
    return root


_MEMBER = r"""
    \\[pP](?:\{\^?[\w=]+\}|\w) | \\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2} | \\u\{[0-9a-fA-F]{1,6}\}
    | \\u[0-9a-fA-F]{4} | \\U[0-9a-fA-F]{8} | \\x[0-9a-fA-F]{2} | \\[0-7]{1,3} | \\c[A-Za-z] | \\. | .
"""
_ITEM = re.compile(rf"({_MEMBER}) (?: -({_MEMBER}) )?", re.VERBOSE | re.DOTALL)
_PIECE = re.compile(
    rf"""
    \[(?P<negated>\^?)(?P<items>\]?(?:\\.|[^\]\\])*+)\]
    | \(\?(?P<flags>[aiLmsux]*(?:-[imsx]+)?)\)
    | (?P<comment>\(\?\#[^)]*\)) | (?P<named>\(\?<(?![=!])) | (?P<open>\()
    | \\k(?:<(?P<back>\w+)>|\{{(?P<braced>\w+)\}})
    | (?P<member>{_MEMBER})
    """,
    re.VERBOSE | re.DOTALL,
)
# Stands for the first property that a pattern names, the next character for the second, and so on.
_PROPERTY = 0x10FF00
_CATEGORIES = {
    "CATEGORY_DIGIT": DIGITS,
    "CATEGORY_SPACE": SPACE,
    "CATEGORY_WORD": WORD,
    "CATEGORY_NOT_DIGIT": ~DIGITS,
    "CATEGORY_NOT_SPACE": ~SPACE,
    "CATEGORY_NOT_WORD": ~WORD,
}
_SHORTHAND = re.compile(r"\\[dDwWsSpP]")


class _Reader:
    """Reads a pattern."""

    def __init__(self) -> None:
        self._properties: dict[str, Characters] = {}
        self._set = cache(partial(_set, self._properties))

    def root(self, pattern: str) -> Node:
        written = self._in_python(pattern)
        try:
            tree = parser.parse(written)
        except re.error as error:
            raise PatternError(error.msg) from None
        except (OverflowError, ValueError):  # Python reads no numbers of thousands of digits
            raise PatternError("the repetition number is too large") from None
        return self._sequence(tree, tree.state.flags)

    # The pattern as Python writes it.

    def _in_python(self, pattern: str) -> str:
        written: list[str] = []
        # Flags without a group of their own apply to the rest of the group that they are in: by group, outermost first.
        flags: list[list[str]] = [[]]
        for piece in _PIECE.finditer(pattern):
            kind, text = piece.lastgroup, piece[0]
            if text in ("[]", "[^]"):
                text = "(?!)" if text == "[]" else "(?s:.)"
            elif kind == "items":
                text = f"[{piece['negated']}{_ITEM.sub(self._item, piece['items'])}]"
            elif kind == "flags":
                begun = f"(?{piece['flags']}:"
                text = "" if flags[-1][-1:] == [begun] else begun
                flags[-1] += [text] if text else []
            elif kind in ("open", "named"):
                text = "(?P<" if kind == "named" else text
                flags.append([])
            elif kind in ("back", "braced"):
                text = f"(?P={piece[kind]})"
            elif text == "|":
                text = f"{')' * len(flags[-1])}|{''.join(flags[-1])}"
            elif text == ")":
                text = ")" * (len(flags.pop()) + 1)
            elif text == "[":
                raise PatternError("unterminated character set")
            else:
                text = self._member(text)
            written.append(text)
            if not flags:
                raise PatternError("unbalanced parenthesis")
            if len(flags) + sum(map(len, flags)) > _DEEPEST:
                raise PatternError("nested too deeply")
        return "".join([*written, ")" * len(flags[0])])

    def _item(self, item: re.Match[str]) -> str:
        """A character or a range of characters within a class."""
        ends = [f"\\{end}" if end in "[-&~|" else self._member(end) for end in item.groups() if end is not None]
        # A shorthand cannot end a range: the dash is literal.
        return ("\\-" if any(map(_SHORTHAND.match, filter(None, item.groups()))) else "-").join(ends)

    def _member(self, text: str) -> str:
        """A character or an escape, inside a class or outside."""
        if text[:2] in ("\\p", "\\P") and len(text) > 2:
            known = self._properties
            if text not in known:
                if len(known) == _MOST_PROPERTIES:
                    raise PatternError(f"more than {_MOST_PROPERTIES} different properties are not supported")
                known[text] = property_set(text)
            return chr(_PROPERTY + [*known].index(text))
        if text.startswith("\\u{"):
            return f"\\U{text[3:-1]:0>8}"
        if text.startswith("\\u") and len(text) == 12:
            # Two surrogates are one character.
            pair = text.encode().decode("unicode_escape")
            return pair.encode("utf-16", "surrogatepass").decode("utf-16")
        if text.startswith("\\c") and len(text) == 3:
            return f"\\x{ord(text[2]) % 32:02x}"
        return r"\Z" if text == r"\z" else text

    # The nodes of a tree.

    def _sequence(self, tree: Any, flags: int) -> Node:
        return sequence([self._node(str(kind), value, flags) for kind, value in tree])

    def _node(self, kind: str, value: Any, flags: int) -> Node:
        match kind:
            case "LITERAL" | "NOT_LITERAL" | "IN":
                items = value if kind == "IN" else [("LITERAL", value)]
                return one(self._set((kind, *items), bool(flags & re.IGNORECASE)))
            case "ANY":
                return one(ANY if flags & re.DOTALL else LINE)
            case "AT":
                anchor = str(value)
                return (_LINE_ANCHORS.get(anchor) if flags & re.MULTILINE else None) or _ANCHORS[anchor]
            case "BRANCH":
                return either([self._sequence(option, flags) for option in value[1]])
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, part = value[0], value[1], self._sequence(value[2], flags)
                return Node(
                    "repeat",
                    (part,),
                    least=least,
                    most=None if most is parser.MAXREPEAT else most,
                    shortest=least * part.shortest,
                )
            case "SUBPATTERN":
                number, on, off, inner = value
                if on & re.VERBOSE:
                    raise PatternError("verbose patterns are not supported")
                part = self._sequence(inner, (flags | on) & ~off)
                return part if number is None else Node("group", (part,), number=number, shortest=part.shortest)
            case "ASSERT" | "ASSERT_NOT":
                part, wanted = self._sequence(value[1], flags), kind == "ASSERT"
                if value[0] > 0:
                    return Node("ahead", (part,), wanted=wanted)
                if part.kind != "one":
                    raise PatternError("look-behinds of more than one character are not supported")
                return Node("behind", found=part.found, wanted=wanted)
            case "FAILURE":
                return one(NONE)
            case "GROUPREF":
                return Node("back", number=value)
            case "GROUPREF_EXISTS":
                number, *options = value
                parts = [sequence([]) if option is None else self._sequence(option, flags) for option in options]
                return replace(either(parts), kind="condition", number=number)
        raise PatternError("possessive quantifiers and atomic groups are not supported")


def _set(properties: Mapping[str, Characters], items: tuple[Any, ...], caseless: bool) -> Characters:
    """The set of a character or a class, by its kind and what is in it."""
    # Shorthands are the same in either case.
    ranges: list[Range] = []
    shorthands: list[Range] = []
    negated = items[0] == "NOT_LITERAL"
    known = [*properties.values()]
    for name, item in items[1:]:
        match str(name):
            case "NEGATE":
                negated = True
            case "RANGE":
                ranges.append(item)
            case "CATEGORY":
                shorthands += _CATEGORIES[str(item)].ranges
            case _ if 0 <= item - _PROPERTY < len(known):
                ranges += known[item - _PROPERTY].ranges
            case _:
                ranges.append((item, item))
    found = either_case(characters(ranges)) if caseless else characters(ranges)
    found = found | characters(shorthands) if shorthands else found
    return ~found if negated else found & ANY


def _read(pattern: str) -> Node:
    return _Reader().root(pattern)


START, END = _read(r"(?<![\s\S])"), _read(r"(?![\s\S])")
_ANCHORS = {
    "AT_BEGINNING": START,
    "AT_BEGINNING_STRING": START,
    "AT_END": END,
    "AT_END_STRING": END,
    "AT_BOUNDARY": _read(r"(?<=\w)(?!\w)|(?<!\w)(?=\w)"),
    # There is a character beside it at least: Python and JavaScript do not agree about the empty text.
    "AT_NON_BOUNDARY": _read(r"(?<=\w)(?=\w)|(?<=\W)(?!\w)|(?<!\w)(?=\W)"),
}
_LINE_ANCHORS = {"AT_BEGINNING": _read(r"(?<!.)"), "AT_END": _read(r"(?!.)")}
ANCHORS = frozenset([*_ANCHORS.values(), *_LINE_ANCHORS.values()])
