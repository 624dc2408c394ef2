"""Attempts: the request that delivers a message, to an application or to the model."""

from mockserver.core.outbox import Task
from mockserver.dialects.upstash.qstash.callbacks import CALLER_IP
from mockserver.dialects.upstash.qstash.signing import signature
from mockserver.dialects.upstash.qstash.values import Fields, Message, raw

# Headers that are not forwarded, because they would contradict those of the request itself.
_RESERVED = {
    *("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "te", "trailer", "upgrade"),
    *("expect", "upstash-message-id", "upstash-retried", "upstash-signature", "upstash-caller-ip"),
    "upstash-schedule-id",
}


def attempt(message: Message, retried: int, key: str, real: float) -> Task:
    """The request that delivers a message after so many retries, signed with the key at a real time.

    It is the real time because the clock of the application that checks the signature is never advanced.
    """
    forwarded = tuple(each for each in message.options.headers if each[0].lower() not in _RESERVED)
    about: Fields = (*forwarded, ("Upstash-Message-Id", message.id), ("Upstash-Retried", str(retried)))
    if message.schedule is not None:
        about = (*about, ("Upstash-Schedule-Id", message.schedule))
    if not any(name == "User-Agent" for name, _ in forwarded):
        about = (*about, ("User-Agent", "Upstash-QStash"))
    if message.api is not None:
        headers, url = _for_model(about, message.token), message.path
    else:
        signed = signature(message.url, message.body, key, real, message.id, retried)
        headers = tuple(sorted((*about, ("Upstash-Caller-Ip", CALLER_IP), ("Upstash-Signature", signed))))
        url = message.url
    options = message.options
    return Task(message.id, options.method, url, raw(headers), message.body, retried, options.timeout)


def _for_model(headers: Fields, token: str) -> Fields:
    """Headers for the model, with the token of the publisher. Names are in lower case, as in every request received."""
    mine = ((name.lower(), value) for name, value in headers if name != "Authorization")
    return (*mine, ("authorization", f"Bearer {token}"))
