"""What friendli-client 1.x sees: python friendli_client.py URL prints it as JSON, by scenario."""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from friendli import AsyncFriendli, Friendli
from friendli.errors import APIError
from friendli.schema.api.v1.completions import Completion, CompletionLine

MODEL = "meta-llama-3.1-8b-instruct"
PROMPT = "Write a few sentences about the harbour of a small town in autumn."


def plain(client: Friendli) -> dict[str, Any]:
    return {"answer": _told(_ask(client))}


def stream(client: Friendli) -> dict[str, Any]:
    answer = client.completions.create(model=MODEL, prompt=PROMPT, seed=[7])
    with client.completions.create(model=MODEL, prompt=PROMPT, seed=[7], stream=True) as lines:
        return {"answer": _told(answer), "lines": [_line(line) for line in lines]}


def wait(client: Friendli) -> dict[str, Any]:
    answer = client.completions.create(model=MODEL, prompt=PROMPT, seed=[7])
    with client.completions.create(model=MODEL, prompt=PROMPT, seed=[7], stream=True) as lines:
        return {"answer": _told(answer), "waited": _told(lines.wait())}


def length(client: Friendli) -> dict[str, Any]:
    answer = _ask(client)
    short = client.completions.create(model=MODEL, prompt=PROMPT, max_tokens=5)
    with client.completions.create(model=MODEL, prompt=PROMPT, max_tokens=5, stream=True) as lines:
        return {"answer": _told(answer), "short": _told(short), "lines": [_line(line) for line in lines]}


def stop(client: Friendli) -> dict[str, Any]:
    answer = _ask(client)
    text = answer.choices[0].text
    middle = text[len(text) // 2 :][:6]
    stopped = client.completions.create(model=MODEL, prompt=PROMPT, stop=[middle])
    return {"answer": _told(answer), "stop": middle, "stopped": _told(stopped)}


def seeds(client: Friendli) -> dict[str, Any]:
    return {
        "three": _told(client.completions.create(model=MODEL, prompt=PROMPT, n=3, seed=[7, 8, 9])),
        "seven": _told(client.completions.create(model=MODEL, prompt=PROMPT, seed=[7])),
        "none": _told(_ask(client)),
    }


def tokens(client: Friendli) -> dict[str, Any]:
    return {"answer": _told(client.completions.create(model=MODEL, tokens=[3, 3, 412, 15], max_tokens=20))}


def leave(client: Friendli) -> dict[str, Any]:
    answer = _ask(client)
    with client.completions.create(model=MODEL, prompt=PROMPT, stream=True) as lines:
        seen = [_line(next(lines)), _line(next(lines))]
    return {"answer": _told(answer), "lines": seen, "again": _told(_ask(client))}


def refused(client: Friendli) -> dict[str, Any]:
    create = client.completions.create
    return {
        "both limits": _problem(lambda: create(model=MODEL, prompt=PROMPT, max_tokens=5, max_total_tokens=50)),
        "both prompts": _problem(lambda: create(model=MODEL, prompt=PROMPT, tokens=[3])),
        "no prompt": _problem(lambda: create(model=MODEL)),
        "penalty": _problem(lambda: create(model=MODEL, prompt=PROMPT, frequency_penalty=3.0)),
        "beams": _problem(lambda: create(model=MODEL, prompt=PROMPT, num_beams=4, stream=True)),
    }


def at_once(client: Friendli) -> dict[str, Any]:
    return {"answer": _told(_ask(client)), **asyncio.run(_asynchronous(client.completions._base_url))}


async def _asynchronous(base_url: str | None) -> dict[str, Any]:
    async with AsyncFriendli(token="flp_mock", base_url=base_url) as client, asyncio.timeout(30):
        answers = await asyncio.gather(*(client.completions.create(model=MODEL, prompt=PROMPT) for _ in range(4)))
        lines = await client.completions.create(model=MODEL, prompt=PROMPT, stream=True)
        return {"answers": [_told(answer) for answer in answers], "lines": [_line(line) async for line in lines]}


def chat(client: Friendli) -> dict[str, Any]:
    return _chat(client)


def chat_tools(client: Friendli) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    names = ("get_weather", "get_time")
    tools = [{"type": "function", "function": {"name": name, "parameters": parameters}} for name in names]
    return _chat(client, "What's the weather and the time in Осло?", tools=tools)


def chat_scores(client: Friendli) -> dict[str, Any]:
    return _chat(client, "Расскажи об осени", max_tokens=6, logprobs=True, top_logprobs=2)


def chat_refused(client: Friendli) -> dict[str, Any]:
    return {"problem": _problem(lambda: _chat(client, top_logprobs=2))}


def _chat(client: Friendli, prompt: str = PROMPT, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    create = client.chat.completions.create
    answer = create(model=MODEL, messages=messages, **more)
    with create(model=MODEL, messages=messages, stream=True, **more) as chunks:
        return {"answer": answer.model_dump(), "chunks": [chunk.model_dump(exclude_unset=True) for chunk in chunks]}


def _ask(client: Friendli) -> Completion:
    return client.completions.create(model=MODEL, prompt=PROMPT)


def _told(completion: Completion | None) -> dict[str, Any] | None:
    return None if completion is None else completion.model_dump()


def _line(line: CompletionLine) -> dict[str, Any]:
    return line.model_dump(exclude_unset=True)


def _problem(ask: Callable[[], object]) -> dict[str, Any] | None:
    try:
        ask()
    except APIError as problem:
        answer = getattr(problem.__cause__, "response", None)
        status = None if answer is None else answer.status_code
        return {"class": type(problem).__name__, "status": status, "message": str(problem)}
    return None


SCENARIOS: dict[str, Callable[[Friendli], dict[str, Any]]] = {
    "plain": plain,
    "stream": stream,
    "wait": wait,
    "length": length,
    "stop": stop,
    "seeds": seeds,
    "tokens": tokens,
    "leave": leave,
    "refused": refused,
    "async": at_once,
    "chat": chat,
    "chat tools": chat_tools,
    "chat scores": chat_scores,
    "chat refused": chat_refused,
}


if __name__ == "__main__":
    with Friendli(token="flp_mock", base_url=f"{sys.argv[1]}/friendli") as the_client:
        print(json.dumps({name: scenario(the_client) for name, scenario in SCENARIOS.items()}))
