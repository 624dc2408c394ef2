"""Stubs: how tables are read, which stub answers a request, and the explanation if none does."""

import gzip
import json
import struct
from base64 import b64decode
from collections.abc import Callable
from inspect import iscoroutinefunction
from itertools import starmap
from typing import Any

import msgpack
import orjson
import pytest

from mockserver.core.dialects import EDITIONS, Edition
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.parse_faults import read_faults
from mockserver.model.prepared import Counts, ScriptedCall, ScriptedOutput
from mockserver.state.context import HeaderError
from mockserver.state.namespaces import Namespace
from mockserver.state.settings import ConfigError
from mockserver.state.settings.config_file import from_toml
from mockserver.state.settings.options import from_names, settle
from mockserver.state.stubs.parse_replies import read_header_reply, read_prepared
from mockserver.state.stubs.parse_stubs import read_stub, read_stubs
from mockserver.state.stubs.stub import Prepared, Raw
from mockserver.state.stubs.templates import TemplateError, fill
from mockserver.state.stubs.values import StubError
from tests.support.asking import QUIET, Answer, ask
from tests.support.facts import Given

MODEL = "llama3.1-8b"


def space(*tables: dict[str, Any]) -> Namespace:
    made = Namespace("")
    for table in tables:
        made.stubs.add(read_stub(table))
    return made


def cerebras(namespace: Namespace, prompt: str = "Hello", **fields: Any) -> Answer:
    headers = fields.pop("headers", None)
    settings = fields.pop("settings", QUIET)
    body = {"model": MODEL, "prompt": prompt, **fields}
    return ask("cerebras", body, namespace=namespace, headers=headers, settings=settings)


def text(namespace: Namespace, prompt: str = "Hello", **fields: Any) -> str:
    answer = cerebras(namespace, prompt, **fields).json()
    return str(answer["choices"][0]["text"]) if "choices" in answer else str(answer)


GENERATED = cerebras(Namespace("")).json()["choices"][0]["text"]


# --- which stub, and how often -------------------------------------------------------------------------------------


def test_the_first_stub_that_matches_answers_and_what_none_matches_is_generated() -> None:
    here = space(
        {"match": {"prompt": {"contains": "rain"}}, "reply": "It rains."},
        {"match": {"prompt": {"contains": "rain"}}, "reply": "never asked"},
        {"name": "low", "priority": -1, "reply": "low"},
        {"name": "high", "priority": 1, "match": {"prompt": "Who is first?"}, "reply": "high"},
    )
    prompts = ("Any rain?", "Who is first?", "Else")
    assert [text(here, prompt) for prompt in prompts] == ["It rains.", "high", "low"]
    assert text(space({"match": {"model": "x"}, "reply": "no"})) == GENERATED


def test_a_stub_is_used_so_many_times_and_then_the_next_is_asked() -> None:
    here = space({"times": 2, "reply": "twice"}, {"reply": "for ever"})
    assert [text(here) for _ in range(4)] == ["twice", "twice", "for ever", "for ever"]
    assert [(stub.name, used) for stub, used in here.stubs.listed()] == [("stub-1", 2), ("stub-2", 2)]


def test_replies_come_one_after_the_other_and_the_last_one_stays() -> None:
    here = space({"replies": ["one", {"text": "two"}, {}]})
    assert [text(here) for _ in range(4)] == ["one", "two", GENERATED, GENERATED]
    bounded = space({"replies": ["one", "two"], "times": 3})
    assert [text(bounded) for _ in range(4)] == ["one", "two", "two", GENERATED]


def test_a_script_is_used_once_and_a_step_waits_for_the_request_that_it_wants() -> None:
    here = space({"script": [{"error": "server_error"}, {"match": {"prompt": "now"}, "reply": "waited"}, "end"]})
    told = [cerebras(here, prompt).status for prompt in ("a", "b")]
    assert told == [500, 200]
    assert [text(here, prompt) for prompt in ("now", "c")] == ["waited", "end"]
    assert text(here) == GENERATED


@pytest.mark.parametrize(
    "table, said",
    [
        ({"script": ["a", "b"]}, ["a", "b", GENERATED, GENERATED]),
        ({"script": ["a", "b"], "exhausted": "repeat"}, ["a", "b", "b", "b"]),
        ({"script": ["a", "b"], "exhausted": "refuse"}, ["a", "b", None, None]),
        ({"replies": ["a", "b"], "exhausted": "cycle"}, ["a", "b", "a", "b", "a"]),
        ({"replies": ["a", "b"], "exhausted": "pass"}, ["a", "b", GENERATED, GENERATED]),
        ({"replies": ["a", "b"], "exhausted": "refuse"}, ["a", "b", None, None]),
        ({"reply": "a", "exhausted": "refuse"}, ["a", None, None, None]),
        ({"replies": ["a", "b"], "times": 3, "exhausted": "refuse"}, ["a", "b", "b", None]),
    ],
)
def test_what_follows_the_last_answer_is_said(table: dict[str, Any], said: list[str | None]) -> None:
    here = space({"name": "short", "match": {"prompt": "Hello"}, **table})
    answers = [cerebras(here) for _ in said]
    assert [each.status for each in answers] == [404 if text is None else 200 for text in said]
    assert [each.json()["choices"][0]["text"] for each in answers if each.status == 200] == [*filter(None, said)]
    assert cerebras(here, "Else").status == 200
    if None in said:
        used = len(said) - said.count(None)
        message = answers[-1].json()["error"]["message"]
        assert f"Nearest: 'short' (times: expected at most {used} use" in message


def test_a_stub_of_the_same_name_takes_the_place_of_the_older_one_and_counts_anew() -> None:
    here = space({"name": "a", "reply": "old", "times": 1}, {"name": "b", "reply": "b"})
    assert [text(here), text(here)] == ["old", "b"]
    here.stubs.add(read_stub({"name": "a", "reply": "new", "times": 1}))
    assert [text(here), text(here)] == ["new", "b"]
    assert [here.stubs.remove("a"), here.stubs.remove("a")] == [True, False]
    assert here.stubs.put([read_stub({"reply": "only"})]) == ["stub-1"]
    assert text(here) == "only"
    unnamed, named = read_stub({"reply": "first"}), read_stub({"name": "stub-2", "reply": "second"})
    assert here.stubs.put([unnamed, named]) == ["stub-3", "stub-2"]
    here.reset()
    assert text(here) == GENERATED


def test_stubs_of_the_settings_come_after_those_that_were_added_and_survive_a_reset() -> None:
    configured = read_stubs([{"reply": "file", "times": 1}, {"name": "b", "reply": "b"}], "stub", origin="a.toml")
    book = space({"reply": "added", "times": 1}).stubs
    found = [book.take(Given(), configured) for _ in range(4)]
    assert [each and each.stub.name for each in found] == ["stub-1", "a.toml-1", "b", "b"]
    book.reset()
    assert [(stub.name, used) for stub, used in book.listed(configured)] == [("a.toml-1", 0), ("b", 0)]


