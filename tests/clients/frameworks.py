"""Frameworks as they come, led to the server by nothing but the environment: `make frameworks`.

Not part of `make test`: each has an environment of its own, with the newest packages, which takes minutes and up to a
gigabyte. What has passed is written to `frameworks.json`, of which the table of the page on frameworks is made.
"""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mockserver import MockServer

from .environments import framework

PASSED = Path(__file__).with_suffix(".json")


class Framework(NamedTuple):
    """A framework: its title, its packages, and the dialects that its script (`scripts/frameworks/`) asks.

    - `extra`: packages that it needs, of which nothing is claimed.
    - `in_code`: whether it takes base URLs in the code alone; the script then takes them from the environment.
    """

    title: str
    packages: tuple[str, ...]
    dialects: tuple[str, ...] = ("openai",)
    extra: tuple[str, ...] = ()
    in_code: bool = False


ALL = ("anthropic", "openai")
FRAMEWORKS: Mapping[str, Framework] = {
    "openai.py": Framework("openai", ("openai",), ("cerebras", "openai")),
    "anthropic.py": Framework("anthropic", ("anthropic",), ("anthropic",)),
    "langchain.py": Framework(
        "LangChain",
        ("langchain", "langchain-openai", "langchain-anthropic", "langchain-cerebras"),
        ("anthropic", "cerebras", "openai"),
    ),
    "litellm.py": Framework("LiteLLM", ("litellm",), ("anthropic", "cerebras", "friendli", "openai", "ovms")),
    "llama_index.py": Framework(
        "LlamaIndex", ("llama-index-llms-openai", "llama-index-llms-azure-openai", "llama-index-embeddings-openai")
    ),
    "instructor.py": Framework(
        "Instructor", ("instructor",), ("anthropic", "cerebras", "openai"), ("anthropic", "cerebras-cloud-sdk")
    ),
    "pydantic_ai.py": Framework("Pydantic AI", ("pydantic-ai-slim",), ALL, ("pydantic-ai-slim[openai,anthropic]",)),
    "openai_agents.py": Framework("OpenAI Agents SDK", ("openai-agents",)),
    "claude_agent_sdk.py": Framework("Claude Agent SDK", ("claude-agent-sdk",), ("anthropic",)),
    "crewai.py": Framework("CrewAI", ("crewai",), ALL, ("crewai[anthropic]",)),
    "haystack.py": Framework("Haystack", ("haystack-ai",)),
    "semantic_kernel.py": Framework("Semantic Kernel", ("semantic-kernel",), ALL, ("semantic-kernel[anthropic]",)),
    "ai_sdk.mjs": Framework("AI SDK", ("ai", "@ai-sdk/openai"), extra=("zod",)),
    "ai_sdk_in_code.mjs": Framework(
        "AI SDK",
        ("ai", "@ai-sdk/anthropic", "@ai-sdk/cerebras", "@ai-sdk/openai-compatible"),
        ("anthropic", "cerebras", "openai"),
        in_code=True,
    ),
    "openai_node.mjs": Framework("openai for Node.js", ("openai",)),
    "anthropic_node.mjs": Framework("anthropic for Node.js", ("@anthropic-ai/sdk",), ("anthropic",)),
}


@pytest.mark.parametrize("script", FRAMEWORKS)
def test_a_framework_finds_the_server_by_its_environment(script: str) -> None:
    tried = FRAMEWORKS[script]
    _note(script, None)
    with MockServer() as mock, mock.environ():
        seen, versions = framework(script, tried.packages, tried.extra)
        # Claude Code looks first whether anybody is there.
        asked = [view for view in mock.requests if view.method == "POST"]
        refused = [f"{view.path}: {view.status} {view.answer}" for view in asked if view.status >= 400]
    assert refused == []
    assert {view.dialect for view in asked} == {*tried.dialects}
    for key, value in seen.items():
        _check(key, value, seen)
    _note(script, {"date": date.today().isoformat(), "versions": versions, "seen": [*seen]})


def _check(key: str, value: Any, seen: Mapping[str, Any]) -> None:
    """Check what a script has seen: texts, the same when streamed, arguments of calls, records, vectors' lengths."""
    if key == "tool":
        assert value == {"town": "Oslo"}
    elif key == "agent":
        assert "Oslo" in value
    elif key == "embeddings":
        assert value == 1536
    elif key.endswith("structured"):
        assert value == {"name": "Jason", "age": 25}
    else:
        assert isinstance(value, str)
        assert len(value) > 5
        if key.endswith("streamed"):
            assert value == seen[key.removesuffix("streamed").strip() or "plain"]


def _note(script: str, passed: Mapping[str, Any] | None) -> None:
    """Write down what has passed; None if nothing has, so far."""
    known = json.loads(PASSED.read_text(encoding="utf-8")) if PASSED.exists() else {}
    known.pop(script, None)
    if passed is not None:
        known[script] = {"title": FRAMEWORKS[script].title, "in_code": FRAMEWORKS[script].in_code, **passed}
    ordered = {name: known[name] for name in FRAMEWORKS if name in known}
    PASSED.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
