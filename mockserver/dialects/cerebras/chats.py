"""`POST /v1/chat/completions` becomes a request to a model, or is refused."""

from collections.abc import Callable

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import GenerationRequest, Limits, Output, Stops
from mockserver.dialects.cerebras.body import sent_object
from mockserver.dialects.cerebras.families import Family, effort_of, family_of, shown_of
from mockserver.dialects.cerebras.fields import fitting, least_tokens, patience
from mockserver.dialects.cerebras.formats import format_fault, read_format
from mockserver.dialects.cerebras.messages import messages_fault, read_prompt
from mockserver.dialects.cerebras.refusals import explain_chat, refused
from mockserver.dialects.cerebras.schemas import CHAT_REQUEST
from mockserver.dialects.cerebras.tools import read_tools
from mockserver.dialects.cerebras.write import ChatOptions
from mockserver.dialects.openai.fields import Body, sampling, stop_texts, whole
from mockserver.dialects.openai.tools import Offer


def read_chat(call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request, or why Cerebras refuses it: for its format, its model, or fields that are incompatible."""
    body = sent_object(call)
    if isinstance(body, Rejection):
        return body
    contract = CHAT_REQUEST[site.edition]
    if not contract.accepts(body):
        return explain_chat(contract.violations(body), body, site.edition)
    model, family = site.model(body["model"]), family_of(body["model"])
    if model is None:
        return Rejection(FailureKind.UNKNOWN_MODEL)
    offer = _conflict(body, family, site.edition) or read_tools(body, site.edition)
    if isinstance(offer, Rejection):
        return offer
    return fitting(_request(body, family, offer, model.context, patience(call)))


def _conflict(body: Body, family: Family, edition: Edition) -> Rejection | None:
    """The refusal of valid fields that are incompatible with each other, or with this model."""
    found = (conflict(body, family) for conflict in _CONFLICTS[edition])
    return (
        next(filter(None, found), None)
        or messages_fault(body["messages"], family, edition)
        or format_fault(body.get("response_format"), edition)
    )


def _rivals_without_logprobs(body: Body, family: Family) -> Rejection | None:
    if body.get("top_logprobs") is None or body.get("logprobs"):
        return None
    # "logprobs must be set to true if this parameter is used."
    return refused("logprobs must be set to true if top_logprobs is used", "top_logprobs")


def _raw_json(body: Body, family: Family) -> Rejection | None:
    # "The raw format is not compatible with json_object or json_schema response formats."
    both = body.get("reasoning_format") == "raw" and read_format(body.get("response_format")) is not None
    return _exclusive("reasoning_format", "response_format", both)


def _tools_and_form(body: Body, family: Family) -> Rejection | None:
    # Recorded: '"tools" is incompatible with "response_format"'; reported of any form, that of plain text too.
    return _exclusive("tools", "response_format", bool(body.get("tools")) and body.get("response_format") is not None)


def _two_limits(body: Body, family: Family) -> Rejection | None:
    both = body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None
    return _exclusive("max_tokens", "max_completion_tokens", both)


# Recorded of qwen-3-235b-a22b-instruct-2507 in March 2026, in the layout of pydantic.
_NO_EFFORT = (
    "1 validation error for ChatCompletionServerRequest\nreasoning_effort\n"
    "  Input should be 'low', 'medium' or 'high' [type=enum, input_value='none', input_type=str]\n"
    "    For further information visit https://errors.pydantic.dev/2.8/v/enum"
)


def _thoughtless(body: Body, family: Family) -> Rejection | None:
    if body.get("reasoning_effort") != "none":
        return None
    if not family.efforts and family.era == "documented":
        return refused(_NO_EFFORT, "validation_error")
    if family.stops_thinking:
        return None
    return refused("reasoning_effort=none is not supported by this model.", "reasoning_effort")


def _exclusive(name: str, other: str, both: bool) -> Rejection | None:
    return refused(f'"{name}" is incompatible with "{other}"', "validation_error") if both else None


_Conflict = Callable[[Body, Family], Rejection | None]
_DOCUMENTED: tuple[_Conflict, ...] = (_rivals_without_logprobs, _raw_json)
_CONFLICTS: dict[Edition, tuple[_Conflict, ...]] = {
    "documented": _DOCUMENTED,
    "observed": (*_DOCUMENTED, _tools_and_form, _two_limits, _thoughtless),
}


def _request(body: Body, family: Family, offer: Offer, context: int, waiting: float | None) -> GenerationRequest:
    prompt, image_tokens = read_prompt(body)
    constraint = read_format(body.get("response_format"))
    shown = shown_of(body, family, structured=constraint is not None)
    return GenerationRequest(
        model=body["model"],
        prompts=(prompt,),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=True,
            logprobs=(whole(body.get("top_logprobs")) or 0) if body.get("logprobs") else None,
            reasoning=shown != "hidden",
        ),
        limits=_limits(body, context),
        stops=Stops(stop_texts(body.get("stop"))),
        sampling=sampling(body),
        constraint=constraint,
        tools=offer.tools,
        tool_choice=offer.choice._replace(compact=family.compact),
        n=whole(body.get("n")) or 1,
        effort=effort_of(body, family),
        prediction=_prediction(body.get("prediction")),
        patience=waiting,
        extra=ChatOptions(shown, image_tokens, body.get("service_tier") == "auto"),
    )


def _limits(body: Body, context: int) -> Limits:
    """The limits, by today's names or else the older ones. -1 means as much as the model can."""
    most, least = (_first(body, f"{which}_completion_tokens", f"{which}_tokens") for which in ("max", "min"))
    return Limits(None if most == -1 else whole(most), least_tokens(least, context), context=context)


def _first(body: Body, *names: str) -> float | None:
    return next((body[name] for name in names if body.get(name) is not None), None)


def _prediction(predicted: Body | None) -> str | None:
    """The predicted text."""
    if predicted is None:
        return None
    content = predicted["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
