"""Stubs: prepared answers for matching requests, and the book in which each namespace keeps its own.

A stub is a sequence of steps. Which of them is next depends on how often the stub has been used; everything else that
decides an answer is in the request itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import PurePath
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mockserver.core.criteria import ANYTHING, Criteria, Difference, Facts, differences, distance, matches, parts_of
from mockserver.core.generation import Measure, Measures
from mockserver.core.timeline import RawHeaders
from mockserver.faults.rules import Fault
from mockserver.model.prepared import Speech

if TYPE_CHECKING:
    from mockserver.state.stubs.index import Index

# What measures are called in messages.
MEASURED: Mapping[Measure, str] = {"embedding": "embeddings", "scores": "scores"}
# How many of the nearest stubs are listed for a request without a match.
_NEAREST = 3


class Raw(NamedTuple):
    """A body as it is sent, in no vendor's format.

    `times` are when its events are sent, in seconds after the request; empty if the latency decides.
    """

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    times: tuple[float, ...] = ()


# A user's function, which returns a reply in the notation.
Handler = Callable[[Any], Any]


class Prepared(NamedTuple):
    """One answer: its content, or None if it is generated; the faults that strike it, its latency, seed and headers.

    A `template` is the table that this was read from, to be filled and read again for each request. `headers` replace
    others of the same name. `output_tokens` are the lengths of generated answers, in their notation.
    """

    content: Speech | Measures | Raw | Handler | None = None
    faults: tuple[Fault, ...] = ()
    latency: str | None = None
    seed: int | None = None
    headers: RawHeaders = ()
    template: Mapping[str, Any] | None = None
    output_tokens: str | None = None


# The fields that say where a request goes, before all that it asks.
_WHERE = ("dialect", "operation", "path", "method")

# How far a stub is from a request: whether it matches any, whether it is for requests elsewhere, and in how many places
# the request differs.
_Distance = tuple[bool, bool, int]

# Whether an answer is possible for a request at all.
Fits = Callable[[Prepared], bool]


class Step(NamedTuple):
    """An answer, and criteria for its request in addition to those of the whole stub."""

    prepared: Prepared
    criteria: Criteria = ANYTHING


_GENERATED = Step(Prepared())


class Stub(NamedTuple):
    """A sequence of answers for matching requests. With `stays` the last one is repeated.

    `times` limits how often the stub is used. `table` is what it was read from, `origin` the place of that: empty for a
    stub that was added at run time.
    """

    name: str = ""
    criteria: Criteria = ANYTHING
    steps: tuple[Step, ...] = (_GENERATED,)
    stays: bool = True
    priority: int = 0
    times: int | None = None
    table: Mapping[str, Any] = MappingProxyType({})
    origin: str = ""

    @property
    def asks_nothing(self) -> bool:
        """Whether it matches any request."""
        return self.criteria == ANYTHING and all(step.criteria == ANYTHING for step in self.steps)

    @property
    def most(self) -> int | None:
        """How often it can be used; None if unlimited."""
        return self.times if self.stays else len(self.steps)

    def step(self, used: int) -> Step | None:
        """The step after so many uses; None if the stub is used up."""
        if self.most is not None and used >= self.most:
            return None
        return self.steps[min(used, len(self.steps) - 1)]


class StubMatch(NamedTuple):
    """The stub that answers a request, its next answer, and all that the request has met."""

    stub: Stub
    prepared: Prepared
    criteria: tuple[Criteria, ...] = ()


class NearMiss(NamedTuple):
    """A stub that does not match a request, and its differences."""

    name: str
    differences: tuple[Difference, ...]


class HandlerError(Exception):
    """A user's function has failed; the message names its stub, what it raised, and the line."""


def raised(error: Exception) -> str:
    """The exception that a user's function has raised, with its line, since the test shows no traceback of it."""
    step = error.__traceback__
    while step is not None and step.tb_frame.f_globals.get("__name__", "").startswith("mockserver."):
        step = step.tb_next
    at = "" if step is None else f" ({PurePath(step.tb_frame.f_code.co_filename).name}:{step.tb_lineno})"
    return f"raised {type(error).__name__}: {error}{at}"


