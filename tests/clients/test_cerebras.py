"""Cerebras' own SDK, and OpenAI's, against the Cerebras dialect.

The edition is chosen by `default_headers`. `max_retries=0` keeps one call one request.
"""

import asyncio
import json
from itertools import pairwise

import cerebras.cloud.sdk as cerebras
import httpx
import openai
import pytest
from cerebras.cloud.sdk import AsyncCerebras, AsyncStream, Cerebras, Omit, Stream
from cerebras.cloud.sdk.types.completion import Completion, CompletionResponse
from cerebras.cloud.sdk.types.model_list_response import ModelMetadataList
from cerebras.cloud.sdk.types.model_retrieve_response import ModelMetadata

from .questions import EDITION, PROMPT, RATE_LIMITED, TIMEOUT, Server, before, middle_of

MODEL = "gpt-oss-120b"


def connected(server: Server, edition: str) -> Cerebras:
    return Cerebras(
        api_key="csk-mock",
        base_url=f"{server.url}/cerebras",
        default_headers={EDITION: edition},
        timeout=TIMEOUT,
        max_retries=0,
    )


Answer = Completion | Stream[Completion] | AsyncStream[Completion]  # what the SDK says that any call may return


def typed(answer: Answer) -> CompletionResponse:
    assert isinstance(answer, CompletionResponse)
    return answer


def text_of(answer: Answer) -> str:
    (choice,) = typed(answer).choices
    assert choice.text
    return choice.text


def chunks_of(answer: Answer) -> list[CompletionResponse]:
    assert isinstance(answer, Stream)
    with answer as chunks:
        return [typed(chunk) for chunk in chunks]


def joined(chunks: list[CompletionResponse]) -> str:
    return "".join(chunk.choices[0].text or "" for chunk in chunks)


def test_making_a_client_costs_one_warming_call_which_is_answered_at_once(server: Server) -> None:
    seen: list[tuple[str, str, int]] = []

    def note(response: httpx.Response) -> None:
        seen.append((response.request.method, response.request.url.path, response.status_code))

    with (
        httpx.Client(event_hooks={"response": [note]}) as http,
        Cerebras(api_key="csk-mock", base_url=f"{server.url}/cerebras", http_client=http),
    ):
        assert [call[:2] for call in seen] == [("GET", "/cerebras/v1/tcp_warming")]
        assert 200 <= seen[0][2] < 500


def test_a_plain_answer_fills_every_field_that_the_sdk_knows(client: Cerebras) -> None:
    answer = typed(client.completions.create(model=MODEL, prompt=PROMPT))
    (choice,) = answer.choices
    assert answer.id.startswith("chatcmpl-")
    assert (answer.object, answer.model) == ("text_completion", MODEL)
    assert answer.system_fingerprint.startswith("fp_")
    assert answer.created > 1_500_000_000
    assert (choice.index, choice.finish_reason, choice.logprobs) == (0, "stop", None)
    assert choice.text
    assert answer.usage
    assert answer.usage.prompt_tokens
    assert answer.usage.completion_tokens
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    times = answer.time_info
    assert times
    assert times.created
    parts = [times.queue_time, times.prompt_time, times.completion_time]
    assert times.total_time is not None
    assert times.total_time >= sum(part for part in parts if part is not None)
    assert None not in parts


