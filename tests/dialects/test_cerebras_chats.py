"""Cerebras' chats: the recorded wire, thoughts and where they are told, tools, formats, images (note, part A)."""

import base64
import gzip
import json
import re
import struct
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import msgpack
import orjson
import pytest

from mockserver.core.dialects import EDITIONS, Edition
from mockserver.core.generation import GenerationRequest
from mockserver.dialects.cerebras.read import image_tokens
from mockserver.model import tokens
from mockserver.state.namespaces import Namespace
from mockserver.state.settings import Settings
from mockserver.state.stubs.parse_stubs import read_stub
from tests.support.asking import FROZEN, QUIET, Answer
from tests.support.asking import ask as ask_anybody
from tests.support.reading import choice, joined, message, parts

PATH = "/v1/chat/completions"
OSS, GLM, GEMMA, LLAMA, QWEN = "gpt-oss-120b", "zai-glm-4.7", "gemma-4-31b", "llama-3.3-70b", "qwen-3-32b"
ASKED = {"role": "user", "content": "What's the weather and the time in Oslo?"}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": said, "parameters": CITY, "strict": True}}
    for name, said in (("get_weather", "The weather in a city"), ("get_time", "The time in a city"))
]
CALLED = {
    "role": "assistant",
    "tool_calls": [
        {"id": "8db3b6644", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "8db3b6644", "content": '{"degrees": 7}'}
LOW = {"reasoning_effort": "low"}

# The models of every time: the vendor has retired most of them.
EVER = (
    LLAMA, OSS, GLM, GEMMA, QWEN, "qwen-3.8-27b", "qwen-3-coder-480b", "qwen-3-235b-a22b-instruct-2507", "my-own-model",
    "m", "qwen-3-235b-a22b-thinking-2507", "DeepSeek-R1-Distill-Llama-70B",
)  # fmt: skip
ask = partial(ask_anybody, settings=replace(QUIET, models={"cerebras": EVER}))

both_editions = pytest.mark.parametrize("edition", EDITIONS)
plain_and_streamed = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])


def sent(model: str = LLAMA, /, **fields: Any) -> dict[str, Any]:
    return {"model": model, "messages": [ASKED], **fields}


def chat(model: str = LLAMA, /, **fields: Any) -> Answer:
    """A good answer to the fields; `edition`, `headers`, `settings` and `namespace` are those of `ask`."""
    how = {name: fields.pop(name) for name in ("edition", "headers", "settings", "namespace") if name in fields}
    answer = ask("cerebras", sent(model, **fields), path=PATH, method="POST", **how)
    assert answer.status == 200, answer.body
    return answer


def gathered(answer: Answer, index: int = 0) -> list[dict[str, Any]]:
    """The calls of a streamed choice, joined as clients join them."""
    calls: dict[int, dict[str, Any]] = {}
    for part in parts(answer, index):
        for piece in part["delta"].get("tool_calls", ()):
            call = calls.setdefault(
                piece["index"],
                {"id": piece.get("id"), "type": piece["type"], "function": {"name": "", "arguments": ""}},
            )
            call["function"]["name"] += piece["function"].get("name", "")
            call["function"]["arguments"] += piece["function"]["arguments"]
    return list(calls.values())


def requested(**fields: Any) -> GenerationRequest:
    generation = chat(**fields).plan.generation
    assert generation is not None
    return generation.request


# --- the wire ----------------------------------------------------------------------------------------------------


@both_editions
def test_a_plain_answer_has_the_recorded_keys_in_the_recorded_order(edition: Edition) -> None:
    answer = chat(OSS, edition=edition, **LOW)
    body = answer.json()
    usage, times = body["usage"], body["time_info"]
    said = {"content": message(answer)["content"], "reasoning": message(answer)["reasoning"], "role": "assistant"}
    thought = usage["completion_tokens_details"]["reasoning_tokens"]
    expected = {
        "id": answer.headers["inference-id"],
        "choices": [{"finish_reason": "stop", "index": 0, "message": said}],
        "created": int(FROZEN),
        "model": OSS,
        "system_fingerprint": body["system_fingerprint"],
        "object": "chat.completion",
        "usage": {
            "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"],
            "completion_tokens": usage["completion_tokens"],
            "completion_tokens_details": {
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
                "reasoning_tokens": thought,
            },
            "prompt_tokens": usage["prompt_tokens"],
            "prompt_tokens_details": {"cached_tokens": 0},
        },
        "time_info": {
            "created": FROZEN,
            **{name: times[name] for name in ("queue_time", "prompt_time", "completion_time", "total_time")},
        },
    }
    assert answer.body == orjson.dumps(expected)
    assert usage["completion_tokens"] == thought + len(tokens.encode(said["content"]))
    assert re.fullmatch("chatcmpl-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", body["id"])


THEN = (
    ["prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details"],
    ["queue_time", "prompt_time", "completion_time", "total_time", "created"],
)
TODAY = (
    ["total_tokens", "completion_tokens", "prompt_tokens", "prompt_tokens_details"],
    ["created", "queue_time", "prompt_time", "completion_time", "total_time"],
)


@pytest.mark.parametrize(
    "model, edition, order",
    [
        (LLAMA, "documented", THEN),
        (LLAMA, "observed", THEN),
        ("my-own-model", "documented", THEN),
        ("my-own-model", "observed", TODAY),
    ],
)
def test_usage_and_times_stand_in_the_order_of_the_models_time_or_the_editions(
    model: str, edition: Edition, order: tuple[list[str], list[str]]
) -> None:
    body = chat(model, edition=edition).json()
    assert (list(body["usage"]), list(body["time_info"])) == order
    assert body["time_info"]["created"] == FROZEN


