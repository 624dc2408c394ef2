"""Stubs that were added at run time, as a stub file: what is read from it answers the same."""

import json
import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.json_values import DEEPEST
from mockserver.core.toml import read_toml
from mockserver.state.stubs.parse_stubs import read_stub, read_stubs
from mockserver.state.stubs.registry import StubRegistry
from mockserver.state.stubs.saving import WRITERS as BY_FORMAT
from mockserver.state.stubs.saving import stubs_in_json, stubs_in_toml
from mockserver.state.stubs.stub import Stub

FIXTURES = Path(__file__).parents[3] / "fixtures" / "stubs"
WRITERS = list(BY_FORMAT.values())
Writer = Callable[[list[Stub]], str]

NULL = {"a": None, "b": [1, 'é"it\'s"', {"c": [None]}]}
TABLES: list[dict[str, Any]] = [
    {"reply": "It rains."},
    {"reply": {}},
    {"match": {"last_user": {"contains": "weather"}}, "reply": {"text": "two\n\"lines\"\r\n''' \x00", "seed": 2**62}},
    {
        "match": {"any": [{"model": "a"}, {"not": {"stream": True}}], "headers": {"x y": {"one_of": ["1", "2"]}}},
        "times": 2,
        "reply": "x",
    },
    {
        "match": {"body": {"$.t[*]": {"at_least": 0.1, "at_most": 1e22}, "$.u": {"equals": [1, {"v": True}]}}},
        "reply": "x",
    },
    {"replies": ["a", {"error": {"error": "rate_limit", "retry_after": 0.2}}, {"refusal": "no"}], "priority": -3},
    {"script": ["a", {"match": {"turn": 2}, "reply": {"chunks": ["b ", {"text": "c", "delay": "20ms"}]}}, {}]},
    {
        "latency": {"ttft": "1s"},
        "faults": [{"kind": "cut", "after_event": 3}, {"kind": "bom"}],
        "headers": {"X-A": "b"},
    },
    {"output_tokens": "normal(128, 20)", "seed": 7},
    {"reply": {"body_base64": "AAEC", "status": 503, "content_type": "text/html", "headers": {}}},
    {"replies": [{"embedding": [1, -0.5]}, {"embedding": [[1.0], [2.5]]}, {"scores": [0.1, 1e-30]}]},
    {"reply": {"body": "data: a\n\ndata: b\n\n", "event_times": [0.1, "200ms"]}},
    {"match": {"prompt": {"regex": "(?P<c>a)"}}, "reply": {"template": True, "text": "{{ groups.c }}"}},
    {"reply": {"choices": ["a", {"chunks": ["b"]}, {"tool_calls": [{"name": "f", "arguments": NULL}]}]}},
    # Null is written as part of a text.
    {"reply": {"body": NULL}},
    {"reply": {"body": NULL, "content_type": "text/plain", "status": 400}},
    {"replies": [{"body": [None]}, {"json": NULL}, {"json": None, "finish_reason": "length"}]},
    {"script": [{"json": NULL}, {"match": {"turn": 2}, "reply": {"body": NULL}}]},
    {
        "reply": {
            "text": "x",
            "tool_calls": [{"name": "f", "arguments": NULL}, {"name": "g", "arguments": "{"}, {"name": "h"}],
        }
    },
]


def read_again(text: str, write: Writer) -> tuple[Stub, ...]:
    document: Any = read_toml(text).get("stub", []) if write is stubs_in_toml else json.loads(text)["stubs"]
    return tuple(stub._replace(table={}) for stub in read_stubs(document, "stub"))


@pytest.mark.parametrize("write", WRITERS)
def test_what_is_read_from_the_file_are_the_same_stubs_in_their_order(write: Writer) -> None:
    added = [read_stub({"name": f"n{number}", **table}) for number, table in enumerate(TABLES)]
    assert read_again(write(added), write) == tuple(stub._replace(table={}) for stub in added)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.*")), ids=lambda path: path.name)
def test_the_stubs_of_a_file_could_have_been_saved(path: Path, write: Writer) -> None:
    text = path.read_text(encoding="utf-8")
    document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    tables = [each for each in document.get("stub") or document["stubs"] if "file" not in str(each)]
    added = [read_stub({"name": f"n{number}", **table}) for number, table in enumerate(tables)]
    assert read_again(write(added), write) == tuple(stub._replace(table={}) for stub in added)


