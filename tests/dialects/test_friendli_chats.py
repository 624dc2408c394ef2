"""FriendliAI's chats: both wires to the byte, tools, forms, thoughts, and what each path and edition refuses."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from mockserver.dialects.friendli.dialect import FRIENDLI
from mockserver.dialects.friendli.models import MODELS, TRAITS
from mockserver.model import tokens
from mockserver.state.namespaces import Namespace
from mockserver.state.stubs.parse_stubs import read_stub
from tests.support.asking import FROZEN, QUIET, Answer, ask
from tests.support.reading import gathered, message, parts

CONTAINER = "/v1/chat/completions"
SERVERLESS = "/serverless/v1/chat/completions"
DEDICATED = "/dedicated/v1/chat/completions"
LLAMA, GLM = "meta-llama/Llama-3.3-70B-Instruct", "zai-org/GLM-5.3"
TOGGLED = "zai-org/GLM-5.2"
OSLO = {"role": "user", "content": "What's the weather in Oslo?"}
BOTH = {"role": "user", "content": "What's the weather and the time in Oslo?"}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": CITY}}
CLOCK = {"type": "function", "function": {"name": "get_time", "parameters": CITY}}
TOOLS = [WEATHER, CLOCK]
USAGE = {"stream_options": {"include_usage": True}}

both_wires = pytest.mark.parametrize("first", [True, False], ids=["documented", "observed"])


def legacy(**fields: Any) -> Answer:
    return ask("friendli", {"messages": [OSLO], **fields}, path=CONTAINER, method="POST")


def today(*where: str, **fields: Any) -> Answer:
    """Today's answer of a model, of a path: by default of one that does not think, at the shared endpoints."""
    model, path = (*where, *(LLAMA, SERVERLESS)[len(where) :])
    return ask("friendli", {"model": model, "messages": [OSLO], **fields}, path=path, method="POST")


def asked(first: bool, **fields: Any) -> Answer:
    return legacy(**fields) if first else today(**fields)


def said(answer: Answer, key: str = "content", index: int = 0) -> str:
    """What the deltas of a choice add up to under a key."""
    return "".join(part["delta"].get(key, "") for part in parts(answer) if part["index"] == index)


def made(answer: Answer) -> list[tuple[str, str]]:
    """The calls of a plain answer, by name and arguments."""
    return [(call["function"]["name"], call["function"]["arguments"]) for call in message(answer)["tool_calls"]]


def refusal(answer: Answer) -> str:
    """What today's engine says against a request."""
    assert (answer.status, list(answer.json())) == (422, ["message"])
    text: str = answer.json()["message"]
    return text


# --- the first client's wire ------------------------------------------------------------------------------------------


def test_the_first_clients_answer_has_choices_usage_and_a_time_in_the_pages_spacing() -> None:
    answer = legacy(max_tokens=5)
    body = answer.json()
    assert list(body) == ["choices", "usage", "created"]
    assert list(body["choices"][0]) == ["index", "message", "finish_reason"]
    assert list(message(answer)) == ["role", "content"]
    assert body["created"] == int(FROZEN)
    assert answer.body == json.dumps(body).encode()


def test_the_first_clients_stream_of_a_chat_ends_with_done() -> None:
    answer = legacy(max_tokens=5, stream=True)
    *chunks, done = answer.events()
    assert done == "[DONE]"
    assert {tuple(chunk) for chunk in chunks} == {("choices", "created")}
    assert [list(part) for part in parts(answer)] == [["index", "delta", "finish_reason", "logprobs"]] * 6
    assert said(answer) == message(legacy(max_tokens=5))["content"]


def test_the_first_clients_chats_are_ascii_alone() -> None:
    call = {"role": "user", "content": "Какая погода в городе Осло?"}
    for fields in ({"max_tokens": 9}, {"tools": TOOLS, "tool_choice": "required"}):
        for stream in (False, True):
            answer = legacy(messages=[call], stream=stream, **fields)
            assert answer.status == 200
            assert answer.body.isascii()
    assert not today(messages=[call], max_tokens=9).body.isascii()


