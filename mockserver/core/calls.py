"""The incoming side: one HTTP request as a value, free of any framework."""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl

from mockserver.core.seeding import fingerprint


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
