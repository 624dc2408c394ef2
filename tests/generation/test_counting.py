"""Counting for those who bill: the same figures whether a text is counted at once, ahead, or again."""

import pytest

from mockserver.generation import counting, tokens
from mockserver.generation.counting import SHORT, count_ahead, token_count

TEXTS = {
    "short": "Where is the bridge?",
    "just short": "x" * SHORT,
    "words": "The bridge carries its load, doesn't it? " * 2_000,
    "marks": "…—🙂!" * 5_000,
    "one word": "abc" * 20_000,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_counted_ahead_has_the_tokens_that_it_has(name: str) -> None:
    text = TEXTS[name]
    wanted = tokens.count(text)
    assert token_count(text) == wanted
    assert len(list(count_ahead(text))) <= len(text) // 1_000 + 1
    assert token_count(text) == wanted


def test_what_was_counted_ahead_is_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Counted once, and known to everybody who asks. " * 1_000
    wanted = tokens.count(text)
    assert len(list(count_ahead(text))) > 5
    monkeypatch.setattr(tokens, "count", lambda text: pytest.fail("it is counted again"))
    assert [token_count(text), token_count(text), len(list(count_ahead(text)))] == [wanted, wanted, 0]


def test_the_latest_long_texts_are_remembered_in_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_MOST_CHARACTERS", 30_000)
    monkeypatch.setattr(counting, "_counted", counting._Counted())
    texts = [f"{number} " * 8_000 for number in range(10, 14)]
    for text in texts:
        list(count_ahead(text))
    assert [counting._counted.find(text) is not None for text in texts] == [False, False, False, True]
