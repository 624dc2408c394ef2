"""Rate limits, headers and speed: the vendor's tiers, what it says of them, and what every answer states."""

from math import isfinite

from mockserver.core.calls import Call
from mockserver.core.dialects import Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.quotas import (
    PERIODS,
    Allowance,
    Limit,
    LimitState,
    QuotaPolicy,
    Refused,
    exceeded,
    per_minute,
    tightest_by_measure,
)
from mockserver.core.seeding import alphanumerics, derive, hex_digits
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.openai.azure import azure_headers
from mockserver.dialects.openai.errors import ORGANIZATION, PROJECT, is_ahead
from mockserver.dialects.openai.models import snapshot_of
from mockserver.dialects.openai.read import is_azure
from mockserver.dialects.openai.replies import date_header, header_value

_MINUTE, _DAY = PERIODS["minute"], PERIODS["day"]


# The page has figures of tier 1 (of gpt-5); free accounts were told of three requests a minute; the others are those of
# accounts that recorded answers are from.
_TIERS = {
    "free": Allowance((Limit("requests", _MINUTE, 3), Limit("requests", _DAY, 200), Limit("tokens", _MINUTE, 40_000))),
    "tier1": per_minute(500, 500_000),
    "tier2": per_minute(3_000, 1_000_000),
    "tier3": per_minute(5_000, 2_000_000),
    "tier4": per_minute(10_000, 10_000_000),
    "tier5": per_minute(30_000, 150_000_000),
}
_SHORT = {"second": "sec", "minute": "min", "hour": "hour", "day": "day"}
_VISIT = "Visit https://platform.openai.com/account/rate-limits to learn more."


def _refuse(refused: Refused, now: float) -> Refusal:
    """The refusal of a request beyond a limit, or of one that no limit would ever let in; the error table puts the
    model's name into it."""
    worst = exceeded(refused.limit_states)
    if worst is None:
        return Refusal(FailureKind.OVERLOADED)
    limit, cost = worst.limit, max(worst.cost, 1)
    initials = f"{limit.measure[0]}p{limit.period[0]}".upper()
    unit = f"{limit.measure} per {_SHORT[limit.period]} ({initials})"
    where = f"{{model}} in organization {ORGANIZATION} on {unit}"
    if not isfinite(worst.wait):
        end = f"The input or output tokens must be reduced in order to run successfully. {_VISIT}"
        words = f"Request too large for {where}: Limit {limit.amount}, Requested {cost}. {end}"
    else:
        state = f"Limit {limit.amount}, Used {round(worst.spent)}, Requested {cost}"
        words = f"Rate limit reached for {where}: {state}. Please try again in {go_duration(worst.wait)}. {_VISIT}"
    return Refusal(FailureKind.RATE_LIMIT, words)


# Charged with the prompt and the longest answer asked for.
QUOTAS = QuotaPolicy(_TIERS, refuse=_refuse, up_front=True)


def go_duration(seconds: float) -> str:
    """A time as Go prints durations, to the millisecond: `6ms`, `8.64s`, `2m7.93s`, `0s`."""
    total = max(round(seconds * 1000), 0)
    if total < 1000:
        return f"{total}ms" if total else "0s"
    minutes, rest = divmod(total, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}" if minutes else text


