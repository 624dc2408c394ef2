"""Rate limits in the vendor's names, by which its SDKs tell one 429 from another (vendor note B5).

No quota is enforced unless one is configured. The figures are invented, since the vendor published none.
"""

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.openai_style import date_header
from mockserver.dialects.upstash.credentials import token

CHAT_PATH = "/llm/v1/chat/completions"

_WINDOW = 60
_REQUESTS_PER_WINDOW = 60
_TOKENS_PER_WINDOW = 60_000
_MESSAGES_PER_DAY = 500
_REQUESTS_PER_SECOND = 100


def _chat_limits(requests: int, tokens: int) -> RawHeaders:
    """The limits of the chat API, and what is left of them."""
    return (
        (b"x-ratelimit-limit-requests", b"%d" % _REQUESTS_PER_WINDOW),
        (b"x-ratelimit-limit-tokens", b"%d" % _TOKENS_PER_WINDOW),
        (b"x-ratelimit-remaining-requests", b"%d" % requests),
        (b"x-ratelimit-remaining-tokens", b"%d" % tokens),
    )


WITHIN_LIMITS = _chat_limits(_REQUESTS_PER_WINDOW - 1, _TOKENS_PER_WINDOW)
CHAT_LIMIT = _chat_limits(0, _TOKENS_PER_WINDOW)
DAILY_LIMIT: RawHeaders = (
    (b"ratelimit-limit", b"%d" % _MESSAGES_PER_DAY),
    (b"ratelimit-remaining", b"0"),
)
BURST_LIMIT: RawHeaders = (
    (b"burst-ratelimit-limit", b"%d" % _REQUESTS_PER_SECOND),
    (b"burst-ratelimit-remaining", b"0"),
)


def every_answer(call: Call, site: Site) -> RawHeaders:
    """The headers that each answer carries, errors included; those of the chat API tell when its limits start anew."""
    date = date_header(site.now)
    if call.path != CHAT_PATH or token(call) is None:
        return (date,)
    # Unix timestamps, unlike the seconds to go of other vendors.
    reset = b"%d" % (site.now // _WINDOW * _WINDOW + _WINDOW)
    return (date, (b"x-ratelimit-reset-requests", reset), (b"x-ratelimit-reset-tokens", reset))
