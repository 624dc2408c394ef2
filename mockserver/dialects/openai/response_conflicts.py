"""Requests for responses that OpenAI refuses though they keep to the contract."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from mockserver.core.failures import Refusal
from mockserver.dialects.openai.conflicts import Check, caching, first_refusal, reasons, services
from mockserver.dialects.openai.models import UNKNOWN, Family
from mockserver.dialects.openai.read import Body, parts
from mockserver.dialects.openai.refusals import (
    LONGEST_ECHO,
    image_refusal,
    mentions_json,
    misplaced,
    refused,
    supported_efforts,
    unsupported,
)
from mockserver.dialects.openai.responses.items import format_of
from mockserver.dialects.openai.strict_schemas import schema_refusal

Items = Sequence[Mapping[str, Any]]


def response_conflict(body: Body, family: Family, model: str, earlier: Items = ()) -> Refusal | None:
    """Why a request for a response that keeps to the contract is refused all the same.

    `earlier` are the items of the stored conversation that its input continues.
    """
    return (
        misplaced(family, "responses", model)
        or first_refusal(_RESPONSE_CHECKS, body, family, model)
        or _items(body, earlier)
        or _response_form(body)
    )


# The form of the id of a response to be continued.
ID = re.compile(r"[A-Za-z0-9_-]*\Z")


def _continuation(body: Body, family: Family, model: str) -> Refusal | None:
    earlier = body.get("previous_response_id")
    if earlier is not None and body.get("conversation") is not None:
        words = (
            "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'pre..._id' or 'conversation'."
        )
        return refused(words, code="mutually_exclusive_parameters")
    if earlier is not None and not ID.match(earlier):
        words = "Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained"
        name = "previous_response_id"
        words = f"Invalid '{name}': '{earlier[:LONGEST_ECHO]}'. {words} additional characters."
        return refused(words, name, "invalid_value")
    if body.get("background") and body.get("store") is False:
        return refused("Background responses need 'store' to be true.", "background")
    return None


def _response_reasoning(body: Body, family: Family, model: str) -> Refusal | None:
    asked = (body.get("reasoning") or {}).get("effort")
    if asked is not None and family is not UNKNOWN and asked not in family.efforts:
        if not family.efforts:
            return unsupported("reasoning.effort")
        return _wrong_for(model, asked, supported_efforts(family), "reasoning.effort")
    verbosity = (body.get("text") or {}).get("verbosity")
    if verbosity in ("low", "high") and not family.efforts and family is not UNKNOWN:
        return _wrong_for(model, verbosity, "'medium'", "text.verbosity")
    if not reasons(body, family):
        return None
    usual = {"temperature": 1, "top_p": family.top_p, "top_logprobs": 0}
    sent = (name for name, value in usual.items() if body.get(name) is not None and body[name] not in (value, 1))
    name = next(sent, None)
    return None if name is None else unsupported(name, code=None)


def _wrong_for(model: str, value: str, supported: str, param: str) -> Refusal:
    words = (
        f"Unsupported value: '{value}' is not supported with the '{model}' model. Supported values are: {supported}."
    )
    return refused(words, param, "unsupported_value")


def _response_tools(body: Body, family: Family, model: str) -> Refusal | None:
    tools, choice = body.get("tools") or (), body.get("tool_choice")
    for place, tool in enumerate(tools):
        found = schema_refusal(tool, f"tools[{place}].parameters") if tool["type"] == "function" else None
        if found is not None:
            return found
    kind = choice["type"] if isinstance(choice, dict) else choice
    if kind in (None, "none", "auto"):
        return None
    if not tools:
        return refused(f"Tool choice '{kind}' must be specified with 'tools' parameter.", "tool_choice")
    offered = {(tool["type"], tool.get("name")) for tool in tools}
    if isinstance(choice, dict) and kind in ("function", "custom") and (kind, choice["name"]) not in offered:
        return refused(f"Tool choice '{choice['name'][:LONGEST_ECHO]}' not found in 'tools' parameter.", "tool_choice")
    return None


def _response_tier(body: Body, family: Family, model: str) -> Refusal | None:
    return services({"service_tier": body.get("service_tier")}, family, model)


_RESPONSE_CHECKS: tuple[Check, ...] = (
    _continuation, _response_reasoning, _response_tier, caching, _response_tools,
)  # fmt: skip

# The kinds of calls that are answered by the client, and what their answers and they themselves are called.
_CALLS = {"function_call": "function call", "custom_tool_call": "custom tool call"}
_OUTPUTS = {f"{kind}_output": kind for kind in _CALLS}


def _items(body: Body, earlier: Items) -> Refusal | None:
    """The refusal of a call without an output, of an output without a call, or of reasoning that leads to nothing."""
    given: Items = body["input"] if isinstance(body.get("input"), list) else ()
    called: dict[str, str] = {}
    answered: set[str] = set()
    for item in chain(earlier, given):
        kind, id_ = item.get("type"), item.get("call_id")
        if kind in _CALLS:
            called[str(id_)] = str(kind)
        elif kind in _OUTPUTS:
            if str(id_) not in called and not _refers(given):
                words = f"No tool call found for {_CALLS[_OUTPUTS[kind]]} output with call_id {id_}."
                return refused(words, "input")
            answered.add(str(id_))
    for id_, kind in called.items():
        if id_ not in answered:
            return refused(f"No tool output found for {_CALLS[kind]} {id_}.", "input")
    for place, item in enumerate(given):
        follower = given[place + 1] if place + 1 < len(given) else {}
        if item.get("type") == "reasoning" and not _follows(follower):
            words = f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
            return refused(words, "input")
        found = next(filter(None, map(image_refusal, _images(item))), None)
        if found is not None:
            return found
    return None


def _refers(items: Items) -> bool:
    """Whether there are references to stored items, which may be calls."""
    return any(item.get("type") == "item_reference" for item in items)


def _follows(item: Mapping[str, Any]) -> bool:
    """Whether an item is one that a model makes after it has reasoned."""
    kind = str(item.get("type", "message"))
    if kind == "message":
        return item.get("role") == "assistant"
    return kind.endswith("_call") or kind in ("reasoning", "item_reference", "compaction")


def _images(item: Mapping[str, Any]) -> Iterator[str]:
    for part in parts(item):
        if part.get("type") == "input_image" and part.get("image_url"):
            yield part["image_url"]


def _response_form(body: Body) -> Refusal | None:
    form = format_of(body)
    if form["type"] == "json_schema":
        return schema_refusal(form, "text.format.schema")
    known = body.get("previous_response_id") is None and body.get("conversation") is None and not body.get("prompt")
    given = body.get("input", ())
    items = ({"content": given},) if isinstance(given, str) else given
    if form["type"] == "text" or not known or mentions_json(items):
        return None
    words = "Response input messages must contain the word 'json' in some form to use 'text.format' of type"
    return refused(f"{words} 'json_object'.", "input")


def unreasoned(items: Items, reasoning_of: Mapping[str, str]) -> Refusal | None:
    """The refusal of an item without the reasoning that led to it; `reasoning_of` are the ids of the stored reasoning
    items, by those of what followed them."""
    given = {str(item.get("id")) for item in items}
    for item in items:
        needed = reasoning_of.get(str(item.get("id")))
        if needed is not None and needed not in given:
            words = f"Item '{item['id']}' of type '{item.get('type', 'message')}' was provided without its required"
            return refused(f"{words} 'reasoning' item: '{needed}'.", "input")
    return None
