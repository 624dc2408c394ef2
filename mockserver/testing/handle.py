"""The handle on one namespace of a server, for tests."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from anyio import to_thread

from mockserver.core.matching.values import CriteriaError
from mockserver.core.messages import WithHints, pluralize
from mockserver.state.deliveries import Delivered
from mockserver.state.journal.views import PASSING, Past, View, explain_misses, explain_stale, journal_lines, loss
from mockserver.state.namespaces import BAD_NAME, check_advance, is_name
from mockserver.state.settings import ConfigError
from mockserver.state.verify import read_seconds, read_whole
from mockserver.state.verify.client_review import Verdict, client_facts_of
from mockserver.state.verify.expectations import all_matched, all_used, contract, no_handler_error
from mockserver.state.verify.selection import everyone
from mockserver.testing.backend import HandleBackend
from mockserver.testing.environment import clients_of, departures, environment, patched
from mockserver.testing.stubs import NEXT, StubBuilder, complaint_of
from mockserver.testing.verify import Verifier

# How many seconds to wait for open answers before reading the journal, since clients disconnect without notice.
_SETTLING = 0.1
_TIMEOUT = 5.0
# How many lines of each kind a failing test shows.
_MOST_LINES = 100
# The working directory, whatever it will be.
_HERE = Path()


class Clock:
    """The clock of a namespace: advancing it makes due what waits for it, including quotas and limits."""

    def __init__(self, backend: HandleBackend) -> None:
        self._backend = backend

    @property
    def now(self) -> float:
        """The present, in seconds from an arbitrary instant."""
        return self._backend.clock().now

    @property
    def ahead(self) -> float:
        """How far it has been advanced, in seconds."""
        return self._backend.clock().ahead

    def advance(self, seconds: float) -> float:
        """Advance it, and return how far it is ahead now. The clients' own clocks are not affected."""
        check_advance(seconds)
        return self._backend.advance(seconds)


class _Replayed(NamedTuple):
    """A recording from which answers come: its file, and a line for each exchange that was left out.

    If it is `shared`, other tests may ask for what this one does not.
    """

    path: Path
    left_out: Sequence[str]
    shared: bool


