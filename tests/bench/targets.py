"""Targets: the bounds that the figures of a full run should keep, and the facts that they apply to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Target:
    """A lower or upper bound of a fact. Values are displayed in `unit`, after multiplication by `factor`."""

    what: str
    fact: str
    side: Literal["at least", "at most"]
    bound: float
    unit: str = ""
    factor: float = 1.0

    def reached(self, facts: Mapping[str, float]) -> bool | None:
        """Whether the fact keeps the bound; None if it was not measured."""
        value = facts.get(self.fact, math.nan)
        if math.isnan(value):
            return None
        return value >= self.bound if self.side == "at least" else value <= self.bound

    def said(self, value: float) -> str:
        """A value as text, in the target's unit."""
        return f"{value * self.factor:.3g}{self.unit}"


def _ms(what: str, fact: str, bound: float) -> Target:
    return Target(what, fact, "at most", bound / 1e3, " ms", 1e3)


TARGETS = (
    Target("plain answer of 128 tokens, a new prompt each time, against bare Starlette", "plain new", "at least", 0.30),
    Target("stream of 128 tokens, joined, to a new prompt each time", "stream joined new", "at least", 0.25),
    Target("plain answer, the same prompt, against the best Python mock server", "peers python", "at least", 1.0),
    Target("stream of 128 tokens, one write per event, against bare ASGI", "stream single", "at least", 0.92),
    Target("stream with due events joined, events/s against the fastest mock server", "peers stream", "at least", 5.0),
    _ms("1,000 streams, 30 ms per token: gap error p99", "pacing 1000 30 gap", 0.6),
    _ms("1,000 streams, 30 ms per token: schedule error p99", "pacing 1000 30 schedule", 1.3),
    Target("1,000 streams, 30 ms per token: drift", "pacing 1000 30 drift", "at most", 0.001, "%", 100),
    _ms("1,000 streams, 10 ms per token: gap error p99", "pacing 1000 10 gap", 1.0),
    Target("the same against a bare loop's", "pacing 1000 10 gap compared", "at most", 1.5, " times"),
    Target("1 stream, 10 ms per token: the same", "pacing 1 10 gap compared", "at most", 1.5, " times"),
    Target("first 200 after start", "first answer", "at most", 0.30, " s"),
    Target("memory after start", "memory start", "at most", 55.0, " MB"),
    Target("growth over 50,000 requests, journal at its bound", "memory growth", "at most", 2.0, " MB"),
    _ms("time for which a 1 MB prompt blocks the event loop", "block", 10.0),
    Target("error of its token count", "count error", "at most", 0.0, " tokens"),
    _ms("structured output, first sight of a schema", "schema first", 10.0),
    _ms("structured output, later", "schema later", 1.0),
    Target("p99 of 64 connections beside heavy clients, against quiet", "interference", "at most", 3.0, " times"),
    _ms("keep-alive p50 over the bare server's, uvloop", "keep-alive uvloop", 0.15),
    _ms("keep-alive p50 over the bare server's, asyncio", "keep-alive asyncio", 0.15),
    _ms("keep-alive p50 over the bare server's, two workers", "keep-alive workers", 0.15),
    Target("two workers: answers that differ", "workers differing", "at most", 0.0),
    Target("two workers: throughput against one", "workers", "at least", 1.2, " times"),
)
