"""Small requests that take long to answer: they get the same bytes from a thread, and the event loop is not blocked."""

import json
import select
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier, get_ident
from time import sleep
from typing import Any, cast

import pytest

from mockserver import MockServer
from mockserver.control.deciding.decision import respond
from mockserver.control.plan import hear
from mockserver.core.calls import Call
from mockserver.core.dialects import Parts, Site, no_write, on_demand
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.haste import TakesLongError, at_leisure, breathe, in_haste, loaded_once, take_time
from mockserver.generation import schemas, text_stream, tokens
from mockserver.serving import reception
from tests.support.asking import ask
from tests.support.http import exchange
from tests.support.sockets import connected, post

NAMES = [f"p{number}" for number in range(600)]
# A schema of a few bytes whose instances are hundreds of different numbers.
NUMBERS = {"type": "array", "items": {"type": "integer"}, "minItems": 500, "uniqueItems": True}
CHAIN = {"allOf": [{"if": {"required": [one]}, "then": {"required": [other]}} for one, other in pairwise(NAMES[:400])]}
WIDE = {"type": "object", "properties": {name: {"type": "string"} for name in NAMES}}
PATTERNS = {"patternProperties": {f"^{name}$": {"type": "string"} for name in NAMES[:100]}, "minProperties": 9}


def chat(**fields: Any) -> tuple[str, str, dict[str, Any]]:
    said = [{"role": "user", "content": "Hello"}]
    body = {"model": "gpt://f/qwen3/latest", "messages": said, "max_tokens": 8, **fields}
    return "yandex", "/v1/chat/completions", body


def formed(schema: object) -> tuple[str, str, dict[str, Any]]:
    return chat(response_format={"type": "json_schema", "json_schema": {"name": "it", "schema": schema}})


def called(schema: object) -> tuple[str, str, dict[str, Any]]:
    function = {"name": "it", "parameters": {"type": "object", "properties": {"it": schema}, "required": ["it"]}}
    return chat(tools=[{"type": "function", "function": function}], tool_choice="required")


def told(schema: object) -> tuple[str, str, dict[str, Any]]:
    prompt = f"Hello, give JSON of {json.dumps({'properties': {'it': schema}, 'required': ['it']})}"
    return chat(messages=[{"role": "user", "content": prompt}], response_format={"type": "json_object"})


def pattern(text: str) -> tuple[str, str, dict[str, Any]]:
    form = {"type": "regex", "schema": text}
    return "friendli", "/v1/completions", {"model": "m", "prompt": "Hello", "max_tokens": 8, "response_format": form}


