"""Routes: a dialect under its name, its host and its bare paths, and the user's own paths."""

import pytest

from mockserver.core.dialects import load_dialects
from mockserver.routes import Routes
from mockserver.server.app import create_app
from mockserver.state.settings import ConfigError, RouteSettings, Settings
from mockserver.state.settings.checks import check_routes

DIALECTS = load_dialects()


def where(router: Routes, method: str, path: str, host: str = "") -> str:
    match = router.find(method, path, host)
    if match is None:
        return "nowhere"
    return f"{match.dialect.name} {match.operation.name if match.operation else 'refuses'} {match.path}"


@pytest.mark.parametrize(
    "method, path, host, landed",
    [
        ("POST", "/cerebras/v1/completions", "", "cerebras completions /v1/completions"),
        ("POST", "/friendli/v1/completions", "localhost:8000", "friendli completions /v1/completions"),
        ("POST", "/v1/completions", "", "cerebras completions /v1/completions"),
        ("POST", "/v1/completions", "api.friendli.ai", "friendli completions /v1/completions"),
        ("POST", "/v1/completions", "API.FRIENDLI.AI:443", "friendli completions /v1/completions"),
        ("POST", "/v1/chat/completions", "", "yandex chat_completions /v1/chat/completions"),
        ("POST", "/llm/v1/chat/completions", "", "upstash chat_completions /llm/v1/chat/completions"),
        ("POST", "/v3/completions", "", "ovms completions /v3/completions"),
        ("GET", "/cerebras/v1/models/a/b", "", "cerebras model /v1/models/{id}"),
        ("HEAD", "/v1/models", "", "cerebras models /v1/models"),
        ("GET", "/cerebras/v1/completions", "", "cerebras refuses /v1/completions"),
        ("POST", "/cerebras/v9/nothing", "", "cerebras refuses /v9/nothing"),
        ("POST", "/v1/completions/", "", "nowhere"),
        ("GET", "/", "", "nowhere"),
        ("GET", "/cerebras", "", "nowhere"),
    ],
)
def test_a_request_lands_where_its_path_and_host_say(method: str, path: str, host: str, landed: str) -> None:
    assert where(Routes(DIALECTS, Settings()), method, path, host) == landed


def test_the_setting_bare_gives_a_shared_path_to_another_dialect() -> None:
    router = Routes(DIALECTS, Settings(bare={"/v1/completions": "friendli"}))
    assert where(router, "POST", "/v1/completions") == "friendli completions /v1/completions"


def test_a_shared_path_is_that_of_the_dialect_which_claims_it_and_of_another_one_where_that_is_gone() -> None:
    others = {name: dialect for name, dialect in DIALECTS.items() if name != "cerebras"}
    assert where(Routes(others, Settings()), "POST", "/v1/completions") == "friendli completions /v1/completions"
    late = DIALECTS["friendli"]._replace(bare=("/v1/completions",))
    claimed = Routes({**others, "friendli": late, "cerebras": DIALECTS["cerebras"]}, Settings())
    assert where(claimed, "POST", "/v1/completions") == "friendli completions /v1/completions"


def test_one_dialect_alone_owns_the_root() -> None:
    router = Routes(DIALECTS, Settings(dialect="friendli"))
    assert where(router, "POST", "/v1/completions") == "friendli completions /v1/completions"
    assert where(router, "POST", "/v1/chat/completions") == "friendli chat_completions /v1/chat/completions"
    assert where(router, "POST", "/v3/completions") == "friendli refuses /v3/completions"


def test_a_route_of_the_users_own_comes_first() -> None:
    route = RouteSettings("/v1/completions", "ovms", "completions", edition="observed")
    match = Routes(DIALECTS, Settings(routes=(route,))).find("POST", "/v1/completions")
    assert match is not None
    assert (match.dialect.name, match.path, match.configured) == ("ovms", "/v3/completions", route)


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
        check_routes(Settings(routes=routes), DIALECTS)
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
    check_routes(Settings(routes=routes), DIALECTS)
    with pytest.raises(ConfigError, match="two operations cannot both answer GET there: "):
        check_routes(Settings(routes=(*routes, RouteSettings("/x/{id}", "ovms", "model"))), DIALECTS)


def test_a_path_that_nobody_serves_is_told_its_neighbours() -> None:
    assert "/v1/completions" in Routes(DIALECTS, Settings()).nearest("/v1/completion")


def test_the_root_has_no_neighbours_but_each_dialect() -> None:
    near = Routes(DIALECTS, Settings()).nearest("/")
    assert [path.split("/")[1] for path in near] == list(DIALECTS)


def test_every_path_in_the_table_leads_to_its_operation() -> None:
    router = Routes(DIALECTS, Settings())
    for method, path, dialect, operation in router.table():
        match = router.find(method, path.replace("{id}", "x").replace("{name}", "x"))
        assert match is not None
        assert (match.dialect, match.operation) == (dialect, operation)