def test_a_stub_of_the_name_of_one_in_the_settings_stands_instead_of_it() -> None:
    configured = read_stubs([{"name": "a", "reply": "file"}], "stub", origin="a.toml")
    book = space({"name": "a", "match": {"model": "x"}, "reply": "added"}).stubs
    assert book.take(Given(model="y"), configured) is None
    assert [stub.origin for stub, _ in book.listed(configured)] == [""]


def test_attempts_count_how_often_the_same_request_has_just_failed() -> None:
    here = space({"match": {"attempt": {"at_most": 2}}, "error": "server_error"}, {"reply": "third time"})
    answers = [cerebras(here, prompt) for prompt in ("a", "a", "b", "a", "a")]
    assert [answer.status for answer in answers] == [500, 500, 500, 200, 500]
    assert [answer.plan.attempt for answer in answers] == [1, 2, 1, 3, 1]


@pytest.mark.parametrize("kind", [name for name, it in FAULTS.items() if not (it.listens or it.calls)])
def test_only_an_answer_that_a_fault_has_broken_is_asked_for_again(kind: str) -> None:
    here, body = Namespace(""), {"model": MODEL, "prompt": "a", "max_tokens": 9, "stream": True}
    faulted = ask("cerebras", body, namespace=here, headers={"x-mockserver-fault": kind})
    again = ask("cerebras", body, namespace=here)
    assert again.plan.attempt == (2 if FAULTS[kind].harm != "none" or faulted.status >= 400 else 1)


def test_an_answer_that_the_client_has_left_is_asked_for_again_until_it_is_taken() -> None:
    here = Namespace("")
    for attempt in (1, 2, 3):
        left = cerebras(here).plan
        assert left.attempt == attempt
        here.attempts.record_cancel(left)
    assert [cerebras(here).plan.attempt for _ in range(2)] == [4, 1]


def test_rules_of_faults_see_numbers_and_attempts_too() -> None:
    here = Namespace("")
    [fault] = read_faults('{ kind = "error", error = "rate_limit", match = { attempt = { at_most = 2 } } }')
    here.faults.arm("flaky", fault, 0.0)
    assert [cerebras(here).status for _ in range(4)] == [429, 429, 200, 429]


def test_requests_are_numbered_within_their_namespace() -> None:
    here = space({"match": {"number": 2}, "reply": "second"})
    assert [text(here) == "second" for _ in range(3)] == [False, True, False]
    here.reset()
    here.stubs.add(read_stub({"match": {"number": 1}, "reply": "first"}))
    assert text(here) == "first"


@pytest.mark.parametrize(
    "table",
    [
        {"error": "rate_limit"},
        {"reply": {"error": {"error": "rate_limit", "retry_after": 2}}},
        {"reply": lambda request: {"error": "rate_limit"}},
        {"faults": [{"kind": "status", "status": 429}]},
    ],
)
def test_the_headers_of_a_stub_come_with_its_errors_but_not_with_those_of_others(table: dict[str, Any]) -> None:
    here = space({"headers": {"X-Should-Retry": "false", "Retry-After": "9"}, **table})
    answer = cerebras(here)
    assert (answer.status, answer.headers["x-should-retry"], answer.headers["retry-after"]) == (429, "false", "9")
    assert "x-should-retry" not in cerebras(here, headers={"x-mockserver-fault": "overloaded"}).headers


# --- what else a stub can do ---------------------------------------------------------------------------------------


def test_a_stub_without_a_reply_decorates_the_generated_answer() -> None:
    plain = cerebras(Namespace(""), headers={"x-mockserver-seed": "7"})
    here = space({"seed": 7, "headers": {"X-Trace": "abc"}, "latency": "ttft=2s"})
    answer = cerebras(here)
    assert answer.json()["choices"] == plain.json()["choices"]
    assert answer.headers["x-trace"] == "abc"
    assert answer.plan.pace is not None
    assert answer.plan.pace.schedule[0] == 2.0
    assert (
        cerebras(here, headers={"x-mockserver-seed": "42", "x-mockserver-latency": "off"}).json()["choices"]
        == (cerebras(Namespace("")).json()["choices"])
    )


def test_faults_of_a_stub_hit_its_answers_and_one_that_cannot_is_an_error() -> None:
    here = space({"faults": [{"kind": "cut", "after_event": 2}], "reply": "One two three"})
    answer = cerebras(here, stream=True)
    assert (answer.plan.faults, len(answer.events())) == (("cut",), 2)
    with pytest.raises(HeaderError, match="stub 'stub-1': 'cut' needs a stream, but this request does not ask for one"):
        cerebras(here)
    filtered = space({"faults": [{"kind": "finish", "reason": "content_filter"}]})
    assert cerebras(filtered).json()["choices"][0]["finish_reason"] == "content_filter"
    with pytest.raises(HeaderError, match="'finish' ends an answer with content_filter, which ovms does not do"):
        ask("ovms", {"model": "m", "prompt": "Hello"}, namespace=filtered)
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}
    broken, call = {"faults": [{"kind": "broken_tool_call"}]}, {"tool_calls": [{"name": "get_time"}]}
    called = ask("cerebras", body, path="/v1/chat/completions", namespace=space({**broken, "reply": call}))
    assert called.plan.faults == ("broken_tool_call",)
    with pytest.raises(HeaderError, match="'broken_tool_call' needs tool calls, but this request offers no tools"):
        ask("cerebras", body, path="/v1/chat/completions", namespace=space(broken))


@pytest.mark.parametrize("packing", ["plain", "gzip", "msgpack"])
def test_a_body_is_matched_and_quoted_whatever_it_is_packed_in(packing: str) -> None:
    here = space({"match": {"body": {"$.user": "bob"}}, "reply": {"text": "to {{ body.user }}", "template": True}})
    body = {"model": "llama3.1-8b", "prompt": "hi", "user": "bob"}
    sent = {
        "plain": (orjson.dumps(body), {}),
        "gzip": (gzip.compress(orjson.dumps(body)), {"content-encoding": "gzip"}),
        "msgpack": (msgpack.packb(body), {"content-type": "application/vnd.msgpack"}),
    }
    data, headers = sent[packing]
    answer = ask("cerebras", data, headers=headers, namespace=here)
    assert answer.json()["choices"][0]["text"] == "to bob"


def test_the_older_form_of_a_call_knows_one_function_plain_and_streamed() -> None:
    calls = [{"name": "get_weather", "arguments": {"city": "Oslo"}}, {"name": "sum", "arguments": {"a": 1}}]
    body = {
        "model": "gpt://f/q",
        "messages": [{"role": "user", "content": "hi"}],
        "functions": [{"name": "get_weather"}, {"name": "sum"}],
    }
    plain, stream = (
        ask("yandex", body | {"stream": stream}, namespace=space({"reply": {"tool_calls": calls}}))
        for stream in (False, True)
    )
    told = plain.json()["choices"][0]["message"]["function_call"]
    parts = [
        choice["delta"]["function_call"]
        for event in stream.events()
        if event != "[DONE]"
        for choice in event["choices"]
        if choice["delta"].get("function_call")
    ]
    joined = {key: "".join(part.get(key) or "" for part in parts) for key in ("name", "arguments")}
    assert joined == told
    assert told["name"] == "get_weather"


