"""`POST /v3/responses` becomes a request to a model, or a graph refuses it, by checks in the order of its source.

Of the parts of a message only the first text counts; the server does not read `instructions`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import GenerationRequest
from mockserver.dialects.openai.responses.items import messages_of
from mockserver.dialects.ovms.checks import (
    FORMAT,
    LOGPROBS,
    SAMPLING,
    SEVERAL,
    SPECIAL,
    STREAM,
    TOOLS,
    VARIABLES,
    Check,
    whole_limit,
)
from mockserver.dialects.ovms.fields import UINT32, Fields, whole
from mockserver.dialects.ovms.messages import Message, as_templated, pictures_fault
from mockserver.dialects.ovms.models import EFFORTS
from mockserver.dialects.ovms.read import Asked, accept, read_conversation

Item = Mapping[str, Any]


def read(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why the server or its graph refuses it."""
    accepted = accept(call, scope, _CHECKS)
    if isinstance(accepted, Refusal):
        return accepted
    fields, messages = accepted.fields, messages_of(accepted.fields["input"])
    templated = as_templated([_with_first_text(message) for message in messages])
    most = fields.get("max_output_tokens")
    request = read_conversation(accepted._replace(fields=_as_chat(fields)), templated, messages, most)
    if isinstance(request, Refusal):
        return request
    return request._replace(extra=Asked(request.extra is not None, fields))


def _as_chat(fields: Fields) -> dict[str, Any]:
    """The fields in chat form: "any effort value enables thinking", and `text.format` becomes a `response_format`."""
    chat = dict(fields)
    if fields.get("reasoning", {}).get("effort") is not None:
        chat["chat_template_kwargs"] = {"enable_thinking": True, **fields.get("chat_template_kwargs", {})}
    form = fields["text"].get("format") if isinstance(fields.get("text"), dict) else None
    if isinstance(form, dict) and "response_format" not in fields:
        chat["response_format"] = {"type": form.get("type"), "json_schema": {"schema": form.get("schema")}}
    return chat


def _with_first_text(message: Message) -> Message:
    content = message["content"]
    if isinstance(content, str):
        return message
    return {**message, "content": next((str(part["text"]) for part in content if part["type"] == "text"), "")}


# --- checks ------------------------------------------------------------------------------------------------------

# Items that are not messages: they need no role, and are not checked.
_OTHERS = ("reasoning", "function_call", "function_call_output")


def _input_fault(model: str, fields: Fields) -> str | None:
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
    kind, content = item.get("type"), item.get("content", "")
    if kind in _OTHERS:
        return _call_fault(item) if kind == "function_call" else None
    if not isinstance(item.get("role"), str):
        return "input item role is missing or invalid"
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        return "input item content must be a string or array"
    return next((fault for part in content if (fault := _part_fault(part)) is not None), None)


def _call_fault(item: Item) -> str | None:
    """What a call lacks without which the chat template could not write it."""
    lacks = (
        ("call_id (or id)", not any(isinstance(item.get(name), str) and item[name] for name in ("call_id", "id"))),
        ("name", not isinstance(item.get("name"), str) or not item["name"]),
        ("arguments", not isinstance(item.get("arguments"), str)),
    )
    return next((f"function_call item is missing required {name} field" for name, lacking in lacks if lacking), None)


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


_PARTS: Mapping[str, Callable[[Item], str | None]] = {
    "input_text": _text_fault,
    "output_text": _text_fault,
    "input_image": _image_fault,
}


def _one_in_a_stream(value: Any, fields: Fields) -> str | None:
    many = whole(value, UINT32) and value > 1 and fields.get("stream") is True
    return "n greater than 1 is not supported for Responses API streaming" if many else None


def _reasoning(value: Any, fields: Fields) -> str | None:
    if not isinstance(value, dict):
        return "reasoning is not an object"
    effort = value.get("effort")
    if effort is None:
        return None
    if not isinstance(effort, str):
        return "reasoning.effort is not a string"
    return None if effort in EFFORTS else "reasoning.effort must be one of: low, medium, high"


def _an_output(value: object, fields: Fields) -> str | None:
    return "max_output_tokens value should be greater than 0" if value == 0 else None


_CHECKS: tuple[Check, ...] = (
    *STREAM,
    *SAMPLING,
    SPECIAL,
    ("n", _one_in_a_stream),
    SEVERAL,
    ("stream_options", lambda value, fields: "stream_options is not supported in Responses API."),
    ("model", _input_fault),
    ("reasoning", _reasoning),
    LOGPROBS,
    *TOOLS,
    whole_limit("max_output_tokens"),
    ("max_output_tokens", _an_output),
    FORMAT,
    VARIABLES,
    ("input", lambda value, fields: pictures_fault(messages_of(value), fields)),
)
