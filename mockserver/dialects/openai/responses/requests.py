"""`POST /v1/responses`: requests (facts C4), what is refused of those that keep to the contract, and the count of their
tokens."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import Effort, GenerationRequest, Limits, Output, Prompt
from mockserver.core.http import Call, Reply
from mockserver.dialects.contracts import Contract, components
from mockserver.dialects.openai.checks import SERVICES, Checks, conflict, effort_asked, reasons, too_long
from mockserver.dialects.openai.models import EFFORTS, SNAPSHOTS, UNKNOWN, Family, family_of
from mockserver.dialects.openai.read import (
    Body,
    any_tool,
    chat_prompt,
    is_azure,
    sampling,
    tool_choice,
    whole,
    with_images,
    with_media,
)
from mockserver.dialects.openai.refusals import (
    LONGEST_ECHO,
    file_refusal,
    image_refusal,
    mentions_json,
    no_stored,
    refused,
    supported_efforts,
    unknown_model,
    unsupported,
    valid_body,
)
from mockserver.dialects.openai.replies import body_reply, plain
from mockserver.dialects.openai.responses.flavour import ResponseOptions
from mockserver.dialects.openai.responses.items import (
    FILE_TOKENS,
    chat_choice,
    chat_tools,
    constraint_of,
    conversation_of,
    echoed_tool,
    files_of,
    format_of,
    messages_of,
    offered_tools,
)
from mockserver.dialects.openai.responses.store import Conversation, ResponseStore, Stored
from mockserver.dialects.openai.strict_schemas import schema_refusal, strict_tool

_REQUEST = Contract(components("mockserver.dialects.openai", "openai"), "ResponseRequest")
Items = Sequence[Mapping[str, Any]]

_LOGPROBS = "message.output_text.logprobs"
# The form of the id of a response to be continued.
_ID = re.compile(r"[A-Za-z0-9_-]*\Z")
# The model of a prompt template that the vendor keeps, if the request names none.
_OF_TEMPLATES = "gpt-4.1"
# The effort of a model that nobody knows, if its reasoning is to be summarised.
_USUAL: Effort = "medium"
# The tools that need more than a minimal effort (reported), and what the refusal calls them.
_TOO_DEEP = {"web_search": "web_search", "web_search_preview": "web_search", "image_generation": "image_gen"}
# What a model is asked to do with a conversation that is to be compacted.
_SUMMARIZE = {"role": "user", "content": "Summarize the conversation so far for whoever continues it."}


def read_response(call: Call, scope: RequestScope, *, compacts: bool = False) -> GenerationRequest | Refusal:
    """The request, or why OpenAI refuses it: its form, its model, what it continues, its fields, its length."""
    body = valid_body(call, _REQUEST, responses=True)
    if isinstance(body, Refusal):
        return body
    if body.get("tools"):
        body = {**body, "tools": [*map(strict_tool, body["tools"])]}
    name = body.get("model", _OF_TEMPLATES)
    model = scope.model(name)
    if model is None:
        return unknown_model(name, "responses")
    family, store = family_of(model.id), scope.history if isinstance(scope.history, ResponseStore) else None
    earlier = _earlier(body, store, call.received_at)
    if isinstance(earlier, Refusal):
        return earlier
    given = _input(body, store)
    if isinstance(given, Refusal):
        return given
    items = [*(earlier or ()), *given]
    refusal = (
        conflict("responses", _CHECKS, body, family, model.id) or _items(given, earlier, body) or _form(body, given)
    )
    if refusal is None and store is not None:
        refusal = _unreasoned(items, store.reasoning_of(items))
    if refusal is not None:
        return refusal
    prompt, context = _prompt(body, [*items, _SUMMARIZE] if compacts else items), model.context
    if body.get("truncation") == "auto":
        # Of what is too long so much is dropped that the longest answer fits.
        room = max(context - family.max_output, context // 2)
        prompt = prompt._replace(token_count=min(prompt.token_count, room))
    refusal = too_long(prompt.token_count, model, family, "responses")
    if refusal is not None:
        return refusal
    conversation = None if store is None else store.get(Conversation, conversation_of(body) or "")
    turn = 0 if conversation is None else conversation.turn
    request = _request(body, name, prompt, context, family)
    if compacts:
        said = [item for item in items if item.get("role") == "user"]
        kept = GenerationRequest(name, request.prompts, limits=Limits(context=context), effort=request.effort)
        return kept._replace(output=Output(include_usage=True), extra=ResponseOptions(body, said, turn))
    tools = [echoed_tool(each) for each in body.get("tools") or ()]
    return request._replace(extra=ResponseOptions(body, tools, turn, azure=is_azure(call)))


def read_compaction(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """A request to compact what a request for a response would continue: the model writes a summary of it, beside which
    the user's messages are kept."""
    return read_response(call, scope, compacts=True)


