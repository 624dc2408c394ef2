"""Exchanges as tests see them: frozen views of what the journal provides (`transcripts.transcript_of`), and lines of
text.

Views from the server's process, from the admin API and from a journal file are the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import orjson

from mockserver.core.messages import attribute_of, pluralize
from mockserver.state.journal.exchanges import MOST_BYTES, NOTHING, Forgotten

# The prefix of the names of stubs for the next requests only; they do not count as missed (`nearest`).
PASSING = "next-"

# The failures with which a vendor refuses requests that break its contract.
_BREACHES = frozenset(
    ("malformed_json", "not_an_object", "invalid_request", "unsupported_media_type", "unknown_path", "wrong_method")
)


Item = TypeVar("Item")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """One exchange: the request, what decided the answer, the outcome. Times are in seconds, on the server's clock."""

    data: Mapping[str, Any]

    @property
    def number(self) -> int:
        """Its number within the namespace, from 1 on."""
        return int(self.data["number"])

    @property
    def namespace(self) -> str:
        """The namespace that it belongs to."""
        return str(self.data["namespace"])

    @property
    def at(self) -> float:
        """When it arrived, in Unix seconds."""
        return float(self.data["at"])

    @property
    def arrived(self) -> float:
        """When it arrived, on a monotonic clock."""
        return float(self.data.get("arrived", self.at))

    @property
    def ended(self) -> float | None:
        """When nothing more was sent, on the same clock; None while it is open."""
        return None if self.closed_by is None else self.arrived + self.seconds

    @property
    def end(self) -> float:
        """The same instant as a number; infinity while it is open."""
        return inf if self.ended is None else self.ended

    @property
    def ahead(self) -> float:
        """By how many seconds the clock was ahead when it arrived."""
        return float(self.data.get("ahead", 0.0))

    @property
    def method(self) -> str:
        """The HTTP method."""
        return str(self.data["method"])

    @property
    def path(self) -> str:
        """The requested path, without the namespace."""
        return str(self.data["path"])

    @property
    def query(self) -> str:
        """The query string."""
        return str(self._request.get("query", ""))

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's headers by lower-case name, secrets masked."""
        return self._get("headers", {}, self._request)

    @property
    def body(self) -> Any:
        """The request's body: a JSON value if it is one, else text; bytes that are not text in base64."""
        return self._request.get("body", self._request.get("body_base64"))

    @property
    def credentials(self) -> str:
        """A short digest of the credentials; equal credentials have equal digests."""
        return str(self._request.get("credentials", self.headers.get("authorization", "")))

    @property
    def dialect(self) -> str | None:
        """The dialect of the request; None if nothing is served at its path."""
        return self.data.get("dialect")

    @property
    def operation(self) -> str | None:
        """The dialect's operation; None if it has none for the path."""
        return self.data.get("operation")

    @property
    def edition(self) -> str | None:
        """The dialect's edition."""
        return self.data.get("edition")

    @property
    def seed(self) -> int | None:
        """The seed that the answer was derived from."""
        return self.data.get("seed")

    @property
    def is_question(self) -> bool:
        """Whether it is a request to a model: not a list of models and the like, but also one to an unserved path."""
        return bool(self.data.get("question", True))

    @property
    def model(self) -> str | None:
        """The requested model; None if the request was not understood."""
        return self.data.get("model")

    @property
    def prompt(self) -> str | None:
        """The prompt; for a chat the last user message."""
        return self.data.get("prompt")

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The messages of a chat as they arrived; input items are converted to messages."""
        messages = self.body.get("messages") if isinstance(self.body, dict) else None
        items = self.body.get("input") if isinstance(self.body, dict) and messages is None else None
        if isinstance(items, list) and any(isinstance(each, dict) for each in items):
            # Imported when first needed: most journals have no such items.
            from mockserver.dialects.openai.responses.items import messages_of

            return messages_of(items)
        return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The functions that were offered as tools, each with its `name` and `parameters`."""
        tools = self.body.get("tools") if isinstance(self.body, dict) else None
        listed = tools if isinstance(tools, list) else ()
        named = [each.get("function", each) for each in listed if isinstance(each, dict)]
        return [each for each in named if isinstance(each, dict) and "name" in each]

    @property
    def streamed(self) -> bool:
        """Whether the answer was a stream of events."""
        return bool(self.data.get("streamed", False))

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return int(self.data["status"])

    @property
    def answer(self) -> Mapping[str, Any]:
        """The answer: its `status`, `headers`, `events`, `ending`, and the `body` if it was not a stream."""
        return self._get("answer", {})

    @property
    def answer_headers(self) -> Mapping[str, str]:
        """The answer's headers by lower-case name."""
        return {name.lower(): value for name, value in self.answer.get("headers", {}).items()}

    @property
    def events(self) -> Sequence[Mapping[str, Any]]:
        """Every event of the answer: when it was `due` and `sent` (None: never), its `tokens` and its `data`."""
        return self._get("events", (), self.answer)

    @property
    def events_sent(self) -> int:
        """How many events were sent; a plain body counts as one."""
        return int(self._outcome.get("events_sent", 0))

    @property
    def tokens_sent(self) -> int:
        """How many generated tokens were sent."""
        return int(self._outcome.get("tokens_sent", 0))

    @property
    def closed_by(self) -> Literal["server", "client"] | None:
        """Who ended the answer: None while it is open."""
        return self._outcome.get("closed_by")

    @property
    def seconds(self) -> float:
        """How long it took, from arrival to the end of the answer."""
        return float(self._outcome.get("seconds", 0.0))

    @property
    def ttft(self) -> float | None:
        """When the first token was sent, or the first event of an answer without tokens, in seconds after arrival; None
        if it was not."""
        events = [event for event in self.events if event["tokens"]] or self.events
        return next((event["sent"] for event in events if event["sent"] is not None), None)

    @property
    def usage(self) -> Mapping[str, int]:
        """`prompt_tokens`, and the `completion_tokens` that were sent; empty if nothing was generated. `cached_tokens`
        are those of the prompt that came from the engine's cache, if any did."""
        return self._get("usage", {})

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return sum(self.usage.get(name, 0) for name in ("prompt_tokens", "completion_tokens"))

    @property
    def cached_tokens(self) -> int:
        """How many tokens of the prompt came from the engine's prompt cache."""
        return self.usage.get("cached_tokens", 0)

    @property
    def finish_reasons(self) -> Sequence[str]:
        """Why each choice ended, for those whose end was sent."""
        return self._get("finish_reasons", ())

    @property
    def planned(self) -> Mapping[str, Any]:
        """`usage`, `finish_reasons` and `tool_calls` as the model had decided on them, whether sent or not."""
        return self._get("planned", {})

    @property
    def tool_calls(self) -> Sequence[Mapping[str, str]]:
        """The completely sent tool calls of the answer: `name` and `arguments`, as the model wrote them."""
        return self._get("tool_calls", ())

    @property
    def faults(self) -> Sequence[str]:
        """The kinds of the faults that struck the answer."""
        return self._get("faults", (), self._decision)

    @property
    def struck(self) -> Sequence[Mapping[str, Any]]:
        """The same faults in detail: what each was requested `by` ("armed", "settings", "route", "stub" or "header"),
        the name of an armed `rule`, and the `fault` as a table."""
        return self._get("struck", (), self._decision)

    @property
    def rule(self) -> str | None:
        """The stub that decided the answer; None if none did."""
        return self._decision.get("rule")

    @property
    def refused(self) -> str | None:
        """Why the request was refused, by the neutral name of the failure; None if it was not."""
        return self._decision.get("kind")

    @property
    def breaks_contract(self) -> bool:
        """Whether the vendor would have refused the request itself, regardless of stubs and faults."""
        if self.is_for_want_of_a_stub:
            return False
        return self.refused in _BREACHES or self._decision.get("by") == "simulator_error"

    @property
    def hint(self) -> str | None:
        """Our own explanation of a refusal: why a header of ours cannot be obeyed, or what is near a wrong path."""
        return self._decision.get("message") or self.answer_headers.get("x-mockserver-hint")

    @property
    def trouble(self) -> str | None:
        """What a function of the test's own has raised; None if none has."""
        return self._decision.get("handler_error")

    @property
    def nearest(self) -> Sequence[Mapping[str, Any]]:
        """The nearest stubs if none matched, each with its `name` and `differences`; else none."""
        nearest: Sequence[Mapping[str, Any]] = self._decision.get("nearest") or ()
        return [near for near in nearest if not str(near["name"]).startswith(PASSING)]

    @property
    def stale(self) -> Sequence[Mapping[str, Any]]:
        """Where the request differs from the one that its answer was recorded for: the `field`, and what was `wanted`
        and `found` there."""
        return self._get("stale", (), self._decision)

    @property
    def is_unmatched(self) -> bool:
        """Whether no stub matched although there are some. Stubs for the next requests only do not count."""
        return bool(self.nearest)

    @property
    def is_for_want_of_a_stub(self) -> bool:
        """Whether it was refused because only stubs may answer, and none matched."""
        # The vendor's own refusals come before stubs are searched, and those by faults are named as such.
        unmatched = self._decision.get("unmatched", False) and not self.faults
        return bool(unmatched and self.refused == "invalid_request" and self.status == HTTPStatus.NOT_FOUND)

    @property
    def is_closed(self) -> bool:
        """Whether the answer has ended."""
        return self.closed_by is not None

    @property
    def has_finished(self) -> bool:
        """Whether the client was sent the end of a stream, or a plain body."""
        return bool(self.answer.get("finished", False))

    @property
    def _request(self) -> Mapping[str, Any]:
        return self._get("request", _NOTHING)

    @property
    def _decision(self) -> Mapping[str, Any]:
        return self._get("decision", _NOTHING)

    @property
    def _outcome(self) -> Mapping[str, Any]:
        return self._get("outcome", _NOTHING)

    def _get(self, name: str, default: Item, part: Mapping[str, Any] | None = None) -> Item:
        """A value of the exchange, or of a part of it, which has the type of its default."""
        found: Item = (self.data if part is None else part).get(name, default)
        return found

    if not TYPE_CHECKING:
        __getattr__ = attribute_of

    def __repr__(self) -> str:
        return f"<exchange #{self.number}: {self.method} {self.path} -> {self.status}>"


