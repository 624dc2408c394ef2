"""Masking the secrets of requests: their owners recognise them, and others cannot use them.

Headers and query parameters with secrets are recognised by their names.
"""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, unquote_plus

from mockserver.core.calls import Call, Headers, masked_key
from mockserver.core.seeding import fingerprint

# Parts of the names of secrets, in lower case and with dashes. Names about counting tokens are not secrets.
_SECRET = re.compile(
    r"authorization|api-?key|subscription-?key|secret|password|cookie|"
    r"token(?!s|i[sz]|-?(?:count|limit|budget|type|usage))"
)
_COUNTERS = re.compile(r"rate-?limit")
# An authorization value with a scheme: Bearer, Api-Key, Basic.
_SCHEMED = re.compile(r"([A-Za-z][A-Za-z-]*) +(\S+)")


def is_secret(name: str) -> bool:
    """Whether a header or a parameter of this name holds a secret."""
    plain = name.lower().replace("_", "-")
    return _SECRET.search(plain) is not None and _COUNTERS.search(plain) is None


def masked(name: str, value: str) -> str:
    """The value of a header or a parameter; a secret keeps its scheme and its last four characters."""
    if not is_secret(name):
        return value
    schemed = _SCHEMED.fullmatch(value.strip()) if "authorization" in name.lower() else None
    return masked_key(value) if schemed is None else f"{schemed[1]} {masked_key(schemed[2])}"


def masked_query(query: str) -> str:
    """A query with its secrets masked and everything else unchanged."""
    return "&".join(map(_masked_parameter, query.split("&")))


def credentials_digest(call: Call) -> str:
    """A digest that shows whether two requests have the same credentials, and nothing else about them."""
    return fingerprint("\n".join(_credentials(call.headers, call.query)).encode("utf-8", "surrogatepass"))[:8]


def _credentials(headers: Headers, query: str) -> Iterator[str]:
    sent = [(name.decode("latin-1"), value.decode("latin-1").strip()) for name, value in headers.raw]
    for name, value in (*sent, *parse_qsl(query)):
        if is_secret(name) and "cookie" not in name.lower():
            yield value


def _masked_parameter(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    plain = unquote_plus(name)
    if not equals or not is_secret(plain):
        return parameter
    return f"{name}={quote(masked(plain, unquote_plus(value)), safe='*')}"
