"""OpenAI's SDK, which Yandex names for this API, and Yandex' own, against the Yandex AI Studio dialect.

The edition is chosen by `default_headers`; the model chooses the backend: D1 (`yandexgpt`) or D2 (`qwen`, on vLLM).
"""

import asyncio
import json
import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import (
    ChatCompletionChunk,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageFunctionToolCall,
    ChatCompletionMessageParam,
)
from pydantic import BaseModel
from yandex_ai_studio_sdk import AIStudio, AsyncAIStudio
from yandex_ai_studio_sdk._chat.completions.model import ChatModel
from yandex_ai_studio_sdk._chat.completions.result import FinishReason
from yandex_ai_studio_sdk._types.schemas import JsonVal

from .questions import EDITION, PROMPT, RATE_LIMITED, TIMEOUT, Server, before, check_logprobs, middle_of

# Yandex' SDK still calls what Python 3.12 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utcfromtimestamp:DeprecationWarning")

FOLDER = "b1gmockfolder"
D1 = f"gpt://{FOLDER}/yandexgpt/latest"
D2 = f"gpt://{FOLDER}/qwen3-235b-a22b-fp8/latest"
MODELS = pytest.mark.parametrize("model", [D1, D2])
MESSAGES: list[ChatCompletionMessageParam] = [{"role": "user", "content": PROMPT}]
WEATHER: list[ChatCompletionMessageParam] = [
    {"role": "user", "content": "What will the weather be in Oslo for the next 3 days?"}
]
SCHEMA: dict[str, JsonVal] = {
    "type": "object",
    "properties": {"town": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7}},
    "required": ["town", "days"],
    "additionalProperties": False,
}
FORECAST: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {"name": "forecast", "parameters": {**SCHEMA}, "strict": True},
}


class Harbour(BaseModel):
    """What a structured answer is parsed into."""

    town: str
    boats: int
    open: bool


def connected(server: Server, edition: str) -> OpenAI:
    return OpenAI(
        api_key="AQVNmock",
        project=FOLDER,
        base_url=f"{server.url}/yandex/v1",
        default_headers={EDITION: edition},
        timeout=TIMEOUT,
        max_retries=0,
    )


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def said(client: OpenAI, model: str) -> str:
    content = client.chat.completions.create(model=model, messages=MESSAGES).choices[0].message.content
    assert content
    return content


def told(client: OpenAI, model: str) -> list[ChatCompletionChunk]:
    with client.chat.completions.create(model=model, messages=MESSAGES, stream=True) as stream:
        return list(stream)


@MODELS
def test_a_plain_answer_has_the_keys_of_the_recordings_and_no_others(client: OpenAI, model: str) -> None:
    answer = client.chat.completions.create(model=model, messages=MESSAGES)
    (choice,) = answer.choices
    assert set(answer.to_dict()) == {"id", "object", "created", "model", "choices", "usage"}
    assert set(choice.to_dict()) == {"index", "message", "finish_reason"}
    assert set(choice.message.to_dict()) == {"role", "content"}
    assert (answer.object, choice.index, choice.finish_reason) == ("chat.completion", 0, "stop")
    assert choice.message.content
    assert answer.usage
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_the_backends_differ_in_their_ids_and_in_how_they_name_the_model(client: OpenAI) -> None:
    first = client.chat.completions.create(model=D1, messages=MESSAGES)
    second = client.chat.completions.create(model=D2, messages=MESSAGES)
    uuid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert re.fullmatch(uuid, first.id)
    assert re.fullmatch(f"chatcmpl-{uuid}", second.id)
    assert (first.model, second.model) == (D1, "gpt://qwen3-235b-a22b-fp8/latest")


