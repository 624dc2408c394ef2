"""Material: the text that a prompt gives to be summarized or translated."""

import pytest

from mockserver.generation.prompts.material import asks_for_a_summary, material, sentences, spread


@pytest.mark.parametrize(
    "prompt, text",
    [
        ("Summarize the following text: One came. Two left.", "One came. Two left."),
        ("TL;DR\nLong story. Short.", "Long story. Short."),
        ('Summarize this in 3 points:\n\n"""\nOne. Two.\n"""\nBe brief.', "One. Two."),
        ("Please translate <text>Good day</text> into French", "Good day"),
        ("Переведи на английский: Доброе утро", "Доброе утро"),
        (f"{'The meeting began at nine. ' * 3}\n\nSummarize the above.", ("The meeting began at nine. " * 3).strip()),
        ("Summarize it", ""),
        ("Explain this: water boils", ""),
    ],
)
def test_the_material_is_behind_the_order_or_before_it(prompt: str, text: str) -> None:
    assert material(prompt) == text


def test_a_text_parts_into_sentences_of_bounded_length() -> None:
    text = "Dr. Fox paid 3.50 at example.com. Why? - a point\n\u6674\u308c\u3002\u96e8\u3002 " + "x" * 1000
    parts = ["Dr. Fox paid 3.50 at example.com.", "Why?", "a point", "\u6674\u308c\u3002", "\u96e8\u3002", "x" * 400]
    assert sentences(text) == parts


def test_sentences_are_picked_from_all_over_a_text() -> None:
    assert spread("abcdef", 3) == ["a", "c", "e"]
    assert (spread("ab", 5), spread("", 2)) == (["a", "b"], [])


def test_only_an_order_asks_for_a_summary() -> None:
    asked = [asks_for_a_summary(text) for text in ("Write a summary of it", "кратко изложи текст", "Explain tides")]
    assert asked == [True, True, False]


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert len(sentences("A word. " * 100_000)) == len(sentences("A word. " * 200_000)) == 2500
