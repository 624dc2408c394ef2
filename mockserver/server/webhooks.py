"""Webhooks: makes the requests that the queues of namespaces hand out, when they are due on the namespace's clock.

A request to an application goes out over HTTP and becomes a delivery; one to the dialect itself is received like any
other, so that stubs, faults, quotas and latency apply to it and the journal has it. A reset of the namespace, and the
end of the server, break off what is under way.
"""

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.applications import Starlette
from starlette.types import Message

from mockserver.core.dialect_state import WebhookQueue, WebhookRequest, WebhookResult
from mockserver.core.dialects import Dialect
from mockserver.core.http import ConnectionFault, RawHeaders
from mockserver.server.app_state import AppState
from mockserver.server.asgi import ROOT, Transport
from mockserver.server.clock import Alarm, ShiftedClock
from mockserver.server.http_client import UnsentError, send
from mockserver.server.logs import log
from mockserver.server.player import Callback, Playback
from mockserver.state.namespaces import DEFAULT, Namespace

# How many requests of a namespace are under way at once, at most: a simple server has room for few connections.
_MOST = 16
# An alarm is set for a moment later than the queue asks: two clocks are involved, which differ by microseconds.
_LATER = 0.000_1


class WebhookSender:
    """Makes the requests that answers have ordered. It is used in the server's loop."""

    def __init__(self, app_state: AppState, application: Starlette) -> None:
        self.app_state = app_state
        self.application = application
        self._dispatchers: dict[tuple[str, str], _Dispatcher] = {}

    def take(self, namespace: Namespace, dialect: Dialect, orders: tuple[Any, ...]) -> None:
        """Carry out orders that change the webhook queue of a dialect, and begin what is due."""
        webhooks = namespace.deliveries.webhooks(dialect)
        assert webhooks is not None, "only dialects with a webhook queue give orders"
        clock, key = self.app_state.clocks.of(namespace), (namespace.name, dialect.name)
        dispatcher = self._dispatchers.get(key)
        # An application that is called in process may run on several loops in turn, with a clock for each.
        if dispatcher is None or dispatcher.clock is not clock:
            dispatcher = self._dispatchers[key] = _Dispatcher(self, namespace, dialect, webhooks, clock)
            namespace.deliveries.on_reset(partial(self._close, key))
        for order in orders:
            order()
        dispatcher.go_on()

    def _close(self, key: tuple[str, str]) -> None:
        dispatcher = self._dispatchers.pop(key, None)
        if dispatcher is not None:
            dispatcher.close()


