"""A search for a text that patterns match, in sets of texts ("states") and what is left of each after a character.

A state is the set of texts that are left to be matched (Brzozowski's derivatives): reading a character turns one state
into another, and both "and" and "not" are as easy as "or". So a look-ahead is one more condition on all that follows,
and a look-behind is decided by the character that was read. Equal states are one object, so that every step is computed
only once for a search. Characters that no pattern distinguishes are one kind.

A text is searched near another, which a walk has written: its characters come first wherever anything is left after
them. So a text that matches is found as it is, and most others in natural ones.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

from mockserver.core.seeding import Draws
from mockserver.model.regex.char_classes import ANY, NONE, WORD, Characters, kinds_of
from mockserver.model.regex.sizes import PatternError
from mockserver.model.regex.syntax import START, Node, nodes, one

# The most steps of a search, and of one near a text; and how many characters beyond the wanted length each may go.
_MOST_STEPS, _MOST_STEPS_NEAR = 70_000, 20_000
_MOST_WANDERED, _MOST_WANDERED_NEAR = 256, 16
# Additional steps for each required character.
_FREE_STEPS = 64
# How many characters of a kind are tried where some texts are excluded.
_MOST_TRIED = 200
_NEVER = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """What is left of a pattern: a node, so many of whose repetitions are `done`, and then another rest.

    `need` is a lower bound of the length of its texts. Without a node, it is the end.
    """

    node: Node | None = None
    then: "Rest | None" = None
    done: int = 0
    need: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A set of texts, by its `kind`.

    - end: the empty text; one: a character of a set (`found`), and then a rest
    - any, all, not: those of one of the `parts`, of each, or all but those of the part. Without parts, "any" is no text
      and "all" is every text.

    `ends` tells whether it has the empty text. `need` is a lower bound of the length of its texts, `pull` an estimate
    of the distance to an end.
    """

    kind: str
    parts: tuple["State", ...]
    found: Characters
    then: Rest | None
    ends: bool
    need: int
    pull: int


class _Step(NamedTuple):
    """A step on the path of a search: the state it led to, by which character, and the ways from there."""

    state: State
    character: str
    ways: Iterator[tuple[State, str]]


def _is_anchored(node: Node) -> bool:
    """Whether whatever a node matches is at the start of a text."""
    if node.kind == "either":
        return all(map(_is_anchored, node.parts))
    return node is START or (node.kind in ("sequence", "group") and any(map(_is_anchored, node.parts[:1])))


def _is_optional(node: Node) -> bool:
    """Whether a node matches the empty text, wherever it stands."""
    if node.kind == "repeat":
        return node.least == 0 or _is_optional(node.parts[0])
    if node.kind == "either":
        return any(map(_is_optional, node.parts))
    return node.kind in ("sequence", "group") and all(map(_is_optional, node.parts))


# The sets of look-behinds that have the last character.
Behind = frozenset[Characters]


