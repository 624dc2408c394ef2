"""A collection that forgets its oldest items when it holds too many of them, or too many bytes."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")


class Bounded(Generic[Key, Item]):
    """Items by key, oldest first: `most` of them at the most, which weigh `heaviest` bytes together at the most.

    The latest item is kept however much it weighs. `forgotten` is called with each item that has given way.
    """

    __slots__ = ("_forgotten", "_heaviest", "_held", "_items", "_most", "_weigh")

    def __init__(
        self,
        most: int,
        heaviest: int,
        weigh: Callable[[Item], int],
        forgotten: Callable[[Item], object] = lambda item: None,
    ) -> None:
        self._most, self._heaviest, self._weigh, self._forgotten = most, heaviest, weigh, forgotten
        self._items: OrderedDict[Key, Item] = OrderedDict()
        self._held = 0

    def __contains__(self, key: Key) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        """The items, oldest first; another thread may change the collection meanwhile."""
        return iter(list(self._items.values()))

    def get(self, key: Key) -> Item | None:
        """The item under a key; None if there is none."""
        return self._items.get(key)

    def add(self, key: Key, item: Item) -> None:
        """Add an item under a new key; the oldest ones give way."""
        self._items[key] = item
        self._held += self._weigh(item)
        while len(self._items) > 1 and (len(self._items) > self._most or self._held > self._heaviest):
            _, oldest = self._items.popitem(last=False)
            self._held -= self._weigh(oldest)
            self._forgotten(oldest)

    def remove(self, key: Key) -> Item | None:
        """Remove the item under a key, if there is one, and return it."""
        item = self._items.pop(key, None)
        if item is not None:
            self._held -= self._weigh(item)
        return item
