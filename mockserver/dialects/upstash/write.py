"""Answers in the format of `POST /llm/v1/chat/completions`: the page, and its two examples (vendor note B3).

The examples have no `system_fingerprint`, nor does the observed edition. A stream opens with a chunk of the role and
closes with an empty text, finish reason and usage in one chunk; a key without a value is `null` in a choice, but there
is no `usage` key before the last chunk.
"""

from collections.abc import Sequence
from functools import lru_cache, partial

from mockserver.core.dialects import RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import Reply, TokenTiming
from mockserver.dialects.openai.flavour import Flavour, Rendering, Segment
from mockserver.dialects.openai.flavour import write as write_answer
from mockserver.dialects.openai.replies import Members, chat_logprobs
from mockserver.dialects.upstash.errors import chat_limits


def write(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    return write_answer(_CHAT, generation, pace, scope)


def _around(rendering: Rendering) -> Members:
    scope, model = rendering.scope, rendering.generation.request.model
    around = {"id": f"cmpl-{hex_digits(scope.identity, 32, 'id')}", "created": int(scope.now), "model": model}
    # "you should refer to the system_fingerprint response parameter to monitor changes in the backend"
    documented = scope.edition == "documented"
    return {**around, "system_fingerprint": _system_fingerprint(scope.seed, model)} if documented else around


@lru_cache(maxsize=256)
def _system_fingerprint(seed: int, model: str) -> str:
    return f"fp_{hex_digits(seed, 10, 'system', model)}"


def _counts(rendering: Rendering) -> Members:
    usage = rendering.generation.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "completion_tokens": usage.completion_tokens,
    }


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    scored = rendering.generation.request.output.logprobs is not None
    return {
        "message": {"role": "assistant", "content": choice.text},
        "logprobs": {"content": chat_logprobs(choice)} if scored else None,
        # "null if the completion finished for some other reason including encountering the EOS token"
        "stop_reason": choice.stop,
    }


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    beside = None if rendering.generation.request.output.logprobs is None else partial(_scores, choice)
    return (Segment({"content": rendering.flavour.encoding.slot}, choice.texts, beside=beside),)


def _scores(choice: Choice, at: range) -> Members:
    return {"logprobs": {"content": chat_logprobs(choice, at.start, at.stop)}}


def _closing(rendering: Rendering, choice: Choice) -> Members:
    """The last part of a choice: without `logprobs`, and with `stop_reason` only if a stop sequence was met."""
    ending = {"delta": {"content": ""}}
    return ending if choice.stop is None else {**ending, "stop_reason": choice.stop}


_KEYS = ("id", "object", "created", "model", "system_fingerprint", "choices", "usage")
_CHAT = Flavour(
    around=_around,
    counts=_counts,
    choice_members=_choice_members,
    segments=_segments,
    opening=lambda rendering, choice: ({"delta": {"role": "assistant"}},),
    closing=_closing,
    headers=lambda rendering, around: chat_limits(rendering.scope.limit_states),
    body=_KEYS,
    chunk=_KEYS,
    choice=("index", "message", "logprobs", "finish_reason", "stop_reason"),
    part=("index", "delta", "logprobs", "finish_reason", "stop_reason"),
    usage="last",
)
