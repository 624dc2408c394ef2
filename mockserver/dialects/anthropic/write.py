"""Messages as Anthropic writes them (facts A6 to A9): the members, the order and the usage that are its own."""

from functools import partial

from mockserver.core.seeding import alphanumerics
from mockserver.dialects.anthropic.models import family_of, resolved
from mockserver.dialects.messages.write import MessageFlavour, Writing, write
from mockserver.dialects.openai.replies import Members


def _around(writing: Writing) -> Members:
    model = resolved(writing.generation.request.model)
    id_ = f"msg_011{alphanumerics(writing.scope.identity, 21, 'id')}"
    return {"model": model, "id": id_, "container": None, "diagnostics": None}


def _usage(writing: Writing, when: str) -> Members:
    """The tokens that are neither read from the cache nor written to it are counted apart from these; which members
    there are depends on the model (recorded in August 2026)."""
    usage, request = writing.generation.usage, writing.generation.request
    family = family_of(request.model)
    read, made, said = usage.cached_tokens, usage.written_tokens, usage.completion_tokens
    hour = made if request.cacheable is not None and request.cacheable.lifetime > 300 else 0
    members = {
        "input_tokens": max(usage.prompt_tokens - read - made, 0),
        "cache_creation_input_tokens": made,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": made - hour, "ephemeral_1h_input_tokens": hour},
        "output_tokens": min(said, 1) if when == "start" else said,
        "output_tokens_details": {"thinking_tokens": usage.unseen.reasoning if usage.unseen else 0},
        "service_tier": "standard",
        "inference_geo": "global" if family.located else "not_available",
    }
    lacking = {"cache_creation", "service_tier", "inference_geo"} if when == "end" else set[str]()
    if when == "start" or not (family.counted or writing.options.thoughts):
        lacking.add("output_tokens_details")
    return {name: value for name, value in members.items() if name not in lacking}


write_message = partial(
    write,
    MessageFlavour(
        message=(
            *("model", "id", "type", "role", "content", "container"),
            *("stop_reason", "stop_sequence", "stop_details", "usage", "diagnostics"),
        ),
        ending=("stop_reason", "stop_sequence", "stop_details", "container"),
        around=_around,
        usage=_usage,
        call_id=lambda writing, place: f"toolu_01{alphanumerics(writing.scope.identity, 22, 'call', place)}",
        calling={"caller": {"type": "direct"}},
        pings=True,
        pads=True,
        tidies=True,
    ),
)
