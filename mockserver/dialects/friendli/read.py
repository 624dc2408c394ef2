"""Calls of the three completions endpoints become requests to a model, or are refused.

    body -> schema -> checks between fields -> model -> request -> checks against model and prompt -> timeout

Each station refuses with all violations that it finds, and ends the way.
"""

from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, Site
from mockserver.core.failures import Rejection
from mockserver.core.generation import GenerationRequest, Limits, Output, Prompt, Stops
from mockserver.dialects.contracts import Contract
from mockserver.dialects.friendli.body import json_body
from mockserver.dialects.friendli.checks import CHECKS, conflicts
from mockserver.dialects.friendli.controls import ints, read_limits, read_sampling, read_stops, read_timeout
from mockserver.dialects.friendli.endpoints import AskedModel, Place
from mockserver.dialects.friendli.errors import invalid, unknown_model
from mockserver.dialects.friendli.fit import misfits
from mockserver.dialects.friendli.formats import constraint
from mockserver.dialects.friendli.options import ChatOptions
from mockserver.dialects.friendli.schemas import COMPLETIONS, known_fields
from mockserver.dialects.openai.fields import Body, number_or, text_prompt, text_prompts, whole

# The vendor's evaluation harness writes these as a batch of one, `"tokens": [[1, 2]]`, which the page does not say.
_IN_BATCHES = ("tokens", "forced_output_tokens")


def read(place: Place, call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request to a place, or its refusal."""
    body = _valid(call, site, COMPLETIONS.at(place, site.edition))
    return body if isinstance(body, Rejection) else _fitting(body, site, place(body.get("model"), site))


def _valid(call: Call, site: Site, contract: Contract) -> Body | Rejection:
    """The known fields of the body, if they are valid and compatible; else the refusal."""
    sent = json_body(call.body)
    if isinstance(sent, Rejection):
        return sent
    known = known_fields(site.edition, "CompletionFields")
    body = {name: value for name, value in sent.items() if name in known}
    if site.edition == "documented":
        body |= {name: _alone(body[name]) for name in _IN_BATCHES if name in body}
    violations = contract.violations(body) or conflicts(body, CHECKS[site.edition])
    return invalid(violations) if violations else body


def _alone(value: Any) -> Any:
    """The list in a batch of one; any other value as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) else value


def _fitting(body: Body, site: Site, asked: AskedModel) -> GenerationRequest | Rejection:
    """The request, if there is such a model and it is large enough; else the refusal."""
    if asked.model is None:
        return unknown_model(asked.name, site.edition)
    request = _request(body, site, asked.name, asked.model)
    return misfits(body, request, asked.model) or request


def _request(body: Body, site: Site, name: str, model: Model) -> GenerationRequest:
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
        constraint=None if forced else constraint(body, site.edition),
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


def _wishes(body: Body, forced: tuple[int, ...]) -> ChatOptions:
    return ChatOptions(
        timeout=read_timeout(body),
        forced=forced,
        logprobs=bool(body.get("include_output_logprobs")),
        logits=bool(body.get("include_output_logits")),
    )
