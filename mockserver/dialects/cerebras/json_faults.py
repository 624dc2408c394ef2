"""What the service's parser says of a body that is not JSON: what it found, and in which line and column.

Recorded: `: Invalid JSON: lone leading surrogate in hex escape at line 1 column 135`, and `invalid escape` with a
column. These are the words of pydantic's parser, which has the others too.
"""

import re
from math import isinf

import orjson

_SPACE = re.compile(rb"[ \t\n\r]*")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS = re.compile(rb"[0-9]*")
_IDENTIFIERS = {b"t": b"true", b"f": b"false", b"n": b"null", b"N": b"NaN", b"I": b"Infinity"}
_HEX = {bytes((digit,)) for digit in b"0123456789abcdefABCDEF"}
_ESCAPES = b'"\\/bfnrt'
_DEEPEST = 100
# How long a body may be to be read once more, in bytes, and how long if that must not block the event loop: a kilobyte
# takes up to 1.5 ms.
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
        at = _PLAIN.match(body, at).end()  # type: ignore[union-attr]
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
