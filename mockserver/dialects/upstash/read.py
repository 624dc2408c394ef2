"""`POST /llm/v1/chat/completions` becomes a request to a model, or is refused.

QStash parses the body; then the engine behind it checks `top_logprobs`, the form of every field, the model, its context
window, and finally the values.
"""

from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, Prompt, Stops
from mockserver.dialects.contracts import by_edition, editions
from mockserver.dialects.openai.read import chat_prompt, json_object, sampling, stop_texts, whole
from mockserver.dialects.upstash.errors import (
    misplaced_top_logprobs,
    misshapen,
    out_of_range,
    too_long,
    unknown_model,
)

CONTRACT = editions(__package__)
REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")

# --- read ------------------------------------------------------------------------------------------------------------


def read(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Upstash refuses it."""
    body = json_object(call.body)
    if isinstance(body, Refusal):
        return body
    faults = REQUEST[scope.edition].violations(body)
    refusal = misplaced_top_logprobs(body) or misshapen(faults)
    if refusal is not None:
        return refusal
    model = scope.model(body["model"])
    if model is None:
        return unknown_model(body["model"])
    prompt, limit = _prompt(body), whole(body.get("max_tokens"))
    refusal = too_long(prompt.token_count, limit, model.context) or out_of_range(faults)
    return refusal or _request(body, prompt, Limits(limit, context=model.context), model)


def _prompt(body: dict[str, Any]) -> Prompt:
    """The conversation, without the `name` of participants, which the chat templates of both models omit."""
    return chat_prompt([{"role": message["role"], "content": message["content"]} for message in body["messages"]])


def _request(body: dict[str, Any], prompt: Prompt, limits: Limits, model: Model) -> GenerationRequest:
    format = body.get("response_format") or {}
    return GenerationRequest(
        model=model.id,
        prompts=(prompt,),
        output=Output(stream=bool(body.get("stream")), include_usage=True, logprobs=_alternatives(body)),
        limits=limits,
        stops=Stops(stop_texts(body.get("stop"))),
        # "maps tokens (specified by their token ID in the tokenizer) to an associated bias value"
        sampling=sampling(body),
        # "enables JSON mode, which guarantees the message the model generates is valid JSON"
        constraint=Constraint("json_object") if format.get("type") == "json_object" else None,
        n=whole(body.get("n")) or 1,
    )


def _alternatives(body: dict[str, Any]) -> int | None:
    """The number of alternatives at each position; None if no log-probabilities are requested."""
    return (whole(body.get("top_logprobs")) or 0) if body.get("logprobs") else None