def test_a_stream_of_yandexgpt_is_a_few_large_chunks(client: OpenAI) -> None:
    whole, chunks = said(client, D1), told(client, D1)
    choices = [chunk.choices[0] for chunk in chunks]
    assert text_of(chunks) == whole
    assert choices[0].delta.role == "assistant"
    assert choices[0].delta.content
    assert choices[-1].delta.content
    assert choices[-1].finish_reason == "stop"
    assert not any("finish_reason" in choice.to_dict() for choice in choices[:-1])
    assert not any("usage" in chunk.to_dict() for chunk in chunks[:-1])
    assert 1 < len(chunks) < len(whole.split())


def test_a_stream_of_a_vllm_model_is_a_token_per_chunk_and_ends_with_usage_unasked(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=D2, messages=MESSAGES)
    first, *tokens, final, last = told(client, D2)
    assert first.choices[0].to_dict() == {"index": 0, "delta": {"role": "assistant"}}
    assert text_of(tokens) == answer.choices[0].message.content
    assert all(set(chunk.choices[0].to_dict()) == {"index", "delta"} for chunk in tokens)
    assert final.choices[0].to_dict() == {"index": 0, "delta": {}, "finish_reason": "stop"}
    assert (last.choices, last.usage) == ([], answer.usage)
    assert answer.usage
    assert 3 < len(tokens) <= answer.usage.completion_tokens


@MODELS
@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_a_limit_cuts_the_answer_to_a_prefix_and_says_length(client: OpenAI, model: str, limit: str) -> None:
    answer = client.chat.completions.create(model=model, messages=MESSAGES, extra_body={limit: 5})
    with client.chat.completions.create(model=model, messages=MESSAGES, extra_body={limit: 5}, stream=True) as stream:
        chunks = list(stream)
    content = answer.choices[0].message.content
    assert content
    assert said(client, model).startswith(content)
    assert text_of(chunks) == content
    assert answer.choices[0].finish_reason == "length"
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "length"
    assert answer.usage
    assert answer.usage.completion_tokens == 5


@MODELS
def test_stop_is_not_supported_and_changes_nothing(client: OpenAI, model: str) -> None:
    whole = said(client, model)
    stop = middle_of(whole)
    answer = client.chat.completions.create(model=model, messages=MESSAGES, stop=stop)
    assert before(whole, stop) != answer.choices[0].message.content == whole


def test_logprobs_describe_each_token_of_the_text(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=D2, messages=MESSAGES, logprobs=True, top_logprobs=2, max_tokens=12)
    (choice,) = answer.choices
    check_logprobs(choice, tokens=12, alternatives=2)


def test_n_adds_choices_after_the_one_that_is_always_given(client: OpenAI) -> None:
    first, second = client.chat.completions.create(model=D2, messages=MESSAGES, n=2).choices
    assert (first.index, first.message.content, second.index) == (0, said(client, D2), 1)
    assert second.message.content not in ("", first.message.content)


@MODELS
def test_the_stream_helper_gathers_the_plain_answer(client: OpenAI, model: str) -> None:
    answer = client.chat.completions.create(model=model, messages=MESSAGES)
    with client.chat.completions.stream(model=model, messages=MESSAGES) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert "".join(deltas) == final.choices[0].message.content == answer.choices[0].message.content
    assert final.choices[0].finish_reason == "stop"
    observed = EDITION in client.default_headers and client.default_headers[EDITION] == "observed"
    assert final.usage == (None if observed and model == D1 else answer.usage)


@MODELS
def test_a_structured_answer_is_parsed_into_its_model(client: OpenAI, model: str) -> None:
    answer = client.chat.completions.parse(model=model, messages=MESSAGES, response_format=Harbour)
    assert isinstance(answer.choices[0].message.parsed, Harbour)
    with client.chat.completions.stream(model=model, messages=MESSAGES, response_format=Harbour) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.parsed == answer.choices[0].message.parsed


@MODELS
def test_a_structured_answer_that_is_cut_off_is_the_sdks_length_error(client: OpenAI, model: str) -> None:
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(model=model, messages=MESSAGES, response_format=Harbour, max_tokens=2)