class Past(NamedTuple):
    """What a journal holds: the exchanges that it keeps, oldest first, and how many it has forgotten before them."""

    views: Sequence[View] = ()
    forgotten: Forgotten = NOTHING


# How many characters of a refusal are shown.
_MOST_SHOWN = 300


def line(view: View) -> str:
    """An exchange in one line: the request, the answer, and what decided it."""
    operation = view.operation if view.operation and view.is_question else f"{view.method} {view.path}"
    target = f"{view.dialect or '?'} {operation}"
    model = f" {view.model}" if view.model else ""
    prompt = f" {short(view.prompt)}" if view.prompt else ""
    stream = " (stream)" if view.streamed else ""
    by = f" by {view.rule}" if view.rule else ""
    by += f" (stale: {', '.join(each['field'] for each in view.stale)})" if view.stale else ""
    refused = (
        " as no stub matches" if view.is_for_want_of_a_stub else f" {view.refused}{_why(view)}" if view.refused else ""
    )
    struck = f", struck by {' and '.join(view.faults)}" if view.faults else ""
    end = {"client": "client left", "server": "done", None: "still open"}[view.closed_by]
    sent = pluralize(view.events_sent, "event")
    answered = f"{view.status}{refused}{by}{struck}, {sent}, {end} after {view.seconds:.3f} s"
    return f"#{view.number} {target}{model}{stream}{prompt} -> {answered}"


