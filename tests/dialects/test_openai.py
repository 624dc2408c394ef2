"""What OpenAI accepts, and what it says of models, keys and limits (what it refuses: refused/openai.json)."""

import json
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from mockserver.core.dialects import Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import Call, Headers
from mockserver.core.quotas import Limit, LimitState, Refused
from mockserver.dialects.openai.checks import too_long
from mockserver.dialects.openai.errors import ERRORS, QUOTAS, every_answer, go_duration, stream_error, unrouted
from mockserver.dialects.openai.models import MODELS, family_of
from mockserver.dialects.openai.refusals import unknown_model
from tests.support.asking import Answer, ask

BASES: Mapping[str, dict[str, Any]] = {
    "chat": {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Tell me about tides"}]},
    "completions": {"model": "gpt-3.5-turbo-instruct", "prompt": "Tides"},
    "embeddings": {"model": "text-embedding-3-small", "input": "Tides"},
    "responses": {"model": "gpt-4o-mini", "input": "Tell me about tides"},
}
MINI, HI = "gpt-5-mini", {"role": "user", "content": "Hi"}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
SAID = {"role": "assistant", "content": "a"}
RESULT = {"role": "tool", "content": "7", "tool_call_id": "call_1"}
SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
CALLED = {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{}"}
RETURNED = {"type": "function_call_output", "call_id": "call_1", "output": "7"}
MORE_TOOLS = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "plan"}]}
PATHS = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "embeddings": "/v1/embeddings",
    "responses": "/v1/responses",
}


def asked(endpoint: str, changes: Mapping[str, Any]) -> Answer:
    return ask("openai", {**BASES[endpoint], **changes}, path=PATHS[endpoint], method="POST")


def told(refusal: Refusal | None) -> tuple[object, ...]:
    """The status, the message, the parameter and the code that a refusal has on the wire."""
    assert refusal is not None, "nothing is refused"
    row = ERRORS[refusal.kind]
    body: Any = row.body(refusal, refusal.message or row.message)
    error = orjson.loads(body)["error"]
    assert list(error) == ["message", "type", "param", "code"]
    return refusal.status or row.status, error["message"], error["param"], error["code"]


def strict(schema: object, name: str = "plan") -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def nested(schema: object) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"], "additionalProperties": False}


def messages(*given: object) -> dict[str, Any]:
    return {"messages": list(given)}


def tool(parameters: object, *, flat: bool = False, **more: object) -> dict[str, Any]:
    function = {"name": "plan", "parameters": parameters, **more}
    return {"type": "function", **function} if flat else {"type": "function", "function": function}


ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    *((endpoint, {}) for endpoint in BASES),
    ("chat", {"model": "any-name", "reasoning_effort": "low", "max_tokens": 99_999, "temperature": 0.5}),
    ("chat", {"model": "gpt-5.4", "temperature": 0.5, "top_p": 0.5, "tools": [WEATHER]}),
    ("chat", {"model": "gpt-5.6", "tools": [WEATHER], "reasoning_effort": "none"}),
    ("chat", {"model": MINI, "temperature": 1, "logprobs": False, "reasoning_effort": "minimal"}),
    ("chat", {"model": "gpt-4o", "temperature": 2, "stop": ["a"] * 4, "n": 128, "logprobs": True, "top_logprobs": 20}),
    ("chat", messages(HI, ASKS, {"role": "tool", "content": "7", "tool_call_id": "call_1", "name": "weather"}, HI)),
    # What OpenAI's Swarm sends: fields that are null, and members of messages that no role has.
    (
        "chat",
        {"tools": None, "tool_choice": None, **messages(HI, {"role": "assistant", "content": "a", "tool_calls": None})},
    ),
    # What agno and crewAI send, and chunks of calls as they came.
    ("chat", {"tools": [tool({}, external_execution=False)], "stop": [], "response_format": None}),
    ("chat", messages(HI, {**ASKS, "tool_calls": [{**CALL, "index": 0}]}, RESULT)),
    ("chat", {"model": "gpt-audio", **messages({"role": "user", "content": [SOUND]})}),
    ("chat", {"model": "gpt-5.2", **messages(HI, ASKS, {**RESULT, "content": [IMAGE]})}),
    ("chat", {"tools": [tool(nested({"type": "string", "default": "a"}), strict=True)]}),
    ("chat", {"response_format": {"type": "json_object"}, **messages({"role": "user", "content": "Some JSON"})}),
    ("chat", {"response_format": strict(nested({"type": ["string", "null"], "pattern": "^a"}))}),
    ("chat", {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "weather"}}}),
    ("chat", {"tools": [WEATHER] * 128}),
    ("responses", {"model": "gpt-5.6", "tools": [tool(nested({"type": "string"}), flat=True)], "top_p": 0.98}),
    (
        "responses",
        {"input": [{"type": "reasoning", "id": "rs_1", "summary": []}, SAID], "store": False},
    ),
    (
        "responses",
        # Without an id, as of responses that are not stored; the fields that Codex sends.
        {
            "input": [HI, {"type": "reasoning", "summary": []}, SAID, HI, MORE_TOOLS],
            "client_metadata": {"session_id": "a"},
            "tool_choice": {"type": "function", "name": "plan"},
        },
    ),
    ("responses", {"input": [HI, {**CALLED, "status": None}, RETURNED], "tool_choice": None}),
    ("embeddings", {"input": "", "encoding_format": None}),
    ("embeddings", {"input": [[1, 2], [3]], "encoding_format": "base64", "dimensions": 64}),
    ("completions", {"prompt": ["a", "b"], "logprobs": 5, "echo": True, "suffix": "end"}),
]


