"""Texts that match a pattern and look natural: digits where digits are required, words where words fit.

Strategy. A few walks through the pattern's tree write what it requires: patterns are never run as programs, so none can
take exponential time. Conditions on a place are checked against the whole text. If the walks fail, or several patterns
have to match together, the search in `derivatives` decides: it finds less natural texts, but wherever there is one.
"""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Row
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from mockserver.core.caches import Cache
from mockserver.core.seeding import Draws
from mockserver.model.corpus import Phrase, fresh_phrase
from mockserver.model.regex.char_classes import NONE, WORD, beside, members, stands
from mockserver.model.regex.derivatives import Derivatives, State
from mockserver.model.regex.sampling import LONGEST, MOST_EXTRAS, Note, RegexSampler, run
from mockserver.model.regex.sizes import PatternError
from mockserver.model.regex.syntax import read_pattern
from mockserver.model.regex.trees import (
    Anchor,
    Back,
    Either,
    Group,
    Look,
    Node,
    One,
    Repeat,
    Sequence,
    Tree,
    either,
    nodes,
    repeat,
    sequence,
)

# Called with the number of steps that were taken; it may raise an exception that ends the search.
Spend = Callable[[int], None]

_WALKS = 6
_MOST_EFFORT = 50_000
# The characters that all conditions of one text may examine together, some microseconds each.
_MOST_EXAMINED = 20_000
_MOST_REMEMBERED = 8_000
_PIECE = 12
# If a text must differ from more than `_MANY` others, it is first searched `_TRIED` times without excluding them, since
# excluding them costs the more the more there are.
_MANY, _TRIED = 48, 8


class _Wanted(NamedTuple):
    """What a text has to be: `whole` is matched from end to end, any other has a match somewhere in it. It has `least`
    to `most` characters (code points). `spend` is called with the steps of failed walks and of searches.
    """

    whole: bool
    least: int = 0
    most: int = LONGEST
    spend: Spend = lambda steps: None


def write_match(pattern: str, draws: Draws) -> str:
    """A text of at most `LONGEST` characters that the pattern matches from end to end.

    Raises PatternError, a ValueError, if the pattern is malformed or not supported, or if no such text was found.
    """
    return _match(pattern, draws, _Wanted(whole=True))


def find_match(
    patterns: Row[str],
    draws: Draws,
    least: int = 0,
    most: int | None = None,
    forbidden: Row[str] = (),
    others_than: Row[str] = (),
    spend: Spend = lambda steps: None,
) -> str | None:
    """A text that every pattern matches somewhere, and no forbidden one, and that is none of `others_than`.

    It has `least` to `most` characters. None if there is no such text or none was found, or if one of several patterns,
    or a forbidden one, has a back-reference. `spend` is called with the steps of failed walks and of searches; what it
    raises is passed on.
    """
    wanted = _Wanted(False, least, LONGEST if most is None else min(most, LONGEST), spend)
    try:
        if len(patterns) == 1 and not forbidden:
            text = _match(patterns[0], draws, wanted)
            if text not in others_than:
                return text
        return _joint(tuple(patterns), tuple(forbidden), tuple(others_than)).find(draws, wanted)
    except (PatternError, RecursionError):
        return None


@lru_cache(maxsize=256)
def fault_in(pattern: str) -> str:
    """Why no text that this pattern matches as a whole can be written; empty if one can, whatever the draws."""
    try:
        write_match(pattern, Draws(0))
    except PatternError as error:
        return str(error)
    return ""


def continue_match(pattern: str, text: str, draws: Draws) -> Iterator[str]:
    """Continuations, piece by piece, of a text that matches a pattern as a whole, as it does after each; they end if it
    must end."""
    compiled = _compiled(pattern)
    # Not `except`: a text that is still being continued when the interpreter ends no longer finds those names.
    with suppress(PatternError, RecursionError):  # it has a back-reference, or takes too long to continue
        languages = compiled.languages
        rest, last = languages.rest(languages.of(compiled.tree.root), text)
        while piece := (
            languages.find(rest, draws, _PIECE, 4 * _PIECE, last) or languages.find(rest, draws, 1, LONGEST, last)
        ):
            yield piece
            rest, last = languages.rest(rest, piece, last)


