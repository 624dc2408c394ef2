"""The ASGI application: from a scope to a call, from a plan to the wire.

    scope -> namespace -> route -> body -> plan -> play

Vendor routes are dispatched here by a dictionary; only the admin API goes through a framework.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import orjson

from mockserver.control.faults import FaultDesk, respond
from mockserver.control.namespaces import namespace_of
from mockserver.control.options import check_names, checked
from mockserver.control.plan import Plan, Question, WishError, hear, plan_refusal
from mockserver.control.routing import Landing, Router, operations_of
from mockserver.control.settings import Settings
from mockserver.core.calls import Call, Headers
from mockserver.core.dialects import Dialect
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.timeline import Outcome
from mockserver.dialects import load_dialects
from mockserver.serving.admin import admin_api
from mockserver.serving.clock import clock_of
from mockserver.serving.player import Receive, Send, play
from mockserver.serving.wire import EXTENSION

log = logging.getLogger("mockserver")

# What takes longer than some milliseconds is planned in a thread, so that the loop can go on: a body of so many bytes,
# an answer of so many tokens.
_LARGE_BODY = 32_768
_LONG_ANSWER = 4_096

ADMIN = "/_mockserver"


class _TooLargeError(Exception):
    """The body is larger than the settings allow."""


class _ClientLeftError(Exception):
    """The client went away while it was still sending."""


class App:
    """The simulator as an ASGI application."""

    def __init__(self, settings: Settings, dialects: Mapping[str, Dialect]) -> None:
        check_names(settings, operations_of(dialects))
        self.settings = settings
        self.dialects = dialects
        self.router = Router(dialects, settings)
        self._desk = FaultDesk(time.monotonic())
        self._admin = admin_api(settings, dialects, self.router, self._desk)
        self._admin_paths = frozenset(f"/{name}/openapi.json" for name in dialects)
        self._calls = count(1)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1003, "reason": "mockserver speaks plain HTTP only"})

    async def _serve(self, scope: Any, receive: Receive, send: Send) -> None:
        clock = clock_of(asyncio.get_running_loop())
        arrived = clock.now()
        headers = Headers(scope["headers"])
        namespace, path = namespace_of(scope["path"], headers)
        if path.startswith(ADMIN) or path in self._admin_paths:
            await self._admin(scope, receive, send)
            return
        landing = self.router.find(scope["method"], path, headers.get("host") or "")
        if landing is None:
            await _refuse(send, 404, "no_route", self._lost(scope["method"], path), nearest=self.router.nearest(path))
            return
        try:
            made = await self._plan(scope, headers, landing, receive, namespace)
        except WishError as error:
            await _refuse(send, 400, "bad_wish", str(error))
            return
        except _ClientLeftError:
            return
        if landing.operation is None and not self.settings.strict:
            made = _with_hint(made, self.router.nearest(path))
        wire = scope.get("extensions", {}).get(EXTENSION)
        if made.timeline.ending is not None and wire is None:
            await _refuse(send, 501, "no_wire", f"{' and '.join(made.faults)}: needs a socket, and here is none.")
            return
        joined = self.settings.writes == "joined"
        outcome = await play(made.timeline, receive, send, clock=clock, arrived=arrived, joined=joined, wire=wire)
        if log.isEnabledFor(logging.INFO):
            log.info("%s", _access_line(made, outcome))

    async def _plan(self, scope: Any, headers: Headers, landing: Landing, receive: Receive, namespace: str) -> Plan:
        query = scope["query_string"].decode("latin-1")
        call = Call(scope["method"], landing.path, headers, b"", query, time.time())
        salt = next(self._calls) if self.settings.ids == "unique" else 0
        try:
            body = await _read_body(receive, self.settings.max_body)
            call = Call(call.method, call.path, headers, body, query, call.received_at)
            return await self._answer(call, landing, namespace, salt)
        except _TooLargeError:
            return plan_refusal(Rejection(FailureKind.BODY_TOO_LARGE), call, landing, self.settings)
        except (WishError, _ClientLeftError):
            raise
        except Exception:
            log.exception("a fault of mockserver's own, answered as a server error: %s %s", call.method, call.path)
            return plan_refusal(Rejection(FailureKind.SERVER_ERROR), call, landing, self.settings)

    async def _answer(self, call: Call, landing: Landing, namespace: str, salt: int) -> Plan:
        """Hear the call and answer it, in a thread where either takes long."""
        if len(call.body) > _LARGE_BODY:
            heard = await asyncio.to_thread(hear, call, landing, self.settings, salt)
        else:
            heard = hear(call, landing, self.settings, salt)
        faults = self._desk.pick(heard, namespace, time.monotonic())
        long = isinstance(heard, Question) and (len(call.body) > _LARGE_BODY or heard.weight >= _LONG_ANSWER)
        return await asyncio.to_thread(respond, heard, faults) if long else respond(heard, faults)

    def _lost(self, method: str, path: str) -> str:
        return (
            f"Nothing is served at {method} {path}. Put a dialect's name in front "
            f"({', '.join(f'/{name}/...' for name in self.dialects)}), or see GET {ADMIN}/routes."
        )


def create_app(settings: Settings | None = None) -> App:
    """The application with every installed dialect; raises ConfigError when the settings name what does not exist."""
    return App(checked(settings or Settings()), load_dialects())


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


async def _refuse(send: Send, status: int, kind: str, message: str, **more: object) -> None:
    """An answer of our own, in a shape that every OpenAI-style client can show."""
    body = orjson.dumps(
        {"error": {"message": message, "type": f"mockserver_{kind}", **more}}, option=orjson.OPT_INDENT_2
    )
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _live(receive: Receive, send: Send) -> None:
    """ASGI's lifespan: nothing to start, nothing to stop."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _access_line(made: Plan, outcome: Outcome) -> str:
    landing, generation = made.visit.landing, made.generation
    operation = landing.operation.name if landing.operation else made.visit.call.path
    tokens = f" {generation.usage.prompt_tokens}+{generation.usage.completion_tokens} tokens" if generation else ""
    refused = f" {made.rejection.kind}" if made.rejection else ""
    struck = f", struck by {' and '.join(made.faults)}" if made.faults else ""
    left = "" if outcome.closed_by == "server" else f", client left after {outcome.events_sent} events"
    status = made.timeline.status
    return (
        f"{landing.dialect.name} {operation} {status}{refused}{tokens} in {outcome.seconds * 1000:.0f} ms{left}{struck}"
    )
