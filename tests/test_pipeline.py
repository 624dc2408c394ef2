"""The way of a request: which answers take long, and how many calls of functions it takes."""

import asyncio
import json
import sys
from collections.abc import MutableMapping
from typing import Any

import pytest

from mockserver import create_app
from mockserver.core.calls import Call, Headers
from mockserver.core.installed import load_dialects
from mockserver.pipeline import parse, resolve
from mockserver.routes import Routes
from mockserver.state.context import make_context
from mockserver.state.costs import answers_long
from mockserver.state.namespaces import Namespace
from mockserver.state.settings import Settings

QUIET = Settings(latency="off")


def takes_long(path: str, body: dict[str, object]) -> bool:
    route = Routes(load_dialects(), QUIET).find("POST", path)
    assert route is not None
    call = Call("POST", route.path, Headers([(b"authorization", b"Bearer key")]), json.dumps(body).encode())
    plan = parse(make_context(call, route, QUIET))
    resolve(plan, Namespace(""), 0.0)
    return answers_long(plan)


@pytest.mark.parametrize(
    "fields, long",
    [
        ({}, False),
        ({"max_tokens": 2_048}, True),
        ({"max_tokens": 100, "logprobs": 20}, True),
        ({"prompt": ["a"] * 300}, True),
        # A prompt that is echoed is said too, and with it what is told of its tokens.
        ({"prompt": [7] * 3_000}, False),
        ({"prompt": [7] * 3_000, "echo": True}, True),
        ({"prompt": [7] * 300, "echo": True}, False),
        ({"prompt": [7] * 300, "echo": True, "logprobs": 10}, True),
    ],
)
def test_a_long_answer_is_not_made_while_all_others_wait(fields: dict[str, object], long: bool) -> None:
    body = {"model": "m", "prompt": "Take your time", "max_tokens": 8, **fields}
    assert takes_long("/cerebras/v1/completions", body) is long


@pytest.mark.parametrize(
    "fields, long",
    [
        ({"input": "Tides"}, False),
        ({"input": ["Tides"] * 10}, False),
        ({"input": ["Tides"] * 20}, True),
        ({"input": "Tides rise. " * 500}, True),
        ({"model": "bge-reranker", "query": "Tides", "documents": ["Tides rise. " * 80_000]}, True),
    ],
)
def test_texts_are_not_embedded_while_all_others_wait(fields: dict[str, object], long: bool) -> None:
    path = "/v3/embeddings" if "input" in fields else "/v3/rerank"
    assert takes_long(f"/ovms{path}", {"model": "bge-large", **fields}) is long


# A call of a function costs about as much as a dozen operations; the way is short as long as they are few.
MOST_CALLS = 480


def test_a_plain_answer_to_a_new_prompt_takes_few_calls_of_functions() -> None:
    app = create_app(log_level="warning")

    async def ask(number: int) -> None:
        prompt = f"{number}: tell me about the tides of the sea, and what the moon has to do with them, please"
        body = {"model": "llama3.1-8b", "messages": [{"role": "user", "content": prompt}], "max_tokens": 60}
        data = json.dumps(body).encode()
        headers = [(b"host", b"localhost"), (b"authorization", b"Bearer k"), (b"content-type", b"application/json")]
        path = "/cerebras/v1/chat/completions"
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": data}

        async def send(message: MutableMapping[str, Any]) -> None:
            assert message.get("status", 200) == 200

        await app(scope, receive, send)

    async def counted() -> float:
        for number in range(20):
            await ask(number)
        calls = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count)
        try:
            for number in range(20, 40):
                await ask(number)
        finally:
            sys.setprofile(None)
        return calls / 20

    assert asyncio.run(counted()) <= MOST_CALLS
