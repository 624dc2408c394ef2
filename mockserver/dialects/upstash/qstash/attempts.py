"""Attempts: the request that delivers a message, to an application or to the model, and its signature; and callbacks,
the messages that report the outcome of another.

The signature is the JWT in `Upstash-Signature`, by which applications know that a request comes from QStash. The body
of a callback is that of a recorded one (August 2024), from which the docs differ in details: its keys are in this
order, `retried` is absent while it is 0, times are numbers.
"""

import hashlib
import hmac
from base64 import b64encode, urlsafe_b64encode
from typing import Any

import orjson

from mockserver.core.dialect_state import WebhookRequest, WebhookResult
from mockserver.core.seeding import Draws, derive
from mockserver.dialects.upstash.qstash.values import (
    Callback,
    DeadLetter,
    Fields,
    QueuedMessage,
    decoded,
    raw,
    values_by_name,
)

# Messages come from this machine.
CALLER_IP = "127.0.0.1"
# Headers that are not forwarded, because they would contradict those of the request itself.
_RESERVED = {
    *("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "te", "trailer", "upgrade"),
    *("expect", "upstash-message-id", "upstash-retried", "upstash-signature", "upstash-caller-ip"),
}
# The digits of ids: no 0, O, I and l.
_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_HEADER = b'{"alg":"HS256","typ":"JWT"}'
# "Our JWTs have a lifetime of 5 minutes by default."
_LIFETIME = 300


def attempt(message: QueuedMessage, retried: int, key: str, real: float) -> WebhookRequest:
    """The request that delivers a message after so many retries, signed with the key at a real time.

    It is the real time because the clock of the application that checks the signature is never advanced.
    """
    forwarded = tuple(each for each in message.options.headers if each[0].lower() not in _RESERVED)
    about: Fields = (*forwarded, ("Upstash-Message-Id", message.id), ("Upstash-Retried", str(retried)))
    if not any(name == "User-Agent" for name, _ in forwarded):
        about = (*about, ("User-Agent", "Upstash-QStash"))
    if message.api is not None:
        headers, url = _for_model(about, message.token), message.path
    else:
        signed = signature(message.url, message.body, key, real, message.id, retried)
        headers = tuple(sorted((*about, ("Upstash-Caller-Ip", CALLER_IP), ("Upstash-Signature", signed))))
        url = message.url
    options = message.options
    return WebhookRequest(message.id, options.method, url, raw(headers), message.body, retried, options.timeout)


def _for_model(headers: Fields, token: str) -> Fields:
    """Headers for the model, with the token of the publisher. Names are in lower case, as in every request received."""
    mine = ((name.lower(), value) for name, value in headers if name != "Authorization")
    return (*mine, ("authorization", f"Bearer {token}"))


# --- callbacks ---------------------------------------------------------------------------------------------------


def callback(
    message: QueuedMessage,
    to: Callback,
    outcome: WebhookResult,
    retried: int,
    now: float,
    dead: DeadLetter | None = None,
) -> QueuedMessage:
    """The message that reports an outcome, of the attempt after so many retries; of a `dead` message, its failure."""
    kind = "callback" if dead is None else "failure callback"
    return QueuedMessage(
        id=f"msg_{digits(63, message.id, kind, retried)}",
        url=to.url,
        options=to.options,
        body=orjson.dumps(_report(message, outcome, retried, dead)),
        created=now,
        due=now + to.options.delay,
        labels=message.labels,
        source=message.id,
        token=message.token,
        # It has the body and the headers of its source in its own body.
        redacted=("body",) if message.redacted else (),
    )


def _report(message: QueuedMessage, outcome: WebhookResult, retried: int, dead: DeadLetter | None) -> dict[str, Any]:
    return {
        "status": outcome.status or 0,
        "header": values_by_name(decoded(outcome.headers)),
        "body": b64encode(outcome.body or outcome.error.encode()).decode(),
        **({"retried": retried} if retried else {}),
        **({} if dead is None else {"dlqId": dead.id}),
        "sourceMessageId": message.id,
        "url": message.url,
        "method": message.options.method,
        "sourceHeader": values_by_name(message.options.headers),
        "sourceBody": b64encode(message.body).decode(),
        "maxRetries": message.options.retries,
        "notBefore": int(message.due * 1000),
        "createdAt": int(message.created * 1000),
        "callerIP": CALLER_IP,
        **({} if message.api is None else {"api": message.api}),
    }


# --- signatures --------------------------------------------------------------------------------------------------


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
