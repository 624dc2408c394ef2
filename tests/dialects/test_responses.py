"""The Responses API of the four vendors that have it: its items, its typed events, and what each vendor refuses."""

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.dialects import Edition
from mockserver.core.installed import load_dialects
from mockserver.dialects.openai.responses.items import messages_of
from mockserver.dialects.yandex.read import request_fields
from mockserver.state.namespaces import Namespace
from mockserver.state.settings import Settings
from mockserver.state.settings.options import settle
from mockserver.state.stubs.parse_stubs import read_stub
from tests.support.asking import FROZEN, QUIET, Answer, ask


class Place(NamedTuple):
    """Where a vendor takes responses."""

    dialect: str
    path: str
    model: str
    edition: Edition = "documented"

    def ask(self, fault: str = "", reply: object = None, paced: Settings = QUIET, **fields: Any) -> Answer:
        body = {"model": self.model, "input": "Tell me about tides", **fields}
        space = Namespace("")
        if reply is not None:
            space.stubs.add(read_stub({"reply": reply}))
        headers = {"x-mockserver-fault": fault}
        return ask(
            self.dialect,
            {key: value for key, value in body.items() if value is not ...},
            path=self.path,
            method="POST",
            headers=headers,
            edition=self.edition,
            settings=paced,
            namespace=space,
        )


D1 = Place("yandex", "/v1/responses", "gpt://folder/yandexgpt/latest")
D2 = Place("yandex", "/v1/responses", "gpt://folder/qwen3-235b-a22b-fp8/latest")
ALICE = Place("yandex", "/v1/responses", "gpt://folder/aliceai-llm/latest", "observed")
TODAY = D2._replace(edition="observed")
FRIENDLI = Place("friendli", "/serverless/v1/responses", "m")
GLM = FRIENDLI._replace(model="zai-org/GLM-5.3")
VLLM = FRIENDLI._replace(model="zai-org/GLM-5.3-Flash")
OVMS = Place("ovms", "/v3/responses", "llama3", "observed")
QWEN = OVMS._replace(model="OpenVINO/Qwen3-8B-int4-ov")
GPT = Place("openai", "/v1/responses", "gpt-5.4")
PLACES = [GPT, D1, D2, ALICE, TODAY, FRIENDLI, GLM, VLLM, OVMS, QWEN]
EVERY = pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.dialect}-{place.model}-{place.edition}")

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "name": "get_weather", "description": "The weather of a city", "parameters": CITY}
UNION = {
    "type": "object",
    "properties": {"city": {"oneOf": [{"type": "string"}, {"type": "null"}]}},
    "required": ["city"],
}
SQL = {"type": "custom", "name": "sql", "description": "Runs SQL"}
ASK = "What is the weather in Oslo and in Bergen?"


def events(answer: Answer) -> list[dict[str, Any]]:
    return [event for event in answer.events() if event != "[DONE]"]


# --- items -------------------------------------------------------------------------------------------------------


def test_items_become_the_messages_of_a_chat() -> None:
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "b", "name": "sql", "input": "SELECT 1"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "2"}]},
        {"type": "item_reference", "id": "msg_1"},
        {"type": "web_search_call", "id": "ws_1"},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "And this?"},
                {"type": "input_image", "image_url": "https://example.com/a.png"},
                {"type": "input_file", "file_id": "file-1"},
            ],
        },
        {"type": "function_call", "call_id": "c", "name": "g", "arguments": "{}"},
    ]
    function = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    custom = {"id": "b", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    assert messages_of(items, "Be terse.") == [
        {"role": "system", "content": "Be terse."},
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Let me see."}],
            "tool_calls": [function, custom],
        },
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "2"}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And this?"},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                {"type": "file", "file": "file-1"},
            ],
        },
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "g", "arguments": "{}"}}],
        },
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = ["message", "function_call", "function_call_output", "custom_tool_call", "reasoning", "item_reference", "?"]
PARTS = ["input_text", "output_text", "input_image", "input_file", "refusal", "reasoning_text", "?"]


def _tables(kinds: list[str], **members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={"type": st.sampled_from(kinds) | JSON, **members})


ITEMS = _tables(
    KINDS,
    role=st.sampled_from(["user", "assistant", "system", "developer", "tool"]) | JSON,
    content=st.lists(_tables(PARTS, text=JSON, image_url=JSON, file_id=JSON, refusal=JSON), max_size=2) | JSON,
    call_id=JSON,
    name=JSON,
    arguments=JSON,
    output=JSON,
    input=JSON,
    id=JSON,
    summary=JSON,
)
FIELDS = [
    *request_fields("documented", "ResponsesRequest"),
    *load_dialects()["ovms"].contract["observed"]()["schemas"]["ResponsesRequest"]["properties"],
]