@both_editions
def test_a_stream_tells_a_role_thoughts_a_text_and_the_usage_with_its_ending(edition: Edition) -> None:
    plain, stream = chat(OSS, edition=edition, **LOW), chat(OSS, edition=edition, stream=True, **LOW)
    body, events = plain.json(), stream.events()
    envelope = {"created": int(FROZEN), "model": OSS, "system_fingerprint": body["system_fingerprint"]}
    told = [part["delta"] for part in parts(stream)][1:-1]
    fields = [*dict.fromkeys(tuple(delta) for delta in told)]
    assert fields == [("reasoning",), ("content", "reasoning"), ("content",)][:: 2 if edition == "documented" else 1]
    deltas: list[dict[str, str]] = [{"role": "assistant"}, *told]
    made: list[dict[str, Any]] = [{"delta": delta, "index": 0} for delta in deltas]
    made.append({"delta": {}, "finish_reason": "stop", "index": 0})
    chunks = [
        {"id": events[0]["id"], "choices": [each], **envelope, "object": "chat.completion.chunk"} for each in made
    ]
    chunks[-1] |= {"usage": body["usage"], "time_info": events[-2]["time_info"]}
    assert stream.body == b"".join(b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
    assert joined(stream, "reasoning") == message(plain)["reasoning"] != ""
    assert joined(stream, "content") == message(plain)["content"] != ""
    if edition == "documented":
        assert len(made) == body["usage"]["completion_tokens"] + 2
    assert events[-2]["time_info"].keys() == body["time_info"].keys()


def sizes_of(texts: list[str]) -> list[int]:
    return [len(tokens.encode(text)) for text in texts]


@pytest.mark.parametrize("model", [OSS, GEMMA, GLM, "qwen-3.8-27b", "my-own-model"])
def test_chunks_of_today_have_a_token_and_then_several(model: str) -> None:
    answer = chat(model, edition="observed", stream=True, max_tokens=90, reasoning_format="parsed")
    deltas = [part["delta"] for part in parts(answer)[1:-1]]
    # At the end of the thoughts a chunk may be cut in two.
    pairs = enumerate(pairwise(deltas))
    cut = {place for place, (each, after) in pairs if "content" not in each and "reasoning" not in after}
    deltas = [
        {**each, **deltas[place + 1]} if place in cut else each
        for place, each in enumerate(deltas)
        if place - 1 not in cut
    ]
    sizes = sizes_of(["".join(each.get(name, "") for name in ("reasoning", "content")) for each in deltas])
    assert sizes[0] == 1
    assert set(sizes[1:-1]) <= {4, 5, 6, 7, 8}
    assert len(set(sizes[1:-1])) > 2
    assert 1 <= sizes[-1] <= 8
    assert sum(sizes) == answer.events()[-2]["usage"]["completion_tokens"]


def test_thoughts_and_text_share_a_chunk_in_half_of_all_streams() -> None:
    streams = [parts(chat(OSS, edition="observed", stream=True, seed=seed, **LOW)) for seed in range(24)]
    shared = [sum(part["delta"].keys() == {"content", "reasoning"} for part in stream) for stream in streams]
    assert set(shared) == {0, 1}
    assert 6 <= sum(shared) <= 18


@pytest.mark.parametrize(
    "model, edition, fields",
    [
        (OSS, "documented", {}),
        (LLAMA, "observed", {}),
        (OSS, "observed", {"logprobs": True}),
        (OSS, "observed", {"headers": {"x-mockserver-reply": "One two three four five six seven eight."}}),
    ],
    ids=["the page's edition", "a model of 2025", "log-probabilities", "a stub"],
)
def test_other_chunks_have_one_token(model: str, edition: Edition, fields: dict[str, Any]) -> None:
    answer = chat(model, edition=edition, stream=True, max_tokens=60, **LOW, **fields)
    said = [part["delta"] for part in parts(answer)][1:-1]
    assert len(said) > 7
    assert set(sizes_of([text for delta in said for text in delta.values()])) == {1}


def test_arguments_of_today_come_several_tokens_at_a_time() -> None:
    said = {f"field_{number}": {"type": "string"} for number in range(6)}
    form = {**CITY, "properties": said, "required": [*said]}
    tools = [{"type": "function", "function": {"name": "note", "parameters": form}}]
    asked: dict[str, Any] = {"tools": tools, "tool_choice": "required", "stream": True, **LOW}
    then, today = (
        [
            part["delta"]["tool_calls"][0]["function"]["arguments"]
            for part in parts(answer)
            if "tool_calls" in part["delta"]
        ]
        for answer in (chat(OSS, edition=edition, **asked) for edition in EDITIONS)
    )
    assert "".join(then) == "".join(today)
    assert then[0] == today[0] == ""
    pieces = iter(then[1:])
    sizes = [next(count for count, grown in enumerate(accumulate(pieces), 1) if grown == text) for text in today[1:]]
    assert len(sizes) > 4
    assert set(sizes[:-1]) <= {4, 5, 6, 7, 8}
    assert 1 <= sizes[-1] <= 8


def test_raw_thoughts_of_today_end_with_their_tag_in_the_content() -> None:
    fields = {"reasoning_format": "raw", "reasoning_effort": "low"}
    plain, stream = (chat(GLM, edition="observed", stream=stream, **fields) for stream in (False, True))
    assert joined(stream, "content") == message(plain)["content"]
    assert "</think>" in joined(stream, "content")
    assert all("reasoning" not in part["delta"] for part in parts(stream))


@pytest.mark.parametrize(
    "model, prompt_details, details",
    [
        (LLAMA, ["cached_tokens"], None),
        ("qwen-3-235b-a22b-instruct-2507", ["cached_tokens"], None),
        (
            OSS,
            ["cached_tokens"],
            ["accepted_prediction_tokens", "rejected_prediction_tokens", "reasoning_tokens"],
        ),
        (
            GLM,
            ["cached_tokens"],
            ["accepted_prediction_tokens", "rejected_prediction_tokens", "reasoning_tokens"],
        ),
        (GEMMA, ["cached_tokens"], ["reasoning_tokens"]),
        ("qwen-3.8-27b", ["cached_tokens", "image_tokens"], ["reasoning_tokens"]),
        (QWEN, ["cached_tokens"], None),
        ("my-own-model", ["cached_tokens"], None),
    ],
)
@plain_and_streamed
def test_the_details_of_the_usage_are_those_recorded_of_the_model(
    model: str, prompt_details: list[str], details: list[str] | None, stream: bool
) -> None:
    answer = chat(model, stream=stream)
    usage = (answer.events()[-2] if stream else answer.json())["usage"]
    assert list(usage["prompt_tokens_details"]) == prompt_details
    assert (list(usage["completion_tokens_details"]) if "completion_tokens_details" in usage else None) == details


def test_no_key_of_an_answer_is_null() -> None:
    bodies = [
        chat(model, stream=stream, tools=tools, logprobs=True).body
        for model in (OSS, LLAMA)
        for stream in (False, True)
        for tools in (None, TOOLS)
    ]
    assert not any(b"null" in body for body in bodies)


def test_several_choices_open_together_and_the_last_to_end_tells_the_usage() -> None:
    plain, stream = chat(n=3, max_tokens=5), chat(n=3, max_tokens=5, stream=True)
    chunks = stream.events()[:-1]
    assert [chunk["choices"][0] for chunk in chunks[:3]] == [
        {"delta": {"role": "assistant"}, "index": index} for index in range(3)
    ]
    assert [joined(stream, "content", index) for index in range(3)] == [
        message(plain, index)["content"] for index in range(3)
    ]
    assert ["usage" in chunk for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1]["usage"] == plain.json()["usage"]


@pytest.mark.parametrize("options", [None, {"include_usage": False}, {"include_usage": True}])
def test_the_usage_is_told_whether_it_is_asked_for_or_not(options: Any) -> None:
    told = [event.get("usage") for event in chat(stream=True, max_tokens=3, stream_options=options).events()[:-1]]
    assert told == [None] * 4 + [chat(max_tokens=3).json()["usage"]]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("kind, write", [("application/json", json.dumps), ("application/vnd.msgpack", msgpack.packb)])
def test_a_chat_may_be_sent_packed_in_every_way_of_the_service(kind: str, write: Any, pack: Any) -> None:
    body = write(sent(max_tokens=9))
    headers = {"content-type": kind} | ({"content-encoding": "gzip"} if pack is gzip.compress else {})
    packed = pack(body.encode() if isinstance(body, str) else body)
    answer = ask("cerebras", packed, path=PATH, method="POST", headers=headers)
    assert answer.json()["choices"] == chat(max_tokens=9).json()["choices"]


# --- thoughts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model, thinks", [(OSS, True), (GLM, True), ("qwen-3.8-27b", True), (GEMMA, False), (LLAMA, False), ("m", False)]
)
def test_the_models_that_reason_do_so_by_themselves(model: str, thinks: bool) -> None:
    answer = chat(model)
    assert ("reasoning" in message(answer)) is thinks
    assert message(answer)["content"]
    if thinks:
        counted = answer.json()["usage"]["completion_tokens_details"]["reasoning_tokens"]
        assert counted == len(tokens.encode(message(answer)["reasoning"])) > 0


