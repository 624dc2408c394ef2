"""Signatures: the JWT in `Upstash-Signature`, by which applications know that a request comes from QStash."""

import hashlib
import hmac
from base64 import urlsafe_b64encode

import orjson

from mockserver.core.seeding import Draws, derive

# The digits of ids: no 0, O, I and l.
_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_HEADER = b'{"alg":"HS256","typ":"JWT"}'
# "Our JWTs have a lifetime of 5 minutes by default."
_LIFETIME = 300


def digits(count: int, *parts: str | int) -> str:
    """`count` characters of an id, derived from the parts."""
    return Draws(derive(0, "qstash", *parts)).spell(_DIGITS, count)


def signing_key(number: int) -> str:
    """A signing key: the first is number 0, and each rotation brings the next. They are the same on every server."""
    return f"sig_{digits(28, 'signing key', number)}"


def signature(url: str, body: bytes, key: str, now: float, *identity: str | int) -> str:
    """The signature of a request to a URL, made at a Unix time; its `identity` distinguishes it from others."""
    begun = int(now)
    claims = {
        "iss": "Upstash",
        "sub": url,
        "exp": begun + _LIFETIME,
        "nbf": begun,
        "iat": begun,
        "jti": f"jwt_{digits(28, 'jwt', *identity)}",
        # "The body field is a base64 encoded sha256 hash of the request body. We use url encoding"
        "body": urlsafe_b64encode(hashlib.sha256(body).digest()).decode(),
    }
    signed = b".".join((_encoded(_HEADER), _encoded(orjson.dumps(claims))))
    return b".".join((signed, _encoded(hmac.new(key.encode(), signed, hashlib.sha256).digest()))).decode()


def _encoded(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
