"""Reading answers in OpenAI's format: choices, messages, and what a stream's chunks add up to."""

from typing import Any

from tests.support.asking import Answer


def choice(answer: Answer, index: int = 0) -> dict[str, Any]:
    """A choice of a plain answer."""
    found: dict[str, Any] = answer.json()["choices"][index]
    return found


def message(answer: Answer, index: int = 0) -> dict[str, Any]:
    """The message of a choice of a plain answer."""
    found: dict[str, Any] = choice(answer, index)["message"]
    return found


def parts(answer: Answer, index: int | None = None) -> list[dict[str, Any]]:
    """The choices of a stream's chunks; with an `index`, those of one choice."""
    found = [each for event in answer.events() if event != "[DONE]" for each in event["choices"]]
    return found if index is None else [each for each in found if each["index"] == index]


def joined(answer: Answer, key: str, index: int | None = None) -> str:
    """The text that the deltas of a stream have under a key."""
    return "".join(part["delta"].get(key, "") for part in parts(answer, index))


def gathered(answer: Answer, index: int | None = None) -> list[tuple[str, str]]:
    """The calls of a stream as (name, arguments), joined as clients join them."""
    calls: dict[int, tuple[str, str]] = {}
    for part in parts(answer, index):
        for piece in part["delta"].get("tool_calls", ()):
            name, arguments = calls.get(piece["index"], ("", ""))
            function = piece["function"]
            calls[piece["index"]] = (name + function.get("name", ""), arguments + function.get("arguments", ""))
    return list(calls.values())
