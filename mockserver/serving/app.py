"""The ASGI application: from a scope to a call, from a plan to the wire.

    scope -> namespace -> route -> body -> hear -> decide -> respond -> journal -> play

Vendor routes are dispatched here by a dictionary; only the admin API goes through a framework.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

import orjson

from mockserver.control.decision import decide, respond
from mockserver.control.journal import Denial, Exchange
from mockserver.control.namespaces import Namespace, namespace_of
from mockserver.control.options import checked
from mockserver.control.plan import Plan, Question, WishError, hear, plan_refusal
from mockserver.control.routing import Landing
from mockserver.control.settings import Settings
from mockserver.core.calls import Call, Headers
from mockserver.core.dialects import Dialect
from mockserver.core.failures import FailureKind, Rejection
from mockserver.dialects import load_dialects
from mockserver.serving.admin import admin_api
from mockserver.serving.answers import ADMIN
from mockserver.serving.clock import Clock
from mockserver.serving.player import Receive, Send, Stage, play
from mockserver.serving.simulator import Setup, Simulator
from mockserver.serving.wire import EXTENSION

log = logging.getLogger("mockserver")

# What takes longer than some milliseconds is planned in a thread, so that the loop can go on: a body of so many bytes,
# an answer of so many tokens.
_LARGE_BODY = 32_768
_LONG_ANSWER = 4_096


class _TooLargeError(Exception):
    """The body is larger than the settings allow."""


class _ClientLeftError(Exception):
    """The client went away while it was still sending."""


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A request whose body has not been read: whose it is, what it meets, and the instant at which it came."""

    scope: Any
    headers: Headers
    namespace: Namespace
    path: str
    setup: Setup
    clock: Clock
    instant: float

    def call(self, path: str, body: bytes = b"") -> Call:
        """The call, under the dialect's own path."""
        query = self.scope["query_string"].decode("latin-1")
        return Call(self.scope["method"], path, self.headers, body, query, time.time() + self.namespace.shift)

    def wire_extension(self) -> Any:
        """The wire under the connection, None where there is none."""
        return self.scope.get("extensions", {}).get(EXTENSION)


class App:
    """The simulator as an ASGI application."""

    def __init__(self, settings: Settings, dialects: Mapping[str, Dialect]) -> None:
        self.simulator = Simulator(settings, dialects)
        self._admin = admin_api(self.simulator)
        self._admin_paths = frozenset(f"/{name}/openapi.json" for name in dialects)
        self._calls = count(1)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.simulator.setup.settings

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1003, "reason": "mockserver speaks plain HTTP only"})

    async def _serve(self, scope: Any, receive: Receive, send: Send) -> None:
        headers = Headers(scope["headers"])
        name, path = namespace_of(scope["path"], headers)
        if path.startswith(ADMIN) or path in self._admin_paths:
            await self._admin(scope, receive, send)
            return
        simulator = self.simulator
        namespace = simulator.namespaces.get(name)
        clock = simulator.clock(namespace)
        arrival = _Arrival(scope, headers, namespace, path, simulator.setup, clock, clock.now())
        try:
            exchange = await self._exchange(arrival, receive)
        except _ClientLeftError:
            return
        simulator.namespaces.trim()
        if exchange.plan is None:
            await _deny(exchange, send, arrival)
        else:
            await _perform(exchange, exchange.plan, arrival, receive, send)
        if log.isEnabledFor(logging.INFO):
            log.info("%s", _access_line(exchange))

    async def _exchange(self, arrival: _Arrival, receive: Receive) -> Exchange:
        """The exchange, decided and noted in the journal."""
        note = partial(arrival.namespace.journal.open, arrival.namespace.name, arrival.path)
        router, method = arrival.setup.router, arrival.scope["method"]
        landing = router.find(method, arrival.path, arrival.headers.get("host") or "")
        if landing is None:
            return note(arrival.call(arrival.path), denial=self._lost(method, arrival))
        try:
            made = await self._plan(arrival, landing, receive)
        except WishError as error:
            return note(arrival.call(landing.path), denial=Denial(400, "bad_wish", str(error)))
        if landing.operation is None and not arrival.setup.settings.strict:
            made = _with_hint(made, router.nearest(arrival.path))
        if made.timeline.ending is not None and arrival.wire_extension() is None:
            said = f"{' and '.join(made.faults)}: needs a socket, and here is none."
            return note(made.visit.call, denial=Denial(501, "no_wire", said))
        return note(made.visit.call, made)

    async def _plan(self, arrival: _Arrival, landing: Landing, receive: Receive) -> Plan:
        settings, call = arrival.setup.settings, arrival.call(landing.path)
        try:
            call = arrival.call(landing.path, await _read_body(receive, settings.max_body))
            return await self._answer(call, arrival, landing)
        except _TooLargeError:
            return plan_refusal(Rejection(FailureKind.BODY_TOO_LARGE), call, landing, settings)
        except (WishError, _ClientLeftError):
            raise
        except Exception:
            log.exception("a fault of mockserver's own, answered as a server error: %s %s", call.method, call.path)
            return plan_refusal(Rejection(FailureKind.SERVER_ERROR), call, landing, settings)

    async def _answer(self, call: Call, arrival: _Arrival, landing: Landing) -> Plan:
        """Hear the call, decide and respond; in a thread where hearing or responding takes long."""
        setup = arrival.setup
        salt = next(self._calls) if setup.settings.ids == "unique" else 0
        large = len(call.body) > _LARGE_BODY
        if large:
            heard = await asyncio.to_thread(hear, call, landing, setup.settings, salt)
        else:
            heard = hear(call, landing, setup.settings, salt)
        decision = decide(heard, arrival.namespace, arrival.clock.now(), setup.since)
        if isinstance(heard, Question) and (large or heard.weight >= _LONG_ANSWER):
            return await asyncio.to_thread(respond, heard, decision)
        return respond(heard, decision)

    def _lost(self, method: str, arrival: _Arrival) -> Denial:
        said = (
            f"Nothing is served at {method} {arrival.path}. Put a dialect's name in front "
            f"({', '.join(f'/{name}/...' for name in self.simulator.dialects)}), or see GET {ADMIN}/routes."
        )
        return Denial(404, "no_route", said)


