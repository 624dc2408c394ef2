"""JSON Schemas, and values that keep to them.

What solves them is loaded with the first schema that comes: most servers never see one, and start the sooner.
"""

from mockserver.generation.schemas.errors import InvalidSchemaError, UnsatisfiableSchemaError

__all__ = [
    "InvalidSchemaError",
    "UnsatisfiableSchemaError",
    "check_schema",
    "is_recursive",
    "schema_fault",
    "write_instance",
]


def check_schema(schema: object) -> None:
    """Raise UnsatisfiableSchemaError unless the schema is one (InvalidSchemaError) and something keeps to it."""
    from mockserver.generation.schemas import instances

    instances.check_schema(schema)


def schema_fault(schema: object) -> str | None:
    """Why no value can conform to a schema, in a sentence; None if one can."""
    try:
        check_schema(schema)
    except UnsatisfiableSchemaError as error:
        return str(error)
    return None


def write_instance(schema: object, key: int, language: str, subject: str, *, complete: bool = False) -> str:
    """The JSON text, compact, of a value that keeps to the schema.

    `key` is a derived seed, `language` and `subject` are what its texts are in and about. A `complete` one has the
    optional properties too, as far as they go together. Raises UnsatisfiableSchemaError.
    """
    from mockserver.generation.schemas import instances

    return instances.write_instance(schema, key, language, subject, complete=complete)


def is_recursive(schema: object) -> bool:
    """Whether a schema refers to one that it is a part of, if only by way of others. Raises InvalidSchemaError."""
    from mockserver.generation.schemas import instances

    return instances.is_recursive(schema)
