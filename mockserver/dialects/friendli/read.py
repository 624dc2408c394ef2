"""Calls of the three completions endpoints become requests to a model, or are refused.

    body -> schema -> checks between fields -> model -> request -> checks against model and prompt -> timeout

Each station refuses with all violations that it finds, and ends the way.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import GenerationRequest, Limits, Output, Prompt, Sampling, Stops
from mockserver.core.json_values import is_shallow
from mockserver.dialects.contracts import Contract
from mockserver.dialects.friendli.checks import CHECKS, conflicts, misfits
from mockserver.dialects.friendli.errors import invalid, unknown_model
from mockserver.dialects.friendli.formats import constraint
from mockserver.dialects.friendli.models import AskedModel, Place
from mockserver.dialects.friendli.reasoning import FriendliOptions
from mockserver.dialects.friendli.schemas import COMPLETIONS, known_fields
from mockserver.dialects.openai.fields import Body, number_or, text_prompt, text_prompts, token_biases, whole


def json_body(data: bytes) -> dict[str, Any] | Refusal:
    """The body, or why it is not a JSON object; as in FastAPI, an empty body and `null` count as missing."""
    if not data:
        return _missing()
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return _too_deep() if error.msg.startswith("depth") else _malformed(_fault_position(data), "JSON decode error")
    if not isinstance(value, dict):
        return _missing() if value is None else invalid([Violation((), "object", "")], FailureKind.NOT_AN_OBJECT)
    return value if is_shallow(value) else _too_deep()


def _missing() -> Refusal:
    return invalid([Violation((), "required", "Field required")])


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


# --- controls --------------------------------------------------------------------------------------------------------


def read_limits(body: Body, model: Model, prompts: tuple[Prompt, ...]) -> Limits:
    """How long the answer may be."""
    least, total_least = body.get("min_tokens"), body.get("min_total_tokens")
    total = whole(body.get("max_total_tokens"))
    # Totals count a prompt and its answer: the maximum acts as a smaller window, the minimum holds for every prompt.
    shortest = min(prompt.token_count for prompt in prompts)
    fewest = number_or(least, 0) if total_least is None else max(total_least - shortest, 0)
    window = model.context if total is None else min(total, model.context)
    return Limits(whole(body.get("max_tokens")), int(fewest), context=window)


def read_stops(body: Body) -> Stops:
    """What ends the answer."""
    # "When generated token corresponds to any of the tokens in the sequence": each token of each sequence stops.
    listed = [token for sequence in body.get("stop_tokens") or () for token in sequence.get("tokens") or ()]
    ends = [*listed, *(body.get("eos_token") or ())]
    return Stops(tuple(body.get("stop") or ()), tuple((int(token),) for token in ends))


def read_sampling(body: Body) -> Sampling:
    """How tokens are drawn."""
    seed, beams = body.get("seed"), body.get("num_beams")
    # The standard beam search is deterministic: no seed changes what it finds.
    fixed = beams is not None and (body.get("beam_search_type") or "DETERMINISTIC") == "DETERMINISTIC"
    return Sampling(
        seeds=ints(seed if isinstance(seed, list) else [] if seed is None else [seed]),
        temperature=0.0 if fixed else number_or(body.get("temperature"), 1.0),
        top_p=number_or(body.get("top_p"), 1.0),
        top_k=int(number_or(body.get("top_k"), 0)),
        min_p=number_or(body.get("min_p"), 0.0),
        xtc_threshold=number_or(body.get("xtc_threshold"), 0.0),
        xtc_probability=number_or(body.get("xtc_probability"), 0.0),
        beams=int(number_or(beams, 1)),
        length_penalty=number_or(body.get("length_penalty"), 1.0),
        early_stopping=bool(body.get("early_stopping")),
        frequency_penalty=number_or(body.get("frequency_penalty"), 0.0),
        presence_penalty=number_or(body.get("presence_penalty"), 0.0),
        repetition_penalty=number_or(body.get("repetition_penalty"), 1.0),
        # "If this exceeds 1, every ngram of that size can only occur once".
        no_repeat_ngram=int(number_or(body.get("no_repeat_ngram"), 1)),
        logit_bias=token_biases(body.get("logit_bias")),
        bad_words=tuple(body.get("bad_words") or ()),
        bad_tokens=_sequences(body.get("bad_word_tokens")),
    )


def read_timeout(body: Body) -> float | None:
    """How long the answer may take, in seconds."""
    timeout = body.get("timeout_microseconds")
    return None if timeout is None else timeout / 1_000_000


def _sequences(rows: Iterable[Mapping[str, Any]] | None) -> tuple[tuple[int, ...], ...]:
    """Sequences of tokens, `[{"tokens": [1, 2]}, ...]`, without those that are empty."""
    return tuple(ints(row["tokens"]) for row in rows or () if row.get("tokens"))


def ints(values: Iterable[float] | None) -> tuple[int, ...]:
    """JSON's integers as ints: 7.0 is one too."""
    return tuple(map(int, values or ()))


