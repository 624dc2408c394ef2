"""Bare servers to compare with: the least that an answer of the same size can cost.

Run as `python -m bench.baseline PORT BODY_FILE EVENTS_FILE`: `/plain` parses the body and answers with the file's bytes
through a Starlette route; `/stream` sends the file's events from a bare ASGI application, one write each.
"""

import sys
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def application(body: bytes, events: list[bytes]) -> Any:
    """The ASGI application of the two routes."""

    async def plain(request: Request) -> Response:
        orjson.loads(await request.body())
        return Response(body, media_type="application/json")

    starlette = Starlette(routes=[Route("/plain", plain, methods=["POST"])])

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/stream":
            await starlette(scope, receive, send)
            return
        await receive()
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return serve


if __name__ == "__main__":
    answer, stream = Path(sys.argv[2]).read_bytes(), Path(sys.argv[3]).read_bytes()
    parts = [event + b"\n\n" for event in stream.removesuffix(b"\n\n").split(b"\n\n")]
    uvicorn.run(application(answer, parts), port=int(sys.argv[1]), log_level="warning", access_log=False)
