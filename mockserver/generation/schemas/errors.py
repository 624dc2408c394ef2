"""What can be wrong with a schema."""


class UnsatisfiableSchemaError(ValueError):
    """A schema that nothing keeps to, or nothing that could be found; the text says so in a plain sentence."""


class InvalidSchemaError(UnsatisfiableSchemaError):
    """A value that is no JSON Schema, or one that refers to what is not there; the text says which."""
