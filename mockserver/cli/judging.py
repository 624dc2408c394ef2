"""Commands about clients, recordings and a running server: verdict, drift, health."""

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mockserver.cli.command import Command, argument, complain
from mockserver.cli.settled import checked_names, settings_of
from mockserver.state.settings import ConfigError

if TYPE_CHECKING:
    from mockserver.state.verify.declarations import Declaration


DECLARED = (
    argument("--handles", metavar="WORD", help="how the client should handle failures: retry, raise or fallback"),
    argument("--outcome", metavar="WORD", help="what the application got in the end: answer, error or cancelled"),
    argument(
        "--patience",
        type=float,
        metavar="SECONDS",
        help="the longest silence that a client should endure (default: 60)",
    ),
    argument(
        "--least-attempts", type=int, metavar="COUNT", help="fewer attempts count as giving up early (default: 3)"
    ),
    argument("--most-attempts", type=int, metavar="COUNT", help="more attempts count as a storm (default: 10)"),
)


def _verdict(options: argparse.Namespace) -> int:
    import json

    from mockserver.cli.verdicts import verdict_on

    declared = declared_by("verdict", options)
    token = options.admin_token or os.environ.get("MOCKSERVER_ADMIN_TOKEN")
    clean, words, verdict = verdict_on(options.source, declared, options.namespace, token)
    print(json.dumps(verdict, indent=2) if options.json else words)
    return 0 if clean else 1


def declared_by(command: str, options: argparse.Namespace) -> "Declaration":
    """The declaration from a command's options."""
    from mockserver.state.verify.declarations import Declaration, DeclarationError

    try:
        return Declaration(**declared_in(options))
    except DeclarationError as error:
        raise ConfigError(f"{command}: {error}") from None


def declared_in(options: argparse.Namespace) -> dict[str, Any]:
    """What a command's options declare, by the fields of a declaration."""
    fields = [names[0].removeprefix("--").replace("-", "_") for names, _ in DECLARED]
    return {field: value for field in fields if (value := getattr(options, field)) is not None}


def _drift(options: argparse.Namespace) -> int:
    import json

    from mockserver.cli.inputs import bytes_of
    from mockserver.core.installed import load_dialects
    from mockserver.recordings.drift import Compared
    from mockserver.recordings.recorded import Lost
    from mockserver.recordings.reports import report_of, table_of
    from mockserver.server.files.recordings import complaints, drift_from

    # Stubs, quotas and faults are not part of a vendor's API.
    settings = replace(settings_of(options), stubs=None, stub=(), quota=(), fault=())
    checked_names(settings)
    dialects = load_dialects()
    found = [
        each
        for source in map(str, options.recording)
        for each in drift_from(bytes_of(source), source, settings, dialects, options.ignore)
    ]
    lost = [each for each in found if isinstance(each, Lost)]
    if options.json:
        print(json.dumps(table_of(found), indent=2, ensure_ascii=False))
    else:
        for complaint in complaints(lost):
            complain(complaint)
        print(report_of(found))
    if len(lost) == len(found):
        complain("nothing could be compared")
        return 1
    return 1 if any(isinstance(each, Compared) and each.differences for each in found) else 0


def _health(options: argparse.Namespace) -> int:
    from mockserver.server.urls import check_health, url_at

    settings = settings_of(options)
    url = (options.url or url_at(settings.host, settings.port, secure=settings.is_secure)).rstrip("/")
    well, state = check_health(url, ready=options.ready)
    print(f"{url}: {state}", file=sys.stdout if well else sys.stderr)
    return 0 if well else 1


JUDGING = (
    Command(
        "verdict",
        _verdict,
        "report how clients behaved; exit code 1 if there are faults of conduct",
        (
            argument(
                "source",
                metavar="FILE|URL",
                help="a journal as JSON lines or the report of a test run (- for standard input), or a server",
            ),
            *DECLARED,
            argument("--namespace", default="", metavar="NAME", help="with a server: the namespace to judge"),
            argument(
                "--admin-token",
                metavar="TOKEN",
                help="with a server: its admin token (default: MOCKSERVER_ADMIN_TOKEN)",
            ),
            argument("--json", action="store_true", help="print the full verdict as JSON"),
        ),
    ),
    Command(
        "drift",
        _drift,
        "compare recorded answers with those of mockserver; exit code 1 if their form differs",
        (
            argument(
                "recording", nargs="+", type=Path, metavar="FILE", help="*.jsonl, *.har or *.yaml; - for standard input"
            ),
            argument(
                "--ignore",
                action="append",
                default=[],
                metavar="PLACE",
                help="a place to ignore, such as 'usage.*'; may be repeated",
            ),
            argument("--json", action="store_true", help="print all differences of all exchanges as JSON"),
        ),
        takes_settings=True,
        matter=("dialect", "edition"),
        about="Answers each recorded request anew, with a model that says what was recorded, and compares what a "
        "vendor's server does the same way each time: the status, the headers that clients act on, keys with their "
        "order and types, the sequence of a stream's events, the words of a refusal.",
    ),
    Command(
        "health",
        _health,
        "check a running server; exit code 0 if it is healthy",
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
    ),
)
