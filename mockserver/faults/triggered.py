"""Strikes: faults intended for one request, where they come from, and what their rules have counted."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from mockserver.faults.catalogue import FAULTS, FaultKind
from mockserver.faults.rules import Fault

# Where a fault comes from: a rule (armed, of the settings or of the route), a stub, or the request's own header.
Origin = Literal["armed", "settings", "route", "stub", "header"]

# A rule that strikes a share counts the repetitions of this many different requests, those that came last.
_REMEMBERED = 4096


@dataclass(slots=True)
class RuleCount:
    """What a rule has seen in a namespace: the requests that matched, and those that it struck. Requests whose match is
    `undecided`, because a search was given up, are neither.
    """

    matched: int = 0
    struck: int = 0
    undecided: int = 0
    _seen: OrderedDict[int, int] = field(default_factory=OrderedDict, repr=False, compare=False)

    def times_seen(self, request: int) -> int:
        """Count a request, known by its number, and return how often it has come, this time included."""
        times = self._seen[request] = self._seen.pop(request, 0) + 1
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return times


class TriggeredFault(NamedTuple):
    """A fault that is meant for one request. `rule` is the name of the armed rule that asks for it; where any rule
    does, `seen` is what it has counted.
    """

    fault: Fault
    by: Origin
    rule: str = ""
    seen: RuleCount | None = None

    @property
    def kind(self) -> FaultKind:
        """The fault's row in the catalogue."""
        return FAULTS[self.fault.kind]

    @property
    def leaves_nothing(self) -> bool:
        """Whether nothing is sent of an answer that it strikes."""
        return self.kind.ends and self.fault.place.is_beginning


def refund_counts(meant: Iterable[TriggeredFault], struck: Sequence[TriggeredFault] = ()) -> None:
    """Undo the counts of faults that were intended for a request and have not struck it after all."""
    for strike in meant:
        if strike.seen is not None and not is_among(strike, struck):
            strike.seen.struck -= 1


def is_among(strike: TriggeredFault, others: Iterable[TriggeredFault]) -> bool:
    """Whether this strike is one of the others, by identity: equal faults may be intended for one request."""
    return any(strike is other for other in others)
