"""What the operations read alike: the body, kept to the contract of its place, its model, and controls of the answer;
and the rate limits, with the headers of every answer.

A model that can reason does so unless that is switched off: by `chat_template_kwargs.enable_thinking` or an effort of
`none`, which some models obey, or by a `reasoning_budget` of 0, which all obey. Its thoughts are in a field of their
own, the default of models since December 2025, or in the content between `<think>` and `</think>`. Of some models that
are told not to think, they were seen in the content, with only the closing tag (the vendor's own tools say so).
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mockserver.core.dialects import Edition, Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Effort, GenerationRequest, Limits, Prompt, Sampling, Stops
from mockserver.core.http import Call, RawHeaders
from mockserver.core.json_values import is_shallow
from mockserver.core.quotas import PERIODS, Allowance, Limit, LimitState, LimitUnit, QuotaPolicy, tightest_by_measure
from mockserver.dialects.contracts import Contract, editions
from mockserver.dialects.friendli.checks import is_deterministic
from mockserver.dialects.friendli.errors import invalid, not_found
from mockserver.dialects.friendli.models import TRAITS, ReasoningMode
from mockserver.dialects.openai.errors import limit_headers
from mockserver.dialects.openai.models import EFFORTS
from mockserver.dialects.openai.read import Body, bearer, json_object, token_biases
from mockserver.dialects.openai.replies import date_header

# --- places -----------------------------------------------------------------------------------------------------------

# The name that answers state of a model, and the model; or the refusal of a request that asks for none there is.
AskedModel = tuple[str, Model] | Refusal
# Finds the model that the `model` field of a request asks for.
Place = Callable[[str | None, RequestScope], AskedModel]


def container(name: str | None, scope: RequestScope) -> AskedModel:
    """A container needs no name: it has one model, which its answers do not name then."""
    return serverless(name, scope) if name else ("", next(iter(scope.models), Model("")))


def serverless(name: str | None, scope: RequestScope) -> AskedModel:
    """The shared endpoints take a code of the catalogue."""
    name = name or ""
    model = scope.model(name)
    if model is None:
        return Refusal(FailureKind.UNKNOWN_MODEL, not_found(name) if scope.edition == "observed" else "")
    return name, model


def dedicated(name: str | None, scope: RequestScope) -> AskedModel:
    """An endpoint of one's own goes by its id, maybe with `:ADAPTER_ROUTE`; answers name the id."""
    return serverless((name or "").partition(":")[0], scope)


# --- bodies -----------------------------------------------------------------------------------------------------------

_CONTRACT = editions(__package__)


@cache
def contract_of(schema: str, place: Place, edition: Edition) -> Contract:
    """The contract of the requests to a place: the hosted endpoints cannot tell without `model` what is asked."""
    return Contract(_CONTRACT[edition], schema if place is container else f"Hosted{schema}")


@cache
def known_fields(edition: Edition, schema: str) -> frozenset[str]:
    """The names of the fields that an edition knows: those of a schema, and the model's."""
    return frozenset(("model", *_CONTRACT[edition]()["schemas"][schema]["properties"]))


def without_unknown(body: Body, edition: Edition, schema: str) -> Body:
    """The body without the fields that an edition ignores, since it does not know them."""
    known = known_fields(edition, schema)
    return body if body.keys() <= known else {name: value for name, value in body.items() if name in known}


def json_body(data: bytes) -> dict[str, Any] | Refusal:
    """The body, or why it is not a JSON object; as in FastAPI, an empty body and `null` count as missing."""
    body = json_object(data or b"null")
    if not isinstance(body, Refusal):
        return body
    if body.kind is FailureKind.NOT_AN_OBJECT:
        missing = data.strip() in (b"", b"null")
        return invalid([Violation((), *(("required", "Field required") if missing else ("object", "")))], body.kind)
    position = 0
    try:
        deep = not is_shallow(json.loads(data))
    except RecursionError:
        # The vendor parses with Python's own parser, which gives up at about a thousand levels.
        deep = True
    except ValueError as error:
        # Of JSON or of UTF-8; without a position if a number has more digits than Python reads.
        position, deep = getattr(error, "pos", getattr(error, "start", 0)), False
    message = "JSON decode error, nested too deeply" if deep else "JSON decode error"
    return invalid([Violation((position,), "json", message)], body.kind)


