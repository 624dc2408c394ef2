"""The command line: serve, routes, check, plan, presets, health."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mockserver import __version__
from mockserver.control.options import OPTIONS, check_names, from_environment, from_texts, from_toml, settle
from mockserver.control.settings import ConfigError, Settings

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0, or 2 when it was told something that cannot be meant."""
    options = _parser().parse_args(arguments)
    command: Command = options.command
    try:
        return command(options)
    except ConfigError as error:
        print(f"mockserver: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has had enough; nothing may be written at the end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mockserver", description="A simulator of LLM inference APIs for offline testing."
    )
    parser.add_argument("--version", action="version", version=f"mockserver {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="serve the dialects until interrupted")
    _add_settings(serve)
    serve.set_defaults(command=_serve)

    routes = commands.add_parser("routes", help="list every route")
    _add_settings(routes)
    routes.set_defaults(command=_routes)

    check = commands.add_parser("check", help="check a config file")
    check.add_argument("config", type=Path, metavar="FILE")
    check.set_defaults(command=_check)

    plan = commands.add_parser("plan", help="show what a request would be answered, and when, without serving")
    plan.add_argument("request", type=Path, metavar="REQUEST.json", help="the request's body; - reads standard input")
    plan.add_argument("--operation", metavar="NAME", help="the dialect's operation (default: its first)")
    _add_settings(plan)
    plan.set_defaults(command=_plan)

    presets = commands.add_parser("presets", help="list the latency presets")
    presets.set_defaults(command=_presets)

    health = commands.add_parser("health", help="ask a running server how it is; exit code 0 when it is well")
    health.add_argument("url", nargs="?", default=None, metavar="URL", help="default: the settings' host and port")
    _add_settings(health)
    health.set_defaults(command=_health)
    return parser


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="a TOML file (environment: MOCKSERVER_CONFIG)")
    for option in OPTIONS:
        text = f"{option.help} (environment: {option.variable})"
        action = "append" if option.often else "store"
        argument = parser.add_argument(option.flag, action=action, dest=option.name, metavar=option.metavar, help=text)
        if option.switch:
            argument.nargs, argument.const = "?", "true"


def _settings(options: argparse.Namespace) -> Settings:
    """Settings from the command line, over the environment, over the config file, over the defaults."""
    config = options.config or (Path(os.environ["MOCKSERVER_CONFIG"]) if os.environ.get("MOCKSERVER_CONFIG") else None)
    given = {option.name: getattr(options, option.name) for option in OPTIONS}
    told = {name: value for name, value in given.items() if value is not None}
    environment, command_line = from_environment(os.environ), from_texts(told, "option")
    pinned = {"pinned": frozenset((*environment, *command_line))}
    return settle(_file(config) if config else {}, environment, command_line, pinned)


def _file(path: Path) -> dict[str, Any]:
    try:
        return from_toml(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not a UTF-8 text") from None


def _serve(options: argparse.Namespace) -> int:
    from mockserver.serving.app import create_app
    from mockserver.serving.server import bind, serve, url_of

    settings = _settings(options)
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    app = create_app(settings)
    listener = bind(settings)
    print(_greeting(url_of(listener), settings, list(app.simulator.dialects)), flush=True)
    serve(app, listener)
    return 0


def _greeting(url: str, settings: Settings, dialects: Sequence[str]) -> str:
    latency = f"latency {settings.latency}, edition {settings.edition}, seed {settings.seed}"
    if settings.dialect:
        return f"mockserver {__version__} on {url} speaks {settings.dialect} ({latency})"
    paths = "".join(f"\n  {url}/{name}" for name in dialects)
    return f"mockserver {__version__} on {url} ({latency}){paths}\nRoutes: {url}/_mockserver/routes"


def _routes(options: argparse.Namespace) -> int:
    from mockserver.control.routing import Router
    from mockserver.dialects import load_dialects

    settings = _settings(options)
    dialects = load_dialects()
    _check_names(settings)
    for method, path, dialect, operation in Router(dialects, settings).table():
        print(f"{method:5} {path:42} {dialect.name:9} {operation.name}")
    return 0


def _check(options: argparse.Namespace) -> int:
    settings = settle(_file(options.config))
    _check_names(settings)
    print(f"{options.config}: fine, with {len(settings.routes)} routes of its own")
    return 0


def _check_names(settings: Settings) -> None:
    from mockserver.control.routing import operations_of
    from mockserver.dialects import load_dialects

    check_names(settings, operations_of(load_dialects()))


def _plan(options: argparse.Namespace) -> int:
    from mockserver.control.decision import decide, respond
    from mockserver.control.namespaces import Namespace
    from mockserver.control.plan import hear
    from mockserver.control.routing import Landing
    from mockserver.core.calls import Call, Headers
    from mockserver.dialects import load_dialects

    settings = replace(_settings(options), auth="off")
    _check_names(settings)
    if settings.dialect is None:
        raise ConfigError("plan: say whose request it is: --dialect NAME")
    dialect = load_dialects()[settings.dialect]
    known = {operation.name: operation for operation in dialect.operations}
    name = options.operation or dialect.operations[0].name
    if name not in known:
        raise ConfigError(f"plan: {dialect.name} has no operation {name!r}. Known: {', '.join(known)}")
    headers = Headers([(b"authorization", b"Bearer plan"), (b"content-type", b"application/json")])
    path = known[name].paths[0]
    call = Call(known[name].method, path, headers, _request_bytes(options.request), received_at=settings.created or 0.0)
    heard = hear(call, Landing(dialect, known[name], path), settings)
    timeline = respond(heard, decide(heard, Namespace(""), 0.0)).timeline
    print(f"HTTP {timeline.status}")
    for key, value in timeline.headers:
        print(f"{key.decode()}: {value.decode()}")
    for run in timeline.runs:
        for data, due, tokens in zip(*run, strict=True):
            print(f"{due:9.4f} s {tokens:3} tokens  {data.decode(errors='replace').rstrip()}")
    if timeline.ending is not None:
        print(f"then: {timeline.ending.how}")
    return 0


def _request_bytes(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


def _presets(options: argparse.Namespace) -> int:
    from mockserver.latency.profiles import OFF, PRESETS, REALISTIC

    print(f"{OFF:10} nothing waits\n{REALISTIC:10} each dialect's own preset")
    for name, profile in PRESETS.items():
        print(f"{name:10} {profile.summary}")
    return 0


def _health(options: argparse.Namespace) -> int:
    from urllib.error import URLError
    from urllib.request import urlopen

    from mockserver.serving.server import url_at

    settings = _settings(options)
    url = (options.url or url_at(settings.host, settings.port)).rstrip("/")
    try:
        with urlopen(f"{url}/_mockserver/health", timeout=5) as answer:
            print(f"{url}: {json.load(answer)['status']}")
            return 0
    except (URLError, ValueError, KeyError, OSError) as error:
        print(f"{url}: {getattr(error, 'reason', error)}", file=sys.stderr)
        return 1
