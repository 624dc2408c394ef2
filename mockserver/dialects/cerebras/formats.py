"""`response_format`: the format that an answer must have, and the schemas that are refused."""

from typing import Any

from mockserver.core.dialects import Edition
from mockserver.core.failures import Rejection
from mockserver.core.generation import Constraint
from mockserver.dialects.cerebras.refusals import refused
from mockserver.dialects.cerebras.strictness import form_fault
from mockserver.dialects.openai.fields import Body
from mockserver.model.schema import schema_fault


def read_format(form: Body | None) -> Constraint | None:
    """The constraint of a `response_format`; None if any text will do."""
    if form is None or form["type"] == "text":
        return None
    schema = _schema(form)
    return Constraint("json_object") if schema is None else Constraint("json_schema", schema)


def format_fault(form: Body | None, edition: Edition) -> Rejection | None:
    """The refusal of a schema that is invalid, unsatisfiable, or not supported by the service."""
    schema = None if form is None else _schema(form)
    if form is None or schema is None:
        return None
    if edition == "observed" and form["json_schema"].get("strict"):
        unsupported = form_fault(schema)
        if unsupported:
            return refused(unsupported, "response_format")
    reason = schema_fault(schema)
    return refused(f"No answer could keep to the JSON schema: {reason}", "response_format") if reason else None


def _schema(form: Body) -> Any:
    """The schema of a format, None if it has none."""
    return form["json_schema"].get("schema") if form["type"] == "json_schema" else None
