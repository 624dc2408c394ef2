"""`POST /v1/responses`: answers (facts E6), streams of events (E7), and ids (E2)."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.generation import Generation
from mockserver.core.http import Reply, TokenTiming
from mockserver.core.seeding import alphanumerics, hex_digits
from mockserver.dialects.openai.azure import content_filters
from mockserver.dialects.openai.checks import effort_asked
from mockserver.dialects.openai.models import SNAPSHOTS, TIERS, family_of
from mockserver.dialects.openai.read import number_or
from mockserver.dialects.openai.replies import NOTHING, GeneratedItem, Members, body_reply, incomplete_reason, plain
from mockserver.dialects.openai.responses.flavour import (
    Pad,
    Responding,
    ResponseEvent,
    ResponseFlavour,
    failed,
    responding,
    usual_opening,
    write,
)
from mockserver.dialects.openai.responses.items import TOOL_USAGE, conversation_of, sealed

# The prefixes of the ids of items.
PREFIXES = {
    "thought": "rs", "summary": "rs", "hidden": "rs", "text": "msg", "refusal": "msg", "call": "fc", "custom": "ctc",
}  # fmt: skip
# And those of items of requests, by their types.
_GIVEN_PREFIXES = {"function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs", "compaction": "cmp"}
_ENCRYPTED = "reasoning.encrypted_content"


def write_response(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events."""
    return write(responding(RESPONSE, generation, pace, scope))


def write_compaction(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The user's messages, and the generation as an item that only the vendor can read."""
    response = responding(RESPONSE, generation, pace, scope)
    scope = response.scope
    summary = {"id": made_id(scope, "cmp", version=1), "type": "compaction"}
    summary["encrypted_content"] = sealed(response.choice.text)
    said = [input_item(scope, item, place, version=1) for place, item in enumerate(response.options.more or ())]
    compacted = {
        "id": made_id(scope, "resp", version=1),
        "object": "response.compaction",
        "created_at": int(scope.now + _takes(response)),
        "output": [*said, summary],
        "usage": _usage(response),
    }
    return body_reply(plain(compacted), generation)


def fail_response(broken: Broken) -> bytes:
    """The events with which a stream fails: an `error`, unless the service is overloaded, and the failed response."""
    if broken.status == 503:
        return failed(broken, alphabetical, code="server_is_overloaded")

    def error(problem: Members) -> Members:
        return {"error": {"type": problem["code"], **problem, "param": None}}

    return failed(broken, alphabetical, error=error)


def alphabetical(kind: str, number: Any, fields: Members) -> bytes:
    """An event with its type first and all other keys in alphabetical order."""
    rest = sorted({**fields, "sequence_number": number}.items())
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps({"type": kind, **dict(rest)}))


def _in_background(kind: str, number: Any, fields: Members) -> bytes:
    """An event of a response in the background: once it is taken from the queue, the number follows the type."""
    if kind in ("response.created", "response.queued"):
        return alphabetical(kind, number, fields)
    members = {"type": kind, "sequence_number": number, **dict(sorted(fields.items()))}
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps(members))


def _opening(response: Responding) -> list[ResponseEvent]:
    opening = usual_opening(response)
    if not response.body.get("background"):
        return opening
    queued = {"response": _members(response, None, "queued")}
    return [ResponseEvent("response.created", queued), ResponseEvent("response.queued", queued), opening[1]]


# --- ids ---------------------------------------------------------------------------------------------------------


def made_id(scope: RequestScope, kind: str, *place: str | int, version: int = 0, within: str = "") -> str:
    """An id in the vendor's form: sixteen digits are common to a response and its items, and so are three further on;
    between them stands the time. Those of conversations, and of what is added to one, begin with the time, have no
    version, and end with what is common to them."""
    identity = scope.identity
    shared, constant = hex_digits(identity, 16, "response"), hex_digits(identity, 2, "constant")
    own = hex_digits(identity, 20, "own", kind, *place)
    rest = f"{int(scope.now) & 0xFFFFFFFF:08x}{own[:4]}81{constant}{own[4:]}"
    if within or kind == "conv":
        return f"{kind}_{rest}{within[-16:] or shared}"
    return f"{kind}_{shared}{version:02}{rest}"


# --- a response --------------------------------------------------------------------------------------------------


