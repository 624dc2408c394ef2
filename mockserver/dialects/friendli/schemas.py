"""The contract in `contract/`: the page's fields with the ranges of its prose, and those of the service today."""

from functools import cache

from mockserver.core.dialects import Edition
from mockserver.dialects.contracts import Contract, editions
from mockserver.dialects.friendli.models import Place, container

CONTRACT = editions(__package__)


def contract_of(schema: str, place: Place, edition: Edition) -> Contract:
    """The contract of the requests to a place: the hosted endpoints cannot tell without `model` what is asked."""
    return _contract(schema, edition) if place is container else _contract(f"Hosted{schema}", "observed")


@cache
def _contract(schema: str, edition: Edition) -> Contract:
    return Contract(CONTRACT[edition], schema)


@cache
def known_fields(edition: Edition, schema: str) -> frozenset[str]:
    """The names of the fields that an edition knows: those of a schema, and the model's."""
    return frozenset(("model", *CONTRACT[edition]()["schemas"][schema]["properties"]))
