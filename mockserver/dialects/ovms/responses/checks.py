"""The checks of a graph for requests to the Responses API, in the order of the server's source."""

from typing import Any

from mockserver.core.dialects import Edition, Model
from mockserver.dialects.ovms.checks import COMMON, FORMAT, KWARGS, MAX_TOKENS, chat_logprobs, several, whole_limit
from mockserver.dialects.ovms.fields import UINT32, Check, Fields, field, whole
from mockserver.dialects.ovms.models import EFFORTS
from mockserver.dialects.ovms.responses.items import input_fault, pictures_fault
from mockserver.dialects.ovms.tools import tools_fault


def _no_stream_options(fields: Fields, model: Model) -> str | None:
    return "stream_options is not supported in Responses API." if "stream_options" in fields else None


def _one_in_a_stream(fields: Fields, model: Model) -> str | None:
    many = whole(fields.get("n"), UINT32) and fields["n"] > 1 and fields.get("stream") is True
    return "n greater than 1 is not supported for Responses API streaming" if many else None


def _reasoning(value: Any) -> str | None:
    if not isinstance(value, dict):
        return "reasoning is not an object"
    effort = value.get("effort")
    if effort is None:
        return None
    if not isinstance(effort, str):
        return "reasoning.effort is not a string"
    return None if effort in EFFORTS else "reasoning.effort must be one of: low, medium, high"


def output_limit(fields: Fields) -> int | None:
    """The maximum length, in tokens, that a request to the Responses API states."""
    limit: int | None = fields.get("max_output_tokens")
    return limit


def _an_output(fields: Fields, model: Model) -> str | None:
    return "max_output_tokens value should be greater than 0" if output_limit(fields) == 0 else None


RESPONSES_CHECKS: dict[Edition, tuple[Check, ...]] = {
    "documented": (),
    "observed": (
        *(check for check in COMMON["observed"] if check not in (MAX_TOKENS, several)),
        _one_in_a_stream,
        several,
        _no_stream_options,
        input_fault,
        field("reasoning", _reasoning),
        chat_logprobs,
        tools_fault,
        whole_limit("max_output_tokens"),
        _an_output,
        FORMAT,
        KWARGS,
        pictures_fault,
    ),
}
