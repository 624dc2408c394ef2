"""Instances of JSON Schemas: valid to other validators too, the same bytes each time, refused where there are none."""

import json
import subprocess
import sys
from collections.abc import Hashable
from ipaddress import IPv4Interface, IPv4Network, IPv6Network
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from pydantic import UUID1, UUID4, UUID7, Base64UrlBytes, BaseModel, IPvAnyAddress, IPvAnyNetwork, Json

from mockserver.core import json_values
from mockserver.core.json_values import identity
from mockserver.model.schema import (
    InvalidSchemaError,
    UnsatisfiableSchemaError,
    check_schema,
    compact,
    schema_fault,
    write_instance,
)
from mockserver.model.schema.texts import words
from tests.support.real_schemas import REAL
from tests.support.schemas import holds, satisfiable

SUITE = [json.loads(line) for line in (Path(__file__).parent / "suite/schemas.jsonl").read_text().splitlines()]


BOOLEAN = {"type": "boolean"}
PAIR = {"properties": {"a": BOOLEAN, "b": BOOLEAN}, "additionalProperties": False}
NO_SCHEMA = {"properties": {"b": {}}, "required": [{}], "additionalProperties": False}
# Each of these has the next one twice.
DOUBLING = {
    f"d{n}": {
        "type": "object",
        "properties": {side: {"$ref": f"#/$defs/d{n + 1}"} for side in "lr"},
        "required": ["l", "r"],
    }
    for n in range(40)
} | {"d40": {"type": "null"}}


def instance(schema: Any, key: int = 1, language: str = "en", **how: bool) -> Any:
    return json.loads(write_instance(schema, key, language, "the harbour", **how))


def is_valid(schema: Any, value: Any) -> bool:
    cls = validator_for(schema, Draft202012Validator)
    return bool(cls(schema, format_checker=cls.FORMAT_CHECKER).is_valid(value))


def is_accepted(schema: Any, value: Any) -> bool:
    """The same by a validator that knows the expressions of ECMA 262."""
    cls = jsonschema_rs.validator_cls_for(schema) if isinstance(schema, dict) else jsonschema_rs.Draft202012Validator
    return bool(cls(schema).is_valid(value))


@pytest.mark.parametrize("language", ["en", "ru", "ja"])
def test_instances_of_real_schemas_are_valid_whatever_the_key(language: str) -> None:
    for name, schema in REAL.items():
        assert [key for key in range(12) if not is_valid(schema, instance(schema, key, language))] == [], name


def test_whatever_keywords_come_together_an_instance_is_found_if_there_is_one() -> None:
    for number in range(1_000):
        schema = satisfiable(Random(number))
        text = write_instance(schema, number, "en", "tea")
        assert holds(schema, json.loads(text)), schema
        assert write_instance(schema, number, "en", "tea") == text


@pytest.mark.parametrize("draft", sorted({title.partition(":")[0] for title, _ in SUITE}))
def test_a_schema_of_the_official_suite_with_an_instance_there_has_one_here(draft: str) -> None:
    def conforms(title: str, schema: Any) -> bool:
        judge = is_accepted if "ecmascript-regex" in title or "pattern" in title else is_valid
        return schema_fault(schema) is None and judge(schema, instance(schema))

    suite = [(title, schema) for title, schema in SUITE if title.partition(":")[0] == draft]
    assert [title for title, schema in suite if not conforms(title, schema)] == []


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"not": {}},
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "string", "minLength": 5, "maxLength": 4},
        {"type": "string", "allOf": [{"pattern": "^a+$"}, {"pattern": "^b+$"}]},
        {"type": "string", "allOf": [{"pattern": "^(a|b)*a(a|b){12}$"}, {"pattern": "^(a|b)*b(a|b){12}$"}]},
        {"type": "object", "required": ["a"], "additionalProperties": False},
        {"type": "object", "properties": {"self": {"$ref": "#"}}, "required": ["self"]},
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3},
        {"enum": [1, 2], "type": "string"},
        {"oneOf": [{"type": "integer"}] * 40},
        {"allOf": [{"const": 1}, {"const": 2}]},
        {"type": "integer", "multipleOf": 7, "minimum": 8, "maximum": 13},
        {"allOf": [{"type": "string"}, {"type": "number"}]},
        # Beyond all measure.
        {"type": "array", "minItems": 10**9},
        {"type": "string", "minLength": 10**9},
        {"type": "object", "minProperties": 10**7},
        {"$ref": "#/$defs/d0", "$defs": DOUBLING},
        {"type": "string", "allOf": [{"pattern": "a" * 8000}, {"pattern": "b" * 8000}]},
        {"type": "array", "items": {"pattern": "a" * 8000, "type": "string"}, "minItems": 2, "uniqueItems": True},
        {"type": "string", "allOf": [{"anyOf": [{"pattern": f"^a{n}"}, {"pattern": f"^b{n}"}]} for n in range(16)]},
    ],
)  # fmt: skip
def test_a_schema_without_instances_is_refused_and_soon(schema: Any) -> None:
    with pytest.raises(UnsatisfiableSchemaError, match="No value was found that keeps to the schema"):
        check_schema(schema)
    with pytest.raises(UnsatisfiableSchemaError, match="No value was found that keeps to the schema"):
        write_instance(schema, 1, "en", "")


