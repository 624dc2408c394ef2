"""The contract in `contract/`: what the page allows and promises; the editions differ in a tool call's fragments."""

from collections.abc import Callable

from mockserver.core.dialects import Edition
from mockserver.dialects.contracts import Components, Contract, components

CONTRACT: dict[Edition, Callable[[], Components]] = {
    "documented": components(__package__, "documented"),
    "observed": components(__package__, "observed"),
}
REQUEST: dict[Edition, Contract] = {
    "documented": Contract(CONTRACT["documented"], "ChatCompletionRequest"),
    "observed": Contract(CONTRACT["observed"], "ChatCompletionRequest"),
}


def request_fields(edition: Edition) -> tuple[str, ...]:
    """The fields of a request in the order of the page, by which the first of several faults is found."""
    return tuple(CONTRACT[edition]()["schemas"]["ChatCompletionRequest"]["properties"])
