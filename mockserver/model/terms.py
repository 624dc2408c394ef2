"""The terms of a text, for comparison: stems of its words, and the concepts that they stand for.

A stem is a word without common endings; scripts without spaces between words give pairs of characters instead.
`concepts.txt` lists words of the corpus' languages that mean the same thing, so that a question in one language matches
a description in another.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
# Letters of scripts without spaces between words, or with particles attached to words: Han, katakana, Hangul.
_DENSE = re.compile(r"[一-鿿]+|[ァ-ヿ]+|[가-힣]+")
# "3 * 12", "11 plus 49": an operation on two numbers. A hyphen and a slash without spaces mean other things.
_OPERATION = re.compile(
    r"(?<![\w.,])-?\d[\d,.]*+(?:\s{0,3}(?P<sign>[+*×÷^])\s{0,3}|\s{1,3}(?P<word>[-/x]|plus|minus|times|multiplied by|"
    r"divided by|to the power of)\s{1,3})-?\d+(?:[.,]\d+)*",
    re.IGNORECASE,
)
_OPERATORS = {
    operator: frozenset(names.split())
    for operators, names in (
        ("+ plus", "add plus sum"),
        ("- minus", "subtract minus"),
        ("* × x times multiplied", "multipl times product"),
        ("÷ / divided", "divid"),
        ("^ to", "pow power exponenti"),
    )
    for operator in operators.split()
}
ARITHMETIC = "#calcul"

# The most common endings, longest first; at least three letters of a word are left.
_ENDINGS = re.compile(
    r"(?<=...)(?:"
    r"ations?|ators?|ating|ated|ates?|ings?|ies|ers?|ors?|ions?|ed|es|en|er|os|as|s|y|e|a|o|i"
    r"|иями|ами|ями|ого|его|ому|ему|ыми|ими|ией|иях|ах|ях|ам|ям|ом|ем|ой|ей|ый|ий|ая|яя|ое|ее|ую|юю|ые|ие|ов|ев"
    r"|ть|а|я|о|е|у|ю|ы|и|і|ї|ь|й"
    r"|lar[ıi]?|ler[ıi]?|[ıuü]"
    r")$"
)


class Verb(NamedTuple):
    """An operation on two numbers in a text, and the stems of the words for it."""

    text: str
    names: frozenset[str]


class _Concepts(NamedTuple):
    words: Mapping[str, tuple[str, ...]]  # a whole word to its concepts
    beginnings: Mapping[str, tuple[str, ...]]  # the beginning of a word
    dense: Mapping[str, tuple[str, ...]]  # a text of dense letters


def terms(text: str, ignored: frozenset[str] = frozenset()) -> frozenset[str]:
    """The stems, pairs and concepts (which begin with #) of a text; names in snake or camel case are split into words.

    The `ignored` words, in lower case, add none.
    """
    found = {term for word in words_in(text) - ignored for term in _word_terms(word)}
    found.update(term for run in _DENSE.findall(text) for term in _dense_terms(run))
    for operation in operations(text):
        found.update(operation.names, (ARITHMETIC,))
    return frozenset(found)


def operations(text: str) -> tuple[Verb, ...]:
    """The operations on two numbers in a text: "3 * 12", "11 plus 49"."""
    if not any(map(str.isdigit, text)):
        return ()
    return tuple(_operation(match) for match in _OPERATION.finditer(text))


def is_operation(names: frozenset[str]) -> bool:
    """Whether one of some stems stands for an operation on numbers."""
    return any(not names.isdisjoint(own) for own in _OPERATORS.values())


def _operation(match: re.Match[str]) -> Verb:
    operator = (match["sign"] or match["word"]).lower().split()[0]
    return Verb(match[0], _OPERATORS[operator])


def words_in(text: str) -> frozenset[str]:
    """The words of a text in lower case; names in snake or camel case are split into words."""
    return frozenset(word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text)))


def place_of(words: str, text: str) -> int | None:
    """Where a text first contains the given words, in any case and not as part of longer words; None if it does not."""
    # Most words are nowhere in the text, which a plain search tells a thousand times as fast as an expression.
    if words.casefold() not in _folded(text):
        return None
    found = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE)
    return None if found is None else found.start()


@lru_cache(maxsize=1)
def _folded(text: str) -> str:
    return text.casefold()


def is_concept(term: str) -> bool:
    """Whether a term is a concept, not a stem."""
    return term.startswith("#")


def stem(word: str) -> str:
    """A word in lower case without a common ending."""
    return _ENDINGS.sub("", word.lower())


@lru_cache(maxsize=16_384)
def _word_terms(word: str) -> tuple[str, ...]:
    if len(word) < 2 or _DENSE.match(word):
        return ()
    concepts = _concepts()
    found = [*concepts.words.get(word, ())]
    for size in range(3, len(word) + 1):
        found += concepts.beginnings.get(word[:size], ())
    return (stem(word), *found)


@lru_cache(maxsize=4096)
def _dense_terms(run: str) -> tuple[str, ...]:
    pairs = [run[start : start + 2] for start in range(len(run) - 1)]
    return (*pairs, *(name for text, names in _concepts().dense.items() if text in run for name in names))


@cache
def _concepts() -> _Concepts:
    tables: tuple[dict[str, tuple[str, ...]], ...] = ({}, {}, {})
    for name, word in _entries():
        kind = 2 if _DENSE.match(word) else int(word.endswith("*"))
        key = word.removesuffix("*")
        tables[kind][key] = (*tables[kind].get(key, ()), name)
    return _Concepts(*tables)


def _entries() -> Iterator[tuple[str, str]]:
    """Every word of the table, after the name of its concept, which is the first word of its line."""
    for line in (files("mockserver.model") / "concepts.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            words = line.split()
            yield from ((f"#{words[0].removesuffix('*')}", word) for word in words)
