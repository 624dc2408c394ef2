"""Exchanges as an HTTP Archive (HAR 1.2), which browsers and proxies read."""

from base64 import b64encode
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from mockserver.core.secrets import masked_body, masked_headers, masked_query, masked_text
from mockserver.core.version import __version__
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.journal.transcripts import summary_of

# Fields that are the same in every request and every response of an archive.
_SHARED = {"httpVersion": "HTTP/1.1", "cookies": (), "headersSize": -1}
_CREATOR = b'{"name":"mockserver","version":"%b"}' % __version__.encode()
# The JSON of an archive before its entries, which `har_entry` makes and commas separate, and after them.
ARCHIVE_BEGIN = b'{"log":{"version":"1.2","creator":%b,"entries":[' % _CREATOR
ARCHIVE_END = b"]}}"


def har_entry(exchange: Exchange) -> dict[str, Any]:
    """An exchange as an entry of an HTTP Archive."""
    record = exchange.record
    first = record.seconds if record.first_write is None else record.first_write
    return {
        "startedDateTime": datetime.fromtimestamp(exchange.call.received_at, UTC).isoformat(),
        "time": record.seconds * 1000,
        "request": {**_SHARED, **_request(exchange)},
        "response": {**_SHARED, **_response(exchange)},
        "cache": {},
        "timings": {"send": 0, "wait": first * 1000, "receive": (record.seconds - first) * 1000},
        "_mockserver": summary_of(exchange),
    }


def _request(exchange: Exchange) -> dict[str, Any]:
    call = exchange.call
    query = masked_query(call.query)
    path = masked_text(exchange.path) + (f"?{query}" if query else "")
    return {
        "method": call.method,
        "url": f"http://{call.headers.get('host') or 'localhost'}{path}",
        "headers": _pairs(masked_headers(call.headers.raw)),
        "queryString": [{"name": name, "value": value} for name, value in parse_qsl(query, keep_blank_values=True)],
        "bodySize": len(call.body),
        "postData": {"mimeType": call.headers.get("content-type") or "", **_text(call.body)},
    }


def _response(exchange: Exchange) -> dict[str, Any]:
    """The answer as it was planned; for an answer of our own only the status."""
    timeline, simulator_error = exchange.plan.timeline if exchange.plan is not None else None, exchange.simulator_error
    status = timeline.status if timeline is not None else simulator_error.status if simulator_error is not None else 0
    headers = masked_headers(timeline.headers if timeline is not None else ())
    body = b"".join(data for run in timeline.runs for data in run.data) if timeline is not None else b""
    # The way browsers report a connection that failed in the middle of an answer.
    broken = {"_error": timeline.ending.how} if timeline is not None and timeline.ending is not None else {}
    content_type = headers.get("content-type", "")
    return broken | {
        "status": status,
        "statusText": "",
        "headers": _pairs(headers),
        "redirectURL": "",
        "bodySize": len(body),
        "content": {"size": len(body), "mimeType": content_type, **_text(body)},
    }


def _text(body: bytes) -> dict[str, str]:
    """A body as text, its secrets masked, or in base64 if it is not text."""
    body = masked_body(body)
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"text": b64encode(body).decode(), "encoding": "base64"}


def _pairs(headers: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]
