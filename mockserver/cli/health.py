"""`mockserver health`: whether a server is well."""

import argparse
import sys

from mockserver.cli.command import Command, argument, settings_of
from mockserver.server.urls import check_health, url_at


def run_health(options: argparse.Namespace) -> int:
    """Ask a running server, and print what it says; exit code 1 if it is not well."""
    settings = settings_of(options)
    url = (options.url or url_at(settings.host, settings.port, secure=settings.is_secure)).rstrip("/")
    well, state = check_health(url, ready=options.ready)
    print(f"{url}: {state}", file=sys.stdout if well else sys.stderr)
    return 0 if well else 1


COMMAND = Command(
    run_health,
    (
        argument("url", nargs="?", default=None, metavar="URL", help="default: the host and port of the settings"),
        argument(
            "--ready",
            action="store_true",
            help="also check that it listens, with its latest config and stub files in force",
        ),
    ),
    takes_settings=True,
    matter=("host", "port", "tls_cert"),
)
