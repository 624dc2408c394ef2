"""Routing: which operation of which dialect a request is for.

A dialect answers under its name (`/cerebras/v1/completions`), under the vendor's own host name, and at its bare path. A
bare path that several dialects share belongs to the one that claims it, unless the setting `bare` says otherwise.
Routes of the user's own take precedence. The tables are built once; finding a route takes one or two lookups.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from mockserver.control.settings import ConfigError, RouteSettings, Settings
from mockserver.core.dialects import Dialect, Operation
from mockserver.core.naming import close_matches

# The prefix of the server's own API.
ADMIN = "/_mockserver"

# How many paths are cached, and how many characters they may have.
_MOST_CACHED = 1024
_LONGEST_CACHED = 1_000
_VARIABLE = re.compile(r"{\w+}")


class Landing(NamedTuple):
    """The target of a request: a dialect, and its operation for the path and the method, None if it has none.

    `path` is the dialect's own path, `allowed` the methods that it supports there, `route` the user's settings for it.
    """

    dialect: Dialect
    operation: Operation | None
    path: str
    variables: Mapping[str, str] = MappingProxyType({})
    allowed: tuple[str, ...] = ()
    route: RouteSettings | None = None


class _Entry(NamedTuple):
    dialect: Dialect
    operation: Operation
    path: str
    route: RouteSettings | None = None


class _Table:
    """Entries by path and method; the few paths with a variable are tried last."""

    def __init__(self) -> None:
        self._exact: dict[str, dict[str, _Entry]] = {}
        self._patterns: list[tuple[re.Pattern[str], dict[str, _Entry]]] = []

    def add(self, path: str, entry: _Entry) -> None:
        """Serve the entry at the path, unless another is served there already."""
        methods = self._exact.setdefault(path, {})
        if "{" in path and not methods:
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(path))
            self._patterns.append((re.compile(pattern, re.DOTALL), methods))
        methods.setdefault(entry.operation.method, entry)

    def find(self, method: str, path: str) -> Landing | None:
        """What is served at the path; without an operation if not for this method."""
        methods = self._exact.get(path)
        variables: Mapping[str, str] = {}
        if methods is None:
            for pattern, candidate in self._patterns:
                matched = pattern.fullmatch(path)
                if matched:
                    methods, variables = candidate, matched.groupdict()
                    break
            else:
                return None
        entry = methods.get("GET" if method == "HEAD" else method)
        if entry is not None:
            return Landing(entry.dialect, entry.operation, entry.path, variables, tuple(methods), entry.route)
        other = next(iter(methods.values()))
        return Landing(other.dialect, None, other.path, variables, tuple(methods), other.route)

    def paths(self) -> dict[str, dict[str, _Entry]]:
        """Everything that is served, by path and method."""
        return self._exact


class Router:
    """The routes of a server."""

    def __init__(self, dialects: Mapping[str, Dialect], settings: Settings) -> None:
        self._dialects = dialects
        self._alone = dialects[settings.dialect] if settings.dialect else None
        self._root = _Table()
        # A cache of landings: the same few paths are requested again and again.
        self._landings: dict[tuple[str, str, str], Landing] = {}
        # A cache of what is near unknown paths: a search takes milliseconds, and a wrong base URL repeats its requests.
        self._near: dict[str, list[str]] = {}
        self._by_host = {host: dialect for dialect in dialects.values() for host in dialect.hosts}
        self._native = {dialect.name: _native(dialect) for dialect in dialects.values()}
        for route in settings.routes:
            self._root.add(route.path, _configured(route, dialects[route.dialect]))
        claims = {path: dialect.name for dialect in reversed([*dialects.values()]) for path in dialect.bare}
        for dialect, operation, path in _all_paths(_bare_order(dialects, settings)):
            owner = settings.bare.get(path, settings.dialect or claims.get(path, dialect.name))
            if owner == dialect.name:
                self._root.add(path, _Entry(dialect, operation, path))

    def find(self, method: str, path: str, host: str = "") -> Landing | None:
        """Where a request lands; None if its path belongs to no dialect. A single dialect is given every path."""
        key = (method, path, host)
        landing = self._landings.get(key)
        if landing is None:
            landing = self._find(method, path, host)
            if landing is not None and len(path) <= _LONGEST_CACHED:
                if len(self._landings) >= _MOST_CACHED:
                    self._landings.clear()
                self._landings[key] = landing
        return landing

    def _find(self, method: str, path: str, host: str) -> Landing | None:
        vendor = self._by_host.get(host.partition(":")[0].lower())
        if vendor is not None:
            return self._within(vendor, method, path)
        found = self._root.find(method, path)
        if found is not None:
            return found
        name, slash, rest = path[1:].partition("/")
        dialect = self._dialects.get(name)
        if dialect is not None and slash:
            return self._within(dialect, method, slash + rest)
        return self._within(self._alone, method, path) if self._alone is not None else None

    def nearest(self, path: str) -> list[str]:
        """Served paths that resemble this one, which is not served; failing that, the roots of the dialects."""
        near = self._near.get(path)
        if near is None:
            near = self._search(path)
            if len(path) <= _LONGEST_CACHED:
                if len(self._near) >= _MOST_CACHED:
                    self._near.clear()
                self._near[path] = near
        return near

    def elsewhere(self, landing: Landing, path: str) -> list[str]:
        """Where other dialects have the path of a landing, if it is a bare path that several dialects have."""
        owners = self._root.paths().get(path, {}).values()
        if self._alone is not None or all(entry.dialect is not landing.dialect for entry in owners):
            return []
        others = (dialect for dialect in self._dialects.values() if dialect is not landing.dialect)
        return [f"/{dialect.name}{path}" for dialect in others if path in self._native[dialect.name].paths()]

    def served(self) -> list[str]:
        """Every path that is served, bare ones first."""
        return [*self._root.paths(), *(path for dialect in self._dialects.values() for path in _prefixed(dialect))]

    def table(self) -> list[tuple[str, str, Dialect, Operation]]:
        """Every route as (method, path, dialect, operation), for people."""
        bare = [
            (entry.operation.method, path, entry.dialect, entry.operation)
            for path, methods in self._root.paths().items()
            for entry in methods.values()
        ]
        prefixed = [
            (operation.method, f"/{dialect.name}{path}", dialect, operation)
            for dialect, operation, path in _all_paths(self._dialects.values())
        ]
        return bare + prefixed

    def _search(self, path: str) -> list[str]:
        # A path that only the other edition serves is no help to a request for this one.
        # Nothing resembles the root, which only short paths would seem to do.
        near = close_matches(path, [each for each in self.served() if each != path], 4, 0.5) if path != "/" else []
        return near or [paths[0] for paths in (list(_prefixed(dialect)) for dialect in self._dialects.values())]

    def _within(self, dialect: Dialect, method: str, path: str) -> Landing:
        return self._native[dialect.name].find(method, path) or Landing(dialect, None, path)


def operations_of(dialects: Mapping[str, Dialect]) -> dict[str, dict[str, tuple[str, ...]]]:
    """The paths of every operation, by the name of its dialect and its own."""
    return {name: {op.name: op.paths for op in dialect.operations} for name, dialect in dialects.items()}


def check_routes(settings: Settings, dialects: Mapping[str, Dialect]) -> None:
    """Raise ConfigError for a user's route that no request could reach."""
    contracts = {f"/{name}/openapi.json" for name in dialects}
    known: dict[tuple[str, str], RouteSettings] = {}
    for route in settings.routes:
        path, method = route.path, _configured(route, dialects[route.dialect]).operation.method
        if path.startswith(ADMIN) or path in contracts:
            raise ConfigError(f"route {path}: this path is used by the server itself; choose another path")
        if path.startswith("/ns/"):
            raise ConfigError(
                f"route {path}: /ns/<name> at the beginning names a namespace and works for every route; leave it out"
            )
        if "?" in path or "#" in path:
            raise ConfigError(f"route {path}: a path cannot contain ? or #")
        other = known.setdefault((method, _VARIABLE.sub("{}", path)), route)
        if other is not route:
            both = " and ".join(f"{each.dialect}'s {each.operation}" for each in (other, route))
            raise ConfigError(f"route {path}: two operations cannot both answer {method} there: {both}")


def _native(dialect: Dialect) -> _Table:
    table = _Table()
    for _, operation, path in _all_paths([dialect]):
        table.add(path, _Entry(dialect, operation, path))
    return table


def _configured(route: RouteSettings, dialect: Dialect) -> _Entry:
    operation = next(operation for operation in dialect.operations if operation.name == route.operation)
    return _Entry(dialect, operation, operation.paths[0], route)


def _bare_order(dialects: Mapping[str, Dialect], settings: Settings) -> Iterable[Dialect]:
    return [dialects[settings.dialect]] if settings.dialect else dialects.values()


def _all_paths(dialects: Iterable[Dialect]) -> Iterable[tuple[Dialect, Operation, str]]:
    return ((d, operation, path) for d in dialects for operation in d.operations for path in operation.paths)


def _prefixed(dialect: Dialect) -> Iterable[str]:
    return (f"/{dialect.name}{path}" for _, _, path in _all_paths([dialect]))
