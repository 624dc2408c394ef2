"""The live page's list of exchanges, in a real browser: updated live, filtered, shown in detail, copied, replayed."""

import gzip
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from mockserver import MockServer, raw, tool_call
from mockserver.state.settings.config_file import from_toml
from tests.support.http import exchange
from tests.support.questions import QUESTIONS, ask, ask_in_background, leave_early

from .conftest import Open


def rows(page: Page) -> list[str]:
    """What the rows of the journal say, from the top."""
    return [" ".join(text.split()) for text in page.locator(".exchange").all_inner_texts()]


def copied(page: Page, button: str) -> str:
    """What a button puts on the clipboard."""
    page.evaluate(
        "() => { globalThis.copied = null; navigator.clipboard.writeText = async (text) => { copied = text } }"
    )
    page.get_by_role("button", name=button).click()
    page.wait_for_function("() => globalThis.copied")
    text: str = page.evaluate("() => globalThis.copied")
    return text


def test_an_empty_journal_says_how_to_begin(open_page: Open) -> None:
    page = open_page()
    expect(page.get_by_role("heading", name="No requests yet")).to_be_visible()
    expect(page.locator(".link")).to_have_text("live")
    assert "curl -N http://127.0.0.1" in page.get_by_role("region", name="An example").inner_text()
    page = open_page(query="?ns=a%20b")
    expect(page.get_by_role("region", name="An example")).to_contain_text("/ns/a-b/cerebras/v1/completions")
    expect(page.get_by_label("Namespace")).to_have_value("a-b")


def test_the_list_says_why_a_request_was_refused(open_page: Open, mock: MockServer) -> None:
    exchange(mock.url, "POST", "/ovms/v3/completions", b'{"model": "m"}')
    exchange(mock.url, "POST", "/cerebras/v1/completion", b"{}")
    page = open_page()
    expect(page.locator(".exchange")).to_have_count(2)
    unknown, invalid = rows(page)
    assert "unknown path" in unknown
    assert unknown.count("/cerebras/v1/completion") == 1
    assert "POST" in unknown
    assert "invalid request" in invalid
    page.get_by_role("searchbox").fill("unknown_path")
    expect(page.locator(".exchange")).to_have_count(1)


def test_a_recorded_answer_to_another_request_is_marked_with_what_differs(open_page: Open, mock: MockServer) -> None:
    path, body = "/cerebras/v1/completions", {"model": "m", "prompt": "Rain?", "max_tokens": 4}
    recorded = {"dialect": "cerebras", "operation": "completions", "body": body}
    mock.stub(name="tape-1", match={"last_user": "Rain?"}, request=recorded, reply="It rains.")
    for temperature in (None, 1):
        exchange(mock.url, "POST", path, body if temperature is None else {**body, "temperature": temperature})
    page = open_page()
    expect(page.locator(".exchange")).to_have_count(2)
    assert ["stale" in row for row in rows(page)] == [True, False]
    page.locator(".exchange").first.click()
    shown = page.locator("section", has=page.get_by_role("heading", name="Stale answer"))
    expect(shown.locator("tbody tr")).to_have_text(["$.temperaturenothing1"])


def test_what_the_server_itself_answers_is_shown_with_the_nearest_paths(open_page: Open, mock: MockServer) -> None:
    exchange(mock.url, "POST", "/v1/completion", b"{}")
    page = open_page()
    expect(page.locator(".exchange")).to_have_count(1)
    assert ("no route" in rows(page)[0], "unmatched" in rows(page)[0]) == (True, False)
    page.locator(".exchange").click()
    detail = page.locator(".detail")
    expect(detail).to_contain_text("or the live page: /_mockserver/ui/. Finished after")
    expect(page.get_by_label("The body of the answer")).to_contain_text('"nearest"')
    expect(page.get_by_label("The body of the answer")).to_contain_text('"/v1/completions"')


def test_a_stream_is_watched_live_from_its_first_token_to_its_end(open_page: Open, mock: MockServer) -> None:
    page = open_page()
    expect(page.locator(".link")).to_have_text("live")
    asked = ask_in_background(mock.url, "friendli", {"x-mockserver-latency": "ttft=200ms, itl=60s"}, stream=True)
    page.locator(".exchange").click()
    expect(page.locator(".verdict")).to_contain_text("In progress")
    chart = page.get_by_role("slider", name="Events of the stream over time")
    mock.clock.advance(30 * 60)
    expect(page.locator(".verdict")).to_contain_text("Finished")
    asked.join()
    expect(page.locator(".chart .readout")).to_contain_text("planned 200 ms")
    chart.press("ArrowRight")
    expect(page.locator(".chart .readout")).to_contain_text("event 1 of 25 · planned 200 ms")
    chart.press("End")
    assert "event 25 of 25" in (chart.get_attribute("aria-valuetext") or "")
    chart.hover(position={"x": 400, "y": 60})
    expect(page.locator(".event[aria-selected=true]")).to_have_count(1)


