"""Embeddings: where texts lie, and which of them lie near each other."""

from math import isclose

import pytest

from mockserver.model.embeddings import embed, likeness, shortened

SIZE = 256
PASSAGES = (
    "Ankara is the capital of Turkey and has five million inhabitants.",
    "Cats sleep for most of the day.",
    "Invoice 4711 was paid in May.",
    "Bread is made of flour, water, salt and yeast.",
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [("What is the capital of Turkey?", 0), ("How long do cats sleep?", 1), ("Was 4711 paid?", 2), ("bread recipe", 3)],
)
def test_a_question_is_nearest_to_the_passage_that_answers_it(question: str, answer: int) -> None:
    asked = embed(question, SIZE, key=7)
    near = [likeness(asked, embed(passage, SIZE, key=7)) for passage in PASSAGES]
    assert near.index(max(near)) == answer


@pytest.mark.parametrize("text", ["", "!", "the of and", "\ud800", *PASSAGES])
@pytest.mark.parametrize("size", [1, 128, 1024])
def test_every_text_has_a_point_of_its_own_at_the_same_distance(text: str, size: int) -> None:
    point = embed(text, size, key=7)
    assert len(point) == size
    assert isclose(likeness(point, point), 1.0, rel_tol=1e-5)
    assert point == embed(text, size, key=7)


def test_texts_of_the_same_terms_are_near_and_not_the_same() -> None:
    one, other = embed("Cats chase dogs.", SIZE, key=7), embed("Dogs chase cats.", SIZE, key=7)
    assert one != other
    assert likeness(one, other) > 0.7


def test_texts_of_nothing_but_common_words_are_told_apart_by_those() -> None:
    asked = embed("hello", SIZE, key=7)
    near = [likeness(asked, embed(text, SIZE, key=7)) for text in ("hello there", "How are you?", PASSAGES[1])]
    assert near[0] > max(near[1:]) + 0.3


def test_models_look_at_spaces_of_their_own() -> None:
    assert abs(likeness(embed(PASSAGES[0], SIZE, key=7), embed(PASSAGES[0], SIZE, key=8))) < 0.4


def test_words_that_mean_the_same_in_two_languages_bring_texts_together() -> None:
    weather, other = embed("погода", SIZE, key=7), embed("кошка", SIZE, key=7)
    asked = embed("weather", SIZE, key=7)
    assert likeness(asked, weather) > likeness(asked, other) + 0.2


def test_fewer_dimensions_are_the_first_ones_made_as_long_again() -> None:
    whole = embed(PASSAGES[0], SIZE, key=7)
    half = shortened(whole, 128)
    assert isclose(likeness(half, half), 1.0, rel_tol=1e-5)
    assert all(isclose(mine / half[0], its / whole[0], rel_tol=1e-4) for mine, its in zip(half, whole, strict=False))