HARD = {
    "numbers": formed(NUMBERS),
    "chain": formed({"required": ["p0"], **CHAIN}),
    "wide": formed(WIDE),
    "patterns": formed({"type": "object", **PATTERNS}),
    "a tool's": called({**NUMBERS, "minItems": 501}),
    "the prompt's": told({**NUMBERS, "minItems": 502}),
    "pattern": pattern("(a|b|c)*" * 1000),
}


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """The threads in which requests are heard and answered, in order, those of attempts in haste included."""
    noted: dict[str, list[int]] = {"hear": [], "respond": []}

    def noting(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def work_noted(*given: Any) -> Any:
            noted[name].append(get_ident())
            return work(*given)

        return work_noted

    monkeypatch.setattr(reception, "hear", noting("hear", hear))
    monkeypatch.setattr(reception, "respond", noting("respond", respond))
    return noted


@pytest.mark.parametrize("name", HARD)
def test_what_is_hard_to_meet_is_met_beside_the_loop_with_the_same_bytes(
    frozen_server: MockServer, threads: dict[str, list[int]], name: str
) -> None:
    dialect, path, body = HARD[name]
    for greeting in ("Hello", "Hello again"):
        # Another prompt asks for another story, of a schema that is known by then.
        asked = json.dumps(body).replace("Hello", greeting).encode()
        answer = exchange(frozen_server.url, "POST", f"/{dialect}{path}", asked)
        assert answer.body == ask(dialect, asked, path=path).body
        loop = frozen_server._thread.call(get_ident)
        assert threads["respond"][-1] != loop
        for idents in threads.values():
            idents.clear()


def test_a_schema_that_is_easy_and_known_is_met_in_the_loop(
    frozen_server: MockServer, threads: dict[str, list[int]]
) -> None:
    dialect, path, body = formed({"type": "object", "properties": {"easily": {"type": "string"}}})
    for greeting in ("Hello", "Hello again"):
        asked = json.dumps(body).replace("Hello", greeting).encode()
        assert exchange(frozen_server.url, "POST", f"/{dialect}{path}", asked).status == 200
    loop = frozen_server._thread.call(get_ident)
    assert [ident == loop for ident in threads["hear"]] == [True, False, True]
    assert threads["respond"][-1] == loop


def test_who_asks_for_something_easy_does_not_wait_for_what_is_hard(frozen_server: MockServer) -> None:
    _, path, body = formed({"required": ["p0"], "title": "others wait", **CHAIN})
    with connected(frozen_server) as hard:
        hard.sendall(post(f"/yandex{path}", body))
        assert exchange(frozen_server.url, "GET", "/cerebras/v1/models").status == 200
        assert select.select([hard], [], [], 0)[0] == []
        assert hard.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("load", [text_stream._writers, schemas._instances, tokens._vocabulary])
def test_what_takes_long_to_load_is_not_loaded_on_the_event_loop(load: Any) -> None:
    load.cache_clear()
    with pytest.raises(TakesLongError):
        in_haste(load)
    loaded = load()
    assert in_haste(load) is loaded


def test_only_who_is_in_haste_is_told_that_something_takes_long() -> None:
    with pytest.raises(TakesLongError):
        in_haste(take_time)
    take_time()
    assert in_haste(lambda: 7) == 7


def test_what_is_loaded_on_demand_is_loaded_where_it_blocks_nobody() -> None:
    loads: list[str] = []

    def read(call: Call, site: Site) -> Rejection:
        return Rejection(FailureKind.SERVER_ERROR)

    def load() -> Parts:
        loads.append("loaded")
        return Parts(read, no_write)

    parts, call, site = on_demand(load), cast(Call, None), cast(Site, None)
    with pytest.raises(TakesLongError):
        in_haste(lambda: parts.read(call, site))
    assert loads == []
    assert parts.read(call, site) == Rejection(FailureKind.SERVER_ERROR)
    assert in_haste(lambda: parts.read(call, site)) == Rejection(FailureKind.SERVER_ERROR)
    assert loads == ["loaded"]


def test_what_many_threads_need_at_once_is_loaded_once() -> None:
    loads: list[int] = []
    all_wait = Barrier(8)

    def load() -> int:
        loads.append(get_ident())
        sleep(0.01)
        return 7

    loaded = loaded_once(load)

    def need(number: int) -> int:
        all_wait.wait()
        return loaded()

    with ThreadPoolExecutor(8) as threads:
        assert [*threads.map(need, range(8))] == [7] * 8
    assert len(loads) == 1


LONG = {
    "text": ("cerebras", "/v1/completions", {"model": "llama3.1-8b", "prompt": "Hello", "min_tokens": 9000}),
    "log-probabilities": chat(logprobs=True, max_tokens=300, top_logprobs=3),
    "prompt": chat(messages=[{"role": "user", "content": "a word and " * 3000}]),
    "schema": formed({**NUMBERS, "minItems": 503}),
    "embeddings": ("ovms", "/v3/embeddings", {"model": "embeddings", "input": [f"Tide {n}" for n in range(100)]}),
}


@pytest.mark.parametrize("name", LONG)
def test_long_work_breathes_between_its_pieces(name: str) -> None:
    dialect, path, body = LONG[name]
    pauses: list[None] = []
    answer = at_leisure(lambda: ask(dialect, body, path=path), lambda: pauses.append(None))
    assert answer.status == 200
    assert len(pauses) >= 9


def test_only_who_is_at_leisure_pauses() -> None:
    pauses: list[str] = []

    def fail() -> None:
        breathe()
        raise TakesLongError

    breathe()
    with pytest.raises(TakesLongError):
        at_leisure(fail, lambda: pauses.append("a pause"))
    breathe()
    assert pauses == ["a pause"]
