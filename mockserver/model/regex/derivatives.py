"""A search for a text that patterns match, in sets of texts ("states") and what is left of each after a character.

A state is the set of texts that are left to be matched (Brzozowski's derivatives): reading a character turns one state
into another, and both "and" and "not" are as easy as "or", which look-arounds need. Equal states are one object, so
that every step is computed only once for a search. Characters that no pattern distinguishes are one kind.

A text is searched near another, which a walk has written: its characters come first wherever anything is left after
them. So a text that matches is found as it is, and most others in natural ones.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

from mockserver.core.seeding import Draws
from mockserver.model.regex.char_classes import ANY, NONE, WORD, Characters, kinds_of
from mockserver.model.regex.sizes import PatternError
from mockserver.model.regex.syntax import Node, nodes

# The most steps of a search, and of one near a text; and how many characters beyond the wanted length each may go.
_MOST_STEPS, _MOST_STEPS_NEAR = 100_000, 30_000
_MOST_WANDERED, _MOST_WANDERED_NEAR = 256, 16
# Additional steps for each required character.
_FREE_STEPS = 64
# How many characters of a kind are tried where some texts are excluded.
_MOST_TRIED = 200
_NEVER = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A set of texts, by its `kind`.

    - one: each character of a set (`found`)
    - joined: the texts of the first of the `parts`, each with one of the second after it; without parts, the empty text
    - repeated: those of the part, `least` to `most` times
    - any, all, not: those of one of the parts, of each, or all but those of the part; any without parts is no text
    - ahead, behind: the empty text, where all that follows it, or all that precedes it, is one of the part

    `ends` tells whether it has the empty text. `need` is a lower bound of the length of its texts, `pull` an estimate
    of the distance to an end. A state is `open` if it looks ahead beyond its own end, so that it depends on what it is
    joined with, and `back` if it looks behind, so that it changes with each character before it.
    """

    kind: str
    parts: tuple["State", ...]
    found: Characters
    least: int
    most: int | None
    ends: bool
    need: int
    pull: int
    open: bool
    back: bool


class _Step(NamedTuple):
    """A place on the path of a search: the state left there, the character that led to it, and the ways from it."""

    state: State
    character: str
    ways: Iterator[tuple[State, str]]