def journal_lines(views: Sequence[View]) -> list[str]:
    """One line for each exchange: the time since the first one, the exchange, and how long the client had been away."""
    lines: list[str] = []
    for place, view in enumerate(views):
        since = f"{view.arrived - views[0].arrived:8.3f} s"
        gap = f" (client returned after {max(view.arrived - views[place - 1].end, 0.0):.3f} s)" if place else ""
        lines.append(f"{since}  {line(view)}{gap}")
    return lines


def explain_misses(views: Iterable[View]) -> Iterable[str]:
    """For each request without a matching stub: the nearest stubs, field by field."""
    for view in views:
        yield f"  {line(view)}"
        for near in view.nearest:
            yield f"      stub {near['name']!r}:"
            yield from (
                f"          {each['field']}: expected {each['wanted']}, found {each['found']}"
                for each in near["differences"]
            )


def explain_stale(views: Iterable[View]) -> Iterable[str]:
    """For each answer that was recorded for another request: where the requests differ."""
    for view in views:
        yield f"  {line(view)}"
        yield from (f"      {each['field']}: recorded {each['wanted']}, found {each['found']}" for each in view.stale)


def loss(count: int) -> str:
    """The message for when so many exchanges are forgotten, which says how to keep them."""
    return (
        f"The journal has forgotten {pluralize(count, 'exchange')}. Keep more with --journal or "
        f"MockServer(journal=...), or check and reset() earlier. All journals together keep {MOST_BYTES >> 20} MiB."
    )


def short(text: str) -> str:
    """The beginning of a text, in quotes."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _why(view: View) -> str:
    """Our own hint, or the vendor's error body if the request breaks its contract, on one line; else nothing."""
    body = view.hint or (view.breaks_contract and view.answer.get("body"))
    if not body:
        return ""
    text = body if isinstance(body, str) else orjson.dumps(body).decode()
    return f" ({' '.join(text.split())[:_MOST_SHOWN]})"
