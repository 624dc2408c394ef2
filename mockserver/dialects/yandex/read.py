"""`POST /v1/chat/completions` becomes a request to a model: what the page allows, refuses and ignores."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, Effort, GenerationRequest, Limits, Output, Prompt
from mockserver.dialects.contracts import Contract, by_edition, editions
from mockserver.dialects.openai.fields import Body, json_object, sampling, whole
from mockserver.dialects.openai.messages import called, chat_prompt, image_of, parts, with_images
from mockserver.dialects.openai.tools import Offer
from mockserver.dialects.yandex.errors import explain, fault, in_session
from mockserver.dialects.yandex.models import (
    Backend,
    ModelUri,
    backend_of,
    context_window,
    is_offered,
    parse_uri,
    thinks,
)
from mockserver.dialects.yandex.tools import read_tools
from mockserver.model.schema import schema_fault

CONTRACT = editions(__package__)
REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")
RESPONSES_REQUEST = by_edition(CONTRACT, "ResponsesRequest")


def request_fields(edition: Edition, schema: str) -> tuple[str, ...]:
    """The fields of a request in the order of the page, which decides which of several violations is reported."""
    return tuple(CONTRACT[edition]()["schemas"][schema]["properties"])


# --- intake ----------------------------------------------------------------------------------------------------------


def checked_body(call: Call, scope: RequestScope, contract: Mapping[Edition, Contract]) -> Body | Refusal:
    """The body, without fields that are null, which count as absent; or its refusal if it violates the contract."""
    body = json_object(call.body)
    if isinstance(body, Refusal):
        return body
    schema = contract[scope.edition]
    if not schema.accepts(body):
        return explain(schema.violations(body), request_fields(scope.edition, schema.name))
    return {name: value for name, value in body.items() if value is not None}


def checked_uri(text: str, scope: RequestScope) -> ModelUri | Refusal:
    """The model's URI, or its refusal: "a bare name gives 400 `Failed to parse model URI`"."""
    if "://" not in text:
        return Refusal(FailureKind.INVALID_REQUEST, "Failed to parse model URI", "model")
    uri = parse_uri(text)
    if uri is None or uri.scheme != "gpt":
        return Refusal(FailureKind.INVALID_REQUEST, "invalid model_uri", "model")
    return uri if is_offered(uri, scope) else Refusal(FailureKind.UNKNOWN_MODEL, param="model")


