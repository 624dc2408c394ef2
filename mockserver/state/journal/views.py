"""Exchanges as tests see them: frozen views of what the journal provides (`transcripts.transcript_of`), and lines of
text.

Views from the server's process, from the admin API and from a journal file are the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import orjson

from mockserver.core.messages import WithHints, pluralize, shortened
from mockserver.state.journal.exchanges import MOST_BYTES, NOTHING, Forgotten

# The prefix of the names of stubs for the next requests only; they do not count as missed (`nearest`).
PASSING = "next-"

# The failures with which a vendor refuses requests that break its contract.
_BREACHES = frozenset(
    ("malformed_json", "not_an_object", "invalid_request", "unsupported_media_type", "unknown_path", "wrong_method")
)


Table = Mapping[str, Any]
Tables = Sequence[Table]
Texts = Sequence[str]
_NOTHING: Table = MappingProxyType({})
Item = TypeVar("Item")


class ExchangeField(Generic[Item]):
    """A value of an exchange, at its place in the data, such as `outcome.seconds`; if it is not there the default, or
    KeyError if there is none."""

    def __init__(self, place: str, default: Item = ..., doc: str = "") -> None:  # type: ignore[assignment]
        self._part, _, self._name = place.rpartition(".")
        self._default, self.__doc__ = default, doc

    def __get__(self, view: "View", owner: object = None) -> Item:
        # Asked of the class, it is the field itself.
        if view is None:
            return self
        part = view.data.get(self._part, _NOTHING) if self._part else view.data
        found: Item = part[self._name] if self._default is ... else part.get(self._name, self._default)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class View(WithHints):
    """One exchange: the request, what decided the answer, the outcome. Times are in seconds, on the server's clock."""

    data: Mapping[str, Any]

    number = ExchangeField[int]("number", doc="Its number within the namespace, from 1 on.")
    namespace = ExchangeField[str]("namespace", doc="The namespace that it belongs to.")
    at = ExchangeField[float]("at", doc="When it arrived, in Unix seconds.")
    ahead = ExchangeField("ahead", 0.0, "By how many seconds the clock was ahead when it arrived.")
    method = ExchangeField[str]("method", doc="The HTTP method.")
    path = ExchangeField[str]("path", doc="The requested path, without the namespace.")
    query = ExchangeField("request.query", "", "The query string.")
    headers = ExchangeField[Mapping[str, str]](
        "request.headers", {}, "The request's headers by lower-case name, masked."
    )
    dialect = ExchangeField[str | None]("dialect", None, "The dialect; None if nothing is served at its path.")
    dialect_by = ExchangeField[str | None](
        "decision.dialect_by", None, "By what the dialect was chosen, at a path of several; None elsewhere."
    )
    operation = ExchangeField[str | None](
        "operation", None, "The operation; None if the dialect has none for the path."
    )
    edition = ExchangeField[str | None]("edition", None, "The dialect's edition.")
    seed = ExchangeField[int | None]("seed", None, "The seed that the answer was derived from.")
    is_question = ExchangeField("question", True, "Whether it is a request to a model, or to a path of nobody.")
    model = ExchangeField[str | None]("model", None, "The requested model; None if the request was not understood.")
    prompt = ExchangeField[str | None]("prompt", None, "The prompt; for a chat the last user message.")
    streamed = ExchangeField("streamed", False, "Whether the answer was a stream of events.")
    status = ExchangeField[int]("status", doc="The HTTP status of the answer.")
    answer = ExchangeField[Table]("answer", {}, "The `status`, `headers`, `events`, `ending` and `body` of the answer.")
    events = ExchangeField[Tables]("answer.events", (), "Each event: `due`, `sent`, its `tokens`, its `data`.")
    events_sent = ExchangeField("outcome.events_sent", 0, "How many events were sent; a plain body counts as one.")
    tokens_sent = ExchangeField("outcome.tokens_sent", 0, "How many generated tokens were sent.")
    closed_by = ExchangeField[Literal["server", "client"] | None](
        "outcome.closed_by", None, "Who ended it; None while open."
    )
    seconds = ExchangeField("outcome.seconds", 0.0, "How long it took, from arrival to the end of the answer.")
    usage = ExchangeField[Mapping[str, int]](
        "usage", {}, "The tokens of the prompt, those cached, and those that were sent."
    )
    finish_reasons = ExchangeField[Texts]("finish_reasons", (), "Why each choice ended, for those whose end was sent.")
    planned = ExchangeField[Table]("planned", {}, "`usage`, `finish_reasons`, `tool_calls` as the model decided them.")
    tool_calls = ExchangeField[Sequence[Mapping[str, str]]]("tool_calls", (), "The completely sent calls, as written.")
    faults = ExchangeField[Texts]("decision.faults", (), "The kinds of the faults that were applied to the answer.")
    applied_faults = ExchangeField[Tables](
        "decision.applied_faults", (), "Each: who has set it, its `rule`, the `fault`."
    )
    unapplied_faults = ExchangeField[Texts](
        "decision.unapplied_faults", (), "The kinds of the faults that were triggered, but changed nothing."
    )
    rule = ExchangeField[str | None]("decision.rule", None, "The stub that decided the answer; None if none did.")
    refused = ExchangeField[str | None](
        "decision.kind", None, "Why it was refused, by the failure's name; None if it was not."
    )
    handler_error = ExchangeField[str | None](
        "decision.handler_error", None, "What a function of the test's own has raised."
    )
    stale = ExchangeField[Sequence[Mapping[str, str]]](
        "decision.stale", (), "Where it differs from the request that its answer was recorded for."
    )
    has_finished = ExchangeField("answer.finished", False, "Whether the end of a stream, or a plain body, was sent.")

    @property
    def arrived(self) -> float:
        """When it arrived, on a monotonic clock."""
        return float(self.data.get("arrived", self.at))

    @property
    def end(self) -> float:
        """When nothing more was sent, on the same clock; infinity while it is open."""
        return self.arrived + self.seconds if self.is_closed else inf

    @property
    def body(self) -> Any:
        """The request's body: a JSON value if it is one, else text; bytes that are not text in base64."""
        request = self.data.get("request", _NOTHING)
        return request.get("body", request.get("body_base64"))

    @property
    def credentials(self) -> str:
        """A short digest of the credentials; equal credentials have equal digests."""
        request = self.data.get("request", _NOTHING)
        return str(request.get("credentials", self.headers.get("authorization", "")))

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
    def answer_headers(self) -> Mapping[str, str]:
        """The answer's headers by lower-case name."""
        return {name.lower(): value for name, value in self.answer.get("headers", {}).items()}

    @property
    def ttft(self) -> float | None:
        """When the first token was sent, or the first event of an answer without tokens, in seconds after arrival; None
        if it was not."""
        events = [event for event in self.events if event["tokens"]] or self.events
        return next((event["sent"] for event in events if event["sent"] is not None), None)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return sum(self.usage.get(name, 0) for name in ("prompt_tokens", "completion_tokens"))

    @property
    def cached_tokens(self) -> int:
        """How many tokens of the prompt came from the engine's prompt cache."""
        return self.usage.get("cached_tokens", 0)

    @property
    def breaks_contract(self) -> bool:
        """Whether the vendor would have refused the request itself, regardless of stubs and faults."""
        if self.is_refused_as_unmatched:
            return False
        return self.refused in _BREACHES or self.data.get("decision", _NOTHING).get("by") == "simulator_error"

    @property
    def hint(self) -> str | None:
        """Our own explanation of a refusal: why a header of ours cannot be obeyed, or what is near a wrong path."""
        return self.data.get("decision", _NOTHING).get("message") or self.answer_headers.get("x-mockserver-hint")

    @property
    def nearest(self) -> Sequence[Mapping[str, Any]]:
        """The nearest stubs if none matched, each with its `name` and `differences`; else none."""
        nearest: Sequence[Mapping[str, Any]] = self.data.get("decision", _NOTHING).get("nearest") or ()
        return [near for near in nearest if not str(near["name"]).startswith(PASSING)]

    @property
    def is_unmatched(self) -> bool:
        """Whether no stub matched although there are some. Stubs for the next requests only do not count."""
        return bool(self.nearest)

    @property
    def is_refused_as_unmatched(self) -> bool:
        """Whether it was refused because only stubs may answer, and none matched."""
        # The vendor's own refusals come before stubs are searched, and those by faults are named as such.
        unmatched = self.data.get("decision", _NOTHING).get("unmatched", False) and not self.faults
        return bool(unmatched and self.refused == "invalid_request" and self.status == HTTPStatus.NOT_FOUND)

    @property
    def is_closed(self) -> bool:
        """Whether the answer has ended."""
        return self.closed_by is not None

    def __repr__(self) -> str:
        return f"<exchange #{self.number}: {self.method} {self.path} -> {self.status}>"