@pytest.mark.parametrize(
    "model, more, status",
    [("gpt-4o", {"sender": "Agent"}, 200), (MINI, {"sender": "Agent"}, 400), ("gpt-4o", {"tool_calls": []}, 400)],
)
def test_models_that_do_not_reason_ignore_members_of_messages_that_no_role_has(
    model: str, more: dict[str, Any], status: int
) -> None:
    assert ask("openai", {"model": model, **messages({**HI, **more})}).status == status


@pytest.mark.parametrize("endpoint, changes", ACCEPTED)
def test_what_is_supported_is_accepted(endpoint: str, changes: dict[str, Any]) -> None:
    assert asked(endpoint, changes).status == 200


def test_what_is_to_be_moderated_is_told_of_the_prompt_and_of_the_answer() -> None:
    changes = {
        **messages({"role": "user", "content": "Say: I like murder"}),
        "moderation": {"model": "omni-moderation-latest"},
    }
    plain = asked("chat", changes).json()
    assert list(plain)[-1] == "moderation"
    kinds = {side: (each["type"], each["results"][0]["type"]) for side, each in plain["moderation"].items()}
    assert kinds == dict.fromkeys(("input", "output"), ("moderation_results", "moderation_result"))
    assert [each["results"][0]["flagged"] for each in plain["moderation"].values()] == [True, True]
    usage, last, done = asked("chat", {**changes, "stream": True, "stream_options": {"include_usage": True}}).events()[
        -3:
    ]
    assert (usage["usage"], "moderation" in usage, done) == (plain["usage"], False, "[DONE]")
    assert (last["choices"], last["usage"], last["moderation"]) == ([], None, plain["moderation"])
    told = asked("responses", {"input": "Say: I like tides", "moderation": changes["moderation"]}).json()["moderation"]
    assert {side: (list(each)[:2], each["flagged"]) for side, each in told.items()} == dict.fromkeys(
        ("input", "output"), (["type", "categories"], False)
    )


def test_prompts_are_refused_that_do_not_fit() -> None:
    def words(endpoint: Any, model: str, tokens: int) -> tuple[object, ...]:
        family = family_of(model)
        return told(too_long(tokens, Model(model, context=family.context), family, endpoint))

    assert words("chat", "gpt-4o", 204_308) == (
        400,
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. "
        "Please reduce the length of the messages.",
        "messages",
        "context_length_exceeded",
    )
    assert words("chat", "gpt-5", 477_469) == (
        400,
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 477469 tokens. Please "
        "reduce the length of the messages.",
        "messages",
        "context_length_exceeded",
    )
    assert words("responses", "gpt-5", 477_469) == (
        400,
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "input",
        "context_length_exceeded",
    )
    assert words("embeddings", "text-embedding-3-small", 9_000) == (
        400,
        "This model's maximum context length is 8192 tokens, however you requested 9000 tokens (9000 in your prompt; 0 "
        "for the completion). Please reduce your prompt; or completion length.",
        None,
        None,
    )
    assert too_long(128_000, Model("gpt-4o", context=128_000), family_of("gpt-4o"), "chat") is None
    refused = asked("embeddings", {"input": [[7] * 2_000] * 151})
    assert refused.status == 400
    assert refused.json()["error"] == {
        "message": "Requested 302000 tokens, max 300000 tokens per request",
        "type": "max_tokens_per_request",
        "param": None,
        "code": "max_tokens_per_request",
    }


