"""The contract: the page's own OpenAPI schemas (documented), and what the service refuses beyond them (observed)."""

from collections.abc import Callable

from mockserver.core.dialects import Edition
from mockserver.dialects.contracts import Components, Contract, components

CONTRACT: dict[Edition, Callable[[], Components]] = {
    "documented": components(__package__, "documented"),
    "observed": components(__package__, "observed"),
}
REQUEST: dict[Edition, Contract] = {
    "documented": Contract(CONTRACT["documented"], "CompletionRequest"),
    "observed": Contract(CONTRACT["observed"], "CompletionRequest"),
}
