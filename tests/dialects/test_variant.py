"""Dialects that others write: what a variant of OpenAI's can say, and what is told of mistakes."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mockserver.cli import main
from mockserver.core import installed
from mockserver.core.dialects import Clients, Model, Operation, Schemas
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, GenerationRequest, Limits
from mockserver.core.http import FrameBatch, LazyFrames, Reply, TokenTiming, to_timeline
from mockserver.core.installed import DialectError, defects_of, defects_of_answer, load_dialect
from mockserver.core.seeding import alphanumerics
from mockserver.dialects.contracts import pydantic_words
from mockserver.dialects.documents import openapi_document
from mockserver.dialects.openai.chats import CHAT as OPENAI
from mockserver.dialects.openai.errors import error_table
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.replies import Segment
from mockserver.dialects.openai.streams import at_step, template
from mockserver.dialects.openai.variant import CHAT, COMPLETION, SLOT, QuotaPolicy, body_reply, per_minute, variant
from mockserver.pipeline import answer
from mockserver.routes import Routes
from mockserver.state.namespaces import Namespace
from tests.support.asking import QUIET, ask

MODELS = (Model("oak-1", "oak", context=1_000),)


def error_body(refusal: Refusal) -> Mapping[str, object]:
    words = {violation.field: pydantic_words(violation) for violation in refusal.violations}
    return {"says": refusal.message, "kind": refusal.type, "code": refusal.code, "fields": words}


def waiting(refused: Any, now: float) -> Refusal:
    return Refusal(FailureKind.RATE_LIMIT, f"Wait {refused.worst.wait}.")


def translated(body: Body) -> Body:
    return {**body, "tool_choice": "required"} if body.get("tool_choice") == "any" else body


OAK = variant(
    "oak",
    title="Oak",
    models=(*MODELS, Model("oak-embed")),
    errors={"default": {"type": "wrong"}, "unknown_model": {"status": 400, "message": "There is no {model}."}},
    error_body=error_body,
    fields={
        "random_seed": "seed",
        "tool_choice": {"enum": ["auto", "any"]},
        "parallel_tool_calls": {"type": ["boolean", "null"]},
        "messages": {"type": "array", "minItems": 1},
        "service_tier": None,
        "top_k": {"type": "integer"},
    },
    strict=True,
    translate=translated,
    row=lambda model: {"id": model.id, "window": model.context},
    listing=list,
    embeddings={"oak-embed": 8},
    quotas={"free": per_minute(30, 600)},
    limit_headers=lambda state, now: {f"Left-{state.limit.measure}": state.remaining, "first": state.limit.amount},
    headers=lambda call, scope: {"x-oak": scope.edition},
    operations=(
        Operation("account", "GET", ("/v1/account",), handler=lambda call, scope: body_reply({"credits": 12})),
    ),
    answer_headers=lambda rendering: {"x-tokens": rendering.generation.usage.completion_tokens},
    latency="prefill=20ms, rate=100 tok/s",
    finish_reason=lambda choice: "end" if choice.finish_reason == "stop" else choice.finish_reason,
    chunk=("id", "object", "created", "model", "choices"),
    usage="last",
    around=lambda rendering: {"trace": "t-1"},
    opening_around=lambda rendering: {"x_oak": "begun"},
    closing_around=lambda rendering: {"x_oak": rendering.flavour.counts(rendering)["total_tokens"]},
    counts=lambda rendering: {"cached_tokens": rendering.generation.usage.cached_tokens},
    choice_members=lambda rendering, choice: {
        "seed": 1,
        "message": {"mood": "calm"},
        **({"spare": True} if choice.index else {}),
    },
    call_id=lambda rendering, choice, place: alphanumerics(rendering.scope.identity, 9, "call", place),
    whole_calls=True,
)
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
CHATTED = {"model": "oak-1", "messages": [{"role": "user", "content": "Say hello"}]}


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**installed.entries(), "oak": f"{__name__}:OAK", "yew": f"{__name__}:YEW", "elm": f"{__name__}:ELM"}
    monkeypatch.setattr(installed, "entries", lambda: known)


def test_what_opens_and_closes_a_stream_stands_in_one_chunk_each() -> None:
    *chunks, done = ask("oak", {**CHATTED, "stream": True, "max_tokens": 5}).events()
    whole = ask("oak", {**CHATTED, "max_tokens": 5}).json()
    total = whole["usage"]["total_tokens"]
    assert [chunk.get("x_oak") for chunk in chunks] == ["begun", *[None] * 5, total]
    assert (whole["x_oak"], done) == (total, "[DONE]")
    assert list(whole["choices"][0]["message"]) == ["role", "content", "mood"]
    assert (whole["choices"][0]["seed"], whole["usage"]["cached_tokens"], "usage" in chunks[-1]) == (1, 0, False)
    assert {chunk["trace"] for chunk in [whole, *chunks]} == {"t-1"}
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}


def test_a_member_stands_in_the_choices_that_have_it() -> None:
    choices = ask("oak", {**CHATTED, "n": 2, "max_tokens": 5}).json()["choices"]
    assert [choice.get("spare") for choice in choices] == [None, True]


def test_calls_come_whole_with_ids_of_the_vendors_own() -> None:
    body = {**CHATTED, "tools": [TOOL], "tool_choice": "any"}
    [call] = ask("oak", body).json()["choices"][0]["message"]["tool_calls"]
    assert re.fullmatch(r"\w{9}", call["id"])
    *chunks, _ = ask("oak", {**body, "stream": True}).events()
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": None},
        {"tool_calls": [{"index": 0, **call, "id": chunks[1]["choices"][0]["delta"]["tool_calls"][0]["id"]}]},
        {},
    ]
    assert chunks[0]["x_oak"] == "begun"


def test_a_refusal_is_a_text_where_messages_have_no_member_for_it() -> None:
    declined = {"x-mockserver-fault": "refusal"}
    message = ask("oak", CHATTED, headers=declined).json()["choices"][0]["message"]
    assert list(message) == ["role", "content", "mood"]
    *chunks, _ = ask("oak", {**CHATTED, "stream": True}, headers=declined).events()
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == message["content"] != ""


def test_fields_have_the_vendors_names() -> None:
    first, second = ({**CHATTED, "random_seed": seed, "temperature": 1} for seed in (1, 2))
    said = [ask("oak", body).json()["choices"][0]["message"] for body in (first, first, second)]
    assert said[0] == said[1] != said[2]
    refused = ask("oak", {**CHATTED, "service_tier": "auto", "seed": 1, "top": 1})
    extra = ["extra_forbidden", "Extra inputs are not permitted"]
    assert (refused.status, refused.json()["fields"]) == (400, dict.fromkeys(("seed", "service_tier", "top"), extra))
    # Where unknown fields are ignored, one that was removed is too, whatever it holds.
    assert len(ask("yew", {**CHATTED, "model": "yew-1", "n": 2, "seed": "x"}).json()["choices"]) == 1


def test_models_and_errors_are_told_in_the_vendors_words() -> None:
    rows = b'[{"id":"oak-1","window":1000},{"id":"oak-embed","window":131072}]'
    assert ask("oak", path="/v1/models").body == rows
    assert ask("yew", path="/v1/models").json()["object"] == "list"
    assert ask("oak", path="/v1/account").json() == {"credits": 12}
    assert ask("oak", path="/v1/models/oak-1").json() == {"id": "oak-1", "window": 1000}
    unknown = ask("oak", path="/v1/models/elm-1")
    assert (unknown.status, unknown.json()["says"]) == (400, "There is no elm-1.")
    assert (unknown.json()["code"], unknown.json()["kind"]) == ("model_not_found", "wrong")


ELM = variant(
    "elm",
    title="Elm",
    models=MODELS,
    fields={
        "most": ("max_tokens", {"type": "integer", "minimum": 2, "maximum": 9}),
        "stops": "stop",
        "stop": {"type": "array", "maxItems": 5, "items": {"type": "string"}},
        "temperature": {"type": "number", "minimum": 0, "maximum": 5},
        "short": {"type": "boolean"},
    },
    translate=lambda body: {**body, "max_tokens": "1" if body.get("user") == "odd" else 2} if "short" in body else body,
    unlisted=lambda name: None,
    errors={"default": {"status": 422, "type": "bad"}},
    without=("model",),
    clients=Clients(keys=("ELM_TOKEN",)),
    prefix="/v3",
    around=lambda rendering: {"id": f"chatcmpl-{rendering.scope.identity}"},
    thoughts="mind",
    choice_members=lambda rendering, choice: {"cause": "eos", "message": {"mind": None, "content": None}},
    closing_around=lambda rendering: {"cost": 1},
    ending=lambda rendering, choice: {"cause": choice.finish_reason},
    error_body=lambda refusal: {"error": {"message": refusal.message, "param": refusal.param, "trace": "t-1"}},
)


def test_a_renamed_field_has_a_range_of_its_own() -> None:
    told = ask("elm", {**CHATTED, "most": 3, "max_tokens": 1}).json()
    assert told["usage"]["completion_tokens"] == 3
    words = "Invalid 'most': integer above maximum value. Expected a value <= 9, but got 10 instead."
    assert ask("elm", {**CHATTED, "most": 10}).json()["error"]["message"] == words
    # A range that is wider than OpenAI's counts, and each name of a field has it.
    for more in ({"temperature": 4.5}, {"stop": [*"abcde"]}, {"stops": [*"abcde"]}):
        assert ask("elm", {**CHATTED, "most": 3, **more}).status == 200
    assert ask("elm", {**CHATTED, "stops": [*"abcdef"]}).json()["error"]["param"] == "stops"
    assert ask("elm", {**CHATTED, "temperature": 5.5}).status == 422


def test_what_translate_alone_gives_wrongly_is_not_the_clients_mistake() -> None:
    assert ask("elm", {**CHATTED, "short": True}).json()["usage"]["completion_tokens"] == 2
    with pytest.raises(ValueError, match="translate gives a value of max_tokens that OpenAI refuses: '1' is not of"):
        ask("elm", {**CHATTED, "short": True, "user": "odd"})


def test_what_most_vendors_have_is_the_default() -> None:
    # A default status is that of bad requests alone.
    paths = ("/v3/chat/completions", "/v3/nowhere", "/v3/models/oak-1")
    assert [ask("elm", {"model": "oak-1"}, path=path).status for path in paths] == [422, 404, 404]
    unknown = [
        ask("elm", {**more, "model": "no"}, path=f"/v3/{path}").status
        for path, more in (
            ("chat/completions", CHATTED),
            ("completions", {"prompt": "Hi"}),
        )
    ]
    assert unknown == [404, 404]
    chat = ask("elm", {**CHATTED, "response_format": {"type": "json_object"}, "reasoning_effort": "low"}).json()
    message = chat["choices"][0]["message"]
    assert isinstance(json.loads(message["content"]), dict)
    assert message["mind"]
    completion = ask("elm", {"model": "oak-1", "prompt": "Hi"}, path="/v3/completions").json()
    assert (list(completion["choices"][0]), completion["choices"][0]["cause"]) == (
        ["text", "index", "logprobs", "finish_reason", "cause"],
        "eos",
    )
    for wanted in (False, True):
        options = {"stream": True, "most": 3, "stream_options": {"include_usage": wanted}}
        *chunks, last, _ = ask("elm", {**CHATTED, **options}).events()
        ends = [part["cause"] for chunk in [*chunks, last] for part in chunk["choices"] if "cause" in part]
        assert ends == ["length"]
        assert (last["cost"], "usage" in last, bool(last["choices"])) == (1, wanted, not wanted)
        assert not any("cost" in chunk for chunk in chunks)
    assert [each["id"].rstrip("0123456789") for each in (chat, completion)] == ["chatcmpl-", "cmpl-"]
    assert ELM.clients == Clients("/v3", "/v3", ("ELM_BASE_URL",), ("ELM_TOKEN",))


def test_what_answers_have_more_is_in_the_openapi_document() -> None:
    schemas = openapi_document(ELM)["components"]["schemas"]
    assert schemas["ErrorResponse"]["properties"]["error"]["properties"].keys() == {"message", "param", "trace"}
    chat, chunk, completion = (
        schemas[each]["properties"] for each in ("ChatCompletion", "ChatCompletionChunk", "Completion")
    )
    assert "cost" in chat.keys() & chunk.keys() & completion.keys()
    usage = openapi_document(OAK)["components"]["schemas"]["Usage"]["properties"]
    assert list(usage)[:3] == ["prompt_tokens", "completion_tokens", "total_tokens"]
    assert "cached_tokens" in usage


YEW = variant(
    "yew",
    title="Yew",
    models=(Model("yew-1"),),
    error_body=lambda refusal: {"code": refusal.status, "says": refusal.message},
    fields={"n": None, "seed": None},
    prefix=("/v1", ""),
    translate=lambda body: {"reasoning_effort": "low", **body},
    adapt=lambda body, request: (
        request._replace(constraint=Constraint(*body["format"])) if "format" in body else request
    ),
    chats=CHAT._replace(delta={"role": "assistant", "content": None}),
    usage="each",
    counts=OPENAI.counts,
    opening_around=lambda rendering: {"x_yew": "begun"},
    thoughts="reasoning",
    opening=lambda rendering, choice: (),
    closing=lambda rendering, choice: None,
    whole_calls=True,
    without=("completions",),
)


@pytest.mark.parametrize(
    ("more", "end"),
    [({}, "stop"), ({"tools": [TOOL], "tool_choice": "required"}, "tool_calls"), ({"max_tokens": 4}, "length")],
)
def test_a_chunk_can_have_the_usage_so_far_and_a_delta_its_role_and_its_thoughts(
    more: dict[str, object], end: str
) -> None:
    body = {**CHATTED, "model": "yew-1", **more}
    *chunks, done = ask("yew", {**body, "stream": True}).events()
    parts = [chunk["choices"][0] for chunk in chunks]
    assert [chunk.get("x_yew") for chunk in chunks] == ["begun", *[None] * (len(chunks) - 1)]
    counted = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counted == sorted({*counted})
    thought_so_far = [chunk["usage"]["completion_tokens_details"]["reasoning_tokens"] for chunk in chunks]
    assert thought_so_far == [min(count, thought_so_far[-1]) for count in counted]
    assert chunks[-1]["usage"]["total_tokens"] == chunks[-1]["usage"]["prompt_tokens"] + counted[-1]
    assert [part["finish_reason"] for part in parts] == [None] * (len(parts) - 1) + [end]
    assert {tuple(part["delta"])[:2] for part in parts} == {("role", "content")}
    message = ask("yew", body).json()["choices"][0]["message"]
    thought = "".join(part["delta"].get("reasoning", "") for part in parts)
    said = "".join(part["delta"]["content"] or "" for part in parts)
    assert (thought, said) == (message["reasoning"], message["content"] or "")
    assert (bool(thought), bool(said), done) == (True, end == "stop", "[DONE]")


def test_a_stream_begins_with_a_comment_and_texts_share_chunks_as_a_list_of_groups_says() -> None:
    plan = ask("oak", {**CHATTED, "stream": True, "max_tokens": 5}).plan
    assert plan.generation is not None
    elm = variant(
        "elm",
        title="Elm",
        models=MODELS,
        comment=": thinking",
        groups=lambda rendering, choice, texts, step: [range(2), range(2, len(texts))],
    )
    reply = elm.operations[0].write(plan.generation, TokenTiming(), plan.context.scope)
    assert isinstance(reply, Reply)
    (first, *_), *runs = [[*zip(*run, strict=True)] for run in reply.frames]
    assert first[0] == b": thinking\n\n"
    assert [count for run in runs for _, _, count in run] == [0, 2, 3, 0, 0]


def test_a_vendor_may_have_no_completions_and_state_the_status() -> None:
    assert [(operation.name, operation.paths) for operation in YEW.operations] == [
        ("chat_completions", ("/v1/chat/completions", "/chat/completions")),
        ("models", ("/v1/models", "/models")),
        ("model", ("/v1/models/{id}", "/models/{id}")),
    ]
    refused = [
        ask("yew", {**CHATTED, "model": "yew-1"}, headers={"authorization": "Bearer k-1", "x-mockserver-fault": fault})
        for fault in ("rate_limit", "unauthorized")
    ]
    assert [each.json() for each in refused] == [
        {"code": 429, "says": "Rate limit reached for yew-1."},
        {"code": 401, "says": "Incorrect API key provided: k-1."},
    ]
    # Without a schema of its own, an error is not said to be one of OpenAI's.
    assert ask("yew", {}).json()["code"] == 400


def test_what_translate_leaves_is_left_out_or_refused_but_never_fails() -> None:
    odd = {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "scent", "oil": 1}], "mood": "calm"}
    assert (
        ask("oak", {"model": "oak-1", "messages": [odd, {"role": "user", "content": [{"type": "scent"}]}]}).status
        == 200
    )
    for messages, field in (([{"role": "crowd"}], "messages[0].role"), ([7], "messages[0]")):
        refused = ask("oak", {"model": "oak-1", "messages": messages})
        assert (refused.status, list(refused.json()["fields"])) == (400, [field])


def test_a_field_that_our_models_obey_needs_no_function() -> None:
    hot = {**CHATTED, "temperature": 2, "max_tokens": 20}
    said = {
        ask("oak", {**hot, "random_seed": seed, "top_k": top_k}).json()["choices"][0]["message"]["content"]
        for seed in range(5)
        for top_k in (1, 1.0)
    }
    assert len(said) == 1
    assert ask("oak", {**hot, "parallel_tool_calls": None}).status == 200
    # 0 and less are all tokens.
    assert ask("oak", {**hot, "top_k": -1}).status == 200


def test_a_format_of_the_vendors_own_is_obeyed_or_refused() -> None:
    asked = {**CHATTED, "model": "yew-1"}
    for own, said in (
        (["regex", "[ab]{3}"], "[ab]{3}"),
        (["json_schema", {"enum": [7]}], "7"),
        (["json_object"], r"{.*}"),
    ):
        told = ask("yew", {**asked, "format": own}).json()["choices"][0]["message"]["content"]
        assert re.fullmatch(said, told, re.DOTALL)
    for wrong in (["regex", "(["], ["regex", 5], ["json_schema", {"type": "int"}], ["json_schema", 5]):
        assert ask("yew", {**asked, "format": wrong}).status == 400


def test_a_vendor_can_embed() -> None:
    asked = {"input": ["Hi", "Ho"], "top_k": 1}
    vectors = [
        [len(row["embedding"]) for row in ask("oak", {"model": name, **asked}, path="/v1/embeddings").json()["data"]]
        for name in ("oak-embed", "other")
    ]
    assert vectors == [[8, 8], [8, 8]]
    refused = ask("oak", {"model": "oak-embed", "input": 7}, path="/v1/embeddings")
    assert (refused.status, list(refused.json()["fields"])) == (400, ["input"])


def test_headers_tell_of_limits_and_answers() -> None:
    fresh = {"x-oak": "documented", "left-requests": "29", "first": "30", "left-tokens": "600"}
    told = ask("oak", {**CHATTED, "max_tokens": 3})
    assert {**fresh, "x-tokens": "3"}.items() <= dict(told.headers).items()
    over = dict(ask("oak", CHATTED, headers={"x-mockserver-fault": "rate_limit"}).headers)
    assert {**fresh, "left-requests": "0", "left-tokens": "0"}.items() <= over.items()
    # Without quotas, a new customer asks once; what is not charged, or refused, costs nothing.
    for free in (ask("oak", path="/v1/models"), ask("oak", {}), ask("oak", path="/v1/nowhere")):
        assert {**fresh, "left-requests": "30"}.items() <= dict(free.headers).items()


# --- mistakes ----------------------------------------------------------------------------------------------------

READING = Operation("ask", "POST", ("/ask",), Schemas("CompletionRequest"), read=lambda call, scope: Refusal(None))  # type: ignore[arg-type]
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"models": ("oak-1",)}, "models[0] is 'oak-1', not a Model"),
    ({"hosts": "oak.example"}, "hosts is 'oak.example', not a tuple"),
    ({"hosts": ("https://oak.example/v1",)}, "hosts: 'https://oak.example/v1' is no host name, as api.example"),
    ({"name": "oak/v2"}, "name is 'oak/v2', but paths begin with it: a-z, 0-9, _ and - are possible, and 'ns' is not"),
    ({"claims": "oak-.+"}, "claims is 'oak-.+', not a compiled pattern"),
    ({"credentials": "authorization"}, "credentials is 'authorization', not a function"),
    ({"finishes": re.compile("end")}, "finishes is re.compile('end'), not a compiled pattern of bytes"),
    ({"unrouted": lambda call: None}, "unrouted takes (call), but is called with (Call, RequestScope, tuple)"),
    ({"headers": lambda call, scope: {"x-oak": "1"}}, "what headers gives is {'x-oak': '1'}, not a tuple"),
    ({"credentials": lambda call: call.headers["key"]}, "what credentials gives cannot be made: KeyError: 'key'"),
    ({"stream_error": lambda status, body: "{}"}, "what stream_error gives is '{}', not bytes"),
    ({"finish_reasons": ("end",)}, "finish_reasons[0] is 'end', not one of 'stop', 'length', 'content_filter', "),
    ({"contract": {"documented": {}, "observed": OAK.contract["observed"]}}, "contract['documented'] is {}, not a fun"),
    ({"contract": {"documented": OAK.contract["documented"]}}, "contract must have the edition 'observed' too"),
    ({"contract": dict.fromkeys(("documented", "observed"), lambda: 1 / 0)}, "the contract cannot be read: ZeroDiv"),
    ({"error_schema": "Eror"}, "the contract has no schema 'Eror', which error_schema names"),
    ({"errors": {"documented": {}, "observed": {}}}, "errors must have a row for malformed_json"),
    (
        {"errors": dict.fromkeys(("documented", "observed"), error_table(body=lambda refusal: [][0]))},
        "the body of an error cannot be made: IndexError: ",
    ),
    ({"operations": (READING,)}, "operation ask needs a handler, or else both a read and a write"),
    ({"operations": OAK.operations[:1] * 2}, "two operations are named chat_completions"),
    (
        {"operations": (OAK.operations[0]._replace(paths=("chat",)),)},
        "operation chat_completions is 'POST chat', which no request can be",
    ),
    (
        {"operations": (OAK.operations[4]._replace(paths=("/v1/models/{id",)),)},
        "operation model is 'GET /v1/models/{id', which no request can be",
    ),
    (
        {"operations": (OAK.operations[4]._replace(paths=("/m/{id}", "/m/{name}")),)},
        "two operations are GET /m/{}",
    ),
    (
        {"operations": (OAK.operations[0]._replace(schemas=Schemas("Chat")),)},
        "the contract has no schema 'Chat', which operation chat_completions names",
    ),
]


@pytest.mark.parametrize(("change", "told"), MISTAKES, ids=[told for _, told in MISTAKES])
def test_a_part_that_does_not_fit_is_named(change: dict[str, Any], told: str) -> None:
    assert next(defects_of(OAK._replace(**change))).startswith(told)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (f"{__name__}:MODELS", r"it is \(Model\(id='oak-1'.+, not a Dialect"),
        (f"{__name__}:BEECH", r"AttributeError: .+ has no attribute 'BEECH'"),
        ("no.such.module:BEECH", "ModuleNotFoundError: No module named 'no'"),
        (f"{__name__}:OAK", "its name is 'oak', but that of its entry point 'beech'"),
    ],
)
def test_what_cannot_be_loaded_is_told_with_its_entry_point(
    entry: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(installed, "entries", lambda: {"beech": entry})
    words = rf"dialect beech \({re.escape(entry)}\): {told}"
    with pytest.raises(DialectError, match=words):
        load_dialect("beech")
    assert main(["routes"]) == 2
    assert re.search(words, capsys.readouterr().err)


def test_a_latency_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    elm = variant("elm", title="Elm", models=MODELS, latency="prefill=5 parsecs")
    monkeypatch.setattr("mockserver.cli.presets.load_dialects", lambda: {"elm": elm})
    assert main(["presets"]) == 2
    assert "dialect elm: presets['elm']: column 9: '5 parsecs' is not a duration" in capsys.readouterr().err


def test_a_dialect_needs_a_name_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "ash-1.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text(f"[{installed.GROUP}]\novms = ash_dialect:ASH\n")
    monkeypatch.undo()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    told = "dialect ovms: both mockserver.dialects.ovms.dialect:OVMS and ash_dialect:ASH have this name"
    with pytest.raises(DialectError, match=told):
        installed.entries.__wrapped__()


def test_what_a_dialect_raises_is_told_with_its_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ash_dialect.py").write_text("from mockserver.core.dialects import Model\n\nASH = Model(window=8)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(installed, "entries", lambda: {"ash": "ash_dialect:ASH"})
    told = r"dialect ash \(ash_dialect:ASH\): TypeError: .+ unexpected keyword argument 'window' \(line 3\)"
    with pytest.raises(DialectError, match=told):
        load_dialect("ash")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"chats": CHAT._replace(closing_around={"speed": 1})}, "chats.closing_around is {'speed': 1}, not a function"),  # type: ignore[arg-type]
        ({"chats": CHAT._replace(usage="first")}, "chats.usage is 'first', not one of 'own', 'last', 'each'"),  # type: ignore[arg-type]
        (
            {"chats": CHAT._replace(call_id=lambda rendering: "")},  # type: ignore[arg-type,misc]
            "chats.call_id takes (rendering), but is called with (Rendering, Choice, int)",
        ),
        ({"models": ["oak-1"]}, "models[0] is 'oak-1', not a Model"),
        ({"hosts": "oak.example"}, "hosts is 'oak.example', not a sequence"),
        ({"fields": ["seed"]}, "fields is ['seed'], not a mapping"),
        ({"translate": {"seed": "random_seed"}}, "translate is {'seed': 'random_seed'}, not a function"),
        ({"adapt": lambda request: request}, "adapt takes (request), but is called with (Mapping, GenerationRequest)"),
        ({"row": lambda model: model.id}, "what row gives is 'oak-1', not a mapping"),
        (
            {
                "fields": {"pattern": {"type": "string"}},
                "adapt": lambda body, request: request._replace(
                    constraint=Constraint("regexp", "a") if "pattern" in body else None  # type: ignore[arg-type]
                ),
            },
            "adapt: unknown kind of constraint 'regexp'. Did you mean 'regex'?",
        ),
        (
            {"adapt": lambda body, request: request._replace(limits=Limits("5"))},  # type: ignore[arg-type]
            "what adapt gives.limits.max_tokens is '5', not an int",
        ),
        (
            {"fields": {"most": {"type": "integer"}}, "translate": lambda body: {**body, "max_tokens": "4"}},
            "translate gives a value of max_tokens that OpenAI refuses: '4' is not of type 'integer'",
        ),
        ({"fields": {"max_tokens": {"type": "integer", "minimum": -1}}}, "fields: 'max_tokens' may be -1, of which Op"),
        (
            {"fields": {"style": {"type": "object"}}, "translate": lambda body: {**body, "user": body["style"]["a"]}},
            "'style'",
        ),
        ({"fields": {"most": ("max", {})}}, "fields: 'most': unknown field of OpenAI 'max'. Did you mean 'max_"),
        ({"fields": {"most": ("max_tokens", {"type": "int"})}}, "fields: 'most' is no JSON Schema"),
        ({"chats": CHAT._replace(counts=lambda rendering: {})}, "answers have no prompt_tokens: what counts gives is "),
        (
            {"completions": COMPLETION._replace(choice_members=lambda rendering, choice: {})},
            "answers have no text: what choice_members gives is added",
        ),
        ({"body": ("idd", "choices")}, "body: unknown member 'idd'. Did you mean 'id'?"),
        ({"message": ("roll", "content")}, "message: unknown member 'roll'. Did you mean 'role'?"),
        (
            {"quotas": QuotaPolicy({"a": per_minute(1, 1)}, refuse=waiting)},
            "'NoneType' object has no attribute 'wait'",
        ),
        ({"errors": {"chat_template": {}}}, "errors: unknown kind of failure 'chat_template'"),
        ({"error_body": lambda refusal: {"about": refusal.model.upper()}}, "has no attribute 'upper'"),
        (
            {
                "models": (Model("a"), Model("b")),
                "translate": lambda body: {**body, "top_p": 7} if body["model"] == "b" else body,
            },
            "translate gives a value of top_p that OpenAI refuses: 7 is greater than the maximum of 1",
        ),
        ({"translate": lambda body: {**body, "messages": []}}, "translate: OpenAI refuses what it makes of {'model': "),
        ({"ending": lambda rendering, choice: None}, "what ending gives is None, not a mapping"),
        ({"finish_reason": lambda choice: None}, "what finish_reason gives: finish_reason is None, not a str"),
        ({"call_id": lambda rendering, choice, place: place}, "what call_id gives: id is 0, not a str"),
        ({"without": ("modles",)}, "unknown operation 'modles'. Did you mean 'models'?"),
        (
            {"headers": lambda call, scope: {"x-a": 1}, "answer_headers": lambda rendering: {"X-A": 2}},
            "answers would have the header x-a twice",
        ),
        ({"error_body": lambda refusal: {"of": refusal.violations[0].path}}, "tuple index out of range"),
        ({"error_body": lambda refusal: {"of": pydantic_words}}, "Type is not JSON serializable: function"),
        ({"usages": "last"}, "unknown part of a variant 'usages'. Did you mean 'usage'?"),
        ({"usage": "first"}, "usage is 'first', not one of 'own', 'last', 'each'"),
        ({"around": lambda rendering: None}, "what around gives is None, not a mapping"),
        ({"counts": lambda rendering: 1 / 0}, "division by zero"),
        ({"answer_headers": lambda rendering: ()}, "headers are a mapping of names to values, not ()"),
        (
            {"quotas": {"a": per_minute(1, 1)}, "limit_headers": lambda state, now: None},
            "headers are a mapping of names",
        ),
        ({"listing": lambda rows: object}, "Type is not JSON serializable: type"),
        ({"adapt": lambda body, request: None}, "adapt must give a GenerationRequest or a Refusal, not None"),
        ({"translate": lambda body: None}, "translate must give the body in OpenAI's words, not None"),
        (
            {"thoughts": "mind", "segments": lambda rendering, choice: (Segment({"say": SLOT}, choice.texts),)},
            "no SLOT",
        ),
        ({"embeddings": {"oak-1": "long"}}, "embeddings['oak-1'] is 'long', not an int"),
        ({"errors": {"too_slow": {}}}, "errors: unknown kind of failure 'too_slow'"),
        ({"errors": {"timeout": {"state": 5}}}, "errors: timeout: unknown member 'state'. Did you mean 'status'?"),
        ({"errors": {"timeout": {"status": "5"}}}, "errors: timeout: status is '5', not an int"),
        (
            {"fields": {"random_seed": "sead"}},
            "fields: 'random_seed': unknown field of OpenAI 'sead'. Did you mean 'seed'",
        ),
        (
            {"fields": {"tool_choice": {"enum": ["any"]}}},
            "fields: 'tool_choice' may be 'any', of which OpenAI knows nothing",
        ),
        ({"fields": {"logprobs": {"type": "integer"}}}, "fields: 'logprobs' may be 1, of which OpenAI knows nothing"),
        ({"fields": {"top": None}}, "fields: OpenAI has no top that could be removed"),
        ({"fields": {"top": {"type": "int"}}}, "fields: 'top' is no JSON Schema: \"int\" is not valid"),
    ],
)
def test_what_a_variant_is_made_of_is_looked_at_as_well(given: dict[str, Any], told: str) -> None:
    with pytest.raises((AttributeError, LookupError, TypeError, ValueError, ZeroDivisionError), match=re.escape(told)):
        variant("oak", **{"title": "Oak", "models": MODELS, **given})


def test_a_vendor_who_differs_in_nothing_is_whole() -> None:
    fir = variant("fir", title="Fir", models=(Model("fir-1"),), quotas={})
    assert [*defects_of(fir)] == []
    told = fir.stream_error(
        500, fir.error("observed", FailureKind.SERVER_ERROR).body(Refusal(FailureKind.SERVER_ERROR), "No.")
    )
    assert told.startswith(b'data: {"error":{"message":"No.",')


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"around": lambda rendering: None}, "what around gives is None, not a mapping"),
        ({"opening": lambda rendering, choice: {"delta": {}}}, "what opening gives is {'delta': {}}, not a sequence"),
        (
            {"opening": lambda rendering, choice: [{"role": "bot"}]},
            "what opening gives has no 'delta': {'role': 'bot'}",
        ),
        ({"closing": lambda rendering, choice: {"content": ""}}, "what closing gives has no 'delta': {'content': ''}"),
        ({"segments": lambda rendering, choice: [{"text": 1}]}, "what segments gives[0] is {'text': 1}, not a Segment"),
        (
            {"segments": lambda rendering, choice: [Segment({"content": "Hi"}, choice.texts)]},
            "what segments gives has no SLOT for the texts in one of role, content, tool_calls, function_call: {",
        ),
    ],
)
def test_what_a_function_of_a_flavour_gives_wrongly_is_named(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(told)):
        variant("oak", title="Oak", models=MODELS, **wrong)


@pytest.mark.parametrize("function", ["read", "write", "handler"])
def test_a_function_that_gives_nothing_is_named(function: str) -> None:
    nothing: dict[str, Any] = {function: lambda *arguments: None}
    oak = OAK._replace(operations=(OAK.operations[0]._replace(**nothing),))
    route = Routes({"oak": oak}, QUIET).find("POST", "/oak/v1/chat/completions")
    assert route is not None
    call = ask("oak", CHATTED).plan.context.call
    kind = "GenerationRequest" if function == "read" else "Reply"
    told = f"the {function} of operation chat_completions must give a {kind} or a Refusal, not None"
    with pytest.raises(TypeError, match=told):
        answer(call, route, QUIET, Namespace(""))


def test_what_does_not_fit_into_a_request_is_named() -> None:
    read: Any = lambda call, scope: GenerationRequest("oak-1", (), limits=Limits("5"))  # type: ignore[arg-type]  # noqa: E731
    context, operation = ask("oak", CHATTED).plan.context, OAK.operations[0]._replace(read=read)
    told = ["operation chat_completions: GenerationRequest.limits.max_tokens is '5', not an int"]
    assert [*defects_of_answer(operation, context.call, context.scope, None)] == told


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        (
            lambda: iter([b"data: 1"]),
            "the frames of a reply come in FrameBatches of several bytes each, not as b'data: 1'",
        ),
        (lambda: iter([FrameBatch(b"1", (0,), (1,))]), "not as FrameBatch(data=b'1'"),  # type: ignore[arg-type]
        (lambda: iter([at_step(0, b"data: 1")]), "at_step takes a sequence of events, not b'data: 1'"),  # type: ignore[arg-type]
        (lambda: iter(template({"part": "x"})), "no SLOT is where the text would go: {'part': 'x'}"),
    ],
)
def test_frames_that_are_none_are_named(frames: Callable[[], Iterator[FrameBatch]], told: str) -> None:
    timeline = to_timeline(Reply(200, (), LazyFrames(frames), streamed=True), TokenTiming())
    with pytest.raises((TypeError, ValueError), match=re.escape(told)):
        list(timeline.runs)
