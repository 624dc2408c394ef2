"""Responses of OpenAI: their bytes as recorded, what they echo, and what is refused."""

import json
import re
from itertools import groupby
from typing import Any

import pytest

from mockserver.state.namespaces import Namespace
from mockserver.state.stubs.parse_stubs import read_stub
from tests.support.asking import FROZEN, Answer, ask

PATH = "/v1/responses"
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"type": "function", "name": "get_weather", "parameters": CITY}
CREATED = int(FROZEN)


def respond(reply: object = None, fault: str = "", path: str = PATH, **fields: Any) -> Answer:
    space = Namespace("")
    if reply is not None:
        space.stubs.add(read_stub({"reply": reply}))
    body = {"model": "gpt-4o-mini", "input": "Tell me about tides", **fields}
    headers = {"x-mockserver-fault": fault}
    return ask("openai", body, path=path, method="POST", headers=headers, namespace=space)


def told(answer: Answer) -> list[tuple[str, dict[str, Any]]]:
    """The events as lines of names and data."""
    rows = [event.split("\n") for event in answer.body.decode().removesuffix("\n\n").split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in rows]


def template(event: str, ids: dict[str, str]) -> str:
    """An event without its padding, and with names in the place of ids."""
    text = re.sub(r'"obfuscation":"[A-Za-z0-9]*"', '"obfuscation":"…"', event)
    return re.sub(r"(resp|msg|rs|fc)_[0-9a-f]{50}", lambda found: ids.setdefault(found[0], found[1].upper()), text)


def templates(answer: Answer) -> list[str]:
    """The events of a stream but for the first two and the last, which have the whole response."""
    ids: dict[str, str] = {}
    return [template(event, ids) for event in answer.body.decode().removesuffix("\n\n").split("\n\n")][2:-1]


# --- one body ----------------------------------------------------------------------------------------------------


def test_a_body_is_laid_out_as_recorded() -> None:
    body = respond("Grüße 🌊", store=False, user="u", temperature=0).body.decode()
    assert body.isascii()
    assert not body.endswith("\n")
    assert '"text": "Gr\\u00fc\\u00dfe \\ud83c\\udf0a"' in body
    assert '\n  "temperature": 0.0,\n' in body
    assert body == json.dumps(json.loads(body), indent=2)
    names = (
        "id object created_at status background billing completed_at error frequency_penalty incomplete_details "
        "instructions max_output_tokens max_tool_calls model moderation output parallel_tool_calls presence_penalty "
        "previous_response_id prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier store "
        "temperature text tool_choice tool_usage tools top_logprobs top_p truncation usage user metadata"
    )
    assert " ".join(json.loads(body)) == names


def test_ids_of_a_response_and_its_items_share_what_the_vendors_share() -> None:
    answer = respond(model="gpt-5.4", reasoning={"effort": "low"}, tools=[WEATHER], input="How is Oslo's weather?")
    response = answer.json()
    ids = [response["id"], *(item["id"] for item in response["output"])]
    parts = [re.fullmatch(r"([a-z]+)_(.{16})00(.{8})(.{4})(81..)(.{16})", each) for each in ids]
    assert all(parts)
    found = [part.groups() for part in parts if part]
    assert {(shared, time, constant) for _, shared, time, _, constant, _ in found} == {
        (found[0][1], f"{CREATED:08x}", found[0][4])
    }
    assert len({(own, last) for _, _, _, own, _, last in found}) == len(ids)
    assert [kind for kind, *_ in found] == ["resp", "rs", "fc"]
    assert re.fullmatch("call_[A-Za-z0-9]{24}", response["output"][1]["call_id"])


