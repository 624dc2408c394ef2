"""The Responses API through OpenAI's SDK and FriendliAI's, against the four vendors that have it.

Agents ask by it unless they are told otherwise: whole and streamed, parsed into models, in loops of tools to their end.
"""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import openai
import pytest
from friendli.core.models import ResponseValidationError
from friendli.friendli import SyncFriendli
from openai import OpenAI
from openai.types.responses import (
    FunctionToolParam,
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseFunctionWebSearch,
    ResponseIncompleteEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    WebSearchToolParam,
)
from openai.types.responses.response_function_web_search import ActionSearch
from pydantic import BaseModel

from mockserver.dialects.openai.models import SNAPSHOTS

from . import friendli_sdk
from .questions import EDITION, PROMPT, TIMEOUT, Server


class Vendor(NamedTuple):
    """Where a vendor takes responses, and of which model here."""

    name: str
    path: str
    model: str
    thinker: str
    edition: str = "documented"


D1 = Vendor("yandex", "/yandex/v1", "gpt://b1gmock/yandexgpt/latest", "gpt://b1gmock/yandexgpt/latest")
D2 = Vendor("yandex", "/yandex/v1", *["gpt://b1gmock/qwen3-235b-a22b-fp8/latest"] * 2)
_ALICE = "gpt://b1gmock/aliceai-llm/latest"
ALICE = Vendor("yandex", "/yandex/v1", _ALICE, _ALICE, "observed")
OVMS = Vendor("ovms", "/ovms/v3", "llama3", "OpenVINO/Qwen3-8B-int4-ov", "observed")
HOSTED = Vendor("friendli", "/friendli/serverless/v1", "meta-llama-3.3-70b-instruct", "zai-org/GLM-5.3")
CONTAINER = Vendor("friendli", "/friendli/v1", "", "zai-org/GLM-5.3")
VLLM = Vendor("friendli", "/friendli/serverless/v1", *["zai-org/GLM-5.3-Flash"] * 2)
OPENAI = Vendor("openai", "/openai/v1", *["gpt-5.4"] * 2)
VENDORS = (OPENAI, D1, D2, ALICE, OVMS, HOSTED, CONTAINER, VLLM)
IDS = ["openai", "d1", "d2", "alice", "ovms", "serverless", "container", "vllm"]
EVERY = pytest.mark.parametrize("vendor", VENDORS, ids=IDS)
# Its first event has an item already, at the place where the next one adds it, which the SDK's own helper refuses.
HELPED = [vendor for vendor in VENDORS if vendor is not OVMS]

WEATHER: FunctionToolParam = {
    "type": "function",
    "name": "get_weather",
    "description": "Tells the weather in a town",
    "parameters": {
        "type": "object",
        "properties": {"town": {"type": "string"}},
        "required": ["town"],
        "additionalProperties": False,
    },
    "strict": True,
}
SEARCH: WebSearchToolParam = {"type": "web_search"}
QUESTION = "What is the weather in Oslo and in Bergen?"
MOST_TURNS = 4


class Harbour(BaseModel):
    """What a structured answer is parsed into."""

    town: str
    boats: int
    open: bool


@pytest.fixture
def client(server: Server, vendor: Vendor) -> Iterator[OpenAI]:
    with OpenAI(
        api_key="AQVNmock",
        base_url=server.url + vendor.path,
        default_headers={EDITION: vendor.edition},
        timeout=TIMEOUT,
        max_retries=0,
    ) as client:
        yield client


def streamed(client: OpenAI, **asked: Any) -> Response:
    """The response that a stream ends with, whose events are numbered and add up to it."""
    texts: dict[str, str] = {}
    arguments: dict[str, str] = {}
    with client.responses.create(**asked, stream=True) as stream:
        events = list(stream)
    numbers = [event.sequence_number for event in events]
    assert numbers == [number for number, _ in zip(count(numbers[0]), numbers, strict=False)]
    for event in events:
        if event.type == "response.output_text.delta":
            texts[event.item_id] = texts.get(event.item_id, "") + event.delta
        elif event.type == "response.output_text.done":
            assert texts.get(event.item_id, "") == event.text
        elif event.type == "response.function_call_arguments.delta":
            arguments[event.item_id] = arguments.get(event.item_id, "") + event.delta
        elif event.type == "response.function_call_arguments.done":
            assert arguments.get(event.item_id, "") == event.arguments
    last = events[-1]
    assert isinstance(last, ResponseCompletedEvent | ResponseIncompleteEvent)
    assert "".join(texts.values()) == last.response.output_text
    called = [item.arguments for item in last.response.output if isinstance(item, ResponseFunctionToolCall)]
    assert list(arguments.values()) == called
    return last.response


