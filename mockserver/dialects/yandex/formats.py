"""`response_format`: the format that an answer must have (vendor note A6)."""

from typing import Any

from mockserver.core.failures import Rejection
from mockserver.core.generation import Constraint
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.yandex.errors import fault
from mockserver.model.schema import schema_fault

# The keywords that distinguish a schema from the object around one.
_KEYWORDS = frozenset((
    "type", "properties", "items", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "$ref", "$dynamicRef",
    "$defs", "definitions", "prefixItems", "contains", "required", "additionalProperties", "patternProperties",
    "propertyNames", "dependentRequired", "dependentSchemas", "minProperties", "maxProperties", "minItems",
    "maxItems", "uniqueItems", "pattern", "format", "minLength", "maxLength", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "unevaluatedProperties", "unevaluatedItems", "$schema",
))  # fmt: skip


def read_format(form: Body | None) -> Constraint | None:
    """The constraint that a `response_format` puts on the answer; None if any text will do."""
    if form is None or form["type"] == "text":
        return None
    _, schema = _schema(form)
    return Constraint("json_object") if schema is None else Constraint("json_schema", schema)


def format_fault(form: Body | None) -> Rejection | None:
    """The refusal of a schema that is invalid or unsatisfiable; None if there is no such fault."""
    field, schema = ("", None) if form is None else _schema(form)
    reason = None if schema is None else schema_fault(schema)
    return fault(field, f"is a schema that no answer could keep to: {reason}") if reason else None


def _schema(form: Body) -> tuple[str, Any]:
    """The field with the schema of a format, and the schema, None if there is none."""
    if form["type"] != "json_schema":
        return "response_format", None
    given = form["json_schema"]
    if "schema" in given:
        return "response_format.json_schema.schema", given["schema"]
    # The page demands a name and a schema; an example in the vendor's documentation has the bare schema instead.
    bare = not _KEYWORDS.isdisjoint(given)
    return "response_format.json_schema", given if bare else None
