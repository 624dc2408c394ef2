"""Bare servers for comparison: the minimal cost of an answer of the same size.

Run as `python -m tests.bench.bare PORT LOOP PLAIN_FILE STREAM_FILE`:
`POST /plain` parses the body and answers with the file's bytes through a Starlette route; `POST /stream` sends the
file's events from a bare ASGI application, one write each; `POST /paced` sends `events` events on the schedule of the
body: the first after `ttft` seconds, then one every `itl` seconds, each at its own instant.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, Literal

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Loop = Literal["asyncio", "uvloop"]

_HEADERS = [(b"content-type", b"text/event-stream")]


def application(body: bytes, events: list[bytes]) -> Application:
    """The ASGI application with the three routes."""

    async def plain(request: Request) -> Response:
        orjson.loads(await request.body())
        return Response(body, media_type="application/json")

    starlette = Starlette(routes=[Route("/plain", plain, methods=["POST"])])

    async def stream(receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def paced(receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        pace = orjson.loads((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        for number in range(pace["events"]):
            await asyncio.sleep(began + pace["ttft"] + number * pace["itl"] - loop.time())
            await send({"type": "http.response.body", "body": events[0], "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        match scope.get("path"):
            case "/stream":
                await stream(receive, send)
            case "/paced":
                await paced(receive, send)
            case _:
                await starlette(scope, receive, send)

    return serve


def config(app: Application, port: int, loop: Loop) -> uvicorn.Config:
    """uvicorn that only logs warnings."""
    return uvicorn.Config(app, port=port, loop=loop, log_level="warning", access_log=False)


if __name__ == "__main__":
    answer, stream = Path(sys.argv[3]).read_bytes(), Path(sys.argv[4]).read_bytes()
    parts = [event + b"\n\n" for event in stream.removesuffix(b"\n\n").split(b"\n\n")]
    chosen: Loop = "uvloop" if sys.argv[2] == "uvloop" else "asyncio"
    uvicorn.Server(config(application(answer, parts), int(sys.argv[1]), chosen)).run()
