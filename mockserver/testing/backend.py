"""How a handle accesses its namespace: directly in a server of this process, or through the admin API of any other.

Both have the same methods and behave the same, but the admin API only accepts plain values, no functions. So has the
recorder of a test, which refuses what would change answers.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import quote

from mockserver.core.dialects import Dialect
from mockserver.core.matching.values import CriteriaError
from mockserver.server.clock import Monotonic
from mockserver.server.following import wait_for_deliveries, wait_for_requests
from mockserver.server.urls import ask, other_scheme, with_way_out
from mockserver.state.deliveries import Delivered
from mockserver.state.journal.exchanges import Exchange, Forgotten, Journal
from mockserver.state.journal.transcripts import Transcript
from mockserver.state.journal.views import Past, View
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.checks import ADMIN, read_namespace_settings
from mockserver.state.stub_support import check_stub
from mockserver.state.stubs.parse_stubs import read_stub
from mockserver.state.stubs.values import StubError
from mockserver.state.verify.selection import filter_exchanges

if TYPE_CHECKING:
    from mockserver.server.app_state import AppState
    from mockserver.server.server import AppThread
    from mockserver.state.namespaces import Namespace

# How long the admin API may take to answer, in addition to the time that it is asked to wait, in seconds.
_DEADLINE = 10.0
# What a server refuses to filter by, and to replay; all else that it refuses is about a stub.
_REFUSALS: Mapping[str, type[Exception]] = {"filter": CriteriaError, "replay": ConfigError}
# Settings of a test that would change what its clients get while it is recorded; others are about simulated answers.
_CHANGING = ("fault", "quota")
# Among so many of the latest exchanges one is looked for first.
_LATEST = 20


class BackendError(Exception):
    """A server that cannot be reached, or that refuses a handle's request; the message says why."""


class Instant(NamedTuple):
    """A namespace's clock: the present in seconds, and how far it is ahead."""

    now: float
    ahead: float


class InProcessJournal:
    """The part of a backend that reads a journal in a server of this process: its state is only used in its thread.

    `journal` gives the journal, and `tell` what it says of an exchange.
    """

    def __init__(
        self,
        thread: "AppThread",
        namespace: str,
        dialects: Mapping[str, Dialect],
        journal: Callable[[], Journal],
        tell: Callable[[Exchange], Mapping[str, Any]],
    ) -> None:
        self.server, self.namespace = thread.url, namespace
        self._thread, self._dialects, self._journal, self._tell = thread, dialects, journal, tell

    def past(self) -> Past:
        """Every exchange that the journal keeps, oldest first, and how many it has forgotten."""

        def past() -> Past:
            journal = self._journal()
            return Past([View(self._tell(each)) for each in journal.exchanges()], journal.forgotten)

        return self._thread.call(past)

    def latest(self) -> View | None:
        """The latest exchange in which a model was asked."""

        def latest() -> View | None:
            questions = (each for each in reversed(self._journal().exchanges()) if each.is_question)
            return next((View(self._tell(each)) for each in questions), None)

        return self._thread.call(latest)

    def filter_exchanges(self, match: Mapping[str, Any]) -> Mapping[int, Sequence[str]]:
        """The differences of each exchange from a match, by its number."""

        def filtered() -> Mapping[int, Sequence[str]]:
            journal = self._journal()
            return filter_exchanges(journal.exchanges(), match, self._dialects, journal.forgotten.questions)

        return self._thread.call(filtered)

    def wait(self, seconds: float, requests: int | None = None) -> bool:
        """Wait for so many requests, or (without a number) for every answer to end; return False on timeout."""
        journal = self._thread.call(self._journal)
        return self._thread.wait(wait_for_requests(journal, requests, seconds), seconds)


