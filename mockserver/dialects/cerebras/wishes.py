"""What a request asks of the writer of chats alone."""

from typing import NamedTuple

from mockserver.dialects.cerebras.families import Shown


class ChatWishes(NamedTuple):
    """Where thoughts are shown, and how many tokens of the prompt are those of images."""

    shown: Shown = "text_parsed"
    image_tokens: int = 0
