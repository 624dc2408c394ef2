"""Instructor, with OpenAI, Anthropic and Cerebras by the names of their models."""

import json

import instructor
from pydantic import BaseModel


class Person(BaseModel):
    """Who is asked for."""

    name: str
    age: int


messages = [{"role": "user", "content": "Jason is 25 years old."}]


def ask(model: str, **more: object) -> dict[str, object]:
    client = instructor.from_provider(model)
    return client.create(response_model=Person, messages=messages, **more).model_dump()


print(
    json.dumps(
        {
            "structured": ask("openai/gpt-4o"),
            "anthropic structured": ask("anthropic/claude-sonnet-5", max_tokens=500),
            "cerebras structured": ask("cerebras/gpt-oss-120b"),
        }
    )
)
