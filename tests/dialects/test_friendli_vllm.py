"""FriendliAI's model that vLLM serves: the recorded form of its answers, what only it accepts, and what it reads."""

import json
from typing import Any

import pytest

from mockserver.cli.drift import Compared, compare
from mockserver.core.installed import load_dialects
from mockserver.recordings import Recorded
from mockserver.routes import Routes
from mockserver.state.namespaces import Namespace
from mockserver.state.settings import Settings
from mockserver.state.stubs.parse_stubs import read_stub
from tests.support.asking import FROZEN, Answer, ask
from tests.support.reading import joined, parts

FLASH, GLM = "zai-org/GLM-5.3-Flash", "zai-org/GLM-5.3"
PATH = "/serverless/v1/chat/completions"
OSLO = {"role": "user", "content": "What's the weather in Oslo?"}
BOTH = {"role": "user", "content": "What's the weather and the time in Oslo?"}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": CITY}} for name in ("get_weather", "get_time")]
USAGE = {"stream": True, "stream_options": {"include_usage": True}}
QUICK = {"reasoning_budget": 0}


BOATS = {"type": "custom", "name": "boats", "description": "Counts boats"}


def flash(**fields: Any) -> Answer:
    return ask("friendli", {"model": FLASH, "messages": [OSLO], **fields}, path=PATH, method="POST")


def part(kind: str, url: str = "https://example.com/it") -> dict[str, Any]:
    return {"type": kind, kind: {"url": url}}


def test_an_answer_has_all_that_was_recorded_in_the_recorded_order() -> None:
    answer = flash(reasoning_effort="low")
    body = answer.json()
    assert answer.body == json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    assert list(body) == [
        "id", "object", "created", "model", "choices", "service_tier", "system_fingerprint", "usage",
    ]  # fmt: skip
    assert (body["created"], body["model"], body["service_tier"], body["system_fingerprint"]) == (
        int(FROZEN), FLASH, None, None,
    )  # fmt: skip
    (choice,) = body["choices"]
    assert list(choice) == ["index", "message", "logprobs", "finish_reason"]
    assert (choice["logprobs"], choice["finish_reason"]) == (None, "stop")
    assert list(choice["message"]) == ["role", "content", "reasoning", "reasoning_content"]
    assert choice["message"]["reasoning"] == choice["message"]["reasoning_content"] != ""
    assert list(body["usage"]) == ["prompt_tokens", "total_tokens", "completion_tokens", "prompt_tokens_details"]
    assert list(body["usage"]["prompt_tokens_details"].items()) == [
        ("cached_tokens", 0), ("created_cache_tokens", 0), ("multimodal_tokens", None),
    ]  # fmt: skip


def test_a_stream_begins_with_the_role_and_ends_with_the_reason_the_usage_and_done() -> None:
    plain = flash(reasoning_effort="low").json()
    answer = flash(reasoning_effort="low", **USAGE)
    *chunks, usage, done = answer.events()
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert {tuple(chunk) for chunk in chunks} == {("id", "object", "created", "model", "choices")}
    assert {tuple(each) for each in parts(answer)} == {("index", "delta", "logprobs", "finish_reason")}
    assert parts(answer)[0]["delta"] == {"role": "assistant", "content": ""}
    assert parts(answer)[-1] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    assert (usage["choices"], usage["usage"], done) == ([], plain["usage"], "[DONE]")
    assert joined(answer, "content") == plain["choices"][0]["message"]["content"]
    assert joined(answer, "reasoning") == plain["choices"][0]["message"]["reasoning"]
    assert joined(answer, "reasoning_content") == plain["choices"][0]["message"]["reasoning_content"]


def test_a_stream_has_no_usage_unless_it_is_asked_for() -> None:
    assert not [event for event in flash(**QUICK, stream=True).events() if event != "[DONE]" and "usage" in event]


def test_a_chunk_has_one_to_five_tokens_and_a_shorter_answer_is_parted_in_the_same_places() -> None:
    short, long = (parts(flash(**QUICK, stream=True, logprobs=True, max_tokens=most))[1:-1] for most in (30, 60))
    sizes = [len(each["logprobs"]["content"]) for each in long]
    assert set(sizes) == {1, 2, 3, 4, 5}
    assert short[:-1] == long[: len(short) - 1]
    assert all(
        "".join(row["token"] for row in each["logprobs"]["content"]) == each["delta"]["content"] for each in long
    )


