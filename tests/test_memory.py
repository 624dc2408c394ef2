"""Caches and journals are bounded in bytes too, so that long texts are not kept."""

import gc
import tracemalloc
from typing import Any

import pytest

from mockserver.state.namespaces import Namespace
from tests.support.asking import ask

# Prompts of so many characters each, all different. A single one may be kept by what read it last, twenty may not.
COUNT, LENGTH = 20, 60_000

TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather"}}


def prompt(number: int) -> str:
    return f"{number} Explain how Anna Schmidt, {number}, carries a load. " + "And another word. " * (LENGTH // 18)


def chat(number: int) -> dict[str, Any]:
    return {"model": "gpt://f/yandexgpt/latest", "messages": [{"role": "user", "content": prompt(number)}]}


KINDS: dict[str, tuple[str, Any]] = {
    "completion": ("ovms", lambda n: {"model": "m", "prompt": prompt(n), "max_tokens": 8}),
    "continued": ("ovms", lambda n: {"model": "m", "prompt": prompt(n) + "and so", "max_tokens": 8}),
    "cut story": ("ovms", lambda n: {"model": "m", "prompt": prompt(n), "max_tokens": 8, "frequency_penalty": 1.0}),
    "one word": ("ovms", lambda n: {"model": "m", "prompt": f"{n}" + "x" * LENGTH, "max_tokens": 8}),
    "tools": ("yandex", lambda n: chat(n) | {"tools": [TOOL], "max_tokens": 8}),
    "JSON": ("yandex", lambda n: chat(n) | {"response_format": {"type": "json_object"}, "max_tokens": 8}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_long_prompts_are_not_kept(kind: str) -> None:
    dialect, body = KINDS[kind]
    ask(dialect, body(0))
    tracemalloc.start()
    try:
        statuses = {ask(dialect, body(number)).status for number in range(1, COUNT)}
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert statuses == {200}
    assert kept < COUNT * LENGTH / 2


def test_long_embeddings_are_not_kept() -> None:
    def embed(number: int) -> int:
        body = {"model": "Qwen3-Embedding-8B", "input": [f"{number}", f"{number} more"]}
        return len(ask("ovms", body, path="/v3/embeddings").body)

    embed(0)
    tracemalloc.start()
    try:
        length = sum(map(embed, range(1, COUNT)))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < length / 2


def test_a_journal_of_embeddings_stays_within_its_bytes() -> None:
    space = Namespace("")
    answer = ask("ovms", {"model": "bge-large", "input": ["Tides"] * 50}, path="/v3/embeddings")
    noted = space.journal.open("", "/v3/embeddings", answer.plan.context.call, answer.plan)
    assert len(answer.body) < noted.weight < 1.1 * len(answer.body)
