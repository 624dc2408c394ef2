"""The admin API is at its literal path alone, over plain ASGI too."""

import asyncio
from typing import Any

import pytest

from mockserver.server.app import create_app


def status_of(path: str, raw_path: bytes | None) -> int:
    """The status that a request for a path gets, which was written in some way."""
    told: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        told.append(message.get("status", 0))

    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": raw_path,
        "query_string": b"",
        "headers": [],
    }
    asyncio.run(create_app()(scope, receive, send))
    return told[0]


@pytest.mark.parametrize(
    ("path", "raw_path", "status"),
    [
        ("/_mockserver/health", b"/_mockserver/health", 200),
        ("/_mockserver/health", None, 200),
        ("/_mockserver/health", b"/_mockserver/%68ealth", 200),
        ("/_mockserver/health", b"/%5fmockserver/health", 404),
        ("/_mockserver/health", b"/_mockserver%2fhealth", 404),
        ("/_mockserver/health", b"/_mockserve%72/health", 404),
    ],
)
def test_only_the_literal_path_leads_to_the_admin_api(path: str, raw_path: bytes | None, status: int) -> None:
    assert status_of(path, raw_path) == status