def test_the_first_client_knows_no_thoughts_and_ignores_what_it_does_not_know() -> None:
    answer = legacy(model=GLM, reasoning_effort="high", thinking=True, max_tokens=5)
    assert (list(message(answer)), answer.json()["usage"]["completion_tokens"]) == (["role", "content"], 5)


def test_a_chat_that_takes_too_long_is_refused_by_the_page() -> None:
    assert legacy(timeout_microseconds=900_000).status == today(timeout_microseconds=1).status == 200
    slow = replace(QUIET, latency="ttft=1s, itl=1ms")
    body = {"messages": [OSLO], "timeout_microseconds": 900_000}
    assert ask("friendli", body, path=CONTAINER, method="POST", settings=slow).status == 429


# --- today's wire -----------------------------------------------------------------------------------------------------


def test_todays_answer_is_compact_and_has_its_keys_in_alphabetical_order() -> None:
    answer = today(max_tokens=5)
    body = answer.json()
    assert list(body) == ["choices", "created", "id", "model", "object", "usage"]
    assert list(body["choices"][0]) == ["finish_reason", "index", "message"]
    assert list(body["usage"]) == ["completion_tokens", "prompt_tokens", "total_tokens"]
    assert (body["object"], body["model"], body["created"]) == ("chat.completion", LLAMA, int(FROZEN))
    assert re.fullmatch("chatcmpl-[0-9a-f]{32}", body["id"])
    assert answer.body == json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def test_todays_stream_has_the_role_with_the_first_token_and_the_reason_alone() -> None:
    answer = today(max_tokens=3, stream=True)
    plain = message(today(max_tokens=3))["content"]
    deltas = [part["delta"] for part in parts(answer)]
    assert [list(delta) for delta in deltas] == [["content", "role"], ["content"], ["content"], []]
    assert [part["finish_reason"] for part in parts(answer)] == [None, None, None, "length"]
    assert said(answer) == plain


def test_usage_is_null_until_it_has_a_chunk_of_its_own() -> None:
    *chunks, last, done = today(max_tokens=3, stream=True, **USAGE).events()
    assert (last["choices"], done) == ([], "[DONE]")
    assert last["usage"] == today(max_tokens=3).json()["usage"]
    assert [chunk["usage"] for chunk in chunks] == [None] * 4
    assert [event["usage"] for event in today(max_tokens=3, stream=True).events()[:-1]] == [None] * 4


def test_a_container_of_today_names_the_model_that_it_is_asked_for() -> None:
    body = {"messages": [OSLO], "max_tokens": 2}
    without = ask("friendli", body, path=CONTAINER, method="POST", edition="observed").json()
    named = ask("friendli", {**body, "model": "route"}, path=CONTAINER, method="POST", edition="observed").json()
    assert list(without) == ["choices", "created", "id", "object", "usage"]
    assert named["model"] == "route"


@both_wires
def test_log_probabilities_stand_with_their_tokens(first: bool) -> None:
    fields = {"max_tokens": 4, "logprobs": True, "top_logprobs": 2}
    [plain] = asked(first, **fields).json()["choices"]
    *streamed, last = parts(asked(first, stream=True, **fields))
    assert list(plain["logprobs"]) == ["content"]
    assert [row for part in streamed for row in part["logprobs"]["content"]] == plain["logprobs"]["content"]
    assert (last["logprobs"], len(streamed)) == (None, 4)
    assert {len(row["top_logprobs"]) for row in plain["logprobs"]["content"]} == {2}
    assert "logprobs" not in asked(first, max_tokens=4).json()["choices"][0]


@both_wires
def test_choices_of_a_stream_take_turns_and_each_seed_gives_its_answer(first: bool) -> None:
    plain, stream = (asked(first, n=2, seed=[7, 8], max_tokens=4, stream=each) for each in (False, True))
    assert [part["index"] for part in parts(stream)] == [0, 1, 0, 1, 0, 1, 0, 0, 1, 1]
    assert [said(stream, index=place) for place in (0, 1)] == [message(plain, place)["content"] for place in (0, 1)]
    assert message(plain, 1) == message(asked(first, seed=8, max_tokens=4))