def called_at_once(vendor: Vendor) -> list[str]:
    """The towns of the calls in an answer to QUESTION: of Yandex' responses today only one, unless more are allowed."""
    return ["Oslo"] if vendor is ALICE else ["Oslo", "Bergen"]


def content_of(response: Response) -> list[Any]:
    """The items without their ids, which a streaming vendor may give anew, and without members that have no value."""
    items = [item.to_dict(exclude_none=True) for item in response.output]
    return [{key: value for key, value in item.items() if key not in ("id", "call_id", "status")} for item in items]


@EVERY
def test_an_answer_is_whole_and_a_stream_says_the_same(client: OpenAI, vendor: Vendor) -> None:
    asked: dict[str, Any] = {"model": vendor.model, "input": PROMPT, "instructions": "Be terse."}
    answer = client.responses.create(**asked)
    assert (answer.object, answer.status, answer.error) == ("response", "completed", None)
    assert answer.model == (SNAPSHOTS.get(vendor.model, vendor.model) or None)
    assert answer.output_text
    assert answer.usage
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens
    assert content_of(streamed(client, **asked)) == content_of(answer)


@EVERY
def test_an_answer_that_is_cut_is_incomplete(client: OpenAI, vendor: Vendor) -> None:
    asked: dict[str, Any] = {"model": vendor.model, "input": PROMPT, "max_output_tokens": 16}
    for answer in (client.responses.create(**asked), streamed(client, **asked)):
        assert answer.status == "incomplete"
        assert answer.incomplete_details
        assert answer.incomplete_details.reason == ("max_tokens" if vendor is OVMS else "max_output_tokens")
        assert answer.usage
        assert answer.usage.output_tokens == 16


@EVERY
def test_an_answer_is_parsed_into_a_model(client: OpenAI, vendor: Vendor) -> None:
    answer = client.responses.parse(model=vendor.model, input="Describe a harbour.", text_format=Harbour)
    assert isinstance(answer.output_parsed, Harbour)


@pytest.mark.parametrize("vendor", HELPED, ids=["openai", "d1", "d2", "alice", "serverless", "container", "vllm"])
def test_the_helper_for_streams_follows_every_event(client: OpenAI, vendor: Vendor) -> None:
    with client.responses.stream(model=vendor.model, input="Describe a harbour.", text_format=Harbour) as stream:
        said = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert final.output_parsed == Harbour.model_validate_json(said)
    with client.responses.stream(model=vendor.thinker, input=QUESTION, tools=[WEATHER]) as stream:
        final_calls = [item for item in stream.get_final_response().output if item.type == "function_call"]
    assert [call.parsed_arguments for call in final_calls] == [{"town": town} for town in called_at_once(vendor)]


@EVERY
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("thinks", [False, True], ids=["", "thinks"])
def test_a_loop_of_tools_comes_to_its_end(client: OpenAI, vendor: Vendor, stream: bool, thinks: bool) -> None:
    history: list[Any] = [{"role": "user", "content": QUESTION}]
    asked: dict[str, Any] = {"model": vendor.thinker if thinks else vendor.model, "tools": [WEATHER]}
    if thinks:
        asked["reasoning"] = {"effort": "low"}
    towns = []
    for _ in range(MOST_TURNS):
        answer = streamed(client, input=history, **asked) if stream else client.responses.create(input=history, **asked)
        assert any(item.type == "reasoning" for item in answer.output) is (thinks or vendor is VLLM)
        history += [item.to_dict() for item in answer.output]
        calls = [item for item in answer.output if isinstance(item, ResponseFunctionToolCall)]
        if not calls:
            assert "sky: rain" in answer.output_text
            break
        for call in calls:
            town = json.loads(call.arguments)["town"]
            towns.append(town)
            told = json.dumps({"town": town, "sky": "rain"})
            history.append({"type": "function_call_output", "call_id": call.call_id, "output": told})
    assert towns == called_at_once(vendor)


