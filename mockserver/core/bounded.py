"""A collection that forgets its oldest items when it holds too many of them, or too many bytes."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")


class Bounded(Generic[Key, Item]):
    """Items by key, oldest first: `most` of them at the most, which weigh `heaviest` bytes together at the most.

    The latest item is kept however much it weighs.
    """

    __slots__ = ("_heaviest", "_held", "_items", "_most", "_weigh")

    def __init__(self, most: int, heaviest: int, weigh: Callable[[Item], int]) -> None:
        self._most, self._heaviest, self._weigh = most, heaviest, weigh
        self._items: OrderedDict[Key, Item] = OrderedDict()
        self._held = 0

    def __contains__(self, key: Key) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[Item]:
        """The items, oldest first; another thread may change the collection meanwhile."""
        return iter(list(self._items.values()))

    def get(self, key: Key) -> Item | None:
        """The item under a key; None if there is none."""
        return self._items.get(key)

    def add(self, key: Key, item: Item) -> None:
        """Add an item under a new key; `oldest` says which have to give way."""
        self._items[key] = item
        self._held += self._weigh(item)

    def excess(self) -> Item | None:
        """The oldest item, if the collection holds too much; None otherwise. It is the caller's to remove."""
        if len(self._items) > 1 and (len(self._items) > self._most or self._held > self._heaviest):
            return next(iter(self._items.values()))
        return None

    def remove(self, key: Key) -> Item | None:
        """Remove the item under a key, if there is one, and return it."""
        item = self._items.pop(key, None)
        if item is not None:
            self._held -= self._weigh(item)
        return item
