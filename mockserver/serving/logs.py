"""The server's log: a line for each exchange and other events, as text or JSON.

The line of an exchange is only built if it is written; it never contains what was asked or answered.
"""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import orjson

from mockserver.control.journal.exchanges import Exchange
from mockserver.control.plan import Plan

log = logging.getLogger("mockserver")

# How much of a path a line for people shows, in characters.
_LONGEST_PATH = 500


class AccessLine:
    """The line of an exchange that has ended: as text, or as facts for machines. Times are in seconds."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __str__(self) -> str:
        facts = self.facts
        space = f"[{facts['namespace']}]" if facts["namespace"] else ""
        whose = facts["dialect"] or facts["method"]
        what = facts["operation"] or _shortened(facts["path"])
        words = [space, whose, what, str(facts["status"]), facts["failure"] or ""]
        return printable(" ".join(filter(None, words)) + "".join(f", {part}" for part in self._course()))

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The same keys for every exchange; missing values are null."""
        exchange, record = self._exchange, self._exchange.record
        return {
            "namespace": exchange.namespace,
            "number": exchange.number,
            "method": exchange.call.method,
            "path": exchange.path,
            **(_planned(exchange.plan) if exchange.plan is not None else _denied(exchange)),
            "ttft": record.first_token,
            "events_sent": record.events_sent,
            "tokens_sent": record.tokens_sent,
            "seconds": record.seconds,
            "closed_by": record.closed_by,
        }

    def _course(self) -> list[str]:
        """How the answer went, in parts."""
        facts = self.facts
        cached = f" ({facts['cached_tokens']} cached)" if facts["cached_tokens"] else ""
        tokens = f"{facts['prompt_tokens']}{cached}+{facts['completion_tokens']} tokens"
        parts = [tokens] * (facts["prompt_tokens"] is not None)
        if facts["streamed"] and facts["ttft"] is not None:
            parts.append(f"first token after {duration(facts['ttft'])}")
        parts.append(f"in {duration(facts['seconds'])}")
        parts += [f"by stub {facts['rule']}"] * (facts["rule"] is not None)
        parts += [f"struck by {' and '.join(facts['faults'])}"] * bool(facts["faults"])
        parts += [f"client left after {facts['events_sent']} events"] * (facts["closed_by"] == "client")
        parts += [f"ended by the server after {facts['events_sent']} events"] * self._exchange.record.given_up
        return parts + _hints(self._exchange.plan)


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger and message, and the facts of an exchange."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if isinstance(record.msg, AccessLine):
            line |= record.msg.facts
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def set_up_logs(level: str, form: str) -> None:
    """Log to standard error from a level on, as `text` or `json`."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonFormatter() if form == "json" else logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S")
    )
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


def log_access(exchange: Exchange) -> None:
    """Log an exchange that has ended."""
    if log.isEnabledFor(logging.INFO):
        log.info(AccessLine(exchange))


def _planned(plan: Plan) -> dict[str, Any]:
    landing, usage = plan.visit.landing, plan.visible_generation.usage if plan.visible_generation is not None else None
    return {
        "dialect": landing.dialect.name,
        "operation": landing.operation.name if landing.operation is not None else None,
        "model": plan.request.model if plan.request is not None else None,
        "status": plan.timeline.status,
        "streamed": plan.timeline.streamed,
        "failure": str(plan.rejection.kind) if plan.rejection is not None else None,
        "rule": plan.rule,
        "faults": plan.faults,
        "prompt_tokens": usage.prompt_tokens if usage is not None else None,
        "completion_tokens": usage.completion_tokens if usage is not None else None,
        "cached_tokens": usage.cached_tokens if usage is not None else None,
    }


def _hints(plan: Plan | None) -> list[str]:
    """The hint at what is served near an unknown path: few clients show the header that contains it."""
    headers = plan.timeline.headers if plan is not None and plan.rejection is not None else ()
    return [value.decode("ascii") for name, value in headers if name == b"x-mockserver-hint"]


def _denied(exchange: Exchange) -> dict[str, Any]:
    denial = exchange.denial
    assert denial is not None, "an exchange without a plan has been denied"
    nothing = ("dialect", "operation", "model", "rule", "prompt_tokens", "completion_tokens", "cached_tokens")
    return {**dict.fromkeys(nothing), "status": denial.status, "streamed": False, "failure": denial.kind, "faults": ()}


def duration(seconds: float) -> str:
    """A duration as people read it."""
    return f"{seconds * 1000:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"


def _shortened(path: str) -> str:
    return path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}... ({len(path):,} characters)"


def printable(text: str) -> str:
    """The text on one line: a path or a name may contain line breaks, or control a terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
