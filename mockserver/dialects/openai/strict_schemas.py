"""Schemas that OpenAI refuses: of functions, which must be objects, and of strict functions and formats, for which only
a part of JSON Schema is supported."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from mockserver.core.failures import FailureKind, Refusal
from mockserver.dialects.openai.read import parameters_fault
from mockserver.dialects.openai.refusals import LONGEST_ECHO
from mockserver.model.schema import schema_fault

Schema = Mapping[str, Any]

# The limits of strict schemas.
_MOST_PROPERTIES, _MOST_LEVELS, _MOST_CHARACTERS, _MOST_VALUES = 5_000, 10, 120_000, 1_000
# An enumeration of more texts than this may have so many characters.
_MANY_TEXTS, _MOST_IN_TEXTS = 250, 15_000
_NOT_PERMITTED = (
    "allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else", "oneOf", "patternProperties",
    "unevaluatedProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedItems", "contains",
    "minContains", "maxContains", "uniqueItems",
)  # fmt: skip
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
# Members of a schema that hold schemas by name.
_NAMED = ("properties", "$defs", "definitions")


class _Subschema(NamedTuple):
    """A schema within a schema: where it is, and in how many objects and arrays."""

    path: tuple[str, ...]
    schema: Schema
    level: int


def schema_refusal(form: Mapping[str, Any], where: str) -> Refusal | None:
    """The refusal of the schema of a format or of a function; None if it is supported, or absent.

    `form` has `name`, `strict` and either `schema` or `parameters`. `where` is the parameter to blame: of formats
    `response_format` or `text.format.schema`, of functions a path that ends with `parameters`.
    """
    function = where.endswith("parameters")
    schema = form.get("parameters" if function else "schema")
    if schema is None or (function and not schema):
        return None
    fault = _fault(form, schema, function=function)
    if fault is None:
        return None
    what = "function" if function else "response_format"
    code = "invalid_function_parameters" if function else None if where == "response_format" else "invalid_json_schema"
    words = f"Invalid schema for {what} '{form['name']}': {fault}"
    return Refusal(FailureKind.INVALID_REQUEST, words, where, code=code)


def strict_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool of a response as the vendor takes it (recorded): a function that does not say whether it is strict is made
    strict, if its schema can be. Objects then require all of their properties, and have no others."""
    if tool["type"] == "namespace":
        return {**tool, "tools": [strict_tool(each) for each in tool["tools"]]}
    if tool["type"] != "function" or tool.get("strict") is not None:
        return tool
    if tool.get("parameters"):
        made = {**tool, "parameters": _closed(tool["parameters"]), "strict": True}
        if schema_refusal(made, "parameters") is None:
            return made
    return {**tool, "strict": False}


def _closed(schema: Schema) -> dict[str, Any]:
    """A schema whose objects require all of their properties, and have no others unless it says so."""
    closed: dict[str, Any] = orjson.loads(orjson.dumps(schema))
    for part in _parts(closed):
        inner: Any = part.schema
        if isinstance(inner.get("properties"), Mapping):
            listed = inner.get("required")
            required = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
            inner["required"] = [*dict.fromkeys((*required, *inner["properties"]))]
            inner.setdefault("additionalProperties", False)
    return closed


def _fault(form: Mapping[str, Any], schema: Schema, *, function: bool) -> str | None:
    if (function or form.get("strict")) and schema.get("type") != "object":
        return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
    if form.get("strict"):
        found = _size_fault(schema) or next(filter(None, map(_strict_fault, _parts(schema))), None)
    else:
        found = next(filter(None, map(_open_fault, _parts(schema))), None) if function else None
    if found is not None:
        return found
    reason = parameters_fault(form) if function else schema_fault(schema)
    return None if reason is None else _malformed(schema) or f"no value can conform to it: {reason}"


def _malformed(schema: Schema) -> str | None:
    """Why it is no JSON Schema at all, in the words of the library that the vendor uses too: it is slow, and only asked
    about the keyword that is wrong."""
    from jsonschema import Draft202012Validator  # slow to import, and rarely needed
    from jsonschema_rs import ValidationError, meta

    try:
        meta.validate(dict(schema))
    except ValidationError as error:
        part: Any = schema
        wrong = dict[str, Any]()
        for step in error.instance_path:
            part = part[step]
            wrong = {step: part} if isinstance(step, str) else wrong
        faults = Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(wrong)
        return next((f"{fault.message[:LONGEST_ECHO]}." for fault in faults), None)
    return None


def _parts(schema: Schema) -> Iterator[_Subschema]:
    """All schemas within a schema, itself first; references are not followed."""
    waiting = [_Subschema((), schema, 0)]
    while waiting:
        part = waiting.pop()
        yield part
        level = part.level + ("properties" in part.schema or "items" in part.schema)
        waiting += [_Subschema((*part.path, *step), inner, level) for step, inner in reversed([*_steps(part.schema)])]


