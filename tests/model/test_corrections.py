"""What a client has refused, and how the next call or object differs."""

import json
from typing import Any

import pytest

from mockserver.core.generation import GenerationRequest, Message, Prompt, Tool, ToolChoice
from mockserver.model.output_formats import writers
from mockserver.model.tools.calls import decide
from tests.support.prompts import chat, text_of

USER: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
REQUIRED = ToolChoice("required", ("User",))
ASKED = "Jason is 25 years old"


def calls(*results: str, choice: ToolChoice = REQUIRED, parameters: Any = USER) -> list[Any]:
    """The arguments of the calls after one with these results."""
    messages = (Message("user", ASKED), Message("assistant", ""), *(Message("tool", each, "User") for each in results))
    prompt = Prompt(ASKED, ASKED, 10, chat=True, messages=messages)
    request = GenerationRequest("m", (prompt,), tools=(Tool("User", "A user", parameters),), tool_choice=choice)
    return [json.loads(call.arguments) for call in decide(request, prompt, 7)]


def called(refused: str) -> Any:
    """The arguments of the call after one that was refused."""
    [arguments] = calls(refused)
    return arguments


def written(refused: str) -> Any:
    """The object after one that was refused."""
    prompt = chat(Message("user", ASKED), Message("assistant", "{}"), Message("user", refused))
    return json.loads(text_of(writers()["json_schema"](prompt, 7, USER)))


def report(path: str, reason: str) -> str:
    """Pydantic's report of an error, within what Instructor writes around it."""
    return (
        f"Validation Error found:\n1 validation error for User\n{path}\n  Value error, {reason} [type=value_error, "
        "input_value='Jason', input_type=str]\n    For further information visit https://errors.pydantic.dev/2/v/value_error"
        "\nRecall the function correctly, fix the errors"
    )


@pytest.mark.parametrize("answer", [called, written])
@pytest.mark.parametrize(
    "path, reason, expected",
    [
        ("name", "Name should have all letters in uppercase", {"name": "JASON", "age": 25}),
        ("name", "must be lowercase", {"name": "jason", "age": 25}),
        ("name", "Name must contain a space", {"name": "Jason Smith", "age": 25}),
        ("name", "must contain the following words: peace, joy", {"name": "Jason peace, joy", "age": 25}),
        ("name", "must have at least 12 characters", {"name": "Jason Jason Jason Jason", "age": 25}),
        ("age", "must be at least 30", {"name": "Jason", "age": 30}),
        ("age", "Users must be older than 64", {"name": "Jason", "age": 65}),
        ("age", "should be less than 18", {"name": "Jason", "age": 17}),
        ("age", "should be less than 100", {"name": "Jason", "age": 25}),
        ("name", "does not please me", {"name": "Jason", "age": 25}),
        ("city", "must be lowercase", {"name": "Jason", "age": 25}),
    ],
)
def test_what_a_report_asks_for_in_plain_words_is_done(answer: Any, path: str, reason: str, expected: Any) -> None:
    assert answer(report(path, reason)) == expected


@pytest.mark.parametrize("answer", [called, written])
def test_a_report_as_json_or_in_words_alone_is_understood_too(answer: Any) -> None:
    rows = json.dumps([{"type": "value_error", "loc": ["name"], "msg": "Value error, must be uppercase"}])
    as_json = f"1 validation error:\n```json\n{rows}\n```\n\nFix the errors and try again."
    assert answer(as_json) == {"name": "JASON", "age": 25}
    assert answer("The name has to be in lower case. Fix the errors and try again.") == {"name": "jason", "age": 25}


def test_two_refusals_are_both_heeded() -> None:
    both = report("name", "must be uppercase") + "\n" + report("age", "must be at least 30")
    assert called(both) == {"name": "JASON", "age": 30}


def test_a_result_that_is_no_refusal_corrects_nothing() -> None:
    assert called("Saved in uppercase letters") == {"name": "Jason", "age": 25}


def test_a_tool_that_may_be_called_is_called_again_only_if_the_call_can_be_corrected() -> None:
    refused = report("name", "must be uppercase")
    assert calls(refused, choice=ToolChoice("auto")) == [{"name": "JASON", "age": 25}]
    assert calls(refused, "saved", choice=ToolChoice("auto")) == []
    assert calls(report("name", "is not to my taste"), choice=ToolChoice("auto")) == []


def test_a_correction_that_the_schema_forbids_is_not_made() -> None:
    strict = {**USER, "properties": {**USER["properties"], "name": {"enum": ["Jason"]}}}
    [arguments] = calls(report("name", "must be uppercase"), parameters=strict)
    assert arguments["name"] == "Jason"
