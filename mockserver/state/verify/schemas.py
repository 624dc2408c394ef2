"""JSON Schemas written by users, and the values that break them.

Patterns in such a schema have JSON Schema's syntax, not Python's, and a search for one is limited to a number of steps.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind

from mockserver.model.schema import SchemaLimitError, UnsatisfiableSchemaError

# How many characters of a message are shown.
_MOST_SHOWN = 300


class SchemaError(ValueError):
    """A value that is not a JSON Schema; the message says why."""


class Breach(NamedTuple):
    """Where a value breaks a schema, and how. `is_certain` is false if a search was given up."""

    place: str
    message: str
    is_certain: bool = True


def read_schema(schema: object) -> Callable[[object], Breach | None]:
    """A function that finds a value's first breach of a schema. Raises SchemaError; references are never fetched."""
    if not isinstance(schema, dict | bool):
        raise SchemaError("it must be an object or a boolean")
    try:
        # Loaded with the first schema, since it takes long. What a check costs is known before a validator is made.
        from mockserver.model.schema.documents import PATTERNS, Document

        allows = Document(schema, 2020).reach.allows
        validator = Draft202012Validator(schema, retriever=_refuse, pattern_options=PATTERNS)
    except SchemaLimitError as error:
        raise SchemaError(f"it would take too long to check: {error}") from None
    except (ValueError, UnsatisfiableSchemaError) as error:
        raise SchemaError(f"{getattr(error, 'message', error)}"[:_MOST_SHOWN]) from None

    def first_breach(value: object) -> Breach | None:
        if not allows(value):
            return Breach("$", "it takes too long to check such a value, so this was not checked", is_certain=False)
        return next(map(_breach, islice(validator.iter_errors(value), 1)), None)

    return first_breach


def _refuse(uri: str) -> Any:
    raise LookupError(f"{uri} is not in the schema")


def _breach(error: ValidationError) -> Breach:
    place = "$" + "".join(_step(step) for step in error.instance_path)
    if isinstance(error.kind, ValidationErrorKind.BacktrackLimitExceeded):
        return Breach(place, "a pattern takes too long, so this was not checked", is_certain=False)
    return Breach(place, error.message[:_MOST_SHOWN])


def _step(step: Any) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() else f"[{step!r}]"