def test_the_pieces_of_a_prepared_answer_come_one_by_one() -> None:
    space = Namespace("")
    space.stubs.add(read_stub({"reply": {"chunks": ["It ", "is dry ", "today."]}}))
    body = {"model": FLASH, "messages": [OSLO], "stream": True}
    answer = ask("friendli", body, path=PATH, method="POST", namespace=space)
    assert [each["delta"].get("content") for each in parts(answer)] == ["", "It ", "is dry ", "today.", None]


def test_calls_have_ids_like_those_of_chats_and_come_before_the_reasoning() -> None:
    body = flash(messages=[BOTH], tools=TOOLS, reasoning_budget=8).json()
    message = body["choices"][0]["message"]
    assert list(message) == ["role", "content", "tool_calls", "reasoning", "reasoning_content"]
    assert message["content"] is None
    assert [list(call) for call in message["tool_calls"]] == [["id", "type", "function"]] * 2
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["get_weather", "get_time"]
    assert len({call["id"] for call in message["tool_calls"]}) == 2
    assert all(call["id"].startswith("chatcmpl-tool-") for call in message["tool_calls"])


def test_streamed_calls_begin_with_id_and_name_and_add_up_to_the_plain_ones() -> None:
    plain = flash(messages=[BOTH], tools=TOOLS, **QUICK).json()["choices"][0]["message"]["tool_calls"]
    pieces = [
        piece
        for each in parts(flash(messages=[BOTH], tools=TOOLS, **QUICK, stream=True))
        for piece in each["delta"].get("tool_calls", ())
    ]
    assert [list(piece) for piece in pieces if "id" in piece] == [["index", "id", "type", "function"]] * 2
    assert [piece["function"]["name"] for piece in pieces if "id" in piece] == ["get_weather", "get_time"]
    assert [
        "".join(piece["function"]["arguments"] for piece in pieces if piece["index"] == index) for index in (0, 1)
    ] == [call["function"]["arguments"] for call in plain]


@pytest.mark.parametrize("off", [{"reasoning_effort": "none"}, {"chat_template_kwargs": {"enable_thinking": False}}])
def test_a_model_that_is_told_not_to_think_writes_its_thoughts_into_the_content(off: dict[str, Any]) -> None:
    thinking, told = (flash(**fields).json()["choices"][0]["message"] for fields in ({}, off))
    assert told == {"role": "assistant", "content": f"{thinking['reasoning']}</think>{thinking['content']}"}
    assert joined(flash(**off, stream=True), "content") == told["content"]


def test_an_effort_of_none_is_only_accepted_where_vllm_serves() -> None:
    answer = flash(model=GLM, reasoning_effort="none")
    assert (answer.status, answer.json()) == (422, {"message": "invalid JSON payload: unknown enum value: 'none'"})


def test_a_budget_of_nothing_stops_the_thinking() -> None:
    assert list(flash(**QUICK).json()["choices"][0]["message"]) == ["role", "content"]


@pytest.mark.parametrize("kind, tokens", [("image_url", {"image": 512}), ("video_url", {"video": 2048})])
def test_what_is_seen_is_counted_by_medium(kind: str, tokens: dict[str, int]) -> None:
    seen = {"role": "user", "content": [part(kind), part(kind, "https://example.com/other")]}
    usage = flash(messages=[seen], **QUICK, max_tokens=3).json()["usage"]
    assert usage["prompt_tokens_details"]["multimodal_tokens"] == tokens
    assert usage["prompt_tokens"] > sum(tokens.values())


def test_sounds_are_refused() -> None:
    answer = flash(messages=[{"role": "user", "content": [part("audio_url")]}])
    assert (answer.status, answer.json()) == (422, {"message": "This model does not support audio inputs."})


