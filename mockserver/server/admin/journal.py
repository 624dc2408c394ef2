"""The admin API of the journal: single exchanges, lists, files, searches, and a live feed."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse

from mockserver.core.criteria import CriteriaError
from mockserver.core.naming import unknown
from mockserver.server.admin.answers import admin_error, admin_json
from mockserver.server.admin.endpoints import Endpoint, Query, per_namespace
from mockserver.server.admin.json_schema import TEXT, WHOLE, by_name, described, reference, rows, table
from mockserver.server.admin.requests import AdminRequest, BadRequestError
from mockserver.server.feed import listen
from mockserver.server.scheduling import in_slices
from mockserver.state.journal.archives import ARCHIVE_BEGIN, ARCHIVE_END, har_entry
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.journal.sifting import sift
from mockserver.state.journal.transcripts import exact_transcript_of, summary_of, transcript_of

# How many exchanges are listed by default; files have all of them.
_LISTED = 1000
_AFTER = Query("after", WHOLE, "only exchanges with a greater number than this")
_LATEST = (_AFTER, Query("limit", WHOLE, f"only this many of the latest; {_LISTED} by default"))
_ALL = (_AFTER, Query("limit", WHOLE, "only this many of the latest; all by default"))
# How many exchanges of a file are serialised at a time.
_BATCH = 64
_EXCHANGES = table(
    {
        "opened": described(WHOLE, "how many exchanges there have been, including forgotten ones"),
        "forgotten": described(reference("Forgotten"), "how many exchanges were forgotten"),
        "exchanges": rows({"anyOf": [reference("Exchange"), reference("WholeExchange")]}),
    }
)
_SIFTED = table(
    {
        "matching": rows(WHOLE),
        "differences": by_name(rows(TEXT)),
        "forgotten": described(reference("Forgotten"), "exchanges that cannot be compared, since they are forgotten"),
    }
)


async def _listed(request: AdminRequest) -> Response:
    write = _whole if request.is_set("full") else partial(in_slices, _line)
    journal = request.namespace.journal
    head = b'{"opened":%d,"forgotten":%b,"exchanges":[' % (journal.opened, orjson.dumps(journal.forgotten._asdict()))
    pieces = _pieces(_slice(request, _LISTED), write, head, b",\n", b"]}")
    return StreamingResponse(pieces, media_type="application/json")


async def _lines(request: AdminRequest) -> Response:
    write = partial(_whole, write=exact_transcript_of, option=orjson.OPT_APPEND_NEWLINE)
    return StreamingResponse(_pieces(_slice(request), write), media_type="application/x-ndjson")


async def _archive(request: AdminRequest) -> Response:
    entries = _pieces(_slice(request), partial(_whole, write=har_entry), ARCHIVE_BEGIN, b",", ARCHIVE_END)
    return StreamingResponse(entries, media_type="application/json")


async def _pieces(
    exchanges: Sequence[Exchange],
    write: Callable[[Sequence[Exchange]], Awaitable[list[bytes]]],
    before: bytes = b"",
    between: bytes = b"",
    after: bytes = b"",
) -> AsyncIterator[bytes]:
    """The serialised exchanges, with parts before the first, between any two, and after the last.

    They are serialised in batches: those of a long journal take more memory than the journal itself.
    """
    yield before
    for start in range(0, len(exchanges), _BATCH):
        written = between.join(await write(exchanges[start : start + _BATCH]))
        yield between + written if start else written
    yield after


async def _unmatched(request: AdminRequest) -> Response:
    exchanges = request.namespace.journal.exchanges()
    missed = [each for each in exchanges if each.plan is not None and each.plan.nearest is not None]
    pieces = _pieces(missed, partial(in_slices, _line), b'{"exchanges":[', b",\n", b"]}")
    return StreamingResponse(pieces, media_type="application/json")


async def _one(request: AdminRequest) -> Response:
    number = request.variable("number")
    exchange = request.namespace.journal.find(int(number)) if _is_whole(number) else None
    if exchange is None:
        return admin_error(404, f"The journal has no exchange {number}: it was forgotten, or has not happened yet")
    [body] = await _whole([exchange], option=orjson.OPT_INDENT_2)
    return Response(body, media_type="application/json")


async def _sift(request: AdminRequest) -> Response:
    wanted = await request.json("The body", '{"match": {"model": "m"}}')
    for name in wanted.keys() - {"match"}:
        raise BadRequestError(unknown("key", name, ("match",)))
    journal, operations = request.namespace.journal, request.simulator.operations
    forgotten = journal.forgotten
    try:
        match, before = wanted.get("match", {}), forgotten.questions
        found = await asyncio.to_thread(partial(sift, journal.exchanges(), match, operations, before))
    except CriteriaError as error:
        raise BadRequestError(str(error)) from None
    matching = [number for number, differences in found.items() if not differences]
    by_number = {str(number): differences for number, differences in found.items()}
    return admin_json({"matching": matching, "differences": by_number, "forgotten": forgotten._asdict()})


async def _forget(request: AdminRequest) -> Response:
    request.namespace.journal.clear()
    return admin_json({"exchanges": []})


async def _events(request: AdminRequest) -> Response:
    return StreamingResponse(listen(request.namespace.journal), media_type="text/event-stream")


JOURNAL = (
    Endpoint(
        "journal",
        "GET",
        per_namespace("/journal"),
        _listed,
        "The exchanges, oldest first",
        {200: _EXCHANGES},
        query=(*_LATEST, Query("full", TEXT, "`1`: each with its request, its answer and all events")),
        refuses=(400,),
    ),
    Endpoint(
        "journalLines",
        "GET",
        per_namespace("/journal.jsonl"),
        _lines,
        "The same as JSON lines, one whole exchange per line",
        {200: "application/x-ndjson"},
        query=_ALL,
        refuses=(400,),
    ),
    Endpoint(
        "journalArchive",
        "GET",
        per_namespace("/journal.har"),
        _archive,
        "The same, as an HTTP Archive (HAR 1.2)",
        {200: table({"log": table({"version": TEXT, "creator": by_name(TEXT), "entries": rows(by_name({}))})})},
        query=_ALL,
        refuses=(400,),
    ),
    # Before the path with a number, which would match this one too.
    Endpoint(
        "unmatched",
        "GET",
        per_namespace("/journal/unmatched"),
        _unmatched,
        "The exchanges that no stub matched, with the nearest stubs",
        {200: table({"exchanges": rows(reference("Exchange"))})},
    ),
    Endpoint(
        "exchange",
        "GET",
        per_namespace("/journal/{number}"),
        _one,
        "One whole exchange",
        {200: reference("WholeExchange")},
        refuses=(404,),
    ),
    Endpoint(
        "sift",
        "POST",
        per_namespace("/journal/sift"),
        _sift,
        "For each exchange, where it differs from a match",
        {200: _SIFTED},
        takes=table({}, {"match": reference("Match")}),
        refuses=(400,),
    ),
    Endpoint(
        "forget",
        "DELETE",
        per_namespace("/journal"),
        _forget,
        "Clear the journal; numbers start at 1 again",
        {200: table({"exchanges": rows({})})},
    ),
    Endpoint(
        "events",
        "GET",
        per_namespace("/events"),
        _events,
        "Exchanges as they begin and end: a stream of server-sent events `exchange`, each with an Exchange as its data",
        {200: "text/event-stream"},
    ),
)


def _line(exchange: Exchange) -> bytes:
    return orjson.dumps(summary_of(exchange))


async def _whole(
    exchanges: Sequence[Exchange], write: Callable[[Exchange], Any] = transcript_of, option: int | None = None
) -> list[bytes]:
    """Transcripts of exchanges as JSON, in turns with other tasks; those of long answers in a thread."""
    return await in_slices(lambda each: orjson.dumps(write(each), option=option), exchanges, attrgetter("is_long"))


def _slice(request: AdminRequest, most: int | None = None) -> list[Exchange]:
    """The latest `limit` exchanges after a number; by default `most`, or all."""
    journal, after, limit = request.namespace.journal, _number(request, "after", 0), _number(request, "limit", most)
    exchanges = [exchange for exchange in journal.exchanges() if exchange.number > (after or 0)]
    return exchanges if limit is None else exchanges[max(len(exchanges) - limit, 0) :]


def _number(request: AdminRequest, name: str, otherwise: int | None) -> int | None:
    text = request.query.get(name)
    if text is not None and not _is_whole(text):
        raise BadRequestError(f"{name}: {text[:40]!r} is not a whole number of at least 0")
    return otherwise if text is None else int(text)


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,18}", text) is not None
