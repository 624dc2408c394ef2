"""Generations in the format of `POST /v1/chat/completions` (vendor note A3: recorded bodies)."""

from functools import partial
from typing import Any

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation, GenerationRequest, Unseen
from mockserver.core.timeline import Lazy, Pace, Reply
from mockserver.dialects.cerebras.chat_chunks import chat_frames
from mockserver.dialects.cerebras.envelope import answer_id, enveloped, id_headers, streamed, times
from mockserver.dialects.cerebras.families import ALL_DETAILS, family_of
from mockserver.dialects.cerebras.logprobs import stated
from mockserver.dialects.cerebras.options import ChatOptions
from mockserver.dialects.cerebras.style import Style
from mockserver.dialects.openai.bodies import body_reply, usage_object

# The order of today's answers, in which details are next to what they are details of.
_TODAY = (
    "total_tokens",
    "completion_tokens",
    "completion_tokens_details",
    "prompt_tokens",
    "prompt_tokens_details",
)


def write_chat(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    request, id = generation.request, answer_id(site)
    options = request.extra if isinstance(request.extra, ChatOptions) else ChatOptions()
    family = family_of(request.model)
    era = family.era or site.edition
    # What a stub says keeps to the stub's pieces.
    joins = era == site.edition == "observed" and not generation.prepared
    style = Style(family, options.shown, era, site.identity, joins)
    closing: dict[str, Any] = {"usage": _usage(generation, style, options), "time_info": _times(pace, style, site)}
    if options.any_tier:
        # "Only present when service_tier was set to auto in the request." Nothing is ever too busy for the default.
        closing["service_tier_used"] = "default"
    envelope = partial(enveloped, id=id, generation=generation, site=site)
    if request.output.stream:
        around = partial(envelope, kind="chat.completion.chunk")
        return streamed(Lazy(partial(chat_frames, generation, style, around, closing)), id)
    choices = [_choice(choice, request, style) for choice in generation.choices]
    return body_reply(envelope(choices, kind="chat.completion") | closing, generation, headers=id_headers(id))


def _choice(choice: Choice, request: GenerationRequest, style: Style) -> dict[str, Any]:
    written = {
        "finish_reason": choice.finish_reason,
        "index": choice.index,
        "message": style.message(choice),
        **stated(choice, request, style.shown),
    }
    return dict(sorted(written.items()))


def _usage(generation: Generation, style: Style, options: ChatOptions) -> dict[str, Any]:
    """The usage with the details that the model's family states, in the order of its era (recorded)."""
    usage, family = generation.usage, style.family
    prompt: dict[str, Any] = {"cached_tokens": usage.cached_tokens}
    if family.sees:
        prompt["image_tokens"] = options.image_tokens
    stated: dict[str, Any] = {**usage_object(usage), "prompt_tokens_details": prompt}
    unseen = usage.unseen or Unseen()
    # A model without reasoning of its own has some if a stub prescribes it.
    more = generation.request.prediction is not None or (unseen.reasoning > 0 and not family.efforts)
    details = ALL_DETAILS if more else family.details
    if details:
        known = _details(unseen)
        stated["completion_tokens_details"] = {name: known[name] for name in details}
    return stated if style.era == "documented" else {name: stated[name] for name in _TODAY if name in stated}


def _details(unseen: Unseen) -> dict[str, int]:
    return {
        "accepted_prediction_tokens": unseen.accepted,
        "rejected_prediction_tokens": unseen.rejected,
        "reasoning_tokens": unseen.reasoning,
    }


def _times(pace: Pace, style: Style, site: Site) -> dict[str, float]:
    """The engine's times. Today they begin with `created`, which is a fraction in all recorded chats."""
    stated = times(pace, site) | {"created": round(site.now, 6)}
    return stated if style.era == "documented" else {"created": stated["created"], **stated}