def valid_body(
    place: Place,
    call: Call,
    scope: RequestScope,
    schema: str,
    conflicts: Callable[[Body], Iterable[Violation]] = lambda body: (),
    unsupported: Callable[[Body], Iterable[Violation]] = lambda body: (),
) -> tuple[Body, str, Model] | Refusal:
    """The body of an operation, the name of its model, and the model; or its refusal if it has what is `unsupported`,
    does not keep to the contract, has `conflicts`, or if there is no such model."""
    body = json_body(call.body)
    if isinstance(body, Refusal):
        return body
    contract = contract_of(schema, place, scope.edition)
    found = [*unsupported(body)]
    if not found and not contract.accepts(body):
        return invalid(contract.violations(body))
    found = found or [*conflicts(body)]
    if found:
        return invalid(found)
    asked = place(body.get("model"), scope)
    return asked if isinstance(asked, Refusal) else (body, *asked)


# --- controls --------------------------------------------------------------------------------------------------------


def read_limits(body: Body, model: Model, prompts: tuple[Prompt, ...]) -> Limits:
    """How long the answer may be."""
    most, least, window = body.get("max_tokens"), body.get("min_tokens") or 0, model.context
    # Totals count a prompt and its answer: the maximum acts as a smaller window, the minimum holds for every prompt.
    if body.get("max_total_tokens") is not None:
        window = min(int(body["max_total_tokens"]), window)
    if body.get("min_total_tokens") is not None:
        least = max(body["min_total_tokens"] - min([prompt.token_count for prompt in prompts]), 0)
    return Limits(None if most is None else int(most), int(least), context=window)


_STOP_FIELDS = {"stop", "stop_tokens", "eos_token"}
NO_STOPS = Stops()


def read_stops(body: Body) -> Stops:
    """What ends the answer."""
    if _STOP_FIELDS.isdisjoint(body):
        return NO_STOPS
    # "When generated token corresponds to any of the tokens in the sequence": each token of each sequence stops.
    listed = [token for sequence in body.get("stop_tokens") or () for token in sequence.get("tokens") or ()]
    ends = [*listed, *(body.get("eos_token") or ())]
    return Stops(tuple(body.get("stop") or ()), tuple([(int(token),) for token in ends]))


# "If this exceeds 1, every ngram of that size can only occur once", of `no_repeat_ngram`.
_USUAL = Sampling(early_stopping=False, no_repeat_ngram=1)
# The fields with the names that the model has for them.
_NUMBERS = (
    "temperature", "top_p", "top_k", "min_p", "xtc_threshold", "xtc_probability", "length_penalty", "early_stopping",
    "frequency_penalty", "presence_penalty", "repetition_penalty", "no_repeat_ngram",
)  # fmt: skip

# What an encoder-decoder model has for its input counts for its result too: the smaller n-gram bans the greater one.
_OF_ENCODERS = (("no_repeat_ngram", min), ("repetition_penalty", max))

_SAMPLING_FIELDS = {
    *_NUMBERS, *(f"encoder_{name}" for name, _ in _OF_ENCODERS), "seed", "num_beams", "logit_bias", "bad_words",
    "bad_word_tokens",
}  # fmt: skip


def read_sampling(body: Body) -> Sampling:
    """How tokens are drawn."""
    if _SAMPLING_FIELDS.isdisjoint(body):
        return _USUAL
    stated = {name: body[name] for name in _NUMBERS if body.get(name) is not None}
    for name, stricter in _OF_ENCODERS:
        wanted = [size for size in (stated.get(name), body.get(f"encoder_{name}")) if size is not None and size > 1]
        if wanted:
            stated[name] = stricter(wanted)
    for name in ("top_k", "no_repeat_ngram"):
        if name in stated:
            stated[name] = int(stated[name])
    seed, beams = body.get("seed"), body.get("num_beams")
    if is_deterministic(body):
        # The standard beam search is deterministic: no seed changes what it finds.
        stated["temperature"] = 0.0
    return _USUAL._replace(
        **stated,
        seeds=() if seed is None else ints(seed if isinstance(seed, list) else [seed]),
        beams=int(beams or 1),
        logit_bias=token_biases(body.get("logit_bias")),
        bad_words=tuple(body.get("bad_words") or ()),
        # Sequences of tokens, `[{"tokens": [1, 2]}, ...]`, without those that are empty.
        bad_tokens=tuple([ints(row["tokens"]) for row in body.get("bad_word_tokens") or () if row.get("tokens")]),
    )


