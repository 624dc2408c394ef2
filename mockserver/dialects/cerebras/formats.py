"""`response_format`: the form that an answer must have, and what the service has none for."""

from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.dialects import Edition
from mockserver.core.failures import Rejection
from mockserver.core.generation import Constraint
from mockserver.dialects.cerebras.fields import Body
from mockserver.dialects.cerebras.refusals import refused

# Keywords that the service's strict mode has been seen to refuse, by the type that they say something of.
_UNSUPPORTED = {
    "string": ("format", "pattern", "minLength", "maxLength"),
    "array": ("minItems", "maxItems", "uniqueItems"),
}


def read_format(form: Body | None) -> Constraint | None:
    """What a `response_format` demands; None where any text will do."""
    if form is None or form["type"] == "text":
        return None
    schema = _schema(form)
    return Constraint("json_object") if schema is None else Constraint("json_schema", schema)


def format_fault(form: Body | None, edition: Edition) -> Rejection | None:
    """The refusal of a schema that is none, that no answer can keep to, or that the service does not support."""
    schema = None if form is None else _schema(form)
    if form is None or schema is None:
        return None
    if edition == "observed" and form["json_schema"].get("strict"):
        unsupported = next(_unsupported(schema), None)
        if unsupported:
            return refused(unsupported, "response_format")
    # Loaded with the first schema: most servers are never sent one.
    from mockserver.generation.schemas import UnsatisfiableSchemaError, check_schema

    try:
        check_schema(schema)
    except UnsatisfiableSchemaError as error:
        return refused(f"No answer could keep to the JSON schema: {error}", "response_format")
    return None


def _schema(form: Body) -> Any:
    """The schema of a form, None where there is none."""
    return form["json_schema"].get("schema") if form["type"] == "json_schema" else None


def _unsupported(schema: Mapping[str, Any]) -> Iterator[str]:
    """What strict mode does not take, in the recorded words."""
    if "allOf" in schema:
        yield "Extra top level keys found in JSON schema: {'allOf'}."
    for part in _objects(schema):
        kind = part.get("type")
        found = [word for word in _UNSUPPORTED.get(kind, ()) if word in part] if isinstance(kind, str) else []
        if found:
            yield f"Invalid fields for schema with types ['{kind}']: {{{', '.join(map(repr, found))}}}"


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """All objects within a JSON value, itself among them."""
    if isinstance(value, Mapping):
        yield value
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _objects(inner)
