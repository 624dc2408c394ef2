"""What the making of objects and arrays needs of the search that they are a part of."""

from collections.abc import Sequence
from typing import Any, Protocol

from mockserver.core.seeding import Draws
from mockserver.model.schema.documents import Node

# What a search gives for a value that there is none of; None is a value.
NOTHING: Any = object()


class Search(Protocol):
    """One search for a value.

    A `complete` one leaves nothing out, a `frugal` one has only what is required, and one that is `nested`, where some
    schema lies within itself, makes short arrays.
    """

    draws: Draws
    complete: bool
    frugal: bool
    nested: bool

    def solve(self, nodes: Sequence[Node], name: str = "", depth: int = 0) -> Any:
        """A value that keeps to all the schemas, or NOTHING. `name` is what it is called, `depth` how deep it lies."""

    def spend(self, steps: int = 1) -> None:
        """Count steps that may be in vain."""

    def work(self, values: int) -> None:
        """Count work that a step does with so many values."""
