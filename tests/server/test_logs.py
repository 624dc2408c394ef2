"""The log: lines for people and for machines, and none in a server of tests."""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mockserver import MockServer
from mockserver.server.logs import AccessLine, JsonFormatter
from mockserver.server.server import Loop
from mockserver.state.settings import Settings
from tests.support.http import exchange
from tests.support.sockets import LOOPS, connected, post

PATH = "/cerebras/v1/completions"
QUESTION = {"model": "llama3.1-8b", "prompt": "Hello", "max_tokens": 8, "min_tokens": 8}
FACTS = {
    *("namespace", "number", "method", "path", "dialect", "operation", "model", "status", "streamed", "failure"),
    *("rule", "faults", "prompt_tokens", "completion_tokens", "cached_tokens", "tokens_sent", "events_sent", "ttft"),
    *("seconds", "closed_by", "reason"),
}

# A process that logs an error between exchanges which end in the same turn of its loop, and one more at its end.
LOGGING = """
import asyncio, sys
from mockserver.state.journal.exchanges import Exchange
from mockserver.core.failures import SimulatorError
from mockserver.core.http import Call, Headers
from mockserver.server.logs import log, log_access, set_up_logs

def end(path):
    error = SimulatorError(404, "no_route", "")
    log_access(Exchange(1, "", path, Call("GET", path, Headers([])), simulator_error=error))

async def main():
    end("/first")
    log.error("an error")
    end("/second")
    await asyncio.sleep(0)
    end("/last")
    asyncio.get_running_loop().stop()

set_up_logs("info", sys.argv[1])
loop = asyncio.new_event_loop()
loop.create_task(main())
loop.run_forever()
loop.close()
"""


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(Settings(port=0, latency="off")) as running:
        yield running


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "mockserver"]


def facts(caplog: pytest.LogCaptureFixture) -> dict[str, object]:
    """The JSON line of the one exchange that was logged."""
    [record] = [record for record in caplog.records if isinstance(record.msg, AccessLine)]
    line: dict[str, object] = json.loads(JsonFormatter().format(record))
    return line


def test_nothing_is_said_in_tests(server: MockServer, capfd: pytest.CaptureFixture[str]) -> None:
    exchange(server.url, "POST", PATH, QUESTION)
    assert capfd.readouterr() == ("", "")


