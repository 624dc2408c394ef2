"""Pydantic AI: agents with OpenAI, Azure and Anthropic."""

import asyncio
import json

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.azure import AzureProvider

QUESTION = "What is the weather in Oslo?"


class Person(BaseModel):
    """Who is asked for."""

    name: str
    age: int


async def streamed(agent: Agent) -> str:
    async with agent.run_stream(QUESTION) as run:
        return await run.get_output()


towns = []


def get_weather(town: str) -> str:
    """Tells the weather in a town."""
    towns.append({"town": town})
    return f"rain in {town}"


chat, anthropic = Agent("openai-chat:gpt-4o"), Agent("anthropic:claude-sonnet-5")
told = Agent("openai-chat:gpt-4o", tools=[get_weather]).run_sync(QUESTION).output
azure = Agent(OpenAIChatModel("my-deployment", provider=AzureProvider()))
print(
    json.dumps(
        {
            "plain": chat.run_sync(QUESTION).output,
            "streamed": asyncio.run(streamed(chat)),
            "tool": towns[0],
            "agent": told,
            "responses": Agent("openai-responses:gpt-5.4").run_sync(QUESTION).output,
            "structured": chat.run_sync("Jason is 25 years old.", output_type=Person).output.model_dump(),
            "azure": azure.run_sync(QUESTION).output,
            "anthropic": anthropic.run_sync(QUESTION).output,
            "anthropic streamed": asyncio.run(streamed(anthropic)),
        }
    )
)