def test_the_header_goes_before_every_stub() -> None:
    here = space({"reply": "stub", "times": 1})
    assert text(here, headers={"x-mockserver-reply": "by header"}) == "by header"
    assert text(here, headers={"x-mockserver-reply": '{"text": "as JSON"}'}) == "as JSON"
    assert text(here, headers={"x-mockserver-reply": '{ text = "als TOML: ü" }'}) == "als TOML: ü"
    assert text(here) == "stub"
    with pytest.raises(HeaderError, match=r"X-Mockserver-Reply: reply: unknown key 'txt'\. Did you mean 'text'"):
        text(here, headers={"x-mockserver-reply": '{"txt": "x"}'})
    with pytest.raises(HeaderError, match="is not a valid table in JSON or TOML"):
        text(here, headers={"x-mockserver-reply": "{text"})


def test_what_the_vendor_refuses_no_stub_answers() -> None:
    # Nor is a function asked whether it does.
    here = space({"match": {"method": lambda method: 1 / 0}, "priority": 1, "reply": "x"}, {"reply": "anything"})
    assert ask("cerebras", {"model": MODEL, "prompt": 5.5}, namespace=here).status == 400
    assert [used for _, used in here.stubs.listed()] == [0, 0]


def test_where_no_model_answers_a_stub_gives_bodies_alone() -> None:
    here = space({"reply": "words"}, {"match": {"operation": "models"}, "reply": {"body": {"data": []}, "status": 203}})
    answer = ask("friendli", path="/serverless/v1/models", namespace=here)
    assert (answer.status, answer.plan.rule) == (203, "stub-2")
    assert ask("cerebras", path="/v1/tcp_warming", namespace=here).plan.rule is None
    raw = space({"match": {"operation": "tcp_warming"}, "reply": {"body": {"warm": True}, "status": 203}})
    answer = ask("cerebras", path="/v1/tcp_warming", namespace=raw)
    assert (answer.status, answer.body, answer.plan.rule) == (203, b'{"warm": true}', "stub-1")
    with pytest.raises(HeaderError, match="does not ask a model, so the reply must be a body"):
        ask("cerebras", path="/v1/tcp_warming", headers={"x-mockserver-reply": "words"})


EMBED = {"model": "bge-large", "input": "Tides"}


def test_at_a_path_that_is_not_simulated_a_stub_that_names_it_answers_with_a_body_or_an_error() -> None:
    images = "/v1/images/generations"
    match = {"path": images, "method": "POST", "body": {"n": 1}}
    here = space(
        {"reply": {"status": 503}},
        {"match": {"path": {"contains": "/v1/"}}, "reply": "words"},
        {"match": match, "replies": [{"body": {"data": []}, "headers": {"x-a": "b"}}, {"error": "rate_limit"}]},
    )

    def asked(body: object = None, path: str = images) -> Answer:
        return ask("openai", body, path=path, namespace=here)

    answer = asked({"n": 1})
    assert (answer.status, answer.json(), answer.headers["x-a"]) == (200, {"data": []}, "b")
    assert answer.headers["openai-version"]
    assert asked({"n": 1}).status == 429
    assert [asked({"n": 2}).status, asked(path="/v1/files").status, asked().status] == [404, 404, 404]


def test_words_are_not_spent_on_a_model_that_embeds() -> None:
    here = space({"name": "script", "script": ["first", "second"]}, {"match": {"dialect": "ovms"}, "reply": "any"})
    assert ask("ovms", EMBED, path="/v3/embeddings", namespace=here).plan.rule is None
    assert [text(here), text(here)] == ["first", "second"]
    with pytest.raises(HeaderError, match="does not ask a model, so the reply must be a body"):
        ask("ovms", EMBED, path="/v3/embeddings", headers={"x-mockserver-reply": "words"})


TEXTS = {"model": "bge-large", "input": ["Tides", "Moon"]}


@pytest.mark.parametrize(
    "given, vectors",
    [([1, -0.5], [[1.0, -0.5], [1.0, -0.5]]), ([[1, 0], [0.1]], [[1.0, 0.0], [0.1]]), ([[3]], [[3.0], [3.0]])],
)
def test_embeddings_are_given_by_value_for_all_texts_or_for_each(given: object, vectors: list[list[float]]) -> None:
    here = space({"match": {"operation": "embeddings"}, "reply": {"embedding": given, "headers": {"x-a": "b"}}})
    answer = ask("ovms", TEXTS, path="/v3/embeddings", namespace=here)
    plain = ask("ovms", TEXTS, path="/v3/embeddings").json()
    assert answer.json() == {
        **plain,
        "data": [{**row, "embedding": vector} for row, vector in zip(plain["data"], vectors, strict=True)],
    }
    assert (answer.plan.rule, answer.headers["x-a"]) == ("stub-1", "b")


def test_a_given_embedding_is_sent_in_base64_if_the_request_wants_that_and_is_never_shortened() -> None:
    wish = {"x-mockserver-reply": '{ "embedding": [1, 0.5, -2] }'}
    base64 = ask("ovms", {**EMBED, "encoding_format": "base64"}, path="/v3/embeddings", headers=wish).json()
    assert struct.unpack("<3f", b64decode(base64["data"][0]["embedding"])) == (1.0, 0.5, -2.0)
    asked = {"model": "emb://folder/text-embeddings-v2-doc/latest", "input": "Tides", "dimensions": 128}
    answer = ask("yandex", asked, path="/v1/embeddings", headers=wish).json()
    assert answer["data"][0]["embedding"] == [1.0, 0.5, -2.0]


RANK = {"model": "bge-reranker", "query": "tides", "documents": ["a", "b", "c"], "return_documents": True}


def test_scores_are_given_by_value_and_rank_the_documents() -> None:
    here = space({"reply": {"scores": [0.25, 2, -1.5]}})
    answer = ask("ovms", RANK, path="/v3/rerank", namespace=here)
    assert answer.json()["results"] == [
        {"index": 1, "relevance_score": 2.0, "document": {"text": "b"}},
        {"index": 0, "relevance_score": 0.25, "document": {"text": "a"}},
        {"index": 2, "relevance_score": -1.5, "document": {"text": "c"}},
    ]
    first = ask("ovms", {**RANK, "top_n": 1}, path="/v3/rerank", namespace=here).json()["results"]
    assert [row["index"] for row in first] == [1]


def test_a_measure_is_passed_over_where_it_was_not_asked_for() -> None:
    here = space({"reply": {"embedding": [1]}}, {"reply": {"scores": [1]}}, {"reply": "a text"})
    assert text(here) == "a text"
    assert ask("ovms", EMBED, path="/v3/embeddings", namespace=here).plan.rule == "stub-1"
    assert ask("ovms", {**RANK, "documents": ["a"]}, path="/v3/rerank", namespace=here).plan.rule == "stub-2"
    alone = space({"reply": {"embedding": [1]}})
    [nearest] = cerebras(alone).plan.nearest or ()
    assert [(it.field, it.wanted) for it in nearest.differences] == [("operation", "a request for embeddings")]


