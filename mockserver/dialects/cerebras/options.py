"""What a request asks of the writer of chats alone."""

from typing import NamedTuple

from mockserver.dialects.cerebras.families import Shown


class ChatOptions(NamedTuple):
    """Where thoughts are shown, how many tokens of the prompt are those of images, and whether the service may choose
    the tier."""

    shown: Shown = "text_parsed"
    image_tokens: int = 0
    any_tier: bool = False
