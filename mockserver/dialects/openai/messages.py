"""Conversations: the messages of a chat become one prompt."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from mockserver.core.generation import Message, Prompt
from mockserver.core.seeding import fingerprint
from mockserver.model.token_counts import token_count

# The tokens that a chat template adds to each message, and in front of the answer.
_MESSAGE_OVERHEAD = 4
_ANSWER_OVERHEAD = 3


def chat_prompt(messages: Sequence[Mapping[str, Any]], tools: object = None) -> Prompt:
    """A conversation as a prompt. Its topic is the last user message, or without one the last message.

    The `tools` on offer count as many tokens as their JSON has.
    """
    history = list(_history(messages))
    texts = [_text_of(sent, message.text) for sent, message in zip(messages, history, strict=True)]
    topics = (text for message, text in zip(reversed(history), reversed(texts), strict=True) if message.role == "user")
    text = "\n".join(f"{message.role}: {text}" for message, text in zip(history, texts, strict=True))
    count = sum(map(token_count, texts)) + len(texts) * _MESSAGE_OVERHEAD + _ANSWER_OVERHEAD
    if tools:
        count += token_count(orjson.dumps(tools).decode())
    topic = next(topics, texts[-1] if texts else "")
    return Prompt(text, topic, count, chat=True, messages=tuple(history))


def with_images(prompt: Prompt, messages: Sequence[Mapping[str, Any]], tokens_each: int) -> Prompt:
    """The prompt of a conversation with its images, each of which counts tokens and, by its URL, changes the answer."""
    return with_media(prompt, [("image", url, tokens_each) for url in image_urls(messages)])


def with_media(prompt: Prompt, media: Sequence[tuple[str, str, int]]) -> Prompt:
    """The same with media of any kind: for each its kind, its URL, and how many tokens it counts."""
    if not media:
        return prompt
    seen = "\n".join(f"{kind}: {fingerprint(url.encode())}" for kind, url, _ in media)
    count = prompt.token_count + sum(tokens for _, _, tokens in media)
    return prompt._replace(text=f"{prompt.text}\n{seen}", token_count=count)


def parts(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The content parts of a message; plain text has none."""
    content = message.get("content")
    return content if isinstance(content, list) else ()


def image_urls(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The URLs of all images, in order."""
    return [url for message in messages for part in parts(message) if (url := image_of(part)) is not None]


def image_of(part: Mapping[str, Any]) -> str | None:
    """The URL of the image that a part shows, None if it shows none."""
    return str(part["image_url"]["url"]) if part.get("type") == "image_url" else None


def _history(messages: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    """The conversation in neutral form; a tool's result names its tool, found by the call that it answers."""
    names: dict[str, str] = {}
    for message in messages:
        calls = called(message)
        names.update((id_, name) for id_, name in calls if id_)
        role, answers = str(message.get("role", "")), None
        if role == "tool":
            id_ = str(message.get("tool_call_id", ""))
            answers = names.get(id_, id_)
        elif role == "function":
            answers = str(message.get("name", ""))
        yield Message(role, _content_text(message.get("content")), answers, tuple([name for _, name in calls]))


def called(message: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """The tools that a message calls, as (id, name); a function of the older form has no id."""
    rows = _call_rows(message)
    return [(id_, str(call["name"])) for id_, call in rows if "name" in call] if rows else ()


def _call_rows(message: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The calls of a message with their ids: names and arguments. Most messages have none."""
    found, older = message.get("tool_calls"), message.get("function_call")
    if not found and older is None:
        return ()
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    calls = [(str(row.get("id", "")), row.get("function") or row.get("custom")) for row in rows]
    calls.append(("", older))
    return [(id_, call) for id_, call in calls if isinstance(call, dict)]


def _call_text(call: Mapping[str, Any]) -> str:
    written = call.get("arguments", call.get("input", ""))
    return written if isinstance(written, str) else orjson.dumps(written).decode()


def _content_text(content: object) -> str:
    """The text of a message's content, or the texts of its parts."""
    if isinstance(content, list):
        return "".join(filter(None, map(_part_text, content)))
    return content if isinstance(content, str) else ""


def _part_text(part: Any) -> str | None:
    text = part.get("text") or part.get("refusal") if isinstance(part, dict) else None
    return text if isinstance(text, str) else None


def _text_of(message: Mapping[str, Any], words: str) -> str:
    """Everything that a message says: its text, the tools and functions that it calls, its refusal.

    Neither the ids of calls nor the order of their keys is part of it: the model does not read these.
    """
    calls = "".join([f"{call.get('name')}({_call_text(call)})" for _, call in _call_rows(message)])
    refusal = message.get("refusal")
    return words + calls + (refusal if isinstance(refusal, str) else "")
