"""Secrets: what may be one, and how it is shown: its owner recognises it, and others cannot use it.

Whatever is shown or written (the journal and its files, logs, deliveries, recordings) passes through here; requests
are answered, matched and forwarded as they are. A header or a parameter holds a secret if a word of its name says so;
elsewhere secrets are recognised by their shape: the user and password of a URL, a secret parameter of a URL, a bearer
token, the prefixes of vendors' keys. What is shown keeps the scheme, and the last four characters if it is long. All
of it takes time in proportion to the text, and changes nothing that has been masked already.
"""

import json
import re
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_plus

from mockserver.core.caches import cache_short
from mockserver.core.http import Call, RawHeaders, by_name
from mockserver.core.json_values import nests_absurdly
from mockserver.core.seeding import fingerprint

_HIDDEN = "****"

# --- names -------------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORDS = frozenset(
    (
        *("assertion", "auth", "bearer", "csrf", "hmac", "jwt", "key", "oauth", "otp", "pass", "private", "pwd"),
        *("session", "sid", "sig", "signature", "token", "totp", "xsrf"),
    )
)
# Parts of names, also of those that are written without anything between their words.
_SECRET_PART = re.compile(
    r"authori[sz]ation|authentication|credential|cookie|passcode|passphrase|passwd|password|secret|"
    r"(?:access|account|api|auth|functions?|license|master|private|security|shared|signing|subscription)-?key|"
    r"session-?id|token(?!s|i[sz]|-?(?:count|limit|budget|type|usage))"
)
# Words that make a key one of another kind, last words that make a name one about a secret, and names of other things.
_OPEN_KEYS = frozenset(
    (
        *("cache", "correlation", "deduplication", "flow", "foreign", "group", "idempotency", "object", "partition"),
        *("primary", "public", "routing", "row", "sort", "surrogate", "websocket"),
    )
)
_ABOUT = frozenset(
    (
        *("age", "algorithm", "budget", "count", "expires", "expiry", "length", "limit", "method", "mode", "remaining"),
        *("size", "status", "through", "timeout", "ttl", "type", "usage", "version"),
    )
)
# By these the attempts of a call are known to belong together, so their values stay whole.
_NAMES_OF_CALLS = ("idempotency-key", "x-idempotency-key")
_OPEN = re.compile(r"access-control-|x-mockserver-|(?:.*-)?rate-?limit")
# Fields of bodies whose names leave no doubt: others, such as the `token` of a log-probability, are no secrets.
_SECRET_FIELD = re.compile(
    r"authorization|(?:.*-)?(?:api-?key|password|passwd|secret|client-secret|(?:access|auth|refresh|session)-?token)"
)


