"""The handle: one namespace of a server, as a test holds it."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mockserver.control.journal.lines import explain_misses, journal_lines, loss
from mockserver.control.journal.views import PASSING, Past, View
from mockserver.control.namespaces import BAD_NAME, check_advance, is_name
from mockserver.control.verify.declarations import declared_by
from mockserver.control.verify.expectations import all_matched, all_used, contract, no_trouble
from mockserver.control.verify.subjects import everyone
from mockserver.control.verify.verdict import Verdict
from mockserver.control.verify.wanted import read_seconds, read_whole
from mockserver.testing.environment import clients_of, environment, patched
from mockserver.testing.links import Instant, Link
from mockserver.testing.stubbing import NEXT, Stubbing, complaint_of
from mockserver.testing.verifying import Verify

if TYPE_CHECKING:
    from mockserver.testing.aio import Aio

# How long a look at the journal waits for answers that are still open: a client leaves without a word, in seconds.
_SETTLING = 0.1
_TIMEOUT = 5.0


class Clock:
    """The clock of a namespace: what is due by it, and quotas and limits, follow when it is put forward."""

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    def now(self) -> float:
        """The present, in seconds from an arbitrary instant."""
        return self._read().now

    @property
    def ahead(self) -> float:
        """How far it has been put forward, in seconds."""
        return self._read().ahead

    def advance(self, seconds: float) -> float:
        """Put it forward; the answer is how far it is ahead now. Clients' own clocks stay as they are."""
        check_advance(seconds)
        return self._link.advance(seconds)

    def _read(self) -> Instant:
        return self._link.clock()


