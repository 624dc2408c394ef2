"""Upstash's own SDK (qstash 2.0.5, the last with `client.chat`), and OpenAI's, against the QStash LLM dialect.

The SDK takes no headers for a chat, so a fault's header is set on the HTTP client within it. `retry=False`: it retries
only what never got an answer.
"""

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion as OpenAIChatCompletion
from qstash import AsyncQStash, QStash, Receiver
from qstash.asyncio.chat import AsyncChatCompletionChunkStream
from qstash.chat import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionChunkStream,
    ChatCompletionMessage,
    upstash,
)
from qstash.errors import ChatRateLimitExceededError, QStashError, SignatureError
from qstash.message import BatchResponse, EnqueueResponse, LlmApi, PublishResponse

from mockserver import MockServer
from mockserver.dialects.upstash.dialect import CURRENT_SIGNING_KEY, NEXT_SIGNING_KEY
from tests.support.applications import Application, Taken, application

from .questions import PROMPT, RATE_LIMITED, TIMEOUT, Server, before, check_logprobs, middle_of

MODEL = "meta-llama/Meta-Llama-3-8B-Instruct"
MESSAGES: list[ChatCompletionMessage] = [{"role": "user", "content": PROMPT}]


@pytest.fixture
def client(server: Server) -> Iterator[QStash]:
    client = QStash("mock", base_url=f"{server.url}/upstash", retry=False)
    with client.http._client as http:
        http.timeout = httpx.Timeout(TIMEOUT)
        yield client


@pytest.fixture
def by_openai(server: Server) -> Iterator[OpenAI]:
    with OpenAI(api_key="mock", base_url=f"{server.url}/upstash/llm/v1", timeout=TIMEOUT, max_retries=0) as client:
        yield client


def plain(answer: ChatCompletion | ChatCompletionChunkStream | AsyncChatCompletionChunkStream) -> ChatCompletion:
    assert isinstance(answer, ChatCompletion)
    return answer


def chunks_of(answer: ChatCompletion | ChatCompletionChunkStream) -> list[ChatCompletionChunk]:
    assert isinstance(answer, ChatCompletionChunkStream)
    with answer as chunks:
        return list(chunks)


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def test_a_plain_answer_has_every_field_that_the_sdk_reads(client: QStash) -> None:
    answer = plain(client.chat.create(messages=MESSAGES, model=MODEL))
    (choice,) = answer.choices
    assert re.fullmatch("cmpl-[0-9a-f]{32}", answer.id)
    assert (answer.object, answer.model) == ("chat.completion", MODEL)
    assert re.fullmatch("fp_[0-9a-f]{10}", answer.system_fingerprint or "")
    assert (choice.index, choice.finish_reason, choice.logprobs) == (0, "stop", None)
    assert choice.message.role == "assistant"
    assert choice.message.content
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_prompt_is_the_same_request_as_its_messages(client: QStash) -> None:
    system: list[ChatCompletionMessage] = [{"role": "system", "content": "You are brief."}, *MESSAGES]
    answer = plain(client.chat.create(messages=system, model=MODEL))
    assert plain(client.chat.prompt(user=PROMPT, system="You are brief.", model=MODEL)).choices == answer.choices


def test_a_stream_joins_to_the_plain_answer_and_its_last_chunk_has_the_usage(client: QStash) -> None:
    answer = plain(client.chat.create(messages=MESSAGES, model=MODEL))
    chunks = chunks_of(client.chat.create(messages=MESSAGES, model=MODEL, stream=True))
    choices = [chunk.choices[0] for chunk in chunks]
    assert text_of(chunks) == answer.choices[0].message.content
    assert [choice.delta.role for choice in choices] == ["assistant"] + [None] * (len(chunks) - 1)
    assert [choice.finish_reason for choice in choices] == [None] * (len(chunks) - 1) + ["stop"]
    assert [chunk.usage for chunk in chunks] == [None] * (len(chunks) - 1) + [answer.usage]
    assert choices[-1].delta.content == ""
    assert len({(chunk.id, chunk.created, chunk.object) for chunk in chunks}) == 1
    assert 3 < len(chunks) <= answer.usage.completion_tokens + 2


