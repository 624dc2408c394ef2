"""What a command is, and what commands share: settings, input and output."""

import argparse
import os
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from mockserver.core.installed import load_dialects
from mockserver.server.files import Sources, configured_stubs, settings_by
from mockserver.server.logs import log, set_up_logs
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.checks import check_all
from mockserver.state.settings.options import BY_NAME, OPTIONS, from_environment, from_names, strange_variables
from mockserver.state.settings.origins import ANY, ANY_MEANS
from mockserver.state.stubs.stub import Stub

# The commands, each the module of its name, with their lines in the help.
COMMANDS: Mapping[str, str] = {
    "serve": "serve the dialects until interrupted",
    "dev": "serve beside a frontend: open the live page and print examples for the project",
    "run": "serve while a command runs, with its clients pointed to the server; exit with its exit code",
    "routes": "list all routes",
    "check": "check a config file, a stub file or a folder of stub files",
    "plan": "show the answer to a request and its timing, without a server",
    "presets": "list the latency presets",
    "schema": "print the JSON Schema of config or stub files, for completion in editors",
    "record": "forward requests to the vendors, and record what they answer",
    "stubs": "make stubs from recorded traffic: a journal, an HTTP Archive (HAR) or a cassette of vcrpy",
    "certs": "make certificates for the vendors' host names",
    "client": "write the handle for tests in JavaScript and TypeScript: mockserver.mjs and its types",
    "tokenizer": "write the tokenizer in the format of Hugging Face, for tools that count tokens themselves",
    "verdict": "report how clients behaved; exit code 1 if there are client mistakes",
    "drift": "compare recorded answers with those of mockserver; exit code 1 if their form differs",
    "health": "check a running server; exit code 0 if it is healthy",
    "completion": "print a completion script for bash and zsh",
}

# The notation of positional arguments that are optional or repeatable.
_MANY = {"?": "[{}]", "*": "{} ...", "+": "{} ..."}

# The settings in groups, for help.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "answers": (
        *("dialect", "bare", "edition", "seed", "stubs", "unmatched", "strict", "created", "ids", "auth", "cors"),
        *("max_body", "deliver", "output_tokens"),
    ),
    "timing": ("latency", "speed", "prompt_cache", "writes"),
    "faults and limits": ("fault", "quota"),
    "network": ("host", "port", "tls_cert", "tls_key", "allow_host", "admin_token", "workers"),
    "journal and log": ("journal", "log_level", "log_format"),
}
_SETTINGS = "Each can also be set by an environment variable, such as MOCKSERVER_LATENCY=off, and in a config file."
_OTHERS = f"{_SETTINGS} All other settings of mockserver serve are accepted too."


Argument = tuple[tuple[str, ...], Mapping[str, Any]]


class Command(NamedTuple):
    """A command: the function that runs it, its own arguments, and whether it also takes all settings.

    Its help has `about` after its line, and lists the settings that `matter`, or all, with their defaults, of which
    `usual` are its own. `words` are the possible values of its first positional argument.
    """

    run: Callable[[argparse.Namespace], int]
    arguments: tuple[Argument, ...] = ()
    takes_settings: bool = False
    about: str = ""
    matter: tuple[str, ...] = ()
    usual: Mapping[str, Any] = MappingProxyType({})
    words: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """The options that it takes."""
        own = tuple(name for names, _ in self.arguments for name in names if name.startswith("--"))
        return (*own, "--config", *(option.flag for option in OPTIONS)) if self.takes_settings else own

    def parser(self, name: str) -> argparse.ArgumentParser:
        """The parser of its arguments."""
        places = (how for names, how in self.arguments if not names[0].startswith("-"))
        words = (_MANY.get(how.get("nargs", ""), "{}").format(how["metavar"]) for how in places)
        usage = " ".join(("mockserver", name, "[options]", *words))
        line = COMMANDS[name]
        description = f"{line[0].upper()}{line[1:]}. {self.about}"
        parser = argparse.ArgumentParser(prog=f"mockserver {name}", usage=usage, description=description)
        for names, how in self.arguments:
            parser.add_argument(*names, **how)
        if self.takes_settings:
            _add_settings(parser, self.matter, replace(Settings(), **self.usual))
        return parser


def load_command(name: str) -> Command:
    """The command of a name. Only what it needs is imported."""
    command: Command = import_module(f"mockserver.cli.{name}").COMMAND
    return command


def argument(*names: str, **how: Any) -> Argument:
    """An argument in argparse's terms."""
    return names, how


def _add_settings(parser: argparse.ArgumentParser, matter: Container[str], defaults: Settings) -> None:
    settings = parser.add_argument_group("settings", _OTHERS if matter else _SETTINGS)
    settings.add_argument("--config", type=Path, metavar="FILE", help="a TOML file with settings")
    for title, names in GROUPS.items():
        group = settings if matter else parser.add_argument_group(title)
        for name in names:
            option = BY_NAME[name]
            default = getattr(defaults, name)
            # A switch is off, and a list empty.
            text = f"{option.help} (default: {default})" if default else option.help
            text = text if not matter or name in matter else argparse.SUPPRESS
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
        lambda traces: from_environment(os.environ, traces) | from_names(command_line, "option", traces),
        usual=usual,
        sources=sources,
    )


def config_path(options: argparse.Namespace) -> Path | None:
    """The config file named by an option or the environment."""
    named = os.environ.get("MOCKSERVER_CONFIG")
    return options.config or (Path(named) if named else None)


def checked_names(settings: Settings) -> tuple[Stub, ...]:
    """Check the names in settings; return the stubs of the settings."""
    dialects = load_dialects()
    check_all(settings, dialects)
    return configured_stubs(settings, dialects)


def begin_to_log(settings: Settings) -> None:
    """Set up logging, and warn first of unknown environment variables, and of pages that may do everything."""
    set_up_logs(settings.log_level, settings.log_format)
    for complaint in strange_variables(os.environ):
        log.warning("%s", complaint)
    if settings.cors == ANY:
        log.warning("%s", ANY_MEANS)


def read_input(source: str) -> bytes:
    """The content of a file, or of standard input for `-`. Raises ConfigError."""
    try:
        return sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise ConfigError(f"{source}: {error.strerror}") from None


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write files, each by its name, to a folder that need not exist yet. Raises ConfigError."""
    if folder.is_file():
        raise ConfigError(f"{folder}: is a file, not a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{error.filename or folder}: {error.strerror}") from None


def announce(settings: Settings, words: str, facts: Mapping[str, object], more: Iterable[str] = ()) -> None:
    """Print a server's message with further lines; if the log is made of objects, as one, with facts instead."""
    if settings.log_format == "text":
        print_message("\n".join((words, *more)))
        return
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = {"time": now, "level": "info", "logger": log.name, "message": words, **facts}
    print_message(orjson.dumps(line).decode())


def print_message(words: str) -> None:
    """Write a server's message to standard output. The server continues if nobody reads it to the end, as in
    `mockserver serve | head -1`, or if it cannot be written."""
    if sys.stdout is None:
        return
    try:
        # In a single write: a reader of the first line gets it all.
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            print_error(f"cannot write to standard output: {error.strerror}")
        discard_output()


def discard_output() -> None:
    """Write no more to standard output, nor what it still holds at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush_outputs() -> None:
    """Flush standard output and error, ignoring closed ones, and those that a signal has interrupted in doing so."""
    for output in (sys.stdout, sys.stderr):
        if output is not None:
            with suppress(OSError, RuntimeError):
                output.flush()


def print_error(words: str) -> None:
    """Write an error message to standard error."""
    print(f"mockserver: {words}", file=sys.stderr)
