"""What clients do with tool calls: whether they run calls with invalid arguments.

A client that has run a tool sends its result in the next request, after the call itself. A client that has noticed that
the arguments are wrong says so in the result, and is not reported here.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from mockserver.core.json_values import step_text
from mockserver.model.schema import SchemaLimitError, UnsatisfiableSchemaError
from mockserver.state.journal.views import View

# Words of a result that reports a wrong call: a client that sends one of them has noticed a problem.
_COMPLAINTS = re.compile(
    r"error|invalid|fail|exception|missing|malformed|unknown|unexpected|wrong|not (a|an|found|valid|allowed)|must |"
    r"cannot|can't|could not|unable|required|reject|refus|bad |illegal|schema|ошибк|неверн|недопустим",
    re.IGNORECASE,
)


class ToolResult(NamedTuple):
    """The result of a tool in a history: its name and arguments, which are None if the history lacks the call."""

    name: str | None
    arguments: str | None
    text: str


def ran_invalid_tool_calls(views: Sequence[View]) -> Iterator[tuple[int, str]]:
    """The requests with the result of a tool call whose arguments are invalid, and what is wrong with them."""
    seen: set[tuple[str, str]] = set()
    for view in views:
        for name, arguments, text in tool_results(view.messages):
            if name is None or arguments is None:
                continue
            why = _nonsense(name, arguments, view.tools)
            if why is not None and not _COMPLAINTS.search(text) and (name, arguments) not in seen:
                seen.add((name, arguments))
                yield view.number, f"{name}({arguments}) was run, though {why}"


def tool_results(messages: Sequence[Mapping[str, Any]]) -> Iterator[ToolResult]:
    """The tool results in a history."""
    calls: dict[str, tuple[str, str]] = {}
    for message in messages:
        listed = message.get("tool_calls")
        for call in listed if isinstance(listed, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                calls[str(call.get("id"))] = (str(function.get("name")), str(function.get("arguments") or ""))
        if message.get("role") == "tool":
            name, arguments = calls.get(str(message.get("tool_call_id")), (None, None))
            yield ToolResult(name, arguments, _text(message.get("content")))


def _nonsense(name: str, arguments: str, tools: Sequence[Mapping[str, Any]]) -> str | None:
    """Why a call is invalid; None if it is valid, or if the request has no tools to check it against."""
    try:
        value = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return "its arguments are not JSON"
    tool = next((tool for tool in tools if tool.get("name") == name), None)
    if tool is None:
        return "no such tool was offered" if tools else None
    schema = tool.get("parameters")
    if not isinstance(schema, dict):
        return None
    try:
        wrong = read_schema(schema)(value)
    except SchemaError:
        return None
    return f"its parameters do not allow that: {wrong.message}" if wrong is not None and wrong.is_certain else None


def _text(content: object) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


# How many characters of a message are shown.
_MOST_SHOWN = 300


class SchemaError(ValueError):
    """A value that is not a JSON Schema; the message says why."""


class Breach(NamedTuple):
    """Where a value breaks a schema, and how. `is_certain` is false if a search was given up."""

    place: str
    message: str
    is_certain: bool = True


def read_schema(schema: object) -> Callable[[object], Breach | None]:
    """A function that finds a value's first breach of a schema. Raises SchemaError; references are never fetched."""
    if not isinstance(schema, dict | bool):
        raise SchemaError("it must be an object or a boolean")
    # Loaded with the first schema, since it takes long.
    from jsonschema_rs import ValidationErrorKind

    from mockserver.model.schema.documents import Document

    try:
        document = Document(schema, 2020)
    except SchemaLimitError as error:
        raise SchemaError(f"it would take too long to check: {error}") from None
    except UnsatisfiableSchemaError as error:
        raise SchemaError(f"{error}"[:_MOST_SHOWN]) from None

    def first_breach(value: object) -> Breach | None:
        if not document.reach.allows(value):
            return Breach("$", "it takes too long to check such a value, so this was not checked", is_certain=False)
        error = next(document.validator.iter_errors(value), None)
        if error is None:
            return None
        place = "$" + "".join(map(step_text, error.instance_path))
        if isinstance(error.kind, ValidationErrorKind.BacktrackLimitExceeded):
            return Breach(place, "a pattern takes too long, so this was not checked", is_certain=False)
        return Breach(place, error.message[:_MOST_SHOWN])

    return first_breach
