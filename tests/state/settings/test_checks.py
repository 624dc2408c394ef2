"""Checks of the user's own routes, and of what dialects name."""

import pytest

from mockserver.core.installed import load_dialects
from mockserver.server.app import create_app
from mockserver.state.settings import ConfigError, RouteSettings, Settings
from mockserver.state.settings.checks import check_all

DIALECTS = load_dialects()


@pytest.mark.parametrize(
    "paths, said",
    [
        (["/_mockserver/x"], "route /_mockserver/x: this path is used by the server itself"),
        (["/_mockserver"], "route /_mockserver: this path is used by the server itself"),
        (["/cerebras/openapi.json"], "route /cerebras/openapi.json: this path is used by the server itself"),
        (["/ns/x"], "route /ns/x: /ns/<name> at the beginning names a namespace"),
        (["/x?y=1"], "route /x?y=1: a path cannot contain ? or #"),
        (
            ["/x", "/y", "/x"],
            "route /x: two operations cannot both answer POST there: cerebras's completions and ovms's",
        ),
    ],
)
def test_a_route_that_no_request_could_reach_is_refused(paths: list[str], said: str) -> None:
    dialects = ("cerebras", "friendli", "ovms")
    routes = tuple(RouteSettings(path, name, "completions") for path, name in zip(paths, dialects, strict=False))
    with pytest.raises(ConfigError) as raised:
        check_all(Settings(routes=routes), DIALECTS)
    assert str(raised.value).startswith(said)
    with pytest.raises(ConfigError):
        create_app(Settings(routes=routes))


def test_routes_may_share_a_path_by_different_methods_or_variables_in_different_places() -> None:
    routes = (
        RouteSettings("/x", "cerebras", "completions"),
        RouteSettings("/x", "cerebras", "models"),
        RouteSettings("/x/{id}", "cerebras", "model"),
        RouteSettings("/{id}/x", "ovms", "model"),
    )
    check_all(Settings(routes=routes), DIALECTS)
    with pytest.raises(ConfigError, match="two operations cannot both answer GET there: "):
        check_all(Settings(routes=(*routes, RouteSettings("/x/{id}", "ovms", "model"))), DIALECTS)


def test_a_dialect_has_a_pace_that_there_is() -> None:
    paced = {"openai": DIALECTS["openai"]._replace(realistic="fsat")}
    with pytest.raises(ConfigError, match=r"dialect openai: realistic: unknown preset 'fsat'. Did you mean 'fast'?"):
        check_all(Settings(), paced)