def _members(response: Responding, output: Sequence[Members] | None, status: str) -> Members:
    body, scope, name = response.body, response.scope, response.generation.request.model
    family, over = family_of(name), output is not None
    reason = incomplete_reason(response.choice) if over else None
    tier, conversation = body.get("service_tier") or "auto", conversation_of(body)
    caching, azure = body.get("prompt_cache_options"), response.options.azure
    return {
        "id": made_id(scope, "resp", 0),
        "object": "response",
        "created_at": int(scope.now),
        "status": status,
        "background": bool(body.get("background")),
        **(NOTHING if response.streamed or azure or status == "queued" else {"billing": {"payer": "developer"}}),
        "completed_at": int(scope.now + _takes(response)) if status == "completed" else None,
        **({"content_filters": _filtered(response) if over else None} if azure else NOTHING),
        **({"conversation": {"id": conversation}} if conversation is not None else NOTHING),
        "error": None,
        "frequency_penalty": 0.0,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "model": name if azure else SNAPSHOTS.get(name, name),
        "moderation": _moderation(response) if over else None,
        "output": output or [],
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "presence_penalty": 0.0,
        "previous_response_id": body.get("previous_response_id"),
        **({"prompt": _template(body["prompt"])} if body.get("prompt") else NOTHING),
        "prompt_cache_key": body.get("prompt_cache_key"),
        **({"prompt_cache_options": {"mode": "implicit", "ttl": "30m", **caching}} if caching else NOTHING),
        "prompt_cache_retention": body.get("prompt_cache_retention") or family.cache_retentions[0],
        "reasoning": _reasoning(response),
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": TIERS.get(tier, tier) if over else tier,
        "store": body.get("store") is not False,
        "temperature": float(number_or(body.get("temperature"), 1.0)),
        "text": _text(body.get("text") or NOTHING),
        "tool_choice": body.get("tool_choice") or "auto",
        "tool_usage": TOOL_USAGE,
        "tools": response.options.more or [],
        "top_logprobs": int(body.get("top_logprobs") or 0),
        "top_p": float(number_or(body.get("top_p"), family.top_p)),
        "truncation": body.get("truncation") or "disabled",
        "usage": _usage(response) if over else None,
        "user": body.get("user"),
        "metadata": body.get("metadata") or {},
    }


def _moderation(response: Responding) -> Members | None:
    """What is said of the prompt and of the answer, if they are moderated."""
    asked = response.body.get("moderation")
    if not asked:
        return None
    # Imported on first use: hardly any response is moderated.
    from mockserver.dialects.openai.moderations import moderation_result

    texts = {"input": response.generation.request.prompts[0].text, "output": response.choice.text}
    results = {side: moderation_result(text, asked["model"], response.scope) for side, text in texts.items()}
    return {side: {"type": each["type"], **dict(sorted(each.items()))} for side, each in results.items()}


def _filtered(response: Responding) -> list[Members]:
    """What Azure's filters say of the prompt and of the answer."""
    prompt, choice = response.generation.request.prompts[0], response.choice
    return content_filters(len(prompt.text), len(choice.text), blocked=choice.finish_reason == "content_filter")


def _template(asked: Members) -> Members:
    """A prompt template as the answer repeats it, with the values of its variables as parts."""
    variables = {
        name: {"type": "input_text", "text": value} if isinstance(value, str) else value
        for name, value in (asked.get("variables") or NOTHING).items()
    }
    return {"id": asked["id"], "variables": variables, "version": asked.get("version")}


def _takes(response: Responding) -> float:
    """The seconds until it is complete."""
    return response.pace.schedule[-1] if response.pace.schedule else 0.0


def _reasoning(response: Responding) -> Members:
    name, asked = response.generation.request.model, response.body.get("reasoning") or NOTHING
    family, context = family_of(name), asked.get("context") or "auto"
    if context == "auto":
        context = family.reasoning_context if family.efforts else None
    summary = asked.get("summary") or asked.get("generate_summary")
    return {
        "context": context,
        "effort": effort_asked(response.body, family),
        **({"mode": asked.get("mode") or "standard"} if family.efforts else NOTHING),
        "summary": "detailed" if summary == "auto" else summary,
    }


def _text(asked: Members) -> Members:
    form = asked.get("format") or {"type": "text"}
    if form["type"] == "json_schema":
        form = {name: form.get(name) for name in ("type", "description", "name", "schema", "strict")}
        form["strict"] = bool(form["strict"])
    return {"format": form, "verbosity": asked.get("verbosity") or "medium"}


def _usage(response: Responding) -> Members:
    usage = response.generation.usage
    # Only some models bill what is written to the prompt cache.
    written = usage.written_tokens if family_of(response.generation.request.model).cache_options else 0
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cache_write_tokens": written, "cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": response.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