class Handle:
    """One namespace of a server: where clients find it, what they are answered, and what they have done.

    `dialect` is where `OPENAI_BASE_URL` leads; without one it leads to the bare paths, where each has its dialect.
    Raises ValueError when no request could name the namespace.
    """

    def __init__(self, link: Link, dialect: str | None = None) -> None:
        if not is_name(link.namespace):
            raise ValueError(f"namespace {link.namespace!r}: {BAD_NAME}")
        self._link = link
        self._dialect = dialect
        self._passing = count(1)
        self._unfinished: list[Stubbing] = []
        self._declared: dict[str, Any] = {}

    # --- where clients find it ---------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The base URL of the namespace, without a slash at the end; dialects answer below it."""
        return f"{self._link.server}/ns/{quote(self.namespace, safe='')}" if self.namespace else self._link.server

    @property
    def namespace(self) -> str:
        """The namespace's name; empty for a server's default one."""
        return self._link.namespace

    @property
    def api_key(self) -> str:
        """A key that leads to the namespace wherever a request with it arrives."""
        return f"mock-ns-{self.namespace}" if self.namespace else "mock-key"

    def base_url(self, dialect: str | None = None) -> str:
        """The base URL that a dialect's own client wants."""
        name = self._named(dialect)
        return f"{self.url}/{name}{clients_of(name).native}"

    def openai_base_url(self, dialect: str | None = None) -> str:
        """The base URL that the openai client wants; without any dialect that of the bare paths."""
        if dialect is None and self._dialect is None:
            return f"{self.url}/v1"
        name = self._named(dialect)
        return f"{self.url}/{name}{clients_of(name).openai}"

    def environment(self) -> dict[str, str]:
        """The environment variables by which clients find the namespace of their own accord."""
        return environment(self)

    def environ(self) -> AbstractContextManager[None]:
        """Have these variables in the environment of this process, within a `with` statement."""
        return patched(self.environment())

    # --- what clients are answered -----------------------------------------------------------------------------

    def on(self, **match: Any) -> Stubbing:
        """A stub for the requests that match; what it answers is said next."""
        return Stubbing(self._link, match, self._unfinished)

    def next(self, requests: int = 1) -> Stubbing:
        """A stub for the next so many requests, before all others."""
        name = f"{PASSING}{next(self._passing)}"
        return Stubbing(self._link, {}, self._unfinished, name=name, times=requests, priority=NEXT)

    def script(self, steps: Iterable[Any], **match: Any) -> Stubbing:
        """Answer the requests that match with these steps, one after the other."""
        return self.on(**match).script(steps)

    def stub(self, **table: Any) -> str:
        """Add a stub by its table, as a stub file has it; the answer is its name."""
        return self._link.add_stub(table)

    def settle(self, **settings: Any) -> None:
        """Give the namespace settings of its own: `seed`, `latency`, `edition`, `quota`, ...; those not named stay."""
        self._link.settle(settings)

    @property
    def clock(self) -> Clock:
        """The namespace's clock."""
        return Clock(self._link)

    def reset(self) -> None:
        """Forget all that was stubbed, armed, counted and recorded; the settings and the time stay."""
        self._unfinished.clear()
        self._link.reset()

    # --- what clients have done --------------------------------------------------------------------------------

    @property
    def exchanges(self) -> list[View]:
        """Every exchange that the journal keeps, lists of models and the like among them, oldest first."""
        return list(self._settled().views)

    @property
    def requests(self) -> list[View]:
        """The exchanges in which a model was asked, as far as the journal keeps them, oldest first."""
        return [view for view in self.exchanges if view.is_question]

    @property
    def last(self) -> View:
        """The latest exchange in which a model was asked. Raises LookupError when there is none."""
        view = self._link.latest()
        if view is not None and not view.is_closed:
            self._link.wait(_SETTLING)
            view = self._link.latest()
        if view is None:
            forgotten = self._link.past().forgotten.questions
            if forgotten:
                raise LookupError(loss(forgotten))
            raise LookupError("There was no request yet. Does the client ask this namespace? Its URL is " + self.url)
        return view

    @property
    def unmatched(self) -> list[View]:
        """The exchanges in which no stub matched, though there were some."""
        return [view for view in self.requests if view.is_unmatched]

    @property
    def verify(self) -> Verify:
        """Checks of what clients have done."""
        return Verify(self._link, self._declared)

    def declare(self, **declared: Any) -> None:
        """Say what correct handling is, as to `verify.resilience`, for verdicts to come. Raises DeclarationError."""
        declared_by(self._declared | declared)
        self._declared |= declared

    def verdict(self) -> Verdict:
        """How the client has behaved, by what was declared; nothing is raised."""
        return self.verify.verdict()

    def problems(self, *, strict: bool = False) -> list[str]:
        """What went wrong and raised nothing in the test: functions of its own that failed, stubs that answer nothing.

        Strictly also requests that no stub matched or that broke the vendor's contract, and stubs that were not used.
        """
        past = self._link.past()
        problems = [no_trouble(past.views), *map(complaint_of, self._unfinished)]
        if strict:
            problems += [all_matched(everyone(past)), contract(everyone(past)), all_used(self._link.stubs())]
        return list(dict.fromkeys(problem for problem in problems if problem is not None))

    def story(self) -> list[str]:
        """What has happened, for people: a line for each exchange, and why stubs did not match."""
        past = self._link.past()
        seed = next((view.seed for view in past.views if view.seed is not None), None)
        lines = _lines(past) or ["There was no request."]
        missed = [view for view in past.views if view.is_unmatched]
        if missed:
            lines += ["No stub matched; the nearest, field by field:", *explain_misses(missed)]
        return [*lines, *([] if seed is None else [f"Namespace {self.namespace}, seed {seed}"])]

    @property
    def stubs(self) -> list[Mapping[str, Any]]:
        """The stubs: `name`, `match`, `used`, and `most` where they are bounded."""
        return self._link.stubs()

    def wait_for_requests(self, number: int, timeout: float = _TIMEOUT) -> list[View]:
        """Wait until a model was asked so many times; the exchanges that the journal keeps. Raises TimeoutError."""
        wanted, seconds = read_whole(number, "wait_for_requests"), read_seconds(timeout, "timeout")
        if not self._link.wait(seconds, wanted):
            raise TimeoutError(self._late(f"Waited {timeout:g} s for {number} requests"))
        return [view for view in self._link.past().views if view.is_question]

    def wait_idle(self, timeout: float = _TIMEOUT) -> None:
        """Wait until every answer has ended. Raises TimeoutError."""
        if not self._link.wait(read_seconds(timeout, "timeout")):
            raise TimeoutError(self._late(f"Waited {timeout:g} s for every answer to end"))

    def journal(self) -> str:
        """What has happened, one line for each exchange."""
        return "\n".join(_lines(self._settled()))

    @property
    def aio(self) -> "Aio":
        """The waiting words in a form that can be awaited, under asyncio and trio."""
        from mockserver.testing.aio import Aio

        return Aio(self)

    def _named(self, dialect: str | None) -> str:
        name = dialect or self._dialect
        if name is None:
            raise ValueError("Whose base URL? Say a dialect, such as base_url('cerebras')")
        return name

    def _late(self, what: str) -> str:
        return "\n".join([f"{what}; there is:", *(_lines(self._link.past()) or ["   nothing yet"])])

    def _settled(self) -> Past:
        """What the journal tells, once answers that end in a moment have ended."""
        past = self._link.past()
        if all(view.is_closed for view in past.views):
            return past
        self._link.wait(_SETTLING)
        return self._link.past()

    def __repr__(self) -> str:
        return f"<mockserver {self.url}>"


def _lines(past: Past) -> list[str]:
    """A journal in words: what it has forgotten, and a line for each exchange that it keeps."""
    forgotten = past.forgotten.exchanges
    return [*([loss(forgotten)] if forgotten else []), *journal_lines(past.views)]
