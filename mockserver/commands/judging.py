"""Commands about what has been or is going on: verdict, health."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from mockserver.commands.command import Command, argument
from mockserver.commands.settled import settings_of
from mockserver.control.settings import ConfigError

if TYPE_CHECKING:
    from mockserver.control.verify.declarations import Declaration


DECLARED = (
    argument("--handles", metavar="WORD", help="what correct handling is: retry, raise or fallback"),
    argument("--outcome", metavar="WORD", help="what the application made of it: answer, error, cancelled"),
    argument("--patience", type=float, default=60.0, metavar="SECONDS", help="the longest silence to bear"),
)


def _verdict(options: argparse.Namespace) -> int:
    import json

    from mockserver.testing.judging import verdict_on

    declared = declared_by("verdict", options)
    token = options.admin_token or os.environ.get("MOCKSERVER_ADMIN_TOKEN")
    clean, words, verdict = verdict_on(options.source, declared, options.namespace, token)
    print(json.dumps(verdict, indent=2) if options.json else words)
    return 0 if clean else 1


def declared_by(command: str, options: argparse.Namespace) -> "Declaration":
    """The declaration that the options of a command make."""
    from mockserver.control.verify.declarations import Declaration, DeclarationError

    try:
        return Declaration(options.handles, options.outcome, options.patience)
    except DeclarationError as error:
        raise ConfigError(f"{command}: {error}") from None


def _health(options: argparse.Namespace) -> int:
    from mockserver.serving.addresses import url_at
    from mockserver.serving.asking import ask

    settings = settings_of(options)
    url = (options.url or url_at(settings.host, settings.port, secure=settings.tls_cert is not None)).rstrip("/")
    well, said = ask(url, ready=options.ready)
    print(f"{url}: {said}", file=sys.stdout if well else sys.stderr)
    return 0 if well else 1


JUDGING = (
    Command(
        "verdict",
        _verdict,
        "judge how clients behaved; exit code 1 for faults",
        (
            argument(
                "source",
                metavar="FILE|URL",
                help="a journal as JSON lines or a test run's report (- reads standard input), or a server",
            ),
            *DECLARED,
            argument("--namespace", default="", metavar="NAME", help="whose journal of a server"),
            argument("--admin-token", metavar="TOKEN", help="the server's (environment: MOCKSERVER_ADMIN_TOKEN)"),
            argument("--json", action="store_true", help="print the verdict in full, as JSON"),
        ),
    ),
    Command(
        "health",
        _health,
        "ask a running server how it is; exit code 0 when it is well",
        (
            argument("url", nargs="?", default=None, metavar="URL", help="default: the settings' host and port"),
            argument("--ready", action="store_true", help="ask whether its latest files are in force, and it listens"),
        ),
        takes_settings=True,
        matter=("host", "port", "tls_cert"),
    ),
)
