"""FriendliAI's two clients: `friendli` in this environment (observed), `friendli-client` in its own (documented).

The edition is chosen by path for the serverless and dedicated surfaces and by `http_headers` for a container. Every
client of `friendli` is given a RetryConfig: its own would repeat a failing call for an hour.
"""

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from itertools import pairwise
from struct import unpack
from typing import Any

import pytest
from friendli.core import models
from friendli.core.utils.eventstreaming import EventStream, EventStreamAsync
from friendli.friendli import AsyncFriendli, SyncFriendli

from .environments import friendli_client
from .friendli_sdk import AT_ONCE, connected
from .questions import EDITION, PROMPT, RATE_LIMITED, TIMEOUT, Server, before, middle_of

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
Body = models.CompletionsServerlessBodyWithPrompt
WITH_USAGE = models.StreamOptions(include_usage=True)


@pytest.fixture
def client(server: Server) -> Iterator[SyncFriendli]:
    with connected(server) as client:
        yield client


def asked(
    *,
    stream: bool = False,
    stream_options: models.StreamOptions | None = None,
    max_tokens: int | None = None,
    stop: list[str] | None = None,
    seed: int | list[int] | None = None,
    n: int | None = None,
    logprobs: int | None = None,
    frequency_penalty: float | None = None,
    max_total_tokens: int | None = None,
) -> Body:
    return Body(
        model=MODEL,
        prompt=PROMPT,
        stream=stream,
        stream_options=stream_options,
        max_tokens=max_tokens,
        stop=stop,
        seed=seed,
        n=n,
        logprobs=logprobs,
        frequency_penalty=frequency_penalty,
        max_total_tokens=max_total_tokens,
    )


def plain(client: SyncFriendli, body: Body) -> models.ServerlessCompletionsSuccess:
    answer = client.serverless.completions.complete(serverless_completions_body=body)
    assert isinstance(answer, models.ServerlessCompletionsSuccess)
    return answer


def streamed(client: SyncFriendli, body: Body) -> list[models.StreamedCompletionData]:
    return events_of(client.serverless.completions.complete(serverless_completions_body=body))


def events_of(answer: models.ServerlessCompletionsCompleteResponse) -> list[models.StreamedCompletionData]:
    assert isinstance(answer, EventStream)
    with answer as events:
        return [event.data for event in events]


def text_of(chunks: list[models.StreamedCompletionData]) -> str:
    return "".join(choice.text for chunk in chunks for choice in chunk.choices)


def test_a_plain_answer_fills_every_field_that_the_sdk_demands(client: SyncFriendli) -> None:
    answer = plain(client, asked())
    (choice,) = answer.choices
    assert re.fullmatch("cmpl-[0-9a-f]{32}", answer.id)
    assert answer.OBJECT == "text_completion"
    assert (choice.index, choice.finish_reason) == (0, "stop")
    assert choice.text
    assert len(choice.tokens) == answer.usage.completion_tokens
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_stream_joins_to_the_plain_answer_with_one_token_in_a_chunk(client: SyncFriendli) -> None:
    answer = plain(client, asked())
    chunks = streamed(client, asked(stream=True))
    choices = [chunk.choices[0] for chunk in chunks]
    assert text_of(chunks) == answer.choices[0].text
    assert [choice.token for choice in choices[:-1]] == answer.choices[0].tokens
    assert [choice.finish_reason for choice in choices] == [None] * (len(choices) - 1) + ["stop"]
    assert choices[-1].text == ""
    assert len({(chunk.id, chunk.created) for chunk in chunks}) == 1
    assert not any(chunk.usage for chunk in chunks)


def test_usage_has_a_chunk_of_its_own_when_a_stream_asks_for_it(client: SyncFriendli) -> None:
    answer = plain(client, asked())
    *chunks, last = streamed(client, asked(stream=True, stream_options=WITH_USAGE))
    assert (last.choices, last.usage) == ([], answer.usage)
    assert not any(chunk.usage for chunk in chunks)
    assert text_of(chunks) == answer.choices[0].text


def test_max_tokens_cuts_the_answer_to_a_prefix_and_says_length(client: SyncFriendli) -> None:
    whole = plain(client, asked()).choices[0]
    short = plain(client, asked(max_tokens=5))
    chunks = streamed(client, asked(max_tokens=5, stream=True))
    assert short.choices[0].tokens == whole.tokens[:5]
    assert short.choices[0].finish_reason == "length"
    assert short.usage.completion_tokens == 5
    assert whole.text.startswith(short.choices[0].text)
    assert text_of(chunks) == short.choices[0].text
    assert chunks[-1].choices[0].finish_reason == "length"


