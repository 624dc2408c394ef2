"""The routes of a server: Starlette's own, a `Route` for every operation.

A dialect answers under its name (`/cerebras/v1/completions`), under the vendor's own host name, and at its bare path.
Where several dialects share a bare path the request decides (`choose_dialect`), unless the setting `bare` does. Routes
of the user's own take precedence. All of them exist once more under `/ns/{namespace}`.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, cast

import orjson
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.routing import BaseRoute, Host, Match, Mount, Route, Router
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from mockserver.core.dialects import Dialect, Operation
from mockserver.state.context import ChosenBy, RouteMatch
from mockserver.state.settings import Settings
from mockserver.state.settings.checks import operation_of

# How many requests' routes are remembered, and how many characters their paths may have.
_MOST_REMEMBERED = 1024
_LONGEST_REMEMBERED = 1_000
_VARIABLE = re.compile(r"{(\w+)}")

# The dialect of a bare path for a request that says nothing of its vendor: everybody's clients speak its wire.
_USUAL = "openai"
# The name of the model in a body that has this key only once; longer names than so are nobody's.
_KEY = b'"model"'
_MODEL = re.compile(rb'"model"\s*:\s*("(?:[^"\\]|\\.){0,1000}")')


class _AnyText(StringConvertor):
    """What stands for `{name}` in the path of an operation: any text, slashes included."""

    regex = "(?s:.+)"


register_url_convertor("any", _AnyText())

# Serves a request that has landed somewhere, or (None) nowhere.
Serve = Callable[[RouteMatch | None, Scope, Receive, Send], Awaitable[None]]


class Endpoint:
    """The ASGI application behind a route: what a request there is for, None if for nothing."""

    def __init__(self, match: RouteMatch | None, serve: Serve) -> None:
        self.match = match
        self._serve = serve
        # Whether a request there may have more to it than the match.
        self._varies = match is not None and (not match.path or "{" in match.path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        await self._serve(self.match_of(scope) if self._varies else self.match, scope, receive, send)

    def match_of(self, scope: Scope) -> RouteMatch | None:
        """What the request of a scope that has come here is for, with what stands for the names in the path."""
        match, variables = self.match, scope.get("path_params")
        if match is not None and not match.path:
            # Nothing is served there, so the dialect gets to know the path.
            return match._replace(path=scope["path"].removeprefix(scope.get("root_path", "")))
        if match is not None and "{" in match.path and variables:
            return match._replace(variables=variables)
        return match


class RememberingRouter(Router):
    """Starlette's router, which remembers the routes of recent requests instead of trying all of them again."""

    def __init__(
        self,
        routes: Sequence[BaseRoute],
        default: "Endpoint | RememberingRouter",
        lifespan: Lifespan[Any] | None = None,
    ) -> None:
        super().__init__(routes, redirect_slashes=False, default=default, lifespan=lifespan)
        self._remembered: dict[tuple[str, str, str, bytes], tuple[ASGIApp, Scope]] = {}

    def replace(self, routes: Sequence[BaseRoute], default: "Endpoint | RememberingRouter") -> None:
        """Serve other routes from now on."""
        self.routes, self.default = [*routes], default
        self._remembered.clear()

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a scope on to its route."""
        if scope["type"] != "http":
            await super().app(scope, receive, send)
            return
        host = b""
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
                break
        key = (scope["method"], scope["path"], scope.get("root_path", ""), host)
        app, child_scope = self._remembered.get(key) or self._find(scope, key)
        scope.update(child_scope)
        await app(scope, receive, send)

    def _find(self, scope: Scope, key: tuple[str, str, str, bytes]) -> tuple[ASGIApp, Scope]:
        """What serves a scope, by the routes here and in the routers of ours that they lead to, and what these routes
        add to the scope; remembered under the key if there is such a route."""
        router, more = self, dict[str, Any]()
        while True:
            known = matching(router.routes, {**scope, **more})
            if known is None:
                app: ASGIApp = router.default
            else:
                route, child_scope = known
                more = {**more, **child_scope, "route": route}
                app = route.app  # type: ignore[attr-defined]
            if not isinstance(app, RememberingRouter):
                break
            router = app
        if known is not None and len(scope["path"]) <= _LONGEST_REMEMBERED:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = app, more
        return app, more


def mount(path: str, app: ASGIApp, name: str) -> Mount:
    """Starlette's mount, also for paths with line breaks, which its pattern leaves to others."""
    mounted = Mount(path, app, name=name)
    mounted.path_regex = re.compile(mounted.path_regex.pattern, re.DOTALL)
    return mounted


def matching(routes: Iterable[BaseRoute], scope: Scope) -> tuple[BaseRoute, Scope] | None:
    """The route for a scope, and what it adds to the scope; None if there is none."""
    for route in routes:
        match, child_scope = route.matches(scope)
        if match is Match.FULL:
            return route, child_scope
    return None


