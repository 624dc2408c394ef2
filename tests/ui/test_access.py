"""The live page for everybody: checked by axe in each view, light and dark, wide and narrow.

With `--update-golden` the pictures in the documentation are taken anew.
"""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from mockserver import MockServer
from tests.clients.environments import page_packages
from tests.support.questions import QUESTIONS, ask, leave_early

from .conftest import Open

PICTURES = Path(__file__).parents[2] / "mockserver" / "docs" / "screenshots"

WIDE = ViewportSize(width=1360, height=860)
SIZES = {"wide": WIDE, "narrow": ViewportSize(width=400, height=820)}
PICTURED = (("wide", "light"), ("wide", "dark"), ("narrow", "light"))


def have_some_traffic(url: str) -> None:
    """What a page looks like that is in use."""
    ask(url, "ovms", {"x-mockserver-namespace": "checkout-" * 9})
    for dialect in QUESTIONS:
        ask(url, dialect, stream=True)
    ask(url, "cerebras", {"x-mockserver-fault": "{ kind = 'error', error = 'rate_limit' }"})
    ask(url, "upstash", {"x-mockserver-fault": "{ kind = 'reset', after_event = 9 }"}, stream=True)
    leave_early(url, "friendli", max_tokens=200)


def show(page: Page, view: str) -> None:
    """Bring a view to where it shows what it can."""
    if view == "traffic":
        page.locator(".exchange").first.click()
        expect(page.locator(".verdict")).to_contain_text("left")
    elif view == "playground":
        page.get_by_role("button", name="Compare two").click()
        for details in page.locator("details > summary").all():
            details.click()
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".pane .badge.good")).to_have_count(2)
        expect(page.get_by_role("button", name="Send")).to_be_visible()
        for details in page.locator("details > summary").all():
            details.click()
    elif view == "controls":
        page.get_by_role("button", name="flaky-wifi").click()
        page.get_by_role("button", name="Reset after 5 events").click()
        page.locator("details > summary").click()
        page.locator("[data-kind=error]").click()
        expect(page.get_by_role("img")).not_to_have_count(0)
    elif view == "nothing":
        expect(page.get_by_role("heading", name="No requests yet")).to_be_visible()


def violations(page: Page) -> list[dict[str, Any]]:
    """What axe finds, in a form that says where."""
    source = (page_packages() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(source)
    found: list[dict[str, Any]] = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations)"
    )
    return [{"rule": each["id"], "at": [node["html"][:160] for node in each["nodes"][:3]]} for each in found]


@pytest.mark.parametrize("view", ["traffic", "playground", "controls", "nothing"])
def test_axe_finds_nothing(open_page: Open, mock: MockServer, view: str, request: pytest.FixtureRequest) -> None:
    if view != "nothing":
        have_some_traffic(mock.url)
    page = open_page("traffic" if view == "nothing" else view, viewport=WIDE, reduced_motion="reduce")
    expect(page.locator(".link")).to_have_text("live")
    show(page, view)
    for name, size in SIZES.items():
        for theme in ("light", "dark"):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=theme)
            page.wait_for_timeout(50)
            assert (name, theme, violations(page)) == (name, theme, [])
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert (name, overflow) == (name, 0), "nothing sticks out sideways"
            if request.config.getoption("--update-golden") and (name, theme) in PICTURED:
                page.locator("main").evaluate("(main) => (main.scrollTop = 0)")
                page.screenshot(path=PICTURES / f"{view}-{name}-{theme}.png", animations="disabled")