def test_max_tokens_cuts_the_answer_to_a_prefix_and_says_length(client: QStash) -> None:
    whole = plain(client.chat.create(messages=MESSAGES, model=MODEL)).choices[0].message.content
    short = plain(client.chat.create(messages=MESSAGES, model=MODEL, max_tokens=5))
    chunks = chunks_of(client.chat.create(messages=MESSAGES, model=MODEL, max_tokens=5, stream=True))
    assert (short.choices[0].finish_reason, short.usage.completion_tokens) == ("length", 5)
    assert whole.startswith(short.choices[0].message.content)
    assert text_of(chunks) == short.choices[0].message.content
    assert (chunks[-1].choices[0].finish_reason, chunks[-1].usage) == ("length", short.usage)


@pytest.mark.parametrize("many", [False, True])
def test_a_stop_string_ends_the_answer_and_is_not_part_of_it(client: QStash, many: bool) -> None:
    whole = plain(client.chat.create(messages=MESSAGES, model=MODEL)).choices[0].message.content
    stop = middle_of(whole)
    stops = ["never said", stop] if many else stop
    (choice,) = plain(client.chat.create(messages=MESSAGES, model=MODEL, stop=stops)).choices
    chunks = chunks_of(client.chat.create(messages=MESSAGES, model=MODEL, stop=stops, stream=True))
    assert (choice.message.content, choice.finish_reason) == (before(whole, stop), "stop")
    assert text_of(chunks) == choice.message.content


def test_logprobs_describe_each_token_of_the_text(client: QStash) -> None:
    answer = plain(client.chat.create(messages=MESSAGES, model=MODEL, logprobs=True, top_logprobs=2, max_tokens=12))
    (choice,) = answer.choices
    check_logprobs(choice, tokens=12, alternatives=2)


def test_a_stream_carries_the_logprobs_of_the_tokens_in_it(client: QStash) -> None:
    chunks = chunks_of(
        client.chat.create(messages=MESSAGES, model=MODEL, logprobs=True, top_logprobs=1, max_tokens=12, stream=True)
    )
    logprobs = [chunk.choices[0].logprobs for chunk in chunks]
    tokens = [token.token for each in logprobs if each and each.content for token in each.content]
    assert "".join(tokens) == text_of(chunks)
    assert len(tokens) == 12


def test_n_adds_choices_after_the_one_that_is_always_given(client: QStash) -> None:
    one = plain(client.chat.create(messages=MESSAGES, model=MODEL))
    first, second = plain(client.chat.create(messages=MESSAGES, model=MODEL, n=2)).choices
    assert first == one.choices[0]
    assert (second.index, second.message.content != first.message.content) == (1, True)


def test_a_stream_of_n_choices_can_be_told_apart_by_their_index(client: QStash) -> None:
    answer = plain(client.chat.create(messages=MESSAGES, model=MODEL, n=2, max_tokens=9))
    chunks = chunks_of(client.chat.create(messages=MESSAGES, model=MODEL, n=2, max_tokens=9, stream=True))
    for choice in answer.choices:
        mine = [each for chunk in chunks for each in chunk.choices if each.index == choice.index]
        assert "".join(each.delta.content or "" for each in mine) == choice.message.content
        assert mine[-1].finish_reason == "length"


def test_a_seed_decides_the_words(client: QStash) -> None:
    seven, again, eight = (
        plain(client.chat.create(messages=MESSAGES, model=MODEL, seed=seed)).choices for seed in (7, 7, 8)
    )
    assert seven == again != eight


def test_a_refusal_is_the_sdks_error_with_status_and_body(client: QStash) -> None:
    with pytest.raises(QStashError, match=r"^Request failed with status: 400, body: \{.*temperature.*\}"):
        client.chat.create(messages=MESSAGES, model=MODEL, temperature=2.1)


def test_a_refused_stream_reaches_the_sdk_before_any_event_and_trips_over_its_own_error_message(
    client: QStash,
) -> None:
    with pytest.raises(httpx.ResponseNotRead):  # qstash 2.0.5 puts the text of a body it has not read into its error
        client.chat.create(messages=MESSAGES, model=MODEL, temperature=2.1, stream=True)


@pytest.mark.parametrize("stream", [False, True])
def test_a_rate_limit_has_the_headers_by_which_the_sdk_knows_it_for_a_chats(client: QStash, stream: bool) -> None:
    client.http._client.headers.update(RATE_LIMITED)
    with pytest.raises(ChatRateLimitExceededError) as refusal:
        client.chat.create(messages=MESSAGES, model=MODEL, stream=stream)
    facts = vars(refusal.value)
    assert set(facts) == {
        "limit_requests",
        "limit_tokens",
        "remaining_requests",
        "remaining_tokens",
        "reset_requests",
        "reset_tokens",
    }
    assert None not in facts.values()


