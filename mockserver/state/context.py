"""Context: a call, and everything that is settled about it before its body is read; and what every answer to it has.

The request's own headers (`X-Mockserver-...`) take precedence over its route, and the route over the settings.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import ceil
from types import MappingProxyType
from typing import Literal, NamedTuple

import orjson

from mockserver.core.dialects import EDITIONS, Dialect, Edition, Model, Operation, RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import GenerationRequest, Lengths
from mockserver.core.http import Call, FrameBatch, Headers, RawHeaders, Reply
from mockserver.core.messages import short_repr, unknown_name
from mockserver.core.quotas import LimitState
from mockserver.core.seeding import SEEDS, derive, fingerprint, hex_digits
from mockserver.latency.parse_latency import NotationError, read_lengths, read_profile
from mockserver.latency.profiles import OFF, REALISTIC, Profile
from mockserver.latency.traces import NO_TRACES, Traces
from mockserver.state.settings import RouteSettings, Settings

# The prefix of our own headers: those that requests may send, and those of answers, which a proxy may send back.
_OWN = b"x-mockserver-"
_REQUEST_HEADERS = ("seed", "latency", "output-tokens", "fault", "edition", "reply", "namespace")
_ANSWER_HEADERS = ("request-id", "seed", "dialect", "rule", "stale", "hint")
# How many characters the value of such a header may have. Every other way to say the same has room for more.
_LONGEST_OVERRIDE = 8192
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_NONE: Mapping[str, str] = MappingProxyType({})


class HeaderError(Exception):
    """An `X-Mockserver-...` header that cannot be obeyed; the message says what would have been valid."""


ChosenBy = Literal["", "header", "id", "model", "setting", "default"]


class RouteMatch(NamedTuple):
    """The target of a request: a dialect, and its operation for the path and the method, None if it has none.

    `path` is the dialect's own path, `allowed` the methods that it supports there, `configured` the user's settings for
    it. `others` are the other dialects that have the same bare path, and `chosen_by` is what decided between them.
    """

    dialect: Dialect
    operation: Operation | None
    path: str
    variables: Mapping[str, str] = MappingProxyType({})
    allowed: tuple[str, ...] = ()
    configured: RouteSettings | None = None
    others: "tuple[RouteMatch, ...]" = ()
    chosen_by: ChosenBy = ""


class RequestContext(NamedTuple):
    """A call, and everything that is decided about it before its body is read.

    Without a `profile` latency is off; without `lengths` answers end where their texts do. `overrides` are the values
    of the request's own `X-Mockserver-...` headers, by the rest of their names.
    """

    call: Call
    route: RouteMatch
    settings: Settings
    scope: RequestScope
    profile: Profile | None
    latency: str = OFF
    lengths: Lengths | None = None
    overrides: Mapping[str, str] = _NONE


def make_context(
    call: Call, route: RouteMatch, settings: Settings, salt: int = 0, limit_states: tuple[LimitState, ...] = ()
) -> RequestContext:
    """The context of a call, as the request's own headers prescribe, else its route, else the server's settings.

    Raises HeaderError for headers that cannot be obeyed.
    """
    overrides = overrides_of(call.headers)
    usual = settings if route.configured is None else _routed(settings, route.configured)
    seed, edition, latency, output_tokens = usual.seed, usual.edition, usual.latency, usual.output_tokens
    if overrides:
        seed = _seed(overrides.get("seed", ""), seed)
        edition = _edition(overrides.get("edition") or edition)
        latency = overrides.get("latency") or latency
        output_tokens = overrides.get("output-tokens") or output_tokens
    if route.operation is not None:
        edition = route.operation.edition or edition
    profile = profile_of(latency, route.dialect.realistic, settings.speed, settings.traces)
    models, catalogue = route.dialect.models, settings.models.get(route.dialect.name)
    if catalogue is not None:
        known = {model.id: model for model in models}
        models = tuple(known.get(name) or route.dialect.unlisted(name) or Model(name) for name in catalogue)
    body, variables = fingerprint(call.body), route.variables
    scope = RequestScope(
        edition=edition,
        now=call.received_at if settings.created is None else settings.created,
        seed=seed,
        identity=derive(seed, "identity", route.path, *variables.values(), call.query, body, salt),
        models=models,
        closed_catalogue=catalogue is not None,
        variables=variables,
        limit_states=limit_states,
        unlisted=route.dialect.unlisted,
    )
    lengths = lengths_of(output_tokens, settings.traces)
    return RequestContext(call, route, settings, scope, profile, latency, lengths, overrides)


def paced(context: RequestContext, model: str) -> RequestContext:
    """The context at the pace of the requested model, if latency is realistic and its dialect paces models by name."""
    preset_of = context.route.dialect.preset_of
    if preset_of is None or not context.latency.startswith(REALISTIC):
        return context
    settings = context.settings
    profile = profile_of(context.latency, preset_of(model), settings.speed, settings.traces)
    return context._replace(profile=profile)


def _routed(settings: Settings, route: RouteSettings) -> Settings:
    """The settings with those of the route, which only yield to the command line and the environment."""
    names = ("seed", "edition", "latency", "output_tokens")
    own = {name: getattr(route, name) for name in names if name not in settings.pinned}
    return replace(settings, **{name: value for name, value in own.items() if value is not None})


def overridden(
    context: RequestContext, model: str, seed: int | None, latency: str | None, output_tokens: str | None = None
) -> RequestContext:
    """The context with another seed, latency and lengths if given, unless the request's own headers set them."""
    if seed is None and latency is None and output_tokens is None:
        return context
    overrides, scope, settings = context.overrides, context.scope, context.settings
    if seed is not None and not overrides.get("seed"):
        scope = scope._replace(seed=seed, identity=derive(seed, "retold", scope.identity))
    if output_tokens is not None and not overrides.get("output-tokens"):
        context = context._replace(lengths=lengths_of(output_tokens, settings.traces))
    if latency is not None and not overrides.get("latency"):
        profile = profile_of(latency, context.route.dialect.realistic, settings.speed, settings.traces)
        return paced(context._replace(scope=scope, profile=profile, latency=latency), model)
    return context._replace(scope=scope)


