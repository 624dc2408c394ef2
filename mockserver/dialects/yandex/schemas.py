"""The contract in `contract/`: requests and answers by the page.

The editions differ in the fragments of tool calls, in reasoning, and in the whole format of responses.
"""

from mockserver.core.dialects import Edition
from mockserver.dialects.contracts import by_edition, editions

CONTRACT = editions(__package__)
REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")
RESPONSES_REQUEST = by_edition(CONTRACT, "ResponsesRequest")


def request_fields(edition: Edition, schema: str) -> tuple[str, ...]:
    """The fields of a request in the order of the page, which decides which of several violations is reported."""
    return tuple(CONTRACT[edition]()["schemas"][schema]["properties"])
