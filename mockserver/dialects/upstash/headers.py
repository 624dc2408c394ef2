"""Rate limit headers with the vendor's names, by which its SDKs distinguish the kinds of 429 (vendor note B5).

The figures are invented, since the vendor published none. Its page has Unix timestamps for the resets of the chat API's
limits; in the one answer that is on record (August 2024, within a callback) they are durations.
"""

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.quotas import Standing
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.openai.bodies import date_header
from mockserver.dialects.upstash.credentials import token
from mockserver.dialects.upstash.quotas import (
    BURST,
    CHAT_REQUESTS,
    CHAT_TOKENS,
    MESSAGES_PER_DAY,
    chat_limits,
    chat_resets,
    left,
    reset,
)

CHAT_PATH = "/llm/v1/chat/completions"

_ONE_TAKEN = (Standing(CHAT_REQUESTS, 1), Standing(CHAT_TOKENS))
_NONE_LEFT = (Standing(CHAT_REQUESTS, CHAT_REQUESTS.amount), Standing(CHAT_TOKENS))

_SECURITY: RawHeaders = ((b"strict-transport-security", b"max-age=31536000; includeSubDomains"),)

# The headers of the error table, for refusals by no actual quota.
CHAT_LIMIT = chat_limits(_NONE_LEFT)
DAILY_LIMIT = left(b"ratelimit-", MESSAGES_PER_DAY.amount, 0)
BURST_LIMIT = left(b"burst-ratelimit-", BURST.amount, 0)
# In seconds from now; those of the chat API are on every answer.
DAILY_RESET = ((b"ratelimit-reset", 86_400),)
BURST_RESET = ((b"burst-ratelimit-reset", 1),)


def within_limits(site: Site) -> RawHeaders:
    """The limits that a successful answer states; without a quota those of the assumed tier after one request."""
    return chat_limits(site.standings or _ONE_TAKEN)


def every_answer(call: Call, site: Site) -> RawHeaders:
    """The headers of every answer, including errors; those of the chat API state when its limits reset."""
    observed = site.edition == "observed"
    general = (date_header(site.now), *(_SECURITY if observed else ()))
    if call.path != CHAT_PATH or token(call) is None:
        return general
    if site.standings:
        return (*general, *chat_resets(site.standings, site.now, as_durations=observed))
    text = reset(site.now // 60 * 60 + 60, site.now, as_duration=observed)
    return (*general, (b"x-ratelimit-reset-requests", text), (b"x-ratelimit-reset-tokens", text))