def with_lengths(request: GenerationRequest, lengths: Lengths | None) -> GenerationRequest:
    """The request, whose answers have these lengths."""
    if request.limits.lengths is lengths:
        return request
    return request._replace(limits=request.limits._replace(lengths=lengths))


def overrides_of(headers: Headers) -> Mapping[str, str]:
    """The values of the `X-Mockserver-...` headers by the rest of their names; the first of a name counts.

    Raises HeaderError for an unknown one, which misspelt would silently have no effect, and for one that is too long.
    """
    found: dict[str, str] = {}
    for name, value in headers.raw:
        if not name.startswith(_OWN):
            continue
        wanted = name.decode("latin-1")
        if wanted[len(_OWN) :] not in (*_REQUEST_HEADERS, *_ANSWER_HEADERS):
            raise HeaderError(unknown_name("header", wanted, (f"{_OWN.decode()}{name}" for name in _REQUEST_HEADERS)))
        if len(value) > _LONGEST_OVERRIDE:
            raise HeaderError(
                f"{wanted}: has {len(value)} bytes, at most {_LONGEST_OVERRIDE} are possible; use a stub, the admin "
                "API or the config file for more"
            )
        if wanted == "x-mockserver-dialect" and b"; by=" not in value:
            told = "it is told in answers; choose a dialect by the path, as in /cerebras/v1/models"
            raise HeaderError(f"X-Mockserver-Dialect: {told}")
        found.setdefault(wanted[len(_OWN) :], value.decode("latin-1"))
    return found or _NONE


def _seed(requested: str, otherwise: int) -> int:
    if not requested:
        return otherwise
    if not _WHOLE.fullmatch(requested) or int(requested) not in SEEDS:
        raise HeaderError(
            f"X-Mockserver-Seed: {short_repr(requested)} is not a whole number from {SEEDS[0]} to {SEEDS[-1]}"
        )
    return int(requested)


def _edition(name: str) -> Edition:
    for edition in EDITIONS:
        if edition == name:
            return edition
    raise HeaderError(f"X-Mockserver-Edition: unknown edition {short_repr(name)}. Known: {', '.join(EDITIONS)}")


@lru_cache(maxsize=256)
def lengths_of(text: str, traces: Traces = NO_TRACES) -> Lengths | None:
    """The lengths of answers in text form; None if they are off. Raises HeaderError."""
    try:
        return read_lengths(text, traces)
    except NotationError as error:
        raise HeaderError(f"X-Mockserver-Output-Tokens: {error}") from None


@lru_cache(maxsize=256)
def profile_of(text: str, realistic: str, speed: float = 1, traces: Traces = NO_TRACES) -> Profile | None:
    """The profile of a latency in text form, at a speed; None if it is off. Raises HeaderError."""
    if text == OFF:
        return None
    try:
        profile = read_profile(text, realistic, traces)
    except NotationError as error:
        raise HeaderError(f"X-Mockserver-Latency: {short_repr(text)}: {error}") from None
    return profile if speed == 1 else profile._replace(speed=profile.speed * speed)


# What every answer to a call has: the vendor's words for a refusal, and all headers.


def refuse(refusal: Refusal, context: RequestContext, request: GenerationRequest | None = None) -> Reply:
    """The vendor's refusal, with all its headers; in its words for streams if the request asks for one."""
    row = context.route.dialect.error(context.scope.edition, refusal.kind)
    streams = refusal.streamed or (request is not None and request.output.stream and refusal.status is None)
    streamed = streams and row.streamed is not None
    if streams and row.streamed is not None:
        row = row.streamed
    refusal = refusal._replace(identity=context.scope.identity, call=context.call)
    body = row.body(refusal, refusal.message or row.message)
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    resets = tuple((name, b"%d" % ceil(context.scope.now + seconds)) for name, seconds in row.resets)
    headers: RawHeaders = ((b"content-type", row.content_type), *row.headers, *resets, *refusal.headers)
    if row.status == 405:
        headers = (*headers, (b"allow", ", ".join(context.route.allowed).encode()))
    reply = Reply(refusal.status or row.status, headers, (FrameBatch((data,), (0,), (0,)),), streamed)
    reply = with_headers(reply, context._replace(scope=context.scope._replace(refused=refusal.kind)))
    # Counted limits, which come last, replace the examples in the vendor's error table.
    return reply._replace(headers=tuple(dict(reply.headers).items()))


def with_headers(reply: Reply, context: RequestContext) -> Reply:
    """The reply with the headers of every answer: the vendor's, and our own."""
    status, headers, frames, streamed, orders = reply
    headers = (*headers, *context.route.dialect.headers(context.call, context.scope))
    if not context.settings.strict:
        headers = (
            *headers,
            (b"x-mockserver-request-id", hex_digits(context.scope.identity, 16, "request").encode()),
            (b"x-mockserver-seed", b"%d" % context.scope.seed),
        )
        if context.route.chosen_by:
            chosen = f"{context.route.dialect.name}; by={context.route.chosen_by}"
            headers = (*headers, (b"x-mockserver-dialect", chosen.encode()))
    return Reply(status, headers, frames, streamed, orders)
