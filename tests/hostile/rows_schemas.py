"""Schemas that are small to send and long to check, to build, to solve or to keep."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.hostile.attack import Attack, request

Schema = dict[str, Any]


def shared(make: Callable[[Schema], Schema], depth: int = 41, **root: Any) -> Schema:
    """Definitions in a chain, each of which refers to the next more than once."""
    chain = {f"d{place}": make({"$ref": f"#/$defs/d{place + 1}"}) for place in range(depth)}
    return {"type": "object", "$defs": {**chain, f"d{depth}": {"type": "object"}}, "$ref": "#/$defs/d0", **root}


def one(**keywords: Any) -> Schema:
    return {"type": "object", "required": ["x"], "properties": {"x": keywords}, "additionalProperties": False}


def nested(make: Callable[[Any], Schema], depth: int) -> Any:
    schema: Any = {"type": "object"}
    for _ in range(depth):
        schema = make(schema)
    return schema


def tree(depth: int) -> Schema:
    below = tree(depth - 1) if depth else {"type": "string"}
    return {"type": "object", "properties": {"a": below, "b": below}, "required": ["a", "b"]}


def dynamic(depth: int) -> Schema:
    chain = {
        f"d{place}": {"$dynamicAnchor": f"a{place}", "allOf": [{"$dynamicRef": f"#a{place + 1}"}] * 2}
        for place in range(depth)
    }
    return {"type": "object", "$ref": "#/$defs/d0", "$defs": {**chain, "e": {"$dynamicAnchor": f"a{depth}"}}}


LONG = 10**18
# Each must be refused or answered, whatever the place in which it is sent.
SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    **{word: lambda word=word: shared(lambda ref: {word: [ref, ref]}) for word in ("allOf", "anyOf", "oneOf")},  # type: ignore[misc]
    "if, then and else": lambda: shared(lambda ref: {"if": ref, "then": ref, "else": ref}),
    "not": lambda: shared(lambda ref: {"not": {"allOf": [ref, ref]}}),
    "dependentSchemas": lambda: shared(lambda ref: {"required": ["a", "b"], "dependentSchemas": {"a": ref, "b": ref}}),
    "patternProperties": lambda: shared(lambda ref: {"required": ["a"], "patternProperties": {"^a": ref, "a$": ref}}),
    "items with contains": lambda: shared(lambda ref: {"type": ["object", "array"], "items": ref, "contains": ref}, 25),
    "prefixItems": lambda: shared(lambda ref: {"type": "array", "minItems": 2, "prefixItems": [ref, ref]}, 30),
    "propertyNames": lambda: shared(lambda ref: {"allOf": [{"propertyNames": ref}] * 2, "minProperties": 1}),
    "unevaluatedProperties": lambda: shared(lambda ref: {"allOf": [ref, ref]}, 14, unevaluatedProperties=False),
    "unevaluatedItems": lambda: shared(lambda ref: {"allOf": [ref, ref]}, 14, unevaluatedItems=False),
    "nested unevaluatedProperties": lambda: nested(lambda s: {"allOf": [s], "unevaluatedProperties": False}, 25),
    "$dynamicRef": lambda: dynamic(40),
    "references in circles": lambda: shared(lambda ref: {"allOf": [ref, {"$ref": "#/$defs/d0"}]}, 12),
    "a tree of 14 levels": lambda: tree(13),
    "levels": lambda: nested(lambda s: {"type": "object", "properties": {"a": s}}, 45),
    "properties": lambda: {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(20_000)}},
    "numbers": lambda: one(type="integer", allOf=[{"multipleOf": 2**60 + n} for n in range(2000)]),
    "multipleOf": lambda: one(type="number", multipleOf=5e-324, minimum=1e300),
    "minItems": lambda: one(type="array", minItems=LONG, uniqueItems=True),
    "maxItems": lambda: one(type="array", maxItems=LONG),
    "minLength": lambda: one(type="string", minLength=LONG),
    "maxLength": lambda: one(type="string", maxLength=LONG),
    "minProperties": lambda: one(type="object", minProperties=LONG),
    "minContains": lambda: one(type="array", contains={"type": "integer"}, minContains=LONG),
    "uniqueItems": lambda: one(type="array", uniqueItems=True, minItems=3000, items={"enum": list(range(2999))}),
    "a reference in place of a type": lambda: {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/x",
        "definitions": {"x": {"type": "string"}},
    },
    "references that are no addresses": lambda: one(anyOf=[{"$ref": "http://[::1"}, {"$ref": "http://a:b/"}]),
    "enum": lambda: one(enum=[f"value {n}" for n in range(20_000)]),
    "not an enum": lambda: nested(lambda s: {"not": s}, 40) | {"not": {"enum": list(range(20_000))}},
    "a catastrophic pattern": lambda: one(type="string", pattern="^(a|aa)+(?=b)c$", minLength=40),
    "a huge pattern": lambda: one(type="string", pattern="^(((a{1,999}){1,999}){1,999})$"),
    "patternProperties beside properties": lambda: {
        "type": "object",
        "properties": {f"p{n}": {"type": "string"} for n in range(800)},
        "patternProperties": {f"^p.*{n}$": {"minLength": 1} for n in range(800)},
    },
    "formats": lambda: one(allOf=[{"format": "email"}, {"format": "idn-hostname"}], type="string", minLength=5000),
}

CHAT: Schema = {"messages": [{"role": "user", "content": "Hi"}]}


def format_of(model: str) -> Callable[[Schema], Schema]:
    form = {"type": "json_schema"}
    return lambda schema: (
        CHAT
        | {
            "model": model,
            "response_format": form | {"json_schema": {"name": "x", "schema": schema}},
        }
    )


def tool_of(model: str) -> Callable[[Schema], Schema]:
    return lambda schema: (
        CHAT
        | {
            "model": model,
            "tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}],
            "tool_choice": "required",
        }
    )


def text_of(schema: Schema) -> Schema:
    return {"model": "m", "input": "Hi", "text": {"format": {"type": "json_schema", "name": "x", "schema": schema}}}


def serialized(schema: Schema) -> Schema:
    return CHAT | {"model": "m", "response_format": {"type": "json_object", "schema": json.dumps(schema)}}


# Where each vendor takes schemas: path, headers, body.
PLACES: Mapping[str, tuple[str, Mapping[str, str], Callable[[Schema], Schema]]] = {
    "cerebras' format": ("/cerebras/v1/chat/completions", {}, format_of("llama3.1-8b")),
    "cerebras' tool": ("/cerebras/v1/chat/completions", {}, tool_of("llama3.1-8b")),
    "friendli's format": (
        "/friendli/serverless/v1/chat/completions",
        {"x-mockserver-edition": "observed"},
        format_of("meta-llama-3.1-8b-instruct"),
    ),
    "friendli's serialized format": ("/friendli/serverless/v1/chat/completions", {}, serialized),
    "friendli's tool": ("/friendli/serverless/v1/chat/completions", {}, tool_of("meta-llama-3.1-8b-instruct")),
    "yandex' format": ("/yandex/v1/chat/completions", {}, format_of("gpt://b1/yandexgpt/latest")),
    "yandex' tool": ("/yandex/v1/chat/completions", {}, tool_of("gpt://b1/yandexgpt/latest")),
    "yandex' text": ("/yandex/v1/responses", {}, text_of),
    "ovms' format": ("/ovms/v3/chat/completions", {"x-mockserver-edition": "observed"}, format_of("m")),
    "ovms' tool": ("/ovms/v3/chat/completions", {}, tool_of("m")),
    "upstash's format": ("/upstash/llm/v1/chat/completions", {}, format_of("meta-llama/Meta-Llama-3-8B-Instruct")),
}


def attack(what: str, place: str) -> Attack:
    path, headers, body = PLACES[place]

    def act(port: int) -> None:
        status, answer = request(port, "POST", path, body(SCHEMAS[what]()), headers)
        assert status < 500, (status, answer[:500])

    return Attack(f"{what} in {place}", act)


def distinct_enums(port: int) -> None:
    for number in range(8):
        schema = one(enum=[f"{number} {place:012}" for place in range(20_000)])
        path, headers, body = PLACES["yandex' format"]
        status, answer = request(port, "POST", path, body(schema), headers)
        assert status < 500, (status, answer[:500])


def long_check(port: int) -> None:
    """A schema of the admin API that takes a long time for any body."""
    expected = {"schema": SCHEMAS["oneOf"]()}
    status, answer = request(port, "POST", "/_mockserver/verify", expected)
    assert status < 500, (status, answer[:500])


# Every schema in the first place, and some that differ in what they cost in all others.
ROWS: list[Attack] = [
    *(attack(what, "yandex' format") for what in SCHEMAS),
    *(
        attack(what, place)
        for place in PLACES
        for what in (
            "oneOf",
            "unevaluatedProperties",
            "a tree of 14 levels",
            "minItems",
            "a reference in place of a type",
        )
    ),
    Attack("8 different enums of 0.3 MB", distinct_enums),
    Attack("a schema to check bodies against", long_check),
]
