"""Bodies that are packed, in MessagePack or by gzip, and those that are not JSON (vendor note A1).

Of these the service's parser says what it found, and in which line and column. Recorded: `: Invalid JSON: lone leading
surrogate in hex escape at line 1 column 135`, and `invalid escape` with a column. These are the words of jiter, which
is pydantic's parser.
"""

import gzip
import json
import zlib
from io import BytesIO
from typing import Any

import jiter
import orjson
from msgpack import unpackb

from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import Call
from mockserver.core.json_values import MOST_VALUES, has_more_values
from mockserver.dialects.openai.read import json_object

_MESSAGE_PACK = "application/vnd.msgpack"
_PLAIN = ("", "identity")
_GZIP = ("gzip", "x-gzip")
# How large a body may be once it is unpacked, in bytes.
_LONGEST_UNPACKED = 64 * 1024 * 1024


def unpacked_object(call: Call) -> dict[str, Any] | Refusal:
    """The object in the body of a call, packed or not, or why there is none."""
    data, encoding = call.body, (call.headers.get("content-encoding") or "").strip().lower()
    if encoding not in _PLAIN:
        unpacked = _inflated(data) if encoding in _GZIP else Refusal(FailureKind.UNSUPPORTED_MEDIA_TYPE)
        if isinstance(unpacked, Refusal):
            return unpacked
        data = unpacked
    kind = (call.headers.get("content-type") or "").partition(";")[0].strip().lower()
    if kind == _MESSAGE_PACK:
        return _message_pack_object(data)
    # The size of a body that was not packed has been checked on arrival.
    if data is not call.body and has_more_values(data):
        return Refusal(FailureKind.BODY_TOO_LARGE)
    found = json_object(data)
    if isinstance(found, Refusal) and found.kind is FailureKind.MALFORMED_JSON:
        # Recorded: `: Invalid JSON: invalid escape at line 1 column 26527`. No field leads that line.
        return found._replace(message=f": Invalid JSON: {json_fault(data)}")
    return found


def _inflated(data: bytes) -> bytes | Refusal:
    """The unpacked body, unless it is damaged, truncated or followed by something else."""
    try:
        with gzip.open(BytesIO(data)) as packed:
            body = packed.read(_LONGEST_UNPACKED + 1)
    except (OSError, EOFError, zlib.error):
        return Refusal(FailureKind.MALFORMED_JSON, ": the request is not valid gzip")
    return body if len(body) <= _LONGEST_UNPACKED else Refusal(FailureKind.BODY_TOO_LARGE)


class _TooManyError(Exception):
    """A body has more values than any reasonable request."""


def _message_pack_object(data: bytes) -> dict[str, Any] | Refusal:
    values = 0

    def counted(value: Any) -> Any:
        nonlocal values
        values += len(value) + 1
        if values > MOST_VALUES:
            raise _TooManyError
        return value

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


# --- broken JSON -----------------------------------------------------------------------------------------------------


def json_fault(body: bytes) -> str:
    """The parser's words about a body that is not JSON, with the place where it stopped; columns count bytes."""
    try:
        jiter.from_json(body, allow_inf_nan=False, cache_mode="none")
    except ValueError as error:
        return str(error)
    # It takes numbers beyond the range of a double, and bodies that nest deeper than this server lets them.
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return f"number out of range at line {error.lineno} column {error.colno}"
    return f"recursion limit exceeded at line 1 column {len(body)}"
