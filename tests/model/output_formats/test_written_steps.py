"""Answers to agents that call tools in words, as those of LangChain, CrewAI and LlamaIndex: each step, and the end."""

import time

import pytest

from mockserver.core.generation import Message
from tests.support.prompts import answer_to, chat

LANGCHAIN = """Answer the following questions. You have access to the following tools:

get_weather(town: str) -> str - Tells the weather in a town.
send_mail(to: str, text: str) -> str - Sends a mail.

Use the following format:

Question: the input question you must answer
Thought: you should always think about what to do
Action: the action to take, should be one of [get_weather, send_mail]
Action Input: the input to the action
Observation: the result of the action
Thought: I now know the final answer
Final Answer: the final answer to the original input question

Begin!

Question: {question}
Thought:{steps}"""
LLAMA_INDEX = """You have access to the following tools:
> Tool Name: get_weather
Tool Description: get_weather(town: str) -> str
Tells the weather in a town.
Tool Args: {"properties": {"town": {"type": "string"}}, "required": ["town"], "type": "object"}

```
Thought: I need to use a tool to help me answer the question.
Action: tool name (one of get_weather) if using a tool.
Action Input: the input to the tool, in a JSON format (e.g. {"input": "hello"})
```
```
Observation: tool response
```
```
Thought: I can answer without using any more tools.
Answer: [your answer here]
```"""
CREWAI = """You ONLY have access to the following tools:

Tool Name: get_weather
Tool Arguments: {'town': {'description': None, 'type': 'str'}}
Tool Description: Tells the weather in a town.

Thought: you should always think about what to do
Action: the action to take, only one name of [get_weather], just the name
Action Input: the input to the action, just a simple JSON object, enclosed in curly braces
Observation: the result of the action

Thought: I now know the final answer
Final Answer: the final answer to the original input question"""
ASKED = "What is the weather in Oslo?"
CALLED = 'Thought: so.\nAction: get_weather\nAction Input: {"town": "Oslo"}'


def said(*messages: Message) -> list[str]:
    """The lines of the answer behind the thought with which it begins."""
    return answer_to(chat(*messages)).splitlines()[1:]


def langchain(question: str, steps: str = "") -> list[str]:
    return said(Message("user", LANGCHAIN.replace("{question}", question).replace("{steps}", steps)))


def test_the_next_call_is_written_until_all_are_made_and_then_the_answer() -> None:
    assert langchain(ASKED) == ["Action: get_weather", "Action Input: Oslo"]
    done = " so.\nAction: get_weather\nAction Input: Oslo\nObservation: rain in Oslo\nThought:"
    assert langchain(ASKED, done) == ["Final Answer: rain in Oslo"]
    assert langchain("Send a mail to bo@example.com with the text 'Hi'") == [
        "Action: send_mail",
        'Action Input: {"to": "bo@example.com", "text": "Hi"}',
    ]
    (told,) = langchain("Tell me about tides")
    assert told.startswith("Final Answer: ")


@pytest.mark.parametrize("system, ending", [(LLAMA_INDEX, "Answer"), (CREWAI, "Final Answer")])
def test_results_come_in_messages_too(system: str, ending: str) -> None:
    asked = Message("system", system), Message("user", ASKED)
    assert said(*asked) == ["Action: get_weather", 'Action Input: {"town": "Oslo"}']
    steps = [
        (Message("assistant", CALLED), Message("user", "Observation: rain in Oslo")),
        (Message("assistant", f"{CALLED}\nObservation: rain in Oslo"), Message("user", "Observation:")),
    ]
    assert [said(*asked, *step) for step in steps] == [[f"{ending}: rain in Oslo"]] * 2


@pytest.mark.parametrize(
    "written, named",
    [
        ('{"a":' + "[" * 3_000, "input"),
        ("{'properties': {'town': {'enum': {1, 2}}}}", "input"),
        ("{1: {'type': 'str'}}", "1"),
        ("{'town': {'type': ['str']}}", "town"),
    ],
)
def test_parameters_that_are_no_schema_are_one_text_or_texts(written: str, named: str) -> None:
    system = CREWAI.replace("{'town': {'description': None, 'type': 'str'}}", written)
    step = said(Message("system", system), Message("user", ASKED))
    assert step[0] == "Action: get_weather"
    assert step[1].startswith(f'Action Input: {{"{named}": ')


@pytest.mark.parametrize(
    "text",
    [
        LANGCHAIN.replace("[get_weather, send_mail]", f"[{', '.join(f't{n}' for n in range(9000))}]"),
        LANGCHAIN.replace("{steps}", f"\nAction: a{' ' * 90_000}b\nObservation: " * 2),
    ],
)
def test_a_hostile_prompt_takes_no_time(text: str) -> None:
    began = time.process_time()
    said(Message("user", text))
    assert time.process_time() - began < 1
