"""The checks on a request's way into a graph, layer by layer; the first fault is the answer (vendor note 2)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Model, Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import GenerationRequest, Output, Prompt
from mockserver.dialects.ovms.assertions import ENGINE_CHECKS
from mockserver.dialects.ovms.body import admit
from mockserver.dialects.ovms.endpoints import wrong_endpoint
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.formats import read_format
from mockserver.dialects.ovms.graphs import kind_of
from mockserver.dialects.ovms.paths import Paths
from mockserver.dialects.ovms.rows import Check, Fields, first_fault, sent
from mockserver.dialects.ovms.sampling import read_limits, read_sampling, read_stops, too_long


class Endpoint(NamedTuple):
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


def take(call: Call, site: Site, endpoint: Endpoint) -> Taken | Rejection:
    """The request, or why the server or its graph refuses it."""
    edition = site.edition
    if call.path not in endpoint.paths[edition]:
        return Rejection(FailureKind.UNKNOWN_PATH)
    admitted = admit(call, site, call.path)
    if isinstance(admitted, Rejection):
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
