"""Requests to the dialects, on their way through the pipeline: from an ASGI scope to a response that plays a plan."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from mockserver import pipeline
from mockserver.core.failures import FailureKind, Refusal, SimulatorError
from mockserver.core.http import Call, Headers, TimedFrames, Timeline
from mockserver.core.installed import defects_of_answer
from mockserver.core.json_values import MOST_VALUES, has_more_values
from mockserver.core.matching.requests import constrains
from mockserver.core.messages import MISSPELT
from mockserver.routes import Routes, choose_dialect
from mockserver.server.app_state import AppState, Setup
from mockserver.server.asgi import (
    HEADERS,
    ROOT,
    ClientLeftError,
    PlayedResponse,
    Transport,
    read_body,
    refuse_websocket,
)
from mockserver.server.clock import ShiftedClock
from mockserver.server.cors import allowed_origin, preflight, with_cors
from mockserver.server.logs import log, log_access
from mockserver.server.multi_process import needs_one_process, stateful_call, stateful_context
from mockserver.server.urls import ADMIN, live_page_from
from mockserver.state.context import HeaderError, RequestContext, RouteMatch, make_context
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.namespaces import BAD_NAME, DEFAULT, Namespace, is_name, namespace_of
from mockserver.state.plan import Plan, answers_long, reads_long
from mockserver.state.rate_limiter import limit_states_of

if TYPE_CHECKING:
    from mockserver.server.webhooks import WebhookSender


# The number of bits for counting the calls of a process, below random ones of its start.
_CALL_BITS = 40
_NONE: Mapping[str, str] = MappingProxyType({})
# The headers of a request that decide its answer, wherever it goes.
_DECIDING = ("x-mockserver-reply", "x-mockserver-fault")


class _Incoming:
    """A request on its way: the namespace that it is for, its path there, the setup in force, and the clock."""

    # Whether it has landed nowhere, so that only a stub, a fault or its own headers may answer it.
    is_nowhere = False

    def __init__(self, scope: Scope, app_state: AppState, name: str, path: str, headers: Headers) -> None:
        self.application: Starlette = scope["app"]
        self.method: str = scope["method"]
        self.requested, self.path, self.headers = scope["path"], path, headers
        self.query = scope["query_string"].decode("latin-1")
        self.namespace: Namespace = app_state.namespaces.get(name)
        self.setup: Setup = app_state.setup_of(self.namespace) if self.namespace.own else app_state.setup
        self.clock: ShiftedClock = app_state.clocks.of(self.namespace)
        self.arrived = self.clock.now()
        self.body = b""
        self.has_transport = Transport.EXTENSION in scope.get("extensions", {})
        # The origin of the page that may read the answer.
        self.origin = allowed_origin(headers, self.setup.settings) if "origin" in headers else None

    def may_be_answered(self) -> bool:
        """Whether stubs, faults or the request's own headers may decide an answer where nothing is served."""
        armed = (rule.fault for rule in self.namespace.faults.armed.values())
        return (
            any(name in self.headers for name in _DECIDING)
            or self.namespace.stubs.has_paths(self.setup.stubs)
            or any(constrains(fault.match, "path") for fault in (*self.setup.settings.fault, *armed))
        )

    def call(self, path: str) -> Call:
        """The call under the dialect's native path."""
        now = time.time() + self.namespace.shift
        return Call(self.method, path, self.headers, self.body, self.query, now)


