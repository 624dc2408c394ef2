"""`POST /v1/messages` and `/v1/messages/count_tokens`: requests (facts A2, A3)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import (
    Cacheable,
    Constraint,
    GenerationRequest,
    Limits,
    Output,
    Sampling,
    Stops,
    Tool,
    ToolChoice,
)
from mockserver.core.timeline import Reply
from mockserver.dialects.anthropic.checks import conflict, explain
from mockserver.dialects.anthropic.errors import betas, headers_fault, invalid
from mockserver.dialects.anthropic.models import Family, family_of
from mockserver.dialects.anthropic.prompts import cache_marks, read_conversation
from mockserver.dialects.contracts import Contract, components
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.fields import Body, json_object, number_or, whole
from mockserver.dialects.openai.responses.spoken import Thoughts

REQUEST, COUNTED = (
    Contract(components(__package__, "anthropic"), f"{name}Request") for name in ("Message", "CountTokens")
)
# Fields of betas, which a request has to ask for.
_BETAS = (
    "output_format", "mcp_servers", "context_management", "compaction", "thread", "fallbacks", "fallback_credit_token",
    "billing_policy",
)  # fmt: skip
# The vendor's words for efforts as models here know them, and those of FriendliAI: none reasons longer than `xhigh`.
_EFFORTS: Mapping[str, Any] = {
    **{effort: effort for effort in ("minimal", "low", "medium", "high", "xhigh")},
    **dict.fromkeys(("max", "ultracode"), "xhigh"),
}  # fmt: skip
_SAMPLING = ("temperature", "top_p", "top_k")
_LIFETIMES = {"5m": 300, "1h": 3_600}
_MODES: Mapping[str, Any] = {"auto": "auto", "any": "required", "tool": "required", "none": "none"}
# Whoever sends this gets thoughts that are encrypted (the vendor's page on extended thinking).
_REDACT = (
    "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_46C9A13E193C177646C7398A98432ECCCE4C1253D5E2D82641AC0E52CC2876CB"
)


class MessageOptions(NamedTuple):
    """What only the writer needs of a request: how its thoughts are shown (None: it has none), whether they are
    encrypted, and whether the last mark of the prompt's caching is for an hour."""

    thoughts: Thoughts | None = None
    redacted: bool = False
    hour: bool = False


def read_message(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Anthropic refuses it."""
    return _read(call, scope, REQUEST)


def count_tokens(call: Call, scope: RequestScope) -> Reply | Refusal:
    """How many tokens the prompt of a request has."""
    request = _read(call, scope, COUNTED)
    return request if isinstance(request, Refusal) else body_reply({"input_tokens": request.prompt_tokens})


def _read(call: Call, scope: RequestScope, contract: Contract) -> GenerationRequest | Refusal:
    """The order of the checks: headers, the form of the body, its fields, the model, what they exclude, the length."""
    fault = headers_fault(call)
    if fault is not None:
        return fault
    body, version = json_object(call.body), call.headers["anthropic-version"]
    if isinstance(body, Refusal):
        return body
    if not contract.accepts(body):
        return explain(body, contract.violations(body))
    unknown = (*(_SAMPLING if version > "2026" else ()), *(() if betas(call) else _BETAS))
    extra = next((name for name in unknown if name in body), None)
    if extra is not None:
        return invalid(f"{extra}: Extra inputs are not permitted")
    model = scope.model(body["model"])
    if model is None:
        return Refusal(FailureKind.UNKNOWN_MODEL, model=body["model"])
    family = family_of(model.id)
    refusal = conflict(body, family, model.id, version)
    return refusal or message_request(body, body["model"], family, min(model.context, family.context))


def message_request(body: Body, model: str, family: Family, context: int) -> GenerationRequest | Refusal:
    """A valid body as a request to a model of a family with a context of so many tokens."""
    prompt, marked = read_conversation(body, family.pixels)
    if prompt.token_count > context:
        return invalid(f"prompt is too long: {prompt.token_count} tokens > {context} maximum")
    config, most = body.get("output_config") or {}, whole(body.get("max_tokens"))
    thinking, form = body.get("thinking") or {}, config.get("format") or body.get("output_format")
    kind, display = thinking.get("type"), thinking.get("display")
    thinks = kind in ("enabled", "adaptive")
    shown = thinks and (family.shown if display is None else display != "omitted")
    budget = whole(thinking.get("budget_tokens"))
    lifetimes = [ttl for _, ttl in cache_marks(body)] or ["5m"]
    return GenerationRequest(
        model=model,
        prompts=(prompt,),
        output=Output(stream=bool(body.get("stream")), reasoning=shown),
        limits=Limits(most, context=context),
        stops=Stops(tuple(body.get("stop_sequences") or ())),
        sampling=Sampling(
            temperature=number_or(body.get("temperature"), 1.0),
            top_p=number_or(body.get("top_p"), 1.0),
            top_k=int(body.get("top_k") or 0),
        ),
        constraint=None if form is None else Constraint("json_schema", form["schema"]),
        tools=tuple(map(_tool, filter(_is_custom, body.get("tools") or ()))),
        tool_choice=_choice(body.get("tool_choice") or {}),
        effort=_EFFORTS[config.get("effort") or "medium"] if thinks else None,
        # An adaptive model thinks no longer than leaves room for its answer.
        budget=budget if budget is not None or most is None else most // 2,
        cacheable=None if marked is None else Cacheable(marked, family.cached, _LIFETIMES[lifetimes[-1]]),
        extra=MessageOptions(
            ("thought" if shown else "hidden") if thinks else None, _REDACT in prompt.text, lifetimes[-1] == "1h"
        ),
    )


def _is_custom(tool: Body) -> bool:
    return tool.get("type") in (None, "", "custom")


def _tool(tool: Body) -> Tool:
    return Tool(tool["name"], tool.get("description") or "", tool.get("input_schema") or {})


def _choice(choice: Body) -> ToolChoice:
    names = (choice["name"],) if choice.get("type") == "tool" else ()
    return ToolChoice(_MODES[choice.get("type", "auto")], names, not choice.get("disable_parallel_tool_use"))