def count_tokens(call: Call, scope: RequestScope) -> Reply | Refusal:
    """How many tokens the input of a request has."""
    request = read_response(call, scope)
    if isinstance(request, Refusal):
        return request
    return body_reply(plain({"object": "response.input_tokens", "input_tokens": request.prompt_tokens}))


def _earlier(body: Body, store: ResponseStore | None, now: float) -> Items | Refusal | None:
    """The items of the stored responses, or of the conversation, that a request continues; None if there is no store,
    as when a recording is compared."""
    name, id_ = conversation_of(body), body.get("previous_response_id")
    if store is None:
        return () if name is None and id_ is None else None
    if name is not None and id_ is None:
        conversation = store.get(Conversation, name)
        return no_stored("Conversation", name) if conversation is None else store.with_items(conversation.items(now))
    if name is not None or id_ is None or not _ID.match(id_):
        return ()
    found = store.get(Stored, id_)
    if found is None:
        words = f"Previous response with id '{id_}' not found."
        return refused(words, "previous_response_id", "previous_response_not_found")
    return store.with_items(found.items)


def _input(body: Body, store: ResponseStore | None) -> Items | Refusal:
    """The items of the input, with the stored ones that it refers to."""
    given: str | Items = body.get("input", ())
    if isinstance(given, str):
        return ({"role": "user", "content": given},)
    if store is None:
        return given
    items = store.with_items(given)
    missing = next((item["id"] for item in items if item.get("type") == "item_reference"), None)
    if missing is None:
        return items
    words = (
        f"Item with id '{missing}' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input."
    )
    return refused(words, "input", status=404)


def _prompt(body: Body, items: Items) -> Prompt:
    messages, template = messages_of(list(items), body.get("instructions")), body.get("prompt")
    if template is not None:
        # Nobody but the vendor knows what it says.
        variables = "".join(f"\n{name}: {value}" for name, value in (template.get("variables") or {}).items())
        messages.insert(0, {"role": "developer", "content": template["id"] + variables})
    prompt = with_images(chat_prompt(messages, offered_tools(body)), messages)
    return with_media(prompt, [("file", name, FILE_TOKENS) for name in files_of(messages)])


def _request(body: Body, name: str, prompt: Prompt, context: int, family: Family) -> GenerationRequest:
    asked, reasoning = effort_asked(body, family), body.get("reasoning") or {}
    summary = bool(reasoning.get("summary") or reasoning.get("generate_summary"))
    effort = None if asked is None else EFFORTS[asked]
    if effort is None and summary and family is UNKNOWN:
        effort = _USUAL
    scored, parallel = _LOGPROBS in (body.get("include") or ()), body.get("parallel_tool_calls") is not False
    return GenerationRequest(
        model=name,
        prompts=(prompt,),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=True,
            logprobs=whole(body.get("top_logprobs")) or 0 if scored else None,
            reasoning=summary and effort not in (None, "none"),
        ),
        limits=Limits(whole(body.get("max_output_tokens")), context=context),
        sampling=sampling(body),
        constraint=constraint_of(body),
        tools=tuple(map(any_tool, chat_tools(body))),
        tool_choice=tool_choice(chat_choice(body), parallel=parallel),
        effort=effort,
    )


# --- what is refused though it keeps to the contract -------------------------------------------------------------


