"""The contract in `contract/`: the page as schemas, equal in both editions as the service is gone (vendor note B)."""

from collections.abc import Callable, Mapping

from mockserver.core.dialects import Edition
from mockserver.dialects.contracts import Components, Contract, components

CONTRACT: Mapping[Edition, Callable[[], Components]] = {
    "documented": components(__package__, "documented"),
    "observed": components(__package__, "observed"),
}
REQUEST: dict[Edition, Contract] = {
    "documented": Contract(CONTRACT["documented"], "ChatCompletionRequest"),
    "observed": Contract(CONTRACT["observed"], "ChatCompletionRequest"),
}
