"""The `input` of a request to the Responses API: its checks, and the messages that the server makes of it.

Of the parts of a message only the first text counts; the server does not read `instructions`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.core.dialects import Edition, Model
from mockserver.core.generation import Prompt
from mockserver.dialects.openai.messages import chat_prompt, with_images
from mockserver.dialects.openai.responses.items import messages_of
from mockserver.dialects.ovms.fields import Fields
from mockserver.dialects.ovms.messages import IMAGE_TOKENS, pictures_refused
from mockserver.dialects.ovms.tools import offered

Item = Mapping[str, Any]

# Items that are not messages: they need no role, and are not checked.
_OTHERS = ("reasoning", "function_call", "function_call_output")
_TEXTS = ("input_text", "output_text")


def input_fault(fields: Fields, model: Model) -> str | None:
    """The fault of the input, or of the first of its items that the server cannot read; None if there is none."""
    if "input" not in fields:
        return "input missing in request"
    given = fields["input"]
    if isinstance(given, str):
        return None if given else "input cannot be empty"
    if not isinstance(given, list):
        return "input is not a string or array"
    if not given:
        return "Messages array cannot be empty"
    return next((fault for item in given if (fault := _item_fault(item)) is not None), None)


def _item_fault(item: object) -> str | None:
    if not isinstance(item, dict):
        return "input array items must be objects"
    if item.get("type") in _OTHERS:
        return None
    if not isinstance(item.get("role"), str):
        return "input item role is missing or invalid"
    content = item.get("content", "")
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        return "input item content must be a string or array"
    return next((fault for part in content if (fault := _part_fault(part)) is not None), None)


def _part_fault(part: object) -> str | None:
    if not isinstance(part, dict):
        return "input content items must be objects"
    kind = part.get("type")
    if not isinstance(kind, str):
        return "input content item type is missing or invalid"
    # Parts of unknown types are ignored.
    return _PARTS[kind](part) if kind in _PARTS else None


def _text_fault(part: Item) -> str | None:
    return None if isinstance(part.get("text"), str) else f"{part['type']} requires a valid text field"


def _image_fault(part: Item) -> str | None:
    if "image_url" not in part:
        return "input_image requires image_url field"
    image = part["image_url"]
    if isinstance(image, dict):
        return None if isinstance(image.get("url"), str) else "input_image.image_url.url is missing or invalid"
    return None if isinstance(image, str) else "input_image.image_url must be a string or object"


_PARTS: Mapping[str, Callable[[Item], str | None]] = {**dict.fromkeys(_TEXTS, _text_fault), "input_image": _image_fault}


def pictures_fault(fields: Fields, model: Model) -> str | None:
    """The fault of the images in an input; None if there is none."""
    return pictures_refused(messages_of(fields["input"]), model)


def read_input(fields: Fields, edition: Edition) -> Prompt:
    """The conversation as the model's chat template gets it, with the tools on offer and the images."""
    messages = messages_of(fields["input"])
    prompt = chat_prompt([_with_first_text(message) for message in messages], offered(fields) or None)
    return with_images(prompt, messages, IMAGE_TOKENS)


def _with_first_text(message: Item) -> Item:
    return {**message, "content": _first_text(message["content"])}


def _first_text(content: str | Sequence[Item]) -> str:
    if isinstance(content, str):
        return content
    return next((str(part["text"]) for part in content if part["type"] == "text"), "")