@pytest.mark.parametrize("write", WRITERS)
def test_a_name_that_the_book_gave_is_not_saved_and_one_that_a_person_gave_is(write: Writer) -> None:
    book = StubRegistry()
    for table in ({"reply": "a"}, {"name": "b", "reply": "b"}, {"name": "stub-7", "reply": "c"}):
        book.add(read_stub(table))
    # As the handle does, which names its stub once it knows the name.
    book.add(read_stub({"name": "stub-1", "reply": "d"}))
    assert [stub.name for stub in read_again(write([stub for stub, _ in book.listed()]), write)] == ["", "b", ""]


def test_a_stub_that_was_named_by_its_address_keeps_that_name() -> None:
    assert read_toml(stubs_in_toml([read_stub({"reply": "a"})._replace(name="mine")])) == {
        "stub": [{"name": "mine", "reply": "a"}]
    }


LEFT_OUT: list[tuple[Mapping[str, Any], str]] = [
    ({"reply": len}, "reply is a Python function"),
    ({"replies": ["a", len]}, "replies[1] is a Python function"),
    ({"match": {"prompt": len}, "reply": "a"}, "match.prompt is a Python function"),
    (
        {"script": [{"match": {"body": {"$.a": {"not": len}}}, "reply": "a"}]},
        "script[0].match.body.$.a.not is a Python",
    ),
    ({"match": {"body": {"$.a": date(2026, 1, 2)}}, "reply": "a"}, "match.body.$.a is date, not a JSON value"),
    ({"match": {"number": {"at_most": float("inf")}}, "reply": "a"}, "match.number.at_most is inf, not a JSON value"),
    ({"match": {"prompt": "\ud800"}, "reply": "a"}, "match.prompt: '\\ud800' contains half of a surrogate pair"),
    ({"reply": {"json": {1: "a"}}}, "reply.json: a key: 1 is not a string"),
]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("table, reason", LEFT_OUT, ids=[reason for _, reason in LEFT_OUT])
def test_what_a_file_cannot_hold_is_left_out_by_name_and_with_the_reason(
    table: Mapping[str, Any], reason: str, write: Writer
) -> None:
    text = write([read_stub({"name": 'a "b"', **table}), read_stub({"name": "kept", "reply": "a"})])
    assert [stub.name for stub in read_again(text, write)] == ["kept"]
    said = [text.splitlines()[0].removeprefix("# ")] if write is stubs_in_toml else json.loads(text)["$comment"]
    assert len(said) == 1
    assert said[0].startswith(f'Not saved: stub "a \\"b\\"": {reason}')


@pytest.mark.parametrize(
    "table",
    [
        {"match": {"body": {"$.a": {"equals": None}}}, "reply": "a"},
        {"reply": {"template": True, "body": {"a": None, "b": "{{ last_user }}"}}},
    ],
    ids=str,
)
def test_a_null_that_toml_cannot_hold_can_be_saved_in_json(table: dict[str, Any]) -> None:
    stub = read_stub({"name": "n", **table})
    assert stubs_in_toml([stub]) == '# Not saved: stub "n": TOML has no null; save it with format=json\n'
    assert json.loads(stubs_in_json([stub])) == {"stubs": [{"name": "n", **table}]}


@pytest.mark.parametrize("write", WRITERS)
def test_values_may_nest_as_deeply_as_in_json_and_no_deeper(write: Writer) -> None:
    def nested(levels: int) -> Any:
        return [] if levels == 1 else [nested(levels - 1)]

    deep = read_stub({"name": "deep", "reply": {"body": nested(DEEPEST)}})
    assert [stub.steps for stub in read_again(write([deep]), write)] == [deep.steps]
    too_deep = read_stub({"name": "deep", "match": {"body": {"$.a": {"equals": nested(300)}}}, "reply": "a"})
    assert "it is nested too deeply" in write([too_deep])


def test_no_stubs_are_an_empty_file() -> None:
    assert (stubs_in_toml([]), json.loads(stubs_in_json([]))) == ("", {"stubs": []})
