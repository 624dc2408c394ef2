"""Semantic Kernel's chats of OpenAI and Anthropic, and its embeddings."""

import asyncio
import json

from semantic_kernel.connectors.ai.anthropic import AnthropicChatCompletion, AnthropicChatPromptExecutionSettings
from semantic_kernel.connectors.ai.open_ai import (
    OpenAIChatCompletion,
    OpenAIChatPromptExecutionSettings,
    OpenAITextEmbedding,
)
from semantic_kernel.contents import ChatHistory

QUESTION = "What is the weather in Oslo?"


async def ask() -> dict[str, object]:
    history = ChatHistory()
    history.add_user_message(QUESTION)
    chat, settings = OpenAIChatCompletion(ai_model_id="gpt-4o"), OpenAIChatPromptExecutionSettings()
    anthropic = AnthropicChatCompletion(ai_model_id="claude-sonnet-5")
    theirs = AnthropicChatPromptExecutionSettings(max_tokens=200)
    embedder = OpenAITextEmbedding(ai_model_id="text-embedding-3-small")
    parts = [str(part) async for part in chat.get_streaming_chat_message_content(history, settings)]
    return {
        "plain": str(await chat.get_chat_message_content(history, settings)),
        "streamed": "".join(parts),
        "embeddings": len((await embedder.generate_embeddings([QUESTION]))[0]),
        "anthropic": str(await anthropic.get_chat_message_content(history, theirs)),
    }


print(json.dumps(asyncio.run(ask())))
