"""What schemas may cost: shared references, sizes, circles, and the memory that is kept of them."""

import gc
import json
import subprocess
import sys
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.caches import Cache
from mockserver.model.regex.sizes import HUGE, size_of
from mockserver.model.schema import (
    SchemaLimitError,
    UnsatisfiableSchemaError,
    check_schema,
    schema_fault,
    write_instance,
)
from mockserver.model.schema.bounds import MOST_VALUES
from mockserver.model.schema.documents import Document
from mockserver.model.schema.instances import compiled
from tests.hostile.rows_schemas import SCHEMAS, one, shared

# How a schema may apply others: most of it twice.
_USES: tuple[Any, ...] = (
    lambda a, b: {"allOf": [a, b]},
    lambda a, b: {"anyOf": [a, b]},
    lambda a, b: {"oneOf": [a, b]},
    lambda a, b: {"if": a, "then": b, "else": a},
    lambda a, b: {"not": {"allOf": [a, b]}},
    lambda a, b: {"type": "object", "properties": {"p": a, "q": b}, "required": ["p"]},
    lambda a, b: {"patternProperties": {"^p": a, "p$": b}, "required": ["p"]},
    lambda a, b: {"dependentSchemas": {"p": a, "q": b}, "required": ["p"]},
    lambda a, b: {"type": "array", "items": a, "contains": b},
    lambda a, b: {"type": "array", "prefixItems": [a, b], "minItems": 1},
    lambda a, b: {"allOf": [a, b], "unevaluatedProperties": False},
    lambda a, b: {"allOf": [a, b], "unevaluatedItems": b},
    lambda a, b: {"propertyNames": {"anyOf": [a, b]}, "minProperties": 1},
    lambda a, b: {"$dynamicRef": a["$ref"].replace("/$defs/d", "a"), "allOf": [b]},
)


@st.composite
def _graphs(draw: Any) -> Any:
    """Schemas of definitions that refer to later ones, and now and then to earlier ones."""
    count = draw(st.integers(3, 40))
    uses = draw(st.lists(st.sampled_from(_USES), min_size=1, max_size=3))
    defs = {}
    for place in range(count):
        ahead = [min(place + draw(st.integers(1, 2)), count) for _ in range(2)]
        back = draw(st.integers(0, 60)) == 0
        refs = [{"$ref": f"#/$defs/d{each}"} for each in ([0, ahead[1]] if back else ahead)]
        defs[f"d{place}"] = {**draw(st.sampled_from(uses))(*refs), "$dynamicAnchor": f"a{place}"}
    leaf = draw(st.sampled_from([{"type": "object"}, {"type": "array"}, {"type": "string"}, {}]))
    defs[f"d{count}"] = {**leaf, "$dynamicAnchor": f"a{count}"}
    root = draw(st.sampled_from([{}, {"unevaluatedProperties": False}, {"unevaluatedItems": False}]))
    return {"$ref": "#/$defs/d0", "$defs": defs, **root}


_IN_A_PROCESS = """
import json, sys
from mockserver.model.schema import schema_fault, write_instance
for line in sys.stdin:
    schema = json.loads(line)
    if schema_fault(schema) is None:
        write_instance(schema, 1, "en", "", complete=True)
    print(json.dumps(None), flush=True)
"""


def test_any_graph_of_references_is_solved_or_refused_in_bounded_time() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _IN_A_PROCESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        seen: list[Any] = []

        @settings(max_examples=60)
        @given(_graphs())
        def collect(schema: Any) -> None:
            seen.append(schema)

        collect()
        try:
            answers, _ = process.communicate("".join(f"{json.dumps(schema)}\n" for schema in seen), timeout=200)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert answers.count("null") == len(seen)


