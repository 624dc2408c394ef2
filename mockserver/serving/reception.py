"""The reception: requests are routed, read, decided and answered, and become exchanges in the journal.

incoming -> namespace -> route -> hear -> decide -> respond -> exchange -> performance
"""

import os
import time
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from mockserver.control.deciding.admission import settle, standings_of
from mockserver.control.deciding.decision import Decision, decide, recall, respond
from mockserver.control.journal.exchanges import Denial, Exchange
from mockserver.control.namespaces import BAD_NAME, DEFAULT, Namespace, is_name, namespace_of
from mockserver.control.plan import Heard, Plan, hear, plan_refusal
from mockserver.control.processes import needs_one_process, stateful_call, stateful_visit
from mockserver.control.quotas.desk import Ticket
from mockserver.control.retries import Retries
from mockserver.control.routing import Landing
from mockserver.control.strikes import take_back
from mockserver.control.visits import WishError
from mockserver.core.calls import Call, Headers
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.haste import TakesLongError, in_haste
from mockserver.core.outbox import Task
from mockserver.core.timeline import Record, Run, Timeline
from mockserver.serving.browsers import to_live_page
from mockserver.serving.clock import Clock
from mockserver.serving.cors import VARY, preflight, reader_of, shared
from mockserver.serving.hints import no_route, with_hint
from mockserver.serving.large_bodies import fingerprint_of, has_too_many_values, is_large, read_by_turns
from mockserver.serving.logs import log, log_access
from mockserver.serving.metrics import Metrics
from mockserver.serving.player import Performance
from mockserver.serving.simulator import Setup, Simulator
from mockserver.serving.sink import Sink
from mockserver.serving.turns import after_all_due, in_thread

if TYPE_CHECKING:
    from mockserver.serving.courier import Courier


# The number of bits for counting the calls of a process, below random ones of its start.
_CALL_BITS = 40


class Incoming(NamedTuple):
    """A complete request, without its body if that is too large.

    `wired` says whether its connection supports transport faults.
    """

    method: str
    path: str
    query: str
    headers: Headers
    body: bytes = b""
    too_large: bool = False
    wired: bool = False


class _Visitor(NamedTuple):
    """A request with its namespace and its path there, the setup in force, and the namespace's clock."""

    incoming: Incoming
    namespace: Namespace
    path: str
    setup: Setup
    clock: Clock
    instant: float
    metrics: Metrics

    def call(self, path: str) -> Call:
        """The call under the dialect's native path."""
        incoming = self.incoming
        now = time.time() + self.namespace.shift
        return Call(incoming.method, path, incoming.headers, incoming.body, incoming.query, now)

    def note(self, call: Call, plan: Plan | None = None, denial: Denial | None = None) -> Exchange:
        """Record the exchange in the journal."""
        space = self.namespace
        return space.journal.open(space.name, self.path, call, plan, denial, arrived=self.instant, ahead=space.shift)


class Staged(NamedTuple):
    """An answer that is ready to be performed: an exchange, or an answer `aside` to a browser, outside the journal."""

    visitor: _Visitor
    exchange: Exchange | None = None
    ticket: Ticket | None = None
    aside: Timeline | None = None

    def performance(self, sink: Sink) -> Performance:
        """The performance of its answer."""
        visitor, exchange = self.visitor, self.exchange
        if self.aside is not None:
            return Performance(self.aside, sink, visitor.clock, visitor.instant, Record())
        assert exchange is not None, "every other answer belongs to an exchange"
        visitor.metrics.begun()
        noted = visitor.namespace.ledgers.begin(exchange)
        return Performance(
            _opened(_timeline(exchange), visitor),
            sink,
            visitor.clock,
            visitor.instant,
            exchange.record,
            partial(_ended, exchange, visitor, self.ticket, visitor.namespace.retries, noted),
            joined=visitor.setup.settings.writes == "joined",
        )


