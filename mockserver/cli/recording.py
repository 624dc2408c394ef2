"""The command that records: record."""

import argparse
import os
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from mockserver.cli.command import Command, announce, argument, complain
from mockserver.cli.serving import begin_to_log
from mockserver.cli.settled import checked_names, settings_of
from mockserver.state.settings import ConfigError, Settings

if TYPE_CHECKING:
    from mockserver.server.recording.studio import Studio

# The defaults beside a command, which has the terminal.
_BESIDE: Mapping[str, Any] = {"port": 0, "log_level": "warning"}


def _record(options: argparse.Namespace) -> int:
    from mockserver.server.recording.studio import check_library, for_recording

    check_library()
    if options.words:
        import shlex

        example = shlex.join(options.words)
        raise ConfigError(
            f"record: give a command after two dashes: mockserver record --out {options.out} -- {example}"
        )
    settings = for_recording(settings_of(options, usual=_BESIDE if options.behind else {}))
    checked_names(settings)
    begin_to_log(settings)
    if options.behind:
        return _record_beside(settings, options)
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _record_until_interrupted(settings, options)
    finally:
        signal.signal(signal.SIGTERM, before)


def _record_until_interrupted(settings: Settings, options: argparse.Namespace) -> int:
    from mockserver.server.listener import bind
    from mockserver.server.recording.messages import farewell, greeting
    from mockserver.server.server import serve

    studio = _studio(settings, options)
    try:
        listener = bind(settings)
        url = _url(settings, listener)
        _tell(settings, greeting(url, studio.tape.path, studio.dialects, studio.upstreams), url)
        serve(studio.recorder, listener)
    except KeyboardInterrupt:
        # The usual end.
        pass
    finally:
        studio.tape.close()
    _tell(settings, farewell(studio.tape, studio.recorder.replayed), url)
    return 1 if studio.tape.lost else 0


def _record_beside(settings: Settings, options: argparse.Namespace) -> int:
    """Record while a command runs, to which standard output belongs, and return its exit code."""
    from mockserver.cli.running import exit_code
    from mockserver.server.listener import bind
    from mockserver.server.recording.messages import farewell
    from mockserver.server.server import serving
    from mockserver.testing.environment import recorder_environment

    studio = _studio(settings, options)
    try:
        listener = bind(settings)
        variables = recorder_environment(_url(settings, listener), settings.dialect)
        with serving(studio.recorder, listener):
            code = exit_code(options.behind, {**os.environ, **variables}, complain)
    finally:
        studio.tape.close()
    complain(farewell(studio.tape, studio.recorder.replayed))
    return code or (1 if studio.tape.lost else 0)


def _studio(settings: Settings, options: argparse.Namespace) -> "Studio":
    """A recorder as the options want it. Raises ConfigError."""
    from mockserver.core.installed import load_dialects
    from mockserver.server.recording.studio import studio_of
    from mockserver.server.recording.upstreams import read_upstreams

    if options.only_new and options.force:
        raise ConfigError("record: give either --only-new or --force, which begins the recording anew")
    dialects = load_dialects()
    upstreams = read_upstreams(options.upstream, dialects)
    return studio_of(
        settings,
        options.out,
        upstreams,
        dialects,
        silence=options.timeout,
        only_new=options.only_new,
        force=options.force,
    )


def _url(settings: Settings, listener: socket.socket) -> str:
    from mockserver.server.urls import url_of

    return url_of(listener, secure=settings.is_secure)


def _tell(settings: Settings, words: str, url: str) -> None:
    """Print a message, as one object if the log is made of objects."""
    if settings.log_format == "text":
        announce(words)
        return
    import json

    announce(json.dumps({"level": "info", "logger": "mockserver", "message": words, "url": url}, ensure_ascii=False))


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """The signal handler that ends a recorder as an interrupt from the keyboard does."""
    raise KeyboardInterrupt


def seconds(text: str) -> float:
    """A number of seconds from an option."""
    found = float(text)
    if not 0 < found < 1e6:
        raise ValueError(text)
    return found


RECORDING = (
    Command(
        "record",
        _record,
        "forward requests to the vendors, and record what they answer",
        (
            argument(
                "--out",
                type=Path,
                required=True,
                metavar="FILE",
                help="the recording: *.jsonl (a journal; appended to), or *.har (an HTTP Archive)",
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
            argument("words", nargs="*", metavar="-- COMMAND", help="record only while this command runs"),
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
        "With a command after two dashes, it listens on a free port while that runs, and clients in it find it through "
        "environment variables (CEREBRAS_BASE_URL, QSTASH_URL, MOCKSERVER_URL; with --dialect also OPENAI_BASE_URL). "
        "The exit code is then the command's. It is 1 instead of 0 if an exchange could not be written, as to a full "
        "disk; the file ends with the last whole one.",
    ),
)
