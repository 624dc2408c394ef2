"""Answers in sections, each under its heading, as DSPy asks for them: `[[ ## answer ## ]]`.

Its messages end by naming the sections that an answer must have; what stands in one is said in a note beside its name,
in its JSON form too. Its agents are told their tools in words, and what came of their steps.
"""

import json
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.generation import Constraint, GenerationRequest, Prompt, Tool
from mockserver.core.seeding import derive
from mockserver.generation import tokens
from mockserver.generation.corpus import Phrase
from mockserver.generation.filling import filled
from mockserver.generation.reports import gist
from mockserver.generation.schemas import schema_fault, write_instance
from mockserver.generation.subject import brief
from mockserver.generation.tools import decide

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
# Notes with schemas that nest deeper, or have more parts once complete, stand for texts.
_DEEPEST = 12
_MOST_PARTS = 2_000
# How an agent's steps are told, and its tools.
_STEPS = "[[ ## trajectory ## ]]"
_TOOL = re.compile(
    r"^\(\d+\) (\w+)(?:, whose description is <desc>([^<]*)</desc>)?\. It takes arguments (\{[^\n]*\})\.$", re.MULTILINE
)


def ordered_sections(prompt: Prompt) -> Constraint | None:
    """The sections that a prompt ends by asking for, with what may stand in each; mostly none."""
    order = prompt.topic.rfind(_ORDER)
    if order < 0:
        return None
    wanted = re.findall(_HEADING, prompt.topic[order:])[:-1]
    notes = {found["name"]: found["note"] for found in _FIELD.finditer(prompt.text)}
    parts = {name: _noted(notes.get(name)) for name in wanted}
    return Constraint("sections", {"type": "object", "properties": parts, "required": list(parts)})


def field_schema(text: str) -> dict[str, Any] | None:
    """The schema of a value for which DSPy's example of an object has a name in braces; None of any other text."""
    found = _FIELD.fullmatch(text)
    return _noted(found["note"]) if found else None


def without_headings(topic: str) -> str:
    """What a prompt in sections says, without their headings and what it says of the answer's form."""
    if "[[ ## " not in topic:
        return topic
    said = topic.rpartition("\n\nRespond with ")[0] or topic
    return re.sub(_HEADING, "", said).strip()


def write_sections(prompt: Prompt, key: int, schema: Any) -> Iterator[Phrase | None]:
    """An answer in sections, which hold what the prompt names."""
    topic = without_headings(prompt.topic)
    about = brief(topic)
    values = json.loads(write_instance(schema, derive(key, "sections"), about.language, about.subject))
    if not topic.endswith(("?", "？")):
        values = filled(values, schema, topic, frozenset(), guessing=False)
    values = {**values, **_step(prompt, schema["properties"], key)}
    sections = [f"[[ ## {name} ## ]]\n{_written(value)}" for name, value in values.items()]
    # All of it is found before any is told: who is in haste breaks off here, and begins anew elsewhere.
    ids = tuple(tokens.encode("\n\n".join([*sections, "[[ ## completed ## ]]"])))
    return iter((Phrase(ids, tuple(tokens.texts(ids))), None))


def _step(prompt: Prompt, parts: Mapping[str, Any], key: int) -> dict[str, Any]:
    """What an agent has to say of its next step: the call that is left to be made, else the end; or, where its steps
    are done, what they have found. Nothing for who is no agent."""
    asked, _, steps = prompt.topic.partition(_STEPS)
    if not steps:
        return {}
    if not parts.keys() >= {"next_tool_name", "next_tool_args"}:
        found = [gist(text) for text in _step_parts(steps, "observation_")[:-1]]
        return {"answer": "; ".join(found)} if found and parts.get("answer") == {"type": "string"} else {}
    question = without_headings(asked)
    request = GenerationRequest("", (Prompt(question, question, 0, chat=True),), tools=tuple(_tools(prompt.text)))
    made = _step_parts(steps, "tool_name_")
    for call in decide(request, request.prompts[0], key):
        if call.name not in made:
            return {"next_tool_name": call.name, "next_tool_args": json.loads(call.arguments)}
        made.remove(call.name)
    return {"next_tool_name": "finish", "next_tool_args": {}}


def _step_parts(steps: str, name: str) -> list[str]:
    """What stands in the sections of an agent's steps whose names begin so."""
    _, *parts = re.split(_HEADING, steps.partition("\n\nRespond with ")[0])
    sections = zip(parts[::2], parts[1::2], strict=True)
    return [text.strip() for heading, text in sections if heading.startswith(name)]


def _tools(text: str) -> Iterator[Tool]:
    """The tools of which an agent is told in words, without the one that ends it."""
    for name, description, arguments in _TOOL.findall(text):
        try:
            parts = literal_eval(arguments)
            schema = {"type": "object", "properties": parts, "required": list(parts)}
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        if name != "finish" and schema_fault(schema) is None:
            yield Tool(name, description, schema)


def _written(value: Any) -> str:
    """A value as Python writes words and truth, and JSON all else."""
    return str(value) if isinstance(value, str | bool) else json.dumps(value, ensure_ascii=False)


def _noted(note: str | None) -> dict[str, Any]:
    """The schema of which a note speaks; a text where it says nothing that could be kept to."""
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
    """A schema in a note, complete in itself; None where it is none, or leads back to itself."""
    try:
        root, _ = json.JSONDecoder().raw_decode(text)
        schema = _complete(root, root.get("$defs", {}), 0, iter(range(_MOST_PARTS))) if isinstance(root, dict) else None
    except (ValueError, LookupError, RecursionError):
        return None
    return schema if isinstance(schema, dict) and schema_fault(schema) is None else None


def _complete(part: Any, defined: Mapping[str, Any], depth: int, left: Iterator[int]) -> Any:
    """A part of a schema with what it refers to in the place of each reference, as long as parts are left to make."""
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
