"""`POST /v1/chat/completions`: requests (facts B), answers (E3) and streams (E4)."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import (
    Choice,
    Constraint,
    Generation,
    GenerationRequest,
    Limits,
    Output,
    Prompt,
    Stops,
    Unseen,
)
from mockserver.core.seeding import alphanumerics
from mockserver.core.timeline import Reply, TokenTiming
from mockserver.dialects.contracts import Contract, components
from mockserver.dialects.openai.conflicts import chat_conflict
from mockserver.dialects.openai.flavour import Flavour, Rendering, Segment, whole_body, write
from mockserver.dialects.openai.models import EFFORTS, Family, effort_asked, family_of, fingerprint_of, snapshot_of
from mockserver.dialects.openai.read import (
    Body,
    chat_prompt,
    json_object,
    read_offer,
    sampling,
    stop_texts,
    with_images,
)
from mockserver.dialects.openai.refusals import explain, too_long, unknown_model
from mockserver.dialects.openai.replies import (
    NOTHING,
    Members,
    call_members,
    chat_logprobs,
    pretty,
    usage_object,
    whole_calls,
)

REQUEST = Contract(components(__package__, "openai"), "ChatCompletionRequest")


class ChatOptions(NamedTuple):
    """What only the writer needs of a request: the tier that answers state, whether chunks are padded, and whether a
    tool was named, which some models tell by their finish reason."""

    tier: str = "default"
    obfuscates: bool = True
    named: bool = False


# --- requests ----------------------------------------------------------------------------------------------------


Adapt = Callable[[Body, GenerationRequest], GenerationRequest | Refusal]
Translate = Callable[[Body], Body]


def read_chat(
    call: Call,
    scope: RequestScope,
    contract: Contract = REQUEST,
    family_of: Callable[[str], Family] = family_of,
    adapt: Adapt | None = None,
    translate: Translate | None = None,
) -> GenerationRequest | Refusal:
    """The request, or why OpenAI refuses it.

    A vendor that differs a little has a contract and families of its own, translates a valid body into OpenAI's words,
    and adapts the request to what else is in the body.
    """
    body: Body | Refusal = json_object(call.body)
    if isinstance(body, Refusal):
        return body
    if not contract.accepts(body):
        kept = _without_unknown_members(body, family_of)
        if kept is None or not contract.accepts(kept):
            return explain(contract.violations(body))
        body = kept
    if translate is not None:
        body = translate(body)
    model = scope.model(body["model"])
    if model is None:
        return unknown_model(body["model"], "chat")
    family = family_of(model.id)
    refusal = chat_conflict(body, family, model.id)
    if refusal is not None:
        return refusal
    prompt = with_images(chat_prompt(body["messages"], body.get("tools") or body.get("functions")), body["messages"])
    refusal = too_long(prompt.token_count, model, family, "chat")
    if refusal is not None:
        return refusal
    request = chat_request(body, prompt, model.context, family)
    return request if adapt is None else adapt(body, request)


# The members of messages of any role.
_MEMBERS = frozenset((
    "role", "content", "name", "refusal", "audio", "annotations", "tool_calls", "function_call", "tool_call_id",
))  # fmt: skip


def _without_unknown_members(body: Body, family_of: Callable[[str], Family]) -> Body | None:
    """The body without members of messages that no role has, which models that do not reason ignore; None if there can
    be none to ignore. Agents keep notes of their own in messages, such as the `sender` of OpenAI's Swarm."""
    model, messages = body.get("model"), body.get("messages")
    if not isinstance(model, str) or family_of(model).efforts or not isinstance(messages, list):
        return None
    if not all(isinstance(message, dict) for message in messages):
        return None
    kept = [{name: value for name, value in message.items() if name in _MEMBERS} for message in messages]
    return {**body, "messages": kept}