def tell_match(pattern: str, key: int) -> Iterator[Phrase | None]:
    """The phrases of a text that matches a pattern as a whole, None where it is complete, and continuations if any.

    Raises PatternError if `fault_in` finds a fault in the pattern.
    """
    return _match_phrases(pattern, Draws(key))


def _match_phrases(pattern: str, draws: Draws) -> Iterator[Phrase | None]:
    text = write_match(pattern, draws)
    yield fresh_phrase(text)
    yield None
    yield from map(fresh_phrase, continue_match(pattern, text, draws))


class _Compiled:
    """A pattern's tree, and its languages once they are needed."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._languages: Derivatives | None = None

    @property
    def languages(self) -> Derivatives:
        """The pattern's languages; made anew when there are too many in the cache."""
        languages = self._languages
        if languages is None or languages.size > _MOST_REMEMBERED:
            languages = self._languages = Derivatives(self.tree.root)
        return languages

    def holds(self, text: str, notes: Row[Note]) -> bool:
        """Whether a text meets the conditions that were noted."""
        looks = [(note.node, note.position) for note in notes if isinstance(note.node, Look)]
        examined = sum(len(text) - place if node.ahead else place for node, place in looks)
        if examined > _MOST_EXAMINED:
            raise PatternError("the pattern looks around too often")
        try:
            return all(self._stands(note, text) for note in notes)
        except RecursionError:
            raise PatternError("the pattern has too much in one place") from None

    def _stands(self, note: Note, text: str) -> bool:
        node, place = note.node, note.position
        before, after = beside(text[place - 1 : place] if place else ""), beside(text[place : place + 1])
        if isinstance(node, Anchor):
            return stands(node.kind, before, after)
        part = self._known(node.part, note.groups)
        languages = self.languages if part is node.part else Derivatives(part)
        if node.ahead:
            seen = languages.accepts(languages.of(part, whole=False), text[place:], before)
        else:
            seen = languages.accepts(languages.ending(part), text[:place], after=after)
        return seen == node.wanted

    def _known(self, node: Node, groups: Mapping[int, str]) -> Node:
        """A node with back-references replaced by the texts of their groups."""
        if isinstance(node, Back):
            text = groups.get(self.tree.number(node.group))
            return One(NONE) if text is None else sequence([One(members(character)) for character in text])
        if not any(isinstance(part, Back) for part in nodes(node)):
            return node
        if isinstance(node, Sequence):
            return sequence([self._known(part, groups) for part in node.parts])
        if isinstance(node, Either):
            return either([self._known(part, groups) for part in node.options])
        if isinstance(node, Repeat):
            return repeat(self._known(node.part, groups), node.least, node.most)
        return self._known(node.part, groups) if isinstance(node, Group) else node


# Patterns that were read, with what their searches have found out.
_known: Cache[str, _Compiled] = Cache(8 * 2**20)
# What each takes, roughly, in bytes: for each of its characters, and besides.
_BYTES_EACH, _BYTES_PER_CHARACTER = 8_000, 400


def _compiled(pattern: str) -> _Compiled:
    known = _known.find(pattern)
    if known is None:
        tree = read_pattern(pattern)
        if tree.root.effort > _MOST_EFFORT:
            raise PatternError(f"the pattern asks for more than {LONGEST} characters")
        known = _Compiled(tree)
        _known.keep(pattern, known, _BYTES_EACH + _BYTES_PER_CHARACTER * len(pattern))
    return known


def _match(pattern: str, draws: Draws, wanted: _Wanted) -> str:
    compiled = _compiled(pattern)
    shortest = max(compiled.tree.root.shortest, wanted.least)
    if shortest > wanted.most:
        raise PatternError(f"the pattern asks for at least {shortest} characters, and {wanted.most} are allowed")
    try:
        return _written(compiled, draws, wanted)
    except PatternError:  # other draws may find a text
        return _written(compiled, Draws(0), wanted)


