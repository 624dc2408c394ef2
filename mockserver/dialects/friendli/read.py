"""Calls of the three completions endpoints become requests to a model, or are refused.

    body -> schema -> checks between fields -> model -> request -> checks against model and prompt -> timeout

Each station refuses with all violations that it finds, and ends the way.
"""

import json
from collections.abc import Iterable
from typing import Any

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import GenerationRequest, Limits, Output, Prompt, Sampling, Stops
from mockserver.core.json_values import DEEPEST, is_shallow
from mockserver.core.seeding import fingerprint
from mockserver.dialects.friendli.checks import CHECKS, conflicts, misfits
from mockserver.dialects.friendli.errors import invalid, unknown_model
from mockserver.dialects.friendli.formats import constraint
from mockserver.dialects.friendli.models import Place
from mockserver.dialects.friendli.reasoning import FriendliOptions
from mockserver.dialects.friendli.schemas import contract_of, known_fields
from mockserver.dialects.openai.read import Body, text_prompt, text_prompts, token_biases, whole


def json_body(data: bytes) -> dict[str, Any] | Refusal:
    """The body, or why it is not a JSON object; as in FastAPI, an empty body and `null` count as missing."""
    try:
        value = orjson.loads(data or b"null")
    except orjson.JSONDecodeError as error:
        return _too_deep() if error.msg.startswith("depth") else _malformed(_fault_position(data), "JSON decode error")
    if not isinstance(value, dict):
        if value is None:
            return invalid([Violation((), "required", "Field required")])
        return invalid([Violation((), "object", "")], FailureKind.NOT_AN_OBJECT)
    # Each level has a bracket: few bodies have so many.
    return value if data.count(b"[") + data.count(b"{") <= DEEPEST or is_shallow(value) else _too_deep()


def _too_deep() -> Refusal:
    # The vendor parses with Python's own parser, which gives up at about a thousand levels.
    return _malformed(0, "JSON decode error, nested too deeply")


def _fault_position(data: bytes) -> int:
    """Where Python's parser, whose positions the vendor states, finds the error; 0 if it states none."""
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return error.pos
    except UnicodeDecodeError as error:
        return error.start
    except (ValueError, RecursionError):  # a number of more digits than Python reads; absurd nesting
        return 0
    return 0


def _malformed(position: int, message: str) -> Refusal:
    return invalid([Violation((position,), "json", message)], FailureKind.MALFORMED_JSON)


def valid_body(place: Place, call: Call, scope: RequestScope, schema: str) -> tuple[Body, str, Model] | Refusal:
    """The body of an operation without conflicts between its fields, the name of its model, and the model; if it keeps
    to the contract and there is such a model, else its refusal."""
    body = json_body(call.body)
    if isinstance(body, Refusal):
        return body
    violations = contract_of(schema, place, scope.edition).violations(body)
    if violations:
        return invalid(violations)
    name, model = place(body.get("model"), scope)
    return unknown_model(name, scope.edition) if model is None else (body, name, model)


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
_NO_STOPS = Stops()


def read_stops(body: Body) -> Stops:
    """What ends the answer."""
    if _STOP_FIELDS.isdisjoint(body):
        return _NO_STOPS
    # "When generated token corresponds to any of the tokens in the sequence": each token of each sequence stops.
    listed = [token for sequence in body.get("stop_tokens") or () for token in sequence.get("tokens") or ()]
    ends = [*listed, *(body.get("eos_token") or ())]
    return Stops(tuple(body.get("stop") or ()), tuple([(int(token),) for token in ends]))


# "If this exceeds 1, every ngram of that size can only occur once", of `no_repeat_ngram`.
_USUAL = Sampling(xtc_threshold=0.0, early_stopping=False, no_repeat_ngram=1)
# The fields with the names that the model has for them.
_NUMBERS = (
    "temperature", "top_p", "top_k", "min_p", "xtc_threshold", "xtc_probability", "length_penalty", "early_stopping",
    "frequency_penalty", "presence_penalty", "repetition_penalty", "no_repeat_ngram",
)  # fmt: skip
_SAMPLING_FIELDS = {*_NUMBERS, "seed", "num_beams", "logit_bias", "bad_words", "bad_word_tokens"}