def test_openais_name_of_the_limit_goes_before_the_older_one() -> None:
    assert today(max_completion_tokens=3).json()["usage"]["completion_tokens"] == 3
    assert today(max_completion_tokens=3, max_tokens=9).json()["usage"]["completion_tokens"] == 3
    assert legacy(max_completion_tokens=3).json()["usage"]["completion_tokens"] > 3


@pytest.mark.parametrize("name", ["user", "store", "metadata", "service_tier", "prompt_cache_key"])
def test_openais_other_fields_change_nothing(name: str) -> None:
    assert message(today(max_tokens=9, **{name: "x"})) == message(today(max_tokens=9))


# --- messages ---------------------------------------------------------------------------------------------------------


def test_parts_of_text_say_the_same_as_one_text_in_every_role() -> None:
    roles = ("system", "developer", "user")
    texts = [{"role": role, "content": "Speak of Oslo."} for role in roles]
    split = [{"role": role, "content": [{"type": "text", "text": "Speak of Oslo."}]} for role in roles]
    assert message(today(messages=texts)) == message(today(messages=split))


@pytest.mark.parametrize("kind", ["image_url", "audio_url", "video_url"])
def test_what_is_seen_and_heard_counts_tokens_and_changes_the_answer_by_its_address(kind: str) -> None:
    def sent(*urls: str) -> Answer:
        media = [{"type": kind, kind: {"url": url}} for url in urls]
        words = {"type": "text", "text": "Tell me all about this."}
        return today("endpoint", DEDICATED, messages=[{"role": "user", "content": [words, *media]}])

    assert refusal(sent("data:application/pdf;base64,JVBERi0=")) == "Failed to load media"
    assert sent(f"data:{kind.removesuffix('_url')}/x;base64,JVBERi0=").status == 200
    none, one, other, two = sent(), sent("https://a"), sent("https://b"), sent("https://a", "https://b")
    counts = [answer.json()["usage"]["prompt_tokens"] for answer in (none, one, other, two)]
    assert counts[0] < counts[1] == counts[2] < counts[3]
    assert len({message(answer)["content"] for answer in (none, one, other)}) == 3


def test_a_listed_model_takes_neither_images_nor_films_nor_sounds() -> None:
    def sent(kind: str) -> Answer:
        return today(messages=[{"role": "user", "content": [{"type": kind, kind: {"url": "https://a"}}]}])

    assert refusal(sent("image_url")) == "This model does not support image/video inputs."
    assert refusal(sent("video_url")) == "This model does not support image/video inputs."
    assert refusal(sent("audio_url")) == "This model does not support audio inputs."


@both_wires
def test_a_result_of_a_call_goes_into_the_answer(first: bool) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}
    history = [
        OSLO,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"sky": "hail"}'},
    ]
    named, other = ({"type": "function", "function": {"name": name}} for name in ("get_weather", "get_time"))
    # The first client's own tests send the same choice with the result.
    for choice in ("auto", named):
        answer = asked(first, messages=history, tools=TOOLS, tool_choice=choice)
        assert "hail" in message(answer)["content"]
        assert answer.json()["choices"][0]["finish_reason"] == "stop"
    anew = asked(first, messages=[*history, OSLO], tools=TOOLS, tool_choice=named)
    assert [name for name, _ in made(anew)] == ["get_weather"]
    assert [name for name, _ in made(asked(first, messages=history, tools=TOOLS, tool_choice=other))] == ["get_time"]


def test_what_an_assistant_thought_before_may_be_sent_back() -> None:
    turn = {"role": "assistant", "content": "Rain.", "reasoning_content": "Hm.", "reasoning": "Hm."}
    assert today(messages=[OSLO, turn, OSLO], max_tokens=3).status == 200


# --- tools ------------------------------------------------------------------------------------------------------------


