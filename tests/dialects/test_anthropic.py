"""Anthropic's Messages API: what it accepts, how it refuses (facts A1 to A5, A10), and what its answers state."""

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mockserver.core.http import Call, Headers
from mockserver.dialects.anthropic.errors import betas_of
from mockserver.state.namespaces import Namespace
from tests.support.asking import QUIET, Answer, ask

OLD, NEW = {"anthropic-version": "2023-06-01"}, {"anthropic-version": "2026-10-21"}
HI = {"role": "user", "content": "Hello"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLOSED = {**SCHEMA, "additionalProperties": False}
TOOL = {"name": "get_weather", "description": "The weather of a city", "input_schema": SCHEMA}
SIGNATURE = base64.b64encode(b"s" * 200).decode()
FORTY_FIVE, OPUS_4_8, FABLE, SONNET_5_5 = "claude-haiku-4-5", "claude-opus-4-8", "claude-fable-5-2", "claude-sonnet-5-5"
REDACT = (
    "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_46C9A13E193C177646C7398A98432ECCCE4C1253D5E2D82641AC0E52CC2876CB"
)
MARK = {"type": "ephemeral"}
LONG = "The harbour lies behind the old town, and boats come in with the tide. " * 120


def messages(*said: Any) -> list[dict[str, Any]]:
    """A conversation in which the user and the assistant take turns."""
    return [{"role": ("user", "assistant")[place % 2], "content": content} for place, content in enumerate(said)]


def call(id_: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "get_weather", "input": {"city": "Oslo"}}


def result(id_: str = "toolu_1", content: Any = "Rain") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def asked(body: Mapping[str, Any], headers: Mapping[str, str] = OLD, **more: Any) -> Answer:
    whole = {"model": FORTY_FIVE, "max_tokens": 64, "messages": [HI], **body}
    return ask("anthropic", {key: value for key, value in whole.items() if value is not ...}, headers=headers, **more)


ORPHAN = "`tool_use` ids were found without `tool_result` blocks immediately after: "
PAIR = ". Each `tool_use` block must have a corresponding `tool_result` block in the next message."
UNEXPECTED = "unexpected `tool_use_id` found in `tool_result` blocks: "
BACK = ". Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
ANYWHERE = "the array; the directive-only form (content: [] with output_config) is accepted at any position"
RESULT = ANYWHERE.replace("the array", "a server tool result")
THINKING: Any = {"type": "enabled", "budget_tokens": 1024}


def png(width: int, height: int) -> str:
    return base64.b64encode(b"\x89PNG" + bytes(12) + width.to_bytes(4) + height.to_bytes(4)).decode()


def image(data: str, type_: str = "image/png") -> dict[str, Any]:
    return {"messages": messages([{"type": "image", "source": {"type": "base64", "media_type": type_, "data": data}}])}


def pdf(data: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return {"messages": messages([{"type": "document", "source": source}])}


PNG = png(5, 5)
SOURCE = {"type": "text", "media_type": "text/plain", "data": "Rain falls."}
CITED: Any = {"type": "document", "source": SOURCE, "citations": {"enabled": True}}
REFERENCE = {"type": "tool_reference", "tool_name": "sail"}
FOUND = {"type": "search_result", "source": "a", "title": "b", "content": [{"type": "text", "text": "c"}]}
FORMAT = {"type": "json_schema", "schema": {"type": "object", "properties": {}, "additionalProperties": False}}


@pytest.mark.parametrize(
    "body, message",
    [
        ({"model": ...}, "model: Field required"),
        ({"max_tokens": ...}, "max_tokens: Field required"),
        ({"messages": ..., "max_tokens": "x"}, "messages: Field required"),
        ({"max_tokens": -1}, "max_tokens: must be greater than or equal to 0"),
        (
            {"model": "claude-haiku-4-5", "max_tokens": 64_001},
            "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5-2025",
        ),
        ({"zzz": 1}, "zzz: Extra inputs are not permitted"),
        ({"zzz": 1, "stream": None}, "stream: Input should be a valid boolean"),
        ({"context_management": {}}, "context_management: Extra inputs are not permitted"),
        (
            {"output_format": {"type": "json_schema", "schema": {}}},
            "output_format: This field is deprecated. Use 'output_config.format' instead.",
        ),
        (
            {"tools": [{"name": "f", "input_schema": {"type": "object", "properties": {"a b": {"type": "string"}}}}]},
            "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
        ),
        (
            {
                "messages": [
                    HI,
                    {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": ""}]},
                ]
            },
            "messages.1.content.0.thinking: each thinking block must contain thinking",
        ),
        ({"tools": None}, "tools: Input should be a valid array"),
        ({"metadata": {"x": 1}}, "metadata.x: Extra inputs are not permitted"),
        ({"service_tier": "fast"}, "service_tier: Input should be 'auto' or 'standard_only'"),
        ({"temperature": 1.5}, "temperature: range: 0..1"),
        ({"temperature": 1, "top_p": 1}, "`temperature` and `top_p` cannot both be specified for this model."),
        ({"model": OPUS_4_8, "top_k": 5}, "`top_k` is deprecated for this model."),
        ({"inference_geo": "eu"}, "inference_geo: must be one of ['global', 'us']"),
        ({"stop_sequences": [""]}, "stop_sequences: each stop sequence must be non-empty"),
        ({"stop_sequences": [" "]}, "stop_sequences: each stop sequence must contain non-whitespace"),
        ({"container": "c"}, "container: Container identifier can only be provided when using the code execution tool"),
        # Content.
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": messages(None)}, "messages.0.content: Input should be a valid array"),
        ({"messages": [{**HI, "bogus": 1}]}, "messages.0.bogus: Extra inputs are not permitted"),
        (
            {"messages": [{"role": "bogus", "content": "x"}]},
            'messages: Unexpected role "bogus". Allowed roles are "user"',
        ),
        ({"messages": messages([text("")])}, "messages: text content blocks must be non-empty"),
        ({"messages": messages([text(" ")])}, "messages: text content blocks must contain non-whitespace text"),
        ({"messages": messages("\x85\u2003")}, "messages: text content blocks must contain non-whitespace text"),
        (
            {"messages": messages([text(" "), text("\n")])},
            "messages: text content blocks must contain non-whitespace text",
        ),
        ({"system": [text("")]}, "system: text content blocks must be non-empty"),
        ({"system": [text(" ")]}, "system: text content blocks must contain non-whitespace text"),
        ({"messages": messages("")}, "messages.0: user messages must have non-empty content"),
        ({"messages": messages(""), "container": "c"}, "messages.0: user messages must have non-empty content"),
        ({"messages": ["Hello"]}, "messages.0: Input does not match the expected shape."),
        ({"messages": messages([7])}, "messages.0.content.0: Input should be an object"),
        ({"system": [7]}, "system.0: Input does not match the expected shape."),
        ({"metadata": "x"}, "metadata: Input does not match the expected shape."),
        ({"output_config": None}, "output_config: Input does not match the expected shape."),
        ({"container": 7}, "container.ContainerParams: Input does not match the expected shape."),
        ({"cache_control": "x"}, "cache_control: Input should be an object"),
        ({"service_tier": None}, "service_tier: Input should be 'auto' or 'standard_only'"),
        (
            {"messages": messages([{"type": "x"}])},
            "messages.0.content.0: Input tag 'x' found using 'type' does not match",
        ),
        (
            {"messages": messages([{"type": "image", "source": {"type": "base64", "media_type": "image/png"}}])},
            "messages.0.content.0.image.source.base64.data: Field required",
        ),
        (
            {"messages": messages([text("a", bogus=1)])},
            "messages.0.content.0.text.bogus: Extra inputs are not permitted",
        ),
        ({"system": [{"type": "text"}]}, "system.0.text: Field required"),
        ({"system": [{"type": "image"}]}, "system.0.type: Input should be 'text'"),
        (
            {"system": [text("a", cache_control={**MARK, "x": 1})]},
            "system.0.cache_control.ephemeral.x: Extra inputs are",
        ),
        ({"system": [text("", cache_control=MARK)]}, "system.0: cache_control cannot be set for empty text blocks"),
        (
            {"messages": messages([text("a"), text("", cache_control=MARK)])},
            "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
        ),
        (
            {
                "messages": messages(
                    "a", [{"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}}], "d"
                )
            },
            "messages.1.content: 'image' blocks are not permitted within assistant turns.",
        ),
        ({"messages": messages("a", "b ")}, "messages: final assistant content cannot end with trailing whitespace"),
        ({"model": OPUS_4_8, "messages": messages("a", "b")}, "This model does not support assistant message prefill."),
        ({"messages": [HI, {"role": "system", "content": "x"}]}, "role 'system' is not supported on this model"),
        (
            {"messages": [{"role": "system", "content": "x"}, HI]},
            "messages.0: use the top-level 'system' parameter for",
        ),
        (
            {"model": OPUS_4_8, "messages": [{"role": "system", "content": "x"}, HI]},
            "messages.0: use the top-level 'system' parameter for the initial system prompt;",
        ),
        # Tools.
        ({"tool_choice": {"type": "any"}}, "tool_choice.any may only be specified while providing tools"),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}}, "Tool 'x' not found in provided tools"),
        ({"tool_choice": {"type": "tool", "name": "x"}}, "Tool 'x' not found in provided tools"),
        ({"tools": [{**TOOL, "name": ""}]}, "tools.0.custom.name: String should have at least 1 character"),
        (
            {"tools": [{**TOOL, "input_schema": True}]},
            "tools.0.custom.input_schema: Input does not match the expected shape.",
        ),
        ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
        ({"tools": [{"input_schema": SCHEMA}]}, "tools.0.custom.name: Field required"),
        (
            {"tools": [{**TOOL, "name": "a b"}]},
            "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        ({"tools": [{**TOOL, "strict": True}]}, "tools.0.custom: For 'object' type, 'additionalProperties' must be "),
        (
            {"model": FABLE, "tools": [TOOL], "tool_choice": {"type": "any"}},
            'tool_choice: type "tool" and "any" are not ',
        ),
        ({"messages": messages("a", [call()])}, f"messages.1: {ORPHAN}toolu_1{PAIR}"),
        ({"messages": messages("a", [call("t_1"), call("t_2")], "b")}, f"messages.1: {ORPHAN}t_1, t_2{PAIR}"),
        ({"messages": messages("a", [call("t_1"), call("t_2")], [result("t_2")])}, f"messages.1: {ORPHAN}t_1{PAIR}"),
        ({"messages": messages([result()])}, f"messages.0.content.0: {UNEXPECTED}toolu_1{BACK}"),
        (
            {"messages": messages("a", [call("t_1")], [result("t_1"), result("t_2")])},
            f"messages.2.content.1: {UNEXPECTED}t_2{BACK}",
        ),
        (
            {"messages": messages("a", [call()], [result(), result()])},
            "messages.2.content.1: each `tool_use` must have a single result. Found multiple `tool_result` blocks",
        ),
        (
            {"messages": messages("a", [call(), call()], [result()])},
            "messages.1.content.1: `tool_use` ids must be unique",
        ),
        (
            {"messages": messages("a", [call("t.1")], "b")},
            "messages.1.content.0.tool_use.id: String should match pattern",
        ),
        ({"messages": messages([call()])}, "messages.0: `tool_use` blocks can only be in `assistant` messages"),
        # Thinking, effort, schemas.
        ({"thinking": {"type": "adaptive"}}, "adaptive thinking is not supported on this model"),
        ({"output_config": {"format": {"type": "json"}}}, "output_config.format.type: Input should be 'json_schema'"),
        (
            {"tools": [{**TOOL, "input_schema": {"type": "object", "anyOf": [SCHEMA]}}]},
            "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
        ),
        ({"thinking": THINKING}, "`max_tokens` must be greater than `thinking.budget_tokens`."),
        (
            {"thinking": {**THINKING, "budget_tokens": 5}},
            "thinking.enabled.budget_tokens: Input should be greater than or ",
        ),
        (
            {"model": OPUS_4_8, "max_tokens": 2048, "thinking": THINKING},
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and ',
        ),
        (
            {"model": FABLE, "thinking": {"type": "disabled"}},
            '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and ',
        ),
        (
            {"model": SONNET_5_5, "thinking": {"type": "disabled"}},
            'To turn thinking off on this model, send "thinking": {"type": "between_tools"} instead of {"type": "dis',
        ),
        (
            {"model": "claude-opus-5", "thinking": {"type": "disabled"}, "output_config": {"effort": "max"}},
            "output_config.effort 'max' is not supported when thinking is disabled on this model. Use effort 'high' ",
        ),
        (
            {"model": SONNET_5_5, "thinking": {"type": "between_tools", "display": "omitted"}},
            "thinking.between_tools.display: Extra inputs are not permitted",
        ),
        (
            {"model": SONNET_5_5, "thinking": {"type": "adaptive", "block_binding": {}}},
            "thinking.adaptive.block_binding: Extra inputs are not permitted",
        ),
        (
            {"max_tokens": 2048, "thinking": THINKING, "temperature": 0.5},
            "`temperature` may only be set to 1 when thinking is enabled.",
        ),
        (
            {"max_tokens": 2048, "thinking": THINKING, "top_k": 5},
            "`top_k` must be unset when thinking is enabled or in adaptive mode",
        ),
        (
            {"max_tokens": 2048, "thinking": THINKING, "tools": [TOOL], "tool_choice": {"type": "any"}},
            "Thinking may not be enabled when tool_choice forces tool use.",
        ),
        (
            {"max_tokens": 2048, "thinking": THINKING, "messages": messages("a", [call()], [result()])},
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
        ),
        (
            {"messages": messages("a", [{"type": "thinking", "thinking": "b", "signature": "c"}, text("d")], "e")},
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
        (
            {"model": "claude-opus-4-6", "output_config": {"effort": "xhigh"}},
            "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
        ),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
            "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
        ),
        (
            {
                "tools": [
                    {
                        **TOOL,
                        "strict": True,
                        "input_schema": {**CLOSED, "$defs": {"n": {"type": "integer", "minimum": 1}}},
                    }
                ]
            },
            "tools.0.custom: For 'integer' type, property 'minimum' is not supported",
        ),
        (
            {"tools": [{**TOOL, "input_schema": {"type": "object", "properties": {"city": {"type": "town"}}}}]},
            "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
        ),
        # Caching.
        (
            {"messages": messages([text("a", cache_control=MARK)] * 5)},
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            {"messages": messages([text("a", cache_control=MARK), text("b", cache_control={**MARK, "ttl": "1h"})])},
            "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
        ),
        # What was measured in 2026.
        (
            {"messages": messages([CITED, text("Why?")]), "output_config": {"format": FORMAT}},
            "Citations cannot be enabled when output format is set. Please disable citations on uploaded document blo",
        ),
        (
            {"messages": messages([CITED, {**CITED, "citations": None}, text("Why?")])},
            "messages.0.content: Citations must be either enabled or disabled on all `document` blocks. A mixture of ",
        ),
        (
            {"tools": [TOOL], "messages": messages("a", [call()], [result(content=[FOUND, text("b")])])},
            "messages.2.content.0.tool_result: if any blocks in a tool result are of type `search_result`, all blocks",
        ),
        (
            {"tools": [{"type": "computer_20251124", "name": "computer"}]},
            "tools.0: Input tag 'computer_20251124' found using 'type' does not match any of the expected tags: 'bash",
        ),
        (image(""), "messages.0.content.0.image.source.base64: image cannot be empty"),
        (image("https://a.b/c.png"), "messages.0.content.0.image.source.base64: invalid base64 data"),
        (
            image("A" * 10_485_764),
            "messages.0.content.0.image.source.base64: image exceeds 10 MB maximum: 10485764 byte",
        ),
        (
            image(PNG, "image/jpeg"),
            "messages.0.content.0.image.source.base64.data: Image does not match the provided med",
        ),
        (image("aGVsbG8="), "Could not process image"),
        (
            image(png(8_001, 5)),
            "messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed s",
        ),
        (
            {
                "tools": [TOOL],
                "messages": messages("a", [call()], [result(content=image("")["messages"][0]["content"])]),
            },
            "messages.2.content.0.tool_result.content.0.image.source.base64: image cannot be empty",
        ),
        ({"max_tokens": 0, "stream": True}, "max_tokens: 0 is not compatible with stream"),
        (
            {"max_tokens": 0, "tools": [TOOL], "tool_choice": {"type": "any"}},
            "max_tokens: 0 is not compatible with tool_choice",
        ),
        (
            {"tools": [{**TOOL, "defer_loading": True}]},
            "All tools have defer_loading set. At least one tool must be non-deferred.",
        ),
        (
            {"tools": [TOOL], "messages": messages("a", [call()], [result(content=[REFERENCE])])},
            "Tool reference 'sail' has no corresponding tool definition",
        ),
        (pdf(""), "messages.0.content.0.document.source.base64: PDF cannot be empty"),
        (pdf("aGVsbG8="), "messages.0.content.0.pdf.source.base64.data: The PDF specified was not valid."),
        (
            {"model": FORTY_FIVE, "messages": messages("a", "", "b")},
            "messages.1: all messages must have non-empty content except for the optional final assistant message",
        ),
    ],
)
def test_a_request_is_refused_in_the_vendors_words(body: dict[str, Any], message: str) -> None:
    answer = asked(body)
    said = answer.json()
    assert (answer.status, answer.headers["x-should-retry"]) == (400, "false")
    assert said["request_id"] == answer.headers["request-id"]
    assert said["error"]["type"] == "invalid_request_error"
    assert said["error"]["message"][: len(message)] == message
    # What is refused when it is asked is refused when it is counted.
    if not {"max_tokens", "thinking", "zzz"} & body.keys() and not answer.plan.refusal.violations:  # type: ignore[union-attr]
        fields = ("model", "messages", "tools", "tool_choice", "system", "output_config")
        counted = {"model": FORTY_FIVE, "messages": [HI], **{key: body[key] for key in fields if key in body}}
        if counted.keys() >= body.keys():
            assert ask("anthropic", counted, path="/v1/messages/count_tokens").json()["error"] == said["error"]


@pytest.mark.parametrize(
    "said, message",
    [
        ([[]], "messages.1: system content must contain at least one block"),
        ([[], HI], "messages.1: system content must contain at least one block"),
        ([[result()], HI], "messages.1: role 'system' supports text, tool_addition, and tool_removal blocks only"),
        (
            ["Be brief.", "Be kind.", HI],
            f"messages.2: role 'system' must precede an 'assistant' message or end {ANYWHERE}",
        ),
        ([" ", HI], f"messages.1: role 'system' must precede an 'assistant' message or end {ANYWHERE}"),
        ([[text("Be brief."), text("")]], "messages.1: system text blocks must contain non-whitespace text"),
        (
            [{"role": "assistant", "content": "a"}, "Be brief."],
            f"messages.2: role 'system' must follow a 'user' message or an 'assistant' message ending in {RESULT}",
        ),
    ],
)
def test_a_system_message_stands_between_the_user_and_the_assistant(said: list[Any], message: str) -> None:
    conversation = [HI, *(each if isinstance(each, dict) else {"role": "system", "content": each} for each in said)]
    answer = asked({"model": OPUS_4_8, "messages": conversation})
    assert (answer.status, answer.json()["error"]["message"]) == (400, message)


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


STRING, NULLABLE = {"type": "string"}, {"type": ["string", "null"]}
LINKED = {"$ref": "#/$defs/Node"}


@pytest.mark.parametrize(
    "schemas, message",
    [
        ([closed(city={"title": "City"})], "Empty schema ({}) that accepts any JSON value is not supported."),
        ([closed(city=True)], "For 'object' type, property 'properties' is not supported"),
        ([closed(city={"oneOf": [STRING, NULLABLE]})], "Schema type 'oneOf' is not supported"),
        ([closed(city={**STRING, "not": {"const": ""}})], "Schema keyword 'not' is not supported"),
        ([closed(city={**STRING, "anyOf": [STRING], "discriminator": {}})], "For 'anyOf', 'discriminator, type'"),
        ([closed(city={**STRING, "format": "phone"})], "For 'string' type, format 'phone' is not supported"),
        ([closed(city={**STRING, "enum": []})], "Enum must be a non-empty array"),
        (
            [closed(count={"type": ["null", "integer"], "minimum": 1, "maximum": 2})],
            "For 'integer' type, properties maximum, minimum are not supported",
        ),
        (
            [closed(cities={"type": "array", "items": STRING, "maxItems": 2})],
            "For 'array' type, property 'maxItems' is not supported",
        ),
        (
            [closed(cities={"type": "array", "items": STRING, "minItems": 2})],
            "For 'array' type, 'minItems' values other than 0 or 1 are not supported",
        ),
        (
            [closed(pair={"type": "array", "items": [STRING, STRING]})],
            "Invalid schema: Array types must be specified with a single object schema for 'items'.",
        ),
        (
            [{**closed(head=LINKED), "$defs": {"Node": closed(next={"anyOf": [LINKED, {"type": "null"}]})}}],
            "Invalid schema: Circular reference detected in schema definitions: Node -> Node. Self-referencing or",
        ),
        ([closed()] * 21, "Too many strict tools (21). The maximum number of strict tools supported is 20."),
        ([{**closed(a=STRING, b=STRING, c=STRING), "required": ["a"]}] * 13, "Schemas contains too many optional"),
        ([closed(city=NULLABLE)] * 17, "Schemas contains too many parameters with union types (17 parameters with"),
        ([{**closed(a=STRING, b=STRING), "required": []}] * 12, ""),
        ([closed(city={**STRING, "minLength": 1, "format": "email"}, zone={"anyOf": [STRING], "title": "Zone"})], ""),
    ],
)
def test_a_strict_schema_keeps_to_what_the_grammar_supports(schemas: list[Any], message: str) -> None:
    tools = [{**TOOL, "name": f"tool_{n}", "strict": True, "input_schema": schema} for n, schema in enumerate(schemas)]
    asking: list[tuple[Any, str]] = [
        ({"tools": tools}, "" if message.startswith(("Schemas", "Too")) else "tools.0.custom: ")
    ]
    if len(schemas) == 1:
        form = {"format": {"type": "json_schema", "schema": schemas[0]}}
        asking.append(({"output_config": form}, "output_config.format.schema: "))
    for body, place in asking:
        answer = asked(body)
        said = answer.json().get("error", {}).get("message", "")
        assert (answer.status, said[: len(place + message)]) == ((400, place + message) if message else (200, ""))


@pytest.mark.parametrize(
    "headers, status, message",
    [
        ({"anthropic-version": ""}, 400, "anthropic-version: header is required"),
        ({"anthropic-version": "2025-11-01"}, 400, 'anthropic-version: "2025-11-01" is not a valid version'),
        (
            {**OLD, "anthropic-beta": "claude-code-20250219,output-2026-01-01,x-2026"},
            400,
            "Unexpected value(s) `x-2026` for the",
        ),
        ({"authorization": "", "anthropic-version": ""}, 401, "x-api-key header is required"),
    ],
)
def test_headers_are_looked_at_before_the_body(headers: dict[str, str], status: int, message: str) -> None:
    for path in ("/v1/messages", "/v1/messages/count_tokens", "/v1/models"):
        answer = ask("anthropic", {} if "messages" in path else None, path=path, headers=headers)
        assert (answer.status, answer.json()["error"]["message"][: len(message)]) == (status, message)


@pytest.mark.parametrize(
    "sent, fault",
    [
        (b"", "Input is a zero-length, empty document: line 1 column 1 (char 0)"),
        (b'{"model": ', "unexpected end of data: line 1 column 11 (char 10)"),
        (b'{"a": "\\ud83d"}', "no low surrogate in string: line 1 column 8 (char 7)"),
        (b'{"a": ' * 3_000, "depth limit exceeded: "),
    ],
)
def test_a_body_that_is_no_json_is_refused_in_the_parsers_words(sent: bytes, fault: str) -> None:
    answer = ask("anthropic", sent, headers=OLD)
    assert answer.status == 400
    assert answer.json()["error"]["message"].startswith(f"The request body is not valid JSON: {fault}")


def test_threads_models_and_keys_that_are_not_there_are_refused_with_codes_and_words_of_their_own() -> None:
    thread = asked({"thread": {"type": "new"}}, {**OLD, "anthropic-beta": "threads-2026-01-01"})
    assert (thread.status, thread.json()["error"]["details"]) == (400, {"error_code": "thread_unsupported_request"})
    closed = replace(QUIET, models={"anthropic": (OPUS_4_8,)}, auth=("sk-ant-api03-mine",))
    for key, model, status, words in (
        ("sk-ant-api03-mine", OPUS_4_8, 200, None),
        ("sk-ant-api03-mine", FABLE, 404, f"model: {FABLE}"),
        ("sk-ant-api03-yours", OPUS_4_8, 401, "API key is invalid."),
        ("yours", OPUS_4_8, 401, "invalid x-api-key"),
        ("sk-ant-oat01-yours", OPUS_4_8, 401, "Invalid bearer token"),
    ):
        answer = asked({"model": model}, {**OLD, "authorization": f"Bearer {key}"}, settings=closed)
        assert (answer.status, answer.json().get("error", {}).get("message")) == (status, words)
        assert status == 200 or answer.json()["request_id"] == answer.headers.get("request-id")
        assert ("request-id" in answer.headers) == (words != "API key is invalid.")


@pytest.mark.parametrize("field", ["temperature", "top_p", "top_k"])
def test_the_version_of_2026_has_no_sampling(field: str) -> None:
    assert asked({field: 1}, OLD).status == 200
    for value in (1, 1_000, "much"):
        refused = asked({field: value}, NEW)
        assert (refused.status, refused.json()["error"]["message"]) == (400, f"{field}: Extra inputs are not permitted")
    # What else is wrong comes first, as with any unknown field.
    assert "max_tokens" in asked({field: 1_000, "max_tokens": "many"}, NEW).json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [HI, HI, {"role": "assistant", "content": "a"}, HI]},
        {"messages": [{"role": "assistant", "content": "a"}, HI]},
        {"messages": [{**HI, "content": ""}, HI]},
        {"messages": messages("a", "")},
        # Newer models take no notice of an assistant that says nothing.
        {"model": OPUS_4_8, "messages": messages("a", "", "b")},
        {"messages": messages("a", "So")},
        # Whitespace that stands beside anything else (recorded).
        {"messages": messages("a", [text(" "), call()], [result()])},
        {"messages": messages("a", [text(" "), text("b")], "c")},
        {"messages": messages("a", [call()], [result(content=[text("Rain")]), text("And?")])},
        {"messages": messages("a", [call("x"), call("y")], [result("y"), result("x", content=...)])},
        {"messages": messages("a", [{"type": "thinking", "thinking": "", "signature": SIGNATURE}, text("b")], "c")},
        {"system": [text("Be brief.", cache_control=MARK)], "cache_control": MARK},
        {"tools": [TOOL, {"type": "web_search_20250305", "name": "web_search"}], "tool_choice": {"type": "none"}},
        {"tools": [{"type": "web_search_20250305", "name": "web_search", "strict": True}]},
        # Values are no schemas, though they look like some.
        {"tools": [{**TOOL, "strict": True, "input_schema": {**CLOSED, "examples": [{"city": {"type": "object"}}]}}]},
        {"output_config": {"format": {"type": "json_schema", "schema": {**CLOSED, "default": {"minimum": 1}}}}},
        {"model": OPUS_4_8, "messages": [HI, {"role": "system", "content": "Be brief."}]},
        {"metadata": {"user_id": "u"}, "service_tier": "standard_only", "stop_sequences": ["x"]},
        {"model": "claude-of-tomorrow", "temperature": 0.2, "top_p": 0.5, "top_k": 3},
    ],
)
def test_what_the_vendor_accepts_is_answered(body: dict[str, Any]) -> None:
    answer = asked(json.loads(json.dumps(body, default=lambda missing: None).replace(', "content": null', "")))
    assert (answer.status, answer.body if answer.status != 200 else b"") == (200, b"")


