"""The file of a recorder: each exchange is written to it when it has ended, so that it stays if the recorder dies; and
what is in it is answered from it, if only new requests are to be forwarded."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import SEEK_END
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from mockserver.core.dialects import Dialect
from mockserver.pipeline import complete
from mockserver.recordings import CIRCUMSTANCES, Recorded, events_of, has_output
from mockserver.recordings.stubs import Replaying, served, stubs_from
from mockserver.recordings.traffic import exchanges_in
from mockserver.server.logs import log
from mockserver.server.recording.exchanges import RecordedExchange, by_vendor
from mockserver.state.journal.exchanges import Exchange
from mockserver.state.journal.transcripts import exact_transcript_of
from mockserver.state.plan import Plan
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.stub_answers import choose
from mockserver.state.stubs.parse_replies import events_in, is_stream
from mockserver.state.stubs.registry import StubRegistry

# What the name of a recording ends in.
SUFFIX = ".jsonl"


class RecordingFile:
    """A file to which exchanges are appended, for its owner's eyes only. Raises ConfigError if it cannot be one.

    `written` counts the exchanges that are written, `lost` those that could not be.
    """

    def __init__(self, path: Path, *, force: bool = False) -> None:
        if path.suffix.lower() != SUFFIX:
            raise ConfigError(f"record: {path}: the name of a recording ends in {SUFFIX}")
        self.path, self.written, self.lost = path, 0, 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _opened(path)
        except OSError as error:
            raise ConfigError(f"record: {error.filename or path}: {error.strerror}") from None
        try:
            self._counts = _begin(self._file, path, force)
        except BaseException as error:
            self._file.close()
            if isinstance(error, OSError):
                raise ConfigError(f"record: {path}: {error.strerror}") from None
            raise

    def write(self, recorded: RecordedExchange) -> None:
        """Append an exchange. Raises OSError if it cannot be written; then the file is as before."""
        self.lost += 1
        # Each namespace numbers its own exchanges, as in a journal.
        namespace = recorded.target.namespace
        line = _line_of(recorded, replace(recorded.exchange, number=self._counts[namespace] + 1))
        place = self._file.seek(0, SEEK_END)
        try:
            _write(self._file, line)
        except OSError:
            self._file.truncate(place)
            raise
        self._counts[namespace] += 1
        self.written += 1
        self.lost -= 1

    def close(self) -> None:
        """Close the file, and remove it if it holds nothing."""
        self._file.close()
        if not self._counts.total():
            self.path.unlink(missing_ok=True)


def _opened(path: Path) -> BinaryIO:
    """A file for reading and writing that only its owner may read. It is not buffered: what a full disk does not take
    must not be tried again later."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_CREAT, 0o600)

    file = open(path, "r+b", buffering=0, opener=opener)  # noqa: SIM115 (its owner closes it)
    # One that was there before may have been open to all.
    with suppress(OSError):
        path.chmod(0o600)
    return file


def _write(file: BinaryIO, data: bytes) -> None:
    """Write all of the data, of which a file may take less at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _begin(file: BinaryIO, path: Path, force: bool) -> Counter[str]:
    """Go on after the lines of a journal; with `force` the file is emptied. A last line that is torn is cut off."""
    if force:
        file.truncate(0)
    counts = Counter[str]()
    lines = file.read().splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        place = f"{path}, line {number}"
        try:
            known = orjson.loads(line) if line.strip() else None
        except orjson.JSONDecodeError:
            if number == len(lines) and counts:
                log.warning("%s: is no whole exchange, and was cut off", place)
                file.truncate(file.seek(-len(line), SEEK_END))
                return counts
            known = line
        if isinstance(known, Mapping) and "number" in known and "answer" in known:
            counts[str(known.get("namespace", ""))] += 1
        elif known is not None:
            raise ConfigError(f"record: {place}: is no exchange of a journal; choose another name, or --force")
    if lines and not lines[-1].endswith(b"\n"):
        _write(file, b"\n")
    return counts


def _line_of(recorded: RecordedExchange, exchange: Exchange) -> bytes:
    """An exchange as a line of a journal, with all its events, where it came from, and its timing.

    Times on clocks that run within one process are left out, since a file may be appended to by another.
    """
    told = by_vendor(exact_transcript_of(exchange, most_events=None))
    line = {key: value for key, value in told.items() if key not in ("arrived", "ahead")}
    return orjson.dumps(line | {"upstream": recorded.target.url, "timing": _timing(recorded, exchange)}) + b"\n"


def _timing(recorded: RecordedExchange, exchange: Exchange) -> dict[str, Any]:
    """When the first token came, and the gaps between the events from there on.

    A stream may begin with events that only announce an answer, such as `response.created`.
    """
    instants, announced = [*exchange.record.event_instants()], 0
    if is_stream(recorded.content_type):
        events = events_in(b"".join(recorded.pieces))
        announced = next(
            (place for place, event in enumerate(events) if any(map(has_output, events_of(event, streamed=True)))), 0
        )
    gaps = [later - earlier for earlier, later in pairwise(instants[announced:])]
    return {"ttft": instants[announced] if announced else recorded.first, "gaps": gaps}


# --- what is in it already ------------------------------------------------------------------------------------------


class Replays:
    """The answers of a recording, as its stubs give them: to equal requests in turn, and the last one again.

    What is `volatile` in requests does not make them differ. Answers that are due to the state of the vendor or the
    caller (limits, keys, outages) do not count: their requests are forwarded again. Raises ConfigError.
    """

    def __init__(
        self, path: Path, settings: Settings, dialects: Mapping[str, Dialect], volatile: Sequence[str] = ()
    ) -> None:
        try:
            data = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise ConfigError(f"record: {path}: {error.strerror}") from None
        source, exchanges = str(path), exchanges_in("record", data, str(path)) if data.strip() else []
        lasting = [each for each in exchanges if isinstance(each, Recorded) and each.status not in CIRCUMSTANCES]
        how = Replaying(volatile=tuple(volatile))
        self._stubs = served(stubs_from(lasting, source, settings, dialects, how), source)
        self._registry = StubRegistry()

    def answer(self, plan: Plan) -> bool:
        """Complete the plan of a request with the next recorded answer to it; return False if there is none."""
        choose(plan, self._registry, self._stubs)
        if plan.rule is None:
            return False
        complete(plan)
        return True
