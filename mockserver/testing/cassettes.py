"""The cassettes of tests: which recording answers in a test, and how one is recorded.

A test that is recorded has a recorder of its own, which forwards to the vendors; its journal is the handle's.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mockserver.core.installed import load_dialects
from mockserver.core.messages import pluralize
from mockserver.recordings.stubs import complaints, read_replaying, stubs_from
from mockserver.recordings.traffic import exchanges_in
from mockserver.server.recording import check_library, for_recording, make_recorder
from mockserver.server.recording.exchanges import by_vendor
from mockserver.server.recording.recording_file import SUFFIX
from mockserver.server.recording.upstreams import read_upstreams
from mockserver.server.server import AppThread
from mockserver.state.journal.exchanges import Exchange, Journal
from mockserver.state.journal.transcripts import transcript_of
from mockserver.state.journal.views import line
from mockserver.state.settings import ConfigError, Settings
from mockserver.testing.backend import BackendError, RecorderBackend
from mockserver.testing.environment import OPENAI_KEY, OPENAI_URLS, clients_of, recorder_environment
from mockserver.testing.handle import Handle
from mockserver.testing.server import MockServer, RemoteServer

if TYPE_CHECKING:
    from mockserver.server.recording.recorder import Recorder

# The arguments of a marker that say how its cassette answers.
OF_CASSETTES = ("match", "volatile", "pace")
# Where the openai client is led if nobody has said whose API it is for: nothing is there, so no key goes astray.
_NOBODY = "/undeclared/v1"
_NAME_ONE = "@pytest.mark.mockserver(dialect=...)"
# Where the cassettes are that are named after their tests, as other plugins have them: cassettes/MODULE/TEST.yaml.
_FOLDER = "cassettes"
_SUFFIXES = (SUFFIX, ".yaml", ".json", ".har")
_UNFIT_FOR_FILES = re.compile(r"""[<>?%*:|"'/\\\x00-\x1f]""")


class Cassette(NamedTuple):
    """The recording that answers in a test, and `how`, as `Handle.replay` takes it; `is_own` if it is named after the
    test."""

    path: Path
    how: Mapping[str, Any] = MappingProxyType({})
    is_own: bool = False

    def replay(self, handle: Handle) -> None:
        """Answer from it. A test may have none of its own name, and ask nothing.

        Raises ConfigError if it is damaged.
        """
        handle.settle(unmatched=self.how.get("unmatched", "refuse"))
        if self.is_own and not self.path.exists():
            return
        try:
            # Only a cassette that is named after its test is surely that test's alone.
            handle.replay(self.path, **self.how, shared=not self.is_own)
        except ConfigError as error:
            if self.path.suffix.lower() != SUFFIX:
                raise
            raise ConfigError(f"{error}. To record it anew: --mockserver-record=all") from None

    def advice(self, handle: Handle) -> Iterator[str]:
        """How to record what it does not have, if a test that has failed has asked for that."""
        if not self.path.exists():
            yield f"There is no cassette {self.path}. To record it: --mockserver-record=once"
        elif handle.unmatched:
            yield f"To record what {self.path} does not have: --mockserver-record=new. To record it anew: all"


class Cassettes:
    """The cassettes of a run: how they are recorded (`none`, `once`, `new`, `all`), and where requests go for that,
    each written `NAME=URL`."""

    def __init__(self, mode: str, upstreams: Sequence[str]) -> None:
        self._mode, self._upstreams = mode, upstreams
        # Those that this run has made: tests that share one add to it.
        self._begun: set[Path] = set()

    def of(self, marked: dict[str, Any], module: Path, name: str) -> Cassette | None:
        """The cassette of the test of a name in a module, from arguments of its marker, which are taken out; None
        without one. Raises ValueError."""
        named = marked.pop("cassette", None)
        how = {key: marked.pop(key) for key in OF_CASSETTES if key in marked}
        if named is None or named is False:
            for key in how:
                raise ValueError(f"{key}: is that of a cassette, and there is none")
            return None
        if "unmatched" in marked:
            how["unmatched"] = marked.pop("unmatched")
        if named is not True and not isinstance(named, str | Path):
            raise ValueError(f"cassette: {named!r} is not a path such as 'cassettes/weather.jsonl', and not True")
        path = self._own_path(module, name) if named is True else module.parent / named
        return Cassette(path, how, is_own=named is True)

    def _own_path(self, module: Path, name: str) -> Path:
        """The cassette that is named after a test: the one that exists, else the one to be recorded."""
        stem = module.parent / _FOLDER / module.stem / _UNFIT_FOR_FILES.sub("-", name)
        recorded, *others = (stem.with_name(stem.name + suffix) for suffix in _SUFFIXES)
        known = (recorded, *others) if self._mode != "all" else ()
        return next((path for path in known if path.exists()), recorded)

    def recorder(
        self,
        cassette: Cassette,
        server: MockServer | RemoteServer,
        dialect: str | None,
        *,
        sharing: Callable[[], int],
        passed: Callable[[], bool],
    ) -> AbstractContextManager[Handle] | None:
        """The recorder for a test; None if it is to be answered from its cassette. Raises ConfigError.

        `sharing` is how many tests of other processes and this one have the cassette; `passed` tells at the end whether
        the recording is to be kept.
        """
        path, mode = cassette.path, self._mode
        if mode == "none":
            if not (cassette.is_own or path.exists()):
                raise ConfigError(f"cassette: {path} does not exist; record it with --mockserver-record=once")
            return None
        adds = mode == "new" or path in self._begun
        if mode == "once" and path.exists() and not adds:
            return None
        if path.suffix.lower() != SUFFIX:
            raise ConfigError(f"cassette: {path}: the name of what is recorded ends in {SUFFIX}")
        if (tests := sharing()) > 1:
            raise ConfigError(f"cassette: {path} is shared by {tests} tests; record them in one process, with -n 0")

        def is_good() -> bool:
            if passed():
                self._begun.add(path)
            return passed()

        settings = server.settings if isinstance(server, MockServer) else None
        how = read_replaying(**{key: value for key, value in cassette.how.items() if key in OF_CASSETTES})
        return recording(path, settings, self._upstreams, dialect, adds=adds, volatile=how.volatile, is_good=is_good)