@both_wires
def test_a_plain_answer_calls_tools_by_ids_of_their_own_and_says_nothing(first: bool) -> None:
    answer = asked(first, messages=[BOTH], tools=TOOLS)
    calls = message(answer)["tool_calls"]
    assert made(answer) == [("get_weather", '{"city": "Oslo"}'), ("get_time", '{"city": "Oslo"}')]
    assert all(re.fullmatch("call_[0-9A-Za-z]{24}", call["id"]) for call in calls)
    assert len({call["id"] for call in calls}) == 2
    assert message(answer)["content"] is None
    assert answer.json()["choices"][0]["finish_reason"] == "tool_calls"


@both_wires
def test_streamed_calls_begin_with_id_and_name_and_add_up_to_the_plain_ones(first: bool) -> None:
    stream = asked(first, messages=[BOTH], tools=TOOLS, stream=True)
    pieces = [piece for part in parts(stream) for piece in part["delta"].get("tool_calls", ())]
    begun = [piece for piece in pieces if "id" in piece]
    assert gathered(stream) == made(asked(first, messages=[BOTH], tools=TOOLS))
    assert [(piece["index"], piece["type"], piece["function"]["arguments"]) for piece in begun] == [
        (0, "function", ""),
        (1, "function", ""),
    ]
    assert all(set(piece) == {"index", "function"} for piece in pieces if piece not in begun)
    assert parts(stream)[-1]["finish_reason"] == "tool_calls"
    assert [place for place, part in enumerate(parts(stream)) if "role" in part["delta"]] == [0]


def test_calls_come_one_by_one_where_they_are_not_wanted_in_parallel() -> None:
    counts = [len(made(today(messages=[BOTH], tools=TOOLS, parallel_tool_calls=each))) for each in (True, None, False)]
    assert counts == [2, 2, 1]


def test_a_choice_forbids_demands_or_names_a_tool() -> None:
    hello = {"role": "user", "content": "Good morning!"}
    assert "tool_calls" not in message(today(tools=TOOLS, tool_choice="none"))
    assert "tool_calls" not in message(today(tools=TOOLS, messages=[hello]))
    assert message(today(tools=TOOLS, messages=[hello], tool_choice="required"))["tool_calls"]
    named = today(tools=TOOLS, tool_choice={"type": "function", "function": {"name": "get_time"}})
    assert [name for name, _ in made(named)] == ["get_time"]


def test_a_choice_among_no_tools_is_tolerated() -> None:
    for choice in ("auto", "required", {"type": "function", "function": {"name": "get_time"}}):
        assert "tool_calls" not in message(today(tool_choice=choice, max_tokens=3))


def test_a_call_that_is_cut_says_length() -> None:
    answer = today(tools=TOOLS, max_tokens=4)
    [(name, arguments)] = made(answer)
    assert (name, answer.json()["choices"][0]["finish_reason"]) == ("get_weather", "length")
    assert '{"city": "Oslo"}'.startswith(arguments)


# --- forms ------------------------------------------------------------------------------------------------------------


def test_a_schema_a_pattern_and_json_are_obeyed() -> None:
    schema = {**CITY, "additionalProperties": False}
    named = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": schema}}
    assert list(json.loads(message(today(response_format=named))["content"])) == ["city"]
    pattern = {"type": "regex", "schema": "[a-f]{3}-[0-9]{2}"}
    assert re.fullmatch("[a-f]{3}-[0-9]{2}", message(today(response_format=pattern))["content"])
    assert isinstance(json.loads(message(today(response_format={"type": "json_object"}))["content"]), dict)
    assert message(today(response_format={"type": "text"})) == message(today())


def test_the_page_takes_its_schema_as_a_text() -> None:
    form = {"type": "json_object", "schema": json.dumps(CITY)}
    assert list(json.loads(message(legacy(response_format=form))["content"])) == ["city"]


# --- thoughts ---------------------------------------------------------------------------------------------------------


def test_a_model_that_thinks_shows_it_under_both_names_before_what_it_says() -> None:
    answer = today(GLM, reasoning_effort="minimal")
    told = message(answer)
    assert list(told) == ["content", "reasoning", "reasoning_content", "role"]
    assert told["reasoning"] == told["reasoning_content"]
    usage = answer.json()["usage"]
    assert usage["completion_tokens"] == sum(len(tokens.encode(told[key])) for key in ("content", "reasoning"))
    assert "reasoning" not in message(today())