def read_sampling(body: Body) -> Sampling:
    """How tokens are drawn."""
    if _SAMPLING_FIELDS.isdisjoint(body):
        return _USUAL
    stated = {name: body[name] for name in _NUMBERS if body.get(name) is not None}
    for name in ("top_k", "no_repeat_ngram"):
        if name in stated:
            stated[name] = int(stated[name])
    seed, beams = body.get("seed"), body.get("num_beams")
    if beams is not None and (body.get("beam_search_type") or "DETERMINISTIC") == "DETERMINISTIC":
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


# --- read ------------------------------------------------------------------------------------------------------------

# The vendor's evaluation harness writes these as a batch of one, `"tokens": [[1, 2]]`, which the page does not say.
_IN_BATCHES = ("tokens", "forced_output_tokens")
# What takes the place of tokens of the prompt, or stands ahead of them.
_VECTORS = ("token_index_to_replace", "embedding_to_replace", "soft_prompts")


def read(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request to a place, or its refusal."""
    edition = scope.edition
    sent = json_body(call.body)
    if isinstance(sent, Refusal):
        return sent
    body, known = sent, known_fields(edition, "CompletionFields")
    if not sent.keys() <= known:
        body = {name: value for name, value in sent.items() if name in known}
    if edition == "documented":
        body |= {name: _alone(body[name]) for name in _IN_BATCHES if name in body}
    violations = [*contract_of("CompletionRequest", place, edition).violations(body)]
    if not violations:
        violations = conflicts(body, CHECKS[edition])
        if body.get("prompt") is None and body.get("tokens") is None:
            # "Either prompt or tokens field is required."
            violations.insert(0, Violation(("prompt",), "required", "Field required"))
    if violations:
        return invalid(violations)
    name, model = place(body.get("model"), scope)
    if model is None:
        return unknown_model(name, edition)
    request = _request(body, name, model, edition)
    return misfits(body, request, model) or request


def _request(body: Body, name: str, model: Model, edition: Edition) -> GenerationRequest:
    """A valid body as a request to its model."""
    prompt = body.get("prompt")
    prompts = (text_prompt(ints(body["tokens"])),) if prompt is None else text_prompts(prompt)
    if any(map(body.get, _VECTORS)):
        # The model reads them, but they have no text.
        read = fingerprint(orjson.dumps([*map(body.get, _VECTORS)]))
        prompts = tuple([each._replace(text=f"{read}\n{each.text}") for each in prompts])
    forced, limits = ints(body.get("forced_output_tokens")), read_limits(body, model, prompts)
    if forced:
        # As many tokens as are forced, or as many of them as are allowed.
        most = len(forced) if limits.max_tokens is None else min(limits.max_tokens, len(forced))
        limits = Limits(most, ignore_eos=True, context=limits.context)
    logprobs, logits = bool(body.get("include_output_logprobs")), bool(body.get("include_output_logits"))
    beams = int(body.get("num_beams") or 1)
    return GenerationRequest(
        model=name,
        prompts=prompts,
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
            logprobs=0 if logprobs or logits else whole(body.get("logprobs")),
            token_ids=True,
        ),
        limits=limits,
        stops=_NO_STOPS if forced else read_stops(body),
        sampling=read_sampling(body),
        constraint=None if forced else constraint(body, edition),
        n=int(body.get("n") or 1),
        # One beam is no search. As in the search that the page names as similar, there are twice as many candidates as
        # beams.
        best_of=2 * beams if beams > 1 else 1,
        extra=FriendliOptions(read_timeout(body), forced, logprobs, logits),
    )


def _alone(value: Any) -> Any:
    """The list in a batch of one; any other value as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) else value
