"""The OpenAI Agents SDK over a real socket: tools, streams, structured outputs, handoffs and sessions."""

import pytest

from .environments import openai_agents
from .questions import Server


@pytest.mark.parametrize(
    "vendor", ["openai", "cerebras", "friendli", "ovms", "ovms chats", "yandexgpt", "qwen", "alice"]
)
def test_an_agent_calls_its_tools_and_ends_with_their_result(server: Server, vendor: str) -> None:
    seen = openai_agents(server.url)[vendor]
    assert seen["calls"] == [{"town": "Oslo"}]
    assert "rain in Oslo" in seen["plain"]
    assert seen["streamed"] == seen["deltas"] == seen["plain"]
    assert seen["report"]["town"] == "Oslo"
    assert seen["handed to"] == "Spanish"
    assert all("rain in Bergen" in text for text in seen["sessions"])
    assert len(seen["sessions"]) == (3 if vendor == "openai" else 1)
