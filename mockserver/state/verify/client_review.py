"""Client mistakes: what a client can do wrong when a server fails, and how the journal shows it.

REVIEWS has a function for each. In doubt the client is right; what the journal alone cannot show is left unjudged.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from statistics import median
from typing import Any, Literal, NamedTuple, get_args

from mockserver.core.messages import pluralize, short_repr, unknown_name
from mockserver.state.journal.views import View, loss
from mockserver.state.verify.attempts import (
    Attempts,
    asked_to_wait,
    attempts_of,
    conversation_key,
    is_spoilt,
    is_truncated,
    request_key,
    succeeded,
)
from mockserver.state.verify.tool_calls import ran_invalid_tool_calls

Handling = Literal["retry", "raise", "fallback"]
Outcome = Literal["answer", "error", "cancelled"]


class CheckError(ValueError):
    """A check, or a declaration for one, that is invalid; the message says what would have been valid."""


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """What the test knows and the server cannot: the correct handling, and what the application made of the answer.

    `handles`: the client should "retry" until it has an answer, "raise" the error, or "fallback" to another request.
    `outcome`: the application accepted an "answer", reported an "error", or was "cancelled" by its user. `patience` is
    the longest silence that a client should endure, in seconds; a call that should be retried and has fewer than
    `least_attempts` was given up too early, one with more than `most_attempts` is a storm.
    """

    handles: Handling | None = None
    outcome: Outcome | None = None
    patience: float = 60.0
    least_attempts: int = 3
    most_attempts: int = 10

    def __post_init__(self) -> None:
        for name, value, known in (("handles", self.handles, Handling), ("outcome", self.outcome, Outcome)):
            if value is not None and value not in get_args(known):
                raise CheckError(f"{name}: {unknown_name('value', value, get_args(known))}")
        for name in ("patience", "least_attempts", "most_attempts"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise CheckError(f"{name}: {short_repr(value)} is not a number greater than 0")
            if name != "patience" and value % 1:
                raise CheckError(f"{name}: {short_repr(value)} is not a whole number")


# The fields that can be declared.
CLIENT_FACTS = tuple(each.name for each in fields(ClientFacts))


def client_facts_of(fields: Mapping[str, Any]) -> ClientFacts:
    """A declaration from its fields. Raises CheckError."""
    for name in fields:
        if name not in CLIENT_FACTS:
            raise CheckError(unknown_name("argument", name, CLIENT_FACTS))
    return ClientFacts(**fields)


# Statuses of refusals that would be the same the second time.
_HOPELESS = frozenset((400, 401, 402, 403, 404, 405, 406, 410, 411, 413, 414, 415, 422, 431, 501, 505))
# Allowed difference between the client's clock and the server's: a share of the wait, and seconds.
_SLACK, _TICK = 0.01, 0.002
# From so many attempts on, retrying at once is a storm.
_STORM = 5
# A client that is back within this time has not waited, in seconds.
_AT_ONCE = 0.03
# Waits that differ by no more than this share plus these seconds count as equal.
_SAME_SHARE, _SAME_SECONDS = 0.15, 0.005
# An answer that ends sooner than this, in seconds, leaves no time to cancel it.
_CANCELLABLE = 0.1


class Finding(NamedTuple):
    """One client mistake: its name, what was observed, and the numbers of the exchanges that show it."""

    fault: str
    message: str
    exchanges: tuple[int, ...]


class Unjudged(NamedTuple):
    """A fault that could not be judged, and what is needed to judge it."""

    fault: str
    why: str


class ReviewContext(NamedTuple):
    """The evidence: the exchanges, the calls in them, the declaration, and the present on the server's clock.

    `now` is None if there is nothing but the journal; `ahead` is how far the clock is ahead at present. `answered` has
    the latest successful request of each `request_key` and of each `conversation_key`; under b"", that of all.
    """

    views: Sequence[View]
    calls: Sequence[Attempts]
    declared: ClientFacts
    now: float | None
    ahead: float
    answered: Mapping[bytes, View]


Review = Callable[[ReviewContext], Iterator[Finding | Unjudged]]


def _retry_after(case: ReviewContext) -> Iterator[Finding]:
    """The client came back before the time that the server had requested."""
    for call in case.calls:
        for (before, after), waited in zip(pairwise(call.views), call.waits, strict=True):
            delay = asked_to_wait(before)
            if delay is not None and waited < delay * (1 - _SLACK) - _TICK:
                how = "ignored" if waited < delay / 2 else "cut_short"
                message = f"asked to wait {delay:.3g} s, the client came back after {waited:.3g} s (#{after.number})"
                yield Finding(f"retry_after_{how}", message, (before.number, after.number))


def _hopeless(case: ReviewContext) -> Iterator[Finding]:
    """The client repeated a request that the server had refused permanently."""
    for call in case.calls:
        again = [pair for pair in pairwise(call.views) if _in_vain(*pair)]
        if again:
            status, times = again[0][0].status, len(again)
            message = f"a request refused with {status} was sent again, unchanged, {_times(times)}"
            yield Finding("non_retryable_retried", message, (again[0][0].number, *(each.number for _, each in again)))


def _in_vain(before: View, after: View) -> bool:
    """Whether a retry could not succeed, since nothing had changed; the vendor's `x-should-retry` takes precedence."""
    word = before.answer_headers.get("x-should-retry")
    if before.status < 400 or word == "true" or before.credentials != after.credentials:
        return False
    return before.status in _HOPELESS or word == "false"