class MatchSearch:
    """A search for texts that all `wanted` nodes match and no `unwanted` one: from end to end if `whole`, or anywhere.

    Raises PatternError for back-references, and for what takes too long. `steps` counts what was done.
    """

    def __init__(self, wanted: Sequence[Node], unwanted: Sequence[Node] = (), *, whole: bool) -> None:
        self.steps, self._most_steps = 0, _MOST_STEPS
        found = [node for root in (*wanted, *unwanted) for node in nodes(root)]
        self._kinds = kinds_of({ANY, *(node.found for node in found if node.kind in ("one", "behind"))})
        behind = {node.found for node in found if node.kind == "behind"}
        self._behind = [Behind(each for each in behind if kind.usual[0] in each) for kind in self._kinds]
        self._known: dict[object, State] = {}
        self._rests: dict[object, Rest] = {}
        self._states: dict[tuple[Rest, Behind], State] = {}
        self._afters: dict[tuple[State, int], State] = {}
        self._nothing, self._anything, self._end = self._new("any"), self._new("all"), self._new("end")
        # Where nothing may follow, and where anything may, as after a look-ahead.
        self._closed, self._open = Rest(), Rest()
        around = Node("repeat", (one(ANY),))

        def begun(node: Node) -> State:
            rest = self._rest(node, self._closed if whole else self._open)
            return self._state(rest if whole or _is_anchored(node) else self._rest(around, rest), Behind())

        excluded = [self._combined("not", [begun(node)]) for node in unwanted]
        self._here = self._combined("all", [*map(begun, wanted), *excluded])

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

    # Reading.

    def _after(self, state: State, kind: int) -> State:
        """What is left of a state after a character of a kind."""
        if not state.parts:
            if state.then is None:
                return self._nothing if state is self._end else state
            fits = self._kinds[kind].usual[0] in state.found
            return self._state(state.then, self._behind[kind]) if fits else self._nothing
        if (state, kind) not in self._afters:
            self._spend(1 + len(state.parts))
            parts = [self._after(part, kind) for part in state.parts]
            self._afters[state, kind] = self._combined(state.kind, parts)
        return self._afters[state, kind]

    def _state(self, rest: Rest, behind: Behind) -> State:
        """What a rest is where the last character is in some sets."""
        if (rest, behind) not in self._states:
            self._states[rest, behind] = self._options(rest, behind)
        return self._states[rest, behind]

    def _options(self, rest: Rest, behind: Behind) -> State:
        # What may come first, by the look-aheads that go with it.
        options: dict[State, list[State]] = defaultdict(list)
        waiting = [(rest, self._anything)]
        seen = set[tuple[object, ...]]()
        while waiting:
            rest, given = waiting.pop()
            optional = rest.node is not None and rest.node.kind == "repeat" and _is_optional(rest.node.parts[0])
            # What repeats nothing leads back to itself, or only to fewer repetitions.
            reached = (rest.node, rest.then, given) if optional else (rest, given)
            if reached in seen or given is self._nothing:
                continue
            seen.add(reached)
            self._spend(1)
            node, then = rest.node, rest.then
            if node is None or then is None:
                options[given].append(self._anything if rest is self._open else self._end)
                continue
            match node.kind:
                case "one":
                    options[given].append(self._new("one", (), node.found, then))
                case "either":
                    waiting += [(self._rest(part, then), given) for part in reversed(node.parts)]
                case "repeat":
                    if rest.done >= node.least or optional:
                        waiting.append((then, given))
                    if node.most is None or rest.done < node.most:
                        done = rest.done + 1 if node.most is not None else min(rest.done + 1, node.least)
                        waiting.append((self._rest(node.parts[0], self._rest(node, then, done)), given))
                case "behind":
                    if (node.found in behind) == node.wanted:
                        waiting.append((then, given))
                case "ahead":
                    look = self._state(self._rest(node.parts[0], self._open), behind)
                    look = look if node.wanted else self._combined("not", [look])
                    waiting.append((then, self._combined("all", [given, look])))
                case _:
                    raise PatternError("back-references are not supported here")
        found = [self._combined("all", [given, self._combined("any", states)]) for given, states in options.items()]
        return self._combined("any", found or [self._nothing])

    # Rests and states are made only once each, and states in their simplest form.

    def _rest(self, node: Node, then: Rest, done: int = 0) -> Rest:
        if node.kind in ("sequence", "group"):
            for part in reversed(node.parts):
                then = self._rest(part, then)
            return then
        if (node, then, done) not in self._rests:
            if node.kind == "ahead":
                need = max(node.parts[0].shortest * node.wanted, then.need)
            elif node.kind == "repeat":
                need = max(node.least - done, 0) * node.parts[0].shortest + then.need
            else:
                need = node.shortest + then.need
            self._rests[node, then, done] = Rest(node, then, done, need)
        return self._rests[node, then, done]

    def _combined(self, kind: str, states: Sequence[State]) -> State:
        first, absorbing = states[0], self._anything if kind == "any" else self._nothing
        if kind == "not":
            if first.kind == "not":
                return first.parts[0]
            if first is self._nothing or first is self._anything:
                return self._nothing if first is self._anything else self._anything
            return self._new(kind, (first,))
        # Parts of the same kind are replaced by their own.
        flat = chain.from_iterable(state.parts if state.kind == kind else (state,) for state in states)
        parts = tuple(dict.fromkeys(flat))
        if absorbing in parts:
            return absorbing
        return parts[0] if len(parts) == 1 else self._new(kind, parts)

    def _new(
        self, kind: str, parts: tuple[State, ...] = (), found: Characters = NONE, then: Rest | None = None
    ) -> State:
        key = kind, frozenset(parts), found, then
        if key not in self._known:
            self._spend(1)
            ends = [part.ends for part in parts]
            needs, pulls = [part.need for part in parts], [part.pull for part in parts]
            match kind:
                case "any":
                    measures = any(ends), min(needs, default=_NEVER), min(pulls, default=_NEVER)
                case "all":
                    measures = all(ends), max(needs, default=0), sum(pulls)
                case "not":
                    measures = not ends[0], 0, 0
                case _:
                    measures = then is None, 1 + then.need if then else 0, 1 + then.need if then else 0
            self._known[key] = State(kind, parts, found, then, *measures)
        return self._known[key]
