"""What a dialect is: a value whose parts are tables and plain functions.

Adding a dialect means writing one folder whose `table.py` holds one `Dialect`, and naming it in the entry-point group
`mockserver.dialects`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from mockserver.core.calls import Call
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import FinishReason, Generation, GenerationRequest
from mockserver.core.quotas import QuotaPolicy, Standing
from mockserver.core.timeline import Pace, RawHeaders, Reply

Edition = Literal["documented", "observed"]

EDITIONS: tuple[Edition, ...] = ("documented", "observed")


class Model(NamedTuple):
    """A model that a dialect offers. `context` is its window and `max_output` its longest answer, in tokens."""

    id: str
    owned_by: str = ""
    context: int = 131_072
    max_output: int | None = None


class Site(NamedTuple):
    """Where a call has landed: all that an operation may know beside the call itself.

    `now` is the arrival in Unix seconds (frozen when the settings say so), `seed` decides everything that is random,
    `identity` the ids that are this call's own. `models` are the models on offer, and with `closed_catalogue` no
    others exist. `variables` are the path's. `standings` are the quotas of whoever asks, none where they are off.
    """

    edition: Edition
    now: float
    seed: int
    identity: int = 0
    models: tuple[Model, ...] = ()
    closed_catalogue: bool = False
    variables: Mapping[str, str] = MappingProxyType({})
    standings: tuple[Standing, ...] = ()

    def model(self, name: str) -> Model | None:
        """The model of that name: one on offer, else any name at all unless the catalogue is closed."""
        for model in self.models:
            if model.id == name:
                return model
        return None if self.closed_catalogue else Model(name)


Read = Callable[[Call, Site], GenerationRequest | Rejection]
Write = Callable[[Generation, Pace, Site], Reply | Rejection]
Answer = Callable[[Call, Site], Reply | Rejection]


def no_read(call: Call, site: Site) -> Rejection:
    """The `read` of an operation that generates nothing."""
    return Rejection(FailureKind.SERVER_ERROR)


def no_write(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The `write` of an operation that generates nothing."""
    raise NotImplementedError("this operation generates nothing")


class Parts(NamedTuple):
    """What reads the requests of an operation, and what writes its answers."""

    read: Read
    write: Write


def on_demand(load: Callable[[], Parts]) -> Parts:
    """Parts that are loaded with the first request: few servers are asked for all that they can do, and all start."""
    loaded = cache(load)
    return Parts(
        lambda call, site: loaded().read(call, site),
        lambda generation, pace, site: loaded().write(generation, pace, site),
    )


class Schemas(NamedTuple):
    """The names of an operation's schemas in its dialect's contract: what it takes, answers and streams."""

    request: str | None = None
    response: str | None = None
    chunk: str | None = None


class Operation(NamedTuple):
    """One endpoint: `read` and `write` around a generation, or `answer` alone where nothing is generated.

    - `paths`: the first documents it; `{name}` in a path stands for anything, slashes included.
    - `schemas`: its schemas in the dialect's contract.
    - `edition`: set where the path itself decides it.
    - `secured`: whether it wants the vendor's credentials; `calls_tools`: whether it knows tools; `speaks`: whether a
      model says anything, rather than reads only, as for embeddings.
    - `served`: the paths that an edition serves, where it does not serve all; how it refuses at the others is the
      operation's own to say.
    - `stream_error`: the events by which a stream of it fails, where the dialect's usual one will not do.
    """

    name: str
    method: str
    paths: tuple[str, ...]
    schemas: Schemas = Schemas()
    read: Read = no_read
    write: Write = no_write
    answer: Answer | None = None
    edition: Edition | None = None
    secured: bool = True
    calls_tools: bool = False
    speaks: bool = True
    summary: str = ""
    served: Mapping[Edition, tuple[str, ...]] = MappingProxyType({})
    stream_error: "Callable[[Broken], bytes] | None" = None

    def serves(self, path: str, edition: Edition) -> bool:
        """Whether an edition ever answers at one of the paths, rather than refuse whatever is asked there."""
        return path in self.served.get(edition, self.paths)


class Refusal(NamedTuple):
    """A row of an error table.

    - `message`: the wording when the rejection brings none; `amid` the one within a stream that has begun, where it is
      another.
    - `body`: makes the answer's body of the rejection and the wording: a JSON value, or bytes that go out as they are
      under `content_type`.
    - `streamed`: the row for a request that asked for a stream, where the vendor answers that one otherwise.
    - `resets`: headers that state a Unix time, so many seconds from now.
    """

    status: int
    message: str
    body: Callable[[Rejection, str], object]
    headers: tuple[tuple[bytes, bytes], ...] = ()
    content_type: bytes = b"application/json"
    streamed: "Refusal | None" = None
    amid: str = ""
    resets: tuple[tuple[bytes, int], ...] = ()


