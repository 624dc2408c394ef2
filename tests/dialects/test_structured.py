"""Structured output: in every dialect that takes a schema the answer keeps to it, streamed or plain, or is refused."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from mockserver.core.dialects import Edition
from tests.support.asking import Answer, ask
from tests.support.real_schemas import REAL

PROMPT = "Describe the harbour of Antalya, as JSON."
Form = Callable[[Any], dict[str, Any]]


@dataclass(frozen=True)
class Door:
    """A way in which a dialect takes a schema; `refusal` is the status of one that it cannot use, None if dropped."""

    id: str
    dialect: str
    form: Form
    edition: Edition = "documented"
    model: str = "m"
    path: str | None = None
    refusal: int | None = 400

    def ask(self, schema: Any, **fields: Any) -> Answer:
        body = {"model": self.model, "response_format": self.form(schema), **fields}
        chats = self.dialect == "yandex" or "chat" in (self.path or "")
        asked = {"messages": [{"role": "user", "content": PROMPT}]} if chats else {"prompt": PROMPT}
        return ask(self.dialect, body | asked, path=self.path, method="POST", edition=self.edition)

    def plain(self, schema: Any, **fields: Any) -> tuple[str, str]:
        """The text and the finish reason."""
        (choice,) = self.ask(schema, **fields).json()["choices"]
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        return text, choice.get("finish_reason", "")

    def streamed(self, schema: Any, **fields: Any) -> str:
        events = [event for event in self.ask(schema, stream=True, **fields).events() if event != "[DONE]"]
        if events[0].get("event"):
            return "".join(event["text"] for event in events if event["event"] == "token_sampled")
        choices = [choice for event in events for choice in event["choices"]]
        return "".join(c["delta"].get("content") or "" if "delta" in c else c["text"] for c in choices)


def named(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "form", "strict": True, "schema": schema}}


def lenient(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "form", "strict": False, "schema": schema}}


def bare(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": schema}


def serialized(schema: Any) -> dict[str, Any]:
    return {"type": "json_object", "schema": json.dumps(schema)}


def tagged(schema: Any) -> dict[str, Any]:
    return {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": schema}}


D1, D2 = "gpt://folder/yandexgpt/latest", "gpt://folder/qwen3-235b-a22b-fp8/latest"
CHATS = "/v1/chat/completions"
DOORS = (
    Door("cerebras-chat", "cerebras", lenient, path=CHATS),
    Door("cerebras-chat-observed", "cerebras", lenient, "observed", "my-own-model", CHATS),
    Door("yandex-d1", "yandex", named, model=D1),
    Door("yandex-d2-observed", "yandex", named, "observed", D2),
    Door("yandex-bare", "yandex", bare, model=D2),
    Door("friendli", "friendli", serialized, refusal=422),
    Door("friendli-container", "friendli", named, "observed", refusal=422),
    Door("friendli-serverless", "friendli", named, path="/serverless/v1/completions", refusal=422),
    Door("ovms", "ovms", named, "observed", "llama3", refusal=None),
    Door("ovms-tag", "ovms", tagged, "observed", "llama3", refusal=None),
)
every_door = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.id)

# What FriendliAI refuses although something keeps to it.
RECURSIVE = {
    "zod recursive", "file tree", "linked list", "expression", "user interface", "mutual recursion", "any json",
    "extensible tree",
}  # fmt: skip


def fails(answer: Answer, words: str) -> bool:
    return answer.status == 422 and words in answer.body.decode()


@every_door
def test_an_answer_keeps_to_its_schema_streamed_or_plain(door: Door) -> None:
    for name, schema in REAL.items():
        if door.dialect == "friendli" and door.ask(schema).status != 200:
            words = "recursive" if door.edition == "documented" and door.path is None else "first property"
            assert fails(door.ask(schema), words), name
            assert name in RECURSIVE if words == "recursive" else words == "first property"
            continue
        text, reason = door.plain(schema)
        assert validator_for(schema, Draft202012Validator)(schema).is_valid(json.loads(text)), name
        assert (name, reason) in ((name, "stop"), (name, ""))
        assert door.streamed(schema) == text == door.plain(schema)[0], name


@every_door
def test_the_limit_may_cut_an_answer_short(door: Door) -> None:
    whole, _ = door.plain(REAL["invoice"])
    cut, reason = door.plain(REAL["invoice"], max_tokens=12)
    assert whole.startswith(cut)
    assert reason in ("length", "")
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut)


@every_door
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "thing"},
        {"$ref": "#/$defs/nowhere"},
    ],
)
def test_a_schema_that_no_answer_could_keep_to_is_refused_in_the_vendors_words_or_dropped(
    door: Door, schema: Any
) -> None:
    answer = door.ask(schema)
    if door.refusal is None:
        assert answer.status == 200
        with pytest.raises(json.JSONDecodeError):
            json.loads(door.plain(schema, max_tokens=30)[0])
    else:
        assert answer.status == door.refusal
        assert "schema" in answer.body.decode()


ODD: tuple[dict[str, Any], ...] = (
    {"$schema": "https://spec.openapis.org/oas/3.1/dialect/base"},
    {"$schema": "https://json-schema.org/draft/2020-12"},
    {"$schema": ""},
    {"dependentSchemas": ["b"]},
    {"dependentSchemas": {"kind": 5}},
    {"dependentRequired": {"kind": None}},
    {"$dynamicRef": 5},
    {"$defs": "x"},
    {"prefixItems": 5},
)


@every_door
def test_what_the_older_drafts_know_nothing_of_breaks_no_schema(door: Door) -> None:
    # It is no schema of the newest draft, so that it counts as one of an older, where the odd part means nothing.
    for odd in ODD:
        schema = {"type": "object", "properties": {"kind": {"enum": ["x", "y"]}}, "required": ["kind"], **odd}
        said, _ = door.plain(schema)
        assert json.loads(said)["kind"] in ("x", "y"), odd


@every_door
def test_an_address_that_is_none_makes_no_schema(door: Door) -> None:
    answer = door.ask({"$id": "http://[", "enum": ["x"]})
    assert answer.status == (door.refusal or 200)


def test_yandex_names_the_field_that_holds_the_schema() -> None:
    for form, field in ((named, "response_format.json_schema.schema"), (bare, "response_format.json_schema")):
        answer = Door("", "yandex", form, model=D1).ask({"type": "object", "required": ["a"], "propertyNames": False})
        assert answer.json() == {
            "error": {
                "message": f"'{field}' is a schema that no answer could keep to: "
                "No value was found that keeps to the schema",
                "type": "invalid_request_error",
            }
        }


@every_door
def test_a_definition_that_nothing_refers_to_breaks_nothing(door: Door) -> None:
    words = ("properties", "required", "oneOf", "items", "additionalProperties", "type", "$ref")
    fine = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "additionalProperties": False}
    # In draft 7 `$defs` is unknown, so a schema that is valid there only has no place where it is checked.
    for word, odd in product(words, (0, "x", [1], {"x": 1}, None)):
        answer = door.ask({**fine, "$defs": {"unused": {**fine, word: odd}}})
        assert answer.status == 200 or b"error" in answer.body or b"detail" in answer.body, (word, odd)


def test_friendlis_page_has_every_property_generated_and_todays_service_need_not() -> None:
    # "all properties of { "type": "object" } are generated regardless of whether they are listed in the required field"
    part = {"type": "object", "properties": {name: {"type": "null"} for name in "cdefgh"}}
    schema = {"type": "object", "properties": {"a": part, "b": {"anyOf": [part]}}, "required": ["a"]}
    page = Door("", "friendli", serialized)
    for seed in range(8):
        value = json.loads(page.plain(schema, seed=seed)[0])
        assert value == {"a": dict.fromkeys("cdefgh"), "b": dict.fromkeys("cdefgh")}
    todays = Door("", "friendli", named, "observed")
    first = {**part, "required": ["c"]}
    assert {len(json.loads(todays.plain(first, seed=seed)[0])) for seed in range(8)} != {6}


def test_friendlis_page_keeps_to_what_optional_properties_forbid_each_other() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": False},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    value = json.loads(Door("", "friendli", serialized).plain(schema)[0])
    assert list(value) in (["a"], ["b"])


@pytest.mark.parametrize("dialect, model", [("upstash", "meta-llama/Meta-Llama-3-8B-Instruct"), ("yandex", D1)])
@pytest.mark.parametrize(
    "prompt, keys",
    [
        ("Tell me about Oslo. Answer as JSON.", ["subject", "answer", "confidence"]),
        ('Answer in JSON with the keys "city", "population" and "mayor".', ["city", "population", "mayor"]),
        ('Reply like this: {"name": "Oslo", "area": 454.1, "districts": ["Frogner"]}', ["name", "area", "districts"]),
        ("Answer in JSON with keys city, population and mayor, nothing else.", ["city", "population", "mayor"]),
        ("Верни JSON с полями name, age и city", ["name", "age", "city"]),
        ('Answer as {"city": <string>, "area": <number>} please', ["city", "area"]),
        (f"Obey this JSON Schema: {json.dumps(REAL['weather tool'])}", ["city", "unit", "days", "include_hourly"]),
        (f"Obey this JSON Schema: {REAL['weather tool']}", ["city", "unit", "days", "include_hourly"]),
        ('Reply like this: {"name": "Oak", "properties": {"rooms": 4, "sea": true}}', ["name", "properties"]),
        ('Reply like this: {"properties": {"a": {"price": 5}}, "city": "Oslo"}', ["properties", "city"]),
        ('Obey this: {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a", "b"]}', ["a", "b"]),
        ('Broken: {"name": } but JSON all the same, {not json} either', ["subject", "answer", "confidence"]),
    ],
)
def test_json_mode_gives_the_object_that_the_prompt_speaks_of(
    dialect: str, model: str, prompt: str, keys: list[str]
) -> None:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "response_format": {"type": "json_object"},
    }
    answer = ask(dialect, body)
    assert list(json.loads(answer.json()["choices"][0]["message"]["content"])) == keys
    assert ask(dialect, body).body == answer.body


STATED = {"city": "San Francisco", "state": "CA", "weather": "sunny", "temp": 60}
FORMATS = {
    "json mode": {"type": "json_object"},
    "a schema": {
        "type": "json_schema",
        "json_schema": {
            "name": "weather",
            "schema": {
                "type": "object",
                "properties": {
                    **{key: {"type": "string"} for key in ("city", "state", "weather")},
                    "temp": {"type": "integer"},
                },
                "required": [*STATED],
                "additionalProperties": False,
            },
        },
    },
}


@pytest.mark.parametrize("format_", FORMATS.values(), ids=FORMATS)
def test_values_that_a_prompt_states_as_pairs_are_in_the_object(format_: dict[str, Any]) -> None:
    pairs = ", ".join(f"{name}={value}" for name, value in STATED.items())
    body = {
        "model": "gpt://folder/qwen3/latest",
        "messages": [{"role": "user", "content": f"Respond with this in json. {pairs}"}],
        "response_format": format_,
    }
    assert json.loads(ask("yandex", body).json()["choices"][0]["message"]["content"]) == STATED


def test_json_mode_can_be_made_to_write_white_space_without_end() -> None:
    body = {
        "model": "meta-llama/Meta-Llama-3-8B-Instruct",
        "messages": [{"role": "user", "content": "Hello"}],
        "response_format": {"type": "json_object"},
        "max_tokens": 40,
    }
    answer = ask("upstash", body, headers={"x-mockserver-fault": "whitespace"}).json()
    assert (answer["choices"][0]["message"]["content"], answer["choices"][0]["finish_reason"]) == ("\n" * 40, "length")
    assert answer["usage"]["completion_tokens"] == 40


def test_ovms_obeys_a_schema_in_the_edition_of_today_only() -> None:
    assert Door("", "ovms", named, "documented", "llama3").plain(REAL["invoice"], max_tokens=30)[0][:1] != "{"
    answer = Door("", "ovms", lambda schema: schema, "observed", "llama3").ask("json")
    assert (answer.status, "response_format is not an object" in answer.body.decode()) == (400, True)
    other = Door("", "ovms", lambda schema: {"type": "json_object"}, "observed", "llama3")
    assert other.plain(None, max_tokens=10)[0][:1] != "{"


def test_an_answer_that_may_not_end_goes_on_with_white_space() -> None:
    door = Door("", "ovms", named, "observed", "llama3")
    text, reason = door.plain({"const": {"a": 1}}, max_tokens=30, ignore_eos=True)
    assert (text.rstrip("\n"), reason) == ('{"a":1}', "length")
    assert text.endswith("\n\n")