@pytest.mark.parametrize(
    "name, path, body, reply, complaint",
    [
        (
            "ovms",
            "/v3/embeddings",
            TEXTS,
            {"embedding": [[1]] * 3},
            "has 3 embeddings, but the request has 2 texts; give",
        ),
        ("ovms", "/v3/rerank", RANK, {"scores": [1]}, "has 1 scores, but the request has 3 texts; give one for each"),
        ("ovms", "/v3/rerank", RANK, {"embedding": [1]}, r"the reply must be a body or { scores = \[...\] }"),
        ("ovms", "/v3/embeddings", TEXTS, {"scores": [1]}, r"the reply must be a body or { embedding = \[...\] }"),
        (
            "ovms",
            "/v3/completions",
            {"model": "m", "prompt": "a"},
            {"scores": [1]},
            "so the reply cannot be an embedding",
        ),
    ],
)
def test_a_header_with_a_measure_that_does_not_fit_says_what_would(
    name: str, path: str, body: dict[str, Any], reply: object, complaint: str
) -> None:
    with pytest.raises(HeaderError, match=complaint):
        ask(name, body, path=path, headers={"x-mockserver-reply": json.dumps(reply)})


def test_a_function_cannot_give_a_text_request_an_embedding() -> None:
    with pytest.raises(HeaderError, match="stub 'stub-1': embedding: this request does not ask for embeddings"):
        cerebras(space({"reply": lambda request: {"embedding": [1]}}))


def test_a_body_and_what_decorates_are_given_to_a_model_that_embeds() -> None:
    here = space({"match": {"operation": "embeddings"}, "replies": [{"body": {"data": []}}, {"headers": {"x-a": "b"}}]})
    assert ask("ovms", EMBED, path="/v3/embeddings", namespace=here).json() == {"data": []}
    assert ask("ovms", EMBED, path="/v3/embeddings", namespace=here).headers["x-a"] == "b"


def test_a_miss_says_that_words_are_for_models_that_speak() -> None:
    refused = ask("ovms", EMBED, path="/v3/embeddings", namespace=space({"name": "hello", "reply": "words"}))
    [near] = refused.plan.nearest or ()
    assert (near.name, [each.field for each in near.differences]) == ("hello", ["operation"])


@pytest.mark.parametrize("kind", [name for name, kind in FAULTS.items() if kind.says is not None])
def test_a_fault_of_what_is_said_cannot_hit_a_model_that_embeds(kind: str) -> None:
    with pytest.raises(HeaderError, match=r"(changes what a model says|needs tool calls), but"):
        ask("ovms", EMBED, path="/v3/embeddings", headers={"x-mockserver-fault": f"{{ kind = '{kind}' }}"})


def test_the_rule_stands_in_a_header_unless_the_server_is_strict() -> None:
    here = space({"name": "größe 1", "reply": "x"})
    assert cerebras(here).headers["x-mockserver-rule"] == "gr\\xf6\\xdfe 1"
    strict = cerebras(here, settings=settle({"created": 0.0, "latency": "off", "strict": True}))
    assert [name for name in strict.headers if name.startswith("x-mockserver")] == []


# --- what is told of a miss ----------------------------------------------------------------------------------------


def test_a_miss_tells_the_nearest_stubs_and_each_field_that_differs() -> None:
    here = space(
        {"name": "far", "match": {"model": "x", "prompt": "y", "stream": True}, "reply": "1"},
        {"name": "near", "match": {"model": MODEL, "last_user": {"contains": "weather"}}, "reply": "2"},
        {"name": "step", "match": {"model": MODEL}, "script": [{"match": {"prompt": "go"}, "reply": "3"}]},
        {"name": "used", "match": {"model": MODEL}, "times": 1, "reply": "4", "priority": 9},
        {"name": "any", "times": 1, "reply": "5"},
    )
    assert [text(here), text(here)] == ["4", "5"]
    plan = cerebras(here).plan
    assert plan.nearest is not None
    assert [(near.name, [str(each) for each in near.differences]) for near in plan.nearest] == [
        ("used", ["times: expected at most 1 use, found one more after 1 use"]),
        ("near", ["last_user: expected containing 'weather', found 'Hello'"]),
        ("step", ["script[0].prompt: expected 'go', found 'Hello'"]),
    ]
    assert plan.rule is None


def test_a_stub_for_another_operation_is_further_than_any_for_this_one() -> None:
    # The SDK of Cerebras begins with such a request, so recordings of it begin with such a stub.
    warming = {"name": "warming", "match": {"operation": "tcp_warming"}, "reply": "1"}
    here = space(
        warming,
        {"name": "elsewhere", "match": {"dialect": "friendli"}, "reply": "2"},
        {"name": "changed", "match": {"operation": "completions", "last_user": "Hi", "stream": True}, "reply": "3"},
    )
    assert [near.name for near in cerebras(here).plan.nearest or ()] == ["changed", "warming", "elsewhere"]


def test_of_many_stubs_the_nearest_are_told_without_a_look_at_all_of_them() -> None:
    asked: list[str] = []

    def is_other(said: str) -> bool:
        asked.append(said)
        return False

    used = {"name": "used", "match": {"model": MODEL}, "times": 1, "reply": "once"}
    far = {"name": "far", "match": {"model": "x", "stream": True}, "reply": "never"}
    here = space(far, *({"match": {"last_user": is_other}, "reply": "never"} for _ in range(50)), used)
    assert text(here) == "once"
    asked.clear()
    plan = cerebras(here).plan
    assert plan.nearest is not None
    assert [near.name for near in plan.nearest] == ["used", "stub-1", "stub-2"]
    assert len(asked) < 60


def test_patterns_are_read_once_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    here = space(*({"match": {"prompt": {"regex": f"^rain {number}$"}}, "reply": "x"} for number in range(1100)))
    # None can be read any more.
    monkeypatch.delattr("mockserver.core.regexes.Regex")
    assert cerebras(here).plan.nearest is not None


def test_a_predicate_is_only_asked_where_the_criteria_before_it_hold_and_breaks_no_explanation() -> None:
    here = space({"name": "x", "match": {"model": "other", "prompt": lambda said: 1 / 0}, "reply": "never"})
    plan = cerebras(here).plan
    assert (plan.handler_error, plan.timeline.status) == (None, 200)
    assert plan.nearest is not None
    assert [str(each) for each in plan.nearest[0].differences] == [
        f"model: expected 'other', found {MODEL!r}",
        "predicate: expected an answer, found ZeroDivisionError: division by zero",
    ]


