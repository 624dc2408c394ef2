"""`POST /v1/chat/completions` becomes a request to a model: what the page allows, refuses and ignores; and what the
other operations read alike: credentials, bodies, messages and tools."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.dialects import Edition, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, ToolChoice
from mockserver.core.http import Call
from mockserver.dialects.contracts import Contract, by_edition, editions
from mockserver.dialects.openai.read import (
    NO_OFFER,
    Body,
    Offer,
    any_tool,
    called,
    chat_prompt,
    content_text,
    image_of,
    json_object,
    parameters_fault,
    parts,
    sampling,
    with_images,
)
from mockserver.dialects.yandex.errors import explain, fault, in_session
from mockserver.dialects.yandex.models import ModelUri, backend_of, checked_uri
from mockserver.model.schema import schema_fault

CONTRACT = editions(__package__)
_REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")
# "An image = 256 prompt tokens"
IMAGE_TOKENS = 256
_TOOL_FIELDS = {"tools", "tool_choice", "functions", "function_call"}


def credentials(call: Call) -> str | None:
    """The key of `Authorization: Api-Key <key>` or `Bearer <key or IAM token>`; None if there is none."""
    scheme, _, key = (call.headers.get("authorization") or "").partition(" ")
    return key.strip() or None if scheme.lower() in ("api-key", "bearer") else None


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


def read_chat(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Yandex refuses it: first for its form, then for its model, then for its content."""
    body = checked_body(call, scope, _REQUEST)
    if isinstance(body, Refusal):
        return body
    uri = checked_uri(body["model"], call, scope)
    if isinstance(uri, Refusal):
        return uri
    messages = body["messages"]
    wrong = messages_fault(messages)
    if wrong is not None:
        return in_session(FailureKind.INVALID_REQUEST, wrong, uri, call, scope)
    # "`logprobs` must be set to `true` if this parameter is used."
    if "top_logprobs" in body and not body.get("logprobs"):
        return fault("top_logprobs", "needs 'logprobs' to be true")
    # "Only set this when you set `stream: true`."
    if "stream_options" in body and not body.get("stream"):
        return fault("stream_options", "needs 'stream' to be true")
    refused = _history_fault(messages)
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
    # The page knows nothing of the variables of a chat template.
    variables = body.get("chat_template_kwargs") if shown and backend.template_switch else None
    if isinstance(variables, dict) and variables.get("enable_thinking") is False:
        effort = "none"
    # "deprecated in favor of `max_completion_tokens`", which takes precedence
    most = body.get("max_completion_tokens", body.get("max_tokens"))
    predicted = body["prediction"]["content"] if "prediction" in body else None
    # By the page it is one text part, but clients send a list of them.
    predicted = [predicted] if isinstance(predicted, dict) else predicted
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
        prediction=None if predicted is None else content_text(predicted),
        extra=backend,
    )
    return fitting(request, uri, call, scope)


# --- messages --------------------------------------------------------------------------------------------------------

# Whether a message of the role must have some content: a tool's result may be empty.
_ROLES = {"developer": True, "system": True, "user": True, "assistant": True, "tool": False, "function": False}


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
    elif not _is_schema(given):
        # The page demands a name and a schema; an example in the vendor's documentation has the bare schema instead.
        given = None
    reason = None if given is None else schema_fault(given)
    if reason:
        return fault(field, f"is a schema that no answer could keep to: {reason}")
    return Constraint("json_object") if given is None else Constraint("json_schema", given)


def _is_schema(given: Body) -> bool:
    """Whether an object is a schema itself, and not the object around one: it has keywords of JSON Schema."""
    from jsonschema import Draft202012Validator  # slow to import, and rarely needed

    return not {"$schema", "$defs", "definitions", *Draft202012Validator.VALIDATORS}.isdisjoint(given)


# --- tools -----------------------------------------------------------------------------------------------------------

# The vendor's own example of function calling has parameters `{"type": "int"}`, which JSON Schema does not know.
_ABBREVIATED = {
    "int": "integer",
    "float": "number",
    "str": "string",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}


def read_tools(body: Body, *, parallel: bool, fields: Sequence[str] = ()) -> Offer | Refusal:
    """The tools on offer and the choice among them, or why they are refused; `functions` count if there are no `tools`.

    `parallel`: whether one answer may call several tools; `fields`: where the tools are, if not in a chat.
    """
    rows, legacy = [_spelled_out(row) for row in body.get("tools") or ()], False
    if not rows:
        rows = [_spelled_out({"type": "function", "function": each}) for each in body.get("functions", ())]
        fields, legacy = [f"functions[{place}]" for place in range(len(rows))], bool(rows)
    elif not fields:
        fields = [f"tools[{place}].{row['type']}" for place, row in enumerate(rows)]
    for field, row in zip(fields, rows, strict=True):
        unusable = _tool_fault(field, row)
        if unusable is not None:
            return unusable
    tools = tuple(map(any_tool, rows))
    # "This field is deprecated [...] Use `tool_choice` instead", of `function_call`.
    field = "tool_choice" if "tool_choice" in body else "function_call"
    mode, named = _read_choice(field, body.get(field, "auto"))
    known = [(tool.kind, tool.name) for tool in tools]
    unknown = next((name for kind, name in named or () if (kind, name) not in known), None)
    if unknown is not None:
        return fault(field, f"names a tool that is not there: {unknown!r}")
    allowed = known if named is None else named
    if mode == "required" and not allowed:
        return fault(field, "asks for a call, but there is no tool to call")
    names = tuple([name for _, name in named or ()])
    return Offer(tools, ToolChoice(mode if allowed else "none", names, parallel, legacy))


def _tool_fault(field: str, row: Body) -> Refusal | None:
    """The refusal of a tool that no model can use: for parameters that are not the satisfiable schema of an object, or
    a grammar that is not a satisfiable regex."""
    if row["type"] == "function":
        reason = parameters_fault(row["function"])
        return fault(f"{field}.parameters", reason) if reason else None
    form = row["custom"].get("format")
    if not isinstance(form, Mapping) or form.get("type") != "grammar":
        return None
    grammar = form["grammar"]
    if grammar["syntax"] == "lark":
        return fault(f"{field}.format", "has a Lark grammar, which this simulator does not generate; use a regex")
    from mockserver.model.regex import fault_in

    reason, place = fault_in(grammar["definition"]), f"{field}.format.grammar.definition"
    return fault(place, f"is not a pattern that a text could match: {reason}") if reason else None


def _read_choice(field: str, given: Any) -> tuple[Any, list[tuple[str, str]] | None]:
    """The mode of a tool choice, and the tools that it names by kind and name, None for all."""
    if isinstance(given, str):
        return given, None
    if field == "function_call":
        return "required", [("function", given["name"])]
    if given["type"] == "allowed_tools":
        allowed = given["allowed_tools"]
        return allowed["mode"], [_named(row) for row in allowed["tools"]]
    return "required", [_named(given)]


def _named(row: Body) -> tuple[str, str]:
    kind = "function" if row.get("function") else "custom"
    return kind, row[kind]["name"]


def _spelled_out(row: Body) -> Body:
    """The tool with the type names of JSON Schema in its parameters."""
    parameters = row["function"].get("parameters") if row["type"] == "function" else None
    if not parameters:
        return row
    return {"type": "function", "function": {**row["function"], "parameters": _with_known_types(parameters)}}


def _with_known_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_known_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    known = {name: _with_known_types(value) for name, value in schema.items()}
    named = known.get("type")
    return known | {"type": _ABBREVIATED[named]} if isinstance(named, str) and named in _ABBREVIATED else known
