"""The admin API's stubs, and the folder of stub files."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.cli import main
from mockserver.core.installed import load_dialects
from mockserver.server.files import configured_stubs, load_stubs
from mockserver.state.settings import ConfigError, Settings
from tests.support.goldens import FIXTURES
from tests.support.http import Transcript, exchange

DIALECTS = load_dialects()

LIBRARY = FIXTURES / "stubs"
ASK = {"model": "llama3.1-8b", "prompt": "What is the weather like?"}

Admin = Callable[..., tuple[int, Any]]


@pytest.fixture
def admin(server: MockServer, request: pytest.FixtureRequest) -> Iterator[Admin]:
    """Asks the admin API about a namespace of the test's own."""
    base = f"/_mockserver/ns/{request.node.originalname}"

    def ask(method: str, path: str, body: object = None) -> tuple[int, Any]:
        answer = exchange(server.url, method, base + path, body)
        return answer.status, json.loads(answer.body)

    yield ask
    ask("POST", "/reset")


def ask(server: MockServer, name: str, body: Mapping[str, Any] = ASK, **headers: str) -> Transcript:
    path = f"/ns/{name}/cerebras/v1/completions"
    return exchange(server.url, "POST", path, body, {key.replace("_", "-"): value for key, value in headers.items()})


def text(answer: Transcript) -> str:
    return str(json.loads(answer.body)["choices"][0]["text"])


def test_stubs_are_added_listed_replaced_and_taken_back(
    server: MockServer, admin: Admin, request: pytest.FixtureRequest
) -> None:
    here = request.node.originalname
    assert admin("POST", "/stubs", {"reply": "one", "times": 1}) == (201, {"added": ["stub-1"]})
    several = {"stubs": [{"name": "b", "reply": "two"}, {"name": "c", "reply": "never"}]}
    assert admin("POST", "/stubs", several) == (201, {"added": ["b", "c"]})
    assert [text(ask(server, here)) for _ in range(3)] == ["one", "two", "two"]
    status, listed = admin("GET", "/stubs")
    assert status == 200
    assert [(row["name"], row["used"], row["most"], row["used_up"]) for row in listed["stubs"]] == [
        ("stub-1", 1, 1, True),
        ("b", 2, None, False),
        ("c", 0, None, False),
    ]
    assert listed["stubs"][0]["table"] == {"reply": "one", "times": 1}
    assert admin("PUT", "/stubs/b", {"reply": "three"}) == (200, {"added": ["b"]})
    assert text(ask(server, here)) == "three"
    assert admin("DELETE", "/stubs/b") == (200, {"removed": "b"})
    assert admin("DELETE", "/stubs/b") == (
        404,
        {"error": {"message": "No stub 'b' was added here. Added: stub-1, c", "type": "mockserver_admin"}},
    )
    assert admin("PUT", "/stubs", {"stubs": [{"reply": "four"}]}) == (200, {"added": ["stub-2"]})
    assert text(ask(server, here)) == "four"
    assert admin("POST", "/stubs", {"name": "stub-3", "reply": "five"}) == (201, {"added": ["stub-3"]})
    assert admin("POST", "/stubs", {"reply": "six"}) == (201, {"added": ["stub-4"]})
    assert admin("DELETE", "/stubs") == (200, {"stubs": []})
    assert text(ask(server, here)) == text(ask(server, f"{here}-elsewhere"))


@pytest.mark.parametrize("format", ["toml", "json"])
def test_what_was_arranged_by_hand_is_saved_as_a_file_that_answers_the_same(
    server: MockServer, admin: Admin, request: pytest.FixtureRequest, tmp_path: Path, format: str
) -> None:
    here, frozen = request.node.originalname, 1_700_000_000
    admin("PUT", "/settings", {"created": frozen})
    admin(
        "POST",
        "/stubs",
        {"match": {"prompt": {"contains": "weather"}}, "replies": ["It rains.", {"json": {"sky": None}}]},
    )
    admin("POST", "/stubs", {"name": "else", "match": {"attempt": 1}, "error": "overloaded"})
    # A stub that is used up or half used is saved with all of its uses.
    arranged = [ask(server, here, {**ASK, "prompt": prompt}) for prompt in ("weather", "weather", "tea")]
    saved = exchange(server.url, "GET", f"/_mockserver/ns/{here}/stubs?format={format}")
    assert (saved.status, dict(saved.headers)["content-type"]) == (200, f"application/{format}")
    (tmp_path / f"arranged.{format}").write_bytes(saved.body)
    assert main(["check", str(tmp_path)]) == 0
    settings = Settings(port=0, latency="off", log_level="warning", stubs=str(tmp_path), created=frozen)
    with MockServer(settings) as other:
        again = [ask(other, here, {**ASK, "prompt": prompt}) for prompt in ("weather", "weather", "tea")]
        assert [(answer.status, answer.body) for answer in again] == [
            (answer.status, answer.body) for answer in arranged
        ]
        # Those of files are in files already.
        assert json.loads(exchange(other.url, "GET", "/_mockserver/stubs?format=json").body) == {"stubs": []}


