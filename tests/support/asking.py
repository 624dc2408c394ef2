"""Asking a dialect without a socket: one call through all pure stages."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from mockserver.core.dialects import Edition
from mockserver.core.http import Call, Headers
from mockserver.core.installed import load_dialect
from mockserver.pipeline import answer, record
from mockserver.routes import Routes
from mockserver.state.namespaces import Namespace
from mockserver.state.plan import Plan
from mockserver.state.settings import RouteSettings, Settings
from tests.support.conformity import faults, stream_data

FROZEN = 1_700_000_000.25
QUIET = Settings(created=FROZEN, latency="off")


@dataclass(frozen=True)
class Answer:
    """A complete answer, with the plan that it was made of."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    plan: Plan

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    def events(self) -> list[Any]:
        """The data of each event of a stream; `[DONE]` stays a text."""
        return stream_data(self.body)


@cache
def _routes(name: str, own: tuple[RouteSettings, ...]) -> Routes:
    """The routes of a dialect and a user, of which making them takes longer than most answers."""
    return Routes({name: load_dialect(name)}, Settings(routes=own))


def ask(
    name: str,
    body: object = None,
    *,
    path: str | None = None,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
    edition: Edition = "documented",
    settings: Settings = QUIET,
    namespace: Namespace | None = None,
    now: float = 0.0,
) -> Answer:
    """The answer of a dialect to one request, which is for its first operation unless `path` is given: one of its own,
    or of the settings' routes.

    `body` is sent as JSON, bytes as they are. A bearer key and a content type are sent unless `headers` has others, or
    empty ones. The answer must conform to the dialect's contract, unless a fault has changed it or a stub has given its
    bytes. Without a `namespace` the request is for a new one, where it comes at the instant `now`.
    """
    dialect = load_dialect(name)
    operation = dialect.operations[0]
    sent_by_default = {"authorization": "Bearer test", "content-type": "application/json", **dialect.needs}
    raw = {**sent_by_default, "x-mockserver-edition": edition, **(headers or {})}
    payload = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    method = method or ("GET" if body is None and path is not None else operation.method)
    native = path or operation.paths[0]
    target, _, query = native.partition("?")
    sent = Headers((key.encode(), value.encode()) for key, value in raw.items() if value)
    own = any(each.path == target for each in settings.routes)
    route = _routes(name, settings.routes).find(method, target if own else f"/{name}{target}")
    assert route is not None
    call = Call(method, route.path, sent, payload, query, FROZEN)
    space = namespace or Namespace("")
    made = answer(call, route, settings, space, now)
    record(made, space, target, now)
    data = b"".join(event for run in made.timeline.runs for event in run.data)
    assert made.faults or faults(made, data) == []
    got = {key.decode(): value.decode() for key, value in made.timeline.headers}
    return Answer(made.timeline.status, got, data, made)