@settings(max_examples=40)
@given(st.lists(ITEMS, max_size=3), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=2))
@EVERY
def test_no_request_at_all_is_the_servers_own_fault(
    place: Place, items: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    messages_of(items)
    assert place.ask(**{"input": items, **fields}).status < 500


@EVERY
@pytest.mark.parametrize("content", [[None], ["a"], [[]], [{}], {}, 3])
def test_the_content_of_thoughts_may_be_anything(place: Place, content: Any) -> None:
    items = [{"type": "reasoning", "summary": [], "content": content}, {"role": "user", "content": "Hi"}]
    assert place.ask(input=items).status in (200, 400, 422)


@EVERY
def test_an_empty_name_of_a_model_is_refused(place: Place) -> None:
    assert 400 <= place.ask(model="", input="Hi").status < 500


@EVERY
def test_a_conversation_of_items_costs_what_the_same_chat_costs(place: Place) -> None:
    start = {"friendli": "/serverless/v1", "ovms": "/v3"}.get(place.dialect, "/v1")
    path = f"{start}/chat/completions"
    history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    asked = [*history, {"role": "user", "content": "Tell me about tides"}]
    chat = {"model": place.model, "messages": asked}
    told = ask(place.dialect, chat, path=path, method="POST", edition=place.edition).plan.generation
    said = place.ask(input=asked).plan.generation
    assert told is not None
    assert said is not None
    assert said.usage.prompt_tokens == told.usage.prompt_tokens


# --- events ------------------------------------------------------------------------------------------------------

# What opens and closes the parts of items, by the kind of what is between them.
BRACKETS = {
    "response.output_text.delta": "response.output_text.done",
    "response.refusal.delta": "response.refusal.done",
    "response.reasoning_text.delta": "response.reasoning_text.done",
    "response.reasoning_summary_text.delta": "response.reasoning_summary_text.done",
    "response.function_call_arguments.delta": "response.function_call_arguments.done",
    "response.custom_tool_call_input.delta": "response.custom_tool_call_input.done",
}
ASKED: dict[str, dict[str, Any]] = {
    "text": {},
    "cut": {"max_output_tokens": 16},
    "calls": {"input": ASK, "tools": [WEATHER]},
    "thoughts": {"reasoning": {"effort": "low", "summary": "auto"}},
    "both": {"input": ASK, "tools": [WEATHER], "reasoning": {"effort": "low", "summary": "auto"}},
    "json": {"text": {"format": {"type": "json_schema", "name": "city", "schema": CITY}}},
    "nothing": {"reply": ""},
    "refusal": {"reply": {"refusal": "No."}},
    "said and called": {
        "tools": [WEATHER],
        "reply": {"text": "Let me see.", "tool_calls": [{"name": "get_weather", "arguments": "{"}]},
    },
}


@EVERY
@pytest.mark.parametrize("asked", ASKED)
def test_events_are_numbered_and_closed_and_add_up_to_the_response(place: Place, asked: str) -> None:
    fields = ASKED[asked]
    if place.dialect == "friendli" and "summary" in fields.get("reasoning", {}):
        fields = {**fields, "reasoning": {"effort": "low"}}
    told = events(place.ask(stream=True, **fields))
    first = 0 if place.dialect in ("friendli", "openai") or place in (D1, D2) else 1
    assert [event["sequence_number"] for event in told] == list(range(first, first + len(told)))
    assert [event["type"] for event in told[:2]] == ["response.created", "response.in_progress"]
    response = told[-1]["response"]
    assert told[-1]["type"] == f"response.{response['status']}"
    added = [event for event in told if event["type"] == "response.output_item.added"]
    done = [event for event in told if event["type"] == "response.output_item.done"]
    assert sorted(_kind(event) for event in added) == sorted(_kind(event) for event in done)
    assert [event["item"]["type"] for event in done] == [item["type"] for item in _worded(response["output"])]
    for kind, ended in BRACKETS.items():
        whole = {event["item_id"]: _text(event) for event in told if event["type"] == ended}
        pieces: dict[str, str] = {}
        for event in told:
            if event["type"] == kind:
                pieces[event["item_id"]] = pieces.get(event["item_id"], "") + event["delta"]
        assert pieces == {id_: text for id_, text in whole.items() if text}
    plain = place.ask(**fields).json()
    assert [_bare(item) for item in plain["output"]] == [_bare(item) for item in response["output"]]
    assert plain["usage"] == response["usage"]
    # Recorded: only a plain answer of OpenAI says who pays.
    assert [name for name in plain if name != "billing"] == list(response)


def _kind(event: dict[str, Any]) -> tuple[int, str]:
    # The model server gives a message that comes before calls another place in the end.
    place = 0 if event["item"]["type"] == "message" else event["output_index"]
    return place, event["item"]["type"]


def _worded(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Items without a message that says nothing beside calls, of which the model server tells only in the end."""
    empty = [{"type": "output_text", "text": "", "annotations": []}]
    called = any(item["type"] == "function_call" for item in items)
    # It also tells of calls after the message.
    kept = [item for item in items if not (called and item.get("content") == empty)]
    return sorted(kept, key=lambda item: item["type"] == "reasoning", reverse=True)


def _text(event: dict[str, Any]) -> str:
    return str(next(event[key] for key in ("text", "refusal", "arguments", "input") if key in event))


def _bare(item: dict[str, Any]) -> dict[str, Any]:
    """An item without its ids, and without what only plain answers of Yandex have."""
    kept = {key: value for key, value in item.items() if key not in ("id", "call_id", "status", "phase")}
    if "content" in kept:
        kept["content"] = [
            {key: value for key, value in part.items() if (key, value) != ("logprobs", None)}
            for part in kept["content"]
        ]
    return kept


@EVERY
def test_the_first_token_bearing_event_is_the_first_that_the_engine_has_made(place: Place) -> None:
    for fields in ({}, ASKED["calls"], {"reasoning": {"effort": "low"}}):
        answer = place.ask(stream=True, **fields)
        assert answer.plan.generation is not None
        carried = [(step, count) for run in answer.plan.timeline.runs for step, count in _steps(run) if count]
        usage = answer.plan.generation.usage
        # What is thought and not told leaves with nothing.
        hidden = usage.unseen.reasoning if usage.unseen and place.dialect in ("openai", "yandex") else 0
        assert sum(count for _, count in carried) == usage.completion_tokens - hidden
        assert [count for run in answer.plan.timeline.runs for count in run.tokens][:2] == [0, 0]


@EVERY
def test_a_response_is_created_when_the_engine_takes_it_and_says_something_with_the_first_token(place: Place) -> None:
    paced = settle({"created": FROZEN, "latency": "queue=50ms, ttft=300ms, itl=10ms"})
    answer = place.ask(stream=True, max_output_tokens=20, paced=paced)
    rows = [row for run in answer.plan.timeline.runs for row in zip(run.due, run.tokens, strict=True)]
    assert round(rows[0][0], 6) == 0.05
    assert round(rows[1][0], 6) == (0.3 if place.dialect == "ovms" else 0.05)
    # The model server holds words back, and an event of several tokens waits for the last of them.
    due, count = next(row for row in rows if row[1])
    assert round(due, 6) == (0.32 if place.dialect == "ovms" else round(0.3 + 0.01 * (count - 1), 6))
    assert [due for due, _ in rows] == sorted(due for due, _ in rows)


def _steps(run: Any) -> Iterator[tuple[float, int]]:
    yield from zip(run.due, run.tokens, strict=True)


@EVERY
@pytest.mark.parametrize("fault", ["no_finish", "no_usage", "malformed", "cut", "error_event", "broken_tool_call"])
@pytest.mark.parametrize("place_of_it", ["", ", after_event = 0", ", after_event = 4"])
def test_faults_hit_typed_streams_as_any_other(place: Place, fault: str, place_of_it: str) -> None:
    fields = ASKED["calls"] if fault == "broken_tool_call" else {}
    wish = f'{{ kind = "{fault}"{place_of_it if fault in ("cut", "error_event") else ""} }}'
    answer = place.ask(wish, stream=True, **fields)
    assert answer.plan.faults == (fault,)
    if fault == "error_event":
        last = events(answer)[-1]
        assert last["type"] == "response.failed"
        assert last["response"]["status"] == "failed"
        assert last["response"]["error"]["code"] == "server_error"
    if fault == "no_finish":
        assert not {"response.completed", "response.incomplete"} & {event["type"] for event in events(answer)}


# --- refusals ----------------------------------------------------------------------------------------------------

FORM = {"type": "json_schema", "name": "n"}
OPTIONAL_FIRST = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}


def picture(url: Any) -> list[dict[str, Any]]:
    """An input of one image, whose URL may be anything; `...` stands for none."""
    image = {"type": "input_image", "detail": "auto", **({} if url is ... else {"image_url": url})}
    return [{"role": "user", "content": [image]}]


PICTURE = picture("data:image/png;base64,aGVsbG8=")
REFUSED: list[tuple[Place, dict[str, Any], int, str]] = [
    (D2, {"input": ...}, 400, "'input' is required"),
    (D2, {"model": ...}, 400, "'model' is required"),
    (D2, {"input": 3}, 400, "'input'"),
    (D2, {"input": [{"role": "tool", "content": "x"}]}, 400, "invalid message role 'tool'"),
    (D2, {"input": [{"type": "function_call_output", "call_id": "a", "output": "x"}]}, 400, "was not made: 'a'"),
    (D2, {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "f"}}, 400, "tool_choice"),
    (D2, {"stream_options": {"include_obfuscation": False}}, 400, "'stream_options' needs 'stream' to be true"),
    (D2, {"previous_response_id": "resp_1", "conversation": "conv_1"}, 400, "cannot be used together"),
    (D2, {"temperature": 3}, 400, "'temperature'"),
    (D2, {"max_output_tokens": 0}, 400, "'max_output_tokens'"),
    (D2, {"top_logprobs": 21}, 400, "'top_logprobs'"),
    (D2, {"reasoning": {"effort": "warp"}}, 400, "'reasoning.effort'"),
    (D2, {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "x"}}}}, 400, "text.format"),
    (D2, {"include": "all"}, 400, "'include'"),
    (FRIENDLI, {"input": ...}, 422, "input"),
    (FRIENDLI, {"model": ...}, 422, "model"),
    (
        FRIENDLI,
        {"input": [{"type": "additional_tools"}]},
        422,
        '{"message":"unsupported input item type: additional_tools"}',
    ),
    (
        FRIENDLI,
        {"tools": [{**SQL, "format": {"type": "grammar", "syntax": "lark", "definition": "start: /a/"}}]},
        422,
        '{"message":"invalid tools: custom.format type grammar is not supported"}',
    ),
    (FRIENDLI, {"tools": [{**WEATHER, "parameters": UNION}]}, 422, "invalid tools: oneOf with several branches"),
    (FRIENDLI, {"text": {"format": {"type": "json_schema", "name": "n", "schema": UNION}}}, 422, "oneOf with several"),
    (FRIENDLI, {"chat_template_kwargs": {"enable_thinking": False}}, 422, "no such field: 'chat_template_kwargs'"),
    (FRIENDLI, {"tool_choice": "required"}, 422, "there are no tools"),
    (FRIENDLI, {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "f"}}, 422, "'f'"),
    (FRIENDLI, {"tools": [SQL], "tool_choice": "required"}, 500, "Max retries reached"),
    (FRIENDLI, {"max_output_tokens": 10**6}, 422, "max_output_tokens is 1000000"),
    (FRIENDLI, {"tools": [{**WEATHER, "parameters": {"type": "string"}}]}, 422, "parameters must be a schema of type"),
    (FRIENDLI, {"text": {"format": FORM | {"schema": {"type": "x"}}}}, 422, "schema is not a JSON schema"),
    (FRIENDLI, {"text": {"format": FORM | {"schema": OPTIONAL_FIRST}}}, 422, "the first property of an object must be"),
    (GLM, {"input": PICTURE}, 422, "This model does not support image/video inputs."),
    (FRIENDLI, {"model": ""}, 404, "Model '' not found."),
    (OVMS, {"input": ...}, 400, "input missing in request"),
    (OVMS, {"input": ""}, 400, "input cannot be empty"),
    (OVMS, {"input": []}, 400, "Messages array cannot be empty"),
    (OVMS, {"input": {}}, 400, "input is not a string or array"),
    (OVMS, {"input": [3]}, 400, "input array items must be objects"),
    (OVMS, {"input": [{"content": "x"}]}, 400, "input item role is missing or invalid"),
    (OVMS, {"input": [{"role": "user", "content": 3}]}, 400, "input item content must be a string or array"),
    (OVMS, {"input": [{"role": "user", "content": [{}]}]}, 400, "input content item type is missing or invalid"),
    (OVMS, {"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, 400, "requires a valid text field"),
    (OVMS, {"stream": True, "stream_options": {}}, 400, "stream_options is not supported in Responses API."),
    (OVMS, {"reasoning": {"effort": "minimal"}}, 400, "reasoning.effort must be one of: low, medium, high"),
    (OVMS, {"tools": [{"type": "web_search"}]}, 400, "Only function tools are supported"),
    (OVMS, {"max_output_tokens": 0}, 400, "max_output_tokens value should be greater than 0"),
    (OVMS, {"input": [{"role": "user", "content": [3]}]}, 400, "input content items must be objects"),
    (OVMS, {"input": picture(...)}, 400, "input_image requires image_url field"),
    (OVMS, {"input": picture({})}, 400, "input_image.image_url.url is missing or invalid"),
    (OVMS, {"input": picture(3)}, 400, "input_image.image_url must be a string or object"),
    (OVMS, {"reasoning": 3}, 400, "reasoning is not an object"),
    (OVMS, {"reasoning": {"effort": 3}}, 400, "reasoning.effort is not a string"),
    (OVMS, {"n": 2, "best_of": 2, "stream": True}, 400, "best_of cannot be used in streaming mode"),
]


@pytest.mark.parametrize("place, fields, status, said", REFUSED, ids=lambda it: str(it)[:60])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_what_a_vendor_refuses_is_refused_in_its_words(
    place: Place, fields: dict[str, Any], status: int, said: str, stream: bool
) -> None:
    answer = place.ask(**{**({"stream": True} if stream and "stream_options" not in fields else {}), **fields})
    assert answer.status == status
    assert said in answer.body.decode()


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_friendlis_gateway_gives_up_in_plain_text_as_recorded(stream: bool) -> None:
    answer = FRIENDLI.ask(tools=[SQL], tool_choice="required", stream=stream)
    assert (answer.status, answer.body) == (500, b"Service Error: Max retries reached for status 500\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-ratelimit-remaining-requests"] == "99"


@pytest.mark.parametrize("off", [{"effort": "none"}, {"chat_template_kwargs": {"enable_thinking": False}}])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_friendlis_models_obey_differently_if_a_response_is_to_have_no_reasoning(
    off: dict[str, Any], stream: bool
) -> None:
    def items(model: str, **fields: Any) -> tuple[list[str], str, int]:
        answer = FRIENDLI._replace(model=model).ask(stream=stream, **fields)
        response = answer.events()[-1]["response"] if stream else answer.json()
        text = response["output"][-1]["content"][0]["text"]
        return [item["type"] for item in response["output"]], text, response["usage"]["output_tokens"]

    kinds, text, count = items("zai-org/GLM-5.2", reasoning=off)
    assert kinds == ["message"]
    assert items("zai-org/GLM-5.2")[:2] == (["reasoning", "message"], text)
    assert items("zai-org/GLM-5.2")[2] > count
    kinds, leaking, count = items("zai-org/GLM-5.3", reasoning=off)
    thought, _, answer = leaking.partition("</think>")
    assert (kinds, answer, bool(thought)) == (["message"], items("zai-org/GLM-5.3")[1], True)
    assert items("zai-org/GLM-5.3")[2] == count
    assert items("MiniMaxAI/MiniMax-M2.5", reasoning=off)[0] == (
        ["message"] if "effort" in off else ["reasoning", "message"]
    )
    assert items("MiniMaxAI/MiniMax-M2.5", reasoning=off)[1:] == items("MiniMaxAI/MiniMax-M2.5")[1:]


def test_friendlis_responses_accept_any_effort() -> None:
    assert GLM.ask(reasoning={"effort": "warp"}, max_output_tokens=3).json()["reasoning"]["effort"] == "warp"


# --- what a vendor repeats, and what it makes of what it does not do ------------------------------------------------

ECHOED: dict[str, Any] = {
    "instructions": "Be terse.",
    "max_output_tokens": 7,
    "temperature": 0.5,
    "top_p": 0.25,
    "parallel_tool_calls": False,
    "metadata": {"a": "b"},
    "store": False,
    "user": "u",
    "truncation": "auto",
    "previous_response_id": "resp_1",
    "prompt_cache_key": "k",
    "safety_identifier": "s",
    "background": True,
    "max_tool_calls": 3,
    "top_logprobs": 2,
}


def test_yandex_repeats_what_was_asked() -> None:
    told = D2.ask(**ECHOED).json()
    assert {key: told[key] for key in ECHOED} == ECHOED
    assert told["reasoning"] == {"effort": None, "summary": None}


@pytest.mark.parametrize("kind", ["web_search", "file_search", "code_interpreter", "mcp", "image_generation"])
def test_tools_that_a_vendor_would_run_itself_are_taken_and_not_called(kind: str) -> None:
    needs: dict[str, Any] = {
        "file_search": {"vector_store_ids": ["vs_1"]},
        "mcp": {"server_label": "m", "server_url": "https://example.com"},
        "code_interpreter": {"container": {"type": "auto"}},
    }
    told = D2.ask(tools=[{"type": kind, **needs.get(kind, {})}]).json()
    assert [item["type"] for item in told["output"]] == ["message"]
    assert told["tools"][0]["type"] == kind


@pytest.mark.parametrize("place", [D1, D2], ids=["d1", "d2"])
def test_yandex_calls_a_custom_tool_with_a_text(place: Place) -> None:
    asked: dict[str, Any] = {"tools": [SQL], "tool_choice": {"type": "custom", "name": "sql"}}
    [item] = place.ask(**asked).json()["output"]
    assert (item["type"], item["name"]) == ("custom_tool_call", "sql")
    assert item["input"]
    prepared = {"tool_calls": [{"name": "sql", "arguments": "SELECT 1"}]}
    [item] = place.ask(**asked, reply=prepared).json()["output"]
    assert (item["type"], item["input"]) == ("custom_tool_call", "SELECT 1")
    ended = [each for each in events(place.ask(**asked, stream=True)) if each["type"].endswith("input.done")]
    assert [each["type"] for each in ended] == ["response.custom_tool_call_input.done"]


@pytest.mark.parametrize(
    "choice, called",
    [
        ("auto", True),
        ("none", False),
        ("required", True),
        ({"type": "function", "name": "get_weather"}, True),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_time"}]}, False),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "get_weather"}]}, True),
    ],
)
def test_yandex_obeys_every_choice_of_tools(choice: Any, called: bool) -> None:
    clock = {**WEATHER, "name": "get_time", "description": "The phases of the moon", "parameters": {"type": "object"}}
    told = D2.ask(input=ASK, tools=[WEATHER, clock], tool_choice=choice).json()
    assert any(item.get("name") == "get_weather" for item in told["output"]) is called
    assert told["tool_choice"] == choice


def test_friendli_does_not_call_a_named_tool_again_once_its_result_is_there() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": "{}"}
    items = [{"role": "user", "content": ASK}, call]
    result = {"type": "function_call_output", "call_id": "c1", "output": '{"sky": "hail"}'}
    fields: dict[str, Any] = {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "get_weather"}}
    kinds = [
        [item["type"] for item in FRIENDLI.ask(input=given, **fields).json()["output"]]
        for given in (items[:1], [*items, result], [*items, result, *items[:1]])
    ]
    assert kinds == [["function_call"], ["message"], ["function_call"]]


def test_friendli_says_nothing_of_custom_tools_to_the_model() -> None:
    choices: list[Any] = ["auto", {"type": "custom", "name": "sql"}]
    for choice in choices:
        told = FRIENDLI.ask(tools=[SQL], tool_choice=choice).json()
        assert [item["type"] for item in told["output"]] == ["message"]
        assert told["tools"][0]["name"] == "sql"


def test_friendli_gives_a_stream_other_ids_than_the_response_at_its_end() -> None:
    told = events(GLM.ask(stream=True, **ASKED["calls"]))
    streamed = {event["item"]["id"] for event in told if event["type"] == "response.output_item.done"}
    final = {item["id"] for item in told[-1]["response"]["output"]}
    assert not streamed & final
    assert {id_.split("_")[0] for id_ in final} == {"rs", "fc"}


def test_ovms_reads_no_instructions_and_the_first_text_of_a_message() -> None:
    parts = [{"type": "input_text", "text": "Tell me about tides"}, {"type": "input_text", "text": "Or about glue"}]
    answers = [
        OVMS.ask(**fields).plan.generation
        for fields in ({}, {"instructions": "Be a pirate."}, {"input": [{"role": "user", "content": parts}]})
    ]
    assert len({answer.usage.prompt_tokens for answer in answers if answer is not None}) == 1


def test_ovms_thinks_where_an_effort_is_asked_for_and_says_so_unless_parsers_are_off() -> None:
    quiet: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": False}}

    def kinds(answer: Answer) -> list[str]:
        return [item["type"] for item in answer.json()["output"]]

    assert kinds(QWEN.ask(reasoning={"effort": "low"})) == ["reasoning", "message"]
    assert kinds(QWEN.ask(**quiet)) == ["message"]
    [item] = QWEN.ask(skip_special_tokens=False, tools=[WEATHER], input=ASK).json()["output"]
    assert '"name": "get_weather"' in item["content"][0]["text"]


def test_sse_lines_name_events_where_the_vendor_does_so() -> None:
    for place in PLACES:
        lines = place.ask(stream=True, max_output_tokens=16).body.decode().splitlines()
        kinds = [key for key, _ in groupby(line.split(":")[0] for line in lines if line)]
        assert set(kinds) == ({"data"} if place.dialect == "ovms" else {"event", "data"})
        assert (lines[-2] == "data: [DONE]") is (place.dialect == "ovms")
        if place.dialect != "ovms":
            names = [line.removeprefix("event:").lstrip() for line in lines if line.startswith("event:")]
            said = [line.removeprefix("data:") for line in lines if line.startswith("data:")]
            assert names == [json.loads(data)["type"] for data in said]


# --- Yandex' responses as recorded ----------------------------------------------------------------------------------

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_LITE = ALICE._replace(model="gpt://b1g/yandexgpt-5-lite/latest")


def _without_ids(answer: Answer) -> str:
    """The text of an answer with its ids numbered in the order in which they first occur."""
    seen: dict[str, str] = {}
    return _UUID.sub(lambda found: seen.setdefault(found[0], f"<{len(seen) + 1}>"), answer.body.decode())


def test_yandex_writes_a_plain_response_as_recorded() -> None:
    answer = _LITE.ask(input="Capital?", reply="Paris.", temperature=0.3, max_output_tokens=32)
    assert _without_ids(answer) == (
        '{"id":"<1>","created_at":1.7E9,"error":null,"incomplete_details":null,"instructions":null,"metadata":{},'
        '"model":"gpt://b1g/yandexgpt-5-lite/latest","object":"response","output":[{"id":"<2>","content":['
        '{"annotations":[],"text":"Paris.","type":"output_text","logprobs":null,"valid":true,"valid":true}],'
        '"role":"assistant","status":"completed","type":"message","phase":null,"valid":true,"valid":true}],'
        '"parallel_tool_calls":false,"temperature":0.3,"tool_choice":"auto","tools":[],"top_p":1.0,'
        '"background":false,"completed_at":null,"conversation":null,"max_output_tokens":32,"max_tool_calls":null,'
        '"previous_response_id":null,"prompt":null,"prompt_cache_key":null,"prompt_cache_retention":null,'
        '"reasoning":null,"safety_identifier":null,"service_tier":"default","status":"completed","text":null,'
        '"top_logprobs":null,"truncation":null,"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":0,'
        '"valid":true,"valid":true,"tool_tokens":0},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0,'
        '"valid":true,"valid":true},"total_tokens":12,"valid":true,"valid":true},"user":null,"valid":true,"valid":true}'
    )


def test_yandex_streams_the_items_of_a_response_as_recorded() -> None:
    blocks = _without_ids(_LITE.ask(input="Greet", reply="Hello, world", stream=True)).split("\n\n")
    assert blocks[2:9] == [
        'data:{"sequence_number":3,"output_index":0,"item":{"id":"<2>","content":[],"role":"assistant",'
        '"status":"in_progress","type":"message","valid":true},"type":"response.output_item.added"}\n'
        "event:response.output_item.added",
        'data:{"sequence_number":4,"item_id":"<2>","output_index":0,"content_index":0,"part":{"annotations":[],'
        '"text":"","type":"output_text","valid":true},"type":"response.content_part.added"}\n'
        "event:response.content_part.added",
        'data:{"sequence_number":5,"item_id":"<2>","output_index":0,"content_index":0,"delta":"Hello,",'
        '"type":"response.output_text.delta"}\nevent:response.output_text.delta',
        'data:{"sequence_number":6,"item_id":"<2>","output_index":0,"content_index":0,"delta":" world",'
        '"type":"response.output_text.delta"}\nevent:response.output_text.delta',
        'data:{"sequence_number":7,"item_id":"<2>","output_index":0,"content_index":0,"text":"Hello, world",'
        '"type":"response.output_text.done"}\nevent:response.output_text.done',
        'data:{"sequence_number":8,"item_id":"<2>","output_index":0,"content_index":0,"part":{"annotations":[],'
        '"text":"Hello, world","type":"output_text","logprobs":[],"valid":true},'
        '"type":"response.content_part.done"}\nevent:response.content_part.done',
        'data:{"sequence_number":9,"output_index":0,"item":{"id":"<2>","content":[{"annotations":[],'
        '"text":"Hello, world","type":"output_text","valid":true}],"role":"assistant","status":"completed",'
        '"type":"message","valid":true},"type":"response.output_item.done"}\nevent:response.output_item.done',
    ]
    assert blocks[10:] == [""]


def test_yandex_streams_a_call_as_recorded() -> None:
    prepared = {"tool_calls": [{"name": "get_weather", "arguments": '{"city":"Kazan"}'}]}
    blocks = _without_ids(ALICE.ask(input=ASK, tools=[WEATHER], reply=prepared, stream=True)).split("\n\n")
    call = '"call_id":"get_weather","name":"get_weather","type":"function_call","id":"<2>"'
    arguments = r'"{\"city\":\"Kazan\"}"'
    assert blocks[2:6] == [
        f'data:{{"sequence_number":3,"output_index":0,"item":{{"arguments":"",{call},"status":"in_progress",'
        '"valid":true},"type":"response.output_item.added"}\nevent:response.output_item.added',
        f'data:{{"sequence_number":4,"item_id":"<2>","output_index":0,"delta":{arguments},'
        '"type":"response.function_call_arguments.delta"}\nevent:response.function_call_arguments.delta',
        f'data:{{"sequence_number":5,"item_id":"<2>","output_index":0,"arguments":{arguments},"name":"get_weather",'
        '"type":"response.function_call_arguments.done"}\nevent:response.function_call_arguments.done',
        f'data:{{"sequence_number":6,"output_index":0,"item":{{"arguments":{arguments},{call},"status":"completed",'
        '"valid":true},"type":"response.output_item.done"}\nevent:response.output_item.done',
    ]


def test_yandex_queues_a_response_and_counts_nothing_before_it_is_complete() -> None:
    told = events(ALICE.ask(stream=True, max_output_tokens=3))
    begun = [(event["response"]["status"], event["response"]["usage"]["total_tokens"]) for event in told[:2]]
    assert begun == [("queued", 0), ("in_progress", 0)]
    assert (told[-1]["response"]["status"], told[-1]["response"]["usage"]["output_tokens"]) == ("incomplete", 3)


def test_yandex_fills_in_the_members_of_tools_that_the_request_omits() -> None:
    told = ALICE.ask(tools=[WEATHER, {"type": "web_search"}]).json()
    function = {**WEATHER, "strict": None, "defer_loading": None, "valid": True}
    search = {"type": "web_search", "filters": None, "search_context_size": None, "user_location": None, "valid": True}
    assert told["tools"] == [function, search]


SEARCH = {"type": "web_search"}


def test_yandex_searches_the_web_before_it_answers_a_question_as_recorded() -> None:
    asked: dict[str, Any] = {"input": "What is the weather in Oslo?", "tools": [SEARCH], "max_output_tokens": 9}
    told = events(ALICE.ask(stream=True, **asked))
    assert [event["type"] for event in told[2:9]] == [
        "response.output_item.added",
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
    ]
    begun, done = told[2]["item"], told[6]["item"]
    action = {"query": "the weather in Oslo", "type": "search", "valid": True}
    assert done == {**begun, "action": action, "status": "completed"}
    assert begun == {
        "id": told[3]["item_id"],
        "action": {**action, "query": ""},
        "status": "in_progress",
        "type": "web_search_call",
        "valid": True,
    }
    search, message = told[-1]["response"]["output"]
    assert (search, told[-2]["item"], told[-2]["output_index"]) == (done, message, 1)
    [content] = message["content"]
    assert [each["url"] for each in content["annotations"]] == [
        f"https://{host}/the%20weather%20in%20Oslo" for host in ("example.com", "example.org", "example.net")
    ]
    usage = told[-1]["response"]["usage"]
    assert usage["input_tokens_details"]["tool_tokens"] == 1260
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] + 1260
    assert ALICE.ask(**asked).json()["usage"] == usage


@pytest.mark.parametrize(
    "place, fields",
    [
        (ALICE, {"input": "Say hello"}),
        (ALICE, {"tool_choice": "none"}),
        (ALICE, {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}),
        (ALICE, {"tools": [SEARCH, WEATHER]}),
        (
            ALICE,
            {
                "input": [
                    {"role": "user", "content": "What is the weather in Oslo?"},
                    {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "a", "output": "rain"},
                ]
            },
        ),
        (D1, {}),
    ],
    ids=["no question", "none", "another tool", "a function", "a result", "documented"],
)
def test_yandex_does_not_search_the_web_where_nothing_asks_for_it(place: Place, fields: dict[str, Any]) -> None:
    told = place.ask(**{"input": "What is the weather in Oslo?", "tools": [SEARCH], **fields}).json()
    assert "web_search_call" not in [item["type"] for item in told["output"]]
    assert place is D1 or told["usage"]["input_tokens_details"]["tool_tokens"] == 0


def test_yandex_gives_several_tokens_in_a_delta_of_its_own_models_only() -> None:
    def sizes(place: Place) -> set[int]:
        answer = place.ask(stream=True, max_output_tokens=200)
        counts = [count for run in answer.plan.timeline.runs for count in run.tokens if count]
        assert counts[0] == 1
        return set(counts)

    assert sizes(ALICE) == {1, 2, 3, 4, 5}
    assert sizes(TODAY) == {1}


def test_yandex_names_a_call_after_its_tool_unless_vllm_serves_the_model() -> None:
    ids = [
        [item["call_id"] for item in place.ask(input=ASK, tools=[WEATHER], parallel_tool_calls=True).json()["output"]]
        for place in (ALICE, TODAY)
    ]
    assert ids[0] == ["get_weather", "get_weather"]
    assert all(re.fullmatch(r"chatcmpl-tool-[0-9a-f]{32}", id_) for id_ in ids[1])
    assert len(set(ids[1])) == 2


@pytest.mark.parametrize("place", [D1, D2, ALICE, TODAY], ids=["d1", "d2", "alice", "today"])
def test_yandex_calls_several_tools_at_once_where_the_edition_and_the_request_let_it(place: Place) -> None:
    def count(**fields: Any) -> int:
        told = place.ask(input=ASK, tools=[WEATHER], **fields).json()
        return sum(item["type"] == "function_call" for item in told["output"])

    counts = [count(), count(parallel_tool_calls=False), count(parallel_tool_calls=True)]
    # The models of Yandex' own ignore what a chat says of it.
    assert counts == {D1: [2, 2, 2], D2: [2, 1, 2]}.get(place, [1, 1, 2])


@pytest.mark.parametrize("include", [[], ["message.output_text.logprobs"]], ids=["without", "with"])
def test_log_probabilities_are_where_the_recorded_events_have_room_for_them(include: list[str]) -> None:
    told = events(ALICE.ask(stream=True, max_output_tokens=4, include=include))
    rows = [len(event["logprobs"]) for event in told if event["type"].startswith("response.output_text") and include]
    [part] = [event["part"] for event in told if event["type"] == "response.content_part.done"]
    [content] = told[-1]["response"]["output"][0]["content"]
    assert len(part["logprobs"]) == (4 if include else 0)
    assert ("logprobs" in content) is bool(include)
    assert (sum(rows[:-1]), rows[-1:]) == ((4, [4]) if include else (0, []))
