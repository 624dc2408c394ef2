"""Visits: a call, and everything that is decided about it before its body is read.

The request's own headers (`X-Mockserver-...`) take precedence over its route, and the route over the settings.
"""

import re
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from mockserver.control.routing import Landing
from mockserver.control.settings import RouteSettings, Settings
from mockserver.core.calls import Call, Headers
from mockserver.core.dialects import EDITIONS, Edition, Model, Site
from mockserver.core.generation import GenerationRequest, Lengths
from mockserver.core.naming import shortened, unknown
from mockserver.core.quotas import Standing
from mockserver.core.seeding import SEEDS, derive
from mockserver.latency.notation import NotationError, complaint_of, read_lengths, read_profile
from mockserver.latency.presets import OFF, REALISTIC
from mockserver.latency.profiles import Profile
from mockserver.latency.traces import NO_TRACES, Traces

# The prefix of our own headers: those that requests may send, and those of answers, which a proxy may send back.
_OWN = b"x-mockserver-"
_REQUEST_HEADERS = ("seed", "latency", "output-tokens", "fault", "edition", "reply", "namespace")
_ANSWER_HEADERS = ("request-id", "seed", "rule", "hint")
# How many characters the value of such a header may have. Every other way to say the same has room for more.
_LONGEST_WISH = 8192
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")


class WishError(Exception):
    """An `X-Mockserver-...` header that cannot be obeyed; the message says what would have been valid."""


class Visit(NamedTuple):
    """A call, and everything that is decided about it before its body is read.

    Without a `profile` latency is off; without `lengths` answers end where their texts do.
    """

    call: Call
    landing: Landing
    settings: Settings
    site: Site
    profile: Profile | None
    latency: str = OFF
    lengths: Lengths | None = None


def visit_of(
    call: Call, landing: Landing, settings: Settings, salt: int = 0, standings: tuple[Standing, ...] = ()
) -> Visit:
    """The visit of a call, as the request's own headers prescribe, else its route, else the server's settings.

    Raises WishError for headers that cannot be obeyed.
    """
    _check_wishes(call.headers)
    route, wish = landing.route, call.headers.get
    usual = _routed(settings, route)
    seed = _seed(wish("x-mockserver-seed") or "", usual.seed)
    edition = _edition(wish("x-mockserver-edition") or usual.edition)
    if landing.operation is not None:
        edition = landing.operation.edition or edition
    latency = wish("x-mockserver-latency") or usual.latency
    profile = _profile_in_force(latency, landing.dialect.realistic, settings)
    site = _site(call, landing, settings, seed, edition, salt)
    if standings:
        site = site._replace(standings=standings)
    output_tokens = wish("x-mockserver-output-tokens") or usual.output_tokens
    return Visit(call, landing, settings, site, profile, latency, lengths_of(output_tokens, settings.traces))


def paced(visit: Visit, model: str) -> Visit:
    """The visit at the pace of the requested model, if latency is realistic and its dialect paces models by name."""
    preset_of = visit.landing.dialect.preset_of
    if preset_of is None or not visit.latency.startswith(REALISTIC):
        return visit
    return visit._replace(profile=_profile_in_force(visit.latency, preset_of(model), visit.settings))


def _routed(settings: Settings, route: RouteSettings | None) -> Settings:
    """The settings with those of the route, which only yield to the command line and the environment."""
    if route is None:
        return settings
    names = ("seed", "edition", "latency", "output_tokens")
    own = {name: getattr(route, name) for name in names if name not in settings.pinned}
    return replace(settings, **{name: value for name, value in own.items() if value is not None})


def _site(call: Call, landing: Landing, settings: Settings, seed: int, edition: Edition, salt: int) -> Site:
    models = landing.dialect.models
    catalogue = settings.models.get(landing.dialect.name)
    if catalogue is not None:
        known = {model.id: model for model in models}
        models = tuple(known.get(name, Model(name)) for name in catalogue)
    return Site(
        edition=edition,
        now=call.received_at if settings.created is None else settings.created,
        seed=seed,
        identity=derive(
            seed, "identity", landing.path, *landing.variables.values(), call.query, call.fingerprint, salt
        ),
        models=models,
        closed_catalogue=catalogue is not None,
        variables=landing.variables,
    )