# --- read ------------------------------------------------------------------------------------------------------------

# The vendor's evaluation harness writes these as a batch of one, `"tokens": [[1, 2]]`, which the page does not say.
_IN_BATCHES = ("tokens", "forced_output_tokens")


def read(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request to a place, or its refusal."""
    body = _valid(call, scope, COMPLETIONS.at(place, scope.edition))
    return body if isinstance(body, Refusal) else _fitting(body, scope, place(body.get("model"), scope))


def _valid(call: Call, scope: RequestScope, contract: Contract) -> Body | Refusal:
    """The known fields of the body, if they are valid and compatible; else the refusal."""
    sent = json_body(call.body)
    if isinstance(sent, Refusal):
        return sent
    known = known_fields(scope.edition, "CompletionFields")
    body = {name: value for name, value in sent.items() if name in known}
    if scope.edition == "documented":
        body |= {name: _alone(body[name]) for name in _IN_BATCHES if name in body}
    violations = contract.violations(body) or conflicts(body, CHECKS[scope.edition])
    return invalid(violations) if violations else body


def _alone(value: Any) -> Any:
    """The list in a batch of one; any other value as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) else value


def _fitting(body: Body, scope: RequestScope, asked: AskedModel) -> GenerationRequest | Refusal:
    """The request, if there is such a model and it is large enough; else the refusal."""
    if asked.model is None:
        return unknown_model(asked.name, scope.edition)
    request = _request(body, scope, asked.name, asked.model)
    return misfits(body, request, asked.model) or request


def _request(body: Body, scope: RequestScope, name: str, model: Model) -> GenerationRequest:
    prompts = _prompts(body)
    forced = ints(body.get("forced_output_tokens"))
    limits = read_limits(body, model, prompts)
    return GenerationRequest(
        model=name,
        prompts=prompts,
        output=_output(body),
        limits=_forced(limits, len(forced)) if forced else limits,
        stops=Stops() if forced else read_stops(body),
        sampling=read_sampling(body),
        constraint=None if forced else constraint(body, scope.edition),
        n=int(number_or(body.get("n"), 1)),
        best_of=_candidates(body),
        extra=_wishes(body, forced),
    )


def _prompts(body: Body) -> tuple[Prompt, ...]:
    tokens, prompt = body.get("tokens"), body.get("prompt")
    return text_prompts(prompt) if prompt is not None else (text_prompt(ints(tokens)),)


def _output(body: Body) -> Output:
    asked = body.get("include_output_logprobs") or body.get("include_output_logits")
    return Output(
        stream=bool(body.get("stream")),
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        logprobs=0 if asked else whole(body.get("logprobs")),
        token_ids=True,
    )


def _forced(limits: Limits, length: int) -> Limits:
    """Limits for exactly as many tokens as are forced, or as many of them as are allowed."""
    most = length if limits.max_tokens is None else min(limits.max_tokens, length)
    return Limits(most, ignore_eos=True, context=limits.context)


def _candidates(body: Body) -> int:
    """How many candidates a search compares. One beam is no search."""
    beams = int(number_or(body.get("num_beams"), 1))
    # As in the search that the page names as similar, there are twice as many candidates as beams.
    return 2 * beams if beams > 1 else 1


def _wishes(body: Body, forced: tuple[int, ...]) -> FriendliOptions:
    return FriendliOptions(
        timeout=read_timeout(body),
        forced=forced,
        logprobs=bool(body.get("include_output_logprobs")),
        logits=bool(body.get("include_output_logits")),
    )
