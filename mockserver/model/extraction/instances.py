"""Fills an instance of a schema with what a prompt names: a city, a number of days, a word of an enumeration, a person.

Each property of the instance takes a value that the prompt offers for it, if the schema accepts the whole object with
it. Objects within it are filled in the same way. A list of objects gets one for each name that one of their properties
can take, filled from the text between that name and the next.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.model.extraction.mentions import number_for, numbers, texts_for
from mockserver.model.extraction.names import names
from mockserver.model.extraction.shapes import (
    NUMERIC,
    Part,
    Schema,
    Shape,
    description_of,
    is_vague,
    known_schema,
    properties,
    says_what,
    type_of,
)
from mockserver.model.extraction.statements import truth, wanted_items
from mockserver.model.intent import STRETCH
from mockserver.model.literal_answers import sentiment
from mockserver.model.schema import schema_fault
from mockserver.model.terms import place_of

# Limits: how many offers are tried for a property, the length of a text and of a number in characters, how deep objects
# within objects are filled, and how many objects a list gets.
_TRIED = 4
_LONGEST_INPUT = 400
_LONGEST_NUMBER = 15
_DEEPEST = 3
_MOST_ROWS = 8


class _Filling(NamedTuple):
    """The source of values: the prompt's topic, and the terms that are no names (`about`)."""

    topic: str
    about: frozenset[str]
    guessing: bool
    taken: frozenset[str] = frozenset()  # texts already used in an object around this one


def filled(
    base: Mapping[str, Any], schema: Schema, topic: str, about: frozenset[str], *, guessing: bool
) -> dict[str, Any]:
    """The instance of a schema with what the prompt offers for each property; words in `about` are no names.

    With `guessing`, a string whose property does not tell what it means takes the only name in the prompt.
    """
    known = known_schema(schema)
    return _filled(base, known.shape, _Filling(topic, about, guessing), known.accepts, 0)


def is_told(schema: Schema, topic: str) -> bool:
    """Whether a prompt that is no question offers a value for every required property, and there are at least two of
    these. A value is a name, a number, or a word of an enumeration."""
    parts, required = dict(properties(schema, schema)), schema.get("required")
    if not isinstance(required, list) or len(required) < 2 or topic.rstrip().endswith(("?", "？")):
        return False
    filling = _Filling(topic, frozenset(), guessing=False)
    named = {found.text for found in names(topic)}

    def states(name: str) -> bool:
        own = parts.get(name, {})
        offers = [] if is_vague(name, own) else _offers(name, own, filling)
        if not offers:
            return False
        values = offers[0] if isinstance(offers[0], list) else [offers[0]]
        return type_of(own) in NUMERIC or "enum" in own or all(value in named for value in values)

    return all(map(states, required))


def with_wanted_items(schema: Any, topic: str) -> Any:
    """The schema with the number of items that the prompt asks for, if it is a list or has a single property that is
    one, and allows as many: "Generate three profiles"."""
    count = wanted_items(topic[:STRETCH])
    if count is None or not isinstance(schema, Mapping):
        return schema
    parts = schema.get("properties")
    named = parts.items() if isinstance(parts, Mapping) else ()
    lists = {name: _sized(own, count) for name, own in named if isinstance(own, Mapping) and type_of(own) == "array"}
    sized = schema
    if type_of(schema) == "array":
        sized = _sized(schema, count)
    elif len(lists) == 1:
        sized = {**schema, "properties": {**schema["properties"], **lists}}
    return sized if sized is not schema and schema_fault(sized) is None else schema


def _sized(own: Schema, count: int) -> Schema:
    least, most = own.get("minItems", count), own.get("maxItems", count)
    fits = isinstance(least, int) and isinstance(most, int) and least <= count <= most
    return {**own, "minItems": count, "maxItems": count} if fits else own


