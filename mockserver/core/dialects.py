"""What a dialect is: a value whose parts are tables and plain functions."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from mockserver.core.dialect_state import ResponseHistory, WebhookQueue
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import FinishReason, Generation, GenerationRequest, Measure
from mockserver.core.http import Call, RawHeaders, Reply, TokenTiming
from mockserver.core.quotas import LimitState, QuotaPolicy

Edition = Literal["documented", "observed"]

EDITIONS: tuple[Edition, ...] = ("documented", "observed")

# What follows the name of a field with a value, or a text that is no name.
_VALUE = rb"(?!\s*:\s*(?:null|false)\b)"
# Answers state the name of their model in every event, and dialects remember what they know of it: no model has a
# longer name than so many characters unless it is on offer.
_LONGEST_NAME = 1_000


class Model(NamedTuple):
    """A model that a dialect offers. `context` is its context window and `max_output` its longest answer, in tokens."""

    id: str
    owned_by: str = ""
    context: int = 131_072
    max_output: int | None = None


class RequestScope(NamedTuple):
    """Everything that an operation may know of a request, beside the call itself.

    - `now`: when the call arrived, in Unix seconds (frozen if the settings say so).
    - `seed`: determines everything that is random in the answer.
    - `identity`: determines the ids in the answer, which differ from call to call.
    - `models`: the models on offer; with `closed_catalogue` no others exist. `unlisted` makes one of another name,
      or none.
    - `variables`: what stands for the names in the operation's path.
    - `limit_states`: how the caller's quotas stand, none if quotas are off.
    - `refused`: why the call is refused, when the headers of its answer are made; otherwise None.
    - `webhooks`: what the dialect still has to send in the namespace, to be read only; None if it sends nothing, and
      for operations that ask a model.
    - `history`: what the dialect remembers of its answers in the namespace; None if it remembers nothing, and for
      requests to a model that need nothing of it.
    """

    edition: Edition
    now: float
    seed: int
    identity: int = 0
    models: tuple[Model, ...] = ()
    closed_catalogue: bool = False
    variables: Mapping[str, str] = MappingProxyType({})
    limit_states: tuple[LimitState, ...] = ()
    refused: FailureKind | None = None
    webhooks: WebhookQueue | None = None
    history: ResponseHistory | None = None
    unlisted: Callable[[str], Model | None] = Model

    def listed(self, name: str) -> Model | None:
        """The model of that name, if it is on offer."""
        for model in self.models:
            if model.id == name:
                return model
        return None

    def model(self, name: str) -> Model | None:
        """The model of that name: one on offer, else one made up for the name, unless the catalogue is closed.

        An empty name is that of no model, and neither is an endless one.
        """
        may_be = not self.closed_catalogue and 0 < len(name) <= _LONGEST_NAME
        return self.listed(name) or (self.unlisted(name) if may_be else None)


Read = Callable[[Call, RequestScope], GenerationRequest | Refusal]
Write = Callable[[Generation, TokenTiming, RequestScope], Reply | Refusal]
OperationHandler = Callable[[Call, RequestScope], Reply | Refusal]


def no_read(call: Call, scope: RequestScope) -> Refusal:
    """The `read` of an operation that generates nothing."""
    return Refusal(FailureKind.SERVER_ERROR)


def no_write(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The `write` of an operation that generates nothing."""
    raise NotImplementedError("this operation generates nothing")


def on_demand(name: str) -> Callable[..., Any]:
    """A function by the name of its module and its own (`package.module:function`), which is imported when it is first
    called: every server starts, but few use all that they could do."""

    @cache
    def load() -> Callable[..., Any]:
        module, _, function = name.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), function)
        return found

    return lambda *arguments: load()(*arguments)


class Schemas(NamedTuple):
    """The names, in the dialect's contract, of the schemas of an operation's requests, answers and stream chunks."""

    request: str | None = None
    response: str | None = None
    chunk: str | None = None


