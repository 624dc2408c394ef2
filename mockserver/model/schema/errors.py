"""The errors of schemas."""


class UnsatisfiableSchemaError(ValueError):
    """A schema to which no value conforms, or none that could be found; the message says so in a plain sentence."""


class InvalidSchemaError(UnsatisfiableSchemaError):
    """A value that is not a JSON Schema, or a schema with a dangling reference; the message says which."""


class SchemaLimitError(UnsatisfiableSchemaError):
    """A schema that is too large, or whose check would take too long; the message says what is too much."""
