"""The text of a generated JSON value."""

import json

import orjson


def compact(value: object) -> str:
    """A value as JSON without whitespace."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        # A number beyond 64 bits, or half of a surrogate pair.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