class Operation(NamedTuple):
    """One endpoint: `read` and `write` around a generation, or a `handler` alone where nothing is generated.

    - `paths`: the first is the documented one; `{name}` in a path stands for any text, slashes included.
    - `schemas`: its schemas in the dialect's contract.
    - `edition`: the edition that it always speaks, if its path alone decides that.
    - `secured`: whether it requires the vendor's credentials.
    - `supports_tools`: whether its requests may offer tools.
    - `lacks`: what its answers never have in an edition: "tool_calls", "reasoning", or any "text".
    - `generates`: whether its model generates text; one that embeds or ranks only reads.
    - `measure`: what a model that only reads states of its prompts; the last one of a request for scores is the query.
    - `stream_error`: makes the events that end a failing stream, if the dialect's own `stream_error` does not do.
    - `statuses`: those of its answers that are no refusals.
    - `history_markers`: the body of every request to a model that depends on earlier answers, or of which later ones
      depend, has one of these texts.
    - `remembers`: whether without a model it tells of earlier requests, or changes what later ones are told.
    """

    name: str
    method: str
    paths: tuple[str, ...]
    schemas: Schemas = Schemas()
    read: Read = no_read
    write: Write = no_write
    handler: OperationHandler | None = None
    edition: Edition | None = None
    secured: bool = True
    supports_tools: bool = False
    generates: bool = True
    summary: str = ""
    stream_error: "Callable[[Broken], bytes] | None" = None
    statuses: tuple[int, ...] = (200,)
    history_markers: tuple[bytes, ...] = ()
    remembers: bool = False
    lacks: Mapping[Edition, tuple[str, ...]] = MappingProxyType({})
    measure: Measure | None = None

    def needs_history(self, call: Call) -> bool:
        """Whether the answer to a call may depend on earlier ones: it asks no model, or names an answer."""
        # Most operations have no markers, and each call counts.
        return self.handler is not None or (bool(self.history_markers) and self.history_marker(call.body) is not None)

    def history_marker(self, body: bytes) -> bytes | None:
        """The first of its history markers that a body has, other than as a field without a value."""
        for text in self.history_markers:
            if text in body and re.search(re.escape(text) + _VALUE, body):
                return text
        return None


class ErrorTemplate(NamedTuple):
    """A row of an error table.

    - `message`: the wording if the refusal has none of its own.
    - `midstream_message`: the wording within a stream that has begun, if it differs.
    - `body`: makes the body of the answer from the refusal and the wording: a JSON value, or bytes that are sent as
      they are, as `content_type`.
    - `streamed`: the row for requests that asked for a stream, if the vendor answers those differently.
    - `resets`: headers whose value is a Unix time, each with its distance from now in seconds.
    """

    status: int
    message: str
    body: Callable[[Refusal, str], object]
    headers: tuple[tuple[bytes, bytes], ...] = ()
    content_type: bytes = b"application/json"
    streamed: "ErrorTemplate | None" = None
    midstream_message: str = ""
    resets: tuple[tuple[bytes, int], ...] = ()


# The OpenAPI security scheme of an API key in `Authorization: Bearer`, under a name of our own.
BEARER: Mapping[str, Mapping[str, str]] = MappingProxyType({"key": {"type": "http", "scheme": "bearer"}})

ErrorTable = Mapping[FailureKind, ErrorTemplate]


def unrouted(call: Call, scope: RequestScope, allowed: tuple[str, ...]) -> Reply | Refusal:
    """The usual refusal of a call that no operation serves; `allowed` are the methods that its path supports."""
    return Refusal(FailureKind.WRONG_METHOD if allowed else FailureKind.UNKNOWN_PATH)


def error_event(status: int, body: object) -> bytes:
    """The event that ends a stream which fails half-way: the body of the vendor's refusal."""
    return f"data: {json.dumps(body, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


# Matches a typed event that ends an answer, as in the Responses API.
TYPED_END = re.compile(rb'"type"\s*:\s*"response\.(?:completed|incomplete)"')
# Matches an event of OpenAI's formats that ends a choice: in all others the finish reason is absent or null.
FINISH_REASON = re.compile(rb'"finish_reason"\s*:\s*"|' + TYPED_END.pattern)


class Broken(NamedTuple):
    """A stream that fails after it has begun: the status and the message of the refusal, and the events of the stream,
    the first `sent` of which have been sent."""

    status: int
    message: str
    events: Sequence[bytes]
    sent: int


class Clients(NamedTuple):
    """How clients are pointed at a dialect.

    A client's base URL is the dialect's URL and a suffix: `native` for the vendor's own client, `openai` for the openai
    client. `urls` are the environment variables from which the vendor's client takes its base URL, `keys` those for the
    API key, `more` others that it needs, with their values. `bases` are the variables of frameworks' clients for the
    base URL, each with the path that it has at the vendor; `roots` are those of clients that begin their paths with the
    dialect's name.
    """

    native: str = ""
    openai: str = "/v1"
    urls: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    more: Mapping[str, str] = MappingProxyType({})
    bases: Mapping[str, str] = MappingProxyType({})
    roots: tuple[str, ...] = ()