@pytest.mark.parametrize("model", [OSS, GLM, GEMMA])
def test_an_effort_says_how_long_a_model_thinks_and_changes_nothing_that_it_says(model: str) -> None:
    answers = [chat(model, reasoning_effort=effort) for effort in ("low", "medium", "high")]
    lengths = [len(message(answer)["reasoning"]) for answer in answers]
    assert lengths == sorted({*lengths})
    assert len({message(answer)["content"] for answer in answers}) == 1


@pytest.mark.parametrize("effort", ["none", "low", "high"])
def test_a_model_that_never_thinks_accepts_an_effort_without_effect(effort: str) -> None:
    answer, usual = chat(LLAMA, reasoning_effort=effort).json(), chat(LLAMA).json()
    assert (answer["choices"], answer["usage"]) == (usual["choices"], usual["usage"])


def test_gpt_oss_thinks_as_briefly_as_recorded() -> None:
    def counts(**fields: Any) -> list[int]:
        bodies = [chat(OSS, seed=seed, **fields).json() for seed in range(8)]
        return [body["usage"]["completion_tokens_details"]["reasoning_tokens"] for body in bodies]

    assert max(counts(**LOW)) <= 32
    assert 32 < min(counts()) <= max(counts()) <= 160


@pytest.mark.parametrize("model", ["qwen-3.8-27b", GEMMA])
def test_a_model_can_be_told_not_to_think(model: str) -> None:
    answer = chat(model, edition="observed", reasoning_effort="none")
    assert list(message(answer)) == ["content", "role"]
    assert answer.json()["usage"]["completion_tokens_details"]["reasoning_tokens"] == 0


