"""Texts that match patterns (regular expressions), and look natural: digits where these are required, words where words
fit.

Strategy. A few walks through the pattern's tree write what it requires: patterns are never run as programs, so none can
take exponential time. Conditions on a place are checked against the whole text. If the walks fail, or several patterns
have to match together, the search in `derivatives` decides: it finds less natural texts, but wherever there is one.
"""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Row
from contextlib import suppress
from functools import cached_property, partial

from mockserver.core.caches import Cache
from mockserver.core.seeding import Draws
from mockserver.model.regex.char_classes import NONE, STANDING, WORD, beside, bit
from mockserver.model.regex.derivatives import Derivatives, State
from mockserver.model.regex.sampling import LONGEST, MOST_EXTRAS, Note, RegexSampler, run
from mockserver.model.regex.sizes import PatternError
from mockserver.model.regex.syntax import Node, either, has, one, read_pattern, repeat, sequence, spelled
from mockserver.model.tokens import Phrase, fresh_phrase

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


def write_match(pattern: str, draws: Draws) -> str:
    """A text of at most `LONGEST` characters that the pattern matches from end to end.

    Raises PatternError, a ValueError, if the pattern is malformed or not supported, or if no such text was found.
    """
    return _search((pattern,)).write(draws)


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
    longest = LONGEST if most is None else min(most, LONGEST)
    try:
        search = _search(tuple(patterns), tuple(forbidden), tuple(others_than))
        return search.find(draws, least, longest, whole=False, spend=spend)
    except (PatternError, RecursionError):
        return None


def fault_in(pattern: str) -> str:
    """Why no text that this pattern matches as a whole can be written; empty if one can, whatever the draws."""
    try:
        return _search((pattern,)).fault
    except PatternError as error:
        return str(error)


def continue_match(pattern: str, text: str, draws: Draws) -> Iterator[str]:
    """Continuations, piece by piece, of a text that matches a pattern as a whole, as it does after each; they end if it
    must end."""
    search = _search((pattern,))
    # Not `except`: a text that is still being continued when the interpreter ends no longer finds those names.
    with suppress(PatternError, RecursionError):  # it has a back-reference, or takes too long to continue
        states, rest = search.states(whole=True)
        rest, last = states.rest(rest, text)
        while piece := (
            states.find(rest, draws, _PIECE, 4 * _PIECE, last) or states.find(rest, draws, 1, LONGEST, last)
        ):
            yield piece
            rest, last = states.rest(rest, piece, last)


def tell_match(pattern: str, key: int) -> Iterator[Phrase | None]:
    """The phrases of a text that matches a pattern as a whole, None where it is complete, and continuations if any.

    Raises PatternError if `fault_in` finds a fault in the pattern.
    """
    draws = Draws(key)
    text = write_match(pattern, draws)
    yield fresh_phrase(text)
    yield None
    yield from map(fresh_phrase, continue_match(pattern, text, draws))


