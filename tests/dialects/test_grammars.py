"""Cerebras' `grammar_root`: each root gives its production, plain and streamed, in both editions."""

import json
from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS, Edition
from tests.support.asking import ask

JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "root": dict,
    "fcall": dict,
    "func": dict,
    "funcarray": list,
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "value": object,
    "insidevalue": object,
}
ROOTS = (*JSON_TYPES, "nofcall", "ws")


def choice(root: str, edition: Edition = "documented", **more: Any) -> dict[str, Any]:
    body = {"model": "gpt-oss-120b", "prompt": "Which apples keep best?", "grammar_root": root, **more}
    answer = ask("cerebras", body, edition=edition)
    assert answer.status == 200
    found: dict[str, Any] = answer.json()["choices"][0]
    return found


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("root", JSON_TYPES)
@pytest.mark.parametrize("seed", range(5))
def test_a_root_gives_json_of_its_type(root: str, seed: int, edition: Edition) -> None:
    given = choice(root, edition, seed=seed)
    assert (given["finish_reason"], given["text"].strip()) == ("stop", given["text"])
    assert isinstance(json.loads(given["text"]), JSON_TYPES[root])


@pytest.mark.parametrize("root", ["root", "fcall", "func", "funcarray"])
@pytest.mark.parametrize("seed", range(5))
def test_a_call_has_a_name_and_arguments(root: str, seed: int) -> None:
    called = json.loads(choice(root, seed=seed)["text"])
    for call in called if isinstance(called, list) else [called]:
        assert {name: type(value) for name, value in call.items()} == {"name": str, "arguments": dict}


def test_no_call_is_prose_and_white_space_is_white() -> None:
    prose, white = choice("nofcall")["text"], choice("ws")["text"]
    with pytest.raises(json.JSONDecodeError):
        json.loads(prose)
    assert (white != "", white.strip()) == (True, "")


@pytest.mark.parametrize("root", ROOTS)
def test_a_stream_says_what_the_plain_answer_says(root: str) -> None:
    body = {"model": "gpt-oss-120b", "prompt": "Which apples keep best?", "grammar_root": root, "stream": True}
    events = ask("cerebras", body).events()
    assert "".join(event["choices"][0]["text"] for event in events[:-1]) == choice(root)["text"]


def test_a_limit_cuts_a_production_short() -> None:
    whole, cut = choice("object", return_raw_tokens=True), choice("object", return_raw_tokens=True, max_tokens=4)
    assert (cut["tokens"], cut["finish_reason"]) == (whole["tokens"][:4], "length")


def test_white_space_follows_where_the_answer_must_not_end() -> None:
    longer = choice("number", min_tokens=12)["text"]
    assert (longer.strip(), longer != longer.strip()) == (choice("number")["text"], True)


def test_a_stop_that_a_production_cannot_avoid_ends_it_before_its_least_length() -> None:
    ended = choice("object", min_tokens=30, stop='"')
    assert (ended["text"], ended["finish_reason"]) == (choice("object")["text"].partition('"')[0], "stop")


def test_null_is_no_root() -> None:
    free = ask("cerebras", {"model": "gpt-oss-120b", "prompt": "Which apples keep best?"}).json()["choices"]
    null = {"model": "gpt-oss-120b", "prompt": "Which apples keep best?", "grammar_root": None}
    assert ask("cerebras", null).json()["choices"] == free