def test_a_stream_says_block_by_block_what_a_body_says_at_once() -> None:
    bodies: list[dict[str, Any]] = [
        {"max_tokens": 2048, "thinking": THINKING, "tools": [TOOL], "messages": messages("Weather in Oslo?")},
        {"max_tokens": 3000, "model": OPUS_4_8, "thinking": {"type": "adaptive"}, "messages": messages("Name a tide.")},
        {"stop_sequences": ["e"]},
        {"messages": messages(REDACT), "max_tokens": 2048, "thinking": THINKING},
    ]
    kinds = []
    for body in bodies:
        plain, events = asked(body).json(), asked({**body, "stream": True}).events()
        whole = _accumulated(events)
        for name in ("id", "content", "stop_reason", "stop_sequence", "stop_details"):
            # Ids belong to the request, which differs; signatures as well.
            assert _unsigned(whole[name]) == _unsigned(plain[name])
        assert whole["usage"] == plain["usage"]
        # Older models count thoughts only if they may have some (recorded).
        assert ("output_tokens_details" in plain["usage"]) == ("thinking" in body)
        kinds.append([[block["type"] for block in plain["content"]], plain["stop_reason"]])
        if plain["content"] and plain["content"][0]["type"] == "thinking":
            assert (plain["content"][0]["thinking"] == "") == (body.get("model") == OPUS_4_8)
    assert kinds == [
        [["thinking", "tool_use"], "tool_use"], [["thinking", "text"], "end_turn"], [["text"], "stop_sequence"],
        [["redacted_thinking", "text"], "end_turn"],
    ]  # fmt: skip


