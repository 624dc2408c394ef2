"""Upstreams: where requests to the recorder are forwarded to.

They are found by the routes that the simulator has, and go to the vendor's own host unless the user names another.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from mockserver.core.dialects import Dialect
from mockserver.core.failures import SimulatorError
from mockserver.core.http import Headers
from mockserver.core.messages import unknown_name
from mockserver.core.secrets import masked_query, masked_text
from mockserver.routes import Routes
from mockserver.state.context import RouteMatch
from mockserver.state.namespaces import namespace_of
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.checks import ADMIN

_EXAMPLE = "ovms=http://localhost:9000"
# The option that names an upstream.
_OPTION = "--upstream"
_NAME_ONE = ", and a key may only go to its own. Choose one with --dialect, or put its name in front"
_LOOPBACK = re.compile(r"localhost|127\.[\d.]+|::1")


class Upstream(NamedTuple):
    """A server: its origin, such as `https://api.cerebras.ai`, and the path below which it has the dialect's paths."""

    origin: str
    base: str = ""

    @property
    def url(self) -> str:
        """Its base URL, without a trailing slash."""
        return self.origin + self.base

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, where no proxy leads."""
        return _LOOPBACK.fullmatch(urlsplit(self.origin).hostname or "") is not None


class Upstreams(NamedTuple):
    """The upstreams of a recorder: those that its user has `given`, by dialect, and the vendors' own hosts.

    `option` is what names them, for messages.
    """

    given: Mapping[str, Upstream]
    option: str = _OPTION

    def of(self, dialect: Dialect, host: str = "") -> Upstream | None:
        """Where a request goes that named this `host`: as given, else to that host if it is the vendor's, else to the
        vendor's first. None if nothing was given for a dialect without a host, such as a server of one's own."""
        given = self.given.get(dialect.name)
        if given is not None or not dialect.hosts:
            return given
        return Upstream(f"https://{host if host in dialect.hosts else dialect.hosts[0]}")

    def check(self, dialect: Dialect) -> None:
        """Raise ConfigError if there is none for a dialect."""
        if self.of(dialect) is None:
            raise ConfigError(f"upstream: {self.missing(dialect)}")

    def missing(self, dialect: Dialect) -> str:
        """The message that a dialect has none."""
        example = f"{self.option} {dialect.name}=http://HOST:PORT"
        return f"{dialect.title} has no host of its own: say where yours is, as in {example}"

    def check_loops(self, port: int) -> None:
        """Raise ConfigError if an upstream is this recorder itself, which listens on the port."""
        for name, upstream in self.given.items():
            parts = urlsplit(upstream.origin)
            if upstream.is_local and port == (parts.port or {"http": 80, "https": 443}[parts.scheme]):
                raise ConfigError(
                    f"upstream: {name}: {upstream.url} is the recorder itself; --port chooses another port"
                )


def read_upstreams(texts: Iterable[str], dialects: Mapping[str, Dialect], option: str = _OPTION) -> Upstreams:
    """The upstreams that are given as `NAME=URL` by an option. Raises ConfigError."""
    given: dict[str, Upstream] = {}
    for text in texts:
        name, equals, url = (part.strip() for part in text.partition("="))
        if not equals or "/" in name:
            raise ConfigError(f"upstream: {text!r} is not a dialect with its URL, as in {option} {_EXAMPLE}")
        if name not in dialects:
            raise ConfigError(f"upstream: {unknown_name('dialect', name, dialects)}")
        if name in given:
            raise ConfigError(f"upstream: {name} is given twice")
        given[name] = _upstream(name, url, option)
    return Upstreams(given, option)


def _upstream(name: str, url: str, option: str) -> Upstream:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"upstream: {name}: {url!r} is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"upstream: {name}: {url!r} does not begin with http:// or https:// and a host, as in {option} {_EXAMPLE}"
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError(
            f"upstream: {name}: a URL here has a host and a path; keys and queries come with the requests themselves"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = host if port is None else f"{host}:{port}"
    return Upstream(f"{parts.scheme}://{place}", parts.path.rstrip("/"))


class Target(NamedTuple):
    """Where a request is forwarded: the operation that it is for, the upstream, and the path and query there.

    `namespace` and `path` are those that the client named.
    """

    route: RouteMatch
    upstream: Upstream
    native: bytes
    namespace: str
    path: str

    @property
    def raw_path(self) -> bytes:
        """The path at the upstream, and the query, as they are sent."""
        return self.upstream.base.encode() + self.native

    @property
    def url(self) -> str:
        """The URL at the upstream, with the secrets in it masked."""
        path, question, query = self.raw_path.decode("latin-1").partition("?")
        return f"{masked_text(self.upstream.origin + path)}{question}{masked_query(query)}"


class Targets:
    """Finds targets by the routes of the settings."""

    def __init__(self, dialects: Mapping[str, Dialect], settings: Settings, upstreams: Upstreams) -> None:
        self._dialects, self._upstreams = dialects, upstreams
        self._router = Routes(dialects, settings)

    def find(self, method: str, path: str, raw: bytes, query: bytes, headers: Headers) -> Target | SimulatorError:
        """The target of a request with this decoded path and this `raw` one, or why there is none."""
        namespace, own = namespace_of(path, headers, query.decode("latin-1"))
        host = (headers.get("host") or "").partition(":")[0].lower()
        route = self._router.find(method, own, host) if not own.startswith(ADMIN) else None
        if route is None:
            names = ", ".join(f"/{name}/..." for name in self._dialects)
            what = "The recorder has no admin API." if own.startswith(ADMIN) else "No dialect has it."
            message = f"Nothing is recorded at {method} {own}. {what} Put a dialect's name in front: {names}"
            return SimulatorError(404, "no_route", message, tuple(self._router.nearest(own)))
        dialect = route.dialect
        if route.others and not route.chosen_by:
            names = ", ".join(f"/{each.dialect.name}{own}" for each in (route, *route.others))
            return SimulatorError(400, "ambiguous_path", f"{own} is a path of several vendors{_NAME_ONE}: {names}")
        upstream = self._upstreams.of(dialect, host)
        if upstream is None:
            return SimulatorError(502, "no_upstream", self._upstreams.missing(dialect))
        native = _native(route, own, raw, path, host in dialect.hosts)
        return Target(route, upstream, native + (b"?" + query if query else b""), namespace, own)


def _native(route: RouteMatch, own: str, raw: bytes, path: str, by_host: bool) -> bytes:
    """The vendor's own path, as the client has encoded it."""
    if route.configured is not None:
        return route.path.format_map(route.variables).encode()
    prefix = f"/{route.dialect.name}/"
    segments = (path.count("/") - own.count("/")) + (not by_host and own.startswith(prefix))
    return b"/" + raw.split(b"/", segments + 1)[-1]