@pytest.mark.parametrize(
    "schema",
    [
        None, 7, "string", [], {"type": "text"}, {"properties": 3}, {"required": "a"}, {"minimum": "0"},
        {"pattern": "("},        {"$ref": "#/$defs/nowhere"}, {"$ref": "https://example.test/other"},
        {"items": {"type": ["string", 3]}},
        {"a": {1, 2}},
        {"required": ["a"], "properties": {"a": {"$ref": "#/elsewhere"}}, "elsewhere": NO_SCHEMA},
        # It is valid in older drafts, which do not know the word.
        {"required": ["a"], "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": NO_SCHEMA}},
        # What no answer needs is refused too.
        {"anyOf": [{"type": "integer"}, {"$ref": "#/elsewhere/0"}], "elsewhere": [NO_SCHEMA]},
        {"required": ["a"], "properties": {"a": {"anyOf": [{"type": "string"}, {"$ref": "#/properties/a"}]}}},
    ],
)  # fmt: skip
def test_what_is_no_schema_or_refers_to_nothing_is_refused_as_invalid(schema: Any) -> None:
    with pytest.raises(InvalidSchemaError):
        check_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"contains": "a"}, {"propertyNames": "a"}, {"prefixItems": 3}, {"prefixItems": "ab"}, {"if": "a", "then": "b"},
        {"not": {"if": "a", "then": "b"}}, {"not": {"contains": "a"}}, {"dependentSchemas": {"a": 1}},
    ],
)  # fmt: skip
def test_a_word_of_later_drafts_means_nothing_in_earlier_ones_whatever_its_value(schema: Any) -> None:
    assert schema_fault(schema) in (None, "No value was found that keeps to the schema")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(2000)}},
        {"allOf": [{"properties": {f"p{n}": {"type": "integer"}}} for n in range(500)]},
        {"type": "array", "items": {"type": "integer"}, "minItems": 3000},
        {"items": {"type": "integer", "minimum": 1, "maximum": 99}, "uniqueItems": True, "minItems": 99},
        {"type": "string", "minLength": 100_000},
        {"type": "string", "minLength": 12_000, "pattern": "^[a-z ]+$"},
        {"type": "string", "pattern": "^(a+)+$", "minLength": 40},
        {"type": "string", "pattern": "(?<=[$])\\d+\\.\\d\\d$", "minLength": 9},
        {"type": "string", "pattern": "^(['\"]).*\\1$", "minLength": 20, "maxLength": 24},
        {"type": "string", "allOf": [{"pattern": "^(\\w)\\1"}, {"pattern": "^.{4,9}$"}], "not": {"pattern": "z"}},
        {"enum": [f"value {n}" for n in range(5000)]},
        {"oneOf": [{"properties": {"type": {"const": n}}, "required": ["type"]} for n in range(60)]},
        {"$ref": "#/$defs/d0", "$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(90)} | {"d90": {}}},
        {"type": "object", "propertyNames": {"pattern": "^[A-Z]{4}$"}, "minProperties": 40},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e-12},
        {"type": "integer", "minimum": 2**70, "maximum": 2**70},
        {"type": "number", "minimum": 0.123456789, "maximum": 0.123456789},
        {"type": "integer", "not": {"maximum": 1000}},
        {"type": "number", "not": {"minimum": 0}},
        {"type": "integer", "allOf": [{"multipleOf": 2**60 + n} for n in range(2000)]},
        # A property may be called like a keyword that holds values.
        {"type": "array", "items": {"$ref": "#a"}, "minItems": 1, "properties": {"enum": {"$anchor": "a", "const": 4}}},
    ],
)  # fmt: skip
def test_large_and_odd_schemas_have_instances_too(schema: Any) -> None:
    for key in range(2):
        assert is_valid(schema, instance(schema, key))