def test_the_line_says_how_much_of_a_prompt_was_cached(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    with MockServer(Settings(port=0, latency="off", prompt_cache=True)) as server:
        for _ in range(2):
            exchange(server.url, "POST", PATH, {**QUESTION, "prompt": [7] * 200})
    assert [line.split(", ")[1] for line in lines(caplog)] == ["200+8 tokens", "200 (128 cached)+8 tokens"]


def test_an_exchange_is_one_line(server: MockServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    exchange(server.url, "POST", PATH, QUESTION)
    exchange(server.url, "POST", f"/ns/team{PATH}", {"prompt": 1})
    exchange(server.url, "GET", "/nowhere")
    exchange(server.url, "POST", PATH, QUESTION, {"x-mockserver-fault": "error"})
    plain, refused, lost, faulted = lines(caplog)
    assert plain.startswith("cerebras completions 200, 1+8 tokens, in ")
    assert refused.startswith("[team] cerebras completions 400 invalid_request, in ")
    assert lost.startswith("GET /nowhere 404 no_route, in ")
    assert faulted.startswith("cerebras completions 500, in ")
    assert faulted.endswith(", with fault error")


def test_a_stream_says_when_its_first_token_came_and_who_left(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    exchange(server.url, "POST", PATH, QUESTION | {"stream": True}, {"x-mockserver-latency": "ttft=20ms"})
    [line] = lines(caplog)
    told = re.search(r", first token after (\d+) ms, ", line)
    assert told is not None
    assert int(told[1]) >= 20
    assert facts(caplog)["closed_by"] == "server"


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("wish", ["x-mockserver-latency: ttft=1ms, itl=20s", "x-mockserver-fault: hang"])
def test_an_answer_that_a_stopping_server_gives_up_is_not_said_to_be_left_by_the_client(
    loop: Loop, wish: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    with MockServer(Settings(port=0, latency="off"), loop) as server, connected(server) as client:
        client.sendall(post(PATH, QUESTION | {"stream": True}, wish))
        server.wait_for_requests(1)
        server.stop()
    [line] = lines(caplog)
    assert ", ended by the server after " in line
    assert "client left" not in line
    assert facts(caplog)["closed_by"] == "server"


def test_a_line_in_json_has_the_same_keys_for_every_exchange(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    exchange(server.url, "POST", f"/ns/team{PATH}", QUESTION | {"stream": True}, {"x-mockserver-fault": "no_finish"})
    told = facts(caplog)
    assert {"time", "level", "logger", "message"} | FACTS == set(told)
    wanted = {
        "level": "info", "namespace": "team", "number": 1, "method": "POST", "path": PATH, "dialect": "cerebras",
        "operation": "completions", "model": "llama3.1-8b", "status": 200, "streamed": True, "failure": None,
        "rule": None, "faults": ["no_finish"], "prompt_tokens": 1, "completion_tokens": 8, "cached_tokens": 0,
        "tokens_sent": 8, "closed_by": "server", "reason": None,
    }  # fmt: skip
    assert {key: told[key] for key in wanted} == wanted
    caplog.clear()
    exchange(server.url, "GET", "/nowhere")
    assert {"time", "level", "logger", "message"} | FACTS == set(facts(caplog))


def test_a_path_that_the_vendor_does_not_know_is_told_with_what_is_near(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    answer = exchange(server.url, "POST", "/cerebras/v1/completion", QUESTION)
    (line,) = lines(caplog)
    assert line.startswith("cerebras /cerebras/v1/completion 404 unknown_path, in ")
    assert line.endswith(f", {dict(answer.headers)['x-mockserver-hint']}")
    assert "nearest: /cerebras/v1/completions, " in line


def test_a_refusal_of_mockservers_own_tells_its_reason(server: MockServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    exchange(server.url, "GET", "/cerebras2/v1/models")
    exchange(server.url, "POST", PATH, QUESTION, {"x-mockserver-fault": "rst"})
    exchange(server.url, "POST", PATH, QUESTION, {"x-mockserver-namespace": "a b"})
    exchange(server.url, "POST", PATH, QUESTION, {"x-mockserver-reply": '{"text": 1}'})
    lost, wish, namespace, reply = lines(caplog)
    assert lost.partition(" ms, ")[2].startswith("nearest: /cerebras/v1/models, ")
    assert wish.startswith("POST /cerebras/v1/completions 400 invalid_header, in ")
    assert "ms, X-Mockserver-Fault: kind: unknown fault 'rst'. Did you mean 'reset'? " in wish
    assert len(wish) < 300
    assert " 400 bad_namespace, in " in namespace
    assert namespace.partition(" ms, ")[2]
    assert reply.endswith(" ms, X-Mockserver-Reply: reply.text: 1 is not a string")


def test_a_request_without_a_matching_stub_tells_the_nearest_but_not_what_was_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    with MockServer(Settings(port=0, latency="off", unmatched="refuse")) as server:
        exchange(server.url, "POST", PATH, QUESTION)
        server.stub(name="greeting", match={"prompt": "Good morning", "model": "m"}, reply="Hi!")
        exchange(server.url, "POST", PATH, QUESTION)
    none, unlike = lines(caplog)
    assert none.endswith(" ms, there are no stubs")
    assert unlike.endswith(" ms, no stub matches, nearest: 'greeting' (differs in prompt, model)")
    assert "Hello" not in unlike


def test_a_function_that_fails_is_told_with_what_it_raised(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    server.stub(name="odd", reply=lambda request: request.no_such_field)
    exchange(server.url, "POST", PATH, QUESTION)
    [line] = lines(caplog)
    assert "stub 'odd': its function raised AttributeError: " in line


def test_the_stub_that_answered_is_named(server: MockServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    stub = {"name": "greeting", "match": {"prompt": {"contains": "Hello"}}, "reply": "Hi!"}
    assert exchange(server.url, "POST", "/_mockserver/stubs", stub).status == 201
    exchange(server.url, "POST", PATH, QUESTION)
    assert ", by stub greeting" in lines(caplog)[-1]


def test_nobody_can_forge_a_line_or_move_a_terminals_cursor(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    exchange(server.url, "GET", "/a%0A12:00:00%20forged%1B%5B2J")
    assert lines(caplog)[0].startswith("GET /a\\n12:00:00 forged\\x1b[2J 404 no_route, in ")


def test_an_endless_path_is_shortened_for_people_and_whole_for_machines(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mockserver")
    path = f"/{'a' * 20_000}"
    exchange(server.url, "GET", path)
    assert lines(caplog)[0].startswith(f"GET {path[:500]}... (20,001 characters) 404 no_route, in ")
    assert facts(caplog)["path"] == path


def test_an_error_is_logged_in_json_with_its_trace() -> None:
    try:
        raise ValueError("why")
    except ValueError as error:
        record = logging.LogRecord("mockserver", logging.ERROR, "", 1, "said %s", ("so",), (ValueError, error, None))
    line = json.loads(JsonFormatter().format(record))
    assert (line["level"], line["message"], line["exception"]) == ("error", "said so", "ValueError: why")


@pytest.mark.parametrize("form", ["text", "json"])
def test_lines_keep_their_order_and_none_is_lost_at_the_end(form: str) -> None:
    ended = subprocess.run([sys.executable, "-c", LOGGING, form], capture_output=True, text=True, timeout=30)
    said = [json.loads(line)["message"] if form == "json" else line[9:] for line in ended.stderr.splitlines()]
    assert said == [
        "GET /first 404 no_route, in 0 ms",
        "an error",
        "GET /second 404 no_route, in 0 ms",
        "GET /last 404 no_route, in 0 ms",
    ]
    assert (ended.stdout, ended.returncode) == ("", 0)