class Preset(NamedTuple):
    """A named latency: how fast an engine is, in the notation of users and in plain words.

    `latency` holds settings (`prefill=50ms, itl=5ms`), or the name of another preset with settings that change it.
    """

    latency: str
    summary: str


class PromptCaching(NamedTuple):
    """How an engine reuses the beginnings of prompts: whole blocks of so many tokens, for so many seconds after their
    last use; if it does so `on_request`, only those that a request has it cache (`GenerationRequest.cacheable`)."""

    block: int
    lifetime: float
    on_request: bool = False


class Dialect(NamedTuple):
    """A vendor's API.

    - `name`: of its folder and in its URL (`/cerebras/...`); `title`: for people.
    - `hosts`: the vendor's own host names; a request to one of them is for this dialect, whatever its path.
    - `errors`: a row for each kind of failure, by edition; that of chat templates may be left out.
    - `contract`: the OpenAPI components of an edition, as JSON; `error_schema` names that of an error body.
    - `models`: those on offer; `unlisted` makes a model of any other name, if what it is like depends on the
      name, and None if there are no others.
    - `headers`: what the vendor sends with every answer, errors included.
    - `credentials`: the API key of a call, None if it has none; a dialect without this function requires no key.
      `security`: the ways to send the key, as OpenAPI security schemes by name.
    - `needs`: the headers that the vendor requires of every request beside the key, each with a value that it accepts.
    - `unrouted`: the answer to a call that no operation serves.
    - `stream_error`: makes the event that ends a failing stream from the status and the body of the refusal.
    - `finishes`: matches the events of a stream that end choices: those of its `choices` with a `finish_reason`, or
      all of them if the event has no `choices`, as typed events have none.
    - `finish_keys`: the members of such events that state the reason; `finish_reasons`: those that the vendor knows.
    - `quotas`: the vendor's rate limits; without them nobody is refused for asking too much.
    - `clients`: how the vendor's client and the openai client are pointed at the dialect.
    - `presets`: the latencies that the dialect brings, by name; `realistic` names its default, and `preset_of` that of
      a model, if models differ.
    - `prompt_caching`: how the vendor's engines cache prompts, None if they do not.
    - `webhooks`: makes an empty webhook queue, if answers may order requests that the dialect makes later by itself.
    - `history`: makes an empty history, if operations tell of earlier answers, or of how many there were.
    - `unpacked`: reads the JSON object of a body that is not plain JSON, if the vendor accepts such bodies.
    - `claims`: matches the names of models that are its own, and `marks` are headers that only its clients send, each
      with the beginning of its value. By them a request finds the dialect at a path that it shares with others.
    """

    name: str
    title: str
    hosts: tuple[str, ...]
    operations: tuple[Operation, ...]
    errors: Mapping[Edition, ErrorTable]
    contract: Mapping[Edition, Callable[[], Mapping[str, Any]]]
    models: tuple[Model, ...]
    headers: Callable[[Call, RequestScope], RawHeaders]
    credentials: Callable[[Call], str | None] | None = None
    unrouted: Callable[[Call, RequestScope, tuple[str, ...]], Reply | Refusal] = unrouted
    stream_error: Callable[[int, object], bytes] = error_event
    finishes: re.Pattern[bytes] = FINISH_REASON
    finish_keys: tuple[str, ...] = ("finish_reason",)
    quotas: QuotaPolicy | None = None
    clients: Clients = Clients()
    error_schema: str = "ErrorResponse"
    finish_reasons: tuple[FinishReason, ...] = get_args(FinishReason)
    presets: Mapping[str, Preset] = MappingProxyType({})
    realistic: str = "fast"
    preset_of: Callable[[str], str] | None = None
    prompt_caching: PromptCaching | None = None
    webhooks: Callable[[], WebhookQueue] | None = None
    history: Callable[[], ResponseHistory] | None = None
    unpacked: Callable[[Call], dict[str, Any] | Refusal] | None = None
    claims: re.Pattern[str] | None = None
    marks: tuple[tuple[str, str], ...] = ()
    security: Mapping[str, Mapping[str, str]] = BEARER
    needs: Mapping[str, str] = MappingProxyType({})
    unlisted: Callable[[str], Model | None] = Model

    def error(self, edition: Edition, kind: FailureKind) -> ErrorTemplate:
        """The row of a kind of failure. A vendor who tells nothing of chat templates refuses an invalid request."""
        rows = self.errors[edition]
        return rows[FailureKind.INVALID_REQUEST if kind is FailureKind.CHAT_TEMPLATE and kind not in rows else kind]
