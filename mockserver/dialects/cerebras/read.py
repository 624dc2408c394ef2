"""`POST /v1/completions` as a request to a model: what the page allows, refuses and ignores."""

import zlib
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import FailureKind, Rejection, Violation
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, Sampling, Stops
from mockserver.dialects.cerebras.errors import explain
from mockserver.dialects.cerebras.schemas import REQUEST
from mockserver.dialects.openai_style import json_object, stop_texts, text_prompts, whole

# Fields that the page does not name. The documented edition accepts and ignores them, the observed one obeys.
_SERVICE_FIELDS = ("n", "best_of", "frequency_penalty", "presence_penalty", "logit_bias")

# What a packed body may grow to, in bytes.
_LONGEST_BODY = 64 * 1024 * 1024


def read(call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request, or why Cerebras refuses it."""
    unpacked = _unpacked(call)
    body = json_object(unpacked) if isinstance(unpacked, bytes) else unpacked
    if isinstance(body, Rejection):
        return body
    contract = REQUEST[site.edition]
    if not contract.accepts(body):
        return explain(contract.violations(body))
    conflicts = tuple(_conflicts(body, site))
    if conflicts:
        return explain(conflicts)
    model = site.model(body["model"])
    if model is None:
        return Rejection(FailureKind.UNKNOWN_MODEL)
    request = _request(body, site, model.context)
    longest = max(prompt.token_count for prompt in request.prompts)
    return request if longest <= model.context else _too_long(longest, model.context)


def _unpacked(call: Call) -> bytes | Rejection:
    """The body as JSON bytes. The vendor takes gzip (and msgpack, which is not simulated)."""
    encoding = (call.headers.get("content-encoding") or "identity").lower()
    if (call.headers.get("content-type") or "").startswith("application/vnd.msgpack"):
        return Rejection(FailureKind.UNSUPPORTED_MEDIA_TYPE)
    if encoding == "identity":
        return call.body
    if encoding != "gzip":
        return Rejection(FailureKind.UNSUPPORTED_MEDIA_TYPE)
    inflate = zlib.decompressobj(wbits=31)
    try:
        body = inflate.decompress(call.body, _LONGEST_BODY)
    except zlib.error:
        return Rejection(FailureKind.MALFORMED_JSON)
    return Rejection(FailureKind.BODY_TOO_LARGE) if inflate.unconsumed_tail else body


def _conflicts(body: dict[str, Any], site: Site) -> list[Violation]:
    """What each field allows, but not together with another."""
    found = []
    if body.get("echo") and body.get("return_raw_tokens"):
        # "Incompatible with return_raw_tokens=true."
        found.append(Violation(("echo",), "conflict", "echo is incompatible with return_raw_tokens"))
    if site.edition == "observed":
        n, best_of = body.get("n") or 1, body.get("best_of")
        if best_of is not None and body.get("stream"):
            found.append(Violation(("best_of",), "conflict", "best_of cannot be used with stream"))
        if best_of is not None and best_of < n:
            found.append(Violation(("best_of",), "conflict", "best_of must be greater than or equal to n"))
    return found


def _request(body: dict[str, Any], site: Site, context: int) -> GenerationRequest:
    service = {name: body.get(name) for name in _SERVICE_FIELDS} if site.edition == "observed" else {}
    seed, root, least = whole(body.get("seed")), body.get("grammar_root"), whole(body.get("min_tokens")) or 0
    n = whole(service.get("n")) or 1
    return GenerationRequest(
        model=body["model"],
        prompts=text_prompts(body.get("prompt", "")),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=True,
            echo=bool(body.get("echo")),
            logprobs=whole(body.get("logprobs")),
            token_ids=bool(body.get("return_raw_tokens")),
        ),
        # "If -1, sets to max sequence length."
        limits=Limits(whole(body.get("max_tokens")), max(least, 0), ignore_eos=least < 0, context=context),
        stops=Stops(stop_texts(body.get("stop"))),
        sampling=Sampling(
            seeds=() if seed is None else (seed,),
            temperature=_or(body.get("temperature"), 1.0),
            top_p=_or(body.get("top_p"), 1.0),
            frequency_penalty=_or(service.get("frequency_penalty"), 0.0),
            presence_penalty=_or(service.get("presence_penalty"), 0.0),
        ),
        constraint=None if root is None else Constraint("grammar", root),
        n=n,
        best_of=whole(service.get("best_of")) or 1,
    )


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _too_long(length: int, limit: int) -> Rejection:
    return Rejection(
        FailureKind.CONTEXT_LENGTH,
        f"Please reduce the length of the messages or completion. Current length is {length} while limit is {limit}",
    )