# --- items -------------------------------------------------------------------------------------------------------


def item(response: Responding, generated: GeneratedItem, text: str | None, id_: str) -> Members:
    """An item with its text, None if it has only begun."""
    status, said = "in_progress" if text is None else generated.status, text or ""
    if generated.is_call:
        drawn = f"call_{alphanumerics(response.scope.identity, 24, 'call', generated.place)}"
        call_id = generated.call_id or drawn
        if generated.kind == "call":
            kind: Members = {"type": "function_call", "status": status, "arguments": said, "call_id": call_id}
        else:
            kind = {"type": "custom_tool_call", "status": status, "call_id": call_id, "input": said}
        return {"id": id_, **kind, "name": generated.name}
    if generated.kind in ("summary", "hidden"):
        summary = [_part(response, generated, said, True)] if text is not None and generated.kind == "summary" else []
        return {"id": id_, "type": "reasoning", "content": [], **_encrypted(response, text), "summary": summary}
    phase: Mapping[str, str] = {}
    if family_of(response.generation.request.model).phased:
        phase = {"phase": "commentary" if response.choice.calls else "final_answer"}
    content = [] if text is None else [_part(response, generated, said, True)]
    return {"id": id_, "type": "message", "status": status, "content": content, **phase, "role": "assistant"}


def input_item(scope: RequestScope, item: Members, *place: str | int, version: int = 0, within: str = "") -> Members:
    """An item of a request with an id and all members of its kind; the content of a message becomes parts. `within` is
    the id of the conversation to which it is added."""
    kind = str(item.get("type") or "message")
    prefix = _GIVEN_PREFIXES.get(kind, "msg")
    id_ = item.get("id") or made_id(scope, prefix, "input", *place, version=version, within=within)
    status: Members = {"status": "completed"} if kind in ("message", "function_call", "function_call_output") else {}
    given = {name: value for name, value in item.items() if name not in ("id", "type")}
    content = given.get("content")
    if kind == "message" and isinstance(content, str):
        said: Members = {"type": "input_text", "text": content}
        if item["role"] == "assistant":
            said = {"type": "output_text", "annotations": [], "logprobs": [], "text": content}
        content = given["content"] = [said]
    return {"id": id_, "type": kind, **status, **({"content": content} if kind == "message" else NOTHING), **given}


def _encrypted(response: Responding, text: str | None) -> Members:
    """The reasoning as only the vendor can read it, if the request includes that; it grows while the model reasons."""
    if _ENCRYPTED not in (response.body.get("include") or ()):
        return NOTHING
    length = 4 * min(45 + (0 if text is None else 2 * response.reasoning_tokens), 8_192)
    return {"encrypted_content": f"gAAAAAB{alphanumerics(response.scope.identity, length - 9, 'encrypted')}=="}


def _part(response: Responding, generated: GeneratedItem, text: str, over: bool) -> Members:
    if generated.kind == "summary":
        return {"type": "summary_text", "text": text}
    if generated.kind == "refusal":
        return {"type": "refusal", "refusal": text}
    logprobs = response.logprobs(range(len(generated.texts))) if over else []
    return {"type": "output_text", "annotations": [], "logprobs": logprobs, "text": text}


def _beside(response: Responding, generated: GeneratedItem, tokens: range) -> Members:
    return {"logprobs": response.logprobs(tokens) if tokens else []} if generated.kind == "text" else NOTHING


def ended(response: Responding, generated: GeneratedItem) -> Members:
    """The members beside the whole text."""
    return _beside(response, generated, range(len(generated.texts)))


def _pad(response: Responding) -> Pad | None:
    """Random characters that make the length of a delta a multiple of sixteen."""
    if (response.body.get("stream_options") or NOTHING).get("include_obfuscation") is False:
        return None
    letters = alphanumerics(response.scope.identity, 512, "obfuscation")

    def pad(text: str, number: int) -> str:
        start = number * 61 % 496
        return letters[start : start + -len(text) % 16]

    return pad


RESPONSE = ResponseFlavour(
    _members,
    lambda response: _in_background if response.body.get("background") else alphabetical,
    lambda response: made_id(response.scope, "resp", 0),
    lambda response, generated, index: made_id(response.scope, PREFIXES[generated.kind], generated.place),
    item,
    _part,
    _beside,
    ended,
    plain,
    input_item=lambda response, item, place: input_item(response.scope, item, place),
    pad=_pad,
    opening=_opening,
    waits=False,
)