def _continuation(body: Body, family: Family, model: str) -> Refusal | None:
    earlier = body.get("previous_response_id")
    if earlier is not None and body.get("conversation") is not None:
        words = (
            "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'pre..._id' or 'conversation'."
        )
        return refused(words, code="mutually_exclusive_parameters")
    if earlier is not None and not _ID.match(earlier):
        words = "Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained"
        name = "previous_response_id"
        words = f"Invalid '{name}': '{earlier[:LONGEST_ECHO]}'. {words} additional characters."
        return refused(words, name, "invalid_value")
    if body.get("background") and body.get("store") is False:
        return refused("Background responses need 'store' to be true.", "background")
    return None


def _reasoning(body: Body, family: Family, model: str) -> Refusal | None:
    if family is UNKNOWN:
        return None
    reasoning, included = body.get("reasoning") or {}, body.get("include") or ()
    asked = reasoning.get("effort")
    if not family.efforts:
        verbosity = (body.get("text") or {}).get("verbosity")
        if asked is not None:
            return unsupported("reasoning.effort")
        if verbosity in ("low", "high"):
            return _wrong_for(model, verbosity, "'medium'", "text.verbosity")
        if "reasoning.encrypted_content" in included:
            return refused("Encrypted content is not supported with this model.", "include")
        if reasoning.get("summary") is not None:
            named, words = "reasoning.summary", f"is not supported with the '{SNAPSHOTS.get(model, model)}' model."
            return refused(f"Unsupported parameter: '{named}' {words}", named, "unsupported_parameter")
        return None
    if asked is not None and asked not in family.efforts:
        return _wrong_for(model, asked, supported_efforts(family), "reasoning.effort")
    if not reasons(body, family):
        return None
    if _LOGPROBS in included:
        return refused("logprobs are not supported with reasoning models.", "include", "unsupported_parameter")
    usual = {"temperature": 1, "top_p": family.top_p, "top_logprobs": 0}
    sent = (name for name, value in usual.items() if body.get(name) is not None and body[name] not in (value, 1))
    name = next(sent, None)
    return None if name is None else unsupported(name, code=None)


def _wrong_for(model: str, value: str, supported: str, param: str) -> Refusal:
    words = (
        f"Unsupported value: '{value}' is not supported with the '{model}' model. Supported values are: {supported}."
    )
    return refused(words, param, "unsupported_value")


def _tools(body: Body, family: Family, model: str) -> Refusal | None:
    tools, choice = offered_tools(body), body.get("tool_choice")
    for place, tool in enumerate(tools):
        found = schema_refusal(tool, f"tools[{place}].parameters") if tool["type"] == "function" else None
        if found is not None:
            return found
    if (body.get("reasoning") or {}).get("effort") == "minimal":
        barred = ", ".join(sorted({_TOO_DEEP[tool["type"]] for tool in tools if tool["type"] in _TOO_DEEP}))
        if barred:
            return refused(f"The following tools cannot be used with reasoning.effort 'minimal': {barred}.", "tools")
    kind = choice["type"] if isinstance(choice, dict) else choice
    if kind in (None, "none", "auto"):
        return None
    if not tools:
        return refused(f"Tool choice '{kind}' must be specified with 'tools' parameter.", "tool_choice")
    offered = {(tool["type"], tool.get("name")) for tool in tools}
    if isinstance(choice, dict) and kind in ("function", "custom") and (kind, choice["name"]) not in offered:
        return refused(f"Tool choice '{choice['name'][:LONGEST_ECHO]}' not found in 'tools' parameter.", "tool_choice")
    return None


_CHECKS: Checks = (
    ({"previous_response_id", "background"}, _continuation),
    ({"reasoning", "text", "include", "temperature", "top_p", "top_logprobs"}, _reasoning),
    SERVICES,
    ({"tools", "tool_choice"}, _tools),
)

# The kinds of calls that are answered by the client, and what their answers and they themselves are called.
_CALLS = {"function_call": "function call", "custom_tool_call": "custom tool call"}
_OUTPUTS = {f"{kind}_output": kind for kind in _CALLS}
# How the ids of items begin, of those types of which it is reported.
_STARTS = {
    "message": "msg", "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs", "web_search_call": "ws",
}  # fmt: skip


