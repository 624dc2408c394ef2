"""Chats on the wire: one body, or a stream of chunks; by the page with fewer members around the choices than today.

The first client (`friendli-client` 1.x) reads `choices`, `usage` and `created`, and ends its stream at `[DONE]`.
Today's answers have an id, an object and, unless a container is asked without one, a model besides (vendor note B3);
those of a model that vLLM serves have a form of their own.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from mockserver.core.dialects import Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import Choice, Generation
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import Lazy, Pace, Reply
from mockserver.dialects.friendli.chat_calls import whole_call
from mockserver.dialects.friendli.chat_chunks import Form, chat_events, chat_usage
from mockserver.dialects.friendli.models import is_by_vllm
from mockserver.dialects.friendli.options import Thoughts, options_of
from mockserver.dialects.friendli.reasoning import stretches
from mockserver.dialects.friendli.vllm_chats import write_vllm_chat
from mockserver.dialects.friendli.wires import WIRES
from mockserver.dialects.friendli.write import is_late
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.events import EVENT_STREAM, stream_reply
from mockserver.dialects.openai.logprobs import chat_logprobs


def write_chat(generation: Generation, pace: Pace, site: Site) -> Reply | Rejection:
    """The generation as an answer to a conversation, or a refusal if it takes too long."""
    if is_late(generation, pace):
        return Rejection(FailureKind.TIMEOUT)
    if site.edition == "observed" and is_by_vllm(generation.request.model):
        return write_vllm_chat(generation, site)
    wire, where = WIRES[site.edition], options_of(generation.request).thoughts
    if generation.request.output.stream:
        form = Form(wire, _around(generation, site, "chat.completion.chunk"), where, site.edition, site.identity)
        return stream_reply(Lazy(partial(chat_events, generation, form)), ((b"content-type", EVENT_STREAM),))
    body = {
        "choices": [_choice(choice, generation, where, site) for choice in generation.choices],
        "usage": chat_usage(generation.usage),
        **_around(generation, site, "chat.completion"),
    }
    return body_reply(wire.write(body), generation)


def _around(generation: Generation, site: Site, kind: str) -> Mapping[str, Any]:
    """The members around the choices of a body and of each chunk."""
    created = {"created": int(site.now)}
    if site.edition == "documented":
        return created
    model = generation.request.model
    id = f"chatcmpl-{hex_digits(site.identity, 32, 'id')}"
    return {**created, "id": id, "object": kind, **({"model": model} if model else {})}


def _choice(choice: Choice, generation: Generation, where: Thoughts, site: Site) -> dict[str, Any]:
    detailed = generation.request.output.logprobs is not None
    return {
        "index": choice.index,
        "message": {"role": "assistant", **_content(choice, where), **_tool_calls(choice, site)},
        "finish_reason": choice.finish_reason,
        **({"logprobs": {"content": chat_logprobs(choice)}} if detailed else {}),
    }


def _content(choice: Choice, where: Thoughts) -> dict[str, Any]:
    """The content, null if there are only thoughts or calls; and the thoughts, under both their names."""
    found = stretches(choice, where)
    thought = "".join(text for stretch in found if stretch.apart for text in stretch.texts)
    content = "".join(text for stretch in found if not stretch.apart for text in stretch.texts)
    shown = {"content": content if content or not (thought or choice.calls) else None}
    return {**shown, "reasoning": thought, "reasoning_content": thought} if thought else shown


def _tool_calls(choice: Choice, site: Site) -> dict[str, Any]:
    calls = [whole_call(choice, place, site.identity) for place in range(len(choice.calls))]
    return {"tool_calls": calls} if calls else {}