def test_the_same_key_gives_the_same_bytes_in_another_process() -> None:
    names = ["file tree", "support ticket", "any json", "password", "extensible tree"]
    script = (
        "from mockserver.model.schema import write_instance\n"
        "from tests.support.real_schemas import REAL\n"
        f"for name in {names!r}: print(write_instance(REAL[name], 99, 'ru', 'море'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[3], env={"PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"}, check=True,
        capture_output=True,
    )  # fmt: skip
    assert run.stdout.decode().splitlines() == [write_instance(REAL[name], 99, "ru", "море") for name in names]


def test_what_a_schema_has_given_before_changes_nothing() -> None:
    first = write_instance(REAL["invoice"], 5, "en", "tea")
    for key in range(200):
        write_instance({"const": key}, 1, "en", "")
    assert write_instance(REAL["invoice"], 5, "en", "tea") == first


def test_what_happens_to_a_schema_after_its_request_changes_nothing() -> None:
    text = '{"type": "object", "properties": {"a": {"anyOf": [{"const": 1}, {"const": 2}]}}, "required": ["a"]}'
    sent = json.loads(text)
    check_schema(sent)
    sent["properties"]["a"]["anyOf"][:] = [{"const": 3}, {"const": 4}]
    assert {instance(json.loads(text), key)["a"] for key in range(20)} == {1, 2}


def test_properties_come_in_the_order_of_the_schema() -> None:
    schema = {"type": "object", "properties": {name: {"type": "null"} for name in "zmab"}, "required": list("bamz")}
    assert list(instance(schema)) == list("zmab")


def test_most_optional_properties_are_there_and_all_of_them_in_a_complete_instance() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": "null"} for n in range(10)}}
    sizes = [len(instance(schema, key)) for key in range(40)]
    assert 7 < sum(sizes) / 40 < 10
    assert {len(instance(schema, key, complete=True)) for key in range(40)} == {10}


def test_an_enums_members_all_come_up_and_null_is_seldom() -> None:
    assert {instance({"enum": ["a", "b", "c", 4]}, key) for key in range(60)} == {"a", "b", "c", 4}
    nulls = [instance({"anyOf": [{"type": "string"}, {"type": "null"}]}, key) is None for key in range(200)]
    assert 5 < sum(nulls) < 60


@pytest.mark.parametrize(
    "name, schema, pattern",
    [
        ("email", {}, r"^[a-z.]+@example\.(com|org|net)$"),
        ("createdAt", {}, r"^202[345]-\d\d-\d\dT\d\d:\d\d:\d\dZ$"),
        ("birth_date", {}, r"^202[345]-\d\d-\d\d$"),
        ("website", {}, r"^https://www\.example\."),
        ("phone_number", {}, r"^\+\d+ \d+ \d+$"),
        ("zipCode", {}, r"^\d{5}$"),
        ("currency", {}, "^(USD|EUR|GBP)$"),
        ("hex_color", {}, "^#[0-9a-f]{6}$"),
        ("x", {"description": "The customer's email address"}, "@example"),
        ("x", {"format": "ipv4"}, r"^192\.0\.2\.\d+$"),
    ],
)
def test_a_name_or_a_description_says_what_a_text_is(name: str, schema: Any, pattern: str) -> None:
    form = {"type": "object", "properties": {name: {"type": "string", **schema}}, "required": [name]}
    for key in range(10):
        assert holds({"pattern": pattern}, instance(form, key)[name])


