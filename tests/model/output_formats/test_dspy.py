"""Answers in sections, and objects whose keys are noted alike, as DSPy asks for both."""

import json
from typing import Any

import pytest

from mockserver.core.generation import Constraint, Message, Prompt
from mockserver.model.output_formats import requested_format
from tests.support.prompts import answer_to, chat

PEOPLE = {
    "type": "array",
    "$defs": {
        "P": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name", "age"],
        }
    },
    "items": {"$ref": "#/$defs/P"},
}
TREE = {"$defs": {"T": {"type": "array", "items": {"$ref": "#/$defs/T"}}}, "$ref": "#/$defs/T"}
NOTE = "        # note: the value you produce "
TEXT = "Jason is 25 years old and likes it. Anna is 31."


def in_sections(text: str = TEXT, **notes: str) -> Prompt:
    """The messages of a signature whose fields have these notes."""
    fields = "\n\n".join(f"[[ ## {name} ## ]]\n{{{name}}}{NOTE + note if note else ''}" for name, note in notes.items())
    system = f"[[ ## text ## ]]\n{{text}}\n\n{fields}\n\n[[ ## completed ## ]]\nYour objective is: extract."
    wanted = ", then ".join(f"`[[ ## {name} ## ]]` (must be formatted as a valid Python thing)" for name in notes)
    user = (
        f"[[ ## text ## ]]\n{text}\n\nRespond with the corresponding output fields, starting with the field {wanted}, "
        "and then ending with the marker for `[[ ## completed ## ]]`."
    )
    return asked(system, user)


def asked(system: str, user: str) -> Prompt:
    return chat(Message("system", system), Message("user", user))


def sections(answer: str) -> dict[str, str]:
    parts = answer.split("[[ ## ")[1:]
    return {name: text.strip() for name, _, text in (part.partition(" ## ]]") for part in parts)}


def test_every_section_is_told_in_its_order_and_the_end_is_marked() -> None:
    answer = answer_to(in_sections(reasoning="", answer=""))
    assert list(sections(answer)) == ["reasoning", "answer", "completed"]
    assert answer.endswith("\n\n[[ ## completed ## ]]")
    assert all(len(text) > 10 for name, text in sections(answer).items() if name != "completed")


@pytest.mark.parametrize(
    "note, values",
    [
        ("must be a single int value", range(-1_000_000, 1_000_000)),
        ("must be True or False", ("True", "False")),
        ("must be one of: red; dark blue", ("red", "dark blue")),
        ("must exactly match (no extra characters) one of: positive; negative", ("positive", "negative")),
    ],
)
def test_a_section_holds_what_its_note_says(note: str, values: Any) -> None:
    held = {sections(answer_to(in_sections(answer=note), seed))["answer"] for seed in range(1, 9)}
    assert all((int(text) if isinstance(values, range) else text) in values for text in held)
    assert len(held) > 1


def test_a_number_with_a_fraction_is_one() -> None:
    assert isinstance(float(sections(answer_to(in_sections(score="must be a single float value")))["score"]), float)


def test_a_section_keeps_to_its_schema_and_holds_what_the_prompt_names() -> None:
    prompt = in_sections(people=f"must adhere to the JSON schema: {json.dumps(PEOPLE)}")
    people = json.loads(sections(answer_to(prompt))["people"])
    assert people == [{"name": "Jason", "age": 25}, {"name": "Anna", "age": 31}]


# Complete, it would have 40 to the power of 8 parts.
HUGE = {
    "$defs": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 40} for n in range(8)} | {"d8": {"type": "string"}},
    "$ref": "#/$defs/d0",
}


@pytest.mark.parametrize(
    "schema",
    [
        json.dumps(TREE), json.dumps(HUGE), "{", '{"type": "nothing"}', '{"$ref": "#/$defs/gone"}', "[1]",
        '{"$ref": "#/$defs/gone", "$defs": [1]}',
    ],
)  # fmt: skip
def test_a_section_of_whose_schema_nothing_can_be_made_is_a_text(schema: str) -> None:
    assert sections(answer_to(in_sections(answer=f"must adhere to the JSON schema: {schema}")))["answer"]


def test_an_object_whose_values_are_noted_holds_such_values() -> None:
    example = {
        "reasoning": "{reasoning}",
        "sentiment": f"{{sentiment}}{NOTE}must exactly match (no extra characters) one of: good; bad",
        "happy": f"{{happy}}{NOTE}must be True or False",
        "people": f"{{people}}{NOTE}must adhere to the JSON schema: {json.dumps(PEOPLE)}",
    }
    system = f"Outputs will be a JSON object with the following fields.\n\n{json.dumps(example, indent=2)}\nExtract."
    user = f"[[ ## text ## ]]\n{TEXT}\n\nRespond with a JSON object in the following order of fields: `reasoning`."
    answer = json.loads(answer_to(asked(system, user)))
    assert list(answer) == list(example)
    assert answer["sentiment"] in ("good", "bad")
    assert isinstance(answer["happy"], bool)
    assert answer["people"] == [{"name": "Jason", "age": 25}, {"name": "Anna", "age": 31}]
    assert "text" not in answer["reasoning"].split()


@pytest.mark.parametrize(
    "text",
    ["What does [[ ## completed ## ]] mean?", "Respond with the corresponding output fields.", "[[ ## answer ## ]]"],
)
def test_whoever_speaks_of_sections_is_answered_in_prose(text: str) -> None:
    assert requested_format(asked("Be brief.", text)) is None


