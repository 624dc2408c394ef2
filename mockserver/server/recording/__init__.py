"""A recorder, set up: its library, its settings, the file that it writes and the upstreams to which it forwards."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mockserver.core.dialects import Dialect
from mockserver.server.recording.recording_file import RecordingFile, Replays
from mockserver.server.recording.upstreams import Upstreams
from mockserver.state.journal.exchanges import Journal
from mockserver.state.settings import ConfigError, Settings

if TYPE_CHECKING:
    from mockserver.server.recording.recorder import Recorder

# How long a vendor may be silent, in seconds, if nobody has said otherwise.
SILENCE = 600.0


def check_library() -> None:
    """Raise ConfigError if the library that asks the vendors is not installed."""
    if find_spec("httpx") is None:
        raise ConfigError("record: forwarding requests needs the library httpx: pip install 'llm-mockserver[record]'")


def for_recording(settings: Settings) -> Settings:
    """The settings of a recorder: those of simulated answers do not apply."""
    return replace(settings, stubs=None, stub=(), quota=(), fault=(), workers=1)


def make_recorder(
    settings: Settings,
    path: Path,
    upstreams: Upstreams,
    dialects: Mapping[str, Dialect],
    *,
    silence: float = SILENCE,
    only_new: bool = False,
    volatile: Sequence[str] = (),
    force: bool = False,
    journal: Journal | None = None,
) -> "Recorder":
    """A recorder into the file `path`, which has nothing in it with `force`; with `only_new` what is in it is answered
    from it, whatever is `volatile` in requests. A `journal` tells what the recorder does. Its `file` is for the caller
    to close. Raises ConfigError."""
    # httpx takes long to import, and is not always installed.
    from mockserver.server.recording.recorder import Recorder, vendor_client

    upstreams.check_loops(settings.port)
    if settings.dialect is not None:
        upstreams.check(dialects[settings.dialect])
    replays = Replays(path, settings, dialects, volatile) if only_new else None
    client = vendor_client(upstreams.given.values(), silence)
    file = RecordingFile(path, force=force)
    return Recorder(settings, dialects, upstreams, file, client, replays=replays, journal=journal)
