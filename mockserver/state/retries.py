"""Retries: how often the same request has just failed, so that a stub can let the third attempt through."""

from collections import OrderedDict

from mockserver.core.calls import Call
from mockserver.state.context import RequestContext
from mockserver.state.plan import Plan

_REMEMBERED = 4096


class Retries:
    """Counts the questions of a namespace, and how often in a row each distinct request has failed.

    Two requests are the same if their dialect, path and body are. An answer has failed if its status says so, if a
    fault has truncated or spoilt it, or if the client has left before its end.
    """

    def __init__(self) -> None:
        self._asked = 0
        self._failed: OrderedDict[int, int] = OrderedDict()

    def count(self) -> int:
        """Count a question and return its number, from 1 on."""
        self._asked += 1
        return self._asked

    def attempt(self, context: RequestContext) -> int:
        """Which attempt a request is, from 1 on."""
        return 1 + self._failed.get(_key(context.route.dialect.name, context.call), 0) if self._failed else 1

    def note(self, plan: Plan) -> None:
        """Record how a request is answered: it may have failed even for a client that reads the answer to its end."""
        if not self._failed and not plan.struck and 200 <= plan.timeline.status < 300:
            return
        failed = not 200 <= plan.timeline.status < 300 or any(strike.kind.harm != "none" for strike in plan.struck)
        key = _key(plan.context.route.dialect.name, plan.context.call)
        count = self._failed.pop(key, 0)
        if failed:
            self._keep(key, count + 1)

    def note_left(self, plan: Plan) -> None:
        """Record that the client left before the end of an answer, which makes it a failure whatever its status."""
        self._keep(_key(plan.context.route.dialect.name, plan.context.call), plan.attempt)

    def _keep(self, key: int, count: int) -> None:
        self._failed[key] = max(count, self._failed.get(key, 0))
        if len(self._failed) > _REMEMBERED:
            self._failed.popitem(last=False)


def _key(dialect: str, call: Call) -> int:
    return hash((dialect, call.method, call.path, call.body))
