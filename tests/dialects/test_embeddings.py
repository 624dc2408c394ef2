"""Embeddings of every dialect that has them: the same for the same text, near for texts of the same subject."""

import base64
import struct
from array import array
from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS, Edition
from mockserver.model.embeddings import likeness
from mockserver.state.settings import Settings
from tests.support.asking import FROZEN, Answer, ask
from tests.support.questions import EMBEDDERS

every_embedder = pytest.mark.parametrize("dialect", EMBEDDERS)
PATHS = {"friendli": "/dedicated/v1/embeddings", "ovms": "/v3/embeddings"}


def embed(dialect: str, texts: object, **more: Any) -> Answer:
    settings = more.pop("settings", Settings(created=FROZEN, latency="off"))
    body = {"model": EMBEDDERS[dialect], "input": texts, **more}
    return ask(dialect, body, path=PATHS.get(dialect, "/v1/embeddings"), settings=settings)


def rows(dialect: str, texts: object, **more: Any) -> list[list[float]]:
    return [row["embedding"] for row in embed(dialect, texts, **more).json()["data"]]


@every_embedder
def test_a_list_of_one_text_is_that_text(dialect: str) -> None:
    assert rows(dialect, ["Tides"]) == rows(dialect, "Tides") != rows(dialect, "Cats")


def test_each_text_has_its_embedding_in_order() -> None:
    one, other = rows("ovms", ["Tides", "Cats"])
    assert (one, other) == (*rows("ovms", "Tides"), *rows("ovms", "Cats"))
    assert [row["index"] for row in embed("ovms", ["Tides", "Cats"]).json()["data"]] == [0, 1]


@every_embedder
def test_embeddings_do_not_depend_on_the_seed(dialect: str) -> None:
    assert rows(dialect, "Tides") == rows(dialect, "Tides", settings=Settings(created=FROZEN, latency="off", seed=9))


@every_embedder
def test_the_text_alone_is_billed(dialect: str) -> None:
    usage = embed(dialect, ["Cats and dogs"]).json()["usage"]
    assert usage["prompt_tokens"] == usage["total_tokens"] > 2


@every_embedder
def test_no_embedding_comes_before_the_model_has_read(dialect: str) -> None:
    answer = embed(dialect, "Tides", settings=Settings(created=FROZEN, latency="ttft=200ms"))
    assert [due for run in answer.plan.timeline.runs for due in run.due] == [pytest.approx(0.2)]


@every_embedder
@pytest.mark.parametrize("texts", [None, 7, {}, [], [7, "a"], [None]])
def test_what_is_no_text_is_refused(dialect: str, texts: object) -> None:
    assert embed(dialect, texts).status == (422 if dialect == "friendli" else 400)


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
        ({"input": None}, "'input' is required"),
        ({"input": ""}, "'input' must not be empty"),
        ({"input": [""]}, "'input' must not be empty"),
        ({"input": ["Tides", "Cats"]}, "Array input must contain exactly one string"),
        ({"input": []}, "Array input must contain exactly one string"),
        ({"input": [7, 8]}, "Failed to parse request JSON"),
        ({"input": [[7, 8]]}, "Failed to parse request JSON"),
    ],
)
@pytest.mark.parametrize("edition", EDITIONS)
def test_yandex_refuses_in_its_own_words(more: dict[str, object], message: str, edition: Edition) -> None:
    body = {"model": EMBEDDERS["yandex"], "input": "Tides", **more}
    refused = ask("yandex", body, path="/v1/embeddings", edition=edition)
    assert refused.status == 400
    assert refused.json() == {"error": {"message": message, "type": "invalid_request_error"}}


def test_yandex_refuses_a_long_text_in_its_session() -> None:
    body = {"model": EMBEDDERS["yandex"], "input": "word " * 3000}
    message = ask("yandex", body, path="/v1/embeddings").json()["error"]["message"]
    assert message.startswith("Error in session internal_id=")
    assert message.endswith("&folder_id=folder: number of input tokens must be no more than 2048, got 3001")


# --- OpenVINO Model Server ---------------------------------------------------------------------------------------