class _Dispatcher:
    """The requests of one webhook queue: those under way, with their deadlines, and the alarm for what comes next."""

    def __init__(
        self, sender: WebhookSender, namespace: Namespace, dialect: Dialect, webhooks: WebhookQueue, clock: ShiftedClock
    ) -> None:
        self.clock = clock
        self._sender = sender
        self._namespace = namespace
        self._dialect = dialect
        self._queue = webhooks
        # The two clocks are apart by a constant: the namespace's counts from an arbitrary instant.
        self._epoch = time.time() + namespace.shift - clock.now()
        self._alarm: Alarm = clock.alarm(self._wake)
        self._under_way: set[asyncio.Task[None]] = set()
        self._deadlines: dict[asyncio.Timeout, float] = {}
        self._is_open = True

    def go_on(self) -> None:
        """Begin what is due, and set the alarm for what comes next."""
        instant = self._wake(self.clock.now())
        if instant is not None:
            self._alarm.set(instant)

    def _wake(self, instant: float) -> float | None:
        """End what has taken too long, begin what is due, and return when to be called again."""
        if not self._is_open:
            return None
        for limit in [limit for limit, deadline in self._deadlines.items() if deadline <= instant]:
            del self._deadlines[limit]
            limit.reschedule(asyncio.get_running_loop().time())
        room = _MOST - len(self._under_way)
        for task in self._queue.due(instant + self._epoch, time.time(), room) if room else ():
            request = asyncio.ensure_future(self._make(task))
            self._under_way.add(request)
            request.add_done_callback(self._under_way.discard)
        due = self._queue.next_due() if len(self._under_way) < _MOST else None
        instants = [*self._deadlines.values(), *(() if due is None else (due - self._epoch + _LATER,))]
        return min(instants, default=None)

    async def _make(self, task: WebhookRequest) -> None:
        """Make a request, and report its outcome."""
        deliveries, began = self._namespace.deliveries, self.clock.now()
        number = None if task.is_internal else deliveries.begin(self._dialect.name, task, began + self._epoch)
        try:
            outcome = await self._outcome(task, began + task.timeout)
        except TimeoutError:
            outcome = WebhookResult(error=f"no answer within {task.timeout:g} s")
        except UnsentError as error:
            outcome = WebhookResult(error=str(error))
        except Exception as error:
            log.error("an error in mockserver itself, in a request to %s", task.url, exc_info=error)
            outcome = WebhookResult(error="an error in mockserver itself")
        if not self._is_open:
            return
        now = self.clock.now()
        try:
            self._queue.done(task, outcome, now + self._epoch)
        except Exception as error:
            log.error("an error in mockserver itself, after a request to %s", task.url, exc_info=error)
        # What follows is settled by now, so that whoever waits for the delivery can advance the clock.
        if number is not None:
            deliveries.end(number, outcome, now - began)
            if outcome.status is None:
                log.info("not delivered to %s: %s", task.url, outcome.error)
            else:
                log.info("delivered to %s: %d", task.url, outcome.status)
        asyncio.get_running_loop().call_soon(self.go_on)

    async def _outcome(self, task: WebhookRequest, deadline: float) -> WebhookResult:
        """The answer of an application, or of this server: to the dialect itself, and to hosts of vendors that it
        simulates. Raises TimeoutError at the deadline on the namespace's clock, and UnsentError."""
        app_state = self._sender.app_state
        async with asyncio.timeout(None) as limit:
            self._deadlines[limit] = deadline
            self.go_on()
            try:
                if task.is_internal:
                    return await self._ask(task, f"/{self._dialect.name}{task.url}")
                parts = urlsplit(task.url)
                if any(parts.hostname in dialect.hosts for dialect in app_state.dialects.values()):
                    own = (*((name.lower(), value) for name, value in task.headers), (b"host", parts.netloc.encode()))
                    target = f"{unquote(parts.path) or '/'}?{parts.query}"
                    return await self._ask(task._replace(headers=own), target)
                return await send(task, app_state.setup_of(self._namespace).settings.deliver)
            finally:
                self._deadlines.pop(limit, None)

    async def _ask(self, task: WebhookRequest, target: str) -> WebhookResult:
        """The answer of this server to a request of its own, at a path with or without a query."""
        name, (path, _, query) = self._namespace.name, target.partition("?")
        answer = _AnswerCollector(task.body)
        scope = {
            "type": "http",
            "method": task.method,
            "path": path if name == DEFAULT else f"/ns/{name}{path}",
            "query_string": query.encode("latin-1"),
            "headers": list(task.headers),
            "extensions": {Transport.EXTENSION: answer},
            "app": self._sender.application,
            ROOT: "",
        }
        try:
            # Past the guard, which is for others.
            await self._sender.application.router(scope, answer.receive, answer.refuse)
            return await answer.outcome
        finally:
            answer.leave()

    def close(self) -> None:
        """Break off what is under way, and begin nothing more."""
        self._is_open = False
        self._alarm.cancel()
        for request in self._under_way:
            # The loop may have been closed, of an application that is called in process.
            with suppress(RuntimeError):
                request.cancel()


class _AnswerCollector(Transport):
    """What this server answers to a request of its own."""

    longest_write = 65_536
    too_large = False

    def __init__(self, body: bytes) -> None:
        self.outcome: asyncio.Future[WebhookResult] = asyncio.get_running_loop().create_future()
        self._body = body
        self._playback: Playback | None = None
        self._status = 0
        self._headers: RawHeaders = ()
        self._parts: list[bytes] = []

    async def receive(self) -> Message:
        """The request's body."""
        return {"type": "http.request", "body": self._body}

    async def refuse(self, message: Message) -> None:
        """Only the dialects are asked, and their answers are played."""
        raise NotImplementedError("this answer is played")

    def play(self, playback: Playback) -> None:
        """Play the answer."""
        self._playback = playback
        playback.play()

    def leave(self) -> None:
        """Want no more of it."""
        if self._playback is not None:
            self._playback.leave()

    def begin(self, status: int, headers: RawHeaders, length: int | None) -> None:
        """Take the head."""
        self._status = status
        self._headers = headers if length is None else (*headers, (b"content-length", b"%d" % length))

    def write(self, data: bytes, *, last: bool) -> bool:
        """Take a part of the body."""
        self._parts.append(data)
        if last:
            self._settle(WebhookResult(self._status, self._headers, b"".join(self._parts)))
        return True

    def blocked(self, resume: Callback) -> bool:
        """Whether no more can be taken: never."""
        return False

    def break_off(self, ending: ConnectionFault, ended: Callback) -> None:
        """Fail as the connection does; one that stays open in silence is waited for until the time is up."""
        if ending.how in ("reset", "close"):
            ended()
            self._settle(WebhookResult(error=f"the connection was {'reset' if ending.how == 'reset' else 'closed'}"))

    def abort(self) -> None:
        """Fail because the answer cannot go on."""
        self._settle(WebhookResult(error="the connection was closed"))

    def _settle(self, outcome: WebhookResult) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)