def _storm(case: ReviewContext) -> Iterator[Finding]:
    """The client sent far too many requests."""
    for call in case.calls:
        count, most = len(call.views), case.declared.most_attempts
        if count > most or (count >= _STORM and _come_at_once(_free_waits(call))):
            span = call.last.arrived - call.views[0].arrived
            yield Finding("retry_storm", f"{count} attempts of one call within {span:.3g} s", call.numbers)


def _backoff(case: ReviewContext) -> Iterator[Finding]:
    """The client's waits did not grow."""
    for call in case.calls:
        waits = _free_waits(call)
        if _come_at_once(waits):
            yield Finding(
                "no_backoff", f"the client came back at once {_times(len(waits))}: {_listed(waits)}", call.numbers
            )
        elif _stay_the_same(waits):
            yield Finding("no_backoff", f"the waits do not grow: {_listed(waits)}", call.numbers)


def _gave_up(case: ReviewContext) -> Iterator[Finding | Unjudged]:
    """A client that should retry or fall back did not: only the same request again is a retry, another that continues
    the same conversation may be one, and any other may be a fallback."""
    handles, least = case.declared.handles, case.declared.least_attempts
    for call in case.calls:
        last = call.last
        if not last.is_closed or succeeded(last) or case.declared.outcome == "cancelled":
            continue
        alike = _answered_since(case, conversation_key(last), last)
        if handles == "fallback" and alike is None:
            other = _answered_since(case, b"", last)
            if other is None:
                yield Finding("no_fallback", f"no other request followed {_how(last)}", call.numbers)
            else:
                why = f"#{other.number} was answered, but nothing shows that it stands for {_how(last)}"
                yield Unjudged("no_fallback", why)
        is_worth_it = last.status not in _HOPELESS and (asked_to_wait(last) or 0.0) <= case.declared.patience
        if handles != "retry" or len(call.views) >= least or not is_worth_it:
            continue
        if _answered_since(case, request_key(last), last) is not None:
            continue
        if alike is not None:
            why = f"#{alike.number} asks the same in another request, so it may or may not repeat {_how(last)}"
            yield Unjudged("gave_up", why)
        else:
            message = f"the client gave up after {_how(last)}, with {len(call.views)} of at least {least} attempts"
            yield Finding("gave_up", message, call.numbers)


def _accepted(case: ReviewContext) -> Iterator[Finding | Unjudged]:
    """The application accepted a broken answer as complete."""
    for call in case.calls:
        last = call.last
        fault = "truncation_accepted" if is_truncated(last) else "damage_accepted" if is_spoilt(last) else None
        if fault is None or not last.is_closed or _answered_since(case, conversation_key(last), last):
            continue
        other = _answered_since(case, b"", last)
        if case.declared.outcome == "answer" and other is not None:
            yield Unjudged(fault, f"#{other.number} was answered after {_how(last)}: either may be what was accepted")
        elif case.declared.outcome == "answer":
            yield Finding(fault, f"{_how(last)} was accepted as an answer", call.numbers)
        elif case.declared.outcome is None:
            yield Unjudged(
                fault,
                f"#{last.number} was broken; declare what the application made of it (outcome='answer' or 'error')",
            )


def _timeout(case: ReviewContext) -> Iterator[Finding]:
    """The client endured a silence longer than its patience should be."""
    for view in case.views:
        silence = _silence(view, case)
        if silence > case.declared.patience:
            message = f"the client waited {silence:.3g} s in silence, longer than {case.declared.patience:.3g} s"
            yield Finding("no_read_timeout", message, (view.number,))


def _silence(view: View, case: ReviewContext) -> float:
    """The longest time that a client waited for anything, in seconds; 0 if the clock was advanced meanwhile."""
    if view.ahead != case.ahead and case.now is not None:
        return 0.0
    end = view.seconds if view.is_closed else (case.now - view.arrived if case.now is not None else 0.0)
    instants: list[float] = [0.0, *sorted({event["sent"] for event in view.events if event["sent"] is not None})]
    instants.append(max(end, instants[-1]))
    return max((after - before for before, after in pairwise(instants)), default=0.0)


def _cancelled(case: ReviewContext) -> Iterator[Finding | Unjudged]:
    """The application was cancelled, but its stream was read to the end."""
    if case.declared.outcome != "cancelled":
        return
    streams = [view for view in case.views if view.is_question and view.streamed and succeeded(view)]
    if not streams or any(view.closed_by == "client" for view in case.views):
        return
    last = streams[-1]
    if last.seconds < _CANCELLABLE:
        yield Unjudged(
            "stream_not_cancelled",
            f"#{last.number} ended within {last.seconds:.3g} s, too soon to be cancelled; set a latency",
        )
    else:
        message = f"the stream #{last.number} was read to its end, {last.events_sent} events in {last.seconds:.3g} s"
        yield Finding("stream_not_cancelled", message, (last.number,))


