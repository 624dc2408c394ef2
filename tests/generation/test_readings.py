"""Readings of a text: the count and the name are the same whether it is read at once, in parts, or from the cache."""

import pytest

from mockserver.generation import readings, tokens
from mockserver.generation.readings import is_short, name_of, read_ahead, token_count

TEXTS = {
    "short": "Where is the bridge?",
    "just short": "x " * 4_096,
    "no longer short": "x" * 1_025,
    "words": "The bridge carries its load, doesn't it? " * 2_000,
    "marks": "…—🙂!" * 5_000,
    "dense": "桥承受着它的重量，不是吗？" * 100,
    "one word": "abc" * 20_000,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_read_ahead_has_the_tokens_and_the_name_that_it_has(name: str) -> None:
    text = TEXTS[name]
    wanted = tokens.count(text), name_of(text)
    assert (token_count(text), name_of(text)) == wanted
    assert len(list(read_ahead(text))) <= len(text) // (1_000 if name == "words" else 200) + 2
    assert (token_count(text), name_of(text)) == wanted


def test_what_was_read_ahead_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Read once, and known to everybody who asks. " * 2_000
    wanted = tokens.count(text), name_of(text)
    assert len(list(read_ahead(text))) > 5
    monkeypatch.setattr(tokens, "count", lambda text: pytest.fail("it is counted again"))
    monkeypatch.setattr(readings, "fingerprint", lambda data: pytest.fail("it is named again"))
    assert (token_count(text), name_of(text)) == wanted
    assert list(read_ahead(text)) == []


def test_only_a_text_that_is_too_long_to_be_read_twice_goes_by_another_name() -> None:
    assert name_of("x" * 65_536) == "x" * 65_536
    assert len(name_of("x" * 65_537)) == 32
    assert name_of("x" * 65_537) != name_of("x" * 65_538)


def test_the_latest_long_texts_are_remembered_in_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "_MOST_CHARACTERS", 30_000)
    monkeypatch.setattr(readings, "_readings", readings._Readings())
    texts = [f"{number} " * 8_000 for number in range(10, 14)]
    for text in texts:
        list(read_ahead(text))
    assert [readings._readings.find(text) is not None for text in texts] == [False, False, False, True]


@pytest.mark.parametrize("dense", ["桥承受", "abc"])
def test_less_text_is_short_and_less_is_read_at_a_time_beyond_ascii_and_without_spaces(dense: str) -> None:
    assert is_short("x y " * 2_048)
    assert is_short(dense * 341)
    assert not is_short(dense * 342)
    assert len(list(read_ahead(dense * 4_000))) > 4 * len(list(read_ahead("a b" * 4_000)))
