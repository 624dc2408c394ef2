"""OpenAI's SDK, which is the client that OpenVINO Model Server names, against both of its versions.

The edition is chosen by `default_headers`. The server has no `id` in its answers, so the SDK's stays None.
"""

import asyncio
from collections.abc import Callable

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types import Completion

from .questions import EDITION, PROMPT, RATE_LIMITED, TIMEOUT, Server, before, middle_of

MODEL = "llama3"
GRAPH = (
    "Mediapipe execution failed. MP status - INVALID_ARGUMENT: CalculatorGraph::Run() failed: \n"
    'Calculator::Process() for node "LLMExecutor" failed: '
)


def connected(server: Server, edition: str) -> OpenAI:
    return OpenAI(
        api_key="unused",
        base_url=f"{server.url}/ovms/v3",
        default_headers={EDITION: edition},
        timeout=TIMEOUT,
        max_retries=0,
    )


def text_of(chunks: list[Completion]) -> str:
    return "".join(choice.text for chunk in chunks for choice in chunk.choices)


def test_a_plain_answer_has_the_fields_of_the_page_and_no_others(client: OpenAI) -> None:
    answer = client.completions.create(model=MODEL, prompt=PROMPT)
    assert set(answer.to_dict()) == {"choices", "created", "model", "object", "usage"}
    assert set(answer.choices[0].to_dict()) == {"finish_reason", "index", "logprobs", "text"}
    (choice,) = answer.choices
    assert (answer.model, answer.object) == (MODEL, "text_completion")
    assert (choice.finish_reason, choice.index, choice.logprobs) == ("stop", 0, None)
    assert choice.text
    assert answer.usage
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_stream_joins_to_the_plain_answer_and_its_last_chunk_has_text_and_reason(client: OpenAI) -> None:
    plain = client.completions.create(model=MODEL, prompt=PROMPT)
    with client.completions.create(model=MODEL, prompt=PROMPT, stream=True) as stream:
        chunks = list(stream)
    reasons = [chunk.choices[0].finish_reason for chunk in chunks]
    assert text_of(chunks) == plain.choices[0].text
    assert reasons == [None] * (len(chunks) - 1) + ["stop"]
    assert len({str(chunk.object) for chunk in chunks}) == 1
    assert len({chunk.created for chunk in chunks}) == 1
    assert not any("usage" in chunk.to_dict() for chunk in chunks)
    assert len(chunks) > 3


def test_the_documented_server_flushes_up_to_a_space(documented: OpenAI) -> None:
    with documented.completions.create(model=MODEL, prompt=PROMPT, stream=True) as stream:
        *chunks, _ = list(stream)
    assert {chunk.choices[0].text[-1] for chunk in chunks} <= {" ", "\n"}


def test_the_observed_server_shakes_hands_before_it_has_any_text(observed: OpenAI) -> None:
    begun = "In autumn the harbour of a small town is"  # continued at once: an answer's first newline would be flushed
    with observed.completions.create(
        model=MODEL, prompt=begun, stream=True, stream_options={"include_usage": True}
    ) as stream:
        first, second, *_ = list(stream)
    assert first.choices[0].to_dict() == {"index": 0, "text": "", "finish_reason": None}
    assert "usage" not in first.to_dict()
    assert second.choices[0].text
    assert second.to_dict()["usage"] is None


def test_usage_has_a_chunk_of_its_own_when_a_stream_asks_for_it(client: OpenAI) -> None:
    plain = client.completions.create(model=MODEL, prompt=PROMPT)
    with client.completions.create(
        model=MODEL, prompt=PROMPT, stream=True, stream_options={"include_usage": True}
    ) as stream:
        *chunks, last = list(stream)
    assert (last.choices, last.usage) == ([], plain.usage)
    assert not any(chunk.usage for chunk in chunks)
    assert text_of(chunks) == plain.choices[0].text


def test_max_tokens_cuts_the_answer_to_a_prefix_and_says_length(client: OpenAI) -> None:
    whole = client.completions.create(model=MODEL, prompt=PROMPT).choices[0].text
    plain = client.completions.create(model=MODEL, prompt=PROMPT, max_tokens=5)
    with client.completions.create(
        model=MODEL, prompt=PROMPT, max_tokens=5, stream=True, stream_options={"include_usage": True}
    ) as stream:
        *chunks, last = list(stream)
    assert plain.choices[0].finish_reason == chunks[-1].choices[0].finish_reason == "length"
    assert text_of(chunks) == plain.choices[0].text
    assert whole.startswith(plain.choices[0].text)
    assert plain.usage == last.usage
    assert plain.usage
    assert plain.usage.completion_tokens == 5


