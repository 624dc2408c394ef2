"""The command that records: record."""

import argparse
import signal
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

from mockserver.commands.command import Command, announce, argument
from mockserver.commands.serving import begin_to_log
from mockserver.commands.settled import checked_names, settings_of
from mockserver.control.settings import ConfigError, Settings


def _record(options: argparse.Namespace) -> int:
    from importlib.util import find_spec

    if find_spec("httpx") is None:
        raise ConfigError("record: forwarding requests needs the library httpx: pip install 'llm-mockserver[record]'")
    # Settings of simulated answers do not apply.
    settings = replace(settings_of(options), stubs=None, stub=(), quota=(), fault=(), workers=1)
    checked_names(settings)
    begin_to_log(settings)
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _record_until_interrupted(settings, options)
    finally:
        signal.signal(signal.SIGTERM, before)


def _record_until_interrupted(settings: Settings, options: argparse.Namespace) -> int:
    from mockserver.core.installed import load_dialects
    from mockserver.serving.addresses import url_of
    from mockserver.serving.recording.forwarding import vendor_client
    from mockserver.serving.recording.messages import farewell, greeting
    from mockserver.serving.recording.recorder import Recorder
    from mockserver.serving.recording.tapes import Tape
    from mockserver.serving.recording.upstreams import read_upstreams
    from mockserver.serving.server import bind, serve

    dialects = load_dialects()
    upstreams = read_upstreams(options.upstream, dialects)
    upstreams.check_loops(settings.port)
    if settings.dialect is not None:
        upstreams.check(dialects[settings.dialect])
    client = vendor_client(upstreams.given.values(), options.timeout)
    tape = Tape(options.out, settings, force=options.force)
    try:
        listener = bind(settings)
        url = url_of(listener, secure=settings.tls_cert is not None)
        _tell(settings, greeting(url, tape.path, dialects, upstreams), url)
        serve(Recorder(settings, dialects, upstreams, tape, client), listener)
    except KeyboardInterrupt:
        # The usual end.
        pass
    finally:
        tape.close()
    _tell(settings, farewell(tape.path, tape.taken), url)
    return 0


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
            argument("--force", action="store_true", help="begin an existing recording anew"),
        ),
        takes_settings=True,
        matter=("host", "port", "dialect", "cors", "max_body", "tls_cert", "tls_key", "log_level", "log_format"),
        about="Listens at the same routes as mockserver serve, forwards each request to its vendor with the key it "
        "carries, and passes the answer to the client as it arrives. No other command uses the network. Make stubs of "
        "the recording with mockserver stubs, or compare it with the dialects with mockserver drift. Keys and cookies "
        "are masked in the file. Proxies and certificates are those of the environment (HTTPS_PROXY, SSL_CERT_FILE).",
    ),
)
