"""Recorded traces: files of measured times.

The extension of its name tells the format of a file:

    .csv              a row of names, then values; `column` is the name of theirs
    .jsonl, .ndjson   a JSON value per line; in objects `column` leads to it, as `timing.ttft` does, and of a list
                      each item counts
    any other         a value per line; lines that begin with # are comments

A value is a duration with its unit (`180ms`) or a plain number, in seconds unless another `unit` is given. A missing
value (an empty cell, null, an absent key) means that nothing was measured. A mistake raises `TraceError`, which names
the file and the line. Nothing here opens files: the readers of settings pass in their contents.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

from mockserver.core.json_values import read_json
from mockserver.core.messages import unknown_name
from mockserver.latency.profiles import UNITS, seconds_of

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
# No measured time is longer than this, in seconds.
_LONGEST = 1_000_000_000
_MOST_VALUES = 100_000


class TraceError(ValueError):
    """A trace that cannot be read; the message names the file, and the line if one is to blame."""


class TraceFile(NamedTuple):
    """The times in a file, by the name that it is given, or those in one column of it."""

    file: str
    column: str | None = None
    unit: str | None = None


# Gives the times of a recording, in seconds; raises TraceError.
Tracing = Callable[[TraceFile], tuple[float, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Traces:
    """The recordings that have been read, in seconds; no others are available.

    Instances are compared by identity, even if they hold the same times, so that caches can use them as keys.
    """

    known: Mapping[TraceFile, tuple[float, ...]] = field(default_factory=dict)

    def __call__(self, recording: TraceFile) -> tuple[float, ...]:
        """The times of a recording. Raises TraceError if it has not been read."""
        found = self.known.get(recording)
        if found is None:
            raise TraceError(
                f"the trace {_described(recording)} has not been loaded. Trace files are loaded only if a latency, "
                "or output_tokens, of the server's own settings names them: options, environment, the config file and "
                "its routes. Headers and the admin API can only use those; stubs cannot use trace files"
            )
        return found

    def over(self, older: "Traces") -> "Traces":
        """These recordings, and those of older ones that are not among them."""
        if not self.known:
            return older
        return self if older.known.keys() <= self.known.keys() else Traces({**older.known, **self.known})


NO_TRACES = Traces()


def read_trace(recording: TraceFile, data: bytes) -> tuple[float, ...]:
    """The times that a file holds, in seconds and in their order. Raises TraceError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TraceError(f"{recording.file}: is not UTF-8 text") from None
    cells = _FORMS.get(PurePath(recording.file).suffix.lower(), _plain_lines)
    values: list[float] = []
    for line, cell in cells(recording, text):
        values.append(_seconds(recording, line, cell))
        if len(values) > _MOST_VALUES:
            raise TraceError(f"{recording.file}, line {line}: has more than {_MOST_VALUES} values")
    if not values:
        raise TraceError(f"{_described(recording)}: contains no times")
    return tuple(values)


# The values of a file before they are read, each with its line.
_Cells = Iterator[tuple[int, object]]


def _plain_lines(recording: TraceFile, text: str) -> _Cells:
    if recording.column is not None:
        raise TraceError(f"{recording.file}: column can only be used for files whose names end in {', '.join(_FORMS)}")
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def _table_cells(recording: TraceFile, text: str) -> _Cells:
    rows = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        names = [name.strip() for name in next(rows, [])]
        place = _column(recording, names)
        for row in rows:
            if len(row) > place and row[place].strip():
                yield rows.line_num, row[place]
    except csv.Error as error:
        raise TraceError(f"{recording.file}, line {rows.line_num}: {error}") from None


def _column(recording: TraceFile, names: list[str]) -> int:
    """Which cell of a row is meant: the one of the column's name, or the only one."""
    if recording.column is None:
        if len(names) == 1 and not _NUMBER.fullmatch(names[0]) and seconds_of(names[0]) is None:
            return 0
        raise TraceError(
            f"{recording.file}, line 1: name the column to use, such as column={names[0]}"
            if len(names) > 1
            else f"{recording.file}, line 1: a .csv file must begin with a line that names its columns"
        )
    if recording.column not in names:
        raise TraceError(f"{recording.file}, line 1: {unknown_name('column', recording.column, names)}")
    return names.index(recording.column)


def _json_cells(recording: TraceFile, text: str) -> _Cells:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found = _reached(recording, read_json(line))
        except ValueError:
            raise TraceError(f"{recording.file}, line {number}: is not valid JSON") from None
        for cell in found if isinstance(found, list) else [found]:
            if isinstance(cell, dict):
                raise TraceError(f"{recording.file}, line {number}: name the key to use, such as column=timing.ttft")
            if cell is not None:
                yield number, cell


def _reached(recording: TraceFile, value: object) -> object:
    """What a column's name leads to, None where it leads nowhere."""
    for key in recording.column.split(".") if recording.column is not None else ():
        value = value.get(key) if isinstance(value, dict) else None
    return value


_FORMS: Mapping[str, Callable[[TraceFile, str], _Cells]] = {
    ".csv": _table_cells,
    ".jsonl": _json_cells,
    ".ndjson": _json_cells,
}


def _seconds(recording: TraceFile, line: int, cell: object) -> float:
    text = cell.strip() if isinstance(cell, str) else json.dumps(cell)
    seconds = seconds_of(text)
    if seconds is None and _NUMBER.fullmatch(text):
        seconds = float(text) * UNITS[recording.unit or "s"]
    if seconds is None or seconds > _LONGEST:
        raise TraceError(f"{recording.file}, line {line}: {text[:40]!r} is not a duration such as '180ms' or 0.18")
    return seconds


def _described(recording: TraceFile) -> str:
    more = {"column": recording.column, "unit": recording.unit}
    return ", ".join([recording.file, *(f"{key}={value}" for key, value in more.items() if value is not None)])
