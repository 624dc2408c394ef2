"""The Claude Agent SDK, which runs Claude Code."""

import asyncio
import json

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, TextBlock, query


async def ask() -> str:
    options = ClaudeAgentOptions(model="claude-sonnet-5", tools=[], setting_sources=[])
    said = ""
    async for message in query(prompt="Say hello", options=options):
        if isinstance(message, AssistantMessage):
            said += "".join(block.text for block in message.content if isinstance(block, TextBlock))
    return said


print(json.dumps({"anthropic": asyncio.run(ask())}))