def test_a_predicate_that_raises_hides_no_other_difference() -> None:
    broken = {"prompt": lambda said: 1 / 0}
    match = {"model": "other", "all": [broken], "any": [{"method": "GET"}], "not": {"method": "POST"}}
    plan = cerebras(space({"name": "x", "match": match, "reply": "never"})).plan
    assert plan.nearest is not None
    assert [each.field for each in plan.nearest[0].differences] == ["model", "predicate", "any[0].method", "not"]


def test_without_stubs_nothing_is_unmatched() -> None:
    assert cerebras(Namespace("")).plan.nearest is None
    assert ask("cerebras", path="/v1/tcp_warming", namespace=space({"reply": "x"})).plan.nearest is None


@pytest.mark.parametrize("dialect", ["cerebras", "friendli", "ovms", "upstash", "yandex"])
def test_unmatched_requests_are_refused_in_the_vendors_shape_when_the_settings_say_so(dialect: str) -> None:
    settings = settle({"created": 0.0, "latency": "off"}, from_names({"unmatched": "refuse"}, "option"))
    here = space({"name": "rain", "match": {"last_user": {"contains": "rain"}}, "reply": "It rains."})
    body = {"model": "gpt://f/yandexgpt" if dialect == "yandex" else MODEL, "stream": True}
    body |= {"messages": [{"role": "user", "content": "Hi"}]} if dialect in ("upstash", "yandex") else {"prompt": "Hi"}
    answer = ask(dialect, body, namespace=here, settings=settings)
    said = "'rain' (last_user: expected containing 'rain', found 'Hi')"
    assert answer.status == 404
    assert said in str(answer.json())
    assert answer.plan.nearest is not None
    without = ask(dialect, body, settings=settings)
    assert without.status == 404
    assert "No stub matches this request. There are no stubs." in str(without.json())


# --- functions of the user's ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "handler, said",
    [
        (lambda request: f"You said {request.last_user}", "You said Hello"),
        (lambda request: {"text": request.body["model"]}, MODEL),
        (lambda request: {"json": [request.dialect, request.turn, request.stream]}, '["cerebras", 1, false]'),
        (lambda request: None, GENERATED),
    ],
)
def test_a_function_sees_the_request_and_returns_a_reply(handler: Callable[[Any], Any], said: str) -> None:
    assert text(space({"reply": handler})) == said


def test_a_function_may_answer_with_an_error() -> None:
    answer = cerebras(space({"reply": lambda request: {"error": {"error": "rate_limit", "retry_after": 3}}}))
    assert (answer.status, answer.headers["retry-after"]) == (429, "3")


def _raises(request: Any) -> str:
    raise KeyError("city")


@pytest.mark.parametrize(
    "table, message",
    [
        ({"reply": _raises}, "stub 'x': its function raised KeyError: 'city' (test_stubs.py:"),
        (
            {"reply": lambda request: request.last_usr},
            "stub 'x': its function raised AttributeError: RequestFacts: unknown attribute 'last_usr'. Did you mean "
            "'last_user'?",
        ),
        (
            {"reply": lambda request: {"txt": 1}},
            "stub 'x': its function returned an invalid reply: reply: unknown key 'txt'.",
        ),
        (
            {"reply": lambda request: 42},
            "stub 'x': its function returned 42; it may return a string, a reply such as tool_",
        ),
        (
            {"reply": lambda request: {"output_tokens": 9}},
            "stub 'x': its function returned a function, a seed, a latency or output_tokens",
        ),
        (
            {"match": {"prompt": lambda said: 1 / 0}, "reply": "x"},
            "stub 'x': its predicate raised ZeroDivisionError: division by zero (test_stubs.py:",
        ),
    ],
)
def test_a_function_that_fails_is_a_server_error_which_the_plan_explains(table: dict[str, Any], message: str) -> None:
    answer = cerebras(space({"name": "x", **table}))
    assert answer.status == 500
    assert (answer.plan.handler_error or "").startswith(message)
    assert message.partition(":")[0] in str(answer.json())


async def _later(request: Any) -> str:
    return "later"


def test_a_coroutine_function_is_refused_at_once() -> None:
    assert iscoroutinefunction(_later)
    with pytest.raises(StubError, match="reply: is a coroutine function"):
        read_stub({"reply": _later})


# --- templates -----------------------------------------------------------------------------------------------------

FACTS = Given(
    {"user": "ann", "n": 2, "list": ["x"]},
    last_user='say "hi" {{ model }}',
    model="m",
    headers={"x-a": "b"},
    query={"Q": "c"},
)


@pytest.mark.parametrize(
    "template, filled",
    [
        ("plain", "plain"),
        ("{{ model }}/{{model|upper}}", "m/M"),
        ("{{ last_user }}", 'say "hi" {{ model }}'),
        ("{{ last_user | json }}", '"say \\"hi\\" {{ model }}"'),
        ("{{ body.user }} {{ body.n }} {{ body.list[0] }} {{ body.list }}", 'ann 2 x ["x"]'),
        ("{{ headers.X-A }}{{ headers.none }}{{ body.none }}{{ query.Q }}{{ query.q }}", "bc"),
    ],
)
def test_a_template_is_filled_from_the_request(template: str, filled: str) -> None:
    assert fill(template, FACTS) == filled


@pytest.mark.parametrize(
    "template, complaint",
    [
        ("{{ nobody }}", "unknown field 'nobody'"),
        ("{{ model | shout }}", "unknown filter 'shout'"),
        ("{{ body.a..b }}", "is not a path"),
        ("{{ __import__('os') }}", "unknown field"),
        ("{{}}", "unknown field ''"),
        ("{{ groups }}", "unknown field 'groups'"),
        ("{{ query. }}", "unknown field 'query.'"),
        ("{{ groups.a b }}", "unknown field 'groups.a b'"),
        ("{{ body. }}", "unknown field 'body.'"),
        ("so {{ model }", "'{{ model }': has no }} at its end"),
    ],
)
def test_a_template_that_cannot_be_filled_is_refused_when_it_is_read(template: str, complaint: str) -> None:
    with pytest.raises(TemplateError, match=complaint):
        fill(template, FACTS)
    with pytest.raises(StubError, match=complaint):
        read_stub({"reply": {"text": template, "template": True}})


def test_templates_reach_every_text_of_a_reply() -> None:
    reply = {
        "json": {"you": "{{ prompt }}", "model": ["{{ model }}"]},
        "headers": {"x-m": "{{ model }}"},
        "template": True,
    }
    answer = cerebras(space({"reply": reply}), 'a "b"')
    assert answer.json()["choices"][0]["text"] == f'{{"you": "a \\"b\\"", "model": ["{MODEL}"]}}'
    assert answer.headers["x-m"] == MODEL


CITY = {"regex": r"in (?P<city>[A-Z]\w+)(?: for (?P<days>\d+) days)?"}
TOWN = {"text": "{{ groups.town }}", "template": True}