@pytest.mark.parametrize("version", ["", "1", "2", "new"])
@both_editions
def test_version_2_is_in_force_whatever_version_is_asked_for(version: str, edition: Edition) -> None:
    headers = {"x-cerebras-version-patch": version}
    open_call, no_tools = {"messages": [ASKED, CALLED]}, {"tool_choice": "auto"}
    definitions = {"type": "object", "properties": {}, "definitions": {}, "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "form", "strict": True, "schema": definitions}}
    for fields in (open_call, no_tools, {"response_format": form}):
        answer = ask("cerebras", sent(OSS, **fields), path=PATH, method="POST", edition=edition, headers=headers)
        assert answer.status == 400
    # The documented edition ignores fields that it does not know.
    assert "reasoning" in message(chat(OSS, headers=headers, disable_reasoning=True))


@plain_and_streamed
def test_hidden_thoughts_are_counted_and_told_nowhere(stream: bool) -> None:
    shown, hidden = chat(GLM, stream=stream), chat(GLM, stream=stream, reasoning_format="hidden")
    assert b'"reasoning"' in shown.body
    assert b'"reasoning"' not in hidden.body
    usages = [(answer.events()[-2] if stream else answer.json())["usage"] for answer in (shown, hidden)]
    assert usages[0] == usages[1]
    if stream:
        assert joined(hidden, "content") == joined(shown, "content")


@pytest.mark.parametrize("given", ["parsed", "text_parsed", "none", None])
def test_parsed_thoughts_stand_in_a_field_of_their_own(given: str | None) -> None:
    assert chat(OSS, reasoning_format=given).json()["choices"] == chat(OSS).json()["choices"]
    assert "reasoning" in message(chat(QWEN, reasoning_format="parsed"))


@pytest.mark.parametrize("model, before, behind", [(GLM, "<think>\n", "\n</think>\n\n"), (OSS, "", "")])
def test_raw_thoughts_stand_before_the_text_between_the_tags_of_the_model(model: str, before: str, behind: str) -> None:
    parsed, raw = message(chat(model)), chat(model, reasoning_format="raw")
    assert message(raw) == {
        "content": f"{before}{parsed['reasoning']}{behind}{parsed['content']}",
        "role": "assistant",
    }
    stream = chat(model, reasoning_format="raw", stream=True)
    assert joined(stream, "content") == message(raw)["content"]
    assert b'reasoning":"' not in stream.body


@pytest.mark.parametrize("model", [QWEN, "qwen-3-235b-a22b-thinking-2507", "DeepSeek-R1-Distill-Llama-70B"])
def test_an_elder_model_is_raw_by_itself_and_hides_its_thoughts_before_json(model: str) -> None:
    assert message(chat(model))["content"].startswith("<think>\n")
    hidden = message(chat(model, response_format={"type": "json_object"}))
    assert list(hidden) == ["content", "role"]
    assert json.loads(hidden["content"])


@plain_and_streamed
def test_thoughts_that_take_the_whole_limit_leave_no_content(stream: bool) -> None:
    answer = chat(GLM, max_completion_tokens=7, stream=stream)
    if stream:
        assert joined(answer, "content") == ""
        assert (joined(answer, "reasoning") != "", parts(answer)[-1]["finish_reason"]) == (True, "length")
    else:
        assert (list(message(answer)), choice(answer)["finish_reason"]) == (["reasoning", "role"], "length")
        assert answer.json()["usage"]["completion_tokens"] == 7
    raw = chat(GLM, max_completion_tokens=7, reasoning_format="raw")
    assert "</think>" not in message(raw)["content"]


def test_each_token_that_is_thought_takes_a_step_of_its_own() -> None:
    fast = Settings(created=FROZEN, latency="fast")
    for fields in ({}, {"reasoning_format": "raw"}, {"tools": TOOLS, "logprobs": True}):
        answer = chat(OSS, stream=True, settings=fast, **fields, **LOW)
        runs = list(answer.plan.timeline.runs)
        due = [instant for run in runs for instant in run.due]
        assert due == sorted(due)
        assert sum(count for run in runs for count in run.tokens) == answer.events()[-2]["usage"]["completion_tokens"]


def test_a_prepared_reply_may_think_whatever_the_model() -> None:
    space = Namespace("")
    space.stubs.add(read_stub({"reply": {"text": "It rains.", "reasoning": "Clouds."}}))
    assert message(chat(namespace=space)) == {"content": "It rains.", "reasoning": "Clouds.", "role": "assistant"}
    stream = chat(namespace=space, stream=True)
    assert (joined(stream, "reasoning"), joined(stream, "content")) == ("Clouds.", "It rains.")
    assert stream.events()[-2]["usage"]["completion_tokens_details"]["reasoning_tokens"] == len(
        tokens.encode("Clouds.")
    )


@pytest.mark.parametrize(
    "clear, counted", [({}, False), ({"clear_thinking": True}, False), ({"clear_thinking": False}, True)]
)
def test_earlier_thoughts_are_forgotten_unless_they_are_to_be_kept(clear: dict[str, Any], counted: bool) -> None:
    def prompt_tokens(**more: Any) -> int:
        history = [ASKED, {"role": "assistant", "content": "Rain.", **more}, {"role": "user", "content": "And now?"}]
        count: int = chat(GLM, messages=history, **clear).json()["usage"]["prompt_tokens"]
        return count

    thought = "It has rained all day."
    extra = len(tokens.encode(thought)) if counted else 0
    assert prompt_tokens(reasoning=thought) == prompt_tokens() + extra
    assert prompt_tokens(reasoning=[{"type": "text", "text": thought}]) == prompt_tokens() + extra
    assert prompt_tokens(reasoning=None) == prompt_tokens()


@pytest.mark.parametrize("reasoning", [True, [False], "x"])
def test_what_a_user_seems_to_think_is_nothing_that_the_documented_edition_knows(reasoning: Any) -> None:
    answer = chat(GLM, messages=[{**ASKED, "reasoning": reasoning}], clear_thinking=False)
    assert answer.json()["choices"] == chat(GLM).json()["choices"]


def test_thoughts_since_the_last_user_message_are_always_known() -> None:
    thought = "I have to look."
    histories = ([ASKED, CALLED, RESULT], [ASKED, {**CALLED, "reasoning": thought}, RESULT])
    counts = [chat(OSS, messages=history).json()["usage"]["prompt_tokens"] for history in histories]
    assert counts[1] == counts[0] + len(tokens.encode(thought))


# --- log-probabilities -------------------------------------------------------------------------------------------


def said(rows: list[dict[str, Any]]) -> str:
    return "".join(row["token"] for row in rows)


def test_parsed_thoughts_have_log_probabilities_apart_and_others_before_those_of_the_text() -> None:
    asked: dict[str, Any] = {"logprobs": True, "top_logprobs": 2, **LOW}
    apart, together = chat(OSS, reasoning_format="parsed", **asked), chat(OSS, **asked)
    told = choice(apart)
    assert list(told) == ["finish_reason", "index", "logprobs", "message", "reasoning_logprobs"]
    assert said(told["logprobs"]["content"]) == told["message"]["content"]
    assert said(told["reasoning_logprobs"]["content"]) == told["message"]["reasoning"]
    rows = [*told["reasoning_logprobs"]["content"], *told["logprobs"]["content"]]
    assert choice(together)["logprobs"] == {"content": rows}
    assert all(list(row) == ["token", "logprob", "bytes", "top_logprobs"] for row in rows)
    assert {len(row["top_logprobs"]) for row in rows} == {2}
    hidden = choice(chat(OSS, reasoning_format="hidden", **asked))
    assert hidden["logprobs"] == told["logprobs"]
    assert "reasoning_logprobs" not in hidden


@pytest.mark.parametrize("given", ["parsed", "text_parsed", "raw", "hidden"])
def test_a_stream_has_the_log_probabilities_of_the_plain_answer_token_by_token(given: str) -> None:
    fields: dict[str, Any] = {"logprobs": True, "top_logprobs": 1, "reasoning_format": given, **LOW}
    plain, stream = choice(chat(OSS, **fields)), chat(OSS, stream=True, **fields)
    for field in ("logprobs", "reasoning_logprobs"):
        rows = [row for part in parts(stream) for row in part.get(field, {}).get("content", ())]
        assert rows == plain.get(field, {"content": []})["content"]
    with_rows = [part for part in parts(stream) if "logprobs" in part or "reasoning_logprobs" in part]
    assert {tuple(part) for part in with_rows} <= {
        ("delta", "index", "logprobs"),
        ("delta", "index", "reasoning_logprobs"),
    }


def test_a_call_has_no_log_probabilities() -> None:
    answer = chat(tools=TOOLS, logprobs=True)
    assert list(choice(answer)) == ["finish_reason", "index", "message"]
    assert b"logprobs" not in chat(tools=TOOLS, logprobs=True, stream=True).body
    assert b"logprobs" not in chat(logprobs=False).body


# --- tools -------------------------------------------------------------------------------------------------------


@both_editions
def test_calls_stand_before_the_role_and_have_ids_of_nine_digits(edition: Edition) -> None:
    told = choice(chat(edition=edition, tools=TOOLS))
    assert (told["finish_reason"], list(told["message"])) == ("tool_calls", ["tool_calls", "role"])
    calls = told["message"]["tool_calls"]
    assert [list(call) for call in calls] == [["id", "type", "function"]] * 2
    assert [call["function"] for call in calls] == [
        {"name": name, "arguments": '{"city": "Oslo"}'} for name in ("get_weather", "get_time")
    ]
    assert all(re.fullmatch("[0-9a-f]{9}", call["id"]) for call in calls)
    assert len({call["id"] for call in calls}) == 2


def test_todays_models_stream_a_call_in_fragments_as_recorded() -> None:
    plain, stream = chat(OSS, tools=TOOLS, **LOW), chat(OSS, tools=TOOLS, stream=True, **LOW)
    assert gathered(stream) == [
        {**call, "id": made["id"]} for call, made in zip(message(plain)["tool_calls"], gathered(stream), strict=True)
    ]
    pieces = [piece for part in parts(stream) for piece in part["delta"].get("tool_calls", ())]
    begun = [piece for piece in pieces if "id" in piece]
    assert [list(piece) for piece in begun] == [["function", "type", "id", "index"]] * 2
    assert [piece["function"] for piece in begun] == [
        {"name": name, "arguments": ""} for name in ("get_weather", "get_time")
    ]
    assert {tuple(piece) for piece in pieces if piece not in begun} == {("function", "type", "index")}
    assert parts(stream)[-1] == {"delta": {}, "finish_reason": "tool_calls", "index": 0}


def test_todays_plain_calls_have_their_id_last_as_recorded() -> None:
    calls = message(chat(GLM, tools=TOOLS, reasoning_effort="none"))["tool_calls"]
    assert [list(call) for call in calls] == [["function", "type", "id"]] * 2


@pytest.mark.parametrize(("model", "arguments"), [(OSS, '{"city":"Oslo"}'), (LLAMA, '{"city": "Oslo"}')])
@plain_and_streamed
def test_gpt_oss_alone_writes_no_blanks_into_arguments(model: str, arguments: str, stream: bool) -> None:
    answer = chat(model, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, stream=stream)
    generation = answer.plan.generation
    assert generation is not None
    [choice] = generation.choices
    assert [call.arguments for call in choice.calls] == [arguments]
    assert generation.usage.completion_tokens == choice.reasoning + 1 + len(tokens.encode(arguments))


def test_glm_streams_its_calls_whole_after_its_thoughts_as_recorded() -> None:
    *thoughts, calls, end = parts(chat(GLM, edition="observed", tools=TOOLS, stream=True))
    assert {tuple(part["delta"]) for part in thoughts} == {("role",), ("reasoning",)}
    assert [piece["function"]["arguments"] for piece in calls["delta"]["tool_calls"]] == ['{"city": "Oslo"}'] * 2
    assert end == {"delta": {}, "finish_reason": "tool_calls", "index": 0}


@pytest.mark.parametrize(
    "model, edition",
    [(LLAMA, "documented"), (LLAMA, "observed"), ("qwen-3-coder-480b", "observed"), ("my-own-model", "documented")],
)
def test_elder_models_stream_all_their_calls_in_one_chunk(model: str, edition: Edition) -> None:
    role, calls, end = parts(chat(model, edition=edition, tools=TOOLS, stream=True))
    assert (role["delta"], end) == ({"role": "assistant"}, {"delta": {}, "finish_reason": "tool_calls", "index": 0})
    pieces = calls["delta"]["tool_calls"]
    assert [list(piece) for piece in pieces] == [["function", "type", "id", "index"]] * 2
    assert [piece["index"] for piece in pieces] == [0, 1]
    assert [piece["function"] for piece in pieces] == [
        call["function"] for call in message(chat(model, tools=TOOLS))["tool_calls"]
    ]


@pytest.mark.parametrize(
    "fields, names",
    [
        ({}, ["get_weather", "get_time"]),
        ({"tool_choice": None}, ["get_weather", "get_time"]),
        ({"tool_choice": "auto", "messages": [{"role": "user", "content": "Hello"}]}, []),
        ({"tool_choice": "none"}, []),
        ({"tool_choice": "required"}, ["get_weather", "get_time"]),
        ({"tool_choice": {"type": "function", "function": {"name": "get_time"}}}, ["get_time"]),
        ({"parallel_tool_calls": False}, ["get_weather"]),
        ({"parallel_tool_calls": None}, ["get_weather", "get_time"]),
    ],
)
@pytest.mark.parametrize("model", [LLAMA, OSS])
def test_the_choice_of_tools_is_obeyed_plain_and_streamed(model: str, fields: dict[str, Any], names: list[str]) -> None:
    asked = {"tools": TOOLS, **fields, **LOW}
    plain, stream = chat(model, **asked), chat(model, stream=True, **asked)
    calls = message(plain).get("tool_calls", [])
    assert [call["function"]["name"] for call in calls] == names
    assert [call["function"] for call in gathered(stream)] == [call["function"] for call in calls]
    assert choice(plain)["finish_reason"] == ("tool_calls" if names else "stop")


@pytest.mark.parametrize("model", [LLAMA, OSS])
def test_the_result_of_a_call_is_told_in_words(model: str) -> None:
    history = [ASKED, CALLED, RESULT]
    answer = chat(model, edition="observed", messages=history, tools=TOOLS)
    assert (choice(answer)["finish_reason"], "degrees: 7" in message(answer)["content"]) == ("stop", True)
    # Clients may leave the tools out the second time.
    assert "degrees: 7" in message(chat(model, messages=history))["content"]


def test_an_answers_own_message_may_be_sent_back_as_it_is() -> None:
    first = message(chat(OSS, edition="observed", tools=TOOLS))
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "Rain"} for call in first["tool_calls"]]
    again = chat(OSS, edition="observed", messages=[ASKED, first, *results], tools=TOOLS)
    assert "Rain" in message(again)["content"]