class RecordingHandle(Handle):
    """The handle on a recorder. Its journal tells what has been forwarded; nothing else of a simulator is there.

    What the test records is kept in the file `path`, if it passes or if it `adds` to it.
    """

    def __init__(
        self, backend: "RecorderBackend", recorder: "Recorder", path: Path, dialect: str | None, *, adds: bool
    ) -> None:
        super().__init__(backend, dialect or recorder.settings.dialect)
        self._recorder, self._path, self._adds = recorder, path, adds

    @property
    def is_recording(self) -> bool:
        """Whether clients are led to the vendors, and a cassette is made."""
        return True

    def kept(self, *, passed: bool) -> int:
        """How many exchanges of the test stay in the file."""
        return self._recorder.file.written if passed or self._adds else 0

    @property
    def api_key(self) -> str:
        """The user's own key for the dialect, from the environment. Raises BackendError if there is none."""
        if self._dialect is None:
            raise BackendError(f"Recording needs to know whose key is wanted: {_NAME_ONE}")
        names = clients_of(self._dialect).keys or (OPENAI_KEY,)
        key = next(filter(None, map(os.environ.get, names)), None)
        if key is None:
            raise BackendError(f"Recording needs your own API key in the environment: {' or '.join(names)}")
        return key

    def openai_base_url(self, dialect: str | None = None) -> str:
        """The base URL for the openai client; without any dialect one at which nothing is recorded."""
        return f"{self.url}{_NOBODY}" if (dialect or self._dialect) is None else super().openai_base_url(dialect)

    def environment(self) -> dict[str, str]:
        """The environment variables with which clients find the recorder; keys are the user's own."""
        return {**recorder_environment(self.url), **dict.fromkeys(OPENAI_URLS, self.openai_base_url())}

    def problems(self, *, strict: bool = False) -> list[str]:
        """Problems that raised nothing in the test, and what of it could not be recorded, or could not be replayed."""
        problems = super().problems(strict=strict)
        denied = [f"  {line(view)}" for view in self.exchanges if view.refused]
        if any(view.path.startswith(_NOBODY) for view in self.exchanges):
            denied.append(f"  Say whose API the openai client is for: {_NAME_ONE}")
        if denied:
            problems.append("\n".join(["Not recorded:", *denied]))
        if failed := self._recorder.file.lost:
            problems.append(f"{pluralize(failed, 'exchange')} could not be written to {self._path}, as the log says")
        if lost := self._lost():
            lines = (f"  {each}" for each in lost)
            problems.append("\n".join([f"Recorded, but it cannot be replayed from {self._path}:", *lines]))
        return problems

    def story(self) -> list[str]:
        """What has happened: a line for each exchange, and what becomes of the recording."""
        taken = self._recorder.file.written
        kept = "added to" if self._adds else "not kept, since the test has failed, in"
        made = f"{pluralize(taken, 'exchange')}, {kept} {self._path}" if taken else "nothing"
        return [*super().story(), f"Recorded: {made}"]

    def _lost(self) -> Sequence[str]:
        """A line for each exchange of this test of which no stub can be made."""
        file = self._recorder.file
        if not file.written:
            return ()
        data, source = file.path.read_bytes(), str(self._path)
        lost = stubs_from(exchanges_in("record", data, source), source, self._recorder.settings, load_dialects()).lost
        # What others have recorded before is none of its business.
        before = len(data.splitlines()) - file.written if self._adds else 0
        former = {f"line {number}" for number in range(1, before + 1)}
        return complaints([each for each in lost if each.place not in former])


def _told(exchange: Exchange) -> dict[str, Any]:
    told = transcript_of(exchange)
    return told if exchange.plan is None else by_vendor(told)


@contextmanager
def recording(
    path: Path,
    settings: Settings | None,
    upstreams: Sequence[str],
    dialect: str | None,
    *,
    adds: bool,
    volatile: Sequence[str] = (),
    is_good: Callable[[], bool],
) -> Iterator[RecordingHandle]:
    """A recorder into the file `path`, with a simulator's settings, for a `with` block. Raises ConfigError.

    With `adds` the file is added to, and what it has is answered from it, whatever is `volatile`. Otherwise it is made
    anew when all is over and `is_good` then; until then a file of its own is written, so that a failure destroys
    nothing. `upstreams` are written `NAME=URL`.
    """
    check_library()
    dialects, journal = load_dialects(), Journal()
    own = replace(for_recording(settings or Settings(log_level="warning")), port=0)
    known = read_upstreams(upstreams, dialects, "--mockserver-upstream")
    if dialect is not None:
        clients_of(dialect)
        known.check(dialects[dialect])
    place = path if adds else path.with_name(f"{path.stem}.unfinished{path.suffix}")
    recorder = make_recorder(
        own, place, known, dialects, only_new=adds, volatile=volatile, force=not adds, journal=journal
    )
    try:
        with AppThread(recorder) as thread:
            yield RecordingHandle(RecorderBackend(thread, journal, dialects, _told), recorder, path, dialect, adds=adds)
    finally:
        recorder.file.close()
        if not adds and recorder.file.written:
            place.replace(path) if is_good() else place.unlink()
