"""`POST /v1/chat/completions` becomes a request to a model: what the page allows, refuses and ignores."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output
from mockserver.dialects.contracts import Contract, by_edition, editions
from mockserver.dialects.openai.read import (
    NO_OFFER,
    Body,
    called,
    chat_prompt,
    image_of,
    json_object,
    parts,
    sampling,
    with_images,
)
from mockserver.dialects.yandex.errors import explain, fault, in_session
from mockserver.dialects.yandex.models import Backend, ModelUri, backend_of, checked_uri
from mockserver.dialects.yandex.tools import read_tools
from mockserver.model.schema import schema_fault

CONTRACT = editions(__package__)
REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")


class ChatExtra(NamedTuple):
    """What only the writer of chats needs of a request: the engine of its model."""

    backend: Backend = Backend()


def request_fields(edition: Edition, schema: str) -> tuple[str, ...]:
    """The fields of a request in the order of the page, which decides which of several violations is reported."""
    return tuple(CONTRACT[edition]()["schemas"][schema]["properties"])


def checked_body(call: Call, scope: RequestScope, contract: Mapping[Edition, Contract]) -> Body | Refusal:
    """The body, without fields that are null, which count as absent; or its refusal if it violates the contract."""
    body = json_object(call.body)
    if isinstance(body, Refusal):
        return body
    schema = contract[scope.edition]
    if not schema.accepts(body):
        return explain(schema.violations(body), request_fields(scope.edition, schema.name))
    return {name: value for name, value in body.items() if value is not None} if None in body.values() else body


def fitting(request: GenerationRequest, uri: ModelUri, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request if its prompt fits into the model's context window, else its refusal."""
    limit, count = request.limits.context, request.prompts[0].token_count
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
        role, content = message["role"], message.get("content")
        if role not in _ROLES:
            return f"invalid message role '{role}'"
        if _ROLES[role] and not (content and isinstance(content, str)) and not _has_content(message):
            return "empty message text"
    return None


def _has_content(message: Mapping[str, Any]) -> bool:
    # "Assistant history messages may come without `content`"
    if message.get("tool_calls") or message.get("function_call") or message.get("refusal"):
        return True
    return any(image_of(part) is not None or part.get("text") or part.get("refusal") for part in parts(message))


def _history_fault(messages: Sequence[Mapping[str, Any]]) -> Refusal | None:
    """The refusal of a result whose call no earlier message made: "the tool name->id link is by tool_call_id only"."""
    calls: set[str] = set()
    for place, message in enumerate(messages):
        if "tool_calls" in message:
            calls.update([id_ for id_, _ in called(message)])
        answered = message.get("tool_call_id") if message["role"] == "tool" else None
        if answered is not None and answered not in calls:
            return fault(f"messages[{place}].tool_call_id", f"answers a call that was not made: {answered!r}")
    return None


# --- formats ---------------------------------------------------------------------------------------------------------

# The keywords that distinguish a schema from the object around one.
_KEYWORDS = frozenset((
    "type", "properties", "items", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "$ref", "$dynamicRef",
    "$defs", "definitions", "prefixItems", "contains", "required", "additionalProperties", "patternProperties",
    "propertyNames", "dependentRequired", "dependentSchemas", "minProperties", "maxProperties", "minItems",
    "maxItems", "uniqueItems", "pattern", "format", "minLength", "maxLength", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "unevaluatedProperties", "unevaluatedItems", "$schema",
))  # fmt: skip


def _read_format(form: Body) -> Constraint | Refusal | None:
    """The constraint that a `response_format` puts on the answer; None if any text will do; or the refusal of a schema
    that is invalid or unsatisfiable."""
    if form["type"] == "text":
        return None
    if form["type"] == "json_object":
        return Constraint("json_object")
    given, field = form["json_schema"], "response_format.json_schema"
    if "schema" in given:
        given, field = given["schema"], f"{field}.schema"
    elif _KEYWORDS.isdisjoint(given):
        # The page demands a name and a schema; an example in the vendor's documentation has the bare schema instead.
        given = None
    reason = None if given is None else schema_fault(given)
    if reason:
        return fault(field, f"is a schema that no answer could keep to: {reason}")
    return Constraint("json_object") if given is None else Constraint("json_schema", given)