def test_prepared_calls_are_made_and_the_tools_count_towards_the_prompt() -> None:
    space = Namespace("")
    space.stubs.add(read_stub({"reply": {"tool_calls": [{"name": "get_time", "arguments": {"city": "Rome"}}]}}))
    call = message(chat(namespace=space, tools=TOOLS))["tool_calls"][0]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("get_time", {"city": "Rome"})
    counts = [chat(tools=given).json()["usage"]["prompt_tokens"] for given in (None, TOOLS[:1], TOOLS)]
    assert counts == sorted({*counts})


# --- formats -----------------------------------------------------------------------------------------------------


@both_editions
@plain_and_streamed
def test_a_schema_is_kept_to_behind_the_thoughts(edition: Edition, stream: bool) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": CITY}}
    answer = chat(OSS, edition=edition, stream=stream, response_format=form)
    content = joined(answer, "content") if stream else message(answer)["content"]
    assert list(json.loads(content)) == ["city"]


def test_a_schema_that_is_left_out_means_any_object_and_text_means_no_form() -> None:
    for given in ({}, {"schema": None}, {"description": None, "strict": None}):
        form = {"type": "json_schema", "json_schema": {"name": "any", **given}}
        assert isinstance(json.loads(message(chat(response_format=form))["content"]), dict)
    assert message(chat(response_format={"type": "text"})) == message(chat()) == message(chat(response_format=None))


