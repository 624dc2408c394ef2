"""The refusals of chats: each violation on a line of its own, in the words of the service's validator.

Recorded: `body.maxTokens: property 'body.maxTokens' is unsupported`, and of messages, whose role is part of the path,
`body.messages.0.system.content` in 2025 and `messages.2.assistant.reasoning_content` in 2026.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.core.dialects import Edition
from mockserver.core.failures import FailureKind, Rejection, Violation
from mockserver.dialects.cerebras.errors import single_faults
from mockserver.dialects.cerebras.fields import Body

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
    return f"{name}: {_WORDINGS.get(violation.rule, _own_words)(violation)}"


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


_KINDS = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "object": "dictionary",
    "array": "list",
}


def _type_words(violation: Violation) -> str:
    kinds: Any = violation.expected if isinstance(violation.expected, list) else [violation.expected]
    words = f"Input should be a valid {_KINDS[kinds[0]]}"
    halved = kinds[0] == "integer" and isinstance(violation.found, float)
    return f"{words}, got a number with a fractional part" if halved else words


def _choice_words(violation: Violation) -> str:
    """Recorded: "Input should be 'none', 'low', 'medium' or 'high'"."""
    values = [violation.expected] if violation.rule == "const" else violation.expected
    *most, last = [repr(value) for value in values if value is not None] if isinstance(values, list) else ("",)
    return f"Input should be {', '.join(most)} or {last}" if most else f"Input should be {last}"


def _count_words(violation: Violation) -> str:
    least = violation.rule == "minItems"
    found = len(violation.found) if isinstance(violation.found, list) else 0
    noun = "item" if violation.expected == 1 else "items"
    words = f"List should have at {'least' if least else 'most'} {violation.expected} {noun} after validation"
    return f"{words}, not {found}"


def _own_words(violation: Violation) -> str:
    return violation.message


_WORDINGS: Mapping[str, Callable[[Violation], str]] = {
    "required": lambda v: "Field required",
    "type": _type_words,
    "enum": _choice_words,
    "const": _choice_words,
    "minimum": lambda v: f"Input should be greater than or equal to {v.expected}",
    "maximum": lambda v: f"Input should be less than or equal to {v.expected}",
    "minItems": _count_words,
    "maxItems": _count_words,
}
