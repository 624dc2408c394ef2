"""Flow control: at most so many attempts at a time, or in a period, for all messages with the same key.

"If any of the limits is exceeded, additional messages will be added to waitlist and delivered once either the time
period has passed (for rate limit) or the number of active calls drops below the limit (for parallelism limit)."
"""

import re
from collections import OrderedDict
from dataclasses import dataclass, field

from mockserver.dialects.upstash.qstash.durations import DAY, duration
from mockserver.dialects.upstash.qstash.values import Flow, FlowStanding

_PART = re.compile(r"\s*(parallelism|rate|ratePerSecond|period)\s*=\s*([^\s,]+)\s*")
_MOST = 1_000_000_000
# "Can be at most a week and defaults to 1 second."
_LONGEST_PERIOD = 7 * DAY


def read_flow(key: str, text: str) -> Flow:
    """The limits of a key, as in `parallelism=5, rate=10, period=1m`. Raises ValueError."""
    found: dict[str, str] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part.strip()!r} is not one of parallelism=5, rate=10 and period=1m")
        # An older name, still sent by older clients.
        found["rate" if match[1] == "ratePerSecond" else match[1]] = match[2]
    if not {"parallelism", "rate"} & found.keys():
        raise ValueError("neither parallelism nor rate is given")
    return Flow(key, _whole(found, "parallelism"), _whole(found, "rate"), _period(found.get("period", "1s")))


def _whole(found: dict[str, str], name: str) -> int | None:
    text = found.get(name)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,10}", text, re.ASCII) or not 0 < int(text) <= _MOST:
        raise ValueError(f"{name} {text!r} is not a whole number greater than 0")
    return int(text)


def _period(text: str) -> float:
    """A period, as a duration or a number of seconds."""
    seconds = float(text) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else duration(text)
    if not 0 < seconds <= _LONGEST_PERIOD:
        raise ValueError(f"period {text!r} is not longer than nothing and at most a week")
    return seconds


@dataclass(slots=True, eq=False)
class Gate:
    """What holds back the attempts of one key. `flow` are the limits of its latest message, unless these are `pinned`.

    `active` are the messages of attempts under way, `waiting` those that are due and held back; `used` counts the
    attempts of the period that began at `began`.
    """

    flow: Flow
    active: set[str] = field(default_factory=set)
    waiting: OrderedDict[str, None] = field(default_factory=OrderedDict)
    used: int = 0
    began: float = 0.0
    paused: bool = False
    pinned: frozenset[str] = frozenset()

    def configure(self, flow: Flow) -> None:
        """Take over the limits of a new message, except those that are pinned."""
        self.flow = _with_limits(flow, self.flow, self.pinned)

    def pin(self, flow: Flow, names: frozenset[str], now: float) -> None:
        """Take over the limits with these names, and keep them whatever later messages say."""
        self.flow = _with_limits(self.flow, flow, names)
        self.pinned |= names
        # "Pinning a configuration resets the current state (rate count and period) of the flow-control key."
        self.reset_rate(now)

    def begin(self, now: float) -> str | None:
        """The next message whose attempt may begin, which counts from now on; None if there is none."""
        flow = self.flow
        if now >= self.began + flow.period:
            self.began, self.used = now, 0
        if not self.waiting or self.paused or self.is_full or (flow.rate is not None and self.used >= flow.rate):
            return None
        self.used += 1
        message, _ = self.waiting.popitem(last=False)
        self.active.add(message)
        return message

    def opens(self) -> float | None:
        """When the period ends that holds back what waits; None if something else does, or nothing waits."""
        return None if not self.waiting or self.paused or self.is_full else self.began + self.flow.period

    def leave(self, message: str) -> None:
        """Take note that an attempt has ended, or that a message is removed."""
        self.active.discard(message)
        self.waiting.pop(message, None)

    def reset_rate(self, now: float) -> None:
        """End the current period."""
        self.began, self.used = now, 0

    @property
    def is_full(self) -> bool:
        """Whether as many attempts are under way as there may be at a time."""
        return self.flow.parallelism is not None and len(self.active) >= self.flow.parallelism

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be lost with it."""
        return not (self.active or self.waiting or self.paused or self.pinned)

    @property
    def standing(self) -> FlowStanding:
        """The key as its owner sees it."""
        return FlowStanding(
            self.flow, len(self.waiting), len(self.active), self.used, self.began, self.paused, self.pinned
        )


def _with_limits(flow: Flow, other: Flow, names: frozenset[str]) -> Flow:
    """A flow with the limits of another one that have these names; a period belongs to its rate."""
    rated = other if "rate" in names else flow
    parallelism = other.parallelism if "parallelism" in names else flow.parallelism
    return Flow(flow.key, parallelism, rated.rate, rated.period)