def test_a_saved_file_in_json_may_be_added_again(server: MockServer, admin: Admin) -> None:
    saved = {"$comment": ["Not saved: ..."], "stubs": [{"name": "a", "reply": "x"}]}
    assert admin("PUT", "/stubs", saved) == (200, {"added": ["a"]})
    assert admin("GET", "/stubs?format=json") == (200, {"stubs": [{"name": "a", "reply": "x"}]})
    status, refused = admin("GET", "/stubs?format=yaml")
    assert (status, refused["error"]["message"]) == (400, "format: unknown format 'yaml'. Known: toml, json")


def test_a_function_of_python_is_left_out_of_the_file_and_named_in_it() -> None:
    with MockServer() as own:
        own.on(model="m").named("made up").reply(lambda request: "x")
        own.on(model="n").named("kept").reply("y")
        text = exchange(own.url, "GET", "/_mockserver/stubs?format=toml").body.decode()
    assert text.startswith('# Not saved: stub "made up": reply is a Python function\n\n[[stub]]\nname = "kept"\n')


def test_the_rule_and_the_miss_are_told_in_answer_and_journal(
    server: MockServer, admin: Admin, request: pytest.FixtureRequest
) -> None:
    here = request.node.originalname
    admin("POST", "/stubs", {"name": "rain", "match": {"prompt": {"contains": "weather"}}, "reply": "It rains."})
    assert dict(ask(server, here).headers)["x-mockserver-rule"] == "rain"
    assert "x-mockserver-rule" not in dict(ask(server, here, {**ASK, "prompt": "Hi"}).headers)
    status, missed = admin("GET", "/journal/unmatched")
    [line] = missed["exchanges"]
    assert (status, line["number"], line["decision"]["unmatched"]) == (200, 2, True)
    assert line["decision"]["nearest"] == [
        {
            "name": "rain",
            "differences": [{"field": "prompt", "wanted": "containing 'weather'", "found": "'Hi'"}],
        }
    ]
    [first, _] = admin("GET", "/journal")[1]["exchanges"]
    assert (first["decision"]["rule"], first["decision"]["attempt"], first["decision"]["unmatched"]) == (
        "rain",
        1,
        False,
    )


def test_a_pattern_that_backtracks_without_end_does_not_hold_the_server_and_the_miss_names_it(
    server: MockServer, admin: Admin, request: pytest.FixtureRequest
) -> None:
    here = request.node.originalname
    hostile = "a" * 5000 + "!"
    admin("POST", "/stubs", {"name": "slow", "match": {"prompt": {"regex": "(a+)+$"}}, "reply": "It ends."})
    assert text(ask(server, here, {**ASK, "prompt": "aaa"})) == "It ends."
    assert text(ask(server, here, {**ASK, "prompt": hostile})) == text(
        ask(server, f"{here}-elsewhere", {**ASK, "prompt": hostile})
    )
    [line] = admin("GET", "/journal/unmatched")[1]["exchanges"]
    found = (
        f"'{'a' * 159}... (5003 characters); the regular expression took too long (a request's searches have "
        "0.05 s in all), so this counts as not met"
    )
    assert (line["number"], line["decision"]["nearest"]) == (
        2,
        [{"name": "slow", "differences": [{"field": "prompt", "wanted": "matching /(a+)+$/", "found": found}]}],
    )
    assert [(row["used"], row["used_up"]) for row in admin("GET", "/stubs")[1]["stubs"]] == [(1, False)]


