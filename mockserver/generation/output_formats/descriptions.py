"""Objects that prompts describe: by a schema, an example, a sketch, or the names of their keys."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.generation.output_formats.keys import keys_announced, named_keys
from mockserver.generation.output_formats.notes import like_text
from mockserver.generation.output_formats.pairs import stated_pairs
from mockserver.generation.output_formats.restrictions import restricted
from mockserver.generation.output_formats.sketches import sketched_object
from mockserver.generation.schemas import schema_fault

# How many characters of a prompt are searched for a description, and how many braces are tried.
SEARCHED = 20_000
_TRIED = 8

# The strings and constants of a Python dict, as which some prompts contain a schema.
_PYTHON = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'((?:[^'\\]|\\.)*)'|\b(True|False|None)\b")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_LONGEST_DICT = 8000
# What is said of a key whose value is a list of objects.
_OBJECTS = re.compile(
    r"(?:an? )?(?:list|array) of (?:(?:JSON )?(?:objects|dicts|dictionaries)|JSONs?)\b", re.IGNORECASE
)
# A line with a text as its only value: what is before the text, the text, and what is behind it.
_TEXT_LINE = re.compile(r"""(?m)^([ \t]*(?:"[^"\n]*"[ \t]*:[ \t]*)?")(?!.*"[ \t]*:)(.*)("[ \t]*(?:,[ \t]*)?)$""")

# Members of an object that make it a schema.
_KEYWORDS = frozenset(("type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf", "properties", "items"))
_LITERALS: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}


def described_object(prompt: Prompt) -> Any:
    """The schema of the object that a prompt describes; None if it describes none."""
    text = prompt.text[-SEARCHED:]
    announced = keys_announced(text)
    holder = next((name for name, note in announced.items() if _OBJECTS.match(note)), "")
    schema = _fitting(filter(_gives_objects, _object_schemas(text)), announced)
    if schema is None:
        stated = {name: {"const": value} for name, value in stated_pairs(prompt.topic).items()}
        named = named_keys(text, holder) or named_keys(text) or stated
        schema = _object_of(named) if named else None
    if holder and schema is not None and holder not in schema.get("properties", ()):
        # "with a 'grades' key as a list of objects": only one of these is described.
        schema = _object_of({holder: {"type": "array", "items": schema, "minItems": 1}})
    return restricted(schema, text)


def _object_of(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": parts, "required": list(parts)}


def _fitting(schemas: Iterator[Any], announced: Mapping[str, str]) -> Any:
    """The first schema that has one of the announced keys, else the first: prompts contain other objects, too."""
    first = None
    for schema in schemas:
        if not announced or not announced.keys().isdisjoint(schema.get("properties", ())):
            return schema
        first = first or schema
    return first


def _object_schemas(text: str) -> Iterator[dict[str, Any]]:
    """The schemas of the objects in a text: literal schemas, examples, and sketches of objects that are not JSON."""
    decoder, place = json.JSONDecoder(), -1
    for _ in range(_TRIED):
        place = text.find("{", place + 1)
        if place < 0:
            return
        try:
            found, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            schema = _dict_schema(text, place) or _quoting_schema(text, place) or sketched_object(text, place)
            if schema is not None:
                yield schema
            continue
        place = end - 1
        if isinstance(found, dict) and found:
            yield _schema_of(found)


def _quoting_schema(text: str, place: int) -> dict[str, Any] | None:
    """The schema of an example whose texts have quotes in them that are not escaped; None if it is something else."""
    written = text[place : place + _LONGEST_DICT]
    mended = _TEXT_LINE.sub(lambda line: line[1] + line[2].replace('"', "'") + line[3], written)
    if mended == written:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(mended)
    except (ValueError, RecursionError):
        return None
    return _schema_of(found) if found else None


def _dict_schema(text: str, place: int) -> dict[str, Any] | None:
    """The schema of a Python dict; None if there is none."""
    if not text.startswith("{'", place):
        return None
    written = _PYTHON.sub(_as_json, text[place : place + _LONGEST_DICT])
    try:
        found, _ = json.JSONDecoder().raw_decode(written)
    except (ValueError, RecursionError):
        return None
    return _schema_of(found) if found else None


def _as_json(found: re.Match[str]) -> str:
    text, word = found.groups()
    if word:
        return _PYTHON_WORDS[word]
    return found[0] if text is None else json.dumps(text.replace("\\'", "'"))


def _schema_of(found: dict[str, Any]) -> Any:
    """The object itself if it is a schema, else the schema of similar objects."""
    return found if _is_schema(found) else _like(found)


def _is_schema(found: Mapping[str, Any]) -> bool:
    """Whether an object is a schema, and no example that has a member `properties`."""
    parts = found.get("properties")
    if not isinstance(parts, dict):
        return isinstance(found.get("$ref"), str)
    stated = any(isinstance(part, dict) and not _KEYWORDS.isdisjoint(part) for part in parts.values())
    return all(isinstance(part, dict | bool) for part in parts.values()) and (stated or found.get("type") == "object")


def _like(value: Any, depth: int = 0) -> Any:
    """The schema of values similar to this one."""
    if isinstance(value, dict) and depth < 20:
        return _object_of({name: _like(part, depth + 1) for name, part in value.items()})
    if isinstance(value, list):
        return {"type": "array", "items": _like(value[0], depth + 1) if value else {"type": "string"}, "minItems": 1}
    return like_text(value) if isinstance(value, str) else {"type": _LITERALS.get(type(value), "string")}


def _gives_objects(schema: Any) -> bool:
    return schema.get("type", "object") == "object" and schema_fault(schema) is None
