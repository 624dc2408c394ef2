"""`POST /llm/v1/chat/completions`: what is asked of a model, or refused (vendor note B5), and the answer in the format
of the page and of its two examples (B3).

QStash parses the body; then the engine behind it checks `top_logprobs`, the form of every field, the model, its context
window, and finally the values. It reports all faults of form together, as pydantic's list, but only one fault of value,
in an order of its own.

The examples have no `system_fingerprint`, nor does the observed edition. A stream opens with a chunk of the role and
closes with an empty text, finish reason and usage in one chunk; a key without a value is `null` in a choice, but there
is no `usage` key before the last chunk.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Choice, Constraint, GenerationRequest, Limits, Output, Stops
from mockserver.core.http import Call
from mockserver.core.seeding import hex_digits
from mockserver.dialects.contracts import by_edition, custom_words, editions, pydantic_words
from mockserver.dialects.openai.read import Body, chat_prompt, json_object, sampling, stop_texts, whole
from mockserver.dialects.openai.replies import Flavour, Members, Rendering, Segment, chat_logprobs, vllm_usage, write
from mockserver.dialects.openai.streams import scores
from mockserver.dialects.upstash.errors import chat_limits

_REQUEST = by_edition(editions(__package__), "ChatCompletionRequest")


def read_chat(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Upstash refuses it."""
    body = json_object(call.body)
    if isinstance(body, Refusal):
        return body
    contract = _REQUEST[scope.edition]
    faults: Sequence[Violation] = ()
    refusal = _misplaced_top_logprobs(body)
    if refusal is None and not contract.accepts(body):
        faults = contract.violations(body)
        misshapen = [_detail(fault) for fault in faults if not _is_out_of_range(fault)]
        # Two validators read the contract, and the strict one alone is asked for reasons.
        refusal = _refusal(misshapen) if misshapen or not faults else None
    if refusal is not None:
        return refusal
    model = scope.model(body["model"])
    if model is None:
        return Refusal(FailureKind.UNKNOWN_MODEL, param="model", model=body["model"])
    # The chat templates of both models leave out the `name` of participants.
    prompt = chat_prompt([{"role": each["role"], "content": each["content"]} for each in body["messages"]])
    limits = Limits(whole(body.get("max_tokens")), context=model.context)
    refusal = _too_long(prompt.token_count, limits) or _out_of_range(faults)
    if refusal is not None:
        return refusal
    format, alternatives = body.get("response_format") or {}, whole(body.get("top_logprobs")) or 0
    return GenerationRequest(
        model=model.id,
        prompts=(prompt,),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=True,
            logprobs=alternatives if body.get("logprobs") else None,
        ),
        limits=limits,
        stops=Stops(stop_texts(body.get("stop"))),
        # "maps tokens (specified by their token ID in the tokenizer) to an associated bias value"
        sampling=sampling(body),
        # "enables JSON mode, which guarantees the message the model generates is valid JSON"
        constraint=Constraint("json_object") if format.get("type") == "json_object" else None,
        n=whole(body.get("n")) or 1,
    )


def _too_long(prompt: int, limits: Limits) -> Refusal | None:
    """The refusal of a request that exceeds the context window; None if it fits."""
    completion, context = limits.max_tokens, limits.context
    if prompt < context if completion is None else prompt + completion <= context:
        return None
    said = f"This model's maximum context length is {context} tokens. However, you requested"
    if completion is None:
        said += f" {prompt} tokens in the messages, Please reduce the length of the messages."
    else:
        said += f" {prompt + completion} tokens ({prompt} in the messages, {completion} in the completion). "
        said += "Please reduce the length of the messages or completion."
    return Refusal(FailureKind.CONTEXT_LENGTH, said)


# --- faults of form ----------------------------------------------------------------------------------------------


def _misplaced_top_logprobs(body: Body) -> Refusal | None:
    """The refusal of `top_logprobs` out of its range or without `logprobs`, which vLLM checks first; None if valid."""
    alternatives = body.get("top_logprobs")
    if not isinstance(alternatives, int | float) or isinstance(alternatives, bool):
        return None
    if body.get("logprobs") is not True:
        # "logprobs must be set to true if this parameter is used."
        said = "when using `top_logprobs`, `logprobs` must be set to true."
    elif not 0 <= alternatives <= 20:
        # "An integer between 0 and 20"
        said = "`top_logprobs` must be a value in the interval [0, 20]."
    else:
        return None
    code, words = custom_words(said)
    return _refusal([{"type": code, "loc": ("body",), "msg": words}])._replace(param="top_logprobs")


