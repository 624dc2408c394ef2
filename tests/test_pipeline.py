"""The way of a request: which answers take long, and how many calls and modules it takes."""

import json
import sys
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection
from statistics import median
from types import FrameType
from urllib.parse import urlsplit

import pytest

from mockserver import create_app
from mockserver.core.http import Call, Headers
from mockserver.core.installed import load_dialects
from mockserver.pipeline import parse, resolve
from mockserver.routes import Routes
from mockserver.server.server import AppThread
from mockserver.state.context import make_context
from mockserver.state.namespaces import Namespace
from mockserver.state.plan import answers_long
from mockserver.state.settings import Settings

QUIET = Settings(latency="off")


def takes_long(path: str, body: dict[str, object]) -> bool:
    route = Routes(load_dialects(), QUIET).find("POST", path)
    assert route is not None
    headers = Headers([(b"authorization", b"Bearer key"), (b"content-type", b"application/json")])
    call = Call("POST", route.path, headers, json.dumps(body).encode())
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


# A call of a function costs about as much as a dozen operations; the way is short as long as they are few. Those of
# uvicorn's protocol and of Starlette count too, with room for what their next versions add. Of modules, ours count, and
# that of the server which the test calls.
PROMPT = "{}: tell me about the tides of the sea, and what the moon has to do with them, please"
MOST = [
    ("/cerebras/v1/chat/completions", "llama3.1-8b", 246, 30),
    # At the root, where the name of the model decides whose it is.
    ("/v1/completions", "llama3.1-8b", 260, 30),
    ("/friendli/serverless/v1/chat/completions", "meta-llama-3.1-8b-instruct", 235, 30),
    ("/friendli/v1/completions", "meta-llama-3.1-8b-instruct", 227, 31),
    ("/openai/v1/chat/completions", "gpt-4o-mini", 258, 30),
    ("/ovms/v3/chat/completions", "llama3", 245, 30),
    ("/ovms/v3/completions", "llama3", 225, 31),
    ("/upstash/llm/v1/chat/completions", "meta-llama/Meta-Llama-3-8B-Instruct", 237, 30),
    ("/yandex/v1/chat/completions", "gpt://b1gmockfolder/yandexgpt/latest", 236, 30),
    ("/anthropic/v1/messages", "claude-sonnet-4-5", 260, 30),
]


@pytest.fixture(scope="module")
def quiet_server() -> Iterator[AppThread]:
    with AppThread(create_app(port=0, log_level="warning")) as server:
        yield server


@pytest.mark.parametrize("path, model, most_calls, most_modules", MOST)
def test_a_plain_answer_to_a_new_prompt_takes_few_calls_in_few_modules(
    path: str, model: str, most_calls: int, most_modules: int, quiet_server: AppThread
) -> None:
    client = HTTPConnection(urlsplit(quiet_server.url).netloc)
    # What each request calls and crosses; beside some of them the server does something else, such as writing its log.
    calls, crossed = [0], [set[str]()]
    # Each row has prompts of its own: what other rows have asked is remembered.
    first = 1_000 + 40 * [row[0] for row in MOST].index(path)

    def ask(number: int) -> None:
        text = PROMPT.format(number)
        said = [{"role": "user", "content": text}]
        asked = {"messages": said} if "chat" in path or "messages" in path else {"prompt": text}
        headers = {"authorization": "Bearer k", "content-type": "application/json"}
        # At a path that dialects share, this one would make a call Anthropic's.
        headers |= {"anthropic-version": "2023-06-01"} if "anthropic" in path else {}
        client.request("POST", path, json.dumps({"model": model, "max_tokens": 60, **asked}), headers)
        answer = client.getresponse()
        answer.read()
        assert answer.status == 200

    def count(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            calls[-1] += 1
            crossed[-1].add(frame.f_globals["__name__"])

    try:
        for number in range(first, first + 20):
            ask(number)
        quiet_server.call(partial(sys.setprofile, count))
        for number in range(first + 20, first + 40):
            ask(number)
            calls.append(0)
            crossed.append(set())
        quiet_server.call(partial(sys.setprofile, None))
    finally:
        client.close()
    assert median(calls[:-1]) <= most_calls
    ours = [sorted(name for name in each if name.startswith("mockserver.")) for each in crossed[:-1]]
    assert len(min(ours, key=len)) <= most_modules, ours