def texts_of(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    """What the prompt offers for a string; if its property does not tell what it means, an only name."""
    if says_what(name, own) or "format" in own:
        found = texts_for(f"{name} {own.get('format', '')}", topic, about, description_of(own))
        return list(dict.fromkeys(text[:_LONGEST_INPUT] for text in found if text))
    only = {found.text for found in names(topic, about)}
    return list(only) if len(only) == 1 else []


def _filled(
    base: Mapping[str, Any], shape: Shape, filling: _Filling, accepts: Callable[[object], bool], depth: int
) -> dict[str, Any]:
    instance = _counted(base, shape, filling, accepts)
    taken: list[Any] = []
    for name, own, vague in shape.clear_first:
        offers = _offers(name, own, filling) if filling.guessing or not vague else []
        for offer in offers:
            # A prompt may list the keys of an object, which are no values.
            key = isinstance(offer, str) and offer.lower() in shape.keys and "enum" not in own
            changed = {**instance, name: offer}
            if not key and not (vague and offer in taken) and accepts(changed):
                instance = changed
                taken.append(offer)
                break
    if depth < _DEEPEST:
        above = {offer for offer in taken if isinstance(offer, str)}
        filling = filling._replace(guessing=False, taken=filling.taken | above)
        for part in shape.parts:
            if isinstance(instance.get(part.name), dict | list):
                instance = {**instance, part.name: _within(part, instance, shape, filling, accepts, depth)}
    return shape.ordered(instance)


def _within(
    part: Part,
    instance: Mapping[str, Any],
    shape: Shape,
    filling: _Filling,
    accepts: Callable[[object], bool],
    depth: int,
) -> Any:
    """The value of a property, filled if it is an object or a list of objects."""
    name, own, _ = part

    def stands(value: object) -> bool:
        return accepts({**instance, name: value})

    value = instance[name]
    if isinstance(value, dict):
        return _filled(value, shape.of(name, own), filling, stands, depth + 1)
    items = own.get("items")
    if not (isinstance(value, list) and isinstance(items, Mapping) and value and isinstance(value[0], dict)):
        return value
    rows = _rows(value, shape.of(name, items), filling, depth)
    return rows if rows and stands(rows) else value


def _rows(base: Sequence[dict[str, Any]], item: Shape, filling: _Filling, depth: int) -> list[Any]:
    """An object for each name that one can take; the other objects stay if there is only one name and nothing else."""
    found = [name for name in names(filling.topic, filling.about) if name.text not in filling.taken]
    rows = []
    for place, (name, following) in enumerate(zip(found[:_MOST_ROWS], (*found[1:], None), strict=False)):
        about_name = filling.topic[name.start : following.start if following else None]
        blank = base[place % len(base)]
        row = _filled(blank, item, filling._replace(topic=about_name), lambda _: True, depth + 1)
        changed = [key for key in row if key not in blank or row[key] != blank[key]]
        if name.text in row.values():
            rows.append((row, len(changed)))
    if len(rows) == 1 and rows[0][1] == 1:
        return [rows[0][0], *base[1:]]
    return [row for row, _ in rows]


def _counted(
    base: Mapping[str, Any], shape: Shape, filling: _Filling, accepts: Callable[[object], bool]
) -> dict[str, Any]:
    """The instance with the prompt's numbers in order, if there are as many as numeric properties, and at least two;
    or a single one, with `guessing`."""
    wanted = shape.numeric
    if len(wanted) < (1 if filling.guessing else 2):
        return dict(base)
    found = [_number(text) for text in numbers(filling.topic) if len(text) <= _LONGEST_NUMBER]
    counted = {**base, **dict(zip(wanted, found, strict=False))}
    return counted if len(found) == len(wanted) and accepts(counted) else dict(base)


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


def _offers(name: str, own: Schema, filling: _Filling) -> list[Any]:
    """What the prompt offers for a property, best first."""
    if "const" in own:
        return []
    if isinstance(own.get("enum"), list):
        felt = sentiment(own["enum"], filling.topic)
        return _mentioned(own["enum"], filling.topic) if felt is None else [felt]
    offer = _OFFERS.get(type_of(own))
    return offer(name, own, filling.topic, filling.about)[:_TRIED] if offer else []


def _wholes(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    return [int(text) for text in number_for(name, topic) if "." not in text and len(text) <= _LONGEST_NUMBER]


def _numbers(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    return [_number(text) for text in number_for(name, topic) if len(text) <= _LONGEST_NUMBER]


def _lists(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    """All names together, for a list of strings."""
    items = own.get("items")
    if not isinstance(items, Mapping) or type_of(items) != "string" or "enum" in items:
        return []
    texts = texts_of(name, items, topic, about)
    return [texts] if texts else []


def _truths(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    stated = truth(name, topic[:STRETCH])
    return [] if stated is None else [stated]


_OFFERS: dict[str, Callable[[str, Schema, str, frozenset[str]], list[Any]]] = {
    "string": texts_of,
    "integer": _wholes,
    "number": _numbers,
    "array": _lists,
    "boolean": _truths,
}


def _mentioned(values: Sequence[Any], topic: str) -> list[Any]:
    """The strings of an enumeration that the prompt mentions, in its order."""
    texts = (value for value in values if isinstance(value, str) and value)
    stretch = topic[:STRETCH]
    found = ((place_of(text, stretch), text) for text in texts)
    return [text for _, text in sorted((place, text) for place, text in found if place is not None)]