def test_what_a_request_leaves_out_is_echoed_as_the_model_has_it() -> None:
    def echoed(model: str, **fields: Any) -> tuple[Any, ...]:
        found = respond(model=model, **fields).json()
        names = ("model", "reasoning", "top_p", "prompt_cache_retention", "prompt_cache_options", "service_tier")
        return tuple(found.get(name) for name in names)

    plain = {"context": None, "effort": None, "summary": None}
    assert echoed("gpt-4o") == ("gpt-4o-2024-08-06", plain, 1.0, "in_memory", None, "default")
    deep = {"context": "current_turn", "effort": "none", "mode": "standard", "summary": None}
    assert echoed("gpt-5.4") == ("gpt-5.4-2026-03-05", deep, 0.98, "24h", None, "default")
    deep |= {"context": "all_turns", "effort": "medium"}
    assert echoed("gpt-5.6") == ("gpt-5.6-sol", deep, 0.98, "24h", None, "default")
    asked: dict[str, Any] = {"reasoning": {"effort": "high", "summary": "auto"}, "service_tier": "fast"}
    asked |= {"prompt_cache_options": {"mode": "explicit"}}
    deep |= {"effort": "high", "summary": "detailed"}
    caching = {"mode": "explicit", "ttl": "30m"}
    assert echoed("gpt-5.6", **asked) == ("gpt-5.6-sol", deep, 0.98, "24h", caching, "priority")


def test_tools_and_formats_are_echoed_with_all_their_members() -> None:
    inner: dict[str, Any] = {"type": "object", "properties": {"b": {"type": "string"}}}
    open_ = {"type": "object", "properties": {"a": {"type": "object"}}}
    more: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "list": {"type": "array", "items": inner}},
    }
    functions = [
        WEATHER,
        {"type": "function", "name": "open", "parameters": open_},
        {"type": "function", "name": "more", "parameters": {**more, "required": ["list"]}, "strict": None},
    ]
    custom, search = {"type": "custom", "name": "sql"}, {"type": "web_search", "external_web_access": False}
    remote: dict[str, Any] = {"type": "mcp", "server_label": "a", "server_url": "https://a.example"}
    remote |= {"headers": {"x-key": "secret"}, "require_approval": {"never": {"tool_names": ["b"]}}}
    form = {"type": "json_schema", "name": "city", "schema": CITY}
    tools = [*functions, custom, search, remote]
    found = respond(tools=tools, text={"format": form}, tool_choice="none").json()
    closed = {"required": ["b"], "additionalProperties": False}
    more["properties"]["list"]["items"] = {**inner, **closed}
    function = {"type": "function", "description": None}
    echoed = [
        {**function, "name": "get_weather", "output_schema": None, "parameters": CITY, "strict": True},
        {**function, "name": "open", "output_schema": None, "parameters": open_, "strict": False},
        {
            **function,
            "name": "more",
            "output_schema": None,
            "parameters": {**more, "required": ["list", "a"], "additionalProperties": False},
            "strict": True,
        },
        {"type": "custom", "description": None, "format": {"type": "text"}, "name": "sql"},
        {
            "type": "web_search",
            "return_token_budget": "default",
            "search_content_types": ["text"],
            "search_context_size": "medium",
            "user_location": {
                "type": "approximate", "city": None, "country": "US", "region": None, "timezone": None
            },
        },
        {
            "type": "mcp",
            "allowed_tools": None,
            "headers": {"x-key": "<redacted>"},
            "require_approval": {"always": None, "never": {"read_only": None, "tool_names": ["b"]}},
            "server_description": None,
            "server_label": "a",
            "server_url": "https://a.example",
        },
    ]  # fmt: skip
    assert json.dumps(found["tools"]) == json.dumps(echoed)
    assert list(found["text"]["format"].items()) == [
        ("type", "json_schema"), ("description", None), ("name", "city"), ("schema", CITY), ("strict", False)
    ]  # fmt: skip
    assert set(json.loads(found["output"][0]["content"][0]["text"])) == {"city"}


def test_reasoning_is_an_item_without_a_summary_unless_that_is_asked_for() -> None:
    hidden, message = respond(model="gpt-5.4", reasoning={"effort": "low"}).json()["output"]
    assert list(hidden.items())[1:] == [("type", "reasoning"), ("content", []), ("summary", [])]
    assert list(message)[1:] == ["type", "status", "content", "phase", "role"]
    assert message["phase"] == "final_answer"
    asked: dict[str, Any] = {
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
    }
    answer = respond(model="gpt-5.4", **asked)
    shown = answer.json()["output"][0]
    assert list(shown)[1:] == ["type", "content", "encrypted_content", "summary"]
    assert re.fullmatch(r"gAAAAA[\w-]+={2}", shown["encrypted_content"])
    assert len(shown["encrypted_content"]) % 4 == 0
    usage = answer.json()["usage"]
    assert 0 < usage["output_tokens_details"]["reasoning_tokens"] < usage["output_tokens"]
    # What comes back does not count, and is accepted.
    again = [{"role": "user", "content": "Hi"}, shown, message, {"role": "user", "content": "Go on"}]
    assert respond(model="gpt-5.4", input=again).status == 200