@pytest.mark.parametrize(
    "body, complaint",
    [
        ({"reply": "a", "tims": 1}, "stub: unknown key 'tims'. Did you mean 'times'?"),
        ({"stubs": [{"reply": "a"}, {"match": {"promt": "a"}}]}, "stubs[1].match: unknown field 'promt'."),
        ({"stubs": {"reply": "a"}}, "stubs: must be a list of tables"),
        (
            {"match": {"dialect": "cerebra"}, "reply": "a"},
            "stub.match.dialect: unknown dialect 'cerebra'. Did you mean 'cerebras'?",
        ),
        (
            {"stubs": [{"reply": "a"}, {"match": {"dialect": "x"}, "reply": "a"}]},
            "stubs[1].match.dialect: unknown dialect 'x'",
        ),
        ({"match": {"any": [{"operation": "chat"}]}, "reply": "a"}, "match.operation: unknown operation 'chat'."),
        ({"reply": {"file": "secret.txt"}}, "stub.reply.file: only stub files and config files can name files"),
        (b"[1]", "A stub must be a JSON object such as"),
        (b"{", "A stub must be a JSON object such as"),
    ],
)
def test_a_mistake_is_told_with_what_would_be_valid_and_nothing_is_added(
    admin: Admin, body: object, complaint: str
) -> None:
    status, answer = admin("POST", "/stubs", body)
    assert status == 400
    assert complaint in answer["error"]["message"]
    assert admin("GET", "/stubs")[1]["stubs"] == []


def test_a_wish_that_cannot_be_obeyed_is_told(server: MockServer) -> None:
    answer = ask(server, "wish", x_mockserver_reply='{"tool_calls": [{"name": "f"}]}')
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["type"]) == (400, "mockserver_invalid_header")
    assert error["message"] == "X-Mockserver-Reply: tool_calls: cerebras's completions cannot call tools"


def test_chunks_arrive_with_their_delays(server: MockServer) -> None:
    reply = '{"chunks": ["a", {"text": "b", "delay": 0.15}]}'
    body = {**ASK, "stream": True}
    answer = ask(server, "delays", body, x_mockserver_reply=reply)
    assert answer.body.count(b"data: ") == 5
    journal = json.loads(exchange(server.url, "GET", "/_mockserver/ns/delays/journal").body)["exchanges"]
    assert journal[-1]["outcome"]["seconds"] >= 0.15


# --- files ---------------------------------------------------------------------------------------------------------


def test_a_folder_of_stub_files_answers_in_every_namespace_and_survives_resets() -> None:
    with MockServer(Settings(port=0, latency="off", log_level="warning", stubs=str(LIBRARY))) as server:
        said = [text(ask(server, name)) for name in ("a", "b", "a")]
        assert said == ["I cannot look out of the window. You asked: What is the weather like?"] * 3
        exchange(server.url, "POST", "/_mockserver/ns/a/reset")
        rows = json.loads(exchange(server.url, "GET", "/_mockserver/ns/a/stubs").body)["stubs"]
        assert [row["used"] for row in rows] == [0] * len(rows)
        assert {row["origin"] for row in rows} == {"weather.toml", "failures.toml", "conversation.json"}
        flaky = [ask(server, "c", {**ASK, "prompt": "a flaky one"}).status for _ in range(3)]
        assert flaky == [429, 429, 200]
        proxy = ask(server, "d", {**ASK, "prompt": "x"}, x_through="proxy")
        assert (proxy.status, proxy.body) == (502, b"<html><h1>Bad Gateway</h1></html>")
        recorded = ask(server, "e", {**ASK, "prompt": "as recorded", "stream": True})
        assert recorded.body == (LIBRARY / "_recorded" / "two-words.sse").read_bytes()
        assert text(ask(server, "f", {**ASK, "prompt": "as JSON"})) == '{"answer": 42}'


