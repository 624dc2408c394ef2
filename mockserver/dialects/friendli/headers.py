"""The headers of every answer: the date, and rate limits in the vendor's names (vendor note B1).

The old pages promise limits on requests and on tokens in all answers. Today's gateway was recorded in September 2026 to
state those on requests, in answers of the shared endpoints, successful or not. If no quota is configured, the figures
are those of the first tier after one request, or after the last one if the answer is a 429 all the same.
"""

from functools import cache

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Site
from mockserver.core.failures import FailureKind
from mockserver.core.quotas import PERIODS, Limit, Standing
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.friendli.quotas import limits_left
from mockserver.dialects.openai.bodies import date_header
from mockserver.dialects.openai.fields import bearer

_MINUTE = PERIODS["minute"]
_REQUESTS = Limit("requests", _MINUTE, 100, fixed=True)
_TOKENS = Limit("tokens", _MINUTE, 100_000, fixed=True)
_SHARED = "/serverless/"


def every_answer(call: Call, site: Site) -> RawHeaders:
    """The headers that each answer carries, errors included; resets are in whole seconds."""
    limits = limits_left(site.standings, site.edition) if site.standings else _assumed(call, site)
    return (date_header(site.now), *limits)


def _assumed(call: Call, site: Site) -> RawHeaders:
    """The limits if no quota is configured.

    By the page the minute of the clock counts. Today the window has just begun; containers and endpoints of one's own
    are not limited, nor is what needs no key.
    """
    used = _REQUESTS.amount if site.refused is FailureKind.RATE_LIMIT else 1
    if site.edition == "documented":
        return _after(used, "documented", _MINUTE - int(site.now) % _MINUTE)
    limited = call.path.startswith(_SHARED) and call.method == "POST" and bearer(call) is not None
    return _after(used, "observed", _MINUTE) if limited else ()


@cache
def _after(requests: int, edition: Edition, left: int) -> RawHeaders:
    """The limits after so many requests in a window that has so many seconds left."""
    return limits_left((Standing(_REQUESTS, requests, left=left), Standing(_TOKENS, left=left)), edition)
