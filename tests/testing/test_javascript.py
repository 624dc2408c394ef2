"""The handle for tests in JavaScript and TypeScript, as written by `mockserver client` and run by Node.js."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mockserver import MockServer
from mockserver.cli import main
from mockserver.core.installed import load_dialects
from tests.clients.environments import javascript, node_tests, typescript
from tests.server.test_workers import served
from tests.support.pages import page

APPLICATION = """
export async function ask(prompt, more = {}) {
  for (;;) {
    const answer = await fetch(`${process.env.CEREBRAS_BASE_URL}/v1/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${process.env.CEREBRAS_API_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "llama3.1-8b", prompt, max_tokens: 24, ...more }),
    });
    if (answer.ok) return more.stream ? await answer.text() : (await answer.json()).choices[0].text;
    await new Promise((done) => setTimeout(done, 1000 * Number(answer.headers.get("retry-after")) + 5));
  }
}
"""
# Right lines, and lines that the compiler has to refuse.
TYPED = """
import { MockServer, VerificationError, type Match, type Reply, type Stub } from "./mockserver.mjs";

const server = await MockServer.connect({ url: "http://127.0.0.1:8000", token: "secret" });
const mock = server.namespace("mine", { dialect: "cerebras" });
const match: Match = { last_user: { contains: "weather" }, turn: { at_least: 1 }, body: { "$.n": 2 } };
const reply: Reply = { tool_calls: [{ name: "f", arguments: { city: "Oslo" } }], finish_reason: "tool_calls" };
const stub: Stub = { match, replies: ["a", reply], faults: [{ kind: "cut", after_event: 3 }], latency: { rate: 50 } };
const name: string = await mock.on(match).times(2).priority(1).named("n").reply(reply);
await mock.next(2).error("rate_limit", { retry_after: 0.2 });
await mock.next().fault("stall", { after_event: 3, seconds: 2 });
await mock.on().once().headers({ "x-trace": "abc" }).status(418, { teapot: true });
await mock.on().outputTokens("normal(128, 20)");
await mock.replay(new URL("rain.jsonl", import.meta.url), { pace: true, unmatched: "generate" });
await mock.replay("rain.jsonl", { match: "lenient", volatile: ["$.seed"] });
await mock.on().exhausted("refuse").script("a", { match: { turn: 2 }, reply: "b" });
await mock.stub(stub);
await mock.verify({ calls: { at_least: 1 }, match: { status: 200 } }, { resilience: { handles: "retry" } });
const prompt: string | undefined = (await mock.requests())[0].prompt;
const clean: boolean = (await mock.verdict({ handles: "raise" })).clean;
const problems: string[] = new VerificationError([]).problems;
const url: string = mock.baseUrl("yandex") + mock.openaiBaseUrl() + mock.environment()["OPENAI_BASE_URL"];
export { name, prompt, clean, problems, url };
// @ts-expect-error
await mock.on({ modle: "m" }).reply("x");
// @ts-expect-error
await mock.on({ turn: "2" }).reply("x");
// @ts-expect-error
await mock.on().reply({ text: "x", finish_reason: "done" });
// @ts-expect-error
await mock.next().error("rate_limited");
// @ts-expect-error
await mock.next().fault("cut", { after_evnt: 3 });
// @ts-expect-error
await mock.verify({ call: 1 });
// @ts-expect-error
await mock.verify({ never: true, match: { modle: "m" } });
// @ts-expect-error
await mock.replay("rain.jsonl", { unmatched: "ignore" });
// @ts-expect-error
mock.baseUrl("nobody");
"""
BEGIN = """
import assert from "node:assert/strict";
import { MockServer } from %(module)s;
const server = await MockServer.connect({ url: %(url)s, token: %(token)s });
const mock = server.namespace("js test/ü".replace("/", "-").replace(" ", "-"), { dialect: "cerebras" });
const ask = (prompt, more = {}) => fetch(`${mock.baseUrl()}/v1/completions`, {
  method: "POST",
  headers: { authorization: "Bearer any", "content-type": "application/json" },
  body: JSON.stringify({ model: "m", prompt, max_tokens: 4, ...more }),
});
const refusal = (promise) => promise.then(() => "", (error) => `${error.name}: ${error.message}`);
const say = (value) => console.log(JSON.stringify(value));
"""

TOKEN = {"Authorization": "Bearer secret"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the handle."""
    folder = tmp_path_factory.mktemp("client")
    assert main(["client", "--out", str(folder / "test")]) == 0
    return folder / "test"


@pytest.fixture
def server() -> Iterator[MockServer]:
    """A server of the test's own, whose admin API asks for a token."""
    with MockServer(admin_token="secret") as running:
        yield running


def told(client: Path, server: MockServer, code: str, token: str = "secret") -> Any:
    """What a module says that uses the handle: the JSON that it prints."""
    known = {"module": (client / "mockserver.mjs").as_uri(), "url": f"{server.url}/", "token": token}
    return json.loads(javascript(BEGIN % {key: json.dumps(value) for key, value in known.items()} + code))


def test_the_tests_on_its_page_pass_beside_a_server(client: Path, capfd: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"^```mjs\n(.*?)^```$", page("javascript"), re.DOTALL | re.MULTILINE)
    test = client / "page.test.mjs"
    test.write_text(code, encoding="utf-8")
    (client / "my_app.mjs").write_text(APPLICATION, encoding="utf-8")
    with MockServer() as server:
        printed = node_tests(test, {"MOCKSERVER_URL": server.url, "MOCKSERVER_ADMIN_TOKEN": ""})
        names = [name for name in server.namespaces() if name.startswith("js-")]
    passed = code.count("\ntest(")
    assert re.findall(r"^# (pass|fail) (\d+)$", printed, re.MULTILINE) == [("pass", str(passed)), ("fail", "0")]
    assert len(names) == passed


def test_run_leads_it_to_its_server(client: Path, capfd: pytest.CaptureFixture[str]) -> None:
    module = (client / "mockserver.mjs").as_uri()
    program = (
        "import subprocess, sys; from tests.clients.environments import javascript;"
        f"print(javascript('import {{ MockServer }} from {json.dumps(module)};"
        "const mock = (await MockServer.connect()).namespace(); console.log(mock.url, process.env.MOCKSERVER_URL)'))"
    )
    assert main(["run", "--", sys.executable, "-c", program]) == 0
    inside, outside = capfd.readouterr().out.split()
    assert re.fullmatch(rf"{re.escape(outside)}/ns/js-[0-9a-f-]{{36}}", inside)


def test_typescript_knows_what_is_right_and_refuses_what_is_not(client: Path) -> None:
    (client / "typed.mts").write_text(TYPED, encoding="utf-8")
    assert typescript([client / "typed.mts"]) == ""


def test_it_leads_clients_where_the_fixture_does(client: Path, server: MockServer) -> None:
    code = """
say({
  name: mock.name, key: mock.apiKey, environment: mock.environment(), bare: server.namespace("x").openaiBaseUrl(),
  native: server.dialects.map((name) => mock.baseUrl(name)),
  openai: server.dialects.map((name) => mock.openaiBaseUrl(name)),
});
"""
    seen = told(client, server, code)
    handle = server.in_namespace(seen["name"], "cerebras")
    assert seen["environment"] == handle.environment()
    assert seen["key"] == handle.api_key
    assert seen["native"] == [handle.base_url(name) for name in load_dialects()]
    assert seen["openai"] == [handle.openai_base_url(name) for name in load_dialects()]
    assert seen["bare"] == f"{server.url}/ns/x/v1"


def test_stubs_answer_in_their_order_and_are_seen_in_the_journal(client: Path, server: MockServer) -> None:
    code = """
const names = [
  await mock.next(1).error("overloaded", { retry_after: 2 }),
  await mock.on({ prompt: { contains: "rain" } }).times(1).named("wet").reply("It rains."),
  await mock.on({ prompt: "one" }).replies("a", "b"),
  await mock.on({ prompt: "two" }).script("c"),
  await mock.on({ prompt: "three" }).priority(2).latency("off"),
  await mock.on({ prompt: "four" }).fault("status", { status: 418 }),
  await mock.stub({ match: { prompt: "five" }, reply: { status: 204 } }),
];
const statuses = [], texts = [];
for (const prompt of ["rain", "rain", "one", "one", "two", "three", "four", "five"]) {
  const answer = await ask(prompt);
  statuses.push(answer.status);
  if (answer.status === 200) texts.push((await answer.json()).choices[0].text);
}
say({ names, statuses, texts, rules: (await mock.requests()).map(({ decision }) => decision.rule ?? null),
  last: (await mock.last()).prompt, all: (await mock.exchanges()).length, unmatched: (await mock.unmatched()).length });
"""
    seen = told(client, server, code)
    assert seen["names"] == ["next 1", "wet", "stub-1", "stub-2", "stub-3", "stub-4", "stub-5"]
    assert seen["statuses"] == [429, 200, 200, 200, 200, 200, 418, 204]
    assert seen["texts"][:4] == ["It rains.", "a", "b", "c"]
    assert seen["rules"] == ["next 1", "wet", "stub-1", "stub-1", "stub-2", "stub-3", "stub-4", "stub-5"]
    assert (seen["last"], seen["all"], seen["unmatched"]) == ("five", 8, 0)


def test_stubs_set_statuses_headers_lengths_and_seeds(client: Path, server: MockServer) -> None:
    code = """
await mock.on({ prompt: "a" }).once().headers({ "x-trace": "abc" }).status(418, { teapot: true });
await mock.on({ prompt: "b" }).outputTokens(3);
await mock.on({ prompt: "c" }).seed(1);
const short = await (await ask("b", { max_tokens: 100 })).json();
await ask("c");
const first = await ask("a");
const again = (await ask("a")).status;
say({ status: first.status, trace: first.headers.get("x-trace"), body: await first.json(), again,
  tokens: short.usage.completion_tokens, seeds: (await mock.requests()).map(({ seed }) => seed) });
"""
    seen = told(client, server, code)
    assert (seen["status"], seen["trace"], seen["body"], seen["again"]) == (418, "abc", {"teapot": True}, 200)
    assert seen["tokens"] == 3
    assert seen["seeds"][1] == 1 != seen["seeds"][0]


def test_a_recording_answers_what_it_has(client: Path, server: MockServer, tmp_path: Path) -> None:
    server.on(prompt="Rain?").reply("It rains.")
    clients = httpx.Client(base_url=server.url, headers={"Authorization": "Bearer any"})
    with clients:
        assert clients.post(
            "/cerebras/v1/completions", json={"model": "m", "prompt": "Rain?", "max_tokens": 4}
        ).is_success
    recording = tmp_path / "rain.jsonl"
    recording.write_text(httpx.get(f"{server.url}/_mockserver/journal.jsonl", headers=TOKEN).text, encoding="utf-8")
    code = f"""
const missing = await refusal(mock.replay("missing.jsonl"));
const names = await mock.replay({json.dumps(str(recording))});
const answer = await (await ask("Rain?")).json();
say({{ missing, names, text: answer.choices[0].text, other: (await ask("Snow?")).status }});
"""
    seen = told(client, server, code)
    assert seen["missing"].startswith("MockServerError: replay: ENOENT")
    assert (len(seen["names"]), seen["text"], seen["other"]) == (1, "It rains.", 404)


def test_a_stub_without_an_answer_is_told(client: Path, server: MockServer) -> None:
    code = """
const base = mock.on({ model: "m" });
await base.once().reply("one");
await base.reply("two");
await mock.verify({ calls: 0 });
mock.on({ last_user: "x" }).times(2);
const verified = await refusal(mock.verify({ calls: 0 }));
await mock.verify({ calls: 0 });
mock.next(2);
say({ verified, reset: await refusal(mock.reset()), again: await refusal(mock.reset()) });
"""
    seen = told(client, server, code)
    advice = 'has no answer; add one, such as .reply("...")'
    assert seen["verified"] == f'MockServerError: The stub on({{"last_user":"x"}}) {advice}'
    assert seen["reset"] == f"MockServerError: The stub next(2) {advice}"
    assert not seen["again"]


def test_checks_that_fail_say_what_was_found(client: Path, server: MockServer) -> None:
    code = """
await ask("hello");
await mock.verify({ calls: 1 }, { never: true, match: { model: "other" } });
const checks = [{ calls: 2 }, { calls: 1 }, { never: true, match: { status: 200 } }];
const failed = await mock.verify(...checks).catch((error) => error);
say({ name: failed.name, message: failed.message, problems: failed.problems,
  clean: (await mock.verdict({ handles: "retry", patience: 5 })).clean });
"""
    seen = told(client, server, code)
    assert seen["name"] == "VerificationError"
    assert [problem.split(":")[0].splitlines()[0] for problem in seen["problems"]] == [
        "Expected 2 requests, found 1.",
        "Expected no request with status=200, found 1",
    ]
    assert seen["message"] == "\n".join(seen["problems"])
    assert seen["clean"] is True


def test_waiting_settings_clock_and_reset_are_the_namespaces_own(client: Path, server: MockServer) -> None:
    code = """
await mock.settle({ seed: 7 });
await mock.settle({ latency: "ttft=50ms" });
const asked = ask("hello");
const waited = (await mock.waitForRequests(1)).length;
await asked;
await mock.waitIdle();
const { seed } = await mock.last();
const ahead = [await mock.advance(60), await mock.advance(1)];
const late = await refusal(mock.waitForRequests(2, 0.05));
await mock.reset();
say({ waited, seed, ahead, late, after: (await mock.requests()).length, none: await refusal(mock.last()),
  others: (await server.namespace("").requests()).length });
"""
    seen = told(client, server, code)
    assert (seen["waited"], seen["seed"], seen["ahead"], seen["after"], seen["others"]) == (1, 7, [60, 61], 0, 0)
    assert seen["late"].startswith(
        "MockServerError: 2 requests did not arrive within 0.05 s; there were 1. The URL is http://"
    )
    assert seen["none"].startswith(
        "MockServerError: There was no request yet. Does the client use the URL of this namespace?"
    )


def test_deliveries_can_be_waited_for(client: Path, server: MockServer) -> None:
    code = """
const headers = { authorization: "Bearer any", "upstash-retries": "0" };
await fetch(`${mock.url}/upstash/v2/publish/http://127.0.0.1:9/`, { method: "POST", headers });
const [delivery] = await mock.waitForDeliveries(1);
say({ delivery, same: (await mock.deliveries()).length, late: await refusal(mock.waitForDeliveries(2, 0.05)) });
"""
    seen = told(client, server, code)
    assert (seen["delivery"]["url"], seen["delivery"]["status"]) == ("http://127.0.0.1:9/", None)
    assert "127.0.0.1:9" in seen["delivery"]["error"]
    assert (seen["same"], seen["late"]) == (1, "MockServerError: Waited 0.05 s for 2 deliveries; 1 have ended")


def test_the_default_namespace_may_have_settings_too(client: Path, server: MockServer) -> None:
    code = """
const plain = server.namespace("");
await plain.settle({ seed: 9 });
say([plain.url, plain.apiKey, await plain.requests()]);
"""
    assert told(client, server, code) == [server.url, "mock-key", []]


@pytest.mark.parametrize(
    "code, complaint",
    [
        ('mock.on({ modle: "m" }).reply("x")', "unknown field 'modle'. Did you mean 'model'?"),
        ('mock.next().fault("rst")', "unknown fault 'rst'. Did you mean 'reset'?"),
        ('(async (on) => { await on.reply("a"); await on.reply("b"); })(mock.on())', "has an answer already"),
        ("mock.settle({ sead: 7 })", "no setting 'sead'. Did you mean 'seed'?"),
        ("mock.verify({ call: 1 })", "unknown check 'call'. Did you mean 'calls'?"),
        ('(async () => server.namespace("x").baseUrl())()', "Name a dialect, such as baseUrl("),
        ('(async () => mock.baseUrl("nobody"))()', 'unknown dialect "nobody". Known: anthropic, cerebras, friendli, '),
        ('(async () => server.namespace("x", { dialect: "y" }))()', 'unknown dialect "y". Known: anthropic, '),
        ('(async () => server.namespace("a/b"))()', "a namespace's name cannot contain slashes or spaces"),
        ('MockServer.connect({ url: server.url, token: "wrong" })', "token"),
        ('MockServer.connect({ url: "http://127.0.0.1:1" })', "Run the tests with mockserver run -- npm test, or"),
        ("MockServer.connect({ url: `${server.url}/ovms` })", "/ovms/_mockserver/catalogue is not a mockserver: 400"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_words(client: Path, server: MockServer, code: str, complaint: str) -> None:
    seen = told(client, server, f"say(await refusal({code}));")
    assert seen.startswith("MockServerError: ")
    assert complaint in seen


def words_of(types: str) -> set[str]:
    """The words of the handle, by its types."""
    handle = types.partition("export type Dialect")[0]
    found = set(re.findall(r"^  (?:static |readonly )*(\w+)[(:]", handle, re.MULTILINE))
    return found - {"constructor", "problems"}


def test_every_word_of_the_handle_stands_on_its_page(client: Path) -> None:
    words = words_of((client / "mockserver.d.mts").read_text(encoding="utf-8"))
    assert len(words) > 25
    assert [word for word in words if f".{word}" not in page("javascript")] == []


def test_module_and_types_have_the_same_words(client: Path) -> None:
    module = (client / "mockserver.mjs").read_text(encoding="utf-8")
    # Methods and getters begin a line of a class's body; `url` and `name` are fields too.
    methods = set(re.findall(r"^  (?:static )?(?:async |get )?(\w+)\(.*\) {$", module, re.MULTILINE))
    internal = {"constructor", "ask", "clientsOf", "if"}
    types = (client / "mockserver.d.mts").read_text(encoding="utf-8")
    assert methods - internal | {"url", "name"} == words_of(types)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["client", "--out", str(tmp_path / "file" / "test")]) == 2
    assert f"mockserver: {tmp_path / 'file' / 'test'}: Not a directory" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="processes share a port on Linux alone")
def test_a_server_of_several_processes_is_refused(client: Path, server: MockServer) -> None:
    with served("--workers", "2") as several:
        seen = told(client, server, f"say(await refusal(MockServer.connect({{ url: {several.url!r} }})));")
    assert "needs a server with a single process" in seen
