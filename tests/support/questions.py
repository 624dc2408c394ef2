"""A question for each dialect, and functions that ask it over a socket."""

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from tests.support.http import exchange

QUESTIONS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "anthropic": (
        "/anthropic/v1/messages",
        {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "Hello there"}], "max_tokens": 24},
    ),
    "cerebras": (
        "/cerebras/v1/completions",
        {"model": "gpt-oss-120b", "prompt": "What is the capital of Turkey?", "max_tokens": 24},
    ),
    "friendli": (
        "/friendli/v1/completions",
        {"model": "meta-llama-3.1-8b-instruct", "prompt": "Write about the sea", "max_tokens": 24},
    ),
    "openai": (
        "/openai/v1/chat/completions",
        {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello there"}], "max_tokens": 24},
    ),
    "ovms": ("/ovms/v3/completions", {"model": "llama3", "prompt": "This is a test", "max_tokens": 24}),
    "upstash": (
        "/upstash/llm/v1/chat/completions",
        {
            "model": "meta-llama/Meta-Llama-3-8B-Instruct",
            "messages": [{"role": "user", "content": "Hello there"}],
            "max_tokens": 24,
        },
    ),
    "yandex": (
        "/yandex/v1/chat/completions",
        {
            "model": "gpt://folder/qwen3-235b-a22b-fp8/latest",
            "messages": [{"role": "user", "content": "Расскажи об отпуске в Карелии"}],
            "max_tokens": 24,
        },
    ),
}

# A model that embeds, for each dialect that has any.
EMBEDDERS: Mapping[str, str] = {
    "friendli": "endpoint",
    "openai": "text-embedding-3-small",
    "ovms": "BAAI/bge-large-en-v1.5",
    "yandex": "emb://folder/text-search-doc/latest",
}


def ask(url: str, dialect: str, headers: Mapping[str, str] | None = None, **more: Any) -> int:
    """The status of the answer to the question of a dialect; 0 if the connection broke."""
    path, body = QUESTIONS[dialect]
    try:
        return exchange(url, "POST", path, {**body, **more}, headers).status
    except (HTTPException, OSError):
        return 0


def ask_in_background(url: str, dialect: str, headers: Mapping[str, str] | None = None, **more: Any) -> Thread:
    """Ask the question of a dialect in a thread, which has been started."""
    thread = Thread(target=ask, args=(url, dialect, headers), kwargs=more, daemon=True)
    thread.start()
    return thread


def leave_early(url: str, dialect: str, size: int = 900, **more: Any) -> None:
    """Ask for a stream, read `size` bytes of it, and close the connection, long before the rest would come."""
    path, body = QUESTIONS[dialect]
    target = urlsplit(url)
    connection = HTTPConnection(target.hostname or "", target.port, timeout=30)
    headers = {"authorization": "Bearer test", "content-type": "application/json"}
    headers["x-mockserver-latency"] = "ttft=100ms, rate=20 tok/s"
    connection.request("POST", path, json.dumps({**body, "stream": True, **more}), headers)
    answer = connection.getresponse()
    answer.read(size)
    answer.close()
    connection.close()
