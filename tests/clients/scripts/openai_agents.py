"""What the OpenAI Agents SDK sees of each vendor: `python openai_agents.py URL` prints it as JSON."""

import asyncio
import json
import sys
from typing import Any

from agents import (
    Agent,
    Model,
    OpenAIChatCompletionsModel,
    OpenAIConversationsSession,
    OpenAIResponsesCompactionSession,
    OpenAIResponsesModel,
    Runner,
    Session,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

# By name: the base path, the model, whether it is asked by the Responses API, and the edition.
VENDORS = {
    "openai": ("/openai/v1", "gpt-5.4", True, "documented"),
    "cerebras": ("/cerebras/v1", "gpt-oss-120b", False, "observed"),
    "friendli": ("/friendli/serverless/v1", "zai-org/GLM-5.3", True, "documented"),
    "ovms": ("/ovms/v3", "llama3", True, "observed"),
    "ovms chats": ("/ovms/v3", "llama3", False, "observed"),
    "yandexgpt": ("/yandex/v1", "gpt://b1gmock/yandexgpt/latest", True, "documented"),
    "qwen": ("/yandex/v1", "gpt://b1gmock/qwen3-235b-a22b-fp8/latest", False, "observed"),
    "alice": ("/yandex/v1", "gpt://b1gmock/aliceai-llm/latest", True, "observed"),
}
QUESTION = "What is the weather in Oslo?"
MOST_TURNS = 5


class Report(BaseModel):
    """What a structured answer is parsed into."""

    town: str
    celsius: float
    rain: bool


@function_tool
def get_weather(town: str) -> str:
    """Tells the weather in a town."""
    return f"rain in {town}"


def client_of(url: str, path: str, edition: str) -> AsyncOpenAI:
    headers = {"x-mockserver-edition": edition}
    return AsyncOpenAI(api_key="AQVNmock", base_url=url + path, default_headers=headers, max_retries=0)


def sessions_of(client: AsyncOpenAI, vendor: str) -> list[Session]:
    """Sessions of all kinds that a vendor has: in the client's memory, at the vendor, and compacted by the vendor."""
    if vendor != "openai":
        return [SQLiteSession("s")]
    compacted = OpenAIResponsesCompactionSession(
        "c", SQLiteSession("c"), client=client, model="gpt-5.4", should_trigger_compaction=lambda context: True
    )
    return [SQLiteSession("s"), OpenAIConversationsSession(openai_client=client), compacted]


async def seen(url: str, vendor: str) -> dict[str, Any]:
    path, name, responds, edition = VENDORS[vendor]
    client = client_of(url, path, edition)
    model: Model = OpenAIResponsesModel(name, client) if responds else OpenAIChatCompletionsModel(name, client)
    agent = Agent(name="Weather", instructions="Tell the weather.", model=model, tools=[get_weather])
    plain = await Runner.run(agent, QUESTION, max_turns=MOST_TURNS)
    streamed = Runner.run_streamed(agent, QUESTION, max_turns=MOST_TURNS)
    deltas = [
        event.data.delta
        async for event in streamed.stream_events()
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent)
    ]
    reporter = Agent(name="Reporter", instructions="Report the weather.", model=model, output_type=Report)
    report = await Runner.run(reporter, "It rains in Oslo.", max_turns=MOST_TURNS)
    spanish = Agent(name="Spanish", handoff_description="Speaks Spanish", instructions="Speak Spanish.", model=model)
    triage = Agent(name="Triage", instructions="Hand off to who speaks the language.", handoffs=[spanish], model=model)
    handed = await Runner.run(triage, "I want to speak to the Spanish agent, please", max_turns=MOST_TURNS)
    last = []
    for session in sessions_of(client, vendor):
        for text in (QUESTION, "And what is the weather in Bergen?"):
            run = await Runner.run(agent, text, max_turns=MOST_TURNS, session=session)
        last.append(run.final_output)
    return {
        "plain": plain.final_output,
        "calls": [json.loads(item.raw_item.arguments) for item in plain.new_items if item.type == "tool_call_item"],
        "streamed": streamed.final_output,
        "deltas": "".join(deltas),
        "report": report.final_output.model_dump(),
        "handed to": handed.last_agent.name,
        "sessions": last,
    }


if __name__ == "__main__":
    set_tracing_disabled(True)
    print(json.dumps({vendor: asyncio.run(seen(sys.argv[1], vendor)) for vendor in VENDORS}))
