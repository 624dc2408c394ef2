"""What no schema says: chats whose fields exclude each other, or whose calls of tools do not match their results."""

from collections.abc import Callable, Mapping

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition
from mockserver.core.failures import Refusal
from mockserver.dialects.cerebras.errors import exclusive, refused
from mockserver.dialects.cerebras.families import ModelFamily, model_refusal
from mockserver.dialects.cerebras.images import Messages, image_urls, images_fault
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.openai.tools import unanswered

Check = Callable[[Body], Refusal | None]


def version_of(call: Call, edition: Edition) -> int:
    """The version of the API that a request is for: 2, or 1 if its header `X-Cerebras-Version-Patch` asks for that.

    By the vendor's page on versions, 2 is the default since 21 July 2026, when older versions ended: the observed
    edition knows no other. A value that names no version counts as none (a guess).
    """
    return 1 if edition == "documented" and call.headers.get("x-cerebras-version-patch") == "1" else 2


def conflict(body: Body, family: ModelFamily, edition: Edition, version: int) -> Refusal | None:
    """The refusal of valid fields that are incompatible with each other, or with this model."""
    for name, check in _CHECKS[edition].items():
        if body.get(name) is not None:
            refusal = check(body)
            if refusal is not None:
                return refusal
    if version > 1 and body.get("tool_choice") is not None and not body.get("tools"):
        # Recorded in August 2026.
        return refused("'tool_choice' is only allowed when 'tools' are specified", "tool_choice")
    messages: Messages = body["messages"]
    refusal = history_fault(messages, version) or model_refusal(body, family, edition)
    if refusal is not None or edition == "documented":
        return refusal
    urls = image_urls(messages)
    return images_fault(urls) if urls else None


# --- fields that exclude each other ----------------------------------------------------------------------------------


def _rivals_without_logprobs(body: Body) -> Refusal | None:
    # "logprobs must be set to true if this parameter is used."
    fault = "logprobs must be set to true if top_logprobs is used"
    return None if body.get("logprobs") else refused(fault, "top_logprobs")


def _raw_json(body: Body) -> Refusal | None:
    # "The raw format is not compatible with json_object or json_schema response formats."
    form = body.get("response_format")
    both = body["reasoning_format"] == "raw" and form is not None and form["type"] != "text"
    return exclusive("reasoning_format", "response_format") if both else None


def _tools_and_form(body: Body) -> Refusal | None:
    # Recorded: '"tools" is incompatible with "response_format"'; reported of any form, that of plain text too.
    both = body["tools"] and body.get("response_format") is not None
    return exclusive("tools", "response_format") if both else None


def _two_limits(body: Body) -> Refusal | None:
    both = body.get("max_completion_tokens") is not None
    return exclusive("max_tokens", "max_completion_tokens") if both else None


def _several_choices(body: Body) -> Refusal | None:
    # Recorded in 2025, and never recorded otherwise.
    return refused('"n" > 1 is not currently supported', "n") if body["n"] > 1 else None


# By the field without which there is no conflict; the first one is reported.
_DOCUMENTED: Mapping[str, Check] = {"top_logprobs": _rivals_without_logprobs, "reasoning_format": _raw_json}
_CHECKS: Mapping[Edition, Mapping[str, Check]] = {
    "documented": _DOCUMENTED,
    "observed": {**_DOCUMENTED, "tools": _tools_and_form, "max_tokens": _two_limits, "n": _several_choices},
}


# --- calls of tools and their results --------------------------------------------------------------------------------


def history_fault(messages: Messages, version: int) -> Refusal | None:
    """The refusal of calls without results, or of results without calls; None if they match.

    By the vendor's page, version 2 wants each call answered before the conversation goes on, in any order, and each id
    to be that of one call only. Its words for that are not known: these are OpenAI's, which it uses where they are. Of
    version 1 it is only recorded that a result must follow a message with calls, or another result.
    """
    ids: set[str] = set()
    open_calls: dict[str, None] | None = None
    for message in messages:
        if message["role"] == "tool":
            id_ = message["tool_call_id"]
            if open_calls is None or (version > 1 and id_ not in ids):
                # Recorded.
                words = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                return refused(words, "messages")
            if version > 1 and id_ not in open_calls:
                return refused(f"Duplicate value for 'tool_call_id': {id_!r}", "messages")
            open_calls.pop(id_, None)
            continue
        if open_calls and version > 1:
            return refused(unanswered(open_calls), "messages")
        made = message.get("tool_calls") if message["role"] == "assistant" else None
        open_calls = dict.fromkeys(call["id"] for call in made) if made else None
        for call in made or ():
            if version > 1 and call["id"] in ids:
                return refused(f"Duplicate value for 'id' in 'tool_calls': {call['id']!r}", "messages")
            ids.add(call["id"])
    return refused(unanswered(open_calls), "messages") if open_calls and version > 1 else None
