"""Requests to paths that nothing serves: a refusal with what is near, or the live page for a browser at the root. And
hints for those that a vendor refuses because they were meant for another path."""

from collections.abc import Iterable

from mockserver.core.calls import Headers
from mockserver.core.failures import FailureKind, SimulatorError
from mockserver.core.timeline import Timeline
from mockserver.routes import Routes
from mockserver.state.plan import Plan
from mockserver.state.settings.checks import ADMIN

# Endpoints of the admin API that people also look for at the root, as servers of other kinds have them there.
SOUGHT = ("/health", "/ready", "/version", "/metrics", "/routes", "/openapi.json")


def no_route(method: str, path: str, dialects: Iterable[str], routes: Routes) -> SimulatorError:
    """The answer to a request that no dialect has; `dialects` are the names of those that are served."""
    own = f" The server's own is at {ADMIN}{path}." if path in SOUGHT else ""
    message = (
        f"Nothing is served at {method} {path}. Put a dialect's name in front "
        f"({', '.join(f'/{name}/...' for name in dialects)}), or see GET {ADMIN}/routes, "
        f"or the live page: {ADMIN}/ui/.{own}"
    )
    return SimulatorError(404, "no_route", message, tuple(routes.nearest(path)))


def to_live_page(method: str, path: str, headers: Headers, requested: str) -> Timeline | None:
    """A redirect to the live page if a browser requests the root; else None.

    The `path` is the requested one without the namespace.
    """
    if path != "/" or method not in ("GET", "HEAD") or "text/html" not in (headers.get("accept") or ""):
        return None
    location = (b"location", live_page_from(requested).encode())
    return Timeline(307, (location, (b"cache-control", b"no-store")), ())


def live_page_from(path: str) -> str:
    """The address of the live page relative to a path: a proxy may have stripped the beginning of that path."""
    return f"{'../' * (path.count('/') - 1)}{ADMIN[1:]}/ui/"


def add_hint(plan: Plan, path: str, routes: Routes) -> None:
    """Add a header of our own to the refusal of a request at a path, if another path would work."""
    hint = _hint(plan, path, routes)
    if hint:
        header = (b"x-mockserver-hint", hint.encode("ascii", "replace"))
        plan.timeline = plan.timeline._replace(headers=(*plan.timeline.headers, header))


def _hint(plan: Plan, path: str, routes: Routes) -> str:
    route = plan.context.route
    if route.allowed and route.operation is None:
        return f"{path} takes {', '.join(route.allowed)}"
    assert plan.refusal is not None, "only refusals are given hints"
    if plan.refusal.kind is FailureKind.UNKNOWN_PATH or route.operation is None:
        return f"nearest: {', '.join(routes.nearest(path))}"
    if plan.refusal.kind not in (FailureKind.INVALID_REQUEST, FailureKind.UNKNOWN_MODEL):
        return ""
    others = [f"/{rival.dialect.name}{path}" for rival in route.rivals]
    return f"{path} is {route.dialect.name}'s; others: {', '.join(others)}" if others else ""
