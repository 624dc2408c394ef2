"""Namespaces isolate state: tests that share a server have one each, and never disturb one another.

A request names its namespace by its path, a header, or its API key; the first of these counts.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from typing import Any
from urllib.parse import parse_qsl

from mockserver.core.calls import Headers
from mockserver.state.deliveries import Deliveries
from mockserver.state.engines import Engines
from mockserver.state.faults.registry import FaultRules
from mockserver.state.journal.exchanges import Budget, Journal
from mockserver.state.ledgers import Ledgers
from mockserver.state.quotas.limiter import RateLimiter
from mockserver.state.retries import Retries
from mockserver.state.stubs.registry import StubRegistry

DEFAULT = ""

BAD_NAME = "A namespace's name cannot contain slashes or spaces, or more than 200 characters."

_NAME = re.compile(r"[^/\s]{0,200}")
_PREFIX = "/ns/"
_KEY = "mock-ns-"
_MOST_NAMESPACES = 4096
# When the journals together exceed the budget, this fraction of it is freed: some dozens of exchanges.
_ROOM = 128


# How far a clock can be advanced: a century, which is enough for any test.
_FURTHEST = 3.2e9


@dataclass(slots=True, eq=False, weakref_slot=True)
class Namespace:
    """Everything that a server remembers for one namespace.

    `shift` is how far its clock has been advanced, in seconds; `own` are settings of its own, by name, which override
    the server's.
    """

    name: str
    faults: FaultRules = field(default_factory=FaultRules)
    journal: Journal = field(default_factory=Journal)
    engines: Engines = field(default_factory=Engines)
    quotas: RateLimiter = field(default_factory=RateLimiter)
    stubs: StubRegistry = field(default_factory=StubRegistry)
    retries: Retries = field(default_factory=Retries)
    deliveries: Deliveries = field(default_factory=Deliveries)
    ledgers: Ledgers = field(default_factory=Ledgers)
    shift: float = 0.0
    own: Mapping[str, Any] = field(default_factory=dict)

    def reset(self) -> None:
        """Forget everything but the clock and the settings."""
        self.faults.reset()
        self.journal.clear()
        self.engines.reset()
        self.quotas.reset()
        self.stubs.reset()
        self.deliveries.reset()
        self.ledgers.reset()
        # Answers that are still being sent stay with the journal in which they began.
        self.retries = Retries()


def check_advance(seconds: object) -> None:
    """Raise ValueError unless a clock can be advanced by so many seconds."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= _FURTHEST:
        raise ValueError(f"advance: must be a number of seconds from 0 to {_FURTHEST:g}, not {seconds!r}")


class Namespaces:
    """The namespaces of a server, created on first use. Beyond some thousands, the least recently used is forgotten.

    Each journal holds a number of exchanges, and all of them together a budget of bytes: the largest gives way.
    """

    def __init__(self, most_exchanges: int = 1000, budget: Budget | None = None) -> None:
        self._known: OrderedDict[str, Namespace] = OrderedDict()
        self._most_exchanges = most_exchanges
        self._budget = budget or Budget()

    def get(self, name: str) -> Namespace:
        """The namespace of that name, which becomes the most recently used."""
        known = self._known.get(name)
        if known is not None:
            self._known.move_to_end(name)
            return known
        if len(self._known) >= _MOST_NAMESPACES:
            self._known.popitem(last=False)[1].reset()
        namespace = self._known[name] = Namespace(name, journal=Journal(self._most_exchanges, self._budget))
        return namespace

    def all(self) -> list[Namespace]:
        """The namespaces in use, the most recently used last."""
        return list(self._known.values())

    @property
    def weight(self) -> tuple[int, int]:
        """How much all journals hold, and how much they may hold at most, in bytes."""
        return self._budget.held, self._budget.most

    def trim(self) -> None:
        """Drop the oldest exchanges of the largest journal, while all together hold too much.

        So a namespace with few requests never pays for one with many. More is dropped than necessary, so that not
        every request has to find the largest among thousands.
        """
        budget = self._budget
        if budget.held <= budget.most:
            return
        journals = [namespace.journal for namespace in self._known.values()]
        heaviest = [(-journal.held, place) for place, journal in enumerate(journals)]
        heapify(heaviest)
        while budget.held > budget.most - budget.most // _ROOM:
            place = heaviest[0][1]
            if not journals[place].forget_oldest():
                return
            heapreplace(heaviest, (-journals[place].held, place))


def is_name(name: str) -> bool:
    """Whether a namespace can have this name: it must fit into a path segment, and not be too long."""
    return _NAME.fullmatch(name) is not None


def namespace_of(path: str, headers: Headers, query: str = "") -> tuple[str, str]:
    """The namespace of a request, and its path without it.

    `/ns/<name>/...`, else the header `X-Mockserver-Namespace`, else an API key `mock-ns-<name>` (in `Authorization`, or
    in the query, where a vendor takes keys), else the default one.
    """
    if path.startswith(_PREFIX):
        name, _, rest = path[len(_PREFIX) :].partition("/")
        return name, f"/{rest}"
    named = headers.get("x-mockserver-namespace")
    if named:
        return named, path
    credentials = headers.get("authorization")
    if credentials is not None and _KEY in credentials:
        key = credentials.partition(" ")[2].strip()
        if key.startswith(_KEY):
            return key.removeprefix(_KEY), path
    if _KEY in query:
        key = next((value for _, value in parse_qsl(query) if value.startswith(_KEY)), _KEY)
        return key.removeprefix(_KEY), path
    return DEFAULT, path