NODE = (
    "Mediapipe execution failed. MP status - INVALID_ARGUMENT: CalculatorGraph::Run() failed: \n"
    'Calculator::Process() for node "{}" failed: '
)
RERANKER = "BAAI/bge-reranker-large"
PASSAGES = ["Cats sleep all day.", "The capital of Turkey is Ankara.", "Bread needs yeast."]


def rank(path: str = "/v3/rerank", **more: Any) -> Answer:
    body = {"model": RERANKER, "query": "What is the capital of Turkey?", "documents": PASSAGES, **more}
    return ask("ovms", body, path=path)


def test_base64_is_the_same_numbers_in_single_precision() -> None:
    packed = base64.b64decode(embed("ovms", "Tides", encoding_format="base64").json()["data"][0]["embedding"])
    assert list(struct.unpack("<1024f", packed)) == rows("ovms", "Tides")[0]


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("BAAI/bge-large-en-v1.5", 1024),
        ("bge-base-en", 768),
        ("all-MiniLM-L6-v2", 384),
        ("sentence-transformers/all-distilroberta-v1", 768),
        ("Qwen/Qwen3-Embedding-0.6B", 1024),
        ("Qwen/Qwen3-Embedding-8B-int8", 4096),
    ],
)
def test_a_models_name_says_how_long_its_vectors_are(model: str, size: int) -> None:
    answer = ask("ovms", {"model": model, "input": [[3, 4], [5]]}, path="/v3/embeddings")
    assert [len(row["embedding"]) for row in answer.json()["data"]] == [size, size]
    assert answer.json()["usage"] == {"prompt_tokens": 3, "total_tokens": 3}


def test_tokens_that_nobody_here_knows_tell_texts_apart_all_the_same() -> None:
    one, near, far = rows("ovms", [[70_001, 70_002, 70_003], [70_001, 70_002, 70_004], [80_001, 80_002, 80_003]])
    assert 1 > likeness(array("f", one), array("f", near)) > likeness(array("f", one), array("f", far)) + 0.2


@pytest.mark.parametrize("edition", EDITIONS)
def test_of_equal_keys_the_first_counts(edition: Edition) -> None:
    body = b'{"model": "bge-large", "input": ["a", "b"], "input": "c"}'
    assert len(ask("ovms", body, path="/v3/embeddings", edition=edition).json()["data"]) == 2
    body = b'{"model": "bge-reranker", "query": "q", "documents": ["a", "b"], "documents": []}'
    assert len(ask("ovms", body, path="/v3/rerank", edition=edition).json()["results"]) == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "input field is required"),
        ({"input": 7}, "input should be string, array of strings or array of integers"),
        ({"input": []}, "input array should not be empty"),
        ({"input": [[]]}, "inner arrays in input should not be empty"),
        ({"input": [None]}, "every element in input array should be either string or int"),
        ({"input": ["a", 7]}, "input must be homogeneous"),
        ({"input": ["a", 7, None]}, "input must be homogeneous"),
        ({"input": [[7], "a"]}, "input must be homogeneous"),
        ({"input": [[7, "a"]]}, "input must be homogeneous"),
        ({"input": [[7, 2**31]]}, "input must be homogeneous"),
        ({"input": [7, True]}, "every element in input array should be either string or int"),
        ({"input": "a", "encoding_format": 7}, "encoding_format should be string"),
        ({"input": "a", "encoding_format": "hex"}, "encoding_format should either base64 or float"),
        ({"input": "word " * 9000}, "Input length 9003 longer than allowed 8192"),
    ],
)
def test_an_embeddings_graph_refuses_in_its_own_words(body: dict[str, Any], message: str) -> None:
    refused = ask("ovms", {"model": EMBEDDERS["ovms"], **body}, path="/v3/embeddings")
    assert (refused.status, refused.json()["error"]) == (400, NODE.format("EmbeddingsExecutor") + message)


