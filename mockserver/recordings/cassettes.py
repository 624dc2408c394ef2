"""Interactions of cassettes, as vcrpy writes them in YAML or JSON; compressed bodies are decompressed."""

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

from mockserver.recordings.packing import unpacked
from mockserver.recordings.recorded import Recorded, by_lower_name


def of_cassette(place: str, interaction: Mapping[str, Any]) -> Recorded:
    """One interaction. Raises LostError if it cannot be replayed."""
    request, response = interaction["request"], interaction["response"]
    target = urlsplit(request["uri"])
    answered = _headers(response)
    return Recorded(
        place=place,
        method=request["method"],
        host=target.hostname or "",
        path=target.path or "/",
        query=target.query,
        headers=_headers(request),
        body=_body(request, "body"),
        status=_status(response),
        answered=answered,
        answer=unpacked(_body(response, "content" if "content" in response else "body"), answered),
    )


def _status(response: Mapping[str, Any]) -> int:
    """The status, at its place in current cassettes or in those of older versions."""
    code = response["status"]["code"] if "status" in response else response["status_code"]
    if not isinstance(code, int):
        raise TypeError("status: not a number")
    return code


def _headers(message: Mapping[str, Any]) -> Mapping[str, str]:
    """Headers, each of which has a value or a list of values."""
    pairs = (
        (name, value[0] if isinstance(value, list) else value) for name, value in message["headers"].items() if value
    )
    return by_lower_name((name, str(value)) for name, value in pairs)


def _body(message: Mapping[str, Any], key: str) -> bytes:
    """A body: text, bytes, nothing, a table with one of them, or (from some serializers) parsed JSON."""
    if "parsed_body" in message:
        return orjson.dumps(message["parsed_body"])
    value = message.get(key)
    if isinstance(value, Mapping):
        if "base64_string" in value:
            return base64.b64decode(value["base64_string"], validate=True)
        value = value.get("string")
    if value is None:
        return b""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        raise TypeError(f"{key}: not a string or bytes")
    return value
