"""`POST /v1/completions` becomes a request to a model, or is refused; and what chats have in common with it."""

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, Stops
from mockserver.dialects.cerebras.body import REQUEST, sent_object
from mockserver.dialects.cerebras.errors import exclusive, explain, refused
from mockserver.dialects.cerebras.models import find_model
from mockserver.dialects.openai.fields import Body, sampling, stop_texts, text_prompts, whole

# Fields that the service obeys but the page does not name: the documented edition accepts and ignores them.
_SERVICE_FIELDS = ("n", "best_of", "frequency_penalty", "presence_penalty", "logit_bias")


def read(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why Cerebras refuses it."""
    sent = sent_object(call)
    if isinstance(sent, Refusal):
        return sent
    contract = REQUEST[scope.edition]
    if not contract.accepts(sent):
        return explain(contract.violations(sent), sent)
    body = sent if scope.edition == "observed" else {k: v for k, v in sent.items() if k not in _SERVICE_FIELDS}
    refusal = _conflict(body)
    if refusal is not None:
        return refusal
    model = find_model(body["model"], scope)
    if isinstance(model, Refusal):
        return model
    root = body.get("grammar_root")
    request = GenerationRequest(
        model=body["model"],
        prompts=text_prompts(body.get("prompt", "")),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=True,
            echo=bool(body.get("echo")),
            logprobs=whole(body.get("logprobs")),
            token_ids=bool(body.get("return_raw_tokens")),
        ),
        limits=Limits(
            whole(body.get("max_tokens")), least_tokens(body.get("min_tokens"), model.context), context=model.context
        ),
        stops=Stops(stop_texts(body.get("stop"))),
        sampling=sampling(body),
        constraint=None if root is None else Constraint("grammar", root),
        n=whole(body.get("n")) or 1,
        best_of=whole(body.get("best_of")) or 1,
        patience=patience(call),
    )
    return fitting(request)


def _conflict(body: Body) -> Refusal | None:
    """The refusal of valid fields that are incompatible with each other."""
    if body.get("echo") and body.get("return_raw_tokens"):
        # "Incompatible with return_raw_tokens=true."
        return exclusive("echo", "return_raw_tokens")
    n, best_of = body.get("n") or 1, body.get("best_of")
    # The best of several results cannot be streamed; 1 is the default.
    if best_of is not None and best_of > 1 and body.get("stream"):
        return exclusive("best_of", "stream")
    if best_of is not None and best_of < n:
        return refused("best_of must be greater than or equal to n", "best_of")
    return None


def patience(call: Call) -> float | None:
    """The header `queue_threshold`, "50-20000 ms", in seconds: a request that would wait longer is refused at once."""
    text = call.headers.get("queue_threshold") or ""
    return int(text) / 1000 if text.isdecimal() and len(text) <= 5 and 50 <= int(text) <= 20_000 else None


def least_tokens(value: float | None, context: int) -> int:
    """The minimum length of an answer, in tokens; by the page, -1 is the longest sequence."""
    least = whole(value) or 0
    return context if least < 0 else least


def fitting(request: GenerationRequest) -> GenerationRequest | Refusal:
    """The request, or its refusal if one of its prompts is longer than the model's context window."""
    length, limit = max([prompt.token_count for prompt in request.prompts]), request.limits.context
    if length <= limit:
        return request
    return Refusal(
        FailureKind.CONTEXT_LENGTH,
        f"Please reduce the length of the messages or completion. Current length is {length} while limit is {limit}",
    )
