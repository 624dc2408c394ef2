"""The server that the recorder's tests ask in place of the vendors."""

from collections.abc import Iterator

import pytest

from mockserver import MockServer
from tests.support.asking import FROZEN


@pytest.fixture(scope="module")
def vendor() -> Iterator[MockServer]:
    """A server that stands for every vendor, and says nothing that they would not."""
    with MockServer(strict=True, created=FROZEN, cors="vendor") as running:
        yield running


@pytest.fixture(autouse=True)
def _forget(vendor: MockServer) -> None:
    vendor.reset()
