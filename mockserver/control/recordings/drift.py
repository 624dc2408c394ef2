"""Recorded answers beside those that a dialect here gives: where the vendor's wire is otherwise than simulated.

Each recorded request is answered once more, with the model made to say what it said then, and the two answers are
compared in status, headers and shape. What limits, keys and outages refuse nobody can see in a request: such a refusal
is compared with those of its status that the dialect knows.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mockserver.control.plan import Plan, Question, answer, hear, refuse
from mockserver.control.recordings.events import Event, events_of, is_stream
from mockserver.control.recordings.recorded import Lost, Recorded
from mockserver.control.recordings.replies import is_telling
from mockserver.control.recordings.requests import call_of, landing_of
from mockserver.control.recordings.sequences import stream_differences
from mockserver.control.recordings.shapes import Difference, differences, shape_of
from mockserver.control.recordings.speeches import speech_of
from mockserver.control.routing import Router
from mockserver.control.settings import Settings
from mockserver.control.visits import WishError
from mockserver.core.failures import Rejection

# Statuses that tell of the vendor's state, or of whoever asks, and nothing of the request.
_CIRCUMSTANCES = (401, 402, 403, 408, 429, *range(500, 600))


class Compared(NamedTuple):
    """An exchange that was compared: whose it is, how it was answered when it was recorded, and what differs here."""

    place: str
    dialect: str
    operation: str
    status: int
    streamed: bool
    differences: tuple[Difference, ...]


class _Answer(NamedTuple):
    """An answer, recorded or of our own. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def events(self) -> list[Event]:
        return events_of(self.body, streamed=is_stream(self.kind))


def compare(
    exchanges: Iterable[Recorded | Lost], router: Router, settings: Settings, ignored: Sequence[str] = ()
) -> Iterator[Compared | Lost]:
    """Each exchange beside what a server with these settings answers.

    The `ignored` are places in answers that may differ, in any event of a stream; `*` stands for anything.
    """
    may_differ = re.compile("|".join(re.escape(place).replace(r"\*", ".*") for place in ignored) or "(?!)")
    for each in exchanges:
        compared = _compared(each, router, settings) if isinstance(each, Recorded) else each
        if isinstance(compared, Compared):
            left = (it for it in compared.differences if not may_differ.fullmatch(it.place))
            compared = compared._replace(differences=tuple(dict.fromkeys(left)))
        yield compared


def _compared(recorded: Recorded, router: Router, settings: Settings) -> Compared | Lost:
    landing = landing_of(recorded, router)
    if landing is None or landing.operation is None:
        return Lost(recorded.place, f"no dialect serves {recorded.method} {recorded.path}")
    there = _Answer(recorded.status, recorded.answered, recorded.answer)
    try:
        heard = hear(call_of(recorded, landing), landing, settings)
    except WishError as error:
        return Lost(recorded.place, str(error))
    candidates = _answers(heard, there)
    found = min((tuple(_differences(there, here)) for here in candidates), key=len)
    return Compared(
        recorded.place, landing.dialect.name, landing.operation.name, there.status, is_stream(there.kind), found
    )


def _answers(heard: Question | Plan, there: _Answer) -> list[_Answer]:
    """The answers of our own, of which that counts that comes nearest to the recorded one."""
    refusals = _refusals(heard, there.status) if there.status in _CIRCUMSTANCES else []
    if refusals:
        return refusals
    if isinstance(heard, Question):
        return [_sent(answer(heard, speech=speech_of(there.events)))]
    return [_sent(heard)]


def _refusals(heard: Question | Plan, status: int) -> list[_Answer]:
    """The dialect's refusals with a status."""
    visit, request = heard.visit, heard.request
    rows = visit.landing.dialect.errors[visit.site.edition]
    made = (refuse(Rejection(kind), visit, request) for kind, row in rows.items() if row.status == status)
    return [_sent(plan) for plan in made]


def _sent(plan: Plan) -> _Answer:
    timeline = plan.timeline
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in reversed(timeline.headers)}
    return _Answer(timeline.status, headers, b"".join(data for run in timeline.runs for data in run.data))


def _differences(there: _Answer, here: _Answer) -> Iterator[Difference]:
    if there.status != here.status:
        yield Difference("status", _told(there), _told(here))
        return
    yield from _of_headers(there.headers, here.headers)
    if is_stream(there.kind) and is_stream(here.kind):
        yield from stream_differences(there.events, here.events)
    elif not is_stream(there.kind) and not is_stream(here.kind):
        yield from _of_bodies(there, here)


def _of_headers(there: Mapping[str, str], here: Mapping[str, str]) -> Iterator[Difference]:
    """Where the content type differs, or which headers there are by which clients decide what to do."""
    kinds = [headers.get("content-type", "").replace(" ", "").lower() for headers in (there, here)]
    if kinds[0] != kinds[1] and kinds[0]:
        yield Difference("header content-type", there["content-type"], here.get("content-type", ""))
    telling = [{name: value for name, value in each.items() if is_telling(name, value)} for each in (there, here)]
    # Many recordings keep hardly any headers.
    for name in sorted(telling[0].keys() ^ telling[1].keys()) if telling[0] else ():
        if not name.startswith("x-mockserver-"):
            yield Difference(f"header {name}", telling[0].get(name, ""), telling[1].get(name, ""))


def _of_bodies(there: _Answer, here: _Answer) -> Iterator[Difference]:
    bodies = [each.events[0].value for each in (there, here)]
    shapes = [shape_of(body, refused=there.status >= 400) for body in bodies]
    if all(isinstance(body, str) for body in bodies) and bodies[0] != bodies[1]:
        yield Difference("the body", _short(bodies[0]), _short(bodies[1]))
    else:
        yield from differences(*shapes)


def _told(answer: _Answer) -> str:
    """A status, and of a refusal what it says."""
    return (
        str(answer.status)
        if answer.status < 400
        else f"{answer.status}: {_short(answer.body.decode(errors='replace'))}"
    )


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 160 else f"{words[:160]}..."
