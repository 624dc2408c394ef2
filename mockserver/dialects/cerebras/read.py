"""Completions and chats become requests to a model, or are refused: for their format, their model, or for fields that
are incompatible with each other or with the model (vendor note A)."""

from collections.abc import Iterator, Sequence
from itertools import islice
from math import sqrt
from typing import Any, Literal

from mockserver.core.dialects import Edition, Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, Effort, GenerationRequest, Limits, Output, Prompt, Stops, ToolChoice
from mockserver.core.http import Call
from mockserver.dialects.cerebras.errors import exclusive, explain, refused
from mockserver.dialects.cerebras.models import ModelFamily, Shown, family_of
from mockserver.dialects.cerebras.strict_schemas import format_fault, functions_fault
from mockserver.dialects.cerebras.write import CerebrasOptions
from mockserver.dialects.contracts import Contract, by_edition, editions
from mockserver.dialects.openai.read import (
    Body,
    Offer,
    chat_prompt,
    content_text,
    function_tools,
    image_of,
    image_size,
    image_urls,
    json_object,
    read_format,
    sampling,
    stop_texts,
    text_prompts,
    tool_choice,
    unanswered,
    unknown_tool,
    whole,
    with_media,
)
from mockserver.model.tokens import token_count

_CONTRACT = editions(__package__)
_COMPLETION = by_edition(_CONTRACT, "CompletionRequest")
_CHAT = by_edition(_CONTRACT, "ChatCompletionRequest")
# Fields that the service obeys but the page does not name: the documented edition accepts and ignores them.
_SERVICE_FIELDS = ("n", "best_of", "frequency_penalty", "presence_penalty", "logit_bias")
_NO_STOPS = Stops()
_TOOL_FIELDS = {"tools", "tool_choice", "parallel_tool_calls"}
# By whether the model writes arguments without whitespace.
_NO_OFFER = {False: Offer((), ToolChoice()), True: Offer((), ToolChoice(compact=True))}


def _valid_body(call: Call, contract: Contract) -> dict[str, Any] | Refusal:
    """The body of a call that keeps to the contract, or its refusal. Any content type but MessagePack's means JSON."""
    packed = "content-encoding" in call.headers or "msgpack" in call.headers.get("content-type", "").lower()
    body = None if packed else json_object(call.body)
    if body is None or (isinstance(body, Refusal) and body.kind is FailureKind.MALFORMED_JSON):
        # Imported on demand: few bodies are packed or broken.
        from mockserver.dialects.cerebras.bodies import unpacked_object

        body = unpacked_object(call)
    return body if isinstance(body, Refusal) or contract.accepts(body) else explain(contract.violations(body), body)


