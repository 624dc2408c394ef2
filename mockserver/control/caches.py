"""Caches: of calls that were read, of what was generated for them, and of the plans made from that.

Test suites and load tests send the same requests again and again. Reading and generating are pure, so that caching
changes no answer; every cache is bounded, in bytes.
"""

from typing import Any

from mockserver.core.caches import Cache
from mockserver.core.generation import Generation, GenerationRequest
from mockserver.generation.generate import generate

# As many as the exchanges that a journal remembers, which keep most of these values in memory anyway.
_MOST = 1_000
_MOST_BYTES = 16 * 2**20
# What a value takes, roughly: its objects, and parsed JSON for each byte of a body; and for each token of an answer.
_BYTES_EACH, _BYTES_PER_BYTE, _BYTES_PER_TOKEN = 4_000, 12, 200
# Answers with more tokens, answers without tokens but more bytes, and calls with more bytes are not worth caching.
LONGEST_ANSWER = 1_024
LONGEST_BODY = 32_768
LONGEST_CALL = 16_384


_caches: dict[str, Cache[Any, Any]] = {}


def cache(name: str) -> Cache[Any, Any]:
    """A cache whose hits and misses are in the metrics, under a name."""
    return _caches.setdefault(name, Cache(_MOST_BYTES, _MOST))


def size_of(body: bytes) -> int:
    """The bytes of memory, roughly, of a call with a body, and of all that is read from it."""
    return _BYTES_EACH + _BYTES_PER_BYTE * len(body)


# Requests are compared by identity: the cache keeps each of them alive, so that no other gets its id.
_generated: Cache[tuple[int, int], tuple[GenerationRequest, Generation]] = cache("generated")


def generated(request: GenerationRequest, seed: int) -> Generation:
    """What is generated for a request with a seed."""
    key = (id(request), seed)
    known = _generated.find(key)
    if known is not None and known[0] is request:
        return known[1]
    generation = generate(request, seed)
    if generation.usage.completion_tokens <= LONGEST_ANSWER:
        _generated.keep(key, (request, generation), _BYTES_EACH + _BYTES_PER_TOKEN * generation.usage.completion_tokens)
    return generation


def counts() -> dict[str, dict[str, int]]:
    """The hits and misses of each cache, for the metrics."""
    return {name: {"hits": cache.hits, "misses": cache.misses} for name, cache in _caches.items()}
