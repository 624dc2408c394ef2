"""What a tool is called with: JSON that its schema accepts, with what the prompt plainly names in its place.

Arguments are an instance of the schema, in which a property then takes what the prompt offers for it (a city, a number
of days, a word of an enumeration), as long as the schema still accepts the whole.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from mockserver.core.generation import Constraint, Prompt, Tool
from mockserver.core.seeding import Draws, derive
from mockserver.generation import corpus
from mockserver.generation.mentions import is_clear, names, number_for, numbers, texts_for
from mockserver.generation.patterns import write_match
from mockserver.generation.schemas import schema_fault, write_instance
from mockserver.generation.schemas.documents import Document
from mockserver.generation.subject import brief
from mockserver.generation.terms import terms

Schema = Mapping[str, Any]

_TRIED = 4
_STRETCH = 1200
_LONGEST_INPUT = 400
_LONGEST_NUMBER = 15


def write_arguments(tool: Tool, prompt: Prompt, key: int, about: frozenset[str], things: Sequence[str]) -> list[str]:
    """The arguments of a function's calls: of one, or of one for each of the `things`, where a property takes them.

    `about` are the tool's own terms, which are nobody's name.
    """
    schema = object_schema(tool.parameters)
    topic = prompt.topic
    base = _instance(schema, topic, key)
    taking = _taking(schema, topic, about, things, base)
    if taking is None:
        return [_text(_filled(base, schema, topic, about), schema)]
    rest = _filled(base, schema, topic, about)
    return [_text({**rest, taking: thing}, schema) for thing in things if _accepts(schema)({**rest, taking: thing})]


def write_input(tool: Tool, prompt: Prompt, key: int) -> str:
    """The free text that a custom tool is called with; one that its format accepts where it has one."""
    form = tool.parameters
    if isinstance(form, Constraint) and form.kind == "regex":
        return write_match(str(form.schema), Draws(key), whole=True)
    if "#code" in terms(f"{tool.name} {tool.description}"):
        return _code(tool, prompt, key)
    return next(texts_for("input", prompt.topic))[:_LONGEST_INPUT]


def object_schema(parameters: object) -> Schema:
    """The schema of a function's arguments, which are an object; without parameters one that has nothing in it."""
    if not isinstance(parameters, Mapping) or not parameters:
        return {"type": "object", "additionalProperties": False}
    return parameters if "type" in parameters else {"type": "object", **parameters}


def arguments_fault(parameters: Schema) -> str | None:
    """Why parameters describe no arguments that could be written; None when they do."""
    kind = parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return "must be a schema of type 'object'"
    return _fault_of(orjson.dumps(object_schema(parameters)))


@lru_cache(maxsize=512)
def _fault_of(schema: bytes) -> str | None:
    reason = schema_fault(orjson.loads(schema))
    return f"is no schema that arguments could satisfy: {reason}" if reason else None


def _instance(schema: Schema, topic: str, key: int) -> dict[str, Any]:
    about = brief(topic)
    text = write_instance(schema, derive(key, "arguments"), about.language, about.subject)
    written: dict[str, Any] = json.loads(text)
    return written


def _taking(
    schema: Schema, topic: str, about: frozenset[str], things: Sequence[str], base: Mapping[str, Any]
) -> str | None:
    """The property that takes one of several things; None where none does, or one takes them all."""
    if len(things) < 2:
        return None
    for name, own in _properties(schema):
        if _type(own) == "string" and "enum" not in own and things[0] in _texts(name, own, topic, about):
            taken = {**base, name: things[0]}
            return name if _accepts(schema)(taken) else None
    return None


def _filled(base: Mapping[str, Any], schema: Schema, topic: str, about: frozenset[str]) -> dict[str, Any]:
    """The instance with what the prompt offers for each property."""
    filled = _counted(base, schema, topic)
    taken: list[Any] = []
    for name, own in sorted(_properties(schema), key=lambda each: _is_vague(*each)):
        for offer in _offers(name, own, topic, about):
            changed = {**filled, name: offer}
            if not (_is_vague(name, own) and offer in taken) and _accepts(schema)(changed):
                filled = changed
                taken.append(offer)
                break
    return filled


def _is_vague(name: str, own: Schema) -> bool:
    """Whether a property holds a text of which nothing says what it is: others go before it."""
    return _type(own) == "string" and not {"enum", "const", "format"} & own.keys() and not _says_what(name, own)


def _says_what(name: str, own: Schema) -> bool:
    return is_clear(f"{name} {own.get('format', '')}", _described(own))


