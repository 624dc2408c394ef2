"""`POST /v1/responses`: requests (facts C4), and the count of their tokens."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import Effort, GenerationRequest, Limits, Output, Prompt
from mockserver.core.timeline import Reply
from mockserver.dialects.contracts import Contract, components
from mockserver.dialects.openai.models import EFFORTS, UNKNOWN, Family, effort_asked, family_of
from mockserver.dialects.openai.read import (
    Body,
    any_tool,
    chat_prompt,
    json_object,
    sampling,
    tool_choice,
    whole,
    with_images,
    with_media,
)
from mockserver.dialects.openai.refusals import (
    explain,
    no_item,
    no_previous_response,
    no_stored,
    too_long,
    unknown_model,
)
from mockserver.dialects.openai.replies import body_reply
from mockserver.dialects.openai.response_conflicts import ID, response_conflict, unreasoned
from mockserver.dialects.openai.responses.answers import echoed_tool, plain
from mockserver.dialects.openai.responses.flavour import ResponseOptions
from mockserver.dialects.openai.responses.items import (
    FILE_TOKENS,
    chat_choice,
    chat_tools,
    constraint_of,
    conversation_of,
    files_of,
    messages_of,
)
from mockserver.dialects.openai.responses.store import Conversation, ResponseStore, Stored

REQUEST = Contract(components("mockserver.dialects.openai", "openai"), "ResponseRequest")
LOGPROBS = "message.output_text.logprobs"
# The model of a prompt template that the vendor keeps, if the request names none.
_OF_TEMPLATES = "gpt-4.1"
# The effort of a model that nobody knows, if its reasoning is to be summarised.
_USUAL: Effort = "medium"


# What a model is asked to do with a conversation that is to be compacted.
_SUMMARIZE = {"role": "user", "content": "Summarize the conversation so far for whoever continues it."}


def read_response(call: Call, scope: RequestScope, *, compacts: bool = False) -> GenerationRequest | Refusal:
    """The request, or why OpenAI refuses it: its form, its model, what it continues, its fields, its length."""
    body = json_object(call.body)
    if isinstance(body, Refusal):
        return body
    if not REQUEST.accepts(body):
        return explain(REQUEST.violations(body), responses=True)
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
    items = [*earlier, *given]
    refusal = response_conflict({**body, "input": given}, family, model.id, earlier)
    if refusal is None and store is not None:
        refusal = unreasoned(items, store.reasoning_of(items))
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
    return request._replace(extra=ResponseOptions(body, [echoed_tool(each) for each in body.get("tools") or ()], turn))


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


Items = Sequence[Mapping[str, Any]]


def _earlier(body: Body, store: ResponseStore | None, now: float) -> Items | Refusal:
    """The items of the stored responses, or of the conversation, that a request continues."""
    name, id_ = conversation_of(body), body.get("previous_response_id")
    if name is not None and id_ is None:
        conversation = None if store is None else store.get(Conversation, name)
        if store is None or conversation is None:
            return no_stored("Conversation", name)
        return store.with_items(conversation.items(now))
    if name is not None or id_ is None or store is None or not ID.match(id_):
        return ()
    found = store.get(Stored, id_)
    return no_previous_response(id_) if found is None else store.with_items(found.items)


def _input(body: Body, store: ResponseStore | None) -> Items | Refusal:
    """The items of the input, with the stored ones that it refers to."""
    given = body.get("input", ())
    if isinstance(given, str):
        return ({"role": "user", "content": given},)
    items = given if store is None else store.with_items(given)
    missing = None if store is None else next((each for each in items if each.get("type") == "item_reference"), None)
    return items if missing is None else no_item(missing["id"])


def _prompt(body: Body, items: Items) -> Prompt:
    messages, template = messages_of(list(items), body.get("instructions")), body.get("prompt")
    if template is not None:
        # Nobody but the vendor knows what it says.
        variables = "".join(f"\n{name}: {value}" for name, value in (template.get("variables") or {}).items())
        messages.insert(0, {"role": "developer", "content": template["id"] + variables})
    prompt = with_images(chat_prompt(messages, body.get("tools")), messages)
    return with_media(prompt, [("file", name, FILE_TOKENS) for name in files_of(messages)])


def _request(body: Body, name: str, prompt: Prompt, context: int, family: Family) -> GenerationRequest:
    asked, reasoning = effort_asked(body, family), body.get("reasoning") or {}
    summary = bool(reasoning.get("summary") or reasoning.get("generate_summary"))
    effort = None if asked is None else EFFORTS[asked]
    if effort is None and summary and family is UNKNOWN:
        effort = _USUAL
    scored, parallel = LOGPROBS in (body.get("include") or ()), body.get("parallel_tool_calls") is not False
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
