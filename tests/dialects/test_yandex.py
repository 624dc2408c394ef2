"""Yandex AI Studio on the wire: two engines behind one API, told apart by the model's name."""

import copy
import functools
import json
import re
from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS, Edition
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, GenerationRequest, Tool
from mockserver.core.http import Call, Headers
from mockserver.dialects.yandex.dialect import YANDEX
from mockserver.dialects.yandex.read import CONTRACT, credentials, request_fields
from mockserver.dialects.yandex.write import token_groups
from mockserver.state.settings import Settings
from tests.support.asking import FROZEN, QUIET, Answer, ask
from tests.support.conformity import faults

D1 = "gpt://b1gfolder/yandexgpt/latest"
D2 = "gpt://b1gfolder/qwen3-235b-a22b-fp8/latest"
D2_STATED = "gpt://qwen3-235b-a22b-fp8/latest"
ALICE = "gpt://b1gfolder/aliceai-llm/latest"
THINKERS = ("gpt-oss-120b", "gpt-oss-20b", "qwen3.6-35b-a3b", "deepseek-v4-flash")
MODELS = pytest.mark.parametrize("model", [D1, D2])
EACH_EDITION = pytest.mark.parametrize("edition", EDITIONS)
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
USER = {"role": "user", "content": "Tell me about the harbours of the north"}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "The time", "parameters": {"type": "object"}}}
PEN = {"type": "custom", "custom": {"name": "pen", "description": "Writes"}}
OUT_OF_USE: dict[str, Any] = {
    "stop": ["a", "e", " "],
    "seed": 99,
    "store": True,
    "audio": {"voice": "alloy", "format": "wav"},
    "web_search_options": {"search_context_size": "low"},
}


def chat(model: str = D2, *, edition: Edition = "documented", **fields: Any) -> Answer:
    """An answer that keeps to the contract."""
    answer = ask("yandex", {"model": model, "messages": [USER], **fields}, edition=edition)
    assert faults(answer.plan, answer.body) == []
    return answer


def said(model: str = D2, **fields: Any) -> str:
    content: str = chat(model, **fields).json()["choices"][0]["message"]["content"]
    return content


def requested(model: str = D2, **fields: Any) -> GenerationRequest:
    """The request that a body is read as."""
    generation = chat(model, **fields).plan.generation
    assert generation is not None
    return generation.request


def message_of(answer: Answer) -> str:
    text: str = answer.json()["error"]["message"]
    return text


def raw_events(answer: Answer) -> list[str]:
    assert answer.body.endswith(b"\n\n")
    return answer.body.decode().removesuffix("\n\n").split("\n\n")


def dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- a plain answer ----------------------------------------------------------------------------------------------


@EACH_EDITION
@MODELS
def test_a_plain_answer_has_the_recorded_keys_in_the_recorded_order_and_a_line_end(
    model: str, edition: Edition
) -> None:
    answer = chat(model, edition=edition, max_tokens=6)
    body = answer.json()
    text, usage = body["choices"][0]["message"]["content"], body["usage"]
    expected = {
        "id": body["id"],
        "object": "chat.completion",
        "created": int(FROZEN),
        "model": model if model == D1 else D2_STATED,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}],
        "usage": {
            "prompt_tokens": usage["prompt_tokens"],
            "total_tokens": usage["prompt_tokens"] + 6,
            "completion_tokens": 6,
        },
    }
    assert answer.status == 200
    assert answer.body.decode() == dumped(expected) + "\n"


def test_the_id_of_yandexgpt_is_a_uuid_alone() -> None:
    assert re.fullmatch(UUID, chat(D1).json()["id"])


@pytest.mark.parametrize(
    "name, first",
    [
        ("yandexgpt", True),
        ("yandexgpt-lite", True),
        ("yandexgpt-5.1", True),
        ("aliceai-llm", True),
        ("aliceai-llm-flash", True),
        ("llama", True),
        ("llama-lite", True),
        ("gemma-3-27b-it", False),
        ("gpt-oss-120b", False),
        ("deepseek-v3", False),
    ],
)
def test_the_name_inside_the_uri_chooses_the_engine(name: str, first: bool) -> None:
    stated = chat(f"gpt://b1gfolder/{name}/latest", max_tokens=1).json()["model"]
    assert stated == (f"gpt://b1gfolder/{name}/latest" if first else f"gpt://{name}/latest")


@MODELS
def test_a_version_left_out_is_the_latest(model: str) -> None:
    short = model.removesuffix("/latest")
    assert chat(short).json()["model"] == chat(model).json()["model"]
    assert said(short) == said(model)


@pytest.mark.parametrize("version", ["latest", "rc", "deprecated", "latest@tuned1"])
def test_every_version_of_a_model_can_be_asked_for(version: str) -> None:
    assert chat(f"gpt://b1gfolder/yandexgpt/{version}").json()["model"] == f"gpt://b1gfolder/yandexgpt/{version}"


def test_no_key_of_an_answer_is_null() -> None:
    answers = [chat(model, stream=stream).body for model in (D1, D2) for stream in (False, True)]
    assert not any(b"null" in body for body in answers)


def test_text_goes_out_as_utf8_without_escapes() -> None:
    answer = ask("yandex", {"model": D1, "messages": [{"role": "user", "content": "Расскажи о гаванях севера"}]})
    text = answer.json()["choices"][0]["message"]["content"]
    assert re.search("[а-я]", text)
    assert dumped(text).encode() in answer.body


# --- streams -----------------------------------------------------------------------------------------------------


@EACH_EDITION
@pytest.mark.parametrize("model, stated, role_apart", [(D2, D2_STATED, True), (ALICE, ALICE, False)])
def test_vllm_and_alice_stream_a_chunk_per_token_an_ending_and_usage_unasked(
    model: str, stated: str, role_apart: bool, edition: Edition
) -> None:
    answer = chat(model, edition=edition, stream=True, max_tokens=5)
    plain = chat(model, edition=edition, max_tokens=5).json()
    events = answer.events()
    head = {"id": events[0]["id"], "object": "chat.completion.chunk", "created": int(FROZEN), "model": stated}
    texts = [event["choices"][0]["delta"]["content"] for event in events[1 if role_apart else 0 : -3]]
    deltas = [{"content": text} for text in texts]
    deltas = [{"role": "assistant"}, *deltas] if role_apart else [{"role": "assistant", **deltas[0]}, *deltas[1:]]
    expected = [
        *({**head, "choices": [{"index": 0, "delta": delta}]} for delta in deltas),
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
        {**head, "choices": [], "usage": plain["usage"]},
    ]
    assert raw_events(answer) == [*(f"data: {dumped(event)}" for event in expected), "data: [DONE]"]
    assert "".join(texts) == plain["choices"][0]["message"]["content"]
    assert len(texts) == 5
    assert re.fullmatch(f"chatcmpl-{UUID}", plain["id"])


