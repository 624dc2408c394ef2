"""Calls of the three chat endpoints become requests to a model, or are refused.

    body -> unknown fields -> schema -> checks between fields -> model -> its senses -> request -> checks against both

By the page each station refuses with all the faults that it finds; today only the first is reported, in one message.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Model, RequestScope
from mockserver.core.failures import Refusal, Violation
from mockserver.core.generation import GenerationRequest, Output, Prompt, ToolChoice
from mockserver.dialects.friendli.checks import CHAT_CHECKS, conflicts, misfits
from mockserver.dialects.friendli.errors import invalid, unknown_model, worded
from mockserver.dialects.friendli.formats import constraint
from mockserver.dialects.friendli.models import Place, traits_of
from mockserver.dialects.friendli.read import json_body, read_limits, read_sampling, read_stops, read_timeout
from mockserver.dialects.friendli.reasoning import FriendliOptions, Reasoning, read_reasoning
from mockserver.dialects.friendli.schemas import contract_of, known_fields
from mockserver.dialects.openai.read import NO_OFFER, Body, chat_prompt, function_tools, tool_choice, with_media

Messages = Sequence[Mapping[str, Any]]
# A part that is not text: the places of the message and of the part, its kind, and its URL.
Medium = tuple[int, int, str, str]

# The tokens of each medium: figures of our own, since the vendor states none.
_TOKENS = {"image_url": 256, "audio_url": 128, "video_url": 1024}
# How models that only read text refuse each medium.
REFUSALS = {
    "image_url": "This model does not support image/video inputs.",
    "video_url": "This model does not support image/video inputs.",
    "audio_url": "This model does not support audio inputs.",
}
# The first client knows no thoughts.
_NO_THOUGHT = Reasoning(None, "hidden")


def media_in(messages: Messages) -> list[Medium]:
    """The parts of messages that are not text."""
    found = []
    for place, message in enumerate(messages):
        content = message.get("content")
        for number, part in enumerate(content if isinstance(content, list) else ()):
            kind = part["type"]
            if kind in _TOKENS:
                found.append((place, number, kind, part[kind]["url"]))
    return found


def read_prompt(messages: Messages, tools: object, media: Sequence[Medium]) -> Prompt:
    """The conversation as a prompt, with the `tools` on offer; each medium changes the answer by its URL."""
    prompt = chat_prompt(messages, tools)
    return with_media(prompt, [(kind, url, _TOKENS[kind]) for *_, kind, url in media]) if media else prompt


def due_choice(choice: ToolChoice, prompt: Prompt) -> ToolChoice:
    """The choice, but none of a named tool once its result follows the last user message.

    The first client's own tests send the same `tool_choice` with the result, and expect a text.
    """
    for message in reversed(prompt.messages) if choice.mode == "required" and choice.names else ():
        if message.role == "user":
            break
        if message.answers in choice.names:
            return ToolChoice("none")
    return choice


def read_chat(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request to a place, or its refusal."""
    made = _read(place, call, scope)
    return worded(made, scope.edition) if isinstance(made, Refusal) else made


def _read(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    body, edition = json_body(call.body), scope.edition
    if isinstance(body, Refusal):
        return body
    known = known_fields(edition, "ChatFields")
    if not body.keys() <= known:
        if edition == "observed":
            strangers = [name for name in body if name not in known]
            return invalid([Violation((name,), "conflict", f"no such field: '{name}'") for name in strangers])
        body = {name: value for name, value in body.items() if name in known}
    checked, name = body, body.get("model")
    if body.get("reasoning_effort") == "none" and isinstance(name, str) and traits_of(name).by_vllm:
        # Recorded: vLLM accepts an effort that the engine refuses.
        checked = {**body, "reasoning_effort": None}
    violations = contract_of("ChatCompletionRequest", place, edition).violations(checked)
    if violations:
        return invalid(violations)
    messages, missing = body["messages"], []
    for number, message in enumerate(messages):
        if message["role"] == "assistant" and message.get("content") is None and not message.get("tool_calls"):
            # "The content of assistant message. Required unless `tool_calls` is specified."
            missing.append(Violation(("messages", number, "content"), "required", "Field required"))
    found = [*missing, *conflicts(body, CHAT_CHECKS[edition])]
    if found:
        return invalid(found)
    asked = place(name, scope)
    if asked.model is None:
        return unknown_model(asked.name, edition)
    if body.get("max_completion_tokens") is not None:
        # The limit under the older of its two names.
        body["max_tokens"] = body["max_completion_tokens"]
    media, traits = media_in(messages), traits_of(asked.name)
    for at, number, kind, url in media:
        sense = kind.removesuffix("_url")
        if sense not in traits.senses:
            found.append(Violation(("messages", at, "content", number), "conflict", REFUSALS[kind]))
        elif url.startswith("data:") and not url.startswith(f"data:{sense}/"):
            # Recorded of a PDF in the place of an image.
            found.append(Violation(("messages", at, "content", number), "conflict", "Failed to load media"))
    if found:
        return invalid(found)
    thought = read_reasoning(body, traits.mind) if edition == "observed" else _NO_THOUGHT
    request = _request(body, asked.name, asked.model, edition, thought, media)
    return misfits(body, request, asked.model) or request


def _request(
    body: Body, name: str, model: Model, edition: Edition, thought: Reasoning, media: Sequence[Medium]
) -> GenerationRequest:
    """A valid chat as a request to its model."""
    prompt = read_prompt(body["messages"], body.get("tools"), media)
    prompts = (prompt,)
    tools, choice = NO_OFFER
    if body.get("tools"):
        # "Whether to let the model issue tool calls in parallel. [...] True"; a choice among no tools is tolerated.
        parallel = body.get("parallel_tool_calls") is not False
        tools = function_tools(body["tools"])
        choice = due_choice(tool_choice(body.get("tool_choice"), parallel=parallel), prompt)
    counts: dict[str, int] = {}
    for *_, kind, _ in media:
        counts[kind.removesuffix("_url")] = counts.get(kind.removesuffix("_url"), 0) + _TOKENS[kind]
    timeout = read_timeout(body) if edition == "documented" else None
    return GenerationRequest(
        model=name,
        prompts=prompts,
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
            logprobs=int(body.get("top_logprobs") or 0) if body.get("logprobs") else None,
            reasoning=thought.thoughts in ("apart", "inside", "leaked"),
        ),
        limits=read_limits(body, model, prompts),
        stops=read_stops(body),
        sampling=read_sampling(body),
        constraint=constraint(body, edition) if "response_format" in body else None,
        tools=tools,
        tool_choice=choice,
        n=int(body.get("n") or 1),
        effort=thought.effort,
        budget=thought.budget,
        extra=FriendliOptions(timeout, thoughts=thought.thoughts, media=counts),
    )
