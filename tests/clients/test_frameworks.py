"""Frameworks over a real socket: the examples of their page, those that `mockserver dev` prints, and the AI SDK."""

from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from cerebras.cloud.sdk import Cerebras

from mockserver import MockServer
from mockserver.cli.dev import FOLDER
from tests.support.pages import ADDRESS, Block, blocks

from .environments import node, with_frameworks, with_packages
from .questions import Server

# What each example of a Python framework prints, line by line, at least.
PRINTED = {
    "langchain_openai": ["'args': {'town': 'Oslo'}", "'args': {'town': 'Bergen'}", ", ", "1024"],
    "pydantic_ai": ["?", "name='Jason' age=25", "?"],
}


def _first_import(block: Block) -> str:
    return block.code.splitlines()[0]


@pytest.mark.parametrize("block", blocks("python frameworks"), ids=_first_import)
def test_every_example_of_a_python_framework_prints_what_it_is_to_show(block: Block, server: Server) -> None:
    [expected] = [lines for package, lines in PRINTED.items() if f"from {package}" in block.code]
    printed = with_frameworks(block.code.replace(ADDRESS, server.url)).splitlines()
    assert len(printed) == len(expected)
    assert [line for line, part in zip(printed, expected, strict=True) if part not in line] == []


@pytest.mark.parametrize("variable", ["CEREBRAS_API_BASE", "FRIENDLI_API_BASE", "HOSTED_VLLM_API_BASE"])
def test_chats_are_answered_at_the_bases_of_frameworks(variable: str) -> None:
    with MockServer() as mock:
        base = mock.environment()[variable].removeprefix(mock.url)
        client = openai.OpenAI(base_url=f"{mock.url}{base}", api_key=mock.api_key)
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
    assert answer.choices[0].message.content


@pytest.mark.parametrize(
    "client, dialect",
    [
        (openai.OpenAI(api_key="any-key"), "openai"),
        (anthropic.Anthropic(api_key="any-key"), "anthropic"),
        (Cerebras(api_key="any-key", warm_tcp_connection=False), "cerebras"),
    ],
)
def test_a_client_made_before_can_be_given_another_base_url(
    client: Any, dialect: str, server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "base_url", server.base_url(dialect))
    assert client.models.list().data


@pytest.mark.parametrize("block", blocks("js packages"), ids=_first_import)
def test_every_example_of_a_javascript_framework_runs_and_prints_something(block: Block, server: Server) -> None:
    printed = with_packages(block.code.replace(ADDRESS, server.url))
    assert len(printed.splitlines()) > 2
    assert "Oslo" in "".join(printed.split())


@pytest.mark.parametrize("example", sorted(FOLDER.glob("*.mjs")), ids=lambda example: example.stem)
def test_every_example_that_dev_prints_runs_and_prints_an_answer(example: Path, server: Server) -> None:
    printed = with_packages(example.read_text().replace("<url>", server.url))
    assert len("".join(printed.split())) > 10


@pytest.mark.parametrize("model", ["cerebras", "gemma", "ovms", "friendli", "upstash", "yandexgpt", "qwen"])
def test_the_ai_sdk_streams_the_plain_answer_to_a_text_and_to_a_chat(server: Server, model: str) -> None:
    seen = node("ai_sdk", server.url)[f"answers {model}"]
    plain, streamed = seen["plain"], seen["streamed"]
    # It writes a prompt out as a chat where a model completes texts.
    assert "the weather in Oslo" in plain["text"]
    assert (streamed["text"], streamed["finish"]) == (plain["text"], plain["finish"])
    assert streamed["tokens"] == plain["tokens"]
    assert streamed["errors"] == []


@pytest.mark.parametrize("model", ["gemma", "yandexgpt", "qwen"])
def test_an_agent_of_the_ai_sdk_ends_with_the_result_in_words(server: Server, model: str) -> None:
    seen = node("ai_sdk", server.url)[f"agent {model}"]
    assert seen["calls"] == [["weather", {"town": "Oslo"}]]
    assert "rain in Oslo" in seen["text"]
    assert (seen["streamed"]["text"], seen["streamed"]["finish"]) == (seen["text"], "stop")


@pytest.mark.parametrize(
    "model, finish, errors",
    [("cerebras", "other", []), ("qwen", "error", ["Response stream ended without a finish reason."])],
)
def test_the_ai_sdk_tells_a_chat_that_was_cut_short_but_not_a_text(
    server: Server, model: str, finish: str, errors: list[str]
) -> None:
    seen = node("ai_sdk", server.url)[f"cut {model}"]
    assert seen["text"]
    assert (seen["finish"], seen["tokens"], seen["errors"]) == (finish, None, errors)