def test_groups_of_a_regex_are_filled_into_templates_wherever_they_matched() -> None:
    here = space(
        {
            "match": {"prompt": CITY, "any": [{"model": "x"}, {"headers": {"x-team": {"regex": "(?P<team>.+)"}}}]},
            "reply": {"text": "{{ groups.team }}: {{ groups.city | upper }}{{ groups.days }}.", "template": True},
        }
    )
    assert text(here, "Rain in Oslo for 3 days?", headers={"x-team": "a"}) == "a: OSLO3."
    assert text(here, "Rain in Rome?", headers={"x-team": "b"}) == "b: ROME."


def test_each_step_of_a_script_has_the_groups_of_the_stub_and_its_own() -> None:
    steps = [
        {"text": "{{ groups.city }}", "template": True},
        {
            "match": {"prompt": {"regex": "(?P<word>Rain|Snow) in (?P<city>.)"}},
            "reply": {"json": ["{{ groups.word }}", "{{ groups.city }}"], "template": True},
        },
    ]
    here = space({"match": {"prompt": CITY}, "script": steps})
    assert [text(here, "Rain in Oslo") for _ in range(2)] == ["Oslo", '["Rain", "Oslo"]']


def test_every_value_of_a_field_is_searched_for_groups() -> None:
    match = {"body": {"$.tags[*]": {"regex": "^city:(?P<city>.+)", "not": {"regex": "(?P<other>x)"}}}}
    here = space({"match": match, "reply": {"text": "{{ groups.city }}", "template": True}})
    assert text(here, tags=["a", 1, "city:Oslo"]) == "Oslo"


@pytest.mark.parametrize(
    "table, complaint",
    [
        ({"reply": TOWN}, "stub.reply: {{groups.town}}: no regex of the match has a group (?P<town>...)"),
        (
            {"match": {"prompt": CITY}, "replies": ["a", TOWN]},
            "stub.replies[1]: {{groups.town}}: no regex of the match has a group (?P<town>...); the match has "
            "city, days",
        ),
        (
            {"match": {"not": {"prompt": {"regex": "(?P<town>a)"}}}, "script": [TOWN]},
            "stub.script[0]: {{groups.town}}: no regex of the match has a group (?P<town>...)",
        ),
    ],
)
def test_a_group_that_no_regex_has_is_refused(table: dict[str, Any], complaint: str) -> None:
    with pytest.raises(StubError) as caught:
        read_stub(table)
    assert str(caught.value) == complaint


def test_a_header_has_no_match_and_thus_no_groups() -> None:
    with pytest.raises(StubError, match=r"no regex of the match has a group \(\?P<town>\.\.\.\)"):
        read_header_reply('{ text = "{{ groups.town }}", template = true }')


def test_a_template_that_makes_no_header_is_a_handler_error() -> None:
    answer = cerebras(space({"reply": {"text": "x", "headers": {"x-p": "{{ prompt }}"}, "template": True}}), "a\nb")
    assert answer.status == 500
    assert "contains characters that a header cannot have" in (answer.plan.handler_error or "")


