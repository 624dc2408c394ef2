"""The command `mockserver stubs`: recorded traffic becomes stubs that give the recorded answers again."""

import base64
import gzip
import json
import sys
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.client import HTTPException
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from mockserver import MockServer, raw
from mockserver.cli import main
from mockserver.state.settings.config_file import from_toml
from mockserver.state.settings.options import settle
from tests.support.asking import FROZEN
from tests.support.http import Transcript, exchange

CHAT = {"model": "gpt://f/yandexgpt/latest", "messages": [{"role": "user", "content": 'Say "hi", it\'s me'}]}
GET_WEATHER = {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}
TOOL = {"type": "function", "function": GET_WEATHER}
SYSTEM = [{"role": "system", "content": "Be brief."}, *CHAT["messages"]]
TALK = [*CHAT["messages"], {"role": "assistant", "content": "Hi."}, *CHAT["messages"]]
PROMPT = {"model": "m", "prompt": "hello", "max_tokens": 8}
RESPONSE = {"model": "gpt://f/yandexgpt/latest", "input": "Write a line about tides", "max_output_tokens": 40}
FLAT = {"type": "function", **GET_WEATHER}
RESULT = [
    {"role": "user", "content": "What is the weather?"},
    {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "rain"},
]
ASKED: list[tuple[str, str, Any]] = [
    ("POST", "/yandex/v1/chat/completions", CHAT),
    ("POST", "/yandex/v1/chat/completions", {**CHAT, "stream": True}),
    ("POST", "/yandex/v1/chat/completions", {**CHAT, "tools": [TOOL]}),
    ("POST", "/yandex/v1/chat/completions", {**CHAT, "tools": [TOOL], "tool_choice": "required"}),
    ("POST", "/yandex/v1/chat/completions", {**CHAT, "messages": SYSTEM}),
    ("POST", "/yandex/v1/chat/completions", {**CHAT, "messages": TALK}),
    ("POST", "/yandex/v1/chat/completions", {**CHAT, "temperature": 0.3}),
    ("POST", "/cerebras/v1/completions", PROMPT),
    ("POST", "/cerebras/v1/completions", PROMPT),
    ("POST", "/cerebras/v1/completions", PROMPT),
    ("POST", "/cerebras/v1/completions", {**PROMPT, "prompt": "Tell me a long story", "max_tokens": 900}),
    ("POST", "/cerebras/v1/completions", {**PROMPT, "stream": True}),
    ("POST", "/cerebras/v1/completions", {**PROMPT, "stream": True}),
    ("POST", "/friendli/v1/completions", {**PROMPT, "stream": True}),
    ("POST", "/friendli/serverless/v1/completions", {**PROMPT, "stream": True}),
    ("POST", "/friendli/v1/completions", PROMPT),
    ("POST", "/cerebras/v1/chat/completions", {**CHAT, "model": "gpt-oss-120b"}),
    ("POST", "/cerebras/v1/chat/completions", {**CHAT, "model": "gpt-oss-120b", "stream": True, "tools": [TOOL]}),
    ("POST", "/ovms/v3/embeddings", {"model": "bge-large", "input": "The tides"}),
    ("POST", "/ovms/v3/embeddings", {"model": "bge-large", "input": ["The tides", "The moon"]}),
    ("POST", "/ovms/v3/embeddings", {"model": "bge-large", "input": ["The tides", "The sun"]}),
    ("POST", "/ovms/v3/embeddings", {"model": "bge-large", "input": [[3, 4], [5]], "encoding_format": "base64"}),
    ("POST", "/ovms/v3/rerank", {"model": "bge-reranker", "query": "Why?", "documents": ["Because.", "Who knows"]}),
    ("POST", "/ovms/v3/rerank", {"model": "bge-reranker", "query": "How?", "documents": ["Because.", "Who knows"]}),
    ("POST", "/yandex/v1/embeddings", {"model": "emb://f/text-search-doc/latest", "input": ["The tides"]}),
    ("POST", "/yandex/v1/responses", RESPONSE),
    ("POST", "/yandex/v1/responses", {**RESPONSE, "stream": True}),
    ("POST", "/yandex/v1/responses", {**RESPONSE, "tools": [FLAT], "tool_choice": "required", "stream": True}),
    ("POST", "/yandex/v1/responses", {**RESPONSE, "tools": [FLAT], "input": RESULT}),
    ("POST", "/friendli/serverless/v1/responses", {**RESPONSE, "model": "zai-org/GLM-5.3"}),
    ("GET", "/cerebras/v1/models", None),
]


