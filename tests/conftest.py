"""Fixtures and options for all tests: servers on loopback, and `--update-golden`, which writes golden files anew."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from mockserver import MockServer
from mockserver.state.settings import Settings
from tests.support.asking import FROZEN

# A busy machine fails no test: none is timed. Nor does chance: every run tries the same.
hypothesis_settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the transcripts under fixtures/ anew")


# What takes long by itself begins first, so that no worker waits for it at the end.
LONG = ("test_image.py", "test_bench.py", "test_faults_seen.py", "test_hostile.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG)


def pytest_collection_finish() -> None:
    """Leave what lives as long as the session out of garbage collections, and let whole ones be rare.

    Each would look at a million objects for half a second: a sixth of all time, which a test that measures its own
    would now and then be charged with.
    """
    gc.freeze()
    gc.set_threshold(700, 10, 1000)


@pytest.fixture(scope="session")
def server() -> Iterator[MockServer]:
    """A server with latency off and seed 42."""
    with MockServer() as running:
        yield running


@pytest.fixture(scope="session")
def frozen_server() -> Iterator[MockServer]:
    """The same, with the clock of its answers frozen, and CORS as the vendor has it: the request decides every byte."""
    with MockServer(Settings(port=0, latency="off", log_level="warning", created=FROZEN, cors="vendor")) as running:
        yield running
