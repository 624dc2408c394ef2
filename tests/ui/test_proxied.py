"""The live page behind a proxy that puts a path in front of the server's own, and strips it from requests."""

from playwright.sync_api import Browser, expect

from mockserver import MockServer
from tests.support.chromium import complaints_of
from tests.support.questions import ask


def test_the_page_works_below_the_path_of_a_proxy(browser: Browser, mock: MockServer) -> None:
    ask(mock.url, "cerebras")
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    page = context.new_page()
    complaints, asked = complaints_of(page), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.route(
        f"{mock.url}/team/mock/**", lambda route: route.continue_(url=route.request.url.replace("/team/mock", ""))
    )
    page.goto(f"{mock.url}/team/mock/_mockserver/ui/")
    expect(page.locator(".link")).to_have_text("live")
    page.locator(".exchange").click()
    page.get_by_role("button", name="Replay").click()
    expect(page.locator(".exchange")).to_have_count(2)
    page.get_by_role("link", name="Playground").click()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("200")).to_be_visible()
    mock.wait_for_requests(3)
    page.get_by_role("link", name="Controls").click()
    expect(page.get_by_role("heading", name="Latency")).to_be_visible()
    page.wait_for_load_state()
    # Before the page is closed: what it asks for then, nobody leads past the proxy's path.
    seen = len(mock.requests)
    context.close()
    assert (complaints, seen) == ([], 3)
    assert [url for url in asked if not url.startswith(f"{mock.url}/team/mock/")] == []