def _unsigned(value: Any) -> Any:
    """A value without what differs from request to request."""
    if isinstance(value, dict):
        return {key: _unsigned(each) for key, each in value.items() if key not in ("id", "signature", "data")}
    return [*map(_unsigned, value)] if isinstance(value, list) else None if str(value).startswith("msg_") else value


def _accumulated(events: list[Any]) -> dict[str, Any]:
    """The message that a stream makes, as a client puts it together."""
    assert [event["type"] for event in events if event["type"].startswith(("message", "ping"))] in (
        ["message_start", "ping", "message_delta", "message_stop"],
        ["message_start", "message_delta", "message_stop"],
    )
    message: dict[str, Any] = events[0]["message"]
    inputs: dict[int, str] = {}
    for event in events:
        place = event.get("index", 0)
        if event["type"] == "content_block_start":
            assert place == len(message["content"])
            message["content"].append(event["content_block"])
        elif event["type"] == "content_block_delta":
            for name, piece in event["delta"].items():
                if name == "partial_json":
                    inputs[place] = inputs.get(place, "") + piece
                elif name != "type":
                    message["content"][place][name] += piece
        elif event["type"] == "message_delta":
            message |= event["delta"]
            message["usage"] |= event["usage"]
    for place, said in inputs.items():
        message["content"][place]["input"] = json.loads(said or "{}")
    return message


