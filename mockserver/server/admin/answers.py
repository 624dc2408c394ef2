"""The admin API's own answers: indented JSON, and errors that say what to do."""

from typing import Any

import orjson
from starlette.responses import Response

# How many characters a message may have: names and alternatives that are listed take the most.
_LONGEST_MESSAGE = 8192


def admin_json(value: Any, status: int = 200) -> Response:
    """A JSON answer; dataclasses and the like are written as objects."""
    return Response(orjson.dumps(value, option=orjson.OPT_INDENT_2), status, media_type="application/json")


def admin_error(status: int, message: str) -> Response:
    """An error, in a format that OpenAI-style clients can show; a message that quotes much is cut."""
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[: _LONGEST_MESSAGE // 2]} [...] {message[-_LONGEST_MESSAGE // 2 :]}"
    return admin_json({"error": {"message": message, "type": "mockserver_admin"}}, status)