def read_timeout(body: Body) -> float | None:
    """How long the answer may take, in seconds."""
    timeout = body.get("timeout_microseconds")
    return None if timeout is None else timeout / 1_000_000


def ints(values: Iterable[float] | None) -> tuple[int, ...]:
    """JSON's integers as ints: 7.0 is one too."""
    return tuple(map(int, values or ()))


# --- fit --------------------------------------------------------------------------------------------------------------


def misfits(body: Body, request: GenerationRequest, model: Model) -> Refusal | None:
    """The refusal of a request that is too large for the model or contradicts itself; None if it fits."""
    prompts, limits, window = request.prompts, request.limits, model.context
    longest = prompts[0].token_count if len(prompts) == 1 else max([prompt.token_count for prompt in prompts])
    most, total = body.get("max_tokens") or 0, body.get("max_total_tokens") or 0
    found = []
    if longest + most > window:
        field = next(name for name in ("messages", "prompt", "tokens") if body.get(name) is not None)
        found.append(beyond_window(field, longest, window, "max_tokens", most))
    if total > window:
        found.append(_misfit("max_total_tokens", f"max_total_tokens is {total:.15g}, {_stated(window)}"))
    if found:
        return invalid(found, FailureKind.CONTEXT_LENGTH)
    if "top_k" in body:
        # "Numbers between 0 and the vocab size of the model (both inclusive) are allowed."
        size = TRAITS[request.model].vocabulary
        if (body["top_k"] or 0) > size:
            found.append(Violation(("top_k",), "maximum", "", size))
    room = limits.context - longest
    if room < 0:
        # "The maximum number of tokens including both the generated result and the input tokens."
        found.append(_misfit("max_total_tokens", f"the prompt alone has {longest} tokens"))
    elif limits.min_tokens > (fewest := room if limits.max_tokens is None else min(limits.max_tokens, room)):
        name = "min_tokens" if body.get("min_total_tokens") is None else "min_total_tokens"
        found.append(_misfit(name, f"{name} asks for more tokens than there may be, {fewest}"))
    return invalid(found) if found else None


def beyond_window(field: str, longest: int, window: int, limit: str = "", most: float = 0) -> Violation:
    """Of a prompt in a field that is too long for its model, or of a limit that is too high for the prompt: "The length
    of your input tokens plus max_tokens should not exceed the model's maximum length."."""
    if longest > window:
        return _misfit(field, f"the prompt has {longest} tokens, {_stated(window)}")
    return _misfit(limit, f"the prompt has {longest} tokens and {limit} is {most:.15g}, {_stated(window)}")


def _stated(window: int) -> str:
    return f"the model's maximum length is {window}"


def _misfit(name: str, message: str) -> Violation:
    return Violation((name,), "context", message)


# --- reasoning -------------------------------------------------------------------------------------------------------

# Where thoughts go: apart from the content, inside it, or nowhere; or the content has their empty tags. Those that are
# `leaked` are inside it with only the closing tag.
Thoughts = Literal["apart", "inside", "leaked", "hidden", "empty"]
# The vendor's words for reasoning efforts, and our own; a model that cannot be told not to think thinks as usual.
_EFFORTS: Mapping[str, Effort] = {**EFFORTS, "none": "medium", "ultracode": "xhigh"}
_REASONING_FIELDS = {
    "reasoning_effort",
    "reasoning_budget",
    "chat_template_kwargs",
    "parse_reasoning",
    "include_reasoning",
}


class Reasoning(NamedTuple):
    """The reasoning for a request: its effort (None for none), where thoughts go, and their budget in tokens."""

    effort: Effort | None
    thoughts: Thoughts
    budget: int | None = None


