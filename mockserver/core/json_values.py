"""JSON values: when two are equal, what type one has, places in one, how deeply it nests, how many values a text has,
what is complete of an object that is cut short.

Places are written in a subset of JSONPath: `$.messages[0].content`, `messages[-1]['role']`, `$.tools[*].type`. It has
keys, indexes (negative ones count from the end), and `[*]` for every item.

A parser blocks the whole process: tens of megabytes of prose take it some hundredths of a second, but as many bytes of
small values take seconds, and a gigabyte of memory. So the values of a text can be estimated without parsing it.
"""

import json
import re
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from mockserver.core.messages import short_repr

# The most levels to which a value may nest.
DEEPEST = 100
_CONTAINERS = (dict, list)
_KINDS: tuple[tuple[type, str], ...] = ((str, "string"), (list, "array"), (dict, "object"))
# A string (its end may be missing), or whitespace outside of strings.
_BLANK = r'("(?:[^"\\]|\\.)*"?)|\s+'


def identity(value: object) -> Hashable:
    """What two values have equal if and only if they are equal JSON: 1 is 1.0, true is no number, a tuple is a list."""
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, dict):
        return dict, frozenset((name, identity(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return list, tuple(map(identity, value))
    # Other values compare as in Python: 1 equals 1.0, and no text.
    return value


class ValueSet:
    """An ordered set of JSON values. `numbers` are those of them that are numbers."""

    __slots__ = ("_known", "_listed", "numbers")

    def __init__(self, values: Iterable[object] = ()) -> None:
        self._listed: list[object] = []
        self._known: set[Hashable] = set()
        self.numbers: set[int | float] = set()
        for value in values:
            self.add(value)

    def __contains__(self, value: object) -> bool:
        return identity(value) in self._known

    def __iter__(self) -> Iterator[object]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def add(self, value: object) -> None:
        """Add a value, unless the set contains it."""
        key = identity(value)
        if key not in self._known:
            self._known.add(key)
            self._listed.append(value)
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.numbers.add(value)


def type_of(value: object) -> str:
    """The JSON type of a value; integers are numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "number")


def may_nest_deeper(body: bytes, levels: int) -> bool:
    """Whether a JSON text has enough brackets to nest deeper than `levels`: few do, and need a closer look."""
    return body.count(b"[") + body.count(b"{") > levels


def nests_absurdly(text: bytes, value: object) -> bool:
    """Whether a JSON text, whose value is `value`, nests deeper than any reasonable request."""
    return may_nest_deeper(text, DEEPEST) and not is_shallow(value)


def is_shallow(value: object) -> bool:
    """Whether a value nests no deeper than DEEPEST levels, and so can safely be walked recursively."""
    level = [value]
    for _ in range(DEEPEST):
        held = [node.values() if isinstance(node, dict) else node for node in level if isinstance(node, _CONTAINERS)]
        level = [child for children in held for child in children if isinstance(child, _CONTAINERS)]
        if not level:
            return True
    return False


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text that somebody else has written. Raises ValueError if it is none, if it nests deeper than
    DEEPEST levels, or if a number in it has thousands of digits."""
    with suppress(RecursionError):
        value = json.loads(text)
        if is_shallow(value):
            return value
    raise ValueError(f"it nests deeper than {DEEPEST} levels")


def without_blanks(text: str) -> str:
    """A JSON text, complete or cut short, without the whitespace between its tokens."""
    # The pattern is compiled on first use: hardly any server needs it.
    return re.sub(_BLANK, lambda match: match[1] or "", text)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?P<end>")?|[{}\[\]:,]|[^\s{}\[\]:,"]++')
# What is left of an escape that is cut short, behind escaped backslashes.
_CUT_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")


def kept_object(text: str, *, closes: bool) -> str:
    """The beginning of an object that is cut short, up to the last of its properties that is complete.

    If it `closes`, then the string that is being written ends where the text does, and so do the lists and objects
    around it.
    """
    end, before, closing = 0, "", list[str]()
    for token in _TOKEN.finditer(text):
        said, is_value = token[0], before == ":" or (before in ("[", ",") and closing[-1:] == ["]"])
        if said in ("{", "["):
            closing.append("}" if said == "{" else "]")
        elif said in ("}", "]"):
            del closing[-1:]
        elif said[0] == '"' and not token["end"]:
            if closes and is_value:
                return _CUT_ESCAPE.sub(r"\1", text) + '"' + "".join(reversed(closing))
            break
        is_end = said in ("}", "]") or (is_value and said not in ("{", "["))
        # Of a number, and of a word, nobody knows that it is complete unless something follows.
        if is_end and (said[0] in '"}]' or token.end() < len(text)) and closing in (["}"], []):
            end = token.end()
        before = said
    if end and not closing:
        return text
    return f"{text[:end] or '{'}}}" if closes else text[:end]


# The steps to a place: keys, indexes, and EVERY.
Path = tuple[str | int | None, ...]
EVERY = None

_STEP = re.compile(r"""\.?(?P<key>[^.\[\]'"\s$][^.\[\]'"]*)|\[(?P<index>-?\d{1,9})\]|\[(?P<every>\*)\]"""
                   r"""|\[(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\]""")  # fmt: skip


def read_path(text: str) -> Path:
    """Parse a path; the leading `$` may be omitted. Raises ValueError."""
    at, steps = int(text.startswith("$")), []
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None or (at == 1 and text[0] == "$" and text[1] not in ".["):
            raise ValueError(
                f"{short_repr(text)} is not a path such as '$.messages[0].content': cannot read {short_repr(text[at:])}"
            )
        kind, written = step.lastgroup, step[step.lastgroup or 0]
        steps.append(EVERY if kind == "every" else int(written) if kind == "index" else written)
        at = step.end()
    return tuple(steps)


def step_text(step: str | int | None) -> str:
    """A step as it is written in a path."""
    if not isinstance(step, str):
        return f"[{'*' if step is EVERY else step}]"
    plain = _STEP.fullmatch(f".{step}")
    return f".{step}" if plain else f"['{step}']" if "'" not in step else f'["{step}"]'


def values_at(path: Path, value: object) -> list[object]:
    """The values at a place: none if there is no such place, several if the path has `[*]`."""
    found: Iterable[object] = (value,)
    for step in path:
        found = [inner for outer in found for inner in _inside(outer, step)]
    return list(found)


def _inside(value: object, step: str | int | None) -> Iterator[object]:
    if step is EVERY and isinstance(value, list | dict):
        yield from value.values() if isinstance(value, dict) else value
    elif isinstance(step, str):
        if isinstance(value, dict) and step in value:
            yield value[step]
    elif step is not EVERY and isinstance(value, list) and -len(value) <= step < len(value):
        yield value[step]


# How many values a body may have: token ids, embeddings and schemas need some hundred thousand at most.
MOST_VALUES = 500_000

_STARTS = (b",", b"[", b"{")
# Nothing else gets a turn while one piece is counted, so it has so many bytes at most.
_PIECE = 131_072


def has_more_values(text: bytes, most: int = MOST_VALUES) -> bool:
    """Whether a JSON text has more than `most` values, by the commas and opening brackets outside its strings."""
    # Most texts have fewer even with those that are within strings.
    if len(text) <= most or _starts(text, 0, len(text)) <= most:
        return False
    count = place = 0
    while place < len(text) and count <= most:
        quote = text.find(b'"', place)
        end = len(text) if quote < 0 else quote
        count += _starts(text, place, end)
        place = _after_string(text, end + 1)
    return count > most


def _starts(text: bytes, start: int, end: int) -> int:
    """How many values seem to begin in a part of a text."""
    pieces = range(start, end, _PIECE)
    return sum(text.count(each, piece, min(piece + _PIECE, end)) for piece in pieces for each in _STARTS)


def _after_string(text: bytes, place: int) -> int:
    """Where a string ends whose content begins at a place: behind the first quote that no backslash escapes."""
    while (quote := text.find(b'"', place)) >= 0:
        before, place = text[place:quote], quote + 1
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return place
    return len(text)