def test_where_the_client_left_is_told(open_page: Open, mock: MockServer) -> None:
    leave_early(mock.url, "friendli", max_tokens=400)
    page = open_page()
    page.locator(".exchange", has_text="left").click()
    expect(page.locator(".verdict")).to_contain_text("The client left after")
    expect(page.locator(".chart .readout")).to_contain_text("client left after")
    page.locator(".chart canvas").press("End")
    expect(page.locator(".event.unsent[aria-selected=true]")).to_contain_text("never")


def test_the_journal_is_filtered_by_text_dialect_status_and_fate(open_page: Open, mock: MockServer) -> None:
    for dialect in QUESTIONS:
        ask(mock.url, dialect)
    ask(mock.url, "ovms", {"x-mockserver-fault": "{ kind = 'error', error = 'rate_limit' }"})
    exchange(mock.url, "POST", "/nowhere", {})
    page = open_page()
    whole = len(QUESTIONS) + 2
    expect(page.locator(".count")).to_have_text(f"{whole} exchanges")
    for label, choice, count in (
        ("Dialect", "ovms", 2),
        ("Which exchanges", "with a fault", 1),
        ("Which exchanges", "unmatched", 1),
        ("Which exchanges", "refused", 2),
        ("Status", "2xx", len(QUESTIONS)),
    ):
        page.get_by_label(label).select_option(choice)
        expect(page.locator(".count")).to_have_text(f"{count} of {whole} exchanges")
        page.get_by_label(label).select_option(index=0)
    page.get_by_label("Filter by text").fill("карелии yandex")
    expect(page.locator(".exchange")).to_have_count(1)
    page.get_by_label("Filter by text").fill("none has this")
    page.get_by_role("button", name="Clear the filter").click()
    expect(page.locator(".exchange")).to_have_count(whole)


def test_the_list_is_walked_by_keyboard(open_page: Open, mock: MockServer) -> None:
    for _ in range(3):
        ask(mock.url, "cerebras")
    page = open_page()
    box = page.get_by_role("listbox", name="Exchanges, newest first")
    expect(page.locator(".exchange")).to_have_count(3)
    box.press("Home")
    box.press("ArrowDown")
    expect(page.locator(".detail h2")).to_contain_text("#2")
    box.press("End")
    expect(page.locator(".detail h2")).to_contain_text("#1")
    active = box.get_attribute("aria-activedescendant") or "none"
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"


def test_the_stub_that_answered_and_those_that_nearly_did_are_told(open_page: Open, mock: MockServer) -> None:
    stub = {"name": "turkey", "match": {"last_user": {"contains": "Turkey"}}, "reply": "Ankara."}
    assert exchange(mock.url, "POST", "/_mockserver/stubs", stub).status == 201
    ask(mock.url, "cerebras")
    ask(mock.url, "friendli")
    page = open_page()
    page.locator(".exchange", has_text="Turkey").click()
    expect(page.locator(".verdict")).to_contain_text("Answered by the stub turkey")
    expect(page.get_by_role("region", name="The text of the answer")).to_have_text("Ankara.")
    page.locator(".exchange", has_text="unmatched").click()
    expect(page.get_by_role("row", name="turkey last_user")).to_contain_text("Write about the sea")


def test_a_replay_asks_the_same_again_and_shows_the_new_exchange(open_page: Open, mock: MockServer) -> None:
    ask(mock.url, "yandex", stream=True)
    page = open_page()
    page.locator(".exchange").click()
    text = page.get_by_role("region", name="The text of the answer")
    expect(text).not_to_be_empty()
    before = text.inner_text()
    page.get_by_role("button", name="Replay").click()
    expect(page.locator(".detail h2")).to_contain_text("#2")
    expect(page.locator(".verdict")).to_contain_text("Finished")
    assert text.inner_text() == before


