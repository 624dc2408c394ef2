"""The contract in `contract/`: the page's fields with the ranges of its prose, and those of the service today."""

from functools import cache

from mockserver.core.dialects import Edition
from mockserver.dialects.contracts import Contract, by_edition, editions

CONTRACT = editions(__package__)
REQUEST = by_edition(CONTRACT, "CompletionRequest")
# The hosted endpoints cannot tell without `model` what is asked.
HOSTED_REQUEST = Contract(CONTRACT["observed"], "HostedCompletionRequest")
CHAT_REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")
HOSTED_CHAT_REQUEST = Contract(CONTRACT["observed"], "HostedChatCompletionRequest")
TOKENIZATION_REQUEST = by_edition(CONTRACT, "TokenizationRequest")
HOSTED_TOKENIZATION_REQUEST = Contract(CONTRACT["observed"], "HostedTokenizationRequest")
DETOKENIZATION_REQUEST = by_edition(CONTRACT, "DetokenizationRequest")
HOSTED_DETOKENIZATION_REQUEST = Contract(CONTRACT["observed"], "HostedDetokenizationRequest")
RESPONSES_REQUEST = Contract(CONTRACT["observed"], "ResponsesRequest")
HOSTED_RESPONSES_REQUEST = Contract(CONTRACT["observed"], "HostedResponsesRequest")


@cache
def known_fields(edition: Edition, schema: str) -> frozenset[str]:
    """The names of the fields that an edition knows: those of a schema, and the model's."""
    return frozenset(("model", *CONTRACT[edition]()["schemas"][schema]["properties"]))
