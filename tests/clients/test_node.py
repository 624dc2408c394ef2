"""The clients for Node.js: `openai` against every dialect that it fits, and the SDKs of Cerebras and Upstash."""

import json
from base64 import b64decode
from typing import Any

import pytest

from .environments import node
from .questions import EDITIONS, Server, before


def content(answer: dict[str, Any]) -> str:
    text: str = answer["choices"][0]["message"]["content"]
    return text


@pytest.mark.parametrize(
    "vendor, message",
    [
        ("cerebras", "temperature"),
        ("ovms", "temperature out of range(0.0, 2.0)"),
        ("upstash", "400"),  # this SDK quotes an error's message only where `error` is an object
        ("yandexgpt", "Failed to parse model URI"),
        ("qwen", "Failed to parse model URI"),
    ],
)
def test_openai_for_node_talks_to(server: Server, vendor: str, message: str) -> None:
    seen = node("openai", server.url)[vendor]
    plain, whole, short, refused = seen["plain"], seen["whole"], seen["short"], seen["refused"]
    assert plain["text"]
    assert plain["finish"] == "stop"
    assert plain["usage"]["total_tokens"] == plain["usage"]["prompt_tokens"] + plain["usage"]["completion_tokens"]
    assert whole["text"] == plain["text"]
    assert whole["finishes"] == ["stop"]
    assert whole["usages"] == ([] if vendor == "ovms" else [plain["usage"]])
    assert whole["chunks"] > 1
    assert plain["text"].startswith(short["text"])
    assert (short["finish"], short["usage"]["completion_tokens"]) == ("length", 5)
    assert (refused["class"], refused["status"]) == ("BadRequestError", 400)
    assert message in refused["message"]
    assert seen["again"]["text"] == plain["text"]


def test_openai_for_node_gathers_a_tool_call_from_its_fragments(server: Server) -> None:
    seen = node("openai", server.url)["tools"]
    plain, helped = seen["plain"], seen["helped"]
    assert plain["finish"] == helped["finish"] == "tool_calls"
    assert plain["calls"][0]["function"]["name"] == helped["calls"][0]["function"]["name"] == "forecast"
    assert plain["calls"][0]["function"]["arguments"] == helped["calls"][0]["function"]["arguments"]
    assert set(json.loads(plain["calls"][0]["function"]["arguments"])) == {"town", "days"}


@pytest.mark.parametrize("vendor", ["openai", "yandex", "friendli"])
def test_openai_for_node_asks_for_responses(server: Server, vendor: str) -> None:
    seen = node("openai", server.url)[f"responses {vendor}"]
    assert seen["helped"] == seen["plain"] != ""
    assert [json.loads(call) for call in seen["calls"]] == [{"town": "Oslo"}]
    assert "rain in Oslo" in seen["told"]