class StubRegistry:
    """The stubs of a namespace and their counts. Those of the settings are passed to each call, and only counted here.

    Adding, removing and listing is thread-safe.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._added: dict[str, Stub] = {}
        self._used: dict[str, int] = {}
        self._made = 0
        # The settings' stubs, all stubs in order with them, and the index of these; None if that is out of date.
        self._ordered: tuple[Sequence[Stub], tuple[Stub, ...], Index] | None = None

    def add(self, stub: Stub) -> str:
        """Add a stub, or replace the one of the same name, and count from zero. Return its name."""
        with self._lock:
            return self._add(stub)

    def remove(self, name: str) -> bool:
        """Remove a stub; return False if none of that name was added."""
        with self._lock:
            if self._added.pop(name, None) is None:
                return False
            self._used.pop(name, None)
            self._ordered = None
            return True

    def put(self, stubs: Sequence[Stub]) -> list[str]:
        """Replace all added stubs by these, and return their names."""
        with self._lock:
            for name in self._added:
                self._used.pop(name, None)
            self._added.clear()
            self._ordered = None
            return [self._add(stub) for stub in stubs]

    def reset(self) -> None:
        """Forget all added stubs and all counts."""
        with self._lock:
            self._added, self._used, self._made, self._ordered = {}, {}, 0, None

    def recount(self) -> None:
        """Reset the counts of the settings' stubs, which have changed."""
        with self._lock:
            self._used = {name: count for name, count in self._used.items() if name in self._added}

    def uses(self) -> list[Mapping[str, Any]]:
        """The added stubs, as checks need them: `name`, `match`, `used`, and `most` (None if unlimited)."""
        return [use_of(stub, used) for stub, used in self.listed()]

    def listed(self, standing: Sequence[Stub] = ()) -> list[tuple[Stub, int]]:
        """The stubs in the order in which they are tried, each with the number of its uses."""
        return [(stub, self._used.get(stub.name, 0)) for stub in self._order(standing)]

    @property
    def count(self) -> int:
        """How many stubs were added at run time."""
        return len(self._added)

    def is_empty(self, standing: Sequence[Stub]) -> bool:
        """Whether there are no stubs at all."""
        return not self._added and not standing

    def take(self, facts: Facts, standing: Sequence[Stub] = (), fits: Fits | None = None) -> StubMatch | None:
        """The answer to a request, counted as used: that of the first stub that matches and is not used up.

        Answers that do not fit are skipped. Raises HandlerError if a user's function fails.
        """
        stubs, index = self._indexed(standing)
        for stub in index.candidates(stubs, facts):
            while (step := stub.step(used := self._used.get(stub.name, 0))) is not None:
                if fits is not None and not fits(step.prepared):
                    break
                if not (_asks(stub, stub.criteria, facts) and _asks(stub, step.criteria, facts)):
                    break
                if self._use(stub.name, used):
                    return StubMatch(stub, step.prepared, (stub.criteria, step.criteria))
        return None

    def explain(
        self, facts: Facts, standing: Sequence[Stub] = (), fits: Fits | None = None, most: int = _NEAREST
    ) -> tuple[NearMiss, ...]:
        """Why no stub matches a request: the nearest stubs, and how the request differs from what they want."""
        nearest = sorted(self._candidates(facts, standing, most), key=itemgetter(0))[:most]
        return tuple(NearMiss(stub.name, self._differences(stub, facts, fits)) for _, stub in nearest)

    def _candidates(self, facts: Facts, standing: Sequence[Stub], most: int) -> Iterator[tuple[_Distance, Stub]]:
        """The stubs that may be among the nearest, each with its distance."""
        close = 0
        for stub in self._order(standing):
            step = stub.step(self._used.get(stub.name, 0))
            if step is None or close < most:
                # A stub that is only used up is the nearest of all, unless it would have matched any request.
                far = stub.asks_nothing, _is_elsewhere(stub, facts), _distance(stub, step, facts)
                # Any other stub differs in at least one place: once enough differ in just one, no other is nearer.
                close += far <= (False, False, 1)
                yield far, stub

    def _use(self, name: str, used: int) -> bool:
        """Count a use; return False if another thread was quicker, so that another step is next."""
        with self._lock:
            if self._used.get(name, 0) != used:
                return False
            self._used[name] = used + 1
            return True

    def _add(self, stub: Stub) -> str:
        if not stub.name:
            self._made += 1
            stub = stub._replace(name=f"stub-{self._made}")
        self._added[stub.name] = stub
        self._used.pop(stub.name, None)
        self._ordered = None
        return stub.name

    def _order(self, standing: Sequence[Stub]) -> tuple[Stub, ...]:
        return self._indexed(standing)[0]

    def _indexed(self, standing: Sequence[Stub]) -> "tuple[tuple[Stub, ...], Index]":
        kept = self._ordered
        if kept is None or kept[0] is not standing:
            with self._lock:
                both = [*self._added.values(), *(stub for stub in standing if stub.name not in self._added)]
                stubs = tuple(sorted(both, key=lambda stub: -stub.priority))
                kept = self._ordered = (standing, stubs, _index_of(stubs))
        return kept[1:]

    def _differences(self, stub: Stub, facts: Facts, fits: Fits | None = None) -> tuple[Difference, ...]:
        used = self._used.get(stub.name, 0)
        step = stub.step(used)
        found = _differing(stub.criteria, facts)
        if step is None:
            return (*found, Difference("times", f"at most {_times(stub.most)}", f"one more after {_times(used)}"))
        if fits is not None and not fits(step.prepared):
            found = (*found, Difference("operation", _asked_by(step.prepared), "another"))
        return (
            *found,
            *(each._replace(field=f"script[{used}].{each.field}") for each in _differing(step.criteria, facts)),
        )