@EACH_EDITION
def test_yandexgpt_streams_the_first_word_then_large_chunks_and_usage_in_the_last_by_the_page(edition: Edition) -> None:
    answer = chat(D1, edition=edition, stream=True, stream_options={"include_usage": True})
    events = answer.events()[:-1]
    texts = [event["choices"][0]["delta"]["content"] for event in events]
    head = {"id": events[0]["id"], "object": "chat.completion.chunk", "created": int(FROZEN), "model": D1}
    usage = {"usage": chat(D1, edition=edition).json()["usage"]} if edition == "documented" else {}
    expected = [
        {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": texts[0]}}]},
        *({**head, "choices": [{"index": 0, "delta": {"content": text}}]} for text in texts[1:-1]),
        {**head, "choices": [{"index": 0, "delta": {"content": texts[-1]}, "finish_reason": "stop"}], **usage},
    ]
    assert raw_events(answer) == [*(f"data: {dumped(event)}" for event in expected), "data: [DONE]"]
    assert "".join(texts) == said(D1, edition=edition)
    assert len(texts) > 2
    assert " " not in texts[0].strip()


def test_an_answer_of_one_chunk_has_role_text_and_ending_in_it() -> None:
    only, done = chat(D1, stream=True, max_tokens=1).events()
    assert done == "[DONE]"
    assert only["choices"][0]["delta"] == {"role": "assistant", "content": said(D1, max_tokens=1)}
    assert only["choices"][0]["finish_reason"] == "length"


def test_a_shorter_answer_of_yandexgpt_is_cut_into_the_same_chunks() -> None:
    whole, part = (
        [event["choices"][0]["delta"]["content"] for event in chat(D1, stream=True, max_tokens=limit).events()[:-1]]
        for limit in (80, 40)
    )
    assert part[:-1] == whole[: len(part) - 1]
    assert whole[len(part) - 1].startswith(part[-1])


@pytest.mark.parametrize("model", [D1, D2, ALICE, *(f"gpt://b1gfolder/{name}" for name in THINKERS)])
@pytest.mark.parametrize("fields", [{}, {"tools": [CLOCK], "tool_choice": "required"}, {"logprobs": True}])
@EACH_EDITION
def test_each_event_says_how_many_tokens_it_carries_and_leaves_with_the_last_of_them(
    model: str, fields: dict[str, Any], edition: Edition
) -> None:
    answer = ask(
        "yandex",
        {"model": model, "messages": [USER], "stream": True, **fields},
        edition=edition,
        settings=Settings(created=FROZEN, latency="fast"),
    )
    generation = answer.plan.generation
    assert generation is not None
    runs = list(answer.plan.timeline.runs)
    tokens = [count for run in runs for count in run.tokens]
    due = [instant for run in runs for instant in run.due]
    assert sum(tokens) == generation.usage.completion_tokens
    assert due == sorted(due)
    reached = 0
    for count, instant in zip(tokens, due, strict=True):
        reached += count
        if count:
            # The preset "fast": 0.05 s, then 200 tokens a second.
            assert instant == pytest.approx(0.05 + 0.005 * (reached - 1))


@pytest.mark.parametrize("scored", [False, True])
def test_a_token_that_does_not_complete_a_character_has_an_empty_delta_of_vllm(scored: bool) -> None:
    asked = [{"role": "user", "content": "Say exactly: Hi 🦆"}]
    events = [event["choices"][0] for event in chat(messages=asked, logprobs=scored, stream=True).events()[1:-2]]
    assert [event["delta"] for event in events] == [{"content": "Hi"}, {"content": " "}, {}, {}, {"content": "🦆"}, {}]
    assert all(len(event["logprobs"]["content"]) == 1 for event in events[:-1] if scored)


def test_now_and_then_a_token_of_vllm_waits_for_the_next_one() -> None:
    """So it was recorded of two of 741 tokens, those of an emoji."""
    waited = 0
    for seed in range(30):
        asked = [{"role": "user", "content": f"{seed}: tell me about the harbours of the north, in many words"}]
        plain, stream = (chat(messages=asked, stream=each) for each in (False, True))
        *events, usage, _ = stream.events()
        deltas = [event["choices"][0]["delta"] for event in events]
        assert "".join(delta.get("content", "") for delta in deltas) == plain.json()["choices"][0]["message"]["content"]
        assert len(deltas) - 2 == usage["usage"]["completion_tokens"]
        waited += {} in deltas[1:-1]
    assert 1 <= waited <= 15


def test_alice_tells_the_role_with_the_log_probabilities_of_the_first_token() -> None:
    first, second, *_ = chat(ALICE, stream=True, logprobs=True, max_tokens=3).events()
    assert [*first["choices"][0]["delta"]] == ["role", "content"]
    assert [*second["choices"][0]["delta"]] == ["content"]
    for event in (first, second):
        (row,) = event["choices"][0]["logprobs"]["content"]
        assert row["token"] == event["choices"][0]["delta"]["content"]


# What comes between the chunk of the calls and that of the usage: recorded in September 2026 (observed).
ALICE_ENDINGS: list[tuple[Edition, Any, list[dict[str, Any]]]] = [
    ("documented", "auto", [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]),
    ("documented", "required", [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]),
    ("observed", "auto", []),
    *(
        (
            "observed",
            forced,
            [
                {
                    "index": 0,
                    "delta": {"role": "assistant", "content": "[TOOL_CALL_END]"},
                    "finish_reason": "tool_calls",
                }
            ],
        )
        for forced in ("required", {"type": "function", "function": {"name": "clock"}})
    ),
]


@pytest.mark.parametrize("edition, choice, ending", ALICE_ENDINGS)
def test_alice_streams_calls_whole_and_ends_them_badly_today(
    edition: Edition, choice: Any, ending: list[dict[str, Any]]
) -> None:
    asked = {"role": "user", "content": "Call clock: what is the time?"}
    fields = {"messages": [asked], "tools": [CLOCK], "tool_choice": choice}
    events = chat(ALICE, edition=edition, stream=True, **fields).events()
    plain = chat(ALICE, edition=edition, **fields).json()
    (call,) = plain["choices"][0]["message"]["tool_calls"]
    assert call == {
        "index": 0,
        "id": "clock",
        "type": "function",
        "function": {"name": "clock", "arguments": call["function"]["arguments"]},
    }
    assert plain["choices"][0]["finish_reason"] == "tool_calls"
    *told, usage, done = events
    assert [event["choices"] for event in told] == [
        [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}],
        *([choice] for choice in ending),
    ]
    assert (usage["choices"], usage["usage"], done) == ([], plain["usage"], "[DONE]")


