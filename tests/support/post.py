"""A message store of QStash whose sender is the test: it performs the tasks when it chooses, without a socket."""

import json
from typing import Any

from mockserver.core.dialect_state import WebhookRequest, WebhookResult
from mockserver.core.http import Call, Headers
from mockserver.core.installed import load_dialect
from mockserver.dialects.upstash.message_store import MessageStore
from mockserver.pipeline import complete, parse
from mockserver.routes import Routes
from mockserver.state.context import make_context
from tests.support.asking import QUIET
from tests.support.conformity import faults

START = 1_700_000_000.0
CALLBACK = "http://127.0.0.1:9/callback"
FAILURE = "http://127.0.0.1:9/failure"
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
LLM = "/v2/publish/api/llm"
WELL, BROKEN = WebhookResult(200, ((b"content-type", b"text/plain"),), b"fine"), WebhookResult(500, (), b"broken")
_ROUTES = Routes({"upstash": load_dialect("upstash")}, QUIET)


class Post:
    """A namespace's message store, with a clock that only the test moves."""

    def __init__(self) -> None:
        self.store = MessageStore()
        self.now = START

    def ask(
        self, method: str, path: str, body: object = None, edition: str = "documented", **headers: str
    ) -> tuple[int, Any]:
        """The answer to a request, whose orders are carried out. `upstash_delay="5s"` is a header."""
        payload = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"authorization": "Bearer token", "content-type": "application/json", "x-mockserver-edition": edition}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        target, _, query = path.partition("?")
        route = _ROUTES.find(method, f"/upstash{target}")
        assert route is not None
        raw = Headers((name.encode(), value.encode()) for name, value in sent.items() if value)
        context = make_context(Call(method, route.path, raw, payload, query, self.now), route, QUIET)
        plan = parse(context._replace(scope=context.scope._replace(webhooks=self.store)))
        complete(plan)
        data = b"".join(event for run in plan.timeline.runs for event in run.data)
        assert faults(plan, data) == []
        for order in plan.orders:
            assert callable(order)
            order()
        return plan.timeline.status, json.loads(data) if data else None

    def publish(self, path: str = LLM, body: object = CHAT, **headers: str) -> str:
        """The id of a message that is accepted."""
        if path.endswith("api/llm"):
            headers.setdefault("upstash_callback", CALLBACK)
        status, answer = self.ask("POST", path, body, **headers)
        assert status == 200, answer
        id: str = answer["messageId"]
        return id

    def due(self) -> list[WebhookRequest]:
        """What is sent now."""
        return list(self.store.due(self.now, START, 100))

    def perform(self, *outcomes: WebhookResult) -> list[WebhookRequest]:
        """What is sent now, with the outcome of each."""
        tasks = self.due()
        assert len(tasks) == len(outcomes), [task.url for task in tasks]
        for task, outcome in zip(tasks, outcomes, strict=True):
            self.store.done(task, outcome, self.now)
        return tasks

    def advance(self, seconds: float) -> None:
        """Put the clock forward."""
        self.now += seconds

    def events(self, query: str = "") -> list[dict[str, Any]]:
        """The log, oldest first."""
        _, answer = self.ask("GET", f"/v2/events{query}")
        found: list[dict[str, Any]] = answer["events"]
        return found[::-1]

    def states(self, id: str) -> list[str]:
        """The states that a message has been in."""
        return [event["state"] for event in self.events(f"?messageId={id}")]


def headers_of(task: WebhookRequest) -> dict[str, str]:
    """The headers of a request as text."""
    return {name.decode(): value.decode() for name, value in task.headers}