def test_leaving_a_stream_early_does_not_disturb_the_next_call(client: QStash) -> None:
    answer = plain(client.chat.create(messages=MESSAGES, model=MODEL))
    stream = client.chat.create(messages=MESSAGES, model=MODEL, stream=True)
    assert isinstance(stream, ChatCompletionChunkStream)
    with stream as chunks:
        next(chunks)
        next(chunks)
    assert plain(client.chat.create(messages=MESSAGES, model=MODEL)).choices == answer.choices


def test_the_asynchronous_client_gets_the_same_words_at_any_concurrency(server: Server, client: QStash) -> None:
    async def ask() -> tuple[list[str], str]:
        asynchronous = AsyncQStash("mock", base_url=f"{server.url}/upstash", retry=False)
        async with asynchronous.http._client, asyncio.timeout(TIMEOUT):
            create = asynchronous.chat.create
            answers = await asyncio.gather(*(create(messages=MESSAGES, model=MODEL) for _ in range(4)))
            stream = await create(messages=MESSAGES, model=MODEL, stream=True)
            assert isinstance(stream, AsyncChatCompletionChunkStream)
            async with stream as chunks:
                streamed = text_of([chunk async for chunk in chunks])
        return [plain(answer).choices[0].message.content for answer in answers], streamed

    whole = plain(client.chat.create(messages=MESSAGES, model=MODEL)).choices[0].message.content
    assert asyncio.run(ask()) == ([whole] * 4, whole)


def ask(by_openai: OpenAI, stop: list[str] | None = None) -> OpenAIChatCompletion:
    return by_openai.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": PROMPT}], stop=stop)


def test_the_openai_client_gets_the_same_words(by_openai: OpenAI, client: QStash) -> None:
    whole = plain(client.chat.create(messages=MESSAGES, model=MODEL)).choices[0].message.content
    with by_openai.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": PROMPT}], stream=True
    ) as stream:
        chunks = list(stream)
    assert ask(by_openai).choices[0].message.content == whole
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole
    assert chunks[-1].usage == ask(by_openai).usage


def test_the_stop_reason_is_the_string_that_stopped_the_answer_or_null(by_openai: OpenAI) -> None:
    whole = ask(by_openai)
    assert whole.choices[0].to_dict()["stop_reason"] is None
    assert whole.choices[0].message.content
    stop = middle_of(whole.choices[0].message.content)
    assert ask(by_openai, [stop]).choices[0].to_dict()["stop_reason"] == stop


def test_the_openai_client_sees_a_bad_request(by_openai: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="temperature"):
        by_openai.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": PROMPT}], temperature=2.1)


# --- messages ----------------------------------------------------------------------------------------------------


LLM: LlmApi = {"name": "llm", "provider": upstash()}
CHAT = {"model": MODEL, "messages": MESSAGES}


def verified(taken: Taken, app: Application) -> dict[str, Any]:
    """The body of a callback whose signature the SDK has verified, for the answer in it."""
    receiver = Receiver(CURRENT_SIGNING_KEY, NEXT_SIGNING_KEY)
    body = taken.body.decode()
    receiver.verify(signature=taken.headers["Upstash-Signature"], body=body, url=app.url + taken.path)
    # With two different keys the SDK reports the failure of the second.
    strict = Receiver(CURRENT_SIGNING_KEY, CURRENT_SIGNING_KEY)
    with pytest.raises(SignatureError, match="Invalid body hash"):
        strict.verify(signature=taken.headers["Upstash-Signature"], body=f"{body} ")
    with pytest.raises(SignatureError, match="Invalid subject"):
        strict.verify(signature=taken.headers["Upstash-Signature"], body=body, url=app.url)
    told: dict[str, Any] = json.loads(body)
    return told


def words_in(callback: dict[str, Any]) -> str:
    said: str = json.loads(b64decode(callback["body"]))["choices"][0]["message"]["content"]
    return said


