"""The contract in `contract/`: the page's fields with the ranges of its prose, and those of the service today."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from mockserver.core.dialects import Edition
from mockserver.dialects.contracts import Contract, by_edition, editions
from mockserver.dialects.friendli.models import Place, container

CONTRACT = editions(__package__)


class Requests(NamedTuple):
    """The contracts of an operation's requests: a container's, and that of the hosted endpoints, which cannot tell
    without `model` what is asked."""

    own: Mapping[Edition, Contract]
    hosted: Contract

    def at(self, place: Place, edition: Edition) -> Contract:
        """The contract of the requests to a place."""
        return self.own[edition] if place is container else self.hosted


def _requests(name: str) -> Requests:
    return Requests(by_edition(CONTRACT, name), Contract(CONTRACT["observed"], f"Hosted{name}"))


COMPLETIONS = _requests("CompletionRequest")
CHATS = _requests("ChatCompletionRequest")
TOKENIZATIONS = _requests("TokenizationRequest")
DETOKENIZATIONS = _requests("DetokenizationRequest")
# Only today's wire has them.
RESPONSES = _requests("ResponsesRequest")


@cache
def known_fields(edition: Edition, schema: str) -> frozenset[str]:
    """The names of the fields that an edition knows: those of a schema, and the model's."""
    return frozenset(("model", *CONTRACT[edition]()["schemas"][schema]["properties"]))
