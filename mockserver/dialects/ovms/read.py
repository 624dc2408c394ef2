"""`POST /v3/completions` as a request to a model: through the server's layers in their order, the first fault wins."""

from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Model, Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import GenerationRequest, Limits, Output, Prompt, Sampling, Stops
from mockserver.dialects.openai_style.fields import stop_texts, text_prompt
from mockserver.dialects.ovms.body import admit
from mockserver.dialects.ovms.checks import CHECKS, ENGINE_CHECKS, IGNORE_EOS_LIMIT, Fields, first_fault, sampled, sent
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.formats import read_format

COMPLETIONS_PATHS: dict[Edition, tuple[str, ...]] = {
    "documented": ("/v3/completions", "/v3/v1/completions"),
    "observed": ("/v3/completions", "/v3/v1/completions", "/v1/completions"),
}

# "default: all tokens" in the one, "default 40 when sampling" in the other; 0 stands for all.
_TOP_K: dict[Edition, int] = {"documented": 0, "observed": 40}
# "Random seed [...] default: 0" in the one; the other draws one, here from the request itself.
_SEEDS: dict[Edition, tuple[int, ...]] = {"documented": (0,), "observed": ()}
# The older server does not ask how long the model's window is.
_NO_WINDOW = 131_072


def read(call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request, or why the server or its graph refuses it."""
    if call.path not in COMPLETIONS_PATHS[site.edition]:
        return Rejection(FailureKind.UNKNOWN_PATH)
    admitted = admit(call, site, call.path)
    if isinstance(admitted, Rejection):
        return admitted
    fields, model, stream = sent(admitted.fields, site.edition), admitted.model, admitted.streamed
    fault = first_fault(CHECKS[site.edition], fields, model)
    if fault is not None:
        return graph_fault(fault, stream=stream)
    prompt = _tokenised(fields["prompt"])
    fault = _too_long(fields, prompt, model) if site.edition == "observed" else None
    if fault is not None:
        return graph_fault(fault, stream=stream, kind=FailureKind.CONTEXT_LENGTH)
    fault = first_fault(ENGINE_CHECKS[site.edition], fields, model)
    return graph_fault(fault, stream=stream) if fault is not None else _request(fields, prompt, model, site.edition)


def _tokenised(text: str) -> Prompt:
    """The prompt. "/completions adds the BOS token at tokenising; no chat template"."""
    prompt = text_prompt(text)
    return prompt._replace(token_count=prompt.token_count + 1)


def _too_long(fields: Fields, prompt: Prompt, model: Model) -> str | None:
    found, most, asked = prompt.token_count, model.context, fields.get("max_tokens", 0)
    if found > most:
        return f"Number of prompt tokens: {found} exceeds model max length: {most}"
    if found + asked > most:
        return f"Number of prompt tokens: {found} + max tokens value: {asked} exceeds model max length: {most}"
    return None


def _request(fields: Fields, prompt: Prompt, model: Model, edition: Edition) -> GenerationRequest:
    stream = bool(fields.get("stream"))
    options: dict[str, Any] = fields.get("stream_options", {})
    return GenerationRequest(
        model=fields["model"],
        prompts=(prompt,),
        output=Output(
            stream=stream,
            include_usage=bool(options.get("include_usage")),
            echo=bool(fields.get("echo")),
            # "Only value 1 is accepted which returns [the] logarithm [of] the chosen token": no alternatives.
            logprobs=0 if fields.get("logprobs") else None,
        ),
        limits=_limits(fields, prompt, model, edition),
        # "default: `false` if `stream=false`, `true` if `stream=true`"
        stops=Stops(stop_texts(fields.get("stop")), include=fields.get("include_stop_str_in_output", stream)),
        sampling=_sampling(fields, edition),
        constraint=read_format(fields.get("response_format"), edition),
        n=fields.get("n", 1),
        best_of=fields.get("best_of", 1),
    )


def _limits(fields: Fields, prompt: Prompt, model: Model, edition: Edition) -> Limits:
    most, ignore_eos = fields.get("max_tokens"), bool(fields.get("ignore_eos"))
    if edition == "observed":
        return Limits(most, ignore_eos=ignore_eos, context=model.context)
    # "unset becomes 4000"
    most = IGNORE_EOS_LIMIT if ignore_eos and most is None else most
    return Limits(most, ignore_eos=ignore_eos, context=prompt.token_count + _NO_WINDOW)


def _sampling(fields: Fields, edition: Edition) -> Sampling:
    drawn = sampled(fields)
    seeds = (fields["seed"],) if "seed" in fields else _SEEDS[edition]
    return Sampling(
        # Without sampling no seed matters: "temperature 0 = greedy", and beams are not drawn either.
        seeds=seeds if drawn else (),
        temperature=float(fields.get("temperature", 1.0)) if drawn else 0.0,
        top_p=float(fields.get("top_p", 1.0)),
        top_k=max(fields.get("top_k", _TOP_K[edition]), 0) if drawn else 0,
        # The older server ignores it, whatever it is.
        min_p=float(fields.get("min_p", 0.0)) if edition == "observed" else 0.0,
        length_penalty=float(fields.get("length_penalty", 1.0)),
        frequency_penalty=float(fields.get("frequency_penalty", 0.0)),
        presence_penalty=float(fields.get("presence_penalty", 0.0)),
        repetition_penalty=float(fields.get("repetition_penalty", 1.0)),
    )
