"""The first tokens of a text that comes in pieces: where it is cut, and where it may end."""

from collections.abc import Iterator
from itertools import count

import pytest

from mockserver.model.corpus import Phrase, phrase
from mockserver.model.sampling import first_tokens

WORDS = [phrase(" one two"), phrase(" three"), None, phrase(" four five"), phrase(" six")]
TEXTS = [" one", " two", " three", " four", " five", " six"]


@pytest.mark.parametrize(
    "limit, least, said, ended",
    [
        (0, 0, 0, False),
        (2, 0, 2, False),
        (3, 0, 3, False),
        (9, 0, 3, True),
        (9, 4, 5, True),
        (4, 4, 4, False),
        (9, 9, 6, True),
    ],
)
def test_a_limit_gives_a_prefix_and_a_text_ends_where_it_may(limit: int, least: int, said: int, ended: bool) -> None:
    ids, texts, is_ended = first_tokens(iter(WORDS), limit, least)
    assert (len(ids), texts, is_ended) == (said, TEXTS[:said], ended)


def test_no_more_is_written_than_is_needed() -> None:
    written = count()

    def endless() -> Iterator[Phrase]:
        while True:
            next(written)
            yield phrase(" one two")

    assert len(first_tokens(endless(), 5, 0)[0]) == 5
    assert next(written) == 3