@pytest.mark.parametrize(
    "tools, first",
    [
        ([{**TOOL, "description": LONG, "cache_control": MARK}], "a"),
        ([], [text(LONG, cache_control=MARK), text("a")]),
        ([], [{"type": "search_result", "source": "s", "title": LONG, "content": []}, text("a", cache_control=MARK)]),
    ],
    ids=["a tool", "a text", "a text after a search result"],
)
def test_a_mark_keeps_what_stands_before_it_wherever_it_is(tools: list[Any], first: Any) -> None:
    space, counts = Namespace(""), []
    for question in ("One?", "Two?"):
        body = {"model": "claude-sonnet-4-5", "tools": tools, "messages": messages(first, "b", question)}
        usage = asked(body, namespace=space).json()["usage"]
        counts.append((usage["cache_creation_input_tokens"] > 1024, usage["cache_read_input_tokens"] > 1024))
    assert counts == [(True, False), (False, True)]


@pytest.mark.parametrize("ttl, after", [("5m", 299), ("1h", 3_599)])
def test_a_marked_beginning_is_written_once_and_read_until_its_lifetime_ends(ttl: str, after: int) -> None:
    space = Namespace("")

    def usage(question: str, system: str = LONG) -> dict[str, Any]:
        marked = [text(system, cache_control={**MARK, "ttl": ttl})]
        body = {"model": "claude-sonnet-4-5", "system": marked, "messages": messages(question)}
        counts: dict[str, Any] = asked(body, namespace=space).json()["usage"]
        return counts

    first, second, other, short = (
        usage("One?"),
        usage("Two?"),
        usage("Three?", "Once. " + LONG),
        usage("?", "Be brief."),
    )
    written = first["cache_creation_input_tokens"]
    assert written > 1024
    assert first["cache_creation"][f"ephemeral_{ttl}_input_tokens"] == written == second["cache_read_input_tokens"]
    assert (first["cache_read_input_tokens"], second["cache_creation_input_tokens"]) == (0, 0)
    # What is read or written is not counted once more.
    assert first["input_tokens"] < 100
    assert other["cache_creation_input_tokens"] >= written
    assert short["cache_creation_input_tokens"] == short["cache_read_input_tokens"] == 0
    unmarked = {"model": "claude-sonnet-4-5", "system": LONG}
    assert asked(unmarked, namespace=space).json()["usage"]["cache_read_input_tokens"] == 0
    # The cache has the lifetime that the mark names.
    _, cache = next(iter(space.engines._known.values()))
    assert after < next(iter(cache.values())) <= after + 2


