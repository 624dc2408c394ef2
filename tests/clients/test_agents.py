"""Agents: loops of calls and results over a real socket, as people write them with OpenAI's SDK and with Yandex'.

Each loop ends by itself, since the result of a tool is answered in words; plain and streamed loops go the same way.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai import OpenAI
from yandex_ai_studio_sdk import AIStudio

from .questions import EDITION, EDITIONS, TIMEOUT, Server

pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utcfromtimestamp:DeprecationWarning")

FOLDER = "b1gmockfolder"
D1 = f"gpt://{FOLDER}/yandexgpt/latest"
D2 = f"gpt://{FOLDER}/qwen3-235b-a22b-fp8/latest"
MODELS = pytest.mark.parametrize("model", [D1, D2])
TOWN: dict[str, Any] = {
    "type": "object",
    "properties": {"town": {"type": "string"}},
    "required": ["town"],
    "additionalProperties": False,
}
WEATHER = {"name": "get_weather", "description": "Tells the weather in a town", "parameters": TOWN}
CLOCK = {"name": "get_time", "description": "Tells the time in a town", "parameters": TOWN}
TOOLS: list[Any] = [{"type": "function", "function": function} for function in (WEATHER, CLOCK)]
ANSWERS: dict[str, Callable[[str], str]] = {
    "get_weather": lambda town: json.dumps({"town": town, "sky": "rain"}),
    "get_time": lambda town: f"12:30 in {town}",
}
MOST_TURNS = 5

Message = Any


@pytest.fixture(params=EDITIONS)
def client(server: Server, request: pytest.FixtureRequest) -> Iterator[OpenAI]:
    with OpenAI(
        api_key="AQVNmock",
        base_url=f"{server.url}/yandex/v1",
        default_headers={EDITION: request.param},
        timeout=TIMEOUT,
        max_retries=0,
    ) as client:
        yield client


def plainly(client: OpenAI, model: str, messages: list[Message]) -> Message:
    answer = client.chat.completions.create(model=model, messages=messages, tools=TOOLS)
    return answer.choices[0].message.to_dict()


def in_fragments(client: OpenAI, model: str, messages: list[Message]) -> Message:
    """The message of a stream, put together as agents do it."""
    content, calls = "", dict[int, dict[str, str]]()
    with client.chat.completions.create(model=model, messages=messages, tools=TOOLS, stream=True) as stream:
        for chunk in stream:
            for choice in chunk.choices:
                content += choice.delta.content or ""
                for fragment in choice.delta.tool_calls or ():
                    call = calls.setdefault(fragment.index, {"id": "", "name": "", "arguments": ""})
                    call["id"] += fragment.id or ""
                    assert fragment.function
                    call["name"] += fragment.function.name or ""
                    call["arguments"] += fragment.function.arguments or ""
    if not calls:
        return {"role": "assistant", "content": content}
    functions = [
        {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
        for c in calls.values()
    ]
    return {"role": "assistant", "tool_calls": functions}


def loop(client: OpenAI, model: str, prompt: str, turn: Callable[..., Message]) -> tuple[list[Any], str]:
    """What an agent called, as (name, arguments), and what it said in the end."""
    messages: list[Message] = [{"role": "user", "content": prompt}]
    called: list[Any] = []
    for _ in range(MOST_TURNS):
        message = turn(client, model, messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return called, message["content"]
        for call in message["tool_calls"]:
            function = call["function"]
            arguments = json.loads(function["arguments"])
            called.append((function["name"], arguments))
            result = ANSWERS[function["name"]](arguments["town"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    raise AssertionError("the loop does not end")


@MODELS
@pytest.mark.parametrize(
    "prompt, calls, told",
    [
        ("What's the weather in Oslo?", [("get_weather", "Oslo")], ["town: Oslo", "sky: rain"]),
        (
            "Weather and time in Bergen, please",
            [("get_weather", "Bergen"), ("get_time", "Bergen")],
            ["sky: rain", "12:30 in Bergen"],
        ),
        (
            "What's the weather in Oslo, Bergen and Rome?",
            [("get_weather", "Oslo"), ("get_weather", "Bergen"), ("get_weather", "Rome")],
            ["town: Oslo", "town: Bergen", "town: Rome"],
        ),
        ("Какая погода в Осло?", [("get_weather", "Осло")], ["sky: rain"]),
        ("Write a line about harbours", [], []),
    ],
)
def test_an_agents_loop_ends_and_goes_the_same_way_plain_and_streamed(
    client: OpenAI, model: str, prompt: str, calls: list[tuple[str, str]], told: list[str]
) -> None:
    called, said = loop(client, model, prompt, plainly)
    assert called == [(name, {"town": town}) for name, town in calls]
    assert [part for part in told if part not in said] == []
    assert said
    assert loop(client, model, prompt, in_fragments) == (called, said)


@MODELS
def test_a_run_of_the_studios_sdk_ends_with_the_result_in_words(server: Server, model: str) -> None:
    services = {"http_completions": f"{server.url}/yandex/v1/"}
    studio = AIStudio(folder_id=FOLDER, auth="AQVNmock", service_map=services)
    tool = studio.tools.function(TOWN, name="get_weather", description="Tells the weather in a town")
    chat = studio.chat.completions(model.split("/")[3]).configure(tools=tool)
    messages: list[Any] = [{"role": "user", "text": "What's the weather in Oslo?"}]
    asked = chat.run(messages, timeout=TIMEOUT)
    assert asked.tool_calls
    (call,) = asked.tool_calls
    assert call.function
    assert (call.function.name, call.function.arguments) == ("get_weather", {"town": "Oslo"})
    results = {"tool_results": [{"name": "get_weather", "content": "Rain, 7 degrees", "tool_call_id": call.id}]}
    told = chat.run([*messages, asked, results], timeout=TIMEOUT)
    assert not told.tool_calls
    assert "Rain, 7 degrees" in told.text
