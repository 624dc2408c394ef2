"""Drift: how recorded answers of a vendor differ from those that its dialect gives here.

Each recorded request is answered again, with the model writing what it wrote then, and the two answers are compared in
status, headers and shape. A refusal for reasons outside the request, such as limits, keys and outages, is compared with
the dialect's own refusals of the same status.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mockserver.core.failures import Rejection
from mockserver.core.headers import by_name
from mockserver.core.timeline import Reply
from mockserver.pipeline import complete, parse
from mockserver.recordings.events import Event, events_of
from mockserver.recordings.recorded import CIRCUMSTANCES, Lost, Recorded
from mockserver.recordings.replies import is_telling
from mockserver.recordings.requests import call_of, route_of
from mockserver.recordings.sequences import stream_differences
from mockserver.recordings.shapes import Difference, differences, shape_of
from mockserver.recordings.speeches import speech_of
from mockserver.routes import Routes
from mockserver.state.context import HeaderError, make_context
from mockserver.state.plan import Plan
from mockserver.state.refusals import refuse
from mockserver.state.settings import Settings
from mockserver.state.stubs.bodies import is_stream
from mockserver.state.stubs.registry import Prepared


class Compared(NamedTuple):
    """A compared exchange. `status` and `streamed` are those of the recorded answer."""

    place: str
    dialect: str
    operation: str
    status: int
    streamed: bool
    differences: tuple[Difference, ...]


class _Answer(NamedTuple):
    """An answer, recorded or given here. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def events(self) -> list[Event]:
        """The events of a stream; any other body counts as one."""
        return events_of(self.body, streamed=is_stream(self.content_type))

    @property
    def summary(self) -> str:
        """The status, with the body if it is a refusal."""
        body = f": {_short(self.body.decode(errors='replace'))}" if self.status >= 400 else ""
        return f"{self.status}{body}"


def compare(
    exchanges: Iterable[Recorded | Lost], router: Routes, settings: Settings, ignored: Sequence[str] = ()
) -> Iterator[Compared | Lost]:
    """Compare each exchange with the answer of a server with these settings.

    Differences at the `ignored` places do not count, in any event of a stream; `*` matches anything.
    """
    may_differ = re.compile("|".join(re.escape(place).replace(r"\*", ".*") for place in ignored) or "(?!)")
    for each in exchanges:
        compared = _compared(each, router, settings) if isinstance(each, Recorded) else each
        if isinstance(compared, Compared):
            left = (it for it in compared.differences if not may_differ.fullmatch(it.place))
            compared = compared._replace(differences=tuple(dict.fromkeys(left)))
        yield compared


def _compared(exchange: Recorded, router: Routes, settings: Settings) -> Compared | Lost:
    route = route_of(exchange, router)
    if route is None or route.operation is None:
        return Lost(exchange.place, f"no dialect serves {exchange.method} {exchange.path}")
    recorded = _Answer(exchange.status, exchange.answered, exchange.answer)
    try:
        plan = parse(make_context(call_of(exchange, route), route, settings))
    except HeaderError as error:
        return Lost(exchange.place, str(error))
    # If several answers are possible, the most similar one counts.
    found = min((tuple(_differences(recorded, each)) for each in _answers(plan, recorded)), key=len)
    name, streamed = route.operation.name, is_stream(recorded.content_type)
    return Compared(exchange.place, route.dialect.name, name, recorded.status, streamed, found)


def _answers(plan: Plan, recorded: _Answer) -> list[_Answer]:
    """The answers that this server may give."""
    refusals = _refusals(plan, recorded.status) if recorded.status in CIRCUMSTANCES else []
    if refusals:
        return refusals
    if plan.asks_model:
        plan.prepared = Prepared(speech_of(recorded.events))
    complete(plan)
    assert plan.reply is not None, "a completed plan has a reply"
    return [_answer_of(plan.reply)]


def _refusals(plan: Plan, status: int) -> list[_Answer]:
    """The dialect's refusals with a status."""
    context, request = plan.context, plan.request
    rows = context.route.dialect.errors[context.site.edition]
    return [_answer_of(refuse(Rejection(kind), context, request)) for kind, row in rows.items() if row.status == status]


def _answer_of(reply: Reply) -> _Answer:
    body = b"".join(data for frames in reply.frames for data in frames.data)
    return _Answer(reply.status, by_name(reply.headers), body)


def _differences(recorded: _Answer, answered: _Answer) -> Iterator[Difference]:
    if recorded.status != answered.status:
        yield Difference("status", recorded.summary, answered.summary)
        return
    yield from _header_differences(recorded.headers, answered.headers)
    streams = is_stream(recorded.content_type), is_stream(answered.content_type)
    if all(streams):
        yield from stream_differences(recorded.events, answered.events)
    elif not any(streams):
        yield from _body_differences(recorded, answered)


def _header_differences(recorded: Mapping[str, str], answered: Mapping[str, str]) -> Iterator[Difference]:
    """The content type, and the presence of headers that clients act upon."""
    types = [headers.get("content-type", "") for headers in (recorded, answered)]
    if types[0] and _plain(types[0]) != _plain(types[1]):
        yield Difference("header content-type", *types)
    telling = [{name for name, value in each.items() if is_telling(name, value)} for each in (recorded, answered)]
    # Many recordings keep hardly any headers.
    for name in sorted(telling[0] ^ telling[1]) if telling[0] else ():
        if not name.startswith("x-mockserver-"):
            yield Difference(f"header {name}", recorded.get(name, ""), answered.get(name, ""))


def _plain(content_type: str) -> str:
    return content_type.replace(" ", "").lower()


def _body_differences(recorded: _Answer, answered: _Answer) -> Iterator[Difference]:
    (theirs,), (ours,) = recorded.events, answered.events
    if isinstance(theirs.value, str) and isinstance(ours.value, str):
        if theirs.value != ours.value:
            yield Difference("the body", _short(theirs.value), _short(ours.value))
        return
    refused = recorded.status >= 400
    yield from differences(shape_of(theirs.value, refused=refused), shape_of(ours.value, refused=refused))


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 160 else f"{words[:160]}..."