def test_openai_for_node_lists_models(server: Server) -> None:
    seen = node("openai", server.url)["models"]
    assert "llama3.1-8b" in seen["cerebras"]
    assert "gpt://b1gmock/yandexgpt/latest" in seen["yandexgpt"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_cerebras_for_node_gets_answers_streams_and_refusals(server: Server, edition: str) -> None:
    seen = node("cerebras", server.url)[edition]
    plain, streamed = seen["plain"], seen["streamed"]
    assert seen["model"] in seen["models"]
    assert streamed["text"] == plain["choices"][0]["text"]
    assert streamed["last"]["choices"][0]["finish_reason"] == plain["choices"][0]["finish_reason"] == "length"
    assert streamed["last"]["usage"] == plain["usage"]
    assert streamed["last"]["time_info"].keys() == plain["time_info"].keys()
    assert (
        "".join(seen["logprobs"]["tokens"]) == plain["choices"][0]["text"][: len("".join(seen["logprobs"]["tokens"]))]
    )
    assert len(seen["raw"]) == 3
    failures = {name: (seen[name]["class"], seen[name]["status"]) for name in ("refused", "limited", "unauthorized")}
    assert failures == {
        "refused": ("BadRequestError", 400),
        "limited": ("RateLimitError", 429),
        "unauthorized": ("AuthenticationError", 401),
    }
    assert "temperature: " in seen["refused"]["message"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_cerebras_for_node_chats_with_models_that_think_and_call(server: Server, edition: str) -> None:
    seen = node("cerebras", server.url)[edition]
    said, heard = seen["chat"]["choices"][0]["message"], seen["chatted"]
    assert (heard["reasoning"], heard["content"]) == (said["reasoning"], said["content"])
    assert heard["last"]["usage"] == seen["chat"]["usage"]
    made = seen["calling"]["choices"][0]["message"]
    assert made["tool_calls"][0]["function"] == seen["called"]["call"]
    assert seen["called"]["call"] == {"name": "get_weather", "arguments": '{"town":"Oslo"}'}
    assert seen["called"]["reasoning"] == made["reasoning"]
    assert seen["called"]["last"]["choices"][0]["finish_reason"] == "tool_calls"


def test_cerebras_for_node_takes_an_error_amid_a_stream_for_a_lost_connection_and_half_an_answer_for_all(
    server: Server,
) -> None:
    seen = node("cerebras", server.url)["documented"]
    assert seen["amid"] == {"class": "APIConnectionError", "status": None, "message": "Connection error."}
    assert seen["streamed"]["text"].startswith(seen["cut"]["text"])
    assert seen["cut"]["last"]["choices"][0]["finish_reason"] is None


def test_qstash_for_node_gets_a_plain_answer(server: Server) -> None:
    answer = node("qstash", server.url)["plain"]["answer"]
    assert list(answer) == ["id", "object", "created", "model", "system_fingerprint", "choices", "usage"]
    assert list(answer["choices"][0]) == ["index", "message", "logprobs", "finish_reason", "stop_reason"]
    assert content(answer)
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]


@pytest.mark.parametrize("scenario, reason", [("stream", "stop"), ("large", "length")])
def test_qstash_for_node_joins_a_stream_to_the_plain_answer_however_large_its_events(
    server: Server, scenario: str, reason: str
) -> None:
    seen = node("qstash", server.url)[scenario]
    choices = [chunk["choices"][0] for chunk in seen["chunks"]]
    assert "".join(choice["delta"].get("content") or "" for choice in choices) == content(seen["answer"])
    assert choices[0]["delta"] == {"role": "assistant"}
    assert [choice["finish_reason"] for choice in choices] == [None] * (len(choices) - 1) + [reason]
    assert ["usage" in chunk for chunk in seen["chunks"]] == [False] * (len(choices) - 1) + [True]
    assert seen["chunks"][-1]["usage"] == seen["answer"]["usage"]


def test_qstash_for_node_may_send_a_prompt_with_the_keys_it_leaves_in_the_body(server: Server) -> None:
    assert content(node("qstash", server.url)["prompt"]["answer"])


def test_qstash_for_node_has_its_wishes_obeyed(server: Server) -> None:
    seen = node("qstash", server.url)["wishes"]
    whole = content(seen["answer"])
    assert whole.startswith(content(seen["short"]))
    assert seen["short"]["choices"][0]["finish_reason"] == "length"
    assert seen["short"]["usage"]["completion_tokens"] == 5
    assert content(seen["stopped"]) == before(whole, seen["stop"])
    assert seen["stopped"]["choices"][0]["stop_reason"] == seen["stop"]
    assert [choice["index"] for choice in seen["two"]["choices"]] == [0, 1]
    tokens = seen["logprobs"]["choices"][0]["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == content(seen["logprobs"])
    assert [len(token["top_logprobs"]) for token in tokens] == [2] * 5


def test_qstash_for_node_may_leave_a_stream_early(server: Server) -> None:
    seen = node("qstash", server.url)["leave"]
    assert len(seen["chunks"]) == 2
    assert content(seen["again"]) == content(seen["answer"])


@pytest.mark.parametrize("kind", ["plain", "stream"])
def test_qstash_for_node_raises_the_body_of_a_refusal(server: Server, kind: str) -> None:
    problem = node("qstash", server.url)["refused"][kind]
    assert (problem["class"], problem["status"]) == ("QstashError", 400)
    assert "temperature" in problem["message"]
    assert json.loads(problem["message"])


def test_qstash_for_node_publishes_to_the_model_and_verifies_what_comes_back(server: Server) -> None:
    seen = node("qstash", server.url)["publish"]
    taken = {request["path"]: request for request in seen["taken"]}
    assert taken.keys() == {"/done", "/queued", "/first", "/second?a=b"}
    assert {(request["verified"], request["forged"]) for request in seen["taken"]} == {(True, "SignatureError")}
    ids = {
        "/done": seen["published"]["messageId"],
        "/queued": seen["queued"]["messageId"],
        "/first": seen["batch"][0]["messageId"],
    }
    told = {path: json.loads(taken[path]["body"]) for path in ids}
    assert {path: body["sourceMessageId"] for path, body in told.items()} == ids
    assert told["/done"]["sourceHeader"]["Tenant"] == ["blue"]
    assert answer_in(told["/done"]) == answer_in(told["/queued"]) == content(seen["answer"])
    assert content(seen["answer"]).startswith(answer_in(told["/first"]))
    assert json.loads(taken["/second?a=b"]["body"]) == {"hello": "world"}
    assert taken["/second?a=b"]["headers"]["upstash-message-id"] == seen["batch"][1]["messageId"]
    assert seen["states"] == ["DELIVERED", "ACTIVE", "CREATED"]


def test_qstash_for_node_manages_messages_and_queues(server: Server) -> None:
    seen = node("qstash", server.url)["messages"]
    assert (seen["shown"]["labels"], seen["shown"]["method"]) == (["a"], "POST")
    assert (seen["tuned"]["parallelism"], seen["tuned"]["paused"]) == (3, True)
    assert (seen["flow"]["status"], "mockserver has no flow control" in seen["flow"]["message"]) == (400, True)
    assert seen["duplicate"] is True
    assert (seen["one"], seen["some"], seen["filtered"]) == ({"cancelled": 1},) * 3
    assert (seen["gone"]["class"], seen["gone"]["status"]) == ("QstashError", 404)
    assert seen["refused"]["message"] == json.dumps(
        {"error": "invalid destination url: endpoint has invalid scheme, add http:// or https://"},
        separators=(",", ":"),
    )
    assert seen["dead"] == []


def answer_in(callback: dict[str, Any]) -> str:
    """What the model says in the answer that a callback reports."""
    return content(json.loads(b64decode(callback["body"])))
