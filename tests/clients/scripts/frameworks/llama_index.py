"""LlamaIndex' classes for OpenAI and Azure."""

import json

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.azure_openai import AzureOpenAI
from llama_index.llms.openai import OpenAI

QUESTION = "What is the weather in Oslo?"


def get_weather(town: str) -> str:
    """Tells the weather in a town."""
    return f"rain in {town}"


llm, messages = OpenAI(model="gpt-4o"), [ChatMessage(role="user", content=QUESTION)]
called = llm.chat_with_tools([FunctionTool.from_defaults(get_weather)], user_msg=QUESTION)
azure = AzureOpenAI(model="gpt-4o", engine="my-deployment")
print(
    json.dumps(
        {
            "plain": llm.chat(messages).message.content,
            "streamed": "".join(part.delta or "" for part in llm.stream_chat(messages)),
            "tool": llm.get_tool_calls_from_response(called)[0].tool_kwargs,
            "embeddings": len(OpenAIEmbedding(model="text-embedding-3-small").get_text_embedding(QUESTION)),
            "azure": azure.chat(messages).message.content,
        }
    )
)
