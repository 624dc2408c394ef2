"""The OpenAI Agents SDK."""

import asyncio
import json

from agents import Agent, Runner, function_tool

QUESTION = "What is the weather in Oslo?"
towns = []


@function_tool
def get_weather(town: str) -> str:
    """Tells the weather in a town."""
    towns.append({"town": town})
    return f"rain in {town}"


async def ask() -> dict[str, str]:
    plain = Agent(name="Weather", model="gpt-5.4")
    agent = Agent(name="Weather", model="gpt-5.4", tools=[get_weather])
    streaming = Runner.run_streamed(plain, QUESTION)
    async for _ in streaming.stream_events():
        pass
    return {
        "responses": (await Runner.run(plain, QUESTION)).final_output,
        "responses streamed": str(streaming.final_output),
        "agent": (await Runner.run(agent, QUESTION)).final_output,
    }


print(json.dumps({**asyncio.run(ask()), "tool": towns[0]}))