@MODELS
def test_a_required_tool_is_called_with_arguments_that_obey_its_schema(client: OpenAI, model: str) -> None:
    answer = client.chat.completions.create(model=model, messages=WEATHER, tools=[FORECAST], tool_choice="required")
    (choice,) = answer.choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "")
    assert choice.message.tool_calls
    call = choice.message.tool_calls[0]
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert call.function.name == "forecast"
    assert call.id == "forecast" if model == D1 else call.id.startswith("chatcmpl-tool-")
    arguments = json.loads(call.function.arguments)
    assert set(arguments) == {"town", "days"}
    assert isinstance(arguments["town"], str)
    assert 1 <= arguments["days"] <= 7


@MODELS
def test_no_tool_is_called_when_none_may_be(client: OpenAI, model: str) -> None:
    answer = client.chat.completions.create(model=model, messages=WEATHER, tools=[FORECAST], tool_choice="none")
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.content
    assert answer.choices[0].message.tool_calls is None


@MODELS
def test_the_fragments_of_a_streamed_call_join_to_the_plain_call(client: OpenAI, model: str) -> None:
    plain = client.chat.completions.create(model=model, messages=WEATHER, tools=[FORECAST], tool_choice="required")
    with client.chat.completions.create(
        model=model, messages=WEATHER, tools=[FORECAST], tool_choice="required", stream=True
    ) as stream:
        choices = [choice for chunk in stream for choice in chunk.choices]
    fragments = [fragment for choice in choices for fragment in choice.delta.tool_calls or []]
    functions = [fragment.function for fragment in fragments if fragment.function and fragment.index == 0]
    assert plain.choices[0].message.tool_calls
    call = plain.choices[0].message.tool_calls[0]
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert "".join(function.name or "" for function in functions) == "forecast"
    assert "".join(function.arguments or "" for function in functions) == call.function.arguments
    assert choices[-1].finish_reason == "tool_calls"
    assert (len(functions) == 1) == (model == D1)


@MODELS
def test_the_stream_helper_gathers_a_call_of_the_documented_edition(documented: OpenAI, model: str) -> None:
    with documented.chat.completions.stream(
        model=model, messages=WEATHER, tools=[FORECAST], tool_choice="required"
    ) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].finish_reason == "tool_calls"
    assert final.choices[0].message.tool_calls
    assert final.choices[0].message.tool_calls[0].function.name == "forecast"


def test_the_stream_helper_trips_over_the_empty_types_of_the_observed_edition(observed: OpenAI) -> None:
    with (
        observed.chat.completions.stream(
            model=D2, messages=WEATHER, tools=[FORECAST], tool_choice="required"
        ) as stream,
        pytest.raises(AssertionError),
    ):
        stream.until_done()


