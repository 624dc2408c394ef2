"""Embeddings of every dialect that has them: the same for the same text, near for texts of the same subject."""

from typing import Any

import pytest

from mockserver.control.settings import Settings
from tests.support.asking import FROZEN, Answer, ask
from tests.support.questions import EMBEDDERS

every_embedder = pytest.mark.parametrize("dialect", EMBEDDERS)
PATHS = {"yandex": "/v1/embeddings"}


def embed(dialect: str, texts: object, **more: Any) -> Answer:
    settings = more.pop("settings", Settings(created=FROZEN, latency="off"))
    body = {"model": EMBEDDERS[dialect], "input": texts, **more}
    return ask(dialect, body, path=PATHS[dialect], settings=settings)


def rows(dialect: str, texts: object, **more: Any) -> list[list[float]]:
    return [row["embedding"] for row in embed(dialect, texts, **more).json()["data"]]


@every_embedder
def test_each_text_has_its_embedding_in_order(dialect: str) -> None:
    one, other = rows(dialect, ["Tides", "Cats"])
    assert (one, other) == (*rows(dialect, "Tides"), *rows(dialect, "Cats"))
    assert [row["index"] for row in embed(dialect, ["Tides", "Cats"]).json()["data"]] == [0, 1]


@every_embedder
def test_embeddings_do_not_depend_on_the_seed(dialect: str) -> None:
    assert rows(dialect, "Tides") == rows(dialect, "Tides", settings=Settings(created=FROZEN, latency="off", seed=9))


@every_embedder
def test_the_texts_alone_are_billed(dialect: str) -> None:
    usage = embed(dialect, ["Tides", "Cats and dogs"]).json()["usage"]
    assert usage["prompt_tokens"] == usage["total_tokens"] > 2


@every_embedder
def test_no_embedding_comes_before_the_model_has_read(dialect: str) -> None:
    answer = embed(dialect, "Tides", settings=Settings(created=FROZEN, latency="ttft=200ms"))
    assert [due for run in answer.plan.timeline.runs for due in run.due] == [pytest.approx(0.2)]


@every_embedder
@pytest.mark.parametrize("texts", [None, 7, {}, [], [7, "a"], [None]])
def test_what_is_no_text_is_refused(dialect: str, texts: object) -> None:
    assert embed(dialect, texts).status == 400


def test_a_document_and_a_question_lie_in_one_space() -> None:
    body = {"input": "Столица Турции"}
    models = [f"emb://folder/{name}/latest" for name in ("text-search-doc", "text-search-query", "text-embeddings")]
    document, question, other = (
        ask("yandex", {**body, "model": model}, path="/v1/embeddings").json()["data"][0]["embedding"]
        for model in models
    )
    assert document == question != other


@pytest.mark.parametrize(("dimensions", "length"), [({}, 256), ({"dimensions": 128}, 128), ({"dimensions": 768}, 768)])
def test_yandex_second_models_have_dimensions_to_choose_from(dimensions: dict[str, int], length: int) -> None:
    body = {"model": "emb://folder/text-embeddings-v2-query/latest", "input": ["Tides"], **dimensions}
    assert len(ask("yandex", body, path="/v1/embeddings").json()["data"][0]["embedding"]) == length


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"model": "text-search-doc"}, "Failed to parse model URI"),
        ({"model": "gpt://folder/yandexgpt/latest"}, "invalid model_uri"),
        ({"encoding_format": "base64"}, "'encoding_format' must be one of 'float'"),
        ({"dimensions": 512}, "'dimensions' must be one of 256"),
        ({"input": "word " * 3000}, "number of input tokens must be no more than 2048, got 3001"),
        ({"input": None}, "'input' is not valid"),
    ],
)
def test_yandex_refuses_in_its_own_words(more: dict[str, object], message: str) -> None:
    refused = ask("yandex", {"model": EMBEDDERS["yandex"], "input": "Tides", **more}, path="/v1/embeddings")
    assert refused.status == 400
    assert refused.json()["error"]["message"].startswith(message)
