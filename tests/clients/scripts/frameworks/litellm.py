"""LiteLLM, with the prefixes of all vendors that it knows."""

import json

import litellm

QUESTION = "What is the weather in Oslo?"
TOWN = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": TOWN}}
MODELS = {
    "anthropic": "anthropic/claude-sonnet-5",
    "azure": "azure/my-deployment",
    "cerebras": "cerebras/gpt-oss-120b",
    "friendli": "friendliai/zai-org/GLM-5.2",
    "ovms": "hosted_vllm/llama3",
}
messages = [{"role": "user", "content": QUESTION}]


def ask(model: str, **more: object) -> object:
    return litellm.completion(model=model, messages=messages, **more)


called = ask("openai/gpt-4o", tools=[TOOL]).choices[0].message.tool_calls[0]
seen = {
    "plain": ask("gpt-4o").choices[0].message.content,
    "streamed": "".join(chunk.choices[0].delta.content or "" for chunk in ask("gpt-4o", stream=True)),
    "tool": json.loads(called.function.arguments),
    "responses": litellm.responses(model="openai/gpt-5.4", input=QUESTION).output[-1].content[0].text,
    "embeddings": len(litellm.embedding(model="text-embedding-3-small", input=[QUESTION]).data[0]["embedding"]),
    **{name: ask(model).choices[0].message.content for name, model in MODELS.items()},
}
print(json.dumps(seen))
