"""What prompts, above all those for judges, say of the values of keys beside the form of the object."""

import json
from time import process_time
from typing import Any

import pytest

from mockserver.core.generation import Constraint, Message
from mockserver.model.output_formats.keys import restricted
from tests.support.prompts import answer_to, chat

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}


def thing(**named: Schema) -> Schema:
    return {"type": "object", "properties": named, "required": list(named)}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def said(text: str, seed: int = 1, schema: object = None) -> Any:
    constraint = Constraint("json_schema", schema) if schema is not None else None
    return json.loads(answer_to(chat(Message("user", text)), seed, constraint=constraint))


@pytest.mark.parametrize(
    "text, words",
    [
        ("The 'grade' key should STRICTLY be either 'pass' or 'fail', and nothing else.", ["pass", "fail"]),
        ('"grade" must be one of "low", "mid", or "high".', ["low", "mid", "high"]),
        ("`grade` field that outputs only 'yes' or 'no'", ["yes", "no"]),
        ("The 'grade' should be 'yes' (it fits), 'no' (it does not), or 'open' (unclear).", ["yes", "no", "open"]),
        ("Grade must be a 'yes' or 'no'.", ["yes", "no"]),
        ('The "grade" must be a single letter A, B, or C.', ["A", "B", "C"]),
        ("The grade is nothing. Say 'yes' or 'no'.", None),
        ("The 'note' key should be either 'yes' or 'no'.", None),
        ("grade must be 0 or 1", None),
        ("The JSON has 2 fields: 'grade' and 'note'", None),
    ],
)
def test_a_text_is_one_of_the_words_that_the_prompt_names_for_its_key(text: str, words: list[str] | None) -> None:
    schema = thing(grades=array(thing(grade=TEXT, other=NUMBER)))
    expected = thing(grades=array(thing(grade={**TEXT, "enum": words} if words else TEXT, other=NUMBER)))
    assert restricted(schema, text) == expected


@pytest.mark.parametrize(
    "text, stated",
    [
        ('- "score": an integer between 0 and 10, with 10 for the best', {"minimum": 0, "maximum": 10}),
        ("The `score` must be on a scale from 1 to 5.", {"minimum": 1, "maximum": 5}),
        ("score (1-5)", {"minimum": 1, "maximum": 5}),
        ("'score' should be either 0 or 1", {"enum": [0, 1]}),
        ("score: the sum of 2 to 3 digits", {}),
        ("the score, for the years 1990 to 2000", {}),
        ("The score must be between 0.2 and 0.8.", {}),
        ("'score' should be 'good' or 'bad'", {}),
    ],
)
def test_a_number_is_one_of_those_or_in_the_range_that_the_prompt_states(text: str, stated: Schema) -> None:
    assert restricted(thing(score=INTEGER), text) == thing(score=INTEGER | stated)


@pytest.mark.parametrize(
    "text, count",
    [
        (
            "The number of 'grades' MUST equal the number of claims.\n\nClaims:\n['It is, well, late', \"It's\"]\n",
            2,
        ),
        ('Give ONE grade per claim.\n\nOthers:\n[\'a\']\nClaims:\n["a", "b", "c"]\n\nJSON:', 3),
        ("The length of 'grades' should be strictly equal to 4.\n['a']", 4),
        ("Give one grade per claim.\n\nClaims: none", None),
        ("The list of claims:\n['a', 'b']", None),
    ],
)
def test_a_list_has_as_many_items_as_the_list_that_the_prompt_compares_it_with(text: str, count: int | None) -> None:
    sized = {"minItems": count, "maxItems": count} if count else {}
    assert restricted(thing(grades=array(TEXT), note=TEXT), text) == thing(grades=array(TEXT) | sized, note=TEXT)


def test_a_number_that_the_prompt_calls_whole_is_an_integer() -> None:
    text = '- "score": an integer between 0 and 10'
    assert restricted(thing(score=NUMBER), text) == thing(score={**INTEGER, "minimum": 0, "maximum": 10})
    assert restricted(thing(score=NUMBER), "score: 0-1") == thing(score={**NUMBER, "minimum": 0, "maximum": 1})


def test_nothing_is_added_to_what_a_schema_says_itself() -> None:
    text = "'a' must be 'x' or 'y'. 'b' must be from 1 to 3. The number of c must be equal to 3."
    schema = thing(a={"enum": ["z"]}, b={"type": "integer", "minimum": 7}, c={**array(TEXT), "maxItems": 2})
    assert restricted(schema, text) is schema
    assert restricted([], text) == []
    assert restricted(True, text) is True


