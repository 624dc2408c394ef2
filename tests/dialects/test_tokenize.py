"""Texts to token ids and back, by the endpoints of the vendors that have them: the ids are those used elsewhere."""

from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS, Edition
from mockserver.model import tokens
from mockserver.state.settings import Settings
from tests.support.asking import Answer, ask
from tests.support.questions import EMBEDDERS

TEXTS = ["Hello, wörld 😀", "", " \n\t12345", "Привет, мир! 你好"]
PLACES = ("/v1", "/serverless/v1", "/dedicated/v1")
every_place = pytest.mark.parametrize("place", PLACES)
MODEL = "meta-llama/Llama-3.1-8B-Instruct"


def friendli(operation: str, place: str = "/v1", edition: Edition = "observed", **body: Any) -> Answer:
    return ask("friendli", body, path=f"{place}/{operation}", edition=edition)


def ovms(path: str = "/v3/tokenize", **body: Any) -> Answer:
    return ask("ovms", {"model": "llama3", **body}, path=path, method="POST")


# --- FriendliAI --------------------------------------------------------------------------------------------------


@every_place
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_back_from_its_tokens(text: str, edition: Edition, place: str) -> None:
    ids = friendli("tokenize", place, edition, model=MODEL, prompt=text).json()["tokens"]
    assert ids == tokens.encode(text)
    assert friendli("detokenize", place, edition, model=MODEL, tokens=ids).json() == {"text": text}


def test_tokens_of_a_text_are_a_prompt_that_is_billed_by_their_number() -> None:
    ids = friendli("tokenize", prompt="What is the capital of Turkey?").json()["tokens"]
    answer = ask("friendli", {"max_tokens": 8, "tokens": ids}, edition="observed")
    assert answer.json()["usage"]["prompt_tokens"] == len(ids)


def test_unknown_tokens_are_replacement_characters() -> None:
    assert friendli("detokenize", tokens=[104, 99_999_999, -1, 105.0, 10**300]).json() == {
        "text": "h\ufffd\ufffdi\ufffd"
    }


@pytest.mark.parametrize(
    ("operation", "place", "body", "message"),
    [
        ("tokenize", "/v1", {}, "prompt: Field required"),
        ("tokenize", "/v1", {"prompt": None}, "prompt: Input should be a valid string"),
        ("tokenize", "/v1", {"prompt": "a", "model": 7}, "model: Input should be a valid string"),
        ("tokenize", "/serverless/v1", {"prompt": "a"}, "model: Field required"),
        ("tokenize", "/dedicated/v1", {"prompt": "a", "model": None}, "model: Input should be a valid string"),
        ("detokenize", "/v1", {}, "tokens: Field required"),
        ("detokenize", "/v1", {"tokens": "a"}, "tokens: Input should be a valid list"),
        ("detokenize", "/v1", {"tokens": [1, "a"]}, "tokens[1]: Input should be a valid integer"),
        ("detokenize", "/serverless/v1", {"tokens": [1]}, "model: Field required"),
    ],
)
def test_what_cannot_be_tokenized_is_refused_in_one_message(
    operation: str, place: str, body: dict[str, Any], message: str
) -> None:
    refused = friendli(operation, place, **body)
    assert (refused.status, refused.json()) == (422, {"message": message})


def test_by_the_page_a_refusal_tells_all_faults() -> None:
    refused = friendli("tokenize", edition="documented", prompt=7, model=7)
    assert (refused.status, [each["loc"] for each in refused.json()["detail"]]) == (
        422,
        [["body", "model"], ["body", "prompt"]],
    )


@pytest.mark.parametrize("place", PLACES[1:])
@pytest.mark.parametrize(("operation", "body"), [("tokenize", {"prompt": "a"}), ("detokenize", {"tokens": [1]})])
def test_a_model_that_is_not_there_has_no_tokens(place: str, operation: str, body: dict[str, Any]) -> None:
    settings = Settings(latency="off", models={"friendli": (MODEL,)})
    refused = ask("friendli", {**body, "model": "other"}, path=f"{place}/{operation}", settings=settings)
    assert (refused.status, refused.json()) == (404, {"detail": "Model 'other' not found."})