class Handle(WithHints):
    """One namespace of a server: its URLs, the answers to its clients, and what these have done.

    `dialect` is the target of `OPENAI_BASE_URL`; without one, it points to the bare paths, each with its own dialect.
    Relative paths of recordings begin at the `folder`. Raises ValueError if the namespace's name is invalid.
    """

    def __init__(self, backend: HandleBackend, dialect: str | None = None, folder: Path = _HERE) -> None:
        if not is_name(backend.namespace):
            raise ValueError(f"namespace {backend.namespace!r}: {BAD_NAME}")
        self._backend = backend
        self._dialect = dialect
        self._folder = folder
        self._replayed: dict[str, _Replayed] = {}
        self._passing = count(1)
        self._unfinished: list[StubBuilder] = []
        self._declared: dict[str, Any] = {}

    # --- where clients find it ---------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The base URL of the namespace, without a trailing slash; the dialects are below it."""
        return f"{self._backend.server}/ns/{quote(self.namespace, safe='')}" if self.namespace else self._backend.server

    @property
    def namespace(self) -> str:
        """The namespace's name; empty for a server's default one."""
        return self._backend.namespace

    @property
    def api_key(self) -> str:
        """A key that leads to the namespace with any request."""
        return f"mock-ns-{self.namespace}" if self.namespace else "mock-key"

    def base_url(self, dialect: str | None = None) -> str:
        """The base URL for a dialect's own client."""
        name = self._named(dialect)
        return f"{self.url}/{name}{clients_of(name).native}"

    def openai_base_url(self, dialect: str | None = None) -> str:
        """The base URL for the openai client; without any dialect that of the bare paths."""
        if dialect is None and self._dialect is None:
            return f"{self.url}/v1"
        name = self._named(dialect)
        return f"{self.url}/{name}{clients_of(name).openai}"

    def environment(self) -> dict[str, str]:
        """The environment variables with which clients find the namespace by themselves."""
        return environment(self.url, self.api_key, self.openai_base_url())

    def environ(self) -> AbstractContextManager[None]:
        """Set these variables in the environment of this process, within a `with` statement."""
        return patched(self.environment())

    @property
    def is_recording(self) -> bool:
        """Whether clients are led to the vendors, and a cassette is made of what these answer."""
        return False

    # --- what clients are answered -----------------------------------------------------------------------------

    def on(self, *unnamed: object, **match: Any) -> StubBuilder:
        """A stub for matching requests; its answer is defined by the methods of the result."""
        if unnamed:
            raise CriteriaError(f"on: {unnamed[0]!r} has no name; write on(last_user={unnamed[0]!r}), or another field")
        return StubBuilder(self._backend, match, self._unfinished)

    def next(self, requests: int = 1) -> StubBuilder:
        """A stub for the next requests, with precedence over all others."""
        name = f"{PASSING}{next(self._passing)}"
        return StubBuilder(self._backend, {}, self._unfinished, name=name, times=requests, priority=NEXT)

    def script(self, steps: Iterable[Any], **match: Any) -> StubBuilder:
        """Answer matching requests with these steps, one after the other."""
        return self.on(**match).script(steps)

    def stub(self, **table: Any) -> str:
        """Add a stub by its table, as in a stub file, and return its name."""
        return self._backend.add_stub(table)

    def replay(
        self,
        recording: str | Path,
        *,
        match: str = "exact",
        volatile: Sequence[str] = (),
        pace: bool = False,
        unmatched: str = "refuse",
        shared: bool = False,
    ) -> None:
        """Answer from a recording: what `mockserver record` has written, a journal, a HAR or a cassette of vcrpy.

        The recorded request must be the same, except for ids and what is `volatile` (`["$.seed"]`), or with
        `match="lenient"` look alike: then answers to requests that differ are marked as `stale`. Requests that it has
        no answer to are refused, or with `unmatched="generate"` answered all the same. With `pace` answers come as fast
        as they were recorded. If it is `shared` with other tests, answers that nobody asks for here are no problem,
        even if strict. Raises ConfigError.
        """
        # Imported when first needed: few tests have a recording.
        from mockserver.recordings.stubs import stem_of

        path = self._folder / recording
        stem = stem_of(path.name)
        other = self._replayed.get(stem)
        if other is not None and other.path != path:
            raise ConfigError(f"replay: {path} and {other.path} would make stubs of the same names; rename one of them")
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"replay: {path}: {error.strerror}") from None
        self.settle(unmatched=unmatched)
        how = {"match": match, "volatile": volatile, "pace": pace}
        self._replayed[stem] = _Replayed(path, self._backend.replay(data, str(path), how), shared)

    def settle(self, **settings: Any) -> None:
        """Set settings of the namespace's own: `seed`, `latency`, `edition`, `quota`, ...; others are unchanged."""
        self._backend.settle(settings)

    @property
    def clock(self) -> Clock:
        """The namespace's clock."""
        return Clock(self._backend)

    def reset(self) -> None:
        """Forget all stubs, armed faults, counts, messages, deliveries and the journal; settings and clock stay."""
        self._unfinished.clear()
        self._replayed.clear()
        self._backend.reset()

    # --- what clients have done --------------------------------------------------------------------------------

    @property
    def exchanges(self) -> list[View]:
        """Every exchange in the journal, including lists of models and the like, oldest first."""
        return list(self._settled().views)

    @property
    def requests(self) -> list[View]:
        """The exchanges in the journal in which a model was asked, oldest first."""
        return [view for view in self.exchanges if view.is_question]

    @property
    def last(self) -> View:
        """The latest exchange in which a model was asked. Raises LookupError if there is none."""
        view = self._backend.latest()
        if view is not None and not view.is_closed:
            self._backend.wait(_SETTLING)
            view = self._backend.latest()
        if view is None:
            forgotten = self._backend.past().forgotten.questions
            none = f"There was no request yet. Does the client use the URL of this namespace? It is {self.url}"
            raise LookupError(loss(forgotten) if forgotten else none)
        return view

    @property
    def unmatched(self) -> list[View]:
        """The exchanges in which no stub matched although there were some."""
        return [view for view in self.requests if view.is_unmatched]

    @property
    def verify(self) -> Verifier:
        """Checks of what clients have done."""
        return Verifier(self._backend, self._declared)

    def declare(self, **declared: Any) -> None:
        """Declare what correct handling is, as in `verify.resilience`, for later verdicts. Raises CheckError."""
        client_facts_of(self._declared | declared)
        self._declared |= declared

    def verdict(self) -> Verdict:
        """How the client has behaved, according to the declaration; raises nothing."""
        return self.verify.verdict()

    def problems(self, *, strict: bool = False) -> list[str]:
        """Problems that raised nothing in the test: its functions that failed, and stubs without an answer.

        If `strict`, also requests that no stub matched or that broke the vendor's contract, answers that were recorded
        for other requests, and unused stubs.
        """
        past = self._backend.past()
        problems = [no_handler_error(past.views), *map(complaint_of, self._unfinished)]
        if strict:
            problems += [all_matched(everyone(past)), contract(everyone(past)), all_used(self._own_stubs())]
        return list(dict.fromkeys(problem for problem in problems if problem is not None))

    def story(self) -> list[str]:
        """What has happened: a line for each exchange and each delivery (of very many the first and the last), and why
        stubs did not match; or why there was no request, as far as can be told by what this process has imported."""
        past = self._backend.past()
        seed = next((view.seed for view in past.views if view.seed is not None), None)
        lines = _first_and_last(_lines(past)) or ["There were no requests.", *departures(self.environment())]
        if stale := [view for view in past.views if view.stale]:
            lines += ["Answers that were recorded for other requests:", *_first_and_last([*explain_stale(stale)])]
        missed = [view for view in past.views if view.is_unmatched]
        if missed:
            lines += [
                "Requests that no stub matched, with the nearest stubs:",
                *_first_and_last([*explain_misses(missed)]),
            ]
            for path, left_out, _ in self._replayed.values():
                lines += [f"Of {path}:", *(f"  {each}" for each in left_out)] if left_out else []
        delivered = [each.line for each in self.deliveries]
        if delivered:
            lines += ["Sent to applications:", *_first_and_last(delivered)]
        return [*lines, *([] if seed is None else [f"Namespace {self.namespace}, seed {seed}"])]

    @property
    def stubs(self) -> list[Mapping[str, Any]]:
        """The stubs that were added: `name`, `match`, `used`, and `most` (None if unlimited)."""
        return self._backend.stubs()

    def wait_for_requests(self, number: int, timeout: float = _TIMEOUT) -> list[View]:
        """Wait until a model was asked so many times; return the exchanges in the journal. Raises TimeoutError."""
        wanted, seconds = read_whole(number, "wait_for_requests"), read_seconds(timeout, "timeout")
        if not self._backend.wait(seconds, wanted):
            raise TimeoutError(self._late(f"{pluralize(number, 'request')} did not arrive within {timeout:g} s"))
        return [view for view in self._backend.past().views if view.is_question]

    def wait_idle(self, timeout: float = _TIMEOUT) -> None:
        """Wait until every answer has ended. Raises TimeoutError."""
        if not self._backend.wait(read_seconds(timeout, "timeout")):
            raise TimeoutError(self._late(f"Some answers had not ended after {timeout:g} s"))

    @property
    def deliveries(self) -> list[Delivered]:
        """The requests that dialects have made to applications by themselves, such as callbacks, oldest first."""
        return self._backend.deliveries()

    def wait_for_deliveries(self, number: int, timeout: float = _TIMEOUT) -> list[Delivered]:
        """Wait until so many deliveries have ended, and return those that are kept. Raises TimeoutError.

        What follows from them is settled then: a retry, if there is one, waits for the clock.
        """
        wanted, seconds = read_whole(number, "wait_for_deliveries"), read_seconds(timeout, "timeout")
        if not self._backend.wait_for_deliveries(seconds, wanted):
            ended = sum(each.ended for each in self.deliveries)
            raise TimeoutError(self._late(f"Waited {timeout:g} s for {number} deliveries, of which {ended} ended"))
        return self.deliveries

    def journal(self) -> str:
        """What has happened, with one line for each exchange."""
        return "\n".join(_lines(self._settled()))

    @property
    def aio(self) -> "AsyncHandle":
        """The waiting methods in a form that can be awaited, under asyncio and trio."""
        return AsyncHandle(self)

    def _named(self, dialect: str | None) -> str:
        name = dialect or self._dialect
        if name is None:
            raise ValueError("Name a dialect, such as base_url('cerebras')")
        return name

    def _late(self, what: str) -> str:
        return "\n".join([f"{what}. The journal:", *(_lines(self._backend.past()) or ["   (empty)"])])

    def _own_stubs(self) -> list[Mapping[str, Any]]:
        """The stubs without those of shared recordings, which are called `NAME-1` and so on."""
        shared = {stem for stem, replayed in self._replayed.items() if replayed.shared}
        named = ((stub, str(stub["name"]).rpartition("-")) for stub in self._backend.stubs())
        return [stub for stub, (stem, _, number) in named if not (stem in shared and number.isdigit())]

    def _settled(self) -> Past:
        """The journal, after a short wait for open answers to end."""
        past = self._backend.past()
        if all(view.is_closed for view in past.views):
            return past
        self._backend.wait(_SETTLING)
        return self._backend.past()

    def __repr__(self) -> str:
        return f"<mockserver {self.url}>"


