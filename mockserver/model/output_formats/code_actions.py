"""Actions written as Python code, by which smolagents' CodeAgent calls its tools: `print(get_weather(town="Oslo"))`.

Its system prompt describes the tools as functions, of which `final_answer` ends the agent's steps. What a step has
printed comes back in a user message.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockserver.core.generation import Constraint, GenerationRequest, Message, Prompt, Tool
from mockserver.core.seeding import derive
from mockserver.model import tokens
from mockserver.model.corpus import Phrase
from mockserver.model.intent import detect_intent
from mockserver.model.schema import schema_fault, write_instance
from mockserver.model.tool_reports import gist
from mockserver.model.tools.calls import decide

_END = "def final_answer("
# How many characters of the system prompt are searched for the tools.
_SEARCHED = 40_000
_FUNCTION = re.compile(r'^def (\w+)\(([^\n]*)\) -> [^\n]+:\n    """(.*?)\n    """', re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(r"(\w+): (\w+)")
_TAGS = re.compile(r"must be opened with '([^'\n]+)', and closed with '([^'\n]+)'")
_USUAL_TAGS = ("<code>", "</code>")
_TYPES = {"any": "string", "str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_KNOWN = frozenset(("string", "integer", "number", "boolean", "array", "object"))
_TASK = "New task:"
_LOGS = re.compile(r"Execution logs:\n(.*?)(?:\nLast output from code snippet:|\Z)", re.DOTALL)
_SAID: Mapping[str, Any] = {
    "type": "object",
    "properties": {"thought": {"type": "string"}, "answer": {"type": "string"}},
    "required": ["thought", "answer"],
}


def ordered_action(prompt: Prompt) -> Constraint | None:
    """The action that a prompt asks for; None unless its system message describes tools as functions."""
    return Constraint("action") if _is_ordered(prompt) else None


def write_action(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    """A thought, and the code of the next step between the tags that the prompt states."""
    thought, code = _step(prompt, key)
    stated = _TAGS.search(prompt.messages[0].text[:_SEARCHED])
    opening, closing = stated.groups() if stated else _USUAL_TAGS
    ids = tuple(tokens.encode(f"Thought: {thought}\n{opening}\n{code}\n{closing}"))
    return iter((Phrase(ids, tuple(tokens.texts(ids))), None))


def action_fields(prompt: Prompt, key: int) -> dict[str, Any]:
    """The same as the fields of an object; empty for prompts of other kinds."""
    if not _is_ordered(prompt):
        return {}
    thought, code = _step(prompt, key)
    return {"thought": thought, "code": code}


def _is_ordered(prompt: Prompt) -> bool:
    messages = prompt.messages
    return bool(messages) and messages[0].role == "system" and _END in messages[0].text[:_SEARCHED]


def _step(prompt: Prompt, key: int) -> tuple[str, str]:
    """A thought and the code of the next step: calls of tools, or the end once something has come of such calls."""
    task, since = _last_task(prompt.messages)
    about = detect_intent(task)
    said = json.loads(write_instance(_SAID, derive(key, "action"), about.language, about.subject))
    if since:
        printed = [found[1] for message in since if message.role == "user" and (found := _LOGS.search(message.text))]
        findings = "; ".join(text for logs in printed if (text := gist(logs.strip())))
        return said["thought"], f"final_answer({_literal(findings or said['answer'])})"
    request = GenerationRequest(
        "", (Prompt(task, task, 0, chat=True),), tools=tuple(_tools(prompt.messages[0].text[:_SEARCHED]))
    )
    calls = [f"print({call.name}({_arguments(call.arguments)}))" for call in decide(request, request.prompts[0], key)]
    return said["thought"], "\n".join(calls) or f"final_answer({_literal(said['answer'])})"


def _last_task(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """The last task of the user, and the messages since."""
    users = [place for place, message in enumerate(messages) if message.role == "user"]
    tasks = [place for place in users if messages[place].text.startswith(_TASK)] or users[:1]
    if not tasks:
        return "", ()
    return messages[tasks[-1]].text.removeprefix(_TASK).strip(), messages[tasks[-1] + 1 :]


def _tools(text: str) -> Iterator[Tool]:
    """The functions described in a system prompt, without the one that ends the agent's steps."""
    for name, signature, description in _FUNCTION.findall(text):
        parts = {parameter: _typed(kind) for parameter, kind in _PARAMETER.findall(signature)}
        schema = {"type": "object", "properties": parts, "required": list(parts)}
        if name != "final_answer" and schema_fault(schema) is None:
            yield Tool(name, description.partition("\n\n    Args:")[0].strip(), schema)


def _typed(kind: str) -> dict[str, str]:
    known = _TYPES.get(kind, kind)
    return {"type": known if known in _KNOWN else "string"}


def _arguments(written: str) -> str:
    return ", ".join(f"{name}={_literal(value)}" for name, value in json.loads(written).items())


def _literal(value: Any) -> str:
    """A value as Python writes it, strings in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
