"""The contract in `contract/`: what the page allows and promises; the editions differ in a tool call's fragments."""

from mockserver.core.dialects import Edition
from mockserver.dialects.contracts import by_edition, editions

CONTRACT = editions(__package__)
REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")
RESPONSES_REQUEST = by_edition(CONTRACT, "ResponsesRequest")


def request_fields(edition: Edition, schema: str) -> tuple[str, ...]:
    """The fields of a request in the order of the page, by which the first of several faults is found."""
    return tuple(CONTRACT[edition]()["schemas"][schema]["properties"])