def read_reasoning(body: Mapping[str, Any], mode: ReasoningMode) -> Reasoning:
    """The reasoning that a valid body asks of a model."""
    thinks = mode in ("always", "toggle", "leaks")
    if _REASONING_FIELDS.isdisjoint(body):
        return Reasoning("medium" if thinks else None, "apart")
    # The variables that the request sets in the chat template.
    variables, effort = body.get("chat_template_kwargs") or {}, body.get("reasoning_effort")
    wanted, asked = variables.get("enable_thinking"), body.get("reasoning_budget")
    # Whether the model is told not to think.
    off = effort == "none" or wanted is False
    if mode == "toggle" and off:
        thinks = False
    elif mode == "unknown" and not off:
        # What runs at an endpoint of one's own is unknown: a client that asks for reasoning knows that the model can.
        thinks = bool(effort is not None or asked) if wanted is None else bool(wanted)
    thinks = thinks and asked != 0
    thoughts: Thoughts = "apart"
    if thinks and off and mode == "leaks":
        thoughts = "leaked"
    elif thinks and effort == "none":
        thoughts = "hidden"
    elif body.get("parse_reasoning") is False:
        # "Setting it to [...] false returns empty <think></think> tags."
        thoughts = "empty" if off and not thinks and mode != "plain" else "inside"
    elif body.get("include_reasoning") is False:
        # "Decides whether the parsed reasoning content is included in the response."
        thoughts = "hidden"
    # The vendor's own tools pass the effort to the template instead.
    named = effort or variables.get("reasoning_effort")
    level = _EFFORTS.get(named, "medium") if isinstance(named, str) else "medium"
    # "`-1` means the model reasons without a budget limit."
    return Reasoning(level if thinks else None, thoughts, None if asked is None or asked < 0 else int(asked))


# --- options ---------------------------------------------------------------------------------------------------------


class FriendliOptions(NamedTuple):
    """What the neutral request has no field for.

    `timeout` is in seconds, None for none; `forced` are the tokens of a prescribed answer, empty for none;
    `logprobs` and `logits` are what each choice of the documented edition shows of its tokens; `thoughts` is where the
    thoughts of a chat go; `media` are how many tokens of a chat's prompt each medium counts.
    """

    timeout: float | None = None
    forced: tuple[int, ...] = ()
    logprobs: bool = False
    logits: bool = False
    thoughts: Thoughts = "apart"
    media: Mapping[str, int] = MappingProxyType({})


def options_of(request: GenerationRequest) -> FriendliOptions:
    """The options of a request; the defaults for one that another dialect has read."""
    return request.extra if isinstance(request.extra, FriendliOptions) else FriendliOptions()


# --- rate limits, and the headers of every answer --------------------------------------------------------------------

_PER_MINUTE = {"tier1": 100, "tier2": 1_000, "tier3": 5_000, "tier4": 10_000}
_MINUTE = PERIODS["minute"]
QUOTAS = QuotaPolicy(
    {name: Allowance((Limit("requests", _MINUTE, amount, fixed=True),)) for name, amount in _PER_MINUTE.items()},
    # The only 429, whichever limit was exceeded.
    refuse=lambda refused, now: Refusal(FailureKind.RATE_LIMIT),
    fixed_windows=True,
)
# The limits that are stated if no quota is configured.
_REQUESTS = Limit("requests", _MINUTE, 100, fixed=True)
_TOKENS = Limit("tokens", _MINUTE, 100_000, fixed=True)
_SHARED = "/serverless/"


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers that each answer carries, errors included.

    If no quota is configured, by the page the minute of the clock counts. Today the window has just begun; containers
    and endpoints of one's own are not limited, nor is what needs no key.
    """
    date = date_header(int(scope.now))
    if scope.limit_states:
        return (date, *_limits_left(scope.limit_states, scope.edition))
    used = _REQUESTS.amount if scope.refused is FailureKind.RATE_LIMIT else 1
    if scope.edition == "documented":
        return (date, *_after(used, "documented", _MINUTE - int(scope.now) % _MINUTE))
    limited = call.path.startswith(_SHARED) and call.method == "POST" and bearer(call) is not None
    return (date, *_after(used, "observed", _MINUTE)) if limited else (date,)


@cache
def _after(requests: int, edition: Edition, left: int) -> RawHeaders:
    """The limits after so many requests in a window that has so many seconds left."""
    return _limits_left((LimitState(_REQUESTS, requests, ends_in=left), LimitState(_TOKENS, ends_in=left)), edition)


def _limits_left(limit_states: tuple[LimitState, ...], edition: Edition) -> RawHeaders:
    """The tightest limits on requests, and by the old pages on tokens, if any; resets are in whole seconds."""
    measures: tuple[LimitUnit, ...] = ("requests", "tokens") if edition == "documented" else ("requests",)
    return limit_headers(tightest_by_measure(limit_states, measures), lambda state: b"%d" % state.full_at())
