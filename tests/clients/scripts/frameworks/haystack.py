"""Haystack's generators and embedders for OpenAI and Azure."""

import json

from haystack.components.embedders import OpenAITextEmbedder
from haystack.components.generators.chat import AzureOpenAIChatGenerator, OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool

QUESTION = "What is the weather in Oslo?"


@tool
def get_weather(town: str) -> str:
    """Tells the weather in a town."""
    return f"rain in {town}"


messages, parts = [ChatMessage.from_user(QUESTION)], []
chat = OpenAIChatGenerator(model="gpt-4o")
chat.run(messages, streaming_callback=lambda chunk: parts.append(chunk.content))
print(
    json.dumps(
        {
            "plain": chat.run(messages)["replies"][0].text,
            "streamed": "".join(parts),
            "tool": chat.run(messages, tools=[get_weather])["replies"][0].tool_calls[0].arguments,
            "embeddings": len(OpenAITextEmbedder(model="text-embedding-3-small").run(QUESTION)["embedding"]),
            "azure": AzureOpenAIChatGenerator(azure_deployment="my-deployment").run(messages)["replies"][0].text,
        }
    )
)
