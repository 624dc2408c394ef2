"""Criteria: how they are read, which requests meet them, and how differences are explained."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.json_values import read_path, values_at
from mockserver.core.matching.requests import (
    FIELDS,
    Mismatch,
    RequestMatcher,
    decided,
    distance,
    in_words,
    matches,
    mismatches,
    read_criteria,
)
from mockserver.core.matching.values import CriteriaError, read_matcher
from tests.support.facts import Given

BODY = {
    "model": "m",
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
    "n": 1,
}


@pytest.mark.parametrize(
    "path, found",
    [
        ("$.model", ["m"]),
        ("model", ["m"]),
        ("$", [BODY]),
        ("$.messages[0].content", ["Be kind."]),
        ("messages[-1]['content']", ["Hi"]),
        ('$["messages"][1]["role"]', ["user"]),
        ("$.messages[*].role", ["system", "user"]),
        ("$.messages[9].role", []),
        ("$.messages.role", []),
        ("$.model[0]", []),
        ("$.none", []),
    ],
)
def test_a_path_leads_to_the_values_at_its_place(path: str, found: list[object]) -> None:
    assert values_at(read_path(path), BODY) == found


@pytest.mark.parametrize("path", ["$.", "$..a", "a[", "a[b]", "a]", "[", "$model", "a..b", "a['b"])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is not a path"):
        read_path(path)


@pytest.mark.parametrize(
    "matcher, yes, no",
    [
        ("a", ["a"], ["b", "A", "aa"]),
        (1, [1, 1.0], [2, True, "1"]),
        (True, [True], [False, 1]),
        ({"equals": [1, {"a": True}]}, [[1, {"a": True}]], [[1, {"a": 1}], [1]]),
        ({"contains": "rain"}, ["it rains", ["rain"]], ["Rain", ["it rains"], 1]),
        ({"regex": "(?i)^rain"}, ["Rain today"], ["no rain", 1]),
        ({"one_of": ["a", 2]}, ["a", 2], ["b", True]),
        ({"at_least": 2}, [2, 3.5], [1, "3", True]),
        ({"at_least": 2, "at_most": 3}, [2, 3], [1, 4]),
        ({"at_least": 10**400}, [10**400], [1e300]),
        ({"not": "a"}, ["b"], ["a"]),
        ({"contains": "a", "not": {"contains": "b"}}, ["ac"], ["ab", "c"]),
        (str.isupper, ["A"], ["a"]),
    ],
)
def test_a_matcher_holds_for_what_it_says(matcher: object, yes: list[object], no: list[object]) -> None:
    read = read_matcher(matcher, "match")
    assert [value for value in yes if not read.holds([value])] == []
    assert [value for value in no if read.holds([value])] == []


def test_of_several_values_one_is_enough_and_of_none_only_an_absence_holds() -> None:
    assert read_matcher("b", "match").holds(["a", "b"])
    assert not read_matcher({"not": "b"}, "match").holds(["a", "b"])
    absences = [("a", False), ({"exists": True}, False), ({"exists": False}, True), ({"not": "a"}, True)]
    assert [(each, read_matcher(each, "match").holds([])) for each, _ in absences] == absences


@pytest.mark.parametrize(
    "match, met",
    [
        ({}, True),
        ({"model": "m", "stream": False}, True),
        ({"model": "m", "stream": True}, False),
        ({"any": [{"model": "x"}, {"stream": False}]}, True),
        ({"any": [{"model": "x"}, {"stream": True}]}, False),
        ({"all": [{"model": "m"}, {"stream": False}]}, True),
        ({"all": [{"model": "m"}, {"stream": True}]}, False),
        ({"not": {"model": "x"}}, True),
        ({"not": [{"model": "x"}, {"stream": False}]}, False),
        ({"not": {"any": [{"model": "m"}, {"model": "x"}]}}, False),
        ({"headers": {"X-Tenant": {"regex": "^a"}}}, True),
        ({"headers": {"x-other": {"exists": False}}}, True),
        ({"headers": {"x-other": "a"}}, False),
        ({"query": {"limit": {"one_of": ["2", "20"]}, "Limit": {"exists": False}}}, True),
        ({"query": {"limit": "3"}}, False),
        ({"body": {"$.messages[*].content": {"contains": "kind"}, "n": 1}}, True),
        ({"body": {"n": 2}}, False),
        ({"tool": "get_weather"}, True),
        ({"turn": {"at_most": 1}}, False),
    ],
)
def test_criteria_are_met_or_not(match: dict[str, Any], met: bool) -> None:
    named = {"headers": {"x-tenant": "abc"}, "query": {"limit": "20"}}
    facts = Given(BODY, model="m", stream=False, tool=["a", "get_weather"], turn=2, **named)
    criteria = read_criteria(match)
    assert matches(criteria, facts) is met
    assert (mismatches(criteria, facts) == ()) is met


def test_an_explanation_names_each_field_that_differs_what_was_wanted_and_what_came() -> None:
    match = {
        "model": "other",
        "last_user": {"contains": "weather"},
        "body": {"$.n": {"at_least": 2}, "$.top": 1},
        "any": [{"stream": True, "model": "x"}, {"turn": 3}],
        "not": {"dialect": "yandex"},
    }
    facts = Given({"n": 1}, model="m", last_user="Hello " + "o" * 500, stream=False, turn=1, dialect="yandex")
    told = mismatches(read_criteria(match), facts)
    assert told == (
        Mismatch("model", "'other'", "'m'"),
        Mismatch("last_user", "containing 'weather'", told[1].found),
        Mismatch("body.n", "at least 2", "1"),
        Mismatch("body.top", "1", "nothing"),
        Mismatch("any[1].turn", "3", "1"),
        Mismatch("not", "not dialect 'yandex'", "just that"),
    )
    assert told[1].found.startswith("'Hello ooo")
    assert told[1].found.endswith("... (508 characters)")


@pytest.mark.parametrize(
    "match, complaint",
    [
        ({"modle": "m"}, "match: unknown field 'modle'. Did you mean 'model'?"),
        ("weather", "match: must be a table"),
        ({"stream": "yes"}, "match.stream: 'yes' is not true or false"),
        ({"model": 1}, "match.model: 1 is not a string"),
        ({"turn": True}, "match.turn: True is not a whole number"),
        ({"turn": {"contains": "1"}}, "match.turn.contains: matches strings, but this field is a whole number"),
        ({"prompt": {"at_least": 1}}, "match.prompt.at_least: must be a number, and so must the field"),
        ({"prompt": {"contain": "1"}}, "match.prompt: unknown matcher 'contain'. Did you mean 'contains'?"),
        ({"prompt": {}}, "match.prompt: is empty"),
        ({"prompt": ["a"]}, "match.prompt: for a list use { one_of"),
        ({"prompt": {"one_of": []}}, "match.prompt.one_of: must be a list of values"),
        ({"prompt": {"one_of": [1]}}, "match.prompt.one_of: 1 is not a string"),
        ({"prompt": {"regex": "("}}, "match.prompt.regex: '(' is not a valid regular expression"),
        ({"prompt": {"regex": "((a{999}){999}){999}"}}, "is not a valid regular expression: it is too long"),
        ({"turn": {"at_least": 3, "at_most": 2}}, "match.turn: at_least 3 is more than at_most 2"),
        ({"prompt": {"contains": "a", "exists": False}}, "match.prompt: a field that does not exist has no value"),
        ({"prompt": {"exists": "no"}}, "match.prompt.exists: must be true or false"),
        ({"prompt": {"not": {"regex": "("}}}, "match.prompt.not.regex"),
        ({"headers": "x"}, "match.headers: must be a table"),
        ({"headers": {"x": 1}}, "match.headers.x: 1 is not a string"),
        ({"query": "limit=2"}, "match.query: must be a table, such as { limit"),
        ({"body": {"$..": 1}}, "match.body: '$..' is not a path"),
        ({"any": []}, "match.any: is empty"),
        ({"any": [{"model": "m"}, {"modell": 1}]}, "match.any[1]: unknown field"),
        ({"not": "m"}, "match.not[0]: must be a table"),
    ],
)
def test_a_mistake_is_named_by_its_place(match: object, complaint: str) -> None:
    with pytest.raises(CriteriaError) as caught:
        read_criteria(match)
    assert complaint in str(caught.value)


# --- patterns that take too long -----------------------------------------------------------------------------------

SLOW = {"regex": "(a|aa)+$"}
HOSTILE = "a" * 5000 + "!"
GIVEN_UP = "the regular expression took too long (a request's searches have 0.05 s in all), so this counts as not met"


@pytest.mark.parametrize(
    "match, known",
    [
        ({"prompt": SLOW}, None),
        ({"prompt": {"not": SLOW}}, None),
        ({"not": {"prompt": SLOW}}, None),
        ({"not": {"not": {"prompt": SLOW}}}, None),
        ({"prompt": SLOW, "model": "m"}, None),
        ({"prompt": SLOW, "model": "x"}, False),
        ({"prompt": {**SLOW, "contains": "!"}}, None),
        ({"prompt": {**SLOW, "contains": "?"}}, False),
        ({"any": [{"prompt": SLOW}, {"model": "m"}]}, True),
        ({"any": [{"prompt": SLOW}, {"model": "x"}]}, None),
        ({"not": [{"prompt": SLOW}, {"model": "m"}]}, False),
        ({"not": [{"prompt": SLOW}, {"model": "x"}]}, None),
        ({"all": [{"prompt": SLOW}, {"model": "m"}]}, None),
        ({"body": {"$.said[*]": SLOW}}, None),
        ({"body": {"$.said[0]": SLOW}}, True),
    ],
    ids=str,
)
def test_what_is_not_known_is_neither_met_nor_its_contrary_and_only_what_is_known_decides(
    match: dict[str, Any], known: bool | None
) -> None:
    facts = Given({"said": ["a", HOSTILE][:: -1 if "[*]" in str(match) else 1]}, model="m", prompt=HOSTILE)
    criteria = read_criteria(match)
    assert (decided(criteria, facts), matches(criteria, facts)) == (known, known is True)
    told = mismatches(criteria, facts)
    assert (told == (), distance(criteria, facts)) == (known is True, len(told))
    assert any(GIVEN_UP in each.found for each in told) or known is not None


def test_a_pattern_that_took_too_long_is_named_with_what_it_was_searched_for_in() -> None:
    criteria = read_criteria({"model": "x", "prompt": SLOW, "not": {"system": SLOW}})
    assert mismatches(criteria, Given(model="m", prompt=HOSTILE, system=HOSTILE)) == (
        Mismatch("model", "'x'", "'m'"),
        Mismatch("prompt", "matching /(a|aa)+$/", f"'{'a' * 159}... (5003 characters); {GIVEN_UP}"),
        Mismatch("not", "not system matching /(a|aa)+$/", f"something that may match; {GIVEN_UP}"),
    )


def test_absurdly_nested_criteria_are_refused() -> None:
    match: dict[str, Any] = {"model": "m"}
    for _ in range(50):
        match = {"not": match}
    with pytest.raises(CriteriaError, match="nested too deep"):
        read_criteria(match)


# --- composition ---------------------------------------------------------------------------------------------------

_TEXTS = st.sampled_from(["", "a", "b", "ab"])
_MATCHERS = st.one_of(_TEXTS, st.builds(lambda text: {"contains": text}, _TEXTS), st.just({"exists": True}))
_FIELDS = st.dictionaries(
    st.sampled_from(["model", "last_user"]), st.one_of(_MATCHERS, st.builds(lambda m: {"not": m}, _MATCHERS))
)
_TABLES = st.recursive(
    _FIELDS,
    lambda inner: st.builds(
        lambda fields, key, several: {**fields, key: several},
        _FIELDS,
        st.sampled_from(["any", "all", "not"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)
_FACTS = st.builds(lambda model, said: Given(model=model, last_user=said), st.none() | _TEXTS, st.none() | _TEXTS)


@given(_TABLES, _FACTS)
def test_criteria_match_exactly_where_nothing_differs(table: dict[str, Any], facts: Given) -> None:
    criteria = read_criteria(table)
    assert matches(criteria, facts) == (not mismatches(criteria, facts))
    assert distance(criteria, facts) == len(mismatches(criteria, facts))
    assert in_words(criteria)


@given(st.lists(_TABLES, min_size=1, max_size=4), _FACTS)
def test_any_all_and_not_compose_as_logic_has_it(tables: list[dict[str, Any]], facts: Given) -> None:
    each = [matches(read_criteria(table), facts) for table in tables]
    assert matches(read_criteria({"all": tables}), facts) == all(each)
    assert matches(read_criteria({"any": tables}), facts) == any(each)
    assert matches(read_criteria({"not": tables}), facts) == (not any(each))
    assert matches(read_criteria({"not": {"not": tables}}), facts) == any(each)


@given(_MATCHERS, st.lists(_TEXTS, max_size=3))
def test_not_is_the_contrary_whatever_the_values(matcher: object, values: list[str]) -> None:
    read = read_matcher(matcher, "match")
    assert read_matcher({"not": matcher}, "match").holds(values) != read.holds(values)


def test_every_field_can_be_asked_for() -> None:
    asked = {str: "a", bool: True, int: 1}
    criteria = read_criteria({name: asked[field.type] for name, field in FIELDS.items()})
    assert isinstance(criteria, RequestMatcher)
    assert [each.field for each in criteria.fields] == list(FIELDS)
