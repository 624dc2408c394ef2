"""What OpenAI stores, through its SDK: conversations, chats, and compactions, which stand for what they sum up."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import AzureOpenAI, OpenAI

from .questions import PROMPT, TIMEOUT, Server

MODEL = "gpt-5.4"


@pytest.fixture
def client(server: Server) -> Iterator[OpenAI]:
    with OpenAI(api_key="mock-ns-stored", base_url=f"{server.url}/openai/v1", timeout=TIMEOUT, max_retries=0) as client:
        yield client


def test_azures_client_finds_responses_and_models_without_a_version_in_the_path(server: Server) -> None:
    with AzureOpenAI(azure_endpoint=server.url, api_key="k", api_version="2025-04-01-preview", max_retries=0) as client:
        answer = client.responses.create(model="my-deployment", input=PROMPT)
        assert client.responses.retrieve(answer.id) == answer
        assert client.models.list().data
        with pytest.raises(openai.NotFoundError, match="Response with id 'resp_1' not found"):
            client.responses.retrieve("resp_1")


def texts(client: OpenAI, conversation: str, **query: Any) -> list[str]:
    """What is said in a conversation."""
    items: Any = client.conversations.items.list(conversation, **query)
    return [item.content[0].text for item in items]


def test_a_conversation_grows_by_its_responses(client: OpenAI) -> None:
    begun = client.conversations.create(items=[{"role": "user", "content": "I am Ada."}], metadata={"topic": "tides"})
    other = client.conversations.create()
    asked: Any = {"model": MODEL, "input": PROMPT}
    first = client.responses.create(conversation=begun.id, **asked)
    *_, last = client.responses.create(conversation={"id": begun.id}, stream=True, **asked)
    assert last.type == "response.completed"
    second = last.response
    assert first.conversation is not None
    assert first.conversation.id == begun.id
    said = ["I am Ada.", PROMPT, first.output_text, PROMPT, second.output_text]
    assert texts(client, begun.id, order="asc") == said
    assert texts(client, begun.id, limit=2) == said[::-1]
    assert texts(client, other.id) == []
    whole: Any = [item.to_dict() for item in client.conversations.items.list(begun.id, order="asc")]
    assert len({item["id"] for item in whole}) == len(whole)
    retold = client.responses.create(model=MODEL, input=whole[:4])
    assert second.usage is not None
    assert retold.usage is not None
    assert (retold.output_text, retold.usage.input_tokens) == (second.output_text, second.usage.input_tokens)

    added = client.conversations.items.create(begun.id, items=[{"role": "user", "content": "Bye"}] * 2).data
    assert client.conversations.items.retrieve(added[0].id or "", conversation_id=begun.id) == added[0]
    assert client.conversations.items.delete(added[0].id or "", conversation_id=begun.id) == begun
    client.conversations.items.delete(whole[1]["id"], conversation_id=begun.id)
    assert texts(client, begun.id, order="asc") == [said[0], *said[2:], "Bye"]
    counted = client.responses.input_tokens.count(conversation=begun.id, **asked)
    assert counted.input_tokens > second.usage.input_tokens

    assert client.conversations.update(begun.id, metadata={"topic": "moon"}).metadata == {"topic": "moon"}
    assert client.conversations.retrieve(begun.id).metadata == {"topic": "moon"}
    assert client.conversations.delete(begun.id).deleted
    with pytest.raises(openai.NotFoundError, match=f"Conversation with id '{begun.id}' not found."):
        client.responses.create(conversation=begun.id, **asked)
    assert client.responses.retrieve(first.id) == first


def test_a_chat_is_stored_if_it_is_to_be(client: OpenAI) -> None:
    asked: Any = {"model": "gpt-4.1-mini", "store": True}
    chats = [
        client.chat.completions.create(messages=[{"role": "user", "content": each}], metadata={"n": each}, **asked)
        for each in ("one", "two", "three")
    ]
    client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "four"}])
    *_, chunk = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": [{"type": "text", "text": "five"}]}], stream=True, store=True
    )
    ids = [each.id for each in chats]
    assert [each.id for each in client.chat.completions.list(limit=2)] == [chunk.id, *ids[::-1]]
    assert [each.id for each in client.chat.completions.list(model="gpt-4.1-mini", order="asc")] == ids
    assert [each.id for each in client.chat.completions.list(metadata={"n": "two"}, after=ids[1])] == []
    assert [each.id for each in client.chat.completions.list(metadata={"n": "two"})] == ids[1:2]
    stored = client.chat.completions.retrieve(ids[0])
    assert stored.choices[0].message.content == chats[0].choices[0].message.content
    assert (stored.usage and stored.usage.total_tokens) == (chats[0].usage and chats[0].usage.total_tokens)
    changed = client.chat.completions.update(ids[0], metadata={"n": "1"})
    assert changed.to_dict() == {**stored.to_dict(), "metadata": {"n": "1"}}
    [message] = client.chat.completions.messages.list(chunk.id)
    assert (message.id, message.role, message.content) == (f"{chunk.id}-0", "user", None)
    assert message.content_parts is not None
    assert message.content_parts[0].to_dict() == {"type": "text", "text": "five"}
    assert client.chat.completions.delete(ids[0]).deleted
    with pytest.raises(openai.NotFoundError, match=f"Completion {ids[0]} not found"):
        client.chat.completions.retrieve(ids[0])


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_compaction_stands_for_what_it_sums_up(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input=PROMPT)
    second = client.responses.create(model=MODEL, input="Go on", previous_response_id=first.id)
    compacted = client.responses.compact(model=MODEL, input=[], previous_response_id=second.id)
    output: Any = [item.to_dict() for item in compacted.output]
    assert [item["type"] for item in output] == ["message", "message", "compaction"]
    assert [item["content"][0]["text"] for item in output[:2]] == [PROMPT, "Go on"]
    next_: Any = {"role": "user", "content": "And now?"}

    def tokens(*items: Any) -> int:
        usage = client.responses.create(model=MODEL, input=[*items, next_]).usage
        assert usage is not None
        return usage.input_tokens

    said = compacted.usage.output_tokens
    assert said < tokens(output[2]) - tokens() < said + 10
    foreign = {"type": "compaction", "encrypted_content": "gAAAAABpzfWE_k5OtOa3sTEbupueyuGGrezu8qQwIs0tBzhG"}
    assert tokens(foreign) == tokens()
