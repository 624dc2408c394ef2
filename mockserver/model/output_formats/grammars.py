"""Texts of a grammar of JSON values and function calls, or of any of its rules.

    root        = fcall | nofcall
    fcall       = func
    nofcall     = prose that is no JSON
    funcarray   = "[" ws func { "," ws func } ws "]" ws
    func        = an object of "name", a string, and "arguments", an object
    value       = insidevalue ws
    insidevalue = object | array | string | number | "true" | "false" | "null"
    ws          = { " " | tab | line end }

Objects, arrays, strings and numbers are those of JSON, each with white space after it, which continues a text that must
not end. A text of `ws` itself has at least one character.
"""

import json
from collections.abc import Callable, Iterator, Mapping

from mockserver.core.generation import Prompt
from mockserver.core.seeding import Draws
from mockserver.model import corpus
from mockserver.model.corpus import Phrase, fresh_phrase, phrase
from mockserver.model.intent import Intent, detect_intent
from mockserver.model.prose import write_prose

Value = dict[str, "Value"] | list["Value"] | str | int | float | bool | None

_DEEPEST = 3
# Functions that suit any subject, with their parameters.
_FUNCTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("search", ("query", "limit")),
    ("look_up", ("term", "language")),
    ("summarize", ("topic", "max_words")),
    ("create_note", ("title", "body")),
    ("find_documents", ("query", "limit", "exact")),
)
_TEXT_NAMES = ("title", "summary", "note", "comment", "description")
# Names of numbers, each with the least value, the number of values, and a divisor.
_NUMBER_NAMES = (("count", 1, 100, 1), ("score", 0, 101, 100), ("year", 1980, 45, 1), ("priority", 1, 5, 1))
_FLAG_NAMES = ("active", "verified", "archived", "public")


def write_grammar(prompt: Prompt, key: int, root: str) -> Iterator[Phrase | None]:
    """The phrases of a text that the grammar derives from `root` (one of `ROOTS`, or "nofcall"), and what may follow.

    None marks where it is complete. Raises KeyError for another root.
    """
    if root == "nofcall":
        yield from write_prose(prompt, Draws(key))
        return
    yield fresh_phrase(ROOTS[root](_Writer(detect_intent(prompt.topic), Draws(key))))
    yield None
    while True:
        yield phrase("\n")


class _Writer:
    """The writer of one text, from what its prompt asks for and the draws that decide each turn."""

    def __init__(self, about: Intent, draws: Draws) -> None:
        self._about = about
        self._draws = draws
        self._sections = corpus.language(about.language)

    def call(self) -> str:
        return self._written(self._call())

    def calls(self) -> str:
        return self._written([self._call() for _ in range(1 + self._draws.below(3))])

    def value(self) -> str:
        return self._written(self._value(0))

    def object(self) -> str:
        return self._written(self._object(0))

    def array(self) -> str:
        return self._written(self._array(0))

    def string(self) -> str:
        return self._written(self._string())

    def number(self) -> str:
        return self._written(self._number())

    def space(self) -> str:
        return self._draws.pick(("\n", "\n\n", " ", "  ", "\n    ", "\t"))

    def _written(self, value: Value) -> str:
        return json.dumps(value, ensure_ascii=False, indent=self._draws.pick((None, None, 2, 4)))

    def _call(self) -> Value:
        name, parameters = self._draws.pick(_FUNCTIONS)
        return {"name": name, "arguments": {parameter: self._argument(parameter) for parameter in parameters}}

    def _argument(self, name: str) -> Value:
        if name in ("limit", "max_words"):
            return 5 + 5 * self._draws.below(10)
        if name == "language":
            return self._about.language
        if name == "exact":
            return self._flag()
        return self._draws.pick(self._sections["body"]) if name == "body" else self._about.subject

    def _value(self, depth: int) -> Value:
        if depth < _DEEPEST and self._draws.below(2) == 0:
            return self._object(depth) if self._draws.below(2) else self._array(depth)
        return self._draws.pick((self._string, self._number, self._flag, self._nothing))()

    def _object(self, depth: int) -> dict[str, Value]:
        members: dict[str, Value] = {"subject": self._about.subject} if depth == 0 else {}
        members[self._draws.pick(_TEXT_NAMES)] = self._string()
        name, least, many, divisor = self._draws.pick(_NUMBER_NAMES)
        number = least + self._draws.below(many)
        members[name] = number if divisor == 1 else number / divisor
        if self._draws.below(2):
            members[self._draws.pick(_FLAG_NAMES)] = self._flag()
        if depth < _DEEPEST and self._draws.below(2):
            members["details" if self._draws.below(2) else "related"] = self._value(depth + 1)
        return members

    def _array(self, depth: int) -> list[Value]:
        count = 1 + self._draws.below(4)
        if depth < _DEEPEST and self._draws.below(3) == 0:
            return [self._object(depth + 1) for _ in range(count)]
        kind = self._draws.pick((self._string, self._number))
        return [kind() for _ in range(count)]

    def _string(self) -> Value:
        return self._draws.pick(self._sections[self._draws.pick(("body", "bullets", "headings"))])

    def _number(self) -> Value:
        whole = self._draws.below(self._draws.pick((10, 100, 3000)))
        if self._draws.below(2):
            return whole
        return round(whole + self._draws.unit(), 2) * (-1 if self._draws.below(6) == 0 else 1)

    def _flag(self) -> Value:
        return self._draws.below(2) == 0

    def _nothing(self) -> Value:
        return None


# The rule `root` allows prose too, but gives a call: a request with a constraint wants structure.
ROOTS: Mapping[str, Callable[[_Writer], str]] = {
    "root": _Writer.call,
    "fcall": _Writer.call,
    "func": _Writer.call,
    "funcarray": _Writer.calls,
    "value": _Writer.value,
    "insidevalue": _Writer.value,
    "object": _Writer.object,
    "array": _Writer.array,
    "string": _Writer.string,
    "number": _Writer.number,
    "ws": _Writer.space,
}