class InProcess(InProcessJournal):
    """Access to a namespace of a simulator in this process."""

    def __init__(self, thread: "AppThread", app_state: "AppState", namespace: str) -> None:
        super().__init__(thread, namespace, app_state.dialects, lambda: self._space.journal, _told)
        self._app_state = app_state

    def add_stub(self, table: Mapping[str, Any]) -> str:
        """Add a stub, or replace the one of the same name, and return its name."""
        stub = read_stub(table)

        def add() -> str:
            check_stub(stub, self._dialects, self._settings)
            return self._space.stubs.add(stub)

        return self._thread.call(add)

    def remove_stub(self, name: str) -> None:
        """Remove a stub; nothing happens if there is none of that name."""
        self._thread.call(lambda: self._space.stubs.remove(name))

    def replay(self, data: bytes, source: str, how: Mapping[str, Any]) -> Sequence[str]:
        """Add the stubs of a recording from the file `source`; return a line for each exchange that was left out.

        `how` it answers is its `match`, what is `volatile`, and its `pace`.
        """
        # Imported when first needed: few tests have a recording.
        from mockserver.recordings.stubs import read_replaying, replay_from

        settings = self._thread.call(lambda: self._settings)
        found = replay_from(data, source, settings, self._dialects, read_replaying(**how))
        self._thread.call(lambda: [self._space.stubs.add(stub) for stub in found.stubs])
        return found.left_out

    def stubs(self) -> list[Mapping[str, Any]]:
        """The stubs: `name`, `match`, `used`, and `most` (None if unlimited)."""
        return self._thread.call(lambda: self._space.stubs.uses())

    def deliveries(self) -> list[Delivered]:
        """The requests that dialects have made to applications, oldest first."""
        return self._thread.call(lambda: self._space.deliveries.all())

    def wait_for_deliveries(self, seconds: float, number: int) -> bool:
        """Wait until so many deliveries have ended; return False on timeout."""
        deliveries = self._thread.call(lambda: self._space.deliveries)
        return self._thread.wait(wait_for_deliveries(deliveries, number, seconds), seconds)

    def clock(self) -> Instant:
        """The present state of the clock."""
        return self._thread.call(lambda: Instant(self._app_state.clocks.of(self._space).now(), self._space.shift))

    def advance(self, seconds: float) -> float:
        """Advance the clock, and return how far it is ahead."""
        return self._thread.call(lambda: self._app_state.clocks.advance(self._space, seconds))

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Set settings of the namespace's own; others are unchanged."""
        own = read_namespace_settings(settings, self._dialects, self._app_state.setup.settings.traces)

        def settle() -> None:
            self._space.own = {**self._space.own, **own}

        self._thread.call(settle)

    def reset(self) -> None:
        """Forget all stubs, armed faults, counts, messages, deliveries and the journal."""
        self._thread.call(lambda: self._space.reset())

    @property
    def _space(self) -> "Namespace":
        return self._app_state.namespaces.get(self.namespace)

    @property
    def _settings(self) -> Settings:
        return self._app_state.setup_of(self._space).settings


def _told(exchange: Exchange) -> Mapping[str, Any]:
    """A transcript. What is dear to tell of an answer that has ended is told when a test asks for it; of an open one it
    is told now, since it changes."""
    transcript = Transcript(exchange)
    return transcript if exchange.record.closed_by is not None else dict(transcript)


class RecorderBackend(InProcessJournal):
    """Access to a recorder in this process: its journal can be read, and it can be waited for. What would change the
    answers is impossible, since they are the vendor's; settings are only checked."""

    def __init__(
        self,
        thread: "AppThread",
        journal: Journal,
        dialects: Mapping[str, Dialect],
        tell: Callable[[Exchange], Mapping[str, Any]],
    ) -> None:
        super().__init__(thread, "", dialects, lambda: journal, tell)

    def add_stub(self, table: Mapping[str, Any]) -> str:
        _refuse("a stub")

    def remove_stub(self, name: str) -> None:
        """Nothing to remove."""

    def replay(self, data: bytes, source: str, how: Mapping[str, Any]) -> Sequence[str]:
        _refuse("a replay")

    def stubs(self) -> list[Mapping[str, Any]]:
        return []

    def deliveries(self) -> list[Delivered]:
        return []

    def wait_for_deliveries(self, seconds: float, number: int) -> bool:
        _refuse("waiting for deliveries")

    def clock(self) -> Instant:
        return Instant(Monotonic.now(), 0.0)

    def advance(self, seconds: float) -> float:
        _refuse("advancing the clock")

    def settle(self, settings: Mapping[str, Any]) -> None:
        own = read_namespace_settings(settings, self._dialects, self._thread.settings.traces)
        for name in _CHANGING:
            if own.get(name):
                _refuse(f"the setting {name}")

    def reset(self) -> None:
        self._thread.call(self._journal().clear)


def _refuse(what: str) -> NoReturn:
    raise BackendError(
        f"{what[0].upper()}{what[1:]} is impossible while the test is recorded, since the vendor itself answers. Write "
        "`if not mockserver.is_recording:` before it, or record the test without it"
    )


