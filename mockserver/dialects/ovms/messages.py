"""The messages of a chat: what is wrong with their form, and what the chat template gets of them (vendor note 6)."""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.dialects.openai.read import image_urls
from mockserver.dialects.ovms.fields import Fields
from mockserver.dialects.ovms.models import sees

Message = Mapping[str, Any]

# The members of a message that are passed on beside its content and its calls; all of them texts.
_KEPT = ("role", "tool_call_id", "name", "reasoning_content")
_PLAIN = {"role", "content"}
# The tokens of an image: the server's vision models differ, and state none.
IMAGE_TOKENS = 256
# How the server marks an image for its models.
_IMAGE_TAG = "<ov_genai_image_"
_REMOTE = re.compile(r"(?:https?|s?ftp)://")


# --- their form --------------------------------------------------------------------------------------------------


def messages_fault(model: str, fields: Fields) -> str | None:
    """What is wrong with the first invalid message; unknown members are ignored."""
    if "messages" not in fields:
        return "Messages missing in request"
    messages = fields["messages"]
    if not isinstance(messages, list):
        return "Messages are not an array"
    if not messages:
        return "Messages array cannot be empty"
    for message in messages:
        if not isinstance(message, dict):
            return "Message is not a JSON object"
        content, calls = message.get("content"), message.get("tool_calls")
        for part in content if isinstance(content, list) else ():
            if (fault := _part_fault(part)) is not None:
                return fault
        if not isinstance(message.get("role"), str):
            return "Every message must have 'role' field"
        for call in calls if isinstance(calls, list) else ():
            if not isinstance(call, dict):
                return "Each tool_call must be an object"
            if not isinstance(call.get("function"), dict):
                return "Each tool_call must have a 'function' object"
    return None


def _part_fault(part: object) -> str | None:
    if not isinstance(part, dict):
        return "Invalid message structure - content array should contain objects"
    kind = part.get("type")
    if not isinstance(kind, str):
        return "Invalid message structure - content object type missing"
    return _PARTS[kind](part) if kind in _PARTS else "Unsupported content type"


def _text_fault(part: Message) -> str | None:
    return None if isinstance(part.get("text"), str) else "Invalid message structure - content text missing"


def _image_fault(part: Message) -> str | None:
    image = part.get("image_url")
    if not isinstance(image, dict):
        return "Invalid message structure - content image_url missing"
    fit = isinstance(image.get("url"), str)
    return None if fit else "Invalid message structure - image_url does not have url field"


def _audio_fault(part: Message) -> str | None:
    audio = part.get("input_audio")
    if not isinstance(audio, dict):
        return "Invalid message structure - input_audio object missing"
    fit = isinstance(audio.get("data"), str)
    return None if fit else "Invalid message structure - input_audio does not have a valid data field"


_PARTS: Mapping[str, Callable[[Message], str | None]] = {
    "text": _text_fault,
    "image_url": _image_fault,
    "input_audio": _audio_fault,
}


# --- pictures ----------------------------------------------------------------------------------------------------


def pictures_fault(messages: Sequence[Message], fields: Fields) -> str | None:
    """What is wrong with the images of messages whose form is checked: the model reads only text, or the URL is not
    allowed. Texts for a vision model must not mark the place of an image."""
    if sees(fields["model"]):
        if any(_IMAGE_TAG in text for message in messages for text in _texts(message.get("content"))):
            return "Message contains restricted <ov_genai_image> tag"
        return next(filter(None, map(_address_fault, image_urls(messages))), None)
    for message in messages:
        if isinstance(message.get("content"), list) and image_urls((message,)):
            return "This servable supports only text input, but image_url has been provided"
    return None


def _texts(content: object) -> Sequence[str]:
    if isinstance(content, list):
        return [part["text"] for part in content if isinstance(part.get("text"), str)]
    return (content,) if isinstance(content, str) else ()


def _address_fault(url: str) -> str | None:
    """Without allowed domains, the server only accepts images within the request."""
    _, marked, data = url.partition("base64,")
    if not marked:
        remote = "Given url does not match any allowed domain from allowed_media_domains"
        return remote if _REMOTE.match(url) else "Loading images from local filesystem is disabled."
    try:
        b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "Invalid base64 string in request"
    return None


# --- the prompt --------------------------------------------------------------------------------------------------


def as_templated(messages: Sequence[Message]) -> list[Message]:
    """The messages as a chat template gets them: a role, a text or null, and of the rest what it may read.

    Several texts are joined with line ends; an empty list of parts is null, and an empty list of calls is none.
    """
    templated = []
    for message in messages:
        content, calls = message.get("content", ""), message.get("tool_calls")
        if type(content) is str and message.keys() == _PLAIN:
            templated.append(message)
            continue
        if isinstance(content, list):
            content = "\n".join([part["text"] for part in content if part["type"] == "text"]) if content else None
        kept: dict[str, Any] = {name: message[name] for name in _KEPT if isinstance(message.get(name), str)}
        kept["content"] = content if isinstance(content, str) or content is None else ""
        if isinstance(calls, list) and calls:
            kept["tool_calls"] = calls
        templated.append(kept)
    return templated
