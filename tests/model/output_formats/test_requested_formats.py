"""Orders to answer in JSON are obeyed; prompts that only mention JSON are answered in prose."""

import json
from typing import Any

import pytest

from mockserver.core.generation import Constraint, Message, Prompt, Sampling
from mockserver.model import output_formats
from mockserver.model.output_formats import requested_format
from mockserver.model.schema.texts import words
from tests.support.prompts import answer_to

ORDERS = (
    'Anna is 30. Answer only with valid JSON, nothing else: {"name": string}',
    "Return JSON with keys a, b",
    "Respond in JSON.",
    "Please reply with a JSON object containing the name.",
    "The output should be formatted as a JSON instance that conforms to the JSON schema below.",
    "Return the correct JSON response within a ```json codeblock. not the JSON_SCHEMA",
    "Extract the user's name and age as JSON: Anna is 30",
    "Верни JSON с полями name и age",
    "Ответ дай в формате JSON",
    "Output must be valid JSON.",
    "Your response must be a single JSON object.",
    "JSON only, please: the capital of Norway",
    "Provide only JSON",
    "STRICTLY RETURN JSON",
    'Classify the sentiment. Respond with JSON: {"label": "pos|neg"}',
    'Write tags for the chat history.\n### Output:\nJSON format: { "tags": ["tag1", "tag2"] }',
    "I need a json with city and population for Oslo",
    "Create a JSON object that has a name and an age",
    "Show me the JSON for a person",
)
OTHER_MATTERS = (
    "What is JSON?",
    "Write a Python function that returns JSON",
    "Explain how to parse JSON in Go",
    "Convert this JSON to YAML: {}",
    "How do I return JSON from Flask?",
    "Generate a JSON schema for users",
    "What does this API return? JSON or XML?",
    'Extract the name from this JSON: {"name": "Bo"}',
    "The function should return JSON. Write it in Go.",
    "Summarise the file config.json",
    'Write a program that prints its settings in JSON format: { "a": 1 }',
    "Our endpoint should respond with JSON; why doesn't it?",
    "List the pros and cons of JSON",
    "Write a JSON tutorial for beginners",
    "I want to learn JSON",
)


def asked(text: str, *before: Message) -> Prompt:
    return Prompt(text, text, 1, chat=True, messages=(*before, Message("user", text)))


@pytest.mark.parametrize("text", ORDERS)
def test_an_order_is_obeyed(text: str) -> None:
    assert requested_format(asked(text)) == Constraint("json_object")
    assert isinstance(json.loads(answer_to(asked(text))), dict)


@pytest.mark.parametrize("text", ORDERS)
def test_an_order_is_found_anywhere_among_mentions_of_json(text: str) -> None:
    mention = "The file is written as JSON by a tool that nobody remembers. " + "It is kept for later use. " * 20
    for before, after in ((0, 1), (1, 1), (5, 0), (9, 5)):
        assert requested_format(asked(f"{mention * before}\n{text}\n{mention * after}")) == Constraint("json_object")


def test_only_the_surroundings_of_json_are_searched_for_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []

    class Noting:
        def finditer(self, text: str, start: int, end: int) -> tuple[()]:
            searched.append(end - start)
            return ()

    monkeypatch.setattr(output_formats, "_order", Noting)
    assert (
        requested_format(asked("Return a list of words. " * 400 + "JSON" + " and give more" * 400 + " json or JSON"))
        is None
    )
    assert len(searched) == 2
    assert sum(searched) < 600


@pytest.mark.parametrize("text", OTHER_MATTERS)
def test_whatever_else_is_said_of_json_is_answered_in_prose(text: str) -> None:
    assert requested_format(asked(text)) is None


def test_an_array_has_as_many_objects_as_are_named() -> None:
    prompt = asked("Give me 4 users as a JSON array with keys name and email")
    assert requested_format(prompt) == Constraint("json_array")
    assert [list(user) for user in json.loads(answer_to(prompt))] == [["name", "email"]] * 4
    assert all(isinstance(each, str) for each in json.loads(answer_to(asked("Return a JSON list of colours"))))


@pytest.mark.parametrize(
    "order, value",
    [
        ("Give me a JSON array of 4 countries", 4 * [str]),
        ("Give me a list of three cities in JSON format", 3 * [str]),
        ("List five fruits as a JSON array", 5 * [str]),
        ("Give me three cities as JSON", {"cities": 3 * [str]}),
        ("Return a list of 2 users as JSON with name and email", 2 * [{"name": str, "email": str}]),
        ("Generate 2 users in JSON format, each with name and age", {"users": 2 * [{"name": str, "age": int}]}),
        ("Extract the person's name and age as JSON: Jason is 25 years old", {"name": "Jason", "age": 25}),
        ("I need a json with city and population for Oslo", {"city": "Oslo", "population": int}),
        ("Give me a JSON object with name (string) and age (integer)", {"name": str, "age": int}),
    ],
)
def test_what_is_asked_for_in_words_is_in_the_answer(order: str, value: Any) -> None:
    def alike(held: Any, form: Any) -> bool:
        if isinstance(form, list):
            one = [json.dumps(each) for each in held]
            return len(set(one)) == len(form) and all(map(alike, held, form))
        if isinstance(form, dict):
            return list(held) == list(form) and all(alike(held[name], form[name]) for name in form)
        return isinstance(held, form) if isinstance(form, type) else bool(held == form)

    held = json.loads(answer_to(asked(order)))
    assert alike(held, value), held


