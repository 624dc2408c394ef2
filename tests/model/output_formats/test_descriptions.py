"""The objects that prompts sketch, and the keys that they list."""

from time import process_time
from typing import Any

import pytest

from mockserver.model.output_formats.descriptions import sketched_object, stated_pairs
from mockserver.model.output_formats.keys import like_text, named_keys


@pytest.mark.parametrize(
    "text, pairs",
    [
        (
            "Respond with this in json. city=San Francisco, state=CA, weather=sunny, temp=60",
            {"city": "San Francisco", "state": "CA", "weather": "sunny", "temp": 60},
        ),
        ("name=Bob; age=3; ok=true; d=1.5; c=null.", {"name": "Bob", "age": 3, "ok": True, "d": 1.5, "c": None}),
        ("Return JSON with city=Paris and country=France.", {"city": "Paris", "country": "France"}),
        ("a = 'two words', b = \"007\", zip=007", {"a": "two words", "b": "007", "zip": "007"}),
        ("Settings:\ntemperature=0.5\nmodel=x. The rest is as usual.", {"temperature": 0.5, "model": "x"}),
        ("город=Москва, страна=Россия", {"город": "Москва", "страна": "Россия"}),
        ("big=1e999, nan=NaN", {"big": "1e999", "nan": "NaN"}),
        ("a=1, b=2. Elsewhere are c=3, d=4", {"a": 1, "b": 2}),
    ],
)
def test_a_list_of_pairs_states_values(text: str, pairs: dict[str, Any]) -> None:
    assert stated_pairs(text) == pairs


@pytest.mark.parametrize(
    "text",
    ["", "a=1", "What is 1+1?", "x = f(1)\ny = 3", "if a == 1, b = g(2)", "https://x.com/?a=1&b=2", "E=mc^2"],
)
def test_a_single_pair_code_and_the_query_of_a_url_state_nothing(text: str) -> None:
    assert stated_pairs(text) == {}


@pytest.mark.parametrize("text", ["a=" * 10_000, "a=b " * 5_000, "a=b," * 5_000, "a = " + "b " * 9_000])
def test_a_long_prompt_is_searched_quickly(text: str) -> None:
    begun = process_time()
    stated_pairs(text)
    assert process_time() - begun < 0.5


Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items, "minItems": 1}


def between(least: float, most: float, kind: str = "integer") -> Schema:
    return {"type": kind, "minimum": least, "maximum": most}


def thing(**named: Schema) -> Schema:
    return {"type": "object", "properties": named, "required": list(named)}


