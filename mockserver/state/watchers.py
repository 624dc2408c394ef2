"""Watchers: functions that are called when something has happened, until they are stopped."""

from collections.abc import Callable
from typing import Generic, TypeVar

Watcher = TypeVar("Watcher", bound=Callable[..., None])


class Watchers(Generic[Watcher]):
    """The watchers of one thing. To tell them, call `each`; adding or stopping one meanwhile does not disturb that."""

    __slots__ = ("each",)

    def __init__(self) -> None:
        self.each: tuple[Watcher, ...] = ()

    def add(self, watcher: Watcher) -> Callable[[], None]:
        """Add a watcher; the result stops it."""
        self.each = (*self.each, watcher)

        def stop() -> None:
            self.each = tuple(other for other in self.each if other is not watcher)

        return stop
