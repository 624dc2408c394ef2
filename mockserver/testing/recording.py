"""Recording a test: its clients are led to a recorder, which forwards to the vendors and writes a cassette."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from mockserver.core.dialects import Dialect
from mockserver.core.installed import load_dialects
from mockserver.core.naming import counted
from mockserver.server.clock import Monotonic
from mockserver.server.files.recordings import complaints, stubs_from
from mockserver.server.recording.studio import Studio, check_library, for_recording, studio_of
from mockserver.server.recording.takes import by_vendor
from mockserver.server.recording.upstreams import read_upstreams
from mockserver.server.server import AppThread
from mockserver.state.configuration.namespace_settings import read_namespace_settings
from mockserver.state.deliveries import Delivered
from mockserver.state.journal.exchanges import Exchange, Journal
from mockserver.state.journal.lines import line
from mockserver.state.journal.transcripts import transcript_of
from mockserver.state.journal.views import View
from mockserver.state.settings import Settings
from mockserver.testing.environment import OPENAI_KEY, OPENAI_URLS, clients_of, recorder_environment
from mockserver.testing.handle import Handle
from mockserver.testing.links import Instant, JournalLink, LinkError

# Settings of a test that would change what its clients get; others are about simulated answers.
_CHANGING = ("fault", "quota")
# Where the openai client is led if nobody has said whose API it is for: nothing is there, so no key goes astray.
_NOBODY = "/openai/v1"
_NAME_ONE = "@pytest.mark.mockserver(dialect=...)"


class Recording(Handle):
    """The handle on a recorder. Its journal tells what has been forwarded; nothing else of a simulator is there.

    What the test records is kept in the file `path`, if it passes or if it `adds` to it.
    """

    def __init__(self, link: "RecorderLink", studio: Studio, path: Path, dialect: str | None, *, adds: bool) -> None:
        super().__init__(link, dialect or studio.recorder.settings.dialect)
        self._studio, self._path, self._adds = studio, path, adds

    @property
    def is_recording(self) -> bool:
        """Whether clients are led to the vendors, and a cassette is made."""
        return True

    def kept(self, *, passed: bool) -> int:
        """How many exchanges of the test stay in the file."""
        return self._studio.tape.taken if passed or self._adds else 0

    @property
    def api_key(self) -> str:
        """The user's own key for the dialect, from the environment. Raises LinkError if there is none."""
        if self._dialect is None:
            raise LinkError(f"Recording needs to know whose key is wanted: {_NAME_ONE}")
        names = clients_of(self._dialect).keys or (OPENAI_KEY,)
        key = next(filter(None, map(os.environ.get, names)), None)
        if key is None:
            raise LinkError(f"Recording needs your own API key in the environment: {' or '.join(names)}")
        return key

    def openai_base_url(self, dialect: str | None = None) -> str:
        """The base URL for the openai client; without any dialect one at which nothing is recorded."""
        return f"{self.url}{_NOBODY}" if (dialect or self._dialect) is None else super().openai_base_url(dialect)

    def environment(self) -> dict[str, str]:
        """The environment variables with which clients find the recorder; keys are the user's own."""
        return {**recorder_environment(self.url), **dict.fromkeys(OPENAI_URLS, self.openai_base_url())}

    def problems(self, *, strict: bool = False) -> list[str]:
        """Problems that raised nothing in the test, and what of it could not be recorded, or could not be replayed."""
        denied = [f"  {line(view)}" for view in self.exchanges if view.refused]
        if any(view.path.startswith(_NOBODY) for view in self.exchanges):
            denied.append(f"  Say whose API the openai client is for: {_NAME_ONE}")
        failed, lost = self._studio.tape.lost, [f"  {each}" for each in self._lost()]
        return [
            *super().problems(strict=strict),
            *(["\n".join(["Not recorded:", *denied])] if denied else []),
            *(
                [f"{counted(failed, 'exchange')} could not be written to {self._path}, as the log says"]
                if failed
                else []
            ),
            *(["\n".join([f"Recorded, but it cannot be replayed from {self._path}:", *lost])] if lost else []),
        ]

    def story(self) -> list[str]:
        """What has happened: a line for each exchange, and what becomes of the recording."""
        taken = self._studio.tape.taken
        kept = "added to" if self._adds else "not kept, since the test has failed, in"
        made = f"{counted(taken, 'exchange')}, {kept} {self._path}" if taken else "nothing"
        return [*super().story(), f"Recorded: {made}"]

    def _lost(self) -> Sequence[str]:
        """A line for each exchange of this test of which no stub can be made."""
        tape = self._studio.tape
        if not tape.taken:
            return ()
        data, settings = tape.path.read_bytes(), self._studio.recorder.settings
        lost = stubs_from(data, str(self._path), settings, self._studio.dialects, paced=False).lost
        # What others have recorded before is none of its business.
        before = len(data.splitlines()) - tape.taken if self._adds else 0
        former = {f"line {number}" for number in range(1, before + 1)}
        return complaints([each for each in lost if each.place not in former])


