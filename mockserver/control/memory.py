"""What is remembered: calls heard lately, what was generated for them, and the plans made of it.

Test suites and load tests ask the same things again and again. Reading and generating are pure, so remembering them
changes no answer; every memory is bounded.
"""

from collections import OrderedDict
from threading import Lock
from typing import Any, Generic, TypeVar

from mockserver.core.generation import Generation, GenerationRequest
from mockserver.generation.generate import generate

Key = TypeVar("Key")
Value = TypeVar("Value")

_MOST = 512
# Answers of more tokens, those without any of more bytes, and calls of more bytes, are not worth the room.
LONGEST_ANSWER = 1_024
LONGEST_BODY = 32_768
LONGEST_CALL = 16_384


_memories: "dict[str, Memory[Any, Any]]" = {}


class Memory(Generic[Key, Value]):
    """The values used last, so many at the most; safe in several threads. `hits` and `misses` count."""

    def __init__(self, name: str, most: int = _MOST) -> None:
        _memories[name] = self
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()
        self.hits = 0
        self.misses = 0

    def find(self, key: Key) -> Value | None:
        """The value of a key, if it is remembered."""
        with self._lock:
            value = self._values.get(key)
            if value is None:
                self.misses += 1
            else:
                self.hits += 1
                self._values.move_to_end(key)
            return value

    def keep(self, key: Key, value: Value) -> None:
        """Remember a value; the one that was not used for the longest time gives way."""
        with self._lock:
            self._values[key] = value
            if len(self._values) > self._most:
                self._values.popitem(last=False)


# Requests are compared by identity: the memory keeps each one alive, so that its id stays its own.
_generated: Memory[tuple[int, int], tuple[GenerationRequest, Generation]] = Memory("generated")


def generated(request: GenerationRequest, seed: int) -> Generation:
    """What is generated for a request under a seed."""
    key = (id(request), seed)
    known = _generated.find(key)
    if known is not None and known[0] is request:
        return known[1]
    generation = generate(request, seed)
    if generation.usage.completion_tokens <= LONGEST_ANSWER:
        _generated.keep(key, (request, generation))
    return generation


def counts() -> dict[str, dict[str, int]]:
    """How often each memory was asked, for the metrics."""
    return {name: {"hits": memory.hits, "misses": memory.misses} for name, memory in _memories.items()}