def interaction(asked: tuple[str, str, Any], answer: Transcript, *, packed: bool = False) -> dict[str, Any]:
    """An exchange as vcrpy writes it: headers with lists of values, a packed body as it came."""
    method, path, body = asked
    headers: dict[str, list[str]] = {"accept": ["*/*"], "content-type": ["application/json"], "cookie": []}
    answered: dict[str, list[str]] = {}
    for name, value in (*answer.headers, *([("Content-Encoding", "gzip")] if packed else [])):
        answered.setdefault(name.title(), []).append(value)
    return {
        "request": {
            "method": method,
            "uri": f"http://mock.example:8000{path}",
            "headers": headers,
            "body": None if body is None else json.dumps(body),
        },
        "response": {
            "status": {"code": answer.status, "message": "whatever"},
            "headers": answered,
            "body": {"string": gzip.compress(answer.body) if packed else answer.body.decode()},
        },
    }


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Transcript]]:
    """A folder with recordings of the same traffic, and the answers that were given."""
    folder = tmp_path_factory.mktemp("recorded")
    with MockServer(seed=7, created=FROZEN) as server:
        server.on(dialect="cerebras", body={"$.max_tokens": 8}, stream=False).once().error("rate_limit", retry_after=3)
        answers = [exchange(server.url, *each) for each in ASKED]
        for kind in ("jsonl", "har"):
            with urlopen(f"{server.url}/_mockserver/journal.{kind}") as answer:
                (folder / f"journal.{kind}").write_bytes(answer.read())
    pairs = list(zip(ASKED, answers, strict=True))
    packed = [interaction(*pair, packed=number % 2 == 1) for number, pair in enumerate(pairs)]
    (folder / "journal.yaml").write_text(yaml.dump({"interactions": packed, "version": 1}), encoding="utf-8")
    plain = {"version": 1, "interactions": [interaction(*pair) for pair in pairs]}
    (folder / "journal.json").write_text(json.dumps(plain, indent=4), encoding="utf-8")
    return folder, answers


def header(answer: Transcript, name: str) -> str | None:
    return dict(answer.headers).get(name)


