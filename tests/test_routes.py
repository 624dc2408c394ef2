"""Routes: a dialect under its name, its host and its bare paths, and the user's own paths."""

import json
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.core.http import Headers
from mockserver.core.installed import load_dialects
from mockserver.routes import Routes, choose_dialect
from mockserver.state.context import RouteMatch
from mockserver.state.settings import RouteSettings, Settings
from tests.support.http import exchange

DIALECTS = load_dialects()
CHATS, RESPONSES, MODELS = "/v1/chat/completions", "/v1/responses", "/v1/models"
AZURE = "/deployments/{name}/chat/completions"


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
        ("POST", "/v1/completions", "", "openai completions /v1/completions"),
        ("POST", "/v1/completions", "api.friendli.ai", "friendli completions /v1/completions"),
        ("POST", "/v1/completions", "API.FRIENDLI.AI:443", "friendli completions /v1/completions"),
        ("POST", "/v1/tokenize", "", "friendli tokenize /v1/tokenize"),
        ("POST", "/v1/messages", "", "anthropic messages /v1/messages"),
        ("POST", "/openai/deployments/a/chat/completions", "", f"openai chat_completions {AZURE}"),
        ("POST", "/openai/v1/chat/completions", "", "openai chat_completions /v1/chat/completions"),
        ("GET", "/v1/tcp_warming", "", "cerebras tcp_warming /v1/tcp_warming"),
        ("POST", "/llm/v1/chat/completions", "", "upstash chat_completions /llm/v1/chat/completions"),
        ("POST", "/v3/completions", "", "ovms completions /v3/completions"),
        ("GET", "/cerebras/v1/models/a/b", "", "cerebras model /v1/models/{id}"),
        ("HEAD", "/v1/models", "", "openai models /v1/models"),
        ("PUT", "/v1/models", "", "openai refuses /v1/models"),
        ("GET", "/cerebras/v1/completions", "", "cerebras refuses /v1/completions"),
        ("POST", "/cerebras/v9/nothing", "", "cerebras refuses /v9/nothing"),
        ("POST", "/v1/completions/", "", "nowhere"),
        ("GET", "/", "", "nowhere"),
        ("GET", "/cerebras", "", "nowhere"),
    ],
)
def test_a_request_lands_where_its_path_and_host_say(method: str, path: str, host: str, landed: str) -> None:
    assert where(Routes(DIALECTS, Settings()), method, path, host) == landed


def chosen(router: Routes, path: str, body: bytes, settings: Settings, headers: dict[str, str] | None = None) -> str:
    match = router.find("POST" if body else "GET", path)
    assert match is not None
    sent = Headers((name.encode(), value.encode()) for name, value in (headers or {}).items())
    found = choose_dialect(match, sent, body, settings.models)
    assert {found.dialect.name, *(each.dialect.name for each in found.others)} == {
        name for name, each in DIALECTS.items() if _has(each.operations, match)
    }
    return f"{found.dialect.name} {found.chosen_by}"


def _has(operations: Any, match: RouteMatch) -> bool:
    assert match.operation is not None
    return any(match.operation.method == each.method and match.path in each.paths for each in operations)


NESTED = {"metadata": {"model": "gpt://folder/yandexgpt"}, "model": "gpt-4o"}


@pytest.mark.parametrize(
    "path, body, headers, choice",
    [
        (CHATS, {"model": "gpt-4o"}, {}, "openai default"),
        (CHATS, {"model": "anything at all"}, {}, "openai default"),
        (CHATS, {"model": "meta-llama/Llama-3.1-8B-Instruct"}, {}, "openai default"),
        (CHATS, {"model": "llama3.1-8b"}, {}, "cerebras model"),
        (CHATS, {"model": "qwen-3-coder-480b"}, {}, "cerebras model"),
        ("/v1/completions", {"model": "gpt-oss-120b"}, {}, "cerebras model"),
        (CHATS, {"model": "gpt://folder/yandexgpt/latest"}, {}, "yandex model"),
        (CHATS, {"messages": [{"content": '"model": "gpt-4o"'}], "model": "gpt://f/m"}, {}, "yandex model"),
        (CHATS, {"model": "gpt:\\/\\/folder/\u00ef"}, {}, "openai default"),
        ("/v1/embeddings", {"model": "emb://folder/text-search-doc/latest"}, {}, "yandex model"),
        # Nobody else's have such names, but no dialect with them has the path.
        (RESPONSES, {"model": "gpt-oss-120b"}, {}, "openai default"),
        (RESPONSES, {"model": "ds://folder/tuned"}, {}, "yandex model"),
        (CHATS, {"model": "listed"}, {}, "friendli model"),
        (CHATS, NESTED, {}, "openai default"),
        (CHATS, {"model": None}, {}, "openai default"),
        (CHATS, {"model": ["gpt-oss-120b"]}, {}, "openai default"),
        (CHATS, {"model": "gpt-4o"}, {"x-friendli-team": "t"}, "friendli header"),
        (CHATS, {"model": "gpt-4o"}, {"authorization": "Api-Key k"}, "yandex header"),
        ("/v1/completions", {"prompt": "Hi"}, {"authorization": "Bearer flp_1"}, "friendli header"),
        (MODELS, None, {"authorization": "Bearer csk-1"}, "cerebras header"),
        (CHATS, {"model": "gpt-4o"}, {"authorization": "Bearer k", "user-agent": "OpenAI/Python 3"}, "openai default"),
        (MODELS, None, {}, "openai default"),
        (MODELS, None, {"user-agent": "Cerebras/Python 1.91.0"}, "cerebras header"),
        (MODELS, None, {"anthropic-version": "2023-06-01"}, "anthropic header"),
        (f"{MODELS}/claude-sonnet-4-5", None, {}, "anthropic model"),
        (CHATS, {"model": "claude-sonnet-4-5"}, {}, "openai default"),
        (f"{MODELS}/gpt-oss-120b", None, {}, "cerebras model"),
        (f"{MODELS}/gpt-4o", None, {}, "openai default"),
    ],
)
def test_at_a_shared_path_the_request_says_whose_it_is(
    path: str, body: Any, headers: dict[str, str], choice: str
) -> None:
    settings = Settings(models={"friendli": ("listed",), "cerebras": ("other",)})
    sent = b"" if body is None else json.dumps(body, indent=1).encode()
    assert chosen(Routes(DIALECTS, settings), path, sent, settings, headers) == choice


