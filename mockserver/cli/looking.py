"""Commands that show what a server would do: routes, check, plan, presets, schema."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mockserver.cli.command import Command, argument
from mockserver.cli.settled import checked_names, settings_of
from mockserver.core.naming import counted, unknown
from mockserver.server.files.config import read_config
from mockserver.server.files.traces import TraceFiles
from mockserver.state.configuration.options import settle
from mockserver.state.settings import ConfigError

if TYPE_CHECKING:
    from mockserver.core.timeline import Timeline


def _routes(options: argparse.Namespace) -> int:
    from mockserver.core.installed import load_dialects
    from mockserver.routes import Routes

    settings = settings_of(options)
    dialects = load_dialects()
    checked_names(settings)
    for method, path, dialect, operation in Routes(dialects, settings).table():
        print(f"{method:5} {path:42} {dialect.name:9} {operation.name}")
    return 0


def _check(options: argparse.Namespace) -> int:
    from mockserver.core.installed import load_dialects
    from mockserver.server.files.stubs import stubs_at
    from mockserver.state.routing import operations_of

    if options.config.is_dir() or options.config.suffix == ".json":
        stubs = stubs_at(options.config, operations_of(load_dialects()))
        print(f"{options.config}: valid, with {counted(len(stubs), 'stub')}")
        return 0
    settings = settle(read_config(options.config, TraceFiles(options.config.parent)))
    stubs = checked_names(settings)
    prepared = f" and {counted(len(stubs), 'stub')}" if stubs else ""
    print(f"{options.config}: valid, with {counted(len(settings.routes), 'route')} of its own{prepared}")
    return 0


def _plan(options: argparse.Namespace) -> int:
    from mockserver.cli.inputs import bytes_of
    from mockserver.core.calls import Call, Headers
    from mockserver.core.installed import load_dialects
    from mockserver.pipeline import answer
    from mockserver.state.namespaces import Namespace
    from mockserver.state.routing import RouteMatch

    settings = replace(settings_of(options), auth="off")
    stubs = checked_names(settings)
    if settings.dialect is None:
        known_dialects = ", ".join(load_dialects())
        raise ConfigError(f"plan: --dialect is missing; it names the dialect of the request. Known: {known_dialects}")
    dialect = load_dialects()[settings.dialect]
    known = {operation.name: operation for operation in dialect.operations}
    name = options.operation or dialect.operations[0].name
    if name not in known:
        raise ConfigError(f"plan: {dialect.name} has no operation {name!r}. Known: {', '.join(known)}")
    headers = Headers([(b"authorization", b"Bearer plan"), (b"content-type", b"application/json")])
    path = known[name].paths[0]
    call = Call(known[name].method, path, headers, bytes_of(str(options.request)), received_at=settings.created or 0.0)
    plan = answer(call, RouteMatch(dialect, known[name], path), settings, Namespace(""), stubs=stubs)
    _print_timeline(plan.timeline)
    if plan.pace is not None:
        print(f"latency: {plan.context.latency}; speed: {settings.speed:g}")
    return 0


def _print_timeline(timeline: "Timeline") -> None:
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


def _presets(options: argparse.Namespace) -> int:
    from textwrap import fill

    from mockserver.latency.notation import NotationError, preset_profile, read_profile
    from mockserver.latency.pictures import PROMPT_TOKENS, picture
    from mockserver.latency.presets import OFF, REALISTIC, presets

    if options.latency is not None:
        try:
            print("\n".join(picture(read_profile(options.latency, traces=TraceFiles(Path())))))
        except NotationError as error:
            raise ConfigError(f"--latency {options.latency!r}: {error}") from None
        return 0
    print(f"{OFF}: no delays\n{REALISTIC}: the preset of each dialect")
    for name, preset in presets().items():
        print(f"\n{name}: {preset.summary}")
        print(fill(preset.latency, 78, initial_indent="  ", subsequent_indent="  "))
        for line in picture(preset_profile(name)):
            print(f"  {line}")
    print(f"\nTimes to the first token are for a prompt of {PROMPT_TOKENS} tokens. Axes are logarithmic.")
    return 0


def _schema(options: argparse.Namespace) -> int:
    import json

    from mockserver.cli.file_schemas import FILES
    from mockserver.core.installed import load_dialects

    if options.file not in FILES:
        raise ConfigError(f"schema: {unknown('kind of file', options.file, FILES)}")
    text = json.dumps(FILES[options.file](load_dialects()), indent=1, ensure_ascii=False)
    if options.out is None:
        print(text)
        return 0
    try:
        options.out.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{options.out}: {error.strerror}") from None
    print(f"Written: {options.out}. Refer to it in files beside it:")
    print(f"in TOML by the first line #:schema ./{options.out.name}")
    print(f'in JSON by the key "$schema": "./{options.out.name}"')
    return 0


LOOKING = (
    Command("routes", _routes, "list all routes", takes_settings=True, matter=("dialect",)),
    Command(
        "check",
        _check,
        "check a config file, a stub file or a folder of stub files",
        (argument("config", type=Path, metavar="FILE|DIR", help="a config or stub file, or a folder of stub files"),),
    ),
    Command(
        "plan",
        _plan,
        "show the answer to a request and its timing, without a server",
        (
            argument(
                "request",
                type=Path,
                metavar="REQUEST.json",
                help="a file with the request's body; - for standard input",
            ),
            argument("--operation", metavar="NAME", help="the dialect's operation (default: its first)"),
        ),
        takes_settings=True,
        matter=(
            *("dialect", "edition", "seed", "latency", "speed", "fault", "stubs", "unmatched", "strict", "created"),
            *("ids", "writes", "output_tokens"),
        ),
        about="Needs --dialect, which names the dialect that the request is for. Credentials are not checked.",
    ),
    Command(
        "presets",
        _presets,
        "list the latency presets",
        (argument("--latency", metavar="LATENCY", help="show this latency instead, such as 'slow, jitter=0.3'"),),
    ),
    Command(
        "schema",
        _schema,
        "print the JSON Schema of config or stub files, for completion in editors",
        (
            argument("file", metavar="config|stubs", help="the kind of file: config or stubs"),
            argument("--out", type=Path, metavar="FILE", help="the file to write (default: standard output)"),
        ),
        words=("config", "stubs"),
        about="Save the schema beside the file and refer to it there: in TOML with the first line "
        "#:schema ./mock.schema.json, in JSON with the key $schema. The schema contains the installed dialects. It "
        "cannot tell which keys go together; mockserver check can.",
    ),
)