def test_a_stub_may_say_that_some_of_the_prompt_came_from_a_cache() -> None:
    space = Namespace("")
    space.stubs.add(read_stub({"reply": {"text": "Dry.", "usage": {"cached_tokens": 5}}}))
    answer = ask("friendli", {"model": FLASH, "messages": [OSLO]}, path=PATH, method="POST", namespace=space)
    assert answer.json()["usage"]["prompt_tokens_details"] == {
        "cached_tokens": 5,
        "created_cache_tokens": 0,
        "multimodal_tokens": None,
    }


def test_the_first_client_knows_no_such_form() -> None:
    answer = ask("friendli", {"model": FLASH, "messages": [OSLO]}, path="/v1/chat/completions", method="POST")
    assert list(answer.json()) == ["choices", "usage", "created"]


# --- responses ---------------------------------------------------------------------------------------------------


def responses(**fields: Any) -> Answer:
    body = {"model": FLASH, "input": "What's the weather in Oslo?", **fields}
    return ask("friendli", body, path="/serverless/v1/responses", method="POST")


def test_a_part_of_reasoning_has_events_of_its_own_where_vllm_serves() -> None:
    names = {
        model: {event["type"] for event in responses(model=model, stream=True, max_output_tokens=4).events()}
        for model in (FLASH, GLM)
    }
    parts = {"response.reasoning_part.added", "response.reasoning_part.done"}
    assert names[FLASH] - names[GLM] == parts
    assert names[GLM] - names[FLASH] == {"response.content_part.added", "response.content_part.done"}


def test_deltas_of_a_response_have_several_tokens_and_the_first_one() -> None:
    answer = responses(stream=True, max_output_tokens=60)
    sizes = [count for run in answer.plan.timeline.runs for count in run.tokens if count]
    assert sizes[0] == 1
    assert set(sizes) == {1, 2, 3, 4, 5}
    assert sum(sizes) == 60


def test_parameters_come_back_with_their_keys_sorted() -> None:
    parameters = {"type": "object", "properties": {"b": {"type": "string", "enum": ["z", "a"]}, "a": {"type": "null"}}}
    (tool,) = responses(tools=[{"type": "function", "name": "f", "parameters": parameters}]).json()["tools"]
    assert json.dumps(tool["parameters"]) == json.dumps(parameters, sort_keys=True)


# --- recordings --------------------------------------------------------------------------------------------------

# The forms that were recorded in September 2026, with other words.
CHAT = {
    "id": "chatcmpl-00000000-1111-4222-8333-444444444444",
    "object": "chat.completion",
    "created": 1_788_606_498,
    "model": FLASH,
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "It rains.",
                "reasoning": "Rain?",
                "reasoning_content": "Rain?",
            },
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "service_tier": None,
    "system_fingerprint": None,
    "usage": {
        "prompt_tokens": 9,
        "total_tokens": 15,
        "completion_tokens": 6,
        "prompt_tokens_details": {"cached_tokens": 0, "created_cache_tokens": 0, "multimodal_tokens": None},
    },
}
LIMITS = {
    "x-ratelimit-limit-requests": "100",
    "x-ratelimit-remaining-requests": "97",
    "x-ratelimit-reset-requests": "40",
}
JSON = {"content-type": "application/json", **LIMITS}
TEXT = {"content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", **LIMITS}


@pytest.mark.parametrize(
    "path, body, status, headers, answer",
    [
        ("chat/completions", {"messages": [OSLO]}, 200, JSON, json.dumps(CHAT)),
        (
            "responses",
            {"input": "Count the boats.", "tools": [BOATS], "tool_choice": "required", "stream": True},
            500,
            TEXT,
            "Service Error: Max retries reached for status 500\n",
        ),
    ],
)
def test_what_was_recorded_has_no_drift(
    path: str, body: dict[str, Any], status: int, headers: dict[str, str], answer: str
) -> None:
    sent = json.dumps({"model": FLASH, **body}).encode()
    sending = {"content-type": "application/json"}
    place = ("", "POST", "api.friendli.ai", f"/serverless/v1/{path}", "")
    recorded = Recorded(*place, sending, sent, status, headers, answer.encode())
    settings = Settings(edition="observed", auth="off")
    compared = compare(recorded, Routes(load_dialects(), settings), settings)
    assert isinstance(compared, Compared)
    assert [*compared.differences] == []
