"""Answers in the forms that frameworks for agents ask for in their prompts.

DSPy wants sections, each under a heading: `[[ ## answer ## ]]`. Its messages end with the names of the required
sections; a note after a name, in its JSON form too, states the type of the value. Its agents get their tools, and the
results of their steps, as text.

smolagents' CodeAgent calls its tools by Python code: `print(get_weather(town="Oslo"))`. Its system prompt describes the
tools as functions, of which `final_answer` ends its steps. What a step has printed comes back in a user message.

LangChain's and CrewAI's agents without native tools and LlamaIndex' ReActAgent write their steps in words: `Action:`,
`Action Input:`, and at last `Final Answer:`. Their prompts say so, each with its own way of listing the tools. What a
tool has returned follows as `Observation:`, in the same text or in a message of its own.
"""

import json
import re
from ast import literal_eval
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mockserver.core.generation import Constraint, GenerationRequest, Message, Prompt, Tool, ToolCall
from mockserver.core.json_values import is_shallow
from mockserver.core.seeding import Draws, derive
from mockserver.model.extraction import filled
from mockserver.model.intent import detect_intent
from mockserver.model.schema import as_part, object_of, schema_fault, write_instance
from mockserver.model.tokens import Phrase, fresh_phrase
from mockserver.model.tools import gist
from mockserver.model.tools.calls import decide

# --- sections ---------------------------------------------------------------------------------------------------------

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
# How the steps and tools of an agent are written in a prompt.
_STEPS = "[[ ## trajectory ## ]]"
_TOOL = re.compile(
    r"^[ \t]*\(\d+\) (\w+)(?:, whose description is <desc>([^<]*)</desc>)?\. It takes arguments (\{[^\n]*\})\.$",
    re.MULTILINE,
)


def framework_format(prompt: Prompt) -> Constraint | None:
    """The sections that the end of a prompt asks for, with a schema of each, or the code; None for most prompts."""
    order = prompt.topic.rfind(_ORDER)
    if order < 0:
        return Constraint("action") if _wants_code(prompt) else None
    wanted = re.findall(_HEADING, prompt.topic[order:])[:-1]
    notes = {found["name"]: found["note"] for found in _FIELD.finditer(prompt.text)}
    schema = object_of({name: _noted(notes.get(name)) for name in wanted})
    if schema_fault(schema):
        # They can be met one by one, but are too much together.
        schema = object_of({name: {"type": "string"} for name in wanted})
    return Constraint("sections", schema)


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
        values = filled(values, schema, topic)
    values = {**values, **next_step(prompt, schema["properties"], key)}
    sections = [f"[[ ## {name} ## ]]\n{_written(value)}" for name, value in values.items()]
    # All of it is computed here, before any is returned: if that takes too long, it can be begun anew elsewhere.
    return iter((fresh_phrase("\n\n".join([*sections, "[[ ## completed ## ]]"])), None))


def next_step(prompt: Prompt, parts: Mapping[str, Any], key: int) -> dict[str, Any]:
    """The fields of an agent's next step: the next call to be made, or else the end. If the answer, which has the
    fields in `parts`, has no such ones, the results of the steps instead. Empty for prompts of other kinds."""
    if parts.keys() == {"thought", "code"} and _wants_code(prompt):
        return dict(zip(("thought", "code"), _step(prompt, key), strict=True))
    before, _, steps = prompt.topic.partition(_STEPS)
    if not steps:
        return {}
    if not parts.keys() >= {"next_tool_name", "next_tool_args"}:
        found = [gist(text) for text in _step_parts(steps, "observation_")[:-1]]
        return {"answer": "; ".join(found)} if found and parts.get("answer") == {"type": "string"} else {}
    question = without_headings(before)
    called = _step_parts(steps, "tool_name_")
    call = _next_call(question, _described_tools(prompt.text), called, key)
    if call is None:
        return {"next_tool_name": "finish", "next_tool_args": {}}
    return {"next_tool_name": call.name, "next_tool_args": json.loads(call.arguments)}


def _step_parts(steps: str, name: str) -> list[str]:
    """The texts of those sections of an agent's steps whose names begin with `name`."""
    _, *parts = re.split(_HEADING, steps.partition("\n\nRespond with ")[0])
    sections = zip(parts[::2], parts[1::2], strict=True)
    return [text.strip() for heading, text in sections if heading.startswith(name)]


def _described_tools(text: str) -> Iterator[Tool]:
    """The tools described in the text of an agent's prompt, without the one that ends its steps."""
    for name, description, arguments in _TOOL.findall(text):
        parts = _read_object(arguments)
        if parts is not None and name != "finish" and schema_fault(object_of(parts)) is None:
            yield Tool(name, description, object_of(parts))


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
        schema = _read_object(note[len(_SCHEMA) :])
        if schema and schema_fault(schema) is None:
            return as_part(schema)
    return {"type": "string"}


# --- code -------------------------------------------------------------------------------------------------------------

