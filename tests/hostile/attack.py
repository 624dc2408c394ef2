"""What a row of the table of hostile inputs is: how it is sent, and what it must get."""

import http.client
from collections.abc import Callable, Mapping
from typing import NamedTuple

import orjson

CREDENTIALS = {"authorization": "Bearer k", "content-type": "application/json"}


class Attack(NamedTuple):
    """One hostile thing done to the server at a port of 127.0.0.1. `act` asserts what it gets."""

    name: str
    act: Callable[[int], None]


def request(
    port: int, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """The status and the body of an answer; a body that is no bytes is sent as JSON."""
    data = body if isinstance(body, bytes) or body is None else orjson.dumps(body)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, data, {**CREDENTIALS, **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def refused(
    name: str,
    path: str,
    body: Callable[[], object],
    *,
    status: int | tuple[int, ...] = 400,
    says: bytes = b"",
    method: str = "POST",
    headers: Callable[[], Mapping[str, str]] = dict,
) -> Attack:
    """A request that gets one of some statuses, and a text in the answer. The body is built when it is sent."""
    statuses = status if isinstance(status, tuple) else (status,)

    def act(port: int) -> None:
        got, answer = request(port, method, path, body(), headers())
        assert got in statuses, (got, answer[:500])
        assert says in answer, answer[:500]

    return Attack(name, act)
