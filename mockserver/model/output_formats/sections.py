"""Answers in sections, each under a heading, as requested by DSPy: `[[ ## answer ## ]]`.

Its messages end with the names of the required sections; a note after a name, in its JSON form too, states the type of
the value. Its agents get their tools, and the results of their steps, as text.
"""

import json
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.generation import Constraint, GenerationRequest, Prompt, Tool
from mockserver.core.seeding import derive
from mockserver.model import tokens
from mockserver.model.corpus import Phrase
from mockserver.model.extraction.instances import filled
from mockserver.model.intent import detect_intent
from mockserver.model.schema import schema_fault, write_instance
from mockserver.model.tool_reports import gist
from mockserver.model.tools.calls import decide

_HEADING = r"\[\[ ## (\w+) ## \]\]"
_ORDER = "Respond with the corresponding output fields, starting with the field `[[ ## "
_NOTE = r"(?: +# note: the value you produce (?P<note>[^\n]+))?"
_FIELD = re.compile(rf"\{{(?P<name>\w+)\}}{_NOTE}")
_TYPES: Mapping[str, Mapping[str, Any]] = {
    "must be a single int value": {"type": "integer"},
    "must be a single float value": {"type": "number"},
    "must be True or False": {"type": "boolean"},
}
_ONE_OF = re.compile(r"must (?:be|exactly match \(no extra characters\)) one of: (.+)")
_SCHEMA = "must adhere to the JSON schema: "
# A note whose schema nests deeper, or has more parts once its references are replaced, stands for a text.
_DEEPEST = 12
_MOST_PARTS = 2_000
# How the steps and tools of an agent are written in a prompt.
_STEPS = "[[ ## trajectory ## ]]"
_TOOL = re.compile(
    r"^[ \t]*\(\d+\) (\w+)(?:, whose description is <desc>([^<]*)</desc>)?\. It takes arguments (\{[^\n]*\})\.$",
    re.MULTILINE,
)


def ordered_sections(prompt: Prompt) -> Constraint | None:
    """The sections that the end of a prompt asks for, with a schema of each; None for most prompts."""
    order = prompt.topic.rfind(_ORDER)
    if order < 0:
        return None
    wanted = re.findall(_HEADING, prompt.topic[order:])[:-1]
    notes = {found["name"]: found["note"] for found in _FIELD.finditer(prompt.text)}
    parts = {name: _noted(notes.get(name)) for name in wanted}
    return Constraint("sections", {"type": "object", "properties": parts, "required": list(parts)})


def field_schema(text: str) -> dict[str, Any] | None:
    """The schema of a value that is a name in braces in DSPy's example of an object; None for any other text."""
    found = _FIELD.fullmatch(text)
    return _noted(found["note"]) if found else None


def without_headings(topic: str) -> str:
    """A prompt in sections without their headings and without its instructions for the form of the answer."""
    if "[[ ## " not in topic:
        return topic
    content = topic.rpartition("\n\nRespond with ")[0] or topic
    return re.sub(_HEADING, "", content).strip()


def write_sections(prompt: Prompt, key: int, schema: Any) -> Iterator[Phrase | None]:
    """An answer in sections, filled with what the prompt names."""
    topic = without_headings(prompt.topic)
    about = detect_intent(topic)
    values = json.loads(write_instance(schema, derive(key, "sections"), about.language, about.subject))
    if not topic.endswith(("?", "？")):
        values = filled(values, schema, topic, frozenset(), guessing=False)
    values = {**values, **next_step(prompt, schema["properties"], key)}
    sections = [f"[[ ## {name} ## ]]\n{_written(value)}" for name, value in values.items()]
    # All of it is computed here, before any is returned: if that takes too long, it can be begun anew elsewhere.
    ids = tuple(tokens.encode("\n\n".join([*sections, "[[ ## completed ## ]]"])))
    return iter((Phrase(ids, tuple(tokens.texts(ids))), None))


def next_step(prompt: Prompt, parts: Mapping[str, Any], key: int) -> dict[str, Any]:
    """The fields of an agent's next step: the next call to be made, or else the end. If the answer, which has the
    fields in `parts`, has no such ones, the results of the steps instead. Empty for prompts of other kinds."""
    before, _, steps = prompt.topic.partition(_STEPS)
    if not steps:
        return {}
    if not parts.keys() >= {"next_tool_name", "next_tool_args"}:
        found = [gist(text) for text in _step_parts(steps, "observation_")[:-1]]
        return {"answer": "; ".join(found)} if found and parts.get("answer") == {"type": "string"} else {}
    question = without_headings(before)
    request = GenerationRequest("", (Prompt(question, question, 0, chat=True),), tools=tuple(_tools(prompt.text)))
    called = _step_parts(steps, "tool_name_")
    for call in decide(request, request.prompts[0], key):
        if call.name not in called:
            return {"next_tool_name": call.name, "next_tool_args": json.loads(call.arguments)}
        called.remove(call.name)
    return {"next_tool_name": "finish", "next_tool_args": {}}


def _step_parts(steps: str, name: str) -> list[str]:
    """The texts of those sections of an agent's steps whose names begin with `name`."""
    _, *parts = re.split(_HEADING, steps.partition("\n\nRespond with ")[0])
    sections = zip(parts[::2], parts[1::2], strict=True)
    return [text.strip() for heading, text in sections if heading.startswith(name)]


def _tools(text: str) -> Iterator[Tool]:
    """The tools described in the text of an agent's prompt, without the one that ends its steps."""
    for name, description, arguments in _TOOL.findall(text):
        try:
            parts = literal_eval(arguments)
            schema = {"type": "object", "properties": parts, "required": list(parts)}
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        if name != "finish" and schema_fault(schema) is None:
            yield Tool(name, description, schema)


def _written(value: Any) -> str:
    """A value as text: strings and booleans as in Python, all others as JSON."""
    return str(value) if isinstance(value, str | bool) else json.dumps(value, ensure_ascii=False)


def _noted(note: str | None) -> dict[str, Any]:
    """The schema that a note states; that of a string if it states none that can be met."""
    note = (note or "").strip()
    if note in _TYPES:
        return dict(_TYPES[note])
    choices = _ONE_OF.fullmatch(note)
    if choices:
        return {"enum": [choice.strip() for choice in choices[1].split(";")]}
    if note.startswith(_SCHEMA):
        return _given(note[len(_SCHEMA) :]) or {"type": "string"}
    return {"type": "string"}


def _given(text: str) -> dict[str, Any] | None:
    """The schema in a note, its references replaced; None if it is not a schema, or recursive."""
    try:
        root, _ = json.JSONDecoder().raw_decode(text)
        schema = _complete(root, root.get("$defs", {}), 0, iter(range(_MOST_PARTS))) if isinstance(root, dict) else None
    except (ValueError, LookupError, RecursionError):
        return None
    return schema if isinstance(schema, dict) and schema_fault(schema) is None else None


def _complete(part: Any, defined: Mapping[str, Any], depth: int, left: Iterator[int]) -> Any:
    """A part of a schema with each reference replaced by its target. RecursionError if it is too deep or too large."""
    if depth > _DEEPEST or next(left, None) is None:
        raise RecursionError
    if isinstance(part, list):
        return [_complete(each, defined, depth + 1, left) for each in part]
    if not isinstance(part, dict):
        return part
    reference = part.get("$ref")
    if isinstance(reference, str):
        return _complete(defined[reference.removeprefix("#/$defs/")], defined, depth + 1, left)
    return {name: _complete(own, defined, depth + 1, left) for name, own in part.items() if name != "$defs"}