def test_thoughts_are_streamed_first_and_add_up_to_the_plain_ones() -> None:
    stream, plain = (today(GLM, reasoning_effort="minimal", stream=each) for each in (True, False))
    deltas = [part["delta"] for part in parts(stream)]
    kinds = ["thought" if "reasoning" in delta else "said" if "content" in delta else "end" for delta in deltas]
    assert [kind for at, kind in enumerate(kinds) if kinds[at - 1] != kind] == ["thought", "said", "end"]
    assert list(deltas[0]) == ["reasoning", "reasoning_content", "role"]
    assert all(delta["reasoning"] == delta["reasoning_content"] for delta in deltas if "reasoning" in delta)
    assert said(stream, "reasoning_content") == message(plain)["reasoning_content"]
    assert said(stream) == message(plain)["content"]


def test_log_probabilities_are_those_of_what_is_said_not_of_thoughts() -> None:
    fields = {"reasoning_budget": 3, "max_tokens": 6, "logprobs": True}
    for more in ({}, {"parse_reasoning": False}):
        [plain] = today(GLM, **fields, **more).json()["choices"]
        streamed = [part["logprobs"] for part in parts(today(GLM, stream=True, **fields, **more))]
        assert streamed[:3] == [None] * 3
        assert [row for rows in streamed if rows for row in rows["content"]] == plain["logprobs"]["content"]
        assert len(plain["logprobs"]["content"]) == 3


def test_thoughts_that_are_not_parsed_stand_in_the_content_between_tags() -> None:
    apart = message(today(GLM, reasoning_budget=9))
    inside, stream = (today(GLM, reasoning_budget=9, parse_reasoning=False, stream=each) for each in (False, True))
    assert list(message(inside)) == ["content", "role"]
    assert message(inside)["content"] == f"<think>\n{apart['reasoning']}\n</think>\n\n{apart['content']}"
    assert said(stream) == message(inside)["content"]


def test_a_thought_that_is_cut_is_not_closed_and_nothing_is_said() -> None:
    apart, inside = (today(GLM, max_tokens=5, parse_reasoning=each) for each in (True, False))
    assert (message(apart)["content"], apart.json()["choices"][0]["finish_reason"]) == (None, "length")
    assert message(inside)["content"] == f"<think>\n{message(apart)['reasoning']}"
    assert apart.json()["usage"]["completion_tokens"] == 5


def test_thoughts_may_be_hidden_and_cost_as_much() -> None:
    shown, hidden = (today(GLM, reasoning_effort="low", include_reasoning=each) for each in (True, False))
    assert list(message(hidden)) == ["content", "role"]
    assert hidden.json()["usage"] == shown.json()["usage"]
    assert message(hidden)["content"] == message(shown)["content"]


