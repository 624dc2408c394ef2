"""Trace files: the recordings that latencies name, read together with the settings."""

from pathlib import Path

from mockserver.latency.traces import NO_TRACES, Recording, TraceError, Traces, read_trace
from mockserver.server.files.sources import Sources
from mockserver.state.settings import ConfigError

_MOST_BYTES = 32 * 1024 * 1024


class TraceFiles:
    """Reads each recording once; file names are relative to a folder. Recordings that are already `known` are not read
    again, and the files that are read are noted in the `sources`."""

    def __init__(self, folder: Path, known: Traces = NO_TRACES, sources: Sources | None = None) -> None:
        self._folder = folder
        self._known = known
        self._sources = Sources() if sources is None else sources
        self._read: dict[Recording, tuple[float, ...]] = {}

    def __call__(self, recording: Recording) -> tuple[float, ...]:
        """The times of a recording, in seconds. Raises TraceError."""
        found = self._known.known.get(recording) or self._read.get(recording)
        if found is None:
            path = self._sources.note(self._folder / recording.file)
            found = self._read[recording] = read_trace(recording, _data(path))
        return found

    def traces(self) -> Traces:
        """All recordings that are known by now."""
        return Traces(self._read).over(self._known)


def together(config: Traces, options: Traces) -> Traces:
    """The recordings of the config file and of the options. Raises ConfigError if the same name refers to two files."""
    for recording in config.known.keys() & options.known.keys():
        if config.known[recording] != options.known[recording]:
            raise ConfigError(
                f"latency: {recording.file} names different files in the config's folder and in the working directory; "
                "write the full path of one of them"
            )
    return options.over(config)


def _data(path: Path) -> bytes:
    if not path.is_file():
        raise TraceError(f"file {path} does not exist")
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise TraceError(f"{path}: has more than {_MOST_BYTES // 1024**2} MiB")
    return data