def test_images_documents_and_tools_count() -> None:
    def counted(**body: Any) -> int:
        answer = ask("anthropic", {"model": FORTY_FIVE, "messages": [HI], **body}, path="/v1/messages/count_tokens")
        return int(answer.json()["input_tokens"])

    def with_block(block: dict[str, Any]) -> int:
        return counted(messages=messages([text("Hello"), block])) - counted()

    png = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (300).to_bytes(4) + (200).to_bytes(4)).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    assert counted() == 8
    assert with_block(image) == 80
    assert with_block({"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}) > 1000
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}
    assert with_block(pdf) == 1500
    plain = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": LONG}}
    assert with_block(plain) > 1500
    with_tools = counted(tools=[TOOL])
    assert 430 < with_tools - counted() < 560
    assert counted(tools=[TOOL], tool_choice={"type": "any"}) - with_tools == 100
    # Of the fields of betas, those that the client sends to be counted.
    asking = {"model": FORTY_FIVE, "messages": [HI], "compaction": {"type": "summarize"}, "billing_policy": None}
    for headers, status in ((OLD, 400), ({**OLD, "anthropic-beta": "compact-2026-09-04"}, 200)):
        assert ask("anthropic", asking, path="/v1/messages/count_tokens", headers=headers).status == status


def test_models_are_listed_page_by_page_and_found_by_their_aliases() -> None:
    first = ask("anthropic", path="/v1/models?limit=4").json()
    assert (len(first["data"]), first["has_more"], first["first_id"]) == (4, True, first["data"][0]["id"])
    rest = ask("anthropic", path=f"/v1/models?limit=1000&after_id={first['last_id']}").json()
    assert (rest["has_more"], rest["data"][0]["id"] not in [row["id"] for row in first["data"]]) == (False, True)
    before = ask("anthropic", path=f"/v1/models?limit=2&before_id={rest['first_id']}").json()
    assert before["data"] == first["data"][2:]
    found = ask("anthropic", path="/v1/models/claude-haiku-4-5").json()
    assert (found["id"], found["display_name"]) == ("claude-haiku-4-5-20251001", "Claude Haiku 4.5")
    missing = ask("anthropic", path="/v1/models/claude-none")
    assert (missing.status, missing.json()["error"]["message"]) == (404, "model: claude-none")
    assert ask("anthropic", path="/v1/models?limit=0").status == 400


def test_parallel_calls_can_be_turned_off() -> None:
    body = {"tools": [TOOL], "messages": messages("What is the weather in Oslo, Bergen and Rome?"), "max_tokens": 500}
    counts = [
        len([block for block in asked({**body, **more}).json()["content"] if block["type"] == "tool_use"])
        for more in ({}, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}})
    ]
    assert counts == [3, 1]


