"""What a route leads to, and which routes a user may add."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from mockserver.core.dialects import Dialect, Operation
from mockserver.state.settings import ConfigError, RouteSettings, Settings

# The prefix of the server's own API.
ADMIN = "/_mockserver"

_VARIABLE = re.compile(r"{\w+}")


class RouteMatch(NamedTuple):
    """The target of a request: a dialect, and its operation for the path and the method, None if it has none.

    `path` is the dialect's own path, `allowed` the methods that it supports there, `configured` the user's settings for
    it.
    """

    dialect: Dialect
    operation: Operation | None
    path: str
    variables: Mapping[str, str] = MappingProxyType({})
    allowed: tuple[str, ...] = ()
    configured: RouteSettings | None = None


def operations_of(dialects: Mapping[str, Dialect]) -> dict[str, dict[str, tuple[str, ...]]]:
    """The paths of every operation, by the name of its dialect and its own."""
    return {name: {op.name: op.paths for op in dialect.operations} for name, dialect in dialects.items()}


def check_routes(settings: Settings, dialects: Mapping[str, Dialect]) -> None:
    """Raise ConfigError for a user's route that no request could reach."""
    contracts = {f"/{name}/openapi.json" for name in dialects}
    known: dict[tuple[str, str], RouteSettings] = {}
    for route in settings.routes:
        path, method = route.path, configured(route, dialects[route.dialect]).method
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


def configured(route: RouteSettings, dialect: Dialect) -> Operation:
    """The operation that a user's route names."""
    return next(operation for operation in dialect.operations if operation.name == route.operation)
