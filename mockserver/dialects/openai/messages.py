"""Conversations: the messages of a chat become one prompt."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from mockserver.core.generation import Message, Prompt
from mockserver.core.seeding import fingerprint
from mockserver.model.tokens import token_count

# The tokens that a chat template adds to each message, and in front of the answer.
_MESSAGE_OVERHEAD = 4
_ANSWER_OVERHEAD = 3
# The fields of messages that only say something, and who sends such messages.
_PLAIN_FIELDS = {"role", "content"}
_SPEAKERS = {"user", "assistant", "system", "developer"}


def chat_prompt(messages: Sequence[Mapping[str, Any]], tools: object = None) -> Prompt:
    """A conversation as a prompt. Its topic is the last user message, or without one the last message.

    The `tools` on offer count as many tokens as their JSON has. A tool's result names its tool, found by the call that
    it answers. Everything here accepts any JSON whose messages are objects.
    """
    names: dict[str, str] = {}
    history, lines = [], []
    topic, last, count = None, "", _ANSWER_OVERHEAD
    for message in messages:
        role, content = str(message.get("role", "")), message.get("content")
        text = said = content if isinstance(content, str) else content_text(content)
        if message.keys() <= _PLAIN_FIELDS and role in _SPEAKERS:
            history.append(Message(role, text))
        else:
            # The model reads neither the ids of calls nor the order of their keys.
            rows, answers, refusal = _call_rows(message), None, message.get("refusal")
            said += "".join([f"{call.get('name')}({_call_text(call)})" for _, call in rows])
            said += refusal if isinstance(refusal, str) else ""
            calls = called(message)
            names.update((id_, name) for id_, name in calls if id_)
            if role == "tool":
                id_ = str(message.get("tool_call_id", ""))
                answers = names.get(id_, id_)
            elif role == "function":
                answers = str(message.get("name", ""))
            history.append(Message(role, text, answers, tuple([name for _, name in calls])))
        lines.append(f"{role}: {said}")
        count += token_count(said) + _MESSAGE_OVERHEAD
        last = said
        if role == "user":
            topic = said
    if tools:
        count += token_count(orjson.dumps(tools).decode())
    return Prompt("\n".join(lines), last if topic is None else topic, count, chat=True, messages=tuple(history))


def with_images(prompt: Prompt, messages: Sequence[Mapping[str, Any]], tokens_each: int) -> Prompt:
    """The prompt of a conversation with its images, each of which counts tokens and, by its URL, changes the answer."""
    urls = image_urls(messages)
    return with_media(prompt, [("image", url, tokens_each) for url in urls]) if urls else prompt


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


def image_of(part: Mapping[str, Any]) -> str | None:
    """The URL of the image that a part shows, None if it shows none."""
    return str(part["image_url"]["url"]) if part.get("type") == "image_url" else None


def image_urls(
    messages: Sequence[Mapping[str, Any]], url_of: Callable[[Mapping[str, Any]], str | None] = image_of
) -> list[str]:
    """The URLs of all images, in order; `url_of` finds that of a part."""
    found = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            found += [url for part in content if (url := url_of(part)) is not None]
    return found


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


def content_text(content: object) -> str:
    """The text of a message's content, or the texts of its parts."""
    if isinstance(content, list):
        return "".join(filter(None, map(_part_text, content)))
    return content if isinstance(content, str) else ""


def _part_text(part: Any) -> str | None:
    text = part.get("text") or part.get("refusal") if isinstance(part, dict) else None
    return text if isinstance(text, str) else None
