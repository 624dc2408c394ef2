"""Pages of foreign names, of loopback names, and of names that were led to the server, in Chromium."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from mockserver import MockServer
from mockserver.core.installed import load_dialect
from mockserver.state.settings import Settings
from tests.support.http import exchange
from tests.support.questions import QUESTIONS

EVIL = "evil.test"
# What a page can do without a preflight or with one, by each way that a browser has; each says what the page has read.
TRIES = """
async (base) => {
  const read = [];
  const late = () => new Promise((_, no) => setTimeout(no, 3000));
  const keep = (what, promise) => Promise.race([promise, late()]).then(
    (got) => got !== undefined && got !== "" && read.push([what, String(got).slice(0, 200)]), () => {});
  const text = async (answer) => (answer.type === "opaque" ? "" : `${answer.status} ${await answer.text()}`);
  const json = { authorization: "Bearer k", "content-type": "application/json" };
  const publish = `${base}/upstash/v2/publish/http://127.0.0.1:9/x`;
  const got = ["/cerebras/v1/models", "/upstash/v2/logs", "/_mockserver/journal?full=1", "/_mockserver/health"];
  got.push("/_mockserver/ui/", "/cerebras/openapi.json", "/", "/nowhere");
  const asked = [
    ...got.map((path) => ["GET", path]), ["DELETE", "/_mockserver/journal"],
    ["POST", "/cerebras/v1/completions", '{"model": "llama3.1-8b", "prompt": "Hi", "max_tokens": 3}'],
    ["POST", "/_mockserver/stubs", '{"reply": "owned"}'], ["PATCH", "/_mockserver/settings", '{"cors": "any"}'],
  ];
  for (const [method, path, body] of asked) {
    const url = base + path;
    await keep(`${method} ${path}`, fetch(url, { method, headers: json, body }).then(text));
    if (method === "DELETE" || method === "PATCH") continue;
    await keep(`simple ${method} ${path}`, fetch(url, { method, body, mode: "no-cors" }).then(text));
    await keep(`text ${method} ${path}`, fetch(url, { method, body }).then(text));
  }
  await keep("publish", fetch(publish, { method: "POST", body: "x", mode: "no-cors" }).then(text));
  await keep("beacon", (navigator.sendBeacon(publish, "x"), new Promise((done) => setTimeout(done, 200))));
  const loaded = (tag, path) => new Promise((yes, no) => {
    const element = document.createElement(tag);
    Object.assign(element, { onload: () => yes("loaded"), onerror: no, src: base + path });
    document.body.append(element);
  });
  await keep("img", loaded("img", "/_mockserver/ui/icon.svg"));
  await keep("script", loaded("script", "/_mockserver/ui/main.js"));
  const frame = (action) => new Promise((done) => {
    const how = { method: "POST", action, enctype: "text/plain", target: "inside" };
    const form = Object.assign(document.createElement("form"), how);
    form.innerHTML = "<input name=a value=b>";
    document.body.append(form);
    form.submit();
    setTimeout(() => done(""), 300);
  });
  document.body.append(Object.assign(document.createElement("iframe"), { name: "inside" }));
  await keep("form", frame(publish));
  await keep("form elsewhere", frame(`${base}/_mockserver/stubs`));
  const boxed = document.createElement("iframe");
  boxed.sandbox = "allow-scripts";
  boxed.srcdoc = `<script>
    const tell = (text) => parent.postMessage(text, "*");
    fetch("${base}/cerebras/v1/models").then((answer) => answer.text()).then(tell, () => tell(""));
  </` + "script>";
  await keep("sandboxed", new Promise((done) => {
    addEventListener("message", (event) => done(event.data));
    document.body.append(boxed);
  }));
  const events = new EventSource(`${base}/_mockserver/events`);
  await keep("events", new Promise((yes, no) => Object.assign(events, { onopen: () => yes("open"), onerror: no })));
  return read;
}
"""


class Site(BaseHTTPRequestHandler):
    """A page of any name."""

    def do_GET(self) -> None:
        """Answer with an empty page."""
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A page</title>")

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[int]:
    """The port of a server of pages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def mock() -> Iterator[MockServer]:
    """A server with the defaults."""
    with MockServer(Settings(port=0, latency="ttft=5ms, rate=500 tok/s", log_level="error")) as running:
        yield running


def opened(browser: Browser, url: str) -> Page:
    page = browser.new_page()
    page.goto(url)
    return page


