"""Stubs in Python: `server.on(...)` says for which requests, and the next words what they are answered.

Every word that completes a stub puts it into force at once; further words change it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from mockserver.control.stubs.values import StubError
from mockserver.control.verify.subjects import PLACES, asked_for
from mockserver.testing.links import Link
from mockserver.testing.notation import match_table, reply_value, step_value

# What goes before everything that is said without a number of uses.
NEXT = 1_000_000_000
# What says how far a conversation has got.
_TURNS = ("tool_result", "last_message", "turn", "number", "any", "all", "not")


class Stubbing:
    """A stub in the making. It is in force from the first word on that says what it answers.

    Until then it is one of the `unfinished` ones.
    """

    def __init__(self, link: Link, match: Mapping[str, Any], unfinished: "list[Stubbing]", **settings: Any) -> None:
        self._link = link
        self._match = match
        self._is_in_force = False
        self._table: dict[str, Any] = {"match": _meant(match_table(match)), **settings}
        self._unfinished = unfinished
        self._unfinished.append(self)

    @property
    def name(self) -> str:
        """Its name; empty until it is in force."""
        return str(self._table.get("name", ""))

    @property
    def used(self) -> int:
        """How often it has answered."""
        return next((int(stub["used"]) for stub in self._link.stubs() if stub["name"] == self.name), 0)

    def named(self, name: str) -> Self:
        """Give it a name, by which the journal calls it."""
        former, self._table["name"] = self.name, name
        if self._is_in_force:
            self._link.remove_stub(former)
            return self._put()
        return self

    def times(self, count: int) -> Self:
        """Let it answer so often, and then no more."""
        return self._change(times=count)

    def once(self) -> Self:
        """Let it answer once."""
        return self.times(1)

    def priority(self, number: int) -> Self:
        """Of several stubs that match the one with the highest number answers; of equal ones the oldest."""
        return self._change(priority=number)

    def reply(self, *parts: Any, **settings: Any) -> Self:
        """Answer with a text, `tool_call(...)`, `chunk(...)`s, `as_json(...)`, ..., or what a function returns.

        Without any of it the answer is generated. Settings are a reply's: `finish_reason`, `usage`, `headers`, ...
        """
        return self._put(reply=reply_value(*parts, **settings))

    def replies(self, *replies: Any) -> Self:
        """Answer with these replies, one after the other; the last one stays."""
        return self._put(replies=[step_value(reply) for reply in replies])

    def script(self, steps: Iterable[Any]) -> Self:
        """Answer with these steps, one after the other, each of them once."""
        if isinstance(steps, str | Mapping):
            # Either can be gone through: by its letters, or by its keys.
            raise StubError(f"script: {steps!r} is no list of steps; a single one is [{steps!r}]")
        return self._put(script=[step_value(step) for step in steps])

    def error(self, kind: str, **settings: Any) -> Self:
        """Answer with the vendor's own error: "rate_limit", "overloaded", ...; `retry_after` is in seconds."""
        return self._put(error={"error": kind, **settings})

    def status(self, status: int, body: Any = "", **settings: Any) -> Self:
        """Answer with any status and body, in no vendor's words."""
        return self._put(reply={"status": status, "body": body, **settings})

    def fault(self, kind: str, **settings: Any) -> Self:
        """Let a fault of the catalogue strike the answer; several strike one after the other."""
        return self._put(faults=[*self._table.get("faults", ()), {"kind": kind, **settings}])

    def latency(self, latency: str) -> Self:
        """Let the answer take its time: "realistic", a preset, or settings such as "ttft=2s, rate=50 tok/s"."""
        return self._put(latency=latency)

    def seed(self, seed: int) -> Self:
        """Generate the answer from another seed."""
        return self._put(seed=seed)

    def headers(self, headers: Mapping[str, str]) -> Self:
        """Send these headers with the answer, instead of others of the same names."""
        if not isinstance(headers, Mapping):
            raise StubError(f"headers: {headers!r} is no table of headers, such as {{'x-trace': 'abc'}}")
        return self._put(headers=dict(headers))

    def _put(self, **words: Any) -> Self:
        self._table |= words
        self._table["name"] = self._link.add_stub(self._table)
        self._is_in_force = True
        if self in self._unfinished:
            self._unfinished.remove(self)
        return self

    def _change(self, **words: Any) -> Self:
        """Say something that answers nothing yet: a stub that is in force is changed, one in the making goes on."""
        if self._is_in_force:
            return self._put(**words)
        self._table |= words
        return self


def _meant(match: dict[str, Any]) -> dict[str, Any]:
    """A match with what goes without saying.

    Clients ask for lists of models and the like of their own accord, by GET. And an answer to what the user said last
    is meant for the user, not for what comes after a tool has been run: an agent would go round in circles.
    """
    whole = dict(match)
    if not any(place in match for place in PLACES):
        whole["method"] = "POST"
    if "last_user" in match and not any(turn in match for turn in _TURNS):
        whole["tool_result"] = {"exists": False}
    return whole


def complaint_of(stubbing: Stubbing) -> str:
    """What to say of a stub in the making, if it stays one."""
    return f"A stub for requests{asked_for(stubbing._match)} was begun, and nothing was said that it answers."