def test_alice_ends_what_calls_nothing_as_it_should() -> None:
    choices = [
        event["choices"][0]
        for event in chat(ALICE, edition="observed", stream=True, tools=[CLOCK], tool_choice="none").events()[:-2]
    ]
    assert choices[-1] == {"index": 0, "delta": {}, "finish_reason": "stop"}


@EACH_EDITION
def test_alice_ends_calls_of_the_older_kind_and_those_cut_short_as_it_should(edition: Edition) -> None:
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    function = {"name": "note", "parameters": text}
    tool = {"type": "function", "function": function}
    older = chat(ALICE, edition=edition, stream=True, functions=[function], function_call={"name": "note"}).events()
    cut = chat(ALICE, edition=edition, stream=True, tools=[tool], tool_choice="required", max_tokens=2).events()
    assert older[-3]["choices"] == [{"index": 0, "delta": {}, "finish_reason": "function_call"}]
    assert cut[-3]["choices"] == [{"index": 0, "delta": {}, "finish_reason": "length"}]


@EACH_EDITION
def test_deepseek_streams_calls_whole(edition: Edition) -> None:
    model = "gpt://b1gfolder/deepseek-v4-flash/latest"
    fields = {"tools": [CLOCK], "tool_choice": "required", "reasoning_effort": "none"}
    role, call, ending, usage, done = chat(model, edition=edition, stream=True, **fields).events()
    (told,) = chat(model, edition=edition, **fields).json()["choices"][0]["message"]["tool_calls"]
    (streamed,) = call["choices"][0]["delta"]["tool_calls"]
    assert role["choices"][0]["delta"] == {"role": "assistant"}
    assert streamed == {"index": 0, "id": streamed["id"], "type": "function", "function": told["function"]}
    assert ending["choices"] == [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]
    assert (usage["choices"], done) == ([], "[DONE]")


def test_vllm_opens_every_choice_before_any_token_and_takes_turns() -> None:
    events = chat(D2, stream=True, n=3, max_tokens=2).events()[:-2]
    choices = [event["choices"][0] for event in events]
    assert [choice["index"] for choice in choices[:6]] == [0, 1, 2] * 2
    assert [choice["delta"] for choice in choices[:3]] == [{"role": "assistant"}] * 3
    assert sorted(choice["index"] for choice in choices if "finish_reason" in choice) == [0, 1, 2]


def test_choices_of_yandexgpt_take_turns_chunk_by_chunk() -> None:
    events = chat(D1, stream=True, n=2, max_tokens=30).events()[:-1]
    choices = [event["choices"][0] for event in events]
    assert {choice["index"] for choice in choices[:3]} == {0, 1}
    for index, plain in enumerate(chat(D1, n=2, max_tokens=30).json()["choices"]):
        own = [choice for choice in choices if choice["index"] == index]
        assert "".join(choice["delta"]["content"] for choice in own) == plain["message"]["content"]
        assert ["role" in choice["delta"] for choice in own] == [True] + [False] * (len(own) - 1)
        assert [choice.get("finish_reason") for choice in own] == [None] * (len(own) - 1) + [plain["finish_reason"]]


def test_groups_are_the_first_word_then_ten_to_twenty_tokens() -> None:
    texts = ["Har", "bours", *[" and"] * 200]
    groups = list(token_groups(texts, key=7))
    assert [number for group in groups for number in group] == list(range(len(texts)))
    assert groups[0] == range(2)
    assert all(10 <= len(group) <= 20 for group in groups[1:-1])
    assert len({len(group) for group in groups[1:-1]}) > 1
    assert groups == list(token_groups(texts, key=7)) != list(token_groups(texts, key=8))


@pytest.mark.parametrize("texts, first", [([], 0), (["a"], 1), (["a", " b"], 1), (["a"] * 9, 5), (["\n", "\n"], 1)])
def test_the_first_group_ends_with_the_first_word_or_after_five_tokens(texts: list[str], first: int) -> None:
    assert next(token_groups(texts, key=1)) == range(first)


# --- log-probabilities -------------------------------------------------------------------------------------------


@MODELS
def test_logprobs_stand_before_the_finish_reason_with_a_row_per_token(model: str) -> None:
    choice = chat(model, logprobs=True, top_logprobs=3, max_tokens=4).json()["choices"][0]
    rows = choice["logprobs"]["content"]
    assert list(choice) == ["index", "message", "logprobs", "finish_reason"]
    assert list(choice["logprobs"]) == ["content"]
    assert "".join(row["token"] for row in rows) == choice["message"]["content"]
    assert all(list(row) == ["token", "logprob", "bytes", "top_logprobs"] for row in rows)
    assert [len(row["top_logprobs"]) for row in rows] == [3] * 4
    assert all(
        list(alternative) == ["token", "logprob", "bytes"] for row in rows for alternative in row["top_logprobs"]
    )


def test_without_top_logprobs_no_alternatives_are_named() -> None:
    rows = chat(logprobs=True, max_tokens=3).json()["choices"][0]["logprobs"]["content"]
    assert [row["top_logprobs"] for row in rows] == [[], [], []]


