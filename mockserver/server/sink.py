"""Sinks: where answers go. The player plays to one, and knows no transport."""

from collections.abc import Callable, Sequence
from typing import Protocol

from mockserver.core.timeline import Ending, RawHeaders, Wrapped

# A callback without arguments.
Then = Callable[[], None]


class Sink(Protocol):
    """Where an answer goes: one client, over any transport."""

    @property
    def longest_write(self) -> int:
        """The size in bytes at which joined frames stop growing, so that a write mostly arrives in one read."""

    def begin(self, status: int, headers: RawHeaders, length: int | None) -> None:
        """Send the head, which may wait for the first write. Without a `length` the body's size is unknown."""

    def write(self, data: bytes, *, last: bool) -> bool:
        """Send a part of the body, the final one if `last`. Return whether the client may take more."""

    def write_more(self, data: bytes) -> bool:
        """The same for a part that is not empty and not the final one."""
        return self.write(data, last=False)

    def steady(self, frames: Wrapped, interrupted: Then) -> "tuple[Sequence[bytes], Callable[[bytes], object]] | None":
        """These frames as they are sent, and the transport's own write, to be used until `interrupted` is called; None
        if there is more to a write than that."""
        return None

    def gone(self) -> bool:
        """Whether the client is known to have left, of which the player will be told soon."""
        return False

    def blocked(self, resume: Then) -> bool:
        """Whether the client takes no more for now; if so, `resume` is called once it does."""

    def break_off(self, ending: Ending, ended: Then) -> None:
        """Make the answer fail; `ended` is called when nothing more will be sent, unless the client leaves first."""

    def abort(self) -> None:
        """Drop the client, because its answer cannot go on."""
