"""Completions and chats become requests to a model, or are refused."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import GenerationRequest, Limits, Output, Prompt, Sampling, Stops
from mockserver.dialects.openai.fields import stop_texts, text_prompt
from mockserver.dialects.ovms.checks import (
    CHAT_CHECKS,
    COMPLETION_CHECKS,
    ENGINE_CHECKS,
    IGNORE_EOS_LIMIT,
    sampled,
    token_limit,
)
from mockserver.dialects.ovms.endpoints import admit, wrong_endpoint
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.fields import Check, Fields, first_fault, sent
from mockserver.dialects.ovms.formats import read_format
from mockserver.dialects.ovms.graphs import CHATS_PATHS, COMPLETIONS_PATHS, Paths, kind_of
from mockserver.dialects.ovms.messages import read_prompt
from mockserver.dialects.ovms.models import effort, shows_thoughts
from mockserver.dialects.ovms.tools import offered, read_choice, read_tools

# "default: all tokens" in the one, "default 40 when sampling" in the other; 0 stands for all.
_TOP_K: dict[Edition, int] = {"documented": 0, "observed": 40}
# "Random seed [...] default: 0" in the one; the other draws one, here from the request itself.
_SEEDS: dict[Edition, tuple[int, ...]] = {"documented": (0,), "observed": ()}
# The older server ignores the model's context window.
_NO_WINDOW = 131_072


def too_long(prompt: Prompt, most: int | None, model: Model) -> str | None:
    """Why a prompt, with the most tokens that may follow it, does not fit into the model's window."""
    found, window, asked = prompt.token_count, model.context, most or 0
    if found > window:
        return f"Number of prompt tokens: {found} exceeds model max length: {window}"
    if found + asked > window:
        return f"Number of prompt tokens: {found} + max tokens value: {asked} exceeds model max length: {window}"
    return None


def read_limits(fields: Fields, most: int | None, prompt: Prompt, model: Model, edition: Edition) -> Limits:
    """How long the answer may be; `most` is the maximum that the request states."""
    ignore_eos = bool(fields.get("ignore_eos"))
    if edition == "observed":
        return Limits(most, ignore_eos=ignore_eos, context=model.context)
    # "unset becomes 4000"
    most = IGNORE_EOS_LIMIT if ignore_eos and most is None else most
    return Limits(most, ignore_eos=ignore_eos, context=prompt.token_count + _NO_WINDOW)


def read_stops(fields: Fields) -> Stops:
    """The texts that end the answer. "default: `false` if `stream=false`, `true` if `stream=true`"."""
    kept = fields.get("include_stop_str_in_output", bool(fields.get("stream")))
    return Stops(stop_texts(fields.get("stop")), include=kept)


def read_sampling(fields: Fields, edition: Edition) -> Sampling:
    """How tokens are drawn, with each version's own defaults."""
    drawn = sampled(fields)
    seeds = (fields["seed"],) if "seed" in fields else _SEEDS[edition]
    return Sampling(
        # Without sampling no seed matters: "temperature 0 = greedy", and beams are not drawn either.
        seeds=seeds if drawn else (),
        temperature=float(fields.get("temperature", 1.0)) if drawn else 0.0,
        top_p=float(fields.get("top_p", 1.0)),
        top_k=max(fields.get("top_k", _TOP_K[edition]), 0) if drawn else 0,
        # The older server ignores it.
        min_p=float(fields.get("min_p", 0.0)) if edition == "observed" else 0.0,
        # "best_of > 1 means beam search"
        beams=fields.get("best_of", 1),
        early_stopping=False,
        length_penalty=float(fields.get("length_penalty", 1.0)),
        frequency_penalty=float(fields.get("frequency_penalty", 0.0)),
        presence_penalty=float(fields.get("presence_penalty", 0.0)),
        repetition_penalty=float(fields.get("repetition_penalty", 1.0)),
    )


# --- intake ----------------------------------------------------------------------------------------------------------


class GraphEndpoint(NamedTuple):
    """How the endpoints of a graph differ: in their paths, checks, prompts and limits."""

    paths: Paths
    checks: Mapping[Edition, tuple[Check, ...]]
    prompt: Callable[[Fields, Edition], Prompt]
    limit: Callable[[Fields], int | None]


class Taken(NamedTuple):
    """A request that a graph has accepted: its fields, the model, the prompt, and its limit in tokens."""

    fields: Fields
    model: Model
    prompt: Prompt
    limit: int | None


