"""The setting `output_tokens`: wherever it stands it governs the answers of every dialect, and what follows agrees."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS, Edition
from mockserver.core.http import Call, Headers
from mockserver.core.installed import load_dialects
from mockserver.pipeline import parse
from mockserver.routes import Routes
from mockserver.state.context import HeaderError, make_context
from mockserver.state.namespaces import Namespace
from mockserver.state.plan import weight
from mockserver.state.settings import ConfigError, RouteSettings, Settings
from mockserver.state.settings.checks import read_namespace_settings
from mockserver.state.settings.config_file import from_toml
from mockserver.state.settings.options import checked, from_environment, from_names, settle
from mockserver.state.stubs.parse_stubs import read_stub
from tests.support.asking import QUIET, Answer, ask

SAYING = [
    (dialect.name, operation.paths[0], edition)
    for dialect in load_dialects().values()
    for operation in dialect.operations
    for edition in EDITIONS
    if operation.paths[0].endswith(("completions", "/responses")) and operation.edition in (None, edition)
    # This version of OpenVINO Model Server has no such endpoint.
    if (operation.paths[0], edition) != ("/v3/responses", "documented")
]
CHATS = "/v1/chat/completions"
HEADER = "x-mockserver-output-tokens"
FORTY = replace(QUIET, output_tokens="40")


def said(name: str = "cerebras", path: str = CHATS, settings: Settings = QUIET, **wishes: Any) -> Answer:
    """The answer to a question that may be answered at any length."""
    text, more = "Tell me about whales", wishes.pop("more", {})
    asked: dict[str, Any] = {"prompt": text, "max_tokens": 400}
    if "chat" in path:
        asked = {"messages": [{"role": "user", "content": text}], "max_tokens": 400}
    elif path.endswith("/responses"):
        asked = {"input": text, "max_output_tokens": 400}
    model = "gpt://folder/qwen3/latest" if name == "yandex" else "m"
    return ask(name, {"model": model, **asked, **more}, path=path, settings=settings, **wishes)


def length(answer: Answer) -> int:
    assert answer.plan.generation is not None, answer.body
    return answer.plan.generation.usage.completion_tokens


def space(table: dict[str, Any]) -> Namespace:
    here = Namespace("")
    here.stubs.add(read_stub(table))
    return here


@pytest.mark.parametrize("name, path, edition", SAYING)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_every_answer_of_every_dialect_has_so_many_tokens_and_ends_by_itself(
    name: str, path: str, edition: Edition, stream: bool
) -> None:
    wishes: dict[str, Any] = {"edition": edition, "more": {"stream": True} if stream else {}}
    answer = said(name, path, FORTY, **wishes)
    assert answer.status == 200
    assert answer.plan.generation is not None
    [choice] = answer.plan.generation.choices
    assert (length(answer), choice.finish_reason) == (40, "stop")
    assert length(said(name, path, **wishes)) != 40


def test_usage_and_the_steps_of_the_engine_follow() -> None:
    answer = said(settings=replace(FORTY, latency="ttft=1s, itl=100ms"))
    assert answer.json()["usage"]["completion_tokens"] == 40
    assert answer.json()["choices"][0]["finish_reason"] == "stop"
    assert answer.json()["time_info"]["completion_time"] == pytest.approx(3.9)
    assert answer.plan.pace is not None
    assert answer.plan.pace.schedule[-1] == pytest.approx(4.9)


def test_whoever_is_nearer_to_the_request_decides() -> None:
    stub = {"match": {"model": "m"}, "output_tokens": 30}
    header = {HEADER: "20 tok"}
    assert [
        length(said(settings=FORTY)),
        length(said(settings=FORTY, namespace=space(stub))),
        length(said(settings=FORTY, namespace=space({"reply": {"output_tokens": 31}, **stub}))),
        length(said(settings=FORTY, namespace=space(stub), headers=header)),
        length(said(settings=FORTY, more={"max_tokens": 10}, headers=header)),
    ] == [40, 30, 31, 20, 10]
    free = length(said())
    assert length(said(settings=FORTY, headers={HEADER: "off"})) == free
    assert length(said(settings=FORTY, namespace=space({"output_tokens": "off"}))) == free


def test_a_header_may_prepare_an_answer_of_a_length() -> None:
    assert length(said(headers={"x-mockserver-reply": "{ output_tokens = 17 }"})) == 17


def test_a_prepared_answer_keeps_its_own_length() -> None:
    assert said(settings=FORTY, namespace=space({"reply": "It rains."})).json()["choices"][0]["message"] == {
        "role": "assistant",
        "content": "It rains.",
    }


def test_a_function_may_leave_an_answer_of_the_stubs_length_to_the_model() -> None:
    assert length(said(namespace=space({"reply": lambda request: None, "output_tokens": 12}))) == 12


@pytest.mark.parametrize("route, pinned, wanted", [("25", (), 25), (None, (), 40), ("25", ("output_tokens",), 40)])
def test_a_route_has_a_length_of_its_own_unless_the_command_line_sets_it(
    route: str | None, pinned: tuple[str, ...], wanted: int
) -> None:
    own = RouteSettings("/mine", "cerebras", "completions", output_tokens=route)
    settings = replace(FORTY, routes=(own,), pinned=frozenset(pinned))
    match = Routes(load_dialects(), settings).find("POST", "/mine")
    assert match is not None
    body = json.dumps({"model": "m", "prompt": "Tell me"}).encode()
    call = Call("POST", "/mine", Headers([(b"authorization", b"Bearer k")]), body)
    plan = parse(make_context(call, match, settings))
    assert plan.request is not None
    assert plan.request.limits.lengths is not None
    assert plan.request.limits.lengths.quantile(0.5) == wanted


def test_equal_requests_under_other_lengths_are_not_taken_for_each_other() -> None:
    here = Namespace("")
    assert [
        length(said(settings=settings, namespace=here))
        for settings in (FORTY, replace(FORTY, output_tokens="41"), FORTY)
    ] == [40, 41, 40]


@pytest.mark.parametrize("given", ["128", "normal(128, 20)", 128])
def test_a_length_is_read_alike_everywhere(given: object) -> None:
    assert from_names({"output_tokens": given}, "option") == {"output_tokens": str(given)}
    assert from_environment({"MOCKSERVER_OUTPUT_TOKENS": str(given)}) == {"output_tokens": str(given)}
    assert settle(from_toml(f"output_tokens = {json.dumps(given)}", "mock.toml")).output_tokens == str(given)
    assert checked(Settings(output_tokens=given)).output_tokens == str(given)  # type: ignore[arg-type]
    assert read_namespace_settings({"output_tokens": given}, load_dialects()) == {"output_tokens": str(given)}
    table = f'[[route]]\npath = "/a"\ndialect = "ovms"\noperation = "completions"\noutput_tokens = {json.dumps(given)}'
    assert settle(from_toml(table, "mock.toml")).routes[0].output_tokens == str(given)


@pytest.mark.parametrize("given", ["0", "few", "-1", "normal(3)", True, None, [10], "", "131073", "nan", "10%"])
def test_a_length_that_cannot_be_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match=r"^option output_tokens: "):
        from_names({"output_tokens": given}, "option")


@pytest.mark.parametrize("wish", ["0", "few", "normal(3)", "empirical(file=a.txt)"])
def test_a_header_that_cannot_be_obeyed_names_itself_and_what_would_be_valid(wish: str) -> None:
    with pytest.raises(HeaderError) as raised:
        said(headers={HEADER: wish})
    assert str(raised.value).startswith(f"X-Mockserver-Output-Tokens: {wish!r}: column ")
    assert str(raised.value).endswith("Write '128', 'normal(128, 20)' or the like, or off")


def test_an_answer_that_may_be_long_is_planned_like_one() -> None:
    def weighed(output_tokens: str) -> int:
        settings = replace(QUIET, output_tokens=output_tokens)
        answer = said(settings=settings, more={"max_tokens": None})
        assert answer.plan.request is not None
        return weight(answer.plan.request)

    assert weighed("uniform(1, 9000)") == 9000
    assert weighed("normal(128, 20)") == weighed("off")
