"""The command line: serve, dev, run, routes, check, stubs, plan, presets, certs, verdict, health."""

import argparse
import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from mockserver.control.options import (
    OPTIONS,
    check_names,
    check_tiers,
    from_environment,
    from_texts,
    settle,
    strange_variables,
)
from mockserver.control.settings import ConfigError, Settings
from mockserver.control.stubs.book import Stub
from mockserver.core.naming import unknown
from mockserver.core.version import __version__
from mockserver.serving.config_files import read_config
from mockserver.serving.sources import Sources
from mockserver.serving.trace_files import TraceFiles, together

if TYPE_CHECKING:
    from mockserver.control.verify.verdict import Declaration

Argument = tuple[tuple[str, ...], Mapping[str, Any]]


class Command(NamedTuple):
    """A command: what runs it, its own arguments, and whether it takes all settings too; `about` is said by its help
    alone."""

    name: str
    run: Callable[[argparse.Namespace], int]
    help: str
    arguments: tuple[Argument, ...] = ()
    takes_settings: bool = False
    about: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0, or 2 when it was told something that cannot be meant."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    arguments, behind = _parted(arguments)
    options, strange = _parser(arguments).parse_known_args(arguments)
    options.behind = behind
    command: Command = options.command
    try:
        if strange:
            raise ConfigError(_complaint_of(strange[0], options.usage()))
        return command.run(options)
    except ConfigError as error:
        _complain(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has had enough; nothing may be written at the end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _complain(words: str) -> None:
    print(f"mockserver: {words}", file=sys.stderr)


def _parted(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments, and those behind `--` that `run` has to run: whatever they say is no business of ours."""
    if arguments[:1] != ["run"] or "--" not in arguments:
        return arguments, ()
    end = arguments.index("--")
    return arguments[:end], arguments[end + 1 :]


def _complaint_of(word: str, usage: str) -> str:
    """What to say of a word that a command does not take; `usage` names all that it does."""
    if not word.startswith("--"):
        return f"{word!r} is one argument too many: see --help"
    return unknown("option", word.partition("=")[0], dict.fromkeys(re.findall(r"--[a-z][a-z-]+", usage)))


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """What reads the arguments, with the settings of the command that they name."""
    parser = argparse.ArgumentParser(
        prog="mockserver", description="A simulator of LLM inference APIs for offline testing."
    )
    parser.add_argument("--version", action="version", version=f"mockserver {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        subparser = subparsers.add_parser(command.name, help=command.help, description=command.about or None)
        for names, how in command.arguments:
            subparser.add_argument(*names, **how)
        # To add those of the others as well would take a fiftieth of the server's start.
        if command.takes_settings and command.name in arguments[:1]:
            _add_settings(subparser)
        subparser.set_defaults(command=command, usage=subparser.format_usage)
    return parser


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="a TOML file (environment: MOCKSERVER_CONFIG)")
    for option in OPTIONS:
        text = f"{option.help} (environment: {option.variable})"
        action = "append" if option.often else "store"
        argument = parser.add_argument(option.flag, action=action, dest=option.name, metavar=option.metavar, help=text)
        if option.switch:
            argument.nargs, argument.const = "?", "true"


def _settings(
    options: argparse.Namespace, sources: Sources | None = None, usual: Mapping[str, Any] = MappingProxyType({})
) -> Settings:
    """Settings from the command line, over the environment, over the config file, over the defaults; `usual` are a
    command's own defaults.

    The files that they are read from are noted in the `sources`.
    """
    sources = Sources() if sources is None else sources
    config, here = _config_path(options), TraceFiles(Path(), sources=sources)
    beside = TraceFiles(config.parent if config else Path(), sources=sources)
    given = {option.name: getattr(options, option.name) for option in OPTIONS}
    told = {name: value for name, value in given.items() if value is not None}
    environment, command_line = from_environment(os.environ, here), from_texts(told, "option", here)
    pinned = {"pinned": frozenset((*environment, *command_line))}
    file = read_config(config, beside, sources) if config else {}
    return settle(usual, file, environment, command_line, pinned, {"traces": together(beside.traces(), here.traces())})


def _config_path(options: argparse.Namespace) -> Path | None:
    named = os.environ.get("MOCKSERVER_CONFIG")
    return options.config or (Path(named) if named else None)


def _dev(options: argparse.Namespace) -> int:
    from mockserver.serving.frontend import examples_for, open_page, page_url

    def beside(url: str) -> None:
        print(f"\n{examples_for(Path.cwd(), url)}\n\nThe page: {page_url(url)}", flush=True)
        if not options.no_open:
            open_page(url)

    return _serve(options, beside)


def _serve(options: argparse.Namespace, beside: Callable[[str], None] = lambda url: None) -> int:
    """Serve until interrupted; `beside` is called with the URL as soon as it is known."""
    before = signal.signal(signal.SIGTERM, _end)
    try:
        return _serve_until_told(options, beside)
    finally:
        signal.signal(signal.SIGTERM, before)


def _serve_until_told(options: argparse.Namespace, beside: Callable[[str], None]) -> int:
    # What is made now stays: to look for garbage in it would take a tenth of the start, and hold up answers later.
    gc.disable()
    from mockserver.serving.addresses import url_of
    from mockserver.serving.app import create_app
    from mockserver.serving.greeting import Greeting
    from mockserver.serving.logs import log, set_up_logs
    from mockserver.serving.reload import Reader
    from mockserver.serving.server import bind, serve
    from mockserver.serving.workers import listeners_for, serve_by_workers

    sources = Sources()
    settings = _settings(options, sources)
    set_up_logs(settings.log_level, settings.log_format)
    for complaint in strange_variables(os.environ):
        log.warning("%s", complaint)
    app = create_app(settings, Reader(lambda anew: _settings(options, anew), sources))
    listeners = [bind(settings)] if settings.workers == 1 else listeners_for(app, settings.workers)
    url = url_of(listeners[0], secure=settings.tls_cert is not None)
    greeting = Greeting(
        url, settings, list(app.simulator.dialects), _config_path(options), len(app.simulator.setup.stubs)
    )
    print(greeting.json() if settings.log_format == "json" else greeting.text(), flush=True)
    beside(url)
    gc.freeze()
    # Answers leave no cycles behind: what the collector looks through so often is the journal, in vain.
    gc.set_threshold(20_000, 50, 100)
    gc.enable()
    if len(listeners) > 1:
        return serve_by_workers(app, listeners)
    serve(app, listeners[0])
    return 0


def _run(options: argparse.Namespace) -> int:
    if not options.behind:
        import shlex

        example = shlex.join(options.words) or "npm test"
        raise ConfigError(f"run: say the command behind two dashes: mockserver run --seed 7 -- {example}")
    from mockserver.serving.logs import log, set_up_logs
    from mockserver.testing.running import USUAL, run_beside

    judges = options.report or options.handles or options.outcome
    declared = _declared("run", options) if judges else None
    settings = _settings(options, usual=USUAL)
    _check_names(settings)
    set_up_logs(settings.log_level, settings.log_format)
    for complaint in strange_variables(os.environ):
        log.warning("%s", complaint)
    return run_beside(settings, options.behind, declared, _complain)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """What a signal means before anything is served, and once all is over: the end, at once, and a good one.

    Nobody else would see to it where this is the first process, as in a container: the system shields that one from
    signals that it does not expect.
    """
    sys.stdout.flush()
    os._exit(0)


def _routes(options: argparse.Namespace) -> int:
    from mockserver.control.routing import Router
    from mockserver.core.installed import load_dialects

    settings = _settings(options)
    dialects = load_dialects()
    _check_names(settings)
    for method, path, dialect, operation in Router(dialects, settings).table():
        print(f"{method:5} {path:42} {dialect.name:9} {operation.name}")
    return 0


def _check(options: argparse.Namespace) -> int:
    settings = settle(read_config(options.config, TraceFiles(options.config.parent)))
    stubs = _check_names(settings)
    prepared = f" and {len(stubs)} stubs" if stubs else ""
    print(f"{options.config}: fine, with {len(settings.routes)} routes of its own{prepared}")
    return 0


def _check_names(settings: Settings) -> tuple[Stub, ...]:
    """Check the names that settings say; the answer is the stubs that they lead to."""
    from mockserver.control.routing import check_routes, operations_of
    from mockserver.core.installed import load_dialects
    from mockserver.serving.stub_files import standing_stubs

    dialects = load_dialects()
    check_names(settings, operations_of(dialects))
    check_routes(settings, dialects)
    check_tiers(settings, dialects)
    return standing_stubs(settings, dialects)


def _stubs(options: argparse.Namespace) -> int:
    from mockserver.core.installed import load_dialects
    from mockserver.serving.recordings import complaints, stem_of, stubs_from, text_of, write_stubs

    # The stubs that there are, or are to be, have no say in how a request is understood.
    settings = replace(_settings(options), stubs=None, stub=())
    _check_names(settings)
    source = str(options.recording)
    made = stubs_from(_request_bytes(options.recording), source, settings, load_dialects(), paced=options.pace)
    for complaint in complaints(made.lost):
        _complain(f"{source}, {complaint}")
    if not made.stubs:
        _complain(f"{source}: nothing in it can be made a stub")
        return 1
    if options.out is None:
        sys.stdout.write(text_of(made))
        return 0
    path = write_stubs(made, stem_of(source), options.out)
    print(f"{path}: {len(made.stubs)} stubs, {len(made.files)} bodies in files beside them")
    print(f"Serve: mockserver serve --stubs {options.out}")
    return 0


def _plan(options: argparse.Namespace) -> int:
    from mockserver.control.deciding.decision import decide, respond
    from mockserver.control.namespaces import Namespace
    from mockserver.control.plan import hear
    from mockserver.control.routing import Landing
    from mockserver.core.calls import Call, Headers
    from mockserver.core.installed import load_dialects

    settings = replace(_settings(options), auth="off")
    stubs = _check_names(settings)
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
    plan = respond(decide(heard, Namespace(""), 0.0, stubs=stubs))
    timeline = plan.timeline
    print(f"HTTP {timeline.status}")
    for key, value in timeline.headers:
        print(f"{key.decode()}: {value.decode()}")
    for run in timeline.runs:
        for data, due, tokens in zip(*run, strict=True):
            print(f"{due:9.4f} s {tokens:3} tokens  {data.decode(errors='replace').rstrip()}")
    if timeline.until:
        print(f"{timeline.until:9.4f} s  the end")
    if timeline.ending is not None:
        print(f"then: {timeline.ending.how}")
    if plan.pace is not None:
        print(f"latency: {plan.visit.latency}; speed: {settings.speed:g}")
    return 0


def _request_bytes(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


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
    print(f"{OFF}: nothing waits\n{REALISTIC}: each dialect's own preset")
    for name, preset in presets().items():
        print(f"\n{name}: {preset.summary}")
        print(fill(preset.latency, 78, initial_indent="  ", subsequent_indent="  "))
        for line in picture(preset_profile(name)):
            print(f"  {line}")
    print(f"\nThe first token is that of a prompt of {PROMPT_TOKENS} tokens; axes are logarithmic.")
    return 0


def _certs(options: argparse.Namespace) -> int:
    from mockserver.core.installed import load_dialects
    from mockserver.serving.certificates import ensure_certificates, names_of

    vendors = [host for dialect in load_dialects().values() for host in dialect.hosts]
    bundle, new = ensure_certificates(options.out, [*vendors, *options.host])
    names = ", ".join(sorted(names_of(bundle.certificate)))
    print(f"{'Made' if new else 'Kept, for they are still good'}, for {names}:")
    print(f"  {bundle.authority}  the authority that clients have to trust; its key is gone")
    print(f"  {bundle.certificate}, {bundle.key}  for the server")
    print(f"Serve: mockserver serve --tls-cert {bundle.certificate} --tls-key {bundle.key}")
    print(f"Trust: SSL_CERT_FILE={bundle.authority} (Python), NODE_EXTRA_CA_CERTS={bundle.authority} (Node)")
    return 0


def _verdict(options: argparse.Namespace) -> int:
    import json

    from mockserver.testing.judging import verdict_on

    declared = _declared("verdict", options)
    token = options.admin_token or os.environ.get("MOCKSERVER_ADMIN_TOKEN")
    clean, words, told = verdict_on(options.source, declared, options.namespace, token)
    print(json.dumps(told, indent=2) if options.json else words)
    return 0 if clean else 1


def _declared(command: str, options: argparse.Namespace) -> "Declaration":
    """What a command is told that correct handling is."""
    from mockserver.control.verify.verdict import Declaration, DeclarationError

    try:
        return Declaration(options.handles, options.outcome, options.patience)
    except DeclarationError as error:
        raise ConfigError(f"{command}: {error}") from None


def _health(options: argparse.Namespace) -> int:
    from mockserver.serving.addresses import url_at
    from mockserver.serving.asking import ask

    settings = _settings(options)
    url = (options.url or url_at(settings.host, settings.port, secure=settings.tls_cert is not None)).rstrip("/")
    well, said = ask(url, ready=options.ready)
    print(f"{url}: {said}", file=sys.stdout if well else sys.stderr)
    return 0 if well else 1


def _argument(*names: str, **how: Any) -> Argument:
    """An argument, as argparse takes it."""
    return names, how


_DECLARED = (
    _argument("--handles", metavar="WORD", help="what correct handling is: retry, raise or fallback"),
    _argument("--outcome", metavar="WORD", help="what the application made of it: answer, error, cancelled"),
    _argument("--patience", type=float, default=60.0, metavar="SECONDS", help="the longest silence to bear"),
)
COMMANDS = (
    Command("serve", _serve, "serve the dialects until interrupted", takes_settings=True),
    Command(
        "dev",
        _dev,
        "serve beside a frontend: opens the live page, prints examples for it",
        (_argument("--no-open", action="store_true", help="open no browser"),),
        takes_settings=True,
    ),
    Command(
        "run",
        _run,
        "serve while a command runs, whose clients are led here; exit code is the command's",
        (
            _argument("words", nargs="*", metavar="-- COMMAND", help="what to run, with its arguments"),
            _argument(
                "--report",
                action="store_true",
                help="say at the end how its clients behaved, on the standard error; faults make exit code 1 of 0",
            ),
            *_DECLARED,
        ),
        takes_settings=True,
        about="Serve on a free port while a command runs, without latency unless told otherwise. The clients in it "
        "find the server by their environment (OPENAI_BASE_URL, CEREBRAS_BASE_URL, MOCKSERVER_URL, ...). Signals are "
        "passed on; the exit code is the command's, 127 or 126 for one that cannot be run.",
    ),
    Command("routes", _routes, "list every route", takes_settings=True),
    Command("check", _check, "check a config file", (_argument("config", type=Path, metavar="FILE"),)),
    Command(
        "stubs",
        _stubs,
        "make stubs of recorded traffic: a journal, or an HTTP Archive (HAR)",
        (
            _argument("recording", type=Path, metavar="FILE", help="journal.jsonl or *.har; - reads standard input"),
            _argument("--out", type=Path, metavar="DIR", help="where the stub file and long bodies go"),
            _argument("--pace", action="store_true", help="answer as fast as was recorded, on the average"),
        ),
        takes_settings=True,
        about="Each stub matches what made its request that request, and answers the recorded answer byte for byte. "
        "Keys and cookies are not written. Without --out they go to the standard output, if no body needs a file. "
        "Settings are those of the server that is to answer: its routes and its edition count.",
    ),
    Command(
        "plan",
        _plan,
        "show what a request would be answered, and when, without serving",
        (
            _argument("request", type=Path, metavar="REQUEST.json", help="the request's body; - reads standard input"),
            _argument("--operation", metavar="NAME", help="the dialect's operation (default: its first)"),
        ),
        takes_settings=True,
    ),
    Command(
        "presets",
        _presets,
        "list the latency presets",
        (_argument("--latency", metavar="LATENCY", help="draw this latency instead, such as 'slow, jitter=0.3'"),),
    ),
    Command(
        "certs",
        _certs,
        "make certificates for the vendors' host names",
        (
            _argument("--out", type=Path, default=Path("certs"), metavar="DIR", help="where they go (default: certs)"),
            _argument("--host", action="append", default=[], metavar="NAME", help="a name more, such as mock.internal"),
        ),
    ),
    Command(
        "verdict",
        _verdict,
        "judge how clients behaved; exit code 1 for faults",
        (
            _argument(
                "source",
                metavar="FILE|URL",
                help="a journal as JSON lines or a test run's report (- reads standard input), or a server",
            ),
            *_DECLARED,
            _argument("--namespace", default="", metavar="NAME", help="whose journal of a server"),
            _argument("--admin-token", metavar="TOKEN", help="the server's (environment: MOCKSERVER_ADMIN_TOKEN)"),
            _argument("--json", action="store_true", help="print the verdict in full, as JSON"),
        ),
    ),
    Command(
        "health",
        _health,
        "ask a running server how it is; exit code 0 when it is well",
        (
            _argument("url", nargs="?", default=None, metavar="URL", help="default: the settings' host and port"),
            _argument("--ready", action="store_true", help="ask whether its latest files are in force, and it listens"),
        ),
        takes_settings=True,
    ),
)