@pytest.mark.parametrize(
    "text, named",
    [
        ("JSON with keys name, age, tags", {"name": TEXT, "age": NUMBER, "tags": TEXT}),
        ("Return JSON with the keys name and age.", {"name": TEXT, "age": NUMBER}),
        ("It must have the properties name (string) and ok (bool), nothing else", {"name": TEXT, "ok": BOOLEAN}),
        ("Keys: first_name, last_name. No other text.", {"first_name": TEXT, "last_name": TEXT}),
        ("with fields title: the title, stars: integer", {"title": TEXT, "stars": INTEGER}),
        ("a key called answer", {"answer": TEXT}),
        ("with the key greeting", {"greeting": TEXT}),
        ("fields like name, city", {"name": TEXT, "city": TEXT}),
        ('keys \'steps\' (an array of strings) and `final` ("a" or "b")', {"steps": array(TEXT), "final": TEXT}),
        ('a "mood" field (good/bad) and a "score" field', {"mood": TEXT, "score": NUMBER}),
        ("Return JSON with a 'questions' key, which is a list of strings. No more.", {"questions": array(TEXT)}),
        ('with the "tags" key as a list of strings', {"tags": array(TEXT)}),
        ('with the "sum" key as the sum of all, and "parts" keys', {"sum": TEXT, "parts": TEXT}),
        ('with "title", "year" and "cast" keys', {"title": TEXT, "year": NUMBER, "cast": TEXT}),
        (
            "these fields:\n- **name** (string): who\n- `size`: whole number\n* tags - list of strings\n\nThanks",
            {"name": TEXT, "size": INTEGER, "tags": array(TEXT)},
        ),
        ("these fields:\n1. title\n2. director", {"title": TEXT, "director": TEXT}),
        ("these keys:\n- name\n- age\n\n- city", {"name": TEXT, "age": NUMBER, "city": TEXT}),
        ("a JSON object with `title` (string) and `ok` (bool)", {"title": TEXT, "ok": BOOLEAN}),
        ("Return JSON with name, age and city.", {"name": TEXT, "age": NUMBER, "city": TEXT}),
        ("an array of objects containing id and done (boolean)", {"id": TEXT, "done": BOOLEAN}),
        ("Return JSON with exactly these keys: name, city", {"name": TEXT, "city": TEXT}),
        ("mit den Feldern Name, Ort und Zahl", {"Name": TEXT, "Ort": TEXT, "Zahl": TEXT}),
        ("avec les champs nom et ville.", {"nom": TEXT, "ville": TEXT}),
        ("con los campos calle y casa", {"calle": TEXT, "casa": TEXT}),
        ("keys: " + ", ".join(f"k{index}" for index in range(60)), {f"k{index}": TEXT for index in range(50)}),
        (
            "с полями: имя (строка), число (целое), доли (массив чисел)",
            {"имя": TEXT, "число": INTEGER, "доли": array(NUMBER)},
        ),
        ("Invent a person as JSON with name and age", {"name": TEXT, "age": NUMBER}),
        (
            "Answer with a JSON object containing a title, the year, and a plot.",
            {"title": TEXT, "year": NUMBER, "plot": TEXT},
        ),
        ("a JSON object with the name and age of a person", {"name": TEXT, "age": NUMBER}),
        ("a JSON object describing a person, with name, age", {"name": TEXT, "age": NUMBER}),
        ("Extract the invoice's number and total as JSON from this text", {"number": TEXT, "total": NUMBER}),
        ("two users in JSON, each with a name and is_admin", {"name": TEXT, "is_admin": BOOLEAN}),
        ("Extract all entities and relations as JSON", {}),
        ("List cats and dogs, and return the result as JSON", {}),
        ("JSON with indentation and line breaks", {}),
        ("Write JSON with no comments and nothing else.", {}),
        ("Parse JSON with Python and Rust, then compare them", {}),
        ("the key points about the fields of Mars", {}),
        ("fill in all fields that are missing", {}),
        ("All fields are required and must not be empty. Keys should be lowercase, without blanks.", {}),
        ("no word of it", {}),
        (
            "JSON: name (string), ages (list of integers), part (float from 0 to 1 inclusive), stars (integer, 1-5)",
            {"name": TEXT, "ages": array(INTEGER), "part": between(0, 1, "number"), "stars": between(1, 5)},
        ),
        (
            "this structure:\n- mood: one of good, bad or mixed\n- size: small|large\n- stars: 1 to 5",
            {"mood": {"enum": ["good", "bad", "mixed"]}, "size": {"enum": ["small", "large"]}, "stars": between(1, 5)},
        ),
        (
            'these keys:\n  "summary": 2-3 sentences\n  "tags": list of tags\n  "score": from 0 to 10',
            {"summary": TEXT, "tags": array(TEXT), "score": between(0, 10, "number")},
        ),
        ("keys: codes (list of 3-5 integers), pin (integer of 4-6 digits)", {"codes": array(INTEGER), "pin": INTEGER}),
        ("as JSON: Paris, London and Rome", {}),
        ('Return JSON: "Hello, world"', {}),
        ("The structure: it has two floors.", {}),
        ("valid JSON with no markdown, no code fences", {}),
        ("JSON with details of the sea, and nothing else", {}),
        ("JSON with proper formatting, and no blanks", {}),
    ],
)
def test_keys_are_taken_from_the_lists_that_people_write(text: str, named: dict[str, Schema]) -> None:
    assert named_keys(text) == named


@pytest.mark.parametrize(
    "sketch, schema",
    [
        ('{"name": <string>, "age": <int>} and so on', thing(name=TEXT, age=INTEGER)),
        (
            "{ name: string, tags: string[], sizes: list[float] }",
            thing(name=TEXT, tags=array(TEXT), sizes=array(NUMBER)),
        ),
        ('{\n  kind: "a" | "b"; // which\n  ok?: boolean\n}', thing(kind={"enum": ["a", "b"]}, ok=BOOLEAN)),
        (
            "{items: {id: int}[], rest: [{x: 1.5}, ...]}",
            thing(items=array(thing(id=INTEGER)), rest=array(thing(x=NUMBER))),
        ),
        ('{"steps": <list_of_strings>, "size": <whole_number>}', thing(steps=array(TEXT), size=INTEGER)),
        ('{"a": [...], "b": {"c": ...}}', thing(a=array(TEXT), b=thing(c=TEXT))),
        (
            '{"stars": 1-5, "part": 0.0-1.0, "back": 5-1}',
            thing(stars=between(1, 5), part=between(0, 1, "number"), back=INTEGER),
        ),
    ],
)
def test_an_object_is_read_from_what_is_nearly_json(sketch: str, schema: Schema) -> None:
    assert sketched_object(sketch, 0) == schema


@pytest.mark.parametrize(
    "text", ["{", "{}", "{not json}", '{"name": }', "{name: string", "{a: {b: }}", "{a: [}", "{a" * 99]
)
def test_what_is_no_object_is_none(text: str) -> None:
    assert sketched_object(text, 0) is None


def test_a_sketch_that_nests_absurdly_deep_is_none() -> None:
    assert sketched_object("{a:" * 50 + "1" + "}" * 50, 0) is None


@pytest.mark.parametrize(
    "text, schema",
    [("string", TEXT), ("Integer", INTEGER), ("low|high", {"enum": ["low", "high"]}), ("the number", TEXT)],
)
def test_a_text_in_an_example_may_name_its_type(text: str, schema: Schema) -> None:
    assert like_text(text) == schema
