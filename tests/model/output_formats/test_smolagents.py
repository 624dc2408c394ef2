"""Answers to agents that act by code, as smolagents' CodeAgent: which tools they call, and how they come to an end."""

import ast
import json

import pytest

from mockserver.core.generation import Constraint, Message
from tests.support.prompts import answer_to, chat

SYSTEM = '''You can solve any task using code blobs.
The code sequence must be opened with '<code>', and closed with '</code>'.
You only have access to these tools, behaving like regular python functions:
<code>
def get_weather(town: string, days: integer) -> string:
    """Tells the weather in a town.

    Args:
        town: The town.
        days: How many days.
    """

def send_mail(to: string, urgent: boolean, tags: array) -> any:
    """Sends a mail to somebody

    Args:
        to: Whom.
        urgent: Whether it is urgent.
        tags: Its tags.
    """

def final_answer(answer: any) -> any:
    """Provides a final answer to the given problem.

    Args:
        answer: The final answer to the problem
    """
</code>
Now Begin!'''
WEATHER = "New task:\nWhat is the weather in Oslo for 3 days?"
SAID = {
    "type": "object",
    "properties": {"thought": {"type": "string"}, "code": {"type": "string"}},
    "required": ["thought", "code"],
    "additionalProperties": False,
}


def said(*texts: str, system: str = SYSTEM, constraint: Constraint | None = None) -> str:
    """What is answered to a task and to what came of the steps since, turn by turn from the user on."""
    turns = [Message("assistant" if place % 2 else "user", text) for place, text in enumerate(texts)]
    return answer_to(chat(Message("system", system), *turns), constraint=constraint)


def code(*texts: str, system: str = SYSTEM) -> str:
    """The code of the answer, which is Python, and which a thought precedes."""
    thought, _, rest = said(*texts, system=system).partition("\n<code>\n")
    assert thought.startswith("Thought: ")
    written = rest.removesuffix("\n</code>")
    ast.parse(written)
    return written


def observed(text: str) -> str:
    return f"Observation:\nExecution logs:\n{text}\nLast output from code snippet:\nNone"


def test_the_tool_that_a_task_is_about_is_called_by_code() -> None:
    assert code(WEATHER) == 'print(get_weather(town="Oslo", days=3))'


def test_a_tool_is_called_for_each_thing() -> None:
    called = code("New task:\nWhat is the weather in Oslo and in Bergen for 2 days?")
    assert called == 'print(get_weather(town="Oslo", days=2))\nprint(get_weather(town="Bergen", days=2))'


def test_arguments_are_values_of_python() -> None:
    tree = ast.parse(code("New task:\nSend a mail to anna@example.com"))
    [call] = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.keywords) == 3]
    found = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    assert found["to"] == "anna@example.com"
    assert (type(found["urgent"]), type(found["tags"])) == (bool, list)


def test_what_the_steps_have_printed_is_the_final_answer() -> None:
    assert code(WEATHER, "Calling tools: ...", observed('rain "all" day')) == r'final_answer("rain \"all\" day")'


def test_an_error_is_answered_too_rather_than_repeated() -> None:
    ended = code(WEATHER, "Calling tools: ...", "Error:\nCode execution failed at line 'x'")
    assert ended.startswith('final_answer("')
    assert len(ended) > 20


def test_a_task_without_a_tool_is_answered_at_once() -> None:
    assert code("New task:\nWrite a poem about glue").startswith('final_answer("')


def test_a_task_after_another_begins_anew() -> None:
    assert code(WEATHER, "...", observed("rain"), "...", WEATHER) == 'print(get_weather(town="Oslo", days=3))'


def test_the_tags_are_those_that_the_prompt_states() -> None:
    fenced = SYSTEM.replace("'<code>', and closed with '</code>'", "'```python', and closed with '```'")
    answer = said(WEATHER, system=fenced)
    assert answer.endswith('\n```python\nprint(get_weather(town="Oslo", days=3))\n```')


def test_the_code_may_be_asked_for_as_json() -> None:
    answer = json.loads(said(WEATHER, constraint=Constraint("json_schema", SAID)))
    assert (list(answer), answer["code"]) == (["thought", "code"], 'print(get_weather(town="Oslo", days=3))')


@pytest.mark.parametrize(
    "system", ["Be terse.", "Write code with `final_answer`.", SYSTEM.replace("final_answer", "f")]
)
def test_other_prompts_get_no_code(system: str) -> None:
    assert "<code>" not in said(WEATHER, system=system)


def test_a_type_that_json_does_not_have_counts_as_a_text() -> None:
    odd = SYSTEM.replace("town: string, days: integer", "town: dict[str, Any]")
    assert code(WEATHER, system=odd) == 'print(get_weather(town="Oslo"))'