# A body may have a million fields, mostly of few names.
@cache_short(1024, 80)
def is_secret(name: str) -> bool:
    """Whether a header or a parameter of this name holds a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    plain, known = "-".join(words), frozenset(words)
    if not words or _OPEN.match(plain) or words[-1] in _ABOUT or not known.isdisjoint(("max", "min")):
        return False
    telling = known & _SECRET_WORDS
    if telling == {"key"} and not known.isdisjoint(_OPEN_KEYS):
        return False
    return bool(telling) or _SECRET_PART.search(plain) is not None


def _is_secret_field(name: str) -> bool:
    """Whether a field of a body of this name holds a secret."""
    return _SECRET_FIELD.fullmatch("-".join(_WORD.findall(name)).lower()) is not None


# --- values ------------------------------------------------------------------------------------------------------

_MASKED = re.compile(r"\*{4}.{0,4}", re.DOTALL)
# The value of a header with its scheme. What is basic encodes a password, whose end would be readable.
_SCHEMED = re.compile(r"(bearer|basic|token|api-?key|key|oauth|negotiate) +(\S+)", re.IGNORECASE)
# The user and password of a URL, also of one that is encoded or has lost a slash on its way.
_USER = re.compile(r"((?::|%3[aA])(?:/|%2[fF]){1,2})(?:[^/?#\s\"'<>\\%]|%(?!2[fF]|3[fF]|23))*(@|%40)")
# A parameter of a URL, which may be encoded.
_PARAMETER = re.compile(r"((?:[?&#;]|%3[fF]|%26|%23) ?)([\w.$\[\]-]{1,80})(=|%3[dD])((?:[^&#;\s\"'<>%]|%(?!26|23))+)")
_IN_TEXT = re.compile(r"(?<![\w-])(bearer|basic) +([\w.~+/=-]{6,})", re.IGNORECASE)
# JSON Web Tokens, other tokens in base64 of JSON, and keys with the prefixes of vendors.
_TOKEN = re.compile(
    r"(?<![\w-])(?:eyJ[\w-]{8,}={0,2}(?:\.[\w-]+){0,4}|(?:sk|csk|rk|gsk|flp|hf|xai|nvapi|pplx|glpat|sig|ghp|gho|ghs|"
    r"github_pat|xox[abp])[-_][\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{20,}|AQVN[\w-]{20,}|t1\.[\w-]{8,}"
    r"(?:\.[\w-]+)*|y0_[\w-]{8,})"
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:/\S*")


def masked_key(key: str) -> str:
    """An API key of which only the last four characters can be read, and none if it is short."""
    return key if _MASKED.fullmatch(key) else f"{_HIDDEN}{key[-4:] if len(key) > 8 else ''}"


def masked(name: str, value: str) -> str:
    """The value of a header or a parameter, with the secrets in it masked."""
    if name.lower() in _NAMES_OF_CALLS:
        return value
    return _hidden(value) if is_secret(name) else masked_text(value)


def masked_text(text: str) -> str:
    """A text that may quote a URL or a header, such as a path or a line of a log, with the secrets in it masked."""
    text = _USER.sub(rf"\1{_HIDDEN}\2", text)
    text = _PARAMETER.sub(_parameter, text)
    text = _IN_TEXT.sub(_in_text, text)
    return _TOKEN.sub(lambda found: masked_key(found[0]), text)


def masked_query(query: str) -> str:
    """A query with its secrets masked and everything else unchanged."""
    return "&".join(map(_masked_parameter, query.split("&")))


def masked_headers(headers: RawHeaders) -> dict[str, str]:
    """Headers as text by name, with secrets masked; of several with the same name the first counts."""
    return {name: masked(name, value) for name, value in by_name(headers).items()}


def masked_body(body: bytes) -> bytes:
    """A body with its secrets masked: in JSON those of headers, URLs and fields that are called so; in a form those of
    its parameters; in any text the users and passwords of URLs. A body without them is the same bytes."""
    is_json = body[:1] in (b"{", b"[")
    low = body.lower()
    if not any(each in low for each in (_SUSPICIOUS if is_json else _SUSPICIOUS_TEXT)):
        return body
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    if not is_json:
        is_form = "=" in text and text.isprintable() and " " not in text
        return (masked_query(text) if is_form else _USER.sub(rf"\1{_HIDDEN}\2", text)).encode()
    try:
        value = json.loads(text) if len(body) <= _MOST_PARSED else None
        if value is None or nests_absurdly(body, value):
            return _masked_by_pieces(text).encode()
        shown = _masked_json(value)
        return body if shown == value else json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        # Not JSON, a number of thousands of digits, or half a character.
        return _masked_by_pieces(text).encode()


def credentials_digest(call: Call) -> str:
    """A digest that shows whether two requests have the same credentials, and nothing else about them."""
    headers = ((name.decode("latin-1"), value.decode("latin-1").strip()) for name, value in call.headers.raw)
    sent = (*headers, *parse_qsl(call.query))
    credentials = [value for name, value in sent if is_secret(name) and not _PASSING.search(name)]
    return fingerprint("\n".join(credentials).encode("utf-8", "surrogatepass"))[:8]


# What a body has somewhere, in lower case, if there is anything to mask in it: JSON, and other text.
_SUSPICIOUS = (
    *(b":/", b"%3a%2f", b'header"', b'headers"', b'authorization"', b'key"', b"passw", b'secret"', b'token"'),
    *(b"sk-", b'"eyj', b'"rk-', b'"flp', b'"hf', b'"xai', b'"nvapi', b'"pplx', b'"glpat', b'"sig', b'"gh', b'"xox'),
    *(b'"akia', b'"asia', b'"aiza', b'"aqvn', b'"t1.', b'"y0_'),
)
_SUSPICIOUS_TEXT = (b":/", b"%3a", b"=")
# More JSON than this, in bytes, is not parsed to be masked, and so many characters at once are searched for patterns.
_MOST_PARSED, _PIECE = 1_048_576, 65_536
_BETWEEN_WORDS = re.compile(r"[,\s]")
_FIELD = re.compile(r'(")([\w-]{1,80})("\s{0,20}:\s{0,20}(?:\[\s{0,20})?")((?:[^"\\]|\\.)*)')
# What changes from request to request is no credential.
_PASSING = re.compile(r"cookie|csrf|xsrf|hmac|otp|sig|assertion", re.IGNORECASE)


def _masked_by_pieces(text: str) -> str:
    """JSON that cannot be read as such, with its secrets masked as in a text, and those of fields that are called so.

    Nothing else gets a turn while one pattern is searched for, so the text is cut, between words if it has any.
    """
    pieces, start = [], 0
    while start < len(text):
        end = start + _PIECE
        cut = _BETWEEN_WORDS.search(text, end, end + _PIECE)
        end = cut.end() if cut is not None else end
        pieces.append(_FIELD.sub(_field, masked_text(text[start:end])))
        start = end
    return "".join(pieces)


def _field(found: re.Match[str]) -> str:
    """A field of JSON; that of a header has a dash in its name."""
    before, name, between, value = found.groups()
    is_hidden = _is_secret_field(name) or ("-" in name and is_secret(name))
    return f"{before}{name}{between}{_hidden(value)}" if is_hidden else found[0]


def _hidden(value: str) -> str:
    """A secret, of which the scheme and the end may be seen."""
    schemed = _SCHEMED.fullmatch(value.strip())
    return masked_key(value) if schemed is None else _with_scheme(schemed)


def _with_scheme(found: re.Match[str]) -> str:
    return f"{found[1]} {_HIDDEN if found[1].lower() == 'basic' else masked_key(found[2])}"


def _in_text(found: re.Match[str]) -> str:
    """What follows a scheme within a text; a short word is one of a sentence."""
    is_word = found[2].isalpha() and found[2].islower() and len(found[2]) < 20
    return found[0] if is_word else _with_scheme(found)


def _parameter(found: re.Match[str]) -> str:
    before, name, equals, value = found.groups()
    return f"{before}{name}{equals}{masked_key(value)}" if is_secret(name) else found[0]


def _masked_parameter(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    if not equals:
        return masked_text(parameter)
    plain = unquote_plus(value)
    shown = _hidden(plain) if is_secret(unquote_plus(name)) else masked_text(plain)
    return parameter if shown == plain else f"{name}={quote(shown, safe='*/:?=@,')}"


def _masked_json(value: Any, name: str = "") -> Any:
    """A JSON value with its secrets masked; `name` is that of the field that it is the value of."""
    if isinstance(value, str):
        return _masked_field(name, value)
    of_headers = name.lower().endswith(("header", "headers"))
    if isinstance(value, dict):
        if of_headers:
            return {key: _masked_header(key, each) for key, each in value.items()}
        return {key: _masked_json(each, key) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    if of_headers:
        return [_masked_pair(each) for each in value]
    return [_masked_json(each) if isinstance(each, str | dict | list) else each for each in value]


def _masked_field(name: str, text: str) -> str:
    if text and _is_secret_field(name):
        return _hidden(text)
    if _URL.fullmatch(text) or _TOKEN.fullmatch(text):
        return masked_text(text)
    # What is said in words is left as it is, but for the passwords in it.
    return _USER.sub(rf"\1{_HIDDEN}\2", text) if ":/" in text else text


def _masked_header(name: str, value: Any) -> Any:
    """The value of a header in JSON, which may have several."""
    if isinstance(value, list):
        return [_masked_header(name, each) for each in value]
    return masked(name, value) if isinstance(value, str) else _masked_json(value, name)


def _masked_pair(pair: Any) -> Any:
    """A header in a list of headers: a table of its name and value, or both in a list."""
    if isinstance(pair, dict) and isinstance(name := pair.get("name", pair.get("key")), str) and "value" in pair:
        return {**pair, "value": _masked_header(name, pair["value"])}
    if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str):
        return [pair[0], _masked_header(pair[0], pair[1])]
    return _masked_json(pair)
