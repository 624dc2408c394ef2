"""Rate limits, the headers of every answer, and how fast the engines are."""

import re

from mockserver.core.calls import Call
from mockserver.core.dialects import Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.quotas import Allowance, QuotaPolicy, Refused, exceeded
from mockserver.core.seeding import derive, uuid4_text
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.openai.read import json_object
from mockserver.dialects.yandex.models import backend_of, parse_uri

_GENERATION = "ai.textGenerationCompletion"


def refuse(refused: Refused, now: float) -> Refusal:
    """The refusal for an exhausted quota: its name, its kind, and the amount that it allows."""
    worst = exceeded(refused.standings)
    if worst is None:
        name, kind, allowed = "SessionsCount.count", "gauge", f"{refused.crowd} requests"
    else:
        limit = worst.limit
        name, kind = f"{limit.measure.capitalize()}Per{limit.period.capitalize()}.rate", "rate"
        allowed = f"{limit.amount} {limit.measure}"
    return Refusal(FailureKind.RATE_LIMIT, f"{_GENERATION}{name} {kind} quota limit exceed: allowed {allowed}")


QUOTAS = QuotaPolicy({"default": Allowance(concurrent=10)}, refuse=refuse)

# --- headers ---------------------------------------------------------------------------------------------------------

_SCHEMES = ("api-key", "bearer")
# The name of the model in its URI, if it is one.
_MODEL = re.compile(rb'"model"\s*:\s*"(?:(?:gpt|emb)://[^/\s"\\]+/([^/\s"\\]{1,256})(?:/[^"\\]*)?|[^"\\]*)"')


def credentials(call: Call) -> str | None:
    """The key of `Authorization: Api-Key <key>` or `Bearer <key or IAM token>`; None if there is none."""
    scheme, _, key = (call.headers.get("authorization") or "").partition(" ")
    return key.strip() or None if scheme.lower() in _SCHEMES else None


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of every answer, including errors; only Yandex' own engines add the ids that trace a call."""
    # "`<hex16>:<hex16>:<hex16>:1`, no zero padding"
    trace = [b"%x" % derive(scope.identity, "trace", part) for part in ("trace", "span", "parent")]
    always = ((b"x-server-trace-id", b":".join((*trace, b"1"))), (b"server", b"ycalb"))
    name = _requested_model(call.body)
    if name is None or not backend_of(name).own:
        return always
    own = call.headers.get("x-client-request-id")
    echoed = ((b"x-client-request-id", own.encode("latin-1")),) if own else ()
    return (*always, (b"x-request-id", request_id(scope).encode()), *echoed)


def request_id(scope: RequestScope) -> str:
    """The id of this call within the service."""
    return uuid4_text(scope.identity, "request")


def _requested_model(body: bytes) -> str | None:
    """The name of the model in a body, None if it names none. It is searched for, since parsing takes milliseconds if
    the body has megabytes, unless its field occurs more often or the value has escapes."""
    found = _MODEL.search(body) if body.count(b'"model"') == 1 else None
    if found is not None:
        return found[1].decode(errors="replace") if found[1] else None
    fields = json_object(body) if body else {}
    model = fields.get("model") if isinstance(fields, dict) else None
    uri = parse_uri(model[:512]) if isinstance(model, str) else None
    return None if uri is None else uri.name


# --- latency ---------------------------------------------------------------------------------------------------------

PRESETS = {
    "yandex": Preset(
        "prefill=lognormal(280ms, 0.4, max=3s), prefill_per_token=0.1ms, itl=lognormal(19.1ms, 0.3, max=500ms), "
        "network=lognormal(20ms, 0.3, max=200ms)",
        "first token after about 0.3 s, 50 tokens/s",
    ),
    # Its chunks of 10 to 20 tokens are made by the dialect, each due with its last token.
    "yandex-d1": Preset(
        "yandex, prefill=lognormal(480ms, 0.4, max=3s), itl=lognormal(15.9ms, 0.3, max=500ms)",
        "first chunk after about 0.5 s, then 60 tokens/s",
    ),
    # "Embedding ~130 ms".
    "yandex-embeddings": Preset("yandex, prefill=lognormal(110ms, 0.3, max=2s)", "an embedding after about 0.13 s"),
}

# The page has `cached_tokens`, but nothing states these figures: they are usual for an engine with such models.
PROMPT_CACHING = PromptCaching(block=16, lifetime=300)


def preset_of(model: str) -> str:
    """The preset of the engine behind a model's URI."""
    uri = parse_uri(model)
    if uri is not None and uri.scheme == "emb":
        return "yandex-embeddings"
    return "yandex-d1" if uri is not None and backend_of(uri.name).large_chunks else "yandex"
