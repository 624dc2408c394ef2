"""A real Chromium for the tests of the live page and of frontends, driven by playwright.

It is the one installed on the machine; nothing is downloaded. Without one the tests are skipped, or fail if
`NEED_CHROMIUM` is set.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_NOTHING = (
    "There is no Chromium on the PATH (Debian: apt-get install chromium). The tests of the live page need one; "
    "the variable CHROMIUM may say where it is."
)


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """A browser with further arguments, which is closed at the end of the block."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        if os.environ.get("NEED_CHROMIUM"):
            pytest.fail(_NOTHING, pytrace=False)
        pytest.skip(_NOTHING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu", *arguments])
        yield browser
        browser.close()


def complaints_of(page: Page) -> list[str]:
    """A list to which uncaught errors, and errors and warnings on the console of a page are added from now on.

    The browser itself reports refused and failed requests; these only count for the page's own files, and not while the
    test has put the page offline: its icon, for one, is loaded some time after it.
    """
    heard: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        refused = message.text.startswith("Failed to load resource") and (
            "/_mockserver/ui/" not in message.location["url"] or "ERR_INTERNET_DISCONNECTED" in message.text
        )
        if message.type in ("error", "warning") and not refused:
            heard.append(message.text)

    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", hear)
    return heard