def chat_request(body: Body, prompt: Prompt, context: int, family: Family) -> GenerationRequest:
    """A valid chat as a request to a model with a context of so many tokens."""
    options, stop, tier = body.get("stream_options") or NOTHING, body.get("stop"), body.get("service_tier") or "auto"
    most = body.get("max_completion_tokens")
    most = body.get("max_tokens") if most is None else most
    effort, choice = effort_asked(body, family), body.get("tool_choice")
    tools, tool_choice = read_offer(body)
    return GenerationRequest(
        model=body["model"],
        prompts=(prompt,),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=bool(options.get("include_usage")),
            logprobs=int(body.get("top_logprobs") or 0) if body.get("logprobs") else None,
        ),
        limits=Limits(None if most is None else int(most), context=context),
        stops=Stops() if stop is None else Stops(stop_texts(stop)),
        sampling=sampling(body),
        constraint=read_format(body.get("response_format")),
        tools=tools,
        tool_choice=tool_choice,
        n=int(body.get("n") or 1),
        effort=None if effort is None else EFFORTS[effort],
        prediction=_prediction(body.get("prediction")),
        extra=ChatOptions(
            {"auto": "default", "fast": "priority"}.get(tier, tier),
            options.get("include_obfuscation") is not False,
            isinstance(choice, dict) and choice["type"] != "allowed_tools",
        ),
    )


def read_format(form: Body | None) -> Constraint | None:
    """The constraint of a `response_format`; None if any text will do."""
    if form is None or form["type"] == "text":
        return None
    schema = form["json_schema"].get("schema") if form["type"] == "json_schema" else None
    return Constraint("json_object") if schema is None else Constraint("json_schema", schema)


def _prediction(predicted: Body | None) -> str | None:
    """The predicted text."""
    content = None if predicted is None else predicted["content"]
    return "".join(part["text"] for part in content) if isinstance(content, list) else content


# --- answers -----------------------------------------------------------------------------------------------------


def write_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    return write(CHAT, as_finished(generation), pace, scope)


def whole_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> dict[str, Any]:
    """The members of the one body."""
    rendering = Rendering(CHAT, as_finished(generation), pace, scope)
    return whole_body(rendering, _around(rendering))


def as_finished(generation: Generation) -> Generation:
    """The generation with the finish reasons of its model."""
    family, options = family_of(generation.request.model), generation.request.extra
    if isinstance(options, ChatOptions) and options.named and family.named_finish == "stop":
        choices = [
            choice._replace(finish_reason="stop") if choice.finish_reason == "tool_calls" else choice
            for choice in generation.choices
        ]
        generation = generation._replace(choices=tuple(choices))
    return generation


def chat_id(scope: RequestScope) -> str:
    """The id of the answer to a request."""
    return f"chatcmpl-{alphanumerics(scope.identity, 29, 'id')}"


def _around(rendering: Rendering) -> Members:
    generation, scope = rendering.generation, rendering.scope
    model, output = generation.request.model, generation.request.output
    return {
        "id": chat_id(scope),
        "created": int(scope.now),
        "model": snapshot_of(model),
        "service_tier": _options(rendering).tier,
        "system_fingerprint": fingerprint_of(model, family_of(model)),
        **({"usage": None} if output.stream and output.include_usage else NOTHING),
    }


def _options(rendering: Rendering) -> ChatOptions:
    extra = rendering.generation.request.extra
    return extra if isinstance(extra, ChatOptions) else ChatOptions()


def chat_counts(rendering: Rendering) -> Members:
    """The usage with all its details, each of which is always there."""
    usage = rendering.generation.usage
    unseen = usage.unseen or Unseen()
    return {
        **usage_object(usage),
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": unseen.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": unseen.accepted,
            "rejected_prediction_tokens": unseen.rejected,
        },
    }


def _refuses(rendering: Rendering, choice: Choice) -> bool:
    """Whether a choice is told as a refusal; where messages have none, it is a text."""
    return choice.refusal and "refusal" in (rendering.flavour.message or ("refusal",))


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    text, refuses = choice.text, _refuses(rendering, choice)
    message = {
        "role": "assistant",
        "content": None if refuses or (choice.calls and not text) else text,
        **(_whole_calls(rendering, choice) if choice.calls else NOTHING),
        "refusal": text if refuses else None,
        "annotations": [],
    }
    return {
        **_unset(rendering),
        "message": message,
        "finish_reason": choice.finish_reason,
        **_logprobs(rendering, choice),
    }


