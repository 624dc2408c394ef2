"""Bodies that are packed, in MessagePack or by gzip, and those that are not JSON (vendor note A1).

Of these the service's parser says what it found, and in which line and column. Recorded: `: Invalid JSON: lone leading
surrogate in hex escape at line 1 column 135`, and `invalid escape` with a column. These are the words of pydantic's
parser, which has the others too.
"""

import gzip
import json
import re
import zlib
from io import BytesIO
from math import isinf
from typing import Any

import orjson
from msgpack import unpackb

from mockserver.core.calls import Call
from mockserver.core.failures import FailureKind, Refusal
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

_SPACE = re.compile(rb"[ \t\n\r]*")
_UNESCAPED = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS = re.compile(rb"[0-9]*")
_IDENTIFIERS = {b"t": b"true", b"f": b"false", b"n": b"null", b"N": b"NaN", b"I": b"Infinity"}
_HEX = {bytes((digit,)) for digit in b"0123456789abcdefABCDEF"}
_ESCAPES = b'"\\/bfnrt'
_DEEPEST = 100
# How long a body may be to be read once more, in bytes: a kilobyte takes up to 1.5 ms.
_LONGEST = 64 * 1024


class _FaultError(Exception):
    """The parser stops at a byte, which its words are about."""

    def __init__(self, words: str, at: int) -> None:
        super().__init__(words)
        self.at = at


def json_fault(body: bytes) -> str:
    """The parser's words about a body that is not JSON, with the place where it stopped.

    Columns count bytes. Of a very long body only the place is certain.
    """
    if len(body) > _LONGEST:
        return _place_alone(body)
    try:
        end = _skip(body, _value(body, 0, 0))
        fault = _FaultError("trailing characters" if end < len(body) else "recursion limit exceeded", end)
    except _FaultError as found:
        fault = found
    at = min(fault.at, len(body) - 1)
    read = body[: at + 1]
    return f"{fault} at line {read.count(10) + 1} column {at - read.rfind(10)}"


def _place_alone(body: bytes) -> str:
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        words = "recursion limit exceeded" if error.msg.startswith("depth") else "expected value"
        return f"{words} at line {error.lineno} column {error.colno}"
    return f"recursion limit exceeded at line 1 column {len(body)}"


def _expect(body: bytes, at: int, words: str, within: str = "a value") -> _FaultError:
    return _FaultError(words if at < len(body) else f"EOF while parsing {within}", at)


def _skip(body: bytes, at: int) -> int:
    return _SPACE.match(body, at).end()  # type: ignore[union-attr]


def _value(body: bytes, at: int, depth: int) -> int:
    """Where the value ends that begins here, possibly after spaces."""
    at = _skip(body, at)
    first = body[at : at + 1]
    if first in (b"{", b"["):
        if depth == _DEEPEST:
            raise _FaultError("recursion limit exceeded", at)
        return _items(body, at + 1, depth + 1, is_object=first == b"{")
    if first == b'"':
        return _text(body, at + 1)
    if first in _IDENTIFIERS:
        return _identifier(body, at, _IDENTIFIERS[first])
    if first.isdigit() or first == b"-":
        return _number(body, at)
    raise _expect(body, at, "expected value")


def _items(body: bytes, at: int, depth: int, *, is_object: bool) -> int:
    """Where the object or the list ends whose opening bracket is before here."""
    close, within = (b"}", "an object") if is_object else (b"]", "a list")
    at = _skip(body, at)
    if body[at : at + 1] == close:
        return at + 1
    if at == len(body):
        raise _expect(body, at, "", within)
    while True:
        if is_object:
            if body[at : at + 1] != b'"':
                raise _expect(body, at, "key must be a string")
            at = _skip(body, _text(body, at + 1))
            if body[at : at + 1] != b":":
                raise _expect(body, at, "expected `:`", within)
            at += 1
        at = _skip(body, _value(body, at, depth))
        if body[at : at + 1] == close:
            return at + 1
        if body[at : at + 1] != b",":
            raise _expect(body, at, f"expected `,` or `{close.decode()}`", within)
        at = _skip(body, at + 1)
        if body[at : at + 1] == close:
            raise _FaultError("trailing comma", at)


def _identifier(body: bytes, at: int, word: bytes) -> int:
    for place, letter in enumerate(word, at):
        if body[place : place + 1] != bytes((letter,)):
            raise _expect(body, place, "expected ident")
    if word in (b"NaN", b"Infinity"):  # pydantic's parser reads them, this server does not
        raise _FaultError("expected value", at)
    return at + len(word)


def _number(body: bytes, start: int) -> int:
    at = start + body.startswith(b"-", start)
    zero = body.startswith(b"0", at)
    at = at + 1 if zero else _digits(body, at)
    if zero and body[at : at + 1].isdigit():
        raise _FaultError("invalid number", at)
    if body.startswith(b".", at):
        at = _digits(body, at + 1)
    if body[at : at + 1] in (b"e", b"E"):
        at = _digits(body, at + 1 + (body[at + 1 : at + 2] in (b"+", b"-")))
    if isinf(float(body[start:at])):
        raise _FaultError("number out of range", at - 1)
    return at


def _digits(body: bytes, at: int) -> int:
    end = _DIGITS.match(body, at).end()  # type: ignore[union-attr]
    if end == at:
        raise _expect(body, at, "invalid number")
    return end


def _text(body: bytes, at: int) -> int:
    """Where the text ends whose opening quote is before here."""
    start = at
    while True:
        at = _UNESCAPED.match(body, at).end()  # type: ignore[union-attr]
        match body[at : at + 1]:
            case b'"':
                try:
                    body[start:at].decode()
                except UnicodeDecodeError as error:
                    raise _FaultError("invalid unicode code point", start + error.start) from None
                return at + 1
            case b"\\":
                at = _escape(body, at + 1)
            case _:
                words = "control character (\\u0000-\\u001F) found while parsing a string"
                raise _expect(body, at, words, "a string")


def _escape(body: bytes, at: int) -> int:
    if body[at : at + 1] != b"u":
        if at < len(body) and body[at] in _ESCAPES:
            return at + 1
        raise _expect(body, at, "invalid escape", "a string")
    code, at = _hex(body, at + 1)
    if 0xDC00 <= code <= 0xDFFF:
        raise _FaultError("lone leading surrogate in hex escape", at - 1)
    if 0xD800 <= code <= 0xDBFF:
        for place, byte in enumerate(b"\\u", at):
            if body[place : place + 1] != bytes((byte,)):
                raise _expect(body, place, "unexpected end of hex escape", "a string")
        code, at = _hex(body, at + 2)
        if not 0xDC00 <= code <= 0xDFFF:
            raise _FaultError("lone leading surrogate in hex escape", at - 1)
    return at


def _hex(body: bytes, at: int) -> tuple[int, int]:
    if at + 4 > len(body):
        raise _expect(body, len(body), "", "a string")
    for place in range(at, at + 4):
        if body[place : place + 1] not in _HEX:
            raise _expect(body, place, "invalid escape", "a string")
    return int(body[at : at + 4], 16), at + 4