@pytest.mark.parametrize(
    "files, complaint",
    [
        ({"a.toml": "[[stub]]\nreply = 1\n"}, "a.toml, line 2: stub[0].reply: 1 is not valid; write "),
        ({"deep/b.json": '{"stub": [{"reply": "a"}, {}]}'}, "deep/b.json: stub[1]: has no answer"),
        ({"a.toml": "stub = 1"}, "a.toml, line 1: stub: must be a list of tables; in TOML, write"),
        ({"a.toml": "[[stub]\n"}, "a.toml: "),
        ({"a.json": "{"}, "a.json: "),
        ({"a.json": "5"}, "a.json: stub: must be a list of tables"),
        ({"a.toml": "seed = 1\n"}, "a.toml, line 1: seed: a stub file can contain only [[stub]]"),
        ({"a.toml": b"\xff"}, "a.toml: "),
        ({"a.toml": '[[stub]]\nreply = { file = "x" }\n'}, "a.toml, line 2: stub[0].reply.file: x: No such file"),
        ({"a.toml": '[[stub]]\nreply = { file = "/dev/zero" }\n'}, "a.toml, line 2: stub[0].reply.file: /dev/zero"),
        ({"a.json": '{"reply": {"file": "a\\u0000b"}}'}, "a.json: stub[0].reply.file: a\0b: is not a file"),
        ({"a.toml": '[[stub]]\nname = "x"\nreply = "1"\n', "b.toml": '[[stub]]\nname = "x"\nreply = "2"\n'},
         "two stubs are named 'x' (a.toml and b.toml)"),
        ({"a.toml": '[[stub]]\nmatch = { dialect = "x" }\nreply = "1"\n'},
         "a.toml, line 2: stub[0].match.dialect: unknown dialect 'x'"),
        ({"a.json": '{"name": "a", "match": {"operation": "x"}, "reply": "1"}'},
         "a.json: stub[0].match.operation: unknown operation 'x'"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_told_at_start_with_its_place(
    tmp_path: Path, files: Mapping[str, str | bytes], complaint: str
) -> None:
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as caught:
        configured_stubs(Settings(stubs=str(tmp_path)), load_dialects())
    assert str(caught.value).startswith(complaint)


def test_one_table_or_a_list_of_them_is_a_json_file_too(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"reply": "one"}')
    (tmp_path / "b.json").write_text('[{"name": "x", "reply": "two"}, {"reply": "three"}]')
    (tmp_path / "_notes.json").write_text("{")
    assert [(stub.name, stub.origin) for stub in load_stubs(tmp_path, DIALECTS)] == [
        ("a.json-1", "a.json"),
        ("x", "b.json"),
        ("b.json-2", "b.json"),
    ]


@pytest.mark.parametrize("key", ["stub", "stubs"])
def test_stubs_are_listed_under_either_name_in_a_file_and_over_the_admin_api(
    server: MockServer, tmp_path: Path, key: str
) -> None:
    listed = {key: [{"name": "a", "reply": "one"}, {"name": "b", "reply": "two"}]}
    (tmp_path / "x.json").write_text(json.dumps(listed))
    assert [stub.name for stub in load_stubs(tmp_path, DIALECTS)] == ["a", "b"]
    added = exchange(server.url, "POST", f"/_mockserver/ns/either-{key}/stubs", listed)
    assert json.loads(added.body) == {"added": ["a", "b"]}


def test_a_folder_that_is_not_there_is_told() -> None:
    with pytest.raises(ConfigError, match="stubs: nowhere does not exist"):
        load_stubs(Path("nowhere"), DIALECTS)


def test_a_folder_in_which_no_file_is_one_of_stubs_is_told_unless_it_is_empty(tmp_path: Path) -> None:
    assert load_stubs(tmp_path, DIALECTS) == ()
    (tmp_path / "x.yaml").write_text("reply: hello")
    with pytest.raises(ConfigError, match=r"stubs: no \*\.toml or \*\.json files in .*, only others such as x\.yaml"):
        load_stubs(tmp_path, DIALECTS)


def test_a_mistake_in_a_stub_file_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[[stub]]\nreply = "one"\n\n[[stub]]\npriority = 1\nreply = { txt = "x" }\n')
    with pytest.raises(ConfigError, match=r"^a\.toml, line 6: stub\[1\]\.reply: unknown key 'txt'"):
        load_stubs(tmp_path, DIALECTS)


def test_the_command_line_checks_and_plans_with_stubs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "body.txt").write_text("from a file")
    config = tmp_path / "mock.toml"
    config.write_text(f'stubs = "{LIBRARY}"\n[[stub]]\nmatch.prompt = "file"\nreply = {{ file = "body.txt" }}\n')
    assert main(["check", str(config)]) == 0
    assert "valid, with 10 stubs" in capsys.readouterr().out
    (tmp_path / "request.json").write_text('{"model": "m", "prompt": "file"}')
    plan = [
        "plan",
        "--config",
        str(config),
        "--dialect",
        "cerebras",
        "--latency",
        "off",
        str(tmp_path / "request.json"),
    ]
    assert main(plan) == 0
    assert "from a file" in capsys.readouterr().out


def test_a_list_without_added_stubs_says_how_to_keep_them(admin: Admin) -> None:
    hint = admin("GET", "/stubs")[1]["hint"]
    assert "in memory only" in hint
    assert "GET /_mockserver/stubs?format=toml" in hint
    admin("POST", "/stubs", {"reply": "It rains."})
    assert "hint" not in admin("GET", "/stubs")[1]
