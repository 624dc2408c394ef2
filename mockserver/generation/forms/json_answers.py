"""Answers in JSON: an instance of a schema or, if only JSON is requested, of an object that the prompt describes."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.generation import corpus, tokens
from mockserver.generation.corpus import Phrase, phrase
from mockserver.generation.corrections import corrected, refusals, settled
from mockserver.generation.filling.instances import accepting, filled, with_wanted_items
from mockserver.generation.forms.pairs import stated_pairs
from mockserver.generation.forms.restrictions import restricted
from mockserver.generation.forms.sections import next_step, without_headings
from mockserver.generation.forms.sketches import keys_announced, like_text, named_keys, sketched_object
from mockserver.generation.prompts.brief import brief
from mockserver.generation.prompts.passages import answer_from
from mockserver.generation.schemas import schema_fault, write_instance
from mockserver.generation.terms import terms

# How many characters of a text are tokenized at a time.
_PIECE = 1000
# Longer instances are not filled.
_LONGEST_FILLED = 4000
# How many characters of a prompt are searched for a description of the object, and how many braces are tried.
_SEARCHED = 20_000
_TRIED = 8

# The strings and constants of a Python dict, as which some prompts contain a schema.
_PYTHON = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'((?:[^'\\]|\\.)*)'|\b(True|False|None)\b")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_LONGEST_DICT = 8000
_MINIFIED = re.compile(
    r"\b(?:minified|compact|(?:single|one)[- ]line)\b[^.\n]{0,30}\bjson\b|\bjson\b[^.\n]{0,40}\b(?:on|in) (?:a|one) "
    r"(?:single )?line\b",
    re.IGNORECASE,
)
# What is said of a key whose value is a list of objects.
_OBJECTS = re.compile(
    r"(?:an? )?(?:list|array) of (?:(?:JSON )?(?:objects|dicts|dictionaries)|JSONs?)\b", re.IGNORECASE
)
# A line with a text as its only value: what is before the text, the text, and what is behind it.
_TEXT_LINE = re.compile(r"""(?m)^([ \t]*(?:"[^"\n]*"[ \t]*:[ \t]*)?")(?!.*"[ \t]*:)(.*)("[ \t]*(?:,[ \t]*)?)$""")

_USUAL = {
    "type": "object",
    "properties": {
        "subject": {"type": "string"},
        "answer": {"type": "string"},
        "confidence": {"type": "number", "minimum": 0.5, "maximum": 1},
    },
    "required": ["subject", "answer", "confidence"],
}
_USUAL_ITEMS = 3
# What a property is called that holds the answer to a question.
_ANSWERS = ("answer", "final_answer", "response")
# Members of an object that make it a schema.
_KEYWORDS = frozenset(("type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf", "properties", "items"))
_LITERALS: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}


def write_schema(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """An instance of a schema, in the language of the prompt, filled with what the prompt names."""
    return _of_schema(prompt, key, schema, complete=False)


def write_complete(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """The same with every property that the schema names, as far as they are compatible."""
    return _of_schema(prompt, key, schema, complete=True)


def _of_schema(prompt: Prompt, key: int, schema: object, *, complete: bool) -> Iterator[Phrase | None]:
    prompt = settled(prompt)
    about, stated = brief(prompt.topic), _stated(schema, prompt)
    sized = with_wanted_items(stated, prompt.topic)
    text = write_instance(sized, key, about.language, about.subject, complete=complete)
    return _then_blanks(_holding(text, stated, prompt, key))


def _stated(schema: object, prompt: Prompt) -> Any:
    """A schema with what the prompt says of its values, if instances of it are still such of the schema itself."""
    stated = restricted(schema, prompt.text[-_SEARCHED:])
    return stated if stated is schema or schema_fault(stated) is None else schema


def write_object(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """An object that the prompt describes by a schema, an example or its keys; else one of our own."""
    return _written(settled(prompt), key, _described(prompt) or _USUAL)


def write_array(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """An array of such objects, as many as the prompt asks for; of strings if it describes no object."""
    items = brief(prompt.topic).items or _USUAL_ITEMS
    bounds = {"minItems": items, "maxItems": items}
    return _written(prompt, key, {"type": "array", "items": _described(prompt) or {"type": "string"}, **bounds})


def _written(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """An instance of a schema, indented as models write JSON in answers, or on one line if the prompt asks for that."""
    about = brief(without_headings(prompt.topic))
    text = _holding(write_instance(schema, key, about.language, about.subject), schema, prompt, key)
    if _MINIFIED.search(prompt.text[-_SEARCHED:]):
        return _then_blanks(json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")))
    return _then_blanks(json.dumps(json.loads(text), ensure_ascii=False, indent=2))


def _holding(text: str, schema: Any, prompt: Prompt, key: int) -> str:
    """An instance of a schema filled with what the prompt names, or with the next step of an agent.

    Questions whose answers are unknown fill nothing, since they do not name these; examples and schemas in a prompt are
    ignored.
    """
    step = _next_step(text, schema, prompt, key)
    if step is not None:
        return step
    topic = without_headings(prompt.topic[:_SEARCHED]).rstrip()
    start, end = topic.find("{"), topic.rfind("}")
    if 0 <= start < end:
        topic = f"{topic[:start]} {topic[end + 1 :]}".rstrip()
    if len(text) > _LONGEST_FILLED or not text.startswith("{"):
        return text
    instance = held = json.loads(text)
    if not _asks_the_unknown(topic):
        about = terms(schema["title"]) if isinstance(schema.get("title"), str) else frozenset[str]()
        held = filled(instance, schema, topic, about, guessing=False)
    accepts = accepting(schema)
    for name, value in (*_found_in_passages(prompt).items(), *stated_pairs(topic).items()):
        if name in held and accepts({**held, name: value}):
            held = {**held, name: value}
    held = corrected(held, refusals(prompt.messages), accepts)
    return text if held == instance else json.dumps(held, ensure_ascii=False, separators=(",", ":"))


def _found_in_passages(prompt: Prompt) -> dict[str, str]:
    """The answer to a question that stands in a passage of the prompt, under the names that a property has for it."""
    if "?" not in prompt.topic:
        return {}
    found = answer_from(prompt, corpus.stopwords(brief(prompt.topic).language))
    return {} if found is None else dict.fromkeys(_ANSWERS, found)


def _asks_the_unknown(topic: str) -> bool:
    return topic.endswith(("?", "？")) and not brief(topic).facts


def _next_step(text: str, schema: Any, prompt: Prompt, key: int) -> str | None:
    """An instance with the next step of an agent that asks for it as JSON; None for prompts of other kinds."""
    parts = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(parts, Mapping):
        return None
    if parts.keys() == {"thought", "code"}:
        # Few agents write code.
        from mockserver.generation.forms.code_actions import action_fields

        step = action_fields(prompt, key)
    else:
        step = next_step(prompt, parts, key)
    if not step:
        return None
    stepped = {**json.loads(text), **step}
    return json.dumps(stepped, ensure_ascii=False) if accepting(schema)(stepped) else None


def _then_blanks(text: str) -> Iterator[Phrase | None]:
    """A text, its natural end, and endless white space for requests that forbid to stop there."""
    for start in range(0, len(text), _PIECE):
        ids = tuple(tokens.encode(text[start : start + _PIECE]))
        yield Phrase(ids, tuple(tokens.texts(ids)))
    yield None
    while True:
        yield phrase("\n")


def _described(prompt: Prompt) -> Any:
    """The schema of the object that a prompt describes; None if it describes none."""
    text = prompt.text[-_SEARCHED:]
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