# How OpenAPI says that an API key comes as `Authorization: Bearer`, under a name of our own.
BEARER: Mapping[str, Mapping[str, str]] = MappingProxyType({"key": {"type": "http", "scheme": "bearer"}})

ErrorTable = Mapping[FailureKind, Refusal]


def unrouted(call: Call, site: Site, allowed: tuple[str, ...]) -> Reply | Rejection:
    """The usual refusal of a call that no operation takes; `allowed` are the methods that its path knows."""
    return Rejection(FailureKind.WRONG_METHOD if allowed else FailureKind.UNKNOWN_PATH)


def error_event(status: int, body: object) -> bytes:
    """What a stream says when it fails half-way: the body of the vendor's refusal, as an event."""
    return f"data: {json.dumps(body, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


# A typed event that ends an answer, as the Responses API has them.
TYPED_END = re.compile(rb'"type"\s*:\s*"response\.(?:completed|incomplete)"')
# An event of OpenAI's shape that ends a choice: others have no finish reason, or null.
FINISH_REASON = re.compile(rb'"finish_reason"\s*:\s*"|' + TYPED_END.pattern)


class Broken(NamedTuple):
    """A stream that fails once it has begun: the status of the refusal, its words, and the stream's events, of which so
    many were `sent`."""

    status: int
    message: str
    events: Sequence[bytes]
    sent: int


class Clients(NamedTuple):
    """How clients are led to a dialect: what follows its URL in a base URL, and the environment variables they read.

    `native` is what the vendor's own client wants there, `openai` what the openai client wants; `urls` are variables
    for the native base URL, `keys` for the API key, and `more` those that only have to be there.
    """

    native: str = ""
    openai: str = "/v1"
    urls: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    more: Mapping[str, str] = MappingProxyType({})


class Preset(NamedTuple):
    """A latency that has a name: how an engine behaves in time, as users say it, and in plain words.

    `latency` are settings (`prefill=50ms, itl=5ms`), or the name of another preset with settings that change it.
    """

    latency: str
    summary: str


class Dialect(NamedTuple):
    """A vendor's API.

    - `name`: the folder's and the URL's (`/cerebras/...`); `title`: for people.
    - `hosts`: the vendor's own host names, at which the dialect has every path.
    - `errors`: a row for each kind of failure, by edition.
    - `contract`: the OpenAPI components of an edition, as JSON; `error_schema` names the one of an error's body.
    - `headers`: what the vendor puts on every answer, errors included.
    - `credentials`: the API key that a call carries, None when it carries none; a dialect without it needs none.
      `security`: the ways to send the key, each as an OpenAPI security scheme by a name.
    - `unrouted`: the answer to a call that no operation takes.
    - `stream_error`: the event by which a stream that has begun fails, from the status and the body of the refusal.
    - `finishes`: matches each event of a stream that ends choices: those of its `choices` with a `finish_reason`, or
      all of them where it has none, as a typed event has not.
    - `finish_reasons`: the ends of an answer that the vendor has a word for.
    - `quotas`: how the vendor limits its customers; without it nobody is refused for asking too much.
    - `clients`: how the vendor's client and the openai client find the dialect.
    - `presets`: the latencies that the dialect brings, by name; `realistic` names the one that stands for it, and
      `preset_of` that of a model, where models differ.
    - `unpacked`: reads the JSON object in a body that is not plain JSON, where the vendor takes such bodies.
    - `bare`: paths of several dialects that this one has where a request names neither dialect nor host; of several
      that claim one the first by name has it.
    """

    name: str
    title: str
    hosts: tuple[str, ...]
    operations: tuple[Operation, ...]
    errors: Mapping[Edition, ErrorTable]
    contract: Mapping[Edition, Callable[[], Mapping[str, Any]]]
    models: tuple[Model, ...]
    headers: Callable[[Call, Site], RawHeaders]
    credentials: Callable[[Call], str | None] | None = None
    unrouted: Callable[[Call, Site, tuple[str, ...]], Reply | Rejection] = unrouted
    stream_error: Callable[[int, object], bytes] = error_event
    finishes: re.Pattern[bytes] = FINISH_REASON
    quotas: QuotaPolicy | None = None
    clients: Clients = Clients()
    error_schema: str = "ErrorResponse"
    finish_reasons: tuple[FinishReason, ...] = get_args(FinishReason)
    presets: Mapping[str, Preset] = MappingProxyType({})
    realistic: str = "fast"
    preset_of: Callable[[str], str] | None = None
    unpacked: Callable[[Call], dict[str, Any] | Rejection] | None = None
    bare: tuple[str, ...] = ()
    security: Mapping[str, Mapping[str, str]] = BEARER
