"""Checks of settings: what they name must exist, routes must not conflict, and a namespace can only have some of its
own."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from mockserver.core.dialects import Dialect, Operation
from mockserver.core.matching.requests import unknown_name_in
from mockserver.core.messages import unknown_name
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.rules import Fault
from mockserver.latency.parse_latency import NotationError, read_profile
from mockserver.latency.profiles import presets
from mockserver.latency.traces import NO_TRACES, Tracing
from mockserver.state.quotas import OFF, VENDOR, Quota
from mockserver.state.settings import ConfigError, RouteSettings, Settings
from mockserver.state.settings.options import BY_NAME, OWN, from_names

# The prefix of the server's own API.
ADMIN = "/_mockserver"
# The documents that it serves beside each dialect.
DIALECT_DOCUMENTS = ("openapi.json", "conformance.json")
_VARIABLE = re.compile(r"{\w+}")
# The many servers of tests have the same dialects.
_read_preset = cache(read_profile)


def check_all(settings: Settings, dialects: Mapping[str, Dialect]) -> None:
    """Raise ConfigError if settings, or a dialect, name something that does not exist, or have conflicting routes."""
    for dialect in dialects.values():
        for preset, latency in dialect.presets.items():
            try:
                _read_preset(latency.latency)
            except NotationError as error:
                raise ConfigError(f"dialect {dialect.name}: presets[{preset!r}]: {error}") from None
        if dialect.realistic not in presets():
            raise ConfigError(
                f"dialect {dialect.name}: realistic: {unknown_name('preset', dialect.realistic, presets())}"
            )
    named = (("dialect", settings.dialect), ("bare", settings.bare), *(("models", name) for name in settings.models))
    for place, name in named:
        if name and name not in dialects:
            raise ConfigError(f"{place}: {unknown_name('dialect', name, dialects)}")
    _check_routes(settings.routes, dialects)
    check_matches(settings.fault, dialects)
    check_quotas(settings.quota, dialects)


def check_matches(faults: Iterable[Fault], dialects: Mapping[str, Dialect], place: str = "") -> None:
    """Raise ConfigError if a fault is for a dialect or an operation that does not exist."""
    for fault in faults:
        complaint = unknown_name_in(fault.match, dialects)
        if complaint is not None:
            raise ConfigError(f"{place}fault.{complaint}")


def check_no_listener_faults(faults: Iterable[Fault], place: str) -> None:
    """Raise ConfigError if a fault is one of the listener, which all requests share, rather than of answers."""
    for fault in faults:
        if FAULTS[fault.kind].listens:
            raise ConfigError(
                f"{place}: {fault.kind!r} affects all connections, so it can only be set for the whole server (--fault)"
            )


def check_quotas(quotas: Iterable[Quota], dialects: Mapping[str, Dialect], place: str = "quota") -> None:
    """Raise ConfigError if a quota is for a dialect without quotas, or names a tier that its dialects do not have."""
    for quota in quotas:
        if quota.dialect is not None and quota.dialect not in dialects:
            raise ConfigError(f"{place}: dialect: {unknown_name('dialect', quota.dialect, dialects)}")
        candidates = [dialects[quota.dialect]] if quota.dialect is not None else list(dialects.values())
        policies = [dialect.quotas for dialect in candidates if dialect.quotas is not None]
        if quota.tier == OFF:
            continue
        if not policies:
            having = ", ".join(name for name, dialect in dialects.items() if dialect.quotas is not None)
            raise ConfigError(f"{place}: dialect: {quota.dialect} has no quotas. Dialects with quotas: {having}")
        known = dict.fromkeys((OFF, VENDOR, *(tier for policy in policies for tier in policy.tiers)))
        if quota.tier is not None and quota.tier not in known:
            hint = ". A limit is written with its key, as in requests=30/min" if set(quota.tier) & {" ", "/"} else ""
            raise ConfigError(f"{place}: tier: {unknown_name('tier', quota.tier, known)}{hint}")


def _check_routes(routes: Iterable[RouteSettings], dialects: Mapping[str, Dialect]) -> None:
    """Raise ConfigError for a user's route of what does not exist, and for one that no request could reach."""
    documents = {f"/{name}/{document}" for name in dialects for document in DIALECT_DOCUMENTS}
    known: dict[tuple[str, str], RouteSettings] = {}
    for route in routes:
        path, place = route.path, f"{route.origin}route {route.path}"
        if route.dialect not in dialects:
            raise ConfigError(f"{place}: dialect: {unknown_name('dialect', route.dialect, dialects)}")
        operations = {operation.name: operation for operation in dialects[route.dialect].operations}
        if route.operation not in operations:
            raise ConfigError(f"{place}: operation: {unknown_name('operation', route.operation, operations)}")
        operation = operations[route.operation]
        wanted = _VARIABLE.findall(operation.paths[0])
        if sorted(_VARIABLE.findall(path)) != sorted(wanted):
            holds = f"must contain {' and '.join(wanted)}" if wanted else "cannot contain {...}"
            raise ConfigError(f"{place}: a path of {route.dialect}'s {route.operation} {holds}")
        check_matches(route.faults, dialects, f"{place}: ")
        if path.startswith(ADMIN) or path in documents:
            raise ConfigError(f"{place}: this path is used by the server itself; choose another path")
        if path.startswith("/ns/"):
            raise ConfigError(
                f"{place}: /ns/<name> at the beginning names a namespace and works for every route; leave it out"
            )
        if "?" in path or "#" in path:
            raise ConfigError(f"{place}: a path cannot contain ? or #")
        other = known.setdefault((operation.method, _VARIABLE.sub("{}", path)), route)
        if other is not route:
            both = " and ".join(f"{each.dialect}'s {each.operation}" for each in (other, route))
            raise ConfigError(f"{place}: two operations cannot both answer {operation.method} there: {both}")


def operation_of(route: RouteSettings, dialect: Dialect) -> Operation:
    """The operation that a user's route names."""
    return next(operation for operation in dialect.operations if operation.name == route.operation)


def read_namespace_settings(
    given: Mapping[str, Any], dialects: Mapping[str, Dialect], traces: Tracing = NO_TRACES
) -> dict[str, Any]:
    """Read and check the settings of a namespace; a latency may name `traces`. Raises ConfigError."""
    for name in given:
        if name not in OWN:
            raise ConfigError(_not_own(name))
    own = from_names(given, "setting", traces)
    check_matches(own.get("fault", ()), dialects)
    check_no_listener_faults(own.get("fault", ()), "setting fault")
    check_quotas(own.get("quota", ()), dialects, "setting quota")
    return own


def _not_own(name: str) -> str:
    """Why a namespace cannot have a setting: the whole server has it, or nothing has."""
    if name in BY_NAME:
        return (
            f"A namespace has no setting {name!r}. The whole server has it: set it where that is started (an option, "
            "the environment, the config file, a keyword of MockServer, or the fixture mockserver_settings)"
        )
    return f"A namespace has no {unknown_name('setting', name, OWN).removeprefix('unknown ')}"
