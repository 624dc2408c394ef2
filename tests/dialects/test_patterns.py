"""FriendliAI's `regex` form: answers that match, on both wires, plain and streamed."""

import re
from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS, Edition
from tests.support.asking import ask

PATTERNS = (
    r"\d{4}-\d{2}-\d{2}",
    r"(\+7|8) \(\d{3}\) \d{3}-\d{2}-\d{2}",
    r"[\w.+-]+@[a-z]+\.(com|org)",
    r"#[0-9a-f]{6}",
    r"\{\"city\": \"[A-Z][a-z]+\", \"temperature\": -?\d{1,2}\}",
    r"Thought: .{10,60}\nAction: (search|finish)",
    r"[АБВГД][а-я]{3,9}",
    r"(x|y|z){300}",
    r"(\w+) is not \1s",
    r"(a+)+b",
    r"",
)


def answered(pattern: str, edition: Edition = "documented", **more: Any) -> list[dict[str, Any]]:
    form = {"type": "regex", "schema": pattern}
    answer = ask("friendli", {"prompt": "Give me one.", "response_format": form, **more}, edition=edition)
    assert answer.status == 200
    choices: list[dict[str, Any]] = answer.json()["choices"]
    return choices


def streamed(pattern: str, edition: Edition, **more: Any) -> str:
    form = {"type": "regex", "schema": pattern}
    body = {"prompt": "Give me one.", "response_format": form, "stream": True, **more}
    events = ask("friendli", body, edition=edition).events()
    if edition == "documented":
        return "".join(event["text"] for event in events if event["event"] == "token_sampled")
    return "".join(event["choices"][0]["text"] for event in events if event != "[DONE]")


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_answer_matches_its_pattern_from_end_to_end(pattern: str, edition: Edition) -> None:
    choices = answered(pattern, edition, seed=[1, 2, 3, 4], n=4)
    assert [choice["text"] for choice in choices if not re.fullmatch(pattern, choice["text"], re.ASCII)] == []


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_stream_says_what_the_plain_answer_says(pattern: str, edition: Edition) -> None:
    assert streamed(pattern, edition, seed=7) == answered(pattern, edition, seed=7)[0]["text"]


def test_the_seed_decides_which_of_the_matching_texts_it_is() -> None:
    texts = [answered(r"[a-z]+ \d{6}", seed=[seed])[0]["text"] for seed in (1, 1, 2, 3, 4)]
    assert (texts[0] == texts[1], len(set(texts))) == (True, 4)


@pytest.mark.parametrize("limit", [0, 1, 3, 5, 12])
def test_a_limit_cuts_a_match_short(limit: int) -> None:
    whole = answered(r"[A-Z]{30}", "observed", seed=5)[0]
    cut = answered(r"[A-Z]{30}", "observed", seed=5, max_tokens=limit)[0]
    assert (cut["tokens"], cut["finish_reason"]) == (whole["tokens"][:limit], "length")
    assert (whole["text"].startswith(cut["text"]), whole["finish_reason"]) == (True, "stop")


def test_more_tokens_are_found_where_the_pattern_allows_more() -> None:
    """`min_tokens` is refused beside a form by the service of today, and obeyed on the page's wire."""
    choice = answered(r"[a-z]+", seed=[3], min_tokens=40)[0]
    assert (len(choice["tokens"]) >= 40, bool(re.fullmatch("[a-z]+", choice["text"]))) == (True, True)


def test_a_pattern_that_allows_no_more_ends_the_answer_before_its_least_length() -> None:
    assert answered(r"[a-z]{3}", seed=[3], min_tokens=40) == answered(r"[a-z]{3}", seed=[3])


@pytest.mark.parametrize("pattern", ["a{20000}", "(a{999}){999}", r"[^\s\S]", r"a\bb"])
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_pattern_that_no_answer_could_match_is_refused(pattern: str, edition: Edition) -> None:
    form = {"type": "regex", "schema": pattern}
    answer = ask("friendli", {"prompt": "Give me one.", "response_format": form}, edition=edition)
    told = {
        "loc": ["body", "response_format", "schema"],
        "msg": "Value error, no text that could be generated matches the regex",
        "type": "value_error",
    }
    assert (answer.status, answer.json()) == (422, {"detail": [told]})