class Handler:
    """Answers the requests to the dialects of a simulator, which is to be set."""

    app_state: AppState

    def __init__(self) -> None:
        self.begin_ids()
        self._webhooks: WebhookSender | None = None

    def begin_ids(self) -> None:
        """Let the unique ids from now on differ from those of every other server and process."""
        self._calls = count((int.from_bytes(os.urandom(8)) << _CALL_BITS) + 1)

    async def __call__(self, route: RouteMatch | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope: the application behind every route of a dialect, and behind none."""
        if scope["type"] != "http":
            await refuse_websocket(send)
            return
        try:
            response = await self.respond(route, scope, receive)
        except ClientLeftError:
            return
        await response(scope, receive, send)

    async def respond(self, route: RouteMatch | None, scope: Scope, receive: Receive) -> PlayedResponse:
        """The response to a request that has landed somewhere, or nowhere. Raises ClientLeftError."""
        headers: Headers = scope.get(HEADERS) or Headers(scope["headers"])
        name, path = _namespace_of(scope, headers)
        is_known = name == DEFAULT or is_name(name)
        incoming = _Incoming(scope, self.app_state, name if is_known else DEFAULT, path, headers)
        allowed = preflight(incoming.method, headers) if incoming.origin is not None else None
        if allowed is not None:
            return _aside(incoming, allowed)
        body = await read_body(scope, receive, incoming.setup.settings.max_body)
        incoming.body = body or b""
        if not is_known:
            return self._deny(incoming, SimulatorError(400, "bad_namespace", BAD_NAME))
        # Whether somebody looks into the body: an operation, or stubs, faults and headers where there is none.
        is_read = (route is not None and route.operation is not None) or incoming.may_be_answered()
        if route is None:
            if not is_read:
                return self._elsewhere(incoming)
            route, incoming.is_nowhere = incoming.setup.routes.unserved(path), True
        is_long = len(incoming.body) > MOST_VALUES and is_read
        is_too_large = body is None or (is_long and await asyncio.to_thread(has_more_values, body))
        if route.others:
            # A long body may have to be parsed for that; one that is too large is not read.
            known, models = b"" if is_too_large else incoming.body, incoming.setup.settings.models
            choose = partial(choose_dialect, route, headers, known, models, incoming.namespace.histories.has_stored)
            route = await asyncio.to_thread(choose) if is_long else choose()
        try:
            if is_too_large:
                return self._refuse(incoming, route, FailureKind.BODY_TOO_LARGE)
            return await self._answer(incoming, route)
        except HeaderError as error:
            return self._deny(incoming, SimulatorError(400, "invalid_header", str(error)), route)

    async def _answer(self, incoming: _Incoming, route: RouteMatch) -> PlayedResponse:
        """The way of a request through the pipeline. Raises HeaderError if one of our own headers cannot be obeyed."""
        namespace, setup, plan, context = incoming.namespace, incoming.setup, None, None
        try:
            context = self._context(incoming, route)
            is_long = reads_long(context.call)
            plan = await asyncio.to_thread(pipeline.parse, context) if is_long else pipeline.parse(context)
            stateful = self.app_state.worker is not None and (
                stateful_call(context.call, route) or stateful_context(plan.context)
            )
            if stateful:
                return self._deny(
                    incoming, SimulatorError(409, "several_processes", f"{needs_one_process(stateful)}."), route
                )
            pipeline.resolve(plan, namespace, incoming.arrived, setup.since, setup.stubs)
            if incoming.is_nowhere and not _is_meant(plan):
                pipeline.release(plan, namespace)
                return self._elsewhere(incoming)
            if is_long or answers_long(plan):
                await asyncio.to_thread(pipeline.complete, plan)
            else:
                pipeline.complete(plan)
        except Exception as error:
            if plan is not None:
                pipeline.release(plan, namespace)
            if isinstance(error, HeaderError):
                raise
            told = f"{incoming.method} {route.path}"
            if context is not None and route.operation is not None:
                reply = plan.reply if plan is not None else None
                told = "; ".join((told, *defects_of_answer(route.operation, context.call, context.scope, reply)))
            message = "an error in mockserver or in its dialect %s, answered as a server error: %s"
            log.error(message, route.dialect.name, told, exc_info=error)
            return self._refuse(incoming, route, FailureKind.SERVER_ERROR)
        if plan.timeline.ending is not None and not incoming.has_transport:
            pipeline.release(plan, namespace)
            message = (
                f"{' and '.join(plan.faults)}: needs a socket of mockserver's own server (`mockserver serve`, "
                "MockServer), which other ASGI servers and clients in process do not give."
            )
            return self._deny(incoming, SimulatorError(501, "no_socket", message), route)
        if plan.refusal is not None and not setup.settings.strict:
            _add_hint(plan, incoming.path, setup.routes)
        return self._play(incoming, pipeline.record(plan, namespace, incoming.path, incoming.arrived))

    def _context(self, incoming: _Incoming, route: RouteMatch) -> RequestContext:
        """The context of a call: what it asks for by headers, and what an operation may know of the namespace."""
        settings, namespace = incoming.setup.settings, incoming.namespace
        call = incoming.call(route.path)
        salt = next(self._calls) if settings.ids == "unique" else 0
        limit_states = (
            limit_states_of(call, route, settings, namespace.quotas, incoming.arrived) if settings.quota else ()
        )
        context = make_context(call, route, settings, salt, limit_states)
        operation, dialect = route.operation, route.dialect
        if operation is None or not operation.needs_history(call):
            return context
        webhooks = None if operation.handler is None else namespace.deliveries.webhooks(dialect)
        return context._replace(
            scope=context.scope._replace(webhooks=webhooks, history=namespace.histories.of(dialect))
        )

    def _refuse(self, incoming: _Incoming, route: RouteMatch, kind: FailureKind) -> PlayedResponse:
        """The vendor's refusal of a request that the dialect has not read."""
        plan = Plan(make_context(incoming.call(route.path), route, incoming.setup.settings), refusal=Refusal(kind))
        pipeline.complete(plan)
        return self._play(incoming, pipeline.record(plan, incoming.namespace, incoming.path, incoming.arrived))

    def _elsewhere(self, incoming: _Incoming) -> PlayedResponse:
        """The answer at a path that nothing serves; a browser at the root is led to the live page."""
        if not incoming.setup.settings.strict:
            led = _to_live_page(incoming)
            if led is not None:
                return _aside(incoming, led)
        stubbed = incoming.namespace.stubs.paths(incoming.setup.stubs)
        simulator_error = no_route(
            incoming.method, incoming.path, self.app_state.dialects, incoming.setup.routes, stubbed
        )
        return self._deny(incoming, simulator_error)

    def _deny(
        self, incoming: _Incoming, simulator_error: SimulatorError, route: RouteMatch | None = None
    ) -> PlayedResponse:
        """A refusal in our own format."""
        call = incoming.call(incoming.path if route is None else route.path)
        space = incoming.namespace
        exchange = space.journal.open(
            space.name,
            incoming.path,
            call,
            simulator_error=simulator_error,
            arrived=incoming.arrived,
            ahead=space.shift,
        )
        return self._play(incoming, exchange)

    def _play(self, incoming: _Incoming, exchange: Exchange) -> PlayedResponse:
        """The response that plays an exchange of the journal, and does what the answer orders."""
        namespace, plan, app_state = incoming.namespace, exchange.plan, self.app_state
        if plan is not None and plan.context.route.dialect.webhooks and plan.orders and plan.timeline.status < 400:
            self._send(incoming, plan)
        app_state.namespaces.trim()
        app_state.metrics.in_flight += 1
        close_history = namespace.histories.begin(exchange)
        ended = partial(_ended, exchange, namespace, app_state, close_history)
        timeline = plan.timeline if plan is not None else _error_timeline(exchange)
        if incoming.origin is not None:
            # With headers that let pages of other origins read it.
            timeline = with_cors(timeline, incoming.origin)
        joined = incoming.setup.settings.writes == "joined"
        return PlayedResponse(timeline, incoming.clock, incoming.arrived, exchange.record, ended, joined=joined)

    def _send(self, incoming: _Incoming, plan: Plan) -> None:
        """Have the requests made that an answer orders."""
        if self._webhooks is None:
            # Few answers order any.
            from mockserver.server.webhooks import WebhookSender

            self._webhooks = WebhookSender(self.app_state, incoming.application)
        self._webhooks.take(incoming.namespace, plan.context.route.dialect, plan.orders)


def _is_meant(plan: Plan) -> bool:
    """Whether its own headers, or stubs or faults that name its path, decide the answer to a request where nothing is
    served."""
    is_prepared = plan.prepared is not None or plan.nearest is not None or plan.handler_error is not None
    return is_prepared or any(each.by == "header" or constrains(each.fault.match, "path") for each in plan.triggered)


def _namespace_of(scope: Scope, headers: Headers) -> tuple[str, str]:
    """The namespace of a request, and its path there, without the prefix of an application that this one is part of."""
    path = scope["path"].removeprefix(scope[ROOT])
    named = scope.get("path_params", _NONE).get("namespace")
    if named is not None:
        return named, path.removeprefix(f"/ns/{named}")
    return namespace_of(path, headers, scope["query_string"].decode("latin-1"))


def _aside(incoming: _Incoming, timeline: Timeline) -> PlayedResponse:
    """An answer to a browser, outside the journal."""
    return PlayedResponse(timeline, incoming.clock, incoming.arrived)


def _error_timeline(exchange: Exchange) -> Timeline:
    """The timeline of our own refusal."""
    simulator_error = exchange.simulator_error
    assert simulator_error is not None, "an exchange without a plan has been denied"
    return Timeline(
        simulator_error.status,
        ((b"content-type", b"application/json"),),
        (TimedFrames((simulator_error.body,), (0.0,), (0,)),),
    )


def _ended(
    exchange: Exchange, namespace: Namespace, app_state: AppState, close_history: Callable[[], None] | None
) -> None:
    """Settle an exchange that has ended: quotas, slots, metrics, history, journal and log."""
    plan = exchange.plan
    if plan is not None and plan.reservation is not None:
        namespace.quotas.release(plan.reservation)
    if plan is not None and exchange.record.closed_by == "client":
        if plan.slot is not None:
            plan.slot.release()
        namespace.attempts.record_cancel(plan)
    app_state.metrics.ended(exchange)
    if close_history is not None:
        close_history()
    namespace.journal.notify(exchange)
    log_access(exchange)


# Endpoints of the admin API that people also look for at the root, as servers of other kinds have them there.
SOUGHT = ("/health", "/ready", "/version", "/metrics", "/routes", "/openapi.json")


def no_route(
    method: str, path: str, dialects: Iterable[str], routes: Routes, stubbed: Iterable[str] = ()
) -> SimulatorError:
    """The answer to a request that no dialect has; `dialects` are the names of those that are served, `stubbed` the
    paths that stubs name."""
    if path.startswith(f"{ADMIN}/"):
        # Without the namespace in front the admin API would have got it, or refused its disguise.
        message = f"The admin API is only at {ADMIN}/, and that of a namespace at {ADMIN}/ns/<name>/."
        return SimulatorError(404, "admin", message)
    own = f" The server's own is at {ADMIN}{path}." if path in SOUGHT else ""
    near = [*dict.fromkeys((*get_close_matches(path, stubbed, 1, MISSPELT), *routes.nearest(path)))]
    is_like = near[0].endswith(path) or path.endswith(near[0]) or get_close_matches(path, near[:1], 1, MISSPELT)
    meant = f" Did you mean {near[0]}?" if is_like else ""
    message = (
        f"Nothing is served at {method} {path}.{meant} Put a dialect's name in front "
        f"({', '.join(f'/{name}/...' for name in dialects)}), stub the path, or see GET {ADMIN}/routes, "
        f"or the live page: {ADMIN}/ui/.{own}"
    )
    return SimulatorError(404, "no_route", message, tuple(near))


def _to_live_page(incoming: _Incoming) -> Timeline | None:
    """A redirect to the namespace's live page if a browser requests the root; else None."""
    is_page = "text/html" in (incoming.headers.get("accept") or "")
    if incoming.path != "/" or incoming.method not in ("GET", "HEAD") or not is_page:
        return None
    location = (b"location", live_page_from(incoming.requested, incoming.namespace.name).encode())
    return Timeline(307, (location, (b"cache-control", b"no-store")), ())


def _add_hint(plan: Plan, path: str, routes: Routes) -> None:
    """Add a header of our own to the refusal of a request at a path, if it names what would work."""
    hint = _hint(plan, path, routes)
    if hint:
        header = (b"x-mockserver-hint", hint.encode("ascii", "replace"))
        plan.timeline = plan.timeline._replace(headers=(*plan.timeline.headers, header))


def _hint(plan: Plan, path: str, routes: Routes) -> str:
    route = plan.context.route
    if route.operation is None and _is_meant(plan):
        return ""
    if route.allowed and route.operation is None:
        return f"{path} takes {', '.join(route.allowed)}"
    assert plan.refusal is not None, "only refusals are given hints"
    if plan.refusal.kind is FailureKind.UNKNOWN_PATH or route.operation is None:
        return f"nearest: {', '.join(routes.nearest(path))}"
    if plan.refusal.kind is FailureKind.UNSUPPORTED_MEDIA_TYPE:
        return "a body of this type or encoding is not read: send Content-Type: application/json"
    if plan.refusal.kind not in (FailureKind.INVALID_REQUEST, FailureKind.UNKNOWN_MODEL):
        return ""
    others = [f"/{other.dialect.name}{path}" for other in route.others]
    return f"{path} is {route.dialect.name}'s; others: {', '.join(others)}" if others else ""
