"""A recorder in a thread, whose upstreams are servers of the tests in place of the vendors."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mockserver import MockServer
from mockserver.core.installed import load_dialects
from mockserver.server.recording.recorder import Recorder, vendor_client
from mockserver.server.recording.recording_file import RecordingFile, Replays
from mockserver.server.recording.upstreams import read_upstreams
from mockserver.server.server import AppThread
from mockserver.state.settings import Settings

DIALECTS = load_dialects()


def led_to(server: MockServer) -> dict[str, str]:
    """The base URL of each dialect on a server."""
    return {name: f"{server.url}/{name}" for name in DIALECTS}


@contextmanager
def recorder(
    path: Path,
    upstreams: Mapping[str, str],
    *,
    silence: float = 30.0,
    clock: Callable[[], float] = time.monotonic,
    only_new: bool = False,
    volatile: Sequence[str] = (),
    **options: Any,
) -> Iterator[str]:
    """The URL of a recorder that writes to the file; with `only_new`, what the file has is answered from it, whatever
    is `volatile`."""
    settings = Settings(port=0, log_level="warning", **options)
    given = read_upstreams([f"{name}={url}" for name, url in upstreams.items()], DIALECTS)
    replays = Replays(path, settings, DIALECTS, volatile) if only_new else None
    file = RecordingFile(path)
    app = Recorder(settings, DIALECTS, given, file, vendor_client(given.given.values(), silence), clock, replays)
    try:
        with AppThread(app) as thread:
            yield thread.url
    finally:
        file.close()


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The exchanges in a recorded journal; none if there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