def untouched(mock: MockServer) -> dict[str, Any]:
    """What must be empty on a server on which nothing has acted."""
    settings = exchange(mock.url, "GET", "/_mockserver/settings").body
    return {"requests": len(mock.requests), "stubs": mock.stubs, "names": mock.namespaces(), "settings": settings}


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


def test_a_foreign_page_reads_nothing_and_acts_on_nothing(browser: Browser, mock: MockServer, site: int) -> None:
    before = untouched(mock)
    page = opened(browser, f"http://{EVIL}:{site}/")
    assert page.evaluate(TRIES, mock.url) == []
    assert untouched(mock) == before
    page.context.close()


def test_the_same_page_reads_and_acts_where_any_may(browser: Browser, site: int) -> None:
    """So it is the server that stops it, not the browser. The admin API is for no other page even then."""
    with MockServer(Settings(port=0, latency="off", log_level="error"), cors="any") as server:
        page = opened(browser, f"http://{EVIL}:{site}/")
        read = page.evaluate(TRIES, server.url)
        page.context.close()
        said = dict(read)
        assert said["GET /cerebras/v1/models"].startswith("200 ")
        assert said["POST /cerebras/v1/completions"].startswith("200 ")
        assert said["GET /_mockserver/journal?full=1"].startswith("403 ")
        assert said["POST /_mockserver/stubs"].startswith("403 ")
        assert {"img", "sandboxed"} <= said.keys()
        assert len(server.requests) > 5
        assert server.stubs == []


def test_a_page_of_a_rebound_name_reads_nothing_and_acts_on_nothing(browser: Browser, mock: MockServer) -> None:
    """The page came under this name and port before the name was led here, so its requests are of the same origin."""
    before = untouched(mock)
    rebound = f"http://{EVIL}:{port_of(mock.url)}"
    page = browser.new_page()
    answer = page.goto(f"{rebound}/_mockserver/ui/")
    assert answer is not None
    assert (answer.status, "--allow-host" in answer.text()) == (421, True)
    read = page.evaluate(TRIES, rebound)
    # Answers of the own origin can be read: they say nothing but that.
    assert [what for what, text in read if not (text.startswith("421 ") and "--allow-host" in text)] == []
    assert untouched(mock) == before
    page.context.close()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "app.localhost"])
def test_a_page_of_loopback_uses_every_dialect_without_a_setting(
    browser: Browser, mock: MockServer, site: int, name: str
) -> None:
    page = opened(browser, f"http://{name}:{site}/")
    for dialect, (path, body) in QUESTIONS.items():
        got = page.evaluate(
            """async ([url, body, needs]) => {
                const headers = { authorization: "Bearer k", "content-type": "application/json", ...needs };
                const answer = await fetch(url, { method: "POST", headers, body });
                return [answer.status, await answer.text(), answer.headers.get("x-mockserver-request-id")];
            }""",
            [mock.url + path, json.dumps({**body, "stream": True}), dict(load_dialect(dialect).needs)],
        )
        assert (dialect, got[0], "data: " in got[1], bool(got[2])) == (dialect, 200, True, True)
    page.context.close()


def test_a_listed_page_uses_it_and_a_listed_name_has_the_live_page(browser: Browser, site: int) -> None:
    settings = Settings(port=0, latency="off", log_level="error", cors=(f"http://app.test:{site}",))
    path, body = QUESTIONS["cerebras"]
    with MockServer(settings, allow_host="mock.test") as server:
        page = opened(browser, f"http://app.test:{site}/")
        headers = "{ authorization: 'Bearer k', 'content-type': 'application/json' }"
        ask = f"([url, body]) => fetch(url, {{ method: 'POST', headers: {headers}, body }}).then((a) => a.status)"
        assert page.evaluate(ask, [server.url + path, json.dumps(body)]) == 200
        page.goto(f"http://mock.test:{port_of(server.url)}/")
        page.get_by_role("link", name="Playground", exact=True).click()
        page.get_by_role("button", name="Send").click()
        server.wait_for_requests(2)
        page.context.close()


def test_a_link_of_a_foreign_page_leads_to_the_live_page(browser: Browser, mock: MockServer, site: int) -> None:
    page = opened(browser, f"http://{EVIL}:{site}/")
    page.evaluate("(url) => { location.href = url; }", f"{mock.url}/_mockserver/ui/")
    page.get_by_role("link", name="Playground", exact=True).wait_for()
    page.context.close()