@pytest.mark.parametrize("kind", ["jsonl", "har", "yaml", "json"])
def test_every_recorded_answer_comes_back_byte_for_byte(
    kind: str, recorded: tuple[Path, list[Transcript]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, answers = recorded
    assert main(["stubs", str(folder / f"journal.{kind}"), "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert (printed.err, printed.out.splitlines()) == (
        "",
        [
            f"Written: {tmp_path}/journal.toml, with 28 stubs, and 12 files beside it",
            f"Serve: mockserver serve --stubs {tmp_path}",
        ],
    )
    assert main(["check", str(tmp_path / "journal.toml")]) == 0
    with MockServer(seed=8, stubs=str(tmp_path), unmatched="refuse") as server:
        # The order of different requests does not matter.
        again = [exchange(server.url, *each) for each in reversed(ASKED)][::-1]
        repeated = sorted(number for number, each in enumerate(ASKED) if each[2] is PROMPT and "cerebras" in each[1])
    again[repeated[0]], again[repeated[-1]] = again[repeated[-1]], again[repeated[0]]
    assert answers[repeated[0]].status == 429
    for asked, before, after in zip(ASKED, answers, again, strict=True):
        assert (after.status, after.body) == (before.status, before.body), asked
        for name in ("content-type", "retry-after", "x-request-id", "x-ratelimit-remaining-tokens-minute"):
            assert header(after, name) == header(before, name), (asked, name)


def test_a_lenient_stub_asks_for_no_more_than_it_takes(recorded: tuple[Path, list[Transcript]], tmp_path: Path) -> None:
    assert main(["stubs", str(recorded[0] / "journal.har"), "--match", "lenient", "--out", str(tmp_path)]) == 0
    stubs = tomllib.loads((tmp_path / "journal.toml").read_text())["stub"]
    where = {"dialect": "yandex", "operation": "chat_completions", "model": CHAT["model"], "stream": False}
    usual = {**where, "last_user": 'Say "hi", it\'s me', "tool_result": {"exists": False}}
    assert [stub["match"] for stub in stubs[:3]] == [
        usual,
        {**usual, "stream": True},
        {**usual, "tool": "get_weather"},
    ]
    assert [reply["status"] for reply in stubs[7]["replies"]] == [429, 200, 200]
    assert [key for key in ("reply", "replies") if key in stubs[9]] == ["reply"]


def archive(*entries: Mapping[str, Any]) -> dict[str, Any]:
    return {"log": {"version": "1.2", "entries": entries}}


def entry(asked: object, content: Mapping[str, Any], kind: str = "application/json", **more: Any) -> dict[str, Any]:
    """An entry as browsers and proxies write it, of a server that nobody here knows."""
    request = {
        "method": "POST",
        "url": "https://llm.example/api/v1/chat/completions?api_key=secret-0",
        "headers": [
            {"name": ":authority", "value": "llm.example"},
            {"name": "Authorization", "value": "Bearer secret-1"},
            {"name": "Cookie", "value": "session=secret-2"},
            {"name": "Content-Type", "value": "application/json"},
        ],
        "postData": {"mimeType": "application/json", "text": json.dumps(asked)},
    }
    headers = [
        {"name": "Content-Type", "value": kind},
        {"name": "Set-Cookie", "value": "session=secret-3"},
        {"name": "Content-Encoding", "value": "br"},
        {"name": "Retry-After", "value": "7"},
        {"name": "X-RateLimit-Remaining", "value": "3"},
        {"name": "X-RateLimit of no header", "value": "3"},
    ]
    response = {"status": 200, "headers": headers, "content": content}
    return {
        "request": {**request, **more.pop("request", {})},
        "response": {**response, **more.pop("response", {})},
        **more,
    }


ROUTE = '[[route]]\npath = "/v1/chat/completions"\ndialect = "upstash"\noperation = "chat_completions"\n'


def test_any_servers_archive_is_answered_at_a_route_of_ones_own_without_its_secrets(tmp_path: Path) -> None:
    pretty, stream = '{\n  "object": "chat.completion",\n  "x": "it\'s"\n}\n', "data: {}\r\n\r\ndata: [DONE]\r\n\r\n"
    packed = {"text": base64.b64encode(b"\xff\x00").decode(), "encoding": "base64"}
    bodies: list[dict[str, Any]] = [
        {"model": "gpt-9", "messages": [{"role": "user", "content": text}]} for text in ("a", "b", "c")
    ]
    bodies[1]["stream"] = True
    recording = archive(
        entry({**bodies[0], "user": "u-1"}, {"text": pretty}),
        entry(bodies[1], {"text": stream}, "text/event-stream"),
        entry(bodies[2], packed, "audio/wav", response={"status": 503}),
    )
    (tmp_path / "traffic.har").write_text(json.dumps(recording))
    (tmp_path / "mock.toml").write_text(f'stubs = "made"\n{ROUTE}')
    out = tmp_path / "made"
    command = ["stubs", str(tmp_path / "traffic.har"), "--out", str(out), "--config", str(tmp_path / "mock.toml")]
    assert main(command) == 0
    assert main(["check", str(tmp_path / "mock.toml")]) == 0
    written = [path for path in sorted(out.rglob("*")) if path.is_file()]
    assert [str(path.relative_to(out)) for path in written] == ["_traffic/traffic-2.sse", "traffic.toml"]
    assert not any(b"secret" in path.read_bytes() for path in written)
    for stub in tomllib.loads((out / "traffic.toml").read_text())["stub"]:
        assert stub["match"] == "exact"
        assert stub["request"].keys() == {"path", "method", "last_user", "body"}
    settings = settle({"port": 0, "latency": "off"}, from_toml(ROUTE, "route.toml"), {"stubs": str(out)})
    with MockServer(settings) as server:
        answers = [exchange(server.url, "POST", "/v1/chat/completions", body) for body in bodies]
    assert [(answer.status, answer.body) for answer in answers] == [
        *((200, pretty.encode()), (200, stream.encode()), (503, b"\xff\x00")),
    ]
    assert [header(answer, "content-type") for answer in answers] == [
        *("application/json", "text/event-stream", "audio/wav")
    ]
    assert {(header(answer, "retry-after"), header(answer, "set-cookie")) for answer in answers} == {("7", None)}


def said(*messages: str, **more: Any) -> dict[str, Any]:
    """A chat whose messages are told as `role: text`."""
    told = [dict(zip(("role", "content"), message.split(": "), strict=True)) for message in messages]
    return {"model": CHAT["model"], "messages": told, **more}


def offering(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names]


CALLED = {"id": "c1", "type": "function", "function": {"name": "x", "arguments": "{}"}}
LOOKALIKES: list[tuple[str, Any]] = [
    ("yandex/v1/chat/completions", said("user: hi")),
    ("yandex/v1/chat/completions", said("user: hi", tools=offering("x"))),
    ("yandex/v1/chat/completions", said("user: hi", tools=offering("y"))),
    ("yandex/v1/chat/completions", said("user: hi", tools=offering("x", "y"))),
    ("yandex/v1/chat/completions", said("user: hi", tools=offering("x", "y", "z"))),
    ("yandex/v1/chat/completions", said("user: hi", tools=offering("x", "y", "z"), temperature=0)),
    ("yandex/v1/chat/completions", said("user: hi", temperature=None)),
    ("yandex/v1/chat/completions", said("user: hi", temperature=0.5)),
    ("yandex/v1/chat/completions", said("user: hi", temperature=0.7, seed=1)),
    ("yandex/v1/chat/completions", said("user: hi", temperature=0.7, seed=2)),
    ("yandex/v1/chat/completions", said("user: hi", stream=True)),
    ("yandex/v1/chat/completions", said("system: a", "user: hi")),
    ("yandex/v1/chat/completions", said("system: b", "system: a", "user: hi")),
    ("yandex/v1/chat/completions", said("system: a", "system: b", "user: hi")),
    ("yandex/v1/chat/completions", said("user: hi", "assistant: what?", "user: hi")),
    ("yandex/v1/chat/completions", said("user: hi", "assistant: who?", "user: hi")),
    ("yandex/v1/chat/completions", said("user: hi", "assistant: who?")),
    *(
        (
            "yandex/v1/chat/completions",
            {
                **said("user: hi"),
                "tools": offering("x"),
                "messages": [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": None, "tool_calls": [CALLED]},
                    {"role": "tool", "tool_call_id": "c1", "content": result},
                ],
            },
        )
        for result in ("rain", "sun")
    ),
    ("cerebras/v1/completions", {"model": "m", "prompt": "b"}),
    ("cerebras/v1/completions", {"model": "m", "prompt": ["a", "b"]}),
    ("cerebras/v1/completions", {"model": "m", "prompt": ["b", "a"]}),
    ("cerebras/v1/completions", {"model": "m", "prompt": "a"}),
    ("cerebras/v1/completions", {"model": "other", "prompt": "a"}),
    ("friendli/v1/completions", {"model": "m", "prompt": "a"}),
    ("friendli/serverless/v1/completions", {"model": "m", "prompt": "a"}),
]


URI = "https://api.cerebras.ai/v1/completions?x=1"
REQUEST: dict[str, Any] = {"method": "POST", "uri": URI, "headers": {"Content-Type": ["application/json"]}}
QUESTION = '{"model": "m", "prompt": "hello"}'
OK = {"status": {"code": 200, "message": "OK"}}
KIND = {"content-type": ["text/plain"]}
BOMB = b"0" * 10_000_000
GZIP, DEFLATE = {**KIND, "Content-Encoding": "gzip"}, {**KIND, "Content-Encoding": ["deflate"]}
OLD = {"status_code": 200, "http_version": "HTTP/1.1", "headers": KIND, "content": "It rains."}


@pytest.mark.parametrize(
    "request_body, response",
    [
        ({"body": QUESTION}, {**OK, "headers": KIND, "body": {"string": "It rains."}}),
        ({"body": QUESTION.encode()}, {**OK, "headers": KIND, "body": {"string": b"It rains."}}),
        ({"body": {"string": QUESTION}}, OLD),
        ({"body": QUESTION}, {**OK, "headers": KIND, "body": {"base64_string": "SXQgcmFpbnMu"}}),
        ({"body": QUESTION}, {**OK, "headers": GZIP, "body": {"string": gzip.compress(b"It rains.")}}),
        ({"body": QUESTION}, {**OK, "headers": DEFLATE, "body": {"string": zlib.compress(b"It rains.")}}),
    ],
)  # fmt: skip
def test_a_cassette_may_hold_bodies_in_every_way_that_there_is(
    tmp_path: Path, request_body: dict[str, Any], response: dict[str, Any]
) -> None:
    cassette = tmp_path / "one.yaml"
    told = {"interactions": [{"request": {**REQUEST, **request_body}, "response": response}], "version": 1}
    cassette.write_text("---\n# a cassette\n" + yaml.dump(told, sort_keys=False))
    assert main(["stubs", str(cassette), "--out", str(tmp_path / "made")]) == 0
    with MockServer(stubs=str(tmp_path / "made"), unmatched="refuse") as server:
        answer = exchange(server.url, "POST", "/cerebras/v1/completions?x=1", {"model": "m", "prompt": "hello"})
    assert (answer.status, answer.body, header(answer, "content-type")) == (200, b"It rains.", "text/plain")


def test_a_cassette_may_hold_the_json_that_a_body_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = {"headers": {"content-type": ["application/json"], "content-encoding": ["gzip"]}, "parsed_body": {"n": [1]}}
    asked = {**REQUEST, "parsed_body": json.loads(QUESTION)}
    (tmp_path / "one.yaml").write_text(yaml.dump({"interactions": [{"request": asked, "response": {**OK, **told}}]}))
    assert main(["stubs", str(tmp_path / "one.yaml")]) == 0
    assert tomllib.loads(capsys.readouterr().out)["stub"][0]["reply"]["body"] == '{"n":[1]}'


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("interactions: [", "one.yaml: is not valid YAML: while parsing a flow node"),
        ("interactions: !!python/object/apply:os.getcwd []", "one.yaml: is not valid YAML: could not determine a"),
        ("interactions: 7", "one.yaml: is not a recording; expected a journal "),
        ("version: 1\na0: &a0 [a]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)),
         "one.yaml: repeats its parts (*alias) too often"),
        ("interactions: &a [*a]", "one.yaml: repeats its parts (*alias) too often"),
        ("interactions: [{request: 7}]", "one.yaml: interaction 1: is not an exchange ("),
        ("interactions:\n- request: {method: POST, uri: 'http://x/', headers: {}, body: 7}\n"
         "  response: {headers: {}, status: {code: 200}}", "1: is not an exchange (TypeError: body: not a string"),
    ],
)  # fmt: skip
def test_what_is_no_cassette_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str
) -> None:
    (tmp_path / "one.yaml").write_text(text)
    assert main(["stubs", str(tmp_path / "one.yaml")]) == 2
    assert complaint in capsys.readouterr().err


