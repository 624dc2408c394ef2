"""Exchanges as plain JSON values: a summary, a transcript with the request, the answer and every event, or an entry of
an HTTP Archive (HAR 1.2), which browsers and proxies read.

`summary_of` is what the admin API, the fixture and the live page read; times are in seconds.
"""

import base64
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime
from itertools import chain, islice, repeat
from typing import Any
from urllib.parse import parse_qsl

import orjson

from mockserver.core import __version__
from mockserver.core.generation import Choice, Generation, ToolCall
from mockserver.core.http import Record, Timeline
from mockserver.core.json_values import nests_absurdly
from mockserver.core.matching.requests import Mismatch
from mockserver.core.secrets import (
    credentials_digest,
    is_secret,
    masked_body,
    masked_headers,
    masked_query,
    masked_text,
)
from mockserver.faults.parse_faults import table_of
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.plan import Plan, is_among

# Criteria fields that may hold a secret, also within alternatives and scripts.
_SECRET_FIELD = re.compile(r"^(?:\w+\[\d+\]\.)*(?:key|(?:headers|query|body)\.(?:.*\.)?(?P<name>[^.]+))$")
# Numbers that a double cannot represent exactly have at least so many digits.
_MANY_DIGITS = re.compile(rb"[0-9]{16}")
_STRING_OR_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*+"|[0-9]+')
# The maximum number of events in a transcript.
MOST_EVENTS = 20_000
# How many events may follow the one that ends the last choice: usage, the terminator, and what faults add.
_LAST_EVENTS = 8


def summary_of(exchange: Exchange) -> dict[str, Any]:
    """The summary of an exchange: the request, what decided the answer, and the outcome."""
    call, plan, record = exchange.call, exchange.plan, exchange.record
    line: dict[str, Any] = {
        "number": exchange.number,
        "namespace": exchange.namespace,
        "at": call.received_at,
        "arrived": exchange.arrived,
        "ahead": exchange.ahead,
        "method": call.method,
        "path": masked_text(exchange.path),
        "question": exchange.is_question,
        **(_planned(plan, record) if plan is not None else {}),
        "decision": _decision(exchange),
        "timing": _timing(exchange),
        "outcome": {
            "closed_by": record.closed_by,
            "events_sent": record.events_sent,
            "tokens_sent": record.tokens_sent,
            "seconds": record.seconds,
        },
    }
    if exchange.simulator_error is not None:
        line |= {"status": exchange.simulator_error.status}
    return line


def transcript_of(exchange: Exchange) -> dict[str, Any]:
    """An exchange with its request, its answer and every event, planned and sent."""
    return dict(Transcript(exchange))


def exact_transcript_of(exchange: Exchange, most_events: int | None = MOST_EVENTS) -> dict[str, Any]:
    """The transcript; the JSON body of a plain answer also as the exact text if it was not written compactly.

    With `most_events` it has that many events of a longer stream, or all of them if that is None.
    """
    whole = transcript_of(exchange)
    answer, plan = whole["answer"], exchange.plan
    if plan is not None and most_events != MOST_EVENTS:
        answer["events"] = _events(plan.timeline, exchange.record, most_events)
    if plan is not None and isinstance(answer.get("body", ""), dict | list):
        body = masked_body(b"".join(data for run in plan.timeline.runs for data in run.data))
        if orjson.dumps(answer["body"]) != body:
            answer["body_text"] = body.decode()
    return whole


