"""The environment of users' test suites has no variables of ours, and no keys."""

import os

import pytest


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("MOCKSERVER_", "PYTEST_XDIST", "OPENAI_", "CEREBRAS_", "QSTASH_", "FRIENDLI_", "YC_")):
            monkeypatch.delenv(name)