@MODELS
def test_a_chunk_carries_the_logprobs_of_its_own_tokens(model: str) -> None:
    fields: dict[str, Any] = {"logprobs": True, "top_logprobs": 1, "max_tokens": 24}
    plain = chat(model, **fields).json()["choices"][0]
    choices = [chunk["choices"][0] for chunk in chat(model, stream=True, **fields).events()[:-1] if chunk["choices"]]
    for choice in choices:
        rows = choice.get("logprobs", {"content": []})["content"]
        assert "".join(row["token"] for row in rows) == choice["delta"].get("content", "")
    spread = [row for choice in choices if "logprobs" in choice for row in choice["logprobs"]["content"]]
    assert spread == plain["logprobs"]["content"]
    assert all("logprobs" in choice for choice in choices if "content" in choice["delta"])


@MODELS
def test_only_a_chunk_names_the_refusal_that_there_is_not(model: str) -> None:
    choices = [choice for event in chat(model, stream=True, logprobs=True).events()[:-1] for choice in event["choices"]]
    stated = [choice["logprobs"] for choice in choices if "logprobs" in choice]
    assert {tuple(logprobs) for logprobs in stated} == {("content", "refusal")}
    assert all(logprobs["refusal"] == [] for logprobs in stated)
    assert list(chat(model, logprobs=True).json()["choices"][0]["logprobs"]) == ["content"]


def test_logprobs_are_absent_unless_asked_for() -> None:
    assert b"logprobs" not in chat(D1, stream=True, logprobs=False).body + chat(D2).body


# --- parameters --------------------------------------------------------------------------------------------------


def test_max_completion_tokens_goes_before_max_tokens() -> None:
    assert chat(max_tokens=9, max_completion_tokens=4).json()["usage"]["completion_tokens"] == 4
    assert chat(max_tokens=4, max_completion_tokens=9).json()["usage"]["completion_tokens"] == 9


def test_a_whole_number_written_as_a_fraction_is_one() -> None:
    answers = [chat(max_tokens=kind(3), n=kind(2), logprobs=True, top_logprobs=kind(1)) for kind in (int, float)]
    whole, fraction = (answer.json() | {"id": ""} for answer in answers)
    assert fraction == whole


@MODELS
@pytest.mark.parametrize("field", OUT_OF_USE)
def test_a_field_that_is_not_supported_changes_nothing_and_has_its_type_by_the_page(model: str, field: str) -> None:
    anything: list[Any] = [OUT_OF_USE[field], None, "x", 3, [1], {"a": {}}, False]
    for value in anything:
        assert said(model, edition="observed", **{field: value}) == said(model, edition="observed")
        if field == "stop" or value is None or type(value) is type(OUT_OF_USE[field]):
            assert said(model, **{field: value}) == said(model)
        else:
            assert chat(model, **{field: value}).json()["error"]["message"].startswith(f"'{field}' must be a")


def test_stream_options_are_accepted_and_change_nothing() -> None:
    plain, optioned, empty = (
        [event if event == "[DONE]" else event | {"id": ""} for event in chat(stream=True, **fields).events()]
        for fields in (
            {},
            {"stream_options": {"include_usage": False, "include_obfuscation": True}},
            {"stream_options": None},
        )
    )
    assert plain == optioned == empty
    assert chat(stream_options=None).status == 200


def test_n_gives_choices_in_order_and_counts_the_prompt_once() -> None:
    one, three = chat(max_tokens=5).json(), chat(max_tokens=5, n=3).json()
    assert [choice["index"] for choice in three["choices"]] == [0, 1, 2]
    assert three["choices"][0] == one["choices"][0]
    assert three["usage"]["prompt_tokens"] == one["usage"]["prompt_tokens"]
    assert three["usage"]["completion_tokens"] == 15


def test_at_temperature_0_all_choices_are_the_same() -> None:
    texts = [choice["message"]["content"] for choice in chat(temperature=0, n=3).json()["choices"]]
    assert len(set(texts)) == 1
    assert len({choice["message"]["content"] for choice in chat(n=3).json()["choices"]}) > 1


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 1, "top_p": 1.0},
        {"modalities": ["text", "audio"], "verbosity": "low", "reasoning_effort": "medium"},
        {"modalities": "text", "reasoning_effort": "none"},
        {"frequency_penalty": 0, "presence_penalty": 0.0},
        {"logit_bias": {"42": -100, "word": 100}},
        {"prediction": {"type": "content", "content": "Harbours"}},
        {"prediction": {"type": "content", "content": [{"type": "text", "text": "Harbours"}]}},
        {"prediction": {"type": "content", "content": {"type": "text", "text": "Harbours"}}},
        {"parallel_tool_calls": False},
        {"response_format": {"type": "text"}},
        {"top_k": 40, "user": "u", "metadata": {"a": "b"}, "service_tier": "auto"},
    ],
    ids=lambda fields: "-".join(fields),
)
def test_what_the_page_allows_and_what_it_does_not_know_is_accepted(fields: dict[str, Any]) -> None:
    assert said(**fields) == said()


def test_null_is_as_good_as_nothing_in_every_field_that_may_be_omitted() -> None:
    nullable = "modalities verbosity reasoning_effort max_completion_tokens max_tokens frequency_penalty n stream"
    nullable += " presence_penalty top_logprobs logit_bias logprobs prediction stream_options temperature top_p"
    # Applications that build a request from a table of options write null for each that is not set.
    nullable += " response_format tools tool_choice parallel_tool_calls functions function_call"
    nothing: dict[str, Any] = dict.fromkeys(nullable.split())
    assert said(**nothing) == said()


IMAGE = {"url": "data:image/png;base64,AA=="}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "done"}
NAMED_SCHEMA = {"type": "json_schema", "json_schema": {"name": "x"}}


