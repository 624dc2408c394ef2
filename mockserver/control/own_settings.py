"""Settings that a namespace can have of its own: what says how requests are answered, not how the server runs."""

from collections.abc import Mapping
from typing import Any

from mockserver.control.options import from_texts
from mockserver.control.settings import ConfigError
from mockserver.core.naming import unknown

OWN = ("seed", "latency", "edition", "fault", "quota", "auth", "strict", "created", "ids", "writes", "unmatched")


def read_own(told: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a namespace's own, read and checked. Raises ConfigError."""
    for name in told:
        if name not in OWN:
            raise ConfigError(f"A namespace has no {unknown('setting', name, OWN).removeprefix('unknown ')}")
    return from_texts(told, "setting")
