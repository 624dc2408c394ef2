"""The server's log: a line for each exchange and other events, as text or JSON.

The line of an exchange is only built if it is written; it never contains what was asked or answered. A command writes
these lines itself, all that end in one turn of its loop at once: with `logging` each of them would cost as much as
answering does.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import orjson

from mockserver.core.generation import Usage
from mockserver.core.messages import shortened
from mockserver.core.secrets import masked_text
from mockserver.state.journal.exchanges import Exchange

log = logging.getLogger("mockserver")


def _without_secrets(record: logging.LogRecord) -> bool:
    """Mask the secrets in a record, which may quote a URL or a header; the line of an exchange masks its own."""
    if not isinstance(record.msg, AccessLine):
        record.msg, record.args = masked_text(record.getMessage()), ()
    if record.exc_info and not record.exc_text:
        record.exc_text = masked_text(logging.Formatter().formatException(record.exc_info))
    return True


log.addFilter(_without_secrets)

# How much of a path and of a reason a line for people shows, in characters.
_LONGEST_PATH = 500
_LONGEST_REASON = 200
_TIME = "%H:%M:%S"


class AccessLine:
    """The line of an exchange that has ended: as text, or as facts for machines. Times are in seconds."""

    __slots__ = ("_exchange",)

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __str__(self) -> str:
        exchange, plan, record = self._exchange, self._exchange.plan, self._exchange.record
        operation = None if plan is None else plan.context.route.operation
        if operation is not None:
            asked = operation.name
        else:
            asked = masked_text(exchange.path)
            if len(asked) > _LONGEST_PATH:
                asked = f"{shortened(asked, _LONGEST_PATH)} ({len(asked):,} characters)"
        asked = f"{exchange.call.method if plan is None else plan.context.route.dialect.name} {asked}"
        status, failure = _status(exchange)
        space = f"[{exchange.namespace}] " if exchange.namespace else ""
        parts = [f"{space}{asked} {status}{'' if failure is None else f' {failure}'}"]
        usage = _usage(exchange)
        if usage is not None:
            cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
            parts.append(f"{usage.prompt_tokens}{cached}+{usage.completion_tokens} tokens")
        if plan is not None and plan.timeline.streamed and (first := record.first_token) is not None:
            parts.append(f"first token after {duration(first)}")
        parts.append(f"in {duration(record.seconds)}")
        # Why the answer is not simply what the model would say.
        if plan is not None and plan.rule is not None:
            parts.append(f"by stub {plan.rule}")
        if plan is not None and plan.applied:
            parts.append(f"with fault {' and '.join(plan.faults)}")
        if record.closed_by == "client":
            parts.append(f"client left after {record.events_sent} events")
        if record.given_up:
            parts.append(f"ended by the server after {record.events_sent} events")
        if (plan is None or plan.refusal is not None) and (reason := _reason(exchange)):
            parts.append(shortened(masked_text(reason), _LONGEST_REASON))
        return printable(", ".join(parts))

    @property
    def facts(self) -> Mapping[str, Any]:
        """The same keys for every exchange; missing values are null."""
        exchange, plan, record = self._exchange, self._exchange.plan, self._exchange.record
        route = None if plan is None else plan.context.route
        operation = None if route is None else route.operation
        request = None if plan is None else plan.request
        (status, failure), usage, reason = _status(exchange), _usage(exchange), _reason(exchange)
        return {
            "namespace": exchange.namespace,
            "number": exchange.number,
            "method": exchange.call.method,
            "path": masked_text(exchange.path),
            "dialect": None if route is None else route.dialect.name,
            "operation": None if operation is None else operation.name,
            "model": None if request is None else request.model,
            "status": status,
            "streamed": plan is not None and plan.timeline.streamed,
            "failure": failure,
            "rule": None if plan is None else plan.rule,
            "faults": () if plan is None else plan.faults,
            "prompt_tokens": None if usage is None else usage.prompt_tokens,
            "completion_tokens": None if usage is None else usage.completion_tokens,
            "cached_tokens": None if usage is None else usage.cached_tokens,
            "ttft": record.first_token,
            "events_sent": record.events_sent,
            "tokens_sent": record.tokens_sent,
            "seconds": record.seconds,
            "closed_by": record.closed_by,
            "reason": None if reason is None else masked_text(reason),
        }


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger and message, and the facts of an exchange."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        more: dict[str, Any] = {}
        if record.exc_info:
            more["exception"] = record.exc_text or self.formatException(record.exc_info)
        if isinstance(record.msg, AccessLine):
            more = {**record.msg.facts, **more}
        return _json_line(record.created, record.levelname.lower(), record.name, record.getMessage(), more)


class _LogHandler(logging.StreamHandler[Any]):
    """Writes records, and the lines of exchanges in the order in which these ended.

    All that end in one turn of the event loop are written at once, when the turn is over.
    """

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter() if as_json else logging.Formatter("%(asctime)s %(message)s", datefmt=_TIME))
        self._as_json = as_json
        self._ended: list[AccessLine] = []

    def add(self, line: AccessLine) -> None:
        """Write a line soon; to be called in an event loop."""
        self._ended.append(line)
        if len(self._ended) == 1:
            asyncio.get_running_loop().call_soon(self._write_ended)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, after the exchanges that ended before it."""
        self._write_ended()
        super().emit(record)

    def flush(self) -> None:
        """Write what is waiting, such as at the end of the process."""
        self._write_ended()
        super().flush()

    def _write_ended(self) -> None:
        # Replaced before they are read: another thread, which logs something else, may write them just now.
        lines, self._ended = self._ended, []
        if not lines:
            return
        if self._as_json:
            now = time.time()
            written = [_json_line(now, "info", log.name, str(line), line.facts) for line in lines]
        else:
            clock = time.strftime(_TIME)
            written = [f"{clock} {line}" for line in lines]
        # Whoever reads the log may be gone.
        with suppress(OSError, ValueError):
            self.stream.write("\n".join((*written, "")))
            self.stream.flush()


