"""Caches: of calls that were read, of what was generated for them, and of the plans made from that.

Test suites and load tests send the same requests again and again. Reading and generating are pure, so that caching
changes no answer; every cache is bounded.
"""

from collections import OrderedDict
from threading import Lock
from typing import Any, Generic, TypeVar

from mockserver.core.generation import Generation, GenerationRequest
from mockserver.generation.generate import generate

Key = TypeVar("Key")
Value = TypeVar("Value")

# As many as the exchanges that a journal remembers, which keep most of these values in memory anyway.
_MOST = 1_000
# Answers with more tokens, answers without tokens but more bytes, and calls with more bytes are not worth caching.
LONGEST_ANSWER = 1_024
LONGEST_BODY = 32_768
LONGEST_CALL = 16_384


_caches: "dict[str, Cache[Any, Any]]" = {}


class Cache(Generic[Key, Value]):
    """A bounded, thread-safe cache of the most recently used values. `hits` and `misses` are counted."""

    def __init__(self, name: str, most: int = _MOST) -> None:
        _caches[name] = self
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()
        self.hits = 0
        self.misses = 0

    def find(self, key: Key) -> Value | None:
        """The value of a key, None if it is not cached."""
        with self._lock:
            value = self._values.get(key)
            if value is None:
                self.misses += 1
            else:
                self.hits += 1
                self._values.move_to_end(key)
            return value

    def keep(self, key: Key, value: Value) -> None:
        """Cache a value; the least recently used one gives way."""
        with self._lock:
            self._values[key] = value
            if len(self._values) > self._most:
                self._values.popitem(last=False)


# Requests are compared by identity: the cache keeps each of them alive, so that no other gets its id.
_generated: Cache[tuple[int, int], tuple[GenerationRequest, Generation]] = Cache("generated")


def generated(request: GenerationRequest, seed: int) -> Generation:
    """What is generated for a request with a seed."""
    key = (id(request), seed)
    known = _generated.find(key)
    if known is not None and known[0] is request:
        return known[1]
    generation = generate(request, seed)
    if generation.usage.completion_tokens <= LONGEST_ANSWER:
        _generated.keep(key, (request, generation))
    return generation


def counts() -> dict[str, dict[str, int]]:
    """The hits and misses of each cache, for the metrics."""
    return {name: {"hits": cache.hits, "misses": cache.misses} for name, cache in _caches.items()}