# --- the notation --------------------------------------------------------------------------------------------------

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}}
IN_CHATS = [{"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}}]
IN_RESPONSES = [{"type": "function", "name": "get_weather", "parameters": WEATHER}]
IN_MESSAGES = [{"name": "get_weather", "input_schema": WEATHER}]


@pytest.mark.parametrize(
    "dialect, path, model",
    [
        ("openai", "/v1/chat/completions", "gpt-4o"),
        ("openai", "/v1/responses", "gpt-4o"),
        ("anthropic", "/v1/messages", "claude-sonnet-4-5"),
        ("cerebras", "/v1/chat/completions", "gpt-oss-120b"),
        ("friendli", "/serverless/v1/chat/completions", "meta-llama-3.1-8b-instruct"),
        ("friendli", "/serverless/v1/responses", "meta-llama-3.1-8b-instruct"),
        ("friendli", "/serverless/v1/messages", "meta-llama-3.1-8b-instruct"),
        ("ovms", "/v3/chat/completions", "llama3"),
        ("ovms", "/v3/responses", "llama3"),
        ("yandex", "/v1/chat/completions", "gpt://b1g/yandexgpt/latest"),
        ("yandex", "/v1/responses", "gpt://b1g/yandexgpt/latest"),
    ],
)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_prepared_call_has_its_own_id_wherever_tools_are_called(
    dialect: str, path: str, model: str, edition: Edition, stream: bool
) -> None:
    # In the vendor's form, as their contracts have it; any other is sent, too.
    forms = {
        "ovms": "1" * 9,
        "anthropic": f"toolu_01{'1' * 22}",
        "/serverless/v1/responses": f"chatcmpl-tool-{'1' * 16}",
    }
    id_ = forms.get(path) or forms.get(dialect) or f"call_{'1' * 24}"
    here = space({"reply": {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": id_}]}})
    body = {"model": model, "stream": stream, "messages": [{"role": "user", "content": "Any rain?"}], "tools": IN_CHATS}
    if path.endswith("responses"):
        body = {"model": model, "stream": stream, "input": "Any rain?", "tools": IN_RESPONSES}
    elif path.endswith("messages"):
        body |= {"max_tokens": 99, "tools": IN_MESSAGES}
    answer = ask(dialect, body, path=path, namespace=here, edition=edition)
    said = [each for each in answer.events() if each != "[DONE]"] if stream else [answer.json()]
    assert answer.status == 200
    assert f'"{id_}"' in json.dumps(said)


@pytest.mark.parametrize(
    "reply, prepared",
    [
        ("It rains.", Prepared(ScriptedOutput("It rains."))),
        ({"text": ""}, Prepared(ScriptedOutput(""))),
        ({"json": {"a": [1, "é"]}}, Prepared(ScriptedOutput('{"a": [1, "é"]}'))),
        ({"refusal": "No."}, Prepared(ScriptedOutput("No.", refusal=True))),
        (
            {"chunks": ["It ", {"text": "rains.", "delay": "200ms"}, {"text": "!", "delay": 1}]},
            Prepared(ScriptedOutput("It rains.!", ("It ", "rains.", "!"), (None, 0.2, 1.0))),
        ),
        (
            {
                "tool_calls": [
                    {"name": "f", "arguments": {"a": 1}},
                    {"name": "g", "id": "1"},
                    {"name": "h", "arguments": "{"},
                ]
            },
            Prepared(
                ScriptedOutput(calls=tuple(starmap(ScriptedCall, (("f", '{"a": 1}'), ("g", "{}", "1"), ("h", "{")))))
            ),
        ),
        (
            {"text": "a", "finish_reason": "length", "usage": {"prompt_tokens": 3, "cached_tokens": 1}},
            Prepared(ScriptedOutput("a", finish_reason="length", counts=Counts(3, None, 1))),
        ),
        (
            {"choices": ["a", {"json": [1], "finish_reason": "length"}], "usage": {"prompt_tokens": 3}},
            Prepared(ScriptedOutput("a", counts=Counts(3), others=(ScriptedOutput("[1]", finish_reason="length"),))),
        ),
        ({"body": "busy", "status": 503}, Prepared(Raw(503, b"busy", "text/plain; charset=utf-8"))),
        ({"body": {"a": None}}, Prepared(Raw(200, b'{"a": null}', "application/json"))),
        ({"body": '{"broken'}, Prepared(Raw(200, b'{"broken', "application/json"))),
        ({"body": "data: 1\n\n"}, Prepared(Raw(200, b"data: 1\n\n", "text/event-stream"))),
        ({"body_base64": "AAH/"}, Prepared(Raw(200, b"\x00\x01\xff", "application/octet-stream"))),
        ({"status": 204}, Prepared(Raw(204, b"", "text/plain; charset=utf-8"))),
        ({}, Prepared()),
        ({"latency": "off", "seed": 3, "headers": {"X-A": "b"}}, Prepared(None, (), "off", 3, ((b"x-a", b"b"),))),
    ],
)
def test_a_reply_is_read_as_it_is_meant(reply: object, prepared: Prepared) -> None:
    assert read_prepared(reply) == prepared


def test_what_a_stub_says_of_all_its_replies_gives_way_to_what_a_reply_says_itself() -> None:
    stub = read_stub({"seed": 1, "headers": {"a": "1", "b": "1"}, "replies": [{"seed": 2, "headers": {"a": "2"}}, "x"]})
    assert [(step.prepared.seed, step.prepared.headers) for step in stub.steps] == [
        (2, ((b"a", b"2"), (b"b", b"1"))),
        (1, ((b"a", b"1"), (b"b", b"1"))),
    ]


@pytest.mark.parametrize(
    "table, complaint",
    [
        ("It rains.", "stub: 'It rains.' is not valid; write { match = "),
        (
            {},
            "stub: has no answer; add reply, replies, script, or one of error, faults, latency, output_tokens, seed, "
            "headers",
        ),
        (
            {"reply": "a", "replies": ["b"]},
            "stub: can have only one of reply, replies, script, not both reply and replies",
        ),
        ({"answer": "a"}, "stub: unknown key 'answer'"),
        ({"reply": "a", "times": 0}, "stub.times: 0 is not a whole number from 1"),
        ({"reply": "a", "priority": "high"}, "stub.priority: 'high' is not a whole number"),
        ({"reply": "a", "name": "a\nb"}, "stub.name: 'a\\nb' must be a name on one line"),
        ({"script": ["a"], "times": 2}, "stub.times: cannot be combined with a script"),
        ({"reply": "a", "times": 2, "exhausted": "repeat"}, "stub.times: cannot be combined with exhausted"),
        ({"reply": "a", "exhausted": "stop"}, "stub.exhausted: unknown value 'stop'. Known: repeat, cycle, "),
        ({"reply": "a", "match": "exact"}, "stub.match: 'exact' needs the request that was recorded"),
        ({"reply": "a", "match": "same"}, "stub.match: 'same' is neither a table of fields nor 'exact'"),
        ({"reply": "a", "match": "exact", "request": {"bdy": 1}}, "stub.request: unknown key 'bdy'. Did you mean"),
        ({"reply": "a", "request": {"volatile": ["$.a"] * 101}}, "stub.request.volatile: has 101 places; at most"),
        ({"reply": "a", "request": {"volatile": "$.a"}}, "stub.request.volatile: must be a list"),
        ({"reply": "a", "request": {"body": [[[]]], "file": "x"}}, "stub.request: can have only one of"),
        ({"script": []}, "stub.script: must be a list with at least one item"),
        ({"script": [{"match": {"modl": 1}}]}, "stub.script[0].match: unknown field 'modl'"),
        ({"script": [{"match": {}, "replies": []}]}, "stub.script[0]: unknown key 'replies'"),
        ({"match": {"prompt": 1}, "reply": "a"}, "stub.match.prompt: 1 is not a string"),
        (
            {"reply": {"id": "a", "choices": [], "usage": {}}},
            "stub.reply: unknown key 'id'. Known: text, chunks, json, refusal, tool_calls, reasoning, finish_reason, "
            "choices, usage, embedding, scores, body, body_base64, file, status, content_type, event_times, error, "
            "faults, latency, output_tokens, seed, headers, template. A whole response body is { body = {...} }, in "
            "Python raw({...}); JSON that the model writes is",
        ),
        ({"reply": {"choices": []}}, "stub.reply.choices: must be a list with at least one item"),
        ({"reply": {"choices": ["a", {"index": 1}]}}, "stub.reply.choices[1]: unknown key 'index'. Known: text,"),
        ({"reply": {"choices": ["a", {}]}}, "stub.reply.choices[1]: has no content; add one of text,"),
        ({"reply": {"choices": ["a"], "text": "b"}}, "stub.reply: text cannot be beside choices; put it into one of"),
        (
            {"reply": {"choices": ["a", {"chunks": [{"text": "b", "delay": 1}]}]}},
            "stub.reply.choices[1]: choices come together: only the first can have delays",
        ),
        ({"replies": ["a", 5]}, 'stub.replies[1]: 5 is not valid; write "It rains." or { text = '),
        (
            {"reply": {"text": "a", "json": 1}},
            "stub.reply: can have only one of text, chunks, json, refusal, not both text and json",
        ),
        (
            {"reply": {"text": "a", "status": 500}},
            "stub.reply: status belongs to a body and cannot be combined with text, which",
        ),
        (
            {"reply": {"text": "a", "error": "overloaded"}},
            "stub.reply: error is a whole answer and cannot be combined with text",
        ),
        ({"reply": {"finish_reason": "stop"}}, "stub.reply: has no content; add one of text"),
        ({"reply": {"text": "a", "finish_reason": "end"}}, "stub.reply.finish_reason: unknown reason 'end'"),
        ({"reply": {"text": "a", "usage": {"total_tokens": 1}}}, "stub.reply.usage: unknown key 'total_tokens'"),
        (
            {"reply": {"text": "a", "usage": {"prompt_tokens": -1}}},
            "stub.reply.usage.prompt_tokens: -1 is not a whole number from 0",
        ),
        ({"reply": {"text": 5}}, "stub.reply.text: 5 is not a string"),
        ({"reply": {"text": "\ud800"}}, "stub.reply.text: '\\ud800' contains half of a surrogate pair"),
        ({"reply": {"json": {1, 2}}}, "stub.reply.json: is not a JSON value"),
        (
            {"reply": {"refusal": "no", "tool_calls": [{"name": "f"}]}},
            "stub.reply: refusal cannot be combined with tool_calls",
        ),
        ({"reply": {"tool_calls": [{"arguments": {}}]}}, "stub.reply.tool_calls[0].name: is missing"),
        ({"reply": {"tool_calls": {"name": "f"}}}, "stub.reply.tool_calls: must be a list"),
        (
            {"reply": {"chunks": [{"delay": "soon"}]}},
            "stub.reply.chunks[0].delay: 'soon' is not a number of seconds, or",
        ),
        ({"reply": {"chunks": [{"delay": -1}]}}, "stub.reply.chunks[0].delay: -1 is not a number of seconds"),
        (
            {"reply": {"chunks": [{"delay": "normal(1s, 1s)"}]}},
            "stub.reply.chunks[0].delay: 'normal(1s, 1s)' is not a number of seconds",
        ),
        (
            {"reply": {"body": "a", "file": "b"}},
            "stub.reply: can have only one of body, body_base64, file, not both file and body",
        ),
        ({"reply": {"file": "b"}}, "stub.reply.file: only stub files and config files can name files"),
        ({"reply": {"body": "a", "status": 99}}, "stub.reply.status: 99 is not a whole number from 200 to 599"),
        ({"reply": {"body": "a", "status": 204}}, "stub.reply.status: an answer with status 204 cannot have a body"),
        ({"reply": {"body_base64": "!"}}, "stub.reply.body_base64: is not valid base64"),
        (
            {"reply": {"body": "a", "content_type": "a\r\nb"}},
            "stub.reply.content_type: 'a\\r\\nb' contains characters that a header cannot have",
        ),
        (
            {"reply": {"body": "data: 1\n\n", "event_times": []}},
            "stub.reply.event_times: must be a list with at least one item",
        ),
        (
            {"reply": {"body": "data: 1\n\n", "event_times": [1, 2]}},
            "stub.reply.event_times: has 2 times, but the body has 1 events",
        ),
        (
            {"reply": {"body": "data: 1\n\ndata: 2\n\n", "event_times": ["2s", 1]}},
            "stub.reply.event_times: an event cannot be sent before the previous one",
        ),
        (
            {"reply": {"body": "data: 1\n\n", "event_times": ["now"]}},
            "stub.reply.event_times: 'now' is not a number of seconds, or a duration",
        ),
        ({"reply": {"body": "a", "event_times": [1]}}, "stub.reply.event_times: a body of type text/plain"),
        (
            {"reply": {"text": "a", "event_times": [1]}},
            "stub.reply: event_times belongs to a body and cannot be combined with text, which",
        ),
        (
            {"reply": {"body": "data: 1\n\n", "event_times": [1], "latency": "off"}},
            "stub.reply.event_times: cannot be combined with latency",
        ),
        (
            {"reply": {"body": "data: 1\n\n", "event_times": "a.times"}},
            "stub.reply.event_times: only stub files and config files can name files; use a list",
        ),
        ({"headers": {"a b": "c"}}, "stub.headers: 'a b' is not a valid header name"),
        (
            {"headers": {"content-length": "5"}},
            "stub.headers: content-length is set by the server; to send a wrong one, use a fault",
        ),
        ({"headers": {"a": "Ж"}}, "stub.headers.a: 'Ж' contains characters beyond Latin-1"),
        (
            {"error": {"error": 429}},
            'stub.error: error.error: 429 is a status: { kind = "status", status = 429 }. What fails has a name: ',
        ),
        ({"latency": 0.5}, "stub.latency: 0.5 is not a latency such as 'off', 'slow' or "),
        ({"error": "rate_limits"}, "stub.error: error.error: unknown error 'rate_limits'. Did you mean 'rate_limit'"),
        ({"error": {"retry_after": 1}}, "stub.error: must be the name of a failure, or"),
        ({"faults": [{"kind": "rst"}]}, "stub.faults: kind: unknown fault 'rst'"),
        (
            {"faults": [{"kind": "cut", "times": 1}]},
            "stub.faults: share, times, match and the like are not possible here",
        ),
        (
            {"faults": [{"kind": "refuse"}]},
            "stub.faults: 'refuse' affects the whole server, not one answer; take reset",
        ),
        (
            {"reply": {"body": "a", "faults": "silence"}},
            "stub.reply.faults: 'silence' changes what the model says, but this reply is a body",
        ),
        ({"latency": "warp"}, "stub.latency: 'warp': column 1: unknown preset"),
        ({"reply": {"embedding": []}}, "stub.reply.embedding: must be a list with at least one item"),
        ({"reply": {"embedding": [[1], 2]}}, "stub.reply.embedding: must be a list with at least one item"),
        ({"reply": {"embedding": [1, True]}}, "stub.reply.embedding: True is not a number in single precision"),
        ({"reply": {"embedding": [1e39]}}, "stub.reply.embedding: 1e+39 is not a number in single precision"),
        ({"reply": {"scores": [float("nan")]}}, "stub.reply.scores: nan is not a number in single precision"),
        ({"reply": {"scores": [[1]]}}, "stub.reply.scores: [1] is not a number"),
        (
            {"reply": {"scores": [1], "embedding": [1]}},
            "stub.reply: embedding is a whole answer and cannot be combined with scores",
        ),
        (
            {"reply": {"scores": [1], "text": "a"}},
            "stub.reply: scores is a whole answer and cannot be combined with text",
        ),
        ({"output_tokens": "few"}, "stub.output_tokens: 'few': column 1: 'few' is not a number of tokens up to"),
        ({"output_tokens": True}, "stub.output_tokens: 'True': column 1: 'True' is not a number of tokens"),
        (
            {"reply": {"text": "a", "output_tokens": 5}},
            "stub.reply.output_tokens: is for generated answers, but this reply has a content of its own",
        ),
        (
            {"replies": ["a", {"body": "b"}], "output_tokens": 5},
            "stub.output_tokens: is for generated answers, but every reply here has its own content",
        ),
        ({"seed": "7"}, "stub.seed: '7' is not a whole number"),
        ({"reply": {"text": "a", "template": "yes"}}, "stub.reply.template: must be true or false"),
    ],
)
def test_a_mistake_in_a_stub_names_its_place_and_what_would_be_valid(table: object, complaint: str) -> None:
    with pytest.raises(StubError) as caught:
        read_stub(table)
    assert str(caught.value).startswith(complaint)


def test_a_config_file_has_stubs_which_are_named_after_it() -> None:
    settings = settle(
        from_toml('[[stub]]\nreply = "a"\n[[stub]]\nname = "b"\nreply = { file = "b.txt" }\n', "m.toml", bytes_of)
    )
    assert [(stub.name, stub.origin) for stub in settings.stub] == [("config-1", "config"), ("b", "config")]
    assert settings.stub[1].steps[0].prepared == Prepared(Raw(200, b"b.txt!", "text/plain; charset=utf-8"))
    with pytest.raises(ConfigError, match=r"m\.toml, line 2: stub\[0\]\.reply\.file: c: No such file"):
        from_toml('[[stub]]\nreply = { file = "c" }\n', "m.toml", missing)
    with pytest.raises(ConfigError, match="two stubs are named 'a'"):
        from_toml('[[stub]]\nname = "a"\nreply = "1"\n[[stub]]\nname = "a"\nreply = "2"\n', "m.toml")


def bytes_of(name: str) -> bytes:
    return f"{name}!".encode()


def missing(name: str) -> bytes:
    raise FileNotFoundError(2, "No such file", name)


def test_a_header_that_is_no_table_is_a_text() -> None:
    assert read_header_reply("[not a table]") == Prepared(ScriptedOutput("[not a table]"))