def test_a_model_that_does_not_exist_is_told_of_in_each_endpoints_words() -> None:
    words = "The model `x` does not exist or you do not have access to it."
    assert told(unknown_model("x", "chat")) == (404, words, None, "model_not_found")
    words = "The requested model 'x' does not exist."
    assert told(unknown_model("x", "responses")) == (400, words, "model", "model_not_found")


def test_keys_and_urls() -> None:
    wrong = Refusal(FailureKind.UNAUTHORIZED, key="sk-proj-0123456789abcd")
    assert told(wrong) == (
        401,
        "Incorrect API key provided: sk-proj-**********abcd. You can find your API key at "
        "https://platform.openai.com/account/api-keys.",
        None,
        "invalid_api_key",
    )
    call, scope = Call("POST", "/v1/{model}", Headers()), RequestScope("observed", 0.0, 1)
    assert told(unrouted(call, scope, ())) == (404, "Invalid URL (POST /v1/{model})", None, None)
    assert told(unrouted(call, scope, ("GET",))) == (
        405,
        "Not allowed to POST on /v1/{model}. (HINT: Perhaps you meant to use a different HTTP method?)",
        None,
        None,
    )
    row = ERRORS[FailureKind.SERVER_ERROR]
    event = stream_error(500, row.body(Refusal(FailureKind.SERVER_ERROR), row.message))
    assert event == (
        b'data: {"error":{"message":"The server had an error while processing your request. Sorry about that!",'
        b'"type":"server_error","param":null,"code":null}}\n\n'
    )


LIMITED = [
    (
        LimitState(Limit("tokens", 60, 30_000), 18_928).faced_with(11_159),
        "tokens",
        "Rate limit reached for gpt-4.1 in organization {org} on tokens per min (TPM): Limit 30000, Used 18928, "
        "Requested 11159. Please try again in 174ms.",
    ),
    (
        LimitState(Limit("requests", 60, 3), 3).faced_with(1),
        "requests",
        "Rate limit reached for gpt-4.1 in organization {org} on requests per min (RPM): Limit 3, Used 3, Requested 1. "
        "Please try again in 20s.",
    ),
    (
        LimitState(Limit("tokens", 86_400, 30_000)).faced_with(31_538),
        "tokens",
        "Request too large for gpt-4.1 in organization {org} on tokens per day (TPD): Limit 30000, Requested 31538. "
        "The input or output tokens must be reduced in order to run successfully.",
    ),
]


@pytest.mark.parametrize("state, kind, message", LIMITED)
def test_a_request_beyond_a_limit_is_told_which(state: LimitState, kind: str, message: str) -> None:
    refusal = QUOTAS.refuse(Refused((state,)), 0.0)._replace(model="gpt-4.1")
    row = ERRORS[refusal.kind]
    body: Any = row.body(refusal, refusal.message)
    error = orjson.loads(body)["error"]
    org = error["message"].split("organization ")[1].split()[0]
    end = " Visit https://platform.openai.com/account/rate-limits to learn more."
    assert error == {
        "message": message.format(org=org) + end,
        "type": kind,
        "param": None,
        "code": "rate_limit_exceeded",
    }


def test_headers_state_limits_and_durations() -> None:
    times = {0.006: "6ms", 8.64: "8.64s", 127.93: "2m7.93s", 0: "0s", 0.12: "120ms", 7200: "2h0m0s"}
    assert {seconds: go_duration(seconds) for seconds in times} == times
    call, scope = Call("POST", "/v1/chat/completions", Headers()), RequestScope("observed", 1.7e9, 1)
    headers = dict(every_answer(call, scope))
    limits = {name[12:]: value for name, value in headers.items() if name.startswith(b"x-ratelimit-")}
    assert limits == {
        b"limit-requests": b"10000",
        b"limit-tokens": b"250000",
        b"remaining-requests": b"9999",
        b"remaining-tokens": b"249991",
        b"reset-requests": b"6ms",
        b"reset-tokens": b"2ms",
    }
    assert b"openai-processing-ms" in headers


@pytest.mark.parametrize(
    "path, indent, present, absent",
    [
        ("chat/completions", 4, {"vary", "x-openai-proxy-wasm"}, {"openai-version", "www-authenticate"}),
        ("responses", 2, {"openai-version", "www-authenticate"}, {"vary", "x-openai-proxy-wasm"}),
        ("moderations", 2, {"www-authenticate", "x-openai-proxy-wasm"}, {"vary"}),
    ],
)
def test_a_call_without_a_key_is_refused_ahead_of_chats_and_by_other_endpoints_themselves(
    path: str, indent: int, present: set[str], absent: set[str]
) -> None:
    answer = ask("openai", {"model": "gpt-4o"}, path=f"/v1/{path}", headers={"authorization": ""}, method="POST")
    names = set(answer.headers)
    assert (answer.status, present <= names, absent & names) == (401, True, set())
    assert "x-ratelimit-limit-requests" not in names
    assert answer.body.decode() == json.dumps(answer.json(), indent=indent) + "\n" * (indent == 4)