def read_completion(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request of `POST /v1/completions`, or why Cerebras refuses it."""
    body = _valid_body(call, _COMPLETION[scope.edition])
    if isinstance(body, Refusal):
        return body
    if scope.edition == "documented":
        body = {name: value for name, value in body.items() if name not in _SERVICE_FIELDS}
    refusal = _completion_conflict(body)
    if refusal is not None:
        return refusal
    model = find_model(body["model"], scope)
    if isinstance(model, Refusal):
        return model
    root = body.get("grammar_root")
    request = GenerationRequest(
        model=body["model"],
        prompts=text_prompts(body.get("prompt", "")),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=True,
            echo=bool(body.get("echo")),
            logprobs=whole(body.get("logprobs")),
            token_ids=bool(body.get("return_raw_tokens")),
        ),
        limits=Limits(
            whole(body.get("max_tokens")), _least_tokens(body.get("min_tokens"), model.context), context=model.context
        ),
        stops=Stops(stop_texts(body.get("stop"))),
        sampling=sampling(body),
        constraint=None if root is None else Constraint("grammar", root),
        n=whole(body.get("n")) or 1,
        best_of=whole(body.get("best_of")) or 1,
        patience=_patience(call),
    )
    return _fitting(request)


def read_chat(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Cerebras refuses it."""
    edition = scope.edition
    body = _valid_body(call, _CHAT[edition])
    if isinstance(body, Refusal):
        return body
    model = find_model(body["model"], scope)
    if isinstance(model, Refusal):
        return model
    family = family_of(model.id)
    form, urls = body.get("response_format"), image_urls(body["messages"], _image)
    refusal = (
        _chat_conflict(body, edition)
        or _history_fault(body["messages"])
        or (_images_fault(urls, family, edition) if urls else None)
        or _model_fault(body, family, edition)
        or (format_fault(form, edition) if form is not None else None)
    )
    if refusal is not None:
        return refusal
    offered = not _TOOL_FIELDS.isdisjoint(body)
    offer = _read_tools(body, family, edition) if offered else _NO_OFFER[family.compact]
    if isinstance(offer, Refusal):
        return offer
    constraint = read_format(form)
    shown = _shown(body, family, structured=constraint is not None)
    stop, predicted = body.get("stop"), body.get("prediction")
    prompt = _prompt(body)
    seen = with_media(prompt, [("image", url, image_tokens(url)) for url in urls]) if urls else prompt
    # By today's names or else the older ones. -1 means as much as the model can.
    most = body.get("max_completion_tokens")
    most = body.get("max_tokens") if most is None else most
    least = body.get("min_completion_tokens")
    least = body.get("min_tokens") if least is None else least
    request = GenerationRequest(
        model=body["model"],
        prompts=(seen,),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=True,
            logprobs=(whole(body.get("top_logprobs")) or 0) if body.get("logprobs") else None,
            reasoning=shown != "hidden",
        ),
        limits=Limits(
            None if most is None or most == -1 else int(most),
            0 if least is None else _least_tokens(least, model.context),
            context=model.context,
        ),
        stops=_NO_STOPS if stop is None else Stops(stop_texts(stop)),
        sampling=sampling(body),
        constraint=constraint,
        tools=offer.tools,
        tool_choice=offer.choice,
        n=int(body.get("n") or 1),
        effort=_effort(body, family),
        prediction=None if predicted is None else content_text(predicted["content"]),
        patience=_patience(call),
        extra=CerebrasOptions(
            family,
            family.era or edition,
            shown,
            seen.token_count - prompt.token_count,
            body.get("service_tier") == "auto",
        ),
    )
    return _fitting(request)


def _prompt(body: Body) -> Prompt:
    """The conversation as a prompt, with the earlier thoughts that the model still sees.

    "Thinking content from the current (latest unfinished) turn is always included".
    """
    messages = body["messages"]
    prompt = chat_prompt(messages, body.get("tools"))
    thoughts = [*_remembered(messages, forget=body.get("clear_thinking") is not False)] if len(messages) > 1 else ()
    if not thoughts:
        return prompt
    text = "\n".join((prompt.text, *(f"reasoning: {thought}" for thought in thoughts)))
    return prompt._replace(text=text, token_count=prompt.token_count + sum(map(token_count, thoughts)))


def _remembered(messages: Sequence[Body], *, forget: bool) -> Iterator[str]:
    """The earlier thoughts; with `forget` only those since the last user message."""
    spoken = [place for place, message in enumerate(messages) if message["role"] == "user"]
    for message in islice(messages, spoken[-1] if forget and spoken else 0, None):
        # Other roles have no thoughts: there the field is unknown, and ignored.
        if message["role"] == "assistant" and message.get("reasoning"):
            yield content_text(message["reasoning"])


def _effort(body: Body, family: ModelFamily) -> Effort | None:
    """The reasoning effort for a request, None for a family that does not reason."""
    asked = body.get("reasoning_effort")
    if asked is None:
        return family.default_effort
    if asked == "none":
        return "none" if family.efforts else None
    return family.efforts.get(str(asked))


def _shown(body: Body, family: ModelFamily, *, structured: bool) -> Shown:
    """Where the thoughts are shown. `structured`: whether the answer must be JSON, which no thoughts may precede."""
    asked: Shown | Literal["none"] | None = body.get("reasoning_format")
    if asked is not None and asked != "none":
        return asked
    # "Models that default to raw will automatically use hidden instead when structured output is requested."
    return "hidden" if structured and family.shown == "raw" else family.shown