def test_an_answer_in_a_schema_conforms_to_it() -> None:
    form = {"output_config": {"format": {"type": "json_schema", "schema": CLOSED}}, "max_tokens": 500}
    [block] = asked(form).json()["content"]
    assert json.loads(block["text"]).keys() == {"city"}


def test_friendli_ignores_marks_blocks_and_fields_that_it_does_not_know() -> None:
    unknown = [{"type": "document", "source": {}}, {"type": "search_result"}, text("Rain", cache_control=5)]
    # A beta of Anthropic's, and fields of chats.
    strange = ("output_format", "seed", "logit_bias", "frequency_penalty", "presence_penalty")
    for content in (unknown, [result(content=unknown)]):
        body = {"model": "meta-llama-3.1-8b-instruct", "messages": messages(content), **dict.fromkeys(strange, "x")}
        answer = ask("friendli", body, path="/serverless/v1/messages")
        assert (answer.status, answer.body if answer.status != 200 else b"") == (200, b"")


def test_no_tokens_only_fill_the_cache() -> None:
    answer = asked({"max_tokens": 0}).json()
    assert (answer["content"], answer["stop_reason"]) == ([], "max_tokens")


def test_a_beta_has_tools_of_its_own() -> None:
    tool = {"type": "computer_20251124", "name": "computer", "display_width_px": 1, "display_height_px": 1}
    headers = {**OLD, "anthropic-beta": "computer-use-2025-11-24"}
    assert asked({"tools": [tool]}, headers).status == 200
    refused = asked({"model": SONNET_5_5, "tools": [tool]}, headers).json()["error"]["message"]
    assert refused == "'claude-sonnet-5-5' does not support tool types: computer_20251124."
    repeated = Headers((b"anthropic-beta", name) for name in (b"files-api-2025-04-14", b"computer-use-2025-11-24"))
    assert betas_of(Call("POST", "/v1/messages", repeated)) == "files-api-2025-04-14,computer-use-2025-11-24"