def overridden(
    visit: Visit, model: str, seed: int | None, latency: str | None, output_tokens: str | None = None
) -> Visit:
    """The visit with another seed, latency and lengths if given, unless the request's own headers set them."""
    if seed is None and latency is None and output_tokens is None:
        return visit
    headers, site = visit.call.headers, visit.site
    if seed is not None and not headers.get("x-mockserver-seed"):
        site = site._replace(seed=seed, identity=derive(seed, "retold", site.identity))
    if output_tokens is not None and not headers.get("x-mockserver-output-tokens"):
        visit = visit._replace(lengths=lengths_of(output_tokens, visit.settings.traces))
    if latency is not None and not headers.get("x-mockserver-latency"):
        profile = _profile_in_force(latency, visit.landing.dialect.realistic, visit.settings)
        return paced(visit._replace(site=site, profile=profile, latency=latency), model)
    return visit._replace(site=site)


def with_lengths(request: GenerationRequest, lengths: Lengths | None) -> GenerationRequest:
    """The request, whose answers have these lengths."""
    if request.limits.lengths is lengths:
        return request
    return request._replace(limits=request.limits._replace(lengths=lengths))


def _check_wishes(headers: Headers) -> None:
    """Raise WishError for an unknown `X-Mockserver-...` header, since a misspelt one would silently have no effect; and
    for one that is too long to be read."""
    for name, value in headers.raw:
        if not name.startswith(_OWN):
            continue
        wanted = name.decode("latin-1")
        if wanted[len(_OWN) :] not in (*_REQUEST_HEADERS, *_ANSWER_HEADERS):
            raise WishError(unknown("header", wanted, (f"{_OWN.decode()}{wish}" for wish in _REQUEST_HEADERS)))
        if len(value) > _LONGEST_WISH:
            raise WishError(
                f"{wanted}: has {len(value)} bytes, at most {_LONGEST_WISH} are possible; use a stub, the admin API or "
                "the config file for more"
            )


def _seed(wished: str, otherwise: int) -> int:
    if not wished:
        return otherwise
    if not _WHOLE.fullmatch(wished) or int(wished) not in SEEDS:
        raise WishError(f"X-Mockserver-Seed: {shortened(wished)} is not a whole number from {SEEDS[0]} to {SEEDS[-1]}")
    return int(wished)


def _edition(name: str) -> Edition:
    for edition in EDITIONS:
        if edition == name:
            return edition
    raise WishError(f"X-Mockserver-Edition: unknown edition {shortened(name)}. Known: {', '.join(EDITIONS)}")


def _profile_in_force(text: str, realistic: str, settings: Settings) -> Profile | None:
    """The profile that a latency names, at the settings' speed; None if it is off."""
    return profile_of(text, realistic, settings.speed, settings.traces)


@lru_cache(maxsize=256)
def lengths_of(text: str, traces: Traces = NO_TRACES) -> Lengths | None:
    """The lengths of answers in text form; None if they are off. Raises WishError."""
    try:
        return read_lengths(text, traces)
    except NotationError as error:
        raise WishError(f"X-Mockserver-Output-Tokens: {error}") from None


@lru_cache(maxsize=256)
def profile_of(text: str, realistic: str, speed: float = 1, traces: Traces = NO_TRACES) -> Profile | None:
    """The profile of a latency in text form, at a speed; None if it is off. Raises WishError."""
    if text == OFF:
        return None
    try:
        profile = read_profile(text, realistic, traces)
    except NotationError as error:
        raise WishError(f"X-Mockserver-Latency: {complaint_of(text, error)}") from None
    return profile if speed == 1 else profile._replace(speed=profile.speed * speed)
