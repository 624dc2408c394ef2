"""Large bodies: what takes longer than some milliseconds is done by turns with everybody else, or in a thread.

What nobody can see from outside to take long, such as a small schema that is hard to meet, is found out in haste
(`core/haste.py`).
"""

import asyncio

import orjson

from mockserver.core.json_sizes import MOST_VALUES, has_more_values
from mockserver.core.seeding import fingerprinting
from mockserver.generation.readings import is_short, read_ahead
from mockserver.serving.turns import in_turns

# A body of so many bytes is read by turns, one of so many in a thread.
_LARGE = 32_768
_HUGE = 1_500_000
# So many messages, tools, prompts and their parts take some milliseconds, however short each is; and where there are
# so many commas, there may be as many of those.
_MANY_PARTS = 1_000
_MANY_COMMAS = 500
# Beyond ASCII there may be a token for each character; and nobody knows how much is in a body that is packed.
_LARGE_DENSE = 4_096
_LARGE_PACKED = 2_048
# So many values are parsed in some milliseconds, and looked through by turns, so many of them in one.
_MANY_VALUES = 50_000
_LOOKED_AT = 500
# So many bytes are hashed in a fraction of a millisecond, and looked at for the values in them in one.
_HASHED = 131_072
_LOOKED_THROUGH = 131_072


def is_large(body: bytes, encoding: str | None) -> bool:
    """Whether a body, packed by an encoding or not, may take more than a millisecond to be read."""
    if len(body) <= _LARGE_PACKED:
        return False
    if len(body) > _LARGE or encoding:
        return True
    if len(body) <= _LARGE_DENSE:
        return False
    return not body.isascii() or b"\\u" in body or body.count(b",") > _MANY_COMMAS


async def has_too_many_values(body: bytes) -> bool:
    """Whether a body has more values than any that is meant."""
    return await _has_more_values(body, MOST_VALUES)


async def fingerprint_of(body: bytes) -> str:
    """The fingerprint of a body, worked out by turns."""
    digest = fingerprinting()
    await in_turns(digest.update, (body[start : start + _HASHED] for start in range(0, len(body), _HASHED)))
    return digest.hexdigest()


async def read_by_turns(body: bytes) -> bool:
    """Read the long texts in a body, by turns: a thread would hold up the loop. Whether what remains is soon done.

    It is not where the body is huge or has many parts, and nobody knows where it is no JSON: it may be packed.
    """
    if await _has_more_values(body, _MANY_VALUES):
        return False
    try:
        waiting: list[object] = [orjson.loads(body)]
    except orjson.JSONDecodeError:
        return False
    await asyncio.sleep(0)
    parts = looked_at = 0
    while waiting:
        part = waiting.pop()
        looked_at += 1
        if looked_at % _LOOKED_AT == 0:
            await asyncio.sleep(0)
        parts += isinstance(part, dict | list | str)
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
        elif isinstance(part, str) and not is_short(part) and not part.startswith("data:"):
            await in_turns(lambda done: done, read_ahead(part))
    return parts < _MANY_PARTS and len(body) <= _HUGE


async def _has_more_values(body: bytes, most: int) -> bool:
    """Whether a body has more than so many values: of a long one found out in a thread."""
    if len(body) <= _LOOKED_THROUGH:
        return has_more_values(body, most)
    return await asyncio.to_thread(has_more_values, body, most)