def test_a_stop_phrase_ends_the_answer_and_is_not_part_of_it(client: SyncFriendli) -> None:
    whole = plain(client, asked()).choices[0].text
    stop = middle_of(whole)
    (choice,) = plain(client, asked(stop=[stop])).choices
    assert (choice.text, choice.finish_reason) == (before(whole, stop), "stop")
    assert text_of(streamed(client, asked(stop=[stop], stream=True))) == choice.text


def test_a_seed_is_given_back_and_decides_the_words(client: SyncFriendli) -> None:
    seven, again, eight = (plain(client, asked(seed=seed)).choices[0] for seed in (7, 7, 8))
    assert (seven.seed, eight.seed) == (7, 8)
    assert seven.text == again.text != eight.text


def test_each_of_n_choices_has_its_own_seed(client: SyncFriendli) -> None:
    three = plain(client, asked(n=3, seed=[7, 8, 9])).choices
    assert [(choice.index, choice.seed) for choice in three] == [(0, 7), (1, 8), (2, 9)]
    assert three[0].text == plain(client, asked(seed=7)).choices[0].text
    assert len({choice.text for choice in three}) == 3


def test_n_choices_without_seeds_begin_with_the_one_that_is_always_given(client: SyncFriendli) -> None:
    first, second = plain(client, asked(n=2)).choices
    assert first == plain(client, asked()).choices[0]
    assert (second.index, second.seed != first.seed, second.text != first.text) == (1, True, True)


def test_logprobs_describe_each_token_of_the_text(client: SyncFriendli) -> None:
    (choice,) = plain(client, asked(logprobs=2, max_tokens=12)).choices
    assert choice.logprobs
    assert "".join(choice.logprobs.tokens) == choice.text
    assert len(choice.logprobs.token_logprobs) == len(choice.logprobs.top_logprobs) == 12
    offsets = choice.logprobs.text_offset
    assert [after - offset for offset, after in pairwise(offsets)] == [len(it) for it in choice.logprobs.tokens[:-1]]
    assert all(logprob <= 0 for logprob in choice.logprobs.token_logprobs)


def test_token_ids_are_a_prompt_too(client: SyncFriendli) -> None:
    body = models.CompletionsServerlessBodyWithTokens(model=MODEL, tokens=[128000, 2028, 374, 264], max_tokens=8)
    answer = client.serverless.completions.complete(serverless_completions_body=body)
    assert isinstance(answer, models.ServerlessCompletionsSuccess)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (4, 8)
    assert answer.choices[0].text


@pytest.mark.parametrize("stream", [False, True])
def test_a_dedicated_endpoint_answers_as_the_serverless_ones(client: SyncFriendli, stream: bool) -> None:
    body = models.CompletionsDedicatedBodyWithPrompt(model="mock-endpoint", prompt=PROMPT, stream=stream, max_tokens=9)
    answer = client.dedicated.completions.complete(dedicated_completions_body=body)
    if stream:
        assert events_of(answer)[-1].choices[0].finish_reason == "length"
    else:
        assert isinstance(answer, models.ServerlessCompletionsSuccess)
        assert answer.usage.completion_tokens == 9


@pytest.mark.parametrize("stream", [False, True])
def test_a_container_answers_so_when_the_observed_edition_is_asked_for(
    server: Server, client: SyncFriendli, stream: bool
) -> None:
    answer = client.container.completions.complete(
        request=models.CompletionsBodyWithPrompt(prompt=PROMPT, stream=stream, max_tokens=9),
        server_url=f"{server.url}/friendli",
        http_headers={EDITION: "observed"},
    )
    if stream:
        assert events_of(answer)[-1].choices[0].finish_reason == "length"
    else:
        assert isinstance(answer, models.ServerlessCompletionsSuccess)
        assert answer.usage.completion_tokens == 9


def test_models_are_listed_in_the_long_form_that_the_sdk_validates(client: SyncFriendli) -> None:
    catalogue = client.serverless.model.models()
    assert MODEL in [model.id for model in catalogue.data]
    assert all(model.context_length > 0 and model.max_completion_tokens > 0 for model in catalogue.data)


@pytest.mark.parametrize("stream", [False, True])
def test_a_wrong_parameter_is_refused_with_a_status_and_a_body_that_names_it(
    client: SyncFriendli, stream: bool
) -> None:
    with pytest.raises(models.SDKError) as refusal:
        plain(client, asked(frequency_penalty=3.0, stream=stream))
    assert refusal.value.status_code == 422
    assert "frequency_penalty" in json.dumps(json.loads(refusal.value.body)["detail"])


