"""Derived randomness: every random choice is a function of a seed and a purpose, never of shared state.

`derive` hashes a seed and the purpose's parts to 64 bits; `Draws` turns 64 bits into a sequence of numbers
(splitmix64). Both are plain integer arithmetic, so that the same request gives the same bytes on every machine.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from struct import Struct
from typing import TypeVar

Item = TypeVar("Item")

# The seeds that there are.
SEEDS = range(-(2**63), 2**63)
_MASK = (1 << 64) - 1
_ALPHANUMERICS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# The constants of splitmix64.
_STEP, _MIX, _MIX_AGAIN = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
# Numbers are made so many at once, as lanes of one large integer: each has 128 bits, so that no product overflows.
_LANES = 8
_EACH = sum(1 << 128 * lane for lane in range(_LANES))
_EACH_MASK = _EACH * _MASK
_EACH_STEP = sum(((lane + 1) * _STEP & _MASK) << 128 * lane for lane in range(_LANES))
_LANES_OF = Struct("<" + "Q8x" * _LANES)
# The character for each value of a byte.
_AS_ALPHANUMERICS = bytes(_ALPHANUMERICS[value % len(_ALPHANUMERICS)] for value in range(256))


def derive(seed: int, *parts: str | int) -> int:
    """A 64-bit number that depends on the seed and on each part, and on nothing else."""
    data = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8, key=(seed & _MASK).to_bytes(8)).digest())


def hex_digits(seed: int, count: int, *parts: str | int) -> str:
    """`count` (at most 128) lower-case hexadecimal digits derived like `derive`."""
    data = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=(count + 1) // 2, key=(seed & _MASK).to_bytes(8)).hexdigest()[:count]


def alphanumerics(seed: int, count: int, *parts: str | int) -> str:
    """`count` digits and letters of both cases derived like `derive`."""
    data, key = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), (seed & _MASK).to_bytes(8)
    drawn = block = blake2b(data, key=key).digest()
    while len(drawn) < count:
        block = blake2b(block, key=key).digest()
        drawn += block
    return drawn[:count].translate(_AS_ALPHANUMERICS).decode()


def fingerprint(data: bytes) -> str:
    """A digest of some bytes, as a short text to derive from."""
    return blake2b(data, digest_size=16).hexdigest()


def uuid4_text(seed: int, *parts: str | int) -> str:
    """A derived identifier in the form of a version 4 UUID."""
    digits = hex_digits(seed, 32, *parts)
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


class Draws:
    """A sequence of pseudo-random numbers that its start alone determines (splitmix64)."""

    __slots__ = ("_state",)

    def __init__(self, start: int) -> None:
        self._state = start & _MASK

    def bits(self) -> int:
        """The next 64 bits."""
        self._state = mixed = (self._state + _STEP) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * _MIX) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * _MIX_AGAIN) & _MASK
        return mixed ^ (mixed >> 31)

    def numbers(self) -> Iterator[int]:
        """All the 64 bits that follow, some at once: a text takes many. Nothing else may be drawn meanwhile."""
        return chain.from_iterable(iter(self._several, None))

    def _several(self) -> Sequence[int]:
        mixed = (self._state * _EACH + _EACH_STEP) & _EACH_MASK
        self._state = (self._state + _LANES * _STEP) & _MASK
        mixed = (((mixed ^ (mixed >> 30)) & _EACH_MASK) * _MIX) & _EACH_MASK
        mixed = (((mixed ^ (mixed >> 27)) & _EACH_MASK) * _MIX_AGAIN) & _EACH_MASK
        return _LANES_OF.unpack(((mixed ^ (mixed >> 31)) & _EACH_MASK).to_bytes(_LANES_OF.size, "little"))

    def below(self, bound: int) -> int:
        """A whole number from 0 to bound - 1."""
        return (self.bits() * bound) >> 64

    def unit(self) -> float:
        """A number from 0.0 (included) to 1.0 (excluded)."""
        return (self.bits() >> 11) * 2.0**-53

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items; IndexError when there are none."""
        return items[(self.bits() * len(items)) >> 64]

    def spell(self, characters: str, count: int) -> str:
        """A text of `count` characters, each drawn independently."""
        bits, bound = self.bits, len(characters)
        return "".join([characters[(bits() * bound) >> 64] for _ in range(count)])
