"""Prepared replies in every dialect, plain and streamed: said word for word, in the vendor's own format."""

from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.model import tokens
from mockserver.state.context import HeaderError
from mockserver.state.namespaces import Namespace
from mockserver.state.settings.options import settle
from mockserver.state.stubs.parse_stubs import read_stub
from tests.support.asking import FROZEN, QUIET, Answer, ask
from tests.support.shapes import SHAPES, Shape

RAIN = "It rains in Oslo, sì: ☂ and “more”.\nTake care."

SHAPE = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
YANDEX = [shape for shape in SHAPES if shape.dialect == "yandex"]
# Backends whose stream has an event for each token; the others gather some.
BY_TOKEN = [shape for shape in SHAPES if shape.dialect != "ovms" and not shape.id.endswith("-d1")]
# FriendliAI has no log-probabilities in its responses, and no messages have any.
SCORED = [shape for shape in SHAPES if shape.id != "friendli-responses" and not shape.messages]
# The reasons of messages in the words of chats.
REASONS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls"}


def asked(shape: Shape, reply: object, *, stream: bool, prompt: str = "Weather?", **fields: Any) -> Answer:
    """What a shape answers where a stub replies to everything."""
    space = Namespace("")
    space.stubs.add(read_stub({"name": "rain", "reply": reply}))
    settings = fields.pop("settings", QUIET)
    extra = {"stream": True, **shape.stream_extra} if stream else {}
    body = {**shape.body(prompt), **extra, **shape.named(fields)}
    return ask(
        shape.dialect,
        body,
        path=shape.path,
        method="POST",
        edition=shape.edition,
        settings=settings,
        namespace=space,
    )


def finish_reasons(answer: Answer) -> list[str]:
    """Every finish reason that an answer states."""
    bodies = answer.events() if answer.plan.timeline.streamed else [answer.json()]
    ended = [body.get("response", body) for body in bodies if body != "[DONE]"][-1]
    if ended.get("object") == "response":
        return [_reason_of(ended)]
    if ended.get("type") in ("message", "message_stop"):
        ends = [body.get("delta", body) for body in bodies]
        return [REASONS[end["stop_reason"]] for end in ends if end.get("stop_reason")]
    choices = [choice for body in bodies if body != "[DONE]" for choice in body.get("choices", ())]
    return [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]


def _reason_of(response: Mapping[str, Any]) -> str:
    """Why a response ended, in the words of chats."""
    if response["status"] == "incomplete":
        return "length" if response["incomplete_details"]["reason"].startswith("max_") else "content_filter"
    return "tool_calls" if any(item["type"] == "function_call" for item in response["output"]) else "stop"


@SHAPE
@STREAM
def test_a_text_is_said_word_for_word_in_the_vendors_own_format(shape: Shape, stream: bool) -> None:
    answer = asked(shape, RAIN, stream=stream)
    assert answer.status == 200
    assert answer.plan.timeline.streamed is stream
    assert shape.text(answer) == RAIN
    assert answer.headers["x-mockserver-rule"] == "rain"
    usage = shape.usage(answer)
    if usage is not None:
        assert usage["completion_tokens"] == tokens.count(RAIN)


@SHAPE
@STREAM
def test_no_limit_and_no_stop_shortens_it(shape: Shape, stream: bool) -> None:
    fields: dict[str, Any] = {"max_tokens": max(2, shape.least), **({} if shape.strict else {"stop": ["rains"]})}
    assert shape.text(asked(shape, RAIN, stream=stream, **fields)) == RAIN


