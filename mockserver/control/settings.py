"""Settings as values: all that can be set of a server. How they are read from outside is the business of `options`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mockserver.control.quotas.rules import Quota
from mockserver.control.stubs.book import Stub
from mockserver.core.dialects import Edition
from mockserver.faults.rules import Fault
from mockserver.latency.presets import REALISTIC
from mockserver.latency.traces import NO_TRACES, Traces

# A seed is one of so many whole numbers.
SEEDS = range(-(2**63), 2**63)


class ConfigError(Exception):
    """A setting that cannot be meant; the text names its place and what would have been valid."""


@dataclass(frozen=True, slots=True)
class RouteSettings:
    """A route of the user's own: a path that answers as an operation of a dialect. Its `origin` is for people."""

    path: str
    dialect: str
    operation: str
    edition: Edition | None = None
    latency: str | None = None
    seed: int | None = None
    faults: tuple[Fault, ...] = ()
    origin: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """All that can be set of a server. `created` freezes the clock of the answers, in Unix seconds.

    `speed` divides the times of every latency, whoever asks for it; `traces` are recordings that latencies may name.

    `auth` is "any", "off" or the accepted keys; `cors` "on" (pages of any origin may read the answers) or "vendor";
    `ids` "derived" (from the request) or "unique" (per call); `writes` "joined" (events due at the same instant leave
    together) or "single"; `journal` how many exchanges each namespace keeps; `models` closes a dialect's catalogue; of
    the rules of `quota` the first that is for a request counts;
    `stubs` is a folder of stub files, and `stub` those of the config file; a request that no stub matches is answered
    as `unmatched` says: "generate" or "refuse";
    `pinned` names what the command line or the environment has said, which no route of a config file undoes.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    seed: int = 42
    latency: str = REALISTIC
    speed: float = 1
    edition: Edition = "documented"
    auth: str | tuple[str, ...] = "any"
    dialect: str | None = None
    cors: str = "on"
    strict: bool = False
    created: float | None = None
    ids: str = "derived"
    writes: str = "joined"
    max_body: int = 64 * 1024 * 1024
    journal: int = 1000
    tls_cert: str | None = None
    tls_key: str | None = None
    admin_token: str | None = None
    log_level: str = "info"
    log_format: str = "text"
    workers: int = 1
    bare: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    routes: tuple[RouteSettings, ...] = ()
    fault: tuple[Fault, ...] = ()
    quota: tuple[Quota, ...] = ()
    stubs: str | None = None
    stub: tuple[Stub, ...] = ()
    unmatched: str = "generate"
    traces: Traces = NO_TRACES
    pinned: frozenset[str] = frozenset()
