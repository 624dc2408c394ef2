"""The refusals of chats: each violation on a line of its own, in the words of the service's validator.

Recorded: `body.maxTokens: property 'body.maxTokens' is unsupported`, and of messages, whose role is part of the path,
`body.messages.0.system.content` in 2025 and `messages.2.assistant.reasoning_content` in 2026.
"""

from collections.abc import Sequence
from typing import Any

from mockserver.core.dialects import Edition
from mockserver.core.failures import FailureKind, Rejection, Violation
from mockserver.dialects.cerebras.errors import single_faults
from mockserver.dialects.openai.fields import Body

_ROLES = ("system", "developer", "user", "assistant", "tool")


def refused(message: str, param: str) -> Rejection:
    """A refusal of valid fields that are incompatible, with the parameter to blame."""
    return Rejection(FailureKind.INVALID_REQUEST, message, param)


def explain_chat(violations: Sequence[Violation], body: Body, edition: Edition) -> Rejection:
    """All violations of a chat in one message, a line each."""
    # A value that is no message at all violates the schema of every role, but is reported once.
    lines = dict.fromkeys(_line(violation, body, edition) for violation in single_faults(violations))
    return Rejection(FailureKind.INVALID_REQUEST, "\n".join(lines))


def _line(violation: Violation, body: Body, edition: Edition) -> str:
    match violation.path:
        case ("messages", int() as place, "role"):
            return f"{_name(('messages', place), body, edition)}: {_role_words(violation)}"
        case ("stop",):
            return f"{_name(('stop',), body, edition)}: Input should be a valid string or a list of at most 4"
    name = _name(violation.path, body, edition)
    if violation.rule == "additionalProperties":
        return f"{name}: property '{name}' is unsupported"
    return f"{name}: {_words(violation)}"


def _name(path: Sequence[str | int], body: Body, edition: Edition) -> str:
    bare = edition == "observed" and path[:1] == ("messages",)
    return ".".join(map(str, (*(() if bare else ("body",)), *_tagged(path, body))))


def _tagged(path: Sequence[str | int], body: Body) -> Sequence[str | int]:
    """The path, with the role of the message into which it leads."""
    match path:
        case ("messages", int() as place, _, *_) if place < len(body["messages"]):
            message: Any = body["messages"][place]
            role = message.get("role") if isinstance(message, dict) else None
            return (*path[:2], role, *path[2:]) if role in _ROLES else path
    return path


def _role_words(violation: Violation) -> str:
    if violation.rule == "required":
        return "Unable to extract tag using discriminator 'role'"
    known = ", ".join(map(repr, _ROLES))
    return f"Input tag '{violation.found}' found using 'role' does not match any of the expected tags: {known}"


def _words(violation: Violation) -> str:
    """Pydantic's words; of several types it names the first."""
    match violation.rule, violation.expected:
        case "type", [first, *_]:
            violation = violation._replace(expected=first)
        case "const", _:
            violation = violation._replace(rule="enum")
    # Few requests are refused.
    from mockserver.dialects.wordings import pydantic_words

    words = pydantic_words(violation)
    return words[1] if words else violation.message
