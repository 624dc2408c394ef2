"""Recorded traffic as stubs: each stub matches one recorded request and gives its recorded answers.

Equal requests make one stub, which gives their answers in turn. An exact stub matches the whole request, as
`core/matching/whole_requests.py` compares them. A lenient one matches hardly more than the last user message and the
tools; so it also answers requests that have changed elsewhere, and those answers are marked as stale. Of several that
match, the one of the most similar request answers. Secrets and request headers are never written.
"""

import re
from base64 import b64encode
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

import orjson

from mockserver.core.dialects import Dialect
from mockserver.core.matching.values import CriteriaError
from mockserver.core.matching.whole_requests import OF_CALLER, WHOLE_WITH_IDS, read_volatile
from mockserver.core.messages import short_repr, unknown_name
from mockserver.core.secrets import is_secret, masked_body, masked_query
from mockserver.recordings import Lost, Recorded, can_be_sent, is_significant, parsed
from mockserver.recordings.traffic import exchanges_in
from mockserver.routes import Routes
from mockserver.state.context import RouteMatch
from mockserver.state.facts import RequestFacts
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.stubs.parse_replies import with_files
from mockserver.state.stubs.parse_stubs import EXACT, read_stub
from mockserver.state.stubs.stub import Stub
from mockserver.state.stubs.values import StubError

# Keys of a body that may hold a batch: prompts to complete, texts to embed, or documents to rank by a query.
_BATCHES = ("prompt", "input", "query", "documents")
# How many exchanges without a stub are listed individually: a browser records everything that a page loads.
_MOST_LISTED = 20
# Longer bodies are written to files of their own, as are streams.
_LONG = 1500
_LONGEST_LABEL = 100
# Whether an answer is for equal requests only, or for all that look alike.
MATCHING = (EXACT, "lenient")
# Headers that differ from one answer to the next.
_VARYING = re.compile(r".*rate-?limit.*|(?:x-)?request-id")
_SUFFIXES = {"text/event-stream": ".sse", "application/json": ".json", "text/html": ".html", "text/plain": ".txt"}
_STREAM = "text/event-stream"
_TIMES_HEAD = "# When each event was sent, in seconds after the request.\n"


class Replaying(NamedTuple):
    """How a recording answers: only requests that are the same (`exact`, but for what is `volatile`) or all that look
    alike (`lenient`); and whether at the recorded `pace`."""

    match: str = EXACT
    volatile: tuple[str, ...] = ()
    pace: bool = False


EXACTLY = Replaying()


class Made(NamedTuple):
    """What was made of a recording: tables of stubs, the files that they name, and exchanges that make no stub."""

    stubs: list[dict[str, Any]]
    files: Mapping[str, bytes]
    lost: list[Lost]


class Replayed(NamedTuple):
    """The stubs that answer as a recording says, and a line for each exchange that was left out, with the reason."""

    stubs: tuple[Stub, ...]
    left_out: tuple[str, ...]


class _Asked(NamedTuple):
    """A recorded request at its route, with all that a match can look at."""

    recorded: Recorded
    route: RouteMatch
    facts: RequestFacts

    @property
    def asks_model(self) -> bool:
        """Whether a model is to answer."""
        return self.route.operation is not None and self.route.operation.handler is None


def read_replaying(match: Any = EXACT, volatile: Any = (), pace: Any = False) -> Replaying:
    """How a recording answers, as users say it. Raises ConfigError."""
    if match not in MATCHING:
        raise ConfigError(f"match: {unknown_name('value', match, MATCHING)}")
    if not isinstance(volatile, list | tuple) or not all(isinstance(each, str) for each in volatile):
        raise ConfigError(f"volatile: {short_repr(volatile)} is not a list of places such as ['$.seed']")
    if not isinstance(pace, bool):
        raise ConfigError(f"pace: {short_repr(pace)} is not true or false")
    try:
        read_volatile(volatile)
    except CriteriaError as error:
        raise ConfigError(str(error)) from None
    return Replaying(match, tuple(volatile), pace)


