"""`POST /llm/v1/chat/completions` becomes a request to a model, or is refused (vendor note B5).

QStash parses the body; then the engine behind it checks `top_logprobs`, the form of every field, the model, its context
window, and finally the values. It reports all faults of form together, as pydantic's list, but only one fault of value,
in an order of its own.
"""

from collections.abc import Callable, Mapping, Sequence

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, Stops
from mockserver.dialects.contracts import by_edition, custom_words, editions, pydantic_words
from mockserver.dialects.openai.read import Body, chat_prompt, json_object, sampling, stop_texts, whole

_REQUEST = by_edition(editions(__package__), "ChatCompletionRequest")


def read(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Upstash refuses it."""
    body = json_object(call.body)
    if isinstance(body, Refusal):
        return body
    contract = _REQUEST[scope.edition]
    faults = () if contract.accepts(body) else contract.violations(body)
    misshapen = [_detail(fault) for fault in faults if not _is_out_of_range(fault)]
    refusal = _misplaced_top_logprobs(body) or (_refusal(misshapen) if misshapen else None)
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
    return Refusal(FailureKind.INVALID_REQUEST, repr(details))


# --- faults of value ---------------------------------------------------------------------------------------------

_RANGE_RULES = ("minimum", "maximum", "exclusiveMinimum", "minLength", "pattern")


def _number(fault: Violation) -> float:
    """The number of the request as a float, which is how the engine stores and prints it."""
    return float(fault.found) if isinstance(fault.found, int | float) else 0.0


def _whole(fault: Violation) -> int:
    return int(fault.found) if isinstance(fault.found, int | float) else 0


def _bias(fault: Violation) -> str:
    if fault.rule == "pattern":
        return "Found token_id in logit_bias that is not an integer or string representing an integer"
    # "an associated bias value from -100 to 100"
    return f"logit_bias must be in [-100, 100], got {_number(fault)}."


# The engine's checks in its order; it only reports the first that fails.
_RANGES: Mapping[str, Callable[[Violation], str]] = {
    "n": lambda fault: (
        f"n must be at {'least' if fault.rule == 'minimum' else 'most'} {fault.expected}, got {_whole(fault)}."
    ),
    # "Number between -2.0 and 2.0."
    "presence_penalty": lambda fault: f"presence_penalty must be in [-2, 2], got {_number(fault)}.",
    "frequency_penalty": lambda fault: f"frequency_penalty must be in [-2, 2], got {_number(fault)}.",
    # "between 0 and 2"
    "temperature": lambda fault: f"temperature must be in [0, 2], got {_number(fault)}.",
    "top_p": lambda fault: f"top_p must be in (0, 1], got {_number(fault)}.",
    "max_tokens": lambda fault: f"max_tokens must be at least 1, got {_whole(fault)}.",
    "stop": lambda fault: "stop cannot contain an empty string.",
    "logit_bias": _bias,
}


def _is_out_of_range(fault: Violation) -> bool:
    return fault.rule in _RANGE_RULES and bool(fault.path) and fault.path[0] in _RANGES


def _out_of_range(faults: Sequence[Violation]) -> Refusal | None:
    """The refusal of the first value that is out of its range for the engine, if all faults are such; None if there is
    none."""
    first = {str(fault.path[0]): fault for fault in reversed(faults)}
    name = next((name for name in _RANGES if name in first), None)
    return None if name is None else Refusal(FailureKind.INVALID_REQUEST, _RANGES[name](first[name]), name)
