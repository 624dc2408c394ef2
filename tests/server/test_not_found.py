"""The server's address, opened in a browser."""

import json
from urllib.parse import urljoin

import pytest

from mockserver import MockServer
from mockserver.state.settings import Settings
from tests.support.http import exchange

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("place", "location"),
    [("", "_mockserver/ui/"), ("/ns/mine", "../../_mockserver/ui/?ns=mine")],
    ids=["root", "namespace"],
)
def test_a_browser_at_the_root_is_led_to_the_live_page_and_nobody_notes_it(
    server: MockServer, method: str, place: str, location: str
) -> None:
    before = json.loads(exchange(server.url, "GET", f"/_mockserver{place}/journal").body)
    answer = exchange(server.url, method, f"{place}/", headers=BROWSER)
    assert (answer.status, dict(answer.headers)["location"], answer.body) == (307, location, b"")
    assert urljoin(f"{place}/", location).partition("?")[0] == "/_mockserver/ui/"
    assert json.loads(exchange(server.url, "GET", f"/_mockserver{place}/journal").body) == before


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [("GET", "/", {"accept": "*/*"}), ("POST", "/", BROWSER), ("GET", "/index.html", BROWSER)],
)
def test_everybody_else_is_told_what_is_served(
    server: MockServer, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = exchange(server.url, method, path, headers=headers)
    assert answer.status == 404
    assert json.loads(answer.body)["error"]["type"] == "mockserver_no_route"


def test_a_strict_server_and_one_whose_root_is_a_vendors_lead_nobody() -> None:
    with MockServer(Settings(port=0, strict=True)) as strict:
        assert exchange(strict.url, "GET", "/", headers=BROWSER).status == 404
    with MockServer(Settings(port=0, dialect="cerebras")) as vendor:
        answer = exchange(vendor.url, "GET", "/", headers=BROWSER)
        assert (answer.status, "location" in dict(answer.headers)) == (404, False)
