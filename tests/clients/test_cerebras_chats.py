"""Chats by Cerebras' own SDK, and by OpenAI's, against the Cerebras dialect.

The edition is chosen by `default_headers`. `max_retries=0` keeps one call one request.
"""

import asyncio
import json
from typing import Any

import cerebras.cloud.sdk as cerebras
import openai
import pytest
from cerebras.cloud.sdk import AsyncCerebras, AsyncStream, Cerebras, Stream
from cerebras.cloud.sdk.types.chat.chat_completion import ChatChunkResponse, ChatCompletion, ChatCompletionResponse
from pydantic import BaseModel

from .questions import EDITION, EDITIONS, RATE_LIMITED, TIMEOUT, Server, before, check_logprobs, middle_of

OSS, QWEN, OWN = "gpt-oss-120b", "qwen-3.8-27b", "my-own-model"
ASKED: list[Any] = [{"role": "user", "content": "What's the weather in Oslo?"}]
TOWN: dict[str, Any] = {
    "type": "object",
    "properties": {"town": {"type": "string"}},
    "required": ["town"],
    "additionalProperties": False,
}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Tells the weather in a town",
            "parameters": TOWN,
            "strict": True,
        },
    }
]
MODELS = pytest.mark.parametrize("model", [OSS, QWEN, OWN])
MOST_TURNS = 4

Answer = ChatCompletion | Stream[ChatCompletion] | AsyncStream[ChatCompletion]  # what the SDK says a call may return


def connected(server: Server, edition: str) -> Cerebras:
    return Cerebras(
        api_key="csk-mock",
        base_url=f"{server.url}/cerebras",
        default_headers={EDITION: edition},
        timeout=TIMEOUT,
        max_retries=0,
        warm_tcp_connection=False,
    )


def openai_client(server: Server, edition: str = "documented") -> openai.OpenAI:
    return openai.OpenAI(
        api_key="csk-mock",
        base_url=f"{server.url}/cerebras/v1",
        default_headers={EDITION: edition},
        timeout=TIMEOUT,
        max_retries=0,
    )


def typed(answer: Answer) -> ChatCompletionResponse:
    assert isinstance(answer, ChatCompletionResponse)
    return answer


def asked(client: Cerebras, model: str = OWN, messages: Any = ASKED, **fields: Any) -> ChatCompletionResponse:
    return typed(client.chat.completions.create(model=model, messages=messages, **fields))


def streamed(client: Cerebras, model: str = OWN, messages: Any = ASKED, **fields: Any) -> list[ChatChunkResponse]:
    stream = client.chat.completions.create(model=model, messages=messages, stream=True, **fields)
    assert isinstance(stream, Stream)
    with stream as chunks:
        found = list(chunks)
    assert all(isinstance(chunk, ChatChunkResponse) for chunk in found)
    return found  # type: ignore[return-value]


def joined(chunks: list[ChatChunkResponse], name: str) -> str:
    return "".join(getattr(choice.delta, name) or "" for chunk in chunks for choice in chunk.choices or ())


@MODELS
def test_a_plain_answer_fills_every_field_that_the_sdk_knows(client: Cerebras, model: str) -> None:
    answer = asked(client, model)
    (choice,) = answer.choices
    assert answer.id.startswith("chatcmpl-")
    assert (answer.object, answer.model, answer.service_tier) == ("chat.completion", model, None)
    assert answer.system_fingerprint.startswith("fp_")
    assert (choice.index, choice.finish_reason, choice.message.role) == (0, "stop", "assistant")
    assert choice.message.content
    assert bool(choice.message.reasoning) is (model in (OSS, QWEN))
    assert answer.usage
    assert answer.usage.prompt_tokens
    assert answer.usage.completion_tokens
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    details = answer.usage.completion_tokens_details
    if model in (OSS, QWEN):
        assert details
        assert details.reasoning_tokens
    else:
        assert details is None
    assert answer.time_info
    assert None not in answer.time_info.to_dict().values()


