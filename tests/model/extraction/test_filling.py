"""What a prompt names, in structured output: in objects, in objects within them, and in lists of objects."""

import json
from typing import Any

import pytest

from mockserver.core.generation import Message
from mockserver.model.extraction import is_told
from mockserver.model.output_formats import writers
from tests.support.prompts import chat, text_of

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
PERSON: Schema = {
    "title": "Person",
    "type": "object",
    "properties": {"name": TEXT, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
GROUP: Schema = {
    "type": "object",
    "$defs": {"Person": PERSON},
    "properties": {"people": {"type": "array", "items": {"$ref": "#/$defs/Person"}}},
    "required": ["people"],
}
ACCOUNT: Schema = {
    "type": "object",
    "$defs": {"Person": PERSON},
    "properties": {"user": {"anyOf": [{"$ref": "#/$defs/Person"}, {"type": "null"}]}},
    "required": ["user"],
}
EVENT: Schema = {
    "type": "object",
    "properties": {"participants": {"type": "array", "items": TEXT}},
    "required": ["participants"],
}
STOPS: Schema = {
    "type": "object",
    "properties": {"stops": {"type": "array", "items": {"type": "object", "properties": {"city": TEXT}}}},
    "required": ["stops"],
}


def whole(**rows: Schema) -> Schema:
    return {"type": "object", "properties": rows, "required": list(rows)}


RESIDENT = whole(name=TEXT, home=whole(street=TEXT, city=TEXT, country=TEXT))
HOME = whole(city=TEXT, state=TEXT, zip=TEXT)
PRODUCT = whole(name=TEXT, price={"type": "number"}, in_stock={"type": "boolean"})
TASK = whole(title=TEXT, priority={"type": "integer"})
CONTACT = whole(name=TEXT, phone_number=TEXT)
SIZES = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}
ASSIGNED = whole(label=TEXT, note=TEXT, sizes=SIZES, deep={"type": "boolean"}, none={"type": ["string", "null"]})
CALLER = whole(name=TEXT, age={"type": "integer"}, phone=TEXT)
NAMED: Schema = {"type": "array", "items": whole(name=TEXT)}
NUMBER: Schema = {"type": "number"}
MEETING = whole(
    start={"type": "string", "format": "date-time"},
    end={"type": "string", "format": "date-time"},
    attendees={"type": "array", "items": {"type": "string", "format": "email"}},
)
LIFE = whole(
    first_name=TEXT,
    lastName=TEXT,
    born={"type": "string", "format": "date"},
    died={"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
)
WEATHER = whole(temperature=NUMBER, conditions={"type": "array", "items": {"enum": ["sunny", "cloudy", "rain"]}})
KINDS: Schema = {
    name: whole(kind={"const": name}, name=TEXT, age={"type": "integer"}) for name in ("cat", "dog", "fish")
}
PETS: Schema = {
    "type": "object",
    "$defs": KINDS,
    "properties": {"pet": {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in KINDS]}},
    "required": ["pet"],
}
QUARTER = whole(revenue=NUMBER, growth=NUMBER, year={"type": "integer"})
STAFF = whole(name=TEXT, title=TEXT, company=TEXT, skills={"type": "array", "items": TEXT})
JOURNEY = whole(origin=TEXT, departure_date=TEXT, return_date=TEXT, passengers={"type": "integer"})
INVOICE = whole(invoice_number=TEXT, vendor=TEXT, date=TEXT, due_date=TEXT, total=NUMBER)


def written(kind: str, prompt: str, schema: Schema | None, key: int = 7) -> Any:
    return json.loads(text_of(writers()[kind](chat(Message("user", prompt)), key, schema)))


@pytest.mark.parametrize(
    "prompt, schema, expected",
    [
        ("Jason is 25 years old", PERSON, {"name": "Jason", "age": 25}),
        ("Extract the person: Jason Liu, age 25.", PERSON, {"name": "Jason Liu", "age": 25}),
        ("Name: Jason\nAge: 25", PERSON, {"name": "Jason", "age": 25}),
        (
            'Keep to this JSON schema: {"title": "User", "example": "Ann is 31"}\n\nTask: Jason is 25 years old',
            PERSON,
            {"name": "Jason", "age": 25},
        ),
        ("Jason is 25 years old and moved to Oslo", PERSON, {"name": "Jason", "age": 25}),
        ("Task: Jason is 25 years old\n\nDo not write ```json or ``` around it", PERSON, {"name": "Jason", "age": 25}),
        ("Jason is 25 years old", ACCOUNT, {"user": {"name": "Jason", "age": 25}}),
        ("Jason is 25 years old", GROUP, {"people": [{"name": "Jason", "age": 25}]}),
        (
            "Jason is 25 years old, Anna is 31",
            GROUP,
            {"people": [{"name": "Jason", "age": 25}, {"name": "Anna", "age": 31}]},
        ),
        ("Extract jason is 25 years old", PERSON, {"name": "jason", "age": 25}),
        ("Jason is 25 and lives in Berlin", PERSON, {"name": "Jason", "age": 25}),
        ("John Smith, 42, is a baker", PERSON, {"name": "John Smith", "age": 42}),
        (
            "Jason is 20, Sarah is 30Extract them correctly",
            GROUP,
            {"people": [{"name": "Jason", "age": 20}, {"name": "Sarah", "age": 30}]},
        ),
        (
            "John Doe, 28 years old, lives at 123 Main St, Springfield, USA",
            RESIDENT,
            {"name": "John Doe", "home": {"street": "123 Main St", "city": "Springfield", "country": "USA"}},
        ),
        ("Ann moved to 5 High Street, Boston, MA 02110, USA", HOME, {"city": "Boston", "state": "MA", "zip": "02110"}),
        (
            "iPhone 15 Pro costs $999 and is currently available",
            PRODUCT,
            {"name": "iPhone 15 Pro", "price": 999, "in_stock": True},
        ),
        ("The lamp costs $5 and is not in stock", PRODUCT, {"name": "lamp", "price": 5, "in_stock": False}),
        ("The lamp costs $5 and is sold out", PRODUCT, {"name": "lamp", "price": 5, "in_stock": False}),
        (
            "Create a task: Fix bug in login, high priority (9)",
            TASK,
            {"title": "Fix bug in login", "priority": 9},
        ),
        ("Alice and Bob meet on Friday.", EVENT, {"participants": ["Alice", "Bob"]}),
        ("Ann and Bob are going to a fair.", whole(people=NAMED), {"people": [{"name": "Ann"}, {"name": "Bob"}]}),
        ("Ann Lee: (555) 123-4567, 31 years", CALLER, {"name": "Ann Lee", "age": 31, "phone": "(555) 123-4567"}),
        ("Ann is 31, call 555-123-4567", CALLER, {"name": "Ann", "age": 31, "phone": "555-123-4567"}),
        ("Describe John F. Kennedy", whole(name=TEXT), {"name": "John F. Kennedy"}),
        ("A. Paris B. Rome", whole(cities={"type": "array", "items": TEXT}), {"cities": ["Paris", "Rome"]}),
        ("Plan a journey to Rome and Florence", STOPS, {"stops": [{"city": "Rome"}, {"city": "Florence"}]}),
        (
            "John Smith, Senior Engineer at Acme, skills: Python, Go and SQL",
            STAFF,
            {"name": "John Smith", "title": "Senior Engineer", "company": "Acme", "skills": ["Python", "Go", "SQL"]},
        ),
        (
            "Fly from New York to London on 12 May, back on 20 May, for 2 adults",
            JOURNEY,
            {"origin": "New York", "departure_date": "12 May", "return_date": "20 May", "passengers": 2},
        ),
        (
            "Invoice INV-7 from Acme Corp, 2024-05-01, total $1,234.50, due 2024-06-01",
            INVOICE,
            {
                "invoice_number": "INV-7",
                "vendor": "Acme Corp",
                "date": "2024-05-01",
                "due_date": "2024-06-01",
                "total": 1234.5,
            },
        ),
        (
            "Paris is the capital of France with a population of 2.1 million",
            whole(city=TEXT, country=TEXT, population={"type": "integer"}),
            {"city": "Paris", "country": "France", "population": 2_100_000},
        ),
        (
            "Anna will send the report. Bob will book the room.",
            whole(todo={"type": "array", "items": whole(assignee=TEXT)}),
            {"todo": [{"assignee": "Anna"}, {"assignee": "Bob"}]},
        ),
        (
            "The quick brown fox jumps over the lazy dog with piercing blue eyes",
            whole(colors={"type": "array", "items": TEXT}, animals={"type": "array", "items": TEXT}),
            {"colors": ["brown", "blue"], "animals": ["fox", "dog"]},
        ),
        ("It was good. 4 stars", whole(rating={"type": "integer"}), {"rating": 4}),
        (
            "Record label='The Long, Way' with note = `a, b` and sizes=[[1, 2], [3]], deep = true, none=null.",
            ASSIGNED,
            {"label": "The Long, Way", "note": "a, b", "sizes": [[1, 2], [3]], "deep": True, "none": None},
        ),
        (
            'Record label = The Long Way, note = "a, b" and sizes = [[1, 2], [3]], deep = true, none=null.',
            ASSIGNED,
            {"label": "The Long Way", "note": "a, b", "sizes": [[1, 2], [3]], "deep": True, "none": None},
        ),
        (
            "Meet on 2026-03-04 from 10:00 to 11:30 with ann@x.org and bob@y.org",
            MEETING,
            {
                "start": "2026-03-04T10:00:00Z",
                "end": "2026-03-04T11:30:00Z",
                "attendees": ["ann@x.org", "bob@y.org"],
            },
        ),
        (
            "Ada Lovelace was born on December 10, 1815 and died on 27th November 1852.",
            LIFE,
            {"first_name": "Ada", "lastName": "Lovelace", "born": "1815-12-10", "died": "1852-11-27"},
        ),
        (
            "Set it for 7:30 pm on 12/24/2026",
            whole(time={"type": "string", "format": "time"}, day={"type": "string", "format": "date"}),
            {"time": "19:30:00Z", "day": "2026-12-24"},
        ),
        # The long s is an s to patterns that ignore case.
        ("It began on \u017feptember 3, 1752", whole(day={"type": "string", "format": "date"}), {"day": "1752-09-03"}),
        (
            "It's 21.5 degrees in Paris, cloudy with some rain.",
            WEATHER,
            {"temperature": 21.5, "conditions": ["cloudy", "rain"]},
        ),
        (
            "In Q2 2025, revenue was 4.5 million USD, up 12% YoY.",
            QUARTER,
            {"revenue": 4_500_000, "growth": 12, "year": 2025},
        ),
        *(
            (f"My {name} Rex is 7 years old", schema, {"pet": {"kind": name, "name": "Rex", "age": 7}})
            for name in KINDS
            for schema in (PETS, whole(pet={"anyOf": [*KINDS.values()]}))
        ),
        # What a constant holds is no schema.
        ("I have a dog", whole(pet={"const": {"anyOf": [*KINDS.values()]}}), {"pet": {"anyOf": [*KINDS.values()]}}),
        ("Pay 120.50 EUR at 14:30", whole(amount=NUMBER), {"amount": 120.5}),
        ("I give it 4 stars, 2 thumbs up", whole(rating={"enum": [1, 2, 3, 4, 5]}), {"rating": 4}),
        ("Assign it to Maria, since Safari crashes", whole(assignee=TEXT), {"assignee": "Maria"}),
        (
            "name: bob, age: 25, city: berlin, is_active: false",
            whole(name=TEXT, age={"type": "integer"}, city=TEXT, is_active={"type": "boolean"}),
            {"name": "bob", "age": 25, "city": "berlin", "is_active": False},
        ),
        (
            "Translate it from English to French",
            whole(source_language=TEXT, target_language=TEXT),
            {"source_language": "English", "target_language": "French"},
        ),
    ],
)
@pytest.mark.parametrize("kind", ["json_schema", "json_complete"])
def test_structured_output_holds_what_the_prompt_names(
    kind: str, prompt: str, schema: Schema, expected: Schema
) -> None:
    assert written(kind, prompt, schema) == expected


@pytest.mark.parametrize(
    "phone",
    ["+1 555-123-4567", "(555) 123-4567", "555-1234", "+7 (495) 123-45-67", "8-800-555-35-35", "1-800-555-0199",
     "+44 20 7946 0958", "+15551234567", "5551234567", "555.123.4567", "030 1234567"],
)  # fmt: skip
def test_a_telephone_number_is_taken_from_the_prompt(phone: str) -> None:
    told = written("json_schema", f"Contact Ann Lee, {phone}.", CONTACT)
    assert told == {"name": "Ann Lee", "phone_number": phone}


@pytest.mark.parametrize(
    "number", ["1990-05-12", "10 000 000", "12 45 78 90", "192.168.10.10", "4111 1111 1111 1111", "+5 100", "100-200"]
)
def test_other_numbers_are_no_telephone_numbers(number: str) -> None:
    told = written("json_schema", f"Contact Ann Lee, {number}.", whole(name=TEXT, phone=TEXT))
    assert told["name"] == "Ann Lee"
    assert number not in told["phone"]


@pytest.mark.parametrize("kind", ["json_schema", "json_complete"])
@pytest.mark.parametrize(
    "prompt, count",
    [
        ("generate three fake profiles", 3),
        ("Give me a list of 4 people.", 4),
        ("List the 12 best authors", 12),
        ("Suggest eleven new members", 11),
        ("List \u017fix authors", 6),
    ],
)
def test_a_list_has_as_many_items_as_the_prompt_asks_for(kind: str, prompt: str, count: int) -> None:
    people = written(kind, prompt, GROUP)["people"]
    assert len({person["name"] for person in people}) == len(people) == count


@pytest.mark.parametrize("prompt", ["generate three fake profiles", "List 30 people", "Write 2 sentences on people"])
def test_a_list_keeps_to_its_bounds_and_counts_only_items(prompt: str) -> None:
    pair = whole(people={"type": "array", "items": PERSON, "minItems": 1, "maxItems": 1})
    assert len(written("json_schema", prompt, pair)["people"]) == 1


def test_who_stands_in_an_object_stands_in_no_list_within_it() -> None:
    work = {"type": "object", "properties": {"company": TEXT}, "required": ["company"]}
    resume = {
        "type": "object",
        "properties": {"name": TEXT, "experience": {"type": "array", "items": work, "minItems": 1}},
        "required": ["name", "experience"],
    }
    held = written("json_schema", "Jason Liu is 25 years old and works at ACME. Answer in JSON.", resume)
    assert held["name"] == "Jason Liu"
    assert held["experience"][0] == {"company": "ACME"}
    assert "Jason Liu" not in [row["company"] for row in held["experience"]]


def test_an_object_in_words_alone_holds_what_the_prompt_names() -> None:
    asked = "Jason is 25 years old. Answer in JSON with the keys name and age."
    assert written("json_object", asked, None) == {"name": "Jason", "age": 25}


@pytest.mark.parametrize(
    "prompt",
    [
        "Invent a person",
        "Who is the author of this book?",  # names what it asks about, and not its answer
        'Write an example like {"name": "Jason", "age": 25}',
        'Use the keys "name" and "age"',
        "Return JSON with name and age",
        "Return JSON with a name or an age",
    ],
)
def test_what_names_no_value_changes_nothing(prompt: str) -> None:
    held = written("json_schema", prompt, PERSON)
    assert held["name"] not in (
        "Jason",
        "Faust",
        "name",
        "age",
        "Invent",
        "Who",
        "Write",
        "Use",
        "and age",
        "or an age",
    )
    assert 18 <= held["age"] <= 79


@pytest.mark.parametrize("prompt", ["JSON with title and year", "a note with title or body, as JSON"])
def test_keys_that_are_listed_are_no_title(prompt: str) -> None:
    held = written("json_schema", prompt, {"type": "object", "properties": {"title": TEXT}, "required": ["title"]})
    assert not held["title"].startswith(("and ", "or "))


def test_a_text_of_which_nothing_says_what_it_is_stays_prose() -> None:
    schema = {"type": "object", "properties": {"summary": TEXT, "city": TEXT}, "required": ["summary", "city"]}
    held = written("json_schema", "Describe the harbour of Antalya.", schema)
    assert held["city"] == "Antalya"
    assert len(held["summary"]) > len("Antalya")


def test_a_kind_is_told_whatever_older_drafts_have_under_words_of_later_ones() -> None:
    odd = {"default": {"anyOf": [{"properties": {"x": {"const": "dog"}}}], "allOf": 5}, "$defs": ["dog"]}
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **whole(pet={"anyOf": [*KINDS.values()]}), **odd}
    assert written("json_schema", "My dog Rex is 7 years old", schema)["pet"]["kind"] == "dog"


def test_what_the_schema_does_not_accept_is_not_taken() -> None:
    schema = {**PERSON, "properties": {"name": {"enum": ["Ann", "Bo"]}, "age": {"type": "integer", "maximum": 20}}}
    held = written("json_schema", "Jason is 25 years old", schema)
    assert held["name"] in ("Ann", "Bo")
    assert held["age"] <= 20


def test_an_object_in_which_nothing_has_to_be_is_not_empty() -> None:
    schema = {"type": "object", "properties": {"tasks": {"type": "array", "items": TEXT}}}
    assert all("tasks" in written("json_schema", "Write a plan", schema, key) for key in range(40))


@pytest.mark.parametrize(
    ("prompt", "is_stated"),
    [
        ("Alice and Bob live in Oslo.", True),
        ("Where do Alice and Bob live?", False),
        ("They live in a town.", False),
    ],
)
def test_a_prompt_may_state_a_list_of_names_among_the_values(prompt: str, is_stated: bool) -> None:
    schema = {
        "type": "object",
        "properties": {"names": {"type": "array", "items": TEXT}, "city": TEXT},
        "required": ["names", "city"],
    }
    assert is_told(schema, prompt) is is_stated
