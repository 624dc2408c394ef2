"""The command line: a module for each command; here the command is found, its arguments are parsed, and it runs."""

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TextIO

from mockserver.cli.command import COMMANDS, Command, discard_output, load_command, print_error
from mockserver.core import __version__
from mockserver.core.installed import DialectError
from mockserver.core.messages import unknown_name
from mockserver.state.settings import ConfigError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0, 2 for invalid arguments or settings, or 1 if a file cannot be written."""
    if arguments is None:
        _open_standard_files()
        _encode_any_text(sys.stdout)
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if not arguments:
        _overview().print_help(sys.stderr)
        return 2
    name = arguments[0]
    if name in ("-h", "--help", "--version"):
        _overview().parse_args(arguments[:1])
    if name.startswith("-"):
        complaint = unknown_name("option", name, ("--help", "--version"))
        print_error(f"{complaint}. All others follow a command, as in mockserver serve --port 9000")
        return 2
    if name not in COMMANDS:
        print_error(unknown_name("command", name, COMMANDS))
        return 2
    arguments, child = _split_child(name, arguments[1:])
    try:
        command = load_command(name)
        options, unknown = command.parser(name).parse_known_args(arguments)
        options.child = child
        words: Sequence[str] = getattr(options, "words", ())
        if unknown and (child or not words):
            raise ConfigError(_unexpected(unknown[0], name, command))
        if unknown:
            # They are options of a command that lacks the dashes before it, which is shown with them.
            options.words = arguments[arguments.index(words[0]) :]
        code = command.run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except (ConfigError, DialectError) as error:
        print_error(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # What could not be written must not be written at exit either.
        discard_output()
        if isinstance(error, BrokenPipeError):
            return 141
        print_error(": ".join(filter(None, (error.filename, error.strerror or str(error)))))
        return 1


def _open_standard_files() -> None:
    """Open what a shell has closed (`2>&-`) to nowhere: a socket that took such a number would be written to, and
    inherited.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)


def _encode_any_text(output: TextIO | None) -> None:
    """Let an output take texts in any script: a file or pipe as UTF-8, whatever the locale; a terminal what it can."""
    if isinstance(output, TextIOWrapper):
        output.reconfigure(encoding=output.encoding if output.isatty() else "utf-8", errors="replace")


def _split_child(name: str, arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments of a command, and those after `--` that are executed as a command of its own and not parsed."""
    if name not in ("run", "record") or "--" not in arguments:
        return arguments, ()
    end = arguments.index("--")
    return arguments[:end], arguments[end + 1 :]


def _unexpected(word: str, name: str, command: Command) -> str:
    """The complaint about an argument that a command does not take."""
    if word.startswith("--"):
        return unknown_name("option", word.partition("=")[0], command.flags)
    # The option whose value a word without an option looks like.
    meant = "--config" if word.endswith(".toml") else "--port" if word.isdecimal() else None
    way_out = f"did you mean {meant} {word}?" if meant and command.takes_settings else f"see mockserver {name} --help"
    return f"{word!r} is an unexpected argument; {way_out}"


def _overview() -> argparse.ArgumentParser:
    """The parser of what stands before a command, whose help lists the commands."""
    parser = argparse.ArgumentParser(
        prog="mockserver",
        usage="mockserver [-h] [--version] COMMAND ...",
        description="A simulator of LLM inference APIs for offline testing.",
        epilog="Help on a command: mockserver COMMAND --help. To get started: mockserver serve",
    )
    parser.add_argument("--version", action="version", version=f"mockserver {__version__}")
    commands = parser.add_subparsers(required=True, title="commands", metavar="COMMAND", prog="mockserver")
    for name, line in COMMANDS.items():
        commands.add_parser(name, help=line)
    return parser