def _whole_calls(rendering: Rendering, choice: Choice) -> Members:
    legacy = rendering.generation.request.tool_choice.legacy
    return whole_calls(choice, partial(rendering.flavour.call_id, rendering), legacy=legacy)


def _logprobs(rendering: Rendering, choice: Choice, group: range | None = None) -> Members:
    """The log-probabilities of the tokens in a range, or of all of them; empty if they are not asked for."""
    if rendering.generation.request.output.logprobs is None:
        return NOTHING
    rows = chat_logprobs(choice) if group is None else chat_logprobs(choice, group.start, group.stop)
    content, refusal = (None, rows) if _refuses(rendering, choice) else (rows, None)
    return {"logprobs": {"content": content, "refusal": refusal}}


def _unset(rendering: Rendering) -> Members:
    """A model that reasons has no log-probabilities, and does not say so."""
    silent = family_of(rendering.generation.request.model).efforts
    return {"finish_reason": None} if silent else {"logprobs": None, "finish_reason": None}


def _opening(rendering: Rendering, choice: Choice) -> Sequence[Members]:
    """The role with an empty text. A single call stands beside it, several follow."""
    if choice.calls and not choice.texts:
        return () if len(choice.calls) == 1 else ({"delta": {"role": "assistant", "content": None}},)
    content = {"content": None, "refusal": ""} if _refuses(rendering, choice) else {"content": "", "refusal": None}
    return ({"delta": {"role": "assistant", **content}, **_logprobs(rendering, choice, range(0))},)


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """The text, then the calls."""
    slot = rendering.flavour.encoding.slot
    scored = rendering.generation.request.output.logprobs is not None
    beside = partial(_logprobs, rendering, choice) if scored else None
    text = Segment({"refusal" if _refuses(rendering, choice) else "content": slot}, choice.texts, beside=beside)
    calls = _calls(rendering, choice, alone=not rendering.flavour.opening(rendering, choice))
    return (text, *calls)


def _calls(rendering: Rendering, choice: Choice, *, alone: bool) -> Iterator[Segment]:
    slot, legacy = rendering.flavour.encoding.slot, rendering.generation.request.tool_choice.legacy
    if rendering.flavour.whole_calls and choice.calls:
        whole = _whole_calls(rendering, choice)
        if not legacy:
            whole = {"tool_calls": [{"index": place, **call} for place, call in enumerate(whole["tool_calls"])]}
        yield Segment(head=whole, head_tokens=sum(call.steps for call in choice.calls))
        return
    for place, call in enumerate(choice.calls):
        said = {"arguments" if call.kind == "function" else "input": slot}
        if legacy:
            head: Members = {"function_call": call_members(choice, place, "")}
            delta: Members = {"function_call": said}
        else:
            identified = {"index": place, "id": rendering.flavour.call_id(rendering, choice, place), "type": call.kind}
            head = {"tool_calls": [{**identified, call.kind: call_members(choice, place, "")}]}
            delta = {"tool_calls": [{"index": place, call.kind: said}]}
        if alone:
            head = {"role": "assistant", "content": None, **head, "refusal": None}
        yield Segment(delta, call.texts, head)


CHAT = Flavour(
    around=_around,
    counts=chat_counts,
    choice_members=_choice_members,
    segments=_segments,
    opening=_opening,
    unset=_unset,
    body=("id", "object", "created", "model", "choices", "usage", "service_tier", "system_fingerprint"),
    chunk=("id", "object", "created", "model", "service_tier", "system_fingerprint", "choices", "usage"),
    opening_step=0,
    plain=pretty,
    stream_headers=((b"content-type", b"text/event-stream; charset=utf-8"),),
    obfuscates=lambda rendering: _options(rendering).obfuscates,
)
