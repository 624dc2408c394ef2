"""The admin API of the journal: single exchanges, lists, files, searches, and a live feed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, get_args

import orjson
from starlette.responses import Response, StreamingResponse

from mockserver.core.dialects import EDITIONS
from mockserver.core.messages import short_repr
from mockserver.server.admin.endpoints import AdminError, AdminRequest, endpoint, is_whole, per_namespace
from mockserver.server.admin.schemas import (
    ANY,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    Schema,
    by_name,
    described,
    maybe,
    one_of,
    reference,
    rows,
    table,
)
from mockserver.server.following import subscribe
from mockserver.server.scheduling import in_slices
from mockserver.state.context import ChosenBy
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.journal.transcripts import (
    ARCHIVE_BEGIN,
    ARCHIVE_END,
    exact_transcript_of,
    har_entry,
    summary_of,
    transcript_of,
)
from mockserver.state.plan import Origin
from mockserver.state.verify.selection import filter_exchanges as differences_of

_DIFFERENCE = table({"field": TEXT, "wanted": TEXT, "found": TEXT})
_APPLIED = table(
    {"by": described(one_of(get_args(Origin)), "where it was set"), "fault": reference("Fault")},
    {"rule": described(TEXT, "the name of the armed rule")},
)
_DECISION = table(
    {
        "by": one_of(("generation", "answer", "refusal", "simulator_error")),
        "faults": rows(described(TEXT, "a kind of fault")),
    },
    {
        "kind": described(TEXT, "why it was refused: the failure's neutral name"),
        "message": TEXT,
        "dialect_by": described(
            one_of(filter(None, get_args(ChosenBy))),
            "by what the dialect was chosen, at a path of several dialects",
        ),
        "applied_faults": described(rows(_APPLIED), "the same faults as tables"),
        "unapplied_faults": rows(described(TEXT, "a kind of fault that was triggered, but changed nothing")),
        "rule": described(maybe(TEXT), "the stub that decided the answer"),
        "attempt": WHOLE,
        "unmatched": described(FLAG, "whether there were stubs, but none matched"),
        "nearest": rows(table({"name": TEXT, "differences": rows(_DIFFERENCE)})),
        "stale": described(
            rows(_DIFFERENCE), "where the request differs from the one that its answer was recorded for"
        ),
        "handler_error": described(TEXT, "the exception that a stub's function raised"),
    },
)
_TIMING = table(
    {},
    {
        **dict.fromkeys(("queue", "prefill", "decode", "ttft_due", "end_due", "waited"), NUMBER),
        "position": WHOLE,
        "ttft": maybe(NUMBER),
        "latency": described(TEXT, "the latency in force"),
        "speed": described(NUMBER, "the setting by which its times are divided"),
    },
    "In seconds after arrival, as planned (`..._due`) and as it was.",
)
_OUTCOME = table(
    {
        "closed_by": described(maybe(one_of(("server", "client"))), "null while the exchange is open"),
        "events_sent": WHOLE,
        "tokens_sent": WHOLE,
        "seconds": NUMBER,
    }
)
_USAGE = table(
    {"prompt_tokens": WHOLE, "completion_tokens": WHOLE},
    {"cached_tokens": described(WHOLE, "those of the prompt that came from the prompt cache, if any did")},
)
_TOOL_CALLS = rows(table({"name": TEXT, "arguments": TEXT}))
_EXCHANGE_KEYS: Mapping[str, Schema] = {
    "number": described(WHOLE, "its number within the namespace, from 1"),
    "namespace": TEXT,
    "at": described(NUMBER, "Unix seconds"),
    "arrived": described(NUMBER, "seconds on the namespace's clock"),
    "ahead": described(NUMBER, "how far that clock had been advanced"),
    "method": TEXT,
    "path": TEXT,
    "question": described(FLAG, "whether a model was asked"),
    "status": WHOLE,
    "decision": reference("Decision"),
    "timing": reference("Timing"),
    "outcome": reference("Outcome"),
}
_EXCHANGE_MORE: Mapping[str, Schema] = {
    "dialect": TEXT,
    "operation": maybe(TEXT),
    "edition": one_of(EDITIONS),
    "seed": WHOLE,
    "streamed": FLAG,
    "model": TEXT,
    "prompt": TEXT,
    "usage": described(_USAGE, "if anything of the answer was sent; completion tokens are those that were sent"),
    "finish_reasons": described(rows(TEXT), "of the choices whose end was sent"),
    "tool_calls": described(_TOOL_CALLS, "those that were sent completely"),
    "planned": described(
        table({"usage": _USAGE, "finish_reasons": rows(TEXT), "tool_calls": _TOOL_CALLS}),
        "the same as the model generated it, even if not all was sent",
    ),
}
_BODY: Mapping[str, Schema] = {
    "body": described(ANY, "JSON, or a text"),
    "body_text": described(
        TEXT, "JSON as it arrived, if it has numbers that a parser might round, or a layout to keep"
    ),
    "body_base64": described(TEXT, "bytes that are not text"),
}
_EVENT = table(
    {"due": NUMBER, "sent": described(maybe(NUMBER), "null: never"), "tokens": WHOLE},
    {"data": ANY, "data_text": TEXT, "data_base64": TEXT},
)
_REQUEST = table({"headers": by_name(TEXT, "secrets masked"), "query": TEXT, "credentials": TEXT}, _BODY)
_ANSWER = table(
    {"status": WHOLE, "headers": by_name(TEXT)},
    {
        "events": rows(_EVENT),
        "ending": described(maybe(TEXT), "how the connection was broken off"),
        "finished": described(FLAG, "whether the end of the stream was sent to the client, or a plain body"),
        **_BODY,
    },
)
SCHEMAS: Mapping[str, Schema] = {
    "Decision": _DECISION,
    "Timing": _TIMING,
    "Outcome": _OUTCOME,
    "Forgotten": table({"exchanges": WHOLE, "questions": described(WHOLE, "how many of them asked a model")}),
    "Exchange": table(_EXCHANGE_KEYS, _EXCHANGE_MORE),
    "WholeExchange": table({**_EXCHANGE_KEYS, "request": _REQUEST, "answer": _ANSWER}, _EXCHANGE_MORE),
}


# How many exchanges are listed by default; files have all of them.
_LISTED = 1000
_AFTER = described(WHOLE, "only exchanges with a greater number than this")
_ALL = {"after": _AFTER, "limit": described(WHOLE, "only this many of the latest; all by default")}
# How many exchanges of a file are serialised at a time.
_BATCH = 64
_EXCHANGES = table(
    {
        "opened": described(WHOLE, "how many exchanges there have been, including forgotten ones"),
        "forgotten": described(reference("Forgotten"), "how many exchanges were forgotten"),
        "exchanges": rows({"anyOf": [reference("Exchange"), reference("WholeExchange")]}),
    }
)
_FILTERED = table(
    {
        "matching": rows(WHOLE),
        "differences": by_name(rows(TEXT)),
        "forgotten": described(reference("Forgotten"), "exchanges that cannot be compared, since they are forgotten"),
    }
)


@endpoint(
    "GET",
    per_namespace("/journal"),
    {200: _EXCHANGES},
    query={
        "after": _AFTER,
        "limit": described(WHOLE, f"only this many of the latest; {_LISTED} by default"),
        "full": described(TEXT, "`1`: each with its request, its answer and all events"),
    },
)
async def journal(request: AdminRequest) -> Response:
    """The exchanges, oldest first."""
    write = _whole if request.is_set("full") else partial(in_slices, _line)
    journal = request.namespace.journal
    head = b'{"opened":%d,"forgotten":%b,"exchanges":[' % (journal.opened, orjson.dumps(journal.forgotten._asdict()))
    pieces = _pieces(_slice(request, _LISTED), write, head, b",\n", b"]}")
    return StreamingResponse(pieces, media_type="application/json")


@endpoint("GET", per_namespace("/journal.jsonl"), {200: "application/x-ndjson"}, query=_ALL)
async def journal_lines(request: AdminRequest) -> Response:
    """The same as JSON lines, one whole exchange per line."""
    write = partial(_whole, write=exact_transcript_of, option=orjson.OPT_APPEND_NEWLINE)
    return StreamingResponse(_pieces(_slice(request), write), media_type="application/x-ndjson")


@endpoint(
    "GET",
    per_namespace("/journal.har"),
    {200: table({"log": table({"version": TEXT, "creator": by_name(TEXT), "entries": rows(by_name({}))})})},
    query=_ALL,
)
async def journal_archive(request: AdminRequest) -> Response:
    """The same, as an HTTP Archive (HAR 1.2)."""
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


@endpoint("GET", per_namespace("/journal/unmatched"), {200: table({"exchanges": rows(reference("Exchange"))})})
async def unmatched(request: AdminRequest) -> Response:
    """The exchanges that no stub matched, with the nearest stubs."""
    exchanges = request.namespace.journal.exchanges()
    missed = [each for each in exchanges if each.plan is not None and each.plan.nearest is not None]
    pieces = _pieces(missed, partial(in_slices, _line), b'{"exchanges":[', b",\n", b"]}")
    return StreamingResponse(pieces, media_type="application/json")


@endpoint("GET", per_namespace("/journal/{number}"), {200: reference("WholeExchange")}, refuses=(404,))
async def exchange(request: AdminRequest) -> Response:
    """One whole exchange."""
    number = request.variable("number")
    exchange = request.namespace.journal.find(int(number)) if is_whole(number) else None
    if exchange is None:
        why = "it was forgotten, or has not happened yet" if is_whole(number) else "exchanges have numbers"
        raise AdminError(f"The journal has no exchange {short_repr(number)}: {why}", 404)
    [body] = await _whole([exchange], option=orjson.OPT_INDENT_2)
    return Response(body, media_type="application/json")


@endpoint("POST", per_namespace("/journal/filter"), {200: _FILTERED}, takes=table({}, {"match": reference("Match")}))
async def filter_exchanges(request: AdminRequest) -> object:
    """For each exchange, where it differs from a match."""
    wanted = await request.json("The body", '{"match": {"model": "m"}}', ("match",))
    journal, dialects = request.namespace.journal, request.app_state.dialects
    forgotten, match = journal.forgotten, wanted.get("match", {})
    filtered = partial(differences_of, journal.exchanges(), match, dialects, forgotten.questions)
    found = await asyncio.to_thread(filtered)
    matching = [number for number, differences in found.items() if not differences]
    by_number = {str(number): differences for number, differences in found.items()}
    return {"matching": matching, "differences": by_number, "forgotten": forgotten._asdict()}


@endpoint("DELETE", per_namespace("/journal"), {200: table({"exchanges": rows({})})})
async def forget(request: AdminRequest) -> object:
    """Clear the journal; numbers start at 1 again."""
    request.namespace.journal.clear()
    return {"exchanges": []}


@endpoint("GET", per_namespace("/events"), {200: "text/event-stream"})
async def events(request: AdminRequest) -> Response:
    """Exchanges as they begin and end: a stream of server-sent events `exchange`, each with an Exchange as its data."""
    return StreamingResponse(subscribe(request.namespace.journal), media_type="text/event-stream")


def _line(exchange: Exchange) -> bytes:
    return orjson.dumps(summary_of(exchange))


async def _whole(
    exchanges: Sequence[Exchange], write: Callable[[Exchange], Any] = transcript_of, option: int | None = None
) -> list[bytes]:
    """Transcripts of exchanges as JSON, in turns with other tasks; those of long answers in a thread."""
    return await in_slices(lambda each: orjson.dumps(write(each), option=option), exchanges, attrgetter("is_long"))


def _slice(request: AdminRequest, most: int | None = None) -> list[Exchange]:
    """The latest `limit` exchanges after a number; by default `most`, or all."""
    after, limit = request.whole("after") or 0, request.whole("limit")
    exchanges = [exchange for exchange in request.namespace.journal.exchanges() if exchange.number > after]
    limit = most if limit is None else limit
    return exchanges if limit is None else exchanges[max(len(exchanges) - limit, 0) :]


ENDPOINTS = (journal, journal_lines, journal_archive, unmatched, exchange, filter_exchanges, forget, events)
