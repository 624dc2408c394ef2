"""Patterns as states (sets of texts): what may follow after each character, and a search for a text of a state.

Strategy. A state is the set of texts that are left to be matched (Brzozowski's derivatives): reading a character turns
one state into another, and both "and" and "not" are as easy as "or", which look-arounds need. Equal states are one
object, so every step is computed only once for a pattern. Characters that no part of the pattern distinguishes are one
kind. Whether a place is an end of the text, of a line or of a word depends on the kinds of the characters beside it.

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
)
from mockserver.model.regex.sizes import PatternError
from mockserver.model.regex.syntax import LOOKS, Node, has, nodes, one, repeat, starts_the_text

_MOST_STEPS = 40_000
# Additional steps for each required character, and a last resort against an endless number of states.
_FREE_STEPS = 64
_MOST_NEWS = 30_000
_TOO_LONG = "no matching text was found within reasonable time"
_MOST_COPIES = 64
# The effort of a node that may begin anywhere in a text: after each character as many states are left of it as there
# are beginnings, so the time grows with the square.
_MOST_ANYWHERE = 600
# How many characters beyond the wanted length a search may go before it turns back.
_MOST_WANDERED = 256
# The maximum number of repetitions of a part with a look-around: fewer texts can be found, but no wrong ones.
_UNROLLED = 12
_WHATEVER = repeat(one(ANY), 0, None)


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
    """The counters of the current search, separate for each thread, since threads share the states."""

    steps = 0
    free = 0
    news = 0


class Derivatives:
    """The states of one pattern: makes, reads and searches them."""

    def __init__(self, root: Node) -> None:
        sets = (node.found for node in nodes(root) if node.kind == "one")
        self._kinds = kinds_of({ANY, WORD, members("\n"), *sets})
        self._known: dict[object, State] = {}
        self._ones: dict[Characters, State] = {}
        self._afters: dict[tuple[State, Beside, int], State] = {}
        self._counts = _Counts()
        self._nothing = State("nothing", need=1 << 40, pull=1 << 40)
        self._empty = State("empty", ends=EVERYWHERE)
        self._anything = State("repeated", (self._one(ANY),), least=0, most=None, ends=EVERYWHERE)

    @property
    def size(self) -> int:
        """The size of the cache, in states and steps between them."""
        return len(self._known) + len(self._afters)

    @property
    def steps(self) -> int:
        """The number of steps of the last search."""
        return self._counts.steps + self._counts.free

    def of(self, node: Node, *, before: bool = False, after: bool = False) -> State:
        """The texts that a node matches from end to end, or with any text `before` the match, `after` it, or both."""
        self._counts.steps = 0
        parts = node.parts if node.kind == "sequence" else (node,)
        if before and not starts_the_text(node):
            if node.effort > _MOST_ANYWHERE:
                raise PatternError(_TOO_LONG)
            parts = (_WHATEVER, *parts)
        return self._row(parts, self._anything if after else self._empty, outermost=True)

    def common(self, wanted: Iterable[State], unwanted: Iterable[State]) -> State:
        """The texts of all wanted states, and of none of the unwanted."""
        return self._all_of([*wanted, *map(self._not, unwanted)])

    def accepts(self, state: State, text: str, before: Beside = Beside.EDGE, after: Beside = Beside.EDGE) -> bool:
        """Whether a text, between `before` and `after`, is in a state."""
        rest, last = self.rest(state, text, before)
        return bool(rest.ends & bit(last, after))

    def rest(self, state: State, text: str, before: Beside = Beside.EDGE) -> tuple[State, Beside]:
        """What is left of a state after a text, and what then precedes it."""
        self._counts.news = 0
        for character in text:
            number = self._kind_of(character)
            state, before = self._after(state, before, number), self._kinds[number].beside
        return state, before

    def find(self, state: State, draws: Draws, least: int, most: int, before: Beside = Beside.EDGE) -> str | None:
        """A text of the state of `least` to `most` characters; None if there is none, or none was found."""
        # Cached steps count too, so that the result does not depend on earlier searches.
        self._counts.free = _FREE_STEPS * min(least, most)
        self._counts.steps = self._counts.news = -self._counts.free
        target = min(most, max(least, state.need + draws.below(4)))
        most = min(most, target + _MOST_WANDERED)
        path = [_Step(state, before, "", self._ways(state, before, draws, target, most))]
        failed: set[tuple[State, Beside, int]] = set()
        while path:
            here, length = path[-1], len(path) - 1
            if length >= target and here.state.ends & bit(here.before, Beside.EDGE):
                return "".join(step.text for step in path)
            way = next((w for w in here.ways if (w[0], w[1].beside, length + 1) not in failed), None)
            if way is not None:
                text = draws.pick(way[1].found.usual)
                ways = self._ways(way[0], way[1].beside, draws, target - length - 1, most - length - 1)
                path.append(_Step(way[0], way[1].beside, text, ways))
                continue
            if length >= least and here.state.ends & bit(here.before, Beside.EDGE):
                return "".join(step.text for step in path)
            failed.add((here.state, here.before, length))
            path.pop()
        return None

    def _ways(self, state: State, before: Beside, draws: Draws, wanted: int, room: int) -> Iterator[tuple[State, Kind]]:
        """The states to which each kind of character leads, the most promising first, if there is room for them."""
        weighed = []
        for number, kind in enumerate(self._kinds):
            self._step()
            further = self._after(state, before, number)
            if further is not self._nothing and further.need < room:
                # While there is room all ways are similarly good; later, those that lead to an end are preferred.
                hasty = wanted <= further.pull
                # If a way leads no nearer to the end, a word may have to end first: word characters weigh more.
                stuck = hasty and further.pull >= state.pull > 0 and kind.beside is Beside.WORD
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

    # From nodes to states.

    def _followed(self, node: Node, then: State) -> State:
        """The texts of a node, each followed by one of `then`, since a look-ahead also examines what follows it."""
        self._step()
        kind = node.kind
        if kind == "one":
            return self._joined(self._one(node.found), then)
        if kind in STANDING:
            return self._joined(self._new(State("place", ends=STANDING[kind])), then)
        if kind == "either":
            return self._any_of([self._followed(option, then) for option in node.parts])
        if kind in ("sequence", "group"):
            return self._row(node.parts, then)
        if kind in LOOKS:
            return self._row((node,), then)
        if kind != "repeat":
            raise PatternError("back-references are not supported here")
        [part], least, most = node.parts, node.least, node.most
        if not has(part, *LOOKS):
            return self._joined(self._repeated(self._followed(part, self._empty), least, most), then)
        if least > _MOST_COPIES:
            raise PatternError("so many repeated look-arounds are not supported")
        state = then
        for _ in range(min(_UNROLLED, _UNROLLED if most is None else most - least)):
            state = self._any_of([then, self._followed(part, state)])
        for _ in range(least):
            state = self._followed(part, state)
        return state

    def _row(self, parts: tuple[Node, ...], then: State, *, outermost: bool = False) -> State:
        for number in reversed(range(len(parts))):
            part = parts[number]
            if part.kind not in LOOKS:
                then = self._followed(part, then)
                continue
            if part.kind == "behind" and not part.wanted and not outermost:
                raise PatternError("a look-behind inside a group is not supported here")
            [within] = part.parts
            if not part.wanted and has(within, *LOOKS):
                raise PatternError("a look-around inside a negative one is not supported here")
            if part.kind == "ahead":
                seen = self._followed(within, self._anything)
                then = self._all_of([then, seen if part.wanted else self._not(seen)])
            else:
                before = self._row(parts[:number], self._empty, outermost=outermost)
                seen = self._joined(self._anything, self._followed(within, self._empty))
                return self._joined(self._all_of([before, seen if part.wanted else self._not(seen)]), then)
        return then

    # Derivatives made of states, each only once.

    def _new(self, state: State) -> State:
        """The state, or the equal one that was made before."""
        parts = frozenset(state.parts) if state.kind in ("any", "all") else state.parts
        return self._known.setdefault((state.kind, parts, state.kinds, state.least, state.most, state.ends), state)

    def _one(self, found: Characters) -> State:
        if found not in self._ones:
            kinds = sum(1 << number for number, kind in enumerate(self._kinds) if kind.sample in found)
            self._ones[found] = self._new(State("one", kinds=kinds, need=1, pull=1)) if kinds else self._nothing
        return self._ones[found]

    def _joined(self, first: State, second: State) -> State:
        if first is self._nothing or second is self._empty:
            return first
        if second is self._nothing or first is self._empty:
            return second
        if first.kind == "joined":
            return self._joined(first.parts[0], self._joined(first.parts[1], second))
        need, pull, ends = first.need + second.need, first.pull + second.pull, first.ends & second.ends
        return self._new(State("joined", (first, second), need=need, pull=pull, ends=ends))

    def _any_of(self, states: Iterable[State]) -> State:
        parts = _flat("any", states, self._nothing)
        if self._anything in parts or not parts:
            return self._anything if parts else self._nothing
        if len(parts) == 1:
            return parts[0]
        need, pull = min(part.need for part in parts), min(part.pull for part in parts)
        ends = reduce(or_, (part.ends for part in parts))
        return self._new(State("any", parts, need=need, pull=pull, ends=ends))

    def _all_of(self, states: Iterable[State]) -> State:
        parts = _flat("all", states, self._anything)
        if self._nothing in parts or not parts:
            return self._nothing if parts else self._anything
        if len(parts) == 1:
            return parts[0]
        need, pull = max(part.need for part in parts), sum(part.pull for part in parts)
        ends = reduce(and_, (part.ends for part in parts))
        return self._new(State("all", parts, need=need, pull=pull, ends=ends))

    def _not(self, state: State) -> State:
        if state.kind == "not":
            return state.parts[0]
        if state in (self._nothing, self._anything):
            return self._anything if state is self._nothing else self._nothing
        return self._new(State("not", (state,), ends=EVERYWHERE & ~state.ends))

    def _repeated(self, part: State, least: int, most: int | None) -> State:
        if most == 0 or part is self._empty or (part is self._nothing and least == 0):
            return self._empty
        if part is self._nothing or (least, most) == (1, 1):
            return part
        if part is self._anything.parts[0] and (least, most) == (0, None):
            return self._anything
        need, pull, ends = least * part.need, least * part.pull, part.ends if least else EVERYWHERE
        return self._new(State("repeated", (part,), 0, least, most, need=need, pull=pull, ends=ends))

    # Reading.

    def _after(self, state: State, before: Beside, number: int) -> State:
        """What is left of a state after a character of a kind."""
        key = (state, before, number)
        known = self._afters.get(key)
        if known is None:
            self._counts.news += 1
            if self._counts.news > _MOST_NEWS:
                raise PatternError(_TOO_LONG)
            known = self._afters[key] = self._read(state, before, number)
        return known

    def _read(self, state: State, before: Beside, number: int) -> State:
        kind, parts = state.kind, state.parts
        if kind == "one":
            return self._empty if state.kinds >> number & 1 else self._nothing
        if kind == "joined":
            first = self._joined(self._after(parts[0], before, number), parts[1])
            skipped = parts[0].ends & bit(before, self._kinds[number].beside)
            return self._any_of([first, self._after(parts[1], before, number)]) if skipped else first
        if kind == "repeated":
            most = None if state.most is None else state.most - 1
            rest = self._repeated(parts[0], max(state.least - 1, 0), most)
            return self._joined(self._after(parts[0], before, number), rest)
        afters = [self._after(part, before, number) for part in parts]
        if kind == "any":
            return self._any_of(afters)
        if kind == "all":
            return self._all_of(afters)
        return self._not(afters[0]) if kind == "not" else self._nothing


class _Step(NamedTuple):
    """A place on the path of a search: the state left there, the character that led to it, and the ways from it."""

    state: State
    before: Beside
    text: str
    ways: Iterator[tuple[State, Kind]]


def _flat(kind: str, states: Iterable[State], neutral: State) -> tuple[State, ...]:
    """Derivatives without duplicates and the neutral one; those of the same kind are replaced by their parts."""
    parts = (part for state in states for part in (state.parts if state.kind == kind else (state,)))
    return tuple(dict.fromkeys(part for part in parts if part is not neutral))