def _described(own: Schema) -> str:
    return own["description"] if isinstance(own.get("description"), str) else ""


def _counted(base: Mapping[str, Any], schema: Schema, topic: str) -> dict[str, Any]:
    """The instance with the prompt's numbers in order, where it has as many as there are properties for them."""
    wanted = [name for name, own in _properties(schema) if _type(own) in ("integer", "number") and "enum" not in own]
    found = [_number(text) for text in numbers(topic) if len(text) <= _LONGEST_NUMBER]
    counted = {**base, **dict(zip(wanted, found, strict=False))}
    return counted if len(found) == len(wanted) > 1 and _accepts(schema)(counted) else dict(base)


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


def _offers(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    """What the prompt offers for a property, best first."""
    if "const" in own:
        return []
    if isinstance(own.get("enum"), list):
        return _mentioned(own["enum"], topic)
    offer = _OFFERS.get(_type(own))
    return offer(name, own, topic, about)[:_TRIED] if offer else []


def _texts(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    """What the prompt offers for a text; one that nothing says more of takes the only name that there is."""
    if _says_what(name, own) or "format" in own:
        found = texts_for(f"{name} {own.get('format', '')}", topic, about, _described(own))
        return list(dict.fromkeys(text[:_LONGEST_INPUT] for text in found if text))
    only = {found.text for found in names(topic, about)}
    return list(only) if len(only) == 1 else []


def _wholes(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    return [int(text) for text in number_for(name, topic) if "." not in text and len(text) <= _LONGEST_NUMBER]


def _numbers(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    return [_number(text) for text in number_for(name, topic) if len(text) <= _LONGEST_NUMBER]


def _lists(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    """All names at once, for a list of texts."""
    items = own.get("items")
    if not isinstance(items, Mapping) or _type(items) != "string" or "enum" in items:
        return []
    texts = _texts(name, items, topic, about)
    return [texts] if texts else []


_OFFERS: dict[str, Callable[[str, Schema, str, frozenset[str]], list[Any]]] = {
    "string": _texts,
    "integer": _wholes,
    "number": _numbers,
    "array": _lists,
}


def _mentioned(values: Sequence[Any], topic: str) -> list[Any]:
    """The texts of an enumeration that the prompt mentions."""
    texts = (value for value in values if isinstance(value, str) and value)
    stretch = topic[:_STRETCH]
    found = ((re.search(rf"(?<!\w){re.escape(text)}(?!\w)", stretch, re.IGNORECASE), text) for text in texts)
    return [text for _, text in sorted((match.start(), text) for match, text in found if match)]


def _properties(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The properties of an object by name, references followed, and the one choice beside null made."""
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        yield from ((name, _plain(own, schema)) for name, own in properties.items() if isinstance(own, Mapping))


def _plain(own: Schema, root: Schema) -> Schema:
    if isinstance(own.get("$ref"), str):
        document = _document(orjson.dumps(root))
        found = document.resolve(own["$ref"], document.base)
        own = found.schema if found is not None and isinstance(found.schema, Mapping) else {}
    for choice in own.get("anyOf", ()) if isinstance(own.get("anyOf"), list) else ():
        if isinstance(choice, Mapping) and choice.get("type") != "null":
            return choice
    return own


def _type(own: Schema) -> str:
    kind = own.get("type")
    if isinstance(kind, list):
        return next((name for name in kind if name != "null"), "")
    return kind if isinstance(kind, str) else ""


def _text(value: Mapping[str, Any], schema: Schema) -> str:
    """The arguments as JSON, in the order of the schema."""
    order = [name for name, _ in _properties(schema) if name in value]
    return json.dumps(
        {name: value[name] for name in (*order, *(n for n in value if n not in order))}, ensure_ascii=False
    )


@lru_cache(maxsize=64)
def _document(schema: bytes) -> Document:
    return Document(orjson.loads(schema))


def _accepts(schema: Schema) -> Callable[[object], bool]:
    document = _document(orjson.dumps(schema))
    return lambda value: document.accepts(value) and document.accepts_formats(value)


def _code(tool: Tool, prompt: Prompt, key: int) -> str:
    """A snippet in the language that the tool runs."""
    wanted = f"{tool.name} {tool.description} {prompt.topic[:_STRETCH]}".lower()
    language = next((name for name in corpus.code() if re.search(rf"(?<![^\W_]){name}(?![^\W_])", wanted)), "python")
    return Draws(key).pick(corpus.code()[language]).replace("{name}", "solve")
