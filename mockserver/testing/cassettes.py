"""The cassettes of tests: which recording answers in a test, and how one is recorded."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from mockserver.state.settings import ConfigError
from mockserver.testing.handle import Handle
from mockserver.testing.server import MockServer, RemoteServer

# Where the cassettes are that are named after their tests, as other plugins have them: cassettes/MODULE/TEST.yaml.
_FOLDER = "cassettes"
_SUFFIXES = (".jsonl", ".yaml", ".json", ".har")
_UNFIT_FOR_FILES = re.compile(r"""[<>?%*:|"'/\\\x00-\x1f]""")
# The names of what can be recorded, and of what can be added to.
_RECORDED, _ADDED_TO = (".jsonl", ".har"), (".jsonl",)


class Cassette(NamedTuple):
    """The recording that answers in a test; `is_own` if it is named after the test."""

    path: Path
    pace: bool = False
    unmatched: str = "refuse"
    is_own: bool = False

    def replay(self, handle: Handle) -> None:
        """Answer from it. A test may have none of its own name, and ask nothing.

        Raises ConfigError if it is damaged.
        """
        handle.settle(unmatched=self.unmatched)
        if self.is_own and not self.path.exists():
            return
        try:
            # Only a cassette that is named after its test is surely that test's alone.
            handle.replay(self.path, pace=self.pace, unmatched=self.unmatched, shared=not self.is_own)
        except ConfigError as error:
            if self.path.suffix.lower() not in _RECORDED:
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
        named, pace = marked.pop("cassette", None), marked.pop("pace", False)
        if named is None or named is False:
            if pace:
                raise ValueError("pace: is that of a cassette, and there is none; a latency may be realistic")
            return None
        if named is not True and not isinstance(named, str | Path):
            raise ValueError(f"cassette: {named!r} is not a path such as 'cassettes/weather.jsonl', and not True")
        path = self._own_path(module, name) if named is True else module.parent / named
        return Cassette(path, pace, marked.pop("unmatched", "refuse"), is_own=named is True)

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
        suffixes = _ADDED_TO if adds else _RECORDED
        if path.suffix.lower() not in suffixes:
            what = "what can be added to" if adds else "what is recorded"
            raise ConfigError(f"cassette: {path}: the name of {what} ends in {' or '.join(suffixes)}")
        if (tests := sharing()) > 1:
            raise ConfigError(f"cassette: {path} is shared by {tests} tests; record them in one process, with -n 0")
        # It needs the library that asks the vendors.
        from mockserver.testing.recording import recording

        def is_good() -> bool:
            if passed():
                self._begun.add(path)
            return passed()

        settings = server.settings if isinstance(server, MockServer) else None
        return recording(path, settings, self._upstreams, "--mockserver-upstream", dialect, adds=adds, is_good=is_good)
