"""The places that answer, and how each is told which model shall: a container, the shared and one's own endpoints."""

from collections.abc import Callable
from typing import NamedTuple

from mockserver.core.dialects import Model, Site


class Asked(NamedTuple):
    """A model by the name that answers state; None where there is no such model."""

    name: str
    model: Model | None


Addressed = Callable[[str | None, Site], Asked]


def container(name: str | None, site: Site) -> Asked:
    """A container needs no name: it has a model of its own, which its answers do not name then."""
    return Asked(name, site.model(name)) if name else Asked("", next(iter(site.models), Model("")))


def serverless(name: str | None, site: Site) -> Asked:
    """The shared endpoints are told a code of the catalogue."""
    return Asked(name or "", site.model(name) if name else None)


def dedicated(name: str | None, site: Site) -> Asked:
    """One's own endpoint is told by its id, maybe with `:ADAPTER_ROUTE`; answers name the id."""
    return serverless((name or "").partition(":")[0], site)
