"""`mockserver record`: requests forwarded to the vendors, and their answers recorded."""

import argparse
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mockserver.cli.command import (
    GROUPS,
    Command,
    announce,
    argument,
    begin_to_log,
    checked_names,
    print_error,
    settings_of,
)
from mockserver.cli.run import exit_code
from mockserver.core import __version__
from mockserver.core.dialects import Dialect
from mockserver.core.installed import load_dialects
from mockserver.core.messages import pluralize
from mockserver.server.listener import bind
from mockserver.server.recording import check_library, for_recording, make_recorder
from mockserver.server.recording.upstreams import Upstreams, read_upstreams
from mockserver.server.server import AppThread, serve
from mockserver.server.urls import url_of
from mockserver.state.settings import ConfigError
from mockserver.state.settings.options import BY_NAME
from mockserver.testing.environment import recorder_environment

if TYPE_CHECKING:
    from mockserver.server.recording.recorder import Recorder

_WARNING = (
    "Requests are forwarded with the keys that they carry. In the file, keys and cookies are masked (their last four "
    "characters remain); prompts and answers are written as they are."
)
# The defaults beside a command, which has the terminal.
_DEFAULTS: Mapping[str, Any] = {"port": 0, "log_level": "warning"}
# Settings of simulated answers, which a file may have that servers share.
_OF_ANSWERS = (*GROUPS["timing"], *GROUPS["faults and limits"], "stubs", "unmatched", "seed", "output_tokens")


def record(options: argparse.Namespace) -> int:
    check_library()
    if options.words:
        example = shlex.join(options.words)
        raise ConfigError(
            f"record: give a command after two dashes: mockserver record --out {options.out} -- {example}"
        )
    if given := next((name for name in _OF_ANSWERS if getattr(options, name) is not None), None):
        raise ConfigError(f"record: {BY_NAME[given].flag} has no effect on what a vendor answers; leave it out")
    if options.only_new and options.force:
        raise ConfigError("record: give either --only-new or --force, which begins the recording anew")
    settings = for_recording(settings_of(options, usual=_DEFAULTS if options.child else {}))
    checked_names(settings)
    begin_to_log(settings)
    dialects = load_dialects()
    upstreams = read_upstreams(options.upstream, dialects)
    how = {"silence": options.timeout, "only_new": options.only_new, "force": options.force}
    recorder = make_recorder(settings, options.out, upstreams, dialects, **how)
    code = 0
    try:
        if options.child:
            with AppThread(recorder) as thread:
                code = exit_code(options.child, recorder_environment(thread.url, settings.dialect))
        else:
            _record_until_interrupted(recorder, dialects, upstreams)
    finally:
        recorder.file.close()
    if options.child:
        # Standard output is the command's.
        print_error(_summary(recorder))
    else:
        announce(settings, _summary(recorder), {})
    return code or (1 if recorder.file.lost else 0)


def _record_until_interrupted(recorder: "Recorder", dialects: Mapping[str, Dialect], upstreams: Upstreams) -> None:
    settings = recorder.settings
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        listener = bind(settings)
        url = url_of(listener, secure=settings.is_secure)
        announce(settings, _greeting(url, recorder.file.path, dialects, upstreams), {"url": url})
        serve(recorder, listener)
    except KeyboardInterrupt:
        # The usual end.
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def _greeting(url: str, path: Path, dialects: Mapping[str, Dialect], upstreams: Upstreams) -> str:
    """The message at the start: where requests are forwarded to, where they are recorded, and what is masked."""
    routes = []
    for name, dialect in dialects.items():
        upstream = upstreams.of(dialect)
        where = upstream.url if upstream is not None else f"nowhere: {upstreams.missing(dialect)}"
        routes.append(f"  {url}/{name} -> {where}")
    return "\n".join((f"mockserver {__version__} records on {url} into {path}", *routes, _WARNING, "Stop with Ctrl-C."))


def _summary(recorder: "Recorder") -> str:
    """The message at the end: how much was recorded, what could not be, and the commands that use it."""
    file, again = recorder.file, recorder.replayed
    known = f"; {pluralize(again, 'answer')} from it" if again else ""
    lost = [f"{pluralize(file.lost, 'exchange')} could not be recorded, as the log says."] if file.lost else []
    if not file.written:
        nothing = f"Nothing new was recorded in {file.path}{known}." if again else "Nothing was recorded."
        return "\n".join([nothing, *lost])
    name = shlex.quote(str(file.path))
    return "\n".join(
        (
            f"{pluralize(file.written, 'exchange')} recorded in {file.path}{known}",
            *lost,
            f"Stubs: mockserver stubs {name} --pace --out stubs",
            f"Drift: mockserver drift {name} --edition observed",
        )
    )


def seconds(text: str) -> float:
    """A number of seconds from an option."""
    found = float(text)
    if not 0 < found < 1e6:
        raise ValueError(text)
    return found


COMMAND = Command(
    record,
    (
        argument(
            "--out",
            type=Path,
            required=True,
            metavar="FILE",
            help="the recording: *.jsonl (a journal), which is appended to",
        ),
        argument(
            "--upstream",
            action="append",
            default=[],
            metavar="NAME=URL",
            help="where a dialect's requests go, as in ovms=http://localhost:9000 (default: the vendor's host)",
        ),
        argument(
            "--timeout",
            type=seconds,
            default=600.0,
            metavar="SECONDS",
            help="how long a vendor may be silent (default: 600)",
        ),
        argument(
            "--only-new",
            action="store_true",
            help="forward only requests that the recording has no answer to, and answer the others from it",
        ),
        argument("--force", action="store_true", help="begin an existing recording anew"),
        argument("words", nargs="*", metavar="[-- COMMAND]", help="record only while this command runs"),
    ),
    takes_settings=True,
    matter=(
        *("host", "port", "dialect", "cors", "allow_host", "max_body", "tls_cert", "tls_key", "log_level"),
        "log_format",
    ),
    about="Listens at the same routes as mockserver serve, forwards each request to its vendor with the key it "
    "carries, and passes the answer to the client as it arrives. No other command uses the network. Make stubs of "
    "the recording with mockserver stubs, or compare it with the dialects with mockserver drift. Keys and cookies "
    "are masked in the file. Proxies and certificates are those of the environment (HTTPS_PROXY, SSL_CERT_FILE). "
    "Options of simulated answers, such as --fault, are refused. "
    "With a command after two dashes, it listens on a free port while that runs, and clients in it find it through "
    "environment variables (CEREBRAS_BASE_URL, QSTASH_URL, MOCKSERVER_URL; with --dialect also OPENAI_BASE_URL). "
    "The exit code is then the command's. It is 1 instead of 0 if an exchange could not be written, as to a full "
    "disk; the file ends with the last whole one.",
)