def _asked_by(prepared: Prepared) -> str:
    """Which requests an answer is for, in words."""
    if isinstance(prepared.content, Measures):
        return f"a request for {MEASURED[prepared.content.kind]}"
    return "a request to a model, since this reply is written by one"


def _index_of(stubs: Sequence[Stub]) -> "Index":
    # Imported with the first stub: a server without any starts sooner.
    from mockserver.state.stubs.index import Index

    return Index(stubs)


def use_of(stub: Stub, used: int) -> dict[str, Any]:
    """A stub in short: its name, its match, how often it was used, and how often it can be."""
    return {"name": stub.name, "match": stub.table.get("match", {}), "used": used, "most": stub.most}


def _asks(stub: Stub, criteria: Criteria, facts: Facts) -> bool:
    try:
        return matches(criteria, facts)
    except Exception as error:
        raise HandlerError(f"stub {stub.name!r}: its predicate {raised(error)}") from error


def _is_elsewhere(stub: Stub, facts: Facts) -> bool:
    """Whether it is for another vendor, operation, path or method: such a stub is hardly the one that was meant."""
    at = (each for each in stub.criteria.criteria if each.field in _WHERE)
    return any(not each.matcher.holds(facts.values(each.field, each.path)) for each in at)


def _distance(stub: Stub, step: Step | None, facts: Facts) -> int:
    try:
        further = 0 if step is None or step.criteria is ANYTHING else distance(step.criteria, facts)
        return distance(stub.criteria, facts) + further
    except Exception:
        return 1


def _differing(criteria: Criteria, facts: Facts) -> tuple[Difference, ...]:
    """The differences of a request, with the errors of predicates, which other criteria may be meant to prevent."""
    try:
        return differences(criteria, facts)
    except Exception:
        return tuple(found for part in parts_of(criteria) for found in _differing_part(part, facts))


def _differing_part(part: Criteria, facts: Facts) -> tuple[Difference, ...]:
    try:
        return differences(part, facts)
    except Exception as error:
        return (Difference("predicate", "an answer", f"{type(error).__name__}: {error}"),)


def _times(count: int | None) -> str:
    return "1 use" if count == 1 else f"{count} uses"