@pytest.mark.parametrize(
    "body", [b'{"model"', b'{"model": "gpt', b'{"model": "a", "model"', b'"model": "\xff"', b"model"]
)
def test_a_body_that_is_no_json_is_refused_by_the_usual_dialect(body: bytes) -> None:
    assert chosen(Routes(DIALECTS, Settings()), CHATS, body, Settings()) == "openai default"


def test_the_setting_bare_fixes_the_dialect_of_shared_paths() -> None:
    settings = Settings(bare="cerebras")
    router = Routes(DIALECTS, settings)
    asked = b'{"model": "gpt://folder/yandexgpt"}'
    assert chosen(router, CHATS, asked, settings, {"x-friendli-team": "t"}) == "cerebras setting"
    # It has no such path.
    assert chosen(router, RESPONSES, asked, settings) == "yandex model"
    assert where(router, "POST", "/v3/completions") == "ovms completions /v3/completions"


def test_what_was_chosen_is_in_the_answer_and_in_the_journal_and_a_stored_response_is_found_again() -> None:
    with MockServer() as mock:
        for model, name, by in (("gpt://folder/yandexgpt", "yandex", "model"), ("gpt-5.4", "openai", "default")):
            made = exchange(mock.url, "POST", RESPONSES, {"model": model, "input": "Hi"})
            assert dict(made.headers)["x-mockserver-dialect"] == f"{name}; by={by}"
            assert (mock.last.dialect, mock.last.dialect_by) == (name, by)
            found = exchange(mock.url, "GET", f"{RESPONSES}/{json.loads(made.body)['id']}")
            assert dict(found.headers)["x-mockserver-dialect"] == f"{name}; by=id"
            assert json.loads(found.body)["id"] == json.loads(made.body)["id"]
        refused = exchange(mock.url, "POST", CHATS, {"model": "gpt-oss-120b", "messages": "?"})
        assert dict(refused.headers)["x-mockserver-dialect"] == "cerebras; by=model"
        named = exchange(mock.url, "POST", f"/openai{CHATS}", {"model": "m", "messages": []})
        assert "x-mockserver-dialect" not in dict(named.headers)


def test_without_the_usual_dialect_the_first_by_name_has_a_shared_path() -> None:
    others = {name: dialect for name, dialect in DIALECTS.items() if name != "openai"}
    assert where(Routes(others, Settings()), "POST", "/v1/completions") == "cerebras completions /v1/completions"


def test_one_dialect_alone_owns_the_root() -> None:
    router = Routes(DIALECTS, Settings(dialect="friendli", bare="cerebras"))
    assert where(router, "POST", "/v1/completions") == "friendli completions /v1/completions"
    assert where(router, "POST", "/v1/chat/completions") == "friendli chat_completions /v1/chat/completions"
    assert where(router, "POST", "/v3/completions") == "friendli refuses /v3/completions"
    assert chosen_alone(router) == ((), "")


def chosen_alone(router: Routes) -> tuple[Any, str]:
    match = router.find("POST", CHATS)
    assert match is not None
    return match.others, match.chosen_by


def test_a_route_of_the_users_own_comes_first() -> None:
    route = RouteSettings("/v1/completions", "ovms", "completions", edition="observed")
    match = Routes(DIALECTS, Settings(routes=(route,))).find("POST", "/v1/completions")
    assert match is not None
    assert (match.dialect.name, match.path, match.configured, match.others) == ("ovms", "/v3/completions", route, ())


def test_a_path_that_nobody_serves_is_told_its_neighbours() -> None:
    assert "/v1/completions" in Routes(DIALECTS, Settings()).nearest("/v1/completion")


def test_the_root_has_no_neighbours_but_each_dialect() -> None:
    near = Routes(DIALECTS, Settings()).nearest("/")
    assert [path.split("/")[1] for path in near] == list(DIALECTS)


def test_every_path_in_the_table_leads_to_its_operation() -> None:
    router = Routes(DIALECTS, Settings())
    for method, path, dialect, operation, _ in router.table():
        match = router.find(method, path.replace("{id}", "x").replace("{name}", "x"))
        assert match is not None
        assert (match.dialect, match.operation) == (dialect, operation)