def test_a_body_that_nobody_can_unpack_is_told_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = [
        {**OK, "headers": {"content-encoding": [packing]}, "body": {"string": body}}
        for packing, body in (("br", b"\x8b\x04It rains."), ("gzip", b"\x8bIt rains."), ("gzip", gzip.compress(BOMB)))
    ]
    interactions = [{"request": {**REQUEST, "body": QUESTION}, "response": each} for each in told]
    (tmp_path / "one.yaml").write_text(yaml.dump({"interactions": interactions}))
    assert main(["stubs", str(tmp_path / "one.yaml")]) == 1
    first, second, third, _ = capsys.readouterr().err.splitlines()
    assert (
        "interaction 1: its answer is compressed (br); record it decompressed "
        "(vcrpy: decode_compressed_response=True); left out" in first
    )
    assert "interaction 2: its answer is not compressed, although its header says so (gzip); left out" in second
    assert "interaction 3: its answer is compressed to less than a 100th, which no text of a vendor is; left" in third


def test_where_nobody_reads_yaml_a_cassette_says_what_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "one.yaml").write_text("interactions: []\nversion: 1\n")
    assert main(["stubs", str(tmp_path / "one.yaml")]) == 2
    assert "one.yaml: is YAML, which needs PyYAML: pip install pyyaml\n" in capsys.readouterr().err


@pytest.mark.parametrize("match", ["exact", "lenient"])
def test_of_requests_that_look_alike_each_has_its_own_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], match: str
) -> None:
    entries = [
        entry(body, {"text": f"answer {number}"}, "text/plain", request={"url": f"http://mock.example/{path}"})
        for number, (path, body) in enumerate(LOOKALIKES)
    ]
    recording = tmp_path / "alike.har"
    recording.write_text(json.dumps(archive(*entries)))
    assert main(["stubs", str(recording), "--match", match, "--out", str(tmp_path / "made")]) == 0
    assert capsys.readouterr().err == ""
    with MockServer(stubs=str(tmp_path / "made")) as server:
        given = [exchange(server.url, "POST", f"/{path}", body).body.decode() for path, body in LOOKALIKES]
        assert not any(view.stale for view in server.requests)
    assert given == [f"answer {number}" for number in range(len(LOOKALIKES))]


