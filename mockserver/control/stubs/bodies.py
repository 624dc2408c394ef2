"""Bodies as they are sent, in no vendor's format: from a reply itself, or from a file that it names."""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from pathlib import PurePath

from mockserver.control.stubs.book import Raw
from mockserver.control.stubs.values import StubError, Table, header_of, json_of, text_of, whole_of

# Reads the file that a reply names; raises OSError.
Files = Callable[[str], bytes]

_BODIES = ("body", "body_base64", "file")
RAW = (*_BODIES, "status", "content_type")
_TYPES = {
    ".json": "application/json",
    ".sse": "text/event-stream",
    ".html": "text/html; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
_PLAIN_TEXT = _TYPES[".txt"]


def with_file(table: Table, place: str, files: Files | None) -> Table:
    """The table with the content of the file that it names as its body."""
    if "file" not in table:
        return table
    both = next((key for key in ("body", "body_base64") if key in table), None)
    if both is not None:
        raise StubError(f"{place}: can have only one of {', '.join(_BODIES)}, not both file and {both}")
    name = text_of(table["file"], f"{place}.file")
    if files is None:
        raise StubError(f"{place}.file: only stub files and config files can name files; use body or body_base64")
    try:
        data = files(name)
    except OSError as error:
        raise StubError(f"{place}.file: {name}: {error.strerror or error}") from None
    kind = {"content_type": table.get("content_type", _TYPES.get(PurePath(name).suffix) or _kind_of(data))}
    rest = {key: value for key, value in table.items() if key != "file"}
    try:
        return {**rest, **kind, "body": data.decode()}
    except UnicodeDecodeError:
        return {**rest, **kind, "body_base64": b64encode(data).decode()}


def read_body(table: Table, place: str) -> Raw:
    """The body of a reply, with its status and content type. Raises StubError."""
    given = [key for key in _BODIES if key in table]
    if len(given) > 1:
        raise StubError(f"{place}: can have only one of {', '.join(_BODIES)}, not both {' and '.join(given)}")
    body, guess = _body(table, place)
    status = whole_of(table.get("status", 200), f"{place}.status", 200, 599)
    if status in (204, 304) and body:
        raise StubError(f"{place}.status: an answer with status {status} cannot have a body")
    kind = table.get("content_type", guess)
    return Raw(status, body, header_of(kind, f"{place}.content_type").decode("latin-1"))


def _body(table: Table, place: str) -> tuple[bytes, str]:
    """The body, and its probable content type."""
    if "body_base64" in table:
        return _decoded(table["body_base64"], f"{place}.body_base64"), "application/octet-stream"
    body = table.get("body", "")
    if not isinstance(body, str):
        return json_of(body, f"{place}.body").encode(), "application/json"
    data = text_of(body, f"{place}.body").encode()
    return data, _kind_of(data)


def _kind_of(data: bytes) -> str:
    """The probable content type of a text, by its beginning."""
    begin = data.lstrip()[:6]
    if begin.startswith((b"{", b"[")):
        return _TYPES[".json"]
    return _TYPES[".sse"] if begin.startswith((b"data:", b"event:", b":")) else _PLAIN_TEXT


def _decoded(value: object, place: str) -> bytes:
    try:
        return b64decode(text_of(value, place), validate=True)
    except (Base64Error, ValueError):
        raise StubError(f"{place}: is not valid base64") from None