@SHAPE
def test_all_but_the_words_are_what_a_generated_answer_would_have(shape: Shape) -> None:
    def keys(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: keys(item) for key, item in value.items()}
        return [keys(item) for item in value[:1]] if isinstance(value, list) else type(value).__name__

    prepared, generated = asked(shape, RAIN, stream=False), shape.plain("Weather?")
    assert keys(prepared.json()) == keys(generated.json())
    own = {"content-length", "x-mockserver-rule"}
    assert [name for name in prepared.headers if name not in own] == [n for n in generated.headers if n not in own]


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.many], ids=lambda shape: shape.id)
@STREAM
def test_every_choice_says_it_or_what_is_its_own(shape: Shape, stream: bool) -> None:
    snow: Any = {"chunks": ["It ", "snows."], "finish_reason": "length"}
    for reply, said in ((RAIN, [RAIN] * 3), ({"choices": [RAIN, snow]}, [RAIN, "It snows.", "It snows."])):
        answer = asked(shape, reply, stream=stream, n=3)
        assert [shape.text(answer, index) for index in range(3)] == said
        usage = shape.usage(answer)
        if usage is not None:
            assert usage["completion_tokens"] == sum(map(tokens.count, said))
    if shape.id != "friendli":
        assert sorted(finish_reasons(answer)) == ["length", "length", "stop"]
    assert shape.text(asked(shape, {"choices": [RAIN, snow]}, stream=stream)) == RAIN


@SHAPE
@STREAM
def test_an_empty_text_and_a_json_value_are_said_too(shape: Shape, stream: bool) -> None:
    assert shape.text(asked(shape, {"text": ""}, stream=stream)) == ""
    assert shape.text(asked(shape, {"json": {"rain": [1, "é"]}}, stream=stream)) == '{"rain": [1, "é"]}'


@SHAPE
@STREAM
def test_finish_reason_and_usage_are_stated_as_told(shape: Shape, stream: bool) -> None:
    reply = {"text": RAIN, "finish_reason": "length", "usage": {"prompt_tokens": 1000, "completion_tokens": 77}}
    answer = asked(shape, reply, stream=stream)
    generation = answer.plan.generation
    assert generation is not None
    assert [choice.finish_reason for choice in generation.choices] == ["length"]
    if shape.id != "friendli":
        # The page's answers of friendli state no reason at all.
        assert finish_reasons(answer) == ["length"]
    usage = shape.usage(answer)
    if usage is not None:
        told = {key: usage[key] for key in ("prompt_tokens", "completion_tokens", "total_tokens")}
        assert told == {"prompt_tokens": 1000, "completion_tokens": 77, "total_tokens": 1077}


@pytest.mark.parametrize("shape", BY_TOKEN, ids=lambda shape: shape.id)
def test_each_chunk_is_an_event_of_its_own(shape: Shape) -> None:
    pieces = ["It ", "rains ", "in Oslo", "."]
    streamed = asked(shape, {"chunks": pieces}, stream=True)
    events = [event for event in streamed.events() if event != "[DONE]"]
    told = [text for event in events if event.get("event") != "complete" and (text := shape.stream_text([event], 0))]
    assert told == pieces
    assert shape.text(asked(shape, {"chunks": pieces}, stream=False)) == "".join(pieces)


@SHAPE
def test_chunks_keep_their_text_however_a_dialect_gathers_them(shape: Shape) -> None:
    pieces = ["It ", "", "rai", "ns in Oslo", ".", " \n", "☂"]
    assert shape.text(asked(shape, {"chunks": pieces}, stream=True)) == "".join(pieces)


@pytest.mark.parametrize("shape", BY_TOKEN, ids=lambda shape: shape.id)
def test_delays_lie_before_their_chunks(shape: Shape) -> None:
    reply = {"chunks": [{"text": "It ", "delay": 1}, "rains", {"text": " in Oslo.", "delay": "500ms"}]}
    timeline = asked(shape, reply, stream=True).plan.timeline
    due = [instant for run in timeline.runs for instant, carried in zip(run.due, run.tokens, strict=True) if carried]
    assert due == [1.0, 1.0, 1.5]
    plain = asked(shape, reply, stream=False).plan.timeline
    assert [list(run.due) for run in plain.runs] == [[1.5]]