@EVERY
def test_what_is_refused_is_refused_before_and_what_fails_in_a_stream_is_told(client: OpenAI, vendor: Vendor) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        client.responses.create(model=vendor.model, input=PROMPT, max_output_tokens=0)
    assert refused.value.status_code in (400, 422)
    wish = {"X-Mockserver-Fault": '{ kind = "error_event", error = "server_error", after_event = 5 }'}
    asked: dict[str, Any] = {"model": vendor.model, "input": PROMPT, "extra_headers": wish}
    with client.responses.create(**asked, stream=True) as stream:
        if vendor is OPENAI:
            # Its event of an error is what makes the SDK raise.
            with pytest.raises(openai.APIError, match="The server had an error"):
                list(stream)
            return
        *before, last = list(stream)
    assert (before[-1].type == "error") is (vendor.name == "yandex")
    assert last.type == "response.failed"
    assert last.response.status == "failed"
    assert last.response.error
    assert last.response.error.message


@pytest.mark.parametrize("vendor", [D1, D2], ids=["d1", "d2"])
def test_yandex_tells_log_probabilities_and_a_summary_of_its_thoughts(client: OpenAI, vendor: Vendor) -> None:
    asked: dict[str, Any] = {"model": vendor.model, "input": PROMPT, "max_output_tokens": 300}
    answer = client.responses.create(
        **asked,
        include=["message.output_text.logprobs"],
        top_logprobs=2,
        reasoning={"effort": "low", "summary": "auto"},
    )
    thought, message = answer.output
    assert thought.type == "reasoning"
    assert thought.summary[0].text
    assert message.type == "message"
    text = message.content[0]
    assert text.type == "output_text"
    assert text.logprobs
    assert "".join(token.token for token in text.logprobs) == text.text
    assert {len(token.top_logprobs) for token in text.logprobs} == {2}
    assert answer.usage
    assert 0 < answer.usage.output_tokens_details.reasoning_tokens < answer.usage.output_tokens


@pytest.mark.parametrize("vendor", [ALICE], ids=["alice"])
def test_a_search_of_the_web_is_an_item_and_what_it_found_is_cited(client: OpenAI, vendor: Vendor) -> None:
    asked: dict[str, Any] = {"model": vendor.model, "input": "What is the weather in Oslo?", "tools": [SEARCH]}
    for answer in (client.responses.create(**asked), streamed(client, **asked)):
        search, message = answer.output
        assert isinstance(search, ResponseFunctionWebSearch)
        assert isinstance(search.action, ActionSearch)
        assert (search.status, search.action.query) == ("completed", "the weather in Oslo")
        assert isinstance(message, ResponseOutputMessage)
        [text] = message.content
        assert isinstance(text, ResponseOutputText)
        assert [each.type for each in text.annotations] == ["url_citation"] * 3


# --- FriendliAI's own SDK ----------------------------------------------------------------------------------------


@pytest.fixture
def friendli(server: Server) -> Iterator[SyncFriendli]:
    with friendli_sdk.connected(server) as sdk:
        yield sdk


@pytest.mark.parametrize("place", ["serverless", "dedicated", "container"])
def test_friendlis_own_sdk_knows_every_event_and_item(server: Server, friendli: SyncFriendli, place: str) -> None:
    api = getattr(friendli, place).responses
    asked: dict[str, Any] = {
        "model": "zai-org/GLM-5.3",
        "input_": QUESTION,
        "tools": [{**WEATHER}],
        "reasoning": {"effort": "low"},
    }
    if place == "container":
        asked["server_url"] = f"{server.url}/friendli"
    answer = api.responses(**asked)
    kinds = [type(item).__name__ for item in answer.output]
    assert kinds == ["ResponsesReasoningItem", "ResponsesFunctionCall", "ResponsesFunctionCall"]
    with api.responses(**asked, stream=True) as stream:
        events = [event.data for event in stream]
    assert all(isinstance(event, BaseModel) for event in events)
    assert [type(item).__name__ for item in events[-1].response.output] == kinds
    assert events[-1].response.usage == answer.usage


def test_friendlis_own_sdk_reads_what_vllm_serves_but_for_the_parts_of_its_reasoning(friendli: SyncFriendli) -> None:
    asked: dict[str, Any] = {"model": "zai-org/GLM-5.3-Flash", "input_": QUESTION, "tools": [{**WEATHER}]}
    api: Any = friendli.serverless.responses
    answer = api.responses(**asked)
    kinds = ["ResponsesReasoningItem", "ResponsesFunctionCall", "ResponsesFunctionCall"]
    assert [type(item).__name__ for item in answer.output] == kinds
    with (
        pytest.raises(ResponseValidationError, match="reasoning_part"),
        api.responses(**asked, stream=True) as stream,
    ):
        list(stream)