class Transcript(Mapping[str, Any]):
    """A transcript whose `request` and `answer` are computed only when they are accessed.

    Everything else is a snapshot of the moment of creation.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._known = summary_of(exchange)

    def __getitem__(self, key: str) -> Any:
        if key in _PARTS and key not in self._known:
            self._known[key] = _PARTS[key](self._exchange)
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._known, **_PARTS})

    def __len__(self) -> int:
        return len({**self._known, **_PARTS})


def _request(exchange: Exchange) -> dict[str, Any]:
    call = exchange.call
    return {
        "headers": masked_headers(call.headers.raw),
        "query": masked_query(call.query),
        "credentials": credentials_digest(call),
        **_body("body", call.body),
    }


def _answer(exchange: Exchange) -> dict[str, Any]:
    if exchange.plan is None:
        error = exchange.simulator_error
        assert error is not None, "an exchange without a plan has an error"
        headers = {"content-type": "application/json"}
        return {"status": error.status, "headers": headers, "finished": True, **_body("body", error.body)}
    plan, timeline = exchange.plan, exchange.plan.timeline
    answer: dict[str, Any] = {"status": timeline.status, "headers": masked_headers(timeline.headers)}
    answer |= {"events": _events(timeline, exchange.record), "ending": timeline.ending and timeline.ending.how}
    # Whether the client was sent the end of a stream, or all of a plain answer.
    if timeline.streamed:
        last = deque(_sent(plan, exchange.record), maxlen=_LAST_EVENTS)
        answer["finished"] = plan.context.route.dialect.finishes.search(b"".join(last)) is not None
    else:
        answer["finished"] = timeline.ending is None
        answer |= _body("body", b"".join(data for run in timeline.runs for data in run.data))
    return answer


# The parts that are expensive to compute.
_PARTS: Mapping[str, Callable[[Exchange], dict[str, Any]]] = {"request": _request, "answer": _answer}


def _planned(plan: Plan, record: Record) -> dict[str, Any]:
    """The parts of a summary that come from the plan: dialect, operation, what was asked, and what the model generates,
    both as sent so far and as planned. The generation is left out if a fault leaves nothing of the answer."""
    route, scope, request = plan.context.route, plan.context.scope, plan.request
    line: dict[str, Any] = {
        "dialect": route.dialect.name,
        "operation": route.operation and route.operation.name,
        "edition": scope.edition,
        "seed": scope.seed,
        "status": plan.timeline.status,
        "streamed": plan.timeline.streamed,
    }
    if request is not None:
        line |= {"model": request.model, "prompt": request.prompts[-1].topic if request.prompts else ""}
    visible = plan.visible_generation
    return line if visible is None else line | _sent_and_planned(plan, visible, record)


def _decision(exchange: Exchange) -> dict[str, Any]:
    """What decided the answer: a refusal or a generation, the faults that were applied, the stub that matched or the
    nearest ones with their differences field by field; or an error of our own."""
    plan, simulator_error = exchange.plan, exchange.simulator_error
    if plan is None:
        assert simulator_error is not None, "an exchange without a plan has an error"
        return {
            "by": "simulator_error",
            "kind": simulator_error.kind,
            "message": masked_text(simulator_error.message),
            "faults": [],
            "applied_faults": [],
        }
    decision: dict[str, Any] = {
        "by": "refusal" if plan.refusal else "generation" if plan.generation else "answer",
        "faults": list(plan.faults),
        "applied_faults": [
            {"by": each.by, **({"rule": each.rule} if each.rule else {}), "fault": table_of(each.fault)}
            for each in plan.applied
        ],
        "rule": plan.rule,
        "attempt": plan.attempt,
        "unmatched": plan.nearest is not None,
    }
    unapplied = [each.fault.kind for each in plan.triggered if not is_among(each, plan.applied)]
    if unapplied:
        decision["unapplied_faults"] = unapplied
    if plan.refusal is not None:
        decision["kind"] = str(plan.refusal.kind)
    if plan.context.route.chosen_by:
        decision["dialect_by"] = plan.context.route.chosen_by
    if plan.nearest is not None:
        decision["nearest"] = [{"name": near.name, "differences": _masked(near.differences)} for near in plan.nearest]
    if plan.stale:
        decision["stale"] = _masked(plan.stale)
    if plan.handler_error is not None:
        decision["handler_error"] = masked_text(plan.handler_error)
    return decision


def _masked(differences: Iterable[Mismatch]) -> list[dict[str, Any]]:
    return [masked_difference(difference)._asdict() for difference in differences]


def masked_difference(difference: Mismatch) -> Mismatch:
    """A difference between a request and criteria, with the request's secrets masked."""
    field = _SECRET_FIELD.search(difference.field)
    hidden = field is not None and (field["name"] is None or is_secret(field["name"]))
    found = "something else, masked" if hidden and difference.found != "nothing" else masked_text(difference.found)
    return difference._replace(found=found)