class MatchSearch:
    """A search for texts that all `wanted` nodes match and no `unwanted` one: from end to end if `whole`, or anywhere.

    Raises PatternError for what is not supported here, and for what takes too long. `steps` counts what was done.
    """

    def __init__(self, wanted: Sequence[Node], unwanted: Sequence[Node] = (), *, whole: bool) -> None:
        self.steps, self._most_steps = 0, _MOST_STEPS
        sets = {node.found for root in (*wanted, *unwanted) for node in nodes(root) if node.kind == "one"}
        self._kinds = kinds_of({ANY, *sets})
        self._known: dict[object, State] = {}
        self._afters: dict[tuple[State, int], State] = {}
        self._shifts: dict[tuple[State, int], State] = {}
        self._nothing, self._empty = self._new("any", ()), self._new("joined", ())
        self._any_one = self._new("one", (), ANY)
        self._anything = self._new("repeated", (self._any_one,))
        around = [] if whole else [self._anything]
        found = [self._row([*around, self._state(node), *around]) for node in wanted]
        excluded = [self._row([*around, self._state(node), *around]) for node in unwanted]
        self._here = self._made("all", [*found, *(self._made("not", [state]) for state in excluded)])

    def read(self, text: str) -> None:
        """From now on, search for what may follow a text."""
        for character in text:
            self._here = self._after(self._here, self._kind_of(character))

    def find(self, draws: Draws, least: int, most: int, near: str = "", others: Collection[str] = ()) -> str | None:
        """A text of `least` to `most` characters that is none of the `others`; None if there is none.

        It follows the text that it should be `near` for as long as anything can match that, unless it then gets long.
        """
        if near:
            with suppress(PatternError):
                text = self._search(draws, least, most, near, others)
                if text is not None:
                    return text
        return self._search(draws, least, most, "", others)

    def _search(self, draws: Draws, least: int, most: int, near: str, others: Collection[str]) -> str | None:
        self._most_steps = self.steps + (_MOST_STEPS_NEAR if near else _MOST_STEPS) + _FREE_STEPS * least
        need = self._here.need
        target = min(most, max(least, need, len(near) or need + draws.below(4)))
        most = min(most, max(target, self._here.pull) + (_MOST_WANDERED_NEAR if near else _MOST_WANDERED))

        def step(state: State, character: str, length: int) -> _Step:
            favourite = near[length : length + 1]
            ways = self._ways(state, favourite, draws, target - length, most - length, several=bool(others))
            return _Step(state, character, ways)

        path = [step(self._here, "", 0)]
        # The states from which nothing is found, by length; and how much of the path has led to one of the others.
        failed: set[tuple[State, int]] = set()
        shared = -1
        while path:
            here, length = path[-1], len(path) - 1
            complete = here.state.ends and length >= least
            if complete and others and "".join(each.character for each in path) in others:
                complete, shared = False, length
            if complete and length >= target:
                break
            way = next((way for way in here.ways if (way[0], length + 1) not in failed), None)
            if way is not None:
                path.append(step(*way, length + 1))
            elif complete:
                break
            else:
                path.pop()
                if length > shared:
                    failed.add((here.state, length))
                shared = min(shared, length - 1)
        return "".join(each.character for each in path) if path else None

    def _ways(
        self, state: State, favourite: str, draws: Draws, wanted: int, room: int, *, several: bool
    ) -> Iterator[tuple[State, str]]:
        """What is left after each character that may follow, the most promising first, if there is room for it.

        After a character of each kind, or after `several`.
        """
        usual = 0
        if favourite:
            usual = self._kinds[self._kind_of(favourite)].rank
            for character in (favourite, favourite.upper()[0]):
                further = self._after(state, self._kind_of(character))
                if further.need < room:
                    yield further, character
        weighed = []
        for number, kind in enumerate(self._kinds):
            self._spend(1)
            further = self._after(state, number)
            if further.need < room:
                # While there is room all ways are similarly good; later, those that lead to an end are preferred.
                hasty = wanted <= further.pull
                # If a way leads no nearer to the end, a word may have to end first: word characters weigh more.
                stuck = hasty and further.pull >= state.pull > 0 and kind.usual[0] in WORD
                weight = draws.below(40) + 12 * abs(kind.rank - usual) + 40 * stuck
                weighed.append((weight + (1000 if hasty else 20) * further.pull, number, further))
        for _, number, further in sorted(weighed, key=lambda row: row[:2]):
            kind = self._kinds[number]
            yield further, draws.pick(kind.usual)
            if several:
                yield from ((further, each) for each in chain(kind.usual, map(chr, islice(kind.codes, _MOST_TRIED))))

    def _kind_of(self, character: str) -> int:
        return next(number for number, kind in enumerate(self._kinds) if character in kind)

    def _spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self._most_steps:
            raise PatternError("no matching text was found within reasonable time")

    # States are made of nodes and of other states, each only once and in its simplest form.

    def _state(self, node: Node) -> State:
        parts = [self._state(part) for part in node.parts]
        match node.kind:
            case "one":
                return self._new("one", (), node.found) if node.found.ranges else self._nothing
            case "sequence" | "group":
                return self._row(parts)
            case "either":
                return self._made("any", parts)
            case "repeat":
                return self._made("repeated", parts, node.least, node.most)
            case "ahead":
                seen = self._row([*parts, self._anything])
            case "behind" if not parts[0].open:
                seen = self._row([self._anything, *parts])
            case kind:
                what = "a look-ahead inside a look-behind is" if kind == "behind" else "back-references are"
                raise PatternError(f"{what} not supported here")
        return self._made(node.kind, [seen if node.wanted else self._made("not", [seen])])

    def _row(self, states: Sequence[State]) -> State:
        row = self._empty
        for state in reversed(states):
            row = self._joined(state, row)
        return row

    def _made(self, kind: str, parts: Sequence[State], least: int = 0, most: int | None = None) -> State:
        first = parts[0]
        match kind:
            case "joined":
                return self._joined(first, parts[1])
            case "any" | "all":
                return self._combined(kind, parts)
            case "not" if first.kind == "not":
                return first.parts[0]
            case "not" if first is self._nothing or first is self._anything:
                return self._anything if first is self._nothing else self._nothing
            case "ahead" | "behind" if first is self._nothing or first is self._anything:
                return self._nothing if first is self._nothing else self._empty
            case "repeated" if most == 0 or first is self._empty or (first is self._nothing and least == 0):
                return self._empty
            case "repeated" if first is self._nothing or (least, most) == (1, 1):
                return first
            case "repeated" if first.need == 0 and (first.open or first.back):
                if (least, most) == (0, 1):
                    return self._combined("any", [first, self._empty])
                raise PatternError("what looks around and may be empty cannot be repeated here")
        return self._new(kind, tuple(parts), NONE, least, most)

    def _joined(self, first: State, then: State) -> State:
        if first is self._nothing or then is self._empty:
            return first
        if then is self._nothing or first is self._empty:
            return then
        if first.kind == "joined":
            links = []
            while first.kind == "joined":
                links.append(first.parts[0])
                first = first.parts[1]
            return self._row([*links, first, then])
        if first.kind == "any" and first.open:
            # An option may look ahead at what follows.
            return self._combined("any", [self._joined(part, then) for part in first.parts])
        if first is self._anything and then is self._any_one:
            first, then = then, first  # so that after any character, simply anything is left
        if first.kind == "ahead" and then.need and not then.open:
            seen = first.parts[0].parts[0] if first.parts[0].kind == "not" else first.parts[0]
            if seen.kind == "joined" and seen.parts[0].kind == "one" and seen.parts[1] is self._anything:
                # It looks at a single character, and so not beyond what follows.
                return self._combined("all", [first.parts[0], then])
        return self._new("joined", (first, then))

    def _combined(self, kind: str, states: Sequence[State]) -> State:
        neutral, last = self._nothing, self._anything
        if kind == "all":
            neutral, last = last, neutral
        # Parts of the same kind are replaced by their own.
        flat = chain.from_iterable(state.parts if state.kind == kind else (state,) for state in states)
        parts = tuple(dict.fromkeys(part for part in flat if part is not neutral))
        if last in parts:
            return last
        if len(parts) > 1:
            return self._new(kind, parts)
        return parts[0] if parts else neutral

    def _new(
        self, kind: str, parts: tuple[State, ...], found: Characters = NONE, least: int = 0, most: int | None = None
    ) -> State:
        """The state, or the equal one that was made before."""
        key = kind, frozenset(parts) if kind in ("any", "all") else parts, found, least, most
        if key not in self._known:
            self._spend(1 + len(parts))
            ends = [part.ends for part in parts]
            needs, pulls = [part.need for part in parts], [part.pull for part in parts]
            match kind:
                case "one":
                    measures = False, 1, 1
                case "joined":
                    measures = all(ends), sum(needs), sum(pulls)
                case "any":
                    measures = any(ends), min(needs, default=_NEVER), min(pulls, default=_NEVER)
                case "all":
                    measures = all(ends), max(needs), sum(pulls)
                case "repeated":
                    measures = least == 0 or ends[0], least * needs[0], least * pulls[0]
                case "ahead":
                    measures = ends[0], 0, pulls[0]
                case _:
                    measures = ends[0] != (kind == "not"), 0, 0
            opened = kind == "ahead" or (kind in ("joined", "any", "repeated") and any(part.open for part in parts))
            back = kind == "behind" or any(part.back for part in parts)
            self._known[key] = State(kind, parts, found, least, most, *measures, opened, back)
        return self._known[key]

    # Reading.

    def _after(self, state: State, kind: int) -> State:
        """What is left of a state after a character of a kind."""
        if (state, kind) not in self._afters:
            self._spend(1 + len(state.parts))
            self._afters[state, kind] = self._rest(state, kind)
        return self._afters[state, kind]

    def _rest(self, state: State, kind: int) -> State:
        match state.kind:
            case "one":
                return self._empty if self._kinds[kind].usual[0] in state.found else self._nothing
            case "any" | "all" | "not" if state.parts:
                return self._made(state.kind, [self._after(part, kind) for part in state.parts])
            case "joined" if state.parts:
                first, then = state.parts
            case "repeated":
                first, then = state, self._empty
            case _:
                return self._nothing
        if first.kind == "ahead":
            return self._combined("all", [self._after(first.parts[0], kind), self._after(then, kind)])
        part, further = first, then
        if first.kind == "repeated":
            most = None if first.most is None else first.most - 1
            part = first.parts[0]
            further = self._joined(self._made("repeated", [part], max(first.least - 1, 0), most), then)
        if part.open:
            # What it looks at goes on beyond it: it is read together with what follows.
            rest = self._after(self._joined(part, further), kind)
        else:
            rest = self._after(part, kind)
            rest = rest if rest is self._nothing else self._joined(rest, self._shifted(further, kind))
        return self._combined("any", [rest, self._after(then, kind)]) if first.ends else rest

    def _shifted(self, state: State, kind: int) -> State:
        """A state that is still to come, with what it looks behind at when a character of a kind has been read."""
        if not state.back:
            return state
        if (state, kind) not in self._shifts:
            shift = self._after if state.kind == "behind" else self._shifted
            parts = [shift(part, kind) for part in state.parts]
            self._shifts[state, kind] = self._made(state.kind, parts, state.least, state.most)
        return self._shifts[state, kind]
