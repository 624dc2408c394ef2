"""Images in chats: their URLs, how many tokens they count, and which are refused."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import sqrt
from typing import Any

from mockserver.core.failures import Refusal
from mockserver.core.generation import Prompt
from mockserver.dialects.cerebras.errors import refused
from mockserver.dialects.openai.images import image_size
from mockserver.dialects.openai.messages import image_of, with_media
from mockserver.dialects.openai.messages import image_urls as openai_image_urls

Messages = Sequence[Mapping[str, Any]]

# By the documentation: an image is scaled to so many pixels, then each side is cut to a multiple of the patch.
_PIXELS, _PATCH, _MOST = 645_120, 48, 280
# The tokens of an image of unknown size: those of one of 768 by 768.
_UNMEASURED = 256
# "Max images per request: 5"; "External image URLs: not supported".
_MOST_IMAGES = 5
_IMAGE_FORMS = ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/jpg;base64,")


def _image(part: Mapping[str, Any]) -> str | None:
    return str(part["image"]) if part.get("type") == "image" else image_of(part)


# The URLs of all images of a conversation, in either form of a part.
image_urls = partial(openai_image_urls, url_of=_image)


def seeing(prompt: Prompt, messages: Messages) -> tuple[Prompt, int]:
    """The prompt of a conversation with its images, and how many tokens these count."""
    urls = image_urls(messages)
    if not urls:
        return prompt, 0
    images = [("image", url, image_tokens(url)) for url in urls]
    return with_media(prompt, images), sum(tokens for _, _, tokens in images)


def image_tokens(url: str) -> int:
    """How many tokens an image counts, depending on its size."""
    size = image_size(url)
    if size is None:
        return _UNMEASURED
    width, height = size
    scale = sqrt(_PIXELS / (width * height))
    patches = int(width * scale / _PATCH) * int(height * scale / _PATCH)
    return min(patches, _MOST)


def images_fault(urls: Sequence[str]) -> Refusal | None:
    """Why images are refused by every model, None if they are not. The rules are today's."""
    if len(urls) > _MOST_IMAGES:
        return refused(f"At most {_MOST_IMAGES} images are allowed per request, got {len(urls)}", "messages")
    if not all(url.lower().startswith(_IMAGE_FORMS) for url in urls):
        return refused("Images must be PNG or JPEG data URIs; external image URLs are not supported", "messages")
    return None
