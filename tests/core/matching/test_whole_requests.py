"""Whole requests: when one is the same as a recorded one, and where it differs."""

import json
from typing import Any

import pytest

from mockserver.core.matching.values import CriteriaError
from mockserver.core.matching.whole_requests import (
    count_differences,
    differences,
    read_volatile,
    whole_request,
    without_secrets,
)
from mockserver.core.regexes import renew_time_budget

CALL = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", **CALL}, {"id": "b", **CALL}]},
        {"role": "tool", "tool_call_id": "a", "content": "yes"},
        {"role": "tool", "tool_call_id": "b", "content": "no"},
    ],
}
ITEMS: dict[str, Any] = {
    "model": "m",
    "previous_response_id": "resp_1",
    "input": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "function_call",
            "call_id": "c1",
            "id": "fc_1",
            "name": "f",
            "arguments": "{}",
            "created_at": 1766666666,
        },
        {"type": "function_call_output", "call_id": "c1", "output": "yes"},
    ],
}
BLOCKS: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"id": "B-17"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "yes"}]},
    ],
}


def changed(body: Any, *changes: tuple[str, str]) -> Any:
    text = json.dumps(body)
    for old, new in changes:
        assert f'"{old}"' in text
        text = text.replace(f'"{old}"', new)
    return json.loads(text)


def unlike(recorded: Any, given: Any, *volatile: str, query: tuple[str, str] = ("", "")) -> list[str]:
    """Where two requests differ; their texts differ just then."""
    renew_time_budget()
    one, other = (whole_request(without_secrets(b), q, volatile) for b, q in zip((recorded, given), query, strict=True))
    found = [": ".join((place, " | ".join(values))) for place, *values in differences(one, other)]
    assert (one == other) is (found == []) is (count_differences(one, other) == 0)
    return found


@pytest.mark.parametrize(
    "recorded, given",
    [
        (CHAT, changed(CHAT, ("a", '"x"'), ("b", '"y"'))),
        (CHAT, changed(CHAT, ("a", '"call-9"'))),
        (CHAT, {**CHAT, "user": "u", "metadata": {"a": "b"}, "safety_identifier": "s", "prompt_cache_key": "k"}),
        (CHAT, dict(reversed(CHAT.items()))),
        (ITEMS, changed(ITEMS, ("resp_1", '"resp_2"'), ("rs_1", '"rs_2"'), ("c1", '"c2"'), ("fc_1", '"fc_2"'))),
        (ITEMS, json.loads(json.dumps(ITEMS).replace("1766666666", '"2026-11-27T10:00:00Z"'))),
        (BLOCKS, changed(BLOCKS, ("toolu_1", '"toolu_2"'))),
        ({"input": [{"toolCallId": "a"}]}, {"input": [{"toolCallId": "b"}]}),
        ({"conversation": "conv_1"}, {"conversation": "conv_2"}),
        ({"conversation": {"id": "conv_1"}}, {"conversation": {"id": "conv_2"}}),
        ({"temperature": 1}, {"temperature": 1.0}),
        ({"tools": [{"headers": {"Authorization": "Bearer one-long-secret"}}]},
         {"tools": [{"headers": {"Authorization": "Bearer another-secret"}}]}),
    ],
)  # fmt: skip
def test_generated_ids_times_secrets_and_who_asks_do_not_count(recorded: Any, given: Any) -> None:
    assert unlike(recorded, given) == []


