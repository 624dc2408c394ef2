"""Images in messages: how many tokens each of them counts, and its size."""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.dialects.openai.messages import with_media

# An image of low detail counts so many tokens, any other as many more for each tile. It is first scaled down to fit a
# square, then until its shorter side has so many pixels (the vendor's page on images, for gpt-4o).
_BASE, _EACH_TILE, _TILE, _SQUARE, _SHORTER = 85, 170, 512, 2_048, 768
_UNMEASURED = (1_024, 1_024)
# How far into a file its size is looked for, in characters of base64.
_HEAD = 4 * 65_536
_SIZED_SEGMENTS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def with_images(prompt: Prompt, messages: Sequence[Mapping[str, Any]]) -> Prompt:
    """The prompt of a conversation with its images, each of which counts tokens and, by its URL, changes the answer."""
    images = [
        part["image_url"]
        for message in messages
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if part.get("type") == "image_url"
    ]
    return with_media(prompt, [("image", str(image["url"]), _tokens(image)) for image in images]) if images else prompt


def _tokens(image: Mapping[str, Any]) -> int:
    if image.get("detail") == "low":
        return _BASE
    width, height = image_size(image["url"]) or _UNMEASURED
    scale = min(1, _SQUARE / max(width, height))
    scale *= min(1, _SHORTER / (min(width, height) * scale))
    return _BASE + _EACH_TILE * ceil(width * scale / _TILE) * ceil(height * scale / _TILE)


def image_size(url: str) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG or a JPEG in a data URL; None if they cannot be found."""
    _, is_data, data = url.partition(";base64,")
    if not is_data:
        return None
    try:
        head = b64decode(data[:_HEAD])
    except ValueError:
        return None
    sides = _png_sides(head) if head.startswith(b"\x89PNG") else next(_jpeg_sides(head), None)
    return sides if sides and all(sides) else None


def _png_sides(data: bytes) -> tuple[int, int]:
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _jpeg_sides(data: bytes) -> Iterator[tuple[int, int]]:
    """The sides that segments state: a segment begins with FF, its kind and its length."""
    place = 2
    while data[place : place + 1] == b"\xff" and place + 9 <= len(data):
        if data[place + 1] in _SIZED_SEGMENTS:
            yield int.from_bytes(data[place + 7 : place + 9]), int.from_bytes(data[place + 5 : place + 7])
        place += 2 + int.from_bytes(data[place + 2 : place + 4])
