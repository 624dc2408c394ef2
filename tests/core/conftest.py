"""What all tests of the shared vocabulary have."""

import pytest

from mockserver.core.regexes import renew_time_budget


@pytest.fixture(autouse=True)
def _request() -> None:
    """Each test is a request of its own, with all the time for its searches."""
    renew_time_budget()