@pytest.mark.parametrize(
    "name, pattern, plausible",
    [
        # A code is three letters and four digits where the pattern allows it.
        ("code", "^[A-Z0-9-]{4,12}$", r"^[A-Z]{3}-\d{4}$"),
        ("code", "^[0-9]{5}$", r"^\d{5}$"),
        ("email", "^[^@]+@[^@]+$", r"@example\.(com|org|net)$"),
    ],
)
def test_a_text_for_a_pattern_is_a_plausible_one_if_any_fits(name: str, pattern: str, plausible: str) -> None:
    form = {"type": "object", "properties": {name: {"type": "string", "pattern": pattern}}, "required": [name]}
    for key in range(20):
        assert holds({"pattern": plausible}, instance(form, key)[name])


@pytest.mark.parametrize(
    "items, count",
    [
        ({"type": "array", "items": BOOLEAN, "maxItems": 2}, 7),
        ({"type": "array", "items": BOOLEAN, "minItems": 5, "maxItems": 5}, 32),
        (
            {
                "type": "array",
                "prefixItems": [{"enum": ["a", "b", "c"]}, {"enum": [1, 2, 3]}],
                "minItems": 2,
                "items": False,
            },
            9,
        ),
        (
            {
                "type": "array",
                "items": {"type": "array", "items": BOOLEAN, "maxItems": 1},
                "minItems": 1,
                "maxItems": 2,
            },
            12,
        ),
        ({"type": "object", "required": ["a", "b"], **PAIR}, 4),
        ({"type": "object", "required": ["a"], **PAIR}, 6),
        ({"oneOf": [BOOLEAN, {"type": "array", "items": BOOLEAN, "maxItems": 1}, {"type": "null"}]}, 6),
    ],
)
def test_of_items_of_which_there_are_few_each_is_found_and_no_more(items: Any, count: int) -> None:
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": count}
    for key in range(6):
        assert is_valid(schema, instance(schema, key))
    with pytest.raises(UnsatisfiableSchemaError):
        check_schema(schema | {"minItems": count + 1})


@pytest.mark.parametrize("low, columns, rows", [(0, 4, 3), (-1, 1, 2), (0, 1, 40)])
def test_rows_of_numbers_differ(low: int, columns: int, rows: int) -> None:
    number = {"type": "number", "minimum": low, "maximum": 1}
    row = {"type": "array", "items": number, "minItems": columns, "maxItems": columns}
    schema = {"type": "array", "items": row, "uniqueItems": True, "minItems": rows}
    for key in range(6):
        assert is_valid(schema, instance(schema, key))


def test_many_items_that_are_to_differ_are_found_or_refused_soon() -> None:
    number = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 100_000}}}
    schema = {"type": "array", "items": number | {"required": ["n"]}, "uniqueItems": True, "minItems": 2000}
    assert len({item["n"] for item in instance(schema)}) >= 2000
    started = process_time()
    with pytest.raises(UnsatisfiableSchemaError):
        check_schema({**schema, "items": {"type": "array", "items": BOOLEAN, "maxItems": 9}})
    assert process_time() - started < 5


