"""`POST /v1/completions`: requests (facts C1), answers and streams (E5)."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import Choice, GenerationRequest, Limits, Output, Position, Stops
from mockserver.core.http import Call
from mockserver.core.seeding import alphanumerics
from mockserver.dialects.contracts import Contract, components
from mockserver.dialects.openai.checks import SHARED_CHECKS, Checks, RequestRules, accept, too_long
from mockserver.dialects.openai.errors import model_headers
from mockserver.dialects.openai.models import SNAPSHOTS, UNKNOWN, Family
from mockserver.dialects.openai.read import Body, sampling, stop_texts, text_prompts, whole
from mockserver.dialects.openai.refusals import refused, unsupported
from mockserver.dialects.openai.replies import (
    NOTHING,
    Flavour,
    Members,
    Rendering,
    Segment,
    legacy_logprobs,
    pretty,
    usage_object,
    write,
)
from mockserver.dialects.openai.streams import legacy_scores

_RULES = RequestRules(Contract(components(__package__, "openai"), "CompletionRequest"))
# What a request without a prompt continues, and how long its answer is, in tokens.
_NO_PROMPT, _USUAL_LENGTH = "<|endoftext|>", 16
# The ids of the tokens of the models that complete texts go so far.
_LAST_TOKEN = 100_257


def _prompt_tokens(body: Body, family: Family, model: str) -> Refusal | None:
    prompt = body["prompt"]
    if family is UNKNOWN or not isinstance(prompt, list):
        return None
    ids = chain.from_iterable(each if isinstance(each, list) else (each,) for each in prompt)
    wrong = next((id_ for id_ in ids if not isinstance(id_, str) and not 0 <= id_ <= _LAST_TOKEN), None)
    if wrong is None:
        return None
    return refused(f"Invalid token in prompt: {wrong}. Minimum value is 0, maximum value is {_LAST_TOKEN} (inclusive).")


def _completion_options(body: Body, family: Family, model: str) -> Refusal | None:
    if body.get("suffix") is not None and family is not UNKNOWN and "instruct" not in model[:64]:
        return unsupported("suffix")
    n, best = body.get("n") or 1, body.get("best_of")
    if best is not None and best > 1 and body.get("stream"):
        return refused("Streaming is not supported with 'best_of' greater than 1.", "best_of")
    if best is not None and best < n:
        hint = f"(HINT: You must set 'best_of' (currently {best}) to at least 'n' (currently {n}).)"
        return refused(f"You requested that the server return more choices than it will generate {hint}", "best_of")
    return None


_CHECKS: Checks = (
    *SHARED_CHECKS,
    ({"prompt"}, _prompt_tokens),
    ({"suffix", "best_of"}, _completion_options),
)


def read_completion(call: Call, scope: RequestScope, rules: RequestRules = _RULES) -> GenerationRequest | Refusal:
    """The request, or why it is refused by the rules of OpenAI, or of a vendor that differs a little."""
    asked = accept(call, scope, "completions", rules, _CHECKS)
    if isinstance(asked, Refusal):
        return asked
    body, model, family = asked
    prompt, limit = body.get("prompt"), whole(body.get("max_tokens"))
    prompts = text_prompts(_NO_PROMPT if prompt is None else prompt)
    longest, most = max([each.token_count for each in prompts]), _USUAL_LENGTH if limit is None else limit
    options = body.get("stream_options") or NOTHING
    refusal = too_long(longest, model, family, "completions", most)
    if refusal is not None:
        return refusal
    request = GenerationRequest(
        model=body["model"],
        prompts=prompts,
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=bool(options.get("include_usage")),
            echo=bool(body.get("echo")),
            logprobs=whole(body.get("logprobs")),
        ),
        limits=Limits(most, context=model.context),
        stops=Stops(stop_texts(body.get("stop"))),
        sampling=sampling(body),
        n=whole(body.get("n")) or 1,
        best_of=whole(body.get("best_of")) or 1,
    )
    return request if rules.adapt is None else rules.adapt(body, request)


def _around(rendering: Rendering) -> Members:
    generation, scope = rendering.generation, rendering.scope
    model, output = generation.request.model, generation.request.output
    return {
        "id": f"cmpl-{alphanumerics(scope.identity, 29, 'id')}",
        "created": int(scope.now),
        "model": SNAPSHOTS.get(model, model),
        **({"usage": None} if output.stream and output.include_usage else NOTHING),
    }


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    output = rendering.generation.request.output
    members = {"text": (choice.prompt.text if output.echo else "") + choice.text}
    if output.logprobs is None:
        return {**members, "logprobs": None}
    if not output.echo:
        return {**members, "logprobs": legacy_logprobs(choice.texts, choice.positions, len(choice.prompt.text))}
    texts, positions = [*choice.echo_texts, *choice.texts], [*choice.echo_positions, *choice.positions]
    return {**members, "logprobs": _echoed_logprobs(texts, positions)}


def _opening(rendering: Rendering, choice: Choice) -> Sequence[Members]:
    """The prompt, if it is echoed."""
    output = rendering.generation.request.output
    if not output.echo:
        return ()
    members = {"text": choice.prompt.text}
    if output.logprobs is None:
        return (members,)
    return ({**members, "logprobs": _echoed_logprobs(choice.echo_texts, choice.echo_positions)},)


def _echoed_logprobs(texts: Sequence[str], positions: Sequence[Position]) -> dict[str, Any]:
    """Log-probabilities from the beginning of the prompt on, whose first token has none: nothing predicts it."""
    rows = legacy_logprobs(texts, positions, 0)
    if texts:
        rows["token_logprobs"][0] = rows["top_logprobs"][0] = None
    return rows


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    beside = legacy_scores(rendering, choice, len(choice.prompt.text))
    return (Segment({"text": rendering.flavour.slot}, choice.texts, beside=beside),)


COMPLETION = Flavour(
    around=_around,
    counts=lambda rendering: usage_object(rendering.generation.usage),
    choice_members=_choice_members,
    segments=_segments,
    opening=_opening,
    # The last token has the finish reason.
    closing=lambda rendering, choice: None if choice.texts else {"text": "", "logprobs": None},
    headers=lambda rendering, around: model_headers(rendering.generation.request.model),
    kind="text_completion",
    chunk_kind="text_completion",
    chunk=("id", "object", "created", "choices", "model", "usage"),
    choice=("text", "index", "logprobs", "finish_reason"),
    part=("text", "index", "logprobs", "finish_reason"),
    plain=pretty,
    stream_headers=((b"content-type", b"text/event-stream"),),
)
write_completion = partial(write, COMPLETION)