def test_a_copied_curl_command_asks_the_same(open_page: Open, mock: MockServer) -> None:
    ask(mock.url, "upstash", {"x-mine": "it's"}, stream=False)
    page = open_page()
    page.locator(".exchange").click()
    command = copied(page, "Copy as curl")
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=20, check=True)
    assert json.loads(done.stdout)["choices"]
    expect(page.locator(".exchange")).to_have_count(2)


def choose(page: Page, number: int, count: int) -> None:
    """Open an exchange, of so many in the list, and wait until it is told whole."""
    expect(page.locator(".exchange")).to_have_count(count)
    page.locator(".exchange").nth(count - number).click()
    expect(page.locator(".detail h2")).to_contain_text(f"#{number}")
    expect(page.locator(".verdict")).not_to_contain_text("In progress")


LARGE = 9007199254740993
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]


def test_copied_pytest_lines_run(open_page: Open, mock: MockServer, tmp_path: Path) -> None:
    """What is set up for each exchange, and a test that is answered with the same status."""
    off = {"x-mockserver-latency": "off"}
    ask(mock.url, "cerebras", off)
    ask(mock.url, "yandex", {"x-mockserver-fault": "reset"}, stream=True)
    limit = {"name": "limit", "kind": "error", "error": "rate_limit", "retry_after": 2, "times": 1}
    exchange(mock.url, "POST", "/_mockserver/faults", limit)
    ask(mock.url, "ovms", off)
    mock.on(dialect="yandex").reply(tool_call("get_weather", city="Oslo", unit=None))
    ask(mock.url, "yandex", off, tools=TOOLS)
    packed = gzip.compress(json.dumps(QUESTIONS["friendli"][1]).encode())
    exchange(mock.url, "POST", QUESTIONS["friendli"][0], packed, {**off, "content-encoding": "gzip"})
    ask(mock.url, "ovms", off, n=2, best_of=2, user_id=LARGE)
    page = open_page()
    for number, lines in enumerate((
        ['mockserver.on(dialect="cerebras", operation="completions").reply("', "json={"],
        ['"x-mockserver-fault": "reset"', "with pytest.raises(httpx.TransportError):"],
        ['operation="completions").fault("error", error="rate_limit", retry_after=2)\n', "status_code == 429"],
        ['.reply(tool_calls=[{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\", \\"unit\\": null}"}])'],
        ["import base64\n\nimport httpx\n", "content=base64.b64decode("],
        ["    # The choices differ", f".seed({mock.last.seed}).reply()\n", f'"user_id\\": {LARGE}}}".encode(),'],
    ), start=1):  # fmt: skip
        choose(page, number, 6)
        code = copied(page, "Copy as pytest")
        assert [line for line in lines if line not in code] == [], code
        assert "mockserver.on(" in code or number in (2, 5)
        (tmp_path / f"test_{number}.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "llm_mockserver_pytest", "."]
    # The plugins of the developer's environment take longer to load than the tests to run.
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=60, check=False)
    assert "6 passed" in done.stdout, done.stdout + done.stderr


def test_a_copied_stub_is_one_that_a_config_takes(open_page: Open, mock: MockServer) -> None:
    ask(mock.url, "ovms")
    page = open_page()
    page.locator(".exchange").click()
    expect(page.get_by_role("region", name="The text of the answer")).not_to_be_empty()
    stub = copied(page, "Copy as stub")
    assert stub.startswith('[[stub]]\nname = "ovms-1"\nmatch = { dialect = "ovms", operation = "completions"')
    assert from_toml(stub, "copied")


def test_a_copied_stub_says_what_was_said(open_page: Open, mock: MockServer) -> None:
    """Faults with their settings, arguments that TOML cannot hold, and several choices."""
    exchange(mock.url, "POST", "/_mockserver/faults", {"kind": "error", "error": "rate_limit", "times": 1})
    ask(mock.url, "ovms")
    mock.on(dialect="yandex").reply(tool_call("get_weather", city=None), tool_call("add", n=LARGE), tool_call("now"))
    ask(mock.url, "yandex", tools=TOOLS)
    ask(mock.url, "ovms", n=2, best_of=2)
    exchange(mock.url, "GET", "/cerebras/v1/models")
    page = open_page()
    tables = []
    for number in (1, 2, 3, 4):
        choose(page, number, 4)
        text = copied(page, "Copy as stub")
        assert from_toml(text, "copied")
        tables += tomllib.loads(text)["stub"]
    limited, called, varied, listed = tables
    assert limited["faults"] == [{"kind": "error", "error": "rate_limit"}]
    assert called["reply"] == {
        "tool_calls": [
            {"name": "get_weather", "arguments": '{"city": null}'},
            {"name": "add", "arguments": f'{{"n": {LARGE}}}'},
            {"name": "now", "arguments": {}},
        ]
    }
    assert (varied["seed"], "reply" in varied) == (mock.requests[2].seed, False)
    assert listed["reply"]["body"]["object"] == "list"