@pytest.mark.parametrize("kind", ["text", "json_object"])
def test_only_todays_service_refuses_tools_beside_any_form(kind: str) -> None:
    fields: dict[str, Any] = {"tools": TOOLS, "response_format": {"type": kind}}
    assert choice(chat(**fields))["finish_reason"] == "tool_calls"
    assert ask("cerebras", sent(**fields), path=PATH, method="POST", edition="observed").status == 400
    assert chat(edition="observed", tools=TOOLS, response_format=None).status == 200


@pytest.mark.parametrize("strict", [True, False, None])
def test_keywords_that_only_strict_mode_does_not_take_are_kept_to_elsewhere(strict: bool | None) -> None:
    schema = {**CITY, "properties": {"city": {"type": "string", "maxLength": 3}}}
    form = {"type": "json_schema", "json_schema": {"name": "place", "strict": strict, "schema": schema}}
    assert len(json.loads(message(chat(response_format=form))["content"])["city"]) <= 3
    answer = ask("cerebras", sent(response_format=form), path=PATH, method="POST", edition="observed")
    assert answer.status == (400 if strict else 200)


LEVELS: dict[str, Any] = {"type": "string"}
for _ in range(11):
    LEVELS = {"type": "object", "properties": {"a": LEVELS}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    "properties, fault",
    [
        ({"a": {"type": "string", "description": "a" * 5_000}}, "maximum length of 5000 characters"),
        ({str(n): {} for n in range(501)}, "maximum of 500 object properties"),
        ({"a": {"enum": [*range(501)]}}, "maximum of 500 enum values"),
        (LEVELS["properties"], "maximum nesting depth of 10 levels"),
    ],
    ids=["characters", "properties", "values", "levels"],
)
def test_strict_schemas_beyond_a_limit_are_refused_of_formats_and_tools(properties: dict[str, Any], fault: str) -> None:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": schema}}
    tool = {"type": "function", "function": {"name": "a", "strict": True, "parameters": schema}}
    for fields in ({"response_format": form}, {"tools": [tool]}):
        answer = ask("cerebras", sent(**fields), path=PATH, method="POST", edition="observed")
        assert (answer.status, answer.json()["message"]) == (400, f"Schema exceeds the {fault}.")


