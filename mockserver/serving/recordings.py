"""The files of `mockserver stubs` and `mockserver drift`: recordings that are read, and stubs that are written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mockserver.control.recordings.drift import Compared, compare
from mockserver.control.recordings.recorded import Lost, Recorded, RecordingError
from mockserver.control.recordings.stubs import Made, stubs_of
from mockserver.control.recordings.traffic import read_recording
from mockserver.control.routing import Router
from mockserver.control.settings import ConfigError, Settings
from mockserver.control.toml_writing import toml_of
from mockserver.core.dialects import Dialect

# So many exchanges that no stub was made of are listed one by one: a browser records all that a page loads.
_MOST_LISTED = 20


def stubs_from(data: bytes, source: str, settings: Settings, dialects: Mapping[str, Dialect], *, paced: bool) -> Made:
    """The stubs of a recording whose file is called `source`. Raises ConfigError where it is none."""
    exchanges = _exchanges("stubs", data, source)
    anybody = _for_anybody(settings)
    return stubs_of(exchanges, Router(dialects, anybody), anybody, stem_of(source), paced=paced)


def drift_from(
    data: bytes, source: str, settings: Settings, dialects: Mapping[str, Dialect], ignored: Sequence[str] = ()
) -> list[Compared | Lost]:
    """The answers of a recording beside those given here; its places name the file `source`. Raises ConfigError."""
    exchanges = (each._replace(place=f"{source}, {each.place}") for each in _exchanges("drift", data, source))
    anybody = _for_anybody(settings)
    return list(compare(exchanges, Router(dialects, anybody), anybody, ignored))


def _exchanges(command: str, data: bytes, source: str) -> list[Recorded | Lost]:
    try:
        return read_recording(data, _in_yaml)
    except RecordingError as error:
        raise ConfigError(f"{command}: {source}: {error}") from None


def _for_anybody(settings: Settings) -> Settings:
    """The settings of a server that takes any key: those of a recording are masked, and were good at the time."""
    return replace(settings, auth="off")


def _in_yaml(data: bytes) -> object:
    """What is written in YAML. Raises RecordingError."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise RecordingError("is YAML, which PyYAML reads: pip install pyyaml") from None
    # What is written in C reads a long cassette ten times as fast, where it is there.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(data, loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise RecordingError(f"is no YAML: {' '.join(str(error).split())}") from None


def stem_of(source: str) -> str:
    """What stubs and files of a recording are called after."""
    return re.sub(r"[^\w-]+", "-", Path(source).stem).strip("-_") or "recorded"


def text_of(made: Made) -> str:
    """The stub file, where all of it can stand in one. Raises ConfigError."""
    if made.files:
        count = f"{len(made.files)} bodies want files" if len(made.files) > 1 else "a body wants a file"
        raise ConfigError(f"stubs: {count} beside the stub file (streams, and long ones): say where, by --out DIR")
    return toml_of("stub", made.stubs)


def write_stubs(made: Made, stem: str, out: Path) -> Path:
    """Write the stub file and the bodies that it names. Raises ConfigError where there is one already."""
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
        raise ConfigError(f"stubs: {path} is there already; remove it, or say another place by --out") from None
    except OSError as error:
        raise ConfigError(f"stubs: {error.filename or out}: {error.strerror}") from None
    return path


def complaints(lost: Sequence[Lost]) -> list[str]:
    """A line for each exchange that was left out, with the reason; beyond some only how many."""
    lines = [f"{each.place}: {each.why}; left out" for each in lost[:_MOST_LISTED]]
    return lines + [f"and {len(lost) - _MOST_LISTED} more were left out"] * (len(lost) > _MOST_LISTED)
