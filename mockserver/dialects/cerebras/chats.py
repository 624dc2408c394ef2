"""`POST /v1/chat/completions` becomes a request to a model, or is refused: for its format, its model, or for fields
that are incompatible with each other or with the model.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from math import sqrt
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, Prompt, Stops, ToolChoice
from mockserver.dialects.cerebras import strict_schemas
from mockserver.dialects.cerebras.body import CHAT_REQUEST, sent_object
from mockserver.dialects.cerebras.errors import explain_chat, refused
from mockserver.dialects.cerebras.models import ModelFamily, effort_of, family_of, shown_of
from mockserver.dialects.cerebras.read import fitting, least_tokens, patience
from mockserver.dialects.cerebras.write import CerebrasOptions
from mockserver.dialects.openai.fields import Body, sampling, stop_texts, whole
from mockserver.dialects.openai.images import image_size
from mockserver.dialects.openai.messages import called, chat_prompt, image_of, with_media
from mockserver.dialects.openai.tools import Offer, function_tools, parameters_fault, tool_choice, unknown_tool
from mockserver.model.schema import schema_fault
from mockserver.model.tokens import token_count

Messages = Sequence[Mapping[str, Any]]

# By the documentation: an image is scaled to so many pixels, then each side is cut to a multiple of the patch.
_PIXELS, _PATCH, _MOST = 645_120, 48, 280
# The tokens of an image of unknown size: those of one of 768 by 768.
_UNMEASURED = 256


def image_urls(messages: Messages) -> list[str]:
    """The URLs of all images, in order."""
    found = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            found += [url for part in content if (url := _image(part)) is not None]
    return found


def _image(part: Mapping[str, Any]) -> str | None:
    return str(part["image"]) if part.get("type") == "image" else image_of(part)


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


# --- chats -----------------------------------------------------------------------------------------------------------

# "Max images per request: 5"; "External image URLs: not supported".
_MOST_IMAGES = 5
_IMAGE_FORMS = ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/jpg;base64,")
_NO_STOPS = Stops()
_NO_TOOLS, _NO_COMPACT_TOOLS = ToolChoice(), ToolChoice(compact=True)


def read_chat(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Cerebras refuses it."""
    body = sent_object(call)
    if isinstance(body, Refusal):
        return body
    contract = CHAT_REQUEST[scope.edition]
    if not contract.accepts(body):
        return explain_chat(contract.violations(body), body, scope.edition)
    model, family = scope.model(body["model"]), family_of(body["model"])
    if model is None:
        return Refusal(FailureKind.UNKNOWN_MODEL)
    refusal = _conflict(body, family, scope.edition)
    if refusal is not None:
        return refusal
    offer = _NO_OFFER[family.compact] if _TOOL_FIELDS.isdisjoint(body) else read_tools(body, scope.edition)
    if isinstance(offer, Refusal):
        return offer
    return fitting(_request(body, family, offer, model.context, patience(call)))


def _request(body: Body, family: ModelFamily, offer: Offer, context: int, waiting: float | None) -> GenerationRequest:
    prompt, image_tokens = _prompt(body)
    form, stop, effort = body.get("response_format"), body.get("stop"), family.default_effort
    constraint = None if form is None else read_format(form)
    shown = shown_of(body, family, structured=constraint is not None)
    if "reasoning_effort" in body or "disable_reasoning" in body:
        effort = effort_of(body, family)
    # By today's names or else the older ones. -1 means as much as the model can.
    most = body.get("max_completion_tokens")
    most = body.get("max_tokens") if most is None else most
    least = body.get("min_completion_tokens")
    least = body.get("min_tokens") if least is None else least
    return GenerationRequest(
        model=body["model"],
        prompts=(prompt,),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=True,
            logprobs=(whole(body.get("top_logprobs")) or 0) if body.get("logprobs") else None,
            reasoning=shown != "hidden",
        ),
        limits=Limits(
            None if most is None or most == -1 else int(most),
            0 if least is None else least_tokens(least, context),
            context=context,
        ),
        stops=_NO_STOPS if stop is None else Stops(stop_texts(stop)),
        sampling=sampling(body),
        constraint=constraint,
        tools=offer.tools,
        tool_choice=offer.choice,
        n=int(body.get("n") or 1),
        effort=effort,
        prediction=_prediction(body.get("prediction")) if "prediction" in body else None,
        patience=waiting,
        extra=CerebrasOptions(shown, image_tokens, body.get("service_tier") == "auto"),
    )