def stubs_from(
    exchanges: Iterable[Recorded | Lost],
    source: str,
    settings: Settings,
    dialects: Mapping[str, Dialect],
    how: Replaying = EXACTLY,
) -> Made:
    """The stubs of the exchanges in the file `source`, for a server with these settings."""
    name = stem_of(source)
    # Keys in a recording are masked, and were valid at the time.
    anybody = replace(settings, auth="off")
    router = Routes(dialects, anybody)
    lost: list[Lost] = []
    asked: dict[Hashable, list[_Asked]] = {}
    for each in exchanges:
        understood = _understood(each, router, anybody, how.match) if isinstance(each, Recorded) else each
        if isinstance(understood, Lost):
            lost.append(understood)
        else:
            where, facts = understood.recorded, understood.facts
            same = facts.dialect, where.method, where.path, *facts.values(WHOLE_WITH_IDS, how.volatile)
            asked.setdefault(same, []).append(understood)
    answers = _Replies(name, paced=how.pace)
    stubs: list[dict[str, Any]] = []
    for group in asked.values():
        stub_name = f"{name}-{len(stubs) + 1}"
        replies = [answers.reply(each.recorded, stub_name, asks_model=each.asks_model) for each in group]
        several = any(_significant_part(reply) != _significant_part(replies[0]) for reply in replies)
        match = EXACT if how.match == EXACT else _lenient(group[0])
        request = _request(group[0], answers, stub_name) | ({"volatile": [*how.volatile]} if how.volatile else {})
        answer = {"replies": replies} if several else {"reply": replies[0]}
        stubs.append({"name": stub_name, "match": match, "request": request, **answer})
    return Made(stubs, answers.files, lost)


def replay_from(
    data: bytes, source: str, settings: Settings, dialects: Mapping[str, Dialect], how: Replaying
) -> Replayed:
    """The same stubs as a server uses them. Raises ConfigError if there is none, or if one could not be served."""
    made = stubs_from(exchanges_in("replay", data, source), source, settings, dialects, how)
    left_out = complaints(made.lost)
    if not made.stubs:
        raise ConfigError("\n".join([f"replay: {source}: no stub can be made from it", *left_out]))
    return Replayed(served(made, source), tuple(left_out))


def served(made: Made, source: str) -> tuple[Stub, ...]:
    """The stubs as a server has them. Raises ConfigError if it cannot serve one."""
    try:
        return tuple(read_stub(_without_files(table, made.files)) for table in made.stubs)
    except StubError as error:
        raise ConfigError(f"replay: {source}: {error}") from None


