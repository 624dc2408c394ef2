"""Histories of chats whose calls of tools and their results do not match, and what each vendor says to them.

The words are those of the dialects' pages: recorded, or guesses; where nothing is known, the history is accepted.
"""

from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS, Edition
from tests.support.asking import ask

USER = {"role": "user", "content": "What's the weather in Oslo and in Bergen?"}
FUNCTION = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
TOOLS = [{"type": "function", "function": FUNCTION}]


def calls(*ids: str) -> dict[str, Any]:
    function = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
    made = [{"id": id_, "type": "function", "function": function} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "7 degrees"}


A, B = "call00001", "call00002"
HISTORIES: dict[str, list[dict[str, Any]]] = {
    "matching": [USER, calls(A, B), result(A), result(B)],
    "in another order": [USER, calls(A, B), result(B), result(A)],
    "before an answer": [USER, calls(A), result(A), {"role": "assistant", "content": "7"}, USER],
    "orphaned": [USER, result(A)],
    "orphaned by an answer": [USER, calls(A), result(A), USER, result(B)],
    "of another call": [USER, calls(A), result(B)],
    "before its call": [USER, result(A), calls(A)],
    "missing": [USER, calls(A)],
    "one missing": [USER, calls(A, B), result(A), USER],
    "late": [USER, calls(A), USER, result(A)],
    "doubled": [USER, calls(A), result(A), result(A)],
    "call doubled": [USER, calls(A, A), result(A)],
    "id used again": [USER, calls(A), result(A), USER, calls(A), result(A)],
}

ORPHANED = "must be a response to a prece"
UNANSWERED = "did not have response messages: "
DUPLICATE = "Duplicate value for "
STRICT = {
    "orphaned": ORPHANED,
    "orphaned by an answer": ORPHANED,
    "of another call": ORPHANED,
    "before its call": ORPHANED,
    "missing": UNANSWERED + A,
    "one missing": UNANSWERED + B,
    "late": UNANSWERED + A,
    "doubled": DUPLICATE,
}
UNMADE = dict.fromkeys(
    ("orphaned", "orphaned by an answer", "of another call", "before its call"), "answers a call that was not made"
)
# By dialect: its model, and the words of its refusals.
VENDORS: dict[str, tuple[str, dict[str, str]]] = {
    "cerebras": ("gpt-oss-120b", STRICT | {"call doubled": DUPLICATE, "id used again": DUPLICATE}),
    "openai": ("gpt-4.1", STRICT),
    "yandex": ("gpt://folder/yandexgpt/latest", UNMADE),
    "friendli": ("zai-org/GLM-5.2", {}),
    "ovms": ("llama3", {}),
}


# The documented edition of OVMS takes no calls in a history.
@pytest.mark.parametrize(
    "vendor, edition", [(name, each) for name in VENDORS for each in EDITIONS if (name, each) != ("ovms", "documented")]
)
def test_a_history_whose_calls_and_results_do_not_match(vendor: str, edition: Edition) -> None:
    model, refusals = VENDORS[vendor]
    path = "/v3/chat/completions" if vendor == "ovms" else "/v1/chat/completions"
    wrong = []
    for name, messages in HISTORIES.items():
        body = {"model": model, "messages": messages, "tools": TOOLS}
        answer = ask(vendor, body, path=path, method="POST", edition=edition)
        words = refusals.get(name)
        if (answer.status, True) != ((200, True) if words is None else (400, words in answer.body.decode())):
            wrong.append((name, answer.status, answer.body.decode()[:200]))
    assert wrong == []