class Served(NamedTuple):
    """One route, for people and for documents; `others` are the dialects to which a request there may go, too."""

    method: str
    path: str
    dialect: Dialect
    operation: Operation
    others: tuple[str, ...] = ()


async def _serve_nothing(match: RouteMatch | None, scope: Scope, receive: Receive, send: Send) -> None:
    raise NotImplementedError("these routes are only looked at")


class Routes:
    """The routes for dialects with some settings. `all` of them are Starlette's; `default` serves every other path."""

    def __init__(self, dialects: Mapping[str, Dialect], settings: Settings, serve: Serve = _serve_nothing) -> None:
        self._serve = serve
        self._unserved = [RouteMatch(dialects[name], None, "") for name in _in_order(dialects, settings)]
        self._routers = {name: self._router(dialect) for name, dialect in dialects.items()}
        self.bare = self._routes([*_own(dialects, settings), *_bare(dialects, settings)])
        hosts = [Host(host, self._routers[name], name) for name in dialects for host in dialects[name].hosts]
        mounts = [mount(f"/{name}", router, name) for name, router in self._routers.items()]
        self.all: list[BaseRoute] = [*hosts, *self.bare, *mounts]
        self.default = self._routers[settings.dialect] if settings.dialect else Endpoint(None, serve)
        # What is near unknown paths: a search takes milliseconds, and a wrong base URL repeats its requests.
        self._near: dict[str, list[str]] = {}

    def find(self, method: str, path: str, host: str = "") -> RouteMatch | None:
        """Where a request lands; None if its path belongs to no dialect. A single dialect is given every path."""
        headers = [(b"host", host.encode("latin-1", "replace"))]
        scope: Scope = {"type": "http", "method": method, "path": path, "headers": headers}
        routes, app = self.all, self.default
        while (known := matching(routes, scope)) is not None:
            route, child_scope = known
            scope.update(child_scope)
            app = route.app  # type: ignore[attr-defined]
            if isinstance(app, Endpoint):
                return app.match_of(scope)
            routes, app = app.routes, app.default
        while not isinstance(app, Endpoint):
            known = matching(app.routes, scope)
            app = cast("Endpoint", app.default if known is None else known[0].app)  # type: ignore[attr-defined]
        return app.match_of(scope)

    def unserved(self, path: str) -> RouteMatch:
        """The match for a bare path that no dialect serves, but a stub may: a request there may be for any of them."""
        first, *others = (match._replace(path=path) for match in self._unserved)
        return first._replace(others=tuple(others))

    def nearest(self, path: str) -> list[str]:
        """Served paths that resemble this one, which is not served; failing that, the roots of the dialects."""
        near = self._near.get(path)
        if near is None:
            near = self._search(path)
            if len(path) <= _LONGEST_REMEMBERED:
                if len(self._near) >= _MOST_REMEMBERED:
                    self._near.clear()
                self._near[path] = near
        return near

    def served(self) -> list[str]:
        """Every path that is served, bare ones first."""
        return [*dict.fromkeys(each.path for each in self.table())]

    def table(self) -> list[Served]:
        """Every route, bare ones first."""
        mounted = (
            each._replace(path=f"/{name}{each.path}") for name in self._routers for each in self._served_by(name)
        )
        return [*_served(self.bare), *mounted]

    def _served_by(self, name: str) -> Iterator[Served]:
        return _served(cast("list[Route]", self._routers[name].routes))

    def _search(self, path: str) -> list[str]:
        near, path = list[str](), path.rstrip("/")
        # Nothing resembles the root, which only short paths would seem to do.
        if path:
            served = self.served()
            # By a wrong base URL a path lacks its beginning, or repeats it.
            near = [each for each in served if each.endswith(path) or each.startswith(path.removesuffix(each))]
            near = [*sorted(near, key=len), *get_close_matches(path, served, 4, 0.5)]
        return [*dict.fromkeys(near)][:4] or [f"/{name}{next(self._served_by(name)).path}" for name in self._routers]

    def _router(self, dialect: Dialect) -> RememberingRouter:
        """What serves a dialect's native paths, and refuses all others in the vendor's words."""
        matches = ((path, RouteMatch(dialect, operation, path)) for operation, path in _paths(dialect))
        return RememberingRouter(self._routes(matches), Endpoint(RouteMatch(dialect, None, ""), self._serve))

    def _routes(self, matches: Iterable[tuple[str, RouteMatch]]) -> list[Route]:
        """A route for each operation, and one for each path that refuses all other methods; the few paths with a
        variable come last. Of two matches for the same path and method the first counts."""
        by_path: dict[str, dict[str, RouteMatch]] = {}
        for path, match in matches:
            assert match.operation is not None, "only operations have routes"
            by_path.setdefault(path, {}).setdefault(match.operation.method, match)
        routes: list[Route] = []
        for path, methods in sorted(by_path.items(), key=lambda item: "{" in item[0]):
            allowed, pattern = tuple(methods), _VARIABLE.sub(r"{\1:any}", path)
            for method, match in methods.items():
                endpoint = Endpoint(match._replace(allowed=allowed), self._serve)
                assert match.operation is not None, "only operations have routes"
                routes.append(Route(pattern, endpoint, methods=[method], name=match.operation.name))
            other = next(iter(methods.values()))._replace(operation=None, allowed=allowed, others=())
            routes.append(Route(pattern, Endpoint(other, self._serve), name="wrong method"))
        return routes


