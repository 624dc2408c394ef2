"""The registry in which each namespace keeps its own stubs, and chooses the one that answers a request."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import PurePath
from typing import Any, NamedTuple

from mockserver.core.generation import Measures
from mockserver.core.json_values import Path, identity
from mockserver.core.matching.requests import (
    ANYTHING,
    Facts,
    Mismatch,
    RequestMatcher,
    constrains,
    distance,
    literal_values,
    matches,
    mismatches,
    only,
    parts_of,
)
from mockserver.core.matching.whole_requests import WHOLE
from mockserver.core.messages import pluralize
from mockserver.state.stubs.stub import MEASURED, OTHER_IDS, THE_SAME, WHERE, Prepared, Step, Stub, use_of

# How many of the nearest stubs are listed for a request without a match.
_NEAREST = 3
# Fewer stubs are tried sooner than looked up by the values that they require.
_FEW = 16
_SCALARS = (str, int, float)
# Trying these matchers has no effect, so that one may be tried before the others. Searches for regular expressions use
# up a request's time budget, and functions may raise exceptions.
_HARMLESS = ("equals", "one_of", "contains", "at_least", "at_most", "exists")


# How far a stub is from a request: whether it matches any, whether it is for requests elsewhere, and in how many places
# the request differs.
_Distance = tuple[bool, bool, int]

# Whether an answer is possible for a request at all.
Fits = Callable[[Prepared], bool]


class StubMatch(NamedTuple):
    """The stub that answers a request, its next answer, and all that the request has met.

    `prepared` is None if its answers are exhausted, and the request is refused for that. `stale` is where the request
    differs from the one that the answer was recorded for.
    """

    stub: Stub
    prepared: Prepared | None
    criteria: tuple[RequestMatcher, ...] = ()
    stale: tuple[Mismatch, ...] = ()


# A stub, its next step, and how often it has been used.
_Candidate = tuple[Stub, Step | None, int]


class NearMiss(NamedTuple):
    """A stub that does not match a request, and its differences."""

    name: str
    differences: tuple[Mismatch, ...]


class HandlerError(Exception):
    """A user's function has failed; the message names its stub, what it raised, and the line."""


def raised(error: Exception) -> str:
    """The exception that a user's function has raised, with its line, since the test shows no traceback of it."""
    step = error.__traceback__
    while step is not None and step.tb_frame.f_globals.get("__name__", "").startswith("mockserver."):
        step = step.tb_next
    at = "" if step is None else f" ({PurePath(step.tb_frame.f_code.co_filename).name}:{step.tb_lineno})"
    return f"raised {type(error).__name__}: {error}{at}"


class _Index:
    """Stubs in the order in which they are tried, by values that they require a field to equal, so that few of many are
    tried for a request.

    Each stub is filed under the one of its required values that the fewest others require. It is only looked at if the
    request has that value. A stub without such a requirement is always looked at.
    """

    __slots__ = ("_rest", "_tables", "stubs")

    def __init__(self, stubs: tuple[Stub, ...]) -> None:
        self.stubs = stubs
        self._rest: list[int] = []
        self._tables: dict[tuple[str, Path], dict[Hashable, list[int]]] = {}
        required = [_required(stub) for stub in stubs] if len(stubs) >= _FEW else []
        shared = Counter((place, key) for each in required for place, keys in each.items() for key in keys)
        for number, each in enumerate(required):
            if not each:
                self._rest.append(number)
                continue
            place = min(each, key=lambda place: sum(shared[place, key] for key in each[place]))
            table = self._tables.setdefault(place, {})
            for key in each[place]:
                table.setdefault(key, []).append(number)

    def candidates(self, facts: Facts) -> Iterable[Stub]:
        """The stubs that a request may match."""
        if not self._tables:
            return self.stubs
        found = {
            number
            for (field, path), table in self._tables.items()
            for value in facts.values(field, path)
            if isinstance(value, _SCALARS)
            for number in table.get(identity(value), ())
        }
        return [self.stubs[number] for number in sorted(found.union(self._rest))]


def _required(stub: Stub) -> Mapping[tuple[str, Path], frozenset[Hashable]]:
    """The keys of the values of which a field must have one, by the field's place."""
    found: dict[tuple[str, Path], frozenset[Hashable]] = {}
    for field, matcher, path in stub.criteria.fields:
        if matcher.word not in _HARMLESS:
            return found
        values = matcher.equal_to
        if values and all(isinstance(value, _SCALARS) for value in values):
            found.setdefault((field, path), frozenset(map(identity, values)))
    if (exact := stub.exact) is not None:
        found[WHOLE, exact.volatile] = frozenset((exact.text,))
    return found


