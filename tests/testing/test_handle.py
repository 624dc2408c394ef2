"""The handle does the same in a server of this process as in one that is only reached over its admin API."""

import asyncio
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

from mockserver import (
    Handle,
    MockServer,
    RemoteServer,
    anything,
    as_json,
    chunk,
    contains,
    error,
    one_of,
    raw,
    refusal,
    regex,
    template,
    tool_call,
)
from mockserver.core.matching.values import CriteriaError
from mockserver.state.settings import ConfigError
from mockserver.state.stubs.values import StubError
from mockserver.testing.backend import BackendError
from mockserver.testing.environment import LIBRARIES, STRANGERS
from tests.support.http import exchange
from tests.support.questions import ask
from tests.testing.conduct import BODY, CHAT, MODEL, Wire, cancelling

_numbers = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


@pytest.fixture(params=["local", "remote"])
def handle(request: pytest.FixtureRequest, server: MockServer) -> Handle:
    """A namespace of its own, by either link."""
    reached = server if request.param == "local" else RemoteServer(server.url)
    return reached.in_namespace(f"handle-{next(_numbers)}")


@pytest.mark.parametrize("name", ["test_it[a?b]", "issue#12", "100%41", "größe", "a+b&c=d"])
@pytest.mark.parametrize(
    "reach", [lambda server: server, lambda server: RemoteServer(server.url)], ids=["local", "remote"]
)
def test_a_namespace_may_have_any_name_that_a_path_can_hold(
    server: MockServer, reach: Callable[[MockServer], MockServer | RemoteServer], name: str
) -> None:
    handle = reach(server).in_namespace(name)
    handle.reset()
    handle.on().reply("Here it is.")
    assert said(handle, "Where?")["content"] == "Here it is."
    assert [view.namespace for view in handle.requests] == [name]


@pytest.mark.parametrize("name", ["a/b", "test_it[cerebras/llama]", "a b", "a" * 201])
def test_a_name_that_no_request_could_have_is_refused(server: MockServer, name: str) -> None:
    for reached in (server, RemoteServer(server.url)):
        with pytest.raises(ValueError, match="cannot contain slashes or spaces, or be longer than 200 characters"):
            reached.in_namespace(name)


