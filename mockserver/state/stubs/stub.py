"""Stubs as values: prepared answers for matching requests.

A stub is a sequence of steps. Which of them is next depends on how often the stub has been used; everything else that
decides an answer is in the request itself.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mockserver.core.generation import Measure, Measures
from mockserver.core.http import RawHeaders
from mockserver.core.matching.requests import ANYTHING, Facts, Mismatch, RequestMatcher
from mockserver.core.matching.whole_requests import WHOLE, WHOLE_WITH_IDS, count_differences, differences
from mockserver.faults.rules import Fault
from mockserver.model.prepared import ScriptedOutput

# What measures are called in messages.
MEASURED: Mapping[Measure, str] = {"embedding": "embeddings", "scores": "scores"}


class Raw(NamedTuple):
    """A body as it is sent, in no vendor's format.

    `times` are when its events are sent, in seconds after the request; empty if the latency decides.
    """

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    times: tuple[float, ...] = ()


# A user's function, which returns a reply in the notation.
ReplyFunction = Callable[[Any], Any]


class Prepared(NamedTuple):
    """One answer: its content, or None if it is generated; its faults, its latency, seed and headers.

    A `template` is the table that this was read from, to be filled and read again for each request. `headers` replace
    others of the same name. `output_tokens` are the lengths of generated answers, in their notation.
    """

    content: ScriptedOutput | Measures | Raw | ReplyFunction | None = None
    faults: tuple[Fault, ...] = ()
    latency: str | None = None
    seed: int | None = None
    headers: RawHeaders = ()
    template: Mapping[str, Any] | None = None
    output_tokens: str | None = None


# The fields that say where a request goes, before all that it asks.
WHERE = ("dialect", "operation", "path", "method")
_KNOWN_BY = (*WHERE, "last_user")


class Step(NamedTuple):
    """An answer, and criteria for its request in addition to those of the whole stub."""

    prepared: Prepared
    criteria: RequestMatcher = ANYTHING


# In how many places at most a request is said to differ from a recorded one.
_MOST_TOLD = 8
# How like a recorded request another is.
THE_SAME, OTHER_IDS = 2, 1


class RecordedRequest(NamedTuple):
    """The request that a stub's answers were recorded for, as a text (`core/matching/whole_requests.py`), without its
    ids and with them; what is `volatile` in it; and whether no other is to be answered."""

    text: str
    with_ids: str
    volatile: tuple[str, ...] = ()
    is_exact: bool = False

    def equals(self, facts: Facts) -> bool:
        """Whether a request is this one, with the same ids or others."""
        return facts.values(WHOLE, self.volatile)[0] == self.text

    def likeness(self, facts: Facts) -> int:
        """THE_SAME, or OTHER_IDS; for any other request the less the more it differs, below both."""
        if facts.values(WHOLE_WITH_IDS, self.volatile)[0] == self.with_ids:
            return THE_SAME
        return OTHER_IDS if self.equals(facts) else -self.distance(facts)

    def distance(self, facts: Facts) -> int:
        """In how many values a request differs from this one."""
        return count_differences(self.text, str(facts.values(WHOLE, self.volatile)[0]))

    def differences(self, facts: Facts) -> tuple[Mismatch, ...]:
        """The first differences between a request and this one, by their places."""
        given = str(facts.values(WHOLE, self.volatile)[0])
        return tuple(Mismatch(*each) for each in islice(differences(self.text, given), _MOST_TOLD))


# What happens after the last answer of a stub: it is given again, or all of them are, the request is refused, or the
# stub matches nothing.
Exhausted = Literal["repeat", "cycle", "refuse", "pass"]


class Stub(NamedTuple):
    """A sequence of answers for matching requests.

    `times` limits how often the stub is used. `table` is what it was read from, `origin` the place of that: empty for a
    stub that was added at run time. One that is made of a recording has the `recorded` request.
    """

    name: str = ""
    criteria: RequestMatcher = ANYTHING
    steps: tuple[Step, ...] = (Step(Prepared()),)
    exhausted: Exhausted = "repeat"
    priority: int = 0
    times: int | None = None
    table: Mapping[str, Any] = MappingProxyType({})
    origin: str = ""
    recorded: RecordedRequest | None = None

    @property
    def asks_nothing(self) -> bool:
        """Whether it matches any request."""
        return self.criteria == ANYTHING and self.exact is None and all(it.criteria == ANYTHING for it in self.steps)

    @property
    def exact(self) -> RecordedRequest | None:
        """The recorded request, if no other is to be answered."""
        return self.recorded if self.recorded is not None and self.recorded.is_exact else None

    @property
    def most(self) -> int | None:
        """How often it can be used; None if unlimited."""
        return self.times if self.times is not None or self.exhausted in ("repeat", "cycle") else len(self.steps)

    def step(self, used: int) -> Step | None:
        """The step after so many uses; None if the stub is used up."""
        if self.most is not None and used >= self.most:
            return None
        last = len(self.steps) - 1
        return self.steps[used % len(self.steps) if self.exhausted == "cycle" else min(used, last)]


def use_of(stub: Stub, used: int) -> dict[str, Any]:
    """A stub in short: its name, its match, how often it was used, and how often it can be."""
    match = stub.table.get("match", {})
    if isinstance(match, str):
        # Of the whole request what people know it by.
        match = {key: value for key, value in stub.table["request"].items() if key in _KNOWN_BY}
    return {"name": stub.name, "match": match, "used": used, "most": stub.most}
