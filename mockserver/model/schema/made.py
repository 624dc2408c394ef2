"""Schemas that are in no document: keywords of our own, which express what JSON Schema cannot, and opposites."""

from mockserver.model.schema.documents import Node

TYPES = ("object", "string", "number", "array", "boolean", "null")

EXCLUDED = "\0excluded"  # Values that it must not be
NO_MULTIPLE = "\0noMultiple"  # a number that it must not be a multiple of
NO_PATTERN = "\0noPattern"  # a pattern that must not match
FORBIDDEN = "\0forbidden"  # properties that it must not have
EXTRA = "\0extra"  # (shape, schema): a property which the shape does not name, and its schema
NAMED = "\0named"  # (pattern, schema): a property whose name matches, and its schema
NAME = "\0name"  # the schema of some property's name
TWINS = "\0twins"  # two items must be equal
WHOLE = "\0whole"  # whether a number must, or must not, be whole


def opposite(node: Node) -> Node:
    """The schema of every value that does not conform to this one."""
    return node.made({"not": None}, {("not",): node})