def _patience(call: Call) -> float | None:
    """The header `queue_threshold`, "50-20000 ms", in seconds: a request that would wait longer is refused at once."""
    text = call.headers.get("queue_threshold") or ""
    return int(text) / 1000 if text.isdecimal() and len(text) <= 5 and 50 <= int(text) <= 20_000 else None


def _least_tokens(value: float | None, context: int) -> int:
    """The minimum length of an answer, in tokens; by the page, -1 is the longest sequence."""
    least = whole(value) or 0
    return context if least < 0 else least


def _fitting(request: GenerationRequest) -> GenerationRequest | Refusal:
    """The request, or its refusal if one of its prompts is longer than the model's context window."""
    length, limit = max([prompt.token_count for prompt in request.prompts]), request.limits.context
    if length <= limit:
        return request
    return Refusal(
        FailureKind.CONTEXT_LENGTH,
        f"Please reduce the length of the messages or completion. Current length is {length} while limit is {limit}",
    )


# Models that the shared endpoints no longer have: the coder since November 2025, `llama-3.3-70b` and `qwen-3-32b` since
# 16 February 2026, `llama3.1-8b` and the 235B instruct since 27 May, `zai-glm-4.7` since 17 August.
_RETIRED = frozenset((
    "llama3.1-8b", "llama3.1-70b", "llama-3.3-70b", "llama-4-scout-17b-16e-instruct",
    "llama-4-maverick-17b-128e-instruct", "deepseek-r1-distill-llama-70b", "qwen-3-32b", "qwen-3-coder-480b",
    "qwen-3-235b-a22b", "qwen-3-235b-a22b-instruct-2507", "qwen-3-235b-a22b-thinking-2507", "zai-glm-4.6",
    "zai-glm-4.7",
))  # fmt: skip
# Served on dedicated endpoints alone.
_DEDICATED = frozenset(("gemma-4-31b",))


def find_model(name: str, scope: RequestScope) -> Model | Refusal:
    """The model of that name, or the vendor's 404: for one that does not exist, or (observed) that is not shared today.

    A catalogue in the settings may have any model.
    """
    if scope.edition == "observed" and not scope.closed_catalogue:
        if name in _RETIRED:
            return Refusal(FailureKind.UNKNOWN_MODEL, code="model_archived")
        if name in _DEDICATED:
            return Refusal(FailureKind.UNKNOWN_MODEL)
    return scope.model(name) or Refusal(FailureKind.UNKNOWN_MODEL)


# --- what no schema says -----------------------------------------------------------------------------------------


def _completion_conflict(body: Body) -> Refusal | None:
    if body.get("echo") and body.get("return_raw_tokens"):
        # "Incompatible with return_raw_tokens=true."
        return exclusive("echo", "return_raw_tokens")
    n, best_of = body.get("n") or 1, body.get("best_of")
    # The best of several results cannot be streamed; 1 is the default.
    if best_of is not None and best_of > 1 and body.get("stream"):
        return exclusive("best_of", "stream")
    if best_of is not None and best_of < n:
        return refused("best_of must be greater than or equal to n", "best_of")
    return None


def _chat_conflict(body: Body, edition: Edition) -> Refusal | None:
    """The refusal of valid fields that are incompatible with each other; the first conflict is reported."""
    today, form = edition == "observed", body.get("response_format")
    if body.get("top_logprobs") is not None and not body.get("logprobs"):
        # "logprobs must be set to true if this parameter is used."
        return refused("logprobs must be set to true if top_logprobs is used", "top_logprobs")
    if body.get("reasoning_format") == "raw" and form is not None and form["type"] != "text":
        # "The raw format is not compatible with json_object or json_schema response formats."
        return exclusive("reasoning_format", "response_format")
    if today and body.get("tools") and form is not None:
        # Recorded of any form, that of plain text too.
        return exclusive("tools", "response_format")
    if today and body.get("tools") and body.get("prediction") is not None:
        # Clients keep them apart; the refusal itself is not recorded.
        return exclusive("prediction", "tools")
    if today and body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        return exclusive("max_tokens", "max_completion_tokens")
    if today and (body.get("n") or 1) > 1:
        # Recorded in 2025, and never recorded otherwise.
        return refused('"n" > 1 is not currently supported', "n")
    if body.get("tool_choice") is not None and not body.get("tools"):
        # Recorded in August 2026.
        return refused("'tool_choice' is only allowed when 'tools' are specified", "tool_choice")
    return None


