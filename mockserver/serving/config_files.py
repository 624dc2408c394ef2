"""Config files: what one says, and what the files say that it names."""

from pathlib import Path
from typing import Any

from mockserver.control.config import from_toml
from mockserver.control.routing import operations_of
from mockserver.control.settings import ConfigError
from mockserver.core.installed import load_dialects
from mockserver.serving.sources import Sources
from mockserver.serving.trace_files import TraceFiles


def read_config(path: Path, traces: TraceFiles, sources: Sources | None = None) -> dict[str, Any]:
    """The settings of a config file, by their names; its latencies may name `traces`. Raises ConfigError, with the file
    and the line. What is read is noted in the `sources`."""
    sources = Sources() if sources is None else sources
    try:
        text = sources.note(path).read_text(encoding="utf-8")
        known = operations_of(load_dialects())
        told = from_toml(text, str(path), lambda name: sources.note(path.parent / name).read_bytes(), traces, known)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not a UTF-8 text") from None
    # What a file names lies beside it, wherever the server is started.
    return told | {"stubs": str(path.parent / told["stubs"])} if told.get("stubs") else told
