"""What no schema says of valid fields: which exclude each other, and which schemas and tools nothing conforms to."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from mockserver.core.dialects import Edition
from mockserver.core.failures import Violation
from mockserver.dialects.friendli.formats import branch_violations, format_violations
from mockserver.dialects.friendli.models import has_encoder
from mockserver.dialects.openai.read import Body, parameters_fault, tool_choice

# What is wrong between valid fields, and the fields without which nothing can be.
Check = tuple[frozenset[str], Callable[[Body], Iterable[Violation]]]
# The default values of fields, which conflict with nothing.
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


def conflicts(body: Body, checks: Iterable[Check]) -> list[Violation]:
    """All incompatibilities of valid fields, in the order of the checks."""
    found: list[Violation] = []
    for fields, check in checks:
        if not fields.isdisjoint(body):
            found += check(body)
    return found


def _on(check: Callable[[Body], Iterable[Violation]], *fields: str) -> Check:
    return frozenset(fields), check


def _refused(message: str, when: Callable[[Body], object], *fields: str) -> Check:
    """Each of the fields is refused with the message, if it is set and the body is such a one."""

    def check(body: Body) -> Iterator[Violation]:
        for name in fields if when(body) else ():
            if _is_set(body, name):
                yield _conflict(name, message.format(name))

    return frozenset(fields), check


def _is_set(body: Body, name: str) -> bool:
    return body.get(name) is not None and body[name] != _DEFAULTS.get(name)


def _conflict(name: str, message: str) -> Violation:
    return Violation((name,), "conflict", message)


def _seeds(body: Body) -> Iterator[Violation]:
    # "You can pass a list of seed values to control all of the independent generations."
    seeds, n = body.get("seed"), body.get("n") or 1
    if isinstance(seeds, list) and len(seeds) not in (0, 1, n):
        yield _conflict("seed", f"the number of seeds should be that of the choices, {n:g}")


_VECTORS = ("token_index_to_replace", "embedding_to_replace")


def _embeddings(body: Body) -> Iterator[Violation]:
    places, vectors = body.get("token_index_to_replace") or [], body.get("embedding_to_replace") or []
    if bool(places) != bool(vectors):
        given, missing = _VECTORS if places else reversed(_VECTORS)
        yield _conflict(given, f"{given} needs {missing}")
    elif places and len(vectors) % len(places):
        # "A list of flattened embedding vectors", one for each index.
        yield _conflict("embedding_to_replace", "embedding_to_replace should hold one vector for each index")
    tokens = body.get("tokens")
    if tokens and any(place >= len(tokens) for place in places):
        yield _conflict("token_index_to_replace", f"the prompt has only {len(tokens)} tokens")


def _positions(body: Body) -> Iterator[Violation]:
    # "Each prompt token's position id will be interpreted as this value."
    tokens, positions = body.get("tokens"), body.get("position_ids")
    if tokens and positions and len(tokens) != len(positions):
        yield _conflict("position_ids", f"position_ids should have one entry for each of {len(tokens)} tokens")


def _is_random(body: Body) -> bool:
    return body.get("num_beams") is None or (body.get("beam_search_type") or "DETERMINISTIC") != "DETERMINISTIC"


_BEFORE, _AFTER = "beam_compat_pre_normalization", "beam_compat_no_post_normalization"
_BEAMS = (
    # "Only allowed for beam search."
    _refused(
        "{} is only allowed with beam search (num_beams)",
        lambda body: body.get("num_beams") is None,
        *("length_penalty", "early_stopping", _BEFORE, _AFTER),
    ),
    # "Not supported when using beam search."
    _refused(
        "{} is not supported with beam search (num_beams)",
        lambda body: body.get("num_beams") is not None,
        *("stream", "n", "stop"),
    ),
    # "Arguments for controlling random sampling such as top_k and top_p are not allowed for this option."
    _refused(
        "{} is not allowed with DETERMINISTIC beam search (num_beams)",
        lambda body: not _is_random(body),
        *("top_k", "top_p"),
    ),
    _refused(f"{{}} needs {_BEFORE}", lambda body: not body.get(_BEFORE), _AFTER),
)


def _format(edition: Edition) -> Check:
    return _on(partial(format_violations, edition=edition), "response_format")


_OBSERVED = (
    # "It can only be used when `stream: true`."
    _refused("{} can only be used with stream", lambda body: not body.get("stream"), "stream_options"),
    # "When response_format is specified, min_tokens field is unsupported."
    _refused(
        "{} is not supported with response_format",
        lambda body: body.get("response_format") is not None,
        "min_tokens",
    ),
    _format("observed"),
)
_TEXTS = (
    # "Either prompt or tokens field is required."
    _refused("only one of prompt and {} is allowed", lambda body: _is_set(body, "prompt"), "tokens"),
    # "Only one argument between max_tokens and max_total_tokens is allowed."
    _refused("only one of max_tokens and {} is allowed", lambda body: _is_set(body, "max_tokens"), "max_total_tokens"),
    _refused("only one of min_tokens and {} is allowed", lambda body: _is_set(body, "min_tokens"), "min_total_tokens"),
    _on(_seeds, "seed"),
    _refused(
        "{} is only allowed for decoder-only models",
        lambda body: has_encoder(body.get("model")),
        *("max_total_tokens", "min_total_tokens"),
    ),
    _refused(
        "{} is only allowed for encoder-decoder models",
        lambda body: not has_encoder(body.get("model")),
        *("encoder_no_repeat_ngram", "encoder_repetition_penalty"),
    ),
    _on(_embeddings, *_VECTORS),
)
CHECKS: Mapping[Edition, tuple[Check, ...]] = {
    "documented": (*_TEXTS, *_BEAMS, _on(_positions, "position_ids"), _format("documented")),
    "observed": (*_TEXTS, *_OBSERVED),
}

# --- of chats ---------------------------------------------------------------------------------------------------------


def _tools(body: Body) -> Iterator[Violation]:
    rows = [(place, row["function"]) for place, row in enumerate(body.get("tools") or ())]
    # A choice among no tools is tolerated.
    wanted = tool_choice(body.get("tool_choice")).names if rows else ()
    functions = [(row["name"], row.get("parameters"), ("tools", at, "function", "parameters")) for at, row in rows]
    yield from tool_conflicts(functions, wanted)


def tool_conflicts(
    functions: Sequence[tuple[str, object, tuple[str | int, ...]]], wanted: Iterable[str]
) -> Iterator[Violation]:
    """Parameters that no arguments fit, of functions on offer, each with its name, its parameters and their place in
    the body; and the choice of a function that is not on offer."""
    for _, parameters, place in functions:
        reason = parameters_fault({"parameters": parameters})
        if reason:
            yield Violation(place, "conflict", f"invalid tools: parameters {reason}")
    names = {name for name, _, _ in functions}
    for name in wanted:
        if name not in names:
            yield _conflict("tool_choice", f"tool_choice names a function that is not among the tools: {name!r}")


def _branches(body: Body) -> list[Violation]:
    wanted = body.get("response_format") or {}
    schema = wanted["json_schema"]["schema"] if wanted.get("type") == "json_schema" else None
    return branch_violations(body, schema, ("response_format", "json_schema", "schema"))


_CHATS = (
    _on(_seeds, "seed"),
    # "`logprobs` must be set to true if this parameter is used."
    _refused("{} can only be used with logprobs", lambda body: not body.get("logprobs"), "top_logprobs"),
    # "When `tools` is specified, `min_tokens` and `response_format` fields are unsupported."
    _refused(
        "The '{}' field cannot be set when tools are specified",
        lambda body: body.get("tools"),
        *("response_format", "min_tokens"),
    ),
    _on(_tools, "tools"),
)
CHAT_CHECKS: Mapping[Edition, tuple[Check, ...]] = {
    "documented": (*_CHATS, _format("documented")),
    "observed": (*_CHATS, *_OBSERVED, _on(_branches, "tools", "response_format")),
}
# The fields without which a chat has no conflicts.
CHAT_FIELDS = frozenset().union(*[fields for checks in CHAT_CHECKS.values() for fields, _ in checks])