def test_a_stream_joins_to_the_plain_answer_and_ends_with_usage_and_times(client: Cerebras) -> None:
    plain = typed(client.completions.create(model=MODEL, prompt=PROMPT))
    chunks = chunks_of(client.completions.create(model=MODEL, prompt=PROMPT, stream=True))
    assert joined(chunks) == plain.choices[0].text
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert chunks[0].choices[0].text == chunks[-1].choices[0].text == ""
    assert [chunk.usage for chunk in chunks] == [None] * (len(chunks) - 1) + [plain.usage]
    assert [bool(chunk.time_info) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert len({(chunk.id, chunk.created, chunk.system_fingerprint) for chunk in chunks}) == 1
    assert {chunk.object for chunk in chunks} == {"text_completion"}
    assert plain.usage
    assert plain.usage.completion_tokens
    assert 3 <= len(chunks) <= plain.usage.completion_tokens + 2


@pytest.mark.parametrize("stream", [False, True])
def test_max_tokens_cuts_the_answer_to_a_prefix_and_says_length(client: Cerebras, stream: bool) -> None:
    whole = text_of(client.completions.create(model=MODEL, prompt=PROMPT))
    answer = client.completions.create(model=MODEL, prompt=PROMPT, max_tokens=5, stream=stream)
    parts = chunks_of(answer) if stream else [typed(answer)]
    assert joined(parts)
    assert whole.startswith(joined(parts))
    assert parts[-1].choices[0].finish_reason == "length"
    assert parts[-1].usage
    assert parts[-1].usage.completion_tokens == 5


@pytest.mark.parametrize("many", [False, True])
def test_a_stop_string_ends_the_answer_and_is_not_part_of_it(client: Cerebras, many: bool) -> None:
    whole = text_of(client.completions.create(model=MODEL, prompt=PROMPT))
    stop = middle_of(whole)
    stops = ["never said #1", stop, "never said #2"] if many else stop
    answer = typed(client.completions.create(model=MODEL, prompt=PROMPT, stop=stops))
    chunks = chunks_of(client.completions.create(model=MODEL, prompt=PROMPT, stop=stops, stream=True))
    assert answer.choices[0].text == joined(chunks) == before(whole, stop)
    assert answer.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("alternatives", [0, 3])
def test_logprobs_describe_each_token_of_the_text(client: Cerebras, alternatives: int) -> None:
    answer = typed(client.completions.create(model=MODEL, prompt=PROMPT, logprobs=alternatives, max_tokens=12))
    (choice,) = answer.choices
    assert choice.logprobs
    tokens, offsets = choice.logprobs.tokens, choice.logprobs.text_offset
    assert tokens
    assert offsets
    assert "".join(tokens) == choice.text
    assert offsets[0] == len(PROMPT)
    assert [after - offset for offset, after in pairwise(offsets)] == [len(token) for token in tokens[:-1]]
    assert choice.logprobs.token_logprobs
    assert len(choice.logprobs.token_logprobs) == len(tokens) == 12
    assert all(logprob <= 0 for logprob in choice.logprobs.token_logprobs)
    if alternatives:
        assert choice.logprobs.top_logprobs
        assert {len(top) for top in choice.logprobs.top_logprobs} <= {alternatives, alternatives + 1}
        pairs = zip(tokens, choice.logprobs.top_logprobs, strict=True)
        assert all(token in top for token, top in pairs)
    else:
        assert not choice.logprobs.top_logprobs


def test_raw_tokens_are_ids_as_many_as_the_usage_counts(client: Cerebras) -> None:
    answer = typed(client.completions.create(model=MODEL, prompt=PROMPT, return_raw_tokens=True, max_tokens=8))
    assert answer.choices[0].tokens
    assert len(answer.choices[0].tokens) == 8
    assert all(isinstance(token, int) for token in answer.choices[0].tokens)


def test_echo_puts_the_prompt_before_the_same_text(client: Cerebras) -> None:
    whole = text_of(client.completions.create(model=MODEL, prompt=PROMPT))
    assert text_of(client.completions.create(model=MODEL, prompt=PROMPT, echo=True)) == PROMPT + whole


def test_several_prompts_get_a_choice_each(client: Cerebras) -> None:
    whole = text_of(client.completions.create(model=MODEL, prompt=PROMPT))
    answer = typed(client.completions.create(model=MODEL, prompt=[PROMPT, "Now the mountains."]))
    first, second = answer.choices
    assert (first.index, first.text, second.index) == (0, whole, 1)
    assert second.text not in ("", whole)


def test_n_adds_choices_after_the_one_that_is_always_given(observed: Cerebras) -> None:
    whole = text_of(observed.completions.create(model=MODEL, prompt=PROMPT))
    answer = typed(observed.completions.create(model=MODEL, prompt=PROMPT, n=2))
    first, second = answer.choices
    assert (first.index, first.text, second.index) == (0, whole, 1)
    assert second.text not in ("", whole)


def test_models_are_listed_and_each_can_be_looked_up(client: Cerebras) -> None:
    models = client.models.list()
    assert isinstance(models, ModelMetadataList)
    assert models.object == "list"
    assert MODEL in [model.id for model in models.data]
    assert {(model.object, model.created) for model in models.data} == {("model", 0)}
    assert all(model.owned_by for model in models.data)
    one = client.models.retrieve(MODEL)
    assert isinstance(one, ModelMetadata)
    assert (one.id, one.object) == (MODEL, "model")


def test_a_temperature_out_of_range_is_a_bad_request(client: Cerebras) -> None:
    with pytest.raises(cerebras.BadRequestError) as refusal:
        client.completions.create(model=MODEL, prompt=PROMPT, temperature=2.1)
    assert "temperature" in message_of(refusal.value)


def test_too_many_logprobs_are_a_bad_request(client: Cerebras) -> None:
    with pytest.raises(cerebras.BadRequestError) as refusal:
        client.completions.create(model=MODEL, prompt=PROMPT, logprobs=21)
    assert "logprobs" in message_of(refusal.value)


def test_more_than_four_stops_are_a_bad_request(client: Cerebras) -> None:
    with pytest.raises(cerebras.BadRequestError) as refusal:
        client.completions.create(model=MODEL, prompt=PROMPT, stop=["a", "b", "c", "d", "e"])
    assert "stop" in message_of(refusal.value)


def test_an_echo_of_raw_tokens_is_a_bad_request_even_as_a_stream(client: Cerebras) -> None:
    with pytest.raises(cerebras.BadRequestError) as refusal:
        client.completions.create(model=MODEL, prompt=PROMPT, echo=True, return_raw_tokens=True, stream=True)
    assert "echo" in message_of(refusal.value)


def message_of(refusal: cerebras.APIStatusError) -> str:
    assert refusal.status_code == refusal.response.status_code == 400
    assert isinstance(refusal.body, dict)
    assert {"message", "type", "param", "code"} <= set(refusal.body)
    return str(refusal.body["message"])


def test_a_documented_refusal_is_nested_and_an_observed_one_is_flat(documented: Cerebras, observed: Cerebras) -> None:
    bodies = []
    for client in (documented, observed):
        with pytest.raises(cerebras.BadRequestError) as refusal:
            client.completions.create(model=MODEL, prompt=PROMPT, temperature=2.1)
        bodies.append(refusal.value.response.json())
    nested, flat = bodies
    assert set(nested) == {"error"}
    assert set(nested["error"]) >= set(flat) == {"message", "type", "param", "code"}


def test_a_property_nobody_knows_is_accepted_by_the_contract_and_refused_by_the_service(
    documented: Cerebras, observed: Cerebras
) -> None:
    unknown = {"maxTokens": 5, "thinking": True}
    assert text_of(documented.completions.create(model=MODEL, prompt=PROMPT, extra_body=unknown))
    with pytest.raises(cerebras.BadRequestError) as refusal:
        observed.completions.create(model=MODEL, prompt=PROMPT, extra_body=unknown)
    assert refusal.value.body == {
        "message": "maxTokens: property 'maxTokens' is unsupported\nthinking: property 'thinking' is unsupported",
        "type": "invalid_request_error",
        "param": "validation_error",
        "code": "wrong_api_format",
    }


def test_without_credentials_the_contract_says_401_and_the_service_403(
    documented: Cerebras, observed: Cerebras
) -> None:
    nobody = {"Authorization": Omit()}
    with pytest.raises(cerebras.AuthenticationError):
        documented.completions.create(model=MODEL, prompt=PROMPT, extra_headers=nobody)
    with pytest.raises(cerebras.PermissionDeniedError) as refusal:
        observed.completions.create(model=MODEL, prompt=PROMPT, extra_headers=nobody)
    assert refusal.value.body == {"detail": "Not authenticated"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_rate_limit_is_the_sdks_rate_limit_error(observed: Cerebras, stream: bool) -> None:
    with pytest.raises(cerebras.RateLimitError) as refusal:
        observed.completions.create(model=MODEL, prompt=PROMPT, stream=stream, extra_headers=RATE_LIMITED)
    assert refusal.value.body == {
        "message": "Requests per minute limit exceeded - too many requests sent.",
        "type": "too_many_requests_error",
        "param": "quota",
        "code": "request_quota_exceeded",
    }


def test_the_raw_response_names_the_inference_in_a_header(client: Cerebras) -> None:
    raw = client.completions.with_raw_response.create(model=MODEL, prompt=PROMPT)
    assert raw.headers["inference-id"] == json.loads(raw.text())["id"]
    assert raw.headers["content-type"] == "application/json"


def test_leaving_a_stream_early_does_not_disturb_the_next_call(client: Cerebras) -> None:
    whole = text_of(client.completions.create(model=MODEL, prompt=PROMPT))
    stream = client.completions.create(model=MODEL, prompt=PROMPT, stream=True)
    assert isinstance(stream, Stream)
    with stream as chunks:
        next(chunks)
        next(chunks)
    assert text_of(client.completions.create(model=MODEL, prompt=PROMPT)) == whole


def test_the_asynchronous_client_gets_the_same_words_at_any_concurrency(server: Server, documented: Cerebras) -> None:
    async def ask() -> tuple[list[str], str]:
        async with (
            AsyncCerebras(
                api_key="csk-mock", base_url=f"{server.url}/cerebras", timeout=TIMEOUT, warm_tcp_connection=False
            ) as client,
            asyncio.timeout(TIMEOUT),
        ):
            calls = (client.completions.create(model=MODEL, prompt=PROMPT) for _ in range(4))
            answers = await asyncio.gather(*calls)
            stream = await client.completions.create(model=MODEL, prompt=PROMPT, stream=True)
            assert isinstance(stream, AsyncStream)
            return [text_of(answer) for answer in answers], joined([typed(chunk) async for chunk in stream])

    whole = text_of(documented.completions.create(model=MODEL, prompt=PROMPT))
    assert asyncio.run(ask()) == ([whole] * 4, whole)


def test_the_openai_client_gets_the_same_words(server: Server, documented: Cerebras) -> None:
    whole = text_of(documented.completions.create(model=MODEL, prompt=PROMPT))
    with openai.OpenAI(
        api_key="csk-mock", base_url=f"{server.url}/cerebras/v1", timeout=TIMEOUT, max_retries=0
    ) as client:
        plain = client.completions.create(model=MODEL, prompt=PROMPT)
        with client.completions.create(model=MODEL, prompt=PROMPT, stream=True) as stream:
            chunks = list(stream)
        with pytest.raises(openai.BadRequestError) as refusal:
            client.completions.create(model=MODEL, prompt=PROMPT, temperature=2.1)
        assert MODEL in [model.id for model in client.models.list()]
    assert plain.choices[0].text == "".join(chunk.choices[0].text for chunk in chunks) == whole
    assert chunks[-1].usage == plain.usage
    assert "temperature" in refusal.value.message
