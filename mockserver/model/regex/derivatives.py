"""Patterns as languages (sets of texts): what may follow after each character, and a search for a text of a language.

Strategy. A language is what is left to be matched (Brzozowski's derivatives): reading a character turns one language
into another, and both "and" and "not" are as easy as "or", which look-arounds need. Equal languages are one object, so
every step is computed only once for a pattern. Characters that no part of the pattern distinguishes are one kind.
Whether a place is an end of the text, of a line or of a word depends on the kinds of the characters beside it.

Reading a text never backtracks: it costs one step for each character.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from threading import local
from typing import NamedTuple

from mockserver.core.seeding import Draws
from mockserver.model.regex.char_classes import (
    ANY,
    EVERYWHERE,
    STANDING,
    WORD,
    Beside,
    Characters,
    Kind,
    bit,
    kinds_of,
    members,
    usual,
)
from mockserver.model.regex.sizes import PatternError
from mockserver.model.regex.trees import (
    Anchor,
    Either,
    Group,
    Look,
    Node,
    One,
    Repeat,
    Sequence,
    nodes,
    starts_the_text,
)

_MOST_STEPS = 40_000
# Additional steps for each required character, and a last resort against an endless number of languages.
_FREE_STEPS = 64
_MOST_NEWS = 30_000
_TOO_LONG = "no matching text was found within reasonable time"
_MOST_COPIES = 64
# The effort of a node that may begin anywhere in a text: after each character as many languages are left of it as there
# are beginnings, so the time grows with the square.
_MOST_ANYWHERE = 600
# How many characters beyond the wanted length a search may go before it turns back.
_MOST_WANDERED = 256
# The maximum number of repetitions of a part with a look-around: fewer texts can be found, but no wrong ones.
_UNROLLED = 12


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A set of texts, defined by the sets of which it is composed, its `parts`.

    `kind` is nothing (no text), empty (only the empty text), one (a character of some `kinds`, a set of bits), place
    (the empty text, at some places), joined, any, all, not, or repeated (`least` to `most` times).

    `need` is a lower bound of the length of its texts, `pull` an estimate of the distance to an end. `ends` has a bit
    for each place, by what is before and after it: whether a match may end there.
    """

    kind: str
    parts: tuple["State", ...] = ()
    kinds: int = 0
    least: int = 0
    most: int | None = None
    need: int = 0
    pull: int = 0
    ends: int = 0


class _Counts(local):
    """The counters of the current search, separate for each thread, since threads share the languages."""

    steps = 0
    free = 0
    news = 0


