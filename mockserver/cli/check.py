"""`mockserver check`: whether a config file, a stub file or a folder of them is valid."""

import argparse
from pathlib import Path

from mockserver.cli.command import Command, argument, checked_names
from mockserver.core.installed import load_dialects
from mockserver.core.messages import pluralize
from mockserver.server.files import TraceFiles, configured_stubs, read_config
from mockserver.state.settings import Settings
from mockserver.state.settings.options import settle


def check(options: argparse.Namespace) -> int:
    """Read the file as a server would, and say what is in it."""
    path: Path = options.config
    if path.is_dir() or path.suffix == ".json":
        stubs = configured_stubs(Settings(stubs=str(path)), load_dialects())
        print(f"{path}: valid, with {pluralize(len(stubs), 'stub')}")
        return 0
    settings = settle(read_config(path, TraceFiles(path.parent)))
    prepared = checked_names(settings)
    contents = [f"{pluralize(len(settings.routes), 'route')} of its own"] if settings.routes else []
    contents += [pluralize(len(prepared), "stub")] if prepared else []
    print(f"{path}: valid{', with ' if contents else ''}{' and '.join(contents)}")
    return 0


COMMAND = Command(
    check,
    (argument("config", type=Path, metavar="FILE|DIR", help="a config or stub file, or a folder of stub files"),),
)