def said(handle: Handle, text: str, **fields: Any) -> Any:
    """The message that a chat is answered."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": text}], **fields}
    status, _, answer = Wire(handle).ask(body, CHAT)
    assert status == 200, answer
    return json.loads(answer)["choices"][0]["message"]


def test_a_handle_leads_every_client_to_its_namespace(handle: Handle) -> None:
    url = handle.url
    assert url.endswith(f"/ns/{handle.namespace}")
    assert handle.api_key == f"mock-ns-{handle.namespace}"
    assert [handle.base_url(name) for name in ("cerebras", "upstash", "yandex", "friendli", "ovms")] == [
        *(f"{url}/cerebras", f"{url}/upstash", f"{url}/yandex/v1", f"{url}/friendli", f"{url}/ovms/v3")
    ]
    assert handle.openai_base_url("upstash") == f"{url}/upstash/llm/v1"
    assert handle.openai_base_url() == f"{url}/v1"
    with pytest.raises(ValueError, match=r"unknown dialect 'cerebra'. Did you mean 'cerebras'?"):
        handle.base_url("cerebra")


def test_a_key_leads_to_the_namespace_wherever_a_vendor_takes_it(handle: Handle, server: MockServer) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    path = "/upstash/llm/v1/chat/completions"
    token, nothing = f"{path}?qstash_token={handle.api_key}", {"authorization": ""}
    assert exchange(server.url, "POST", path, body, {"authorization": f"Bearer {handle.api_key}"}).status == 200
    assert exchange(server.url, "POST", token, body, nothing).status == 200
    azure = "/openai/deployments/my-own/chat/completions"
    asked = exchange(
        server.url, "POST", f"{azure}?api-version=2024-10-21", body, {**nothing, "api-key": handle.api_key}
    )
    assert (asked.status, json.loads(asked.body)["model"]) == (200, "my-own")
    message, version = {**body, "max_tokens": 5}, {"anthropic-version": "2023-06-01"}
    sent = {**nothing, **version, "x-api-key": handle.api_key}
    assert exchange(server.url, "POST", "/v1/messages", message, sent).status == 200
    assert [view.path for view in handle.requests] == [path, path, azure, "/v1/messages"]


def test_the_environment_is_patched_and_restored(handle: Handle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QSTASH_URL", "https://mine")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with handle.environ():
        assert os.environ["QSTASH_URL"] == f"{handle.url}/upstash"
        assert os.environ["OPENAI_BASE_URL"] == os.environ["OPENAI_API_BASE"] == f"{handle.url}/v1"
        assert os.environ["OPENAI_API_KEY"] == handle.api_key
        assert os.environ["CEREBRAS_API_BASE"] == f"{handle.url}/cerebras/v1"
        assert os.environ["FRIENDLI_API_BASE"] == f"{handle.url}/friendli/serverless/v1"
        assert os.environ["HOSTED_VLLM_API_BASE"] == f"{handle.url}/ovms/v3"
        for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "ANTHROPIC_API_BASE"):
            assert os.environ[name] == f"{handle.url}/anthropic"
        assert os.environ["AZURE_OPENAI_ENDPOINT"] == os.environ["AZURE_API_BASE"] == handle.url
        assert os.environ["FRIENDLIAI_API_KEY"] == os.environ["HOSTED_VLLM_API_KEY"] == handle.api_key
        assert "127.0.0.1" in os.environ["NO_PROXY"]
    assert os.environ["QSTASH_URL"] == "https://mine"
    assert "OPENAI_API_KEY" not in os.environ


def test_clients_that_may_have_gone_to_their_vendors_are_named(handle: Handle, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (*LIBRARIES, *STRANGERS):
        monkeypatch.delitem(sys.modules, module, raising=False)
    for module in ("openai", "anthropic", "langchain_cerebras", "friendli", "mistralai"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    with handle.environ():
        os.environ["OPENAI_BASE_URL"] = "https://user:secret-password@gateway.example/v1"
        del os.environ["ANTHROPIC_BASE_URL"]
        told = handle.story()
    assert told[0] == "There were no requests."
    for line, words in zip(
        told[1:-1] if told[-1].startswith("Namespace") else told[1:],
        (
            "openai goes where OPENAI_BASE_URL says",
            "anthropic goes to its vendor without ANTHROPIC_BASE_URL",
            "langchain_cerebras reads CEREBRAS_API_BASE when",
            "friendli takes its URL in the code alone",
            "mistralai is the client of a vendor that is not simulated",
        ),
        strict=True,
    ):
        assert line.startswith(words)
    assert "secret-password" not in "".join(told)
    assert said(handle, "Hello")
    assert "openai" not in handle.story()[0]


def test_stubs_answer_what_matches(handle: Handle) -> None:
    handle.on(last_user=contains("weather")).reply("It rains.")
    handle.on(last_user=re.compile("^HELLO", re.IGNORECASE)).reply(chunk("Good "), "day", ".")
    handle.on(last_user=one_of("a", "b")).reply(as_json(letter=True))
    handle.on(last_user="may I?").reply(refusal("No."))
    handle.on(last_user=contains("name")).reply(template("You said: {{ last_user }}"))
    assert said(handle, "How is the weather?")["content"] == "It rains."
    assert said(handle, "hello there")["content"] == "Good day."
    assert said(handle, "b")["content"] == '{"letter": true}'
    assert said(handle, "What is my name?")["content"] == "You said: What is my name?"
    handle.verify.calls(4).calls(1, rule="stub-1", status=200)
    with pytest.raises(AssertionError, match=r"stub-4, for requests with last_user='may I\?', .*: used 0 times"):
        handle.verify.all_used()


def test_a_stub_shows_its_name_and_its_match(handle: Handle) -> None:
    unfinished = handle.on(model="m", prompt=contains("x"), headers={"x-a": "b"})
    shown = "for requests with model='m', prompt=contains('x'), headers={'x-a': 'b'}>"
    assert repr(unfinished) == f"<stub '' {shown}"
    assert repr(unfinished.reply("Yes.")) == f"<stub 'stub-1' {shown}"


def test_a_reply_as_json_may_be_any_value(handle: Handle) -> None:
    for value, text in ((None, "null"), ([], "[]"), (0, "0"), ({"a": None}, '{"a": null}')):
        handle.next().reply(as_json(value))
        assert said(handle, "json?")["content"] == text
    handle.next().reply(as_json())
    assert said(handle, "json?")["content"] == "{}"
    with pytest.raises(TypeError, match="Give one value"):
        as_json({"a": 1}, b=2)


def test_each_choice_may_have_its_own_answer(handle: Handle) -> None:
    handle.on().reply(choices=["It rains.", ("Or ", "not."), as_json(rain=False)])
    for n in (1, 3):
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Rain?"}], "n": n}
        _, _, answer = Wire(handle).ask(body, "/openai/v1/chat/completions")
        choices = json.loads(answer)["choices"]
        assert [each["message"]["content"] for each in choices] == ["It rains.", "Or not.", '{"rain": false}'][:n]


def test_a_pattern_keeps_its_flags(handle: Handle) -> None:
    for prompt in ("Ångström", "Angstrom"):
        Wire(handle).ask(BODY | {"prompt": prompt})
    handle.verify.calls(2, prompt=re.compile(r"^\w+$")).calls(1, prompt=re.compile(r"^\w+$", re.ASCII))
    handle.verify.calls(1, prompt=regex(re.compile(r"^[a-z]+$ # letters", re.A | re.I | re.X)))
    unsaid: list[tuple[Any, str]] = [
        (re.compile(b"a"), r"re.compile\(b'a'\) is not a regular expression for strings"),
        (re.compile("a", re.DEBUG), "re.DEBUG cannot be written within a pattern. Possible: ASCII, IGNORECASE, "),
    ]
    for pattern, words in unsaid:
        with pytest.raises(CriteriaError, match=words):
            handle.verify.never(prompt=pattern)
        with pytest.raises(CriteriaError, match=words):
            handle.on(prompt=pattern)
    with pytest.raises(CriteriaError, match="b'a' is not a regular expression for strings"):
        regex(b"a")  # type: ignore[arg-type]
    assert handle.problems() == []


def test_an_agent_gets_its_tool_call_and_then_the_answer(handle: Handle) -> None:
    handle.on(last_user=contains("weather")).reply(tool_call("get_weather", city="Oslo"))
    handle.on(tool_result="get_weather").reply("It rains.")
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    first = said(handle, "weather?", tools=tools)
    call = first["tool_calls"][0]
    messages = [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": "", "tool_calls": first["tool_calls"]},
        {"role": "tool", "tool_call_id": call["id"], "content": "rain"},
    ]
    assert said(handle, "", messages=messages, tools=tools)["content"] == "It rains."
    verify = handle.verify.all_used().all_matched()
    verify.tool_called("get_weather", city="Oslo").tool_answered("get_weather", contains("rain"))
    verify.tool_called("get_weather", city=re.compile("^O"))
    with pytest.raises(AssertionError, match=r"calls get_weather\(city='Rome'\), found 1 call:"):
        verify.tool_called("get_weather", city="Rome")


def test_a_fault_that_lies_beyond_the_end_of_an_answer_is_told(handle: Handle) -> None:
    handle.on(stream=True).reply("Yes.").fault("cut", after_event=99)
    Wire(handle).ask({"model": MODEL, "messages": [{"role": "user", "content": "?"}], "stream": True}, CHAT)
    assert (handle.last.faults, handle.last.unapplied_faults) == ([], ["cut"])
    assert "-> 200 by stub-1, fault cut not applied, " in handle.journal()


def test_what_a_fault_has_kept_from_the_client_counts_for_nothing(handle: Handle) -> None:
    handle.on().reply(tool_call("get_weather", city="Oslo")).fault("error", error="rate_limit", retry_after=2)
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    body = {"model": MODEL, "messages": [{"role": "user", "content": "weather?"}], "tools": tools}
    assert Wire(handle).ask(body, CHAT)[0] == 429
    last = handle.last
    assert (last.usage, last.finish_reasons, last.tool_calls, last.tokens) == ({}, (), (), 0)
    refusal = {"kind": "error", "error": "rate_limit", "retry_after": 2}
    assert (last.faults, last.applied_faults) == (["error"], [{"by": "stub", "fault": refusal}])
    handle.verify.tokens(at_most=0).cost(at_most=0, prices={"*": (1, 1)}).calls(0, finish_reason="tool_calls")
    with pytest.raises(AssertionError, match=r"found 0 calls:\n  #1 yandex chat_completions .* -> 429"):
        handle.verify.tool_called("get_weather")
    handle.reset()
    with pytest.raises(AssertionError, match=r"calls get_weather\(\), found 0 calls:\n.*There were no requests\."):
        handle.verify.tool_called("get_weather")


def test_the_next_requests_fail_and_then_all_is_as_before(handle: Handle) -> None:
    handle.next(2).error("rate_limit", retry_after=0.2)
    wire = Wire(handle)
    answers = [wire.ask() for _ in range(3)]
    assert [status for status, _, _ in answers] == [429, 429, 200]
    assert answers[0][1]["retry-after"] == "0.2"
    assert handle.unmatched == []
    handle.verify.calls(2, status=429).calls(at_least=1, fault="error")


def test_a_script_is_played_step_by_step(handle: Handle) -> None:
    handle.script(["One.", error("server_error"), {"match": {"stream": False}, "reply": "Three."}])
    wire = Wire(handle)
    assert [wire.ask()[0] for _ in range(4)] == [200, 500, 200, 200]
    assert [view.rule for view in handle.requests] == ["stub-1", "stub-1", "stub-1", None]


@pytest.mark.parametrize("steps", ["Hello.", {"reply": "Hello."}])
def test_a_script_of_one_step_that_is_no_list_is_refused(handle: Handle, steps: Any) -> None:
    for script in (handle.script, handle.on(stream=True).script):
        with pytest.raises(StubError, match=r"is not a list of steps; write a single one as \["):
            script(steps)
    assert handle.stubs == []


def test_words_after_a_stub_is_in_force_change_it(handle: Handle) -> None:
    stub = handle.on(model=BODY["model"]).reply("Once.").once().named("mine").priority(3)
    Wire(handle).ask()
    Wire(handle).ask()
    assert [view.rule for view in handle.requests] == ["mine", None]
    assert (stub.name, stub.used) == ("mine", 1)
    assert [each["name"] for each in handle.stubs] == ["mine"]


def test_raw_bodies_go_out_as_they_are(handle: Handle) -> None:
    handle.next().reply(raw(b"\x00\x01", status=418, content_type="image/png"))
    status, headers, body = Wire(handle).ask()
    assert (status, headers["content-type"], body) == (418, "image/png", b"\x00\x01")


def test_what_cannot_be_meant_is_refused_with_a_way_out(handle: Handle) -> None:
    with pytest.raises(StubError, match=r"unknown field 'modl'. Did you mean 'model'?"):
        handle.on(modl="x").reply("y")
    with pytest.raises(CriteriaError, match=r"'weather' has no name; write on\(last_user='weather'\)"):
        handle.on("weather")
    with pytest.raises(StubError, match=r"stub\.match\.dialect: unknown dialect 'cerebra'"):
        handle.on(dialect="cerebra").reply("never")
    with pytest.raises(StubError, match=r"unknown .*'rate_limt'"):
        handle.on().error("rate_limt")
    with pytest.raises(CriteriaError, match="unknown field 'modl'"):
        handle.verify.calls(1, modl="x")
    with pytest.raises((ConfigError, StubError), match=r"has no setting 'sed'. Did you mean 'seed'?"):
        handle.settle(sed=4)
    with pytest.raises(
        (ConfigError, StubError), match="'refuse' affects all connections, so it can only be set for the whole server"
    ):
        handle.settle(fault="{ kind = 'refuse', for = 3 }")
    with pytest.raises(CriteriaError, match=r"unknown dialect 'cerebra'. Did you mean 'cerebras'?"):
        handle.verify.never(dialect="cerebra")
    with pytest.raises(CriteriaError, match=r"unknown value 'rest'. Did you mean 'reset'?"):
        handle.verify.never(fault="rest")
    for pieces in ((None,), (5,), (["a", "b"],), ([chunk("a"), chunk("b")],)):
        with pytest.raises(
            StubError, match=r"is not a part of a reply|a reply is no list: .*reply\(choices=\[a, b\]\)"
        ):
            handle.on().reply(*pieces)
    for seconds in (-5, float("nan"), float("inf"), 1e300, "5s"):
        with pytest.raises(ValueError, match="must be a number of seconds from 0 to"):
            handle.clock.advance(seconds)  # type: ignore[arg-type]
    assert handle.requests == []
    with pytest.raises(LookupError, match="no request yet"):
        _ = handle.last


def test_only_values_go_to_a_server_elsewhere(server: MockServer) -> None:
    remote = RemoteServer(server.url).in_namespace("values")
    with pytest.raises(BackendError, match="can get only values, not functions"):
        remote.on(last_user=lambda text: True).reply("no")
    for url in ("localhost:8000", ""):
        with pytest.raises(BackendError, match="is not a URL such as http:"):
            RemoteServer(url).stubs  # noqa: B018
    with pytest.raises(BackendError, match="Connection refused"):
        RemoteServer("http://127.0.0.1:9").journal()


def test_functions_match_and_answer_in_this_process(server: MockServer) -> None:
    handle = server.in_namespace("functions")
    handle.on(prompt=lambda text: len(text) > 5).reply(lambda request: f"{request.model}: {len(request.prompt)}")
    assert b'"text":"llama3.1-8b: 20"' in Wire(handle).ask()[2]


def test_functions_are_asked_of_requests_alone(server: MockServer) -> None:
    handle, asked = server.in_namespace("asked"), list[str]()

    def accepts(value: str) -> bool:
        asked.append(value)
        return value != "POST"

    handle.on(path=accepts, method={"not": accepts}).reply("x")
    assert asked == []
    assert b'"text":"x"' in Wire(handle).ask()[2]
    assert asked == ["/v1/completions", "POST"]


def test_a_function_that_fails_is_a_problem_of_the_test(server: MockServer) -> None:
    handle = server.in_namespace("failing")
    handle.on().reply(lambda request: 1 / 0)
    assert Wire(handle).ask()[0] == 500
    told = r"stub 'stub-1': its function raised ZeroDivisionError: division by zero \(test_handle\.py:\d+\)"
    assert re.fullmatch(told, handle.last.handler_error or "")
    [problem] = handle.problems()
    assert "ZeroDivisionError" in problem
    handle.reset()
    handle.settle(fault=[{"kind": "reset", "match": {"model": lambda model: 1 / 0}}])
    assert Wire(handle).ask()[0] == 500
    assert (handle.last.handler_error or "").startswith(
        "fault 'reset': its predicate raised ZeroDivisionError: division by"
    )


def test_settings_and_seeds_are_the_namespaces_own(handle: Handle, server: MockServer) -> None:
    handle.settle(seed=7, latency="ttft=30ms, rate=1000 tok/s")
    Wire(handle).ask()
    assert handle.last.seed == 7
    assert handle.last.ttft is not None
    assert handle.last.ttft >= 0.03
    assert Wire(server.in_namespace("other")).ask()[1]["x-mockserver-seed"] == "42"


def test_answers_are_as_long_as_the_namespace_or_a_stub_says(handle: Handle, server: MockServer) -> None:
    def tokens(here: Handle) -> int:
        Wire(here).ask({"model": "llama3.1-8b", "prompt": "Tell me about tea"})
        return here.last.usage["completion_tokens"]

    usual = tokens(server.in_namespace("other"))
    handle.settle(output_tokens=7)
    assert tokens(handle) == 7
    handle.on(model="llama3.1-8b").output_tokens("uniform(9, 9)")
    assert tokens(handle) == 9
    assert tokens(server.in_namespace("other")) == usual


def test_settings_that_are_not_named_again_stay(handle: Handle) -> None:
    handle.settle(seed=7, strict=True)
    handle.settle(seed=8)
    handle.settle(ids="unique")
    Wire(handle).ask()
    assert handle.last.seed == 8
    assert "x-mockserver-seed" not in Wire(handle).ask()[1]


def test_a_stub_that_answers_nothing_is_a_problem_of_the_test(handle: Handle) -> None:
    forgotten = handle.on(prompt="Tell me a story")
    handle.next(2)
    handle.on(prompt="Hi").reply("Hello")
    assert handle.problems() == [
        "A stub for requests with prompt='Tell me a story' has no answer; add one, such as .reply(\"...\").",
        'A stub for requests has no answer; add one, such as .reply("...").',
    ]
    handle.reset()
    assert handle.problems() == []
    forgotten.reply("Once upon a time")


def test_the_clock_goes_forward_for_one_namespace_alone(handle: Handle, server: MockServer) -> None:
    other = server.in_namespace("stands-still").clock.ahead
    now = handle.clock.now
    assert handle.clock.advance(60) == 60
    assert handle.clock.ahead == 60
    assert handle.clock.now - now >= 60
    assert server.in_namespace("stands-still").clock.ahead == other == 0


def test_a_view_tells_all_that_is_known(handle: Handle) -> None:
    handle.next().fault("reset", after_event=3)
    wire = Wire(handle)
    with pytest.raises(OSError, match="reset"), wire.open(BODY | {"stream": True}) as answer:
        answer.read()
    last = handle.last
    assert (last.events_sent, last.closed_by, last.status, last.streamed) == (3, "server", 200, True)
    assert (last.model, last.prompt, last.body["max_tokens"]) == ("llama3.1-8b", "Tell me about tides.", 12)
    assert (last.dialect, last.operation, last.rule, list(last.faults)) == (
        "cerebras",
        "completions",
        "next-1",
        ["reset"],
    )
    assert last.headers["authorization"] == "Bearer ****ient"
    assert len(last.events) == 3
    assert last.usage == {"prompt_tokens": 5, "completion_tokens": last.tokens_sent}
    assert last.planned["usage"] == {"prompt_tokens": 5, "completion_tokens": 12}
    assert not last.has_finished


def test_checks_go_by_what_has_gone_out_of_an_answer(handle: Handle) -> None:
    handle.next().fault("cut", after_event=3)
    with Wire(handle).open(BODY | {"stream": True, "max_tokens": 600}) as answer:
        answer.read()
    assert (handle.last.planned["finish_reasons"], handle.last.finish_reasons) == (["stop"], [])
    assert handle.last.usage["completion_tokens"] == handle.last.tokens_sent < 5
    assert handle.last.planned["usage"]["completion_tokens"] > 50
    handle.verify.calls(0, finish_reason="stop").tokens(at_most=0)
    handle.verify.calls(1).tokens(at_most=5 + 5).cost(at_most=1e-5, prices={"*": [1, 1]})


def test_a_client_that_leaves_is_seen_to_leave(handle: Handle) -> None:
    handle.settle(latency="ttft=10ms, itl=20s")
    cancelling(Wire(handle))
    handle.wait_idle()
    handle.verify.cancelled(1)
    assert handle.last.closed_by == "client"


def test_a_list_of_models_that_fails_by_chance_gets_through_at_last(handle: Handle) -> None:
    handle.settle(fault='{ kind = "error", share = 0.6 }')
    space = f"{urlsplit(handle.url).path}/cerebras/v1/models"
    tried = list[int]()
    for seed in range(12):
        handle.settle(seed=seed)
        tried.append(next(attempt for attempt in range(60) if exchange(handle.url, "GET", space).status == 200))
    assert {0, 1} <= set(tried)
    assert handle.exchanges[-1].data["decision"]["attempt"] == tried[-1] + 1


def test_a_request_whose_answer_was_left_is_tried_again_as_the_second_attempt(handle: Handle) -> None:
    handle.settle(latency="ttft=10ms, itl=20s")
    cancelling(Wire(handle))
    handle.wait_idle()
    cancelling(Wire(handle))
    handle.wait_idle()
    assert [view.data["decision"]["attempt"] for view in handle.requests] == [1, 2]


def test_waiting_ends_when_requests_have_come_and_gone(handle: Handle) -> None:
    handle.settle(latency="ttft=600s")
    asker = threading.Thread(target=Wire(handle).ask)
    asker.start()
    assert [view.closed_by for view in handle.wait_for_requests(1)] == [None]
    handle.clock.advance(600)
    handle.wait_idle()
    assert handle.requests[0].closed_by == "server"
    asker.join()
    with pytest.raises(
        TimeoutError, match=r"2 requests did not arrive within 0.01 s. The journal:\n.*#1 cerebras completions"
    ):
        handle.wait_for_requests(2, timeout=0.01)
    handle.reset()
    with pytest.raises(TimeoutError, match=r"The journal:\n +\(empty\)$"):
        handle.wait_for_requests(1, timeout=0.01)


def test_a_refusal_of_a_wrong_path_or_header_is_told_with_the_way_out(handle: Handle) -> None:
    wire = Wire(handle)
    wire.ask(path="/cerebras/v1/completion")
    wire.ask(path="/v1/chat/completion")
    wire.ask(x_mockserver_sed="7")
    lines = handle.journal().splitlines()
    assert "404 unknown_path (nearest: /cerebras/v1/completions, " in lines[0]
    assert (
        "404 no_route (Nothing is served at POST /v1/chat/completion. Did you mean /v1/chat/completions? Put"
        in lines[1]
    )
    assert "400 invalid_header (unknown header 'x-mockserver-sed'. Did you mean 'x-mockserver-seed'?" in lines[2]


def test_a_declaration_that_was_refused_is_forgotten(handle: Handle) -> None:
    for refused in ({"handles": "retri"}, {"patience": -1}):
        with pytest.raises(ValueError, match=r"handles|patience"):
            handle.verify.resilience(**refused)
    assert handle.verify.resilience(outcome="answer").is_clean


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_waiting_can_be_awaited(handle: Handle, backend: str) -> None:
    async def ask() -> None:
        await anyio.to_thread.run_sync(Wire(handle).ask)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            assert len(await handle.aio.wait_for_requests(1)) == 1
        await handle.aio.wait_idle()
        assert (await handle.aio.last()).closed_by == "server"
        assert await handle.aio.advance(5) == 5
        await handle.aio.reset()
        assert await handle.aio.requests() == []

    anyio.run(main, backend=backend)


def test_two_hundred_threads_that_reset_their_state_never_meet(server: MockServer) -> None:
    def work(number: int) -> list[object]:
        handle = server.in_namespace(f"thread-{number}")
        handle.settle(seed=number)
        seen: list[object] = []
        for turn in range(3):
            handle.on(model="m").reply(f"{number}.{turn}")
            handle.next().error("server_error")
            wire = Wire(handle)
            answers = [wire.ask(BODY | {"model": "m"}) for _ in range(2)]
            seen.append(
                [status for status, _, _ in answers] == [500, 200] and f"{number}.{turn}".encode() in answers[1][2]
            )
            seen.append([view.number for view in handle.requests] == [1, 2] and handle.last.seed == number)
            handle.reset()
            seen.append(handle.exchanges == [] and handle.stubs == [])
        return seen

    with ThreadPoolExecutor(200) as pool:
        results = list(pool.map(work, range(200)))
    assert results == [[True] * 9] * 200


@pytest.fixture(params=["local", "remote"])
def forgetful(request: pytest.FixtureRequest) -> Iterator[Handle]:
    """A handle whose journal keeps three exchanges, after five requests: p0 to p4."""
    with MockServer(journal=3) as running:
        handle = running.in_namespace("forgetful") if request.param == "local" else RemoteServer(running.url)
        for number in range(5):
            Wire(handle).ask(BODY | {"prompt": f"p{number}"})
        yield handle


def test_what_the_journal_has_forgotten_is_counted_and_owned_up_to(forgetful: Handle) -> None:
    assert [view.prompt for view in forgetful.requests] == ["p2", "p3", "p4"]
    assert len(forgetful.wait_for_requests(5, timeout=0.01)) == 3
    forgetful.wait_idle()
    forgetful.verify.calls(5).calls(at_least=1, prompt="p4")
    forgetful.verify.calls(at_least=1, number=4, prompt="p3")
    for passing_by in (
        lambda: forgetful.verify.never(prompt="p1"),
        lambda: forgetful.verify.calls(1, prompt="p1"),
        lambda: forgetful.verify.tokens(at_most=10_000),
        lambda: forgetful.verify.resilience(),
    ):
        with pytest.raises(AssertionError, match="The journal has forgotten 2 exchanges"):
            passing_by()
    assert [each.fault for each in forgetful.verdict().unjudged] == ["client"]
    assert forgetful.story()[0].startswith("The journal has forgotten 2 exchanges")
    assert forgetful.problems() == []
    [problem] = forgetful.problems(strict=True)
    assert "The journal has forgotten 2 exchanges" in problem
    forgetful.reset()
    forgetful.verify.never()


def test_a_long_story_is_told_by_its_beginning_and_its_end(server: MockServer) -> None:
    handle = server.in_namespace("long-story")
    for number in range(103):
        said(handle, f"p{number}")
    told = handle.story()
    assert ("'p49'" in told[49], told[50], "'p53'" in told[51]) == (True, "   ... (3 lines left out)", True)
    assert len(told) == 102


def test_a_journal_that_keeps_nothing_says_so() -> None:
    with MockServer(journal=0) as server:
        server.settle(latency="ttft=600s")
        asker = threading.Thread(target=Wire(server).ask)
        asker.start()
        assert server.wait_for_requests(1) == []
        with pytest.raises(TimeoutError, match=r"The journal:\nThe journal has forgotten 1 exchange\. "):
            server.wait_idle(timeout=0.01)
        server.clock.advance(600)
        server.wait_idle()
        asker.join()
        with pytest.raises(LookupError, match=r"The journal has forgotten 1 exchange\. "):
            _ = server.last
        server.verify.calls(1)


def test_a_namespace_never_pays_for_the_long_prompts_of_another() -> None:
    with MockServer() as server:
        small, large = server.in_namespace("small"), server.in_namespace("large")
        for number in range(5):
            Wire(small).ask(BODY | {"prompt": f"p{number}"})
        for _ in range(9):
            exchange(server.url, "POST", "/ns/large/ovms/v3/completions", b"x" * 8_000_000)
        small.verify.calls(5).calls(1, prompt="p1")
        assert 0 < len(large.requests) < 9
        large.verify.calls(9)


def test_what_nobody_serves_counts_among_what_the_journals_hold() -> None:
    with MockServer() as server:
        for _ in range(9):
            exchange(server.url, "POST", "/nowhere", b"x" * 8_000_000)
        assert 0 < len(server.exchanges) < 9
        server.verify.calls(9)


def test_the_last_request_is_found_behind_many_exchanges_that_asked_no_model(handle: Handle) -> None:
    wire = Wire(handle)
    for prompt in ("first", "second"):
        wire.ask(BODY | {"prompt": prompt, "max_tokens": 2})
    for _ in range(25):
        exchange(handle.url, "GET", f"/ns/{handle.namespace}/cerebras/v1/models")
    assert handle.last.prompt == "second"


def test_what_follows_calls_is_about_the_requests_that_matched(handle: Handle) -> None:
    handle.next().error("rate_limit")
    wire = Wire(handle)
    for prompt in ("alpha", "beta", "alpha beta"):
        wire.ask(BODY | {"prompt": prompt, "max_tokens": 5})
    exchange(handle.url, "GET", f"/ns/{handle.namespace}/cerebras/v1/models")
    alpha = handle.verify.calls(2, prompt=contains("alpha"))
    alpha.calls(1, prompt=contains("beta")).never(status=429)
    handle.verify.calls(1, status=429).never(status=200)
    handle.verify.calls(3, body={"$.max_tokens": 5}).calls(0, body={"$.temperature": anything()})
    handle.verify.calls(3).calls(0, operation="models")
    handle.verify.calls(1, operation="models").calls(1, status=200).tokens(at_most=0)
    alpha.in_order({"prompt": "alpha"}, {"prompt": contains("beta")})
    with pytest.raises(AssertionError, match=r"but no request with prompt=contains\('alpha'\), prompt='beta' came"):
        alpha.in_order({"prompt": "beta"})


def test_a_check_that_cannot_be_meant_is_refused_before_it_is_run(handle: Handle) -> None:
    verify = handle.verify
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: verify.calls(-1), "calls: -1 is not a whole number, or a table such as"),
        (lambda: verify.calls(at_least=5, at_most=2), "calls: at_least 5 is more than at_most 2"),
        (lambda: verify.cancelled(-1), "cancelled: -1 is not a whole number"),
        (lambda: verify.concurrency(at_most=True), "concurrency: True is not a whole number of at least 0"),
        (lambda: verify.tokens(at_most="many"), "tokens: 'many' is not a number of at least 0"),  # type: ignore[arg-type]
        (lambda: verify.cost(at_most=1, prices={}), "cost.prices: {} is not a table with the prices"),
        (lambda: verify.spaced_at_least(float("nan")), "spaced_at_least: nan is not a number of seconds of at least 0"),
        (lambda: verify.calls(3, at_lest=1), "unknown field 'at_lest'. Did you mean 'at_least'?"),
        (lambda: verify.never(statsu=429), "unknown field 'statsu'. Did you mean 'status'?"),
        (lambda: verify.never(any_=3), "match.any[0]: must be a table"),
        (lambda: verify.in_order({"turn": 1}, 2), "in_order[1]: must be a table"),  # type: ignore[arg-type]
        (lambda: verify.resilience(patiense=3), "unknown argument 'patiense'. Did you mean 'patience'?"),
        (lambda: handle.declare(handle="retry"), "unknown argument 'handle'. Did you mean 'handles'?"),
        (lambda: handle.wait_for_requests("a"), "wait_for_requests: 'a' is not a whole number of at least 0"),  # type: ignore[arg-type]
        (lambda: handle.wait_for_requests(1, "a"), "timeout: 'a' is not a number of seconds of at least 0"),  # type: ignore[arg-type]
        (lambda: handle.wait_idle(-1), "timeout: -1 is not a number of seconds of at least 0"),
        (lambda: handle.next().headers("x"), "headers: 'x' is not a table of headers such as {'x-trace': 'abc'}"),  # type: ignore[arg-type]
    ]
    for nonsense, words in refused:
        with pytest.raises(ValueError, match=re.escape(words)):
            nonsense()


def test_a_server_that_is_not_running_says_so() -> None:
    server = MockServer()
    with pytest.raises(RuntimeError, match="with MockServer"):
        server.on().reply("x")
    server.stop()


def test_a_server_is_started_once_and_whoever_tries_again_does_it_no_harm() -> None:
    server = MockServer()
    server.start()
    with pytest.raises(RuntimeError, match="started only once"):
        server.start()
    assert ask(server.url, "cerebras") == 200
    server.stop()
    assert ask(server.url, "cerebras") == 0
    unused = MockServer()
    unused.stop()
    for ended in (server, unused):
        with pytest.raises(RuntimeError, match="make another"):
            ended.start()


def test_a_server_takes_settings_by_name_and_can_be_used_in_a_loop() -> None:
    async def main() -> bytes:
        with MockServer(seed=3, dialect="friendli") as server:
            server.on().reply("From a loop.")
            return await asyncio.to_thread(lambda: Wire(server).ask(path="/v1/completions")[2])

    assert b"From a loop." in asyncio.run(main())
    with pytest.raises(ConfigError, match="unknown"):
        MockServer(sed=3)


def test_what_a_quota_refuses_uses_up_no_fault() -> None:
    with MockServer(quota={"requests": "1/min"}) as server:
        assert ask(server.url, "cerebras") == 200
        exchange(server.url, "POST", "/_mockserver/faults", {"kind": "error", "error": "server_error", "times": 1})
        assert ask(server.url, "cerebras") == 429
        server.clock.advance(60)
        assert [ask(server.url, "cerebras"), ask(server.url, "ovms")] == [500, 200]


@pytest.mark.parametrize("header", [{"x-mockserver-fault": "nonsense"}, {"x-mockserver-reply": "{ tetx = 'x' }"}])
def test_a_wish_that_cannot_be_obeyed_costs_no_quota(header: dict[str, str]) -> None:
    with MockServer(quota={"requests": "1/min"}) as server:
        assert [ask(server.url, "cerebras", header) for _ in range(3)] == [400, 400, 400]
        assert [ask(server.url, "cerebras") for _ in range(2)] == [200, 429]


def test_a_request_that_a_quota_refused_is_tried_again_as_the_second_attempt() -> None:
    with MockServer(quota={"requests": "1/min"}) as server:
        server.on(attempt=2).reply("at last")
        assert [ask(server.url, "cerebras", max_tokens=8) for _ in range(2)] == [200, 429]
        server.clock.advance(60)
        assert ask(server.url, "cerebras", max_tokens=8) == 200
        assert server.last.rule is not None


# --- recordings ---------------------------------------------------------------------------------------------------


def cassette(*exchanges: tuple[str, str]) -> str:
    """A recording of completions as vcrpy writes it in JSON: prompts with what was answered, at Cerebras."""
    interactions = [
        {
            "request": {
                "method": "POST",
                "uri": "https://api.cerebras.ai/v1/completions",
                "headers": {},
                "body": json.dumps({"model": MODEL, "prompt": prompt}),
            },
            "response": {
                "status": {"code": 200, "message": "OK"},
                "headers": {"Content-Type": ["application/json"]},
                "body": {"string": json.dumps({"choices": [{"index": 0, "text": text, "finish_reason": "stop"}]})},
            },
        }
        for prompt, text in exchanges
    ]
    return json.dumps({"interactions": interactions, "version": 1})


def completed(handle: Handle, prompt: str) -> tuple[int, str]:
    """The status of a completion by Cerebras, and its text or the message of its refusal."""
    status, _, answer = Wire(handle).ask({"model": MODEL, "prompt": prompt}, "/cerebras/v1/completions")
    said = json.loads(answer)
    return status, said["choices"][0]["text"] if status == 200 else said["error"]["message"]


def test_a_recording_answers_and_what_it_does_not_know_is_refused(handle: Handle, tmp_path: Path) -> None:
    recording = tmp_path / "weather.json"
    recording.write_text(cassette(("Oslo?", "Rain."), ("Rome?", "Sun."), ("Oslo?", "Snow.")))
    handle.replay(recording)
    assert [completed(handle, "Oslo?") for _ in range(3)] == [(200, "Rain."), (200, "Snow."), (200, "Snow.")]
    status, message = completed(handle, "Bern?")
    miss = """No stub matches this request. Nearest: 'weather-1' ($.prompt: expected "Oslo?", found "Bern?")"""
    assert (status, message[: len(miss)]) == (404, miss)
    # The vendor would have answered: its contract is kept, and its words are not what is told.
    assert "-> 404 as no stub matches, 1 event" in handle.story()[3]
    assert not handle.last.breaks_contract
    handle.verify.schema()
    with pytest.raises(AssertionError, match=r"weather-2, for requests with .*last_user='Rome\?': used 0 times"):
        handle.verify.all_used()
    handle.replay(recording, unmatched="generate")
    assert completed(handle, "Oslo?") == (200, "Rain.")
    assert completed(handle, "Bern?")[0] == 200
    handle.reset()
    assert handle.stubs == []


def test_a_recording_is_read_for_the_namespace_that_it_answers_in(handle: Handle, tmp_path: Path) -> None:
    whole = json.loads(cassette(("Oslo?", "Rain.")))
    whole["interactions"][0]["request"]["body"] = json.dumps({"model": MODEL, "prompt": "Oslo?", "no_such_field": 1})
    path = tmp_path / "weather.json"
    path.write_text(json.dumps(whole))
    handle.replay(path, match="lenient")
    # This edition refuses unknown fields, before any stub is asked that another request could meet.
    handle.settle(edition="observed")
    body = {"model": MODEL, "prompt": "Oslo?", "no_such_field": 1}
    assert Wire(handle).ask(body, "/cerebras/v1/completions")[0] == 400
    handle.replay(path)
    assert Wire(handle).ask(body, "/cerebras/v1/completions")[0] == 200
    with pytest.raises(
        ConfigError, match=r"weather.json: no stub can be made from it\ninteraction 1: cerebras refuses"
    ):
        handle.replay(path, match="lenient")


def test_what_a_recording_has_in_vain_is_told_beside_the_request_that_it_did_not_answer(
    handle: Handle, tmp_path: Path
) -> None:
    whole = json.loads(cassette(("Oslo?", "Rain."), ("Rome?", "Sun.")))
    whole["interactions"][1]["request"]["uri"] = "https://example.com/search"
    (tmp_path / "weather.json").write_text(json.dumps(whole))
    handle.replay(tmp_path / "weather.json")
    assert completed(handle, "Rome?")[0] == 404
    assert [line for line in handle.story() if "left out" in line] == [
        "  interaction 2: no dialect serves POST /search; left out"
    ]


def test_with_its_pace_an_answer_takes_its_recorded_time(handle: Handle, tmp_path: Path) -> None:
    with MockServer(latency="ttft=30ms, itl=5ms") as vendor:
        exchange(vendor.url, "POST", "/cerebras/v1/completions", {"model": MODEL, "prompt": "x", "stream": True})
        (tmp_path / "tape.jsonl").write_bytes(exchange(vendor.url, "GET", "/_mockserver/journal.jsonl").body)
    handle.replay(tmp_path / "tape.jsonl", pace=True)
    Wire(handle).ask({"model": MODEL, "prompt": "x", "stream": True}, "/cerebras/v1/completions")
    assert handle.last.events[0]["due"] >= 0.03


def test_a_recording_that_cannot_be_meant_is_refused_in_a_line(handle: Handle, tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    for path in ("tape.json", "deeper/tape.json"):
        (tmp_path / path).write_text(cassette(("Oslo?", "Rain.")))
    (tmp_path / "notes.txt").write_text("Rain in Oslo.")
    (tmp_path / "photo.har").write_bytes(b"\xff\xd8\xff")
    handle.replay(tmp_path / "tape.json")
    for path, complaint in (
        ("gone.jsonl", "gone.jsonl: No such file or directory"),
        ("deeper", "deeper: Is a directory"),
        ("deeper/tape.json", "would make stubs of the same names; rename one of them"),
        ("notes.txt", "notes.txt: line 1: is not valid JSON"),
        ("photo.har", "photo.har: "),
    ):
        with pytest.raises(ConfigError, match=complaint):
            handle.replay(tmp_path / path)
    with pytest.raises((ConfigError, StubError), match="unknown value 'perhaps'"):
        handle.replay(tmp_path / "tape.json", unmatched="perhaps")
    ways: list[tuple[dict[str, Any], str]] = [
        ({"match": "exactly"}, "match: unknown value 'exactly'. Did you mean 'exact'?"),
        ({"volatile": "$.seed"}, r"volatile: '\$.seed' is not a list of places such as"),
        ({"volatile": ["$.a["]}, r"volatile: '\$.a\[' is not a path such as"),
        ({"volatile": ["$"]}, r"volatile: '\$' is the whole body; name a place in it"),
        (
            {"volatile": ["$.input =~ ["]},
            r"volatile: '\[' is not a valid regular expression: unterminated",
        ),
    ]
    for how, complaint in ways:
        with pytest.raises(ConfigError, match=complaint):
            handle.replay(tmp_path / "tape.json", **how)


def test_paths_of_recordings_begin_at_the_folder_of_the_handle(server: MockServer, tmp_path: Path) -> None:
    (tmp_path / "tape.json").write_text(cassette(("Oslo?", "Rain.")))
    for reached in (server, RemoteServer(server.url)):
        handle = reached.in_namespace(f"folder-{next(_numbers)}", folder=tmp_path)
        handle.replay("tape.json")
        assert completed(handle, "Oslo?") == (200, "Rain.")


def test_a_stub_gets_one_answer(handle: Handle) -> None:
    stub = handle.on(model="m").reply("a")
    others: list[Callable[[], object]] = [
        lambda: stub.reply("b"),
        lambda: stub.replies("b", "c"),
        lambda: stub.script(["b"]),
        lambda: stub.status(500),
        lambda: handle.next().error("overloaded").error("rate_limit"),
        lambda: handle.on().script(["a"]).replies("b"),
    ]
    for again in others:
        with pytest.raises(StubError, match=r"has an answer already, by \w+\. For several answers in turn write"):
            again()
    stub.times(2).latency("off").headers({"x-a": "b"})
    handle.on(model="m").named(stub.name).reply("b")
    assert [each["name"] for each in handle.stubs if each["match"] == {"model": "m", "method": "POST"}] == [stub.name]


IMPOSSIBLE = [
    ({"dialect": "yandex"}, {"text": "x", "reasoning": "y"}, "shows reasoning", "observed"),
    ({"dialect": "friendli", "operation": "chat_completions"}, {"text": "x", "reasoning": "y"}, "shows", "observed"),
    ({"dialect": "upstash"}, {"tool_calls": [{"name": "f"}]}, "calls tools", None),
    ({"operation": "completions"}, {"tool_calls": [{"name": "f"}]}, "calls tools", None),
    ({"path": "/v1/completions"}, {"text": "x", "reasoning": "y"}, "shows reasoning", None),
    ({"operation": "embeddings"}, "x", "generates text", None),
    ({"operation": "models"}, "x", "A body can be answered there", None),
    ({"dialect": "cerebras"}, {"embedding": [0.5]}, "embeds", None),
    ({"dialect": "yandex"}, {"scores": [0.5]}, "ranks", None),
]


@pytest.mark.parametrize("match, reply, reason, edition", IMPOSSIBLE)
def test_a_stub_whose_answer_is_impossible_is_refused_when_it_is_added(
    match: dict[str, Any], reply: Any, reason: str, edition: str | None, handle: Handle, tmp_path: Path
) -> None:
    with pytest.raises(StubError, match=reason):
        handle.stub(match=match, reply=reply)
    with pytest.raises(StubError, match=reason):
        handle.stub(match=match, script=[reply])
    assert handle.stubs == []
    if edition is not None:
        handle.settle(edition=edition)
        assert handle.stub(match=match, reply=reply)
    (tmp_path / "stubs.json").write_text(json.dumps({"stub": [{"match": match, "reply": reply}]}))
    with pytest.raises(ConfigError, match=reason):
        MockServer(stubs=str(tmp_path))


@pytest.mark.parametrize("match", [{}, {"model": "m"}, {"not": {"dialect": "ovms"}}, {"dialect": "cerebras"}])
def test_a_stub_whose_answer_is_possible_somewhere_is_added(match: dict[str, Any], handle: Handle) -> None:
    assert handle.stub(match=match, reply={"tool_calls": [{"name": "f"}], "reasoning": "I think."})