# --- images ------------------------------------------------------------------------------------------------------


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", width, height)


def jpeg(width: int, height: int) -> bytes:
    head = b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"JFIF" + bytes(10)
    return head + b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + bytes(12)


def data_url(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("kind, make", [("png", png), ("jpeg", jpeg)])
@pytest.mark.parametrize("width, height, count", [(336, 226, 260), (512, 512, 256), (672, 672, 256)])
def test_an_image_counts_the_tokens_of_the_vendors_table(
    kind: str, make: Any, width: int, height: int, count: int
) -> None:
    assert image_tokens(data_url(kind, make(width, height))) == count


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/a.png",
        "data:image/png;base64,!",
        data_url("png", b"no image"),
        data_url("png", png(0, 9)),
        data_url("jpeg", jpeg(9, 9)[:30]),
        "",
    ],
)
def test_an_image_whose_size_nobody_can_tell_counts_as_a_usual_one(url: str) -> None:
    assert image_tokens(url) == 256


@pytest.mark.parametrize("model", [GEMMA, "qwen-3.8-27b"])
@both_editions
def test_images_count_change_the_answer_and_are_told_in_the_usage(edition: Edition, model: str) -> None:
    def look(*images: bytes) -> Answer:
        shown = [{"type": "image_url", "image_url": {"url": data_url("png", image)}} for image in images]
        content = [{"type": "text", "text": "Describe this image."}, *shown]
        return chat(model, edition=edition, messages=[{"role": "user", "content": content}])

    none, one, other, two = look(), look(png(512, 512)), look(png(336, 226)), look(png(512, 512), png(336, 226))
    usages = [answer.json()["usage"] for answer in (none, one, other, two)]
    counted = usages if model == GEMMA else [usage["prompt_tokens_details"] for usage in usages]
    assert [usage["image_tokens"] for usage in counted] == [0, 256, 260, 516]
    assert two.json()["usage"]["prompt_tokens"] == none.json()["usage"]["prompt_tokens"] + 516
    assert len({message(answer)["content"] for answer in (none, one, other, two)}) == 4


def test_an_image_in_the_shorter_form_is_the_same_image() -> None:
    url = data_url("png", png(512, 512))
    forms = [{"type": "image_url", "image_url": {"url": url, "detail": "low"}}, {"type": "image", "image": url}]
    answers = [chat(GEMMA, messages=[{"role": "user", "content": [form]}]).json() for form in forms]
    assert answers[0]["choices"] == answers[1]["choices"]
    assert answers[0]["usage"] == answers[1]["usage"]


def test_a_model_that_nobody_knows_may_see() -> None:
    content = [{"type": "image_url", "image_url": {"url": data_url("png", png(512, 512))}}]
    assert chat("my-own-model", messages=[{"role": "user", "content": content}]).status == 200


# --- fields ------------------------------------------------------------------------------------------------------


def test_nulls_stand_for_fields_that_are_not_there() -> None:
    names = (
        "stream stream_options max_completion_tokens max_tokens min_completion_tokens min_tokens seed stop temperature "
        "top_p frequency_penalty presence_penalty logit_bias logprobs top_logprobs n tools tool_choice "
        "parallel_tool_calls response_format prediction reasoning_effort reasoning_format clear_thinking "
        "service_tier prompt_cache_key model_parameters user"
    )
    for edition in EDITIONS:
        nulls: dict[str, Any] = dict.fromkeys(names.split())
        assert chat(OSS, edition=edition, **nulls).json()["choices"] == chat(OSS, edition=edition).json()["choices"]


