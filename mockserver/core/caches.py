"""Caches that are bounded by bytes: what callers send decides how large a value is, so that a count is no bound."""

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """A thread-safe cache of the most recently used values, of so many bytes and so many values at most.

    The last value is kept even if it alone has more. `hits` and `misses` are counted.
    """

    def __init__(self, most_bytes: int, most: int = 1_000) -> None:
        self._most_bytes, self._most = most_bytes, most
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()
        self.hits = 0
        self.misses = 0

    def find(self, key: Key) -> Value | None:
        """The value of a key, None if it is not cached."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                self.misses += 1
                return None
            self.hits += 1
            self._values.move_to_end(key)
            return found[0]

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Cache a value of so many bytes, roughly; the least recently used ones give way."""
        with self._lock:
            self._bytes += size - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, size
            while len(self._values) > 1 and (self._bytes > self._most_bytes or len(self._values) > self._most):
                self._bytes -= self._values.popitem(last=False)[1][1]