class OverHttp:
    """Access to a namespace of any server, through its admin API."""

    def __init__(self, server: str, namespace: str, token: str | None = None) -> None:
        self.server, self.namespace = server.rstrip("/"), namespace
        self._token = token

    def past(self) -> Past:
        journal = self._ask("GET", "/journal?full=1&limit=1000000")
        return Past([View(each) for each in journal["exchanges"]], Forgotten(**journal["forgotten"]))

    def latest(self) -> View | None:
        limit = _LATEST
        while True:
            listed = self._ask("GET", f"/journal?limit={limit}")["exchanges"]
            found = [each["number"] for each in listed if each["question"]]
            if found or len(listed) < limit:
                return View(self._ask("GET", f"/journal/{found[-1]}")) if found else None
            limit *= 10

    def filter_exchanges(self, match: Mapping[str, Any]) -> Mapping[int, Sequence[str]]:
        differences = self._ask("POST", "/journal/filter", {"match": match})["differences"]
        return {int(number): found for number, found in differences.items()}

    def add_stub(self, table: Mapping[str, Any]) -> str:
        return str(self._ask("POST", "/stubs", table)["added"][0])

    def remove_stub(self, name: str) -> None:
        with suppress(BackendError):
            self._ask("DELETE", f"/stubs/{quote(name, safe='')}")

    def replay(self, data: bytes, source: str, how: Mapping[str, Any]) -> Sequence[str]:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise ConfigError(f"replay: {source}: is not a recording, since it is not text in UTF-8: {error}") from None
        left_out: Sequence[str] = self._ask("POST", "/replay", {"recording": text, "name": source, **how})["left_out"]
        return left_out

    def stubs(self) -> list[Mapping[str, Any]]:
        listed: list[Mapping[str, Any]] = self._ask("GET", "/stubs")["stubs"]
        return [stub for stub in listed if stub["origin"] == "added"]

    def wait(self, seconds: float, requests: int | None = None) -> bool:
        what = "" if requests is None else f"&requests={requests}"
        return bool(self._ask("GET", f"/wait?seconds={seconds}{what}", seconds=seconds)["happened"])

    def deliveries(self) -> list[Delivered]:
        return [Delivered(**each) for each in self._ask("GET", "/deliveries")["deliveries"]]

    def wait_for_deliveries(self, seconds: float, number: int) -> bool:
        path = f"/wait?seconds={seconds}&deliveries={number}"
        return bool(self._ask("GET", path, seconds=seconds)["happened"])

    def clock(self) -> Instant:
        clock = self._ask("GET", "/clock")
        return Instant(clock["now"], clock["ahead"])

    def advance(self, seconds: float) -> float:
        return float(self._ask("POST", "/clock", {"advance": seconds})["ahead"])

    def settle(self, settings: Mapping[str, Any]) -> None:
        self._ask("PUT", "/settings?merge=1", settings)

    def reset(self) -> None:
        self._ask("POST", "/reset")

    def _ask(self, method: str, path: str, body: object = None, seconds: float = 0.0) -> Any:
        prefix = f"{ADMIN}/ns/{quote(self.namespace, safe='')}" if self.namespace else ADMIN
        headers = {"content-type": "application/json"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        data = None if body is None else _json(body)
        try:
            status, answer = ask(self.server, method, f"{prefix}{path}", data, headers, timeout=seconds + _DEADLINE)
            if status < 300:
                return json.loads(answer)
        except (HTTPException, OSError, ValueError) as error:
            advice = other_scheme(self.server, error) if isinstance(error, OSError | HTTPException) else ""
            raise BackendError(f"{self.server}: {advice or with_way_out(error)}") from None
        raise _refused(self.server, path, status, answer)


# Access to one namespace of a server whose base URL is `server`.
HandleBackend = InProcess | RecorderBackend | OverHttp


def _json(value: object) -> bytes:
    try:
        return json.dumps(value).encode()
    except TypeError as error:
        raise BackendError(f"A server elsewhere can get only values, not functions: {error}") from None


def _refused(server: str, path: str, status: int, body: bytes) -> Exception:
    """An error of the admin API as the exception that a server in this process would raise, if known."""
    try:
        message = str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return BackendError(f"{server}: {path}: status {status}")
    if status == 400:
        return _REFUSALS.get(path.rpartition("/")[2], StubError)(message)
    return BackendError(f"{server}: {path}: {message}")