class StubRegistry:
    """The stubs of a namespace and their counts. Those of the settings are passed to each call, and only counted here.

    Those that were `added` at run time are to be read only.
    """

    def __init__(self) -> None:
        self.added: dict[str, Stub] = {}
        self._used: dict[str, int] = {}
        self._made = 0
        # The settings' stubs, and the index of all stubs with them; None if that is out of date.
        self._indexed: tuple[Sequence[Stub], _Index] | None = None

    def add(self, stub: Stub) -> str:
        """Add a stub, or replace the one of the same name, and count from zero. Return its name."""
        return self.extend((stub,))[0]

    def extend(self, stubs: Sequence[Stub]) -> list[str]:
        """Add several stubs in the same way. Those without a name get one that none of the others has."""
        names, given = [], {stub.name for stub in stubs}
        for stub in stubs:
            if not stub.name:
                stub = stub._replace(name=self._new_name(given))
            self.added[stub.name] = stub
            self._used.pop(stub.name, None)
            names.append(stub.name)
        self._indexed = None
        return names

    def _new_name(self, given: Collection[str]) -> str:
        """A name that no added stub has, and none of those that are given."""
        while True:
            self._made += 1
            name = f"stub-{self._made}"
            if name not in self.added and name not in given:
                return name

    def remove(self, name: str) -> bool:
        """Remove a stub; return False if none of that name was added."""
        if self.added.pop(name, None) is None:
            return False
        self._used.pop(name, None)
        self._indexed = None
        return True

    def put(self, stubs: Sequence[Stub]) -> list[str]:
        """Replace all added stubs by these, and return their names."""
        for name in self.added:
            self._used.pop(name, None)
        self.added.clear()
        return self.extend(stubs)

    def reset(self) -> None:
        """Forget all added stubs and all counts."""
        self.added, self._used, self._made, self._indexed = {}, {}, 0, None

    def recount(self) -> None:
        """Reset the counts of the settings' stubs, which have changed."""
        self._used = {name: count for name, count in self._used.items() if name in self.added}

    def uses(self) -> list[Mapping[str, Any]]:
        """The added stubs, as checks need them: `name`, `match`, `used`, and `most` (None if unlimited)."""
        return [use_of(stub, used) for stub, used in self.listed()]

    def listed(self, configured: Sequence[Stub] = ()) -> list[tuple[Stub, int]]:
        """The stubs in the order in which they are tried, each with the number of its uses."""
        return [(stub, self._used.get(stub.name, 0)) for stub in self._index(configured).stubs]

    def take(
        self,
        facts: Facts,
        configured: Sequence[Stub] = (),
        fits: Fits | None = None,
        *,
        is_refused: bool = False,
        named: Sequence[str] = (),
    ) -> StubMatch | None:
        """The answer to a request, counted as used: that of the first stub that matches and is not used up.

        Among recorded answers the one to this very request goes first, then those to one with other ids in their order,
        each once, then that to the most similar one. Answers that do not fit are skipped, and so are stubs whose match
        leaves out one of the fields that are to be `named`. A request that `is_refused` gets only what the vendor has
        all the same answered to it. Raises HandlerError if a user's function fails.
        """
        candidates = self._matching(facts, configured, fits, named, is_refused=is_refused)
        chosen = _chosen(candidates, facts, is_refused=is_refused)
        if chosen is None:
            return None
        stub, step, used = chosen
        if step is None:
            return StubMatch(stub, None)
        self._used[stub.name] = used + 1
        stale = stub.recorded.differences(facts) if stub.recorded is not None else ()
        return StubMatch(stub, step.prepared, (stub.criteria, step.criteria), stale)

    def _matching(
        self, facts: Facts, configured: Sequence[Stub], fits: Fits | None, named: Sequence[str], *, is_refused: bool
    ) -> Iterator[_Candidate]:
        """The stubs that match, each with its next step and its uses; no step if it is exhausted and to refuse."""
        for stub in self._index(configured).candidates(facts):
            if is_refused and stub.exact is None:
                continue
            used = self._used.get(stub.name, 0)
            step = stub.step(used)
            if named and not all(_names(stub, step, field) for field in named):
                continue
            if (step is None and stub.exhausted != "refuse") or (step and not _is_possible(stub, step, fits)):
                continue
            try:
                met = matches(stub.criteria, facts) and (step is None or matches(step.criteria, facts))
                if met and ((exact := stub.exact) is None or exact.equals(facts)):
                    yield stub, step, used
            except Exception as error:
                raise HandlerError(f"stub {stub.name!r}: its predicate {raised(error)}") from error

    def explain(
        self,
        facts: Facts,
        configured: Sequence[Stub] = (),
        fits: Fits | None = None,
        named: Sequence[str] = (),
    ) -> tuple[NearMiss, ...]:
        """Why no stub matches a request: the nearest stubs, and how the request differs from what they want. Of fields
        that are to be `named` it must have what they say."""
        candidates: list[tuple[_Distance, Stub, int]] = []
        close = 0
        for stub, used in self.listed(configured):
            step = stub.step(used)
            if named and not (all(_names(stub, step, field) for field in named) and _agree(stub, step, facts, named)):
                continue
            if step is None or close < _NEAREST:
                # A stub that is only used up is the nearest of all, unless it would have matched any request.
                far = stub.asks_nothing, not _agree(stub, step, facts, WHERE), _distance(stub, step, facts)
                # Any other stub differs in at least one place: once enough differ in just one, no other is nearer.
                close += far <= (False, False, 1)
                candidates.append((far, stub, used))
        nearest = sorted(candidates, key=itemgetter(0))[:_NEAREST]
        return tuple(NearMiss(stub.name, tuple(_differences(stub, used, facts, fits))) for _, stub, used in nearest)

    def has_paths(self, configured: Sequence[Stub] = ()) -> bool:
        """Whether stubs name a path, which may be one that no dialect serves."""
        both = (*self.added.values(), *configured)
        return any(_names(stub, step, "path") for stub in both for step in stub.steps)

    def paths(self, configured: Sequence[Stub] = ()) -> set[str]:
        """The paths that stubs name in full."""
        both = (*self.added.values(), *configured)
        criteria = (each for stub in both for each in (stub.criteria, *(step.criteria for step in stub.steps)))
        return {str(path) for each in criteria for path in literal_values(each, "path")}

    def _index(self, configured: Sequence[Stub]) -> _Index:
        kept = self._indexed
        if kept is None or kept[0] is not configured:
            both = [*self.added.values(), *(stub for stub in configured if stub.name not in self.added)]
            kept = self._indexed = configured, _Index(tuple(sorted(both, key=lambda stub: -stub.priority)))
        return kept[1]


