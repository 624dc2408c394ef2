"""The three completions endpoints as requests to a model.

    body -> schema -> checks between fields -> model -> request -> checks against model and prompt -> timeout

Each station refuses with all the faults that it finds, and no later one is asked.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, Site
from mockserver.core.failures import Rejection
from mockserver.core.generation import GenerationRequest, Limits, Output, Prompt, Sampling, Stops
from mockserver.dialects.contracts import Contract
from mockserver.dialects.friendli.body import json_body
from mockserver.dialects.friendli.checks import conflicts
from mockserver.dialects.friendli.errors import invalid, unknown_model
from mockserver.dialects.friendli.fit import misfits
from mockserver.dialects.friendli.formats import constraint
from mockserver.dialects.friendli.schemas import HOSTED_REQUEST, REQUEST, known_fields
from mockserver.dialects.friendli.wishes import Wishes
from mockserver.dialects.openai_style.fields import text_prompt, text_prompts, whole

Body = Mapping[str, Any]

# The vendor's evaluation harness writes these as a batch of one, `"tokens": [[1, 2]]`, which the page does not say.
_IN_BATCHES = ("tokens", "forced_output_tokens")


def read_container(call: Call, site: Site) -> GenerationRequest | Rejection:
    """`/v1/completions`: the page's endpoint, or a container of today. Without a `model` it has one of its own."""
    body = _valid(call, site, REQUEST[site.edition])
    if isinstance(body, Rejection):
        return body
    name = body.get("model") or ""
    model = site.model(name) if name else next(iter(site.models), Model(""))
    return _fitting(body, site, name, model)


def read_serverless(call: Call, site: Site) -> GenerationRequest | Rejection:
    """`/serverless/v1/completions`: `model` is a code of the catalogue."""
    body = _valid(call, site, HOSTED_REQUEST)
    if isinstance(body, Rejection):
        return body
    return _fitting(body, site, body["model"], _named(site, body["model"]))


def read_dedicated(call: Call, site: Site) -> GenerationRequest | Rejection:
    """`/dedicated/v1/completions`: `model` is an endpoint's id, maybe with `:ADAPTER_ROUTE`; answers name the id."""
    body = _valid(call, site, HOSTED_REQUEST)
    if isinstance(body, Rejection):
        return body
    endpoint = body["model"].partition(":")[0]
    return _fitting(body, site, endpoint, _named(site, endpoint))


def _named(site: Site, name: str) -> Model | None:
    return site.model(name) if name else None


def _valid(call: Call, site: Site, contract: Contract) -> Body | Rejection:
    """The known fields of the body, when they are valid each by itself and all together."""
    sent = json_body(call.body)
    if isinstance(sent, Rejection):
        return sent
    known = known_fields(site.edition)
    body = {name: value for name, value in sent.items() if name in known}
    if site.edition == "documented":
        body |= {name: _alone(body[name]) for name in _IN_BATCHES if name in body}
    violations = contract.violations(body) or conflicts(body, site.edition)
    return invalid(violations) if violations else body