def take(call: Call, scope: RequestScope, endpoint: GraphEndpoint) -> Taken | Refusal:
    """The request, or why the server or its graph refuses it."""
    edition = scope.edition
    if call.path not in endpoint.paths[edition]:
        return Refusal(FailureKind.UNKNOWN_PATH)
    admitted = admit(call, scope, call.path)
    if isinstance(admitted, Refusal):
        return admitted
    if kind_of(admitted.fields["model"]) != "texts":
        return wrong_endpoint(admitted, edition)
    fields, model, stream = sent(admitted.fields, edition), admitted.model, admitted.streamed
    fault = first_fault(endpoint.checks[edition], fields, model)
    if fault is not None:
        return graph_fault(fault, stream=stream)
    taken = Taken(fields, model, endpoint.prompt(fields, edition), endpoint.limit(fields))
    fault = too_long(taken.prompt, taken.limit, model) if edition == "observed" else None
    if fault is not None:
        return graph_fault(fault, stream=stream, kind=FailureKind.CONTEXT_LENGTH)
    fault = first_fault(ENGINE_CHECKS[edition], fields, model)
    return taken if fault is None else graph_fault(fault, stream=stream)


def read_request(taken: Taken, edition: Edition) -> GenerationRequest:
    """The request to the model, with the fields that completions, chats and responses have in common."""
    fields = taken.fields
    return GenerationRequest(
        model=fields["model"],
        prompts=(taken.prompt,),
        output=Output(
            stream=bool(fields.get("stream")),
            include_usage=bool(fields.get("stream_options", {}).get("include_usage")),
            # "Only value 1 is accepted which returns [the] logarithm [of] the chosen token": no alternatives.
            logprobs=0 if fields.get("logprobs") else None,
        ),
        limits=read_limits(fields, taken.limit, taken.prompt, taken.model, edition),
        stops=read_stops(fields),
        sampling=read_sampling(fields, edition),
        constraint=read_format(fields.get("response_format"), edition),
        n=fields.get("n", 1),
        best_of=fields.get("best_of", 1),
    )


# --- read ------------------------------------------------------------------------------------------------------------


def read(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why the server or its graph refuses it."""
    taken = take(call, scope, _COMPLETIONS)
    if isinstance(taken, Refusal):
        return taken
    request = read_request(taken, scope.edition)
    return request._replace(output=request.output._replace(echo=bool(taken.fields.get("echo"))))


def _tokenised(fields: Fields, edition: Edition) -> Prompt:
    """The prompt. "/completions adds the BOS token at tokenising; no chat template"."""
    prompt = text_prompt(fields["prompt"])
    return prompt._replace(token_count=prompt.token_count + 1)


def _limit(fields: Fields) -> int | None:
    limit: int | None = fields.get("max_tokens")
    return limit


_COMPLETIONS = GraphEndpoint(COMPLETIONS_PATHS, COMPLETION_CHECKS, _tokenised, _limit)

# --- chats -----------------------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """What a writer has to know: whether thoughts and calls are parsed out of the text, and the fields it repeats."""

    parsed: bool
    fields: Mapping[str, Any] = {}


def read_chat(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why the server or its graph refuses it."""
    taken = take(call, scope, _CHATS)
    if isinstance(taken, Refusal):
        return taken
    request = read_request(taken, scope.edition)
    return parsed(request, taken.fields) if scope.edition == "observed" else request


def parsed(request: GenerationRequest, fields: Fields) -> GenerationRequest:
    """The request with tools and reasoning, as the parsers find them; "skip_special_tokens=false turns them off"."""
    tools = offered(fields)
    request = request._replace(tools=read_tools(tools), tool_choice=read_choice(fields, request.model))
    if fields.get("skip_special_tokens") is False:
        return request
    template: Mapping[str, Any] = fields.get("chat_template_kwargs", {})
    output = request.output._replace(reasoning=shows_thoughts(request.model, template))
    return request._replace(output=output, effort=effort(request.model, template), extra=Asked(parsed=True))


def _templated(fields: Fields, edition: Edition) -> Prompt:
    """The conversation as one prompt, which includes the tools except in the older server."""
    return read_prompt(fields["messages"], edition, offered(fields) if edition == "observed" else ())


_CHATS = GraphEndpoint(CHATS_PATHS, CHAT_CHECKS, _templated, token_limit)
