"""Large bodies: processing that takes more than some milliseconds is done in turns with other tasks, or in a thread.

Requests whose cost is not visible from outside, such as a small schema that is hard to satisfy, are detected while they
are processed (`core/haste.py`).
"""

import orjson

from mockserver.core.haste import TakesLongError, in_haste
from mockserver.core.json_sizes import MOST_VALUES, counted
from mockserver.core.seeding import fingerprinting
from mockserver.generation.readings import is_short, read_ahead, token_count
from mockserver.generation.tokens import load
from mockserver.serving.turns import in_thread, in_turns, next_turn

# Bodies of more than the first number of bytes are read in turns, of more than the second in a thread.
_LARGE = 32_768
_HUGE = 1_500_000
# So many messages, tools, prompts and their parts take some milliseconds, however short each is; a body with so many
# commas may have that many.
_MANY_PARTS = 1_000
_MANY_COMMAS = 500
# Non-ASCII text may have a token for each character, text with less than a space in so many characters nearly as many,
# and a compressed body may contain any amount.
_LARGE_DENSE = 4_096
_LARGE_UNSPACED = 8_192
_SPACED = 16
_LARGE_PACKED = 2_048
# Texts of fewer characters are counted in no time.
_COUNTED_AHEAD = 32
# So many values are parsed in some milliseconds; they are visited in turns of the second number.
_MANY_VALUES = 5_000
_LOOKED_AT = 500
# So many bytes are hashed, or parsed, in a fraction of a millisecond.
_HASHED = _PARSED = 131_072


def is_large(body: bytes, encoding: str | None) -> bool:
    """Whether a body, which may be compressed, may take more than some milliseconds to read."""
    if len(body) <= _LARGE_PACKED:
        return False
    if len(body) > _LARGE or encoding:
        return True
    if len(body) <= _LARGE_DENSE:
        return False
    if not body.isascii() or b"\\u" in body or body.count(b",") > _MANY_COMMAS:
        return True
    return len(body) > _LARGE_UNSPACED and body.count(b" ") * _SPACED < len(body)


async def has_too_many_values(body: bytes) -> bool:
    """Whether a body has more values than any reasonable request."""
    return await _has_more_values(body, MOST_VALUES)


async def fingerprint_of(body: bytes) -> str:
    """The fingerprint of a body, computed in turns."""
    digest = fingerprinting()
    await in_turns(digest.update, (body[start : start + _HASHED] for start in range(0, len(body), _HASHED)))
    return digest.hexdigest()


async def read_by_turns(body: bytes) -> bool:
    """Read the texts in a body, in turns, since a thread would hold up the loop. Return whether the rest is quick.

    It is not if the body is huge or has many parts, and unknown if it is not JSON, since it may be compressed.
    """
    if await _has_more_values(body, _MANY_VALUES):
        return False
    try:
        waiting: list[object] = [orjson.loads(body)]
    except orjson.JSONDecodeError:
        return False
    if len(body) > _PARSED:
        await next_turn()
    await _ready_to_count()
    parts = looked_at = 0
    short_texts: list[str] = []
    while waiting:
        part = waiting.pop()
        looked_at += 1
        if looked_at % _LOOKED_AT == 0:
            await next_turn()
        parts += isinstance(part, dict | list | str)
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
        elif isinstance(part, str) and is_short(part):
            short_texts += [part] if len(part) >= _COUNTED_AHEAD else []
        elif isinstance(part, str) and not part.startswith("data:"):
            await in_turns(lambda done: done, read_ahead(part))
    is_quick = parts < _MANY_PARTS and len(body) <= _HUGE
    if is_quick:
        await in_turns(token_count, short_texts)
    return is_quick


async def _has_more_values(body: bytes, most: int) -> bool:
    """Whether a body has more than `most` values, counted in turns."""
    counts = await in_turns(lambda count: count, counted(body, most))
    return bool(counts) and counts[-1] > most


async def _ready_to_count() -> None:
    """Load what counting tokens needs, in a thread: small requests do so while they are read."""
    try:
        in_haste(load)
    except TakesLongError:
        await in_thread(load)