def test_fields_without_effect_are_accepted_in_both_editions() -> None:
    fields: dict[str, Any] = {
        "service_tier": "flex",
        "prompt_cache_key": "k",
        "model_parameters": {"a": 1},
        "user": "u",
    }
    for edition in EDITIONS:
        assert chat(edition=edition, **fields).json()["choices"] == chat(edition=edition).json()["choices"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_only_a_request_that_leaves_the_tier_to_the_service_is_told_which_was_used(edition: Edition) -> None:
    plain = chat(edition=edition, max_tokens=3).json()
    told = chat(edition=edition, max_tokens=3, service_tier="auto").json()
    assert {**told, "id": plain["id"]} == {**plain, "service_tier_used": "default"}
    *chunks, last, _ = chat(edition=edition, max_tokens=3, service_tier="auto", stream=True).events()
    assert last["service_tier_used"] == "default"
    for chunk in (*chunks, *chat(edition=edition, max_tokens=3, service_tier="flex", stream=True).events()[:-1]):
        assert "service_tier_used" not in chunk


def test_the_documented_edition_ignores_what_it_does_not_know() -> None:
    history = [ASKED, {"role": "assistant", "content": "Hi", "reasoning_content": "x", "refusal": None}, ASKED]
    plain = [ASKED, {"role": "assistant", "content": "Hi"}, ASKED]
    answer = chat(messages=history, store=True, thinking={"type": "enabled"})
    assert answer.json()["choices"] == chat(messages=plain).json()["choices"]


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_a_limit_of_minus_one_is_none(limit: str) -> None:
    assert chat(**{limit: -1}).json()["choices"] == chat().json()["choices"]
    assert chat(**{limit: 3}).json()["usage"]["completion_tokens"] == 3


def test_todays_names_of_the_limits_go_before_the_older() -> None:
    limits = requested(max_tokens=9, max_completion_tokens=4, min_tokens=3, min_completion_tokens=2).limits
    assert (limits.max_tokens, limits.min_tokens) == (4, 2)
    assert requested(min_tokens=-1, max_tokens=50).limits.min_tokens == 131_072


def test_every_field_of_sampling_comes_to_the_model() -> None:
    fields: dict[str, Any] = {
        "seed": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "frequency_penalty": 0.5,
        "presence_penalty": -0.5,
        "logit_bias": {"42": 1.5},
        "stop": ["a", "b"],
        "n": 2,
    }
    request = requested(**fields)
    sampling = request.sampling
    assert (sampling.seeds, sampling.temperature, sampling.top_p) == ((7,), 0.5, 0.9)
    assert (sampling.frequency_penalty, sampling.presence_penalty, sampling.logit_bias) == (0.5, -0.5, ((42, 1.5),))
    assert (request.stops.texts, request.n) == (("a", "b"), 2)


def test_a_stop_ends_the_text_and_no_thought() -> None:
    whole = message(chat(OSS))
    stop = whole["content"][20:26]
    assert " " in whole["reasoning"]
    cut = message(chat(OSS, stop=[stop]))
    assert cut == {**whole, "content": whole["content"][: whole["content"].index(stop)]}
    assert message(chat(OSS, stop=" "))["reasoning"] == whole["reasoning"]


@pytest.mark.parametrize(
    "content", ["Rain in Oslo", [{"type": "text", "text": "Rain in "}, {"type": "text", "text": "Oslo"}]]
)
@pytest.mark.parametrize("role", ["system", "developer", "user"])
def test_content_may_be_a_text_or_parts_of_it(role: str, content: Any) -> None:
    said_whole = {"role": role, "content": "Rain in Oslo", "name": "n"}
    answers = [chat(messages=[each, ASKED]).json() for each in (said_whole, {"role": role, "content": content})]
    assert answers[0]["choices"] == answers[1]["choices"]


def test_a_prediction_is_told_in_the_usage_of_every_model() -> None:
    content = message(chat())["content"]
    for given in (content, [{"type": "text", "text": content}]):
        usage = chat(prediction={"type": "content", "content": given}).json()["usage"]
        assert usage["completion_tokens_details"]["accepted_prediction_tokens"] == len(tokens.encode(content))


# --- faults ------------------------------------------------------------------------------------------------------


def test_an_error_amid_a_stream_of_thoughts_has_the_captured_form() -> None:
    fault = '{ kind = "error_event", error = "server_error", after_event = 3 }'
    events = chat(OSS, stream=True, headers={"x-mockserver-fault": fault}).events()
    assert [list(event["choices"][0]["delta"]) for event in events[:3]] == [["role"], ["reasoning"], ["reasoning"]]
    assert events[3:] == [
        {
            "status_code": 500,
            "error": {
                "message": "Encountered a server error, please try again.",
                "type": "server_error",
                "param": "",
                "code": "",
                "id": "",
            },
        }
    ]


@plain_and_streamed
def test_a_broken_call_and_a_content_filter_can_be_had_of_chats(stream: bool) -> None:
    broken = chat(tools=TOOLS, stream=stream, headers={"x-mockserver-fault": "broken_tool_call"})
    calls = gathered(broken) if stream else message(broken)["tool_calls"]
    with pytest.raises(json.JSONDecodeError):
        json.loads(calls[-1]["function"]["arguments"])
    filtered = chat(stream=stream, headers={"x-mockserver-fault": '{ kind = "finish", reason = "content_filter" }'})
    ends = [part.get("finish_reason") for part in parts(filtered)] if stream else [choice(filtered)["finish_reason"]]
    assert ends[-1] == "content_filter"
