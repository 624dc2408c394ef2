"""The settings of a command: by options, environment and config file."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mockserver.control.names import check_all
from mockserver.control.options import OPTIONS, from_environment, from_texts
from mockserver.control.settings import Settings
from mockserver.control.stubs.book import Stub
from mockserver.serving.config_files import settings_by
from mockserver.serving.sources import Sources


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Let a command take all settings as options."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="a TOML file (environment: MOCKSERVER_CONFIG)")
    for option in OPTIONS:
        text = f"{option.help} (environment: {option.variable})"
        action = "append" if option.often else "store"
        argument = parser.add_argument(option.flag, action=action, dest=option.name, metavar=option.metavar, help=text)
        if option.switch:
            argument.nargs, argument.const = "?", "true"


def settings_of(
    options: argparse.Namespace, sources: Sources | None = None, usual: Mapping[str, Any] = MappingProxyType({})
) -> Settings:
    """Settings from the command line, over the environment, over the config file, over the defaults; `usual` are a
    command's own defaults.

    The files that they are read from are noted in the `sources`.
    """
    given = {option.name: getattr(options, option.name) for option in OPTIONS}
    command_line = {name: value for name, value in given.items() if value is not None}
    return settings_by(
        config_path(options),
        lambda traces: from_environment(os.environ, traces) | from_texts(command_line, "option", traces),
        usual=usual,
        sources=sources,
    )


def config_path(options: argparse.Namespace) -> Path | None:
    """The config file that an option or the environment names."""
    named = os.environ.get("MOCKSERVER_CONFIG")
    return options.config or (Path(named) if named else None)


def checked_names(settings: Settings) -> tuple[Stub, ...]:
    """Check the names that settings say; the answer is the stubs that they lead to."""
    from mockserver.core.installed import load_dialects
    from mockserver.serving.stub_files import standing_stubs

    dialects = load_dialects()
    check_all(settings, dialects)
    return standing_stubs(settings, dialects)