def _timing(exchange: Exchange) -> dict[str, Any]:
    """When the first token was due and was sent, and when the last one was due, in seconds after arrival; and the
    latency that was in force, with the setting `speed`."""
    plan, record = exchange.plan, exchange.record
    pace = plan.pace if plan is not None else None
    if plan is None or pace is None:
        return {}
    in_force = {"latency": plan.context.latency, "speed": plan.context.settings.speed}
    if plan.visible_generation is not plan.generation:
        # A fault has removed everything that would have taken this time.
        return {**in_force, "ttft": record.first_write}
    # A stream may begin with events that carry no token, such as `response.created`. Embeddings carry none at all.
    has_tokens = plan.generation is not None and plan.generation.usage.completion_tokens > 0
    first = record.first_token if has_tokens else record.first_write
    stated = {"queue": pace.queue, "prefill": pace.prefill, "decode": pace.decode}
    schedule = pace.schedule
    due = {"ttft_due": schedule[0], "end_due": schedule[-1]} if schedule else {"ttft_due": 0.0, "end_due": 0.0}
    waited = {"position": plan.slot.grant.position, "waited": plan.slot.grant.wait} if plan.slot else {}
    return {**in_force, **stated, **due, **waited, "ttft": first}


def _events(timeline: Timeline, record: Record, most: int | None = MOST_EVENTS) -> list[dict[str, Any]]:
    """Every event: when it was due and when it was sent (null: never), its tokens and its text."""
    planned = islice((event for run in timeline.runs for event in zip(*run, strict=True)), most)
    sent = chain(record.event_instants(), repeat(None))
    return [
        {"due": due, "sent": instant, "tokens": tokens, **_body("data", data)}
        for (data, due, tokens), instant in zip(planned, sent, strict=False)
    ]


