"""Stubs in Python: `server.on(...)` selects requests, and the methods that follow define their answer.

The first method that defines an answer puts the stub into force; settings that follow change it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from mockserver.core.messages import WithHints
from mockserver.state.stubs.values import StubError
from mockserver.state.verify.selection import PLACES, asked_for
from mockserver.testing.backend import HandleBackend
from mockserver.testing.matchers import match_table, reply_value, step_value

# The priority of stubs for the next requests, above all others.
NEXT = 1_000_000_000
_CONTENTS = ("reply", "replies", "script")
# What an answer is made of, and what would take its place.
_ANSWERS = {**dict.fromkeys(_CONTENTS, _CONTENTS), "error": ("error",)}
# Fields about the progress of a conversation.
_TURNS = ("tool_result", "last_message", "turn", "number", "any", "all", "not")


class StubBuilder(WithHints):
    """A stub under construction. It comes into force with the first method that defines its answer.

    Until then it is in the list `unfinished`.
    """

    def __init__(
        self, backend: HandleBackend, match: Mapping[str, Any], unfinished: "list[StubBuilder]", **settings: Any
    ) -> None:
        self._backend = backend
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
        return next((int(stub["used"]) for stub in self._backend.stubs() if stub["name"] == self.name), 0)

    def named(self, name: str) -> Self:
        """Give it a name, which the journal uses."""
        former, self._table["name"] = self.name, name
        if self._is_in_force:
            self._backend.remove_stub(former)
            return self._put()
        return self

    def times(self, count: int) -> Self:
        """Let it answer so many times only."""
        return self._change(times=count)

    def once(self) -> Self:
        """Let it answer once."""
        return self.times(1)

    def exhausted(self, then: str) -> Self:
        """After the last answer `"repeat"` it, `"cycle"` through all, `"refuse"` the request, or let it `"pass"`."""
        return self._change(exhausted=then)

    def priority(self, number: int) -> Self:
        """Set the priority: of several matching stubs the one with the highest answers, among equal ones the oldest."""
        return self._change(priority=number)

    def reply(self, *parts: Any, **settings: Any) -> Self:
        """Answer with a text, `tool_call(...)`, `chunk(...)`s, `as_json(...)`, ..., or the result of a function.

        Without any of these the answer is generated. Settings are those of a reply: `finish_reason`, `usage`,
        `headers`, ...
        """
        return self._answer(reply=reply_value(*parts, **settings))

    def replies(self, *replies: Any) -> Self:
        """Answer with these replies in turn; the last one is repeated."""
        return self._answer(replies=[step_value(reply) for reply in replies])

    def script(self, steps: Iterable[Any]) -> Self:
        """Answer with these steps in turn, each of them once."""
        if isinstance(steps, str | Mapping):
            # Both could be iterated: over characters, or over keys.
            raise StubError(f"script: {steps!r} is not a list of steps; write a single one as [{steps!r}]")
        return self._answer(script=[step_value(step) for step in steps])

    def error(self, kind: str, **settings: Any) -> Self:
        """Answer with the vendor's own error: "rate_limit", "overloaded", ...; `retry_after` is in seconds."""
        return self._answer(error={"error": kind, **settings})

    def status(self, status: int, body: Any = "", **settings: Any) -> Self:
        """Answer with any status and body, in no vendor's format."""
        return self._answer(reply={"status": status, "body": body, **settings})

    def fault(self, kind: str, **settings: Any) -> Self:
        """Apply a fault of the catalogue to the answer; several are applied in order."""
        return self._put(faults=[*self._table.get("faults", ()), {"kind": kind, **settings}])

    def latency(self, latency: str) -> Self:
        """Set the latency of the answer: "realistic", a preset, or settings such as "ttft=2s, rate=50 tok/s"."""
        return self._put(latency=latency)

    def output_tokens(self, tokens: str | int) -> Self:
        """Generate answers of this length: 128, or a distribution such as "normal(128, 20)"."""
        return self._put(output_tokens=tokens)

    def seed(self, seed: int) -> Self:
        """Generate the answer with another seed."""
        return self._put(seed=seed)

    def headers(self, headers: Mapping[str, str]) -> Self:
        """Send these headers with the answer, replacing others of the same names."""
        if not isinstance(headers, Mapping):
            raise StubError(f"headers: {headers!r} is not a table of headers such as {{'x-trace': 'abc'}}")
        return self._put(headers=dict(headers))

    def __repr__(self) -> str:
        return f"<stub {self.name!r} for requests{asked_for(self._match)}>"

    def _answer(self, **words: Any) -> Self:
        """Put it in force with an answer. Raises StubError if it has one, which would be lost without a word."""
        for method, same in _ANSWERS.items():
            if method in self._table and (words.keys() & same):
                raise StubError(
                    f"{next(iter(words))}: this stub has an answer already, by {method}. For several answers in turn "
                    "write .replies(...) or .script([...]); to replace it, make another stub of the same .named(...)"
                )
        return self._put(**words)

    def _put(self, **words: Any) -> Self:
        self._table |= words
        self._table["name"] = self._backend.add_stub(self._table)
        self._is_in_force = True
        if self in self._unfinished:
            self._unfinished.remove(self)
        return self

    def _change(self, **words: Any) -> Self:
        """Set something that defines no answer: a stub in force is changed, one under construction stays so."""
        if self._is_in_force:
            return self._put(**words)
        self._table |= words
        return self


def _meant(match: dict[str, Any]) -> dict[str, Any]:
    """A match with its implicit criteria.

    Clients request lists of models and the like by themselves, with GET. And an answer to the last user message is for
    the user, not for the request after a tool has been run: an agent would loop forever.
    """
    whole = dict(match)
    if not any(place in match for place in PLACES):
        whole["method"] = "POST"
    if "last_user" in match and not any(turn in match for turn in _TURNS):
        whole["tool_result"] = {"exists": False}
    return whole


def complaint_of(stubbing: StubBuilder) -> str:
    """The complaint about a stub that was left under construction."""
    return f'A stub for requests{asked_for(stubbing._match)} has no answer; add one, such as .reply("...").'