def test_what_uses_up_its_tokens_while_it_thinks_has_no_message() -> None:
    found = respond(model="gpt-5", max_output_tokens=16).json()
    assert [item["type"] for item in found["output"]] == ["reasoning"]
    assert (found["status"], found["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert found["completed_at"] is None


def test_log_probabilities_are_where_they_are_included() -> None:
    asked: dict[str, Any] = {"include": ["message.output_text.logprobs"], "top_logprobs": 2, "max_output_tokens": 16}
    part = respond(**asked).json()["output"][0]["content"][0]
    assert "".join(row["token"] for row in part["logprobs"]) == part["text"]
    assert {len(row["top_logprobs"]) for row in part["logprobs"]} == {2}
    deltas = [data for kind, data in told(respond(**asked, stream=True)) if kind.endswith("text.delta")]
    assert [row for data in deltas for row in data["logprobs"]] == part["logprobs"]
    assert all((len(data["delta"]) + len(data["obfuscation"])) % 16 == 0 for data in deltas)


# --- streams -----------------------------------------------------------------------------------------------------


def test_a_text_is_streamed_as_recorded() -> None:
    answer = respond("Hi you", stream=True)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    where = '"content_index":0,'
    tail = '"item_id":"MSG","logprobs":[],"obfuscation":"…","output_index":0,"sequence_number"'
    part = '{"type":"output_text","annotations":[],"logprobs":[],"text":'
    assert templates(answer) == [
        'event: response.output_item.added\ndata: {"type":"response.output_item.added","item":{"id":"MSG",'
        '"type":"message","status":"in_progress","content":[],"role":"assistant"},"output_index":0,'
        '"sequence_number":2}',
        f'event: response.content_part.added\ndata: {{"type":"response.content_part.added",{where}"item_id":"MSG",'
        f'"output_index":0,"part":{part}""}},"sequence_number":3}}',
        'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","content_index":0,'
        f'"delta":"Hi",{tail}:4}}',
        'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","content_index":0,'
        f'"delta":" you",{tail}:5}}',
        f'event: response.output_text.done\ndata: {{"type":"response.output_text.done",{where}"item_id":"MSG",'
        '"logprobs":[],"output_index":0,"sequence_number":6,"text":"Hi you"}',
        f'event: response.content_part.done\ndata: {{"type":"response.content_part.done",{where}"item_id":"MSG",'
        f'"output_index":0,"part":{part}"Hi you"}},"sequence_number":7}}',
        'event: response.output_item.done\ndata: {"type":"response.output_item.done","item":{"id":"MSG",'
        f'"type":"message","status":"completed","content":[{part}"Hi you"}}],"role":"assistant"}},"output_index":0,'
        '"sequence_number":8}',
    ]
    (created, first), *_, (completed, last) = told(answer)
    assert (created, completed) == ("response.created", "response.completed")
    assert list(first) == ["type", "response", "sequence_number"]
    begun, done = first["response"], last["response"]
    assert [begun[name] for name in ("status", "output", "usage", "service_tier")] == ["in_progress", [], None, "auto"]
    assert "billing" not in begun
    assert (done["status"], done["service_tier"], done["completed_at"]) == ("completed", "default", CREATED)
    assert not answer.body.endswith(b"[DONE]\n\n")


def test_a_call_is_streamed_as_recorded() -> None:
    call = {"name": "get_weather", "arguments": '{"city":'}
    answer = respond({"tool_calls": [call]}, tools=[WEATHER], stream=True)
    id_ = re.findall("call_[A-Za-z0-9]{24}", answer.body.decode())[0]
    item = '{"id":"FC","type":"function_call","status":"%s","arguments":"%s","call_id":"%s","name":"get_weather"}'
    said = '{\\"city\\":'
    rows = templates(answer)
    assert [rows[0], *rows[-2:]] == [
        'event: response.output_item.added\ndata: {"type":"response.output_item.added","item":'
        f'{item % ("in_progress", "", id_)},"output_index":0,"sequence_number":2}}',
        'event: response.function_call_arguments.done\ndata: {"type":"response.function_call_arguments.done",'
        f'"arguments":"{said}","item_id":"FC","output_index":0,"sequence_number":{len(rows)}}}',
        'event: response.output_item.done\ndata: {"type":"response.output_item.done","item":'
        f'{item % ("completed", said, id_)},"output_index":0,"sequence_number":{len(rows) + 1}}}',
    ]
    assert rows[1] == (
        'event: response.function_call_arguments.delta\ndata: {"type":"response.function_call_arguments.delta",'
        '"delta":"{\\"","item_id":"FC","obfuscation":"…","output_index":0,"sequence_number":3}'
    )


def test_a_summary_is_streamed_as_recorded() -> None:
    asked: dict[str, Any] = {"model": "gpt-5.4", "reasoning": {"effort": "low", "summary": "auto"}}
    answer = respond(**asked, max_output_tokens=1000, stream=True)
    rows = templates(answer)
    kinds = [kind for kind, _ in groupby(kind.removeprefix("response.") for kind, _ in told(answer))]
    assert kinds == [
        "created", "in_progress",
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done",
        "output_item.done", "completed",
    ]  # fmt: skip
    assert rows[:2] == [
        'event: response.output_item.added\ndata: {"type":"response.output_item.added","item":{"id":"RS",'
        '"type":"reasoning","content":[],"summary":[]},"output_index":0,"sequence_number":2}',
        'event: response.reasoning_summary_part.added\ndata: {"type":"response.reasoning_summary_part.added",'
        '"item_id":"RS","output_index":0,"part":{"type":"summary_text","text":""},"sequence_number":3,'
        '"summary_index":0}',
    ]
    deltas = [data for kind, data in told(answer) if kind.endswith("summary_text.delta")]
    names = ["type", "delta", "item_id", "obfuscation", "output_index", "sequence_number", "summary_index"]
    assert {tuple(data) for data in deltas} == {tuple(names)}
    hidden = templates(respond(model="gpt-5.4", reasoning={"effort": "low"}, stream=True))
    assert ['"summary":[]' in row for row in hidden[:3]] == [True, True, False]


@pytest.mark.parametrize(
    "reply, tools, delta, done",
    [
        ({"refusal": "No."}, [], "response.refusal.delta", ("response.refusal.done", "refusal", "No.")),
        (
            {"tool_calls": [{"name": "sql", "arguments": "SELECT 1"}]},
            [{"type": "custom", "name": "sql"}],
            "response.custom_tool_call_input.delta",
            ("response.custom_tool_call_input.done", "input", "SELECT 1"),
        ),
    ],
)
def test_refusals_and_custom_calls_have_events_of_their_own(
    reply: Any, tools: Any, delta: str, done: tuple[str, str, str]
) -> None:
    events = told(respond(reply, tools=tools, stream=True))
    ended, key, text = done
    assert "".join(data["delta"] for kind, data in events if kind == delta) == text
    assert [data[key] for kind, data in events if kind == ended] == [text]


def test_deltas_are_padded_to_a_multiple_of_sixteen_unless_that_is_switched_off() -> None:
    deltas = [data for kind, data in told(respond(stream=True)) if kind.endswith(".delta")]
    assert {(len(data["delta"]) + len(data["obfuscation"])) % 16 for data in deltas} == {0}
    bare = told(respond(stream=True, stream_options={"include_obfuscation": False}))
    assert not any("obfuscation" in data for _, data in bare)
    assert [data["delta"] for _, data in bare if "delta" in data] == [data["delta"] for data in deltas]


def test_a_stream_in_the_background_begins_in_the_queue() -> None:
    events = told(respond("Hi", background=True, stream=True))
    assert [(kind, data["response"]["status"]) for kind, data in events[:3]] == [
        ("response.created", "queued"), ("response.queued", "queued"), ("response.in_progress", "in_progress")
    ]  # fmt: skip
    assert [list(data)[:2] for _, data in events[1:4]] == [["type", "response"], *[["type", "sequence_number"]] * 2]


def test_a_response_in_the_background_is_answered_at_once() -> None:
    found = respond(background=True).json()
    assert (found["status"], found["output"], found["usage"], found["completed_at"]) == ("queued", [], None, None)


def test_a_failing_stream_ends_with_the_failed_response() -> None:
    events = told(respond("Hi you", '{ kind = "error_event", after_event = 6 }', stream=True))
    error = {"type": "server_error", "code": "server_error", "message": events[-1][1]["response"]["error"]["message"]}
    assert events[-2] == ("error", {"type": "error", "error": {**error, "param": None}, "sequence_number": 6})
    failed = events[-1][1]["response"]
    assert (failed["status"], failed["error"]["code"], failed["output"]) == ("failed", "server_error", [])
    crowded = told(respond("Hi you", '{ kind = "error_event", error = "overloaded", after_event = 3 }', stream=True))
    assert [kind for kind, _ in crowded[3:]] == ["response.failed"]
    assert crowded[-1][1]["response"]["error"]["code"] == "server_is_overloaded"


# --- requests ----------------------------------------------------------------------------------------------------


def test_the_tokens_of_an_input_are_counted_as_an_answer_states_them() -> None:
    picture = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    image, file = {"type": "input_image", "image_url": picture, "detail": "low"}, {"type": "input_file", "file_id": "f"}
    words = {"type": "input_text", "text": "Hi"}

    def counted(*parts: Any) -> int:
        items = [{"role": "user", "content": [words, *parts]}]
        answer = respond(path=f"{PATH}/input_tokens", input=items)
        found = answer.json()
        assert answer.body == json.dumps({"object": "response.input_tokens", **found}, indent=2).encode()
        assert respond(input=items).json()["usage"]["input_tokens"] == found["input_tokens"]
        return int(found["input_tokens"])

    assert counted(image) - counted() == 85
    assert counted(file) - counted() == 256
    assert counted({**image, "detail": "auto"}) - counted() == 255


def test_only_tools_that_can_be_called_are_called() -> None:
    asked: dict[str, Any] = {"input": "What is the weather in Oslo?", "tools": [WEATHER, {"type": "web_search"}]}

    def kinds(**fields: Any) -> list[str]:
        return [item["type"] for item in respond(**asked, **fields).json()["output"]]

    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "get_weather"}]}
    for choice in ("required", {"type": "function", "name": "get_weather"}, allowed):
        assert kinds(tool_choice=choice) == ["function_call"]
    assert kinds(tool_choice="none") == ["message"]
    assert kinds(tool_choice={"type": "web_search"}) == kinds()