@MODELS
def test_a_stream_joins_to_the_plain_answer_and_ends_with_usage_and_times(client: Cerebras, model: str) -> None:
    plain, chunks = asked(client, model), streamed(client, model)
    message = plain.choices[0].message
    assert (joined(chunks, "content"), joined(chunks, "reasoning")) == (message.content, message.reasoning or "")
    assert joined(chunks, "role") == "assistant"
    assert plain.usage
    usages = [chunk.usage.to_dict() if chunk.usage else None for chunk in chunks]
    assert usages == [None] * (len(chunks) - 1) + [plain.usage.to_dict()]
    assert [bool(chunk.time_info) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    ends = [choice.finish_reason for chunk in chunks for choice in chunk.choices or ()]
    assert ends == [None] * (len(chunks) - 1) + ["stop"]
    assert len({(chunk.id, chunk.created, chunk.system_fingerprint) for chunk in chunks}) == 1


def test_a_limit_and_a_stop_are_obeyed(client: Cerebras) -> None:
    whole = asked(client).choices[0].message.content or ""
    short = asked(client, max_completion_tokens=5)
    assert whole.startswith(short.choices[0].message.content or "-")
    assert short.choices[0].finish_reason == "length"
    stop = middle_of(whole)
    assert asked(client, stop=["never said", stop]).choices[0].message.content == before(whole, stop)


@pytest.mark.parametrize("shown", ["parsed", "raw", "hidden"])
def test_thoughts_are_told_where_the_format_says(client: Cerebras, shown: Any) -> None:
    usual = asked(client, QWEN).choices[0].message
    message = asked(client, QWEN, reasoning_format=shown).choices[0].message
    contents = {"parsed": usual.content, "hidden": usual.content}
    contents["raw"] = f"<think>\n{usual.reasoning}\n</think>\n\n{usual.content}"
    assert message.content == contents[shown]
    assert message.reasoning == (usual.reasoning if shown == "parsed" else None)


def test_log_probabilities_of_thoughts_stand_apart(client: Cerebras) -> None:
    answer = asked(client, OSS, logprobs=True, top_logprobs=2, reasoning_format="parsed", reasoning_effort="low")
    (choice,) = answer.choices
    assert choice.reasoning_logprobs
    assert choice.reasoning_logprobs.content
    assert "".join(row.token for row in choice.reasoning_logprobs.content) == choice.message.reasoning
    assert answer.usage
    assert answer.usage.completion_tokens
    check_logprobs(choice, answer.usage.completion_tokens - len(choice.reasoning_logprobs.content), 2)


@MODELS
def test_an_agents_loop_ends_with_the_result_in_words(client: Cerebras, model: str) -> None:
    messages = [*ASKED]
    for _ in range(MOST_TURNS):
        message = asked(client, model, messages, tools=TOOLS).choices[0].message
        messages.append(message.to_dict())
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            assert json.loads(call.function.arguments or "") == {"town": "Oslo"}
            messages.append({"role": "tool", "tool_call_id": call.id, "content": '{"sky": "rain"}'})
    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "assistant"]
    assert "sky: rain" in messages[-1]["content"]


def test_what_is_wrong_is_the_sdks_own_error(client: Cerebras) -> None:
    with pytest.raises(cerebras.BadRequestError) as refusal:
        asked(client, temperature=2.1)
    assert isinstance(refusal.value.body, dict)
    assert "temperature" in refusal.value.body["message"]
    with pytest.raises(cerebras.RateLimitError):
        asked(client, extra_headers=RATE_LIMITED)
    fault = {"X-Mockserver-Fault": '{ kind = "error_event", error = "server_error", after_event = 2 }'}
    with pytest.raises(cerebras.InternalServerError):
        streamed(client, extra_headers=fault)


