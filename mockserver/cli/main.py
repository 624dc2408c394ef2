"""The command line.

Its commands: serve, dev, run, routes, check, plan, presets, schema, record, stubs, certs, client, tokenizer, verdict,
drift, health, completion.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TextIO

from mockserver.cli.command import Command, complain
from mockserver.cli.judging import JUDGING
from mockserver.cli.looking import LOOKING
from mockserver.cli.making import MAKING
from mockserver.cli.recording import RECORDING
from mockserver.cli.serving import SERVING
from mockserver.cli.settled import add_settings
from mockserver.core.naming import unknown
from mockserver.core.version import __version__
from mockserver.state.configuration.options import OPTIONS
from mockserver.state.settings import ConfigError


def _completion(options: argparse.Namespace) -> int:
    from mockserver.cli.completing import completion

    sys.stdout.write(completion(COMMANDS))
    return 0


COMMANDS: tuple[Command, ...] = (
    *SERVING,
    *LOOKING,
    *RECORDING,
    *MAKING,
    *JUDGING,
    Command(
        "completion",
        _completion,
        "print a completion script for bash and zsh",
        about='In ~/.bashrc or ~/.zshrc: eval "$(mockserver completion)"',
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0, or 2 for invalid arguments or settings."""
    if arguments is None:
        _open_standard_files()
        _take_any_text(sys.stdout)
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    arguments, behind = _parted(arguments)
    if not arguments:
        _parser(arguments).print_help(sys.stderr)
        return 2
    names = [command.name for command in COMMANDS]
    if not arguments[0].startswith("-") and arguments[0] not in names:
        complain(unknown("command", arguments[0], names))
        return 2
    options, strange = _parser(arguments).parse_known_args(arguments)
    options.behind = behind
    command: Command = options.command
    try:
        if strange:
            raise ConfigError(_complaint_of(strange[0], command))
        return command.run(options)
    except ConfigError as error:
        complain(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of the output has stopped reading; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _open_standard_files() -> None:
    """Open what a shell has closed (`2>&-`) to nowhere: a socket that took such a number would be written to, and
    inherited.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)


def _take_any_text(output: TextIO | None) -> None:
    """Let an output take texts in any script: a file or pipe as UTF-8, whatever the locale; a terminal what it can."""
    if isinstance(output, TextIOWrapper):
        output.reconfigure(encoding=output.encoding if output.isatty() else "utf-8", errors="replace")


def _parted(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments, and those after `--` that are executed as a command of its own, which are not parsed."""
    if arguments[:1] not in (["run"], ["record"]) or "--" not in arguments:
        return arguments, ()
    end = arguments.index("--")
    return arguments[:end], arguments[end + 1 :]


def _complaint_of(word: str, command: Command) -> str:
    """The complaint about an argument that a command does not take."""
    if not word.startswith("--"):
        flag = _meant(word) if command.takes_settings else None
        way_out = f"did you mean {flag} {word}?" if flag else f"see mockserver {command.name} --help"
        return f"{word!r} is an unexpected argument; {way_out}"
    settings = ("--config", *(option.flag for option in OPTIONS)) if command.takes_settings else ()
    return unknown("option", word.partition("=")[0], (*command.own_flags, *settings))


def _meant(word: str) -> str | None:
    """The option whose value a word without an option looks like."""
    return "--config" if word.endswith(".toml") else "--port" if word.isdecimal() else None


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the arguments, with the settings of the command in them."""
    parser = argparse.ArgumentParser(
        prog="mockserver",
        usage="mockserver [-h] [--version] COMMAND ...",
        description="A simulator of LLM inference APIs for offline testing.",
        epilog="Help on a command: mockserver COMMAND --help. To get started: mockserver serve",
    )
    parser.add_argument("--version", action="version", version=f"mockserver {__version__}")
    subparsers = parser.add_subparsers(required=True, title="commands", metavar="COMMAND", prog="mockserver")
    for command in COMMANDS:
        subparser = subparsers.add_parser(
            command.name, help=command.help, description=command.about or None, usage=command.usage
        )
        for names, how in command.arguments:
            subparser.add_argument(*names, **how)
        # Adding those of all commands would take a fiftieth of the server's start.
        if command.takes_settings and command.name in arguments[:1]:
            add_settings(subparser, command.matter)
        subparser.set_defaults(command=command)
    return parser