def test_two_limits_at_once_are_refused(client: SyncFriendli) -> None:
    with pytest.raises(models.SDKError) as refusal:
        plain(client, asked(max_tokens=5, max_total_tokens=50))
    assert refusal.value.status_code == 422
    assert "max_total_tokens" in refusal.value.body


def test_a_rate_limit_that_lasts_ends_as_an_error_of_status_429(client: SyncFriendli) -> None:
    with pytest.raises(models.SDKError) as refusal:
        client.serverless.completions.complete(serverless_completions_body=asked(), http_headers=RATE_LIMITED)
    assert refusal.value.status_code == 429
    assert json.loads(refusal.value.body)["message"]


def test_leaving_a_stream_early_does_not_disturb_the_next_call(client: SyncFriendli) -> None:
    whole = plain(client, asked())
    answer = client.serverless.completions.complete(serverless_completions_body=asked(stream=True))
    assert isinstance(answer, EventStream)
    with answer as events:
        next(events)
        next(events)
    assert plain(client, asked()).choices == whole.choices


def test_the_asynchronous_client_gets_the_same_words_at_any_concurrency(server: Server, client: SyncFriendli) -> None:
    async def ask() -> tuple[list[str], str]:
        async with (
            AsyncFriendli(
                token="flp_mock",
                server_url=f"{server.url}/friendli",
                retry_config=AT_ONCE,
                timeout_ms=int(TIMEOUT * 1000),
                x_friendli_team="team",
            ) as asynchronous,
            asyncio.timeout(TIMEOUT),
        ):
            complete = asynchronous.serverless.completions.complete
            answers = await asyncio.gather(*(complete(serverless_completions_body=asked()) for _ in range(4)))
            stream = await complete(serverless_completions_body=asked(stream=True))
            assert isinstance(stream, EventStreamAsync)
            async with stream as events:
                chunks = [event.data async for event in events]
        texts = [it.choices[0].text for it in answers if isinstance(it, models.ServerlessCompletionsSuccess)]
        return texts, text_of(chunks)

    whole = plain(client, asked()).choices[0].text
    assert asyncio.run(ask()) == ([whole] * 4, whole)


# friendli-client 1.5.8: the documented edition, in an environment of its own.


def total(usage: dict[str, int]) -> int:
    return usage["prompt_tokens"] + usage["completion_tokens"]


def test_the_first_client_gets_a_plain_answer_without_a_finish_reason(server: Server) -> None:
    answer = friendli_client(server.url)["plain"]["answer"]
    (choice,) = answer["choices"]
    assert set(choice) == {"index", "seed", "text", "tokens"}
    assert choice["index"] == 0
    assert choice["text"]
    assert len(choice["tokens"]) == answer["usage"]["completion_tokens"]
    assert answer["usage"]["total_tokens"] == total(answer["usage"])


def test_the_first_client_reads_one_token_per_event_until_the_complete_one(server: Server) -> None:
    seen = friendli_client(server.url)["stream"]
    (choice,) = seen["answer"]["choices"]
    assert {(line["event"], line["index"]) for line in seen["lines"]} == {("token_sampled", 0)}
    assert {tuple(line) for line in seen["lines"]} == {("event", "index", "text", "token")}
    assert "".join(line["text"] for line in seen["lines"]) == choice["text"]
    assert [line["token"] for line in seen["lines"]] == choice["tokens"]
    assert choice["seed"] == 7


def test_the_first_client_can_wait_for_the_complete_event_which_is_the_plain_answer(server: Server) -> None:
    seen = friendli_client(server.url)["wait"]
    assert seen["waited"] == seen["answer"]


def test_the_first_client_gets_no_more_than_max_tokens(server: Server) -> None:
    seen = friendli_client(server.url)["length"]
    whole, short = seen["answer"]["choices"][0], seen["short"]["choices"][0]
    assert seen["short"]["usage"]["completion_tokens"] == len(short["tokens"]) == len(seen["lines"]) == 5
    assert whole["tokens"][:5] == short["tokens"]
    assert "".join(line["text"] for line in seen["lines"]) == short["text"]
    assert whole["text"].startswith(short["text"])


def test_the_first_client_gets_nothing_from_a_stop_phrase_on(server: Server) -> None:
    seen = friendli_client(server.url)["stop"]
    whole = seen["answer"]["choices"][0]["text"]
    assert seen["stopped"]["choices"][0]["text"] == before(whole, seen["stop"])


