"""JSON Schemas, and values that keep to them."""

from mockserver.generation.schemas.documents import InvalidSchemaError, UnsatisfiableSchemaError
from mockserver.generation.schemas.instances import check_schema, write_instance

__all__ = ["InvalidSchemaError", "UnsatisfiableSchemaError", "check_schema", "write_instance"]
