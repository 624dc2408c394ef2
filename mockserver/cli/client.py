"""`mockserver client`: the handle for tests in JavaScript and TypeScript."""

import argparse
from pathlib import Path

from mockserver.cli.command import Command, argument, write_files
from mockserver.testing.javascript import client_files


def write_client(options: argparse.Namespace) -> int:
    """Write the module and its types, and say how to use them."""
    write_files(client_files(), options.out)
    print(f"Written: {options.out / 'mockserver.mjs'}, and its types in mockserver.d.mts beside it")
    print("In a test: const mock = (await MockServer.connect()).namespace()")
    print("Run the tests: mockserver run -- npm test")
    return 0


COMMAND = Command(
    write_client,
    (argument("--out", type=Path, default=Path("test"), metavar="DIR", help="the folder to write to (default: test)"),),
    about="One module for Node.js 18 or newer, without dependencies, to keep under version control beside the "
    "tests. Its types contain the dialects, faults and checks of this version, so run the command again after an "
    "update.",
)
