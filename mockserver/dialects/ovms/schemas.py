"""The contract in `contract/`. It documents and checks answers; requests are judged by `checks`, as the server does."""

from collections.abc import Callable

from mockserver.core.dialects import Edition
from mockserver.dialects.contracts import Components, components

CONTRACT: dict[Edition, Callable[[], Components]] = {
    "documented": components(__package__, "documented"),
    "observed": components(__package__, "observed"),
}