def _written(compiled: _Compiled, draws: Draws, wanted: _Wanted) -> str:
    for number in range(_WALKS):
        text = _walked(compiled, draws, number, wanted)
        if text is not None:
            return text
        wanted.spend(compiled.tree.root.effort)
    return _searched(compiled, draws, wanted)


def _walked(compiled: _Compiled, draws: Draws, number: int, wanted: _Wanted) -> str | None:
    """The text of one walk; None if it does not match. The last walk writes only what it must."""
    least, most = wanted.least, wanted.most
    walk = RegexSampler(compiled.tree, draws, MOST_EXTRAS if number < _WALKS - 1 else 0, least, most)
    text = walk.text()
    if text is None:
        return None
    if len(text) < least and not wanted.whole:
        text += run(WORD, least - len(text), least - len(text), draws)
    return text if least <= len(text) <= most and compiled.holds(text, walk.notes) else None


def _searched(compiled: _Compiled, draws: Draws, wanted: _Wanted) -> str:
    languages = compiled.languages
    try:
        language = languages.of(compiled.tree.root, whole=wanted.whole)
        text = languages.find(language, draws, wanted.least, wanted.most)
    except RecursionError:
        raise PatternError("the pattern has too much in one place") from None
    finally:
        wanted.spend(languages.steps)
    if text is None:
        raise PatternError("no text matches the pattern")
    return text


class _Joint:
    """Patterns that have to match in one text, patterns that must not, and texts (`others`) that it must differ from.

    Derivatives that exclude the others grow with these, so they are only made if nothing else helps.
    """

    def __init__(self, patterns: Row[str], forbidden: Row[str], others: Row[str]) -> None:
        self._patterns = [_compiled(pattern) for pattern in patterns or ("",)]
        # Without any pattern, a text that is not empty is preferred.
        self._natural = 0 if patterns else 1
        self._unwanted = [_compiled(pattern).tree.root for pattern in forbidden]
        self._others = others
        self._taken = frozenset(others)
        self._alone = _joint(patterns, forbidden, ()) if others else self
        self._searched: tuple[Derivatives, State] | None = None

    def find(self, draws: Draws, wanted: _Wanted) -> str | None:
        """A text, a natural one if a walk finds it."""
        natural = wanted._replace(least=max(wanted.least, self._natural))
        for number in range(_WALKS):
            compiled = self._patterns[number % len(self._patterns)]
            text = _walked(compiled, draws, number, natural)
            if text is not None and text not in self._taken and self._alone._holds(text):
                return text
            wanted.spend(compiled.tree.root.effort)
        for _ in range(_TRIED if len(self._taken) > _MANY else 0):
            text = self._alone._search(draws, natural)
            if text is not None and text not in self._taken:
                return text
        return self._search(draws, wanted)

    def _holds(self, text: str) -> bool:
        """Whether a text of a walk through one pattern meets the conditions of all."""
        if len(self._patterns) == 1 and not self._unwanted:
            return True
        languages, language = self._languages()
        return languages.accepts(language, text)

    def _search(self, draws: Draws, wanted: _Wanted) -> str | None:
        languages, language = self._languages()
        try:
            return languages.find(language, draws, wanted.least, wanted.most)
        finally:
            wanted.spend(languages.steps)

    def _languages(self) -> tuple[Derivatives, State]:
        """The languages of all these, and that of the wanted texts; made anew when there are too many in the cache."""
        if self._searched is None or self._searched[0].size > _MOST_REMEMBERED:
            others = [sequence([One(members(character)) for character in text]) for text in self._others]
            wanted = [compiled.tree.root for compiled in self._patterns]
            languages = Derivatives(sequence([*wanted, *self._unwanted, *others]))
            unwanted = [*map(languages.containing, self._unwanted), *map(languages.of, others)]
            self._searched = languages, languages.common(map(languages.containing, wanted), unwanted)
        return self._searched


@lru_cache(maxsize=64)
def _joint(patterns: Row[str], forbidden: Row[str], others: Row[str]) -> _Joint:
    return _Joint(patterns, forbidden, others)
