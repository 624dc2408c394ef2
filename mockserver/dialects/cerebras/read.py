"""`POST /v1/completions` as a request to a model: what the page allows, refuses and ignores."""

from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import FailureKind, Rejection, Violation
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, Sampling, Stops
from mockserver.dialects.cerebras.body import sent_object
from mockserver.dialects.cerebras.errors import explain
from mockserver.dialects.cerebras.schemas import REQUEST
from mockserver.dialects.openai_style.fields import stop_texts, text_prompts, token_biases, whole

Body = Mapping[str, Any]

# Fields that the page does not name and the service obeys: the documented edition accepts and ignores them.
_SERVICE_FIELDS = ("n", "best_of", "frequency_penalty", "presence_penalty", "logit_bias")


def read(call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request, or why Cerebras refuses it."""
    sent = sent_object(call)
    if isinstance(sent, Rejection):
        return sent
    contract = REQUEST[site.edition]
    if not contract.accepts(sent):
        return explain(contract.violations(sent))
    body = sent if site.edition == "observed" else {k: v for k, v in sent.items() if k not in _SERVICE_FIELDS}
    conflicts = tuple(_conflicts(body))
    if conflicts:
        return explain(conflicts)
    model = site.model(body["model"])
    if model is None:
        return Rejection(FailureKind.UNKNOWN_MODEL)
    request = _request(body, model.context, _patience(call))
    longest = max(prompt.token_count for prompt in request.prompts)
    return request if longest <= model.context else _too_long(longest, model.context)


def _conflicts(body: Body) -> Iterator[Violation]:
    """What each field allows, but not together with another."""
    if body.get("echo") and body.get("return_raw_tokens"):
        # "Incompatible with return_raw_tokens=true."
        yield _incompatible("echo", "return_raw_tokens")
    n, best_of = body.get("n") or 1, body.get("best_of")
    # The results of a choice among several cannot be streamed; 1 is what the field says by itself.
    if best_of is not None and best_of > 1 and body.get("stream"):
        yield _incompatible("best_of", "stream")
    if best_of is not None and best_of < n:
        yield Violation(("best_of",), "conflict", "best_of must be greater than or equal to n")


def _incompatible(name: str, other: str) -> Violation:
    return Violation((name,), "incompatible", f'"{name}" is incompatible with "{other}"')


def _request(body: Body, context: int, patience: float | None) -> GenerationRequest:
    root = body.get("grammar_root")
    return GenerationRequest(
        model=body["model"],
        prompts=text_prompts(body.get("prompt", "")),
        output=_output(body),
        limits=_limits(body, context),
        stops=Stops(stop_texts(body.get("stop"))),
        sampling=_sampling(body),
        constraint=None if root is None else Constraint("grammar", root),
        n=whole(body.get("n")) or 1,
        best_of=whole(body.get("best_of")) or 1,
        patience=patience,
    )


def _patience(call: Call) -> float | None:
    """The header `queue_threshold`, "50-20000 ms", in seconds: what would wait longer is refused at once."""
    text = call.headers.get("queue_threshold") or ""
    return int(text) / 1000 if text.isdecimal() and 50 <= int(text) <= 20_000 else None


def _output(body: Body) -> Output:
    return Output(
        stream=bool(body.get("stream")),
        include_usage=True,
        echo=bool(body.get("echo")),
        logprobs=whole(body.get("logprobs")),
        token_ids=bool(body.get("return_raw_tokens")),
    )


def _limits(body: Body, context: int) -> Limits:
    least = whole(body.get("min_tokens")) or 0
    # "If -1, sets to max sequence length."
    return Limits(whole(body.get("max_tokens")), context if least < 0 else least, context=context)


def _sampling(body: Body) -> Sampling:
    seed = whole(body.get("seed"))
    return Sampling(
        seeds=() if seed is None else (seed,),
        temperature=_or(body.get("temperature"), 1.0),
        top_p=_or(body.get("top_p"), 1.0),
        frequency_penalty=_or(body.get("frequency_penalty"), 0.0),
        presence_penalty=_or(body.get("presence_penalty"), 0.0),
        logit_bias=token_biases(body.get("logit_bias")),
    )


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _too_long(length: int, limit: int) -> Rejection:
    return Rejection(
        FailureKind.CONTEXT_LENGTH,
        f"Please reduce the length of the messages or completion. Current length is {length} while limit is {limit}",
    )