class RecorderLink(JournalLink):
    """Access to a recorder in this process: its journal can be read, and it can be waited for."""

    def __init__(self, thread: AppThread, journal: Journal, dialects: Mapping[str, Dialect]) -> None:
        super().__init__(thread, "", dialects)
        self._noted = journal

    def add_stub(self, table: Mapping[str, Any]) -> str:
        """Impossible: the vendor answers."""
        _refuse("a stub")

    def remove_stub(self, name: str) -> None:
        """Nothing to remove."""

    def replay(self, data: bytes, source: str, *, paced: bool) -> Sequence[str]:
        """Impossible: the vendor answers."""
        _refuse("a replay")

    def stubs(self) -> list[Mapping[str, Any]]:
        """None."""
        return []

    def deliveries(self) -> list[Delivered]:
        """None: the vendor's go directly to the application."""
        return []

    def wait_for_deliveries(self, seconds: float, number: int) -> bool:
        """Impossible: they are the vendor's."""
        _refuse("waiting for deliveries")

    def clock(self) -> Instant:
        """The machine's clock."""
        return Instant(Monotonic.now(), 0.0)

    def advance(self, seconds: float) -> float:
        """Impossible: the vendor's time goes on by itself."""
        _refuse("advancing the clock")

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Check settings; none of them affects what the vendor answers."""
        own = read_namespace_settings(settings, self._dialects, self._in_thread.settings.traces)
        for name in _CHANGING:
            if own.get(name):
                _refuse(f"the setting {name}")

    def reset(self) -> None:
        """Forget the journal; what is recorded stays recorded."""
        self._in_thread.call(self._noted.clear)

    @property
    def _journal(self) -> Journal:
        return self._noted

    @staticmethod
    def _view(exchange: Exchange) -> View:
        told = transcript_of(exchange)
        return View(told if exchange.plan is None else by_vendor(told))


@contextmanager
def recording(
    path: Path,
    settings: Settings | None,
    upstreams: Sequence[str],
    option: str,
    dialect: str | None,
    *,
    adds: bool,
    is_good: Callable[[], bool],
) -> Iterator[Recording]:
    """A recorder into the file `path`, with a simulator's settings, for a `with` block. Raises ConfigError.

    With `adds` the file is added to, and what it has is answered from it. Otherwise it is made anew when all is over
    and `is_good` then; until then a file of its own is written, so that a failure destroys nothing. `upstreams` are
    written `NAME=URL`, as values of the `option`.
    """
    check_library()
    dialects, journal = load_dialects(), Journal()
    own = replace(for_recording(settings or Settings(log_level="warning")), port=0)
    known = read_upstreams(upstreams, dialects, option)
    if dialect is not None:
        clients_of(dialect)
        known.check(dialects[dialect])
    place = path if adds else path.with_name(f"{path.stem}.unfinished{path.suffix}")
    studio = studio_of(own, place, known, dialects, only_new=adds, force=not adds, journal=journal)
    try:
        thread = AppThread(studio.recorder)
        thread.start()
        try:
            yield Recording(RecorderLink(thread, journal, dialects), studio, path, dialect, adds=adds)
        finally:
            thread.stop()
    finally:
        studio.tape.close()
        if not adds and studio.tape.taken:
            place.replace(path) if is_good() else place.unlink()


def _refuse(what: str) -> NoReturn:
    raise LinkError(
        f"{what[0].upper()}{what[1:]} is impossible while the test is recorded, since the vendor itself answers. Write "
        "`if not mockserver.is_recording:` before it, or record the test without it"
    )
