"""Collections that are bounded by bytes: what callers send decides how large a value is, so that a count is no
bound."""

import ctypes
import gc
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sized
from functools import lru_cache, wraps
from mmap import PAGESIZE
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

# After so many bytes of values have given way, what they took is given back to the system.
_DROPPED = 32 * 2**20
# A process with less memory than this keeps it: to look for what is free takes a tenth of a second.
_MUCH = 120 * 2**20
# So many bytes that a reset has freed are worth the search for what is free.
_WORTH_GIVING = 4 * 2**20
# How many values a cache has at most, however small they are.
_MOST_VALUES = 1_000
# What takes more bytes is not kept beyond a reset.
_LARGE = 256 * 2**10

Key = TypeVar("Key")
Value = TypeVar("Value")
Text = TypeVar("Text", bound=Sized)


def cache_short(most: int, longest: int) -> Callable[[Callable[[Text], Value]], Callable[[Text], Value]]:
    """Like `lru_cache`, for a function of one text: what it says of longer ones is not cached."""

    def decorate(function: Callable[[Text], Value]) -> Callable[[Text], Value]:
        known = lru_cache(most)(function)
        return wraps(function)(lambda text: (known if len(text) <= longest else function)(text))

    return decorate


class Cache(Generic[Key, Value]):
    """A thread-safe cache of the most recently used values, of so many bytes at most.

    The last value is kept even if it alone has more.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._bytes = self._dropped = 0
        self._lock = Lock()
        _caches.add(self)

    def find(self, key: Key) -> Value | None:
        """The value of a key, None if it is not cached."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Cache a value of so many bytes, roughly; the least recently used ones give way."""
        with self._lock:
            self._bytes += size - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, size
            while len(self._values) > 1 and (self._bytes > self._most_bytes or len(self._values) > _MOST_VALUES):
                dropped = self._values.popitem(last=False)[1][1]
                self._bytes -= dropped
                self._dropped += dropped
            if self._dropped <= _DROPPED:
                return
            self._dropped = 0
        give_back()

    def drop_large(self) -> int:
        """Forget the values that take much memory, and return how many bytes they were."""
        with self._lock:
            large = [(key, size) for key, (_, size) in self._values.items() if size > _LARGE]
            for key, _ in large:
                del self._values[key]
            dropped = sum(size for _, size in large)
            self._bytes -= dropped
            return dropped


_caches: WeakSet[Cache[Any, Any]] = WeakSet()


def forget_large(freed: int) -> None:
    """Forget the large values of all caches. If that, and what else was `freed`, is much, it is given back."""
    if freed + sum(cache.drop_large() for cache in list(_caches)) > _WORTH_GIVING:
        give_back()


def give_back() -> None:
    """Give memory that is free back to the system, if this process has much: the allocator keeps it for itself.

    Only where that can be asked for: of glibc, on Linux.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None and resident_memory() > _MUCH:
        gc.collect()
        trim(0)


def resident_memory() -> int:
    """The bytes of memory that this process has, 0 where that is not known."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGESIZE
    except OSError:
        return 0


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

    def replace(self, key: Key, item: Item) -> None:
        """Put another item of the same weight under a key that there is."""
        self._items[key] = item

    def remove(self, key: Key) -> Item | None:
        """Remove the item under a key, if there is one, and return it."""
        item = self._items.pop(key, None)
        if item is not None:
            self._held -= self._weigh(item)
        return item
