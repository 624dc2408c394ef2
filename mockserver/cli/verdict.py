"""`mockserver verdict`: on a journal file, on the report of a test run, or on a running server."""

import argparse
import json
import os
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import orjson

from mockserver.cli.command import Command, argument, read_input
from mockserver.core.json_values import read_json
from mockserver.core.messages import pluralize
from mockserver.dialects.contracts import Contract
from mockserver.state.journal.views import View
from mockserver.state.namespaces import BAD_NAME, is_name
from mockserver.state.settings import ConfigError
from mockserver.state.verify.client_review import CheckError, ClientFacts, Unjudged, Verdict, review_client
from mockserver.testing.backend import BackendError, OverHttp

_KINDS = "a journal (journal.jsonl of the admin API) or a report of --mockserver-report"
# What a verdict looks at in every exchange.
_NEEDED = ["number", "namespace", "at", "method", "path", "status", "request"]

# What commands that judge clients let one declare.
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


def declared_in(options: argparse.Namespace, command: str) -> dict[str, Any]:
    """What a command's options declare, by the fields of ClientFacts. Raises ConfigError."""
    fields = [names[0].removeprefix("--").replace("-", "_") for names, _ in DECLARED]
    declared = {field: value for field in fields if (value := getattr(options, field)) is not None}
    try:
        ClientFacts(**declared)
    except CheckError as error:
        raise ConfigError(f"{command}: {error}") from None
    return declared


def verdict_on(source: str, declared: ClientFacts, namespace: str, token: str | None) -> tuple[bool, str, Any]:
    """Whether the clients behaved well, as text and as JSON. Raises ConfigError if the source is unusable.

    `source` is a file, `-` for standard input, or a server's URL, which may end in `/ns/<name>`.
    """
    if source.startswith(("http://", "https://")):
        verdict = _of_server(source, declared, namespace, token)
    else:
        try:
            text = read_input(source).decode("utf-8-sig")
        except ConfigError as error:
            raise ConfigError(f"verdict: {error}") from None
        except UnicodeDecodeError:
            raise ConfigError(f"verdict: {source}: is not UTF-8 text") from None
        with suppress(ValueError):
            report = read_json(text)
            if isinstance(report, dict) and isinstance(report.get("tests"), list):
                return _of_report(report, source)
        verdict = _of_journal(text, source, declared)
    return verdict.is_clean, verdict.as_text(), verdict.as_json()


def _of_server(url: str, declared: ClientFacts, namespace: str, token: str | None) -> Verdict:
    server, _, named = url.rstrip("/").partition("/ns/")
    named = unquote(named) or namespace
    if namespace not in ("", named):
        raise ConfigError(f"verdict: the URL is of the namespace {named!r}, but --namespace names {namespace!r}")
    if not is_name(named):
        raise ConfigError(f"verdict: namespace {named!r}: {BAD_NAME}")
    backend = OverHttp(server, named, token)
    try:
        clock = backend.clock()
        views, forgotten = backend.past()
        return review_client(views, declared, now=clock.now, ahead=clock.ahead, forgotten=forgotten.questions)
    except BackendError as error:
        raise ConfigError(f"verdict: {error}") from None


def _of_report(report: dict[str, Any], source: str) -> tuple[bool, str, Any]:
    try:
        lines = [
            f"{test['test']}: {finding['fault']}: {finding['message']}"
            for test in report["tests"]
            for finding in test.get("verdict", {}).get("findings", [])
        ]
    except (LookupError, TypeError, AttributeError) as error:
        raise ConfigError(f"verdict: {source}: is not a report ({error}); expected {_KINDS}") from None
    clean = f"No client mistakes in {pluralize(len(report['tests']), 'test')}."
    return not lines, "\n".join(lines or [clean]), report


def _of_journal(text: str, source: str, declared: ClientFacts) -> Verdict:
    """The verdict on a journal. Lines that are no whole JSON are left unjudged if others are; so are missing ones."""
    contract = Contract(lambda: {"schemas": _schemas()}, "WholeExchange")
    views: list[View] = []
    unjudged: list[Unjudged] = []
    # At line breaks only: a text in JSON may contain other separators.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{source}, line {number}: is not an exchange"
        try:
            exchange = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            unjudged.append(Unjudged("client", f"{place} ({error}); expected {_KINDS}"))
            continue
        broken = contract.violations(exchange)
        if broken:
            why = f"{broken[0].field}: {broken[0].message:.200}".removeprefix(": ")
            raise ConfigError(f"verdict: {place} ({why}); expected {_KINDS}")
        views.append(View(exchange))
    if not views:
        raise ConfigError(f"verdict: {unjudged[0].why if unjudged else f'{source}: is empty; expected {_KINDS}'}")
    forgotten = len(unjudged)
    # Each namespace numbers its own exchanges from 1 on.
    numbers = defaultdict[str, set[int]](set)
    for view in views:
        numbers[str(view.data.get("namespace", ""))].add(view.number)
    missing = sum(max(own) - len(own) for own in numbers.values())
    if missing:
        message = f"{source} lacks {pluralize(missing, 'exchange')} of the journal, which cannot be judged"
        unjudged.insert(0, Unjudged("client", message))
        forgotten = missing
    verdict = review_client(views, declared)
    return replace(verdict, unjudged=(*unjudged, *verdict.unjudged), forgotten=forgotten)


def _schemas() -> dict[str, Any]:
    """Those of the admin API for what it writes in a journal, but with what a recorder writes."""
    # The admin API is slow to import.
    from mockserver.server.admin.journal import SCHEMAS
    from mockserver.server.admin.schemas import NOTATIONS, TEXT

    exchange, decision = SCHEMAS["WholeExchange"], SCHEMAS["Decision"]
    return {
        **NOTATIONS,
        **SCHEMAS,
        "WholeExchange": {**exchange, "required": _NEEDED},
        "Decision": {**decision, "properties": {**decision["properties"], "by": TEXT}},
    }


def report_verdict(options: argparse.Namespace) -> int:
    """Print how clients behaved; exit code 1 if there are client mistakes."""
    declared = ClientFacts(**declared_in(options, "verdict"))
    token = options.admin_token or os.environ.get("MOCKSERVER_ADMIN_TOKEN")
    clean, words, verdict = verdict_on(options.source, declared, options.namespace, token)
    print(json.dumps(verdict, indent=2) if options.json else words)
    return 0 if clean else 1


COMMAND = Command(
    report_verdict,
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
)
