"""`mockserver routes`: all routes of a server."""

import argparse

from mockserver.cli.command import Command, checked_names, settings_of
from mockserver.core.installed import load_dialects
from mockserver.routes import Routes


def list_routes(options: argparse.Namespace) -> int:
    """Print method, path, dialect and operation of each route."""
    settings = settings_of(options)
    checked_names(settings)
    for method, path, dialect, operation, others in Routes(load_dialects(), settings).table():
        shared = f" (or, by the request, {', '.join(others)})" if others and dialect.name != settings.bare else ""
        print(f"{method:5} {path:42} {dialect.name:9} {operation.name}{shared}")
    return 0


COMMAND = Command(list_routes, takes_settings=True, matter=("dialect", "bare"))
