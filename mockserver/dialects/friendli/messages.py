"""Messages: Anthropic's form at a container and at both hosted endpoints (SDK 0.16, and Anthropic's facts, part B).

    body -> schema -> model -> request -> its context window

Fields and blocks that the engine does not know are accepted and ignored.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import GenerationRequest
from mockserver.core.http import Call
from mockserver.core.seeding import alphanumerics, hex_digits
from mockserver.dialects.friendli.checks import schema_violations, tool_conflicts
from mockserver.dialects.friendli.models import TRAITS
from mockserver.dialects.friendli.read import Place, read_reasoning, valid_body, without_unknown
from mockserver.dialects.messages import MessageFlavour, MessageOptions, Writing, message_request, write
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.replies import Members

_KNOWN = ("text", "image", "tool_use", "tool_result")


def read_message(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request to a place, or its refusal."""
    found = valid_body(place, call, scope, "MessagesRequest", _conflicts)
    if isinstance(found, Refusal):
        return found
    sent, name, model = found
    body = without_unknown(sent, scope.edition, "MessagesFields")
    messages = [{**each, "content": _known(each["content"])} for each in body["messages"]]
    read = message_request({**body, "messages": messages}, name, model.context)
    if isinstance(read, Refusal):
        return Refusal(FailureKind.CONTEXT_LENGTH, read.message)
    thinking, config = body.get("thinking") or {}, body.get("output_config") or {}
    # As in chats, a model that can reason does so unless it is told not to.
    budget = 0 if thinking.get("type") == "disabled" else thinking.get("budget_tokens")
    wanted = {"reasoning_budget": budget, "reasoning_effort": config.get("effort")}
    if thinking.get("type") in ("enabled", "adaptive"):
        wanted["chat_template_kwargs"] = {"enable_thinking": True}
    thought = read_reasoning(wanted, TRAITS[name].reasoning)
    thinks = thought.effort is not None
    return read._replace(
        output=read.output._replace(reasoning=thinks),
        effort=thought.effort,
        budget=thought.budget,
        extra=MessageOptions("thought" if thinks else None),
    )


def _conflicts(body: Body) -> Iterator[Violation]:
    """A budget that leaves no room for the answer, schemas that nothing can conform to, and the choice of a tool that
    is not offered; the last two as in responses."""
    budget, most = (body.get("thinking") or {}).get("budget_tokens"), body.get("max_tokens")
    if budget is not None and most is not None and budget >= most:
        # "If `max_tokens` is set, this must be smaller than `max_tokens`."
        path = ("thinking", "budget_tokens")
        yield Violation(path, "conflict", "thinking.budget_tokens must be smaller than max_tokens")
    choice = body.get("tool_choice") or {}
    functions = [
        (tool["name"], tool.get("input_schema"), ("tools", place, "input_schema"))
        for place, tool in enumerate(body.get("tools") or ())
    ]
    yield from tool_conflicts(functions, (choice["name"],) if choice.get("type") == "tool" else ())
    form = (body.get("output_config") or {}).get("format")
    yield from schema_violations(form["schema"], ("output_config", "format", "schema")) if form else ()


def _known(content: object) -> object:
    """A content without the blocks that are ignored, also within the results of tools."""
    if not isinstance(content, list):
        return content
    blocks = [block for block in content if block["type"] in _KNOWN]
    return [{**each, "content": _known(each.get("content"))} if "content" in each else each for each in blocks]


def fail(broken: Broken) -> bytes:
    """The event that ends a failing stream."""
    kind = "invalid_request_error" if broken.status < 500 else "api_error"
    error = {"type": "error", "error": {"type": kind, "message": broken.message}, "request_id": None}
    return b"event: error\ndata: %b\n\n" % orjson.dumps(error)


def _around(writing: Writing) -> Members:
    name = writing.generation.request.model
    return {"id": f"msg_{hex_digits(writing.scope.identity, 32, 'id')}", **({"model": name} if name else {})}


def _usage(writing: Writing, when: str) -> Members:
    """A stream begins with zeros, and states the true figures at its end."""
    usage = writing.generation.usage
    read = {"cache_read_input_tokens": 0 if when == "start" else usage.cached_tokens}
    if when == "start":
        return {"input_tokens": 0, "output_tokens": 0, **read}
    return {"input_tokens": usage.prompt_tokens - usage.cached_tokens, "output_tokens": usage.completion_tokens, **read}


# Two reasons that Anthropic's models have are not known here.
_REASONS: Mapping[str, str] = {"model_context_window_exceeded": "max_tokens", "refusal": "end_turn"}
write_message = partial(
    write,
    MessageFlavour(
        message=("id", "type", "role", "content", "stop_reason", "stop_sequence", "usage", "model"),
        ending=("stop_reason", "stop_sequence"),
        around=_around,
        usage=_usage,
        call_id=lambda writing, place: f"toolu_{alphanumerics(writing.scope.identity, 24, 'call', place)}",
        reasons=_REASONS,
    ),
)