def _steps(schema: Schema) -> Iterator[tuple[tuple[str, ...], Schema]]:
    for name in _NAMED:
        held = schema.get(name)
        if isinstance(held, Mapping):
            yield from (((name, key), inner) for key, inner in held.items() if isinstance(inner, Mapping))
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        yield from ((("anyOf", str(n)), inner) for n, inner in enumerate(choices) if isinstance(inner, Mapping))
    if isinstance(schema.get("items"), Mapping):
        yield ("items",), schema["items"]


def _has_type(schema: Schema, name: str) -> bool:
    kind = schema.get("type")
    return kind == name or (isinstance(kind, list) and name in kind)


def _open_fault(part: _Subschema) -> str | None:
    """What is wrong with a part of any function's parameters."""
    schema = part.schema
    if not part.path and "properties" not in schema:
        return "In context=(), object schema missing properties."
    if _has_type(schema, "array") and "items" not in schema:
        return f"In context={part.path}, array schema missing items."
    return None


def _strict_fault(part: _Subschema) -> str | None:
    """What is wrong with a part of a strict schema."""
    schema, where = part.schema, f"In context={part.path}, "
    if _has_type(schema, "object"):
        if schema.get("additionalProperties") is not False:
            return f"{where}'additionalProperties' is required to be supplied and to be false."
        listed, required = schema.get("properties"), schema.get("required")
        names = required if isinstance(required, list) else []
        known = listed if isinstance(listed, Mapping) else {}
        rule = f"{where}'required' is required to be supplied and to be an array including every key in properties."
        unlisted = set(known).difference(name for name in names if isinstance(name, str))
        missing = next((key for key in known if key in unlisted), None)
        if missing is not None:
            return f"{rule} Missing '{missing}'."
        extra = next((name for name in names if isinstance(name, str) and name not in known), None)
        if extra is not None:
            return f"{rule} Extra required key '{extra}' supplied."
    if _has_type(schema, "array") and "items" not in schema:
        return f"{where}array schema missing items."
    word = next((word for word in _NOT_PERMITTED if word in schema), None)
    if word is not None:
        return f"{where}'{word}' is not permitted."
    if schema.get("format", _FORMATS[0]) not in _FORMATS:
        return f"{where}{str(schema['format'])[:LONGEST_ECHO]!r} is not a valid format."
    if not any(word in schema for word in ("type", "$ref", "anyOf", "enum", "const")):
        return f"{where}schema must have a 'type' key."
    choices = schema.get("anyOf")
    if isinstance(choices, list) and _share_first_keys(choices):
        return f"{where}Objects provided via 'anyOf' must not share identical first keys."
    return None


def _share_first_keys(choices: list[Any]) -> bool:
    """Whether two objects begin with the same key, and with no constants to tell them apart."""
    seen: set[str] = set()
    for choice in choices:
        held = choice.get("properties") if isinstance(choice, Mapping) else None
        key = next(iter(held), None) if isinstance(held, Mapping) else None
        if key is None or held is None:
            continue
        first = held[key] if isinstance(held[key], Mapping) else {}
        values = [first["const"]] if "const" in first else first.get("enum")
        told = [f"{key}={value!r}"[:500] for value in values] if isinstance(values, list) else [key]
        if seen.intersection(told):
            return True
        seen.update(told)
    return False


def _size_fault(schema: Schema) -> str | None:
    """Which limit a strict schema exceeds."""
    properties = characters = values = deepest = 0
    for part in _parts(schema):
        deepest = max(deepest, part.level + ("properties" in part.schema or "items" in part.schema))
        for name in _NAMED:
            held = part.schema.get(name)
            if isinstance(held, Mapping):
                characters += sum(map(len, held))
                properties += len(held) if name == "properties" else 0
        listed = part.schema.get("enum")
        texts = [value for value in listed if isinstance(value, str)] if isinstance(listed, list) else []
        if len(texts) > _MANY_TEXTS and sum(map(len, texts)) > _MOST_IN_TEXTS:
            return (
                f"In context={part.path}, an enum of more than {_MANY_TEXTS} strings may have at most "
                f"{_MOST_IN_TEXTS} characters in total, but got {sum(map(len, texts))}."
            )
        characters += sum(map(len, texts)) + len(str(part.schema.get("const", "")))
        values += len(listed) if isinstance(listed, list) else 0
    if deepest > _MOST_LEVELS:
        return f"{deepest} levels of nesting exceeds limit of {_MOST_LEVELS}."
    counts = (
        (properties, _MOST_PROPERTIES, "object properties total"),
        (values, _MOST_VALUES, "enum values in total"),
        (characters, _MOST_CHARACTERS, "characters in names and values in total"),
    )
    over = next((each for each in counts if each[0] > each[1]), None)
    return None if over is None else f"Expected at most {over[1]} {over[2]} within a schema, but got {over[0]}."
