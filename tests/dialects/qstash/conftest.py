"""A mailbox for each test of QStash."""

import pytest

from tests.support.post import ENDPOINTS, ONE, TWO, Post


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
def team(post: Post) -> Post:
    """The same, with a URL group `team`."""
    assert post.ask("POST", ENDPOINTS, {"endpoints": [ONE, TWO]}) == (200, None)
    return post