@EACH_EDITION
@pytest.mark.parametrize(
    "path, fields",
    [
        (("messages", 0, "name"), {"messages": [USER]}),
        (("messages", 0, "tool_call_id"), {"messages": [USER]}),
        (("messages", 2, "name"), {"messages": [USER, {"role": "assistant", "tool_calls": [CALL]}, RESULT]}),
        (("messages", 1, "name"), {"messages": [USER, {"role": "assistant", "content": "Hi"}]}),
        (("messages", 1, "tool_calls", 0, "index"), {"messages": [USER, {"role": "assistant", "tool_calls": [CALL]}]}),
        (("messages", 1, "tool_calls", 0, "custom"), {"messages": [USER, {"role": "assistant", "tool_calls": [CALL]}]}),
        (
            ("messages", 0, "content", 0, "image_url", "detail"),
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": IMAGE}]}]},
        ),
        (("tools", 0, "function", "parameters"), {"tools": [{"type": "function", "function": {"name": "f"}}]}),
        (("functions", 0, "parameters"), {"functions": [{"name": "f"}]}),
        (("response_format", "json_schema", "schema"), {"response_format": NAMED_SCHEMA}),
    ],
    ids=str,
)
def test_null_is_as_good_as_nothing_within_a_field(
    path: tuple[str | int, ...], fields: dict[str, Any], edition: Edition
) -> None:
    with_null: Any = copy.deepcopy(fields)
    inner = functools.reduce(lambda value, step: value[step], path[:-1], with_null)
    inner[path[-1]] = None
    answers = [chat(D1, edition=edition, **sent).json()["choices"] for sent in (fields, with_null)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "message, told",
    [
        ({**RESULT, "tool_call_id": None}, "'messages[1].tool_call_id' must be a string"),
        ({"role": "function", "name": None, "content": "done"}, "'messages[1].name' must be a string"),
        (
            {"role": "assistant", "tool_calls": [{"id": "1", "function": None, "custom": None}]},
            "'messages[1].tool_calls[0]' must name a function or a custom tool",
        ),
    ],
)
def test_null_is_no_value_where_one_is_required(message: dict[str, Any], told: str) -> None:
    refused = ask("yandex", {"model": D1, "messages": [USER, message]})
    assert (refused.status, message_of(refused)) == (400, told)


@EACH_EDITION
@MODELS
@pytest.mark.parametrize("legacy", [False, True])
def test_the_parameters_of_the_vendors_own_example_name_types_as_python_does(
    legacy: bool, model: str, edition: Edition
) -> None:
    properties = {
        "a": {"type": "int", "description": "First number"},
        "b": {"type": "list", "items": {"type": "float"}},
        "type": {"type": "str", "enum": ["int"]},
    }
    function = {
        "name": "calculator",
        "parameters": {"type": "dict", "properties": properties, "required": [*properties]},
    }
    offer = {"functions": [function]} if legacy else {"tools": [{"type": "function", "function": function}]}
    choice = {"function_call": {"name": "calculator"}} if legacy else {"tool_choice": "required"}
    message = chat(model, edition=edition, **offer, **choice).json()["choices"][0]["message"]
    call = message["function_call"] if legacy else message["tool_calls"][0]["function"]
    arguments = json.loads(call["arguments"])
    assert [type(arguments[name]) for name in properties] == [int, list, str]
    assert arguments["type"] == "int"


def test_a_type_that_nobody_knows_is_no_schema() -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "natural"}}}}
    refused = ask("yandex", {"model": D1, "messages": [USER], "tools": [{"type": "function", "function": tool}]})
    assert refused.status == 400
    assert message_of(refused).startswith("'tools[0].function.parameters' is no schema")


def test_the_vendors_own_sdk_may_describe_a_tool_with_null() -> None:
    tool = {"type": "function", "function": {"name": "f", "description": None, "parameters": {}, "strict": None}}
    assert requested(tools=[tool]).tools == (Tool("f", parameters={}),)


def test_the_penalties_and_biases_reach_the_model() -> None:
    sampling = requested(frequency_penalty=1, presence_penalty=-1, logit_bias={"42": 7, "no id": 1}, top_p=0.5).sampling
    assert (sampling.frequency_penalty, sampling.presence_penalty, sampling.top_p) == (1, -1, 0.5)
    assert sampling.logit_bias == ((42, 7.0),)


# --- messages ----------------------------------------------------------------------------------------------------


@EACH_EDITION
def test_six_roles_are_heard_and_an_assistant_may_have_no_content(edition: Edition) -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "system", "content": [{"type": "text", "text": "Be kind."}], "name": "sys"},
        USER,
        {"role": "assistant", "tool_calls": [{"index": 0, "id": "f", "type": "", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "f", "content": ""},
        {"role": "assistant", "content": None, "refusal": "I would rather not.", "tool_calls": None, "audio": None},
        {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": None},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "custom": {"name": "c", "input": "x"}}]},
    ]
    assert chat(messages=messages, edition=edition).status == 200


@MODELS
@pytest.mark.parametrize(
    "messages, words",
    [
        ([{"role": "robot", "content": "Hello"}], "invalid message role 'robot'"),
        ([USER, {"role": "", "content": "Hello"}], "invalid message role ''"),
        ([{"role": "user", "content": ""}], "empty message text"),
        ([{"role": "system"}, USER], "empty message text"),
        ([{"role": "user", "content": []}], "empty message text"),
        ([{"role": "user", "content": [{"type": "text", "text": ""}]}], "empty message text"),
        ([USER, {"role": "assistant", "content": None, "tool_calls": []}], "empty message text"),
    ],
)
def test_a_message_that_no_model_takes_is_refused_in_its_session(
    model: str, messages: list[dict[str, Any]], words: str
) -> None:
    answer = chat(model, messages=messages)
    session = (
        "internal_id=([0-9a-f]{1,8}-){3}[0-9a-f]{1,8}&request_id="
        + f"{UUID}&client_request_id={UUID}&folder_id=b1gfolder"
    )
    assert answer.status == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert re.fullmatch(f"Error in session {session}: {re.escape(words)}", message_of(answer))
    if model == D1:
        assert answer.headers["x-request-id"] in message_of(answer)


def test_the_session_of_a_refusal_names_the_callers_own_request() -> None:
    body = {"model": D1, "messages": [{"role": "user", "content": ""}]}
    assert "&client_request_id=mine&" in message_of(ask("yandex", body, headers={"x-client-request-id": "mine"}))


def pictures(*addresses: str) -> list[dict[str, Any]]:
    parts = [{"type": "image_url", "image_url": {"url": address}} for address in addresses]
    return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, *parts]}]