def _without_files(table: dict[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """The table of a stub with the contents of the files that it names, so that it can be saved as it is."""

    def whole(part: Mapping[str, Any]) -> dict[str, Any]:
        return {**with_files(part, table["name"], files.__getitem__)}

    request = whole(table["request"])
    request.pop("content_type", None)
    answer = {"reply": whole(table["reply"])} if "reply" in table else {"replies": [*map(whole, table["replies"])]}
    return {**table, "request": request, **answer}


def stem_of(source: str) -> str:
    """The prefix of the names of stubs and files made of a recording."""
    return re.sub(r"[^\w-]+", "-", Path(source).stem).strip("-_") or "recorded"


def complaints(lost: Sequence[Lost]) -> list[str]:
    """A line for each exchange that was left out, with the reason; beyond a limit only their number."""
    lines = [f"{each.place}: {each.why}; left out" for each in lost[:_MOST_LISTED]]
    return lines + [f"and {len(lost) - _MOST_LISTED} more were left out"] * (len(lost) > _MOST_LISTED)


# --- what was asked ----------------------------------------------------------------------------------------------


def _understood(recorded: Recorded, router: Routes, settings: Settings, match: str) -> _Asked | Lost:
    """The request as its dialect understands it, or why no stub could answer it."""
    plan = parsed(recorded, router, settings)
    if isinstance(plan, Lost):
        return plan
    route = plan.context.route
    if plan.refusal is not None and match != EXACT and route.operation is not None:
        return Lost(
            recorded.place,
            f"{route.dialect.name} refuses this request: {plan.refusal.reason}. A stub cannot answer what the dialect "
            "refuses; if the request is for another dialect, add a route for its path",
        )
    return _Asked(recorded, route, RequestFacts(plan.context, plan.request))


def _request(asked: _Asked, answers: "_Replies", name: str) -> dict[str, Any]:
    """The recorded request of a stub; its body is in the stub itself or in a file of the stub's name."""
    facts, body = asked.facts, asked.facts.sent
    query = "&".join(each for each in facts.call.query.split("&") if not is_secret(unquote_plus(each.split("=")[0])))
    request = _where(asked) | ({"last_user": facts.last_user[:_LONGEST_LABEL]} if facts.last_user else {})
    request |= {"query": masked_query(query)} if query else {}
    if isinstance(body, dict):
        body = {key: value for key, value in body.items() if key not in OF_CALLER}
    if body:
        request |= answers.request(body, name)
    return request


# --- what to match -----------------------------------------------------------------------------------------------


def _lenient(asked: _Asked) -> dict[str, Any]:
    """The match of a request: its target, the model, the last user message, the tools, a tool's result."""
    facts = asked.facts
    match: dict[str, Any] = _where(asked)
    if not asked.asks_model:
        return match
    match |= {"model": facts.model} if facts.model is not None else {}
    match |= {"stream": facts.stream}
    if len(facts.values("last_user", ())) > 1:
        match["body"] = {f"$.{key}": {"equals": facts.body[key]} for key in _BATCHES if key in facts.body}
    elif facts.last_user is not None:
        match["last_user"] = facts.last_user
    if facts.messages:
        # The answer to a question is not that to the result of a tool which it has asked for.
        match["tool_result"] = {"exists": False} if facts.tool_result is None else facts.tool_result
    tools = list(dict.fromkeys(facts.tools))
    if len(tools) == 1:
        match["tool"] = tools[0]
    elif tools:
        match["all"] = [{"tool": name} for name in tools]
    return match


def _where(asked: _Asked) -> dict[str, Any]:
    """The target of a request: the operation of its vendor; for another server with the same path that path."""
    recorded, route, facts = asked
    if route.operation is None or route.operation.method != facts.method:
        # What was answered to HEAD, without a body, is no answer to GET.
        return {"dialect": facts.dialect, "path": facts.path, "method": facts.method}
    name, hosts = route.dialect.name, route.dialect.hosts
    if not (recorded.dialect is not None or recorded.host in hosts or f"/{name}/" in recorded.path):
        return {"path": facts.path, "method": facts.method}
    path = {} if route.operation.paths == (facts.path,) else {"path": facts.path}
    return {"dialect": facts.dialect, "operation": route.operation.name, **path}


# --- what to answer -----------------------------------------------------------------------------------------------


class _Replies:
    """Makes replies, and collects the files that they name, in a folder that is not searched for stub files."""

    def __init__(self, name: str, *, paced: bool) -> None:
        self.files: dict[str, bytes] = {}
        self._folder, self._paced = f"_{name}", paced
        self._names: dict[tuple[bytes, str], str] = {}

    def reply(self, recorded: Recorded, name: str, *, asks_model: bool) -> dict[str, Any]:
        """The reply that replays a recorded answer; `name` is the name of its file, if it needs one."""
        content_type = recorded.answered.get("content-type", "").strip()
        reply: dict[str, Any] = {"status": recorded.status}
        if recorded.answer and recorded.status not in (204, 304):
            reply |= {"content_type": content_type} if content_type and can_be_sent(content_type) else {}
            body, kind = masked_body(recorded.answer), content_type.partition(";")[0].strip().lower()
            try:
                text = {"body": body.decode()}
            except UnicodeDecodeError:
                text = {"body_base64": b64encode(body).decode()}
            if kind != _STREAM and len(body) <= _LONG:
                reply |= text
            else:
                suffix = _SUFFIXES.get(kind, ".txt" if "body" in text else ".bin")
                reply["file"] = self._file(body, name, suffix)
        headers = {key: value for key, value in recorded.answered.items() if is_significant(key, value)}
        reply |= {"headers": headers} if headers else {}
        if not (self._paced and asks_model):
            return reply
        if recorded.times and recorded.answer and recorded.streamed:
            lines = "".join(f"{time:.6f}\n" for time in recorded.times)
            reply["event_times"] = self._file(f"{_TIMES_HEAD}{lines}".encode(), name, ".times")
        elif recorded.times:
            reply["latency"] = f"ttft={round(recorded.times[0] * 1000, 3):g}ms"
        return reply

    def request(self, body: Any, name: str) -> Mapping[str, str]:
        """The body of a request, in the stub itself or in a file next to it."""
        text = body if isinstance(body, str) else orjson.dumps(body).decode()
        if len(text) <= _LONG:
            return {"body": text}
        shown = text if isinstance(body, str) else orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()
        return {"file": self._file(shown.encode(), name, ".request.json")}

    def _file(self, data: bytes, name: str, suffix: str) -> str:
        """The name of the file with this content; equal contents share a file."""
        known = self._names.get((data, suffix))
        if known is None:
            stem = f"{self._folder}/{name}"
            taken = sum(each.endswith(suffix) and each.startswith((f"{stem}.", f"{stem}-")) for each in self.files)
            known = f"{stem}{f'-{taken + 1}' if taken else ''}{suffix}"
            self._names[data, suffix], self.files[known] = known, data
        return known


def _significant_part(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a reply that is the same for equal replies: without times, the state of limits and request ids."""
    timing = ("latency", "event_times")
    headers = {name: value for name, value in reply.get("headers", {}).items() if not _VARYING.fullmatch(name)}
    return {**{key: value for key, value in reply.items() if key not in timing}, "headers": headers}
