"""The index of stubs: it finds what trying all of them in order would find, and tries few of many."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.json_values import Path
from mockserver.core.matching.requests import matches
from mockserver.state.stubs.parse_stubs import read_stub
from mockserver.state.stubs.registry import HandlerError, StubRegistry

WORDS = ["a", "b", "ab"]
VALUES = [*WORDS, 1, 1.0, True, False, None, 0, ["a"], {"a": 1}]


class Request:
    """The values of a request's fields, and how often one was looked at."""

    def __init__(self, fields: Mapping[str, Sequence[object]]) -> None:
        self._fields = fields
        self.looks = 0

    def values(self, field: str, path: Path) -> Sequence[object]:
        """The values of a field; those in the body by their first key."""
        self.looks += 1
        return self._fields.get(str(path[0]) if path else field, ())


_TEXTS = st.sampled_from(WORDS)
_MATCHERS = st.one_of(
    _TEXTS,
    st.lists(_TEXTS, min_size=1, max_size=2).map(lambda words: {"one_of": words}),
    _TEXTS.map(lambda word: {"contains": word}),
    _TEXTS.map(lambda word: {"regex": word}),
    _TEXTS.map(lambda word: {"not": {"equals": word}}),
)
_PLACES = st.sampled_from(VALUES).map(lambda value: {"equals": value}) | st.just({"exists": False})
_MATCHES = st.fixed_dictionaries(
    {},
    optional={
        "model": _MATCHERS,
        "prompt": _MATCHERS,
        "body": st.dictionaries(st.sampled_from(["x", "y"]), _PLACES, max_size=2),
        "any": st.lists(st.fixed_dictionaries({"model": _MATCHERS}), min_size=1, max_size=2),
    },
)
_FIELDS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "model": st.lists(_TEXTS, max_size=1),
        "prompt": st.lists(_TEXTS, max_size=2),
        "x": st.lists(st.sampled_from(VALUES), max_size=2),
        "y": st.lists(st.sampled_from(VALUES), max_size=2),
    }
)
_REQUESTS = _FIELDS.map(Request)


@given(st.lists(_MATCHES, max_size=40), _REQUESTS)
def test_the_first_stub_that_matches_is_found_however_many_there_are(
    tables: list[dict[str, Any]], request: Request
) -> None:
    stubs = [read_stub({"match": table, "reply": "x", "name": f"{n}"}) for n, table in enumerate(tables)]
    book = StubRegistry()
    book.put(stubs)
    found = book.take(request)
    first = next((stub.name for stub in stubs if matches(stub.criteria, request)), None)
    assert (found and found.stub.name) == first


@pytest.mark.parametrize(
    "match",
    [
        lambda number: {"prompt": f"question {number}"},
        lambda number: {"model": "m", "prompt": {"one_of": [f"question {number}", f"ask {number}"]}},
        lambda number: {"model": {"contains": "m"}, "body": {"$.x": number}},
        lambda number: {"model": "m", "body": {"$.x": number}, "any": [{"stream": True}, {"turn": 1}]},
    ],
)
def test_of_a_thousand_stubs_that_want_different_values_few_are_tried(match: Callable[[int], dict[str, Any]]) -> None:
    book = StubRegistry()
    for number in range(1000):
        book.add(read_stub({"match": match(number), "reply": f"{number}"}))
    request = Request({"model": ["m"], "prompt": ["question 700"], "x": [700], "turn": [1]})
    found = book.take(request)
    assert found is not None
    assert found.stub.name == "stub-701"
    assert request.looks < 10
    assert book.take(Request({"model": ["m"], "prompt": ["another"], "x": [-1]})) is None


def test_a_stub_of_higher_priority_and_one_that_takes_anything_keep_their_places_among_many() -> None:
    book = StubRegistry()
    for number in range(100):
        book.add(read_stub({"name": f"{number}", "match": {"prompt": f"{number % 50}"}, "reply": "x", "times": 1}))
    book.add(read_stub({"name": "anything", "reply": "x"}))
    book.add(read_stub({"name": "urgent", "match": {"prompt": "7"}, "reply": "x", "priority": 1, "times": 1}))
    request = Request({"prompt": ["7"]})
    found = [book.take(request) for _ in range(5)]
    assert [each and each.stub.name for each in found] == ["urgent", "7", "57", "anything", "anything"]


def test_a_function_is_asked_before_what_follows_it_in_a_match() -> None:
    book = StubRegistry()
    for number in range(20):
        book.add(read_stub({"match": {"model": lambda value: 1 / 0, "prompt": f"{number}"}, "reply": "x"}))
    with pytest.raises(HandlerError, match="stub 'stub-1': its predicate raised ZeroDivisionError"):
        book.take(Request({"model": ["m"], "prompt": ["another"]}))
