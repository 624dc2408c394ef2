"""Fills an instance of a schema with what a prompt names: a city, a number of days, a word of an enumeration, a person.

Each property of the instance takes a value that the prompt offers for it, if the schema accepts the whole object with
it. Objects within it are filled in the same way. A list of objects gets one for each name that one of their properties
can take, filled from the text between that name and the next.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from mockserver.model.extraction.assignments import LONGEST_NUMBER, assigned_to, listed_for, number_of
from mockserver.model.extraction.mentions import is_clear, texts_for
from mockserver.model.extraction.moments import moments
from mockserver.model.extraction.narrowed import Schema, type_of
from mockserver.model.intent import STRETCH, detect_intent
from mockserver.model.literal_answers import sentiment
from mockserver.model.schema.documents import SchemaNode
from mockserver.model.schema.instances import compiled
from mockserver.model.schema.texts import usual_words
from mockserver.model.terms import listed, names, number_for, numbers, place_of, words_in

Accepts = Callable[[object], bool]

# Limits: how many offers are tried for a property, the length of a text and of a number in characters, how deep objects
# within objects are filled, and how many objects a list gets.
_TRIED = 4
_LONGEST_INPUT = 400
_DEEPEST = 3
_MOST_ROWS = 8
# How many references and choices of a schema are followed.
_MOST_STEPS = 4
_NUMERIC = ("integer", "number")
_CHOICES = ("allOf", "anyOf")

# Words for what is so, and for what is not, by words of a property's name.
_STATES: tuple[tuple[frozenset[str], frozenset[str], frozenset[str]], ...] = tuple(
    (frozenset(names.split()), frozenset(so.split()), frozenset(not_so.split()))
    for names, so, not_so in (
        ("stock available availability", "available stock", "unavailable sold"),
        (
            "on enabled enable state active activate activated",
            "on enable enabled activate active",
            "off disable disabled deactivate inactive",
        ),
        ("open opened", "open opened", "closed close shut"),
        ("locked lock", "lock locked", "unlock unlocked"),
        ("married", "married", "single unmarried divorced"),
        ("urgent", "urgent urgently asap immediately", ""),
        ("done completed complete finished", "done completed finished", "pending unfinished incomplete"),
    )
)
_NEGATED = re.compile(
    r"\b(?:not|no|never|without|isn['’]t|aren['’]t|wasn['’]t|doesn['’]t|don['’]t|out of|no longer)((?: [^\W_]+){1,3})",
    re.IGNORECASE,
)


class SchemaPart(NamedTuple):
    """A property, with its own schema, and that of its `items`. A `vague` one does not tell what it means."""

    name: str
    own: Schema
    items: Schema
    vague: bool


class Shape:
    """The properties of an object as its schema has them, the clear ones first in `clear_first`. `numeric` names those
    that are numbers.
    """

    def __init__(self, node: SchemaNode) -> None:
        node = _plain(node)
        self.parts: list[SchemaPart] = []
        self._nodes: dict[str, SchemaNode] = {}
        named = node.schema.get("properties")
        for name, part in named.items() if isinstance(named, Mapping) else ():
            if isinstance(part, Mapping):
                self._nodes[name] = _plain(node.child("properties", name))
                own = self._nodes[name].schema
                items = isinstance(own.get("items"), Mapping) and _plain(self._nodes[name].child("items")).schema
                self.parts.append(SchemaPart(name, own, items or {}, _is_vague(name, own)))
        self.clear_first = sorted(self.parts, key=lambda part: part.vague)
        self.keys = {part.name.lower() for part in self.parts}
        self.numeric = [part.name for part in self.parts if type_of(part.own) in _NUMERIC and "enum" not in part.own]
        self._shapes: dict[tuple[str, ...], Shape] = {}

    def of(self, name: str, *within: str) -> "Shape":
        """The shape of the object that a property holds, or of those within, as its "items"."""
        found = self._shapes.get((name, *within))
        if found is None:
            node = self._nodes[name].child(*within) if within else self._nodes[name]
            found = self._shapes[name, *within] = Shape(node)
        return found

    def ordered(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """An object with its properties in the order of the schema."""
        order = dict.fromkeys([*(part.name for part in self.parts if part.name in value), *value])
        return {name: value[name] for name in order}


def shape_of(schema: Schema) -> Shape:
    """The shape of the object that a schema describes, perhaps read for an earlier request."""
    document = compiled(schema).document
    known: Shape | None = document.kept.get(Shape)
    if known is None:
        known = document.kept[Shape] = Shape(document.root)
    return known


def accepting(schema: Schema) -> Accepts:
    """A function that tells whether the schema accepts a value, including its formats."""
    return compiled(schema).document.accepts_formats


def _is_vague(name: str, own: Schema) -> bool:
    """Whether a property is a string with no hint at its meaning, so that others are filled first."""
    plain = type_of(own) == "string" and not {"enum", "const", "format"} & own.keys()
    return plain and not _says_what(name, own) and not usual_words(name, "en")


def _says_what(name: str, own: Schema) -> bool:
    """Whether a property tells what it means, by its name, its format or its description."""
    return is_clear(f"{name} {own.get('format', '')}", str(own.get("description", "")))


def _plain(node: SchemaNode) -> SchemaNode:
    """A schema with references followed, and `anyOf` or the like replaced by its first part other than null, in a few
    steps."""
    for _ in range(_MOST_STEPS):
        own = node.schema
        if isinstance(own.get("$ref"), str):
            found = node.document.find(own["$ref"], node.base)
            if found is None or not isinstance(found.schema, Mapping):
                break
            node = found
            continue
        if "properties" in own:
            break
        choices = ((keyword, place, each) for keyword in _CHOICES for place, each in enumerate(own.get(keyword, ())))
        chosen = (each[:2] for each in choices if isinstance(each[2], Mapping) and each[2].get("type") != "null")
        place = next(chosen, None)
        if place is None:
            break
        node = node.child(*place)
    return node


class _Filling(NamedTuple):
    """The source of values: the prompt's topic, and the terms that are no names (`about`).

    `taken` are texts that objects around this one have already, of which there are `depth`.
    """

    topic: str
    about: frozenset[str]
    guessing: bool
    taken: frozenset[str] = frozenset()
    depth: int = 0


def filled(
    base: Mapping[str, Any], schema: Schema, topic: str, about: frozenset[str] = frozenset(), *, guessing: bool = False
) -> dict[str, Any]:
    """The instance of a schema with what the prompt offers for each property; words in `about` are no names.

    With `guessing`, a string whose property does not tell what it means takes the only name in the prompt.
    """
    return _filled(base, shape_of(schema), _Filling(topic, about, guessing), accepting(schema))


def is_told(schema: Schema, topic: str) -> bool:
    """Whether a prompt that is no question offers a value for every required property, and there are at least two of
    these. A value is a name, a number, or a word of an enumeration."""
    required = schema.get("required")
    if not isinstance(required, list) or len(required) < 2 or topic.rstrip().endswith(("?", "？")):
        return False
    filling, named = _Filling(topic, frozenset(), guessing=False), {found.text for found in names(topic)}
    parts = {part.name: part for part in shape_of(schema).parts}
    for name in required:
        part = parts.get(name)
        if part is None or part.vague or not (offers := _offers(part, filling)):
            return False
        values = offers[0] if isinstance(offers[0], list) else [offers[0]]
        told = type_of(part.own) in _NUMERIC or "enum" in part.own or all(value in named for value in values)
        if not told:
            return False
    return True


def texts_of(name: str, own: Schema, topic: str, about: frozenset[str]) -> list[Any]:
    """What the prompt offers for a string; if its property does not tell what it means, the words that it usually has,
    or an only name."""
    form = str(own.get("format", ""))
    if _says_what(name, own) or form:
        # An address for mail is one, whoever attends.
        what = form if form and is_clear(form, "") else f"{name} {form}"
        stated = moments(topic[:STRETCH], form) if form else ()
        found = (*stated, *texts_for(what, topic, about, str(own.get("description", ""))))
        return list(dict.fromkeys(text[:_LONGEST_INPUT] for text in found if text))
    usual = usual_words(name, detect_intent(topic).language)
    if usual:
        return _mentioned(name, usual, topic)
    only = {found.text for found in names(topic, about)}
    return list(only) if len(only) == 1 else []


def _filled(base: Mapping[str, Any], shape: Shape, filling: _Filling, accepts: Accepts) -> dict[str, Any]:
    instance = _counted(base, shape, filling, accepts)
    taken: list[Any] = []
    offered: list[list[Any]] = []
    for part in shape.clear_first:
        name, own, _, vague = part
        offers = _offers(part, filling) if filling.guessing or not vague else []
        # Of two properties that mean the same, the second gets the second text: "from May 1 to May 5".
        turn = offered.count(offers) % max(len(offers), 1)
        offered.append(offers)
        assigned = [*assigned_to(name, filling.topic[:STRETCH])][:_TRIED]
        for offer in (*assigned, *offers[turn:], *offers[:turn]):
            # A prompt may list the keys of an object, which are no values.
            key = isinstance(offer, str) and offer.lower() in shape.keys and "enum" not in own
            changed = {**instance, name: offer}
            if not key and not (vague and offer in taken) and accepts(changed):
                instance = changed
                taken.append(offer)
                break
    if filling.depth < _DEEPEST:
        above = filling.taken.union(offer for offer in taken if isinstance(offer, str))
        within = filling._replace(guessing=False, taken=above, depth=filling.depth + 1)
        for part in shape.parts:
            if isinstance(instance.get(part.name), dict | list):
                instance = {**instance, part.name: _within(part, instance, shape, within, accepts)}
    return shape.ordered(instance)


def _within(part: SchemaPart, instance: Mapping[str, Any], shape: Shape, filling: _Filling, accepts: Accepts) -> Any:
    """The value of a property, filled if it is an object or a list of objects."""
    name = part.name

    def stands(value: object) -> bool:
        return accepts({**instance, name: value})

    value = instance[name]
    if isinstance(value, dict):
        return _filled(value, shape.of(name), filling, stands)
    if not (isinstance(value, list) and part.items and value and isinstance(value[0], dict)):
        return value
    rows = _rows(value, shape.of(name, "items"), filling)
    return rows if rows and stands(rows) else value


def _rows(base: Sequence[dict[str, Any]], item: Shape, filling: _Filling) -> list[Any]:
    """An object for each name that one can take; the other objects stay if there is only one name and nothing else."""
    found = [name for name in names(filling.topic, filling.about) if name.text not in filling.taken]
    rows = []
    for place, (name, following) in enumerate(zip(found[:_MOST_ROWS], (*found[1:], None), strict=False)):
        about_name = filling.topic[name.start : following.start if following else None]
        blank = base[place % len(base)]
        row = _filled(blank, item, filling._replace(topic=about_name), lambda _: True)
        changed = [key for key in row if key not in blank or row[key] != blank[key]]
        if name.text in row.values():
            rows.append((row, len(changed)))
    if len(rows) == 1 and rows[0][1] == 1:
        return [rows[0][0], *base[1:]]
    return [row for row, _ in rows]


def _counted(base: Mapping[str, Any], shape: Shape, filling: _Filling, accepts: Accepts) -> dict[str, Any]:
    """The instance with the numbers that the prompt states for properties, and the others in order for the rest, if
    there are as many, and at least two of all; or a single one, with `guessing`."""
    wanted = shape.numeric
    if len(wanted) < (1 if filling.guessing else 2):
        return dict(base)
    found = _read_numbers(numbers(filling.topic))
    if len(found) < len(wanted):
        return dict(base)
    own = {name: number for name in wanted for number in _read_numbers(number_for(name, filling.topic))[:1]}
    rest = [number for number in found if number not in own.values()]
    left = [name for name in wanted if name not in own]
    counted = {**base, **own, **dict(zip(left, rest, strict=False))}
    return counted if len(rest) == len(left) and accepts(counted) else dict(base)


def _read_numbers(texts: Iterable[str]) -> list[int | float]:
    return [number_of(text) for text in texts if len(text) <= LONGEST_NUMBER]


def _offers(part: SchemaPart, filling: _Filling) -> list[Any]:
    """What the prompt offers for a property, best first."""
    name, own, items, _ = part
    if "const" in own:
        return []
    if isinstance(own.get("enum"), list):
        felt = sentiment(own["enum"], filling.topic)
        return _mentioned(name, own["enum"], filling.topic) if felt is None else [felt]
    kind, offers = type_of(own), list[Any]()
    if kind == "string":
        offers = texts_of(name, own, filling.topic, filling.about)
    elif kind in _NUMERIC:
        found = _read_numbers(number_for(name, filling.topic))
        offers = [number for number in found if kind == "number" or isinstance(number, int)]
    elif kind == "boolean":
        stated = _truth(name, filling.topic[:STRETCH])
        offers = [] if stated is None else [stated]
    elif kind == "array" and isinstance(items.get("enum"), list):
        mentioned = _mentioned(name, items["enum"], filling.topic)
        offers = [mentioned] if mentioned else []
    elif kind == "array" and type_of(items) == "string":
        # All names together, or those of the list that some of them make.
        texts = texts_of(name, items, filling.topic, filling.about)
        together = listed(filling.topic, names(filling.topic, filling.about))
        named = listed_for(name, filling.topic[:STRETCH])
        texts = named if len(named) > 1 else [text for text in texts if text in together] or texts
        offers = [texts] if texts else []
    elif (
        kind == "array"
        and type_of(items) in _NUMERIC
        and (filling.guessing or words_in(name) <= words_in(filling.topic))
    ):
        # All numbers, if there are several.
        several = _read_numbers(numbers(filling.topic))
        offers = [several] if len(several) > 1 else []
    return offers[:_TRIED]


def _mentioned(name: str, values: Sequence[Any], topic: str) -> list[Any]:
    """The words of an enumeration that the prompt mentions, in its order, or the numbers that it states for a name."""
    stretch = topic[:STRETCH]
    found = ((place_of(text, stretch), text) for text in values if isinstance(text, str) and text)
    mentioned = [text for _, text in sorted((place, text) for place, text in found if place is not None)]
    if mentioned or all(isinstance(value, str) for value in values):
        return mentioned
    return [number for number in _read_numbers(number_for(name, topic)) if number in values]


def _truth(name: str, topic: str) -> bool | None:
    """Whether what a property is named after is so, as far as the prompt says it in words; None if it does not."""
    wanted = words_in(name)
    row = next((row for row in _STATES if row[0] & wanted), None)
    if row is None:
        return None
    _, so, not_so = row
    said, negated = _said(topic)
    if said & not_so:
        return bool(negated & not_so)
    return not negated & so if said & so else None


@lru_cache(maxsize=64)
def _said(topic: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a prompt, and those of them that it negates."""
    negated = (words_in(match[1]) for match in _NEGATED.finditer(topic))
    return words_in(topic), frozenset().union(*negated)
