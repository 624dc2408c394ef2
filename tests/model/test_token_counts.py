"""The counts of whole texts, and their names."""

import pytest

from mockserver.model import tokens
from mockserver.model.tokens import name_of, token_count

LONG = "The tide comes in, and the tide goes out. " * 2_000


@pytest.mark.parametrize("text", ["", "one", "Grüße, 世界", LONG, "x" * 100_000, "\ud800" * 20_000])
def test_a_text_has_the_tokens_that_it_is_encoded_in(text: str) -> None:
    assert token_count(text) == len(tokens.encode(text))


def test_a_long_text_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = token_count(f"{LONG} once")
    monkeypatch.setattr(tokens, "count", lambda text: pytest.fail("it is counted again"))
    assert token_count(f"{LONG} once") == wanted


def test_texts_that_differ_have_different_names() -> None:
    assert len({name_of(text) for text in ("", "a", LONG, f"{LONG}.", "x" * 65_536, "x" * 65_537)}) == 6
