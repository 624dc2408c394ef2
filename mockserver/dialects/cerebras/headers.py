"""The headers of every answer: rate limits in the vendor's names, and what its edge adds (vendor note A1).

If no quota is configured, the figures are those of the free tier after one request: of the page's two limits, or of all
that the service states today. Of a refusal for too many requests per minute, none of these is left.
"""

from collections.abc import Mapping

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Site
from mockserver.core.failures import FailureKind
from mockserver.core.quotas import Limit
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.cerebras.quotas import FREE, FREE_2026, WITH_RESET, limits_left
from mockserver.dialects.openai.bodies import date_header

_ASSUMED: Mapping[Edition, tuple[Limit, ...]] = {
    "documented": tuple(limit for limit in FREE.limits if (limit.measure, limit.period) in WITH_RESET),
    "observed": FREE_2026.limits,
}


def _limits(edition: Edition, *, exceeded: bool) -> RawHeaders:
    """The limits of which one request has been taken, or all of a minute's."""
    named = [(f"{limit.measure}-{limit.period}".encode(), limit) for limit in _ASSUMED[edition]]
    return (
        *((b"x-ratelimit-limit-" + name, b"%d" % limit.amount) for name, limit in named),
        *((b"x-ratelimit-remaining-" + name, b"%d" % _remaining(limit, exceeded)) for name, limit in named),
    )


def _remaining(limit: Limit, exceeded: bool) -> int:
    if limit.measure != "requests":
        return limit.amount
    return 0 if exceeded and limit.period == "minute" else limit.amount - 1


_LIMITS: Mapping[tuple[Edition, bool], RawHeaders] = {
    (edition, exceeded): _limits(edition, exceeded=exceeded) for edition in _ASSUMED for exceeded in (False, True)
}
# Recorded in 2025 and in 2026.
_TRANSPORT: Mapping[Edition, bytes] = {
    "documented": b"max-age=3600; includeSubDomains",
    "observed": b"max-age=15552000; includeSubDomains; preload",
}
_EDGE: Mapping[Edition, RawHeaders] = {
    edition: (
        (b"server", b"cloudflare"),
        (b"cf-cache-status", b"DYNAMIC"),
        (b"alt-svc", b'h3=":443"; ma=86400'),
        (b"referrer-policy", b"strict-origin-when-cross-origin"),
        (b"strict-transport-security", transport),
        (b"x-content-type-options", b"nosniff"),
    )
    for edition, transport in _TRANSPORT.items()
}


def every_answer(call: Call, site: Site) -> RawHeaders:
    """The headers of each answer, errors included; resets are in seconds, as decimal fractions."""
    return (
        date_header(site.now),
        *(limits_left(site) if site.standings else _unlimited(site)),
        (b"cf-ray", f"{hex_digits(site.identity, 16, 'cf-ray')}-FRA".encode()),
        *_EDGE[site.edition],
    )


def _unlimited(site: Site) -> RawHeaders:
    return (
        *_LIMITS[site.edition, site.refused is FailureKind.RATE_LIMIT],
        (b"x-ratelimit-reset-requests-day", b"%r" % (86_400 - site.now % 86_400)),
        (b"x-ratelimit-reset-tokens-minute", b"%r" % (60 - site.now % 60)),
    )