def _chosen(candidates: Iterable[_Candidate], facts: Facts, *, is_refused: bool) -> _Candidate | None:
    """The first stub that matches, or if that is recorded, the best of those of its priority."""
    best, most = None, 0
    for candidate in candidates:
        stub, step, _ = candidate
        if best is not None and (stub.recorded is None or stub.priority < best[0].priority):
            break
        likeness = stub.recorded.likeness(facts) if stub.recorded is not None else 0
        if is_refused and likeness != THE_SAME:
            continue
        if stub.recorded is None or step is None or likeness == THE_SAME:
            return candidate if best is None or likeness == THE_SAME else best
        # Of those with other ids each one answers once, and then the last.
        if best is None or likeness > most or (likeness == most == OTHER_IDS and best[2]):
            best, most = candidate, likeness
    return best


def _is_possible(stub: Stub, step: Step, fits: Fits | None) -> bool:
    """Whether the answer may fit the request: where a stub says at which endpoint, its function knows which would."""
    if fits is None or fits(step.prepared):
        return True
    return callable(step.prepared.content) and any(_names(stub, step, each) for each in ("operation", "path", "method"))


def _names(stub: Stub, step: Step | None, field: str) -> bool:
    """Whether a stub says at its next step what a field of its requests has."""
    return constrains(stub.criteria, field) or (step is not None and constrains(step.criteria, field))


def exhausted(stub: Stub) -> NearMiss:
    """A stub as a near miss that has no more answers."""
    most = stub.most or 0
    at_most = Mismatch("times", f"at most {pluralize(most, 'use')}", f"one more after {pluralize(most, 'use')}")
    return NearMiss(stub.name, (at_most,))


def _agree(stub: Stub, step: Step | None, facts: Facts, fields: Sequence[str]) -> bool:
    """Whether a request has in some fields what a stub asks there; of those that say where requests go, one that has
    not is hardly for the stub."""
    try:
        return all(
            matches(only(each, fields), facts) for each in (stub.criteria, ANYTHING if step is None else step.criteria)
        )
    except Exception:
        return False


def _distance(stub: Stub, step: Step | None, facts: Facts) -> int:
    try:
        further = 0 if step is None or step.criteria is ANYTHING else distance(step.criteria, facts)
        further += 0 if (exact := stub.exact) is None else exact.distance(facts)
        return distance(stub.criteria, facts) + further
    except Exception:
        return 1


def _differences(stub: Stub, used: int, facts: Facts, fits: Fits | None) -> Iterator[Mismatch]:
    """How a request differs from what a stub wants after so many uses."""
    step = stub.step(used)
    yield from _mismatches(stub.criteria, facts)
    if (exact := stub.exact) is not None:
        yield from exact.differences(facts)
    if step is None:
        yield from exhausted(stub).differences
        return
    if not _is_possible(stub, step, fits):
        content = step.prepared.content
        model = "a request to a model, since this reply is written by one"
        wanted = f"a request for {MEASURED[content.kind]}" if isinstance(content, Measures) else model
        yield Mismatch("operation", wanted, "another")
    for each in _mismatches(step.criteria, facts):
        yield each._replace(field=f"script[{used}].{each.field}")


def _mismatches(criteria: RequestMatcher, facts: Facts) -> Iterator[Mismatch]:
    """The mismatches of a request, with the errors of predicates, which other criteria may be meant to prevent."""
    for part in parts_of(criteria):
        try:
            yield from mismatches(part, facts)
        except Exception as error:
            yield Mismatch("predicate", "an answer", f"{type(error).__name__}: {error}")
