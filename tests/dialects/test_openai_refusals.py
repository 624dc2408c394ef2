"""What OpenAI refuses: each row is a body and the status, the message, the parameter and the code of the refusal."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from mockserver.core.calls import Call, Headers
from mockserver.core.dialects import Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.quotas import Limit, LimitState, Refused
from mockserver.dialects.openai.chats import read_chat
from mockserver.dialects.openai.checks import too_long
from mockserver.dialects.openai.completions import read_completion
from mockserver.dialects.openai.embeddings import read_embedding
from mockserver.dialects.openai.errors import ERRORS, stream_error, unrouted
from mockserver.dialects.openai.limits import QUOTAS, every_answer, go_duration
from mockserver.dialects.openai.models import MODELS, family_of, snapshot_of
from mockserver.dialects.openai.refusals import unknown_model
from mockserver.dialects.openai.responses.requests import read_response
from tests.support.asking import ask

READS = {
    "chat": read_chat,
    "completions": read_completion,
    "embeddings": read_embedding,
    "responses": read_response,
}
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
LEVELS: dict[str, Any] = {"type": "string"}
for _ in range(11):
    LEVELS = {"type": "object", "properties": {"a": LEVELS}, "required": ["a"], "additionalProperties": False}


def refusal(endpoint: str, changes: Mapping[str, Any]) -> Refusal | None:
    body = {name: value for name, value in {**BASES[endpoint], **changes}.items() if value is not ...}
    call = Call("POST", "/", Headers(), orjson.dumps(body))
    read = READS[endpoint](call, RequestScope("documented", 0.0, 0, models=MODELS))
    return read if isinstance(read, Refusal) else None


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


UNSUPPORTED = "unsupported_parameter"
CHATS = [
    # F1, F3: what breaks the contract.
    ({"model": ...}, "you must provide a model parameter", None, None),
    ({"messages": ...}, "Missing required parameter: 'messages'.", "messages", "missing_required_parameter"),
    (
        {"tools": [{"type": "custom", "custom": {"name": "a", "format": {"type": "grammar"}}}]},
        "Missing required parameter: 'tools[0].custom.format.grammar'.",
        "tools[0].custom.format.grammar",
        "missing_required_parameter",
    ),
    (
        {"max_tokens": "ten"},
        "Invalid type for 'max_tokens': expected an integer, but got a string instead.",
        "max_tokens",
        "invalid_type",
    ),
    (
        {"temperature": "hot"},
        "Invalid type for 'temperature': expected a decimal, but got a string instead.",
        "temperature",
        "invalid_type",
    ),
    (
        messages(HI, {"role": "user", "content": {"text": "Hi"}}),
        "Invalid type for 'messages[1].content': expected one of a string or array of objects, but got an object "
        "instead.",
        "messages[1].content",
        "invalid_type",
    ),
    (
        {"stop": 7},
        "Invalid type for 'stop': expected one of a string or array of strings, but got an integer instead.",
        "stop",
        "invalid_type",
    ),
    (
        {"tools": [WEATHER], "parallel_tool_calls": None},
        "Invalid type for 'parallel_tool_calls': expected a boolean, but got null instead.",
        "parallel_tool_calls",
        "invalid_type",
    ),
    (
        {"messages": []},
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "messages",
        "empty_array",
    ),
    (
        messages(HI, {"role": "assistant", "content": "Hi", "tool_calls": []}),
        "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty "
        "array instead.",
        "messages[1].tool_calls",
        "empty_array",
    ),
    (
        {"temperature": -1},
        "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
        "temperature",
        "decimal_below_min_value",
    ),
    (
        {"temperature": 3},
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
        "temperature",
        "decimal_above_max_value",
    ),
    (
        {"n": 129},
        "Invalid 'n': integer above maximum value. Expected a value <= 128, but got 129 instead.",
        "n",
        "integer_above_max_value",
    ),
    (
        {"tools": [WEATHER] * 150},
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 150 "
        "instead.",
        "tools",
        "array_above_max_length",
    ),
    (
        {"stop": ["a"] * 5},
        "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 "
        "instead.",
        "stop",
        "array_above_max_length",
    ),
    (
        messages(HI, {**ASKS, "tool_calls": [{**CALL, "id": "c" * 83}]}),
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a "
        "string with length 83 instead.",
        "messages[1].tool_calls[0].id",
        "string_above_max_length",
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        "tools[0].function.name",
        "invalid_value",
    ),
    (
        messages({"role": "robot", "content": "Hi"}),
        "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "
        "'developer'.",
        "messages[0].role",
        "invalid_value",
    ),
    (
        {"tools": [WEATHER], "tool_choice": "any"},
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
        "tool_choice",
        "invalid_value",
    ),
    (
        {"response_format": {"type": "text", "schema": {}}},
        "Unknown parameter: 'response_format.schema'.",
        "response_format.schema",
        "unknown_parameter",
    ),
    ({"thinking": True}, "Unrecognized request argument supplied: thinking", None, None),
    ({"thinking": True, "best": 1}, "Unrecognized request arguments supplied: best, thinking", None, None),
    (
        {"model": MINI, **messages({**HI, "sender": "Agent"})},
        "Unknown parameter: 'messages[0].sender'.",
        "messages[0].sender",
        "unknown_parameter",
    ),
    (
        messages({**HI, "tool_calls": []}),
        "Unknown parameter: 'messages[0].tool_calls'.",
        "messages[0].tool_calls",
        "unknown_parameter",
    ),
    (
        {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "weather"}},
        "'$.tool_choice' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
        None,
        None,
    ),
    (
        {"metadata": {str(n): "" for n in range(17)}},
        "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, but got an object "
        "with 17 properties instead.",
        "metadata",
        "object_above_max_properties",
    ),
    # F4: values and combinations.
    (
        {"model": MINI, "max_tokens": 5},
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens",
        UNSUPPORTED,
    ),
    (
        {"model": MINI, "temperature": 0.5},
        "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is "
        "supported.",
        "temperature",
        "unsupported_value",
    ),
    *(
        (
            {"model": MINI, name: value},
            f"Unsupported parameter: '{name}' is not supported with this model.",
            name,
            UNSUPPORTED,
        )
        for name, value in {
            "top_p": 0.5,
            "stop": "a",
            "logit_bias": {"1": 1},
            "frequency_penalty": 1,
            "presence_penalty": 1,
            "logprobs": True,
        }.items()
    ),
    ({"reasoning_effort": "low"}, "Unrecognized request argument supplied: reasoning_effort", None, None),
    (
        {"model": "gpt-5.1", "reasoning_effort": "minimal"},
        "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: "
        "'none', 'low', 'medium', and 'high'.",
        "reasoning_effort",
        "unsupported_value",
    ),
    (
        {"model": "gpt-6.2-sol", "reasoning_effort": "none"},
        "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'low', "
        "'medium', 'high', 'xhigh', and 'max'.",
        "reasoning_effort",
        "unsupported_value",
    ),
    (
        {"model": "o1-mini", **messages({"role": "system", "content": "Be brief"}, HI)},
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        "messages[0].role",
        "unsupported_value",
    ),
    (
        {"model": "gpt-5.4", "tools": [WEATHER], "reasoning_effort": "low"},
        "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use "
        "/v1/responses instead.",
        "reasoning_effort",
        None,
    ),
    (
        {"model": "gpt-5.6", "tools": [WEATHER]},
        "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function "
        "tools, use /v1/responses or set reasoning_effort to 'none'.",
        "reasoning_effort",
        None,
    ),
    (
        {"max_tokens": 5, "max_completion_tokens": 5},
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        "max_tokens",
        "invalid_parameter_combination",
    ),
    (
        {"max_tokens": 20480},
        "max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided "
        "20480.",
        "max_tokens",
        "invalid_value",
    ),
    (
        {"stream_options": {"include_usage": True}},
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "stream_options",
        None,
    ),
    (
        {"top_logprobs": 2},
        "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
        "top_logprobs",
        None,
    ),
    *(
        (
            {name: value},
            f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.",
            name,
            None,
        )
        for name, value in {"parallel_tool_calls": True, "tool_choice": "auto"}.items()
    ),
    (
        {"logit_bias": {"AI": 1}},
        "Invalid key in 'logit_bias': AI. You should only be submitting non-negative integers.",
        "logit_bias",
        None,
    ),
    (
        {"response_format": {"type": "json_object"}},
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
        "messages",
        None,
    ),
    (
        {"service_tier": "scale"},
        "Invalid service_tier argument: The requested service tier is not allowed for this project.",
        "service_tier",
        None,
    ),
    ({"web_search_options": {}}, "Web search options not supported with this model.", "web_search_options", None),
    (
        messages({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.invalid/a.png"}}]}),
        "Error while downloading https://x.invalid/a.png.",
        None,
        "invalid_image_url",
    ),
    (
        messages(
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/tiff;base64,a"}}]}
        ),
        "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', "
        "'jpeg', 'gif', 'webp'].",
        None,
        "invalid_image_format",
    ),
    (
        messages(
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]},
        ),
        "Invalid 'messages[0]'. Content blocks are expected to be either text or image_url type.",
        "messages[0]",
        "invalid_value",
    ),
    (
        {"verbosity": "low"},
        "Unsupported value: 'verbosity' does not support 'low' with this model. Supported values are: 'medium'.",
        "verbosity",
        "unsupported_value",
    ),
    # F5: histories.
    (
        messages(HI, ASKS),
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: call_1",
        "messages",
        None,
    ),
    (
        messages(HI, ASKS, HI),
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: call_1",
        "messages.[2].role",
        None,
    ),
    (
        messages(HI, {"role": "tool", "content": "7", "tool_call_id": "call_1"}),
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "messages.[1].role",
        None,
    ),
    (
        messages(HI, ASKS, {"role": "tool", "content": "7"}),
        "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
        "messages.[2].tool_call_id",
        None,
    ),
    (
        messages({"role": "user", "content": None}),
        "Invalid value for 'content': expected a string, got null.",
        "messages.[0].content",
        None,
    ),
    # F6: schemas.
    (
        {"response_format": strict({"type": "object", "properties": {}})},
        "Invalid schema for response_format 'plan': In context=(), 'additionalProperties' is required to be supplied "
        "and to be false.",
        "response_format",
        None,
    ),
    (
        {"response_format": strict(nested({"type": "array", "items": {**nested({"type": "string"}), "required": []}}))},
        "Invalid schema for response_format 'plan': In context=('properties', 'x', 'items'), 'required' is required to "
        "be supplied and to be an array including every key in properties. Missing 'x'.",
        "response_format",
        None,
    ),
    (
        {"tools": [WEATHER, tool(nested({"type": "string", "not": {}}), strict=True)]},
        "Invalid schema for function 'plan': In context=('properties', 'x'), 'not' is not permitted.",
        "tools[1].function.parameters",
        "invalid_function_parameters",
    ),
    (
        {"response_format": strict(LEVELS)},
        "Invalid schema for response_format 'plan': 11 levels of nesting exceeds limit of 10.",
        "response_format",
        None,
    ),
    (
        {"response_format": strict(nested({"anyOf": [nested({"type": "string"}), nested({"type": "number"})]}))},
        "Invalid schema for response_format 'plan': In context=('properties', 'x'), Objects provided via 'anyOf' must "
        "not share identical first keys.",
        "response_format",
        None,
    ),
    (
        {"tools": [tool({"properties": {}})]},
        "Invalid schema for function 'plan': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
        "tools[0].function.parameters",
        "invalid_function_parameters",
    ),
    (
        {"tools": [tool({"type": "object"})]},
        "Invalid schema for function 'plan': In context=(), object schema missing properties.",
        "tools[0].function.parameters",
        "invalid_function_parameters",
    ),
]
RESPONSES = [
    (
        {"previous_response_id": "resp_1", "conversation": "conv_1"},
        "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'pre..._id' or 'conversation'.",
        None,
        "mutually_exclusive_parameters",
    ),
    ({"model": ...}, "Missing required parameter: 'model'.", "model", "missing_required_parameter"),
    (
        {"max_output_tokens": 10},
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 10 instead.",
        "max_output_tokens",
        "integer_below_min_value",
    ),
    (
        {"input": [{"role": "tool", "content": "7"}]},
        "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        "input[0].role",
        "invalid_value",
    ),
    ({"thinking": 1}, "Unknown parameter: 'thinking'.", "thinking", "unknown_parameter"),
    (
        {"input": [HI, {"type": "function_call", "call_id": "c", "name": "a", "arguments": "{}", "status": None}]},
        "Unknown parameter: 'input[1].status'.",
        "input[1].status",
        "unknown_parameter",
    ),
    (
        {"tools": [WEATHER]},
        "Missing required parameter: 'tools[0].name'.",
        "tools[0].name",
        "missing_required_parameter",
    ),
    (
        {"input": [{"type": "function_call", "call_id": "c" * 83, "name": "a", "arguments": "{}"}]},
        "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with "
        "length 83 instead.",
        "input[0].call_id",
        "string_above_max_length",
    ),
    (
        {"model": MINI, "temperature": 0.5},
        "Unsupported parameter: 'temperature' is not supported with this model.",
        "temperature",
        None,
    ),
    (
        {"model": "gpt-4o", "reasoning": {"effort": "low"}},
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        "reasoning.effort",
        UNSUPPORTED,
    ),
    (
        {"model": "gpt-5.1", "reasoning": {"effort": "minimal"}},
        "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', "
        "'medium', and 'high'.",
        "reasoning.effort",
        "unsupported_value",
    ),
    (
        {"text": {"format": {"type": "json_object"}}},
        "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
        "input",
        None,
    ),
    (
        {"previous_response_id": "resp 1"},
        "Invalid 'previous_response_id': 'resp 1'. Expected an ID that contains letters, numbers, underscores, or "
        "dashes, but this value contained additional characters.",
        "previous_response_id",
        "invalid_value",
    ),
    (
        {"input": [HI, {"type": "function_call", "call_id": "call_X", "name": "a", "arguments": "{}"}]},
        "No tool output found for function call call_X.",
        "input",
        None,
    ),
    (
        {"input": [HI, {"type": "function_call_output", "call_id": "call_X", "output": "7"}]},
        "No tool call found for function call output with call_id call_X.",
        "input",
        None,
    ),
    (
        {"input": [{"type": "reasoning", "id": "rs_1", "summary": []}, HI]},
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        "input",
        None,
    ),
    (
        {"text": {"format": {"type": "json_schema", "name": "plan", "strict": True, "schema": {"type": "array"}}}},
        "Invalid schema for response_format 'plan': schema must be a JSON Schema of 'type: \"object\"', got 'type: "
        '"array"\'.',
        "text.format.schema",
        "invalid_json_schema",
    ),
    (
        {"tools": [tool(nested({"oneOf": []}), flat=True, strict=True)]},
        "Invalid schema for function 'plan': In context=('properties', 'x'), 'oneOf' is not permitted.",
        "tools[0].parameters",
        "invalid_function_parameters",
    ),
]
OTHERS = [
    (
        "embeddings",
        {"input": {}},
        "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
        None,
    ),
    (
        "embeddings",
        {"model": "text-embedding-ada-002", "dimensions": 8},
        "This model does not support specifying dimensions.",
        None,
    ),
    ("completions", {"max_output": 1}, "Unrecognized request argument supplied: max_output", None),
    (
        "completions",
        {"stream_options": {}},
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "stream_options",
    ),
]
WRONG_PLACES = [
    ("chat", "gpt-5-pro", "This model is only supported in v1/responses and not in v1/chat/completions."),
    ("chat", "gpt-5.3-codex", "This model is only supported in v1/responses and not in v1/chat/completions."),
    (
        "chat",
        "davinci-002",
        "This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use "
        "v1/completions?",
    ),
    (
        "completions",
        "gpt-4o",
        "This is a chat model and not supported in the v1/completions endpoint. Did you mean to use "
        "v1/chat/completions?",
    ),
]


@pytest.mark.parametrize("changes, message, param, code", CHATS)
def test_a_chat_is_refused(changes: dict[str, Any], message: str, param: str | None, code: str | None) -> None:
    assert told(refusal("chat", changes)) == (400, message, param, code)


@pytest.mark.parametrize("changes, message, param, code", RESPONSES)
def test_a_response_is_refused(changes: dict[str, Any], message: str, param: str | None, code: str | None) -> None:
    assert told(refusal("responses", changes)) == (400, message, param, code)


@pytest.mark.parametrize("endpoint, changes, message, param", OTHERS)
def test_other_requests_are_refused(endpoint: str, changes: dict[str, Any], message: str, param: str | None) -> None:
    assert told(refusal(endpoint, changes)) == (400, message, param, None)


@pytest.mark.parametrize("endpoint, model, message", WRONG_PLACES)
def test_a_model_is_refused_where_it_is_not_served(endpoint: str, model: str, message: str) -> None:
    assert told(refusal(endpoint, {"model": model})) == (404, message, "model", None)


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
    ("chat", {"tools": [tool(nested({"type": "string", "default": "a"}), strict=True)]}),
    ("chat", {"response_format": {"type": "json_object"}, **messages({"role": "user", "content": "Some JSON"})}),
    ("chat", {"response_format": strict(nested({"type": ["string", "null"], "pattern": "^a"}))}),
    ("chat", {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "weather"}}}),
    ("responses", {"model": "gpt-5.6", "tools": [tool(nested({"type": "string"}), flat=True)], "top_p": 0.98}),
    (
        "responses",
        {"input": [{"type": "reasoning", "id": "rs_1", "summary": []}, {"role": "assistant", "content": "Hi"}]},
    ),
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
    assert refusal(endpoint, changes) is None


def test_prompts_are_refused_that_do_not_fit() -> None:
    def words(endpoint: Any, model: str, tokens: int, **more: int) -> tuple[object, ...]:
        family = family_of(model)
        return told(too_long(tokens, Model(model, context=family.context), family, endpoint, **more))

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


@pytest.mark.parametrize("standing, kind, message", LIMITED)
def test_a_request_beyond_a_limit_is_told_which(standing: LimitState, kind: str, message: str) -> None:
    refusal = QUOTAS.refuse(Refused((standing,)), 0.0)._replace(model="gpt-4.1")
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
    missing = dict(every_answer(call, scope._replace(refused=FailureKind.UNKNOWN_MODEL)))
    assert not {name for name in missing if name.startswith((b"x-ratelimit", b"openai-processing"))}


def test_models_have_families_and_snapshots() -> None:
    assert snapshot_of("gpt-4o-mini") == "gpt-4o-mini-2024-07-18"
    assert snapshot_of("davinci-002") == "davinci:2023-07-21-v2"
    assert family_of("gpt-4o-mini-2024-07-18") == family_of("ft:gpt-4o-mini:acme::1") == family_of("gpt-4o")
    assert {model.id: (model.context, model.max_output) for model in MODELS}["gpt-5.4-mini"] == (400_000, 128_000)


STRANGE: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": 3}, "required": 5, "additionalProperties": False},
    {"type": "object", "properties": [1], "required": [1, {}], "additionalProperties": False},
    nested({"anyOf": [{"type": "object", "properties": {"a": True}}, True, {"properties": {"a": False}}]}),
    nested({"type": ["object", {}], "enum": 5, "const": {"a": 1}}),
    nested({"type": "array"}),
]


@pytest.mark.parametrize("schema", STRANGE)
def test_schemas_that_are_none_are_refused(schema: dict[str, Any]) -> None:
    status, message, *_ = told(refusal("chat", {"response_format": strict(schema)}))
    assert (status, str(message)[:43]) == (400, "Invalid schema for response_format 'plan': ")