TALKING = "/yandex/v1/chat/completions"
TALKED: Any = {
    "model": CHAT["model"],
    "temperature": 0.3,
    "user": "me",
    "tools": offering("get_weather"),
    "messages": [
        {"role": "system", "content": "You help. Today is 2026-11-27."},
        {"role": "user", "content": "Rain?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": f"call_{n}", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
                for n in (1, 2)
            ],
        },
        *({"role": "tool", "tool_call_id": f"call_{n}", "content": f"{n} mm"} for n in (1, 2)),
    ],
}


def talked(*changes: tuple[str, str]) -> Any:
    """The recorded request with texts replaced in it."""
    text = json.dumps(TALKED)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return json.loads(text)


@pytest.mark.parametrize("kind", ["jsonl", "har", "yaml"])
def test_a_request_that_has_changed_is_refused_or_its_answer_marked(kind: str, tmp_path: Path) -> None:
    """A stale recording is never served unmarked, whoever has made it."""
    with MockServer() as vendor:
        before = exchange(vendor.url, "POST", TALKING, TALKED)
        recording = {
            "jsonl": exchange(vendor.url, "GET", "/_mockserver/journal.jsonl").body,
            "har": exchange(vendor.url, "GET", "/_mockserver/journal.har").body,
            "yaml": yaml.dump({"interactions": [interaction(("POST", TALKING, TALKED), before)]}).encode(),
        }[kind]
    (tmp_path / f"tape.{kind}").write_bytes(recording)
    same = [
        talked(),
        talked(("call_1", "other_1"), ("call_2", "other_2")),
        talked(('"me"', '"somebody else"')),
        {**talked(), "metadata": {"run": "7"}},
    ]
    changed = {
        "$.messages[0].content": talked(("You help", "You hinder")),
        "$.temperature": talked(("0.3", "0.9")),
        "$.tools[0].function.parameters.type": talked(('"type": "object"', '"type": ["object"]')),
        "$.tools[0].function.name": talked(('"name": "get_weather", "param', '"name": "get_storms", "param')),
        "$.messages[3].content, $.messages[4].content": talked(("1 mm", "9 mm"), ("2 mm", "1 mm"), ("9 mm", "2 mm")),
        "$.messages[4].tool_call_id": talked(('"tool_call_id": "call_2"', '"tool_call_id": "call_1"')),
        "$.messages[1].content": talked(("Rain?", "Snow?")),
        "$.seed": {**talked(), "seed": 7},
    }
    for match in ("exact", "lenient"):
        made = tmp_path / match
        command = ["stubs", str(tmp_path / f"tape.{kind}"), "--match", match, "--out", str(made)]
        assert main(command) == 0
        with MockServer(stubs=str(made), unmatched="refuse") as server:
            for body in same:
                again = exchange(server.url, "POST", TALKING, body)
                assert (again.status, again.body) == (200, before.body)
                assert header(again, "x-mockserver-stale") is None
            for places, body in changed.items():
                answer = exchange(server.url, "POST", TALKING, body)
                if answer.status == 400 or (answer.status == 404 and match == "lenient"):
                    # The vendor's own refusal; or what even a lenient match looks at.
                    continue
                if match == "exact":
                    assert answer.status == 404, places
                    [near] = server.last.nearest
                    assert ", ".join(each["field"] for each in near["differences"]) == places
                    assert f"{places.partition(',')[0]}: expected" in answer.body.decode()
                else:
                    assert (answer.status, answer.body) == (200, before.body)
                    assert header(answer, "x-mockserver-stale") == places
                    assert ", ".join(each["field"] for each in server.last.stale) == places
            told = " ".join(server.problems(strict=True))
            assert ("stub to match every request" in told) is True
            assert ("Expected no stale answers" in told) is (match == "lenient")
    volatile = ["$.seed", r"$.messages[0].content =~ \d{4}-\d\d-\d\d", "$.tools[*].function.parameters"]
    with MockServer() as server:
        server.replay(tmp_path / f"tape.{kind}", volatile=volatile)
        for body in ({**talked(("11-27", "12-01")), "seed": 1}, changed["$.tools[0].function.parameters.type"]):
            assert exchange(server.url, "POST", TALKING, body).body == before.body
        assert exchange(server.url, "POST", TALKING, changed["$.messages[0].content"]).status == 404


def test_a_conversation_that_the_vendor_holds_goes_on_in_the_replay(tmp_path: Path) -> None:
    """The simulator does not know of answers that are replayed; the vendor knew of its own."""
    path, asked = "/openai/v1/responses", {"model": "gpt-4.1", "input": "Hello"}
    with MockServer() as vendor:
        first = exchange(vendor.url, "POST", path, asked)
        following = {**asked, "input": "And then?", "previous_response_id": json.loads(first.body)["id"]}
        second = exchange(vendor.url, "POST", path, following)
        (tmp_path / "tape.jsonl").write_bytes(exchange(vendor.url, "GET", "/_mockserver/journal.jsonl").body)
    with MockServer() as server:
        server.replay(tmp_path / "tape.jsonl")
        assert [exchange(server.url, "POST", path, body).body for body in (asked, following)] == [
            first.body,
            second.body,
        ]
        unknown = {**following, "previous_response_id": "resp_unknown"}
        assert exchange(server.url, "POST", path, unknown).status == 400
        assert exchange(server.url, "POST", path, following, {"authorization": ""}).status == 401