@pytest.mark.parametrize(
    "items",
    [
        {"type": "integer"},
        {"type": "number"},
        {"type": "string"},
        {"type": "string", "maxLength": 3},
        {"type": "string", "pattern": "^[a-z]{3}$"},
        {"enum": [f"v{number}" for number in range(1000)]},
        {"enum": list(range(2200)), "not": {"enum": list(range(0, 2200, 2))}},
    ],
)
def test_what_an_array_has_is_looked_up_and_not_compared_with_each_item(
    items: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 1000 if "pattern" not in items and "maxLength" not in items else 300
    looks: list[None] = []

    def counted(value: object) -> Hashable:
        looks.append(None)
        return identity(value)

    monkeypatch.setattr(json_values, "identity", counted)
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": count}
    found = instance(schema)
    assert len(set(found)) == len(found) >= count
    assert is_accepted(schema, found)
    assert len(looks) < 60 * count


def test_properties_without_names_are_many_and_differ() -> None:
    for names in ({}, {"pattern": "^[a-z]{4}$"}):
        schema = {"type": "object", "propertyNames": names, "minProperties": 400}
        assert is_accepted(schema, instance(schema))


@pytest.mark.parametrize("count", [2, 300])
def test_one_of_many_branches_is_met_and_no_other(count: int) -> None:
    branches = [{"type": "integer", "multipleOf": number} for number in range(2, count + 2)]
    for key in range(3):
        assert is_accepted({"oneOf": branches}, instance({"oneOf": branches}, key))


@pytest.mark.parametrize(
    "schema",
    [
        {"prefixItems": [{"type": "string"}], "contains": {"type": "integer"}, "minItems": 4},
        {"prefixItems": [{"type": "string"}], "contains": {"type": "integer"}, "minItems": 4, "maxContains": 3},
        {"contains": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True},
    ],
)
def test_items_that_only_contains_evaluates_fill_an_array(schema: dict[str, Any]) -> None:
    schema = {"type": "array", "unevaluatedItems": False, **schema}
    for key in range(6):
        assert is_valid(schema, instance(schema, key))


def test_items_are_not_contained_more_often_than_they_may_be() -> None:
    schema = {"prefixItems": [{"type": "string"}], "contains": {"type": "integer"}, "maxContains": 2}
    with pytest.raises(UnsatisfiableSchemaError):
        check_schema({"type": "array", "unevaluatedItems": False, "minItems": 4, **schema})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": BOOLEAN, "maxItems": 2, "not": {"enum": [[], [True], [False]]}},
        {"type": "object", "required": ["a"], **PAIR, "not": {"enum": [{"a": True, "b": True}, {"a": True}]}},
        {"type": "object", "not": {"const": {}}},
    ],
)
def test_a_composed_value_that_must_not_be_is_not(schema: dict[str, Any]) -> None:
    for key in range(12):
        assert is_valid(schema, instance(schema, key))


class Typed(BaseModel):
    """Types whose formats are pydantic's own."""

    first: UUID1
    fourth: UUID4
    seventh: UUID7
    network: IPv4Network
    networks: list[IPv6Network]
    interface: IPv4Interface
    address: IPvAnyAddress
    subnet: IPvAnyNetwork
    held: Json[object]
    coded: Base64UrlBytes


def test_what_pydantic_says_of_its_types_is_what_it_reads_back() -> None:
    for key in range(20):
        Typed.model_validate_json(write_instance(Typed.model_json_schema(), key, "en", "the harbour"))


def test_a_text_of_emoji_as_zod_asks_for_it_is_found() -> None:
    schema = {"type": "string", "pattern": r"^(\p{Extended_Pictographic}|\p{Emoji_Component})+$"}
    assert all(is_accepted(schema, instance(schema, key)) for key in range(12))


@pytest.mark.parametrize("rule", [{"minLength": 2, "maxLength": 2}, {"pattern": "^[A-Z]{2}$"}])
def test_a_country_of_two_letters_is_its_code(rule: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"country": {"type": "string", **rule}}, "required": ["country"]}
    codes = {instance(schema, key)["country"] for key in range(40)}
    assert codes <= set(words("country_code", "en"))
    assert len(codes) > 3


@pytest.mark.parametrize(
    "name, low, high",
    [("age", 18, 79), ("price", 5, 500), ("year", 2005, 2025), ("latitude", -90, 90), ("score", 0, 1)],
)
def test_a_name_says_how_large_a_number_is(name: str, low: float, high: float) -> None:
    form = {"type": "object", "properties": {name: {"type": "number"}}, "required": [name]}
    assert all(low <= instance(form, key)[name] <= high for key in range(30))