class Past(NamedTuple):
    """What a journal holds: the exchanges that it keeps, oldest first, and how many it has forgotten before them."""

    views: Sequence[View] = ()
    forgotten: Forgotten = NOTHING


# How many characters of a refusal are shown, and of a text that is quoted.
_MOST_SHOWN = 300
MOST_QUOTED = 37


def line(view: View) -> str:
    """An exchange in one line: the request, the answer, and what decided it."""
    operation = view.operation if view.operation and view.is_question else f"{view.method} {view.path}"
    target = f"{view.dialect or '?'} {operation}"
    model = f" {view.model}" if view.model else ""
    prompt = f" {shortened(view.prompt, MOST_QUOTED)!r}" if view.prompt else ""
    stream = " (stream)" if view.streamed else ""
    by = f" by {view.rule}" if view.rule else ""
    by += f" (stale: {', '.join(each['field'] for each in view.stale)})" if view.stale else ""
    refused = (
        " as no stub matches"
        if view.is_refused_as_unmatched
        else f" {view.refused}{_why(view)}"
        if view.refused
        else ""
    )
    calls = f", calls {', '.join(call['name'] for call in view.tool_calls)}" if view.tool_calls else ""
    faults = f", with fault {' and '.join(view.faults)}" if view.faults else ""
    faults += f", fault {' and '.join(view.unapplied_faults)} not applied" if view.unapplied_faults else ""
    end = {"client": "client left", "server": "done", None: "still open"}[view.closed_by]
    sent = pluralize(view.events_sent, "event")
    answered = f"{view.status}{refused}{by}{calls}{faults}, {sent}, {end} after {view.seconds:.3f} s"
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


def _why(view: View) -> str:
    """The vendor's error body if the request's own breaks its contract, and our hint, on one line; else nothing."""
    hint, body = view.hint, view.answer.get("body") if view.breaks_contract else None
    if hint and view.refused != "invalid_request":
        # Of a path, the hint says more than the vendor does.
        body = None
    text = body if isinstance(body, str) or not body else orjson.dumps(body).decode()
    reasons = [" ".join(each.split())[:_MOST_SHOWN] for each in (text, hint) if each]
    return f" ({'; '.join(reasons)})" if reasons else ""