def test_a_replay_can_be_saved_and_answers_again_from_the_file(tmp_path: Path) -> None:
    asked = {**PROMPT, "prompt": "Tell me a long story " * 100, "stream": True}
    with MockServer(latency="ttft=3ms, itl=1ms") as vendor:
        before = exchange(vendor.url, "POST", "/cerebras/v1/completions", asked)
        (tmp_path / "tape.jsonl").write_bytes(exchange(vendor.url, "GET", "/_mockserver/journal.jsonl").body)
    with MockServer() as server:
        server.replay(tmp_path / "tape.jsonl", pace=True)
        saved = exchange(server.url, "GET", "/_mockserver/stubs?format=toml").body
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "stubs.toml").write_bytes(saved)
    with MockServer(stubs=str(tmp_path / "saved"), unmatched="refuse") as server:
        assert exchange(server.url, "POST", "/cerebras/v1/completions", asked).body == before.body
        assert exchange(server.url, "POST", "/cerebras/v1/completions", {**asked, "top_p": 0.5}).status == 404


@pytest.mark.parametrize("match", ["exact", "lenient"])
def test_a_recorded_answer_to_head_is_none_to_get(tmp_path: Path, match: str) -> None:
    models, body = "https://api.openai.com/v1/models", '{"object": "list", "data": []}'
    entries = [
        entry(None, {"text": text}, request={"method": method, "url": models, "postData": {}})
        for method, text in (("HEAD", ""), ("GET", body))
    ]
    (tmp_path / "tape.har").write_text(json.dumps(archive(*entries)))
    with MockServer() as server:
        server.replay(tmp_path / "tape.har", match=match)
        answers = [exchange(server.url, method, "/openai/v1/models") for method in ("HEAD", "GET")]
    assert [header(answer, "x-mockserver-rule") for answer in answers] == ["tape-1", "tape-2"]
    assert answers[1].body == body.encode()


def test_recorded_answers_to_requests_with_other_ids_come_in_turn_after_the_one_with_these_ids(tmp_path: Path) -> None:
    asked = [talked(("call_1", f"{name}_1"), ("call_2", f"{name}_2")) for name in "abcd"]
    where: Any = {"request": {"url": f"http://mock.example{TALKING}"}}
    entries = [entry(body, {"text": f"answer {n}"}, "text/plain", **where) for n, body in enumerate(asked[:3])]
    (tmp_path / "tape.har").write_text(json.dumps(archive(*entries)))
    with MockServer() as server:
        server.replay(tmp_path / "tape.har")
        order = [1, 3, 3, 3, 1]
        given = [exchange(server.url, "POST", TALKING, asked[n]).body.decode() for n in order]
    assert given == ["answer 1", "answer 0", "answer 2", "answer 2", "answer 1"]


def test_a_byte_order_mark_before_a_recording_is_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "one.har"
    where: Any = {"request": {"url": "https://api.cerebras.ai/v1/completions"}}
    text = json.dumps(archive(entry({"model": "llama3.1-8b", "prompt": "hello"}, {"text": '{"n":1}'}, **where)))
    made = []
    for encoding in ("utf-8", "utf-8-sig"):
        recording.write_text(text, encoding=encoding)
        assert main(["stubs", str(recording)]) == 0
        made.append(capsys.readouterr().out)
    assert made[0] == made[1] != ""