def test_an_image_counts_256_prompt_tokens_and_decides_the_answer() -> None:
    none, one, two, other = (
        chat(messages=pictures(*addresses)).json()
        for addresses in (
            (),
            ("data:image/png;base64,AA==",),
            ("https://a.example/1.png",) * 2,
            ("https://a.example/2.png",),
        )
    )
    counts = [body["usage"]["prompt_tokens"] for body in (none, one, two)]
    assert [count - counts[0] for count in counts] == [0, 256, 512]
    assert one["choices"] != other["choices"]


@pytest.mark.parametrize(
    "name, limit",
    [
        ("yandexgpt", 32_768),
        ("aliceai-llm-flash", 65_536),
        ("llama-lite", 8_192),
        ("gpt-oss-20b", 131_072),
        ("deepseek", 131_072),
    ],
)
def test_a_prompt_longer_than_the_context_is_refused_with_both_counts(name: str, limit: int) -> None:
    answer = chat(f"gpt://b1gfolder/{name}", messages=pictures(*["https://a.example/1.png"] * (limit // 256)))
    found = re.fullmatch(
        r"Error in session \S+: number of input tokens must be no more than (\d+), got (\d+)", message_of(answer)
    )
    assert answer.status == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert found
    assert int(found[1]) == limit < int(found[2])


def test_a_limit_beyond_the_context_is_no_error() -> None:
    assert chat(D1, max_tokens=2**62).json()["choices"][0]["finish_reason"] == "stop"
    assert chat(D1, max_tokens=1e30).status == 200


# --- tools and forms, as far as they are read ---------------------------------------------------------------------


SCHEMA = {"type": "object", "properties": {"town": {"type": "string"}}}


@EACH_EDITION
@pytest.mark.parametrize(
    "form, constraint",
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, Constraint("json_object")),
        (
            {"type": "json_schema", "json_schema": {"name": "t", "schema": SCHEMA, "strict": None}},
            Constraint("json_schema", SCHEMA),
        ),
        ({"type": "json_schema", "json_schema": {"name": "t", "description": "Any"}}, Constraint("json_object")),
        ({"type": "json_schema", "json_schema": SCHEMA}, Constraint("json_schema", SCHEMA)),
    ],
)
def test_every_response_format_is_understood_the_bare_schema_too(
    form: dict[str, Any], constraint: Constraint | None, edition: Edition
) -> None:
    assert requested(response_format=form, edition=edition).constraint == constraint


# --- headers and credentials ---------------------------------------------------------------------------------------


@MODELS
def test_a_plain_answer_has_the_recorded_headers(model: str) -> None:
    headers = dict(
        ask("yandex", {"model": model, "messages": [USER]}, settings=Settings(strict=True, latency="off")).headers
    )
    assert re.fullmatch("([0-9a-f]{1,16}:){3}1", headers.pop("x-server-trace-id"))
    assert re.fullmatch(UUID, headers.pop("x-request-id", "")) if model == D1 else "x-request-id" not in headers
    assert headers == {"content-type": "application/json", "server": "ycalb"}


@MODELS
def test_a_stream_has_the_recorded_headers(model: str) -> None:
    sent = {"x-client-request-id": "8d6f2f0a-ours"}
    body = {"model": model, "messages": [USER], "stream": True}
    headers = dict(ask("yandex", body, headers=sent, settings=Settings(strict=True, latency="off")).headers)
    only = {name: headers.pop(name, None) for name in ("x-server-trace-id", "x-request-id")}
    assert headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "server": "ycalb",
        **({"x-client-request-id": "8d6f2f0a-ours"} if model == D1 else {"access-control-allow-origin": "*"}),
    }
    assert (only["x-request-id"] is not None) == (model == D1)


@pytest.mark.parametrize(
    "written",
    [
        '{"model": %s, "messages": [{"role": "user", "content": "Hi"}]}',
        '{"messages": [{"role": "user", "content": "the \\"model\\": \\"gpt://f/x\\""}], "model" :\n%s}',
        '{"metadata": {"model": "gpt://f/other"}, "model": %s, "messages": [{"role": "user", "content": "Hi"}]}',
        '{"model": "gpt://f/other", "model": %s, "messages": [{"role": "user", "content": "Hi"}]}',
    ],
)
@pytest.mark.parametrize("escaped", [False, True])
@MODELS
def test_the_engines_headers_follow_the_model_however_the_body_is_written(
    model: str, escaped: bool, written: str
) -> None:
    name = json.dumps(model).replace("/", r"\/") if escaped else json.dumps(model)
    answer = ask("yandex", (written % name).encode())
    assert (answer.status, "x-request-id" in answer.headers) == (200, model == D1)


def test_a_refusal_has_the_headers_of_every_answer() -> None:
    answer = chat(D1, temperature=9)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["server"] == "ycalb"
    assert re.fullmatch("([0-9a-f]{1,16}:){3}1", answer.headers["x-server-trace-id"])
    assert re.fullmatch(UUID, answer.headers["x-request-id"])


def test_ids_are_the_calls_own_and_the_same_the_next_time() -> None:
    first, again, other = chat(D1), chat(D1), chat(D1, max_tokens=3)
    assert (first.body, first.headers) == (again.body, again.headers)
    assert first.headers["x-request-id"] != first.json()["id"] != other.json()["id"]


@pytest.mark.parametrize(
    "value, key",
    [
        ("Api-Key AQVN1", "AQVN1"),
        ("api-key  AQVN1 ", "AQVN1"),
        ("Bearer t1.9eu", "t1.9eu"),
        ("Api-Key", None),
        ("Basic QQ==", None),
        ("", None),
    ],
)
def test_a_key_comes_as_api_key_or_bearer(value: str, key: str | None) -> None:
    assert credentials(Call("POST", "/", Headers([(b"authorization", value.encode())]))) == key


@EACH_EDITION
def test_a_wrong_key_is_unknown(edition: Edition) -> None:
    settings = Settings(created=FROZEN, latency="off", auth=("right",))
    body = {"model": D1, "messages": [USER]}
    keys = {"authorization": "Api-Key wrong"}
    answer = ask("yandex", body, headers=keys, settings=settings, edition=edition)
    assert (answer.status, answer.json()) == (
        401,
        {"error": {"message": "Unknown api key '****'", "type": "authentication_error"}},
    )
    assert ask("yandex", body, headers={"authorization": "Api-Key right"}, settings=settings).status == 200


