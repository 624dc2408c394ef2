"""The messages of a request: six roles, their texts and images, and the prompt that they make."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.failures import Rejection
from mockserver.core.generation import Prompt
from mockserver.dialects.openai.messages import called, chat_prompt, image_of, parts, with_images
from mockserver.dialects.yandex.errors import fault

# Whether a message of the role must have some content: a tool's result may be empty.
_ROLES = {"developer": True, "system": True, "user": True, "assistant": True, "tool": False, "function": False}
# "An image = 256 prompt tokens"
IMAGE_TOKENS = 256


def messages_fault(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The fault of the first message that no model accepts, in the vendor's words; None if there is none."""
    for message in messages:
        role = message["role"]
        if role not in _ROLES:
            return f"invalid message role '{role}'"
        if _ROLES[role] and not _has_content(message):
            return "empty message text"
    return None


def history_fault(messages: Sequence[Mapping[str, Any]]) -> Rejection | None:
    """The refusal of a result whose call no earlier message made: "the tool name->id link is by tool_call_id only"."""
    calls: set[str] = set()
    for place, message in enumerate(messages):
        calls.update(id_ for id_, _ in called(message))
        answered = message.get("tool_call_id") if message["role"] == "tool" else None
        if answered is not None and answered not in calls:
            return fault(f"messages[{place}].tool_call_id", f"answers a call that was not made: {answered!r}")
    return None


def read_prompt(messages: Sequence[Mapping[str, Any]], tools: object = None) -> Prompt:
    """The conversation as a prompt, with its images, and with the `tools` on offer."""
    return with_images(chat_prompt(messages, tools), messages, IMAGE_TOKENS)


def _has_content(message: Mapping[str, Any]) -> bool:
    # "Assistant history messages may come without `content`"
    if any(message.get(name) for name in ("tool_calls", "function_call", "refusal")):
        return True
    content = message.get("content")
    return bool(content) if isinstance(content, str) else any(map(_part_has_content, parts(message)))


def _part_has_content(part: Mapping[str, Any]) -> bool:
    return image_of(part) is not None or bool(part.get("text") or part.get("refusal"))