def _lines(past: Past) -> list[str]:
    """A journal as lines: what it has forgotten, and each exchange that it keeps."""
    forgotten = past.forgotten.exchanges
    return [*([loss(forgotten)] if forgotten else []), *journal_lines(past.views)]


def _first_and_last(lines: list[str]) -> list[str]:
    """Some lines at both ends of a long list, and how many are left out between them."""
    left_out = len(lines) - _MOST_LINES
    if left_out <= 0:
        return lines
    half = _MOST_LINES // 2
    return [*lines[:half], f"   ... ({left_out} lines left out)", *lines[-half:]]


class AsyncHandle:
    """A handle whose waiting methods can be awaited, under asyncio and trio: they wait in a thread."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    async def wait_for_requests(self, count: int, timeout: float = _TIMEOUT) -> list[View]:
        """Wait until a model was asked so many times. Raises TimeoutError."""
        return await _in_thread(partial(self._handle.wait_for_requests, count, timeout))

    async def wait_for_deliveries(self, count: int, timeout: float = _TIMEOUT) -> list[Delivered]:
        """Wait until so many deliveries have ended. Raises TimeoutError."""
        return await _in_thread(partial(self._handle.wait_for_deliveries, count, timeout))

    async def wait_idle(self, timeout: float = _TIMEOUT) -> None:
        """Wait until every answer has ended. Raises TimeoutError."""
        await _in_thread(partial(self._handle.wait_idle, timeout))

    async def advance(self, seconds: float) -> float:
        """Advance the namespace's clock, and return how far it is ahead now."""
        return await _in_thread(partial(self._handle.clock.advance, seconds))

    async def requests(self) -> list[View]:
        """The exchanges in which a model was asked, oldest first."""
        return await _in_thread(lambda: self._handle.requests)

    async def last(self) -> View:
        """The latest exchange in which a model was asked."""
        return await _in_thread(lambda: self._handle.last)

    async def reset(self) -> None:
        """Forget all stubs, armed faults, counts, messages, deliveries and the journal."""
        await _in_thread(self._handle.reset)


_in_thread = partial(to_thread.run_sync, abandon_on_cancel=True)