@pytest.mark.parametrize(
    "key, masked",
    [("AQVN1234567890abcdef", "AQVN****cdef"), ("AQVN12345678", "****"), ("{0}{key}{" + "x" * 9, "{0}{****xxxx")],
)
def test_an_unknown_key_is_told_by_its_ends_alone(key: str, masked: str) -> None:
    row = YANDEX.errors["documented"][FailureKind.UNAUTHORIZED]
    assert row.body(Refusal(FailureKind.UNAUTHORIZED, key=key), row.message) == {
        "error": {"message": f"Unknown api key '{masked}'", "type": "authentication_error"}
    }
    said: Any = row.body(Refusal(FailureKind.UNAUTHORIZED), "The {apikey} has expired")
    assert said["error"]["message"] == "The {apikey} has expired"


# --- models --------------------------------------------------------------------------------------------------------


def models(settings: Settings = QUIET, edition: Edition = "documented", **headers: str) -> list[dict[str, Any]]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = ask("yandex", path="/v1/models", headers=sent, edition=edition, settings=settings)
    assert answer.status == 200
    assert faults(answer.plan, answer.body) == []
    assert answer.body.decode() == dumped(answer.json()) + "\n"
    assert list(answer.json()) == ["object", "data"]
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def test_models_are_listed_as_recorded() -> None:
    listed = models(openai_project="b1gmine")
    assert listed[0] == {
        "id": "gpt://b1gmine/aliceai-llm/latest",
        "object": "model",
        "owned_by": "Yandex",
        "created": 0,
    }
    assert list(listed[0]) == ["id", "object", "owned_by", "created"]
    owners = {model["id"].split("/")[3]: model["owned_by"] for model in listed}
    assert (owners["qwen3-235b-a22b-fp8"], owners["gemma-3-27b-it"], owners["gpt-oss-20b"]) == (
        "Alibaba",
        "Google",
        "OpenAI",
    )
    assert {"gpt://b1gmine/yandexgpt/rc", "emb://b1gmine/text-embeddings/deprecated"} <= {m["id"] for m in listed}


def test_models_of_2026_are_listed_in_the_observed_edition_only() -> None:
    documented, observed = models(), models(edition="observed")
    assert observed[: len(documented)] == documented
    since = {model["id"].split("/", 3)[3]: model["owned_by"] for model in observed[len(documented) :]}
    assert since == {
        "aliceai-llm-flash/latest": "Yandex",
        "deepseek-v4-flash/latest": "DeepSeek",
        "deepseek-v4.1-flash/latest": "DeepSeek",
        "qwen3.6-35b-a3b/latest": "Alibaba",
        "yandexgpt-5-pro/latest": "Yandex",
        "yandexgpt-5-lite/latest": "Yandex",
        "yandexgpt-5.1/latest": "Yandex",
        "text-embeddings-v2-doc/latest": "Yandex",
        "text-embeddings-v2-query/latest": "Yandex",
    }


def test_a_model_of_2026_that_the_settings_name_is_listed_in_either_edition() -> None:
    named = Settings(models={"yandex": ("deepseek-v4.1-flash",)}, latency="off")
    assert [model["owned_by"] for model in models(named)] == ["DeepSeek"]


def test_models_belong_to_the_callers_folder() -> None:
    assert {model["id"].split("/")[2] for model in models(x_folder_id="b1gold")} == {"b1gold"}
    (default,) = {model["id"].split("/")[2] for model in models()}
    assert [model["id"] for model in models(edition="observed")] == [model.id for model in YANDEX.models]
    assert default.startswith("b1g")


def test_a_folder_that_is_none_has_no_models() -> None:
    answer = ask("yandex", path="/v1/models", headers={"openai-project": "undefined"})
    words = "Specified folder ID 'undefined' does not match with service account folder ID 'b1gmockfolder'"
    assert (answer.status, message_of(answer)) == (400, words)


def test_a_closed_catalogue_may_name_its_models_in_any_form() -> None:
    names = ("yandexgpt", "qwen3-235b-a22b-fp8/latest", "gpt://b1gany/gemma-3-27b-it/rc")
    closed = Settings(created=FROZEN, latency="off", models={"yandex": names})
    assert [model["id"] for model in models(closed, openai_project="f")] == [
        "gpt://f/yandexgpt/latest",
        "gpt://f/qwen3-235b-a22b-fp8/latest",
        "gpt://f/gemma-3-27b-it/rc",
    ]
    for model in (D1, D2, "gpt://f/gemma-3-27b-it/rc"):
        assert ask("yandex", {"model": model, "messages": [USER]}, settings=closed).status == 200
    answer = ask("yandex", {"model": "gpt://f/yandexgpt/rc", "messages": [USER]}, settings=closed)
    assert (answer.status, answer.json()) == (
        400,
        {"error": {"message": "Failed to get model", "type": "invalid_request_error"}},
    )


def test_a_model_of_a_closed_catalogue_keeps_its_scheme_and_owner() -> None:
    names = ("gemma-3-27b-it", "gpt://b1gany/gpt-oss-20b/rc", "text-search-doc", "next-years-model/rc")
    closed = Settings(created=FROZEN, latency="off", models={"yandex": names})
    assert [(model["id"], model["owned_by"]) for model in models(closed, openai_project="f")] == [
        ("gpt://f/gemma-3-27b-it/latest", "Google"),
        ("gpt://f/gpt-oss-20b/rc", "OpenAI"),
        ("emb://f/text-search-doc/latest", "Yandex"),
        ("gpt://f/next-years-model/rc", "Yandex"),
    ]


# --- thoughts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", THINKERS)
def test_models_that_think_tell_their_thoughts_today(name: str) -> None:
    model = f"gpt://b1gfolder/{name}/latest"
    plain = chat(model, edition="observed").json()
    message, usage = plain["choices"][0]["message"], plain["usage"]
    assert [*message] == ["role", "content", "reasoning_content"]
    assert 0 < usage["completion_tokens_details"]["reasoning_tokens"] < usage["completion_tokens"]
    events = chat(model, edition="observed", stream=True).events()
    deltas = [event["choices"][0]["delta"] for event in events[:-2]]
    kinds = [[*delta] for delta in deltas]
    thought = kinds.count(["reasoning_content"])
    assert thought == usage["completion_tokens_details"]["reasoning_tokens"]
    assert kinds == [["role"], *[["reasoning_content"]] * thought, *[["content"]] * (len(kinds) - thought - 2), []]
    for field in ("reasoning_content", "content"):
        assert "".join(delta.get(field, "") for delta in deltas) == message[field]
    assert events[-2]["usage"] == usage


