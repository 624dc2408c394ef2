"""`POST /v1/responses` becomes a request to a model, as the page "Create a model response" allows or refuses it; and
`/v1/responses/{id}`: responses that are stored, which a client looks up, deletes or cancels."""

from functools import partial

from mockserver.core.dialects import Edition, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import GenerationRequest, Limits, Output, Prompt, Sampling
from mockserver.core.http import Call
from mockserver.dialects.contracts import by_edition
from mockserver.dialects.openai.read import Body, Offer, chat_prompt, whole, with_images, with_media
from mockserver.dialects.openai.responses.flavour import ResponseOptions
from mockserver.dialects.openai.responses.items import (
    FILE_TOKENS,
    chat_choice,
    chat_tools,
    constraint_of,
    files_of,
    format_of,
    messages_of,
)
from mockserver.dialects.openai.responses.store import LONGEST_PAGE, ResponseStore, Stored, StoredOperations
from mockserver.dialects.yandex.errors import fault, in_session
from mockserver.dialects.yandex.models import Backend, ModelUri, backend_of, caller_folder, checked_uri
from mockserver.dialects.yandex.read import (
    CONTRACT,
    IMAGE_TOKENS,
    checked_body,
    fitting,
    messages_fault,
    read_tools,
)
from mockserver.dialects.yandex.response_answers import ResponseExtra, flavour_of
from mockserver.model.intent import detect_intent
from mockserver.model.schema import schema_fault

_REQUEST = by_edition(CONTRACT, "ResponsesRequest")
_ROLES = ("user", "system", "developer", "assistant")
_LOGPROBS = "message.output_text.logprobs"