REFUSALS: dict[str, tuple[str, str, Any]] = {
    "a body that breaks the contract": ("POST", "/cerebras/v1/completions", {"model": "llama3.1-8b", "max_tokens": -1}),
    "a null where none may be": (
        "POST",
        "/cerebras/v1/completions",
        {"model": 7, "prompt": "Hi", "stop": None},
    ),
    "an unknown model": (
        "POST",
        "/yandex/v1/chat/completions",
        {"model": "no", "messages": [{"role": "user", "content": "a"}]},
    ),
    "an empty object": ("POST", "/ovms/v3/completions", {}),
    "no JSON": ("POST", "/friendli/serverless/v1/completions", b"{"),
    "a path of nobody": ("POST", "/nowhere", {"a": 1}),
    "a bad header": ("POST", "/cerebras/v1/completions", {"model": "llama3.1-8b", "prompt": "Bad header"}),
}


def test_a_copied_refusal_refuses_no_other_request(open_page: Open, mock: MockServer) -> None:
    for name, (method, path, body) in REFUSALS.items():
        headers = {"x-mockserver-fault": "{"} if name == "a bad header" else {}
        assert exchange(mock.url, method, path, body, headers).status >= 400
    page = open_page()
    # Those of which no stub can be made say why.
    page.evaluate(
        "() => { globalThis.copied = []; navigator.clipboard.writeText = async (text) => { copied.push(text) } }"
    )
    made = {}
    for number, name in enumerate(REFUSALS, start=1):
        choose(page, number, len(REFUSALS))
        page.locator(".toast").evaluate_all("(toasts) => toasts.forEach((toast) => toast.remove())")
        page.get_by_role("button", name="Copy as stub").click()
        expect(page.locator(".toast")).to_contain_text("stub")
        if "No stub can" not in page.locator(".toast").inner_text():
            made[name] = tomllib.loads(page.evaluate("() => copied.at(-1)"))["stub"][0]
    assert len(made) == page.evaluate("() => copied.length") > 1
    for name, stub in made.items():
        mock.stub(**{**stub, "name": name})
        assert [name, *(ask(mock.url, dialect) for dialect in QUESTIONS)] == [name, *[200] * len(QUESTIONS)]


def test_a_copied_refusal_by_a_quota_is_repeated_for_that_request(open_page: Open, mock: MockServer) -> None:
    path, body = QUESTIONS["cerebras"]
    exchange(mock.url, "PATCH", "/_mockserver/settings", {"quota": "requests=1/min"})
    assert [ask(mock.url, "cerebras"), ask(mock.url, "cerebras")] == [200, 429]
    page = open_page()
    choose(page, 2, 2)
    [stub] = tomllib.loads(copied(page, "Copy as stub"))["stub"]
    exchange(mock.url, "PATCH", "/_mockserver/settings", {"quota": "off"})
    mock.stub(**stub)
    assert exchange(mock.url, "POST", path, {**body, "max_tokens": 3}).status == 200
    assert exchange(mock.url, "POST", path, body).status == 429


def test_a_fault_is_copied_for_the_request_that_it_hit(open_page: Open, mock: MockServer) -> None:
    exchange(mock.url, "POST", "/_mockserver/faults", {"kind": "error", "error": "overloaded", "times": 2})
    assert ask(mock.url, "ovms") == exchange(mock.url, "GET", "/ovms/v3/models").status == 503
    page = open_page()
    for number in (1, 2):
        choose(page, number, 2)
        mock.stub(**tomllib.loads(copied(page, "Copy as stub"))["stub"][0])
    path, body = QUESTIONS["ovms"]
    assert exchange(mock.url, "POST", path, {**body, "max_tokens": 3}).status == 200
    assert [ask(mock.url, "ovms") for _ in range(2)] == [503, 503]


