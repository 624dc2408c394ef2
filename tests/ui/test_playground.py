"""The live page's playground: each dialect asked by a form of its contract, and two of them side by side."""

import re

from playwright.sync_api import Locator, Page, expect

from mockserver import MockServer
from mockserver.core.installed import load_dialects

from .conftest import Open

DIALECTS = sorted(load_dialects())


def pane(page: Page, number: int = 0) -> Locator:
    return page.get_by_role("region", name="and its answer").nth(number)


def send(page: Page) -> None:
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_every_dialect_is_asked_and_read(open_page: Open) -> None:
    page = open_page("playground")
    asked = pane(page)
    stream, raw = asked.get_by_label("Stream", exact=True), asked.get_by_role("group", name="The raw answer")
    for dialect in DIALECTS:
        asked.get_by_label("Dialect").select_option(dialect)
        expect(asked.get_by_label("Operation")).to_contain_text(f"/{dialect}/")
        stream.check()
        send(page)
        expect(asked.locator(".badge").first).to_have_text("200")
        assert len(asked.get_by_role("group", name="The text of the answer").inner_text()) > 20
        assert "data: {" in raw.inner_text(), dialect
        expect(asked.locator(".readout")).to_contain_text("TTFT")
        stream.uncheck()
        send(page)
        expect(raw).to_contain_text('"usage"')
        expect(raw).not_to_contain_text("data: {")


def test_parameters_of_the_contract_go_into_the_body_and_refusals_are_shown(open_page: Open) -> None:
    page = open_page("playground")
    asked = pane(page)
    asked.get_by_label("Dialect").select_option("cerebras")
    asked.get_by_text("Parameters (from the vendor's contract)").click()
    asked.get_by_label("temperature").fill("9")
    asked.get_by_label("echo").select_option("true")
    asked.get_by_label("stop").fill('["a", "b"]')
    asked.get_by_text("The request that will be sent").click()
    expect(asked.get_by_role("group", name="The request's body")).to_contain_text('"temperature": 9')
    send(page)
    expect(asked.locator(".badge").first).to_have_text("400")
    expect(asked.get_by_role("group", name="The text of the answer")).to_contain_text("temperature")


def test_a_contract_that_could_not_be_read_is_read_again(open_page: Open) -> None:
    page = open_page("playground", unreachable="**/openapi.json")
    asked = pane(page)
    asked.get_by_text("Parameters (from the vendor's contract)").click()
    expect(asked).to_contain_text("The server does not answer")
    asked.get_by_role("button", name="Try again").click()
    expect(asked.get_by_label("temperature")).to_be_visible()


def test_two_latencies_are_compared_side_by_side(open_page: Open) -> None:
    page = open_page("playground")
    page.get_by_role("button", name="Compare two").click()
    for number in (0, 1):
        pane(page, number).get_by_label("Dialect").select_option("cerebras")
    for number, latency in ((0, "ttft=10ms"), (1, "ttft=400ms")):
        pane(page, number).get_by_label("Latency").fill(latency)
    send(page)
    first, second = (pane(page, number) for number in (0, 1))
    text = "The text of the answer"
    expect(second.locator(".badge").first).to_have_text("200")
    assert first.get_by_role("group", name=text).inner_text() == second.get_by_role("group", name=text).inner_text()
    # No sooner than it was told to; a busy browser sees it later.
    expect(second.locator(".readout")).to_contain_text(re.compile(r"TTFT ([4-9]\d\d ms|[1-9]\d*\.\d\d s)"))
    page.get_by_role("button", name="Compare two").click()
    expect(page.get_by_role("region", name="and its answer")).to_have_count(1)


def test_a_running_answer_can_be_stopped(open_page: Open, mock: MockServer) -> None:
    page = open_page("playground")
    pane(page).get_by_label("Latency").fill("ttft=10ms, rate=5 tok/s")
    page.get_by_role("button", name="Send").click()
    expect(pane(page).get_by_role("group", name="The raw answer")).to_contain_text("data:")
    page.get_by_role("button", name="Stop").click()
    expect(pane(page).get_by_text("stopped by you").first).to_be_visible()
    page.get_by_role("link", name="Traffic").click()
    expect(page.locator(".exchange")).to_contain_text("left")