# --- OpenVINO Model Server ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v3/tokenize", "/v3/v1/tokenize", "/v1/tokenize", "/v3/any/where/tokenize"])
def test_a_graph_tells_the_tokens_of_a_text_with_the_mark_that_it_puts_before(path: str) -> None:
    ids = tokens.encode("Hello there")
    assert ovms(path, text="Hello there").json() == {"tokens": [tokens.BOS, *ids]}
    assert ovms(path, text=["Hello there"], add_special_tokens=False).json() == {"tokens": ids}


def test_as_many_tokens_are_billed_as_are_told() -> None:
    told = ovms(text="Why are there tides?").json()["tokens"]
    answer = ask("ovms", {"model": "llama3", "prompt": "Why are there tides?", "max_tokens": 1}, edition="observed")
    assert answer.json()["usage"]["prompt_tokens"] == len(told)
    embedded = ask(
        "ovms", {"model": EMBEDDERS["ovms"], "input": "Tides"}, path="/v3/embeddings", edition="observed"
    ).json()["usage"]["prompt_tokens"]
    assert embedded == len(ovms(model=EMBEDDERS["ovms"], text="Tides").json()["tokens"])


def test_several_texts_have_a_list_each_cut_and_filled_up_as_is_wished() -> None:
    one, two = tokens.encode("Hello there, you"), tokens.encode("Hi")
    pad = tokens.EOS

    def made(**more: Any) -> Any:
        asked = ovms(text=["Hello there, you", "Hi"], add_special_tokens=False, **more)
        return asked.json()["tokens"]

    assert made() == [one, two]
    assert made(max_length=2) == [one[:2], two]
    assert made(pad_to_max_length=True) == [one, [*two, *[pad] * (len(one) - len(two))]]
    assert made(max_length=6, pad_to_max_length=True, padding_side="left") == [
        [*[pad] * (6 - len(each)), *each] for each in (one, two)
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "text field is required"),
        ({"text": None}, "text should be string, array of strings or array of integers"),
        ({"text": []}, "text array should not be empty"),
        ({"text": [[]]}, "inner arrays in text should not be empty"),
        ({"text": ["a", None]}, "every element in text array should be either string or int"),
        ({"text": ["a", 1]}, "text must be homogeneous"),
        ({"text": [1, 2]}, "Input should be string or array of strings"),
        ({"text": [[1], [2]]}, "Input should be string or array of strings"),
        ({"text": "a", "max_length": None}, "max_length should be unsigned integer"),
        ({"text": "a", "max_length": -1}, "max_length should be unsigned integer"),
        ({"text": "a", "max_length": 2.0}, "max_length should be unsigned integer"),
        ({"text": "a", "max_length": 0}, "max_length should be greater than 0"),
        ({"text": "a", "max_length": 1_000_001}, "max_length 1000001 exceeds the allowed limit of 1000000"),
        ({"text": ["a"] * 4, "max_length": 300_000}, "max_length 300000 exceeds the allowed limit of 250000"),
        ({"text": "a", "pad_to_max_length": 1}, "pad_to_max_length should be boolean"),
        ({"text": "a", "add_special_tokens": "no"}, "add_special_tokens should be boolean"),
        ({"text": "a", "padding_side": 1}, "padding_side should be string, either left or right"),
        ({"text": "a", "padding_side": "up"}, "padding_side should be either left or right"),
    ],
)
@pytest.mark.parametrize(("model", "node"), [("llama3", "LLMExecutor"), (EMBEDDERS["ovms"], "EmbeddingsExecutor")])
def test_a_tokenizer_refuses_in_its_own_words(body: dict[str, Any], message: str, model: str, node: str) -> None:
    refused = ovms(model=model, **body)
    assert refused.status == 400
    assert refused.json()["error"].endswith(f'Calculator::Process() for node "{node}" failed: {message}')


def test_a_graph_that_ranks_tokenizes_nothing() -> None:
    assert "query field is missing in request" in ovms(model="bge-reranker", text="a").json()["error"]
