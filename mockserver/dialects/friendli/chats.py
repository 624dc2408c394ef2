"""Calls of the three chat endpoints become requests to a model, or are refused.

    body -> unknown fields -> schema -> checks between fields -> model -> its senses -> request -> checks against both

By the page each station refuses with all the faults that it finds; today only the first is reported, in one message.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, RequestScope
from mockserver.core.failures import Refusal, Violation
from mockserver.core.generation import GenerationRequest, Output, Prompt, ToolChoice
from mockserver.dialects.contracts import Contract
from mockserver.dialects.friendli.checks import CHAT_CHECKS, conflicts, misfits
from mockserver.dialects.friendli.errors import invalid, unknown_model, worded
from mockserver.dialects.friendli.formats import constraint
from mockserver.dialects.friendli.models import AskedModel, Place, is_by_vllm, perceives
from mockserver.dialects.friendli.read import json_body, read_limits, read_sampling, read_stops, read_timeout
from mockserver.dialects.friendli.reasoning import FriendliOptions, Reasoning, read_reasoning
from mockserver.dialects.friendli.schemas import CHATS, known_fields
from mockserver.dialects.openai.fields import Body, number_or
from mockserver.dialects.openai.messages import chat_prompt, parts, with_media
from mockserver.dialects.openai.tools import function_tools, tool_choice

# The tokens of each medium: figures of our own, since the vendor states none.
_TOKENS = {"image_url": 256, "audio_url": 128, "video_url": 1024}

# How models that only read text refuse each medium.
REFUSALS = {
    "image_url": "This model does not support image/video inputs.",
    "video_url": "This model does not support image/video inputs.",
    "audio_url": "This model does not support audio inputs.",
}


def read_prompt(messages: Sequence[Mapping[str, Any]], tools: object) -> Prompt:
    """The conversation as a prompt, with the `tools` on offer; each medium changes the answer by its URL."""
    found = [(kind, part[kind]["url"], _TOKENS[kind]) for _, _, kind, part in media(messages)]
    return with_media(chat_prompt(messages, tools), found)


def medium_of(kind: str) -> str:
    """The medium of a kind of part: `image`, `video` or `audio`."""
    return kind.removesuffix("_url")


def media_tokens(messages: Sequence[Mapping[str, Any]]) -> Mapping[str, int]:
    """How many tokens of the prompt each medium counts, if there is any of it."""
    counts: dict[str, int] = {}
    for _, _, kind, _ in media(messages):
        counts[medium_of(kind)] = counts.get(medium_of(kind), 0) + _TOKENS[kind]
    return counts


def media(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int, str, Mapping[str, Any]]]:
    """The parts that are not text: the places of the message and of the part, its kind, and the part."""
    for place, message in enumerate(messages):
        for number, part in enumerate(parts(message)):
            if part["type"] in _TOKENS:
                yield place, number, part["type"], part


# --- chats -----------------------------------------------------------------------------------------------------------

# The first client knows no thoughts.
_NO_THOUGHT = Reasoning(None, "hidden")


def read_chat(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request to a place, or its refusal."""
    body = _valid(call, scope, CHATS.at(place, scope.edition))
    if isinstance(body, Refusal):
        return worded(body, scope.edition)
    asked = place(body.get("model"), scope)
    made = _fitting(body, scope.edition, asked)
    return worded(made, scope.edition) if isinstance(made, Refusal) else made


def _valid(call: Call, scope: RequestScope, contract: Contract) -> Body | Refusal:
    """The known fields of the body, if they are valid and compatible; else the refusal."""
    sent = json_body(call.body)
    if isinstance(sent, Refusal):
        return sent
    known = known_fields(scope.edition, "ChatFields")
    strangers = [] if scope.edition == "documented" else [name for name in sent if name not in known]
    body = {name: value for name, value in sent.items() if name in known}
    violations = (
        [Violation((name,), "conflict", f"no such field: '{name}'") for name in strangers]
        or contract.violations(_without_vllms_effort(body))
        or conflicts(body, CHAT_CHECKS[scope.edition])
    )
    return invalid(violations) if violations else _by_one_name(body)


def _without_vllms_effort(body: Body) -> Body:
    """The body without the effort that only vLLM accepts, if it serves the model: recorded of `none`."""
    model = body.get("model")
    accepted = body.get("reasoning_effort") == "none" and isinstance(model, str) and is_by_vllm(model)
    return {**body, "reasoning_effort": None} if accepted else body


def _by_one_name(body: Body) -> Body:
    """The body with its limit under the older of its two names."""
    newer = body.get("max_completion_tokens")
    return body if newer is None else {**body, "max_tokens": newer}


def _fitting(body: Body, edition: Edition, asked: AskedModel) -> GenerationRequest | Refusal:
    """The request, if there is such a model, which accepts its media and is large enough; else the refusal."""
    if asked.model is None:
        return unknown_model(asked.name, edition)
    unseen = tuple(_beyond_senses(body, asked.name))
    if unseen:
        return invalid(unseen)
    request = _request(body, edition, asked)
    return misfits(body, request, asked.model) or request


def _beyond_senses(body: Body, name: str) -> Iterator[Violation]:
    for place, number, kind, _ in media(body["messages"]):
        if not perceives(name, medium_of(kind)):
            yield Violation(("messages", place, "content", number), "conflict", REFUSALS[kind])


def _request(body: Body, edition: Edition, asked: AskedModel) -> GenerationRequest:
    prompts = (read_prompt(body["messages"], body.get("tools")),)
    assert asked.model is not None
    thought = read_reasoning(body, asked.name) if edition == "observed" else _NO_THOUGHT
    return GenerationRequest(
        model=asked.name,
        prompts=prompts,
        output=_output(body, thought),
        limits=read_limits(body, asked.model, prompts),
        stops=read_stops(body),
        sampling=read_sampling(body),
        constraint=constraint(body, edition),
        tools=function_tools(body.get("tools")),
        tool_choice=_tool_choice(body),
        n=int(number_or(body.get("n"), 1)),
        effort=thought.effort,
        budget=thought.budget,
        extra=FriendliOptions(
            timeout=read_timeout(body), thoughts=thought.thoughts, media=media_tokens(body["messages"])
        ),
    )


def _output(body: Body, thought: Reasoning) -> Output:
    return Output(
        stream=bool(body.get("stream")),
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        logprobs=int(body.get("top_logprobs") or 0) if body.get("logprobs") else None,
        reasoning=thought.thoughts in ("apart", "inside", "leaked"),
    )


def _tool_choice(body: Body) -> ToolChoice:
    # "Whether to let the model issue tool calls in parallel. [...] True"; a choice among no tools is tolerated.
    wanted = body.get("tool_choice") if body.get("tools") else None
    return tool_choice(wanted, parallel=body.get("parallel_tool_calls") is not False)