@MODELS
def test_an_answer_to_a_tools_result_is_text(client: OpenAI, model: str) -> None:
    called: list[ChatCompletionMessageParam] = [
        *WEATHER,
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "forecast", "type": "function", "function": {"name": "forecast", "arguments": '{"town":"Oslo"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "forecast", "content": "Rain, 7 degrees."},
    ]
    answer = client.chat.completions.create(model=model, messages=called, tools=[FORECAST])
    assert (answer.choices[0].finish_reason, answer.choices[0].message.tool_calls) == ("stop", None)
    assert answer.choices[0].message.content


@MODELS
def test_a_refusal_is_the_sdks_refusal_and_nothing_is_parsed(client: OpenAI, model: str) -> None:
    refused = {"X-Mockserver-Fault": "refusal"}
    answer = client.chat.completions.parse(
        model=model, messages=MESSAGES, response_format=Harbour, extra_headers=refused
    )
    with client.chat.completions.stream(
        model=model, messages=MESSAGES, response_format=Harbour, extra_headers=refused
    ) as stream:
        final = stream.get_final_completion()
    assert answer.choices[0].message.refusal
    assert answer.choices[0].message.parsed is None
    assert final.choices[0].message.refusal == answer.choices[0].message.refusal


@MODELS
@pytest.mark.parametrize("stream", [False, True])
def test_raw_headers_are_the_services(client: OpenAI, model: str, stream: bool) -> None:
    with client.chat.completions.with_streaming_response.create(model=model, messages=MESSAGES, stream=stream) as raw:
        headers = raw.headers
        raw.read()
    assert re.fullmatch("[0-9a-f]{1,16}:[0-9a-f]{1,16}:[0-9a-f]{1,16}:1", headers["x-server-trace-id"])
    assert headers["server"] == "ycalb"
    assert headers["content-type"] == ("text/event-stream" if stream else "application/json")
    assert ("x-request-id" in headers) == (model == D1)
    assert not [name for name in headers if name.startswith(("x-ratelimit", "openai-"))]


def test_a_raw_response_parses_to_the_plain_answer(client: OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(model=D1, messages=MESSAGES)
    assert raw.parse().choices[0].message.content == said(client, D1)
    assert raw.text.endswith("}\n")


def test_models_are_listed_under_the_folder_that_the_project_header_names(client: OpenAI) -> None:
    models = {model.id: model for model in client.models.list()}
    assert {D1, D2} <= set(models)
    assert {model.created for model in models.values()} == {0}
    assert all(re.match(f"(gpt|emb)://{FOLDER}/", name) for name in models)


@pytest.mark.parametrize("stream", [False, True])
def test_a_bare_model_name_is_a_bad_request(client: OpenAI, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError, match="Failed to parse model URI") as refusal:
        client.chat.completions.create(model="yandexgpt", messages=MESSAGES, stream=stream)
    assert refusal.value.type == "invalid_request_error"
    assert isinstance(refusal.value.body, dict)
    assert set(refusal.value.body) == {"message", "type"}


@pytest.mark.parametrize(
    "wrong, name",
    [
        ({"frequency_penalty": 3}, "frequency_penalty"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"messages": "hello"}, "messages"),
    ],
)
def test_a_wrong_parameter_is_a_bad_request_that_names_it(client: OpenAI, wrong: dict[str, object], name: str) -> None:
    with pytest.raises(openai.BadRequestError, match=name):
        client.chat.completions.create(model=D2, messages=MESSAGES, extra_body=wrong)


def test_without_credentials_it_is_an_authentication_error(client: OpenAI) -> None:
    nobody = {"Authorization": openai.Omit()}
    with pytest.raises(openai.AuthenticationError):
        client.chat.completions.create(model=D1, messages=MESSAGES, extra_headers=nobody)


@pytest.mark.parametrize("stream", [False, True])
def test_a_rate_limit_is_the_sdks_rate_limit_error(client: OpenAI, stream: bool) -> None:
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model=D1, messages=MESSAGES, stream=stream, extra_headers=RATE_LIMITED)


@MODELS
def test_leaving_a_stream_early_does_not_disturb_the_next_call(client: OpenAI, model: str) -> None:
    whole = said(client, model)
    with client.chat.completions.create(model=model, messages=MESSAGES, stream=True) as stream:
        next(stream)
    assert said(client, model) == whole


def test_the_asynchronous_client_gets_the_same_words_at_any_concurrency(server: Server, documented: OpenAI) -> None:
    async def ask() -> tuple[list[str | None], str]:
        async with (
            AsyncOpenAI(
                api_key="AQVNmock", base_url=f"{server.url}/yandex/v1", timeout=TIMEOUT, max_retries=0
            ) as client,
            asyncio.timeout(TIMEOUT),
        ):
            create = client.chat.completions.create
            answers = await asyncio.gather(*(create(model=D2, messages=MESSAGES) for _ in range(4)))
            stream = await create(model=D2, messages=MESSAGES, stream=True)
            return [it.choices[0].message.content for it in answers], text_of([chunk async for chunk in stream])

    whole = said(documented, D2)
    assert asyncio.run(ask()) == ([whole] * 4, whole)


