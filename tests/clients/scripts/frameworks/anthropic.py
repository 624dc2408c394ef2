"""Anthropic's client: messages, plain, streamed and with a tool."""

import json

import anthropic

TOWN = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}

client = anthropic.Anthropic()
asked = {
    "model": "claude-sonnet-5",
    "max_tokens": 200,
    "messages": [{"role": "user", "content": "What is the weather in Oslo?"}],
}
plain = client.messages.create(**asked)
with client.messages.stream(**asked) as stream:
    streamed = "".join(stream.text_stream)
called = client.messages.create(**asked, tools=[{"name": "get_weather", "input_schema": TOWN}])
tools = [block.input for block in called.content if block.type == "tool_use"]
print(json.dumps({"plain": plain.content[0].text, "streamed": streamed, "tool": tools[0]}))
