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
    """The phrases of a text that the grammar derives from a root (of `ROOTS`, "ws" or "nofcall"), and what may follow.

    None marks where it is complete. Raises KeyError for another root.
    """
    draws = Draws(key)
    if root == "nofcall":
        yield from write_prose(prompt, draws)
        return
    if root == "ws":
        yield fresh_phrase(draws.pick(("\n", "\n\n", " ", "  ", "\n    ", "\t")))
    else:
        value = ROOTS[root](_Writer(detect_intent(prompt.topic), draws))
        yield fresh_phrase(json.dumps(value, ensure_ascii=False, indent=draws.pick((None, None, 2, 4))))
    yield None
    while True:
        yield phrase("\n")


class _Writer:
    """The writer of one value, from what its prompt asks for and the draws that decide each turn."""

    def __init__(self, about: Intent, draws: Draws) -> None:
        self._about = about
        self._draws = draws
        self._sections = corpus.language(about.language)

    def call(self) -> Value:
        """A call of one of the functions."""
        name, parameters = self._draws.pick(_FUNCTIONS)
        arguments: dict[str, Value] = {}
        for parameter in parameters:
            if parameter in ("limit", "max_words"):
                arguments[parameter] = 5 + 5 * self._draws.below(10)
            elif parameter == "language":
                arguments[parameter] = self._about.language
            elif parameter == "exact":
                arguments[parameter] = self._flag()
            else:
                is_body = parameter == "body"
                arguments[parameter] = self._draws.pick(self._sections["body"]) if is_body else self._about.subject
        return {"name": name, "arguments": arguments}

    def calls(self) -> Value:
        """One to three calls."""
        return [self.call() for _ in range(1 + self._draws.below(3))]

    def value(self, depth: int = 0) -> Value:
        """Any value."""
        if depth < _DEEPEST and self._draws.below(2) == 0:
            return self.object(depth) if self._draws.below(2) else self.array(depth)
        kind = self._draws.pick((self.string, self.number, self._flag, None))
        return kind() if kind else None

    def object(self, depth: int = 0) -> Value:
        """An object of a few members, and of the subject if it is outermost."""
        members: dict[str, Value] = {"subject": self._about.subject} if depth == 0 else {}
        members[self._draws.pick(_TEXT_NAMES)] = self.string()
        name, least, many, divisor = self._draws.pick(_NUMBER_NAMES)
        number = least + self._draws.below(many)
        members[name] = number if divisor == 1 else number / divisor
        if self._draws.below(2):
            members[self._draws.pick(_FLAG_NAMES)] = self._flag()
        if depth < _DEEPEST and self._draws.below(2):
            members["details" if self._draws.below(2) else "related"] = self.value(depth + 1)
        return members

    def array(self, depth: int = 0) -> Value:
        """A list of objects, of texts or of numbers."""
        count = 1 + self._draws.below(4)
        if depth < _DEEPEST and self._draws.below(3) == 0:
            return [self.object(depth + 1) for _ in range(count)]
        kind = self._draws.pick((self.string, self.number))
        return [kind() for _ in range(count)]

    def string(self) -> Value:
        """A sentence or a heading."""
        return self._draws.pick(self._sections[self._draws.pick(("body", "bullets", "headings"))])

    def number(self) -> Value:
        """A whole number, or one with two digits after the point."""
        whole = self._draws.below(self._draws.pick((10, 100, 3000)))
        if self._draws.below(2):
            return whole
        return round(whole + self._draws.unit(), 2) * (-1 if self._draws.below(6) == 0 else 1)

    def _flag(self) -> bool:
        return self._draws.below(2) == 0


# The rule `root` allows prose too, but gives a call: a request with a constraint wants structure.
ROOTS: Mapping[str, Callable[[_Writer], Value]] = {
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
}
