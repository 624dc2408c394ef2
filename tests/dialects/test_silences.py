"""What no vendor's page says: `Where the pages are silent` in docs/dialects.md, row by row, over all dialects."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.core.installed import load_dialects
from tests.support.asking import Answer, ask
from tests.support.questions import QUESTIONS

DIALECTS = list(load_dialects())
# Their pages say that a stop has no effect (yandex), or what is said of it in a stream (ovms).
STOPPING = [name for name in DIALECTS if name != "yandex"]


def question(name: str, **fields: Any) -> dict[str, Any]:
    body = {key: value for key, value in QUESTIONS[name][1].items() if key != "max_tokens"}
    if name == "anthropic":
        # It requires a limit, has no seed, and calls stops otherwise.
        stops = {"stop_sequences": fields.pop("stop")} if "stop" in fields else {}
        return body | {"max_tokens": 400} | stops | fields
    return body | ({"seed": 7} if name != "yandex" else {}) | fields


def said(answer: Answer) -> str:
    assert answer.status == 200
    body = answer.json()
    if "content" in body:
        return "".join(block["text"] for block in body["content"])
    choice = body["choices"][0]
    text: str = choice["text"] if "text" in choice else choice["message"]["content"]
    return text


def tokens(answer: Answer) -> int:
    usage = answer.json()["usage"]
    count: int = usage["output_tokens"] if "output_tokens" in usage else usage["completion_tokens"]
    return count


@pytest.mark.parametrize("headers", [{"content-type": "text/plain", "accept": "text/html"}, {"content-type": ""}])
@pytest.mark.parametrize("name", DIALECTS)
def test_a_body_is_json_whatever_its_type_says_but_for_openai(name: str, headers: Mapping[str, str]) -> None:
    if name == "openai" and headers["content-type"]:
        assert ask(name, question(name), headers=headers).status == 400
        return
    assert ask(name, question(name), headers=headers).body == ask(name, question(name)).body


@pytest.mark.parametrize("name", DIALECTS)
def test_of_two_equal_keys_the_last_counts_and_the_first_for_ovms(name: str) -> None:
    twice = json.dumps(question(name, max_tokens=3))[:-1] + ', "max_tokens": 5}'
    assert tokens(ask(name, twice.encode())) == (3 if name == "ovms" else 5)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_fraction_without_a_part_is_a_whole_number_but_not_for_ovms(name: str) -> None:
    answer = ask(name, question(name, max_tokens=5.0))
    assert (answer.status, name) == (400, "ovms") or tokens(answer) == 5


@pytest.mark.parametrize("value", ["5", True])
@pytest.mark.parametrize("name", DIALECTS)
def test_neither_texts_nor_truths_are_numbers(name: str, value: object) -> None:
    assert ask(name, question(name, max_tokens=value)).status in (400, 422)


@pytest.mark.parametrize("name", DIALECTS)
def test_no_tokens_are_an_empty_answer_or_refused(name: str) -> None:
    answer = ask(name, question(name, max_tokens=0))
    if name in ("anthropic", "cerebras", "friendli"):
        assert (said(answer), tokens(answer)) == ("", 0)
        ended = answer.json().get("choices", [answer.json()])[0]
        assert ended.get("finish_reason", ended.get("stop_reason", "length")) in ("length", "max_tokens")
    else:
        assert answer.status == 400
    if name == "ovms":
        echoed = ask(name, question(name, max_tokens=0, echo=True))
        assert said(echoed) == QUESTIONS[name][1]["prompt"]


@pytest.mark.parametrize("name", STOPPING)
def test_an_empty_stop_stops_nothing_or_is_refused(name: str) -> None:
    answer = ask(name, question(name, stop=[""]))
    assert (answer.status, name) in ((400, "upstash"), (400, "anthropic")) or said(answer) == said(
        ask(name, question(name))
    )


@pytest.mark.parametrize("name", STOPPING)
def test_the_stop_that_is_complete_first_ends_an_answer(name: str) -> None:
    whole = said(ask(name, question(name)))
    # The longer one begins before the shorter, and is complete after it.
    longer, shorter = whole[20:32], whole[26:30]
    kept = whole[: whole.index(shorter)]
    assert said(ask(name, question(name, stop=[longer, shorter]))) == kept


@pytest.mark.parametrize("name", STOPPING)
def test_of_two_stops_that_are_complete_at_once_the_first_named_counts(name: str) -> None:
    whole = said(ask(name, question(name)))
    longer, shorter = whole[20:32], whole[24:32]
    assert whole.index(longer) == 20
    assert whole.index(shorter) == 24
    assert said(ask(name, question(name, stop=[longer, shorter]))) == whole[:20]
    assert said(ask(name, question(name, stop=[shorter, longer]))) == whole[:24]


@pytest.mark.parametrize("name", ["cerebras", "ovms"])
def test_an_echoed_prompt_stops_nothing(name: str) -> None:
    prompt = QUESTIONS[name][1]["prompt"]
    echoed, plain = (ask(name, question(name, stop=[prompt[:6]], **more)) for more in ({"echo": True}, {}))
    assert said(echoed) == prompt + said(plain)


@pytest.mark.parametrize("name", STOPPING)
def test_tokens_of_a_stop_that_is_left_out_are_not_in_the_usage(name: str) -> None:
    whole = said(ask(name, question(name)))
    ends = [len(said(ask(name, question(name, max_tokens=limit)))) for limit in range(1, 12)]
    # A token of several characters, after at least four others, and the next one are the stop; then one that begins
    # within the first of them.
    place = next(place for place in range(4, len(ends)) if ends[place] - ends[place - 1] > 1)
    assert tokens(ask(name, question(name, stop=[whole[ends[place - 1] : ends[place + 1]]]))) == place
    assert tokens(ask(name, question(name, stop=[whole[ends[place] - 1 : ends[place + 1]]]))) == place + 1