def _body(key: str, data: bytes) -> dict[str, Any]:
    """Bytes under a key: as a JSON value if they are one, else as text, else in base64 under `<key>_base64`.

    Secrets are masked. JSON that contains numbers with so many digits that a reader might round them is also given
    under `<key>_text`, as it arrived. JSON that is nested too deeply for most readers is given as text.
    """
    data = masked_body(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {f"{key}_base64": base64.b64encode(data).decode()}
    if data[:1] not in (b"{", b"["):
        return {key: text}
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {key: text}
    if nests_absurdly(data, value):
        return {key: text}
    might_be_rounded = _MANY_DIGITS.search(data) and any(
        _MANY_DIGITS.search(token[0]) for token in _STRING_OR_NUMBER.finditer(data) if token[0][:1] != b'"'
    )
    return {key: value, f"{key}_text": text} if might_be_rounded else {key: value}


def _sent_and_planned(plan: Plan, generation: Generation, record: Record) -> dict[str, Any]:
    """The usage, finish reasons and tool calls that have been sent so far; and under `planned`, in the same format,
    those that the model has decided on, whether they are sent or not."""
    choices, tokens = generation.choices, generation.usage.completion_tokens
    # The tool calls, each with the number of tokens after which its choice has written it.
    calls: list[tuple[ToolCall, int]] = []
    for choice in choices:
        step = len(choice.thoughts) + len(choice.ids)
        for call in choice.calls:
            step += call.steps
            calls.append((call, step))
    planned = _output(generation, tokens, choices, [call for call, _ in calls])
    breaks_off = any(each.kind.ends or each.kind.harm == "truncates" for each in plan.applied)
    if record.closed_by == "server" and not record.given_up and not breaks_off:
        return {**planned, "planned": planned}
    sent, ended = record.tokens_sent, _ended(plan, generation, record)
    if sent < sum(choice.steps for choice in choices):
        tokens = min(tokens, sent)
    # Choices are sent in parallel, so all of them have progressed equally far.
    complete = [call for call, step in calls if sent >= sum(min(choice.steps, step) for choice in choices)]
    shown = _output(generation, tokens, [choice for choice in choices if choice.index in ended], complete)
    return {**shown, "planned": planned}


def _output(generation: Generation, tokens: int, ended: Sequence[Choice], calls: Sequence[ToolCall]) -> dict[str, Any]:
    usage = {"prompt_tokens": generation.usage.prompt_tokens, "completion_tokens": tokens}
    if generation.usage.cached_tokens:
        usage["cached_tokens"] = generation.usage.cached_tokens
    return {
        "usage": usage,
        "finish_reasons": [choice.finish_reason for choice in ended],
        "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in calls],
    }


def _ended(plan: Plan, generation: Generation, record: Record) -> Set[int]:
    """The indices of the choices whose ends have been sent; for a plain body all or none."""
    unspoilt = all(each.kind.ends for each in plan.applied)
    if unspoilt and record.tokens_sent < min((choice.steps for choice in generation.choices), default=0):
        # No end is sent before the tokens, so a long stream need not be searched.
        return frozenset()
    data = b"".join(_sent(plan, record))
    everyone = {choice.index for choice in generation.choices}
    if not plan.timeline.streamed:
        return everyone if _object(data) else frozenset()
    finishes, ended = plan.context.route.dialect.finishes, set[int]()
    # An event without a blank line after it is incomplete.
    for event in data.replace(b"\r\n", b"\n").split(b"\n\n")[:-1]:
        value = _object(event[event.find(b"{") :]) if finishes.search(event) else {}
        if value:
            named = [choice.get("index", 0) for choice in value.get("choices") or () if choice.get("finish_reason")]
            ended.update(named or everyone)
    return ended


def _sent(plan: Plan, record: Record) -> Iterator[bytes]:
    return islice(chain.from_iterable(run.data for run in plan.timeline.runs), record.events_sent)


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


# --- HTTP Archives --------------------------------------------------------------------------------------------------

# Fields that are the same in every request and every response of an archive.
_SHARED = {"httpVersion": "HTTP/1.1", "cookies": (), "headersSize": -1}
# The JSON of an archive before its entries, which `har_entry` makes and commas separate, and after them.
ARCHIVE_BEGIN = (
    b'{"log":{"version":"1.2","creator":{"name":"mockserver","version":"%b"},"entries":[' % __version__.encode()
)
ARCHIVE_END = b"]}}"


def har_entry(exchange: Exchange) -> dict[str, Any]:
    """An exchange as an entry of an HTTP Archive, with the answer as it was planned; of one of our own the status."""
    call, record, error = exchange.call, exchange.record, exchange.simulator_error
    timeline = exchange.plan.timeline if exchange.plan is not None else None
    query, headers = masked_query(call.query), masked_headers(timeline.headers if timeline is not None else ())
    body = b"".join(data for run in timeline.runs for data in run.data) if timeline is not None else b""
    request = {
        "method": call.method,
        "url": f"http://{call.headers.get('host') or 'localhost'}{masked_text(exchange.path)}{query and f'?{query}'}",
        "headers": _pairs(masked_headers(call.headers.raw).items()),
        "queryString": _pairs(parse_qsl(query, keep_blank_values=True)),
        "bodySize": len(call.body),
        "postData": {"mimeType": call.headers.get("content-type") or "", **_har_text(call.body)},
    }
    response = {
        # The way browsers report a connection that failed in the middle of an answer.
        **({"_error": timeline.ending.how} if timeline is not None and timeline.ending is not None else {}),
        "status": timeline.status if timeline is not None else error.status if error is not None else 0,
        "statusText": "",
        "headers": _pairs(headers.items()),
        "redirectURL": "",
        "bodySize": len(body),
        "content": {"size": len(body), "mimeType": headers.get("content-type", ""), **_har_text(body)},
    }
    first = record.seconds if record.first_write is None else record.first_write
    return {
        "startedDateTime": datetime.fromtimestamp(call.received_at, UTC).isoformat(),
        "time": record.seconds * 1000,
        "request": _SHARED | request,
        "response": _SHARED | response,
        "cache": {},
        "timings": {"send": 0, "wait": first * 1000, "receive": (record.seconds - first) * 1000},
        "_mockserver": summary_of(exchange),
    }


def _har_text(body: bytes) -> dict[str, str]:
    """A body as text, its secrets masked, or in base64 if it is not text."""
    body = masked_body(body)
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(body).decode(), "encoding": "base64"}


def _pairs(items: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in items]
