"""The messages of a recorder: at its start, for each exchange, and at its end."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mockserver.core.calls import Call
from mockserver.core.dialects import Dialect
from mockserver.core.naming import counted
from mockserver.core.secrets import masked_text
from mockserver.core.version import __version__
from mockserver.server.logs import duration, printable
from mockserver.server.recording.takes import Take
from mockserver.server.recording.tapes import Tape
from mockserver.server.recording.targets import Target
from mockserver.server.recording.upstreams import Upstreams
from mockserver.state.journal.exchanges import Denial
from mockserver.state.stubs.bodies import events_in, is_stream

if TYPE_CHECKING:
    from mockserver.server.recording.replays import Replay

# How many characters of a path are shown.
_MOST_SHOWN = 160
_WARNING = (
    "Requests are forwarded with the keys that they carry. In the file, keys and cookies are masked (their last four "
    "characters remain); prompts and answers are written as they are."
)


def greeting(url: str, path: Path, dialects: Mapping[str, Dialect], upstreams: Upstreams) -> str:
    """The message at the start: where requests are forwarded to, where they are recorded, and what is masked."""
    routes = (f"  {url}/{name} -> {_destination(dialect, upstreams)}" for name, dialect in dialects.items())
    return "\n".join((f"mockserver {__version__} records on {url} into {path}", *routes, _WARNING, "Stop with Ctrl-C."))


def farewell(tape: Tape, again: int = 0) -> str:
    """The message at the end: how much was recorded, what could not be, and the commands that use it.

    `again` is how many answers came from the recording.
    """
    path, count = tape.path, tape.taken
    known = f"; {counted(again, 'answer')} from it" if again else ""
    lost = [f"{counted(tape.lost, 'exchange')} could not be recorded, as the log says."] if tape.lost else []
    if not count:
        return "\n".join([f"Nothing new was recorded in {path}{known}." if again else "Nothing was recorded.", *lost])
    name = shlex.quote(str(path))
    return "\n".join(
        (
            f"{counted(count, 'exchange')} recorded in {path}{known}",
            *lost,
            f"Stubs: mockserver stubs {name} --pace --out stubs",
            f"Drift: mockserver drift {name} --edition observed",
        )
    )


def summary(take: Take) -> str:
    """An exchange in one line."""
    target = take.target
    where = f"{target.route.dialect.name} {take.call.method} {_shown(target.path)}"
    return printable(f"{where} -> {', '.join(_course(take))}")


def replayed(target: Target, call: Call, replay: "Replay") -> str:
    """An answer from the recording in one line."""
    where = f"{target.route.dialect.name} {call.method} {_shown(target.path)}"
    return printable(f"{where} -> {replay.status}, from the recording ({replay.place})")


def refusal(method: str, path: str, denial: Denial) -> str:
    """An answer of our own in one line."""
    return printable(f"{method} {_shown(path)} -> {denial.status}: {denial.message}")


def unanswered(take: Take, why: str) -> Denial:
    """The answer of our own for a request that the vendor has not answered."""
    message = f"{take.target.upstream.url} did not answer: {why}. Nothing was recorded."
    return Denial(502, "bad_gateway", message)


def _shown(path: str) -> str:
    path = masked_text(path)
    return path if len(path) <= _MOST_SHOWN else f"{path[:_MOST_SHOWN]}..."


def _course(take: Take) -> Iterator[str]:
    """How an answer went, in parts."""
    yield str(take.status or "no answer")
    if take.first is not None:
        yield f"first byte after {duration(take.first)}"
    yield f"in {duration(take.seconds)}"
    if is_stream(take.content_type):
        yield f"{len(events_in(b''.join(take.pieces)))} events"
    if take.ending is not None:
        yield f"broken off ({take.ending.how})"
    if take.closed_by == "client":
        yield "client left"


def _destination(dialect: Dialect, upstreams: Upstreams) -> str:
    upstream = upstreams.of(dialect)
    return upstream.url if upstream is not None else f"nowhere: {upstreams.missing(dialect)}"