def _detail(fault: Violation) -> Mapping[str, object]:
    code, words = pydantic_words(fault) or custom_words(fault.message)
    return {"type": code, "loc": ("body", *fault.path), "msg": words}


def _refusal(details: Sequence[Mapping[str, object]]) -> Refusal:
    return Refusal(FailureKind.INVALID_REQUEST, repr(details) if details else "")


# --- faults of value ---------------------------------------------------------------------------------------------

_RANGE_RULES = ("minimum", "maximum", "exclusiveMinimum", "minLength", "pattern")
# The engine's checks in its order; it only reports the first that fails.
_RANGES = {
    "n": "n must be at {bound} {expected}, got {whole}.",
    # "Number between -2.0 and 2.0."
    "presence_penalty": "presence_penalty must be in [-2, 2], got {number}.",
    "frequency_penalty": "frequency_penalty must be in [-2, 2], got {number}.",
    # "between 0 and 2"
    "temperature": "temperature must be in [0, 2], got {number}.",
    "top_p": "top_p must be in (0, 1], got {number}.",
    "max_tokens": "max_tokens must be at least 1, got {whole}.",
    "stop": "stop cannot contain an empty string.",
    # "an associated bias value from -100 to 100"
    "logit_bias": "logit_bias must be in [-100, 100], got {number}.",
}
_NO_TOKEN = "Found token_id in logit_bias that is not an integer or string representing an integer"


def _is_out_of_range(fault: Violation) -> bool:
    return fault.rule in _RANGE_RULES and bool(fault.path) and fault.path[0] in _RANGES


def _out_of_range(faults: Sequence[Violation]) -> Refusal | None:
    """The refusal of the first value that is out of its range for the engine, if all faults are such; None if there is
    none."""
    first = {str(fault.path[0]): fault for fault in reversed(faults)}
    name = next((name for name in _RANGES if name in first), None)
    if name is None:
        return None
    fault = first[name]
    found = fault.found if isinstance(fault.found, int | float) else 0
    said = (_NO_TOKEN if fault.rule == "pattern" else _RANGES[name]).format(
        bound="least" if fault.rule == "minimum" else "most",
        expected=fault.expected,
        # The engine stores most numbers as floats.
        number=float(found),
        whole=int(found),
    )
    return Refusal(FailureKind.INVALID_REQUEST, said, name)


# --- answers -----------------------------------------------------------------------------------------------------


def _around(rendering: Rendering) -> Members:
    scope, model = rendering.scope, rendering.generation.request.model
    around = {"id": f"cmpl-{hex_digits(scope.identity, 32, 'id')}", "created": int(scope.now), "model": model}
    # "you should refer to the system_fingerprint response parameter to monitor changes in the backend"
    documented = scope.edition == "documented"
    return {**around, "system_fingerprint": _system_fingerprint(scope.seed, model)} if documented else around


@lru_cache(maxsize=256)
def _system_fingerprint(seed: int, model: str) -> str:
    return f"fp_{hex_digits(seed, 10, 'system', model)}"


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    scored = rendering.generation.request.output.logprobs is not None
    return {
        "message": {"role": "assistant", "content": choice.text},
        "logprobs": {"content": chat_logprobs(choice)} if scored else None,
        # "null if the completion finished for some other reason including encountering the EOS token"
        "stop_reason": choice.stop,
    }


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    return (Segment({"content": rendering.flavour.slot}, choice.texts, beside=scores(rendering, choice)),)


def _closing(rendering: Rendering, choice: Choice) -> Members:
    """The last part of a choice: without `logprobs`, and with `stop_reason` only if a stop sequence was met."""
    ending = {"delta": {"content": ""}}
    return ending if choice.stop is None else {**ending, "stop_reason": choice.stop}


_KEYS = ("id", "object", "created", "model", "system_fingerprint", "choices", "usage")
_CHAT = Flavour(
    around=_around,
    counts=lambda rendering: vllm_usage(rendering.generation.usage),
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
write_chat = partial(write, _CHAT)
