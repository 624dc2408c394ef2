"""Config files: their settings, the files that they name, and settings given besides."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mockserver.core.installed import load_dialects
from mockserver.server.files.sources import Sources
from mockserver.server.files.traces import TraceFiles, together
from mockserver.state.configuration.config import from_toml
from mockserver.state.configuration.options import settle
from mockserver.state.routing import operations_of
from mockserver.state.settings import ConfigError, Settings

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def settings_by(
    config: Path | None,
    read_beside: Callable[[TraceFiles], Mapping[str, Any]],
    *,
    usual: Mapping[str, Any] = _NOTHING,
    without: Collection[str] = (),
    pinned: Collection[str] = (),
    sources: Sources | None = None,
) -> Settings:
    """The settings of a config file, if there is one, over the `usual` ones and under those that are given besides.

    `read_beside` reads the latter, which may name traces. The routes of the file override neither these nor the
    `pinned` ones; settings named in `without` are ignored in the file. File names in the config are relative to it,
    others to the working directory. All files that are read are noted in the `sources`. Raises ConfigError.
    """
    sources = Sources() if sources is None else sources
    here = TraceFiles(Path(), sources=sources)
    there = TraceFiles(config.parent if config else Path(), sources=sources)
    beside = read_beside(here)
    file = read_config(config, there, sources) if config else {}
    return settle(
        usual,
        {name: value for name, value in file.items() if name not in without},
        beside,
        {"pinned": frozenset((*pinned, *beside)), "traces": together(there.traces(), here.traces())},
    )


def read_config(path: Path, traces: TraceFiles, sources: Sources | None = None) -> dict[str, Any]:
    """The settings of a config file, by name; its latencies may name `traces`. Raises ConfigError, with the file and
    the line. All files that are read are noted in the `sources`."""
    sources = Sources() if sources is None else sources
    try:
        text = sources.note(path).read_text(encoding="utf-8-sig")
        operations = operations_of(load_dialects())
        file = from_toml(
            text, str(path), lambda name: sources.note(path.parent / name).read_bytes(), traces, operations
        )
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    # File names are relative to the config file, wherever the server is started.
    return file | {"stubs": str(path.parent / file["stubs"])} if file.get("stubs") else file
