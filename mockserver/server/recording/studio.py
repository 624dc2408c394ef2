"""The studio: a recorder with the file that it writes and the upstreams to which it forwards."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mockserver.core.dialects import Dialect
from mockserver.state.settings import ConfigError, Settings

if TYPE_CHECKING:
    from mockserver.server.recording.recorder import Recorder
    from mockserver.server.recording.tapes import Tape
    from mockserver.server.recording.upstreams import Upstreams
    from mockserver.state.journal.exchanges import Journal

# How long a vendor may be silent, in seconds, if nobody has said otherwise.
SILENCE = 600.0


class Studio(NamedTuple):
    """A recorder, its tape, the dialects that it knows, and where their requests go."""

    recorder: "Recorder"
    tape: "Tape"
    dialects: Mapping[str, Dialect]
    upstreams: "Upstreams"


def check_library() -> None:
    """Raise ConfigError if the library that asks the vendors is not installed."""
    if find_spec("httpx") is None:
        raise ConfigError("record: forwarding requests needs the library httpx: pip install 'llm-mockserver[record]'")


def for_recording(settings: Settings) -> Settings:
    """The settings of a recorder: those of simulated answers do not apply."""
    return replace(settings, stubs=None, stub=(), quota=(), fault=(), workers=1)


def studio_of(
    settings: Settings,
    path: Path,
    upstreams: "Upstreams",
    dialects: Mapping[str, Dialect],
    *,
    silence: float = SILENCE,
    only_new: bool = False,
    force: bool = False,
    journal: "Journal | None" = None,
) -> Studio:
    """A recorder into the file `path`, which has nothing in it with `force`; with `only_new` what is in it is answered
    from it. A `journal` tells what the recorder does. Raises ConfigError."""
    from mockserver.server.recording.forwarding import vendor_client
    from mockserver.server.recording.recorder import Recorder
    from mockserver.server.recording.replays import replays_in
    from mockserver.server.recording.tapes import Tape

    upstreams.check_loops(settings.port)
    if settings.dialect is not None:
        upstreams.check(dialects[settings.dialect])
    replays = replays_in(path) if only_new else None
    client = vendor_client(upstreams.given.values(), silence)
    tape = Tape(path, settings, force=force)
    recorder = Recorder(settings, dialects, upstreams, tape, client, replays=replays, journal=journal)
    return Studio(recorder, tape, dialects, upstreams)