class Reception:
    """Receives requests for a simulator."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self.begin_ids()

    @cached_property
    def _courier(self) -> "Courier":
        """What carries out the orders of answers; imported on the first use, since few answers have any."""
        from mockserver.serving.courier import Courier

        return Courier(self._simulator, self._receive_own)

    def begin_ids(self) -> None:
        """Let the unique ids from now on differ from those of every other server and process."""
        self._calls = count((int.from_bytes(os.urandom(8)) << _CALL_BITS) + 1)

    def receive(self, incoming: Incoming) -> Staged | Awaitable[Staged]:
        """The exchange of a request; if that takes long, it is prepared in turns with others, or in a thread."""
        simulator = self._simulator
        denial = simulator.gate.refusal(incoming.method, incoming.headers, simulator.setup.settings)
        if denial is not None:
            # Not recorded: pages that are turned away leave no trace in any namespace.
            return Staged(self._visitor(incoming, DEFAULT, incoming.path), aside=_told(denial, VARY))
        return self._receive(incoming)

    def _receive(self, incoming: Incoming) -> Staged | Awaitable[Staged]:
        """The same for a request that was let in."""
        name, path = namespace_of(incoming.path, incoming.headers, incoming.query)
        well_named = name == DEFAULT or is_name(name)
        visitor = self._visitor(incoming, name if well_named else DEFAULT, path)
        setup = visitor.setup
        is_open = reader_of(incoming.headers, setup.settings) is not None
        allowed = preflight(incoming.method, incoming.headers) if is_open else None
        if allowed is not None:
            return Staged(visitor, aside=allowed)
        if not well_named:
            return self._denied(visitor, Denial(400, "bad_namespace", BAD_NAME))
        landing = setup.router.find(incoming.method, path, incoming.headers.get("host") or "")
        if landing is None:
            return self._receive_elsewhere(visitor)
        if incoming.too_large:
            return self._refused(visitor, landing, FailureKind.BODY_TOO_LARGE)
        if is_large(incoming.body, incoming.headers.get("content-encoding")):
            return self._receive_large(visitor, landing)
        return self._receive_small(visitor, landing)

    def _visitor(self, incoming: Incoming, name: str, path: str) -> _Visitor:
        simulator = self._simulator
        namespace = simulator.namespaces.get(name)
        clock = simulator.clock(namespace)
        setup = simulator.setup_of(namespace)
        return _Visitor(incoming, namespace, path, setup, clock, clock.now(), simulator.metrics)

    def _receive_own(self, task: Task, target: str) -> Staged | Awaitable[Staged]:
        """The exchange of a request that the server itself makes, at a path with or without a query."""
        path, _, query = target.partition("?")
        return self._receive(Incoming(task.method, path, query, Headers(task.headers), task.body, wired=True))

    def _receive_elsewhere(self, visitor: _Visitor) -> Staged:
        """The exchange of a request for a path that nothing serves; a browser at the root is led to the live page."""
        incoming, setup = visitor.incoming, visitor.setup
        if not setup.settings.strict:
            led = to_live_page(incoming.method, visitor.path, incoming.headers, incoming.path)
            if led is not None:
                return Staged(visitor, aside=led)
        return self._denied(visitor, no_route(incoming.method, visitor.path, self._simulator.dialects, setup.router))

    def _receive_small(self, visitor: _Visitor, landing: Landing) -> Staged | Awaitable[Staged]:
        """The exchange of a request of the usual size: a repeated one gets its plan again, others are read at once."""
        call = visitor.call(landing.path)
        known = recall(call, landing, visitor.setup.settings, visitor.namespace)
        if known is not None:
            return self._noted(visitor, call, known)
        try:
            hearing = self._hearing(visitor, landing, call)
            heard = in_haste(hearing)
        except TakesLongError:
            return self._receive_slowly(visitor, landing, hearing)
        except Exception as error:
            return self._failed(visitor, landing, error)
        return self._answered(visitor, landing, heard)

    async def _receive_slowly(self, visitor: _Visitor, landing: Landing, hearing: Callable[[], Heard]) -> Staged:
        """The same for a call that takes long to be read: in a thread."""
        try:
            heard = await in_thread(hearing)
        except Exception as error:
            return self._failed(visitor, landing, error)
        answered = self._answered(visitor, landing, heard, slowly=True)
        return answered if isinstance(answered, Staged) else await answered

    async def _receive_large(self, visitor: _Visitor, landing: Landing) -> Staged:
        """The same for a large body: read in turns with other requests, and in a thread if that is not enough."""
        call = visitor.call(landing.path)
        # To receive so much has taken a while, too.
        await after_all_due()
        try:
            if landing.operation is not None and await has_too_many_values(call.body):
                return self._refused(visitor, landing, FailureKind.BODY_TOO_LARGE)
            call = call._replace(digest=await fingerprint_of(call.body))
            is_read = landing.operation is None or await read_by_turns(call.body)
            hearing = self._hearing(visitor, landing, call)
            if not is_read:
                return await self._receive_slowly(visitor, landing, hearing)
            await after_all_due()
            heard = in_haste(hearing)
        except TakesLongError:
            return await self._receive_slowly(visitor, landing, hearing)
        except Exception as error:
            return self._failed(visitor, landing, error)
        await after_all_due()
        answered = self._answered(visitor, landing, heard)
        return answered if isinstance(answered, Staged) else await answered

    def _answered(
        self, visitor: _Visitor, landing: Landing, heard: Heard, *, slowly: bool = False
    ) -> Staged | Awaitable[Staged]:
        """The exchange of a call that has been read; `slowly`, or if planning takes long, it is planned in a thread."""
        if self._simulator.worker is not None:
            stateful = stateful_call(heard.visit.call, landing) or stateful_visit(heard.visit)
            if stateful is not None:
                denial = Denial(409, "several_processes", f"{needs_one_process(stateful)}.")
                return self._denied(visitor, denial, landing)
        try:
            decision = decide(heard, visitor.namespace, visitor.instant, visitor.setup.since, visitor.setup.stubs)
        except Exception as error:
            return self._failed(visitor, landing, error)
        if slowly or decision.takes_long:
            return self._respond_slowly(visitor, landing, decision)
        try:
            return self._staged(visitor, in_haste(partial(respond, decision)), decision)
        except TakesLongError:
            return self._respond_slowly(visitor, landing, decision)
        except Exception as error:
            return self._failed(visitor, landing, error, decision)

    async def _respond_slowly(self, visitor: _Visitor, landing: Landing, decision: Decision) -> Staged:
        try:
            return self._staged(visitor, await in_thread(partial(respond, decision)), decision)
        except Exception as error:
            return self._failed(visitor, landing, error, decision)

    def _hearing(self, visitor: _Visitor, landing: Landing, call: Call) -> Callable[[], Heard]:
        """A function that reads a call, in any thread: what it needs of the namespace's state is looked up here."""
        settings = visitor.setup.settings
        salt = next(self._calls) if settings.ids == "unique" else 0
        quotas = visitor.namespace.quotas
        standings = standings_of(call, landing, settings, quotas, visitor.instant) if settings.quota else ()
        operation, space, dialect = landing.operation, visitor.namespace, landing.dialect
        if operation is None or not operation.looks_back(call):
            return partial(hear, call, landing, settings, salt, standings)
        outbox = None if operation.answer is None else space.deliveries.outbox(dialect)
        return partial(hear, call, landing, settings, salt, standings, outbox, space.ledgers.of(dialect))

    def _failed(
        self, visitor: _Visitor, landing: Landing, error: Exception, decision: Decision | None = None
    ) -> Staged:
        """The exchange if one of our own headers cannot be obeyed, or the simulator itself fails."""
        if decision is not None:
            _leave(visitor.namespace, decision.ticket)
            take_back(decision.strikes)
        if isinstance(error, WishError):
            return self._denied(visitor, Denial(400, "bad_wish", str(error)), landing)
        message = "an error in mockserver itself, answered as a server error: %s %s"
        log.error(message, visitor.incoming.method, landing.path, exc_info=error)
        return self._refused(visitor, landing, FailureKind.SERVER_ERROR)

    def _refused(self, visitor: _Visitor, landing: Landing, kind: FailureKind) -> Staged:
        """The exchange of a refusal before the dialect has read the request."""
        call = visitor.call(landing.path)
        try:
            plan = plan_refusal(Rejection(kind), call, landing, visitor.setup.settings)
        except WishError as error:
            return self._denied(visitor, Denial(400, "bad_wish", str(error)), landing)
        return self._staged(visitor, plan)

    def _staged(self, visitor: _Visitor, plan: Plan, decision: Decision | None = None) -> Staged:
        """The exchange of a plan, recorded in the journal; its quotas are charged."""
        call, ticket = plan.visit.call, None
        if decision is not None:
            call, ticket = decision.heard.visit.call, decision.ticket
        if ticket is not None:
            settle(plan, ticket, visitor.namespace.quotas, visitor.instant)
        wireless = plan.timeline.ending is not None and not visitor.incoming.wired
        if decision is not None:
            take_back(decision.strikes, () if wireless else plan.struck)
        if wireless:
            message = f"{' and '.join(plan.faults)}: needs a socket, which a server in process does not have."
            _leave(visitor.namespace, ticket)
            return self._denied(visitor, Denial(501, "no_wire", message), plan.visit.landing)
        if decision is not None:
            visitor.namespace.retries.note(plan)
        if plan.rejection is not None and not visitor.setup.settings.strict:
            plan = with_hint(plan, visitor.path, visitor.setup.router)
        return self._noted(visitor, call, plan, ticket)

    def _noted(
        self,
        visitor: _Visitor,
        call: Call,
        plan: Plan | None = None,
        ticket: Ticket | None = None,
        denial: Denial | None = None,
    ) -> Staged:
        exchange = visitor.note(call, plan, denial)
        if plan is not None and plan.orders and plan.timeline.status < 400:
            self._courier.take(visitor.namespace, plan.visit.landing.dialect, plan.orders)
        self._simulator.namespaces.trim()
        return Staged(visitor, exchange, ticket)

    def _denied(self, visitor: _Visitor, denial: Denial, landing: Landing | None = None) -> Staged:
        """The exchange of a refusal in our own format."""
        call = visitor.call(visitor.path if landing is None else landing.path)
        return self._noted(visitor, call, denial=denial)