def test_what_is_published_is_answered_to_the_callback_signed(client: QStash) -> None:
    whole = plain(client.chat.create(messages=MESSAGES, model=MODEL)).choices[0].message.content
    with application() as app:
        published = client.message.publish_json(api=LLM, body=CHAT, callback=f"{app.url}/done")
        told = verified(app.next(), app)
        queued = client.message.enqueue_json(queue="sdk", api=LLM, body=CHAT, callback=f"{app.url}/queued")
        next_told = verified(app.next(), app)
        batch = client.message.batch_json([{"api": LLM, "body": CHAT, "callback": f"{app.url}/batch"}])
        last_told = verified(app.next(), app)
    assert isinstance(published, PublishResponse)
    assert isinstance(queued, EnqueueResponse)
    assert isinstance(batch[0], BatchResponse)
    assert [(each["sourceMessageId"], words_in(each)) for each in (told, next_told, last_told)] == [
        (published.message_id, whole),
        (queued.message_id, whole),
        (batch[0].message_id, whole),
    ]
    assert client.queue.get("sdk").parallelism == 1


def test_a_callback_without_an_end_becomes_a_dead_letter_that_the_sdk_reads(server: MockServer) -> None:
    space = server.in_namespace("sdk-dead-letters")
    client = QStash(space.api_key, base_url=space.base_url("upstash"), retry=False)
    with client.http._client, application() as app:
        app.will_answer(500, 503)
        client.message.publish_json(
            api=LLM, body=CHAT, callback=f"{app.url}/done", failure_callback=f"{app.url}/failed", retries=1
        )
        space.wait_for_deliveries(1)
        space.clock.advance(13)
        space.wait_for_deliveries(2)
        (dead,) = client.dlq.list().messages
        states = [event.state.value for event in client.event.list(filter={"message_id": dead.message_id}).events]
        assert (dead.url, dead.response_status, dead.max_retries) == (f"{app.url}/done", 503, 1)
        assert client.dlq.get(dead.dlq_id) == dead
        assert states == ["FAILED", "ERROR", "ACTIVE", "RETRY", "ERROR", "ACTIVE", "CREATED"]
        client.dlq.delete(dead.dlq_id)
        assert client.dlq.list().messages == []
        assert client.dlq.delete_many([dead.dlq_id]) == 0


def test_a_message_can_be_seen_and_cancelled_before_its_time(client: QStash) -> None:
    published = client.message.publish_json(api=LLM, body=CHAT, callback="http://127.0.0.1:9/", delay="1h")
    assert isinstance(published, PublishResponse)
    message = client.message.get(published.message_id)
    assert (message.api, message.callback, message.max_retries) == ("llm", "http://127.0.0.1:9/", 3)
    assert message.not_before - message.created_at == 3_600_000
    client.message.cancel(published.message_id)
    with pytest.raises(QStashError, match="not found"):
        client.message.get(published.message_id)
    assert client.message.cancel_many([published.message_id]) == 0


def test_a_delivered_message_can_still_be_read_and_all_others_cancelled(server: MockServer) -> None:
    space = server.in_namespace("sdk-reads")
    client = QStash(space.api_key, base_url=space.base_url("upstash"), retry=False)
    with client.http._client, application() as app:
        published = client.message.publish(url=f"{app.url}/now", body="x")
        assert isinstance(published, PublishResponse)
        space.wait_for_deliveries(1)
        assert client.message.get(published.message_id).url == f"{app.url}/now"
        client.message.batch([{"url": f"{app.url}/later", "delay": "1h"}] * 3)
        assert client.message.cancel_all() == 3  # type: ignore[no-untyped-call]


def test_a_schedule_is_refused_and_so_is_a_url_group(client: QStash) -> None:
    with pytest.raises(QStashError, match="404"):
        client.schedule.create(destination="https://example.com", cron="* * * * *")
    with pytest.raises(QStashError, match="404"):
        client.url_group.list()
    with pytest.raises(QStashError, match="invalid destination url"):
        client.message.publish(url_group="team", body="x")


def test_the_signing_keys_are_those_of_the_environment(client: QStash, server: MockServer) -> None:
    keys, environment = client.signing_key.get(), server.environment()
    assert (keys.current, keys.next) == (CURRENT_SIGNING_KEY, NEXT_SIGNING_KEY)
    assert environment["QSTASH_CURRENT_SIGNING_KEY"] == keys.current
    assert environment["QSTASH_NEXT_SIGNING_KEY"] == keys.next


def test_the_sdk_sees_why_a_message_is_refused(client: QStash) -> None:
    with pytest.raises(QStashError, match="invalid destination url: endpoint has invalid scheme"):
        client.message.publish(url="nowhere")
    with pytest.raises(QStashError, match="Upstash-Callback header is required"):
        client.message.publish_json(api=LLM, body=CHAT)
