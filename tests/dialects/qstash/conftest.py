"""A message store for each test of QStash."""

import pytest

from tests.support.post import Post


@pytest.fixture
def post() -> Post:
    return Post()