def test_a_request_that_no_stub_matched_is_copied_without_the_refusal(open_page: Open, mock: MockServer) -> None:
    exchange(mock.url, "PUT", "/_mockserver/ns/strict/settings", {"unmatched": "refuse"})
    path, body = QUESTIONS["yandex"]
    assert exchange(mock.url, "POST", f"/ns/strict{path}", body).status == 404
    page = open_page(query="?ns=strict")
    choose(page, 1, 1)
    [stub] = tomllib.loads(copied(page, "Copy as stub"))["stub"]
    assert "reply" not in stub
    mock.in_namespace("strict").stub(**stub)
    assert exchange(mock.url, "POST", f"/ns/strict{path}", body).status == 200


def test_the_journal_is_cleared_only_if_the_answer_is_yes(open_page: Open, mock: MockServer) -> None:
    ask(mock.url, "ovms")
    page = open_page()
    expect(page.locator(".exchange")).to_have_count(1)
    clear, dialog = page.get_by_role("button", name="Clear the journal"), page.get_by_role("alertdialog")
    for no in ("Escape", "Enter"):
        clear.click()
        expect(dialog).to_contain_text("1 exchange of the default namespace will be forgotten")
        expect(page.get_by_role("button", name="Cancel")).to_be_focused()
        page.keyboard.press(no)
        expect(dialog).to_have_count(0)
        expect(clear).to_be_focused()
    assert len(mock.requests) == 1
    clear.click()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".exchange")).to_have_count(0)
    assert len(mock.requests) == 0


def test_what_is_copied_of_embeddings_and_rankings_is_their_body(open_page: Open, mock: MockServer) -> None:
    exchange(mock.url, "POST", "/ovms/v3/embeddings", {"model": "bge-large", "input": ["The tides", "The moon"]})
    ranked = {"model": "bge-reranker", "query": "Why?", "documents": ["Because.", "Who knows"]}
    answer = exchange(mock.url, "POST", "/ovms/v3/rerank", ranked)
    page = open_page()
    expect(page.locator(".exchange").first).to_contain_text("Why?")
    choose(page, 1, 2)
    assert "mockserver.on(" not in copied(page, "Copy as pytest")
    [embedded] = tomllib.loads(copied(page, "Copy as stub"))["stub"]
    assert len(json.loads(embedded["reply"]["body"])["data"]) == 2
    choose(page, 2, 2)
    [stub] = tomllib.loads(copied(page, "Copy as stub"))["stub"]
    mock.stub(**stub)
    again = exchange(mock.url, "POST", "/ovms/v3/rerank", ranked)
    assert (json.loads(again.body), mock.stubs[0]["used"]) == (json.loads(answer.body), 1)


def test_a_stub_for_a_path_that_no_dialect_serves_is_copied_for_that_path(open_page: Open, mock: MockServer) -> None:
    mock.on(path="/v1/files").reply(raw({"id": "file-1"}))
    assert [exchange(mock.url, "POST", f"{base}/v1/files", {"a": 1}).status for base in ("", "/openai")] == [200, 200]
    page = open_page()
    for number in (1, 2):
        choose(page, number, 2)
        [stub] = tomllib.loads(copied(page, "Copy as stub"))["stub"]
        assert stub["match"] == {"dialect": "openai", "method": "POST", "path": "/v1/files"}


def test_large_numbers_are_sent_again_as_they_came(open_page: Open, mock: MockServer) -> None:
    ask(mock.url, "cerebras", user_id=LARGE)
    page = open_page()
    choose(page, 1, 1)
    subprocess.run(["bash", "-c", copied(page, "Copy as curl")], capture_output=True, timeout=20, check=True)
    page.get_by_role("button", name="Replay").click()
    expect(page.locator(".exchange")).to_have_count(3)
    assert [view.body["user_id"] for view in mock.requests] == [LARGE] * 3


def test_a_server_that_goes_is_missed_and_found_again(open_page: Open, mock: MockServer) -> None:
    page = open_page()
    expect(page.locator(".link")).to_have_text("live")
    page.context.set_offline(True)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator(".link")).to_have_text("not connected")
    page.context.set_offline(False)
    expect(page.locator(".link")).to_have_text("live")
    ask(mock.url, "ovms")
    expect(page.locator(".exchange")).to_have_count(1)


def test_a_page_that_could_not_begin_begins_when_it_is_asked_again(open_page: Open, mock: MockServer) -> None:
    page = open_page(unreachable="**/_mockserver/version")
    page.get_by_role("button", name="Try again").click()
    ask(mock.url, "ovms")
    expect(page.locator(".exchange")).to_have_count(1)
