"""The messages of a chat: the checks of both versions of the server, and the prompt (vendor note 6)."""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.core.dialects import Edition, Model
from mockserver.core.generation import Prompt
from mockserver.dialects.openai.messages import chat_prompt, image_urls, with_images
from mockserver.dialects.ovms.fields import Check, Fields
from mockserver.dialects.ovms.models import sees

Message = Mapping[str, Any]

# The members of a message that are passed on beside its content and its calls; all of them texts.
_KEPT = ("role", "tool_call_id", "name")
# The tokens of an image: the server's vision models differ, and state none.
IMAGE_TOKENS = 256
# How the server marks an image for its models.
_IMAGE_TAG = "<ov_genai_image_"
_REMOTE = re.compile(r"(?:https?|s?ftp)://")


# --- their form --------------------------------------------------------------------------------------------------


def messages_fault(edition: Edition) -> Check:
    """What is wrong with the first invalid message, by the server of an edition."""
    fault_in = _FAULTS[edition]

    def fault(fields: Fields, model: Model) -> str | None:
        if "messages" not in fields:
            return "Messages missing in request"
        messages = fields["messages"]
        if not isinstance(messages, list):
            return "Messages are not an array"
        if not messages:
            return "Messages array cannot be empty"
        return next((fault for message in messages if (fault := _message_fault(message, fault_in)) is not None), None)

    return fault


def _message_fault(message: object, fault_in: Callable[[Message], str | None]) -> str | None:
    return fault_in(message) if isinstance(message, dict) else "Message is not a JSON object"


def _older_fault(message: Message) -> str | None:
    """The older server requires every member to be a text, except that `content` may have parts."""
    for name, value in message.items():
        if isinstance(value, str):
            continue
        if name != "content" or not isinstance(value, list):
            return "Invalid message structure - content should be string or array"
        fault = _parts_fault(value, _OLDER_PARTS) if value else "Invalid message structure - content array is empty"
        if fault is not None:
            return fault
    return None


def _newer_fault(message: Message) -> str | None:
    """The newer server ignores unknown members, but requires a role."""
    content, calls = message.get("content"), message.get("tool_calls")
    fault = _parts_fault(content, _NEWER_PARTS) if isinstance(content, list) else None
    if fault is not None:
        return fault
    if not isinstance(message.get("role"), str):
        return "Every message must have 'role' field"
    return next(filter(None, map(_call_fault, calls)), None) if isinstance(calls, list) else None


def _call_fault(call: object) -> str | None:
    if not isinstance(call, dict):
        return "Each tool_call must be an object"
    return None if isinstance(call.get("function"), dict) else "Each tool_call must have a 'function' object"


def _parts_fault(parts: Sequence[object], kinds: Mapping[str, Callable[[Message], str | None]]) -> str | None:
    return next((fault for part in parts if (fault := _part_fault(part, kinds)) is not None), None)


def _part_fault(part: object, kinds: Mapping[str, Callable[[Message], str | None]]) -> str | None:
    if not isinstance(part, dict):
        return "Invalid message structure - content array should contain objects"
    kind = part.get("type")
    if not isinstance(kind, str):
        return "Invalid message structure - content object type missing"
    return kinds[kind](part) if kind in kinds else "Unsupported content type"


def _text_fault(part: Message) -> str | None:
    return None if isinstance(part.get("text"), str) else "Invalid message structure - content text missing"


def _image_fault(part: Message) -> str | None:
    image = part.get("image_url")
    if not isinstance(image, dict):
        return "Invalid message structure - content image_url missing"
    fit = isinstance(image.get("url"), str)
    return None if fit else "Invalid message structure - image_url does not have url field"


def _decoded_image_fault(part: Message) -> str | None:
    """The older server decodes images at once, whatever the model."""
    fault = _image_fault(part)
    if fault is not None:
        return fault
    _, marked, data = part["image_url"]["url"].partition("base64,")
    if not marked:
        return 'Url should contain base64 encoded string followed by "base64," prefix'
    return _base64_fault(data)


def _audio_fault(part: Message) -> str | None:
    audio = part.get("input_audio")
    if not isinstance(audio, dict):
        return "Invalid message structure - input_audio object missing"
    fit = isinstance(audio.get("data"), str)
    return None if fit else "Invalid message structure - input_audio does not have a valid data field"


_OLDER_PARTS: Mapping[str, Callable[[Message], str | None]] = {"text": _text_fault, "image_url": _decoded_image_fault}
_NEWER_PARTS: Mapping[str, Callable[[Message], str | None]] = {
    "text": _text_fault,
    "image_url": _image_fault,
    "input_audio": _audio_fault,
}
_FAULTS: dict[Edition, Callable[[Message], str | None]] = {"documented": _older_fault, "observed": _newer_fault}


# --- pictures ----------------------------------------------------------------------------------------------------


def images_fault(fields: Fields, model: Model) -> str | None:
    """What is wrong with images, by the newer server: the model reads only text, or the URL is not allowed."""
    return pictures_refused(fields["messages"], model)


def pictures_refused(messages: Sequence[Message], model: Model) -> str | None:
    """The same for messages whose form is checked. Those for a vision model must not mark the place of an image."""
    urls = image_urls(messages)
    if not sees(model.id):
        return "This servable supports only text input, but image_url has been provided" if urls else None
    if any(_IMAGE_TAG in text for message in messages for text in _texts(message.get("content"))):
        return "Message contains restricted <ov_genai_image> tag"
    return next(filter(None, map(_address_fault, urls)), None)


def _texts(content: object) -> Sequence[str]:
    if isinstance(content, list):
        return [part["text"] for part in content if isinstance(part.get("text"), str)]
    return (content,) if isinstance(content, str) else ()


def _address_fault(url: str) -> str | None:
    """Without allowed domains, the server only accepts images within the request."""
    _, marked, data = url.partition("base64,")
    if marked:
        return _base64_fault(data)
    if _REMOTE.match(url):
        return "Given url does not match any allowed domain from allowed_media_domains"
    return "Loading images from local filesystem is disabled."


def _base64_fault(data: str) -> str | None:
    try:
        b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "Invalid base64 string in request"
    return None


# --- the prompt --------------------------------------------------------------------------------------------------


def read_prompt(messages: Sequence[Message], edition: Edition, tools: Sequence[Message] = ()) -> Prompt:
    """The conversation as the model's chat template gets it, with the tokens of images and of the `tools` on offer."""
    prompt = chat_prompt([_passed_on(message, edition) for message in messages], tools or None)
    return prompt if edition == "documented" else with_images(prompt, messages, IMAGE_TOKENS)


def _passed_on(message: Message, edition: Edition) -> dict[str, Any]:
    """A message as the chat template gets it."""
    kept = {name: message[name] for name in _KEPT if isinstance(message.get(name), str)}
    content, calls = message.get("content"), message.get("tool_calls")
    if isinstance(content, list):
        content = _JOINED[edition]([part["text"] for part in content if part["type"] == "text"])
    passed_on = {**kept, "content": content if isinstance(content, str) else ""}
    return {**passed_on, "tool_calls": calls} if edition == "observed" and isinstance(calls, list) else passed_on


# Of several texts the older server keeps the last, the newer one joins them with line ends.
_JOINED: dict[Edition, Callable[[list[str]], str]] = {
    "documented": lambda texts: texts[-1] if texts else "",
    "observed": "\n".join,
}
