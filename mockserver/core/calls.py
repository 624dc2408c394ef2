"""The incoming side: one HTTP request as a value, free of any framework; and headers, looked up by name and put
together."""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl

from mockserver.core.seeding import fingerprint
from mockserver.core.timeline import RawHeaders


class Headers(dict[str, str]):
    """Request headers by lower-case name, and `raw` as received; of several with the same name the first counts."""

    __slots__ = ("raw",)

    def __init__(self, raw: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.raw = tuple(raw)
        for name, value in reversed(self.raw):
            self[name.decode("latin-1")] = value.decode("latin-1")


class Call(NamedTuple):
    """One request. Once routed, `path` is the dialect's native path; `received_at` is in Unix seconds."""

    method: str
    path: str
    headers: Headers
    body: bytes = b""
    query: str = ""
    received_at: float = 0.0

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the body."""
        return fingerprint(self.body)

    def query_value(self, name: str) -> str | None:
        """The first value of a query parameter, or None."""
        return next((value for key, value in parse_qsl(self.query, keep_blank_values=True) if key == name), None)


def by_name(headers: RawHeaders) -> dict[str, str]:
    """Headers as text by name; of several with the same name the first counts."""
    found: dict[str, str] = {}
    for name, value in headers:
        found.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return found


def joined(first: RawHeaders, rest: RawHeaders) -> RawHeaders:
    """Headers before others; of these, names that the first ones have are left out."""
    names = {name for name, _ in first}
    return (*first, *(header for header in rest if header[0] not in names))
