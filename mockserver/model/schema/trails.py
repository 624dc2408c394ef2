"""How something new is made of parts: by leaving the trails of what is there already.

The parts of an array, or the values of an object, are a trail. One is made part by part; where a trail leads to nothing
new its end is closed, and it is begun anew. So each value that there is comes up in the end.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from mockserver.core.json_values import identity

# Something unlike so many others costs a step of the solver more than what is unlike one.
DEAR = 20


class Trails:
    """Trails of one length: those that are known, and others that turn out to lead nowhere."""

    def __init__(self, known: Iterable[Sequence[Any]]) -> None:
        self._closed: dict[Hashable, list[Any]] = {}
        for trail in known:
            self.close(trail)

    def closed(self, trail: Sequence[Any]) -> list[Any]:
        """The parts that must not come next."""
        return self._closed.get(identity(trail), [])

    def close(self, trail: Sequence[Any]) -> bool:
        """Note that a trail leads to nothing new; False where it has no part, so that there is no other."""
        if trail:
            self._closed.setdefault(identity(trail[:-1]), []).append(trail[-1])
        return bool(trail)