def test_a_call_that_is_cut_short_keeps_what_is_complete() -> None:
    schema = {"type": "object", "properties": {"path": {"enum": ["a.py"]}, "mode": {"enum": ["overwrite it"]}}}
    tool = {"name": "write", "input_schema": {**schema, "required": ["path", "mode"]}}
    call = {"tools": [tool], "tool_choice": {"type": "tool", "name": "write"}, "messages": messages("Write the file.")}
    for members, input_, said in (
        ({"max_tokens": 3}, {}, ""),
        ({"max_tokens": 12}, {"path": "a.py"}, '{"path": "a.py"'),
        ({"stop_sequences": ["write"]}, {"path": "a.py", "mode": "over"}, '{"path": "a.py", "mode": "over"}'),
        ({"stop_sequences": ["mode"]}, {"path": "a.py"}, '{"path": "a.py"}'),
    ):
        plain, events = asked({**call, **members}).json(), asked({**call, **members, "stream": True}).events()
        assert plain["content"][0]["input"] == input_
        assert plain["stop_reason"] == ("max_tokens" if "max_tokens" in members else "stop_sequence")
        pieces = [event["delta"]["partial_json"] for event in events if event["type"] == "content_block_delta"]
        assert "".join(pieces) == said
        # Nothing ends a block that a limit has cut short (recorded).
        assert ("content_block_stop" in [event["type"] for event in events]) == ("stop_sequences" in members)
        assert plain["container"] is plain["diagnostics"] is events[-2]["delta"]["container"] is None