def _served(routes: Iterable[Route]) -> Iterator[Served]:
    for route in routes:
        match = cast(Endpoint, route.endpoint).match
        if match is not None and match.operation is not None:
            path, others = route.path.replace(":any}", "}"), tuple(other.dialect.name for other in match.others)
            yield Served(match.operation.method, path, match.dialect, match.operation, others)


def _paths(dialect: Dialect) -> Iterator[tuple[Operation, str]]:
    return ((operation, path) for operation in dialect.operations for path in operation.paths)


def _own(dialects: Mapping[str, Dialect], settings: Settings) -> Iterator[tuple[str, RouteMatch]]:
    """The user's own routes."""
    for route in settings.routes:
        operation = operation_of(route, dialects[route.dialect])
        yield route.path, RouteMatch(dialects[route.dialect], operation, operation.paths[0], configured=route)


def _bare(dialects: Mapping[str, Dialect], settings: Settings) -> Iterator[tuple[str, RouteMatch]]:
    """The native paths without a dialect's name, each for the dialect that it usually is of, with the others that have
    it: the one that the settings name, else the usual one, else the first by name."""
    if settings.dialect:
        dialects = {settings.dialect: dialects[settings.dialect]}
    sharing: dict[tuple[str, str], dict[str, RouteMatch]] = {}
    for name in _in_order(dialects, settings):
        for operation, path in _paths(dialects[name]):
            match = RouteMatch(dialects[name], operation, path)
            sharing.setdefault((path, operation.method), {}).setdefault(name, match)
    for (path, _), (first, *others) in ((place, [*matches.values()]) for place, matches in sharing.items()):
        is_set = others and first.dialect.name == settings.bare
        yield path, first._replace(others=tuple(others), chosen_by="setting" if is_set else "")


def _in_order(dialects: Iterable[str], settings: Settings) -> list[str]:
    """The dialects' names: the one that the settings name for bare paths, the usual one, the others."""
    return sorted(dialects, key=lambda name: (name != settings.bare, name != _USUAL, name))


def choose_dialect(
    match: RouteMatch,
    headers: Mapping[str, str],
    body: bytes,
    models: Mapping[str, Collection[str]],
    has_stored: Callable[[Dialect, str], bool] = lambda dialect, id_: False,
) -> RouteMatch:
    """The match for the dialect that a request is meant for, of those that have its bare path.

    It is the one whose clients alone send such a header; else the one that `has_stored` the answer with the path's id;
    else the one whose `models` in the settings have the name, or which claims it; else the usual one.
    """
    if match.chosen_by or not match.others:
        return match
    everyone = (match, *match.others)
    chosen = match
    by: ChosenBy = "default"
    id_ = match.variables.get("id")
    marked = [each for each in everyone if _is_marked(each.dialect, headers)]
    if marked:
        chosen, by = marked[0], "header"
    elif id_ is not None and (knowing := [each for each in everyone if has_stored(each.dialect, id_)]):
        chosen, by = knowing[0], "id"
    elif model := id_ or _model_in(body):
        listing = [each for each in everyone if model in models.get(each.dialect.name, ())]
        claiming = listing or [each for each in everyone if _claims(each.dialect, model)]
        if claiming:
            chosen, by = claiming[0], "model"
    others = tuple(each for each in everyone if each is not chosen)
    return match._replace(
        dialect=chosen.dialect, operation=chosen.operation, path=chosen.path, others=others, chosen_by=by
    )


def _is_marked(dialect: Dialect, headers: Mapping[str, str]) -> bool:
    return any(name in headers and headers[name].startswith(beginning) for name, beginning in dialect.marks)


def _claims(dialect: Dialect, model: str) -> bool:
    return dialect.claims is not None and dialect.claims.fullmatch(model) is not None


def _model_in(body: bytes) -> str | None:
    """The name of the model in a body; None if it has none. Only a body that has the key several times is parsed."""
    first = body.find(_KEY)
    if first < 0:
        return None
    try:
        if body.find(_KEY, first + len(_KEY)) < 0:
            found = _MODEL.match(body, first)
            return orjson.loads(found[1]) if found else None
        fields = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    model = fields.get("model") if isinstance(fields, dict) else None
    return model if isinstance(model, str) else None
