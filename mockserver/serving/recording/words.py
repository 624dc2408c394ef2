"""What a recorder says: at its start, of each exchange, and at its end."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from mockserver.control.journal.exchanges import Denial
from mockserver.control.stubs.bodies import events_in, is_stream
from mockserver.core.dialects import Dialect
from mockserver.core.version import __version__
from mockserver.serving.logs import duration, printable
from mockserver.serving.recording.takes import Take
from mockserver.serving.recording.upstreams import Upstreams, missing

_WARNING = (
    "Requests go to the vendors, with the keys that they bring. In the file, keys and cookies are masked (their last "
    "four characters stay); what is asked and answered is written as it is."
)


def greeting(url: str, path: Path, dialects: Mapping[str, Dialect], upstreams: Upstreams) -> str:
    """What is recorded, where it goes, and which secrets are kept."""
    led = (f"  {url}/{name} -> {_whither(dialect, upstreams)}" for name, dialect in dialects.items())
    return "\n".join((f"mockserver {__version__} records on {url} into {path}", *led, _WARNING, "Stop it with Ctrl-C."))


def farewell(path: Path, count: int) -> str:
    """How much was recorded, and what to do with it."""
    if not count:
        return "Nothing was recorded."
    return "\n".join(
        (
            f"{count} exchange{'' if count == 1 else 's'} recorded in {path}",
            f"Stubs: mockserver stubs {path} --pace --out stubs",
            f"Drift: mockserver drift {path} --edition observed",
        )
    )


def summary(take: Take) -> str:
    """An exchange in one line."""
    target = take.target
    where = f"{target.landing.dialect.name} {take.call.method} {target.path}"
    return printable(f"{where} -> {', '.join(_course(take))}")


def unanswered(take: Take, why: str) -> Denial:
    """The answer of our own for a request that the vendor has not answered."""
    message = f"{take.target.upstream.url} did not answer: {why}. Nothing was recorded."
    return Denial(502, "bad_gateway", message)


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


def _whither(dialect: Dialect, upstreams: Upstreams) -> str:
    upstream = upstreams.of(dialect)
    return upstream.url if upstream is not None else f"nowhere: {missing(dialect)}"