def _model_fault(body: Body, family: ModelFamily, edition: Edition) -> Refusal | None:
    for rule in family.refuses:
        if edition in rule.editions and rule.holds(body):
            return refused(rule.message, rule.param)
    return None


def _history_fault(messages: Sequence[Body]) -> Refusal | None:
    """The refusal of calls without results, or of results without calls; None if they match.

    By the vendor's page, version 2 wants each call answered before the conversation goes on, in any order, and each id
    to be that of one call only. Its words for that are not known: these are OpenAI's, which it uses where they are.
    """
    ids: set[str] = set()
    open_calls: dict[str, None] | None = None
    for message in messages:
        if message["role"] == "tool":
            id_ = message["tool_call_id"]
            if open_calls is None or id_ not in ids:
                # Recorded.
                words = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                return refused(words, "messages")
            if id_ not in open_calls:
                return refused(f"Duplicate value for 'tool_call_id': {id_!r}", "messages")
            del open_calls[id_]
            continue
        if open_calls:
            return refused(unanswered(open_calls), "messages")
        made = message.get("tool_calls") if message["role"] == "assistant" else None
        open_calls = dict.fromkeys(call["id"] for call in made) if made else None
        for call in made or ():
            if call["id"] in ids:
                return refused(f"Duplicate value for 'id' in 'tool_calls': {call['id']!r}", "messages")
            ids.add(call["id"])
    return refused(unanswered(open_calls), "messages") if open_calls else None


# --- tools -------------------------------------------------------------------------------------------------------


def _read_tools(body: Body, family: ModelFamily, edition: Edition) -> Offer | Refusal:
    tools = function_tools(body.get("tools"))
    choice = tool_choice(body.get("tool_choice"), parallel=body.get("parallel_tool_calls") is not False)
    unknown = unknown_tool(choice, tools)
    if unknown is not None:
        return refused(f"tool_choice names a function that is not in tools: {unknown!r}", "tool_choice")
    functions = [row["function"] for row in body.get("tools") or ()]
    return functions_fault(functions, edition) or Offer(tools, choice._replace(compact=family.compact))


# --- images ------------------------------------------------------------------------------------------------------

# By the documentation: an image is scaled to so many pixels, then each side is cut to a multiple of the patch.
_PIXELS, _PATCH, _MOST = 645_120, 48, 280
# The tokens of an image of unknown size: those of one of 768 by 768.
_UNMEASURED = 256
# "Max images per request: 5"; "External image URLs: not supported".
_MOST_IMAGES = 5
_IMAGE_FORMS = ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/jpg;base64,")


def _image(part: Body) -> str | None:
    return str(part["image"]) if part.get("type") == "image" else image_of(part)


def image_tokens(url: str) -> int:
    """How many tokens an image counts, depending on its size."""
    size = image_size(url)
    if size is None:
        return _UNMEASURED
    width, height = size
    scale = sqrt(_PIXELS / (width * height))
    patches = int(width * scale / _PATCH) * int(height * scale / _PATCH)
    return min(patches, _MOST)


def _images_fault(urls: Sequence[str], family: ModelFamily, edition: Edition) -> Refusal | None:
    """Why images are refused: by a model that reads none, or (today) by every model."""
    if family.blind:
        # The pages of the models; users report the refusal, not its words.
        fault = "Content of type 'image_url' is not supported by this model; only 'text' content is"
    elif edition == "documented":
        return None
    elif len(urls) > _MOST_IMAGES:
        fault = f"At most {_MOST_IMAGES} images are allowed per request, got {len(urls)}"
    elif not all(url.lower().startswith(_IMAGE_FORMS) for url in urls):
        fault = "Images must be PNG or JPEG data URIs; external image URLs are not supported"
    else:
        return None
    return refused(fault, "messages")