# --- read ------------------------------------------------------------------------------------------------------------

_TOOL_FIELDS = {"tools", "tool_choice", "functions", "function_call"}


def read(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Yandex refuses it: first for its form, then for its model, then for its content."""
    body = checked_body(call, scope, REQUEST)
    if isinstance(body, Refusal):
        return body
    uri = checked_uri(body["model"], call, scope)
    if isinstance(uri, Refusal):
        return uri
    messages = body["messages"]
    wrong = messages_fault(messages)
    if wrong is not None:
        return in_session(FailureKind.INVALID_REQUEST, wrong, uri, call, scope)
    refused = _conflict(body) or _history_fault(messages)
    if refused is not None:
        return refused
    constraint = _read_format(body["response_format"]) if "response_format" in body else None
    if isinstance(constraint, Refusal):
        return constraint
    backend, offer = backend_of(uri.name), NO_OFFER
    if not _TOOL_FIELDS.isdisjoint(body):
        given = read_tools(body, parallel=backend.own or body.get("parallel_tool_calls", True))
        if isinstance(given, Refusal):
            return given
        offer = given
    prompt = chat_prompt(messages, body.get("tools") or body.get("functions"))
    # Not according to the page, but in today's answers thoughts are shown.
    effort, shown = body.get("reasoning_effort"), scope.edition == "observed" and backend.thinks
    if shown and backend.template_switch and _told_not_to_think(body.get("chat_template_kwargs")):
        effort = "none"
    # "deprecated in favor of `max_completion_tokens`", which takes precedence
    most = body.get("max_completion_tokens", body.get("max_tokens"))
    # `stop`, `seed`, `store`, `audio`, `web_search_options` and `stream_options`: "CURRENTLY NOT SUPPORTED". The
    # page demands strings as keys of `logit_bias` without saying what they mean: those that can be token ids are.
    request = GenerationRequest(
        model=str(uri),
        prompts=(with_images(prompt, messages, IMAGE_TOKENS),),
        output=Output(
            stream=body.get("stream", False),
            include_usage=not backend.large_chunks,
            logprobs=int(body.get("top_logprobs", 0)) if body.get("logprobs") else None,
            reasoning=shown,
        ),
        limits=Limits(None if most is None else int(most), context=backend.context),
        sampling=sampling({**body, "seed": None} if "seed" in body else body),
        constraint=constraint,
        tools=offer.tools,
        tool_choice=offer.choice,
        n=int(body.get("n", 1)),
        effort=effort or "medium" if shown else effort,
        prediction=_prediction(body["prediction"]) if "prediction" in body else None,
        extra=ChatExtra(backend),
    )
    return fitting(request, uri, call, scope)


def _told_not_to_think(variables: object) -> bool:
    """Whether the variables of a chat template, of which the page knows nothing, switch reasoning off."""
    return isinstance(variables, dict) and variables.get("enable_thinking") is False


def _conflict(body: Body) -> Refusal | None:
    """The refusal of a field that needs another one."""
    # "`logprobs` must be set to `true` if this parameter is used."
    if "top_logprobs" in body and not body.get("logprobs"):
        return fault("top_logprobs", "needs 'logprobs' to be true")
    # "Only set this when you set `stream: true`."
    if "stream_options" in body and not body.get("stream"):
        return fault("stream_options", "needs 'stream' to be true")
    return None


def _prediction(predicted: Body) -> str:
    """The text that is expected, "such as the content of a text file that is being regenerated"."""
    content = predicted["content"]
    # By the page it is one text part, but clients send a list of them.
    texts = [content] if isinstance(content, dict) else content
    return texts if isinstance(texts, str) else "".join([part["text"] for part in texts])