@pytest.mark.parametrize(
    "fields, message, param, code",
    [
        ({"x": 1}, "Unknown parameter: 'x'.", "x", "unknown_parameter"),
        (
            {"input": "x " * 200_000},
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "input",
            "context_length_exceeded",
        ),
    ],
    ids=["unknown", "long"],
)
def test_what_is_refused_is_refused_in_the_vendors_words(
    fields: dict[str, Any], message: str, param: str | None, code: str | None
) -> None:
    for path in (PATH, f"{PATH}/input_tokens", f"{PATH}/compact"):
        answer = respond(path=path, **fields)
        error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
        assert (answer.status, answer.json()) == (400, {"error": error})


def test_what_is_too_long_is_cut_if_the_request_allows_that() -> None:
    answer = respond(input="x " * 200_000, truncation="auto", max_output_tokens=16)
    assert (answer.status, answer.json()["usage"]["input_tokens"]) == (200, 128_000 - 16_384)


def test_a_prompt_of_the_vendors_needs_neither_a_model_nor_an_input() -> None:
    body = {"prompt": {"id": "pmpt_1", "variables": {"city": "Oslo"}}}
    answer = ask("openai", body, path=PATH, method="POST").json()
    assert answer["model"] == "gpt-4.1-2025-04-14"
    told = {"city": {"type": "input_text", "text": "Oslo"}}
    assert list(answer["prompt"].items()) == [("id", "pmpt_1"), ("variables", told), ("version", None)]
