"""Upstash QStash LLM: the page and its two examples, key by key (vendor note, part B)."""

import json
import re
from collections.abc import Mapping
from math import ceil
from typing import Any

import orjson
import pytest

from mockserver.core.dialects import EDITIONS, RequestScope
from mockserver.core.failures import FailureKind
from mockserver.core.generation import Choice, Generation, GenerationRequest, Output, Prompt, Usage
from mockserver.core.http import TokenTiming
from mockserver.dialects.upstash.chats import write_chat
from mockserver.dialects.upstash.dialect import UPSTASH
from mockserver.dialects.upstash.errors import ERRORS
from mockserver.state.settings import Settings
from tests.support.asking import FROZEN, QUIET, Answer, ask

PATH = "/llm/v1/chat/completions"
LLAMA = "meta-llama/Meta-Llama-3-8B-Instruct"
MISTRAL = "mistralai/Mistral-7B-Instruct-v0.2"
QUESTION = "Tell me about the harbour of a small town in autumn."
BODY: dict[str, Any] = {"model": LLAMA, "messages": [{"role": "user", "content": QUESTION}]}


def chat(**fields: Any) -> Answer:
    answer = ask("upstash", BODY | fields)
    assert answer.status == 200
    return answer


def content(answer: Answer, index: int = 0) -> str:
    said: str = answer.json()["choices"][index]["message"]["content"]
    return said


def refusal(settings: Settings = QUIET, **fields: Any) -> tuple[int, Any]:
    answer = ask("upstash", BODY | fields, settings=settings)
    return answer.status, answer.json()


def closed(*models: str) -> Settings:
    return Settings(created=FROZEN, latency="off", models={"upstash": models})


# --- the wire ----------------------------------------------------------------------------------------------------


def test_a_plain_answer_has_the_keys_of_the_example_in_their_order() -> None:
    answer = chat(max_tokens=4)
    body = answer.json()
    usage = body["usage"]
    assert (
        answer.body
        == (
            f'{{"id":"{body["id"]}","object":"chat.completion","created":1700000000,"model":"{LLAMA}",'
            f'"system_fingerprint":"{body["system_fingerprint"]}","choices":[{{"index":0,"message":{{"role":"assistant","content":{json.dumps(content(answer))}}},'
            f'"logprobs":null,"finish_reason":"length","stop_reason":null}}],'
            f'"usage":{{"prompt_tokens":{usage["prompt_tokens"]},"total_tokens":{usage["prompt_tokens"] + 4},'
            f'"completion_tokens":4}}}}'
        ).encode()
    )


def test_an_id_is_32_hexadecimal_digits_and_the_same_for_the_same_request() -> None:
    first, again, other = (chat(max_tokens=limit).json()["id"] for limit in (4, 4, 5))
    assert first == again != other
    assert first.startswith("cmpl-")
    assert len(first) == 37
    assert set(first[5:]) <= set("0123456789abcdef")


def test_a_stream_is_a_role_then_a_token_per_chunk_then_an_empty_text_with_usage() -> None:
    plain, stream = chat(max_tokens=3).json(), chat(max_tokens=3, stream=True)
    head = (
        f'data: {{"id":"{stream.events()[0]["id"]}","object":"chat.completion.chunk","created":1700000000,'
        f'"model":"{LLAMA}","system_fingerprint":"{plain["system_fingerprint"]}","choices":[{{"index":0,"delta":'
    )
    tokens = [event["choices"][0]["delta"]["content"] for event in stream.events()[1:4]]
    assert "".join(tokens) == plain["choices"][0]["message"]["content"]
    written = [f'{head}{{"role":"assistant"}},"logprobs":null,"finish_reason":null}}]}}\n\n']
    written += [
        f'{head}{{"content":{json.dumps(token)}}},"logprobs":null,"finish_reason":null}}]}}\n\n' for token in tokens
    ]
    usage = orjson.dumps(plain["usage"]).decode()
    written.append(f'{head}{{"content":""}},"finish_reason":"length"}}],"usage":{usage}}}\n\n')
    assert stream.body.decode() == "".join([*written, "data: [DONE]\n\n"])


