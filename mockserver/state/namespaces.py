"""Namespaces isolate state: tests that share a server have one each, and never disturb one another.

A request names its namespace by its path, a header, or its API key; the first of these counts.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from typing import Any
from urllib.parse import parse_qsl

from mockserver.core.dialect_state import Progress, ResponseHistory, ServedResponse
from mockserver.core.dialects import Dialect
from mockserver.core.http import Call, Headers
from mockserver.state.deliveries import Deliveries
from mockserver.state.engines import Engines
from mockserver.state.fault_rules import FaultRules
from mockserver.state.journal.exchanges import Budget, Exchange, Journal
from mockserver.state.plan import Plan
from mockserver.state.rate_limiter import RateLimiter
from mockserver.state.stubs.registry import StubRegistry

DEFAULT = ""

BAD_NAME = "A namespace's name cannot contain slashes or spaces, or be longer than 200 characters."

_NAME = re.compile(r"[^/\s]{0,200}")
_PREFIX = "/ns/"
_KEY = "mock-ns-"
# Where vendors take keys alone, without a scheme before them.
_KEY_HEADERS = ("x-api-key", "api-key")
_MOST_NAMESPACES = 4096
# When the journals together exceed the budget, this fraction of it is freed: some dozens of exchanges.
_ROOM = 128
# How far a clock can be advanced: a century, which is enough for any test.
_FURTHEST = 3.2e9
# How many requests that have failed are remembered.
_REMEMBERED = 4096


class Histories:
    """The histories of a namespace, one for each dialect that has any."""

    __slots__ = ("_histories",)

    def __init__(self) -> None:
        self._histories: dict[str, ResponseHistory] = {}

    def of(self, dialect: Dialect) -> ResponseHistory | None:
        """The history of a dialect; None if it remembers nothing."""
        if dialect.history is None:
            return None
        known = self._histories.get(dialect.name)
        if known is None:
            known = self._histories[dialect.name] = dialect.history()
        return known

    def has_stored(self, dialect: Dialect, id_: str) -> bool:
        """Whether a dialect has an answer with this id."""
        known = self._histories.get(dialect.name)
        return known is not None and known.has_stored(id_)

    def begin(self, exchange: Exchange) -> Callable[[], None] | None:
        """Note an answer that begins, and return what notes its end; None if nothing does."""
        plan = exchange.plan
        # On the path of every answer, most of which nobody remembers.
        if plan is None or plan.context.route.dialect.history is None:
            return None
        context, record = plan.context, exchange.record
        operation, history = context.route.operation, self.of(context.route.dialect)
        if operation is None or history is None:
            return None
        marker = history.operations.get(operation.name)
        if not plan.orders and (marker is None or marker not in context.call.body):
            return None
        end = history.begin(
            ServedResponse(
                operation.name,
                context.call,
                context.scope,
                plan.request,
                plan.refusal,
                plan.timeline.status,
                plan.visible_generation,
                plan.pace,
                plan.orders if plan.timeline.status < 400 else (),
            )
        )
        if end is None:
            return None
        return lambda: end(Progress(record.events_sent, record.seconds, record.closed_by == "server"))

    def reset(self) -> None:
        """Forget everything; answers in progress end in the history in which they began."""
        self._histories.clear()


class AttemptCounter:
    """Counts the questions of a namespace, and how often in a row each distinct request has failed.

    Two requests are the same if their dialect, path and body are. An answer has failed if its status says so, if a
    fault has truncated or spoilt it, or if the client has left before its end.
    """

    def __init__(self) -> None:
        self._asked = 0
        self._failed: OrderedDict[int, int] = OrderedDict()

    def count(self, plan: Plan) -> None:
        """Give a plan its number, if it asks a model, and that of its attempt."""
        if plan.request is not None and plan.refusal is None:
            self._asked += 1
            plan.number = self._asked
        if self._failed:
            plan.attempt = 1 + self._failed.get(_key(plan.context.route.dialect.name, plan.context.call), 0)

    def record(self, plan: Plan) -> None:
        """Record how a request is answered: it may have failed even for a client that reads the answer to its end."""
        succeeds = 200 <= plan.timeline.status < 300
        if not self._failed and not plan.applied and succeeds:
            return
        failed = not succeeds or any(each.kind.harm != "none" for each in plan.applied)
        key = _key(plan.context.route.dialect.name, plan.context.call)
        count = self._failed.pop(key, 0)
        if failed:
            self._keep(key, count + 1)

    def record_cancel(self, plan: Plan) -> None:
        """Record that the client left before the end of an answer, which makes it a failure whatever its status."""
        self._keep(_key(plan.context.route.dialect.name, plan.context.call), plan.attempt)

    def _keep(self, key: int, count: int) -> None:
        self._failed[key] = max(count, self._failed.get(key, 0))
        if len(self._failed) > _REMEMBERED:
            self._failed.popitem(last=False)


def _key(dialect: str, call: Call) -> int:
    return hash((dialect, call.method, call.path, call.body))


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
    attempts: AttemptCounter = field(default_factory=AttemptCounter)
    deliveries: Deliveries = field(default_factory=Deliveries)
    histories: Histories = field(default_factory=Histories)
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
        self.histories.reset()
        # Answers that are still being sent stay with the journal in which they began.
        self.attempts = AttemptCounter()


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

    `/ns/<name>/...`, else the header `X-Mockserver-Namespace`, else an API key `mock-ns-<name>` (in a header, or in the
    query, where a vendor takes keys), else the default one.
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
    for header in _KEY_HEADERS:
        if header in headers and headers[header].startswith(_KEY):
            return headers[header].removeprefix(_KEY), path
    if _KEY in query:
        key = next((value for _, value in parse_qsl(query) if value.startswith(_KEY)), _KEY)
        return key.removeprefix(_KEY), path
    return DEFAULT, path