class _Search:
    """Patterns that have to match in one text, patterns that must not, and `others`, texts that it must differ from."""

    def __init__(self, patterns: Row[str], forbidden: Row[str], others: Row[str]) -> None:
        # First what may fail: the rest refers to itself, and so is only freed by the collector.
        self._root = _root(patterns[0] if patterns else "")
        self._unwanted = [_root(each) for each in forbidden]
        self._patterns, self._others, self._taken = patterns, others, frozenset(others)
        # The search that does not exclude the other texts, and those for one pattern each.
        self._alone = _search(patterns, forbidden) if others else self
        self._single = len(patterns) <= 1 and not forbidden
        self._each = [self] if self._single and not others else [_search((each,)) for each in patterns or ("",)]
        self._made: Derivatives | None = None
        self._wanted: dict[bool, tuple[Derivatives, State]] = {}

    @cached_property
    def fault(self) -> str:
        """Why no text that the only pattern matches as a whole can be written; empty if one can."""
        try:
            self.write(Draws(0))
        except PatternError as error:
            return str(error)
        return ""

    def write(self, draws: Draws) -> str:
        """A text that the only pattern matches from end to end. Raises PatternError if none was found."""
        text = self.find(draws, 0, LONGEST, whole=True)
        if text is None:
            raise PatternError("no text matches the pattern")
        return text

    def find(
        self, draws: Draws, least: int, most: int, *, whole: bool, spend: Spend = lambda steps: None
    ) -> str | None:
        """A text, a natural one if a walk finds it; from end to end if `whole`."""
        shortest = max(least, *(each._root.shortest for each in self._each))
        if shortest > most:
            raise PatternError(f"the pattern asks for at least {shortest} characters, and {most} are allowed")
        if self._single and not self._others:
            with suppress(PatternError):
                text = self._find(draws, least, most, whole, spend)
                if text is not None:
                    return text
            draws = Draws(0)  # other draws may find a text
        return self._find(draws, least, most, whole, spend)

    def _find(self, draws: Draws, least: int, most: int, whole: bool, spend: Spend) -> str | None:
        # Without any pattern, a text that is not empty is preferred.
        natural = least if self._patterns else max(least, 1)
        for number in range(_WALKS):
            single = self._each[number % len(self._each)]
            text = single._walk(draws, number, natural, most, whole)
            if text is not None and text not in self._taken and (self._single or self._alone._accepts(text)):
                return text
            spend(single._root.effort)
        for _ in range(_TRIED if len(self._others) > _MANY else 0):
            text = self._alone._searched(draws, natural, most, whole, spend)
            if text is not None and text not in self._taken:
                return text
        return self._searched(draws, least, most, whole, spend)

    def _walk(self, draws: Draws, number: int, least: int, most: int, whole: bool) -> str | None:
        """The text of one walk; None if it does not match. The last walk writes only what it must."""
        sampler = RegexSampler(self._root, draws, MOST_EXTRAS if number < _WALKS - 1 else 0, least, most)
        text = sampler.text()
        if text is None:
            return None
        if len(text) < least and not whole:
            text += run(WORD, least - len(text), least - len(text), draws)
        return text if least <= len(text) <= most and self._meets(text, sampler.notes) else None

    def _meets(self, text: str, notes: Row[Note]) -> bool:
        """Whether a text meets the conditions that were noted in a walk."""
        looks = [(note.node.kind, note.position) for note in notes if note.node.parts]
        if sum(len(text) - place if kind == "ahead" else place for kind, place in looks) > _MOST_EXAMINED:
            raise PatternError("the pattern looks around too often")
        for node, place, groups in notes:
            before, after = beside(text[max(place - 1, 0) : place]), beside(text[place : place + 1])
            if node.kind in STANDING:
                if not STANDING[node.kind] & bit(before, after):
                    return False
                continue
            part = _with_groups(node.parts[0], groups)
            states = self._derivatives() if part is node.parts[0] else Derivatives(part)
            try:
                if node.kind == "ahead":
                    seen = states.accepts(states.of(part, after=True), text[place:], before)
                else:
                    seen = states.accepts(states.of(part, before=True), text[:place], after=after)
            except RecursionError:
                raise PatternError("the pattern has too much in one place") from None
            if seen != node.wanted:
                return False
        return True

    def _accepts(self, text: str) -> bool:
        states, wanted = self.states(whole=False)
        return states.accepts(wanted, text)

    def _searched(self, draws: Draws, least: int, most: int, whole: bool, spend: Spend) -> str | None:
        """A text that the states lead to; None if there is none."""
        states = None
        try:
            states, wanted = self.states(whole=whole)
            return states.find(wanted, draws, least, most)
        except RecursionError:
            raise PatternError("the pattern has too much in one place") from None
        finally:
            spend(states.steps if states else 0)

    def states(self, *, whole: bool) -> tuple[Derivatives, State]:
        """The states of all the patterns, and that of the wanted texts."""
        states = self._derivatives()
        wanted = self._wanted.get(whole)
        if wanted is None or wanted[0] is not states:
            if self._single and not self._others:
                behind = not whole and has(self._root, "behind")
                wanted = states, states.of(self._root, before=behind, after=not whole)
            else:
                anywhere = partial(states.of, before=True, after=True)
                unwanted = [*map(anywhere, self._unwanted), *map(states.of, map(spelled, self._others))]
                wanted = states, states.common([anywhere(each._root) for each in self._each], unwanted)
            self._wanted[whole] = wanted
        return wanted

    def _derivatives(self) -> Derivatives:
        """The states of all the patterns; made anew when there are too many."""
        states = self._made
        if states is None or states.size > _MOST_REMEMBERED:
            roots = [*(each._root for each in self._each), *self._unwanted, *map(spelled, self._others)]
            states = self._made = Derivatives(sequence(roots))
        return states


def _with_groups(node: Node, groups: Mapping[int, str]) -> Node:
    """A node with what refers to groups replaced by what these have matched."""
    if node.kind == "back":
        return spelled(groups[node.number]) if node.number in groups else one(NONE)
    if node.kind == "condition":
        return _with_groups(node.parts[node.number not in groups], groups)
    if not has(node, "back", "condition"):
        return node
    parts = [_with_groups(part, groups) for part in node.parts]
    if node.kind == "repeat":
        return repeat(parts[0], node.least, node.most)
    return either(parts) if node.kind == "either" else sequence(parts)


def _root(pattern: str) -> Node:
    root = read_pattern(pattern)
    if root.effort > _MOST_EFFORT:
        raise PatternError(f"the pattern asks for more than {LONGEST} characters")
    return root


# Patterns that were read, with what their searches have found out.
_searches: Cache[tuple[Row[str], Row[str], Row[str]], _Search] = Cache(16 * 2**20)
# What each takes, roughly, in bytes: for each of its characters, and besides.
_BYTES_EACH, _BYTES_PER_CHARACTER = 8_000, 400


def _search(patterns: Row[str], forbidden: Row[str] = (), others: Row[str] = ()) -> _Search:
    known = _searches.find((patterns, forbidden, others))
    if known is None:
        known = _Search(patterns, forbidden, others)
        size = sum(map(len, (*patterns, *forbidden, *others)))
        _searches.keep((patterns, forbidden, others), known, _BYTES_EACH + _BYTES_PER_CHARACTER * size)
    return known
