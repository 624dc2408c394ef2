"""The messages of a request: six roles, their texts and images, and the prompt that they make."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from mockserver.core.failures import Rejection
from mockserver.core.generation import Prompt
from mockserver.core.seeding import fingerprint
from mockserver.dialects.openai_style.messages import called, chat_prompt
from mockserver.dialects.yandex.errors import fault
from mockserver.generation.readings import token_count

# Whether a message of the role must say something: a tool's result may be empty.
_ROLES = {"developer": True, "system": True, "user": True, "assistant": True, "tool": False, "function": False}
# "An image = 256 prompt tokens"
_IMAGE_TOKENS = 256


def messages_fault(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """What is wrong with the first message that no model can take, in the vendor's words; None when all is well."""
    for message in messages:
        role = message["role"]
        if role not in _ROLES:
            return f"invalid message role '{role}'"
        if _ROLES[role] and not _says_anything(message):
            return "empty message text"
    return None


def history_fault(messages: Sequence[Mapping[str, Any]]) -> Rejection | None:
    """The first result of a call that no message before it makes: "the tool name->id link is by tool_call_id only"."""
    made: set[str] = set()
    for place, message in enumerate(messages):
        made.update(id_ for id_, _ in called(message))
        answered = message.get("tool_call_id") if message["role"] == "tool" else None
        if answered is not None and answered not in made:
            return fault(f"messages[{place}].tool_call_id", f"answers a call that was not made: {answered!r}")
    return None


def read_prompt(messages: Sequence[Mapping[str, Any]], tools: object = None) -> Prompt:
    """The conversation as a prompt; each image counts its tokens and, by its address, changes the answer.

    The `tools` on offer count the tokens of their JSON.
    """
    prompt = chat_prompt(messages)
    if tools:
        described = token_count(orjson.dumps(tools).decode())
        prompt = prompt._replace(token_count=prompt.token_count + described)
    images = [part["image_url"]["url"] for message in messages for part in _parts(message) if _is_image(part)]
    if not images:
        return prompt
    seen = "\n".join(f"image: {fingerprint(url.encode())}" for url in images)
    return prompt._replace(text=f"{prompt.text}\n{seen}", token_count=prompt.token_count + _IMAGE_TOKENS * len(images))


def _says_anything(message: Mapping[str, Any]) -> bool:
    # "Assistant history messages may come without `content`"
    if any(message.get(name) for name in ("tool_calls", "function_call", "refusal")):
        return True
    content = message.get("content")
    return bool(content) if isinstance(content, str) else any(map(_part_says_anything, _parts(message)))


def _part_says_anything(part: Mapping[str, Any]) -> bool:
    return bool(_is_image(part) or part.get("text") or part.get("refusal"))


def _parts(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else ()


def _is_image(part: Mapping[str, Any]) -> bool:
    return bool(part["type"] == "image_url")
