"""Frontends on another origin, in Chromium: a dozen lines of fetch and reader, and the openai client as published."""

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from mockserver import MockServer
from mockserver.core.installed import load_dialects
from mockserver.state.settings import Settings
from tests.clients.environments import page_packages
from tests.support.questions import QUESTIONS

PAGE = """<!doctype html>
<title>A frontend</title>
<pre id="said"></pre>
<script type="module">
  globalThis.parts = 0;
  globalThis.ask = async (url, body, headers = {}) => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { authorization: "Bearer any-key", "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "", parts = 0;
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += part.value;
        globalThis.parts = parts += 1;
      }
    } catch (error) {
      text += `(${error.name})`;
    }
    return { status: answer.status, headers: Object.fromEntries(answer.headers), text, parts };
  };
</script>
"""
OPENAI = """<!doctype html>
<title>A frontend with the openai client</title>
<script type="importmap">{"imports": {"openai": "/openai/index.mjs"}}</script>
<script type="module">
  import OpenAI from "openai";
  globalThis.chat = async (baseURL, model, chat) => {
    const client = new OpenAI({ baseURL, apiKey: "any-key", dangerouslyAllowBrowser: true, maxRetries: 0 });
    const ask = { model, max_tokens: 16, stream: true };
    const stream = chat
      ? await client.chat.completions.create({ ...ask, messages: [{ role: "user", content: "Hello" }] })
      : await client.completions.create({ ...ask, prompt: "Hello" });
    let text = "";
    for await (const { choices: [choice] } of stream) text += choice?.delta?.content ?? choice?.text ?? "";
    return text;
  };
</script>
"""
# Where the openai client fits each dialect: base path, model, whether it is a chat.
CLIENTS: Mapping[str, tuple[str, str, bool]] = {
    "cerebras": ("/cerebras/v1", "llama3.1-8b", False),
    "friendli": ("/friendli/serverless/v1", "zai-org/GLM-5.2", False),
    "ovms": ("/ovms/v3", "llama3", False),
    "upstash": ("/upstash/llm/v1", "meta-llama/Meta-Llama-3-8B-Instruct", True),
    "yandex": ("/yandex/v1", "gpt://folder/yandexgpt/latest", True),
}


class Site(BaseHTTPRequestHandler):
    """Another origin: two pages, and the openai package."""

    packages: Path | None = None

    def do_GET(self) -> None:
        pages = {"/": PAGE, "/openai.html": OPENAI}
        kind = "text/html" if self.path in pages else "text/javascript"
        file = self.packages / self.path.lstrip("/") if self.packages else None
        text = pages.get(self.path) or (file.read_text(encoding="utf-8") if file and file.is_file() else None)
        self.send_response(200 if text is not None else 404)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The URL of another origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def mock() -> Iterator[MockServer]:
    """A server whose streams take a moment."""
    with MockServer(Settings(port=0, latency="ttft=20ms, rate=200 tok/s", log_level="error")) as running:
        yield running


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    """The page of a dozen lines."""
    page = browser.new_page()
    page.goto(site)
    yield page
    page.context.close()


@pytest.mark.parametrize("dialect", QUESTIONS)
def test_a_page_of_another_origin_reads_every_dialects_stream(page: Page, mock: MockServer, dialect: str) -> None:
    path, body = QUESTIONS[dialect]
    # The stream waits for its first part to be read: a busy browser may see a quick one in one piece.
    pause = {"x-mockserver-fault": "{ kind = 'stall', after_event = 2, seconds = 600 }"}
    asked = [mock.url + path, {**body, "stream": True}, {**load_dialects()[dialect].needs, **pause}]
    page.evaluate("([url, body, headers]) => { parts = 0; globalThis.answer = ask(url, body, headers); }", asked)
    page.wait_for_function("() => parts > 0")
    mock.clock.advance(600)
    got = page.evaluate("() => answer")
    assert got["status"] == 200
    assert got["parts"] > 1
    events = [json.loads(line[6:]) for line in got["text"].splitlines() if line.startswith("data: {")]
    assert len(events) > 1
    assert got["headers"]["x-mockserver-request-id"]
    limits = {"cerebras": "x-ratelimit-limit-tokens-minute", "friendli": "x-ratelimit-limit-tokens"}
    assert limits.get(dialect, "content-type") in got["headers"]


@pytest.mark.parametrize("fault, status, said", [
    ("{ kind = 'error', error = 'rate_limit', retry_after = 2 }", 429, "error"),
    ("{ kind = 'cut', after_event = 3 }", 200, "data: "),
    ("{ kind = 'reset', after_event = 3 }", 200, "(TypeError)"),
    ("{ kind = 'short_body' }", 200, "(TypeError)"),
])  # fmt: skip
def test_faults_are_seen_across_origins_too(page: Page, mock: MockServer, fault: str, status: int, said: str) -> None:
    path, body = QUESTIONS["yandex"]
    asked = [mock.url + path, {**body, "stream": True}, {"x-mockserver-fault": fault}]
    got = page.evaluate("([url, body, headers]) => ask(url, body, headers)", asked)
    assert (got["status"], said in got["text"]) == (status, True)
    if status == 429:
        assert got["headers"]["retry-after"] == "2"


def test_a_wrong_path_is_read_across_origins(page: Page, mock: MockServer) -> None:
    got = page.evaluate("([url, body]) => ask(url, body)", [f"{mock.url}/cerebras/v1/compleions", {}])
    assert got["status"] == 404
    assert "/cerebras/v1/completions" in got["headers"]["x-mockserver-hint"]


def test_with_the_vendors_cors_a_page_may_not_read(page: Page) -> None:
    with MockServer(Settings(port=0, latency="off", log_level="error", cors="vendor")) as server:
        path, body = QUESTIONS["cerebras"]
        failed = page.evaluate(
            "([url, body]) => ask(url, body).catch((error) => error.name)", [server.url + path, body]
        )
    assert failed == "TypeError"


def test_the_openai_client_streams_in_a_page_of_another_origin(
    browser: Browser, site: str, mock: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Site, "packages", page_packages())
    page = browser.new_page()
    page.goto(f"{site}/openai.html")
    page.wait_for_function("() => globalThis.chat !== undefined")
    for base, model, chat in CLIENTS.values():
        said = page.evaluate(
            "([base, model, chat]) => globalThis.chat(base, model, chat)", [mock.url + base, model, chat]
        )
        assert len(said) > 3, base
    page.context.close()