def test_the_first_client_gets_its_seeds_back_and_one_of_the_servers_when_it_sends_none(server: Server) -> None:
    seen = friendli_client(server.url)["seeds"]
    three = seen["three"]["choices"]
    assert [(choice["index"], choice["seed"]) for choice in three] == [(0, 7), (1, 8), (2, 9)]
    assert three[0] == seen["seven"]["choices"][0]
    assert len({choice["text"] for choice in three}) == 3
    assert isinstance(seen["none"]["choices"][0]["seed"], int)


def test_the_first_client_may_send_token_ids_as_its_prompt(server: Server) -> None:
    answer = friendli_client(server.url)["tokens"]["answer"]
    assert answer["usage"]["prompt_tokens"] == 4
    assert answer["choices"][0]["text"]


def test_the_first_client_may_leave_a_stream_early(server: Server) -> None:
    seen = friendli_client(server.url)["leave"]
    assert len(seen["lines"]) == 2
    assert seen["again"] == seen["answer"]


@pytest.mark.parametrize(
    "wrong, field",
    [
        ("both limits", "max_total_tokens"),
        ("both prompts", "prompt"),
        ("no prompt", "prompt"),
        ("penalty", "frequency_penalty"),
        ("beams", "num_beams"),
    ],
)
def test_the_first_client_raises_the_body_of_a_refusal(server: Server, wrong: str, field: str) -> None:
    problem: dict[str, Any] = friendli_client(server.url)["refused"][wrong]
    assert (problem["class"], problem["status"]) == ("APIError", 422)
    assert field in problem["message"]


def test_the_first_asynchronous_client_gets_the_same_words_at_any_concurrency(server: Server) -> None:
    seen = friendli_client(server.url)["async"]
    assert seen["answers"] == [seen["answer"]] * 4
    assert "".join(line["text"] for line in seen["lines"]) == seen["answer"]["choices"][0]["text"]


def test_tokens_go_there_and_back(client: SyncFriendli) -> None:
    made = client.serverless.token.tokenize(model=MODEL, prompt=PROMPT)
    assert client.serverless.token.detokenize(model=MODEL, tokens=made.tokens).text == PROMPT


def test_chats_are_rendered_and_texts_embedded(client: SyncFriendli) -> None:
    messages: list[models.MessageTypedDict] = [{"role": "user", "content": PROMPT}]
    for where in (client.serverless, client.dedicated):
        assert PROMPT in where.chat_render.render(model=MODEL, messages=messages).text
    listed = client.dedicated.embeddings.embeddings(model="endpoint:adapter", input_=[PROMPT, "Tides"])
    packed = client.dedicated.embeddings.embeddings(model="endpoint", input_=PROMPT, encoding_format="base64")
    assert (listed.model, [each.index for each in listed.data], listed.usage.completion_tokens) == (
        "endpoint",
        [0, 1],
        0,
    )
    first, [only] = listed.data[0].embedding, packed.data
    assert isinstance(first, list)
    assert isinstance(only.embedding, bytes)
    assert [*unpack(f"<{len(first)}f", b64decode(only.embedding))] == pytest.approx(first, abs=1e-6)


@pytest.mark.parametrize("place", ["serverless", "dedicated", "container"])
def test_messages_are_said_at_once_and_in_a_stream(client: SyncFriendli, server: Server, place: str) -> None:
    tool: Any = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
    asked: Any = {"messages": [{"role": "user", "content": "What is the weather in Oslo?"}], "tools": [tool]}
    asked |= {"model": "zai-org/GLM-5.3", "max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 100}}
    asked |= {"server_url": f"{server.url}/friendli"}
    ask = getattr(client, place).messages.messages
    message, stream = ask(**asked), ask(**asked, stream=True)
    thought, call = message.content
    assert (message.stop_reason, thought.TYPE, call.TYPE) == ("tool_use", "thinking", "tool_use")
    assert (call.name, call.input) == ("get_weather", {"city": "Oslo"})
    with stream as events:
        seen = [event.data for event in events]
    deltas = [event.delta for event in seen if event.TYPE == "content_block_delta"]
    assert "".join(getattr(delta, "thinking", "") for delta in deltas) == thought.thinking
    assert json.loads("".join(getattr(delta, "partial_json", "") for delta in deltas)) == call.input
    [told] = [event.usage for event in seen if event.TYPE == "message_delta"]
    assert told.model_dump() == message.usage.model_dump()
    with pytest.raises(models.MessagesErrorResponse, match="max_tokens: Input should be greater than or equal to 1"):
        ask(**{**asked, "max_tokens": 0, "thinking": {"type": "disabled"}})
