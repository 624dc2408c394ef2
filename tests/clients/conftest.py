"""A vendor's client for each test, and a developer's own keys, base URLs and proxies kept out of it.

A module that says how its client is `connected` to an edition of the server gets it by the fixtures `client` (both
editions, one after the other), `documented` and `observed`.
"""

import importlib
import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from .questions import EDITIONS, Server

VENDORS = ("ANTHROPIC_", "CEREBRAS_", "FRIENDLI_", "OPENAI_", "QSTASH_", "UPSTASH_", "YC_")


@pytest.fixture(autouse=True, scope="package")
def _certificates_read_once() -> Iterator[None]:
    """Every client that is made reads the certificates of all authorities, which takes 30 ms, though none is asked."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("httpx", "httpx2"):
            create = importlib.import_module(f"{name}._config").create_ssl_context
            patch.setattr(f"{name}._transports.default.create_ssl_context", cache(create))
        yield


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(VENDORS) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture(params=EDITIONS)
def client(server: Server, request: pytest.FixtureRequest) -> Iterator[Any]:
    with request.module.connected(server, request.param) as client:
        yield client


@pytest.fixture
def documented(server: Server, request: pytest.FixtureRequest) -> Iterator[Any]:
    with request.module.connected(server, "documented") as client:
        yield client


@pytest.fixture
def observed(server: Server, request: pytest.FixtureRequest) -> Iterator[Any]:
    with request.module.connected(server, "observed") as client:
        yield client