@pytest.mark.parametrize(
    "recorded, given, found",
    [
        ({"temperature": 0.2}, {"temperature": 0.7}, ["$.temperature: 0.2 | 0.7"]),
        ({"n": 1}, {"n": True}, ["$.n: 1 | true"]),
        ({"n": None}, {}, ["$.n: null | nothing"]),
        ({"seed": 1}, {"seed": 2}, ["$.seed: 1 | 2"]),
        ({"prompt": {"id": "pmpt_1"}}, {"prompt": {"id": "pmpt_2"}}, ['$.prompt.id: "pmpt_1" | "pmpt_2"']),
        ({"prompt": ["a", "b"]}, {"prompt": ["b", "a"]}, ['$.prompt[0]: "a" | "b"', '$.prompt[1]: "b" | "a"']),
        ({"prompt": [1, 2]}, {"prompt": [1, 2, 3]}, ["$.prompt: [1, 2] | [1, 2, 3]"]),
        ({"stop": "a"}, {"stop": ["a"]}, ['$.stop: "a" | [0] "a"']),
        ({"a b": 1, "it's": 1}, {"a b": 2, "it's": 2}, ["$.a b: 1 | 2", '$["it\'s"]: 1 | 2']),
        ("a=1", "a=2", ['$: "a=1" | "a=2"']),
        ({"model": "m"}, "", ['$.model: "m" | nothing']),
        (CHAT, changed(CHAT, ("b", '"a"')), ['$.messages[1].tool_calls[1].id: "id 2" | "id 1"',
                                             '$.messages[3].tool_call_id: "id 2" | "id 1"']),
        (CHAT, {**CHAT, "messages": CHAT["messages"][:3]},
         ['$.messages[3]: content "no", role "tool", tool_call_id "id 2" | nothing']),
        (BLOCKS, changed(BLOCKS, ("B-17", '"B-18"')), ['$.messages[0].content[0].input.id: "B-17" | "B-18"']),
        ({"tools": [{"schema": {"properties": {"id": {"const": "x"}}}}]},
         {"tools": [{"schema": {"properties": {"id": {"const": "y"}}}}]},
         ['$.tools[0].schema.properties.id.const: "x" | "y"']),
        ({"input": [{"file_id": "f1"}]}, {"input": [{"file_id": "f2"}]}, ['$.input[0].file_id: "f1" | "f2"']),
        ({"s": "a" * 500 + "old"}, {"s": "a" * 500 + "new"},
         [f'$.s: ...{"a" * 30}old" | ...{"a" * 30}new"']),
    ],
)  # fmt: skip
def test_everything_else_counts_and_is_told_with_both_values(recorded: Any, given: Any, found: list[str]) -> None:
    assert unlike(recorded, given) == found


@pytest.mark.parametrize(
    "volatile, recorded, given, is_same",
    [
        ("$.seed", {"seed": 1}, {}, True),
        ("seed", {"seed": 1}, {"seed": [2, {"a": 3}]}, True),
        ("$.seed", {"seed": 1, "top_p": 1}, {"seed": 1, "top_p": 0}, False),
        ("$.messages[*].name", {"messages": [{"name": "a"}, {"n": 1}]}, {"messages": [{"name": "c"}, {"n": 1}]}, True),
        ("$.messages[-1]", {"messages": ["a", "b"]}, {"messages": ["a", "c"]}, True),
        ("$.messages[-1]", {"messages": ["a", "b"]}, {"messages": ["c", "b"]}, False),
        (r"$.input =~ \d\d:\d\d", {"input": "It is 10:30."}, {"input": "It is 11:45."}, True),
        (r"$.input =~ \d\d:\d\d", {"input": "It is 10:30."}, {"input": "It was 11:45."}, False),
        (r"$.messages =~ \d+", {"messages": [{"content": ["run 1"]}]}, {"messages": [{"content": ["run 22"]}]}, True),
        (r"$.input =~ (a|aa)+$", {"input": "a" * 60 + "b"}, {"input": "a" * 60 + "c"}, False),
    ],
)  # fmt: skip
def test_what_is_declared_volatile_may_differ(volatile: str, recorded: Any, given: Any, is_same: bool) -> None:
    assert (unlike(recorded, given, volatile) == []) is is_same


def test_the_query_counts_too() -> None:
    assert unlike("", "", query=("api-version=1&key=secret", "key=other&api-version=1")) == []
    assert unlike("", "", query=("to=https://a:secret@b.example", "to=https://a:other@b.example")) == []
    assert unlike("", "", query=("v=1&v=2", "v=2")) == ['query.v: [0] "1", [1] "2" | "2"']
    assert unlike("", "", query=("api-version=1", "")) == ['query.api-version: "1" | nothing']
    assert unlike("", "", "query.trace", query=("trace=1", "trace=2")) == []


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("$.a[", "volatile: '$.a[' is not a path such as"),
        ("$", "is the whole body; name a place in it"),
        ("$.a =~ (", "volatile: '(' is not a valid regular expression: missing )"),
    ],
)
def test_what_cannot_be_volatile_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(CriteriaError) as raised:
        read_volatile([text])
    assert complaint in str(raised.value)
