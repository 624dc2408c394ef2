"""Settings that a namespace can have of its own: those of how requests are answered, not of how the server runs."""

from collections.abc import Mapping
from typing import Any

from mockserver.core.dialects import Dialect
from mockserver.core.naming import unknown
from mockserver.latency.traces import NO_TRACES, Tracing
from mockserver.state.configuration.names import check_matches, check_strikes
from mockserver.state.configuration.options import BY_NAME, OWN, from_texts
from mockserver.state.quotas.rules import QuotaError, check_quotas
from mockserver.state.routing import operations_of
from mockserver.state.settings import ConfigError


def read_namespace_settings(
    given: Mapping[str, Any], dialects: Mapping[str, Dialect], traces: Tracing = NO_TRACES
) -> dict[str, Any]:
    """Read and check the settings of a namespace; a latency may name `traces`. Raises ConfigError."""
    for name in given:
        if name not in OWN:
            raise ConfigError(_not_own(name))
    own = from_texts(given, "setting", traces)
    check_matches(own.get("fault", ()), operations_of(dialects))
    check_strikes(own.get("fault", ()), "setting fault")
    try:
        check_quotas(own.get("quota", ()), dialects)
    except QuotaError as error:
        raise ConfigError(f"setting quota: {error}") from None
    return own


def _not_own(name: str) -> str:
    """Why a namespace cannot have a setting: the whole server has it, or nothing has."""
    if name in BY_NAME:
        return (
            f"A namespace has no setting {name!r}. The whole server has it: set it where that is started (an option, "
            "the environment, the config file, a keyword of MockServer, or the fixture mockserver_settings)"
        )
    return f"A namespace has no {unknown('setting', name, OWN).removeprefix('unknown ')}"
