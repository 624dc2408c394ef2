"""The openai client: chats, responses and embeddings, and Azure's."""

import json

import openai

QUESTION = "What is the weather in Oslo?"
TOWN = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}

client = openai.OpenAI()
messages = [{"role": "user", "content": QUESTION}]
tool = {"type": "function", "function": {"name": "get_weather", "parameters": TOWN}}
plain = client.chat.completions.create(model="gpt-4o", messages=messages).choices[0].message.content
stream = client.chat.completions.create(model="gpt-4o", messages=messages, stream=True)
streamed = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
called = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[tool]).choices[0].message.tool_calls
response = client.responses.create(model="gpt-5.4", input=QUESTION).output_text
vectors = client.embeddings.create(model="text-embedding-3-small", input=[QUESTION]).data
azure = openai.AzureOpenAI().chat.completions.create(model="my-deployment", messages=messages)
cerebras = client.chat.completions.create(model="gpt-oss-120b", messages=messages)
print(
    json.dumps(
        {
            "plain": plain,
            "streamed": streamed,
            "tool": json.loads(called[0].function.arguments),
            "responses": response,
            "embeddings": len(vectors[0].embedding),
            "azure": azure.choices[0].message.content,
            "cerebras": cerebras.choices[0].message.content,
        }
    )
)
