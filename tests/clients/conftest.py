"""Keeps a developer's own keys, base URLs and proxies out of the clients' tests."""

import os

import pytest

VENDORS = ("CEREBRAS_", "FRIENDLI_", "OPENAI_", "QSTASH_", "UPSTASH_", "YC_")


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(VENDORS) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