@pytest.mark.parametrize("model", [D1, D2, ALICE, "gpt://b1gfolder/gemma-3-27b-it/latest"])
def test_other_models_tell_no_thoughts(model: str) -> None:
    assert (
        "reasoning_content"
        not in chat(model, edition="observed", reasoning_effort="low").json()["choices"][0]["message"]
    )


@pytest.mark.parametrize("name", THINKERS)
def test_the_page_knows_no_thoughts(name: str) -> None:
    body = chat(f"gpt://b1gfolder/{name}/latest").json()
    assert [*body["choices"][0]["message"]] == ["role", "content"]
    assert "completion_tokens_details" not in body["usage"]


@pytest.mark.parametrize("fields", [{"reasoning_effort": "none"}, {"chat_template_kwargs": {"enable_thinking": False}}])
def test_thinking_can_be_switched_off(fields: dict[str, Any]) -> None:
    body = chat("gpt://b1gfolder/qwen3.6-35b-a3b", edition="observed", **fields).json()
    assert [*body["choices"][0]["message"]] == ["role", "content"]
    assert body["usage"]["completion_tokens_details"] == {
        "accepted_prediction_tokens": 0, "audio_tokens": 0, "reasoning_tokens": 0, "rejected_prediction_tokens": 0,
    }  # fmt: skip


def test_thoughts_that_use_up_the_limit_leave_nothing_to_say() -> None:
    body = chat(f"gpt://b1gfolder/{THINKERS[0]}", edition="observed", max_tokens=20).json()
    (choice,) = body["choices"]
    assert [*choice["message"]] == ["role", "reasoning_content"]
    assert choice["message"]["reasoning_content"]
    assert choice["finish_reason"] == "length"
    assert body["usage"]["completion_tokens"] == 20


def test_calls_and_log_probabilities_come_behind_thoughts() -> None:
    model, fields = f"gpt://b1gfolder/{THINKERS[0]}", {"tools": [CLOCK], "tool_choice": "required"}
    plain = chat(model, edition="observed", **fields).json()["choices"][0]["message"]
    events = chat(model, edition="observed", stream=True, **fields).events()[:-2]
    assert [*plain] == ["role", "content", "tool_calls", "reasoning_content"]
    kinds = [next(iter(event["choices"][0]["delta"]), "") for event in events]
    assert sorted(set(kinds), key=kinds.index) == ["role", "reasoning_content", "tool_calls", ""]
    scored = chat(model, edition="observed", stream=True, logprobs=True).events()[:-2]
    assert [[*event["choices"][0]["delta"]] for event in scored if "logprobs" in event["choices"][0]] == [
        ["content"] for event in scored if "content" in event["choices"][0]["delta"]
    ]


def test_thoughts_in_the_history_are_taken() -> None:
    history = [USER, {"role": "assistant", "content": "Yes.", "reasoning_content": "They ask of harbours."}, USER]
    assert chat(f"gpt://b1gfolder/{THINKERS[0]}", edition="observed", messages=history).status == 200


# --- the contract and the error table ------------------------------------------------------------------------------


def test_the_editions_differ_only_in_the_fragments_of_a_tool_call_in_thoughts_and_in_responses() -> None:
    documented, observed = (dict(CONTRACT[edition]()["schemas"]) for edition in EDITIONS)
    parts = "Usage OutputItem MessageItem ReasoningItem FunctionCall CustomCall SummaryPart OutputPart Event SearchCall"
    for schema in (documented["ChatCompletionRequest"], observed["ChatCompletionRequest"]):
        for name in (*OUT_OF_USE, "stream_options"):
            schema["properties"].pop(name)
    # By the page the last chunk of YandexGPT has the usage.
    observed["ChatCompletionChunk"].pop("else")
    for name in ("ToolCallFragment", "Response", *(f"Responses{part}" for part in (*parts.split(), "Citation"))):
        assert documented.pop(name, None) != observed.pop(name)
    differing = {name for name, schema in observed.items() if schema != documented[name]}
    for name in differing:
        observed[name]["properties"].pop("reasoning_content")
    assert differing == {"Message", "Delta"}
    assert observed["Message"].pop("anyOf") == [{"required": ["content"]}, {"required": ["reasoning_content"]}]
    observed["Message"]["required"].append("content")
    observed["Message"]["properties"]["content"].pop("description")
    assert documented == observed


def test_every_field_of_the_page_is_in_the_contract() -> None:
    page = """messages model modalities verbosity reasoning_effort max_completion_tokens frequency_penalty
    presence_penalty web_search_options top_logprobs response_format audio store stream stop logit_bias logprobs
    max_tokens n prediction seed stream_options tools tool_choice parallel_tool_calls function_call functions"""
    known = request_fields("documented", "ChatCompletionRequest")
    assert [name for name in known if name in page.split()] == page.split()


def test_statuses_and_types_of_errors_agree() -> None:
    types = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        429: "rate_limit_error",
    }
    for table in YANDEX.errors.values():
        assert set(table) == set(FailureKind) - {FailureKind.CHAT_TEMPLATE}
        for kind, row in table.items():
            body: Any = row.body(Refusal(kind), "words")
            expected = "server_error" if row.status >= 500 else types.get(row.status, "invalid_request_error")
            assert body == {"error": {"message": "words", "type": expected}}
            assert list(body["error"]) == ["message", "type"]


def test_deeply_nested_schemas_are_refused_and_deep_enough_ones_taken() -> None:
    def nested(depth: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string"}
        for _ in range(depth):
            schema = {"type": "array", "items": schema}
        return {"type": "json_schema", "json_schema": {"name": "deep", "schema": schema}}

    assert chat(response_format=nested(60)).status == 200
    for depth in (120, 400, 900):
        assert message_of(chat(response_format=nested(depth))) == "Failed to parse request JSON"