def test_a_harder_effort_thinks_more_and_a_budget_caps_it() -> None:
    efforts = ("minimal", "low", "medium", "high", "xhigh")
    lengths = [len(tokens.encode(message(today(GLM, reasoning_effort=effort))["reasoning"])) for effort in efforts]
    assert lengths == sorted({*lengths})
    for effort in ("max", "ultracode"):
        assert message(today(GLM, reasoning_effort=effort)) == message(today(GLM, reasoning_effort="xhigh"))
    told = {"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "low"}}
    assert message(today(GLM, **told)) == message(today(GLM, reasoning_effort="low"))
    for budget in (1, 20, 100):
        capped = message(today(GLM, reasoning_effort="high", reasoning_budget=budget))
        assert len(tokens.encode(capped["reasoning"])) == budget
    assert message(today(GLM, reasoning_budget=-1)) == message(today(GLM))


def test_a_budget_leaves_the_rest_of_the_limit_to_what_is_said() -> None:
    answer = today(GLM, reasoning_budget=5, max_tokens=20)
    assert len(tokens.encode(message(answer)["content"])) == 15
    assert answer.json()["usage"]["completion_tokens"] == 20


@pytest.mark.parametrize("model", [model.id for model in MODELS])
def test_who_thinks_and_who_can_leave_it(model: str) -> None:
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    mode = TRAITS[model].reasoning
    assert ("reasoning" in message(today(model))) == (mode != "plain")
    assert ("reasoning" in message(today(model, **off))) == (mode == "always")
    assert "reasoning" not in message(today(model, reasoning_budget=0))
    assert ("reasoning" in message(today(model, reasoning_effort="low"))) == (mode != "plain")


def test_a_model_that_nobody_knows_thinks_when_it_is_asked_to() -> None:
    assert "reasoning" not in message(today("endpoint", DEDICATED))
    for fields in (
        {"chat_template_kwargs": {"enable_thinking": True}},
        {"reasoning_effort": "low"},
        {"reasoning_budget": 9},
    ):
        assert "reasoning" in message(today("endpoint", DEDICATED, **fields))


def test_tags_with_nothing_between_them_tell_that_nothing_was_thought() -> None:
    fields = {"chat_template_kwargs": {"enable_thinking": False}, "max_tokens": 5}
    plain = message(today(TOGGLED, **fields))["content"]
    assert message(today(TOGGLED, parse_reasoning=False, **fields))["content"] == f"<think>\n\n</think>\n\n{plain}"
    assert said(today(TOGGLED, parse_reasoning=False, stream=True, **fields)) == f"<think>\n\n</think>\n\n{plain}"
    assert message(today(LLAMA, parse_reasoning=False, max_tokens=5)) == message(today(max_tokens=5))


def test_a_model_without_a_toggle_writes_its_thoughts_into_the_content_if_it_is_told_not_to_think() -> None:
    off: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": False}}
    thinking, told = message(today(GLM)), today(GLM, **off)
    assert message(told) == {
        "role": "assistant",
        "content": f"{thinking['reasoning']}</think>{thinking['content']}",
    }
    assert told.json()["usage"] == today(GLM).json()["usage"]
    assert said(today(GLM, stream=True, **off)) == message(told)["content"]
    assert message(today(GLM, max_tokens=4, **off))["content"] == message(today(GLM, max_tokens=4))["reasoning"]
    assert (
        message(today(GLM, reasoning_budget=0, **off))["content"] == message(today(GLM, reasoning_budget=0))["content"]
    )


def test_a_stub_may_think_aloud_whatever_its_model() -> None:
    space = Namespace("")
    space.stubs.add(read_stub({"reply": {"text": "Rain.", "reasoning": "Clouds."}}))
    body = {"model": LLAMA, "messages": [OSLO]}
    plain = ask("friendli", body, path=SERVERLESS, method="POST", namespace=space)
    page = ask("friendli", body, path=CONTAINER, method="POST", namespace=space)
    assert message(plain) == {
        "content": "Rain.",
        "reasoning": "Clouds.",
        "reasoning_content": "Clouds.",
        "role": "assistant",
    }
    assert message(page) == {"role": "assistant", "content": "Rain."}


@both_wires
def test_a_stub_may_say_that_some_of_the_prompt_came_from_a_cache(first: bool) -> None:
    space = Namespace("")
    space.stubs.add(read_stub({"reply": {"text": "Rain.", "usage": {"prompt_tokens": 9, "cached_tokens": 8}}}))
    body = {"model": LLAMA, "messages": [OSLO]}
    answer = ask("friendli", body, path=CONTAINER if first else SERVERLESS, method="POST", namespace=space)
    assert answer.json()["usage"]["prompt_tokens_details"] == {"cached_tokens": 8}


def test_a_stub_calls_tools_after_its_thoughts() -> None:
    space = Namespace("")
    call = {"name": "get_time", "arguments": {"city": "Rome"}}
    space.stubs.add(read_stub({"reply": {"tool_calls": [call], "reasoning": "Clocks."}}))
    body = {"model": LLAMA, "messages": [OSLO], "tools": TOOLS, "stream": True}
    stream = ask("friendli", body, path=SERVERLESS, method="POST", namespace=space)
    assert said(stream, "reasoning") == "Clocks."
    assert [name for name, _ in gathered(stream)] == ["get_time"]


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_todays_chats_refuse_unknown_fields_and_the_first_clients_ignore_them() -> None:
    for name in ("reasoning", "thinking", "max_total_tokens", "enable_thinking"):
        assert refusal(today(**{name: None})) == f"no such field: '{name}'"
        assert legacy(max_tokens=1, **{name: 1}).status == 200


def test_tools_exclude_a_form_and_a_least_length() -> None:
    for field, value in (("response_format", {"type": "json_object"}), ("min_tokens", 5)):
        told = f"The '{field}' field cannot be set when tools are specified"
        assert refusal(today(tools=TOOLS, **{field: value})) == told
        assert today(tools=[], **{field: value}).status == 200
        [entry] = legacy(tools=TOOLS, **{field: value}).json()["detail"]
        assert (entry["loc"], entry["msg"]) == (["body", field], f"Value error, {told}")


@pytest.mark.parametrize("model, status", [(GLM, 422), ("zai-org/GLM-5.3-Flash", 200)])
def test_the_vendors_own_engine_refuses_unions_of_several_branches(model: str, status: int) -> None:
    union = {**CITY, "properties": {"city": {"oneOf": [{"type": "string"}, {"type": "null"}]}}}
    single = {**CITY, "properties": {"city": {"oneOf": [{"type": "string"}]}}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}} for schema in (single, union)]
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": union}}
    fields: tuple[dict[str, Any], ...] = ({"tools": tools}, {"response_format": form})
    answers = [today(model, reasoning_budget=0, **each) for each in fields]
    assert [answer.status for answer in answers] == [status, status]
    if status == 422:
        wording = "oneOf with several branches is not supported"
        assert [refusal(answer) for answer in answers] == [f"invalid tools: {wording}", wording]
    assert today(model, reasoning_budget=0, tools=tools[:1]).status == 200