def test_without_a_folder_stubs_go_to_the_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "one.har"
    asked = {"model": "llama3.1-8b", "prompt": "hello"}
    where: Any = {"request": {"url": "https://api.cerebras.ai/v1/completions"}}
    recording.write_text(json.dumps(archive(*[entry(asked, {"text": '{"n":1}'}, **where)] * 2)))
    assert main(["stubs", str(recording)]) == 0
    assert tomllib.loads(capsys.readouterr().out) == {
        "stub": [
            {
                "name": "one-1",
                "match": "exact",
                "request": {
                    "dialect": "cerebras",
                    "operation": "completions",
                    "last_user": "hello",
                    "body": '{"model":"llama3.1-8b","prompt":"hello"}',
                },
                "reply": {
                    "status": 200,
                    "content_type": "application/json",
                    "body": '{"n":1}',
                    "headers": {"retry-after": "7", "x-ratelimit-remaining": "3"},
                },
            }
        ]
    }
    recording.write_text(json.dumps(archive(entry(asked, {"text": "data: 1\n\n"}, "text/event-stream", **where))))
    assert main(["stubs", str(recording)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    way_out = "choose a folder with --out DIR"
    assert printed.err == f"mockserver: stubs: 1 stream or long body needs a file beside the stub file; {way_out}\n"


def test_a_stub_is_as_fast_as_was_recorded_when_asked_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "one.har"
    where: Any = {"request": {"url": "https://api.cerebras.ai/v1/completions"}}
    asked = {"model": "m", "prompt": "hello", "stream": True}
    times: Any = {"timings": {"send": 1, "wait": 250.5, "receive": 60}}
    content = {"text": "data: 1\n\ndata: 2\n\ndata: 3\n\n"}
    recording.write_text(json.dumps(archive(entry(asked, content, "text/event-stream", **where, **times))))
    assert main(["stubs", str(recording), "--pace", "--out", str(tmp_path / "made")]) == 0
    [stub] = tomllib.loads((tmp_path / "made" / "one.toml").read_text())["stub"]
    assert stub["reply"]["event_times"] == "_one/one-1.times"
    with MockServer(stubs=str(tmp_path / "made")) as server:
        exchange(server.url, "POST", "/cerebras/v1/completions", asked)
        assert [event["due"] for event in server.last.events] == pytest.approx([0.2505, 0.2805, 0.3105])


@pytest.mark.parametrize("speed, latency", [(1, "off"), (10, "slow")])
def test_the_events_of_a_stream_come_at_their_recorded_times_whatever_the_servers_latency(
    tmp_path: Path, speed: float, latency: str
) -> None:
    asked = {"model": "m", "prompt": "hello", "max_tokens": 20, "stream": True}
    recording = tmp_path / "one.jsonl"
    with MockServer(latency="ttft=30ms, itl=2ms, jitter=0.5, tokens_per_chunk=3") as server:
        before = exchange(server.url, "POST", "/cerebras/v1/completions", asked)
        recorded = [event["sent"] for event in server.last.events]
        with urlopen(f"{server.url}/_mockserver/journal.jsonl") as answer:
            recording.write_bytes(answer.read())
    assert main(["stubs", str(recording), "--pace", "--out", str(tmp_path / "made")]) == 0
    [stub] = tomllib.loads((tmp_path / "made" / "one.toml").read_text())["stub"]
    assert stub["reply"] == {
        "status": 200,
        "content_type": dict(before.headers)["content-type"],
        "file": "_one/one-1.sse",
        "headers": stub["reply"]["headers"],
        "event_times": "_one/one-1.times",
    }
    with MockServer(stubs=str(tmp_path / "made"), speed=speed, latency=latency) as server:
        again = exchange(server.url, "POST", "/cerebras/v1/completions", asked)
        due = [event["due"] for event in server.last.events]
        exchange(server.url, "POST", "/cerebras/v1/completions", asked, {"x-mockserver-latency": "off"})
        assert {event["due"] for event in server.last.events} == {0.0}
    assert again.body == before.body
    assert due == pytest.approx([time / speed for time in recorded], abs=1e-6)


@pytest.mark.parametrize("pieces", [(5, 30), (36,), (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)])
def test_an_event_has_arrived_with_the_last_piece_of_it(tmp_path: Path, pieces: tuple[int, ...]) -> None:
    body = "data: 1\n\ndata: 22\r\n\r\ndata: 333\n\ndata"
    cuts = [0, *accumulate(pieces)] if sum(pieces) < len(body) else [0]
    parts = [body[start:end] for start, end in pairwise([*cuts, len(body)])]
    line = journal_line({"model": "m", "prompt": "hello", "stream": True}, parts)
    (tmp_path / "one.jsonl").write_text(json.dumps(line))
    assert main(["stubs", str(tmp_path / "one.jsonl"), "--pace", "--out", str(tmp_path / "made")]) == 0
    times = (tmp_path / "made" / "_one" / "one-1.times").read_text().splitlines()[1:]
    ends = [9, 21, 32, 36]
    arrived = [next(n for n, cut in enumerate([*cuts[1:], len(body)]) if cut >= end) for end in ends]
    assert [float(each) for each in times] == [(number + 1) / 8 for number in arrived]
    with MockServer(stubs=str(tmp_path / "made")) as server:
        assert exchange(server.url, "POST", "/cerebras/v1/completions", line["request"]["body"]).body == body.encode()


def journal_line(asked: Mapping[str, Any], pieces: Sequence[str]) -> dict[str, Any]:
    """An exchange with a stream as a journal tells of it, of which a piece was sent every eighth of a second."""
    events = [{"due": 0.0, "sent": number / 8, "tokens": 0, "data": piece} for number, piece in enumerate(pieces, 1)]
    return {
        "number": 1, "method": "POST", "path": "/cerebras/v1/completions", "dialect": "cerebras", "streamed": True,
        "request": {"headers": {"content-type": "application/json"}, "query": "", "body": asked},
        "decision": {"by": "answer"},
        "outcome": {"closed_by": "server", "events_sent": len(events)},
        "answer": {
            "status": 200, "headers": {"content-type": "text/event-stream"}, "events": events, "ending": None
        },
    }  # fmt: skip


def test_a_journals_packed_answer_is_unpacked(tmp_path: Path) -> None:
    line = journal_line({"model": "m", "prompt": "hello"}, [])
    packed = base64.b64encode(gzip.compress(b'{"a": 1}')).decode()
    headers = {"content-type": "application/json", "Content-Encoding": "gzip"}
    line |= {"streamed": False, "answer": {**line["answer"], "headers": headers, "body_base64": packed}}
    (tmp_path / "one.jsonl").write_text(json.dumps(line))
    assert main(["stubs", str(tmp_path / "one.jsonl"), "--out", str(tmp_path / "made")]) == 0
    [stub] = tomllib.loads((tmp_path / "made" / "one.toml").read_text())["stub"]
    assert stub["reply"] == {"status": 200, "content_type": "application/json", "body": '{"a": 1}'}


@pytest.mark.parametrize("kind", ["jsonl", "har"])
def test_a_body_that_is_no_text_stays_what_it_is(kind: str, tmp_path: Path) -> None:
    body = {"model": "m", "prompt": "hello"}
    with MockServer() as server:
        server.on().reply(raw(b"{\xff\x00", content_type="audio/wav"))
        exchange(server.url, "POST", "/cerebras/v1/completions", body)
        with urlopen(f"{server.url}/_mockserver/journal.{kind}") as answer:
            (tmp_path / f"one.{kind}").write_bytes(answer.read())
    assert main(["stubs", str(tmp_path / f"one.{kind}"), "--out", str(tmp_path / "made")]) == 0
    [stub] = tomllib.loads((tmp_path / "made" / "one.toml").read_text())["stub"]
    assert base64.b64decode(stub["reply"]["body_base64"]) == b"{\xff\x00"


def test_a_stream_of_more_events_than_the_server_tells_is_read_if_all_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = journal_line({"model": "m", "prompt": "hello", "stream": True}, ["data: 1\n\n"] * 20_001)
    (tmp_path / "whole.jsonl").write_text(json.dumps(line))
    assert main(["stubs", str(tmp_path / "whole.jsonl"), "--out", str(tmp_path / "made")]) == 0
    line["answer"]["events"] = line["answer"]["events"][:20_000]
    (tmp_path / "cut.jsonl").write_text(json.dumps(line))
    assert main(["stubs", str(tmp_path / "cut.jsonl"), "--out", str(tmp_path / "made")]) == 1
    assert "its answer has more events than a journal keeps; left out" in capsys.readouterr().err


def test_what_can_be_no_stub_is_told_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked, content = {"model": "m", "prompt": "hello"}, {"text": "{}"}
    vendor = "https://api.cerebras.ai"
    url = {"url": f"{vendor}/v1/completions"}
    recording = tmp_path / "all.har"
    recording.write_text(
        json.dumps(
            archive(
                entry(asked, {"size": 9}, request=url),
                entry(asked, content, request={**url, "postData": None}),
                entry(asked, content, request={"url": "wss://api.cerebras.ai/v1/realtime"}),
                entry(asked, content, request=url, response={"status": 0}),
                entry(asked, content, request={"url": "https://shop.example/cart"}),
                entry(asked, content, request={**url, "method": "OPTIONS"}),
                entry({"model": "m", "messages": []}, content, request={"url": f"{vendor}/v1/chat/completions"}),
                entry({"model": "m", "max_tokens": "x"}, content, request=url),
            )
        )
    )
    assert main(["stubs", str(recording), "--match", "lenient"]) == 1
    printed = capsys.readouterr()
    told = [line.removeprefix(f"mockserver: {recording}, ") for line in printed.err.splitlines()]
    assert told[7].startswith("entry 8: cerebras refuses this request: ")
    assert told[8] == f"mockserver: {recording}: no stub can be made from it"
    assert (printed.out, told[:7]) == (
        "",
        [
            "entry 1: the body of its answer was not recorded; left out",
            "entry 2: the body of its request was not recorded; left out",
            "entry 3: is a WebSocket connection; left out",
            "entry 4: has no answer (status 0); left out",
            "entry 5: no dialect serves POST /cart; left out",
            "entry 6: no dialect serves OPTIONS /v1/completions; left out",
            "entry 7: cerebras refuses this request: messages: List should have at least 1 item after "
            "validation, not 0. A stub cannot answer what the dialect refuses; if the request is for another dialect, "
            "add a route for its path; left out",
        ],
    )


@pytest.mark.parametrize("kind, word", [("jsonl", "line"), ("har", "entry")])
def test_answers_that_broke_off_are_left_out(
    kind: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / f"j.{kind}"
    with MockServer() as server:
        server.next().fault("reset", after_event=2)
        for path in ("/cerebras/v1/completions", "/nowhere"):
            with suppress(OSError, HTTPException):
                exchange(server.url, "POST", path, {**PROMPT, "stream": True})
        with urlopen(f"{server.url}/_mockserver/journal.{kind}") as answer:
            recording.write_bytes(answer.read())
    assert main(["stubs", str(recording)]) == 1
    broken, nowhere, _ = capsys.readouterr().err.splitlines()
    assert broken == (
        f"mockserver: {recording}, {word} 1: its answer broke off (reset); use a fault for that; left out"
    )
    assert nowhere.startswith(f"mockserver: {recording}, {word} 2: no")


def archived(**request: object) -> str:
    """An archive of one exchange, whose request differs from others."""
    response = {"status": 200, "headers": [], "content": {"text": "{}"}}
    asked = {"method": "GET", "url": "http://a/v1/models", "headers": [], **request}
    return json.dumps({"log": {"entries": [{"request": asked, "response": response}]}})


@pytest.mark.parametrize(
    "content, complaint",
    [
        ("", "is empty; expected a journal (journal.jsonl of the admin API), an HTTP Archive (HAR) or a cassette"),
        ("nonsense", "line 1: is not valid JSON"),
        ('{"a": 1}', "is not a recording; expected"),
        ('{"number": 1, "answer": {}}', "line 1: is not an exchange (KeyError: 'request'); expected"),
        ('{"log": {"entries": [{}]}}', "entry 1: is not an exchange (KeyError: 'request'); expected"),
        (archived(method=[]), "entry 1: is not an exchange (TypeError: method: not a text); expected"),
        (
            archived(headers=[{"name": "a", "value": 1}]),
            "entry 1: is not an exchange (TypeError: a: not a text); expec",
        ),
    ],
)
def test_what_is_no_recording_is_refused(
    content: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / "x.jsonl"
    recording.write_text(content)
    assert main(["stubs", str(recording)]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"mockserver: stubs: {recording}: {complaint}")
    assert printed.count("\n") == 1


def test_nothing_that_is_there_is_written_over(
    recorded: tuple[Path, list[Transcript]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["stubs", str(recorded[0] / "journal.har"), "--out", str(tmp_path)]
    (tmp_path / "journal.toml").write_text("mine")
    assert main(command) == 2
    assert capsys.readouterr().err.startswith(f"mockserver: stubs: {tmp_path}/journal.toml exists already; remove it")
    assert [path.name for path in tmp_path.iterdir()] == ["journal.toml"]
    assert (tmp_path / "journal.toml").read_text() == "mine"
