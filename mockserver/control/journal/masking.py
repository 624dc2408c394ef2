"""Secrets of requests, told so that people know them again and nobody else can use them.

Headers and parameters of queries that hold one are known by their names.
"""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, unquote_plus

from mockserver.core.calls import Call, Headers, masked_key
from mockserver.core.seeding import fingerprint

# What is in the name of a secret, in lower case and with dashes; but tokens are also counted, and limited.
_SECRET = re.compile(
    r"authorization|api-?key|subscription-?key|secret|password|cookie|"
    r"token(?!s|i[sz]|-?(?:count|limit|budget|type|usage))"
)
_COUNTERS = re.compile(r"rate-?limit")
# Where a secret has its kind in front of it: Bearer, Api-Key, Basic.
_SCHEMED = re.compile(r"([A-Za-z][A-Za-z-]*) +(\S+)")


def is_secret(name: str) -> bool:
    """Whether a header or a parameter of that name holds what nobody else should read."""
    told = name.lower().replace("_", "-")
    return _SECRET.search(told) is not None and _COUNTERS.search(told) is None


def masked(name: str, value: str) -> str:
    """The value of a header or a parameter; of a key the last four characters stay, and its scheme."""
    if not is_secret(name):
        return value
    schemed = _SCHEMED.fullmatch(value.strip()) if "authorization" in name.lower() else None
    return masked_key(value) if schemed is None else f"{schemed[1]} {masked_key(schemed[2])}"


def masked_query(query: str) -> str:
    """A query whose secrets are masked; all else is as it came."""
    return "&".join(map(_masked_parameter, query.split("&")))


def credentials_digest(call: Call) -> str:
    """What tells whether two requests bring the same credentials, and nothing more of them."""
    return fingerprint("\n".join(_credentials(call.headers, call.query)).encode("utf-8", "surrogatepass"))[:8]


def _credentials(headers: Headers, query: str) -> Iterator[str]:
    told = [(name.decode("latin-1"), value.decode("latin-1").strip()) for name, value in headers.raw]
    for name, value in (*told, *parse_qsl(query)):
        if is_secret(name) and "cookie" not in name.lower():
            yield value


def _masked_parameter(told: str) -> str:
    name, equals, value = told.partition("=")
    plain = unquote_plus(name)
    if not equals or not is_secret(plain):
        return told
    return f"{name}={quote(masked(plain, unquote_plus(value)), safe='*')}"
