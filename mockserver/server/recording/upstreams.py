"""Upstreams: where a dialect's requests are forwarded to, the vendor's own host unless the user names another."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from mockserver.core.dialects import Dialect
from mockserver.core.naming import unknown
from mockserver.state.settings import ConfigError

_EXAMPLE = "ovms=http://localhost:9000"
# The option that names an upstream.
_OPTION = "--upstream"
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
    def host(self) -> str:
        """Its host name or address."""
        return urlsplit(self.origin).hostname or ""

    @property
    def port(self) -> int:
        """Its port."""
        parts = urlsplit(self.origin)
        return parts.port or {"http": 80, "https": 443}[parts.scheme]

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, where no proxy leads."""
        return _LOOPBACK.fullmatch(self.host) is not None


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
            if upstream.is_local and upstream.port == port:
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
            raise ConfigError(f"upstream: {unknown('dialect', name, dialects)}")
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
    return Upstream(f"{parts.scheme}://{_authority(parts, port)}", parts.path.rstrip("/"))


def _authority(parts: SplitResult, port: int | None) -> str:
    host = parts.hostname or ""
    return (f"[{host}]" if ":" in host else host) + (f":{port}" if port is not None else "")
