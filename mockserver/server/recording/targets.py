"""Targets: where a request to the recorder is forwarded, found by the routes that the simulator has."""

from collections.abc import Mapping
from typing import NamedTuple

from mockserver.core.calls import Headers
from mockserver.core.dialects import Dialect
from mockserver.core.secrets import masked_query, masked_text
from mockserver.routes import Routes
from mockserver.server.recording.upstreams import Upstream, Upstreams
from mockserver.state.journal.exchanges import Denial
from mockserver.state.namespaces import namespace_of
from mockserver.state.routing import ADMIN, RouteMatch
from mockserver.state.settings import Settings

_NAME_ONE = ", and a key may only go to its own. Choose one with --dialect, or put its name in front"


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
        self._dialects, self._settings, self._upstreams = dialects, settings, upstreams
        self._router = Routes(dialects, settings)

    def find(self, method: str, path: str, raw: bytes, query: bytes, headers: Headers) -> Target | Denial:
        """The target of a request with this decoded path and this `raw` one, or why there is none."""
        namespace, own = namespace_of(path, headers, query.decode("latin-1"))
        host = (headers.get("host") or "").partition(":")[0].lower()
        route = self._router.find(method, own, host) if not own.startswith(ADMIN) else None
        if route is None:
            return self._unserved(method, own)
        dialect = route.dialect
        others = self._rivals(route, own, host)
        if others:
            names = ", ".join((f"/{dialect.name}{own}", *others))
            return Denial(400, "ambiguous_path", f"{own} is a path of several vendors{_NAME_ONE}: {names}")
        upstream = self._upstreams.of(dialect, host)
        if upstream is None:
            return Denial(502, "no_upstream", self._upstreams.missing(dialect))
        native = _native(route, own, raw, path, host in dialect.hosts)
        return Target(route, upstream, native + (b"?" + query if query else b""), namespace, own)

    def _rivals(self, route: RouteMatch, path: str, host: str) -> list[str]:
        """Where other dialects have a bare path of which nobody has said whose it is."""
        if route.configured is not None or path in self._settings.bare or host in route.dialect.hosts:
            return []
        return self._router.elsewhere(route, path)

    def _unserved(self, method: str, path: str) -> Denial:
        names = ", ".join(f"/{name}/..." for name in self._dialects)
        what = "The recorder has no admin API." if path.startswith(ADMIN) else "No dialect has it."
        message = f"Nothing is recorded at {method} {path}. {what} Put a dialect's name in front: {names}"
        return Denial(404, "no_route", message, tuple(self._router.nearest(path)))


def _native(route: RouteMatch, own: str, raw: bytes, path: str, by_host: bool) -> bytes:
    """The vendor's own path, as the client has encoded it."""
    if route.configured is not None:
        return route.path.format_map(route.variables).encode()
    prefix = f"/{route.dialect.name}/"
    segments = (path.count("/") - own.count("/")) + (not by_host and own.startswith(prefix))
    return b"/" + raw.split(b"/", segments + 1)[-1]
