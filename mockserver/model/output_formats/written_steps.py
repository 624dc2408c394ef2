"""The steps of agents that call their tools in words: `Action:`, `Action Input:`, and at last `Final Answer:`.

LangChain's and CrewAI's agents without native tools and LlamaIndex' ReActAgent are told so in their prompts, each with
its own way of listing the tools. What a tool has returned follows as `Observation:`, in the same text or in a message
of its own.
"""

import json
import re
from ast import literal_eval
from collections.abc import Iterator
from typing import Any

from mockserver.core.generation import Constraint, Prompt, Tool
from mockserver.core.seeding import Draws, derive
from mockserver.model.corpus import Phrase, fresh_phrase
from mockserver.model.intent import detect_intent
from mockserver.model.output_formats.frameworks import KNOWN_TYPES, PARAMETER, PYTHON_TYPES, calls_for
from mockserver.model.schema import object_of, schema_fault, write_instance
from mockserver.model.tools.results import gist

# How many characters of the prompt are searched for the tools and the order, from its beginning.
_SEARCHED = 40_000
# How many tools are looked for, and how many characters behind the name of each.
_MOST_TOOLS, _BEHIND = 64, 4_000
_NAMES = re.compile(r"^Action: [^\n]*?\bone (?:name )?of:?\s?[\[(]?([^\n\])]+)", re.MULTILINE)
_DESCRIBED = re.compile(r"\s*Tool Description:[ \t]*(.{1,1000}?)(?=\n[ \t]*(?:Tool Arg|\n|>)|\Z)", re.DOTALL)
_OBSERVED = re.compile(
    r"^[ \t]*Observation:[ \t]*(.*?)(?=^[ \t]*(?:Thought|Action|Observation):|\Z)", re.MULTILINE | re.DOTALL
)
_CALLED = re.compile(r"^[ \t]*Action:[ \t]*(\w[\w -]{0,60}?)[ \t]{0,9}$", re.MULTILINE)
_QUESTION = re.compile(r"^(?:Question|Current Task|Task):[ \t]*(\S[^\n]*)", re.MULTILINE)
_SAID = object_of({"thought": {"type": "string"}, "answer": {"type": "string"}})


def wants_steps(prompt: Prompt) -> Constraint | None:
    """A constraint if a prompt orders steps in words, with the names of tools after `Action:`."""
    text = prompt.text[:_SEARCHED]
    return Constraint("steps") if _NAMES.search(text) and "Answer:" in text and "Observation:" in text else None


def write_steps(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """A thought, and the next call that the question asks for, or the answer once all of them are made."""
    text = prompt.text[:_SEARCHED]
    question, since = _task(prompt)
    about = detect_intent(question)
    said = json.loads(write_instance(_SAID, derive(key, "steps"), about.language, about.subject))
    thought = "" if prompt.topic.rstrip().endswith("Thought:") else "Thought:"
    made = [name.strip() for name in _CALLED.findall(since)]
    for call in calls_for(question, _tools(text), key):
        if call.name not in made:
            arguments = _input(json.loads(call.arguments), text)
            return iter(
                (fresh_phrase(f"{thought} {said['thought']}\nAction: {call.name}\nAction Input: {arguments}"), None)
            )
        made.remove(call.name)
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
    found: Any = None
    if given:
        try:
            found = json.JSONDecoder().raw_decode(given[1])[0]
        except ValueError:
            try:
                found = literal_eval(given[1].strip())
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                found = None
    if isinstance(found, dict) and isinstance(found.get("properties"), dict):
        return found
    kinds = (
        {name: own.get("type") for name, own in found.items() if isinstance(own, dict)}
        if isinstance(found, dict)
        else {}
    )
    kinds = kinds or dict(PARAMETER.findall(line.partition(" -> ")[0].partition(" - ")[0]))
    parts = {name: PYTHON_TYPES.get(str(kind), str(kind)) for name, kind in kinds.items()} or {"input": "string"}
    return object_of({name: {"type": kind if kind in KNOWN_TYPES else "string"} for name, kind in parts.items()})


def _input(arguments: dict[str, Any], text: str) -> str:
    """The input of an action: an object, or the only argument as it is, where the prompt asks for no JSON."""
    in_json = re.search(r"^Action Input:[^\n]*\b(?:json|dictionary|kwargs)\b", text, re.MULTILINE | re.IGNORECASE)
    if len(arguments) == 1 and not in_json:
        return str(next(iter(arguments.values())))
    return json.dumps(arguments, ensure_ascii=False)
