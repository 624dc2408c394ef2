"""Images in messages, and how many tokens each of them counts."""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.dialects.openai.messages import image_of, with_media

Messages = Sequence[Mapping[str, Any]]

# By the documentation: an image is scaled to so many pixels, then each side is cut to a multiple of the patch.
_PIXELS, _PATCH, _MOST = 645_120, 48, 280
# The tokens of an image of unknown size: those of one of 768 by 768.
_UNMEASURED = 256
# How far into a file its size is looked for, in characters of base64.
_HEAD = 4 * 65_536
_SIZED_SEGMENTS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def image_urls(messages: Messages) -> list[str]:
    """The URLs of all images, in order."""
    found = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            found += [url for part in content if (url := _image(part)) is not None]
    return found


def _image(part: Mapping[str, Any]) -> str | None:
    return str(part["image"]) if part.get("type") == "image" else image_of(part)


def seeing(prompt: Prompt, messages: Messages) -> tuple[Prompt, int]:
    """The prompt of a conversation with its images, and how many tokens these count."""
    urls = image_urls(messages)
    if not urls:
        return prompt, 0
    images = [("image", url, image_tokens(url)) for url in urls]
    return with_media(prompt, images), sum(tokens for _, _, tokens in images)


def image_tokens(url: str) -> int:
    """How many tokens an image counts, depending on its size."""
    size = _size(url)
    if size is None:
        return _UNMEASURED
    width, height = size
    scale = sqrt(_PIXELS / (width * height))
    patches = int(width * scale / _PATCH) * int(height * scale / _PATCH)
    return min(patches, _MOST)


def _size(url: str) -> tuple[int, int] | None:
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
