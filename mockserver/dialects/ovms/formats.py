"""`response_format`, which the server of today takes, in its two forms (vendor note 6)."""

from collections.abc import Mapping
from typing import Any

from mockserver.core.dialects import Edition
from mockserver.core.generation import Constraint
from mockserver.generation.schemas import UnsatisfiableSchemaError, check_schema


def read_format(form: Mapping[str, Any] | None, edition: Edition) -> Constraint | None:
    """What a form demands of the answer; None where any text will do, and always with the older server."""
    schema = _schema(form) if form is not None and edition == "observed" else None
    if schema is None:
        return None
    try:
        check_schema(schema)
    except UnsatisfiableSchemaError:
        # "a schema the engine cannot use is dropped silently, the request still runs"
        return None
    return Constraint("json_schema", schema)


def _schema(form: Mapping[str, Any]) -> Any:
    """The schema of `{"type": "json_schema"}`, or of a structural tag that is one; None where there is none."""
    tag = form.get("format") if form.get("type") == "structural_tag" else form
    if not isinstance(tag, dict) or tag.get("type") != "json_schema":
        return None
    asked = tag.get("json_schema")
    return asked.get("schema", None if tag is form else asked) if isinstance(asked, dict) else asked
