"""FriendliAI's chats by its two clients and by the openai client, which most applications ask it with."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from friendli.core import models
from friendli.core.utils.eventstreaming import EventStream
from friendli.friendli import SyncFriendli
from openai import OpenAI
from pydantic import BaseModel

from .environments import friendli_client
from .friendli_sdk import connected
from .questions import EDITION, RATE_LIMITED, TIMEOUT, Server, before, check_logprobs, middle_of

MODEL, GLM, FLASH = "meta-llama/Llama-3.1-8B-Instruct", "zai-org/GLM-5.3", "zai-org/GLM-5.3-Flash"
HARBOUR = "Write a few sentences about the harbour of a small town in autumn."
WEATHER = "What's the weather and the time in Oslo?"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name, "description": "Of a city", "parameters": CITY}}
    for name in ("get_weather", "get_time")
]


@pytest.fixture
def vendor(server: Server) -> Iterator[SyncFriendli]:
    with connected(server) as client:
        yield client


@pytest.fixture
def client(server: Server) -> Iterator[OpenAI]:
    url = f"{server.url}/friendli/serverless/v1"
    with OpenAI(api_key="flp_mock", base_url=url, max_retries=0, timeout=TIMEOUT) as client:
        yield client


def user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def plain(vendor: SyncFriendli, prompt: str = HARBOUR, **fields: Any) -> models.ServerlessChatCompleteSuccess:
    return whole(vendor.serverless.chat.complete(model=MODEL, messages=user(prompt), **fields))


def whole(answer: object) -> models.ServerlessChatCompleteSuccess:
    assert isinstance(answer, models.ServerlessChatCompleteSuccess)
    return answer


def streamed(vendor: SyncFriendli, prompt: str = HARBOUR, **fields: Any) -> list[models.StreamedChatData]:
    return events_of(vendor.serverless.chat.complete(model=MODEL, messages=user(prompt), stream=True, **fields))


def events_of(answer: Any) -> list[models.StreamedChatData]:
    assert isinstance(answer, EventStream)
    with answer as events:
        return [event.data for event in events]


def text_of(chunks: list[models.StreamedChatData]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


# friendli: the observed edition.


def test_the_sdk_reads_an_answer_with_all_that_it_demands(vendor: SyncFriendli) -> None:
    answer = plain(vendor, max_tokens=9)
    (choice,) = answer.choices
    assert (choice.index, choice.message.role, choice.finish_reason) == (0, "assistant", "length")
    assert choice.message.content
    assert (answer.model, answer.usage.completion_tokens) == (MODEL, 9)


def test_the_sdk_reads_a_stream_of_the_same_words_and_its_usage_at_the_end(vendor: SyncFriendli) -> None:
    answer = plain(vendor)
    *chunks, last = streamed(vendor, stream_options=models.StreamOptions(include_usage=True))
    assert text_of(chunks) == answer.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert not any(chunk.usage for chunk in chunks)
    assert (last.choices, last.usage) == ([], answer.usage)


def test_the_sdk_reads_calls_of_tools_plain_and_in_fragments(vendor: SyncFriendli) -> None:
    (choice,) = plain(vendor, WEATHER, tools=TOOLS).choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls
    told = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls]
    found: dict[int, tuple[str, str]] = {}
    for chunk in streamed(vendor, WEATHER, tools=TOOLS):
        for piece in chunk.choices[0].delta.tool_calls or ():
            name, arguments = found.get(piece.index, ("", ""))
            found[piece.index] = name + (piece.function.name or ""), arguments + (piece.function.arguments or "")
    assert list(found.values()) == told
    assert [name for name, _ in told] == ["get_weather", "get_time"]


def test_the_sdk_reads_a_model_that_vllm_serves(vendor: SyncFriendli) -> None:
    fields: dict[str, Any] = {"model": FLASH, "messages": user(WEATHER), "tools": TOOLS, "reasoning_budget": 9}
    answer = whole(vendor.serverless.chat.complete(**fields))
    (choice,) = answer.choices
    assert choice.message.tool_calls
    told = [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls]
    *chunks, last = events_of(
        vendor.serverless.chat.complete(**fields, stream=True, stream_options=models.StreamOptions(include_usage=True))
    )
    pieces = [piece for chunk in chunks for piece in chunk.choices[0].delta.tool_calls or ()]
    assert [piece.function.name for piece in pieces if piece.id] == [name for _, name, _ in told]
    assert [
        "".join(piece.function.arguments or "" for piece in pieces if piece.index == index) for index in (0, 1)
    ] == [arguments for _, _, arguments in told]
    assert (chunks[-1].choices[0].finish_reason, last.choices, last.usage) == ("tool_calls", [], answer.usage)


def test_the_openai_client_reads_thoughts_and_tokens_of_a_model_that_vllm_serves(client: OpenAI) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
    content: Any = [{"type": "text", "text": "What is this?"}, image]
    answer = client.chat.completions.create(
        model=FLASH, messages=[{"role": "user", "content": content}], extra_body={"reasoning_budget": 9}
    )
    message = answer.choices[0].message
    assert message.model_extra is not None
    assert message.model_extra["reasoning"] == message.model_extra["reasoning_content"] != ""
    assert answer.usage is not None
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.model_extra == {
        "created_cache_tokens": 0,
        "multimodal_tokens": {"image": 256},
    }


def test_the_sdk_reads_log_probabilities(vendor: SyncFriendli) -> None:
    (choice,) = plain(vendor, max_tokens=6, logprobs=True, top_logprobs=2).choices
    assert choice.logprobs
    assert choice.logprobs.content
    assert "".join(row.token for row in choice.logprobs.content) == choice.message.content
    assert [len(row.top_logprobs) for row in choice.logprobs.content] == [2] * 6
    rows = [
        row
        for chunk in streamed(vendor, max_tokens=6, logprobs=True, top_logprobs=2)
        for row in (chunk.choices[0].logprobs.content or () if chunk.choices[0].logprobs else ())
    ]
    assert [row.logprob for row in rows] == [row.logprob for row in choice.logprobs.content]


def test_the_sdk_asks_a_container_and_an_endpoint_of_ones_own(server: Server, vendor: SyncFriendli) -> None:
    container: Any = vendor.container.chat.complete(
        messages=user(HARBOUR),
        max_tokens=5,
        server_url=f"{server.url}/friendli",
        http_headers={EDITION: "observed"},
    )
    dedicated = whole(vendor.dedicated.chat.complete(model="endpoint:route", messages=user(HARBOUR), max_tokens=5))
    assert container.usage.completion_tokens == dedicated.usage.completion_tokens == 5
    assert (container.choices[0].finish_reason, dedicated.model) == ("length", "endpoint")


def test_the_sdk_reads_the_answer_of_a_model_that_thinks_without_its_thoughts(vendor: SyncFriendli) -> None:
    answer = whole(vendor.serverless.chat.complete(model=GLM, messages=user(HARBOUR), reasoning_budget=9))
    assert answer.choices[0].message.content
    assert not hasattr(answer.choices[0].message, "reasoning_content")


def test_the_sdk_is_refused_with_the_engines_words(vendor: SyncFriendli) -> None:
    with pytest.raises(models.SDKError) as refusal:
        plain(vendor, tools=TOOLS, response_format={"type": "json_object"})
    assert refusal.value.status_code == 422
    assert json.loads(refusal.value.body) == {
        "message": "The 'response_format' field cannot be set when tools are specified"
    }


# friendli-client: the documented edition, in an environment of its own.


def test_the_first_client_chats(server: Server) -> None:
    seen = friendli_client(server.url)["chat"]
    (choice,) = seen["answer"]["choices"]
    assert (choice["message"]["role"], choice["finish_reason"]) == ("assistant", "stop")
    assert (
        "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in seen["chunks"])
        == (choice["message"]["content"])
    )
    assert seen["chunks"][-1]["choices"][0]["finish_reason"] == "stop"
    assert seen["answer"]["usage"]["completion_tokens"] == len(seen["chunks"]) - 1


def test_the_first_client_calls_tools(server: Server) -> None:
    seen = friendli_client(server.url)["chat tools"]
    assert seen["answer"]["choices"][0]["finish_reason"] == "tool_calls"
    told = [call["function"] for call in seen["answer"]["choices"][0]["message"]["tool_calls"]]
    found: dict[int, dict[str, str]] = {}
    for chunk in seen["chunks"]:
        for piece in chunk["choices"][0]["delta"].get("tool_calls") or ():
            call = found.setdefault(piece["index"], {"arguments": "", "name": ""})
            for key, text in piece["function"].items():
                call[key] += text or ""
    assert list(found.values()) == told


def test_the_first_client_reads_log_probabilities_of_words_that_are_not_ascii(server: Server) -> None:
    (choice,) = friendli_client(server.url)["chat scores"]["answer"]["choices"]
    rows = choice["logprobs"]["content"]
    assert "".join(row["token"] for row in rows) == choice["message"]["content"]
    assert not choice["message"]["content"].isascii()
    assert {len(row["top_logprobs"]) for row in rows} == {2}


def test_the_first_client_is_refused_with_all_faults(server: Server) -> None:
    problem = friendli_client(server.url)["chat refused"]["problem"]
    assert (problem["class"], problem["status"]) == ("APIError", 422)
    assert "top_logprobs" in problem["message"]


# openai: what most applications ask with.


def test_openai_streams_the_plain_answer(client: OpenAI) -> None:
    create = client.chat.completions.create
    answer = create(model=MODEL, messages=user(HARBOUR), seed=7)
    chunks = list(create(model=MODEL, messages=user(HARBOUR), seed=7, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == answer.choices[0].message.content
    assert (chunks[0].choices[0].delta.role, chunks[-1].choices[0].finish_reason) == ("assistant", "stop")
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}


def test_openai_stops_where_a_phrase_begins(client: OpenAI) -> None:
    create = client.chat.completions.create
    whole = create(model=MODEL, messages=user(HARBOUR)).choices[0].message.content or ""
    stop = middle_of(whole)
    (choice,) = create(model=MODEL, messages=user(HARBOUR), stop=[stop]).choices
    assert (choice.message.content, choice.finish_reason) == (before(whole, stop), "stop")


def test_openai_reads_log_probabilities(client: OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL, messages=user(HARBOUR), max_completion_tokens=6, logprobs=True, top_logprobs=3
    )
    check_logprobs(answer.choices[0], 6, 3)


def test_openai_finds_thoughts_apart_plain_and_streamed(client: OpenAI) -> None:
    def asked(**fields: Any) -> Any:
        body = {"parse_reasoning": True, "reasoning_budget": 20}
        return client.chat.completions.create(model=GLM, messages=user(HARBOUR), extra_body=body, **fields)

    message = asked().choices[0].message
    deltas = [chunk.choices[0].delta for chunk in asked(stream=True)]
    thoughts = [getattr(delta, "reasoning_content", None) or "" for delta in deltas]
    assert "".join(thoughts) == message.reasoning_content == message.reasoning
    assert "".join(delta.content or "" for delta in deltas) == message.content


def test_openai_runs_a_tool_and_gets_its_result_in_words(client: OpenAI) -> None:
    messages = user("What's the weather in Oslo?")
    create = client.chat.completions.create
    called = create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
    assert called.tool_calls
    messages = [
        *messages,
        called.model_dump(),
        {"role": "tool", "tool_call_id": called.tool_calls[0].id, "content": '{"sky": "hail"}'},
    ]
    assert "hail" in (create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message.content or "")


def test_openais_stream_helper_puts_calls_together(client: OpenAI) -> None:
    with client.chat.completions.stream(model=MODEL, messages=user(WEATHER), tools=TOOLS) as stream:
        final = stream.get_final_completion()
    calls = final.choices[0].message.tool_calls or []
    assert [(call.function.name, json.loads(call.function.arguments)) for call in calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_time", {"city": "Oslo"}),
    ]


def test_openai_parses_an_answer_into_a_class(client: OpenAI) -> None:
    class Person(BaseModel):
        name: str
        age: int

    answer = client.chat.completions.parse(model=MODEL, messages=user("Who?"), response_format=Person)
    assert isinstance(answer.choices[0].message.parsed, Person)


def test_openai_raises_its_errors_with_the_vendors_bodies(client: OpenAI) -> None:
    create = client.chat.completions.create
    with pytest.raises(openai.UnprocessableEntityError) as refusal:
        create(model=GLM, messages=user(HARBOUR), extra_body={"thinking": {"type": "enabled"}})
    assert refusal.value.body == {"message": "no such field: 'thinking'"}
    with pytest.raises(openai.AuthenticationError) as unknown:
        create(model=MODEL, messages=user(HARBOUR), extra_headers={"Authorization": openai.Omit()})
    assert unknown.value.body == {"detail": "Unauthorized. Please provide a valid credential."}
    with pytest.raises(openai.RateLimitError):
        create(model=MODEL, messages=user(HARBOUR), extra_headers=RATE_LIMITED)
