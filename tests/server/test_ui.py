"""The live page's files, as a browser fetches them."""

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest

import mockserver
from mockserver import MockServer
from tests.support.http import exchange

FOLDER = Path(mockserver.__file__).parent / "ui"
FILES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.*"))
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@pytest.mark.parametrize("path", ["", *FILES])
def test_every_file_is_served_with_its_type_and_a_policy_that_allows_this_server_alone(
    server: MockServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a machine takes files for is not always right.
    monkeypatch.setattr("starlette.responses.guess_type", lambda name: ("text/plain", None))
    answer = exchange(server.url, "GET", f"/_mockserver/ui/{path}")
    headers = dict(answer.headers)
    assert answer.body == (FOLDER / (path or "index.html")).read_bytes()
    assert headers["content-type"].startswith(TYPES[(path or "index.html").rpartition(".")[2]])
    assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-cache"
    again = exchange(server.url, "GET", f"/_mockserver/ui/{path}", headers={"if-none-match": headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_the_page_has_one_address_and_no_files_but_its_own(server: MockServer) -> None:
    for path in ("", "/", "/ui"):
        moved = exchange(server.url, "GET", f"/_mockserver{path}")
        location = dict(moved.headers)["location"]
        # Relative, because a proxy may put something in front of the server's paths.
        assert (moved.status, location.startswith("/")) == (307, False)
        assert urljoin(f"/mock/_mockserver{path}", location) == "/mock/_mockserver/ui/"
    for path in ("none.js", "../serving/app.py", "%2e%2e/cli.py", "main.js/none/%2e%2e"):
        assert exchange(server.url, "GET", f"/_mockserver/ui/{path}").status == 404


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith((".js", ".html", ".css"))])
def test_nothing_is_fetched_from_elsewhere_and_no_data_becomes_markup(path: str) -> None:
    text = (FOLDER / path).read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
    assert addresses == set()
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|\son\w+=\"", text) == []
