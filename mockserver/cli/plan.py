"""`mockserver plan`: the answer to a request and its timing, without a server."""

import argparse
from dataclasses import replace

from mockserver.cli.command import Command, argument, checked_names, read_input, settings_of
from mockserver.core.http import Call, Headers, Timeline
from mockserver.core.installed import load_dialects
from mockserver.pipeline import answer
from mockserver.state.context import RouteMatch
from mockserver.state.namespaces import Namespace
from mockserver.state.settings import ConfigError


def plan(options: argparse.Namespace) -> int:
    """Take a request the way that a server would take it, and print the timeline."""
    settings = replace(settings_of(options), auth="off")
    stubs, dialects = checked_names(settings), load_dialects()
    if settings.dialect is None:
        known = ", ".join(dialects)
        raise ConfigError(f"plan: --dialect is missing; it names the dialect of the request. Known: {known}")
    dialect = dialects[settings.dialect]
    operations = {operation.name: operation for operation in dialect.operations}
    name = options.operation or dialect.operations[0].name
    if name not in operations:
        raise ConfigError(f"plan: {dialect.name} has no operation {name!r}. Known: {', '.join(operations)}")
    headers = Headers([(b"authorization", b"Bearer plan"), (b"content-type", b"application/json")])
    path = operations[name].paths[0]
    body = read_input(options.request)
    call = Call(operations[name].method, path, headers, body, received_at=settings.created or 0.0)
    planned = answer(call, RouteMatch(dialect, operations[name], path), settings, Namespace(""), stubs=stubs)
    _print_timeline(planned.timeline)
    if planned.pace is not None:
        print(f"latency: {planned.context.latency}; speed: {settings.speed:g}")
    return 0


def _print_timeline(timeline: Timeline) -> None:
    print(f"HTTP {timeline.status}")
    for key, value in timeline.headers:
        print(f"{key.decode()}: {value.decode()}")
    for run in timeline.runs:
        for data, due, tokens in zip(*run, strict=True):
            print(f"{due:9.4f} s {tokens:3} tokens  {data.decode(errors='replace').rstrip()}")
    if timeline.until:
        print(f"{timeline.until:9.4f} s  end")
    if timeline.ending is not None:
        print(f"then: {timeline.ending.how}")


COMMAND = Command(
    plan,
    (
        argument("request", metavar="REQUEST.json", help="a file with the request's body; - for standard input"),
        argument("--operation", metavar="NAME", help="the dialect's operation (default: its first)"),
    ),
    takes_settings=True,
    matter=(
        *("dialect", "edition", "seed", "latency", "speed", "fault", "stubs", "unmatched", "strict", "created"),
        *("ids", "writes", "output_tokens"),
    ),
    about="Needs --dialect, which names the dialect that the request is for. Credentials are not checked.",
)