@pytest.mark.parametrize("kind", ["number", "integer"])
@pytest.mark.parametrize("name", ["price", "latitude", "score", "age", "whatever"])
def test_bounds_that_are_far_away_change_no_number(name: str, kind: str) -> None:
    free = {"type": kind}
    schemas = [
        {"type": "array", "title": name, "items": it} for it in (free, free | {"minimum": -1e12, "maximum": 1e12})
    ]
    for key in range(40):
        unbounded, bounded = (
            instance({"type": "object", "properties": {name: schema}, "required": [name]}, key) for schema in schemas
        )
        assert unbounded == bounded


@pytest.mark.parametrize(
    "name, schema",
    [
        ("score", {"type": "integer", "minimum": 1, "maximum": 10}),
        ("score", {"type": "integer", "minimum": 0}),
        ("score", {"type": "integer"}),
        ("score", {"type": "number", "minimum": 0, "maximum": 10}),
        ("score", {"type": "number", "maximum": 10}),
        ("relevance", {"type": "integer", "minimum": 1, "maximum": 5}),
        ("confidence", {"type": "integer", "minimum": 0, "maximum": 100}),
        ("confidence", {"type": "number", "minimum": 0, "maximum": 1}),
        ("hate", {"type": "number", "minimum": 0, "maximum": 1}),
        ("toxicity", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        ("whatever", {"type": "number", "maximum": 1}),
        ("whatever", {"type": "number", "minimum": 0, "maximum": 0.001}),
        ("polarity", {"type": "number", "minimum": -1, "maximum": 1}),
        ("sentiment_score", {"type": "number", "minimum": -1, "maximum": 1}),
        ("x", {"type": "number", "minimum": -1, "maximum": 1}),
        ("percentage", {"type": "number", "minimum": 0, "maximum": 1}),
        ("percentage", {"type": "number", "minimum": 0, "maximum": 100}),
        ("weight", {"type": "number", "minimum": 0, "maximum": 1}),
        ("share", {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.05}),
        ("age", {"type": "integer", "minimum": 0, "maximum": 18}),
        ("age", {"type": "integer", "maximum": 18}),
        ("age", {"type": "number", "minimum": 0, "maximum": 18}),
        ("year", {"type": "integer", "minimum": 1900, "maximum": 2005}),
        ("year", {"type": "integer", "minimum": 2024}),
        ("risk_score", {"type": "integer", "minimum": 0, "maximum": 1000}),
        ("credit_score", {"type": "integer", "minimum": 300, "maximum": 850}),
        ("stars", {"type": "integer", "minimum": 0, "maximum": 100, "multipleOf": 5}),
        ("number", {"type": "integer", "minimum": 1_000_000_000_000}),
        ("whatever", {"type": "integer", "multipleOf": 100}),
        ("amount", {"type": "integer", "minimum": 1, "multipleOf": 1000}),
    ],
)
def test_numbers_are_spread_over_what_their_bounds_leave_them(name: str, schema: dict[str, Any]) -> None:
    form = {"type": "object", "properties": {name: schema}, "required": [name]}
    found = [instance(form, key)[name] for key in range(40)]
    assert all(is_valid(schema, number) for number in found)
    assert len(set(found)) >= (5 if name == "relevance" else 10)
    if schema.keys() >= {"minimum", "maximum"}:
        ends = schema["minimum"], schema["maximum"]
        assert max(found) - min(found) > 0.4 * (ends[1] - ends[0])


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("name", ["flag", "confidence", "quantity", "priority", "rating", "size", "year"])
def test_of_few_numbers_each_comes_up(name: str, most: int) -> None:
    form = {"properties": {name: {"type": "integer", "minimum": 0, "maximum": most}}, "required": [name]}
    found = {instance({"type": "object", **form}, key)[name] for key in range(60)}
    assert len(found) >= most
    assert most in found


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(["score", "age", "year", "confidence", "temperature", "price", "x", "percent", "whatever"]),
    kind=st.sampled_from(["integer", "number"]),
    low=st.none() | st.integers(-2000, 3000) | st.floats(-5, 5),
    width=st.none() | st.integers(12, 1000) | st.floats(12, 20),
    strict=st.booleans(),
)
def test_whatever_the_bounds_numbers_keep_to_them_and_differ(
    name: str, kind: str, low: float | None, width: float | None, strict: bool
) -> None:
    high = width if low is None else None if width is None else low + width
    bounds = {("exclusiveMinimum" if strict else "minimum"): low, "maximum": high}
    schema = {"type": kind, **{keyword: bound for keyword, bound in bounds.items() if bound is not None}}
    form = {"type": "object", "properties": {name: schema}, "required": [name]}
    found = [instance(form, key)[name] for key in range(40)]
    assert all(is_valid(schema, number) for number in found)
    assert len(set(found)) > 4