def fitting(request: GenerationRequest, uri: ModelUri, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request if its prompt fits into the model's context window, else its refusal."""
    limit, count = request.limits.context, request.prompt_tokens
    if count <= limit:
        return request
    message = f"number of input tokens must be no more than {limit}, got {count}"
    return in_session(FailureKind.CONTEXT_LENGTH, message, uri, call, scope)


# --- messages --------------------------------------------------------------------------------------------------------

# Whether a message of the role must have some content: a tool's result may be empty.
_ROLES = {"developer": True, "system": True, "user": True, "assistant": True, "tool": False, "function": False}
# "An image = 256 prompt tokens"
IMAGE_TOKENS = 256


def messages_fault(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The fault of the first message that no model accepts, in the vendor's words; None if there is none."""
    for message in messages:
        role = message["role"]
        if role not in _ROLES:
            return f"invalid message role '{role}'"
        if _ROLES[role] and not _has_content(message):
            return "empty message text"
    return None


def history_fault(messages: Sequence[Mapping[str, Any]]) -> Refusal | None:
    """The refusal of a result whose call no earlier message made: "the tool name->id link is by tool_call_id only"."""
    calls: set[str] = set()
    for place, message in enumerate(messages):
        calls.update(id_ for id_, _ in called(message))
        answered = message.get("tool_call_id") if message["role"] == "tool" else None
        if answered is not None and answered not in calls:
            return fault(f"messages[{place}].tool_call_id", f"answers a call that was not made: {answered!r}")
    return None


def read_prompt(messages: Sequence[Mapping[str, Any]], tools: object = None) -> Prompt:
    """The conversation as a prompt, with its images, and with the `tools` on offer."""
    return with_images(chat_prompt(messages, tools), messages, IMAGE_TOKENS)


def _has_content(message: Mapping[str, Any]) -> bool:
    # "Assistant history messages may come without `content`"
    if any(message.get(name) for name in ("tool_calls", "function_call", "refusal")):
        return True
    content = message.get("content")
    return bool(content) if isinstance(content, str) else any(map(_part_has_content, parts(message)))


def _part_has_content(part: Mapping[str, Any]) -> bool:
    return image_of(part) is not None or bool(part.get("text") or part.get("refusal"))


# --- formats ---------------------------------------------------------------------------------------------------------

# The keywords that distinguish a schema from the object around one.
_KEYWORDS = frozenset((
    "type", "properties", "items", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "$ref", "$dynamicRef",
    "$defs", "definitions", "prefixItems", "contains", "required", "additionalProperties", "patternProperties",
    "propertyNames", "dependentRequired", "dependentSchemas", "minProperties", "maxProperties", "minItems",
    "maxItems", "uniqueItems", "pattern", "format", "minLength", "maxLength", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "unevaluatedProperties", "unevaluatedItems", "$schema",
))  # fmt: skip


def read_format(form: Body | None) -> Constraint | None:
    """The constraint that a `response_format` puts on the answer; None if any text will do."""
    if form is None or form["type"] == "text":
        return None
    _, schema = _schema(form)
    return Constraint("json_object") if schema is None else Constraint("json_schema", schema)


def format_fault(form: Body | None) -> Refusal | None:
    """The refusal of a schema that is invalid or unsatisfiable; None if there is no such fault."""
    field, schema = ("", None) if form is None else _schema(form)
    reason = None if schema is None else schema_fault(schema)
    return fault(field, f"is a schema that no answer could keep to: {reason}") if reason else None


def _schema(form: Body) -> tuple[str, Any]:
    """The field with the schema of a format, and the schema, None if there is none."""
    if form["type"] != "json_schema":
        return "response_format", None
    given = form["json_schema"]
    if "schema" in given:
        return "response_format.json_schema.schema", given["schema"]
    # The page demands a name and a schema; an example in the vendor's documentation has the bare schema instead.
    bare = not _KEYWORDS.isdisjoint(given)
    return "response_format.json_schema", given if bare else None


# --- read ------------------------------------------------------------------------------------------------------------


def read(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Yandex refuses it: first for its form, then for its model, then for its content."""
    body = checked_body(call, scope, REQUEST)
    if isinstance(body, Refusal):
        return body
    uri = checked_uri(body["model"], scope)
    if isinstance(uri, Refusal):
        return uri
    wrong = messages_fault(body["messages"])
    if wrong is not None:
        return in_session(FailureKind.INVALID_REQUEST, wrong, uri, call, scope)
    offer = _conflict(body) or read_tools(body, parallel=_is_parallel(body, uri))
    if isinstance(offer, Refusal):
        return offer
    return fitting(_request(body, uri, offer, scope), uri, call, scope)


def _conflict(body: Body) -> Refusal | None:
    """The refusal of a field that needs another one, of a result without its call, or of an unusable schema."""
    # "`logprobs` must be set to `true` if this parameter is used."
    if "top_logprobs" in body and not body.get("logprobs"):
        return fault("top_logprobs", "needs 'logprobs' to be true")
    # "Only set this when you set `stream: true`."
    if "stream_options" in body and not body.get("stream"):
        return fault("stream_options", "needs 'stream' to be true")
    return history_fault(body["messages"]) or format_fault(body.get("response_format"))


def _request(body: Body, uri: ModelUri, offer: Offer, scope: RequestScope) -> GenerationRequest:
    effort, shown = _thinking(body, uri, scope)
    # `stop`, `seed`, `store`, `audio`, `web_search_options` and `stream_options`: "CURRENTLY NOT SUPPORTED". The
    # page demands strings as keys of `logit_bias` without saying what they mean: those that can be token ids are.
    return GenerationRequest(
        model=str(uri),
        prompts=(read_prompt(body["messages"], body.get("tools") or body.get("functions")),),
        output=_output(body, backend_of(uri.name), shown),
        limits=Limits(_max_tokens(body), context=context_window(uri.name)),
        sampling=sampling({**body, "seed": None}),
        constraint=read_format(body.get("response_format")),
        tools=offer.tools,
        tool_choice=offer.choice,
        n=int(body.get("n", 1)),
        effort=effort,
        prediction=_prediction(body.get("prediction")),
    )


def _is_parallel(body: Body, uri: ModelUri) -> bool:
    return body.get("parallel_tool_calls", True) or not backend_of(uri.name).one_call


def _thinking(body: Body, uri: ModelUri, scope: RequestScope) -> tuple[Effort | None, bool]:
    """The reasoning effort, and whether the thoughts are shown: not according to the page, but in today's answers."""
    asked: Effort | None = body.get("reasoning_effort")
    shown = scope.edition == "observed" and thinks(uri.name)
    return (asked or "medium") if shown else asked, shown


def _output(body: Body, backend: Backend, shown: bool) -> Output:
    return Output(
        stream=body.get("stream", False),
        include_usage=backend.usage_in_stream,
        logprobs=int(body.get("top_logprobs", 0)) if body.get("logprobs") else None,
        reasoning=shown,
    )


def _prediction(predicted: Body | None) -> str | None:
    """The text that is expected, "such as the content of a text file that is being regenerated"."""
    content = None if predicted is None else predicted["content"]
    # By the page it is one text part, but clients send a list of them.
    parts = [content] if isinstance(content, dict) else content
    return "".join(part["text"] for part in parts) if isinstance(parts, list) else parts


def _max_tokens(body: Body) -> int | None:
    """The limit; `max_tokens` is "deprecated in favor of `max_completion_tokens`", which takes precedence."""
    return whole(body.get("max_completion_tokens", body.get("max_tokens")))
