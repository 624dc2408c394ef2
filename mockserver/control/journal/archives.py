"""Exchanges as an HTTP Archive (HAR 1.2), which browsers and proxies read."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from mockserver.control.journal.exchanges import Exchange
from mockserver.control.journal.masking import masked_query
from mockserver.control.journal.transcripts import headers_of, masked_headers, summary_of
from mockserver.core.calls import Call
from mockserver.core.version import __version__


def har(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """An archive of entries made by `har_entry`."""
    creator = {"name": "mockserver", "version": __version__}
    return {"log": {"version": "1.2", "creator": creator, "entries": entries}}


def har_entry(exchange: Exchange) -> dict[str, Any]:
    """An exchange as an entry of an HTTP Archive."""
    call, record, plan = exchange.call, exchange.record, exchange.plan
    status = plan.timeline.status if plan is not None else exchange.denial.status if exchange.denial else 0
    answered = plan.timeline.headers if plan is not None else ()
    body = b"".join(data for run in plan.timeline.runs for data in run.data) if plan is not None else b""
    first = record.seconds if record.first_write is None else record.first_write
    ending = plan.timeline.ending if plan is not None else None
    # As browsers say that a connection has failed in the middle of an answer.
    broken = {"_error": ending.how} if ending is not None else {}
    shared = {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": -1}
    return {
        "startedDateTime": datetime.fromtimestamp(call.received_at, UTC).isoformat(),
        "time": record.seconds * 1000,
        "request": shared
        | {
            "method": call.method,
            "url": _url(exchange, call),
            "headers": _pairs(masked_headers(call.headers)),
            "queryString": [
                {"name": name, "value": value}
                for name, value in parse_qsl(masked_query(call.query), keep_blank_values=True)
            ],
            "bodySize": len(call.body),
            "postData": {
                "mimeType": call.headers.get("content-type") or "",
                "text": call.body.decode(errors="replace"),
            },
        },
        "response": shared
        | broken
        | {
            "status": status,
            "statusText": "",
            "headers": _pairs(headers_of(answered)),
            "redirectURL": "",
            "bodySize": len(body),
            "content": {
                "size": len(body),
                "mimeType": headers_of(answered).get("content-type", ""),
                "text": body.decode(errors="replace"),
            },
        },
        "cache": {},
        "timings": {"send": 0, "wait": first * 1000, "receive": (record.seconds - first) * 1000},
        "_mockserver": summary_of(exchange),
    }


def _url(exchange: Exchange, call: Call) -> str:
    query = f"?{masked_query(call.query)}" if call.query else ""
    return f"http://{call.headers.get('host') or 'localhost'}{exchange.path}{query}"


def _pairs(headers: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]
