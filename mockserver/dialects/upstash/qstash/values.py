"""Messages: what is delivered, where, and how."""

from typing import NamedTuple

from mockserver.core.dialect_state import WebhookResult
from mockserver.core.timeline import RawHeaders

# Names and values of HTTP headers.
Fields = tuple[tuple[str, str], ...]

# "QStash offers an HTTP timeout of 2 hours"
LONGEST_TIMEOUT = 7_200.0
# "If it is not provided, the default of 3 retries is used."
_USUAL_RETRIES = 3


class Options(NamedTuple):
    """How a request is delivered: `headers` go with it, times are in seconds, `retry_delay` is an expression."""

    method: str = "POST"
    headers: Fields = ()
    retries: int = _USUAL_RETRIES
    retry_delay: str | None = None
    timeout: float = LONGEST_TIMEOUT
    delay: float = 0.0


class Callback(NamedTuple):
    """Where the outcome of a message is reported, and how."""

    url: str
    options: Options


class QueuedMessage(NamedTuple):
    """A message. Times are Unix seconds.

    - `api`: that of QStash's own which it is for, if it is for none of an application.
    - `token`: of its publisher, to whom alone it is shown, and whom the model's quotas charge.
    - `source`: the message whose outcome it reports, if it is a callback.
    - `redacted`: what answers do not show: `body`, `header` or `header[name]`, the name in lower case.
    """

    id: str
    url: str
    options: Options
    body: bytes = b""
    created: float = 0.0
    due: float = 0.0
    callback: Callback | None = None
    failure_callback: Callback | None = None
    queue: str | None = None
    labels: tuple[str, ...] = ()
    api: str | None = None
    token: str = ""
    source: str | None = None
    redacted: tuple[str, ...] = ()


class DeadLetter(NamedTuple):
    """A message in the dead letter queue, with the outcome of its last attempt."""

    id: str
    message: QueuedMessage
    outcome: WebhookResult
    died: float


class LogEvent(NamedTuple):
    """A line of the log: the state that a message has reached, and with which outcome. It takes `size` bytes."""

    time: float
    state: str
    message: QueuedMessage
    size: int
    outcome: WebhookResult | None = None
    next_delivery: float | None = None


# --- sizes ---------------------------------------------------------------------------------------------------------

# What a message takes in memory beside its texts, about.
_OVERHEAD = 1_000


def size_of(message: QueuedMessage) -> int:
    """How many bytes a message takes, about."""
    callbacks = [each for each in (message.callback, message.failure_callback) if each is not None]
    headers = (message.options.headers, *(each.options.headers for each in callbacks))
    texts = (message.url, message.token, *message.labels, *(each.url for each in callbacks))
    fields = sum(len(name) + len(value) for each in headers for name, value in each)
    return _OVERHEAD + len(message.body) + fields + sum(map(len, texts))


def size_of_dead(dead: DeadLetter) -> int:
    """How many bytes a dead letter takes, about."""
    return size_of(dead.message) + size_of_outcome(dead.outcome)


def size_of_outcome(outcome: WebhookResult) -> int:
    """How many bytes an outcome takes, about."""
    return len(outcome.body) + len(outcome.error) + sum(len(name) + len(value) for name, value in outcome.headers)


# --- orders --------------------------------------------------------------------------------------------------------


class Publish(NamedTuple):
    """Deliver a message. Another one with the same `key` is a duplicate for some time."""

    message: QueuedMessage
    identity: int
    key: str | None = None


class Cancel(NamedTuple):
    """Do not deliver these messages."""

    ids: tuple[str, ...]


class DropDeadLetters(NamedTuple):
    """Remove these messages from the dead letter queue."""

    ids: tuple[str, ...]


class SetQueue(NamedTuple):
    """Make a queue of a publisher, or change it where a value is given."""

    owner: str
    name: str
    parallelism: int | None = None
    paused: bool | None = None


class RemoveQueue(NamedTuple):
    """Remove a queue of a publisher, and the messages that wait in it."""

    owner: str
    name: str


class RotateKeys(NamedTuple):
    """Sign with the next key from now on."""


def canonical(name: str) -> str:
    """The name of a header as QStash writes it: `x-my-header` as `X-My-Header`."""
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))


def values_by_name(fields: Fields) -> dict[str, list[str]]:
    """Headers as QStash's JSON has them: in alphabetical order, each with the list of its values."""
    found: dict[str, list[str]] = {}
    for name, value in fields:
        found.setdefault(canonical(name), []).append(value)
    return dict(sorted(found.items()))


def decoded(headers: RawHeaders) -> Fields:
    """Headers as text."""
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def raw(fields: Fields) -> RawHeaders:
    """Headers as bytes."""
    return tuple((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in fields)