def _alone(value: Any) -> Any:
    """The only list of a batch; any other value as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) else value


def _fitting(body: Body, site: Site, name: str, model: Model | None) -> GenerationRequest | Rejection:
    """The request, when there is such a model and it is large enough."""
    if model is None:
        return unknown_model(name, site.edition)
    request = _request(body, site, name, model)
    return misfits(body, request, model) or request


def _request(body: Body, site: Site, name: str, model: Model) -> GenerationRequest:
    prompts = _prompts(body)
    forced = _ints(body.get("forced_output_tokens"))
    limits = _limits(body, model, prompts)
    return GenerationRequest(
        model=name,
        prompts=prompts,
        output=_output(body),
        limits=_forced(limits, len(forced)) if forced else limits,
        stops=Stops() if forced else _stops(body),
        sampling=_sampling(body),
        constraint=None if forced else constraint(body, site.edition),
        n=int(_or(body.get("n"), 1)),
        best_of=_candidates(body),
        wishes=_wishes(body, forced),
    )


def _prompts(body: Body) -> tuple[Prompt, ...]:
    tokens, prompt = body.get("tokens"), body.get("prompt")
    return text_prompts(prompt) if prompt is not None else (text_prompt(_ints(tokens)),)


def _output(body: Body) -> Output:
    asked = body.get("include_output_logprobs") or body.get("include_output_logits")
    return Output(
        stream=bool(body.get("stream")),
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        logprobs=0 if asked else whole(body.get("logprobs")),
        token_ids=True,
    )


def _limits(body: Body, model: Model, prompts: tuple[Prompt, ...]) -> Limits:
    least, total_least = body.get("min_tokens"), body.get("min_total_tokens")
    total = whole(body.get("max_total_tokens"))
    # Totals count each prompt with its answer: the upper one is a smaller window, the lower one has to hold for all.
    shortest = min(prompt.token_count for prompt in prompts)
    fewest = _or(least, 0) if total_least is None else max(total_least - shortest, 0)
    window = model.context if total is None else min(total, model.context)
    return Limits(whole(body.get("max_tokens")), int(fewest), context=window)


def _forced(limits: Limits, length: int) -> Limits:
    """Limits that leave exactly as many tokens as are forced, or as many of them as are allowed."""
    most = length if limits.max_tokens is None else min(limits.max_tokens, length)
    return Limits(most, ignore_eos=True, context=limits.context)


def _stops(body: Body) -> Stops:
    # "When generated token corresponds to any of the tokens in the sequence": each token of each sequence stops.
    listed = [token for sequence in body.get("stop_tokens") or () for token in sequence.get("tokens") or ()]
    ends = [*listed, *(body.get("eos_token") or ())]
    return Stops(tuple(body.get("stop") or ()), tuple((int(token),) for token in ends))


def _sampling(body: Body) -> Sampling:
    seed, beams = body.get("seed"), body.get("num_beams")
    # The standard beam search draws nothing at random, so that no seed changes what it finds.
    fixed = beams is not None and (body.get("beam_search_type") or "DETERMINISTIC") == "DETERMINISTIC"
    return Sampling(
        seeds=_ints(seed if isinstance(seed, list) else [] if seed is None else [seed]),
        temperature=0.0 if fixed else _or(body.get("temperature"), 1.0),
        top_p=_or(body.get("top_p"), 1.0),
        top_k=int(_or(body.get("top_k"), 0)),
        min_p=_or(body.get("min_p"), 0.0),
        xtc_threshold=_or(body.get("xtc_threshold"), 0.0),
        xtc_probability=_or(body.get("xtc_probability"), 0.0),
        beams=int(_or(beams, 1)),
        length_penalty=_or(body.get("length_penalty"), 1.0),
        early_stopping=bool(body.get("early_stopping")),
        frequency_penalty=_or(body.get("frequency_penalty"), 0.0),
        presence_penalty=_or(body.get("presence_penalty"), 0.0),
        repetition_penalty=_or(body.get("repetition_penalty"), 1.0),
        # "If this exceeds 1, every ngram of that size can only occur once".
        no_repeat_ngram=int(_or(body.get("no_repeat_ngram"), 1)),
        bad_words=tuple(body.get("bad_words") or ()),
        bad_tokens=_sequences(body.get("bad_word_tokens")),
    )


def _candidates(body: Body) -> int:
    """How many answers a search compares. A search of one beam is no search."""
    beams = int(_or(body.get("num_beams"), 1))
    # As in the search that the page names as similar, there are twice as many candidates as beams.
    return 2 * beams if beams > 1 else 1


def _sequences(rows: Iterable[Mapping[str, Any]] | None) -> tuple[tuple[int, ...], ...]:
    """Sequences of tokens, `[{"tokens": [1, 2]}, ...]`, without those that are empty."""
    return tuple(_ints(row["tokens"]) for row in rows or () if row.get("tokens"))


def _wishes(body: Body, forced: tuple[int, ...]) -> Wishes:
    timeout = body.get("timeout_microseconds")
    return Wishes(
        timeout=None if timeout is None else timeout / 1_000_000,
        forced=forced,
        logprobs=bool(body.get("include_output_logprobs")),
        logits=bool(body.get("include_output_logits")),
    )


def _ints(values: Iterable[float] | None) -> tuple[int, ...]:
    """JSON's whole numbers as ints: 7.0 is one too."""
    return tuple(map(int, values or ()))


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