def test_the_first_of_several_faults_is_told_today_and_all_of_them_by_the_page() -> None:
    faults: dict[str, Any] = {"messages": [{"role": "user"}], "n": 0}
    assert refusal(today(**faults)) == "messages[0].content: Field required"
    assert [entry["loc"] for entry in legacy(**faults).json()["detail"]] == [
        ["body", "messages", 0, "content"],
        ["body", "n"],
    ]


def test_a_model_that_is_not_there_is_named_by_todays_gateway() -> None:
    closed = replace(QUIET, models={"friendli": ("mine",)})
    body = {"model": "other", "messages": [OSLO]}
    for path in (SERVERLESS, DEDICATED):
        told = ask("friendli", body, path=path, method="POST", settings=closed)
        assert (told.status, told.json()) == (404, {"detail": "Model 'other' not found."})
    page = ask("friendli", body, path=CONTAINER, method="POST", settings=closed)
    assert (page.status, page.json()) == (404, {"message": "Model not found", "error": {}})


def test_a_prompt_beyond_the_window_is_refused_with_both_numbers() -> None:
    long = {"role": "user", "content": " the" * 140_000}
    told = refusal(today(messages=[long]))
    assert re.fullmatch(r"the prompt has 140\d{3} tokens, the model's maximum length is 131072", told)


def test_faults_speak_the_engines_language() -> None:
    headers = {"x-mockserver-fault": '{ kind = "error", error = "content_filter" }'}
    body = {"model": LLAMA, "messages": [OSLO]}
    answer = ask("friendli", body, path=SERVERLESS, method="POST", headers=headers)
    assert (answer.status, list(answer.json())) == (400, ["message", "error"])


@pytest.mark.parametrize("name", sorted(FRIENDLI.contract["observed"]()["schemas"]["ChatFields"]["properties"]))
def test_every_field_but_the_messages_may_be_null(name: str) -> None:
    answer = today(max_tokens=3, **{name: None}) if name != "max_tokens" else today(max_tokens=None)
    assert answer.status == (422 if name == "messages" else 200)
    if name in FRIENDLI.contract["documented"]()["schemas"]["ChatFields"]["properties"]:
        assert legacy(**{name: None}).status == (422 if name == "messages" else 200)
