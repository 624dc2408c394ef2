"""Realistic latency goes by the class of the model, where a dialect tells models apart."""

import pytest

from mockserver.latency.parse_latency import preset_profile
from mockserver.state.namespaces import Namespace
from mockserver.state.settings import Settings
from mockserver.state.stubs.parse_stubs import read_stub
from tests.support.asking import ask

CHAT = {"messages": [{"role": "user", "content": "hello"}]}


@pytest.mark.parametrize(
    "dialect, body, latency, preset",
    [
        ("cerebras", {"model": "llama3.1-8b", "prompt": "a"}, "realistic", "cerebras-8b"),
        ("cerebras", {"model": "gpt-oss-120b", "prompt": "a"}, "realistic", "cerebras-120b"),
        ("cerebras", {"model": "anything", "prompt": "a"}, "realistic", "cerebras"),
        ("cerebras", {"model": "llama3.1-8b", "prompt": "a"}, "slow", "slow"),
        ("yandex", {"model": "gpt://folder/yandexgpt/latest", **CHAT}, "realistic", "yandex-d1"),
        ("yandex", {"model": "gpt://folder/qwen3-235b-a22b-fp8/latest", **CHAT}, "realistic", "yandex"),
        ("ovms", {"model": "llama3", "prompt": "a"}, "realistic", "ovms"),
    ],
)
def test_a_model_is_as_fast_as_its_class(dialect: str, body: object, latency: str, preset: str) -> None:
    plan = ask(dialect, body, settings=Settings(latency=latency)).plan
    assert plan.context.profile == preset_profile(preset)


@pytest.mark.parametrize(
    "dialect, path, body, preset",
    [
        ("ovms", "/v3/embeddings", {"model": "bge-large", "input": "a"}, "ovms-encoder"),
        ("ovms", "/v3/rerank", {"model": "bge-reranker", "query": "a", "documents": ["b"]}, "ovms-encoder"),
        ("yandex", "/v1/embeddings", {"model": "emb://folder/text-search-doc", "input": "a"}, "yandex-embeddings"),
    ],
)
def test_a_model_that_reads_and_says_nothing_is_faster(dialect: str, path: str, body: object, preset: str) -> None:
    plan = ask(dialect, body, path=path, settings=Settings(latency="realistic")).plan
    assert plan.context.profile == preset_profile(preset)


def test_a_folder_of_documents_is_embedded_in_some_seconds() -> None:
    body = {"model": "bge-large", "input": ["The tides rise and fall with the moon. " * 12] * 400}
    pace = ask("ovms", body, path="/v3/embeddings", settings=Settings(latency="realistic")).plan.pace
    assert pace is not None
    assert 1 < pace.prefill < 3


def test_a_stub_that_is_realistic_is_as_fast_as_the_class_of_the_model() -> None:
    space = Namespace("")
    space.stubs.add(read_stub({"reply": "Yes.", "latency": "realistic"}))
    body = {"model": "llama3.1-8b", "prompt": "a"}
    plan = ask("cerebras", body, settings=Settings(latency="off"), namespace=space).plan
    assert plan.context.profile == preset_profile("cerebras-8b")


def test_a_request_may_change_the_class_of_its_model() -> None:
    answer = ask(
        "cerebras",
        {"model": "llama3.1-8b", "prompt": "a"},
        headers={"x-mockserver-latency": "realistic, speed=2"},
        settings=Settings(latency="off"),
    )
    assert answer.plan.context.profile is not None
    assert (answer.plan.context.profile.gap, answer.plan.context.profile.speed) == (
        preset_profile("cerebras-8b").gap,
        2,
    )
