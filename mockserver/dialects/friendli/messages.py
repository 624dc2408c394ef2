"""Conversations with media: images, videos and audio by their URLs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.dialects.openai.messages import chat_prompt, parts, with_media

# The tokens of each medium: figures of our own, since the vendor states none.
_TOKENS = {"image_url": 256, "audio_url": 128, "video_url": 1024}

# How models that only read text refuse each medium.
REFUSALS = {
    "image_url": "This model does not support image/video inputs.",
    "video_url": "This model does not support image/video inputs.",
    "audio_url": "This model does not support audio inputs.",
}


def read_prompt(messages: Sequence[Mapping[str, Any]], tools: object) -> Prompt:
    """The conversation as a prompt, with the `tools` on offer; each medium changes the answer by its URL."""
    found = [(kind, part[kind]["url"], _TOKENS[kind]) for _, _, kind, part in media(messages)]
    return with_media(chat_prompt(messages, tools), found)


def medium_of(kind: str) -> str:
    """The medium of a kind of part: `image`, `video` or `audio`."""
    return kind.removesuffix("_url")


def media_tokens(messages: Sequence[Mapping[str, Any]]) -> Mapping[str, int]:
    """How many tokens of the prompt each medium counts, if there is any of it."""
    counts: dict[str, int] = {}
    for _, _, kind, _ in media(messages):
        counts[medium_of(kind)] = counts.get(medium_of(kind), 0) + _TOKENS[kind]
    return counts


def media(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int, str, Mapping[str, Any]]]:
    """The parts that are not text: the places of the message and of the part, its kind, and the part."""
    for place, message in enumerate(messages):
        for number, part in enumerate(parts(message)):
            if part["type"] in _TOKENS:
                yield place, number, part["type"], part