def test_thoughts_are_beside_the_content_today_alone(server: Server) -> None:
    model = f"gpt://{FOLDER}/gpt-oss-120b/latest"
    documented, observed = (connected(server, edition) for edition in ("documented", "observed"))
    message = observed.chat.completions.create(model=model, messages=MESSAGES).choices[0].message
    chunks = told(observed, model)
    thoughts = [(choice.delta.model_extra or {}).get("reasoning_content") for it in chunks for choice in it.choices]
    assert message.model_extra == {"reasoning_content": "".join(filter(None, thoughts))} != {"reasoning_content": ""}
    assert (message.content, text_of(chunks)) == (said(documented, model),) * 2
    assert not documented.chat.completions.create(model=model, messages=MESSAGES).choices[0].message.model_extra


def test_a_call_of_alice_comes_whole_and_unfinished_today(server: Server) -> None:
    model = f"gpt://{FOLDER}/aliceai-llm/latest"
    reasons = {}
    for edition in ("documented", "observed"):
        client = connected(server, edition)
        with client.chat.completions.create(model=model, messages=WEATHER, tools=[FORECAST], stream=True) as stream:
            choices = [choice for chunk in stream for choice in chunk.choices]
        calls = choices[0].delta.tool_calls
        assert calls
        (call,) = calls
        assert call.function
        assert json.loads(call.function.arguments or "") == {"town": "Oslo", "days": 3}
        reasons[edition] = [choice.finish_reason for choice in choices]
    assert reasons == {"documented": [None, "tool_calls"], "observed": [None]}


# Yandex' own SDK. It knows no headers, so it sees the server's default edition.


@pytest.fixture
def studio(server: Server) -> AIStudio:
    return AIStudio(folder_id=FOLDER, auth="AQVNmock", service_map={"http_completions": f"{server.url}/yandex/v1/"})


def model_of(studio: AIStudio, uri: str) -> ChatModel:
    return studio.chat.completions(uri.split("/")[3])


@MODELS
def test_the_studio_runs_a_model_and_gets_the_same_words(documented: OpenAI, studio: AIStudio, model: str) -> None:
    result = model_of(studio, model).run(PROMPT, timeout=TIMEOUT)
    assert (result.text, result.role, result.finish_reason) == (said(documented, model), "assistant", FinishReason.STOP)
    assert result.usage
    assert result.usage.total_tokens == result.usage.prompt_tokens + result.usage.completion_tokens


@MODELS
def test_the_studio_streams_growing_prefixes_of_the_plain_answer(studio: AIStudio, model: str) -> None:
    plain = model_of(studio, model).run(PROMPT, timeout=TIMEOUT)
    parts = list(model_of(studio, model).run_stream(PROMPT, timeout=TIMEOUT))
    texts = [part.text for part in parts if part.finish_reason is not FinishReason.USAGE]
    assert texts[-1] == plain.text
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert len(texts) > 1
    reasons = [part.finish_reason for part in parts]
    ending = [FinishReason.STOP] if model == D1 else [FinishReason.STOP, FinishReason.USAGE]
    assert reasons == [FinishReason.NULL] * (len(parts) - len(ending)) + ending
    assert parts[-1].usage == plain.usage


@MODELS
def test_the_studio_says_that_an_answer_was_cut_off(studio: AIStudio, model: str) -> None:
    result = model_of(studio, model).configure(max_tokens=5, temperature=0.3).run(PROMPT, timeout=TIMEOUT)
    assert result.finish_reason is FinishReason.LENGTH
    assert result.usage
    assert result.usage.completion_tokens == 5


@MODELS
def test_the_studio_reads_a_tool_call_plain_and_streamed(studio: AIStudio, model: str) -> None:
    tool = studio.tools.function(SCHEMA, name="forecast")
    chat = model_of(studio, model).configure(tools=tool, tool_choice="required")
    plain = chat.run("What will the weather be in Oslo?", timeout=TIMEOUT)
    parts = list(chat.run_stream("What will the weather be in Oslo?", timeout=TIMEOUT))
    calling = next(part for part in parts if part.finish_reason is FinishReason.TOOL_CALLS)
    assert plain.tool_calls
    assert calling.tool_calls
    assert plain.tool_calls[0].function
    assert calling.tool_calls[0].function
    assert plain.tool_calls[0].function.name == calling.tool_calls[0].function.name == "forecast"
    assert plain.tool_calls[0].function.arguments == calling.tool_calls[0].function.arguments