def _prediction(predicted: Body | None) -> str | None:
    """The predicted text."""
    content = None if predicted is None else predicted["content"]
    return "".join(part["text"] for part in content) if isinstance(content, list) else content


# --- fields that exclude each other ------------------------------------------------------------------------------


def _conflict(body: Body, family: ModelFamily, edition: Edition) -> Refusal | None:
    """The refusal of valid fields that are incompatible with each other, or with this model."""
    for name, conflict in _CONFLICTS[edition].items():
        if body.get(name) is not None:
            refusal = conflict(body, family)
            if refusal is not None:
                return refusal
    form = body.get("response_format")
    refusal = messages_fault(body["messages"], family, edition)
    return refusal or (None if form is None else format_fault(form, edition))


def _rivals_without_logprobs(body: Body, family: ModelFamily) -> Refusal | None:
    # "logprobs must be set to true if this parameter is used."
    fault = "logprobs must be set to true if top_logprobs is used"
    return None if body.get("logprobs") else refused(fault, "top_logprobs")


def _raw_json(body: Body, family: ModelFamily) -> Refusal | None:
    # "The raw format is not compatible with json_object or json_schema response formats."
    both = body["reasoning_format"] == "raw" and read_format(body.get("response_format")) is not None
    return _exclusive("reasoning_format", "response_format", both)


def _tools_and_form(body: Body, family: ModelFamily) -> Refusal | None:
    # Recorded: '"tools" is incompatible with "response_format"'; reported of any form, that of plain text too.
    return _exclusive("tools", "response_format", bool(body["tools"]) and body.get("response_format") is not None)


def _two_limits(body: Body, family: ModelFamily) -> Refusal | None:
    return _exclusive("max_tokens", "max_completion_tokens", body.get("max_completion_tokens") is not None)


# Recorded of qwen-3-235b-a22b-instruct-2507 in March 2026, in the layout of pydantic.
_NO_EFFORT = (
    "1 validation error for ChatCompletionServerRequest\nreasoning_effort\n"
    "  Input should be 'low', 'medium' or 'high' [type=enum, input_value='none', input_type=str]\n"
    "    For further information visit https://errors.pydantic.dev/2.8/v/enum"
)


def _thoughtless(body: Body, family: ModelFamily) -> Refusal | None:
    if body["reasoning_effort"] != "none":
        return None
    if not family.efforts and family.era == "documented":
        return refused(_NO_EFFORT, "validation_error")
    if family.stops_thinking:
        return None
    return refused("reasoning_effort=none is not supported by this model.", "reasoning_effort")


def _exclusive(name: str, other: str, both: bool) -> Refusal | None:
    return refused(f'"{name}" is incompatible with "{other}"', "validation_error") if both else None


# By the field without which there is no conflict; the first one is reported.
_DOCUMENTED: Mapping[str, Callable[[Body, ModelFamily], Refusal | None]] = {
    "top_logprobs": _rivals_without_logprobs,
    "reasoning_format": _raw_json,
}
_CONFLICTS: Mapping[Edition, Mapping[str, Callable[[Body, ModelFamily], Refusal | None]]] = {
    "documented": _DOCUMENTED,
    "observed": {
        **_DOCUMENTED,
        "tools": _tools_and_form,
        "max_tokens": _two_limits,
        "reasoning_effort": _thoughtless,
    },
}


# --- messages ----------------------------------------------------------------------------------------------------


def _prompt(body: Body) -> tuple[Prompt, int]:
    """The conversation as a prompt, and how many of its tokens are those of images."""
    messages: Messages = body["messages"]
    prompt = chat_prompt(messages, body.get("tools"))
    thoughts = [*_remembered(messages, forget=body.get("clear_thinking") is not False)] if len(messages) > 1 else ()
    if thoughts:
        text = "\n".join((prompt.text, *(f"reasoning: {thought}" for thought in thoughts)))
        prompt = prompt._replace(text=text, token_count=prompt.token_count + sum(map(token_count, thoughts)))
    return seeing(prompt, messages)


def _remembered(messages: Messages, *, forget: bool) -> Iterator[str]:
    """The earlier thoughts that the model still sees; with `forget` only those since the last user message.

    "Thinking content from the current (latest unfinished) turn is always included".
    """
    spoken = [place for place, message in enumerate(messages) if message["role"] == "user"]
    for message in islice(messages, spoken[-1] if forget and spoken else 0, None):
        # Other roles have no thoughts: there the field is unknown, and ignored.
        if message["role"] == "assistant" and message.get("reasoning"):
            said = message["reasoning"]
            yield said if isinstance(said, str) else "".join(part["text"] for part in said)