@pytest.mark.parametrize(
    "model, expected",
    [
        ("gpt-4o", ("gpt-4o-2024-08-06", True, True, "fp_")),
        ("gpt-5-mini", ("gpt-5-mini-2025-08-07", True, False, None)),
        ("gpt-audio-mini", ("gpt-audio-mini-2025-12-15", True, False, "fp_")),
        ("gpt-4o-search-preview", ("gpt-4o-search-preview-2025-03-11", False, False, "")),
    ],
)
def test_a_chat_says_what_its_model_says(model: str, expected: tuple[object, ...]) -> None:
    body = asked("chat", {"model": model}).json()
    print_ = body["system_fingerprint"]
    found = (body["model"], "service_tier" in body, "logprobs" in body["choices"][0], print_ and print_[:3])
    assert found == expected


def test_models_have_families() -> None:
    assert family_of("gpt-4o-mini-2024-07-18") == family_of("ft:gpt-4o-mini:acme::1") == family_of("gpt-4o")
    assert {model.id: (model.context, model.max_output) for model in MODELS}["gpt-5.4-mini"] == (400_000, 128_000)


def test_a_chat_may_offer_128_tools() -> None:
    error = asked("chat", {"tools": [WEATHER] * 129}).json()["error"]
    words = "Expected an array with maximum length 128, but got an array with length 129 instead."
    assert (error["message"], error["param"], error["code"]) == (
        f"Invalid 'tools': array too long. {words}",
        "tools",
        "array_above_max_length",
    )


STRANGE: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": 3}, "required": 5, "additionalProperties": False},
    {"type": "object", "properties": [1], "required": [1, {}], "additionalProperties": False},
    nested({"anyOf": [{"type": "object", "properties": {"a": True}}, True, {"properties": {"a": False}}]}),
    nested({"type": ["object", {}], "enum": 5, "const": {"a": 1}}),
    nested({"type": "array"}),
]


def test_an_image_alone_has_no_score_in_categories_of_texts() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/harbour.png"}}
    result = ask("openai", {"input": [image]}, path="/v1/moderations").json()["results"][0]
    assert result["category_applied_input_types"]["hate"] == [] == result["category_applied_input_types"]["illicit"]
    assert result["category_applied_input_types"]["violence"] == ["image"]
    assert (result["category_scores"]["hate"], result["category_scores"]["violence"] > 0) == (0, True)


def test_the_first_token_of_an_echoed_prompt_has_no_log_probability() -> None:
    echoed = asked("completions", {"echo": True, "logprobs": 2, "max_tokens": 2}).json()["choices"][0]["logprobs"]
    assert [row is None for row in echoed["token_logprobs"]] == [row is None for row in echoed["top_logprobs"]]
    assert (echoed["token_logprobs"][0], None in echoed["token_logprobs"][1:]) == (None, False)


@pytest.mark.parametrize("schema", STRANGE)
def test_schemas_that_are_none_are_refused(schema: dict[str, Any]) -> None:
    refused = asked("chat", {"response_format": strict(schema)})
    message = refused.json()["error"]["message"]
    assert (refused.status, message[:43]) == (400, "Invalid schema for response_format 'plan': ")


LARGE: list[tuple[dict[str, Any], str]] = [
    (
        {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(5_001)}},
        "Expected at most 5000 object properties total within a schema, but got 5001.",
    ),
    (nested({"enum": [*range(1_001)]}), "Expected at most 1000 enum values in total within a schema, but got 1001."),
    (
        nested({"const": "a" * 120_000}),
        "Expected at most 120000 characters in names and values in total within a schema, but got 120001.",
    ),
    (
        nested({"enum": [f"{n:060}" for n in range(251)]}),
        "In context=('properties', 'x'), an enum of more than 250 strings may have at most 15000 characters in total, "
        "but got 15060.",
    ),
]


@pytest.mark.parametrize("schema, fault", LARGE, ids=["properties", "values", "characters", "texts"])
def test_strict_schemas_beyond_a_limit_are_refused_with_both_numbers(schema: dict[str, Any], fault: str) -> None:
    refused = asked("chat", {"response_format": strict(schema)}).json()["error"]
    assert refused["message"] == f"Invalid schema for response_format 'plan': {fault}"