def create_app(settings: Settings | None = None) -> App:
    """The application with every installed dialect; raises ConfigError when the settings name what does not exist."""
    return App(checked(settings or Settings()), load_dialects())


async def _perform(exchange: Exchange, plan: Plan, arrival: _Arrival, receive: Receive, send: Send) -> None:
    joined = arrival.setup.settings.writes == "joined"
    stage = Stage(receive, send, arrival.clock, joined, arrival.wire_extension())
    tell = partial(arrival.namespace.journal.tell, exchange)
    await play(plan.timeline, stage, arrival.instant, exchange.record, tell)


async def _deny(exchange: Exchange, send: Send, arrival: _Arrival) -> None:
    """An answer of our own, in a shape that every OpenAI-style client can show."""
    denial = exchange.denial
    assert denial is not None, "an exchange without a plan has been denied"
    more = {"nearest": arrival.setup.router.nearest(arrival.path)} if denial.kind == "no_route" else {}
    error = {"message": denial.message, "type": f"mockserver_{denial.kind}", **more}
    body = orjson.dumps({"error": error}, option=orjson.OPT_INDENT_2)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    seconds = arrival.clock.now() - arrival.instant
    exchange.record.wrote(1, 0, seconds)
    exchange.record.closed_by, exchange.record.seconds = "server", seconds
    arrival.namespace.journal.tell(exchange)
    await send({"type": "http.response.start", "status": denial.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_hint(made: Plan, nearest: list[str]) -> Plan:
    """A vendor's refusal of a path or a method says little: a header of our own says what is served nearby."""
    hint = (b"x-mockserver-hint", f"nearest: {', '.join(nearest)}".encode("ascii", "replace"))
    timeline = replace(made.timeline, headers=(*made.timeline.headers, hint))
    return replace(made, timeline=timeline)


async def _read_body(receive: Receive, limit: int) -> bytes:
    message = await receive()
    chunks: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise _ClientLeftError
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _TooLargeError
        if not message.get("more_body"):
            return chunk if not chunks else b"".join((*chunks, chunk))
        chunks.append(chunk)
        message = await receive()


async def _live(receive: Receive, send: Send) -> None:
    """ASGI's lifespan: nothing to start, nothing to stop."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _access_line(exchange: Exchange) -> str:
    plan, record = exchange.plan, exchange.record
    took = f"in {record.seconds * 1000:.0f} ms"
    if plan is None:
        return f"{exchange.call.method} {exchange.path} {exchange.denial and exchange.denial.kind} {took}"
    landing, generation = plan.visit.landing, plan.generation
    operation = landing.operation.name if landing.operation else exchange.path
    tokens = f" {generation.usage.prompt_tokens}+{generation.usage.completion_tokens} tokens" if generation else ""
    refused = f" {plan.rejection.kind}" if plan.rejection else ""
    struck = f", struck by {' and '.join(plan.faults)}" if plan.faults else ""
    left = f", client left after {record.events_sent} events" if record.closed_by == "client" else ""
    return f"{landing.dialect.name} {operation} {plan.timeline.status}{refused}{tokens} {took}{left}{struck}"
