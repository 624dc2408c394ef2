"""The body of a request: JSON or MessagePack, either of them optionally gzipped (note A1); and its contract."""

import json
from io import BytesIO
from typing import Any

import orjson

from mockserver.core.calls import Call
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.json_values import MOST_VALUES, has_more_values
from mockserver.dialects.contracts import by_edition, editions
from mockserver.dialects.openai.fields import json_object

CONTRACT = editions(__package__)
REQUEST = by_edition(CONTRACT, "CompletionRequest")
CHAT_REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")

# --- body ------------------------------------------------------------------------------------------------------------

_MESSAGE_PACK = "application/vnd.msgpack"
_PLAIN = ("", "identity")
_GZIP = ("gzip", "x-gzip")

# How large a body may be once it is unpacked, in bytes.
_LONGEST_BODY = 64 * 1024 * 1024


def sent_object(call: Call) -> dict[str, Any] | Refusal:
    """The object in the body of a call, or why there is none. Any content type but MessagePack's is read as JSON."""
    data = _unpacked(call)
    if isinstance(data, Refusal):
        return data
    kind = (call.headers.get("content-type") or "").partition(";")[0].strip().lower()
    if kind == _MESSAGE_PACK:
        return _message_pack_object(data)
    # The size of a body that was not packed has been checked on arrival.
    is_too_large = data is not call.body and has_more_values(data)
    return Refusal(FailureKind.BODY_TOO_LARGE) if is_too_large else _json_object(data)


def _json_object(data: bytes) -> dict[str, Any] | Refusal:
    found = json_object(data)
    if isinstance(found, Refusal) and found.kind is FailureKind.MALFORMED_JSON:
        from mockserver.dialects.cerebras.json_faults import json_fault  # few bodies are broken

        # Recorded: `: Invalid JSON: invalid escape at line 1 column 26527`. No field leads that line.
        return found._replace(message=f": Invalid JSON: {json_fault(data)}")
    return found


def _unpacked(call: Call) -> bytes | Refusal:
    encoding = (call.headers.get("content-encoding") or "").strip().lower()
    if encoding in _PLAIN:
        return call.body
    return _inflated(call.body) if encoding in _GZIP else Refusal(FailureKind.UNSUPPORTED_MEDIA_TYPE)


def _inflated(data: bytes) -> bytes | Refusal:
    """The unpacked body, unless it is damaged, truncated or followed by something else."""
    import gzip  # few clients pack their bodies
    import zlib

    try:
        with gzip.open(BytesIO(data)) as packed:
            body = packed.read(_LONGEST_BODY + 1)
    except (OSError, EOFError, zlib.error):
        return Refusal(FailureKind.MALFORMED_JSON, ": the request is not valid gzip")
    return body if len(body) <= _LONGEST_BODY else Refusal(FailureKind.BODY_TOO_LARGE)


class _TooManyError(Exception):
    """A body has more values than any reasonable request."""


class _Counted:
    """Counts the values of what is unpacked. Raises _TooManyError."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, value: Any) -> Any:
        self._count += len(value) + 1
        if self._count > MOST_VALUES:
            raise _TooManyError
        return value


def _message_pack_object(data: bytes) -> dict[str, Any] | Refusal:
    from msgpack import unpackb  # few clients pack their bodies

    counted = _Counted()
    try:
        value = unpackb(
            data, list_hook=counted, object_hook=counted, max_array_len=MOST_VALUES, max_map_len=MOST_VALUES
        )
        # MessagePack has NaN and infinity, which are an error here; orjson would turn them into null.
        json.dumps(value, allow_nan=False)
        return json_object(orjson.dumps(value))
    except _TooManyError:
        return Refusal(FailureKind.BODY_TOO_LARGE)
    except (ValueError, TypeError, RecursionError) as error:
        if "exceeds max_" in str(error) and len(data) > MOST_VALUES:
            return Refusal(FailureKind.BODY_TOO_LARGE)
        # Not MessagePack, or something in it that JSON does not have.
        return Refusal(FailureKind.MALFORMED_JSON, ": the request is not valid MessagePack")
