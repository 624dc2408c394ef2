"""The headers of every answer: rate limits in the vendor's names, and what its edge adds (vendor note A1).

Where no quota is configured the figures are those of the free tier with one request taken.
"""

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.cerebras.quotas import limits_left
from mockserver.dialects.openai_style import date_header

_REQUESTS_PER_DAY = 14_400
_TOKENS_PER_MINUTE = 60_000

_LIMITS: RawHeaders = (
    (b"x-ratelimit-limit-requests-day", b"%d" % _REQUESTS_PER_DAY),
    (b"x-ratelimit-limit-tokens-minute", b"%d" % _TOKENS_PER_MINUTE),
    (b"x-ratelimit-remaining-requests-day", b"%d" % (_REQUESTS_PER_DAY - 1)),
    (b"x-ratelimit-remaining-tokens-minute", b"%d" % _TOKENS_PER_MINUTE),
)
_EDGE: RawHeaders = (
    (b"server", b"cloudflare"),
    (b"cf-cache-status", b"DYNAMIC"),
    (b"alt-svc", b'h3=":443"; ma=86400'),
    (b"referrer-policy", b"strict-origin-when-cross-origin"),
    (b"strict-transport-security", b"max-age=3600; includeSubDomains"),
    (b"x-content-type-options", b"nosniff"),
)


def every_answer(call: Call, site: Site) -> RawHeaders:
    """The headers that each answer carries, errors included; resets are in seconds, as decimal fractions."""
    return (
        date_header(site.now),
        *(limits_left(site) if site.standings else _unlimited(site)),
        (b"cf-ray", f"{hex_digits(site.identity, 16, 'cf-ray')}-FRA".encode()),
        *_EDGE,
    )


def _unlimited(site: Site) -> RawHeaders:
    return (
        *_LIMITS,
        (b"x-ratelimit-reset-requests-day", b"%r" % (86_400 - site.now % 86_400)),
        (b"x-ratelimit-reset-tokens-minute", b"%r" % (60 - site.now % 60)),
    )
