"""The members around the choices of every answer, of completions and chats (note A3: recorded bodies and streams).

Keys on the wire: id, choices, created, model, system_fingerprint, object, usage, time_info.
"""

from functools import lru_cache
from typing import Any

from mockserver.core.dialects import Site
from mockserver.core.generation import Generation
from mockserver.core.seeding import hex_digits, uuid4_text
from mockserver.core.timeline import Frames, Lazy, Pace, RawHeaders, Reply
from mockserver.dialects.openai.events import stream_reply

# What the service adds to queue, prompt and completion time before it looks at the clock again (recorded: 1.5 to 4 ms).
_BOOKKEEPING = 0.002


def answer_id(site: Site) -> str:
    """The id of an answer, which has the prefix of chats even for a completion."""
    return f"chatcmpl-{uuid4_text(site.identity, 'id')}"


def id_headers(id: str) -> RawHeaders:
    """The header that repeats the id."""
    return ((b"inference-id", id.encode()),)


def streamed(frames: Lazy[Frames], id: str) -> Reply:
    """A reply of chunks."""
    return stream_reply(frames, ((b"content-type", b"text/event-stream; charset=utf-8"), *id_headers(id)))


def enveloped(choices: list[Any], id: str, kind: str, generation: Generation, site: Site) -> dict[str, Any]:
    """A body or a chunk of this kind with its choices."""
    model = generation.request.model
    return {
        "id": id,
        "choices": choices,
        "created": int(site.now),
        "model": model,
        "system_fingerprint": _system_fingerprint(site.seed, model),
        "object": kind,
    }


@lru_cache(maxsize=256)
def _system_fingerprint(seed: int, model: str) -> str:
    return f"fp_{hex_digits(seed, 20, 'system', model)}"


def times(pace: Pace, site: Site) -> dict[str, float]:
    """The times that the engine states, in seconds to the nanosecond."""
    total = sum((pace.queue, pace.prefill, pace.decode)) + (_BOOKKEEPING if pace.schedule else 0.0)
    return {
        "queue_time": round(pace.queue, 9),
        "prompt_time": round(pace.prefill, 9),
        "completion_time": round(pace.decode, 9),
        "total_time": round(total, 9),
        # An integer in the captures of the page's time, a fraction today.
        "created": int(site.now) if site.edition == "documented" else round(site.now, 6),
    }
