"""`mockserver stubs`: stubs made from recorded traffic."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from mockserver.cli.command import Command, argument, checked_names, print_error, read_input, settings_of
from mockserver.core.installed import load_dialects
from mockserver.core.messages import pluralize
from mockserver.core.toml import toml_of
from mockserver.recordings.stubs import EXACTLY, MATCHING, Made, complaints, read_replaying, stem_of, stubs_from
from mockserver.recordings.traffic import exchanges_in
from mockserver.state.settings import ConfigError


def make_stubs(options: argparse.Namespace) -> int:
    """Print the stubs of a recording, or write them to a folder; exit code 1 if there is none."""
    # Existing stubs must not influence how a request is read.
    settings = replace(settings_of(options), stubs=None, stub=())
    checked_names(settings)
    source: str = options.recording
    how = read_replaying(options.match, options.volatile, options.pace)
    made = stubs_from(exchanges_in("stubs", read_input(source), source), source, settings, load_dialects(), how)
    for complaint in complaints(made.lost):
        print_error(f"{source}, {complaint}")
    if not made.stubs:
        print_error(f"{source}: no stub can be made from it")
        return 1
    if options.out is None:
        if made.files:
            bodies = pluralize(len(made.files), "stream or long body needs a file", "streams or long bodies need files")
            raise ConfigError(f"stubs: {bodies} beside the stub file; choose a folder with --out DIR")
        sys.stdout.write(toml_of("stub", made.stubs))
        return 0
    path = _write_stubs(made, stem_of(source), options.out)
    files = pluralize(len(made.files), "file")
    print(f"Written: {path}, with {pluralize(len(made.stubs), 'stub')}, and {files} beside it")
    print(f"Serve: mockserver serve --stubs {options.out}")
    return 0


def _write_stubs(made: Made, stem: str, out: Path) -> Path:
    """Write the stub file and the bodies that it names. Raises ConfigError if the stub file exists already."""
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
        raise ConfigError(f"stubs: {path} exists already; remove it, or choose another folder with --out") from None
    except OSError as error:
        raise ConfigError(f"stubs: {error.filename or out}: {error.strerror}") from None
    return path


COMMAND = Command(
    make_stubs,
    (
        argument("recording", metavar="FILE", help="*.jsonl, *.har or *.yaml; - for standard input"),
        argument("--out", type=Path, metavar="DIR", help="the folder for the stub file and long bodies"),
        argument(
            "--match",
            choices=MATCHING,
            default=EXACTLY.match,
            help="answer only requests that are the same (exact, the default), or all that look alike (lenient)",
        ),
        argument(
            "--volatile",
            action="append",
            default=[],
            metavar="PATH",
            help="what may differ in an exact match: $.seed, or $.messages[*].content =~ REGEX; may be repeated",
        ),
        argument("--pace", action="store_true", help="answer as fast as recorded"),
    ),
    takes_settings=True,
    matter=("dialect", "edition"),
    about="Each stub matches the recorded request and returns the recorded answer byte for byte. Generated ids, "
    "timestamps and who asks do not count; with --match lenient hardly more than the last message does, and answers to "
    "requests that differ are marked as stale. API "
    "keys and cookies are left out. Without --out the stubs are printed, unless a body needs a file of its own. "
    "Use the settings of the server that will use the stubs: its routes and its edition matter.",
)