JUDGE = """
Judge whether each remark is polite. The 'grade' key should be either 'polite' or 'rude'.

RUBRIC:
{
  "polite": "Thank you, that helps.",
  "rude": "Is that all?"
}

Return only JSON, with the 'grades' key as a list of objects.
{
  "grades": [
    {
      "reason": "The words "by all means" and "please" are kind, and nothing else matters.",
      "grade": "polite"
    }
  ]
}
Give ONE grade per remark.

Remarks:
['Come in.', 'Go away!', 'Whatever.']

JSON:"""


@pytest.mark.parametrize("seed", range(5))
def test_a_judge_answers_in_the_announced_form_though_its_example_is_not_quite_json(seed: int) -> None:
    answer = said(JUDGE, seed)
    assert [list(answer), [list(each) for each in answer["grades"]]] == [["grades"], [["reason", "grade"]] * 3]
    assert {each["grade"] for each in answer["grades"]} <= {"polite", "rude"}
    assert all(isinstance(each["reason"], str) for each in answer["grades"])


@pytest.mark.parametrize(
    "example",
    [
        '{"grades": [ { "grade": "polite", "reason": "Kind.  }, { "grade": "rude" }, ] }',
        '{"grade": "polite", "reason": "It is kind."}',
        "Each of them has two keys: `grade` and `reason`.",
    ],
)
def test_a_list_of_objects_of_which_the_prompt_shows_only_one_is_answered_with_all(example: str) -> None:
    order = "Return only JSON, with the 'grades' key as a list of JSON objects.\nGive ONE grade per remark.\n"
    answer = said(f"{order}{example}\n\nRemarks:\n['Come in.', 'Go away!']\n")
    assert [list(answer), *(sorted(each) for each in answer["grades"])] == [["grades"], *[["grade", "reason"]] * 2]


def test_what_a_prompt_says_holds_beside_a_schema_too() -> None:
    text = "Answers should be either 'yes' or 'no'. The number of answers must equal that of questions.\n['a', 'b']"
    schema = thing(answers={**array({"type": "string", "title": "Answer"}), "title": "Answers"})
    answers = [said(text, seed, schema)["answers"] for seed in range(8)]
    assert {len(each) for each in answers} == {2}
    assert {word for each in answers for word in each} == {"yes", "no"}


@pytest.mark.parametrize(
    "described", ['this schema: {"type": "object", "properties": {"n": {"maximum": 2e70}}}', "n=2e70, kind=large"]
)
def test_a_prompt_may_state_numbers_of_more_than_64_bits(described: str) -> None:
    assert "n" in said(f"Answer only with JSON, and {described}".replace("2e70", str(2**70)))


def test_a_schema_with_which_the_prompt_does_not_agree_stands() -> None:
    schema = thing(answers={**array(TEXT), "minItems": 4})
    assert len(said("The number of answers must be equal to 2.", 1, schema)["answers"]) >= 4


@pytest.mark.parametrize(
    "piece", ["'a' ", "\"'", "a is ", "a: ", "number of x ", "[\n", "['", "a is 'x' (", "x(1-", "1 or ", "1", " "]
)
def test_hostile_prompts_are_read_in_linear_time(piece: str) -> None:
    text = (piece * 20_000)[:20_000]
    began = process_time()
    restricted(thing(a=TEXT, b=array(TEXT)), text)
    assert process_time() - began < 0.5


@pytest.mark.parametrize(
    "description, is_binary",
    [
        ("1 if the remark is polite, 0 otherwise", True),
        ("Verdict: 0 if it is rude and 1 if it is polite", True),
        ("The verdict (0/1) of the judge", True),
        ("1 if the remark is polite, 1 for all others", False),
        ("A number from 10 to 100", False),
    ],
)
def test_an_integer_that_its_description_calls_binary_is_nought_or_one(description: str, is_binary: bool) -> None:
    part: Schema = {"type": "integer", "description": description}
    for place in ("$defs", "definitions"):
        schema = thing(grades=array({"$ref": f"#/{place}/Grade"})) | {place: {"Grade": thing(grade=part)}}
        grades = {each["grade"] for seed in range(6) for each in said("Judge.", seed, schema)["grades"]}
        assert grades <= {0, 1} if is_binary else not grades <= {0, 1}
