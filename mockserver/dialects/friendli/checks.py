"""What no schema says: fields that exclude each other, and requests that do not fit their model."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from mockserver.core.dialects import Edition, Model
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import GenerationRequest
from mockserver.dialects.friendli.errors import invalid
from mockserver.dialects.friendli.formats import BRANCHES, documented_format, has_several_branches, observed_format
from mockserver.dialects.friendli.models import is_by_vllm, vocabulary_size
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.openai.tools import function_tools, parameters_fault, tool_choice, unknown_tool

Check = Callable[[Body], Iterable[Violation]]

_EMBEDDINGS = ("token_index_to_replace", "embedding_to_replace")
_COMPATIBILITY = ("beam_compat_pre_normalization", "beam_compat_no_post_normalization")

# The default values of fields.
_DEFAULTS: Body = {
    "stream": False,
    "stream_options": {},
    "min_tokens": 0,
    "n": 1,
    "stop": [],
    "length_penalty": 1.0,
    "early_stopping": False,
    "beam_compat_pre_normalization": False,
    "beam_compat_no_post_normalization": False,
    "top_k": 0,
    "top_p": 1.0,
    "encoder_no_repeat_ngram": 1,
    "encoder_repetition_penalty": 1.0,
}


def conflicts(body: Body, checks: Iterable[Check]) -> tuple[Violation, ...]:
    """All incompatibilities of valid fields, in the order of the checks."""
    return tuple(violation for check in checks for violation in check(body))


def _asked(body: Body, *names: str) -> Iterator[str]:
    return (name for name in names if body.get(name) is not None and body[name] != _DEFAULTS.get(name))


def _conflict(name: str, message: str) -> Violation:
    return Violation((name,), "conflict", message)


def _one_prompt(body: Body) -> Iterator[Violation]:
    # "Either prompt or tokens field is required."
    given = list(_asked(body, "prompt", "tokens"))
    if not given:
        yield Violation(("prompt",), "required", "Field required")
    if len(given) > 1:
        yield _conflict("tokens", "only one of prompt and tokens is allowed")


def _one_limit(body: Body) -> Iterator[Violation]:
    for name, other in (("max_total_tokens", "max_tokens"), ("min_total_tokens", "min_tokens")):
        if len(list(_asked(body, name, other))) > 1:
            # "Only one argument between max_tokens and max_total_tokens is allowed."
            yield _conflict(name, f"only one of {other} and {name} is allowed")


def _seeds(body: Body) -> Iterator[Violation]:
    # "You can pass a list of seed values to control all of the independent generations."
    seeds, n = body.get("seed"), body.get("n") or 1
    if isinstance(seeds, list) and len(seeds) not in (0, 1, n):
        yield _conflict("seed", f"the number of seeds should be that of the choices, {n:g}")


def _encoder_options(body: Body) -> Iterator[Violation]:
    # "Only allowed for encoder-decoder models." There are none here.
    for name in _asked(body, "encoder_no_repeat_ngram", "encoder_repetition_penalty"):
        yield _conflict(name, f"{name} is only allowed for encoder-decoder models")


def _embeddings(body: Body) -> Iterator[Violation]:
    places, vectors = body.get("token_index_to_replace") or [], body.get("embedding_to_replace") or []
    if bool(places) != bool(vectors):
        given, missing = _EMBEDDINGS if places else reversed(_EMBEDDINGS)
        yield _conflict(given, f"{given} needs {missing}")
    elif places and len(vectors) % len(places):
        # "A list of flattened embedding vectors", one for each index.
        yield _conflict("embedding_to_replace", "embedding_to_replace should hold one vector for each index")
    tokens = body.get("tokens")
    if tokens and any(place >= len(tokens) for place in places):
        yield _conflict("token_index_to_replace", f"the prompt has only {len(tokens)} tokens")


def _beams(body: Body) -> Iterator[Violation]:
    if body.get("num_beams") is None:
        # "Only allowed for beam search."
        for name in _asked(body, "length_penalty", "early_stopping", *_COMPATIBILITY):
            yield _conflict(name, f"{name} is only allowed with beam search (num_beams)")
        return
    # "Not supported when using beam search."
    for name in _asked(body, "stream", "n", "stop"):
        yield _conflict(name, f"{name} is not supported with beam search (num_beams)")
    # "Arguments for controlling random sampling such as top_k and top_p are not allowed for this option."
    if (body.get("beam_search_type") or "DETERMINISTIC") == "DETERMINISTIC":
        for name in _asked(body, "top_k", "top_p"):
            yield _conflict(name, f"{name} is not allowed with DETERMINISTIC beam search (num_beams)")


def _normalization(body: Body) -> Iterator[Violation]:
    before, after = _COMPATIBILITY
    if body.get(after) and not body.get(before):
        yield _conflict(after, f"{after} needs {before}")


def _positions(body: Body) -> Iterator[Violation]:
    # "Each prompt token's position id will be interpreted as this value."
    tokens, positions = body.get("tokens"), body.get("position_ids")
    if tokens and positions and len(tokens) != len(positions):
        yield _conflict("position_ids", f"position_ids should have one entry for each of {len(tokens)} tokens")


def _stream_options(body: Body) -> Iterator[Violation]:
    # "It can only be used when `stream: true`."
    if not body.get("stream"):
        for name in _asked(body, "stream_options"):
            yield _conflict(name, f"{name} can only be used with stream")


def _fewest_in_a_form(body: Body) -> Iterator[Violation]:
    # "When response_format is specified, min_tokens field is unsupported."
    if body.get("response_format") is not None:
        for name in _asked(body, "min_tokens"):
            yield _conflict(name, f"{name} is not supported with response_format")


# --- of chats ---------------------------------------------------------------------------------------------------------


def _assistants(body: Body) -> Iterator[Violation]:
    # "The content of assistant message. Required unless `tool_calls` is specified."
    for place, message in enumerate(body["messages"]):
        if message["role"] == "assistant" and message.get("content") is None and not message.get("tool_calls"):
            yield Violation(("messages", place, "content"), "required", "Field required")


def _top_logprobs(body: Body) -> Iterator[Violation]:
    # "`logprobs` must be set to true if this parameter is used."
    if not body.get("logprobs"):
        for name in _asked(body, "top_logprobs"):
            yield _conflict(name, f"{name} can only be used with logprobs")


def _beside_tools(body: Body) -> Iterator[Violation]:
    # "When `tools` is specified, `min_tokens` and `response_format` fields are unsupported."
    for name in _asked(body, "response_format", "min_tokens") if body.get("tools") else ():
        yield _conflict(name, f"The '{name}' field cannot be set when tools are specified")


def _tools(body: Body) -> Iterator[Violation]:
    offered = [row["function"] for row in body.get("tools") or ()]
    for place, function in enumerate(offered):
        reason = parameters_fault(function)
        if reason:
            where = ("tools", place, "function", "parameters")
            yield Violation(where, "conflict", f"invalid tools: parameters {reason}")
    wanted = unknown_tool(tool_choice(body.get("tool_choice")), function_tools(body.get("tools")))
    # A choice among no tools is tolerated.
    if offered and wanted is not None:
        yield _conflict("tool_choice", f"tool_choice names a function that is not among the tools: {wanted!r}")


def _branches(body: Body) -> Iterator[Violation]:
    if is_by_vllm(body.get("model") or ""):
        return
    for place, row in enumerate(body.get("tools") or ()):
        if has_several_branches(row["function"].get("parameters")):
            yield Violation(("tools", place, "function", "parameters"), "conflict", f"invalid tools: {BRANCHES}")
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema" and has_several_branches(wanted["json_schema"]["schema"]):
        yield Violation(("response_format", "json_schema", "schema"), "conflict", BRANCHES)


_SHARED: tuple[Check, ...] = (_one_prompt, _one_limit, _seeds, _encoder_options, _embeddings)
CHECKS: Mapping[Edition, tuple[Check, ...]] = {
    "documented": (*_SHARED, _beams, _normalization, _positions, documented_format),
    "observed": (*_SHARED, _stream_options, _fewest_in_a_form, observed_format),
}
_CHATS: tuple[Check, ...] = (_assistants, _seeds, _top_logprobs, _beside_tools, _tools)
CHAT_CHECKS: Mapping[Edition, tuple[Check, ...]] = {
    "documented": (*_CHATS, documented_format),
    "observed": (*_CHATS, _stream_options, _fewest_in_a_form, observed_format, _branches),
}

# --- fit -------------------------------------------------------------------------------------------------------------


def misfits(body: Body, request: GenerationRequest, model: Model) -> Refusal | None:
    """The refusal of a request that is too large for the model or contradicts itself; None if it fits."""
    too_long = tuple(_too_long(body, request, model))
    if too_long:
        return invalid(too_long, FailureKind.CONTEXT_LENGTH)
    impossible = (*_outside_the_vocabulary(body, request), *_no_room(body, request))
    return invalid(impossible) if impossible else None


def _too_long(body: Body, request: GenerationRequest, model: Model) -> Iterator[Violation]:
    # "The length of your input tokens plus max_tokens should not exceed the model's maximum length."
    longest = max(prompt.token_count for prompt in request.prompts)
    most, total = body.get("max_tokens") or 0, body.get("max_total_tokens") or 0
    if longest > model.context:
        yield _misfit(_prompt_field(body), f"the prompt has {longest} tokens, {_window(model)}")
    elif longest + most > model.context:
        yield _misfit("max_tokens", f"the prompt has {longest} tokens and max_tokens is {most:.15g}, {_window(model)}")
    if total > model.context:
        yield _misfit("max_total_tokens", f"max_total_tokens is {total:.15g}, {_window(model)}")


def _outside_the_vocabulary(body: Body, request: GenerationRequest) -> Iterator[Violation]:
    # "Numbers between 0 and the vocab size of the model (both inclusive) are allowed."
    size = vocabulary_size(request.model)
    if (body.get("top_k") or 0) > size:
        yield Violation(("top_k",), "maximum", "", size)


def _no_room(body: Body, request: GenerationRequest) -> Iterator[Violation]:
    longest = max(prompt.token_count for prompt in request.prompts)
    room = request.limits.context - longest
    if room < 0:
        # "The maximum number of tokens including both the generated result and the input tokens."
        yield _misfit("max_total_tokens", f"the prompt alone has {longest} tokens")
        return
    most = room if request.limits.max_tokens is None else min(request.limits.max_tokens, room)
    if request.limits.min_tokens > most:
        name = "min_tokens" if body.get("min_total_tokens") is None else "min_total_tokens"
        yield _misfit(name, f"{name} asks for more tokens than there may be, {most}")


def _misfit(name: str, message: str) -> Violation:
    return Violation((name,), "context", message)


def _prompt_field(body: Body) -> str:
    return next(name for name in ("messages", "prompt", "tokens") if body.get(name) is not None)


def _window(model: Model) -> str:
    return f"the model's maximum length is {model.context}"