@SHAPE
def test_a_chunk_without_a_delay_keeps_the_pace_of_the_engine(shape: Shape) -> None:
    paced = settle({"created": FROZEN, "latency": "ttft=2s, itl=100ms"})
    reply = {"chunks": ["a", {"text": " b", "delay": 5}, " c"]}
    pace = asked(shape, reply, stream=True, settings=paced).plan.pace
    assert pace is not None
    assert [round(instant, 6) for instant in pace.schedule] == [2.0, 7.0, 7.1]
    assert round(pace.queue + pace.prefill, 6) == 2.0


@SHAPE
@STREAM
def test_an_error_is_the_vendors_own(shape: Shape, stream: bool) -> None:
    answer = asked(shape, {"error": {"error": "server_error", "message": "Out of rain"}}, stream=stream)
    assert answer.status >= 500
    assert "Out of rain" in answer.body.decode()
    assert answer.plan.rule == "rain"


@SHAPE
@STREAM
def test_a_body_goes_out_as_it_is(shape: Shape, stream: bool) -> None:
    reply = {"status": 418, "body": "teapot", "headers": {"content-type": "text/x-tea", "x-pot": "1"}}
    answer = asked(shape, reply, stream=stream)
    assert (answer.status, answer.body) == (418, b"teapot")
    assert (answer.headers["content-type"], answer.headers["x-pot"]) == ("text/x-tea", "1")
    names = [name for name, _ in answer.plan.timeline.headers]
    assert len(names) == len(set(names))


@SHAPE
def test_a_recorded_stream_goes_out_event_by_event(shape: Shape) -> None:
    recorded = 'data: {"a": 1}\n\ndata: {"b": 2}\r\n\r\ndata: [DONE]\n\n'
    answer = asked(shape, {"body": recorded}, stream=True, settings=settle({"latency": "ttft=1s, itl=1s"}))
    assert answer.body.decode() == recorded
    assert answer.headers["content-type"] == "text/event-stream"
    rows = [row for run in answer.plan.timeline.runs for row in zip(run.data, run.due, strict=True)]
    assert rows == [(b'data: {"a": 1}\n\n', 1.0), (b'data: {"b": 2}\r\n\r\n', 2.0), (b"data: [DONE]\n\n", 3.0)]


@pytest.mark.parametrize("shape", SCORED, ids=lambda shape: shape.id)
def test_log_probabilities_are_those_of_the_words(shape: Shape) -> None:
    asks: dict[str, Any] = {"logprobs": 1 if shape.dialect == "ovms" else 2}
    if shape.dialect in ("openai", "yandex") and shape.responds:
        asks = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
    elif shape.chats or shape.responds:
        asks = {"logprobs": True} | ({"top_logprobs": 2} if shape.dialect != "ovms" else {})
    elif shape.id == "friendli":
        asks = {"include_output_logprobs": True}
    generation = asked(shape, RAIN, stream=False, **asks).plan.generation
    assert generation is not None
    [choice] = generation.choices
    assert [len(choice.positions), "".join(choice.texts)] == [len(tokens.encode(RAIN)), RAIN]
    assert all(position.logprob <= 0 for position in choice.positions)


# --- tools and refusals --------------------------------------------------------------------------------------------

TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("get_weather", "get_time")
]
FLAT = [{"type": "function", **tool["function"]} for tool in TOOLS]
TOOLED = [
    s for s in SHAPES if s.responds or (s.dialect in ("friendli", "yandex") and s.supports_tools and not s.messages)
]
CALLS = [
    {"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}},
    {"name": "get_time", "arguments": '{"zone":'},
]


@pytest.mark.parametrize("shape", TOOLED, ids=lambda shape: shape.id)
def test_tool_calls_are_written_as_the_vendor_writes_them(shape: Shape) -> None:
    answer = asked(shape, {"tool_calls": CALLS}, stream=False, tools=FLAT if shape.responds else TOOLS)
    if shape.responds:
        told = [item for item in answer.json()["output"] if item["type"] == "function_call"]
    else:
        told = [call["function"] for call in answer.json()["choices"][0]["message"]["tool_calls"]]
    assert [call["name"] for call in told] == ["get_weather", "get_time"]
    assert told[0]["arguments"].replace(" ", "") == '{"city":"Oslo","days":2}'
    assert told[1]["arguments"] == '{"zone":'
    assert finish_reasons(answer) == ["tool_calls"]


@STREAM
def test_one_choice_may_call_tools_and_another_not(stream: bool) -> None:
    [chat] = [shape for shape in SHAPES if shape.id == "openai-chat"]
    choices = ["It rains.", {"text": "Let me see.", "tool_calls": CALLS}]
    answer = asked(chat, {"choices": choices}, stream=stream, n=2, tools=TOOLS)
    assert sorted(finish_reasons(answer)) == ["stop", "tool_calls"]
    assert [chat.text(answer, index) for index in (0, 1)] == ["It rains.", "Let me see."]


@pytest.mark.parametrize("shape", TOOLED, ids=lambda shape: shape.id)
def test_streamed_tool_calls_add_up_to_the_same(shape: Shape) -> None:
    tools = FLAT if shape.responds else TOOLS
    answer = asked(shape, {"tool_calls": CALLS, "text": "Let me see."}, stream=True, tools=tools)
    assert shape.text(answer) == "Let me see."
    told: dict[int, str] = {}
    items: list[str] = []
    for event in answer.events():
        if event != "[DONE]" and event.get("type") == "response.function_call_arguments.delta":
            if event["item_id"] not in items:
                items.append(event["item_id"])
            place = items.index(event["item_id"])
            told[place] = told.get(place, "") + event["delta"]
        for choice in event.get("choices", ()) if event != "[DONE]" else ():
            for call in choice["delta"].get("tool_calls", ()):
                told[call["index"]] = told.get(call["index"], "") + call["function"].get("arguments", "")
    assert {place: text.replace(" ", "") for place, text in told.items()} == {
        0: '{"city":"Oslo","days":2}',
        1: '{"zone":',
    }
    assert finish_reasons(answer) == ["tool_calls"]


def test_the_older_form_of_functions_has_its_own_reason() -> None:
    shape = YANDEX[1]
    functions = [{"name": "get_weather", "parameters": {"type": "object", "properties": {}}}]
    answer = asked(shape, {"tool_calls": CALLS[:1]}, stream=False, functions=functions)
    assert answer.json()["choices"][0]["finish_reason"] == "function_call"


@pytest.mark.parametrize("shape", [s for s in SHAPES if not s.supports_tools], ids=lambda shape: shape.id)
@STREAM
def test_a_dialect_that_knows_no_tools_refuses_calls(shape: Shape, stream: bool) -> None:
    with pytest.raises(
        HeaderError, match=f"stub 'rain': tool_calls: {shape.dialect}'s .*completions cannot call tools"
    ):
        asked(shape, {"choices": ["It rains.", {"tool_calls": CALLS}]}, stream=stream)


WITH_REFUSALS = [*YANDEX, *(shape for shape in SHAPES if shape.id == "openai-chat")]


@pytest.mark.parametrize("shape", WITH_REFUSALS, ids=lambda shape: shape.id)
def test_a_refusal_stands_where_the_vendor_has_one(shape: Shape) -> None:
    answer = asked(shape, {"refusal": "I would rather not."}, stream=False)
    if shape.responds:
        assert answer.json()["output"][0]["content"] == [{"type": "refusal", "refusal": "I would rather not."}]
    else:
        assert answer.json()["choices"][0]["message"]["refusal"] == "I would rather not."


@pytest.mark.parametrize("shape", [s for s in SHAPES if s not in WITH_REFUSALS], ids=lambda shape: shape.id)
@STREAM
def test_elsewhere_a_refusal_is_said_like_any_text(shape: Shape, stream: bool) -> None:
    assert shape.text(asked(shape, {"refusal": "I would rather not."}, stream=stream)) == "I would rather not."


# --- history decides -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.chats or s.responds], ids=lambda shape: shape.id)
def test_the_history_in_the_request_decides_so_that_one_server_serves_many_sessions(shape: Shape) -> None:
    space = Namespace("")
    for turn, reply in ((1, "Which city?"), (2, "It rains in Oslo.")):
        space.stubs.add(read_stub({"match": {"turn": turn, "system": {"contains": "terse"}}, "reply": reply}))
    model = shape.body("")["model"]
    first = [{"role": "system", "content": "Be terse."}, {"role": "user", "content": "Weather?"}]
    second = [*first, {"role": "assistant", "content": "Which city?"}, {"role": "user", "content": "Oslo"}]
    key = "input" if shape.responds else "messages"
    bodies = [{"model": model, key: each} for each in (first, second, first)]
    said = [
        shape.text(ask(shape.dialect, body, path=shape.path, method="POST", edition=shape.edition, namespace=space))
        for body in bodies
    ]
    assert said == ["Which city?", "It rains in Oslo.", "Which city?"]


def test_a_tool_loop_is_scripted_by_what_the_request_holds() -> None:
    space = Namespace("")
    space.stubs.add(
        read_stub(
            {
                "match": {"tool": "get_weather", "turn": 1, "tool_result": {"exists": False}},
                "reply": {"tool_calls": CALLS[:1]},
            }
        )
    )
    space.stubs.add(read_stub({"match": {"tool_result": "get_weather"}, "reply": "It rains."}))
    ask_with = {"model": "gpt://folder/qwen3-235b-a22b-fp8/latest", "tools": TOOLS}
    history: list[dict[str, Any]] = [{"role": "user", "content": "Weather in Oslo?"}]
    message = ask("yandex", {**ask_with, "messages": history}, namespace=space).json()["choices"][0]["message"]
    [call] = message["tool_calls"]
    history += [message, {"role": "tool", "tool_call_id": call["id"], "content": "rain"}]
    answer = ask("yandex", {**ask_with, "messages": history}, namespace=space)
    assert answer.json()["choices"][0]["message"]["content"] == "It rains."


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.responds], ids=lambda shape: shape.id)
@STREAM
def test_a_tool_loop_of_items_is_scripted_by_the_same_stubs(shape: Shape, stream: bool) -> None:
    space = Namespace("")
    match = {"tool": "get_weather", "turn": 1, "last_user": "Weather in Oslo?", "tool_result": {"exists": False}}
    space.stubs.add(read_stub({"match": match, "reply": {"tool_calls": CALLS[:1], "reasoning": "A tool knows."}}))
    space.stubs.add(read_stub({"match": {"tool_result": "get_weather"}, "reply": "It rains."}))

    def said(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        body = {**shape.body(""), "input": history, "tools": FLAT, "stream": stream}
        answer = ask(shape.dialect, body, path=shape.path, method="POST", edition=shape.edition, namespace=space)
        bodies = [each for each in answer.events() if each != "[DONE]"] if stream else [answer.json()]
        response = bodies[-1]["response"] if stream else bodies[-1]
        output: list[dict[str, Any]] = response["output"]
        return output

    history: list[dict[str, Any]] = [{"role": "user", "content": "Weather in Oslo?"}]
    output = said(history)
    [call] = [item for item in output if item["type"] == "function_call"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": '{"sky": "rain"}'}
    answer = said([*history, *output, result])
    assert answer[-1]["content"][0]["text"] == "It rains."


def test_forced_tokens_of_a_request_give_way_to_a_prepared_text() -> None:
    shape = next(shape for shape in SHAPES if shape.id == "friendli")
    answer = asked(shape, RAIN, stream=False, forced_output_tokens=[1, 2], include_output_logprobs=True)
    assert shape.text(answer) == RAIN


@SHAPE
def test_the_same_request_gets_the_same_bytes_and_faults_change_none_before_their_place(shape: Shape) -> None:
    first, second = (asked(shape, RAIN, stream=True) for _ in range(2))
    assert first.body == second.body
    first_event = next(iter(first.plan.timeline.runs)).data[0]
    cut = asked(shape, {"text": RAIN, "faults": [{"kind": "cut", "after_event": 1}]}, stream=True)
    assert cut.body == first_event
