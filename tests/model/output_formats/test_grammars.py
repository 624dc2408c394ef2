"""Texts of the grammar's productions, read by a parser of its own."""

import re
from collections.abc import Callable
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.generation import Prompt
from mockserver.model.output_formats.json_answers import ROOTS, write_grammar

TOPICS = ("Tell me about apple trees", "Расскажи о яблонях", "", "リンゴの木について教えて", 'He said "yes" \\ no')


class Reader:
    """Reads one production after the other; `at` is where it is. An AssertionError says where the text went wrong."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def take(self, pattern: str) -> str:
        found = re.compile(pattern).match(self.text, self.at)
        assert found is not None, f"no {pattern} at {self.text[self.at :][:20]!r}"
        self.at = found.end()
        return found[0]

    def sees(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def ws(self) -> None:
        self.take(r"[ \t\n]+")

    def space(self) -> None:
        self.take(r"[ \t\n]*")

    def string(self) -> str:
        return self.take(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')

    def number(self) -> None:
        self.take(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")

    def insidevalue(self) -> None:
        for opening, read in (("{", self.object), ("[", self.array), ('"', self.string)):
            if self.sees(opening):
                read()
                return
        if re.compile("true|false|null").match(self.text, self.at):
            self.take("true|false|null")
        else:
            self.number()

    def row(self, opening: str, read: Callable[[], object], closing: str) -> None:
        self.take(re.escape(opening))
        self.space()
        while not self.sees(closing):
            read()
            self.space()
            if not self.sees(closing):
                self.take(",")
                self.space()
        self.take(re.escape(closing))

    def member(self) -> None:
        self.string()
        self.take(r"[ \t\n]*:[ \t\n]*")
        self.insidevalue()

    def object(self) -> None:
        self.row("{", self.member, "}")

    def array(self) -> None:
        self.row("[", self.insidevalue, "]")

    def func(self) -> None:
        self.take(r'\{[ \t\n]*"name"[ \t\n]*:[ \t\n]*"\w+"[ \t\n]*,[ \t\n]*"arguments"[ \t\n]*:[ \t\n]*')
        self.object()
        self.take(r"[ \t\n]*\}")

    def funcarray(self) -> None:
        self.row("[", self.func, "]")
        assert not re.fullmatch(r"\[\s*\]", self.text), "an array of calls has at least one"

    def nofcall(self) -> None:
        self.take(r'\s*[^{["\s]')
        self.take(r"[\s\S]*")


READ: dict[str, Callable[[Reader], object]] = {
    "root": Reader.func,
    "fcall": Reader.func,
    "func": Reader.func,
    "nofcall": Reader.nofcall,
    "funcarray": Reader.funcarray,
    "value": Reader.insidevalue,
    "insidevalue": Reader.insidevalue,
    "object": Reader.object,
    "array": Reader.array,
    "string": Reader.string,
    "number": Reader.number,
    "ws": Reader.ws,
}


def told(root: str, topic: str, key: int, further: int = 0) -> str:
    """A text up to its natural end, or so many phrases beyond it."""
    phrases = write_grammar(Prompt(topic, topic, 1), key, root)
    text = ""
    for phrase in iter(phrases.__next__, None):
        text += "".join(phrase.texts)
    return text + "".join("".join(phrase.texts) for phrase in islice(phrases, further) if phrase)


def test_the_parser_knows_every_root() -> None:
    assert READ.keys() == ROOTS


@pytest.mark.parametrize("root", READ)
@settings(max_examples=120)
@given(topic=st.sampled_from(TOPICS) | st.text(max_size=30), key=st.integers(0, 2**64 - 1))
def test_a_root_gives_exactly_its_production(root: str, topic: str, key: int) -> None:
    reader = Reader(told(root, topic, key))
    READ[root](reader)
    assert reader.at == len(reader.text)


@pytest.mark.parametrize("root", sorted(READ.keys() - {"nofcall"}))
def test_only_white_space_follows_a_production(root: str) -> None:
    ended = told(root, TOPICS[0], 5)
    assert told(root, TOPICS[0], 5, further=3) == ended + "\n\n\n"


@pytest.mark.parametrize("root", READ)
def test_the_key_decides_the_text(root: str) -> None:
    texts = [told(root, TOPICS[0], key) for key in (1, 1, 2, 3, 4, 5, 6)]
    assert (texts[0] == texts[1], len(set(texts)) > 2) == (True, True)