def read_response(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Yandex refuses it: first for its form, then for its model, then for its content."""
    body = checked_body(call, scope, _REQUEST)
    if isinstance(body, Refusal):
        return body
    # "prompt: Reference to a prompt template": an agent, which has a model and a prompt of its own.
    for field in ("model", "input") if "prompt" not in body else ():
        if field not in body:
            return fault(field, "is required")
    model = str(body.get("model") or "")
    if not model and body.get("prompt"):
        # It is addressed like a model of the caller's folder.
        model = str(ModelUri("gpt", caller_folder(call), body["prompt"]["id"]))
    uri = checked_uri(model, call, scope)
    if isinstance(uri, Refusal):
        return uri
    conversation = _conversation(body, scope)
    messages = messages_of(conversation, body.get("instructions"))
    wrong = _items_fault(body) or messages_fault(messages) if "input" in body else None
    if wrong is not None:
        return in_session(FailureKind.INVALID_REQUEST, wrong, uri, call, scope)
    # "Only set this when you set `stream: true`."
    if "stream_options" in body and not body.get("stream"):
        return fault("stream_options", "needs 'stream' to be true")
    if "previous_response_id" in body and "conversation" in body:
        return fault("previous_response_id", "cannot be used together with 'conversation'")
    refused, form = _history_fault(body, conversation), format_of(body)
    if refused is not None:
        return refused
    reason = schema_fault(form["schema"]) if form["type"] == "json_schema" else None
    if reason:
        return fault("text.format.schema", f"is a schema that no answer could keep to: {reason}")
    offer = _read_offer(body, backend_of(uri.name), scope.edition)
    if isinstance(offer, Refusal):
        return offer
    prompt = with_images(chat_prompt(messages, body.get("tools")), messages, IMAGE_TOKENS)
    prompt = with_media(prompt, [("file", name, FILE_TOKENS) for name in files_of(list(messages))])
    return fitting(_request(body, uri, prompt, offer, scope.edition), uri, call, scope)


def _read_offer(body: Body, backend: Backend, edition: Edition) -> Offer | Refusal:
    """The tools on offer and the choice among them, or why they are refused.

    The service's own tools (code, MCP servers, files) are accepted but never called: their results are not simulated.
    Only the web is searched, and only in the observed edition.
    """
    # By the page a response may have several calls, unless the request forbids it; recorded responses say that they may
    # not unless the request allows it.
    documented = edition == "documented"
    parallel = bool(body.get("parallel_tool_calls", documented)) or (backend.own and documented)
    called = ("function", "custom")
    fields = [f"tools[{place}]" for place, tool in enumerate(body.get("tools", ())) if tool["type"] in called]
    return read_tools({"tools": chat_tools(body), "tool_choice": chat_choice(body)}, parallel=parallel, fields=fields)


def _request(body: Body, uri: ModelUri, prompt: Prompt, offer: Offer, edition: Edition) -> GenerationRequest:
    backend, reasoning = backend_of(uri.name), body.get("reasoning") or {}
    effort = reasoning.get("effort")
    summary = bool(reasoning.get("summary") or reasoning.get("generate_summary")) and effort != "none"
    query = _query(body, prompt) if edition == "observed" else None
    return GenerationRequest(
        model=str(uri),
        prompts=(prompt,),
        output=Output(
            stream=body.get("stream", False),
            include_usage=True,
            logprobs=int(body.get("top_logprobs", 0)) if _LOGPROBS in body.get("include", ()) else None,
            reasoning=summary,
        ),
        limits=Limits(whole(body.get("max_output_tokens")), context=backend.context),
        sampling=Sampling(temperature=body.get("temperature", 1.0), top_p=body.get("top_p", 1.0)),
        constraint=constraint_of(body),
        tools=offer.tools,
        tool_choice=offer.choice._replace(compact=backend.own),
        # A request for a summary that states no effort means a usual one.
        effort=effort or "medium" if summary else effort,
        extra=ResponseOptions(body, ResponseExtra(backend, query)),
    )


def _conversation(body: Body, scope: RequestScope) -> object:
    """The input, after all items of the stored response that it continues, and with the stored items that it refers
    to."""
    given, id_ = body.get("input", ""), body.get("previous_response_id")
    if not isinstance(scope.history, ResponseStore):
        return given
    earlier = scope.history.get(Stored, str(id_))
    own = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return scope.history.with_items([*(earlier.items if earlier is not None else ()), *own])


def _items_fault(body: Body) -> str | None:
    """The fault of the first message whose role is not allowed; None if there is none."""
    items = body["input"] if isinstance(body["input"], list) else ()
    roles = (item["role"] for item in items if item.get("type") in (None, "message"))
    return next((f"invalid message role '{role}'" for role in roles if role not in _ROLES), None)


def _history_fault(body: Body, items: object) -> Refusal | None:
    """The refusal of a result whose call no earlier item made; what is stored elsewhere may have made it."""
    if not isinstance(items, list) or "previous_response_id" in body or "conversation" in body:
        return None
    calls: set[str] = set()
    for place, item in enumerate(items):
        kind, id_ = str(item.get("type")), item.get("call_id")
        if kind in ("function_call", "custom_tool_call"):
            calls.add(id_)
        elif kind in ("function_call_output", "custom_tool_call_output") and id_ not in calls:
            return fault(f"input[{place}].call_id", f"answers a call that was not made: {id_!r}")
    return None


def _query(body: Body, prompt: Prompt) -> str | None:
    """The query of a search of the web; None unless that tool is on offer and the user has just asked a question."""
    searches = any(str(tool["type"]).startswith("web_search") for tool in body.get("tools", ()))
    asked = prompt.topic.rstrip().endswith(("?", "？")) and prompt.messages[-1].role == "user"
    return detect_intent(prompt.topic).subject if searches and asked and body.get("tool_choice") != "none" else None


# --- stored responses ------------------------------------------------------------------------------------------------


make_store = partial(ResponseStore, flavour_of)
# What is wrong with a parameter of a page.
_PAGES = {"limit": f"must be from 1 to {LONGEST_PAGE}", "order": "must be one of 'asc', 'desc'"}
_OPERATIONS = StoredOperations(
    lambda id_: Refusal(FailureKind.INVALID_REQUEST, f"Response with id '{id_}' not found", status=404),
    Refusal(FailureKind.INVALID_REQUEST, "Only responses created with 'background' can be cancelled"),
    lambda wrong: fault(wrong.field, _PAGES[wrong.field]),
    streams=False,
)
get_response, delete_response = _OPERATIONS.get, _OPERATIONS.delete
cancel_response, list_input_items = _OPERATIONS.cancel, _OPERATIONS.list_input