_EDGE: RawHeaders = (
    (b"cf-cache-status", b"DYNAMIC"),
    (b"server", b"cloudflare"),
    (b"strict-transport-security", b"max-age=31536000; includeSubDomains; preload"),
    (b"x-content-type-options", b"nosniff"),
)
_VERSION = (b"openai-version", b"2020-10-01")
_EXPOSED = (b"access-control-expose-headers", b"X-Request-ID, CF-Ray, CF-Ray")
# Responses lack this.
_PROXY: RawHeaders = ((b"x-openai-proxy-wasm", b"v0.1"),)
_RESPONSES = ("/v1/responses", "/v1/conversations")
_LIMITED = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses")
# Refusals that no organization is known for, and those that come before a request is processed.
_ANONYMOUS = (FailureKind.MISSING_CREDENTIALS, FailureKind.UNAUTHORIZED)
_UNPROCESSED = (FailureKind.UNKNOWN_PATH, FailureKind.WRONG_METHOD)
_AHEAD: RawHeaders = ((b"content-type", b"application/json; charset=utf-8"), (b"vary", b"Origin"))
_CHALLENGE = (b"www-authenticate", b'Bearer realm="OpenAI API"')
# Refusals that state limits, but for responses.
_STATE_LIMITS = (None, FailureKind.RATE_LIMIT, FailureKind.INVALID_REQUEST, FailureKind.CONTEXT_LENGTH)


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of each answer, errors included, in the order in which they were recorded in August 2026."""
    if is_azure(call):
        return azure_headers(call, scope)
    ray = (b"cf-ray", f"{hex_digits(scope.identity, 16, 'cf-ray')}-FRA".encode())
    return (
        date_header(scope.now),
        ray,
        *_EDGE,
        *(_AHEAD if scope.refused is not None and is_ahead(call, scope.refused) else _service(call, scope)),
        *(() if call.path.startswith(_RESPONSES) else _PROXY),
        *_limits(call, scope),
        (b"x-request-id", request_id(scope).encode()),
        _cookie(scope),
        (b"alt-svc", b'h3=":443"; ma=86400'),
    )


def _service(call: Call, scope: RequestScope) -> RawHeaders:
    """What the part of the service states that answers a call: whose it is, and how long that took."""
    milliseconds = (b"openai-processing-ms", b"%d" % (80 + derive(scope.identity, "processing") % 900))
    processing = () if scope.refused in _UNPROCESSED else (milliseconds,)
    if scope.refused in _ANONYMOUS:
        return (_CHALLENGE, _EXPOSED, *processing, _VERSION)
    organization = call.headers.get("openai-organization") or ORGANIZATION
    project = call.headers.get("openai-project") or PROJECT
    return (
        _EXPOSED,
        (b"openai-organization", organization.encode("latin-1")),
        *processing,
        (b"openai-project", project.encode("latin-1")),
        _VERSION,
    )


def request_id(scope: RequestScope) -> str:
    """The id of a request."""
    return f"req_{hex_digits(scope.identity, 32, 'request')}"


def model_headers(model: str) -> RawHeaders:
    """What answers of completions state beside: the snapshot that answered."""
    return (
        (b"access-control-allow-origin", b"*"),
        (b"cache-control", b"no-cache, must-revalidate"),
        (b"openai-model", header_value(snapshot_of(model))),
        (b"via", b"envoy-router-7d4c8b6f5-x2k9q"),
    )


def _cookie(scope: RequestScope) -> tuple[bytes, bytes]:
    letters, (_, expires) = alphanumerics(scope.identity, 129, "cookie"), date_header(scope.now + 1800)
    token = f"{letters[:43]}-{scope.now:.7f}-1.0.1.1-{letters[43:]}"
    where = b"HttpOnly; SameSite=None; Secure; Path=/; Domain=api.openai.com; Expires=" + expires
    return b"set-cookie", b"__cf_bm=" + token.encode() + b"; " + where


def limit_headers(limit_states: tuple[LimitState, ...]) -> RawHeaders:
    """The tightest limits on requests and on tokens; empty if there are none."""
    found = tightest_by_measure(limit_states)
    return (
        *((b"x-ratelimit-limit-" + measure, b"%d" % each.limit.amount) for measure, each in found),
        *((b"x-ratelimit-remaining-" + measure, b"%d" % each.remaining) for measure, each in found),
        *((b"x-ratelimit-reset-" + measure, go_duration(each.reset).encode()) for measure, each in found),
    )


_ACCOUNT = per_minute(10_000, 250_000).limits
# Those of a recorded account after one short request, and when it is refused for them.
_RECORDED = limit_headers(tuple(map(LimitState, _ACCOUNT, (1, 9))))
_RECORDED_REFUSAL = limit_headers(tuple(map(LimitState, _ACCOUNT, (10_000, 9))))


def _limits(call: Call, scope: RequestScope) -> RawHeaders:
    """The limits that an answer states; without a quota they are recorded ones."""
    # Recorded and, of those that are refused for their limits, reported.
    if scope.refused not in _STATE_LIMITS or (scope.refused is not None and call.path.startswith(_RESPONSES)):
        return ()
    if scope.limit_states:
        return limit_headers(scope.limit_states)
    if call.path not in _LIMITED or call.method != "POST":
        return ()
    return _RECORDED_REFUSAL if scope.refused is FailureKind.RATE_LIMIT else _RECORDED


# By what users measure: first tokens after half a second, the smallest models some 150 tokens a second.
PRESETS = {
    "openai": Preset(
        "queue=lognormal(15ms, 0.8, max=500ms), prefill=lognormal(280ms, 0.4, max=3s), prefill_per_token=0.03ms, "
        "itl=lognormal(11ms, 0.35, max=250ms), network=lognormal(45ms, 0.3, max=300ms)",
        "OpenAI: first token after about 0.4 s, some 85 tokens/s",
    ),
    "openai-small": Preset(
        "openai, prefill=lognormal(200ms, 0.4, max=3s), itl=lognormal(6.5ms, 0.35, max=250ms)",
        "OpenAI, a mini or nano model: some 145 tokens/s",
    ),
    "openai-large": Preset(
        "openai, prefill=lognormal(650ms, 0.5, max=8s), itl=lognormal(18ms, 0.35, max=400ms)",
        "OpenAI, one of its largest models: some 52 tokens/s",
    ),
}
# "Cache hits occur in increments of 128 tokens"; prompts are kept for five to ten minutes without use.
PROMPT_CACHING = PromptCaching(block=128, lifetime=300)
_SMALL, _LARGE = ("-mini", "-nano", "-luna", "3.5-turbo"), ("-pro", "-astra", "gpt-5.5", "gpt-4-")


def preset_of(model: str) -> str:
    """The preset of a model's size."""
    name = model[:64]
    sizes = (("openai-small", _SMALL), ("openai-large", _LARGE))
    return next((preset for preset, parts in sizes if any(part in name for part in parts)), "openai")
