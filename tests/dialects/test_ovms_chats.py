"""Chats of OpenVINO Model Server: the exact wire, what each parameter does, thoughts and tools."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS
from mockserver.dialects.ovms.models import sees, thinking
from mockserver.dialects.ovms.read import reasoning_of
from mockserver.model import tokens
from mockserver.state.namespaces import Namespace
from mockserver.state.settings import Settings
from mockserver.state.stubs.parse_stubs import read_stub
from tests.support.asking import FROZEN, QUIET, Answer, ask
from tests.support.reading import choice, message

PATH = "/v3/chat/completions"
QUESTION = "Tell me about the harbour of Antalya."
QWEN = "OpenVINO/Qwen3-8B-int4-ov"
PNG = "data:image/png;base64,iVBORw0KGgoA"
WEATHER = "What is the weather in Oslo and Bergen?"
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
    for name, description in (("get_weather", "The weather of a city"), ("get_time", "The local time of a city"))
]


def user(content: object) -> list[dict[str, object]]:
    return [{"role": "user", "content": content}]


def chat(prompt: object = QUESTION, settings: Settings = QUIET, **fields: Any) -> Answer:
    body = {"model": "llama3", "messages": user(prompt), **fields}
    return ask("ovms", body, path=PATH, method="POST", settings=settings)


def prepared(reply: object, **fields: Any) -> Answer:
    """What a chat answers where a stub replies to everything."""
    space = Namespace("")
    space.stubs.add(read_stub({"reply": reply}))
    body = {"model": "llama3", "messages": user(QUESTION), **fields}
    return ask("ovms", body, path=PATH, method="POST", namespace=space)


def deltas(answer: Answer) -> list[dict[str, Any]]:
    return [each["delta"] for event in answer.events()[:-1] for each in event["choices"]]


def said(answer: Answer, key: str = "content") -> str:
    return "".join(delta.get(key) or "" for delta in deltas(answer))


def called(answer: Answer) -> list[tuple[str, str]]:
    """The calls of a stream, put together as a client does it."""
    calls: list[list[str]] = []
    for delta in deltas(answer):
        for piece in delta.get("tool_calls", ()):
            if "id" in piece:
                assert piece["index"] == len(calls)
                calls.append([piece["function"]["name"], ""])
            else:
                calls[piece["index"]][1] += piece["function"]["arguments"]
    return [(name, arguments) for name, arguments in calls]


def reasons(answer: Answer) -> list[str | None]:
    return [each["finish_reason"] for event in answer.events()[:-1] for each in event["choices"]]


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def event(choices: Sequence[Mapping[str, object]], **more: object) -> bytes:
    chunk = {"choices": choices, "created": int(FROZEN), "model": "llama3", "object": "chat.completion.chunk", **more}
    return b"data: " + compact(chunk) + b"\n\n"


# --- one body ----------------------------------------------------------------------------------------------------


def test_a_plain_answer_is_these_bytes_around_its_text() -> None:
    answer = chat(max_tokens=4)
    content = message(answer)["content"]
    told = {"content": content, "role": "assistant", "tool_calls": []}
    count = tokens.count(QUESTION) + 7
    assert answer.body == compact(
        {
            "choices": [{"finish_reason": "length", "index": 0, "logprobs": None, "message": told}],
            "created": int(FROZEN),
            "model": "llama3",
            "object": "chat.completion",
            "usage": {"prompt_tokens": count, "completion_tokens": 4, "total_tokens": count + 4},
        }
    )


def test_a_row_of_logprobs_is_these_bytes_whatever_alternatives_are_asked_for() -> None:
    answer = chat("Напиши о море 😀", max_tokens=9, temperature=1.9, logprobs=True, top_logprobs=5)
    rows = choice(answer)["logprobs"]["content"]
    assert [list(row) for row in rows] == [["token", "logprob", "bytes", "top_logprobs"]] * 9
    assert "".join(row["token"] for row in rows) == message(answer)["content"]
    assert [bytes(row["bytes"]).decode() for row in rows] == [row["token"] for row in rows]
    assert all(-100 < row["logprob"] <= 0 and row["top_logprobs"] == [] for row in rows)
    assert choice(chat(max_tokens=9, logprobs=False))["logprobs"] is None


def test_the_newer_name_of_the_limit_goes_before_the_older() -> None:
    def spent(**fields: Any) -> int:
        return int(chat(**fields).json()["usage"]["completion_tokens"])

    assert spent(max_completion_tokens=3, max_tokens=9) == 3
    assert spent(max_completion_tokens=9, max_tokens=3) == 9
    assert spent(max_completion_tokens=9, max_tokens=0) == 9
    assert spent(max_tokens=3) == 3


def test_the_window_has_to_hold_the_prompt_and_the_limit_that_counts() -> None:
    assert chat(max_completion_tokens=8000, max_tokens=9000).status == 200
    assert chat(ignore_eos=True).json()["usage"]["total_tokens"] == 8192
    refused = chat(max_completion_tokens=8190)
    count = tokens.count(QUESTION) + 7
    assert refused.json()["error"].endswith(
        f"Number of prompt tokens: {count} + max tokens value: 8190 exceeds model max length: 8192"
    )


def test_several_choices_come_from_a_beam_search_alone() -> None:
    answer = chat(n=2, best_of=3, max_tokens=30)
    texts = [each["message"]["content"] for each in answer.json()["choices"]]
    assert len({*texts}) == 2
    assert answer.json()["usage"]["completion_tokens"] == 60


def test_a_stop_is_left_out_of_an_answer_and_left_in_a_stream() -> None:
    whole = message(chat(max_tokens=30))["content"]
    stop = whole[len(whole) // 2 :][:5]
    before = whole[: whole.index(stop)]
    assert message(chat(max_tokens=30, stop=[stop]))["content"] == before
    assert said(chat(max_tokens=30, stop=stop, stream=True)) == before + stop


def test_all_paths_answer_alike_in_both_editions() -> None:
    body = {"model": "llama3", "messages": user(QUESTION), "max_tokens": 5}
    paths = [PATH, "/v3/v1/chat/completions", "/v1/chat/completions"]
    answers = [ask("ovms", body, path=path, method="POST", edition=edition) for path in paths for edition in EDITIONS]
    assert len({answer.body for answer in answers}) == 1


@pytest.mark.parametrize(
    "field", ["tools", "tool_choice", "response_format", "logprobs", "max_completion_tokens", "chat_template_kwargs"]
)
def test_null_is_absent_for_the_newer_server(field: str) -> None:
    null: dict[str, Any] = {field: None}
    assert chat(**null).json() == chat().json()


# --- what a conversation is --------------------------------------------------------------------------------------


def test_the_history_decides_the_answer_and_counts() -> None:
    history = [*user("Hello"), {"role": "assistant", "content": "Hi!"}, *user(QUESTION)]
    one, longer = chat(), chat(messages=history)
    assert message(one) != message(longer)
    assert longer.json()["usage"]["prompt_tokens"] > one.json()["usage"]["prompt_tokens"]


def test_several_texts_are_read_as_lines() -> None:
    parts = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": QUESTION}]
    assert chat(parts).json() == chat(f"Be brief.\n{QUESTION}").json()


def test_a_model_that_sees_counts_pictures() -> None:
    text = {"type": "text", "text": QUESTION}
    parts = [text, {"type": "image_url", "image_url": {"url": PNG}}]
    plain, seen = (chat(content, model="llava") for content in ([text], parts))
    assert seen.json()["usage"]["prompt_tokens"] == plain.json()["usage"]["prompt_tokens"] + 256
    other = [text, {"type": "image_url", "image_url": {"url": PNG + "AAAA"}}]
    assert message(seen) != message(chat(other, model="llava"))


def test_what_the_newer_server_does_not_know_of_a_message_means_nothing() -> None:
    odd = {"role": "user", "content": QUESTION, "name": 7, "audio": None, "tool_calls": "none", "reasoning_content": ""}
    assert chat(messages=[odd]).json() == chat().json()
    assert chat(messages=[{"role": "user", "content": 5}]).status == 200
    assert chat([]).status == 200


@pytest.mark.parametrize("model, status", [("llama3", 200), ("Qwen2-VL-7B", 400)])
def test_only_vision_models_refuse_the_mark_of_an_image_in_a_text(model: str, status: int) -> None:
    assert chat("look at <ov_genai_image_0> this", model=model).status == status


# --- streams -----------------------------------------------------------------------------------------------------


def test_a_stream_is_these_bytes_around_its_texts() -> None:
    answer = chat(max_tokens=8, stream=True, stream_options={"include_usage": True})
    parts = [delta["content"] for delta in deltas(answer) if delta["content"] is not None]

    def piece(text: str, reason: str | None) -> dict[str, object]:
        return {"index": 0, "logprobs": None, "delta": {"content": text}, "finish_reason": reason}

    hello = {"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": None}
    usage = chat(max_tokens=8).json()["usage"]
    assert answer.body == b"".join(
        (
            event([hello]),
            *(event([piece(text, None)], usage=None) for text in parts[:-1]),
            event([piece(parts[-1], "length")], usage=None),
            event([], usage=usage),
            b"data: [DONE]\n\n",
        )
    )


def test_a_stream_says_what_the_plain_answer_says() -> None:
    for fields in ({}, {"max_tokens": 1}, {"max_tokens": 2}, {"max_tokens": 3}, {"temperature": 0}, {"model": QWEN}):
        plain, stream = chat(**fields), chat(stream=True, **fields)
        assert said(stream) == message(plain)["content"]
        assert said(stream, "reasoning_content") == message(plain).get("reasoning_content", "")
        assert reasons(stream) == [None] * (len(reasons(stream)) - 1) + [choice(plain)["finish_reason"]]


def test_the_handshake_comes_while_there_is_a_token_but_no_text() -> None:
    assert deltas(chat(stream=True))[0] == {"role": "assistant", "content": None}
    assert deltas(chat(stream=True, max_tokens=1))[0].keys() == {"content"}


def test_only_a_finish_that_is_left_has_an_empty_delta() -> None:
    assert deltas(prepared("It rains.\n", stream=True))[-1] == {}
    assert deltas(prepared("", stream=True)) == [{}]


def test_each_frame_says_how_many_tokens_it_carries() -> None:
    fields: dict[str, Any]
    for fields in ({"max_tokens": 9}, {}, {"model": QWEN}, {"tools": TOOLS, "prompt": WEATHER}, {"max_tokens": 1}):
        answer = chat(stream=True, **fields)
        carried = [count for run in answer.plan.timeline.runs for count in run.tokens]
        assert answer.plan.generation is not None
        assert sum(carried) == answer.plan.generation.usage.completion_tokens
        assert min(carried) == 0


@pytest.mark.parametrize("fields", [{}, {"model": QWEN}, {"tools": TOOLS, "prompt": WEATHER}], ids=str)
def test_events_leave_in_the_order_of_their_tokens(fields: dict[str, Any]) -> None:
    settings = Settings(created=FROZEN, latency="ovms")
    answer = chat(settings=settings, stream=True, stream_options={"include_usage": True}, **fields)
    due = [instant for run in answer.plan.timeline.runs for instant in run.due]
    assert due == sorted(due)
    assert len(set(due)) > 4
    assert len(set(due[-3:])) == 1


# --- thoughts ----------------------------------------------------------------------------------------------------


def test_thoughts_stand_between_content_and_role_and_count_in_the_usage() -> None:
    answer = chat(model=QWEN)
    assert list(message(answer)) == ["content", "reasoning_content", "role", "tool_calls"]
    generation = answer.plan.generation
    assert generation is not None
    [told] = generation.choices
    assert message(answer)["reasoning_content"] == "".join(told.thoughts) + "\n"
    assert answer.json()["usage"]["completion_tokens"] == len(told.thoughts) + len(told.ids)


def test_thoughts_come_first_in_a_stream_and_all_of_them_before_the_first_text() -> None:
    keys = [key for delta in deltas(chat(model=QWEN, stream=True))[1:] for key in delta]
    thought = keys.count("reasoning_content")
    assert keys == ["reasoning_content"] * thought + ["content"] * (len(keys) - thought)
    assert 0 < thought < len(keys)


def test_a_limit_that_ends_the_thoughts_leaves_nothing_to_say() -> None:
    cut, stream = chat(model=QWEN, max_tokens=7), chat(model=QWEN, max_tokens=7, stream=True)
    assert (message(cut)["content"], choice(cut)["finish_reason"]) == ("", "length")
    assert message(chat(model=QWEN))["reasoning_content"].startswith(message(cut)["reasoning_content"])
    assert deltas(stream)[-1].keys() == {"reasoning_content"}
    assert reasons(stream)[-1] == "length"


def test_a_template_that_is_told_not_to_think_does_not() -> None:
    quiet = chat(model=QWEN, chat_template_kwargs={"enable_thinking": False})
    assert list(message(quiet)) == ["content", "role", "tool_calls"]
    assert "reasoning_content" in message(chat(model=QWEN, chat_template_kwargs={"enable_thinking": True}))
    # At the top "reasoning_effort" is nobody's: vendor's issue 4495.
    assert "reasoning_content" in message(chat(model=QWEN, reasoning_effort="none"))


def test_the_effort_of_a_harmony_model_is_its_templates() -> None:
    def thought(**fields: Any) -> int:
        return len(message(chat(model="gpt-oss-20b", **fields))["reasoning_content"])

    low, high = (thought(chat_template_kwargs={"reasoning_effort": each}) for each in ("low", "high"))
    assert low < thought() < high
    assert thought(chat_template_kwargs={"enable_thinking": False, "reasoning_effort": 7}) == thought()


@pytest.mark.parametrize("skipped", [True, None], ids=["skipping", "null"])
def test_without_parsers_nothing_is_told_apart(skipped: bool | None) -> None:
    assert message(chat(model=QWEN, skip_special_tokens=skipped))["reasoning_content"]
    assert "reasoning_content" not in message(chat(model=QWEN, skip_special_tokens=False))
    written = message(chat(prompt=WEATHER, tools=TOOLS, skip_special_tokens=False))
    assert written == {
        "content": '{"name": "get_weather", "parameters": {"city": "Oslo"}}'
        '{"name": "get_weather", "parameters": {"city": "Bergen"}}',
        "role": "assistant",
        "tool_calls": [],
    }


@pytest.mark.parametrize(
    "name, thinks",
    [
        ("OpenVINO/Qwen3-8B-int4-ov", True),
        ("Qwen/Qwen3.5-35B-A3B", True),
        ("Qwen3-4B-Thinking-2507", True),
        ("Qwen3-4B-Instruct-2507", False),
        ("Qwen3-Coder-30B-A3B-Instruct", False),
        ("Qwen2.5-7B-Instruct", False),
        ("openai/gpt-oss-120b", True),
        ("DeepSeek-R1-Distill-Qwen-32B", True),
        ("gemma-4-31b", False),
        ("llama3", False),
        ("mistralai/Mistral-7B-Instruct-v0.3", False),
    ],
)
def test_a_models_name_tells_whether_it_thinks_unasked(name: str, thinks: bool) -> None:
    assert (reasoning_of(name, {})[0] is not None) == thinks
    assert thinking(name) is not None or not thinks


def test_a_model_may_think_only_when_it_is_asked_to() -> None:
    assert reasoning_of("gemma-4-31b", {"enable_thinking": True}) == ("medium", True)


@pytest.mark.parametrize(
    "name, seeing",
    [("OpenGVLab/InternVL2-8B", True), ("Qwen2.5-VL-7B", True), ("llava-1.5", True), ("Phi-3.5-vision", True)]
    + [("OpenVINO/Qwen3.6-35B-A3B-int4-ov", True), ("Phi-4-multimodal-instruct", True), ("Qwen3-8B", False)]
    + [(name, False) for name in ("llama3", "Qwen3-8B", "evlm", "velvet-2b")],
)
def test_a_models_name_tells_whether_it_sees(name: str, seeing: bool) -> None:
    assert sees(name) == seeing


# --- tools -------------------------------------------------------------------------------------------------------


def test_calls_have_ids_of_nine_letters_and_digits_and_an_empty_content() -> None:
    answer = chat(prompt=WEATHER, tools=TOOLS)
    told = message(answer)
    assert (told["content"], choice(answer)["finish_reason"]) == ("", "tool_calls")
    assert [call["function"]["arguments"] for call in told["tool_calls"]] == ['{"city": "Oslo"}', '{"city": "Bergen"}']
    assert [list(call) for call in told["tool_calls"]] == [["id", "type", "function"]] * 2
    ids = [call["id"] for call in told["tool_calls"]]
    assert all(len(each) == 9 and each.isascii() and each.isalnum() for each in ids)
    assert len({*ids}) == 2


def test_a_streams_calls_are_the_plain_ones_in_pieces() -> None:
    plain, stream = (chat(prompt=WEATHER, tools=TOOLS, stream=each) for each in (False, True))
    functions = [call["function"] for call in message(plain)["tool_calls"]]
    assert called(stream) == [(each["name"], each["arguments"]) for each in functions]
    assert reasons(stream) == [None] * (len(reasons(stream)) - 1) + ["tool_calls"]
    hello, first, second, *_ = deltas(stream)
    [begun], [piece] = first["tool_calls"], second["tool_calls"]
    assert hello == {"role": "assistant", "content": None}
    assert list(begun) == ["id", "type", "index", "function"]
    assert begun["function"] == {"name": "get_weather"}
    assert list(piece) == ["index", "function"]
    assert list(piece["function"]) == ["arguments"]


def test_a_thinking_model_thinks_before_it_calls() -> None:
    answer = chat(model=QWEN, prompt=WEATHER, tools=TOOLS, stream=True)
    keys = [key for delta in deltas(answer)[1:] for key in delta]
    assert keys[0] == "reasoning_content"
    assert keys[-1] == "tool_calls"
    assert said(answer, "reasoning_content").endswith("\n")
    assert said(answer) == ""
    assert len(called(answer)) == 2


@pytest.mark.parametrize("limit", range(1, 12))
def test_a_limit_cuts_calls_and_says_length_rather_than_calls(limit: int) -> None:
    whole = chat(prompt=WEATHER, tools=TOOLS, stream=True)
    cut = chat(prompt=WEATHER, tools=TOOLS, stream=True, max_tokens=limit)
    assert reasons(cut)[-1] == "length"
    assert "".join(map("".join, called(whole))).startswith("".join(map("".join, called(cut))))
    plain = chat(prompt=WEATHER, tools=TOOLS, max_tokens=limit)
    functions = [call["function"] for call in message(plain)["tool_calls"]]
    assert called(cut) == [(each["name"], each["arguments"]) for each in functions]


def test_a_choice_says_whether_tools_are_called_and_which() -> None:
    def names(choice: object, prompt: str = WEATHER) -> list[str]:
        answer = chat(prompt=prompt, tools=TOOLS, tool_choice=choice)
        return [call["function"]["name"] for call in message(answer)["tool_calls"]]

    assert names("auto") == ["get_weather"] * 2
    assert names("auto", QUESTION) == names("none") == []
    assert names("required", QUESTION)
    assert names({"type": "function", "function": {"name": "get_time"}}) == ["get_time"]
    assert names({"type": "function", "name": "get_time"}) == ["get_time"]
    # "a name keeps only that tool", and nobody's keeps none.
    assert names({"type": "function", "function": {"name": "other"}}) == []


@pytest.mark.parametrize(
    "model, enforced",
    [
        ("llama3", True),
        ("OpenVINO/Qwen3-8B-int4-ov", True),
        ("microsoft/Phi-4-mini-instruct", True),
        ("mistralai/Devstral-Small-2507", True),
        ("mistralai/Mistral-7B-Instruct-v0.3", False),
        ("openai/gpt-oss-20b", False),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", False),
        ("google/gemma-4-31B-it", False),
        ("openbmb/MiniCPM5-8B", False),
    ],
)
def test_a_required_call_is_left_to_models_that_the_server_cannot_force(model: str, enforced: bool) -> None:
    unasked = chat(model=model, tools=TOOLS, tool_choice="required")
    assert bool(message(unasked)["tool_calls"]) is enforced
    asked = chat(model=model, prompt=WEATHER, tools=TOOLS, tool_choice="required")
    assert message(asked)["tool_calls"]
    body = {"model": model, "input": QUESTION, "tools": TOOLS, "tool_choice": "required"}
    response = ask("ovms", body, path="/v3/responses", method="POST", edition="observed").json()
    assert any(item["type"] == "function_call" for item in response["output"]) is enforced
    assert response["tool_choice"] == "required"


def test_tools_that_are_not_chosen_are_not_looked_at() -> None:
    broken = [{"type": "function", "function": {"name": "broken", "parameters": 1}}]
    assert chat(tools=broken).status == 400
    assert chat(tools=broken, tool_choice="none").status == 200
    chosen = {"type": "function", "function": {"name": "get_weather"}}
    assert chat(prompt=WEATHER, tools=[*TOOLS, *broken], tool_choice=chosen).status == 200


def test_a_tool_may_have_its_fields_beside_its_type() -> None:
    flat = [{"type": "function", **tool["function"]} for tool in TOOLS]
    nested, beside = (message(chat(prompt=WEATHER, tools=tools))["tool_calls"] for tools in (TOOLS, flat))
    assert [call["function"] for call in beside] == [call["function"] for call in nested]


@pytest.mark.parametrize(
    "parameters",
    [{"type": "string"}, {"type": "object", "properties": 5}, {"required": ["a"], "properties": {"a": False}}],
)
def test_arguments_that_nothing_could_keep_to_are_those_of_a_free_schema(parameters: object) -> None:
    tool = {"type": "function", "function": {"name": "get_weather", "description": 5, "parameters": parameters}}
    [call] = message(chat(prompt="Weather?", tools=[tool], tool_choice="required"))["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {}


def test_names_that_a_field_has_too_leave_the_order_of_a_schema_alone() -> None:
    properties = {name: {"type": "string"} for name in ("stop", "seed", "model", "city")}
    parameters = {"type": "object", "properties": properties, "required": [*properties]}
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": parameters}}
    [call] = message(chat(tools=[tool], tool_choice="required", seed=1))["tool_calls"]
    assert [*json.loads(call["function"]["arguments"])] == [*properties]


def test_the_result_of_a_tool_is_answered_in_words() -> None:
    call = {"id": "a1B2c3D4e", "type": "function", "function": {"name": "get_weather"}}
    history = [
        *user("What is the weather in Oslo?"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a1B2c3D4e", "content": "rain and 9 degrees"},
    ]
    answer = chat(messages=history, tools=TOOLS)
    assert "rain and 9 degrees" in message(answer)["content"]
    assert (message(answer)["tool_calls"], choice(answer)["finish_reason"]) == ([], "stop")


# --- forms -------------------------------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {"town": {"type": "string"}},
    "required": ["town"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "form",
    [
        {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": SCHEMA}},
        {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": SCHEMA}},
    ],
    ids=["schema", "tag"],
)
def test_a_form_binds_the_content(form: object) -> None:
    plain, stream = chat(response_format=form), chat(response_format=form, stream=True)
    assert json.loads(message(plain)["content"]).keys() == {"town"}
    assert said(stream) == message(plain)["content"]


CHOICE = {"type": "or", "elements": [{"type": "const_string", "value": each} for each in ("positive", "a+b (c)")]}


@pytest.mark.parametrize(
    "form, pattern",
    [
        ({"type": "regex", "pattern": r"\w+\.\w+@company\.com"}, r"\w+\.\w+@company\.com"),
        (CHOICE, r"positive|a\+b \(c\)"),
        ({"type": "structural_tag", "format": {"type": "const_string", "value": "[yes]"}}, r"\[yes\]"),
        (
            {"type": "sequence", "elements": [{"type": "const_string", "value": "It is "}, CHOICE]},
            "It is (positive|a.*)",
        ),
    ],
    ids=["regex", "choice", "tag", "sequence"],
)
def test_a_tag_that_is_a_pattern_binds_the_content(form: object, pattern: str) -> None:
    found = [message(chat(response_format=form, seed=seed))["content"] for seed in range(8)]
    assert [text for text in found if not re.fullmatch(pattern, text)] == []


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"type": "regex"},
        {"type": "regex", "pattern": "("},
        {"type": "or", "elements": []},
        {"type": "or", "elements": [{"type": "const_string", "value": "a"}, {"type": "any_text"}]},
        {"type": "structural_tag", "format": "text"},
        {"type": "text"},
        {"type": "json_object"},
        {"type": "json_schema"},
        {"type": "json_schema", "json_schema": {"schema": {"type": "nothing"}}},
        {"type": "structural_tag", "structures": [{"begin": "<a>", "schema": {}, "end": "</a>"}], "triggers": ["<a>"]},
    ],
    ids=str,
)
def test_a_form_that_the_engine_cannot_use_is_dropped_silently(form: object) -> None:
    assert chat(response_format=form).json() == chat().json()


# --- stubs -------------------------------------------------------------------------------------------------------

CALL = {"name": "get_weather", "arguments": {"city": "Rome"}}


def test_a_prepared_answer_thinks_speaks_and_calls_in_that_order() -> None:
    reply = {"text": "I will look.", "reasoning": "They ask.", "tool_calls": [CALL, CALL]}
    told, stream = message(prepared(reply)), prepared(reply, stream=True)
    assert (told["content"], told["reasoning_content"]) == ("I will look.", "They ask.")
    assert [call["function"]["name"] for call in told["tool_calls"]] == ["get_weather"] * 2
    assert (said(stream), said(stream, "reasoning_content")) == ("I will look.", "They ask.")
    assert [json.loads(arguments) for _, arguments in called(stream)] == [{"city": "Rome"}] * 2
    order = [key for delta in deltas(stream)[1:] for key in delta]
    assert order == sorted(order, key=["reasoning_content", "content", "tool_calls"].index)
    assert reasons(stream)[-1] == "tool_calls"


# --- chat templates ----------------------------------------------------------------------------------------------

GRAPH = (
    "Mediapipe execution failed. MP status - INVALID_ARGUMENT: CalculatorGraph::Run() failed: \n"
    'Calculator::Process() for node "LLMExecutor" failed: '
)
MISTRAL, GEMMA = "OpenVINO/Mistral-7B-Instruct-v0.3-int4-cw-ov", "google/gemma-2-9b-it"
ALTERNATE = "onversation roles must alternate user/assistant/user/assistant/..."
AFTER_SYSTEM = f"After the optional system message, c{ALTERNATE}"


def turns(*roles: str, text: str | None = "Hello") -> list[dict[str, Any]]:
    return [{"role": role, "content": text} for role in roles]


def with_call(id_: str, arguments: str = "{}", content: str | None = "") -> list[dict[str, Any]]:
    """A question, a call, and its result."""
    call = {"id": id_, "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    calls = {"role": "assistant", "content": content, "tool_calls": [call]}
    return [*user(WEATHER), calls, {"role": "tool", "tool_call_id": id_, "content": "rain"}]


@pytest.mark.parametrize(
    "model, messages, text",
    [
        (MISTRAL, turns("system", "user", "user"), AFTER_SYSTEM),
        (MISTRAL, turns("user", "assistant", "system"), AFTER_SYSTEM),
        (
            "mistralai/Mistral-Nemo-Instruct-2407",
            turns("user", "developer"),
            "Only user and assistant roles are supported, with the exception of an initial optional system message!",
        ),
        (MISTRAL, with_call("call_abc"), "Tool call IDs should be alphanumeric strings with length 9!"),
        (MISTRAL, with_call("a1B2c3D4e"), None),
        (MISTRAL, [*with_call("a1B2c3D4e"), *turns("assistant", "user")], None),
        (MISTRAL, turns("user", text=None), 'can only concatenate str (not "NoneType") to str'),
        (
            "mistralai/Ministral-3-8B-Instruct-2512",
            turns("user", "assistant", "system"),
            "Only user, assistant and tool roles are supported, got system.",
        ),
        ("mistralai/Ministral-3-8B-Instruct-2512", with_call("call_abc"), None),
        ("unsloth/Devstral-Small-2507", with_call("call_abc", content=None), "None has no element 0"),
        ("unsloth/Devstral-Small-2507", turns("user", "user"), None),
        (GEMMA, turns("system", "user"), "System role not supported"),
        (GEMMA, turns("user", "user"), f"C{ALTERNATE}"),
        ("google/gemma-3-12b-it", turns("system", "user"), None),
        ("google/gemma-3-12b-it", with_call("x"), f"C{ALTERNATE}"),
        ("google/gemma-4-31B-it", turns("user", "user"), None),
        ("OpenVINO/Qwen3.6-35B-A3B-int4-ov", turns("system"), "No user query found in messages."),
        ("Qwen/Qwen3.5-4B", turns("user", "system"), "System message must be at the beginning."),
        ("Qwen/Qwen3.5-4B", turns("user", "developer"), "Unexpected message role."),
        ("Qwen/Qwen3.5-4B", with_call("x", "not JSON"), "Can only get item pairs from a mapping."),
        (QWEN, turns("system"), None),
        ("OpenVINO/Qwen3-VL-8B-Instruct-int4-ov", with_call("x", content=None), "'NoneType' object is not iterable"),
        (
            "openai/gpt-oss-20b",
            turns("user", "tool"),
            "Message has tool role, but there was no previous assistant message with a tool call!",
        ),
        (
            "meta-llama/Llama-3.1-8B-Instruct",
            [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}] * 2}, *turns("user")],
            "This model only supports single tool-calls at once!",
        ),
        ("codellama/CodeLlama-7b-Instruct-hf", turns("assistant"), f"C{ALTERNATE}"),
        ("llama3", turns("assistant", "system", "tool", "user", "user", text=None), None),
    ],
)
def test_a_chat_template_that_raises_is_a_refusal_with_its_text(
    model: str, messages: list[dict[str, Any]], text: str | None
) -> None:
    answer = chat(model=model, messages=messages)
    assert (answer.status, answer.json().get("error")) == ((200, None) if text is None else (400, GRAPH + text))


def test_a_template_reads_responses_too_and_refuses_streams_as_bare_json() -> None:
    body = {"model": GEMMA, "input": [{"role": "system", "content": "Be brief."}, *user(QUESTION)], "stream": True}
    answer = ask("ovms", body, path="/v3/responses", method="POST")
    assert (answer.status, answer.body) == (400, compact({"error": f"{GRAPH}System role not supported"}))


@pytest.mark.parametrize(
    "variables, text",
    [
        ({"add_generation_prompt": 1}, "add_generation_prompt accepts values true or false"),
        (
            {"messages": []},
            "jinja2.environment.Template.render() got multiple values for keyword argument 'messages'",
        ),
        ({"tools": [], "add_generation_prompt": False}, None),
    ],
)
def test_variables_of_a_template_must_not_be_its_own(variables: dict[str, Any], text: str | None) -> None:
    answer = chat(chat_template_kwargs=variables)
    assert (answer.status, answer.json().get("error")) == ((200, None) if text is None else (400, GRAPH + text))


@pytest.mark.parametrize(
    "fault", ["chat_template", '{ kind = "chat_template" }', '{ kind = "error", error = "chat_template" }']
)
def test_a_fault_lets_any_template_raise(fault: str) -> None:
    def faulted(fault: str) -> tuple[int, object]:
        body = {"model": "llama3", "messages": user(QUESTION)}
        answer = ask("ovms", body, path=PATH, method="POST", headers={"x-mockserver-fault": fault})
        return answer.status, answer.json()["error"]

    assert faulted(fault) == (400, f"{GRAPH}C{ALTERNATE}")
    assert faulted('{ kind = "chat_template", message = "No tools." }') == (400, f"{GRAPH}No tools.")
