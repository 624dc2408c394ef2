"""Hints: where a request may have been meant to go that nothing serves, or that a vendor refuses."""

from collections.abc import Iterable

from mockserver.core.failures import FailureKind
from mockserver.routes import Routes
from mockserver.server.addresses import ADMIN, own_place
from mockserver.state.journal.exchanges import Denial
from mockserver.state.plan import Plan


def no_route(method: str, path: str, dialects: Iterable[str], routes: Routes) -> Denial:
    """The answer to a request that no dialect has; `dialects` are the names of those that are served."""
    message = (
        f"Nothing is served at {method} {path}. Put a dialect's name in front "
        f"({', '.join(f'/{name}/...' for name in dialects)}), or see GET {ADMIN}/routes, "
        f"or the live page: {ADMIN}/ui/.{own_place(path)}"
    )
    return Denial(404, "no_route", message, tuple(routes.nearest(path)))


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
    assert plan.rejection is not None, "only refusals are given hints"
    if plan.rejection.kind is FailureKind.UNKNOWN_PATH or route.operation is None:
        return f"nearest: {', '.join(routes.nearest(path))}"
    if plan.rejection.kind not in (FailureKind.INVALID_REQUEST, FailureKind.UNKNOWN_MODEL):
        return ""
    others = [] if route.configured else routes.elsewhere(route, path)
    return f"{path} is {route.dialect.name}'s; others: {', '.join(others)}" if others else ""