@pytest.mark.parametrize("what", [*SCHEMAS])
def test_hostile_schemas_are_solved_or_refused(what: str) -> None:
    fault = schema_fault(SCHEMAS[what]())
    assert fault is None or fault


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"type": "string", "pattern": "^[ab]{3,9}$"}, "uniqueItems": True, "minItems": 3000},
        {
            "type": "object",
            "minProperties": 5000,
            "patternProperties": {f"^x{n}": {"type": "string"} for n in range(200)},
            "additionalProperties": False,
        },
    ],
)
def test_a_search_for_many_different_texts_is_given_up_soon(schema: Any) -> None:
    started = process_time()
    with pytest.raises(UnsatisfiableSchemaError):
        check_schema({"type": "array", **schema})
    assert process_time() - started < 5


def test_what_is_shared_by_different_properties_counts_once() -> None:
    below: Any = {"type": "string"}
    defs = {"d0": below}
    for place in range(1, 12):
        ref = {"$ref": f"#/$defs/d{place - 1}"}
        defs[f"d{place}"] = {"type": "object", "properties": {"a": ref, "b": ref}}
    check_schema({"$ref": "#/$defs/d11", "$defs": defs})


def test_a_recursive_schema_admits_deep_values_as_far_as_its_check_does_not_multiply() -> None:
    plain = Document({"properties": {"a": {"$ref": "#"}}})
    doubled = Document({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}})
    value: Any = {}
    for _ in range(60):
        value = {"a": value}
    assert plain.accepts(value)
    assert not doubled.accepts(value)
    assert doubled.accepts({"a": {"a": {}}})


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (shared(lambda ref: {"allOf": [ref, ref]}), "A value would be checked against more than 20,000 schemas"),
        (one(enum=list(range(MOST_VALUES))), "It has more than 60,000 values"),
        (one(multipleOf=10**2000), "It has a number of more than 1,000 digits"),
        (
            {"properties": {"x" * 100_000: {"properties": {str(n): {} for n in range(60)}}}},
            "The paths to its parts have more than 5,000,000 characters",
        ),
    ],
)
def test_a_refusal_says_what_is_too_much(schema: Any, words: str) -> None:
    with pytest.raises(SchemaLimitError, match=words):
        check_schema(schema)


@pytest.mark.parametrize(
    ("pattern", "states"),
    [
        ("abc", 3),
        ("a{3}", 3),
        ("(ab){2,4}c", 13),
        (r"\p{L}{2}", 800),
        ("(a{10}){10}", 110),
        ("((a{1,9}){9}){9}", 819),
        ("(" * 20 + "a" + "){999}" * 20, HUGE),
        ("a" * 30_000, HUGE),
    ],
)
def test_the_states_of_a_pattern_are_counted_with_its_repetitions(pattern: str, states: int) -> None:
    assert size_of(pattern).states == states


@pytest.mark.parametrize(
    ("pattern", "loose"),
    [("^[a-z]{1000}$", 0), ("[a-z]{1000}", 1000), ("^(a?){500}$", 1000), ("^.{1,500}$", 500), ("^(a|b)$", 1)],
)
def test_a_search_follows_what_may_be_repeated_or_begin_anywhere(pattern: str, loose: int) -> None:
    assert size_of(pattern).loose == loose


def test_a_text_is_not_written_for_a_pattern_with_which_a_search_in_it_takes_long() -> None:
    check_schema(one(type="string", pattern="^[a-z]{1,1000}$", minLength=900))
    with pytest.raises(UnsatisfiableSchemaError):
        check_schema(one(type="string", pattern="^(?:(a?){5000}b)$", minLength=900))


def test_a_cache_forgets_by_bytes_and_keeps_the_last_value() -> None:
    cache: Cache[str, int] = Cache(10)
    for place, name in enumerate("abc"):
        cache.keep(name, place, 4)
    assert [cache.find(name) for name in "abc"] == [None, 1, 2]
    cache.keep("large", 3, 100)
    assert [cache.find(name) for name in ("b", "c", "large")] == [None, None, 3]


def test_large_schemas_that_give_way_are_freed() -> None:
    for number in range(4):
        schema = one(enum=[f"{number} {place}" for place in range(10_000)])
        write_instance(schema, 1, "en", "")
        compiled(schema)
    del schema
    gc.collect()
    assert sum(isinstance(each, Document) and each.size > 0 and each.memory > 2**22 for each in gc.get_objects()) <= 2
