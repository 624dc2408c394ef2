"""Names in settings: dialects, operations, paths and tiers must exist, or ConfigError is raised."""

import re
from collections.abc import Iterable, Mapping

from mockserver.core.criteria import unknown_name_in
from mockserver.core.dialects import Dialect
from mockserver.core.naming import unknown
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.rules import Fault
from mockserver.state.quotas.rules import QuotaError, check_quotas
from mockserver.state.routing import check_routes, operations_of
from mockserver.state.settings import ConfigError, RouteSettings, Settings

# dialect -> operation -> its paths.
Operations = Mapping[str, Mapping[str, Iterable[str]]]


def check_all(settings: Settings, dialects: Mapping[str, Dialect]) -> None:
    """Raise ConfigError if settings name something that does not exist, or have conflicting routes."""
    check_names(settings, operations_of(dialects))
    check_routes(settings, dialects)
    check_tiers(settings, dialects)


def check_names(settings: Settings, operations: Operations) -> None:
    """Raise ConfigError if settings name something that does not exist."""
    for place, name in _named_dialects(settings):
        if name not in operations:
            raise ConfigError(f"{place}: {unknown('dialect', name, operations)}")
    for route in settings.routes:
        _check_route(route, operations[route.dialect])
    for path, name in settings.bare.items():
        known = [each for paths in operations[name].values() for each in paths]
        if path not in known:
            raise ConfigError(f"bare {path}: {unknown(f'path of {name}', path, known)}")
    check_matches(settings.fault, operations)
    for route in settings.routes:
        check_matches(route.faults, operations, f"{_place_of(route)}: ")


def check_matches(faults: Iterable[Fault], operations: Mapping[str, Iterable[str]], place: str = "") -> None:
    """Raise ConfigError if a fault is for a dialect or an operation that does not exist."""
    for fault in faults:
        complaint = unknown_name_in(fault.match, operations)
        if complaint is not None:
            raise ConfigError(f"{place}fault.{complaint}")


def check_strikes(faults: Iterable[Fault], place: str) -> None:
    """Raise ConfigError if a fault strikes the listener rather than answers, since all requests share the listener."""
    for fault in faults:
        if FAULTS[fault.kind].listens:
            raise ConfigError(
                f"{place}: {fault.kind!r} affects all connections, so it can only be set for the whole server (--fault)"
            )


def check_tiers(settings: Settings, dialects: Mapping[str, Dialect]) -> None:
    """Raise ConfigError if a quota is for a dialect that has none, or names a tier that no dialect has."""
    try:
        check_quotas(settings.quota, dialects)
    except QuotaError as error:
        raise ConfigError(f"quota: {error}") from None


def _check_route(route: RouteSettings, operations: Mapping[str, Iterable[str]]) -> None:
    if route.operation not in operations:
        raise ConfigError(f"{_place_of(route)}: operation: {unknown('operation', route.operation, operations)}")
    wanted = re.findall(r"{\w+}", next(iter(operations[route.operation])))
    if sorted(re.findall(r"{\w+}", route.path)) != sorted(wanted):
        holds = f"must contain {' and '.join(wanted)}" if wanted else "cannot contain {...}"
        raise ConfigError(f"{_place_of(route)}: a path of {route.dialect}'s {route.operation} {holds}")


def _place_of(route: RouteSettings) -> str:
    return f"{route.origin}route {route.path}"


def _named_dialects(settings: Settings) -> list[tuple[str, str]]:
    named = [(f"{_place_of(route)}: dialect", route.dialect) for route in settings.routes]
    named += [(f"bare {path}", name) for path, name in settings.bare.items()]
    named += [("models", name) for name in settings.models]
    return named + ([("dialect", settings.dialect)] if settings.dialect else [])
