"""Generations in the format of `POST /v3/chat/completions` (vendor note 6): one body, or a stream."""

from functools import partial
from typing import Any

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation
from mockserver.core.timeline import Lazy, Pace, Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.events import stream_reply
from mockserver.dialects.ovms.chat_chunks import chunks
from mockserver.dialects.ovms.envelope import whole
from mockserver.dialects.ovms.headers import JSON, STREAM
from mockserver.dialects.ovms.spoken import call_head, finish_reason, is_parsed, thoughts, words


def write_chat(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    if generation.request.output.stream:
        return stream_reply(Lazy(partial(chunks, generation, site)), STREAM)
    choices = [_choice(choice, generation, site) for choice in generation.choices]
    return body_reply(whole(choices, "chat.completion", generation, site), generation, content_type=JSON)


def _choice(choice: Choice, generation: Generation, site: Site) -> dict[str, Any]:
    return {
        "finish_reason": finish_reason(choice, generation),
        "index": choice.index,
        "logprobs": None if generation.request.output.logprobs is None else {"content": _logprobs(choice)},
        "message": _message(choice, generation, site),
    }


def _message(choice: Choice, generation: Generation, site: Site) -> dict[str, Any]:
    """The message: text, thoughts and tool calls; the older server has only content and role."""
    if not is_parsed(generation):
        message = {"content": "".join(words(choice)), "role": "assistant"}
        return message | {"tool_calls": []} if site.edition == "observed" else message
    thought = "".join(thoughts(choice, generation))
    # "`reasoning_content` (only if not empty), `role`, `tool_calls` (always an array, `[]` if none ...)"
    return {
        "content": choice.text,
        **({"reasoning_content": thought} if thought else {}),
        "role": "assistant",
        "tool_calls": [
            {**call_head(choice, place, site), "function": {"name": call.name, "arguments": call.arguments}}
            for place, call in enumerate(choice.calls)
        ],
    }


def _logprobs(choice: Choice) -> list[dict[str, Any]]:
    """A row for each token of the text, without alternatives."""
    return [
        {"token": text, "logprob": position.logprob, "bytes": list(text.encode()), "top_logprobs": []}
        for text, position in zip(choice.texts, choice.positions, strict=True)
    ]
