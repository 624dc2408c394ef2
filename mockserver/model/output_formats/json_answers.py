"""Answers in JSON: an instance of a schema or, if only JSON is requested, of an object that the prompt describes."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.model import tokens
from mockserver.model.corpus import Phrase, phrase
from mockserver.model.corrections import corrected, refusals, settled
from mockserver.model.extraction.instances import accepting, filled, wanted_items, with_items
from mockserver.model.intent import detect_intent
from mockserver.model.json_texts import compact
from mockserver.model.output_formats.descriptions import SEARCHED, described_object, stated_pairs
from mockserver.model.output_formats.frameworks import next_step, without_headings
from mockserver.model.output_formats.keys import restricted
from mockserver.model.schema import schema_fault, write_instance
from mockserver.model.terms import terms

# How many characters of a text are tokenized at a time.
_PIECE = 1000
# Longer instances are not filled.
_LONGEST_FILLED = 4000

_MINIFIED = re.compile(
    r"\b(?:minified|compact|(?:single|one)[- ]line)\b[^.\n]{0,30}\bjson\b|\bjson\b[^.\n]{0,40}\b(?:on|in) (?:a|one) "
    r"(?:single )?line\b",
    re.IGNORECASE,
)
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


def write_schema(prompt: Prompt, key: int, schema: object, *, complete: bool = False) -> Iterator[Phrase | None]:
    """An instance of a schema, in the language of the prompt, filled with what the prompt names; if `complete`, with
    every property that the schema names, as far as they are compatible."""
    prompt = settled(prompt)
    about = detect_intent(prompt.topic)
    # What the prompt says of the values, if instances are still such of the schema itself.
    stated = restricted(schema, prompt.text[-SEARCHED:])
    stated = stated if stated is schema or schema_fault(stated) is None else schema
    sized = with_items(stated, wanted_items(prompt.topic))
    text = write_instance(sized, key, about.language, about.subject, complete=complete)
    return _then_blanks(_holding(text, stated, prompt, key))


def write_object(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """An object that the prompt describes by a schema, an example or its keys; else one of our own."""
    return _written(settled(prompt), key, described_object(prompt) or _USUAL)


def write_array(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """An array of such objects, as many as the prompt asks for; of strings if it describes no object."""
    items = detect_intent(prompt.topic).items or _USUAL_ITEMS
    bounds = {"minItems": items, "maxItems": items}
    return _written(prompt, key, {"type": "array", "items": described_object(prompt) or {"type": "string"}, **bounds})


def _written(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """An instance of a schema, indented as models write JSON in answers, or on one line if the prompt asks for that."""
    about = detect_intent(without_headings(prompt.topic))
    text = _holding(write_instance(schema, key, about.language, about.subject), schema, prompt, key)
    if _MINIFIED.search(prompt.text[-SEARCHED:]):
        return _then_blanks(compact(json.loads(text)))
    return _then_blanks(json.dumps(json.loads(text), ensure_ascii=False, indent=2))


def _holding(text: str, schema: Any, prompt: Prompt, key: int) -> str:
    """An instance of a schema filled with what the prompt names, or with the next step of an agent.

    Questions whose answers are unknown fill nothing, since they do not name these; examples and schemas in a prompt are
    ignored.
    """
    parts = schema.get("properties") if isinstance(schema, Mapping) else None
    step = next_step(prompt, parts, key) if isinstance(parts, Mapping) else {}
    if step and accepting(schema)(stepped := {**json.loads(text), **step}):
        return json.dumps(stepped, ensure_ascii=False)
    topic = without_headings(prompt.topic[:SEARCHED]).rstrip()
    start, end = topic.find("{"), topic.rfind("}")
    if 0 <= start < end:
        topic = f"{topic[:start]} {topic[end + 1 :]}".rstrip()
    if len(text) > _LONGEST_FILLED or not text.startswith("{"):
        return text
    instance = held = json.loads(text)
    if not topic.endswith(("?", "？")):
        about = terms(schema["title"]) if isinstance(schema.get("title"), str) else frozenset[str]()
        held = filled(instance, schema, topic, about, guessing=False)
    accepts = accepting(schema)
    for name, value in stated_pairs(topic).items():
        if name in held and accepts({**held, name: value}):
            held = {**held, name: value}
    held = corrected(held, refusals(prompt.messages), accepts)
    return text if held == instance else compact(held)


def _then_blanks(text: str) -> Iterator[Phrase | None]:
    """A text, its natural end, and endless white space for requests that forbid to stop there."""
    for start in range(0, len(text), _PIECE):
        ids = tuple(tokens.encode(text[start : start + _PIECE]))
        yield Phrase(ids, tuple(tokens.texts(ids)))
    yield None
    while True:
        yield phrase("\n")
