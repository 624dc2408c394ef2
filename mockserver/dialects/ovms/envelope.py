"""The members around the choices of every answer, and the end of every stream (vendor note 3)."""

from typing import Any

from mockserver.core.dialects import Site
from mockserver.core.generation import Generation
from mockserver.dialects.openai.bodies import usage_object
from mockserver.dialects.openai.events import DONE, event


def envelope(choices: list[Any], kind: str, generation: Generation, site: Site) -> dict[str, Any]:
    """The choices as an answer, or as a chunk of one, of the kind that `object` names."""
    # No id and no system_fingerprint; `created` is "request arrival time in seconds, the same in all chunks".
    return {"choices": choices, "created": int(site.now), "model": generation.request.model, "object": kind}


def whole(choices: list[Any], kind: str, generation: Generation, site: Site) -> dict[str, Any]:
    """A whole answer, with its usage."""
    return envelope(choices, kind, generation, site) | {"usage": usage_object(generation.usage)}


def chunk(content: dict[str, Any], reason: str | None, kind: str, generation: Generation, site: Site) -> dict[str, Any]:
    """A chunk of a stream's only choice, with this content; the last one has the `reason` why it ends."""
    # "finish_reason first up to v2026.0".
    choice: dict[str, Any] = {"index": 0, "logprobs": None, **content}
    choice = choice | {"finish_reason": reason} if site.edition == "observed" else {"finish_reason": reason, **choice}
    usage = {"usage": None} if generation.request.output.include_usage else {}
    return envelope([choice], kind, generation, site) | usage


def handshake(content: dict[str, Any], kind: str, generation: Generation, site: Site) -> bytes:
    """The newer server's first event if there is a token but no text yet: "no logprobs and no usage member"."""
    return event(envelope([{"index": 0, **content, "finish_reason": None}], kind, generation, site))


def ending(kind: str, generation: Generation, site: Site) -> tuple[bytes, ...]:
    """The usage, if requested, and [DONE]: "all of these go out in one write" with the last chunk."""
    if not generation.request.output.include_usage:
        return (DONE,)
    return event(whole([], kind, generation, site)), DONE
