"""Stored responses of Yandex and OpenAI: looked up, continued, cancelled and deleted by their ids, in each namespace
for itself."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import openai
import pytest
from openai import OpenAI

from mockserver import MockServer
from mockserver.core.dialects import EDITIONS, Edition
from mockserver.dialects.openai.responses import store
from mockserver.testing.handle import Handle
from tests.support.http import exchange

MODEL = "gpt://folder/yandexgpt/latest"
TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}

each_edition = pytest.mark.parametrize("edition", EDITIONS)


@pytest.fixture
def space(server: MockServer) -> Handle:
    return server.in_namespace(uuid4().hex)


_open: list[OpenAI] = []


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    while _open:
        _open.pop().close()


def client_of(space: Handle) -> OpenAI:
    _open.append(OpenAI(base_url=space.base_url("yandex"), api_key="k", max_retries=0, timeout=30))
    return _open[-1]


def raw(space: Handle, method: str, path: str) -> tuple[int, bytes]:
    answer = exchange(space.url, method, f"{urlsplit(space.url).path}/yandex/v1/responses/{path}")
    return answer.status, answer.body


@each_edition
def test_a_response_is_found_by_its_id_as_it_was_answered(edition: Edition, space: Handle) -> None:
    space.settle(edition=edition)
    client = client_of(space)
    plain = client.responses.create(model=MODEL, input="Tell me about tides")
    assert client.responses.retrieve(plain.id) == plain


@each_edition
def test_a_streamed_response_is_found_too(edition: Edition, space: Handle) -> None:
    space.settle(edition=edition)
    client = client_of(space)
    *_, last = client.responses.create(model=MODEL, input="Tell me about tides", stream=True)
    assert last.type == "response.completed"
    assert client.responses.retrieve(last.response.id).output == last.response.output


@each_edition
def test_a_response_in_the_background_is_answered_at_once_and_complete_in_its_time(
    edition: Edition, space: Handle
) -> None:
    space.settle(edition=edition, latency="ttft=60s, rate=0.1 tok/s")
    client = client_of(space)
    queued = client.responses.create(model=MODEL, input="Tell me about tides", background=True, max_output_tokens=20)
    assert (queued.status in ("queued", "in_progress"), queued.background, queued.output) == (True, True, [])
    assert client.responses.retrieve(queued.id).status == "in_progress"
    space.clock.advance(61)
    assert client.responses.retrieve(queued.id).status == "in_progress"
    space.clock.advance(200)
    done = client.responses.retrieve(queued.id)
    assert (done.status, done.usage is not None and done.usage.output_tokens) == ("incomplete", 20)
    assert client.responses.cancel(queued.id).status == "incomplete"


def test_without_latency_it_is_complete_when_it_is_looked_up(space: Handle) -> None:
    client = client_of(space)
    queued = client.responses.create(model=MODEL, input="Tell me about tides", background=True)
    assert client.responses.retrieve(queued.id).output_text


def test_a_response_in_the_background_can_be_cancelled_and_no_other(space: Handle) -> None:
    client = client_of(space)
    plain = client.responses.create(model=MODEL, input="Hello")
    with pytest.raises(openai.BadRequestError, match="Only responses created with 'background' can be cancelled"):
        client.responses.cancel(plain.id)
    space.settle(latency="ttft=60s")
    queued = client.responses.create(model=MODEL, input="Tell me about tides", background=True)
    assert client.responses.cancel(queued.id).status == "cancelled"
    space.clock.advance(600)
    assert client.responses.retrieve(queued.id).status == "cancelled"


def test_a_deleted_response_is_gone(space: Handle) -> None:
    client = client_of(space)
    id = client.responses.create(model=MODEL, input="Hello").id
    assert raw(space, "DELETE", id) == (200, b'{"id":"%b","object":"response","deleted":true}' % id.encode())
    with pytest.raises(openai.NotFoundError, match=f"Response with id '{id}' not found"):
        client.responses.retrieve(id)


@pytest.mark.parametrize("method, path", [("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")])
def test_what_nobody_has_stored_is_not_found(method: str, path: str, space: Handle) -> None:
    message = b'{"error":{"message":"Response with id \'resp_1\' not found","type":"invalid_request_error"}}'
    assert raw(space, method, f"resp_1{path}") == (404, message)


@pytest.mark.parametrize("fault", ["", "{ kind = 'error' }"])
def test_what_is_not_to_be_stored_is_not(fault: str, space: Handle) -> None:
    client = client_of(space)
    headers = {"X-Mockserver-Fault": fault} if fault else {}
    try:
        id = client.responses.create(model=MODEL, input="Hello", store=bool(fault), extra_headers=headers).id
    except openai.InternalServerError:
        id = client_of(space).responses.create(model=MODEL, input="Hello", store=False).id
    assert raw(space, "GET", id)[0] == 404


def test_the_input_is_listed_in_pages_the_latest_first(space: Handle) -> None:
    client = client_of(space)
    items: Any = [{"role": "user", "content": word} for word in ("one", "two", "three")]
    id = client.responses.create(model=MODEL, input=items).id
    first = client.responses.input_items.list(id, limit=2)
    assert [item.content for item in first.data] == ["three", "two"]  # type: ignore[union-attr]
    assert first.has_more
    assert [item.content for item in first.get_next_page().data] == ["one"]  # type: ignore[union-attr]
    assert [item.content for item in client.responses.input_items.list(id, order="asc")] == ["one", "two", "three"]  # type: ignore[union-attr]
    for query in ("limit=0", "limit=101", "limit=x", "order=up"):
        assert raw(space, "GET", f"{id}/input_items?{query}")[0] == 400


@each_edition
def test_a_response_continues_the_conversation_of_an_earlier_one(edition: Edition, space: Handle) -> None:
    space.settle(edition=edition)
    client = client_of(space)
    first = client.responses.create(model=MODEL, input="Tell me about tides")
    second = client.responses.create(model=MODEL, input="Go on", previous_response_id=first.id)
    client.responses.create(model=MODEL, input="And the moon?", previous_response_id=second.id)
    whole = [{"role": "user", "content": "Tell me about tides"}, {"role": "assistant", "content": first.output_text}]
    whole += [{"role": "user", "content": "Go on"}, {"role": "assistant", "content": second.output_text}]
    whole += [{"role": "user", "content": "And the moon?"}]
    continued = space.last
    client.responses.create(model=MODEL, input=whole)  # type: ignore[arg-type]
    assert (continued.prompt, continued.usage) == (space.last.prompt, space.last.usage)
    assert second.previous_response_id == first.id


def test_a_tools_result_may_answer_the_call_of_an_earlier_response(space: Handle) -> None:
    client = client_of(space)
    first = client.responses.create(model=MODEL, input="How is the weather in Oslo?", tools=[TOOL])
    call: Any = first.output[0]
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "rain, 7 degrees"}
    second = client.responses.create(model=MODEL, input=[result], tools=[TOOL], previous_response_id=first.id)
    assert "7 degrees" in second.output_text


def test_the_oldest_responses_give_way_beyond_a_number_and_a_weight(
    space: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(space)

    def kept() -> list[bool]:
        asked = [client.responses.create(model=MODEL, input=f"Tide {n}", max_output_tokens=8).id for n in range(4)]
        return [raw(space, "GET", id)[0] == 200 for id in asked]

    assert kept() == [True] * 4
    monkeypatch.setattr(store, "_MOST", 2)
    assert kept() == [False, False, True, True]
    monkeypatch.setattr(store, "_MOST", 100)
    monkeypatch.setattr(store, "_LEAST_SHARE", 1)
    monkeypatch.setattr(store, "_MOST_BYTES", 1)
    assert kept() == [False, False, False, True]


@each_edition
def test_references_stand_for_the_items_of_stored_responses(edition: Edition, space: Handle) -> None:
    space.settle(edition=edition)
    client = client_of(space)
    question: Any = {"role": "user", "content": "How is the weather in Oslo?"}
    first = client.responses.create(model=MODEL, input=[question], tools=[TOOL])
    call: Any = first.output[0]
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "rain, 7 degrees"}
    reference: Any = {"type": "item_reference", "id": call.id}
    referred = client.responses.create(model=MODEL, input=[question, reference, result], tools=[TOOL])
    whole = client.responses.create(model=MODEL, input=[question, call.to_dict(), result], tools=[TOOL])
    assert (referred.output_text, referred.usage) == (whole.output_text, whole.usage)
    client.responses.delete(first.id)
    with pytest.raises(openai.BadRequestError, match="answers a call that was not made"):
        client.responses.create(model=MODEL, input=[question, reference, result], tools=[TOOL])


def test_namespaces_and_resets_keep_conversations_apart(server: MockServer, space: Handle) -> None:
    first = client_of(space).responses.create(model=MODEL, input="Tell me about tides")
    other = server.in_namespace(uuid4().hex)
    texts = [
        client_of(each).responses.create(model=MODEL, input="Go on", previous_response_id=first.id).usage
        for each in (space, other)
    ]
    assert [each is not None and each.input_tokens > 20 for each in texts] == [True, False]
    space.reset()
    assert raw(space, "GET", first.id)[0] == 404


# --- OpenAI ------------------------------------------------------------------------------------------------------

GPT = "gpt-5.4"
STRICT: Any = {**TOOL, "parameters": {**TOOL["parameters"], "additionalProperties": False}, "strict": True}


@pytest.fixture
def gpt(space: Handle) -> OpenAI:
    _open.append(OpenAI(base_url=space.base_url("openai"), api_key="k", max_retries=0, timeout=30))
    return _open[-1]


def test_openais_responses_are_found_plain_or_streamed_and_deleted(gpt: OpenAI) -> None:
    plain = gpt.responses.create(model=GPT, input="Tell me about tides")
    assert gpt.responses.retrieve(plain.id) == plain
    *_, last = gpt.responses.create(model=GPT, input="Tell me about tides", stream=True)
    assert last.type == "response.completed"
    assert gpt.responses.retrieve(last.response.id).output == last.response.output
    events = list(gpt.responses.retrieve(last.response.id, stream=True))
    assert (events[0].type, events[-1]) == ("response.created", last)
    assert list(gpt.responses.retrieve(last.response.id, stream=True, starting_after=2)) == events[3:]
    bare = list(gpt.responses.retrieve(last.response.id, stream=True, include_obfuscation=False))
    assert len(bare) == len(events)
    assert not any("obfuscation" in event.to_dict() for event in bare)
    thought = gpt.responses.create(model=GPT, input="Hi", reasoning={"effort": "low"})
    [item, _] = gpt.responses.retrieve(thought.id, include=["reasoning.encrypted_content"]).output
    assert item.type == "reasoning"
    assert item.encrypted_content
    assert thought.output[0].to_dict().keys() == item.to_dict().keys() - {"encrypted_content"}
    told = json.loads(gpt.responses.with_raw_response.delete(plain.id).text)
    assert told == {"id": plain.id, "object": "response.deleted", "deleted": True}
    with pytest.raises(openai.NotFoundError, match=f"Response with id '{plain.id}' not found."):
        gpt.responses.retrieve(plain.id)
    unkept = gpt.responses.create(model=GPT, input="Hello", store=False)
    with pytest.raises(openai.NotFoundError):
        gpt.responses.retrieve(unkept.id)


def test_openais_responses_in_the_background_wait_in_a_queue_and_can_be_cancelled(space: Handle, gpt: OpenAI) -> None:
    space.settle(latency="queue=10s, ttft=60s, rate=0.1 tok/s")
    asked: Any = {"model": GPT, "input": "Tell me about tides", "background": True, "max_output_tokens": 20}
    queued = gpt.responses.create(**asked)
    seen = [queued.status]
    for seconds in (0, 11, 300):
        space.clock.advance(seconds)
        seen.append(gpt.responses.retrieve(queued.id).status)
    assert seen == ["queued", "queued", "in_progress", "incomplete"]
    cancelled = gpt.responses.create(**asked)
    with pytest.raises(openai.InternalServerError):
        gpt.responses.cancel(cancelled.id, extra_headers={"X-Mockserver-Fault": "server_error"})
    assert gpt.responses.retrieve(cancelled.id).status == "queued"
    assert gpt.responses.cancel(cancelled.id).status == "cancelled"
    assert gpt.responses.cancel(queued.id).status == "incomplete"
    plain = gpt.responses.create(
        model=GPT, input="Hello", max_output_tokens=16, extra_headers={"X-Mockserver-Latency": "off"}
    )
    with pytest.raises(openai.BadRequestError, match="Cannot cancel a synchronous response"):
        gpt.responses.cancel(plain.id)


def test_openais_conversations_are_continued_and_refer_to_what_is_stored(space: Handle, gpt: OpenAI) -> None:
    question: Any = {"role": "user", "content": "How is the weather in Oslo?"}
    first = gpt.responses.create(model=GPT, input=[question], tools=[STRICT], reasoning={"effort": "low"})
    thought, call = first.output
    assert call.type == "function_call"
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "rain, 7 degrees"}
    asked: Any = {"model": GPT, "tools": [STRICT]}
    second = gpt.responses.create(input=[result], previous_response_id=first.id, **asked)
    assert "7 degrees" in second.output_text
    references: Any = [{"type": "item_reference", "id": each.id} for each in (thought, call)]
    whole: Any = [question, thought.to_dict(), call.to_dict(), result]
    referred, told = (gpt.responses.create(input=items, **asked) for items in ([question, *references, result], whole))
    assert (referred.output_text, referred.usage) == (told.output_text, told.usage)
    with pytest.raises(openai.BadRequestError, match="without its required 'reasoning' item: 'rs_"):
        gpt.responses.create(input=[question, references[1], result], **asked)
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call call_"):
        gpt.responses.create(input="Go on", previous_response_id=first.id, **asked)
    gpt.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError, match="Items are not persisted when `store` is set to false"):
        gpt.responses.create(input=[question, *references, result], **asked)
    with pytest.raises(openai.BadRequestError, match=f"Previous response with id '{first.id}' not found.") as refused:
        gpt.responses.create(input=[result], previous_response_id=first.id, **asked)
    assert (refused.value.param, refused.value.code) == ("previous_response_id", "previous_response_not_found")


def test_openais_input_items_are_listed_in_pages_with_all_their_members(gpt: OpenAI) -> None:
    items: Any = [{"role": "user", "content": word} for word in ("one", "two", "three")]
    id_ = gpt.responses.create(model=GPT, input=items).id
    first = gpt.responses.input_items.list(id_, limit=2)
    assert first.has_more
    assert [item.content[0].text for item in (*first.data, *first.get_next_page().data)] == ["three", "two", "one"]  # type: ignore
    assert all(re.fullmatch("msg_[0-9a-f]{50}", str(item.id)) for item in first.data)
    for limit, code in ((0, "integer_below_min_value"), (101, "integer_above_max_value")):
        with pytest.raises(openai.BadRequestError) as refused:
            gpt.responses.input_items.list(id_, limit=limit)
        assert (refused.value.param, refused.value.code) == ("limit", code)


def test_a_conversation_keeps_what_was_added_last(gpt: OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = gpt.conversations.create()

    def kept() -> list[str]:
        for word in ("one", "two", "three"):
            gpt.conversations.items.create(begun.id, items=[{"role": "user", "content": word}])
        return [item.content[0].text for item in gpt.conversations.items.list(begun.id, limit=3, order="asc").data]  # type: ignore

    monkeypatch.setattr(store, "_LONGEST", 2)
    assert kept() == ["two", "three"]
    monkeypatch.setattr(store, "_LEAST_SHARE", 1)
    monkeypatch.setattr(store, "_MOST_BYTES", 1)
    assert kept() == ["three"]
    with pytest.raises(openai.InternalServerError):
        gpt.conversations.delete(begun.id, extra_headers={"X-Mockserver-Fault": "server_error"})
    assert gpt.conversations.retrieve(begun.id) == begun


def test_a_response_in_the_background_joins_its_conversation_when_it_is_complete(space: Handle, gpt: OpenAI) -> None:
    space.settle(latency="ttft=60s, rate=0.1 tok/s")
    begun = gpt.conversations.create()
    asked: Any = {"model": GPT, "conversation": begun.id, "background": True, "max_output_tokens": 20}
    gpt.responses.create(input="Tell me about tides", **asked)
    gpt.responses.cancel(gpt.responses.create(input="And the moon?", **asked).id)
    seen = []
    for seconds in (0, 300):
        space.clock.advance(seconds)
        seen.append(len(gpt.conversations.items.list(begun.id).data))
    assert seen == [0, 2]


def test_openai_counts_the_tokens_of_an_input(gpt: OpenAI) -> None:
    counted = gpt.responses.input_tokens.count(model=GPT, input="Tell me about tides")
    usage = gpt.responses.create(model=GPT, input="Tell me about tides").usage
    assert usage is not None
    assert (counted.object, counted.input_tokens) == ("response.input_tokens", usage.input_tokens)
