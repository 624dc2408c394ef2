"""The settings of a command: from options, environment and config file."""

import argparse
import os
from collections.abc import Container, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mockserver.server.files.config import settings_by
from mockserver.server.files.sources import Sources
from mockserver.state.configuration.names import check_all
from mockserver.state.configuration.options import BY_NAME, OPTIONS, from_environment, from_texts
from mockserver.state.settings import Settings
from mockserver.state.stubs.registry import Stub

# The settings in groups, for help.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "answers": (
        *("dialect", "edition", "seed", "stubs", "unmatched", "strict", "created", "ids", "auth", "cors", "max_body"),
        *("deliver", "output_tokens"),
    ),
    "timing": ("latency", "speed", "prompt_cache", "writes"),
    "faults and limits": ("fault", "quota"),
    "network": ("host", "port", "tls_cert", "tls_key", "allow_host", "admin_token", "workers"),
    "journal and log": ("journal", "log_level", "log_format"),
}
_SETTINGS = "Each can also be set by an environment variable, such as MOCKSERVER_LATENCY=off, and in a config file."
_OTHERS = f"{_SETTINGS} All other settings of mockserver serve are accepted too."


def add_settings(parser: argparse.ArgumentParser, matter: Container[str]) -> None:
    """Let a command take all settings as options; its help lists those that `matter`, or all."""
    settings = parser.add_argument_group("settings", _OTHERS if matter else _SETTINGS)
    settings.add_argument("--config", type=Path, metavar="FILE", help="a TOML file with settings")
    for title, names in GROUPS.items():
        group = settings if matter else parser.add_argument_group(title)
        for name in names:
            option = BY_NAME[name]
            text = option.help if not matter or name in matter else argparse.SUPPRESS
            action = "append" if option.often else "store"
            argument = group.add_argument(option.flag, action=action, dest=name, metavar=option.metavar, help=text)
            if option.switch:
                argument.nargs, argument.const = "?", "true"


def settings_of(
    options: argparse.Namespace, sources: Sources | None = None, usual: Mapping[str, Any] = MappingProxyType({})
) -> Settings:
    """Settings from the command line, over the environment, over the config file, over the defaults.

    `usual` are the command's own defaults. The files that they are read from are noted in the `sources`.
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
    """The config file named by an option or the environment."""
    named = os.environ.get("MOCKSERVER_CONFIG")
    return options.config or (Path(named) if named else None)


def checked_names(settings: Settings) -> tuple[Stub, ...]:
    """Check the names in settings; return the stubs of the settings."""
    from mockserver.core.installed import load_dialects
    from mockserver.server.files.stubs import standing_stubs

    dialects = load_dialects()
    check_all(settings, dialects)
    return standing_stubs(settings, dialects)
