"""The admin API's journal, of the default namespace or (under `ns/<name>/`) of a named one.

GET     /_mockserver/journal             the exchanges, oldest first; ?after=N&limit=N&full=1
GET     /_mockserver/journal.jsonl       the same, one whole exchange to a line
GET     /_mockserver/journal.har         the same, as an HTTP Archive
GET     /_mockserver/journal/<number>    one exchange, whole
DELETE  /_mockserver/journal             forget them
GET     /_mockserver/events              exchanges as they begin and end, as server-sent events
"""

import asyncio
import re

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from mockserver.control.journal.exchanges import Exchange, Journal
from mockserver.control.journal.transcripts import har, har_entry, told, told_whole
from mockserver.serving.admin.answers import (
    BadRequestError,
    Guard,
    admin_error,
    admin_json,
    asked_namespace,
    per_namespace,
)
from mockserver.serving.feed import listen
from mockserver.serving.simulator import Simulator
from mockserver.serving.turns import in_turns


def journal_routes(simulator: Simulator, guarded: Guard) -> list[Route]:
    """The routes around the journals."""

    def journal(request: Request) -> Journal:
        return asked_namespace(simulator, request).journal

    async def listed(request: Request) -> Response:
        tell = told_whole if request.query_params.get("full") else told
        kept = journal(request)
        opened, forgotten, exchanges = kept.opened, kept.forgotten, _asked(kept, request)
        lines = b",\n".join(await in_turns(lambda each: orjson.dumps(tell(each)), exchanges))
        body = b'{"opened":%d,"forgotten":%b,"exchanges":[%b]}' % (opened, orjson.dumps(forgotten._asdict()), lines)
        return Response(body, media_type="application/json")

    async def lines(request: Request) -> Response:
        exchanges = _asked(journal(request), request)
        lines = await in_turns(lambda each: orjson.dumps(told_whole(each), option=orjson.OPT_APPEND_NEWLINE), exchanges)
        return Response(b"".join(lines), media_type="application/x-ndjson")

    async def archive(request: Request) -> Response:
        archived = har(await in_turns(har_entry, _asked(journal(request), request)))
        return Response(await asyncio.to_thread(orjson.dumps, archived), media_type="application/json")

    async def one(request: Request) -> Response:
        number = request.path_params["number"]
        exchange = journal(request).find(int(number)) if re.fullmatch(r"[0-9]{1,18}", number) else None
        if exchange is None:
            return admin_error(404, f"The journal has no exchange {number}: it has forgotten it, or there was none yet")
        return admin_json(told_whole(exchange))

    async def clear(request: Request) -> Response:
        journal(request).clear()
        return admin_json({"exchanges": []})

    async def events(request: Request) -> Response:
        return StreamingResponse(listen(journal(request)), media_type="text/event-stream")

    return [
        *per_namespace("GET", "/journal", guarded(listed)),
        *per_namespace("GET", "/journal.jsonl", guarded(lines)),
        *per_namespace("GET", "/journal.har", guarded(archive)),
        *per_namespace("GET", "/journal/{number}", guarded(one)),
        *per_namespace("DELETE", "/journal", guarded(clear)),
        *per_namespace("GET", "/events", guarded(events)),
    ]


def _asked(journal: Journal, request: Request) -> list[Exchange]:
    """The exchanges after a number, the latest `limit` of them."""
    after, limit = _number(request, "after", 0), _number(request, "limit", 1000)
    exchanges = [exchange for exchange in journal.exchanges() if exchange.number > after]
    return exchanges[max(len(exchanges) - limit, 0) :]


def _number(request: Request, name: str, otherwise: int) -> int:
    text = request.query_params.get(name)
    if text is not None and not re.fullmatch(r"[0-9]{1,18}", text):
        raise BadRequestError(f"{name}: {text[:40]!r} is no whole number from 0 on")
    return otherwise if text is None else int(text)
