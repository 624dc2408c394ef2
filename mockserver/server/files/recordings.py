"""Recordings as files: read for `mockserver stubs`, `mockserver drift` and replays; and the stubs that are written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mockserver.core.dialects import Dialect
from mockserver.core.naming import counted
from mockserver.core.toml_writing import toml_of
from mockserver.recordings.drift import Compared, compare
from mockserver.recordings.recorded import Lost, Recorded, RecordingError
from mockserver.recordings.stubs import Made, stubs_of
from mockserver.recordings.traffic import read_recording
from mockserver.routes import Routes
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.stubs.notation import read_stub
from mockserver.state.stubs.registry import Stub

# How many exchanges without a stub are listed individually: a browser records everything that a page loads.
_MOST_LISTED = 20


class Replayed(NamedTuple):
    """The stubs that answer as a recording says, and a line for each exchange that was left out, with the reason."""

    stubs: tuple[Stub, ...]
    left_out: tuple[str, ...]


def stubs_from(
    data: bytes,
    source: str,
    settings: Settings,
    dialects: Mapping[str, Dialect],
    *,
    paced: bool,
    command: str = "stubs",
) -> Made:
    """The stubs of a recording from the file `source`. Raises ConfigError, which names the command, if it is not a
    recording."""
    exchanges = exchanges_in(command, data, source)
    anybody = _for_anybody(settings)
    return stubs_of(exchanges, Routes(dialects, anybody), anybody, stem_of(source), paced=paced)


def replay_from(
    data: bytes, source: str, settings: Settings, dialects: Mapping[str, Dialect], *, paced: bool
) -> Replayed:
    """The same stubs as a server uses them. Raises ConfigError if there is none."""
    made = stubs_from(data, source, settings, dialects, paced=paced, command="replay")
    left_out = complaints(made.lost)
    if not made.stubs:
        raise ConfigError("\n".join([f"replay: {source}: no stub can be made from it", *left_out]))
    return Replayed(tuple(read_stub(table, files=made.files.__getitem__) for table in made.stubs), tuple(left_out))


def drift_from(
    data: bytes, source: str, settings: Settings, dialects: Mapping[str, Dialect], ignored: Sequence[str]
) -> list[Compared | Lost]:
    """The recorded answers compared with those given here; places name the file `source`. Raises ConfigError."""
    exchanges = (each._replace(place=f"{source}, {each.place}") for each in exchanges_in("drift", data, source))
    anybody = _for_anybody(settings)
    return list(compare(exchanges, Routes(dialects, anybody), anybody, ignored))


def exchanges_in(command: str, data: bytes, source: str) -> list[Recorded | Lost]:
    """The exchanges of a recording from the file `source`. Raises ConfigError, which names the command."""
    try:
        return read_recording(data, _in_yaml)
    except RecordingError as error:
        raise ConfigError(f"{command}: {source}: {error}") from None


def _for_anybody(settings: Settings) -> Settings:
    """The settings with any key accepted: keys in a recording are masked, and were valid at the time."""
    return replace(settings, auth="off")


def _in_yaml(data: bytes) -> object:
    """The value of a YAML document. Raises RecordingError."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise RecordingError("is YAML, which needs PyYAML: pip install pyyaml") from None
    # The C loader, if available, reads a long cassette ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(data, loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise RecordingError(f"is not valid YAML: {' '.join(str(error).split())}") from None


def stem_of(source: str) -> str:
    """The prefix of the names of stubs and files made of a recording."""
    return re.sub(r"[^\w-]+", "-", Path(source).stem).strip("-_") or "recorded"


def text_of(made: Made) -> str:
    """The stub file, if everything fits into one file. Raises ConfigError."""
    if made.files:
        bodies = counted(len(made.files), "stream or long body needs a file", "streams or long bodies need files")
        raise ConfigError(f"stubs: {bodies} beside the stub file; choose a folder with --out DIR")
    return toml_of("stub", made.stubs)


def write_stubs(made: Made, stem: str, out: Path) -> Path:
    """Write the stub file and the bodies that it names. Raises ConfigError if the stub file exists already."""
    path = out / f"{stem}.toml"
    try:
        out.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            for name, body in made.files.items():
                (out / name).parent.mkdir(exist_ok=True)
                (out / name).write_bytes(body)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(toml_of("stub", made.stubs))
    except FileExistsError:
        raise ConfigError(f"stubs: {path} exists already; remove it, or choose another folder with --out") from None
    except OSError as error:
        raise ConfigError(f"stubs: {error.filename or out}: {error.strerror}") from None
    return path


def complaints(lost: Sequence[Lost]) -> list[str]:
    """A line for each exchange that was left out, with the reason; beyond a limit only their number."""
    lines = [f"{each.place}: {each.why}; left out" for each in lost[:_MOST_LISTED]]
    return lines + [f"and {len(lost) - _MOST_LISTED} more were left out"] * (len(lost) > _MOST_LISTED)