@pytest.mark.parametrize("name, low, high", [("age", 18, 79), ("year", 2005, 2025), ("price", 5, 500)])
def test_bounds_that_only_keep_out_what_is_absurd_leave_a_number_as_usual(name: str, low: int, high: int) -> None:
    form = {"properties": {name: {"type": "number", "minimum": 0, "maximum": 10 * high}}, "required": [name]}
    assert all(low <= instance({"type": "object", **form}, key)[name] <= high for key in range(40))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 1e30},
        {"type": "integer", "exclusiveMinimum": 1e30},
        {"type": "integer", "maximum": -1e25},
        {"type": "number", "exclusiveMaximum": -1e300},
        {"type": "number", "minimum": 1e300},
        {"type": "number", "minimum": 1e300, "maximum": 1.5e308},
        {"type": "integer", "minimum": 2**53, "exclusiveMaximum": 2.0**63},
        {"type": "integer", "minimum": 10**25, "maximum": 10**25 + 5, "multipleOf": 3},
    ],
)
def test_very_large_numbers_keep_to_their_bounds_for_those_too_who_read_floats(schema: dict[str, Any]) -> None:
    texts = {write_instance(schema, key, "en", "tea") for key in range(20)}
    assert all(is_valid(schema, json.loads(text)) for text in texts)
    if "multipleOf" not in schema:
        assert all(is_valid(schema, float(text)) for text in texts)
        assert len({float(text) for text in texts}) > 4


def test_names_and_places_are_in_the_language_of_the_prompt() -> None:
    form = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "city": {"type": "string"}},
        "required": ["name"],
    }
    cities = {instance(form, key, "ru").get("city") for key in range(30)}
    assert {"Москва", "Казань"} <= cities
    assert all(ord(instance(form, key, "ru")["name"][0]) > 0x400 for key in range(5))


def test_what_a_schema_demands_is_not_changed_by_the_answers_that_keep_to_it() -> None:
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in "abcd"},
        "dependentRequired": {"a": ["b"]},
        "anyOf": [{"dependentRequired": {"a": ["c"], "b": ["c"]}}, {"dependentRequired": {"a": ["d"], "b": ["d"]}}],
    }
    there = [write_instance(schema, key, "en", "tides") for key in range(40)]
    back = [write_instance(schema, key, "en", "tides") for key in reversed(range(40))]
    assert there == back[::-1]
    # Who has "a" needs not have all that any of the answers before has needed.
    assert {frozenset(json.loads(text)) for text in there} >= {frozenset("abc"), frozenset("abd")}


@pytest.mark.parametrize(
    "name, values",
    [("is_verified", {True}), ("testPassed", {True}), ("urgent", {True, False}), ("badge", {True, False})],
)
def test_verdicts_are_favourable_and_other_booleans_either(name: str, values: set[bool]) -> None:
    schema = {"type": "object", "properties": {name: {"type": "boolean"}}, "required": [name]}
    assert {json.loads(write_instance(schema, key, "en", ""))[name] for key in range(20)} == values


@pytest.mark.parametrize(
    "value, text",
    [
        ({"a": [1, 2.5, None, True], "b": "Straße\n"}, '{"a":[1,2.5,null,true],"b":"Straße\\n"}'),
        ([2**64, -(2**70)], "[18446744073709551616,-1180591620717411303424]"),
        ({"half": "\ud83d"}, '{"half":"\ud83d"}'),
    ],
)
def test_values_are_written_without_whitespace_whatever_they_are(value: Any, text: str) -> None:
    assert compact(value) == text