@pytest.mark.parametrize(
    "noun, table", [("cities", "city"), ("countries", "country"), ("colors", "color"), ("fruits", "fruit")]
)
def test_a_list_of_words_has_words_of_that_kind(noun: str, table: str) -> None:
    listed = json.loads(answer_to(asked(f"Return a JSON array of 3 {noun}")))
    assert len(listed) == 3
    assert set(listed) <= set(words(table, "en"))


def test_an_array_that_cannot_have_so_many_objects_has_some() -> None:
    example = {f"key{number}": "text" for number in range(200)}
    assert json.loads(answer_to(asked(f"Return 99 of them as a JSON array of objects like {json.dumps(example)}")))


PERSON = {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}
STAFF = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "definitions": {"Person": {"type": "object", **PERSON}},
    "properties": {"person": {"$ref": "#/definitions/Person"}},
    "required": ["person"],
}


@pytest.mark.parametrize("schema", [STAFF, {"$ref": "#/$defs/Staff", "$defs": {"Staff": {"$id": "staff", **STAFF}}}])
@pytest.mark.parametrize(
    "order",
    [
        "Return a JSON list of those who are named, by the schema",
        "Return a JSON object with a 'staff' key as a list of objects, by the schema",
        "Write the JSON between <out></out> tags, by the schema",
    ],
)
def test_what_a_prompt_describes_by_a_schema_with_references_may_be_a_part(order: str, schema: dict[str, Any]) -> None:
    value = json.loads(answer_to(asked(f"{order} {json.dumps(schema)}")).removeprefix("<out>").removesuffix("</out>"))
    for item in value.get("staff", [value]) if isinstance(value, dict) else value:
        assert {name: type(held) for name, held in item["person"].items()} == {"name": str, "age": int}


def test_an_object_that_is_written_out_goes_before_a_list_in_words() -> None:
    prompt = asked('Suggest questions. Respond with a JSON array of texts.\nJSON format: { "questions": ["First?"] }')
    assert requested_format(prompt) == Constraint("json_object")
    assert list(json.loads(answer_to(prompt))) == ["questions"]


@pytest.mark.parametrize(
    "order", ["Return a minified JSON object", "Reply in JSON, all of it on one line,", "Output compact JSON"]
)
def test_json_is_on_one_line_if_that_is_asked_for(order: str) -> None:
    text = answer_to(asked(f"{order} with the keys name and tags (a list)."))
    assert text == json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    assert list(json.loads(text)) == ["name", "tags"]


def test_the_system_may_order_it_and_an_old_question_may_not() -> None:
    system = Message("system", "Always respond in JSON with keys answer and score.")
    assert requested_format(asked("How tall is it?", system)) == Constraint("json_object")
    assert requested_format(asked("And in plain words?", Message("user", "Respond in JSON."))) is None


KEYS = "Anna is 30. Answer in JSON with the keys name and age"


@pytest.mark.parametrize(
    "order, begun",
    [
        (KEYS, "{"),
        (KEYS, ' {\n"name" :'),
        (KEYS, "```json"),
        ("Anna is 30", "Here it is:\n\n{"),
        ("Anna is 30", "["),
        ("Anna is 30", "Of course.\n```json\n{"),
        ("Anna is 30", "```json\n["),
    ],
)
def test_what_the_assistant_has_begun_is_gone_on_with(order: str, begun: str) -> None:
    messages = (Message("user", order), Message("assistant", begun))
    whole = begun + answer_to(Prompt(f"{order}\n{begun}", order, 1, chat=True, messages=messages))
    fenced = whole.partition("```json\n")[2].removesuffix("\n```")
    text = fenced or whole.removeprefix("Here it is:")
    assert whole.endswith("\n```") == ("```" in begun)
    assert isinstance(json.loads(text), list if "[" in begun else dict)


@pytest.mark.parametrize("earlier", ['{"name": "Bo"}', '```json\n{"name": "Bo"}\n```', "{ is a brace"])
def test_an_answer_of_another_assistant_is_not_gone_on_with(earlier: str) -> None:
    messages = (Message("user", KEYS), Message("assistant", earlier))
    assert isinstance(json.loads(answer_to(Prompt(f"{KEYS}\n{earlier}", KEYS, 1, chat=True, messages=messages))), dict)


@pytest.mark.parametrize(
    "sampling", [Sampling(temperature=1.5), Sampling(temperature=0), Sampling(frequency_penalty=2.0)]
)
def test_controls_of_sampling_leave_it_whole(sampling: Sampling) -> None:
    assert isinstance(json.loads(answer_to(asked("Answer in JSON: how tall is it?"), sampling=sampling)), dict)


def test_a_demanded_form_goes_before_an_order_in_words() -> None:
    assert set(answer_to(asked("Respond in JSON."), constraint=Constraint("regex", "[ab]{3}"))) <= {"a", "b"}