@pytest.mark.parametrize("model", [RERANKER, "cross-encoder/msmarco-MiniLM-L6-en-de-v1"])
def test_the_passage_that_answers_a_query_comes_first(model: str) -> None:
    results = rank(model=model).json()["results"]
    assert results[0]["index"] == 1
    scores = [row["relevance_score"] for row in results]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.5 > scores[1]
    assert {row["index"] for row in results} == {0, 1, 2}
    assert all("document" not in row for row in results)


def test_the_best_alone_are_told_with_their_texts_where_that_is_asked_for() -> None:
    [best] = rank(top_n=1, return_documents=True).json()["results"]
    assert best["document"] == {"text": PASSAGES[1]}
    assert rank(documents=[]).json() == {"results": []}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"query": 7}, "query is not a string"),
        ({"documents": "a"}, "documents is not an array"),
        ({"documents": [7]}, "documents array element is neither string nor object"),
        ({"documents": ["a", {}]}, "all documents have to be the same type (string or objects)"),
        ({"documents": [{"text": "a"}]}, "document title field is missing"),
        ({"documents": [{"title": "a", "text": 7}]}, "document text field have to be string"),
        ({"documents": [{"title": "a", "text": "b"}], "return_documents": True}, "document map not supported"),
        ({"documents": [{"text": "a"}, "a"]}, "document title field is missing"),
        ({"top_n": 2**31}, "top_n accepts integer values"),
        ({"top_n": "a"}, "top_n accepts integer values"),
        ({"rank_fields": "a"}, "rank_fields is not an array"),
        ({"rank_fields": [7]}, "rank_fields array element is not a string"),
        ({"return_documents": 1}, "return_documents accepts boolean values"),
        ({"max_chunks_per_doc": 1.5}, "max_chunks_per_doc accepts integer values"),
    ],
)
def test_a_rerankers_graph_refuses_in_its_own_words(more: dict[str, Any], message: str) -> None:
    refused = rank(**more)
    assert (refused.status, refused.json()["error"]) == (400, NODE.format("RerankExecutor") + message)


def test_a_reranker_takes_ten_thousand_documents_and_fails_at_one_more() -> None:
    assert rank(documents=["Tides"] * 10_000, top_n=1).status == 200
    failed = rank(documents=["Tides"] * 10_001)
    assert (failed.status, failed.json()["error"]) == (
        400,
        NODE.format("RerankExecutor").replace("INVALID_ARGUMENT", "INTERNAL")
        + "Number of documents exceeds max_allowed_chunks",
    )


@pytest.mark.parametrize(("top", "told"), [(0, 0), (2, 2), (9, 3), (-1, 3)])
def test_so_many_of_the_best_are_told(top: int, told: int) -> None:
    assert len(rank(top_n=top).json()["results"]) == told


@pytest.mark.parametrize(
    ("model", "path", "message"),
    [
        ("llama3", "/v3/embeddings", NODE.format("LLMExecutor") + "Wrong endpoint. "),
        ("llama3", "/v3/rerank", NODE.format("LLMExecutor") + "Wrong endpoint. "),
        (EMBEDDERS["ovms"], "/v3/completions", NODE.format("EmbeddingsExecutor") + "input field is required"),
        (EMBEDDERS["ovms"], "/v3/chat/completions", NODE.format("EmbeddingsExecutor") + "input field is required"),
        (EMBEDDERS["ovms"], "/v3/rerank", NODE.format("EmbeddingsExecutor") + "input field is required"),
        (RERANKER, "/v3/completions", NODE.format("RerankExecutor") + "query field is missing in request"),
        (RERANKER, "/v3/embeddings", NODE.format("RerankExecutor") + "query field is missing in request"),
    ],
)
def test_a_graph_that_is_asked_for_something_else_says_what_it_wants(model: str, path: str, message: str) -> None:
    refused = ask("ovms", {"model": model, "prompt": "Hi", "messages": []}, path=path)
    assert refused.status == 400
    assert refused.json()["error"].startswith(message)


def test_the_paths_below_the_newer_root_are_served_too() -> None:
    assert ask("ovms", {"model": EMBEDDERS["ovms"], "input": "Tides"}, path="/v1/embeddings").status == 200
    assert rank(path="/v1/rerank").status == 200