def messages_fault(messages: Messages, family: ModelFamily, edition: Edition) -> Refusal | None:
    """Why the messages are refused, by every model or by this one; None if they are accepted."""
    calling = False
    for message in messages:
        # A tool's result must follow the message that calls the tool, or another result of that message.
        is_result = message["role"] == "tool"
        if is_result and not calling:
            # Recorded.
            fault = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            return refused(fault, "messages")
        calling = is_result or ("tool_calls" in message and bool(called(message)))
    urls = image_urls(messages)
    return _images_fault(urls, family, edition) if urls else None


def _images_fault(urls: Sequence[str], family: ModelFamily, edition: Edition) -> Refusal | None:
    """The rules for images are today's: earlier it only counted whether a model accepts images."""
    if family.sees is False:
        return refused("Content of type 'image_url' is not supported by this model; only 'text' content is", "messages")
    if edition == "documented":
        return None
    if len(urls) > _MOST_IMAGES:
        return refused(f"At most {_MOST_IMAGES} images are allowed per request, got {len(urls)}", "messages")
    if not all(url.lower().startswith(_IMAGE_FORMS) for url in urls):
        return refused("Images must be PNG or JPEG data URIs; external image URLs are not supported", "messages")
    return None


# --- tools -------------------------------------------------------------------------------------------------------

_TOOL_FIELDS = {"tools", "tool_choice", "parallel_tool_calls"}
# By whether the model writes arguments without whitespace.
_NO_OFFER = {False: Offer((), _NO_TOOLS), True: Offer((), _NO_COMPACT_TOOLS)}


def read_tools(body: Body, edition: Edition) -> Offer | Refusal:
    """The tools on offer and the choice among them, or why they are refused."""
    tools = function_tools(body.get("tools"))
    choice = tool_choice(body.get("tool_choice"), parallel=body.get("parallel_tool_calls") is not False)
    unknown = unknown_tool(choice, tools)
    if unknown is not None:
        return refused(f"tool_choice names a function that is not in tools: {unknown!r}", "tool_choice")
    if choice.mode == "required" and not tools:
        return refused("tool_choice requires a call, but there are no tools", "tool_choice")
    compact = family_of(body["model"]).compact
    return _tools_fault(body, edition) or Offer(tools, choice._replace(compact=compact))


def _tools_fault(body: Body, edition: Edition) -> Refusal | None:
    functions = [row["function"] for row in body.get("tools") or ()]
    if edition == "observed" and len({bool(function.get("strict")) for function in functions}) > 1:
        # Recorded.
        return refused(
            "Tools with mixed values for 'strict' are not allowed. "
            "Please set all tools to 'strict: true' or 'strict: false'",
            "tools",
        )
    for place, function in enumerate(functions):
        reason = None
        if edition == "observed" and function.get("parameters"):
            reason = strict_schemas.parameters_fault(function["parameters"], strict=bool(function.get("strict")))
        if not reason:
            unusable = parameters_fault(function)
            reason = f"tools.{place}.function.parameters {unusable}" if unusable else None
        if reason:
            return refused(reason, "tools")
    return None


# --- the format of the answer ------------------------------------------------------------------------------------


def read_format(form: Body | None) -> Constraint | None:
    """The constraint of a `response_format`; None if any text will do."""
    if form is None or form["type"] == "text":
        return None
    schema = _schema(form)
    return Constraint("json_object") if schema is None else Constraint("json_schema", schema)


def format_fault(form: Body, edition: Edition) -> Refusal | None:
    """The refusal of a schema that is invalid, unsatisfiable, or not supported by the service."""
    schema = _schema(form)
    if schema is None:
        return None
    if edition == "observed" and form["json_schema"].get("strict"):
        unsupported = strict_schemas.form_fault(schema)
        if unsupported:
            return refused(unsupported, "response_format")
    reason = schema_fault(schema)
    return refused(f"No answer could keep to the JSON schema: {reason}", "response_format") if reason else None


def _schema(form: Body) -> Any:
    """The schema of a format, None if it has none."""
    return form["json_schema"].get("schema") if form["type"] == "json_schema" else None