def test_only_the_service_refuses_what_it_does_not_know(documented: Cerebras, observed: Cerebras) -> None:
    history = [*ASKED, {"role": "assistant", "content": "Rain.", "reasoning_content": "Clouds."}, *ASKED]
    assert asked(documented, messages=history).choices
    with pytest.raises(cerebras.BadRequestError) as refusal:
        asked(observed, messages=history)
    name = "messages.1.assistant.reasoning_content"
    assert refusal.value.body == {
        "message": f"{name}: property '{name}' is unsupported",
        "type": "invalid_request_error",
        "param": "validation_error",
        "code": "wrong_api_format",
    }


def test_the_raw_response_names_the_inference_in_a_header(client: Cerebras) -> None:
    raw = client.chat.completions.with_raw_response.create(model=OWN, messages=ASKED)
    assert raw.headers["inference-id"] == json.loads(raw.text())["id"]


def test_the_asynchronous_client_gets_the_same_words(server: Server, documented: Cerebras) -> None:
    async def ask() -> tuple[ChatCompletionResponse, list[Any]]:
        async with (
            AsyncCerebras(
                api_key="csk-mock", base_url=f"{server.url}/cerebras", timeout=TIMEOUT, warm_tcp_connection=False
            ) as client,
            asyncio.timeout(TIMEOUT),
        ):
            plain = await client.chat.completions.create(model=OSS, messages=ASKED)
            stream = await client.chat.completions.create(model=OSS, messages=ASKED, stream=True)
            assert isinstance(stream, AsyncStream)
            return typed(plain), [chunk async for chunk in stream]

    plain, chunks = asyncio.run(ask())
    message = asked(documented, OSS).choices[0].message
    assert plain.choices[0].message == message
    assert (joined(chunks, "content"), joined(chunks, "reasoning")) == (message.content, message.reasoning)


@pytest.mark.parametrize("edition", EDITIONS)
@MODELS
def test_the_openai_client_gets_the_same_words_and_thoughts(server: Server, edition: str, model: str) -> None:
    with openai_client(server, edition) as client:
        plain = client.chat.completions.create(model=model, messages=ASKED)
        with client.chat.completions.create(
            model=model, messages=ASKED, stream=True, stream_options={"include_usage": True}
        ) as stream:
            chunks = list(stream)
    message = plain.choices[0].message.to_dict()
    deltas = [chunk.choices[0].delta.to_dict() for chunk in chunks]
    for name in ("content", "reasoning"):
        assert "".join(str(delta.get(name, "")) for delta in deltas) == message.get(name, "")
    assert chunks[-1].usage == plain.usage
    assert chunks[-1].choices[0].finish_reason == plain.choices[0].finish_reason == "stop"


@MODELS
def test_the_openai_client_gathers_calls_from_a_stream(server: Server, model: str) -> None:
    with openai_client(server) as client:
        plain = client.chat.completions.create(model=model, messages=ASKED, tools=TOOLS)
        with client.chat.completions.stream(model=model, messages=ASKED, tools=TOOLS) as stream:
            whole = stream.get_final_completion()
    calls = [completion.choices[0].message.tool_calls for completion in (plain, whole)]
    functions = [[(call.function.name, call.function.arguments) for call in made or ()] for made in calls]  # type: ignore[union-attr]
    town = '{"town":"Oslo"}' if model.startswith("gpt-oss") else '{"town": "Oslo"}'
    assert functions[0] == functions[1] == [("get_weather", town)]
    assert whole.choices[0].finish_reason == "tool_calls"


class Place(BaseModel):
    """What an answer is parsed as."""

    town: str
    rainy: bool


@pytest.mark.parametrize("edition", EDITIONS)
@MODELS
def test_the_openai_client_parses_a_model_of_pydantic(server: Server, edition: str, model: str) -> None:
    with openai_client(server, edition) as client:
        parsed = client.chat.completions.parse(model=model, messages=ASKED, response_format=Place)
    assert isinstance(parsed.choices[0].message.parsed, Place)
