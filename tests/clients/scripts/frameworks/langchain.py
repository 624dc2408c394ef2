"""LangChain: an agent, and the chat models of its packages for OpenAI, Azure, Anthropic and Cerebras."""

import json

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_cerebras import ChatCerebras
from langchain_openai import AzureChatOpenAI, ChatOpenAI, OpenAIEmbeddings

QUESTION = "What is the weather in Oslo?"


def get_weather(town: str) -> str:
    """Tells the weather in a town."""
    return f"rain in {town}"


chat = ChatOpenAI(model="gpt-4o")
agent = create_agent(model="openai:gpt-4o", tools=[get_weather])
anthropic = ChatAnthropic(model="claude-sonnet-5")
cerebras = ChatCerebras(model="gpt-oss-120b")
# It would load a tokenizer from the internet to measure its texts.
embeddings = OpenAIEmbeddings(model="text-embedding-3-small", check_embedding_ctx_length=False)
print(
    json.dumps(
        {
            "plain": chat.invoke(QUESTION).text,
            "streamed": "".join(chunk.text for chunk in chat.stream(QUESTION)),
            "tool": chat.bind_tools([get_weather]).invoke(QUESTION).tool_calls[0]["args"],
            "agent": agent.invoke({"messages": [{"role": "user", "content": QUESTION}]})["messages"][-1].text,
            "embeddings": len(embeddings.embed_query(QUESTION)),
            "azure": AzureChatOpenAI(azure_deployment="my-deployment").invoke(QUESTION).text,
            "anthropic": anthropic.invoke(QUESTION).text,
            "anthropic streamed": "".join(chunk.text for chunk in anthropic.stream(QUESTION)),
            "cerebras": cerebras.invoke(QUESTION).text,
            "cerebras streamed": "".join(chunk.text for chunk in cerebras.stream(QUESTION)),
        }
    )
)
