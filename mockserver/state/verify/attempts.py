"""Which requests of a journal are attempts of the same call.

A request with the same method, path and body in the same namespace, after a failed attempt, is the next attempt of that
call. Clients that number their attempts in a header, or give a call an idempotency key, are trusted. A call that has
succeeded is over: the same request again is another call, and so is one that arrives during an attempt.
"""

import re
from collections.abc import Iterable, Sequence
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import NamedTuple

import orjson

from mockserver.faults.catalogue import FAULTS
from mockserver.state.journal.views import View

# A client that has timed out may be back before the server has noticed that it had left; in seconds.
_NOTICE = 0.05

# The fields of bodies that say what is asked.
_ASKED = ("messages", "prompt", "input", "documents", "query")

# Faults after which an answer has no end, and faults that a client can notice in the answer.
_TRUNCATING = frozenset(name for name, kind in FAULTS.items() if kind.harm == "truncates")
_SPOILING = frozenset(name for name, kind in FAULTS.items() if kind.harm == "spoils")


class Attempts(NamedTuple):
    """The attempts of one call, in order of arrival."""

    views: tuple[View, ...]

    @property
    def last(self) -> View:
        """The latest attempt."""
        return self.views[-1]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Their numbers in the journal."""
        return tuple(view.number for view in self.views)

    @property
    def waits(self) -> tuple[float, ...]:
        """How long the client waited before each retry, in seconds from the end of the previous attempt."""
        return tuple(max(after.arrived - before.end, 0.0) for before, after in pairwise(self.views))


def attempts_of(views: Iterable[View]) -> list[Attempts]:
    """The calls in a journal, each with its attempts; requests that are not to a model are left out."""
    alike: dict[bytes, list[View]] = {}
    for view in sorted((each for each in views if each.is_question), key=lambda each: each.arrived):
        alike.setdefault(request_key(view), []).append(view)
    calls = [call for requests in alike.values() for call in _calls(requests)]
    return sorted((Attempts(tuple(call)) for call in calls), key=lambda call: call.views[0].arrived)


def _calls(requests: Sequence[View]) -> list[list[View]]:
    """The calls that equal requests belong to."""
    crowded = any(_overlap(before, after) for before, after in pairwise(requests))
    calls: list[list[View]] = []
    # Calls whose last attempt has not succeeded: only these can be retried.
    open_calls: list[list[View]] = []
    for view in requests:
        call = _continued(open_calls, view, crowded=crowded)
        if call is None:
            call = []
            calls.append(call)
            open_calls.append(call)
        call.append(view)
        if succeeded(view):
            open_calls = [each for each in open_calls if each is not call]
    return calls


def succeeded(view: View) -> bool:
    """Whether the client was sent a whole, correct answer, and did not leave early."""
    return 200 <= view.status < 300 and view.closed_by == "server" and not is_truncated(view) and not is_spoilt(view)


def is_truncated(view: View) -> bool:
    """Whether the answer began with success and did not reach its end."""
    if view.status >= 300:
        return False
    broken = bool(view.answer.get("ending")) or not _TRUNCATING.isdisjoint(view.faults)
    return broken and ("no_finish" in view.faults or not view.streamed or not view.has_finished)


def is_spoilt(view: View) -> bool:
    """Whether a successful answer contains something that a client can see to be wrong."""
    return view.status < 300 and not _SPOILING.isdisjoint(view.faults)


def asked_to_wait(view: View) -> float | None:
    """How long the answer asks the client to wait, in seconds from its end; None if it does not."""
    headers = view.answer_headers
    if view.status < 300:
        return None
    if (text := headers.get("retry-after-ms")) is not None and _is_number(text):
        return float(text) / 1000
    text = headers.get("retry-after")
    if text is None:
        return None
    if _is_number(text):
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - view.at - view.seconds, 0.0)
    except ValueError:
        return None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*\d{1,9}(\.\d{1,9})?\s*", text) is not None


def request_key(view: View) -> bytes:
    """A key that all attempts of a call have in common."""
    key = view.headers.get("idempotency-key", "")
    place = f"{view.namespace}\n{view.method}\n{view.path}?{view.query}\n{key}\n"
    return place.encode("utf-8", "replace") + orjson.dumps(view.body, option=orjson.OPT_SORT_KEYS)


def conversation_key(view: View) -> bytes:
    """A key that requests have in common if they ask the same of any model, at any path and with any parameters."""
    body = view.body if isinstance(view.body, dict) else {}
    asked = [body[name] for name in _ASKED if name in body] or [view.path, view.body]
    return view.namespace.encode("utf-8", "replace") + b"\n" + orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)


def _continued(calls: Sequence[list[View]], view: View, *, crowded: bool) -> list[View] | None:
    """The open call that a request retries; of several the one that has waited longest: the most lenient guess.

    If equal calls run in parallel, a request that is too early to be a good retry is assumed to be another call.
    """
    waiting = [call for call in calls if not _overlap(call[-1], view)]
    counted = view.headers.get("x-stainless-retry-count", "")
    if counted.isdecimal():
        waiting = [call for call in waiting if len(call) == int(counted)]
    elif crowded:
        waiting = [call for call in waiting if view.arrived - call[-1].end >= (asked_to_wait(call[-1]) or _NOTICE)]
    return min(waiting, key=lambda call: call[-1].end, default=None)


def _overlap(before: View, after: View) -> bool:
    """Whether a request arrived while the one before was still being answered and its client was still there."""
    notice = _NOTICE if before.closed_by == "client" else 0.0
    return before.end > after.arrived + notice
