"""The live page's controls: changes apply at once, and can be downloaded as a config."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from mockserver import MockServer
from mockserver.state.settings import Settings
from mockserver.state.settings.config_file import from_toml
from mockserver.state.settings.options import settle
from tests.support.http import exchange
from tests.support.questions import ask

from .conftest import Open


def test_a_fault_armed_by_a_click_hits_the_next_answer_until_it_is_taken_back(
    open_page: Open, mock: MockServer
) -> None:
    page = open_page("controls")
    page.get_by_role("button", name="Rate limited").click()
    armed = page.locator("[data-fault=rate-limited]")
    expect(armed).to_contain_text("s left")
    assert ask(mock.url, "cerebras") == 429
    expect(armed).to_contain_text("applied to 1 of 1")
    page.get_by_role("link", name="Traffic").click()
    expect(page.locator(".exchange .badge.bad")).to_have_text("error")
    page.get_by_role("link", name="Controls").click()
    page.get_by_role("button", name="Remove rate-limited").click()
    expect(page.get_by_text("No faults are armed.")).to_be_visible()
    assert ask(mock.url, "cerebras") == 200


def test_a_kind_of_the_catalogue_asks_for_its_settings(open_page: Open, mock: MockServer) -> None:
    page = open_page("controls")
    page.get_by_text("kinds of faults").click()
    page.locator("[data-kind=status]").click()
    page.get_by_label("status", exact=True).fill("418")
    page.get_by_label("Dialect").last.select_option("ovms")
    page.get_by_label("Applied to").select_option("the next request")
    page.get_by_role("button", name="Arm status").click()
    expect(page.locator("[data-fault=status]")).to_contain_text('match = { dialect = "ovms" }')
    assert [ask(mock.url, dialect) for dialect in ("cerebras", "ovms", "ovms")] == [200, 418, 200]


def test_a_scenario_is_armed_by_a_click(open_page: Open, mock: MockServer) -> None:
    page = open_page("controls")
    page.get_by_role("button", name="rate-limited", exact=True).click()
    expect(page.locator("[data-fault]")).to_have_count(1)
    assert [ask(mock.url, "cerebras") for _ in range(3)] == [429, 429, 200]
    expect(page.get_by_role("region", name="The config")).to_contain_text("times = 2")


def test_latency_is_chosen_drawn_and_set(open_page: Open, mock: MockServer) -> None:
    page = open_page("controls")
    card = page.get_by_role("region", name="Latency")
    card.get_by_role("button", name="flaky-wifi").click()
    expect(card.get_by_role("button", name="flaky-wifi")).to_have_attribute("aria-pressed", "true")
    expect(card.get_by_text("a stall of about a second in every fiftieth gap")).to_be_visible()
    expect(card.get_by_text("stall_share=0.02")).to_be_visible()
    assert b'"latency": "flaky-wifi"' in exchange(mock.url, "GET", "/_mockserver/settings").body
    card.get_by_label("TTFT").fill("0")
    expect(card.get_by_role("img", name="Time to the first token: median 5.0 ms")).to_be_visible()
    card.get_by_label("As text").fill("ttft=quick")
    expect(card.get_by_role("alert")).to_contain_text("'quick' is not a duration")
    card.get_by_label("As text").fill("ttft=20ms")
    card.get_by_role("button", name="Apply").click()
    expect(page.locator(".toast").last).to_have_text("Latency: ttft=20ms")


def test_every_latency_is_hastened_by_the_speed(open_page: Open, mock: MockServer) -> None:
    page = open_page("controls")
    speed = page.get_by_label("Speed")
    expect(speed).to_have_value("1")
    speed.fill("0")
    speed.press("Tab")
    expect(page.locator(".toast").last).to_contain_text("0 is not a number from 0.000001")
    expect(speed).to_have_value("1")
    assert b'"speed": 1.0' in exchange(mock.url, "GET", "/_mockserver/settings").body
    speed.fill("50")
    speed.press("Tab")
    expect(page.locator(".toast").last).to_have_text("speed: 50")
    assert b'"speed": 50.0' in exchange(mock.url, "GET", "/_mockserver/settings").body


def test_what_is_changed_can_be_downloaded_as_a_config(open_page: Open, mock: MockServer, tmp_path: Path) -> None:
    elsewhere = {"name": "elsewhere", "kind": "reset", "match": {"model": {"contains": "other"}}}
    exchange(mock.url, "POST", "/_mockserver/faults", elsewhere)
    page = open_page("controls")
    expect(page.locator("[data-fault=elsewhere]")).to_contain_text("for model containing 'other'")
    page.get_by_label("Seed").fill("7")
    page.get_by_label("Seed").press("Tab")
    page.get_by_label("Edition").select_option("observed")
    page.get_by_label("Speed").fill("2.5")
    page.get_by_label("Speed").press("Tab")
    page.get_by_label("Prompt cache").select_option("true")
    page.get_by_label("Output tokens").fill("normal(128, 20)")
    page.get_by_label("Output tokens").press("Tab")
    page.get_by_role("button", name="Cut after 5 events").click()
    expect(page.get_by_role("region", name="The config")).to_contain_text("[[fault]]")
    expect(page.get_by_role("region", name="The config")).to_contain_text("observed")
    expect(page.get_by_role("region", name="The config")).to_contain_text("speed = 2.5")
    expect(page.get_by_role("region", name="The config")).to_contain_text("output_tokens")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    download.value.save_as(tmp_path / "mockserver.toml")
    written = (tmp_path / "mockserver.toml").read_text()
    assert "# Add the match of this fault, model containing 'other':\n# [[fault]]\n# kind = \"reset\"" in written
    settings = settle(from_toml(written, "downloaded"))
    [fault] = settings.fault
    assert (settings.seed, settings.edition, settings.latency) == (7, "observed", "slow, speed=20")
    assert (settings.speed, settings.prompt_cache, settings.output_tokens) == (2.5, True, "normal(128, 20)")
    assert (fault.kind, fault.place.after_event, fault.chance.seconds) == ("cut", 5, 30)


def test_the_origins_that_may_use_the_server_are_shown_and_changed(open_page: Open, mock: MockServer) -> None:
    page = open_page("controls")
    cors = page.get_by_label("CORS")
    expect(cors).to_have_value("loopback")
    cors.fill("https://app.example, http://dev.test:3000")
    cors.press("Tab")
    expect(page.locator(".toast").last).to_contain_text("app.example")
    expect(cors).to_have_value("https://app.example, http://dev.test:3000")
    config = page.get_by_role("region", name="The config")
    expect(config).to_contain_text('cors = ["https://app.example", "http://dev.test:3000"]')
    cors.fill("app.example")
    cors.press("Tab")
    expect(page.locator(".toast").last).to_contain_text("is not an origin")
    expect(cors).to_have_value("https://app.example, http://dev.test:3000")


def test_stubs_that_were_added_can_be_downloaded_as_a_stub_file(
    open_page: Open, mock: MockServer, tmp_path: Path
) -> None:
    exchange(mock.url, "POST", "/_mockserver/ns/mine/stubs", {"name": "rain", "reply": "It rains."})
    page = open_page("controls", "?ns=mine")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the stubs").click()
    assert download.value.suggested_filename == "stubs.toml"
    download.value.save_as(tmp_path / "stubs.toml")
    assert (tmp_path / "stubs.toml").read_text() == '[[stub]]\nname = "rain"\nreply = "It rains."\n'


def test_a_seed_of_any_size_is_kept_in_the_config(open_page: Open, mock: MockServer) -> None:
    seed = 2**53 + 1
    exchange(mock.url, "PATCH", "/_mockserver/settings", {"seed": seed})
    page = open_page("controls")
    expect(page.get_by_role("region", name="The config")).to_contain_text(f"seed = {seed}\n")
    expect(page.get_by_label("Seed")).to_have_value(str(seed))
    page.get_by_label("Seed").fill(str(-seed))
    page.get_by_label("Seed").press("Tab")
    expect(page.get_by_role("region", name="The config")).to_contain_text(f"seed = {-seed}\n")


def test_a_namespace_has_its_own_clock_journal_and_faults(open_page: Open, mock: MockServer) -> None:
    ask(mock.url, "ovms", {"x-mockserver-namespace": "mine"})
    page = open_page("controls", "?ns=mine")
    card = page.get_by_role("region", name="Namespace mine")
    expect(card).not_to_contain_text("Its own settings")
    exchange(mock.url, "PUT", "/_mockserver/ns/mine/settings", {"seed": 7})
    page.reload()
    expect(card).to_contain_text("Its own settings go before the server's: { seed = 7 }")
    card.get_by_role("button", name="Advance").click()
    expect(card.locator("strong")).to_have_text("60.00 s")
    page.get_by_role("button", name="Overloaded").last.click()
    assert [ask(mock.url, "ovms", {"x-mockserver-namespace": name}) for name in ("mine", "other")] == [503, 200]
    card.get_by_role("button", name="Reset the namespace").click()
    dialog = page.get_by_role("alertdialog", name="Reset the namespace mine?")
    dialog.get_by_role("button", name="Cancel").click()
    assert ask(mock.url, "ovms", {"x-mockserver-namespace": "mine"}) == 503
    card.get_by_role("button", name="Reset the namespace").click()
    dialog.get_by_role("button", name="Reset").click()
    expect(page.get_by_text("No faults are armed.")).to_be_visible()
    page.locator("#space").focus()
    page.locator("#space").select_option("other")
    page.get_by_role("link", name="Traffic").click()
    expect(page.locator(".exchange")).to_have_count(1)


def test_quotas_show_what_is_left(browser: Browser) -> None:
    settings = Settings(port=0, latency="off", log_level="error", quota="requests=10/min, dialect=cerebras")  # type: ignore[arg-type]
    with MockServer(settings) as server:
        for _ in range(4):
            ask(server.url, "cerebras")
        page = browser.new_page()
        page.goto(f"{server.url}/_mockserver/ui/#/controls")
        bucket = page.locator(".quota")
        expect(bucket).to_contain_text("6 of 10")
        expect(bucket.get_by_role("progressbar")).to_have_attribute("max", "10")
        page.context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_follows_the_switch(open_page: Open, theme: str) -> None:
    page = open_page("controls", color_scheme="dark" if theme == "light" else "light")
    page.get_by_label("Theme").select_option(theme)
    page.reload()
    red = int(page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"))
    assert (red > 128) == (theme == "light")


def test_a_closed_server_asks_for_the_admin_token_once_a_tab(browser: Browser) -> None:
    with MockServer(Settings(port=0, latency="off", log_level="error", admin_token="hush")) as server:
        page = browser.new_page()
        page.goto(f"{server.url}/_mockserver/ui/")
        page.get_by_role("textbox", name="Token").fill("wrong")
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_text("The last one was not accepted.")).to_be_visible()
        page.get_by_role("textbox", name="Token").fill("hush")
        page.get_by_role("button", name="Open").click()
        expect(page.locator(".link")).to_have_text("live")
        page.reload()
        expect(page.locator(".link")).to_have_text("live")
        page.context.close()
