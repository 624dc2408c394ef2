"""The questions whose answers are known."""

import pytest

from mockserver.generation.prompts.facts import known


@pytest.mark.parametrize(
    "question, answer",
    [
        ("What is the capital of France?", "Paris"),
        ("Answer briefly: What is the capital of Norway?", "Oslo"),
        ("what's the capital city of the UK", "London"),
        ("Hello! Tell me, what is the capital of Türkiye?", "Ankara"),
        ("What is the capital of the U.S.?", "Washington, D.C."),
        ("Name the capital of Costa Rica.", "San José"),
        ("As everybody knows, the capital of Japan is", "Tokyo"),
        ("Какая столица России?", "Москва"),
        ("Назови столицу Франции", "Париж"),
        ("What is 2+2?", "4"),
        ("Calculate 3.5 times 4.", "14"),
        ("What is 10 divided by 4?", "2.5"),
        ("How much is 1 / 3?", "0.333333"),
        ("0.1 + 0.2 =", "0.3"),
        ("What's 7 minus 9? Be brief.", "-2"),
        ("2^10=", "1024"),
        ("Сколько будет 2 плюс 2?", "4"),
        ("What is 15% of 80?", "12"),
        ("7.5 percent of 200", "15"),
        ("Сколько будет 15 процентов от 80?", "12"),
        ("Who wrote Hamlet?", "William Shakespeare"),
        ('Hi! Who wrote the novel "Pride and Prejudice"?', "Jane Austen"),
        ("who is the author of 1984?", "George Orwell"),
        ("Who painted the Mona Lisa?", "Leonardo da Vinci"),
        ("Who composed The Nutcracker?", "Pyotr Ilyich Tchaikovsky"),
        ("Who wrote The Hobbit?", "J. R. R. Tolkien"),
        ("Кто написал «Войну и мир»?", "Лев Толстой"),
        ("Кто автор романа «Мастер и Маргарита»?", "Михаил Булгаков"),
    ],
)
def test_the_answer_stands_in_every_sentence_that_gives_it(question: str, answer: str) -> None:
    fact = known(question)
    assert fact is not None
    assert fact.answer == answer
    assert len(fact.sentences) > 1
    assert [sentence for sentence in fact.sentences if answer not in sentence] == []


@pytest.mark.parametrize(
    "question, answer",
    [
        ("What is the capital of France? Answer in one word.", "Paris"),
        ("Answer with one word: what is the capital of Norway?", "Oslo"),
        ("What is 2 + 2? Reply with only the number.", "4"),
        ("Какая столица Италии? Ответь одним словом.", "Рим"),
        ("What is 15% of 80? Reply with only the number.", "12"),
        ("Who wrote Dune? Answer with only the name.", "Frank Herbert"),
    ],
)
def test_an_answer_that_is_to_stand_alone_has_no_sentence_around_it(question: str, answer: str) -> None:
    assert known(question) == (answer, (answer,))


@pytest.mark.parametrize(
    "prompt",
    [
        "What is the capital of Mars?",
        "What is the capital of France and Spain?",
        "What is the capital of France? Write a poem about it.",
        "What is a capital of a column?",
        "How much capital do I need?",
        "2031-05",  # a month
        "12/5",
        "What is 1 / 0?",
        "2^9999 =",
        "Call +47 22 33 44 55",
        "What is 2 + 2 * 2?",
        "15% off",
        "What is 15% of 80 apples?",
        "Who wrote the code?",
        "Who painted Hamlet?",
        "Who wrote Hamlet, and when?",
        "Who wrote this? Rewrite it.",
    ],
)
def test_nothing_else_is_known(prompt: str) -> None:
    assert known(prompt) is None