def test_a_stop_string_is_left_out_of_an_answer_and_left_in_a_stream(client: OpenAI) -> None:
    whole = client.completions.create(model=MODEL, prompt=PROMPT).choices[0].text
    stop = middle_of(whole)
    plain = client.completions.create(model=MODEL, prompt=PROMPT, stop=stop)
    kept = client.completions.create(
        model=MODEL, prompt=PROMPT, stop=[stop], extra_body={"include_stop_str_in_output": True}
    )
    with client.completions.create(model=MODEL, prompt=PROMPT, stop=stop, stream=True) as stream:
        chunks = list(stream)
    assert (plain.choices[0].text, plain.choices[0].finish_reason) == (before(whole, stop), "stop")
    assert kept.choices[0].text == text_of(chunks) == before(whole, stop) + stop
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_the_log_probability_of_each_chosen_token_can_be_had(client: OpenAI) -> None:
    answer = client.completions.create(model=MODEL, prompt=PROMPT, logprobs=1, max_tokens=12)
    (choice,) = answer.choices
    assert choice.logprobs
    assert choice.logprobs.tokens
    assert "".join(choice.logprobs.tokens) == choice.text
    assert choice.logprobs.text_offset
    assert choice.logprobs.text_offset[0] == 0
    assert choice.logprobs.top_logprobs
    assert choice.logprobs.token_logprobs
    pairs = zip(choice.logprobs.tokens, choice.logprobs.token_logprobs, strict=True)
    assert choice.logprobs.top_logprobs == [{token: logprob} for token, logprob in pairs]
    assert len(choice.logprobs.tokens) == 12


def test_echo_puts_the_prompt_before_the_same_text(client: OpenAI) -> None:
    plain = client.completions.create(model=MODEL, prompt=PROMPT)
    echo = client.completions.create(model=MODEL, prompt=PROMPT, echo=True)
    assert echo.choices[0].text == PROMPT + plain.choices[0].text
    assert echo.usage == plain.usage


def test_an_echo_of_no_tokens_is_the_prompt_alone(client: OpenAI) -> None:
    answer = client.completions.create(model=MODEL, prompt=PROMPT, echo=True, max_tokens=0)
    assert (answer.choices[0].text, answer.choices[0].finish_reason) == (PROMPT, "length")
    assert answer.usage
    assert answer.usage.completion_tokens == 0


def test_several_choices_come_from_a_beam_search_and_their_tokens_are_summed(client: OpenAI) -> None:
    answer = client.completions.create(model=MODEL, prompt=PROMPT, n=2, best_of=3, max_tokens=5)
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert answer.usage
    assert answer.usage.completion_tokens == 10


def test_the_servers_own_parameters_pass_in_the_extra_body(client: OpenAI) -> None:
    own = {"top_k": 1, "repetition_penalty": 1.1, "length_penalty": 1.0, "ignore_eos": False}
    assert client.completions.create(model=MODEL, prompt=PROMPT, extra_body=own).choices[0].text


def test_unknown_parameters_change_nothing(client: OpenAI) -> None:
    plain = client.completions.create(model=MODEL, prompt=PROMPT)
    odd = client.completions.create(model=MODEL, prompt=PROMPT, logit_bias={"5": 5}, suffix="!", user="me")
    assert odd.choices == plain.choices


def refused(ask: Callable[[], object]) -> str:
    """What the server says against a request, without what its graph says before."""
    with pytest.raises(openai.BadRequestError) as refusal:
        ask()
    assert isinstance(refusal.value.body, str)
    assert refusal.value.body.startswith(GRAPH)
    return refusal.value.body.removeprefix(GRAPH)