class Derivatives:
    """The languages of one pattern: builds, reads and searches them."""

    def __init__(self, root: Node) -> None:
        sets = (node.found for node in nodes(root) if isinstance(node, One))
        self._kinds = kinds_of({ANY, WORD, members("\n"), *sets})
        self._known: dict[object, State] = {}
        self._afters: dict[tuple[State, Beside, int], State] = {}
        self._counts = _Counts()
        self._nothing = State("nothing", need=1 << 40, pull=1 << 40)
        self._empty = State("empty", ends=EVERYWHERE)
        self._anything = State("repeated", (self._one(ANY),), least=0, most=None, ends=EVERYWHERE)

    @property
    def size(self) -> int:
        """The size of the cache, in languages and steps between them."""
        return len(self._known) + len(self._afters)

    @property
    def steps(self) -> int:
        """The number of steps of the last search."""
        return self._counts.steps + self._counts.free

    def of(self, node: Node, *, whole: bool = True) -> State:
        """The texts that a node matches from end to end, or, unless `whole`, with more text after the match."""
        self._counts.steps = 0
        then = self._empty if whole else self._anything
        matched = self._followed(node, then, outermost=True)
        if whole or not any(isinstance(part, Look) and not part.ahead for part in nodes(node)):
            return matched
        # With a look-behind the match may begin later in the text.
        return self._any_of([matched, self.containing(node)])

    def containing(self, node: Node) -> State:
        """The texts in which a node matches somewhere."""
        self._counts.steps = 0
        if starts_the_text(node):
            return self._followed(node, self._anything, outermost=True)
        _check_effort(node)
        parts = node.parts if isinstance(node, Sequence) else (node,)
        return self._row((Repeat(One(ANY), 0, None, 0, 1), *parts), self._anything, outermost=True)

    def common(self, wanted: Iterable[State], unwanted: Iterable[State]) -> State:
        """The texts that are in all wanted languages, and in none of the unwanted."""
        return self._all_of([*wanted, *map(self._not, unwanted)])

    def ending(self, node: Node) -> State:
        """The texts that end with a match of the node."""
        self._counts.steps = 0
        _check_effort(node)
        return self._joined(self._anything, self._followed(node, self._empty, outermost=False))

    def accepts(self, language: State, text: str, before: Beside = Beside.EDGE, after: Beside = Beside.EDGE) -> bool:
        """Whether a text, between `before` and `after`, is in a language."""
        rest, last = self.rest(language, text, before)
        return bool(rest.ends & bit(last, after))

    def rest(self, language: State, text: str, before: Beside = Beside.EDGE) -> tuple[State, Beside]:
        """What is left of a language after a text, and what then precedes it."""
        self._counts.news = 0
        for character in text:
            number = self._kind_of(character)
            language, before = self._after(language, before, number), self._kinds[number].beside
        return language, before

    def find(self, language: State, draws: Draws, least: int, most: int, before: Beside = Beside.EDGE) -> str | None:
        """A text of the language of `least` to `most` characters; None if there is none, or none was found."""
        # Cached steps count too, so that the result does not depend on earlier searches.
        self._counts.free = _FREE_STEPS * min(least, most)
        self._counts.steps = self._counts.news = -self._counts.free
        target = min(most, max(least, language.need + draws.below(4)))
        most = min(most, target + _MOST_WANDERED)
        path = [_Step(language, before, "", self._ways(language, before, draws, target, most))]
        failed: set[tuple[State, Beside, int]] = set()
        while path:
            here, length = path[-1], len(path) - 1
            if length >= target and here.language.ends & bit(here.before, Beside.EDGE):
                return "".join(step.text for step in path)
            way = next((w for w in here.ways if (w[0], w[1].beside, length + 1) not in failed), None)
            if way is not None:
                text = draws.pick(usual(way[1].found))
                ways = self._ways(way[0], way[1].beside, draws, target - length - 1, most - length - 1)
                path.append(_Step(way[0], way[1].beside, text, ways))
                continue
            if length >= least and here.language.ends & bit(here.before, Beside.EDGE):
                return "".join(step.text for step in path)
            failed.add((here.language, here.before, length))
            path.pop()
        return None

    def _ways(
        self, language: State, before: Beside, draws: Draws, wanted: int, room: int
    ) -> Iterator[tuple[State, Kind]]:
        """The languages to which each kind of character leads, the most promising first, if there is room for them."""
        weighed = []
        for number, kind in enumerate(self._kinds):
            self._step()
            further = self._after(language, before, number)
            if further is not self._nothing and further.need < room:
                # While there is room all ways are similarly good; later, those that lead to an end are preferred.
                hasty = wanted <= further.pull
                # If a way leads no nearer to the end, a word may have to end first: word characters weigh more.
                stuck = hasty and further.pull >= language.pull > 0 and kind.beside is Beside.WORD
                weight = draws.below(40) + 12 * kind.rank + (1000 if hasty else 20) * further.pull + 40 * stuck
                weighed.append((weight, number, further))
        weighed.sort(key=lambda row: row[:2])
        return iter([(further, self._kinds[number]) for _, number, further in weighed])

    def _kind_of(self, character: str) -> int:
        return next(number for number, kind in enumerate(self._kinds) if character in kind.found)

    def _step(self) -> None:
        self._counts.steps += 1
        if self._counts.steps > _MOST_STEPS:
            raise PatternError(_TOO_LONG)

    # From nodes to languages.

    def _followed(self, node: Node, then: State, *, outermost: bool = False) -> State:
        """The texts of a node, each followed by one of `then`, since a look-ahead also examines what follows it."""
        self._step()
        if isinstance(node, One):
            return self._joined(self._one(node.found), then)
        if isinstance(node, Anchor):
            return self._joined(self._new(("place", node.kind), State("place", ends=STANDING[node.kind])), then)
        if isinstance(node, Group):
            return self._followed(node.part, then)
        if isinstance(node, Either):
            return self._any_of([self._followed(option, then) for option in node.options])
        if isinstance(node, Sequence):
            return self._row(node.parts, then, outermost=outermost)
        if isinstance(node, Repeat):
            return self._repetition(node, then)
        if isinstance(node, Look):
            return self._row((node,), then, outermost=outermost)
        raise PatternError("back-references are not supported here")

    def _row(self, parts: tuple[Node, ...], then: State, *, outermost: bool) -> State:
        for number in reversed(range(len(parts))):
            part = parts[number]
            if not isinstance(part, Look):
                then = self._followed(part, then)
            elif part.ahead:
                then = self._all_of([then, self._looked(part, self._followed(part.part, self._anything))])
            elif outermost or part.wanted:
                before = self._row(parts[:number], self._empty, outermost=outermost)
                seen = self._joined(self._anything, self._followed(part.part, self._empty))
                return self._joined(self._all_of([before, self._looked(part, seen)]), then)
            else:
                raise PatternError("a look-behind inside a group is not supported here")
        return then

    def _looked(self, look: Look, seen: State) -> State:
        if look.wanted:
            return seen
        if any(isinstance(part, Look) for part in nodes(look.part)):
            raise PatternError("a look-around inside a negative one is not supported here")
        return self._not(seen)

    def _repetition(self, node: Repeat, then: State) -> State:
        if not any(isinstance(part, Look) for part in nodes(node.part)):
            return self._joined(self._repeated(self._followed(node.part, self._empty), node.least, node.most), then)
        if node.least > _MOST_COPIES:
            raise PatternError("so many repeated look-arounds are not supported")
        least = node.least
        language = then
        for _ in range(min(_UNROLLED, _UNROLLED if node.most is None else node.most - least)):
            language = self._any_of([then, self._followed(node.part, language)])
        for _ in range(least):
            language = self._followed(node.part, language)
        return language

    # Derivatives made of languages, each only once.

    def _new(self, key: object, language: State) -> State:
        return self._known.setdefault(key, language)

    def _one(self, found: Characters) -> State:
        known = self._known.get(found)
        if known is not None:
            return known
        kinds = sum(1 << number for number, kind in enumerate(self._kinds) if kind.sample in found)
        return self._new(found, self._nothing if not kinds else self._of_kinds(kinds))

    def _of_kinds(self, kinds: int) -> State:
        return self._new(("one", kinds), State("one", kinds=kinds, need=1, pull=1))

    def _joined(self, first: State, second: State) -> State:
        if first is self._nothing or second is self._empty:
            return first
        if second is self._nothing or first is self._empty:
            return second
        if first.kind == "joined":
            return self._joined(first.parts[0], self._joined(first.parts[1], second))
        need, pull, ends = first.need + second.need, first.pull + second.pull, first.ends & second.ends
        language = State("joined", (first, second), need=need, pull=pull, ends=ends)
        return self._new(("joined", first, second), language)

    def _any_of(self, languages: Iterable[State]) -> State:
        parts = _flat("any", languages, self._nothing)
        if self._anything in parts or not parts:
            return self._anything if parts else self._nothing
        if len(parts) == 1:
            return parts[0]
        need, pull = min(part.need for part in parts), min(part.pull for part in parts)
        ends = reduce(or_, (part.ends for part in parts))
        return self._new(("any", frozenset(parts)), State("any", parts, need=need, pull=pull, ends=ends))

    def _all_of(self, languages: Iterable[State]) -> State:
        parts = _flat("all", languages, self._anything)
        if self._nothing in parts or not parts:
            return self._nothing if parts else self._anything
        if len(parts) == 1:
            return parts[0]
        need, pull = max(part.need for part in parts), sum(part.pull for part in parts)
        ends = reduce(and_, (part.ends for part in parts))
        return self._new(("all", frozenset(parts)), State("all", parts, need=need, pull=pull, ends=ends))

    def _not(self, language: State) -> State:
        if language.kind == "not":
            return language.parts[0]
        if language in (self._nothing, self._anything):
            return self._anything if language is self._nothing else self._nothing
        return self._new(("not", language), State("not", (language,), ends=EVERYWHERE & ~language.ends))

    def _repeated(self, part: State, least: int, most: int | None) -> State:
        if most == 0 or part is self._empty or (part is self._nothing and least == 0):
            return self._empty
        if part is self._nothing or (least, most) == (1, 1):
            return part
        if part is self._anything.parts[0] and (least, most) == (0, None):
            return self._anything
        need, pull, ends = least * part.need, least * part.pull, part.ends if least else EVERYWHERE
        language = State("repeated", (part,), 0, least, most, need=need, pull=pull, ends=ends)
        return self._new(("repeated", part, least, most), language)

    # Reading.

    def _after(self, language: State, before: Beside, number: int) -> State:
        """What is left of a language after a character of a kind."""
        key = (language, before, number)
        known = self._afters.get(key)
        if known is None:
            self._counts.news += 1
            if self._counts.news > _MOST_NEWS:
                raise PatternError(_TOO_LONG)
            known = self._afters[key] = self._read(language, before, number)
        return known

    def _read(self, language: State, before: Beside, number: int) -> State:
        kind, parts = language.kind, language.parts
        if kind == "one":
            return self._empty if language.kinds >> number & 1 else self._nothing
        if kind == "joined":
            first = self._joined(self._after(parts[0], before, number), parts[1])
            skipped = parts[0].ends & bit(before, self._kinds[number].beside)
            return self._any_of([first, self._after(parts[1], before, number)]) if skipped else first
        if kind == "repeated":
            most = None if language.most is None else language.most - 1
            rest = self._repeated(parts[0], max(language.least - 1, 0), most)
            return self._joined(self._after(parts[0], before, number), rest)
        afters = [self._after(part, before, number) for part in parts]
        if kind == "any":
            return self._any_of(afters)
        if kind == "all":
            return self._all_of(afters)
        return self._not(afters[0]) if kind == "not" else self._nothing


class _Step(NamedTuple):
    """A place on the path of a search: the language left there, the character that led to it, and the ways from it."""

    language: State
    before: Beside
    text: str
    ways: Iterator[tuple[State, Kind]]


def _check_effort(node: Node) -> None:
    """Raise PatternError for a node that is too long to be found anywhere in a text."""
    if node.effort > _MOST_ANYWHERE:
        raise PatternError(_TOO_LONG)


def _flat(kind: str, languages: Iterable[State], neutral: State) -> tuple[State, ...]:
    """Derivatives without duplicates and the neutral one; those of the same kind are replaced by their parts."""
    parts = (part for language in languages for part in (language.parts if language.kind == kind else (language,)))
    return tuple(dict.fromkeys(part for part in parts if part is not neutral))
