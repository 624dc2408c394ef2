"""Arguments of tool calls: JSON that the tool's schema accepts, filled with what the prompt names."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.generation import Constraint, Prompt, Tool
from mockserver.core.seeding import Draws, derive
from mockserver.model import corpus
from mockserver.model.extraction.instances import (
    Schema,
    accepting,
    filled,
    shape_of,
    texts_of,
    type_of,
    wanted_items,
    with_items,
)
from mockserver.model.extraction.mentions import texts_for
from mockserver.model.extraction.names import listed, names
from mockserver.model.intent import STRETCH, detect_intent
from mockserver.model.regex import write_match
from mockserver.model.schema import schema_fault, write_instance
from mockserver.model.terms import terms

_LONGEST_INPUT = 400


def write_arguments(tool: Tool, prompt: Prompt, key: int, about: frozenset[str], clauses: str) -> list[str]:
    """The arguments of a function's calls: of one call, or of one for each item of a list that a property takes.

    `about` are the tool's own terms, which are no names. `clauses` are the part of the prompt that speaks of the tool;
    what they do not state is taken from the whole prompt.
    """
    schema = object_schema(tool.parameters)
    topic = prompt.topic
    intent, sized = detect_intent(topic), with_items(schema, wanted_items(topic))
    base: dict[str, Any] = json.loads(write_instance(sized, derive(key, "arguments"), intent.language, intent.subject))
    rest = filled(base, schema, topic, about, guessing=True)
    if clauses != topic:
        rest = filled(rest, schema, clauses, about, guessing=True)
    source = clauses if names(clauses, about) else topic
    things = listed(source, names(source, about))
    taking = _taking(schema, source, about, things, base)
    if taking is None:
        return [_text(rest, schema)]
    accepts = accepting(schema)
    calls = [_text({**rest, taking: thing}, schema) for thing in things if accepts({**rest, taking: thing})]
    # Another property may forbid every one of the things: then a single call is made without them.
    return calls or [_text(rest, schema)]


def write_input(tool: Tool, prompt: Prompt, key: int) -> str:
    """The input of a custom tool: a text that matches the tool's pattern, if it has one."""
    form = tool.parameters
    if isinstance(form, Constraint) and form.kind == "regex":
        return write_match(str(form.schema), Draws(key))
    if "#code" in terms(f"{tool.name} {tool.description}"):
        return _code(tool, prompt, key)
    return next(texts_for("input", prompt.topic))[:_LONGEST_INPUT]


def object_schema(parameters: object) -> Schema:
    """The schema of a function's arguments, which are an object; an empty one if there are no parameters."""
    if not isinstance(parameters, Mapping) or not parameters:
        return {"type": "object", "additionalProperties": False}
    return parameters if "type" in parameters else {"type": "object", **parameters}


def arguments_fault(parameters: Schema) -> str | None:
    """Why no arguments can be written for parameters; None if they can."""
    kind = parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return "must be a schema of type 'object'"
    reason = schema_fault(object_schema(parameters))
    return f"is no schema that arguments could satisfy: {reason}" if reason else None


def _taking(
    schema: Schema, topic: str, about: frozenset[str], things: Sequence[str], base: Mapping[str, Any]
) -> str | None:
    """The property that takes one of several things; None if no property does, or only one that takes them all."""
    if len(things) < 2:
        return None
    for name, own, _ in shape_of(schema).parts:
        if type_of(own) == "string" and "enum" not in own and things[0] in texts_of(name, own, topic, about):
            taken = {**base, name: things[0]}
            return name if accepting(schema)(taken) else None
    return None


def _text(value: Mapping[str, Any], schema: Schema) -> str:
    """The arguments as JSON, with properties in the order of the schema."""
    return json.dumps(shape_of(schema).ordered(value), ensure_ascii=False)


def _code(tool: Tool, prompt: Prompt, key: int) -> str:
    """A code snippet in the language that the tool or the prompt names, or else in Python."""
    wanted = f"{tool.name} {tool.description} {prompt.topic[:STRETCH]}".lower()
    language = next((name for name in corpus.code() if re.search(rf"(?<![^\W_]){name}(?![^\W_])", wanted)), "python")
    return Draws(key).pick(corpus.code()[language]).replace("{name}", "solve")