def test_a_refusal_is_one_string_which_the_sdk_keeps_as_the_body_of_a_bad_request(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        client.completions.create(model=MODEL, prompt=PROMPT, temperature=2.1)
    said = GRAPH + "temperature out of range(0.0, 2.0)"
    assert (refusal.value.response.json(), refusal.value.body) == ({"error": said}, said)


def test_the_first_check_that_fails_is_the_one_reported(client: OpenAI) -> None:
    create = client.completions.create
    assert refused(lambda: create(model=MODEL, prompt=["a", "b"], n=2, logprobs=2)) == (
        "n value cannot be greater than best_of"
    )
    assert refused(lambda: create(model=MODEL, prompt=["a", "b"], logprobs=2)) == "prompt is not a string"
    assert refused(lambda: create(model=MODEL, prompt="", logprobs=2)) == "prompt is missing"
    assert refused(lambda: create(model=MODEL, prompt="a", logprobs=2)) == "accepted logprobs value is currently 1 only"


def test_the_limits_are_those_of_the_version(documented: OpenAI, observed: OpenAI) -> None:
    five = ["a#1", "a#2", "a#3", "a#4", "a#5"]
    assert observed.completions.create(model=MODEL, prompt=PROMPT, stop=five).choices[0].text
    assert observed.completions.create(model=MODEL, prompt=PROMPT, max_tokens=4096).choices[0].text
    create = documented.completions.create
    assert refused(lambda: create(model=MODEL, prompt=PROMPT, stop=five)) == (
        "stop array must have no more than 4 strings"
    )
    assert refused(lambda: create(model=MODEL, prompt=PROMPT, max_tokens=4001, extra_body={"ignore_eos": True})) == (
        "when ignore_eos is true max_tokens can not be greater than 4000"
    )


def test_logprobs_of_a_stream_are_not_returned_by_the_page_and_refused_by_the_observed_server(
    documented: OpenAI, observed: OpenAI
) -> None:
    with documented.completions.create(model=MODEL, prompt=PROMPT, logprobs=1, stream=True) as stream:
        assert {chunk.choices[0].logprobs for chunk in stream} == {None}
    with pytest.raises(openai.BadRequestError) as refusal:
        observed.completions.create(model=MODEL, prompt=PROMPT, logprobs=1, stream=True)
    assert refusal.value.response.json() == {"error": GRAPH + "logprobs are not supported in streaming mode."}


def test_a_body_that_the_http_layer_refuses_is_status_412_even_for_a_stream(client: OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as refusal:
        client.completions.create(model=MODEL, prompt=PROMPT, extra_body={"model": 7}, stream=True)
    assert refusal.value.status_code == 412
    assert refusal.value.response.json() == {"error": "The file is not valid json - model field is not a string"}


def test_models_are_listed_in_both_editions(client: OpenAI) -> None:
    models = list(client.models.list())
    assert {(model.object, model.owned_by) for model in models} == {("model", "OVMS")}
    assert client.models.retrieve(models[0].id).id == models[0].id


def test_no_credentials_are_needed(server: Server) -> None:
    with connected(server, "documented") as client:
        nobody = {"Authorization": openai.Omit()}
        assert client.completions.create(model=MODEL, prompt=PROMPT, extra_headers=nobody).choices[0].text


def test_a_fault_is_the_sdks_own_error_class(client: OpenAI) -> None:
    with pytest.raises(openai.RateLimitError):
        client.completions.create(model=MODEL, prompt=PROMPT, extra_headers=RATE_LIMITED)


def test_leaving_a_stream_early_does_not_disturb_the_next_call(client: OpenAI) -> None:
    plain = client.completions.create(model=MODEL, prompt=PROMPT)
    with client.completions.create(model=MODEL, prompt=PROMPT, stream=True) as stream:
        next(stream)
        next(stream)
    assert client.completions.create(model=MODEL, prompt=PROMPT).choices == plain.choices


def test_the_asynchronous_client_gets_the_same_words_at_any_concurrency(server: Server, documented: OpenAI) -> None:
    async def ask() -> tuple[list[str], str]:
        async with (
            AsyncOpenAI(api_key="unused", base_url=f"{server.url}/ovms/v3", timeout=TIMEOUT, max_retries=0) as client,
            asyncio.timeout(TIMEOUT),
        ):
            answers = await asyncio.gather(*(client.completions.create(model=MODEL, prompt=PROMPT) for _ in range(4)))
            stream = await client.completions.create(model=MODEL, prompt=PROMPT, stream=True)
            return [it.choices[0].text for it in answers], text_of([chunk async for chunk in stream])

    whole = documented.completions.create(model=MODEL, prompt=PROMPT).choices[0].text
    assert asyncio.run(ask()) == ([whole] * 4, whole)