def test_the_studio_lists_the_models_that_generate_text(studio: AIStudio) -> None:
    models = studio.chat.completions.list(timeout=TIMEOUT)
    assert {D1, D2} <= {model.uri for model in models}
    (qwen,) = studio.chat.completions.list(timeout=TIMEOUT, filters={"name": "qwen3-235b-a22b-fp8"})
    assert (qwen.owner, qwen.version) == ("Alibaba", "latest")


def test_the_studio_raises_the_status_of_a_refusal(studio: AIStudio) -> None:
    wrong = model_of(studio, D1).configure(extra_query={"model": "yandexgpt"})
    with pytest.raises(httpx.HTTPStatusError) as refusal:
        wrong.run(PROMPT, timeout=TIMEOUT)
    assert refusal.value.response.status_code == 400
    assert "Failed to parse model URI" in refusal.value.response.json()["error"]["message"]


@MODELS
def test_the_studio_may_leave_a_stream_early(studio: AIStudio, model: str) -> None:
    plain = model_of(studio, model).run(PROMPT, timeout=TIMEOUT)
    parts = iter(model_of(studio, model).run_stream(PROMPT, timeout=TIMEOUT))
    next(parts)
    del parts
    assert model_of(studio, model).run(PROMPT, timeout=TIMEOUT).text == plain.text


def test_the_asynchronous_studio_gets_the_same_words(server: Server, studio: AIStudio) -> None:
    async def ask() -> tuple[str, str]:
        asynchronous = AsyncAIStudio(
            folder_id=FOLDER, auth="AQVNmock", service_map={"http_completions": f"{server.url}/yandex/v1/"}
        )
        chat = asynchronous.chat.completions("qwen3-235b-a22b-fp8")
        async with asyncio.timeout(TIMEOUT):
            plain = await chat.run(PROMPT, timeout=TIMEOUT)
            texts = [part.text async for part in chat.run_stream(PROMPT, timeout=TIMEOUT) if part.text]
        return plain.text, texts[-1]

    whole = model_of(studio, D2).run(PROMPT, timeout=TIMEOUT).text
    assert asyncio.run(ask()) == (whole, whole)


def test_the_studio_embeds_documents_and_questions_into_one_space(studio: AIStudio) -> None:
    documents, questions = (studio.chat.text_embeddings(f"text-search-{side}") for side in ("doc", "query"))
    near, far = (documents.run(text, timeout=TIMEOUT) for text in ("Столица Турции — Анкара.", "Кошки спят днём."))
    asked = questions.run("Какая столица у Турции?", timeout=TIMEOUT)

    def likeness(other: Sequence[float]) -> float:
        return sum(mine * its for mine, its in zip(asked, other, strict=True))

    assert len(asked) == 256
    assert likeness(near) > likeness(far) + 0.3
    assert near.model == f"emb://{FOLDER}/text-search-doc/latest"
    assert near.usage is not None
    assert near.usage.prompt_tokens > 3


def test_openai_embeds_a_text_as_floats_and_is_told_that_neither_base64_nor_several_will_do(
    documented: OpenAI,
) -> None:
    embed = partial(documented.embeddings.create, model=f"emb://{FOLDER}/text-embeddings-v2-doc/latest")
    first, again, other = (
        embed(input=text, encoding_format="float", dimensions=512).data[0].embedding
        for text in ("Harbour", ["Harbour"], "Boat")
    )
    assert len(first) == 512
    assert first == again != other
    with pytest.raises(openai.BadRequestError, match="encoding_format"):
        embed(input="Harbour")
    with pytest.raises(openai.BadRequestError, match="Array input must contain exactly one string"):
        embed(input=["Harbour", "Boat"], encoding_format="float")