def _timeline(exchange: Exchange) -> Timeline:
    """The plan's timeline, or that of our own refusal."""
    if exchange.plan is not None:
        return exchange.plan.timeline
    denial = exchange.denial
    assert denial is not None, "an exchange without a plan has been denied"
    return _told(denial)


def _told(denial: Denial, *more: tuple[bytes, bytes]) -> Timeline:
    """The timeline of our own refusal."""
    headers = ((b"content-type", b"application/json"), *more)
    return Timeline(denial.status, headers, (Run((denial.body,), (0.0,), (0,)),))


def _opened(timeline: Timeline, visitor: _Visitor) -> Timeline:
    """The timeline, with headers that let pages of other origins read it."""
    origin = reader_of(visitor.incoming.headers, visitor.setup.settings)
    return timeline if origin is None else shared(timeline, origin)


def _leave(namespace: Namespace, ticket: Ticket | None) -> None:
    """Release the quotas that a request has held."""
    if ticket is not None:
        namespace.quotas.leave(ticket)


def _ended(
    exchange: Exchange,
    visitor: _Visitor,
    ticket: Ticket | None,
    retries: Retries,
    noted: Callable[[], None] | None,
) -> None:
    """Settle an exchange that has ended: quotas, slots, metrics, the dialect's own ledger, journal and log."""
    namespace, plan = visitor.namespace, exchange.plan
    _leave(namespace, ticket)
    if plan is not None and exchange.record.closed_by == "client":
        if plan.slot is not None:
            plan.slot.leave()
        retries.note_left(plan)
    visitor.metrics.ended(exchange)
    if noted is not None:
        noted()
    namespace.journal.notify(exchange)
    log_access(exchange)
