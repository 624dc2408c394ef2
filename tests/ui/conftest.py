"""Servers, browsers and pages for the tests of the live page."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from mockserver import MockServer
from mockserver.state.settings import Settings
from tests.support.chromium import chromium, complaints_of

Open = Callable[..., Page]
# A busy machine may take its time; what is there at once is not waited for.
MILLISECONDS = 20_000
expect.set_options(timeout=MILLISECONDS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A Chromium, for which `*.test` leads here; it ends before other tests, which would meet its event loop."""
    with chromium("--host-resolver-rules=MAP *.test 127.0.0.1") as running:
        yield running


@pytest.fixture
def mock() -> Iterator[MockServer]:
    """A server of the test's own, as a developer has it: realistic, but twenty times as fast."""
    with MockServer(Settings(port=0, latency="slow, speed=20", log_level="error")) as running:
        yield running


@pytest.fixture
def open_page(browser: Browser, mock: MockServer) -> Iterator[Open]:
    """Opens a view of the live page; at the end nothing may have been complained of, or fetched from elsewhere.

    The first request to a URL like `unreachable` finds no server.
    """
    heard: list[list[str]] = []
    asked: list[str] = []
    contexts = []

    def open_page(view: str = "traffic", query: str = "", unreachable: str = "", **settings: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1360, "height": 900}, **settings})  # type: ignore[arg-type]
        context.set_default_timeout(MILLISECONDS)
        contexts.append(context)
        page = context.new_page()
        heard.append(complaints_of(page))
        page.on("request", lambda request: asked.append(request.url))
        if unreachable:
            page.route(unreachable, lambda route: route.abort(), times=1)
        page.goto(f"{mock.url}/_mockserver/ui/{query}#/{view}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [each for each in heard if each] == []
    assert [url for url in asked if not url.startswith((mock.url, "data:", "blob:"))] == []