TOOLS = (
    "(1) get_weather, whose description is <desc>Tells the weather in a town</desc>. "
    "It takes arguments {'town': {'type': 'string'}}.\n"
    "(2) get_time, whose description is <desc>Tells the time in a place</desc>. "
    "It takes arguments {'place': {'type': 'string'}}.\n"
    "(3) broken. It takes arguments {'place': {'type': 'no such'}}.\n"
    "(4) odd. It takes arguments {1: {'type': {1, 2}}}.\n"
    "(5) five. It takes arguments {'place': 5}.\n"
    f"(6) deep. It takes arguments {{'place': {'[' * 900}{']' * 900}}}.\n"
    "(7) finish, whose description is <desc>Marks the task as complete.</desc>. It takes arguments {}."
)
STEP = {
    "next_thought": "",
    "next_tool_name": "must exactly match (no extra characters) one of: get_weather; get_time; broken; finish",
    "next_tool_args": 'must adhere to the JSON schema: {"type": "object", "additionalProperties": true}',
}


def after(question: str, *steps: tuple[str, str], **notes: str) -> dict[str, str]:
    """What an agent is told to do next, after steps of a tool and what came of it."""
    told = "\n\n".join(
        f"[[ ## thought_{n} ## ]]\nHm.\n\n[[ ## tool_name_{n} ## ]]\n{tool}\n\n[[ ## tool_args_{n} ## ]]\n{{}}\n\n"
        f"[[ ## observation_{n} ## ]]\n{found}"
        for n, (tool, found) in enumerate(steps)
    )
    prompt = in_sections(f"{question}\n\n[[ ## trajectory ## ]]\n{told}", **notes)
    return sections(answer_to(prompt._replace(text=f"{TOOLS}\n{prompt.text}")))


def step(question: str, *steps: tuple[str, str]) -> tuple[str, Any]:
    answer = after(question, *steps, **STEP)
    assert answer["next_thought"]
    return answer["next_tool_name"], json.loads(answer["next_tool_args"])


def test_an_agent_calls_the_tools_that_it_is_told_of_and_comes_to_an_end() -> None:
    asked = "What are the weather and the time in Oslo?"
    weather, clock = ("get_weather", "rain in Oslo"), ("get_time", "12:30")
    assert step(asked) == ("get_weather", {"town": "Oslo"})
    assert step(asked, weather) == ("get_time", {"place": "Oslo"})
    assert step(asked, weather, clock) == ("finish", {})
    assert step("Write a poem") == ("finish", {})


def test_an_agent_calls_a_tool_for_each_thing() -> None:
    asked = "What's the weather in Oslo and Rome?"
    assert step(asked, ("get_weather", "rain")) == ("get_weather", {"town": "Rome"})
    assert step(asked, ("get_weather", "rain"), ("get_weather", "sun")) == ("finish", {})


def test_tools_may_be_indented() -> None:
    prompt = in_sections("What is the weather in Oslo?\n\n[[ ## trajectory ## ]]\n", **STEP)
    told = "".join(f"        {line}\n" for line in TOOLS.splitlines())
    answer = sections(answer_to(prompt._replace(text=f"{told}{prompt.text}")))
    assert (answer["next_tool_name"], json.loads(answer["next_tool_args"])) == ("get_weather", {"town": "Oslo"})


def in_json(question: str, steps: str, **notes: str) -> dict[str, Any]:
    """What an agent answers that is to do so in JSON."""
    sketch = json.dumps({name: f"{{{name}}}{NOTE + note if note else ''}" for name, note in notes.items()})
    wanted = ", then ".join(f"`{name}`" for name in notes)
    user = (
        f"[[ ## question ## ]]\n{question}\n\n[[ ## trajectory ## ]]\n{steps}\n\n"
        f"Respond with a JSON object in the following order of fields: {wanted}."
    )
    prompt = asked(f"Outputs will be a JSON object with the following fields.\n\n{sketch}\n{TOOLS}", user)
    answer: dict[str, Any] = json.loads(answer_to(prompt, constraint=Constraint("json_object")))
    return answer


def test_an_agent_that_answers_in_json_calls_its_tools_and_comes_to_an_end() -> None:
    asked = "What is the weather in Oslo?"
    found = "[[ ## tool_name_0 ## ]]\nget_weather\n\n[[ ## tool_args_0 ## ]]\n{}\n\n[[ ## observation_0 ## ]]\nrain"
    over = f"{found}\n\n[[ ## tool_name_1 ## ]]\nfinish\n\n[[ ## observation_1 ## ]]\nCompleted."
    first, last = in_json(asked, "", **STEP), in_json(asked, found, **STEP)
    assert list(first) == list(STEP)
    assert (first["next_tool_name"], first["next_tool_args"]) == ("get_weather", {"town": "Oslo"})
    assert (last["next_tool_name"], last["next_tool_args"]) == ("finish", {})
    assert in_json(asked, over, reasoning="", answer="")["answer"] == "rain"


def test_the_step_of_an_agent_keeps_to_a_schema_or_is_not_told() -> None:
    prompt = asked(TOOLS, "[[ ## question ## ]]\nThe weather in Oslo?\n\n[[ ## trajectory ## ]]\n")
    names = {"enum": ["get_weather", "finish"]}
    for arguments, told in (({"type": "object"}, {"town": "Oslo"}), ({"type": "object", "maxProperties": 0}, {})):
        parts = {"next_tool_name": names, "next_tool_args": arguments}
        schema = {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
        assert json.loads(answer_to(prompt, constraint=Constraint("json_schema", schema)))["next_tool_args"] == told


def test_an_agent_answers_what_it_has_found() -> None:
    found = after("What's the weather in Oslo?", ("get_weather", "rain in Oslo"), ("finish", "Completed."), answer="")
    assert found["answer"] == "rain in Oslo"