@pytest.mark.parametrize("stream, kind", [(False, "application/json"), (True, "text/event-stream")])
def test_an_answer_names_its_type_its_date_and_the_limits_of_the_chat_api(stream: bool, kind: str) -> None:
    headers = chat(max_tokens=1, stream=stream).headers
    assert (headers["content-type"], headers["date"]) == (kind, "Tue, 14 Nov 2023 22:13:20 GMT")
    limits = {name: int(value) for name, value in headers.items() if name.startswith("x-ratelimit-")}
    assert set(limits) == {
        f"x-ratelimit-{what}-{of}" for what in ("limit", "remaining", "reset") for of in ("requests", "tokens")
    }
    assert limits["x-ratelimit-remaining-requests"] == limits["x-ratelimit-limit-requests"] - 1
    assert FROZEN < limits["x-ratelimit-reset-requests"] <= FROZEN + 60


def test_the_observed_edition_states_resets_as_durations_as_on_record() -> None:
    headers = ask("upstash", BODY | {"max_tokens": 1}, edition="observed").headers
    resets = {headers[f"x-ratelimit-reset-{of}"] for of in ("requests", "tokens")}
    assert resets == {f"{ceil(FROZEN // 60 * 60 + 60 - FROZEN)}s"}
    assert headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"


# --- what each field does ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("many", [False, True])
def test_a_stop_ends_the_answer_before_it_and_is_its_stop_reason(many: bool) -> None:
    whole = content(chat())
    stop = whole[len(whole) // 2 :][:6]
    answer = chat(stop=["never said", stop] if many else stop)
    choice = answer.json()["choices"][0]
    assert content(answer) == whole[: whole.index(stop)]
    assert list(choice) == ["index", "message", "logprobs", "finish_reason", "stop_reason"]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", stop)


def test_the_last_chunk_of_a_stream_has_a_stop_reason_only_where_a_stop_was_met() -> None:
    whole = content(chat())
    stop = whole[len(whole) // 2 :][:6]
    met, unmet = chat(stop=[stop], stream=True).events()[-2], chat(stop=["never said"], stream=True).events()[-2]
    assert met["choices"] == [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop", "stop_reason": stop}]
    assert list(met["choices"][0]) == ["index", "delta", "finish_reason", "stop_reason"]
    assert unmet["choices"] == [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]


def test_a_stream_of_several_choices_opens_them_all_and_tells_the_usage_once() -> None:
    plain, events = chat(max_tokens=4, n=3).json(), chat(max_tokens=4, n=3, stream=True).events()[:-1]
    assert [event["choices"][0]["delta"] for event in events[:3]] == [{"role": "assistant"}] * 3
    assert [event["choices"][0]["index"] for event in events[:3]] == [0, 1, 2]
    closing = [event for event in events if event["choices"][0]["finish_reason"]]
    assert [event["choices"][0]["index"] for event in closing] == [0, 1, 2]
    assert ["usage" in event for event in events] == [False] * (len(events) - 1) + [True]
    assert events[-1]["usage"] == plain["usage"]
    for choice in plain["choices"]:
        mine = [event["choices"][0] for event in events if event["choices"][0]["index"] == choice["index"]]
        assert "".join(part["delta"].get("content", "") for part in mine) == choice["message"]["content"]


def test_the_usage_is_in_the_last_chunk_even_when_a_choice_is_empty() -> None:
    request = GenerationRequest(LLAMA, (Prompt("", "", 7),), Output(stream=True), n=2)
    full = Choice(0, 0, (65,), ("A",), "stop", request.prompts[0])
    empty = Choice(1, 0, (), (), "stop", request.prompts[0], stop="B")
    reply = write_chat(
        Generation(request, (full, empty), Usage(7, 1)), TokenTiming(), RequestScope("documented", FROZEN, 42)
    )
    events = [event for frames in reply.frames for event in frames.data]
    assert [b'"usage"' in event for event in events] == [False] * (len(events) - 2) + [True, False]


def test_logprobs_tell_each_token_with_its_bytes_and_alternatives() -> None:
    choice = chat(max_tokens=5, logprobs=True, top_logprobs=3).json()["choices"][0]
    rows = choice["logprobs"]["content"]
    assert list(choice["logprobs"]) == ["content"]
    assert "".join(row["token"] for row in rows) == choice["message"]["content"]
    assert len(rows) == 5
    for row in rows:
        assert list(row) == ["token", "logprob", "bytes", "top_logprobs"]
        assert row["bytes"] == list(row["token"].encode())
        assert row["logprob"] < 0
        assert [list(alternative) for alternative in row["top_logprobs"]] == [["token", "logprob", "bytes"]] * 3
        assert row["top_logprobs"] == sorted(row["top_logprobs"], key=lambda alternative: -alternative["logprob"])


@pytest.mark.parametrize("fields", [{}, {"top_logprobs": 0}, {"top_logprobs": None}])
def test_logprobs_without_alternatives_have_an_empty_list_of_them(fields: Mapping[str, Any]) -> None:
    rows = chat(max_tokens=3, logprobs=True, **fields).json()["choices"][0]["logprobs"]["content"]
    assert [row["top_logprobs"] for row in rows] == [[], [], []]


def test_the_chunks_of_a_stream_carry_the_logprobs_of_their_token() -> None:
    fields = {"max_tokens": 5, "logprobs": True, "top_logprobs": 2}
    rows = chat(**fields).json()["choices"][0]["logprobs"]["content"]
    first, *tokens, last, done = chat(stream=True, **fields).events()
    assert (first["choices"][0]["logprobs"], done) == (None, "[DONE]")
    assert [event["choices"][0]["logprobs"] for event in tokens] == [{"content": [row]} for row in rows]
    assert [event["choices"][0]["delta"]["content"] for event in tokens] == [row["token"] for row in rows]
    assert "logprobs" not in last["choices"][0]


def test_json_mode_gives_a_json_object_and_text_mode_changes_nothing() -> None:
    assert isinstance(json.loads(content(chat(response_format={"type": "json_object"}))), dict)
    assert content(chat(response_format={"type": "text"})) == content(chat())


@pytest.mark.parametrize(
    "fields",
    [
        {"frequency_penalty": 0, "presence_penalty": -0.0, "top_p": 1},
        {"logit_bias": {"5": -100, "123456": 100.0}},
        {"provider": {"owner": "upstash"}, "system": "You are brief.", "user": QUESTION, "tools": [1]},
        {"messages": [{"role": "user", "content": QUESTION, "name": "anna", "tool_calls": [{"a": []}]}]},
        dict.fromkeys(UPSTASH.contract["documented"]()["schemas"]["ChatCompletionRequest"]["properties"]) | BODY,
    ],
    ids=["sampling", "logit_bias", "fields of the SDK", "fields of a message", "nulls"],
)
def test_some_fields_are_accepted_and_change_nothing(fields: Mapping[str, Any]) -> None:
    assert chat(**fields).json()["choices"] == chat().json()["choices"]


def test_whole_numbers_may_come_as_fractions() -> None:
    whole = {"max_tokens": 5, "n": 2, "seed": 7, "logprobs": True, "top_logprobs": 2}
    fractions = {name: float(value) if value is not True else True for name, value in whole.items()}
    assert chat(**fractions).json()["choices"] == chat(**whole).json()["choices"]


def test_mistral_is_not_refused_a_system_message() -> None:
    messages = [{"role": "system", "content": "You are brief."}, *BODY["messages"]]
    assert chat(model=MISTRAL, messages=messages).json()["model"] == MISTRAL


@pytest.mark.parametrize(
    "fields", [{}, {"stream": True}, {"stream": True, "logprobs": True, "n": 2}], ids=["plain", "stream", "detailed"]
)
def test_the_observed_edition_lacks_the_system_fingerprint_and_nothing_else(fields: Mapping[str, Any]) -> None:
    asked = {**BODY, **fields, "max_tokens": 3}
    documented, observed = (ask("upstash", asked, edition=edition) for edition in EDITIONS)
    fingerprints = set(re.findall(rb'"system_fingerprint":"(fp_[0-9a-f]{10})",', documented.body))
    (fingerprint,) = fingerprints
    assert observed.body == documented.body.replace(b'"system_fingerprint":"%s",' % fingerprint, b"")
    assert b"system_fingerprint" not in observed.body
    assert documented.body.count(fingerprint) == documented.body.count(b'"model":')


def test_a_system_fingerprint_belongs_to_the_model_and_the_seed_of_the_server_not_to_the_request() -> None:
    first, second, other = chat(), chat(max_tokens=3, seed=7), chat(model=MISTRAL)
    reseeded = ask("upstash", BODY, settings=Settings(created=FROZEN, latency="off", seed=7))
    assert first.json()["system_fingerprint"] == second.json()["system_fingerprint"]
    assert first.json()["system_fingerprint"] not in (
        other.json()["system_fingerprint"],
        reseeded.json()["system_fingerprint"],
    )


# --- refusals (the rest of them: refused/upstash.json) -----------------------------------------------------------


def test_a_model_outside_a_configured_catalogue_is_not_found() -> None:
    assert refusal(closed(MISTRAL)) == (
        404,
        {
            "object": "error",
            "message": f"The model `{LLAMA}` does not exist.",
            "type": "NotFoundError",
            "param": None,
            "code": 404,
        },
    )
    assert refusal(closed(MISTRAL), model=MISTRAL, max_tokens=1)[0] == 200


def test_a_fault_of_form_comes_before_an_unknown_model_and_that_before_a_value_out_of_range() -> None:
    assert refusal(closed(MISTRAL), stream=1, temperature=3)[1]["message"].startswith("[{'type': 'bool_type'")
    assert refusal(closed(MISTRAL), temperature=3)[1]["type"] == "NotFoundError"


def test_a_conversation_longer_than_the_context_is_refused_in_two_ways() -> None:
    long = [{"role": "user", "content": "a b c d " * 3000}]
    tokens = chat(model="any", messages=long, max_tokens=1).json()["usage"]["prompt_tokens"]
    start = "This model's maximum context length is 8192 tokens. However, you requested {} tokens"
    said = refusal(messages=long)[1]["message"]
    assert said == f"{start.format(tokens)} in the messages, Please reduce the length of the messages."
    assert refusal(messages=long, max_tokens=10) == (
        400,
        {
            "object": "error",
            "message": f"{start.format(tokens + 10)} ({tokens} in the messages, 10 in the completion). "
            "Please reduce the length of the messages or completion.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    )


def test_a_value_nested_a_thousand_deep_is_refused() -> None:
    raw = json.dumps(BODY)[:-1] + ', "stop": ' + "[" * 1000 + "]" * 1000 + "}"
    answer = ask("upstash", raw.encode())
    assert (answer.status, answer.json()) == (400, {"error": "invalid request body: not valid JSON"})


@pytest.mark.parametrize(
    "kind, telling",
    [
        (FailureKind.RATE_LIMIT, b"x-ratelimit-limit-requests"),
        (FailureKind.PAYMENT_REQUIRED, b"ratelimit-limit"),
        (FailureKind.OVERLOADED, b"burst-ratelimit-limit"),
    ],
)
def test_each_rate_limit_is_told_by_its_headers(kind: FailureKind, telling: bytes) -> None:
    row = ERRORS["documented"][kind]
    names = {name for name, _ in row.headers}
    known = {b"x-ratelimit-limit-requests", b"ratelimit-limit", b"burst-ratelimit-limit"}
    assert (row.status, names & known) == (429, {telling})


@pytest.mark.parametrize(
    "error, window, seconds",
    [("payment_required", "ratelimit", 86_400), ("overloaded", "burst-ratelimit", 1)],
)
def test_a_fault_that_names_a_limit_says_when_it_is_whole_again(error: str, window: str, seconds: int) -> None:
    answer = ask("upstash", BODY, headers={"x-mockserver-fault": f'{{ kind = "error", error = "{error}" }}'})
    assert (answer.status, answer.headers[f"{window}-remaining"]) == (429, "0")
    assert answer.headers[f"{window}-reset"] == str(ceil(FROZEN + seconds))


@pytest.mark.parametrize(
    "message, told", [("", f"The model `{LLAMA}` does not exist."), (', message = "Gone."', "Gone.")]
)
def test_a_fault_that_hides_the_model_names_it_as_the_engine_does(message: str, told: str) -> None:
    answer = ask("upstash", BODY, headers={"x-mockserver-fault": f'{{ kind = "error", error = "not_found"{message} }}'})
    assert (answer.status, answer.json()["message"]) == (404, told)


# --- who asks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path, authorization, status",
    [
        (PATH, "Bearer secret", 200),
        (PATH, "bearer secret", 200),
        (f"{PATH}?qstash_token=secret", "", 200),
        (f"{PATH}?other=1&qstash_token=secret", "Basic secret", 200),
        (PATH, "Bearer other", 401),
        (f"{PATH}?qstash_token=other", "", 401),
        (f"{PATH}?qstash_token=secret", "Bearer other", 401),
        (f"{PATH}?token=secret", "", 401),
    ],
)
def test_the_token_is_a_bearer_key_or_in_the_query(path: str, authorization: str, status: int) -> None:
    settings = Settings(created=FROZEN, latency="off", auth=("secret",))
    headers = {"authorization": authorization}
    answer = ask("upstash", BODY, path=path, method="POST", headers=headers, settings=settings)
    assert answer.status == status
    if status == 401:
        assert answer.json() == {"error": "unable to authenticate: invalid token"}


def test_who_is_not_let_in_learns_no_limits() -> None:
    headers = ask("upstash", BODY, headers={"authorization": ""}).headers
    assert not [name for name in headers if "ratelimit" in name]
    assert headers["content-type"] == "application/json"
