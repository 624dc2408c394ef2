"""The steps of agents that call their tools in words: `Action:`, `Action Input:`, and at last `Final Answer:`.

LangChain's and CrewAI's agents without native tools and LlamaIndex' ReActAgent are told so in their prompts, each with
its own way of listing the tools. What a tool has returned follows as `Observation:`, in the same text or in a message
of its own.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from mockserver.core.generation import Constraint, Prompt, Tool
from mockserver.core.seeding import Draws, derive
from mockserver.model.output_formats.frameworks import (
    PARAMETER,
    next_call,
    read_object,
    schema_of_parameters,
    thought_and_answer,
)
from mockserver.model.schema import schema_fault
from mockserver.model.tokens import Phrase, fresh_phrase
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


def wants_steps(prompt: Prompt) -> Constraint | None:
    """A constraint if a prompt orders steps in words, with the names of tools after `Action:`."""
    text = prompt.text[:_SEARCHED]
    return Constraint("steps") if _NAMES.search(text) and "Answer:" in text and "Observation:" in text else None


def write_steps(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """A thought, and the next call that the question asks for, or the answer once all of them are made."""
    text = prompt.text[:_SEARCHED]
    question, since = _task(prompt)
    said = thought_and_answer(question, derive(key, "steps"))
    thought = "" if prompt.topic.rstrip().endswith("Thought:") else "Thought:"
    call = next_call(question, _tools(text), map(str.strip, _CALLED.findall(since)), key)
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
    found = (read_object(given[1]) if given else None) or {}
    if isinstance(found.get("properties"), dict):
        return found
    kinds = {name: own.get("type") for name, own in found.items() if isinstance(own, dict)}
    kinds = kinds or dict(PARAMETER.findall(line.partition(" -> ")[0].partition(" - ")[0]))
    return schema_of_parameters(kinds or {"input": "string"})


def _input(arguments: dict[str, Any], text: str) -> str:
    """The input of an action: an object, or the only argument as it is, where the prompt asks for no JSON."""
    in_json = re.search(r"^Action Input:[^\n]*\b(?:json|dictionary|kwargs)\b", text, re.MULTILINE | re.IGNORECASE)
    if len(arguments) == 1 and not in_json:
        return str(next(iter(arguments.values())))
    return json.dumps(arguments, ensure_ascii=False)