# What writes the lines of exchanges in a process of ours; in others they go to `logging`, which these configure.
_handler: _LogHandler | None = None


def set_up_logs(level: str, form: str) -> None:
    """Log to standard error from a level on, as `text` or `json`."""
    global _handler
    handler = _LogHandler(as_json=form == "json")
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    if log.isEnabledFor(logging.INFO):
        _handler = handler


def log_access(exchange: Exchange) -> None:
    """Log an exchange that has ended."""
    if _handler is not None:
        _handler.add(AccessLine(exchange))
    elif log.isEnabledFor(logging.INFO):
        log.info(AccessLine(exchange))


def _json_line(instant: float, level: str, logger: str, message: str, more: Mapping[str, Any]) -> str:
    """A line for machines; the instant is in seconds since 1970."""
    moment = datetime.fromtimestamp(instant, UTC).isoformat(timespec="milliseconds")
    line = {"time": moment, "level": level, "logger": logger, "message": message, **more}
    return orjson.dumps(line, default=str).decode()


def _status(exchange: Exchange) -> tuple[int, str | None]:
    """The status of an answer, and the kind of its failure."""
    plan, simulator_error = exchange.plan, exchange.simulator_error
    if plan is not None:
        return plan.timeline.status, None if plan.refusal is None else str(plan.refusal.kind)
    assert simulator_error is not None, "an exchange without a plan has been denied"
    return simulator_error.status, simulator_error.kind


def _usage(exchange: Exchange) -> Usage | None:
    plan = exchange.plan
    if plan is None:
        return None
    # Few answers have faults.
    generation = plan.visible_generation if plan.applied else plan.generation
    return None if generation is None else generation.usage


def _reason(exchange: Exchange) -> str | None:
    """Why mockserver itself refused a request, or what the vendor's refusal does not say; None for all others."""
    plan, simulator_error = exchange.plan, exchange.simulator_error
    if simulator_error is not None:
        return f"nearest: {', '.join(simulator_error.nearest)}" if simulator_error.nearest else simulator_error.message
    if plan is not None and plan.stale:
        return (
            f"stale, {plan.rule!r} was recorded for a request with other {', '.join(each.field for each in plan.stale)}"
        )
    if plan is None or plan.refusal is None:
        return None
    if plan.handler_error is not None:
        return plan.handler_error
    if plan.nearest is not None and plan.refusal.status == HTTPStatus.NOT_FOUND:
        # In which fields the request differs, without what was asked.
        fields = (", ".join(dict.fromkeys(each.field for each in near.differences)) for near in plan.nearest)
        names = [f"{near.name!r} (differs in {places})" for near, places in zip(plan.nearest, fields, strict=True)]
        return f"no stub matches, nearest: {', '.join(names)}" if names else "there are no stubs"
    # Few clients show the header that names what is served near an unknown path.
    hints = (value.decode("ascii") for name, value in plan.timeline.headers if name == b"x-mockserver-hint")
    return next(hints, None)


def duration(seconds: float) -> str:
    """A duration as people read it."""
    return f"{seconds * 1000:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"


def printable(text: str) -> str:
    """The text on one line: a path or a name may contain line breaks, or control a terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
