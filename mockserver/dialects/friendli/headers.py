"""The headers of every answer: rate limits as the old pages promise them, nothing but the date today (vendor note B1).

Where no quota is configured the figures are those of a first tier with one request taken.
"""

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.friendli.quotas import limits_left
from mockserver.dialects.openai_style.bodies import date_header

_REQUESTS_PER_MINUTE = 100
_TOKENS_PER_MINUTE = 100_000

_LIMITS: RawHeaders = (
    (b"x-ratelimit-limit-requests", b"%d" % _REQUESTS_PER_MINUTE),
    (b"x-ratelimit-limit-tokens", b"%d" % _TOKENS_PER_MINUTE),
    (b"x-ratelimit-remaining-requests", b"%d" % (_REQUESTS_PER_MINUTE - 1)),
    (b"x-ratelimit-remaining-tokens", b"%d" % _TOKENS_PER_MINUTE),
)


def every_answer(call: Call, site: Site) -> RawHeaders:
    """The headers that each answer carries, errors included; resets are in whole seconds, until the minute is over."""
    date = date_header(site.now)
    if site.edition == "observed":
        return (date,)
    if site.standings:
        return (date, *limits_left(site.standings))
    reset = b"%d" % (60 - int(site.now) % 60)
    return (date, *_LIMITS, (b"x-ratelimit-reset-requests", reset), (b"x-ratelimit-reset-tokens", reset))