_END = "def final_answer("
# How many characters of the first message, or of a whole prompt, are searched for the tools.
_SEARCHED = 40_000
_FUNCTION = re.compile(r'^def (\w+)\(([^\n]*)\) -> [^\n]+:\n    """(.*?)\n    """', re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(r"(\w+): (\w+)")
_TAGS = re.compile(r"must be opened with '([^'\n]+)', and closed with '([^'\n]+)'")
_USUAL_TAGS = ("<code>", "</code>")
# The types of JSON Schema by their names there and in Python.
_TYPE_NAMES = {name: name for name in ("string", "integer", "number", "boolean", "array", "object")}
_TYPE_NAMES |= {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_TASK = "New task:"
_LOGS = re.compile(r"Execution logs:\n(.*?)(?:\nLast output from code snippet:|\Z)", re.DOTALL)
_SAID = object_of({"thought": {"type": "string"}, "answer": {"type": "string"}})


def write_action(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """A thought, and the code of the next step between the tags that the prompt states."""
    thought, code = _step(prompt, key)
    stated = _TAGS.search(prompt.messages[0].text[:_SEARCHED])
    opening, closing = stated.groups() if stated else _USUAL_TAGS
    return iter((fresh_phrase(f"Thought: {thought}\n{opening}\n{code}\n{closing}"), None))


def _wants_code(prompt: Prompt) -> bool:
    messages = prompt.messages
    return bool(messages) and messages[0].role == "system" and _END in messages[0].text[:_SEARCHED]


def _step(prompt: Prompt, key: int) -> tuple[str, str]:
    """A thought and the code of the next step: calls of tools, or the end once something has come of such calls."""
    task, since = _last_task(prompt.messages)
    said = _thought_and_answer(task, derive(key, "action"))
    if since:
        printed = [found[1] for message in since if message.role == "user" and (found := _LOGS.search(message.text))]
        findings = "; ".join(text for logs in printed if (text := gist(logs.strip())))
        return said["thought"], f"final_answer({_literal(findings or said['answer'])})"
    calls = []
    for call in _calls_for(task, _functions(prompt.messages[0].text[:_SEARCHED]), key):
        arguments = (f"{name}={_literal(value)}" for name, value in json.loads(call.arguments).items())
        calls.append(f"print({call.name}({', '.join(arguments)}))")
    return said["thought"], "\n".join(calls) or f"final_answer({_literal(said['answer'])})"


def _last_task(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """The last task of the user, and the messages since."""
    users = [place for place, message in enumerate(messages) if message.role == "user"]
    tasks = [place for place in users if messages[place].text.startswith(_TASK)] or users[:1]
    if not tasks:
        return "", ()
    return messages[tasks[-1]].text.removeprefix(_TASK).strip(), messages[tasks[-1] + 1 :]


def _functions(text: str) -> Iterator[Tool]:
    """The functions described in a system prompt, without the one that ends the agent's steps."""
    for name, signature, description in _FUNCTION.findall(text):
        schema = _schema_of_parameters(dict(_PARAMETER.findall(signature)))
        if name != "final_answer" and schema_fault(schema) is None:
            yield Tool(name, description.partition("\n\n    Args:")[0].strip(), schema)


def _literal(value: Any) -> str:
    """A value as Python writes it, strings in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


# --- steps in words ---------------------------------------------------------------------------------------------------

# How many tools are looked for, and how many characters behind the name of each.
_MOST_TOOLS, _BEHIND = 64, 4_000
_NAMES = re.compile(r"^Action: [^\n]*?\bone (?:name )?of:?\s?[\[(]?([^\n\])]+)", re.MULTILINE)
_DESCRIBED = re.compile(r"\s*Tool Description:[ \t]*(.{1,1000}?)(?=\n[ \t]*(?:Tool Arg|\n|>)|\Z)", re.DOTALL)
_OBSERVED = re.compile(
    r"^[ \t]*Observation:[ \t]*(.*?)(?=^[ \t]*(?:Thought|Action|Observation):|\Z)", re.MULTILINE | re.DOTALL
)
_CALLED = re.compile(r"^[ \t]*Action:[ \t]*(\w[\w -]{0,60}?)[ \t]{0,9}$", re.MULTILINE)
_QUESTION = re.compile(r"^(?:Question|Current Task|Task):[ \t]*(\S[^\n]*)", re.MULTILINE)


def wants_steps(prompt: Prompt) -> Constraint | None:
    """A constraint if a prompt orders steps in words, with the names of tools after `Action:`."""
    text = prompt.text[:_SEARCHED]
    return Constraint("steps") if _NAMES.search(text) and "Answer:" in text and "Observation:" in text else None


def write_steps(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """A thought, and the next call that the question asks for, or the answer once all of them are made."""
    text = prompt.text[:_SEARCHED]
    question, since = _task(prompt)
    said = _thought_and_answer(question, derive(key, "steps"))
    thought = "" if prompt.topic.rstrip().endswith("Thought:") else "Thought:"
    call = _next_call(question, _tools(text), map(str.strip, _CALLED.findall(since)), key)
    if call is not None:
        arguments = _input(json.loads(call.arguments), text)
        step = f"{thought} {said['thought']}\nAction: {call.name}\nAction Input: {arguments}"
        return iter((fresh_phrase(step), None))
    findings = "; ".join(filter(None, map(gist, map(str.strip, _OBSERVED.findall(since)))))
    ending = "Final Answer" if "Final Answer:" in text else "Answer"
    know = Draws(derive(key, "known")).pick(
        ("I now know the final answer", "I can answer without using any more tools")
    )
    return iter((fresh_phrase(f"{thought} {know}\n{ending}: {findings or said['answer']}"), None))


def _task(prompt: Prompt) -> tuple[str, str]:
    """The question to be answered, and what has been written since."""
    users = [place for place, each in enumerate(prompt.messages) if each.role == "user"]
    tasks = [place for place in users if not prompt.messages[place].text.lstrip().startswith("Observation:")]
    text = prompt.messages[tasks[-1]].text if tasks else prompt.topic
    later = "\n".join(each.text for each in prompt.messages[tasks[-1] + 1 :]) if tasks else ""
    # The last one: the form that the prompt describes has a question, too.
    asked = next(reversed([*_QUESTION.finditer(text)]), None)
    return (text.strip(), later) if asked is None else (asked[1].strip(), f"{text[asked.end() :]}\n{later}")


def _tools(text: str) -> Iterator[Tool]:
    names = _NAMES.search(text)
    for name in re.findall(r"\w[\w -]*\w", names[1])[:_MOST_TOOLS] if names else ():
        listed = re.search(
            rf"^[ \t>*-]*(?:Tool Name:[ \t]*)?{re.escape(name)}(?=[ \t]*(?:[(:-]|$))(.*)$", text, re.MULTILINE
        )
        if listed is None:
            continue
        schema = _schema(listed[1], text[listed.end() : listed.end() + _BEHIND])
        described = _DESCRIBED.match(text, listed.end())
        if schema_fault(schema) is None:
            yield Tool(name, described[1] if described else listed[1].strip(" :-"), schema)


def _schema(line: str, rest: str) -> dict[str, Any]:
    """The parameters of a tool: a schema or a table of types after `Tool Args:`, or its signature; else one text."""
    given = re.match(r"(?:(?!Tool Name:).)*?\bTool Arg(?:ument)?s:[ \t]*(\{[^\n]*(?:\n[ \t}][^\n]*)*)", rest, re.DOTALL)
    found = (_read_object(given[1]) if given else None) or {}
    if isinstance(found.get("properties"), dict):
        return found
    kinds = {name: own.get("type") for name, own in found.items() if isinstance(own, dict)}
    kinds = kinds or dict(_PARAMETER.findall(line.partition(" -> ")[0].partition(" - ")[0]))
    return _schema_of_parameters(kinds or {"input": "string"})


def _input(arguments: dict[str, Any], text: str) -> str:
    """The input of an action: an object, or the only argument as it is, where the prompt asks for no JSON."""
    in_json = re.search(r"^Action Input:[^\n]*\b(?:json|dictionary|kwargs)\b", text, re.MULTILINE | re.IGNORECASE)
    if len(arguments) == 1 and not in_json:
        return str(next(iter(arguments.values())))
    return json.dumps(arguments, ensure_ascii=False)


# --- what agents of several kinds need --------------------------------------------------------------------------------


def _calls_for(task: str, tools: Iterator[Tool], key: int) -> Sequence[ToolCall]:
    """The calls that answer a task with tools that the prompt describes."""
    request = GenerationRequest("", (Prompt(task, task, 0, chat=True),), tools=tuple(tools))
    return decide(request, request.prompts[0], key)


def _next_call(task: str, tools: Iterator[Tool], made: Iterable[str], key: int) -> ToolCall | None:
    """The first of these calls that is not made yet; None if all are. `made` are the names of the tools called."""
    left = Counter(made)
    for call in _calls_for(task, tools, key):
        if not left[call.name]:
            return call
        left[call.name] -= 1
    return None


def _thought_and_answer(task: str, key: int) -> dict[str, str]:
    """A `thought` about a task, and an `answer` for want of results."""
    about = detect_intent(task)
    said: dict[str, str] = json.loads(write_instance(_SAID, key, about.language, about.subject))
    return said


def _schema_of_parameters(kinds: Mapping[str, object]) -> dict[str, Any]:
    """The schema of parameters whose types are named as in Python or in JSON Schema; others are texts."""
    return object_of({name: {"type": _TYPE_NAMES.get(str(kind), "string")} for name, kind in kinds.items()})


def _read_object(text: str) -> dict[str, Any] | None:
    """The JSON object with which a text begins, or the Python dict that it is; None if it is neither, or too deep."""
    try:
        found = json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        try:
            # Keys and values that JSON does not have are no schema's.
            found = json.loads(json.dumps(literal_eval(text.strip())))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return None
    return found if isinstance(found, dict) and is_shallow(found) else None
