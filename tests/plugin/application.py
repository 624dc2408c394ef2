"""An application that knows nothing of the server: it uses the vendors' own clients, as their environment says.

Each is imported where it is used: importing all of them takes seconds.
"""

import json
import os
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


class MyIncompleteAnswer(Exception):  # noqa: N818
    """A stream that broke off."""


def ask(question: str) -> str:
    from cerebras.cloud.sdk import Cerebras

    answer: Any = Cerebras().completions.create(model="llama3.1-8b", prompt=question, max_tokens=12)
    return str(answer.choices[0].text)


def stream(question: str) -> str:
    """FriendliAI's client takes its URL in the code alone."""
    from friendli import SyncFriendli  # type: ignore[attr-defined]

    url = os.environ["CEREBRAS_BASE_URL"].replace("/cerebras", "/friendli")
    body: Any = {"model": "m", "prompt": question, "max_tokens": 30, "stream": True}
    text = ""
    try:
        with SyncFriendli(server_url=url, x_friendli_team="team") as client:
            for event in client.serverless.completions.complete(serverless_completions_body=body):
                text += str(event)
    except Exception as error:
        raise MyIncompleteAnswer from error
    return text


def agent(question: str) -> str:
    import openai

    client = openai.OpenAI()
    messages: Any = [{"role": "user", "content": question}]
    for _ in range(5):
        model = "gpt://folder/qwen3-235b-a22b-fp8/latest"
        said = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
        if not said.tool_calls:
            return str(said.content)
        messages.append(said.model_dump(exclude_none=True))
        for call in said.tool_calls:
            city = json.loads(call.function.arguments)["city"]  # type: ignore[union-attr]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": f"rain in {city}"})
    raise RuntimeError("it goes round in circles")


def ask_plainly(question: str, **more: object) -> str:
    """Without any vendor's client: it comes back at once, until it has an answer."""
    body = json.dumps({"model": "llama3.1-8b", "prompt": question, "max_tokens": 12, **more}).encode()
    key = os.environ["CEREBRAS_API_KEY"]
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    for _ in range(3):
        try:
            with urlopen(Request(f"{os.environ['CEREBRAS_BASE_URL']}/v1/completions", body, headers)) as answer:
                return str(json.load(answer)["choices"][0]["text"])
        except HTTPError as error:
            error.close()
    raise RuntimeError("three attempts have failed")