def _obeyed(case: ReviewContext) -> Iterator[Finding]:
    """A tool was run with arguments that its own schema forbids."""
    for number, why in ran_invalid_tool_calls(case.views):
        yield Finding("bad_tool_call_obeyed", why, (number,))


REVIEWS: Mapping[str, Review] = {
    "retry_after": _retry_after,
    "non_retryable_retried": _hopeless,
    "retry_storm": _storm,
    "no_backoff": _backoff,
    "gave_up": _gave_up,
    "truncation_accepted": _accepted,
    "no_read_timeout": _timeout,
    "stream_not_cancelled": _cancelled,
    "bad_tool_call_obeyed": _obeyed,
}


def _come_at_once(waits: Sequence[float]) -> bool:
    """Whether a client came back at once, repeatedly; a single quick retry is acceptable, and so are short waits that
    grow."""
    return len(waits) >= 2 and median(waits) < _AT_ONCE and waits[-1] < max(1.5 * waits[0], _AT_ONCE / 2)


def _stay_the_same(waits: Sequence[float]) -> bool:
    return len(waits) >= 3 and max(waits) - min(waits) <= _SAME_SHARE * min(waits) + _SAME_SECONDS


def _free_waits(call: Attempts) -> tuple[float, ...]:
    """The waits that the client chose itself, because the answer before did not request one."""
    pairs = zip(call.views, call.waits, strict=False)
    return tuple(waited for before, waited in pairs if asked_to_wait(before) is None)


def _answered_since(case: ReviewContext, key: bytes, failed: View) -> View | None:
    """The latest successful request with this key, if it came after one had failed and ended."""
    found = case.answered.get(key)
    return found if found is not None and found.arrived >= failed.end - _TICK else None


def _how(view: View) -> str:
    if view.status >= 300:
        return f"a refusal with {view.status} (#{view.number})"
    if view.closed_by == "client":
        return f"its own cancellation after {view.seconds:.3g} s (#{view.number})"
    what = " and ".join(view.faults) or "its end"
    kind = "a stream" if view.streamed else "an answer"
    return f"{kind} broken by {what} after {view.events_sent} events (#{view.number})"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _listed(waits: Sequence[float]) -> str:
    return ", ".join(f"{waited:.3g} s" for waited in waits)


@dataclass(frozen=True, slots=True)
class Verdict:
    """All client mistakes that a journal shows, the calls that were judged, and what could not be judged.

    If exchanges are `forgotten`, nothing in it is certain.
    """

    findings: tuple[Finding, ...]
    calls: tuple[Attempts, ...]
    unjudged: tuple[Unjudged, ...] = ()
    forgotten: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    @property
    def is_proven(self) -> bool:
        """Whether there are no findings, and no exchange was forgotten."""
        return self.is_clean and not self.forgotten

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain JSON values."""
        return {
            "clean": self.is_clean,
            "findings": [finding._asdict() for finding in self.findings],
            "calls": [
                {
                    "attempts": list(call.numbers),
                    "statuses": [view.status for view in call.views],
                    "faults": [list(view.faults) for view in call.views],
                    "waits": list(call.waits),
                    "succeeded": succeeded(call.last),
                }
                for call in self.calls
            ],
            "unjudged": [each._asdict() for each in self.unjudged],
        }

    def as_text(self) -> str:
        """The verdict as text: one line for each finding, then what could not be judged."""
        found = [f"{finding.fault}: {finding.message}" for finding in self.findings]
        open_questions = [f"not judged: {each.fault}: {each.why}" for each in self.unjudged]
        calls = pluralize(len(self.calls), "call")
        return "\n".join([*(found or [f"No client mistakes in {calls}."]), *open_questions])


def review_client(
    views: Iterable[View],
    declared: ClientFacts | None = None,
    *,
    now: float | None = None,
    ahead: float = 0.0,
    forgotten: int = 0,
) -> Verdict:
    """The verdict on the clients of some exchanges, possibly of several namespaces; `forgotten` ones are missing."""
    seen = list(views)
    case = ReviewContext(seen, attempts_of(seen), declared or ClientFacts(), now, ahead, _answered(seen))
    judgements = [each for check in REVIEWS.values() for each in check(case)]
    findings = tuple(each for each in judgements if isinstance(each, Finding))
    unjudged = [each for each in judgements if isinstance(each, Unjudged)]
    if forgotten:
        unjudged.insert(0, Unjudged("client", loss(forgotten)))
    return Verdict(findings, tuple(case.calls), tuple(unjudged), forgotten)


def _answered(views: Iterable[View]) -> dict[bytes, View]:
    """The latest successful request of each key, and under b"" that of all."""
    latest: dict[bytes, View] = {}
    for view in sorted(views, key=lambda each: each.arrived):
        if view.is_question and succeeded(view):
            latest |= dict.fromkeys((b"", request_key(view), conversation_key(view)), view)
    return latest
