"""The places that answer, and the model that each is asked for: a container, shared endpoints, and one's own."""

from collections.abc import Callable
from typing import NamedTuple

from mockserver.core.dialects import Model, Site


class AskedModel(NamedTuple):
    """The model that a request asks for, by the name that answers state; None if there is no such model."""

    name: str
    model: Model | None


# Finds the model by the `model` field of a request.
Place = Callable[[str | None, Site], AskedModel]


def container(name: str | None, site: Site) -> AskedModel:
    """A container needs no name: it has one model, which its answers do not name then."""
    return AskedModel(name, site.model(name)) if name else AskedModel("", next(iter(site.models), Model("")))


def serverless(name: str | None, site: Site) -> AskedModel:
    """The shared endpoints take a code of the catalogue."""
    return AskedModel(name or "", site.model(name or ""))


def dedicated(name: str | None, site: Site) -> AskedModel:
    """An endpoint of one's own goes by its id, maybe with `:ADAPTER_ROUTE`; answers name the id."""
    return serverless((name or "").partition(":")[0], site)
