"""The body of a request: JSON, or a refusal that names the position of the error."""

import json
from typing import Any

import orjson

from mockserver.core.failures import FailureKind, Rejection, Violation
from mockserver.core.json_values import is_shallow
from mockserver.dialects.friendli.errors import invalid


def json_body(data: bytes) -> dict[str, Any] | Rejection:
    """The body, or why it is not a JSON object; as in FastAPI, an empty body and `null` count as missing."""
    if not data:
        return _missing()
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return _too_deep() if error.msg.startswith("depth") else _malformed(_fault_position(data), "JSON decode error")
    if not isinstance(value, dict):
        return _missing() if value is None else invalid([Violation((), "object", "")], FailureKind.NOT_AN_OBJECT)
    return value if is_shallow(value) else _too_deep()


def _missing() -> Rejection:
    return invalid([Violation((), "required", "Field required")])


def _too_deep() -> Rejection:
    # The vendor parses with Python's own parser, which gives up at about a thousand levels.
    return _malformed(0, "JSON decode error, nested too deeply")


def _fault_position(data: bytes) -> int:
    """Where Python's parser, whose positions the vendor states, finds the error; 0 if it states none."""
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return error.pos
    except UnicodeDecodeError as error:
        return error.start
    except (ValueError, RecursionError):  # a number of more digits than Python reads; absurd nesting
        return 0
    return 0


def _malformed(position: int, message: str) -> Rejection:
    return invalid([Violation((position,), "json", message)], FailureKind.MALFORMED_JSON)