def _items(given: Items, earlier: Items | None, body: Body) -> Refusal | None:
    """The refusal of an id that cannot be an item's, of a call without an output, of an output without a call, or of
    reasoning that leads to nothing."""
    misnamed = _misnamed(given)
    if misnamed is not None:
        return misnamed
    # References to stored items may be calls.
    refers = earlier is None or any(item.get("type") == "item_reference" for item in given)
    called: dict[str, str] = {}
    answered: set[str] = set()
    for item in chain(earlier or (), given):
        kind, id_ = str(item.get("type")), item.get("call_id")
        if kind.endswith("_call"):
            called[str(id_)] = kind
        elif kind in _OUTPUTS:
            if str(id_) not in called and not refers:
                words = f"No tool call found for {_CALLS[_OUTPUTS[kind]]} output with call_id {id_}."
                return refused(words, "input")
            answered.add(str(id_))
    for id_, kind in called.items():
        if kind in _CALLS and id_ not in answered:
            return refused(f"No tool output found for {_CALLS[kind]} {id_}.", "input")
    for place, item in enumerate(given):
        follower = given[place + 1] if place + 1 < len(given) else {}
        # Reasoning that is not stored has no id, or may be followed by what has none (both recorded).
        if item.get("type") == "reasoning" and item.get("id") and not _follows(follower, stored=body.get("store")):
            words = f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
            return refused(words, "input")
        found = next(filter(None, _media(item, f"input[{place}]")), None)
        if found is not None:
            return found
    return None


def _misnamed(given: Items) -> Refusal | None:
    """The refusal of an id that items of another type have, or that two items have."""
    seen = set[str]()
    for place, item in enumerate(given):
        id_, start = item.get("id"), _STARTS.get(str(item.get("type", "message")), "")
        if not isinstance(id_, str):
            continue
        if not id_.startswith(start):
            where = f"input[{place}].id"
            words = f"Invalid '{where}': '{id_}'. Expected an ID that begins with '{start}'."
            return refused(words, where, "invalid_value")
        if id_ in seen:
            words = f"Duplicate item found with id {id_}. Remove duplicate items from your input and try again."
            return refused(words, "input")
        seen.add(id_)
    return None


def _media(item: Mapping[str, Any], where: str) -> Iterator[Refusal | None]:
    """The refusals of the images and files of an item, which is at a path."""
    held = "output" if "output" in item else "content"
    listed = item.get(held)
    for number, part in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(part, dict):
            continue
        if part.get("type") == "input_image" and isinstance(part.get("image_url"), str):
            yield image_refusal(part["image_url"], f"{where}.{held}[{number}].image_url")
        elif part.get("type") == "input_file":
            yield file_refusal(part, f"{where}.{held}[{number}]")


def _follows(item: Mapping[str, Any], *, stored: bool | None) -> bool:
    """Whether an item is one that a model makes after it has reasoned: of what is stored, a message has an id."""
    kind = str(item.get("type", "message"))
    if kind == "message":
        return item.get("role") == "assistant" and (stored is False or bool(item.get("id")))
    return kind.endswith("_call") or kind in ("reasoning", "item_reference", "compaction")


def _form(body: Body, given: Items) -> Refusal | None:
    form = format_of(body)
    if form["type"] == "json_schema":
        return schema_refusal(form, "text.format.schema")
    known = body.get("previous_response_id") is None and body.get("conversation") is None and not body.get("prompt")
    if form["type"] == "text" or not known or mentions_json(given):
        return None
    words = "Response input messages must contain the word 'json' in some form to use 'text.format' of type"
    return refused(f"{words} 'json_object'.", "input")


def _unreasoned(items: Items, reasoning_of: Mapping[str, str]) -> Refusal | None:
    """The refusal of an item without the reasoning that led to it; `reasoning_of` are the ids of the stored reasoning
    items, by those of what followed them."""
    given = {str(item.get("id")) for item in items}
    for item in items:
        needed = reasoning_of.get(str(item.get("id")))
        if needed is not None and needed not in given:
            words = f"Item '{item['id']}' of type '{item.get('type', 'message')}' was provided without its required"
            return refused(f"{words} 'reasoning' item: '{needed}'.", "input")
    return None
