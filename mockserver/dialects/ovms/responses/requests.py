"""`POST /v3/responses` becomes a request to a model, or a graph refuses it, by checks in the order of its source.

Of the parts of a message only the first text counts; the server does not read `instructions`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Model, RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import GenerationRequest, Prompt
from mockserver.dialects.openai.messages import chat_prompt, with_images
from mockserver.dialects.openai.responses.items import messages_of
from mockserver.dialects.ovms.checks import COMMON, FORMAT, KWARGS, MAX_TOKENS, chat_logprobs, several, whole_limit
from mockserver.dialects.ovms.endpoints import refuse_endpoint
from mockserver.dialects.ovms.fields import UINT32, Check, Fields, field, whole
from mockserver.dialects.ovms.graphs import RESPONSES_PATHS
from mockserver.dialects.ovms.messages import IMAGE_TOKENS, pictures_refused
from mockserver.dialects.ovms.models import EFFORTS
from mockserver.dialects.ovms.read import Asked, GraphEndpoint, parsed, read_request, take
from mockserver.dialects.ovms.tools import offered, tools_fault


def read(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why the server or its graph refuses it; the older server has no such endpoint."""
    if scope.edition == "documented":
        return refuse_endpoint(call, scope)
    taken = take(call, scope, _RESPONSES)
    if isinstance(taken, Refusal):
        return taken
    fields = _as_chat(taken.fields)
    request = parsed(read_request(taken._replace(fields=fields), scope.edition), fields)
    return request._replace(extra=Asked(request.extra is not None, taken.fields))


def _as_chat(fields: Fields) -> Fields:
    """The fields in chat form: "any effort value enables thinking", and `text.format` becomes a `response_format`."""
    chat = dict(fields)
    if fields.get("reasoning", {}).get("effort") is not None:
        chat["chat_template_kwargs"] = {"enable_thinking": True, **fields.get("chat_template_kwargs", {})}
    form = fields["text"].get("format") if isinstance(fields.get("text"), dict) else None
    if isinstance(form, dict) and "response_format" not in fields:
        chat["response_format"] = {"type": form.get("type"), "json_schema": {"schema": form.get("schema")}}
    return chat


# --- input -------------------------------------------------------------------------------------------------------

Item = Mapping[str, Any]

# Items that are not messages: they need no role, and are not checked.
_OTHERS = ("reasoning", "function_call", "function_call_output")
_TEXTS = ("input_text", "output_text")


def _input_fault(fields: Fields, model: Model) -> str | None:
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


def _pictures_fault(fields: Fields, model: Model) -> str | None:
    """The fault of the images in an input; None if there is none."""
    return pictures_refused(messages_of(fields["input"]), model)


def _read_input(fields: Fields, edition: Edition) -> Prompt:
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


# --- checks ------------------------------------------------------------------------------------------------------


def _no_stream_options(fields: Fields, model: Model) -> str | None:
    return "stream_options is not supported in Responses API." if "stream_options" in fields else None


def _one_in_a_stream(fields: Fields, model: Model) -> str | None:
    many = whole(fields.get("n"), UINT32) and fields["n"] > 1 and fields.get("stream") is True
    return "n greater than 1 is not supported for Responses API streaming" if many else None


def _reasoning(value: Any) -> str | None:
    if not isinstance(value, dict):
        return "reasoning is not an object"
    effort = value.get("effort")
    if effort is None:
        return None
    if not isinstance(effort, str):
        return "reasoning.effort is not a string"
    return None if effort in EFFORTS else "reasoning.effort must be one of: low, medium, high"


def _output_limit(fields: Fields) -> int | None:
    """The maximum length, in tokens, that a request to the Responses API states."""
    limit: int | None = fields.get("max_output_tokens")
    return limit


def _an_output(fields: Fields, model: Model) -> str | None:
    return "max_output_tokens value should be greater than 0" if _output_limit(fields) == 0 else None


_CHECKS: dict[Edition, tuple[Check, ...]] = {
    "documented": (),
    "observed": (
        *(check for check in COMMON["observed"] if check not in (MAX_TOKENS, several)),
        _one_in_a_stream,
        several,
        _no_stream_options,
        _input_fault,
        field("reasoning", _reasoning),
        chat_logprobs,
        tools_fault,
        whole_limit("max_output_tokens"),
        _an_output,
        FORMAT,
        KWARGS,
        _pictures_fault,
    ),
}

_RESPONSES = GraphEndpoint(RESPONSES_PATHS, _CHECKS, _read_input, _output_limit)
