"""`POST /v1/chat/completions` becomes a request to a model, or is refused: for its format, its model, or for fields
that are incompatible with each other or with the model.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, Prompt, Stops, ToolChoice
from mockserver.dialects.cerebras import strict_schemas
from mockserver.dialects.cerebras.body import CHAT_REQUEST, sent_object
from mockserver.dialects.cerebras.conflicts import conflict, version_of
from mockserver.dialects.cerebras.errors import explain, refused
from mockserver.dialects.cerebras.families import ModelFamily, effort_of, family_of, shown_of
from mockserver.dialects.cerebras.images import Messages, seeing
from mockserver.dialects.cerebras.models import find_model
from mockserver.dialects.cerebras.read import fitting, least_tokens, patience
from mockserver.dialects.cerebras.write import CerebrasOptions
from mockserver.dialects.openai.fields import Body, sampling, stop_texts, whole
from mockserver.dialects.openai.messages import chat_prompt
from mockserver.dialects.openai.tools import Offer, function_tools, parameters_fault, tool_choice, unknown_tool
from mockserver.model.schema import schema_fault
from mockserver.model.tokens import token_count

_NO_STOPS = Stops()
_NO_TOOLS, _NO_COMPACT_TOOLS = ToolChoice(), ToolChoice(compact=True)


def read_chat(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Cerebras refuses it."""
    body = sent_object(call)
    if isinstance(body, Refusal):
        return body
    contract = CHAT_REQUEST[scope.edition]
    if not contract.accepts(body):
        return explain(contract.violations(body), body)
    model, family = find_model(body["model"], scope), family_of(body["model"])
    if isinstance(model, Refusal):
        return model
    version = version_of(call, scope.edition)
    if version > 1 and "disable_reasoning" in body:
        # Version 2 does not know it: the observed edition refuses it like any unknown field.
        body = {name: value for name, value in body.items() if name != "disable_reasoning"}
    form = body.get("response_format")
    refusal = conflict(body, family, scope.edition, version)
    if refusal is None and form is not None:
        refusal = format_fault(form, scope.edition, version)
    if refusal is not None:
        return refusal
    offer = _NO_OFFER[family.compact] if _TOOL_FIELDS.isdisjoint(body) else read_tools(body, scope.edition, version)
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


# --- tools -------------------------------------------------------------------------------------------------------

_TOOL_FIELDS = {"tools", "tool_choice", "parallel_tool_calls"}
# By whether the model writes arguments without whitespace.
_NO_OFFER = {False: Offer((), _NO_TOOLS), True: Offer((), _NO_COMPACT_TOOLS)}


def read_tools(body: Body, edition: Edition, version: int) -> Offer | Refusal:
    """The tools on offer and the choice among them, or why they are refused."""
    tools = function_tools(body.get("tools"))
    choice = tool_choice(body.get("tool_choice"), parallel=body.get("parallel_tool_calls") is not False)
    unknown = unknown_tool(choice, tools)
    if unknown is not None:
        return refused(f"tool_choice names a function that is not in tools: {unknown!r}", "tool_choice")
    if choice.mode == "required" and not tools:
        return refused("tool_choice requires a call, but there are no tools", "tool_choice")
    compact = family_of(body["model"]).compact
    return _tools_fault(body, edition, version) or Offer(tools, choice._replace(compact=compact))


def _tools_fault(body: Body, edition: Edition, version: int) -> Refusal | None:
    functions = [row["function"] for row in body.get("tools") or ()]
    if edition == "observed" and len({bool(function.get("strict")) for function in functions}) > 1:
        # Recorded.
        return refused(
            "Tools with mixed values for 'strict' are not allowed. "
            "Please set all tools to 'strict: true' or 'strict: false'",
            "tools",
        )
    for place, function in enumerate(functions):
        reason, parameters, strict = None, function.get("parameters"), bool(function.get("strict"))
        if parameters and edition == "observed":
            reason = strict_schemas.parameters_fault(parameters, strict=strict)
        if parameters and strict and version > 1:
            reason = reason or strict_schemas.version_fault(parameters)
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


def format_fault(form: Body, edition: Edition, version: int) -> Refusal | None:
    """The refusal of a schema that is invalid, unsatisfiable, or not supported by the service."""
    schema = _schema(form)
    if schema is None:
        return None
    if form["json_schema"].get("strict"):
        unsupported = strict_schemas.form_fault(schema) if edition == "observed" else None
        if version > 1:
            unsupported = unsupported or strict_schemas.version_fault(schema)
        if unsupported:
            return refused(unsupported, "response_format")
    reason = schema_fault(schema)
    return refused(f"No answer could keep to the JSON schema: {reason}", "response_format") if reason else None


def _schema(form: Body) -> Any:
    """The schema of a format, None if it has none."""
    return form["json_schema"].get("schema") if form["type"] == "json_schema" else None
