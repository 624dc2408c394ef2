"""Settings as values: everything that can be configured of a server. `options` reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mockserver.core.dialects import Edition
from mockserver.faults.rules import Fault
from mockserver.latency.profiles import OFF, REALISTIC
from mockserver.latency.traces import NO_TRACES, Traces
from mockserver.state.quotas import Quota
from mockserver.state.stubs.stub import Stub


class ConfigError(Exception):
    """A setting that makes no sense; the message names its place and what would have been valid."""

    __module__ = "mockserver"  # where users import it from


@dataclass(frozen=True, slots=True)
class RouteSettings:
    """A route of the user's own: a path that answers as an operation of a dialect. Its `origin` is for people."""

    path: str
    dialect: str
    operation: str
    edition: Edition | None = None
    latency: str | None = None
    seed: int | None = None
    output_tokens: str | None = None
    faults: tuple[Fault, ...] = ()
    origin: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured of a server; `options.py` explains each to its users.

    Beyond what is said there:

    - `latency` and `output_tokens` are kept in their notations; `speed` divides the times of every latency.
    - `cors`, `auth`: a word, or the origins besides loopback's, the accepted keys.
    - `created` freezes the clock of the answers.
    - `models` closes a dialect's catalogue; `routes` are the user's own.
    - `fault`: rules for every request; `quota`: rules of which the first that applies to a request counts.
    - `stubs`: the folder or the file; `stub`: the stubs of the config file.
    - `traces`: the recordings that latencies and `output_tokens` may name.
    - `pinned`: settings of the command line and the environment, which routes of a config file do not override.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    seed: int = 42
    output_tokens: str = OFF
    latency: str = REALISTIC
    speed: float = 1
    prompt_cache: bool = False
    edition: Edition = "documented"
    auth: str | tuple[str, ...] = "any"
    dialect: str | None = None
    bare: str | None = None
    cors: str | tuple[str, ...] = "loopback"
    strict: bool = False
    created: float | None = None
    ids: str = "derived"
    writes: str = "joined"
    max_body: int = 64 * 1024 * 1024
    journal: int = 1000
    tls_cert: str | None = None
    tls_key: str | None = None
    allow_host: tuple[str, ...] = ()
    admin_token: str | None = None
    log_level: str = "info"
    log_format: str = "text"
    workers: int = 1
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    routes: tuple[RouteSettings, ...] = ()
    fault: tuple[Fault, ...] = ()
    quota: tuple[Quota, ...] = ()
    stubs: str | None = None
    stub: tuple[Stub, ...] = ()
    unmatched: str = "generate"
    deliver: str = "loopback"
    traces: Traces = NO_TRACES
    pinned: frozenset[str] = frozenset()

    @property
    def is_secure(self) -> bool:
        """Whether the server speaks HTTPS."""
        return self.tls_cert is not None
