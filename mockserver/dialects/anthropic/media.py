"""Images and documents that are refused for what they hold, which was recorded in 2026."""

from base64 import b64decode
from collections.abc import Iterator
from typing import NamedTuple

from mockserver.core.failures import Refusal
from mockserver.dialects.anthropic.errors import refused
from mockserver.dialects.messages.read import blocks_of
from mockserver.dialects.openai.read import Body, image_size

# The most characters of an image, the longest side of one, how many are many, and the longest side of one of these.
_MOST, _LONGEST, _MANY, _LONGEST_OF_MANY = 10_485_760, 8_000, 20, 2_000
_STARTS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


class Medium(NamedTuple):
    """An image or a document, where it is, and what it is made of."""

    path: str
    kind: str
    source: Body


def media_faults(body: Body) -> Iterator[Refusal]:
    """Why the images and documents of a conversation are refused."""
    said = ((message["content"], f"messages.{number}.content") for number, message in enumerate(body["messages"]))
    found = [medium for content, path in said for medium in _media(content, path)]
    many = sum(medium.kind == "image" for medium in found) > _MANY
    for medium in found:
        if medium.source.get("type") == "base64":
            yield from (_image_faults(medium, many) if medium.kind == "image" else _pdf_faults(medium))


def _media(content: object, path: str) -> Iterator[Medium]:
    for place, block in enumerate(blocks_of(content)):
        if block["type"] == "tool_result":
            yield from _media(block.get("content"), f"{path}.{place}.tool_result.content")
        elif block["type"] in ("image", "document"):
            yield Medium(f"{path}.{place}", block["type"], block["source"])


def _image_faults(image: Medium, many: bool) -> Iterator[Refusal]:
    data, type_, longest = image.source["data"], image.source["media_type"], _LONGEST_OF_MANY if many else _LONGEST
    if not data:
        yield refused("image_empty", path=image.path)
    if len(data) > _MOST:
        yield refused("image_large", path=image.path, found=len(data), most=_MOST)
    decoded = _decoded(data)
    if decoded is None:
        yield refused("image_encoding", path=image.path)
        return
    is_webp = decoded[:4] == b"RIFF" and decoded[8:12] == b"WEBP"
    found = next((type_ for start, type_ in _STARTS.items() if decoded.startswith(start)), is_webp and "image/webp")
    if not found:
        yield refused("image_unknown")
    elif found != type_:
        yield refused("image_type", path=image.path, type=type_)
    if max(image_size(f"data:;base64,{data}") or (0,)) > longest:
        yield refused("image_sides", path=image.path, which=" for many-image requests" * many, most=longest)


def _pdf_faults(document: Medium) -> Iterator[Refusal]:
    data = document.source["data"]
    if not data:
        yield refused("pdf_empty", path=document.path)
    if b"%PDF" not in (_decoded(data) or b"")[:1_024]:
        yield refused("pdf_invalid", path=document.path)


def _decoded(data: str) -> bytes | None:
    """What a text in base64 stands for, though it may lack its padding or be divided into lines."""
    text = "".join(data.split()).rstrip("=")
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return None
