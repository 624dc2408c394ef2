"""What the live page reads as the text and the thoughts of answers: of typed events, and of the bodies they end in."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import javascript
from tests.support.asking import ask
from tests.support.shapes import SHAPES, Shape

SAYS = (Path(__file__).parents[2] / "mockserver" / "ui" / "base" / "answer-text.js").as_uri()
READ = """
import {{ textOf, thoughtOf }} from {module};
const read = (documents) => [textOf, thoughtOf].map((of) => documents.map(of).join(""));
console.log(JSON.stringify({documents}.map(read)));
"""
THINK = {"effort": "low", "summary": "auto"}
TOOL = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}


def read(*answers: Sequence[Any]) -> list[list[str]]:
    """The text and the thoughts of answers, each a list of documents."""
    found: list[list[str]] = json.loads(javascript(READ.format(module=json.dumps(SAYS), documents=json.dumps(answers))))
    return found


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.responds or s.messages], ids=lambda shape: shape.id)
def test_events_and_bodies_of_responses_say_the_same(shape: Shape) -> None:
    plain, stream = shape.plain("Tell me about tides"), shape.stream("Tell me about tides")
    events = [event for event in stream.events() if event != "[DONE]"]
    assert read([plain.json()], events) == [[shape.text(plain), ""]] * 2


@pytest.mark.parametrize(
    "dialect, path, body",
    [
        (
            "yandex",
            "/v1/responses",
            {"model": "gpt://f/qwen3-235b-a22b-fp8", "reasoning": {"effort": "low", "summary": "auto"}},
        ),
        ("friendli", "/serverless/v1/responses", {"model": "zai-org/GLM-5.3"}),
        ("ovms", "/v3/responses", {"model": "OpenVINO/Qwen3-8B-int4-ov"}),
    ],
)
def test_thoughts_and_calls_are_read_too(dialect: str, path: str, body: dict[str, Any]) -> None:
    asked = {**body, "input": "What is the weather in Oslo?", "tools": [TOOL], "tool_choice": "required"}
    plain, stream = (
        ask(dialect, {**asked, "stream": stream}, path=path, method="POST", edition="observed")
        for stream in (False, True)
    )
    [[text, thought], streamed] = read([plain.json()], [event for event in stream.events() if event != "[DONE]"])
    assert text.startswith("\nget_weather {")
    assert thought
    assert streamed == [text, thought]
