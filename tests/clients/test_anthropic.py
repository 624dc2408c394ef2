"""Anthropic's SDK against the server: messages plain and streamed, tools to their end, thinking, errors, models."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic
from pydantic import BaseModel

from .questions import EDITION, PROMPT, TIMEOUT, Server

HAIKU, OPUS = "claude-haiku-4-5", "claude-opus-4-8"
TOOL: Any = {
    "name": "get_weather",
    "description": "The weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
WEATHER: Any = [{"role": "user", "content": "What is the weather in Oslo?"}]
ASKED: Any = [{"role": "user", "content": PROMPT}]


@contextmanager
def connected(server: Server, edition: str) -> Iterator[Anthropic]:
    headers = {EDITION: edition}
    with Anthropic(
        base_url=f"{server.url}/anthropic", api_key="k", max_retries=0, timeout=TIMEOUT, default_headers=headers
    ) as client:
        yield client


def test_a_message_says_in_a_stream_what_it_says_at_once(client: Anthropic) -> None:
    message = client.messages.create(model=HAIKU, max_tokens=40, messages=ASKED)
    [block] = message.content
    assert block.type == "text"
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 40)
    assert message._request_id
    with client.messages.stream(model=HAIKU, max_tokens=40, messages=ASKED) as stream:
        assert "".join(stream.text_stream) == block.text
        whole = stream.get_final_message()
    assert whole.usage == message.usage
    kinds = [event.type for event in client.messages.create(model=HAIKU, max_tokens=5, messages=ASKED, stream=True)]
    assert kinds == [
        *("message_start", "content_block_start", *["content_block_delta"] * 5, "content_block_stop"),
        *("message_delta", "message_stop"),
    ]


def test_a_stop_and_a_system_prompt_are_obeyed(documented: Anthropic) -> None:
    whole = documented.messages.create(model=HAIKU, max_tokens=200, messages=ASKED).content[0]
    assert whole.type == "text"
    stop = whole.text[40:48]
    cut = documented.messages.create(model=HAIKU, max_tokens=200, messages=ASKED, stop_sequences=[stop])
    assert (cut.stop_reason, cut.stop_sequence) == ("stop_sequence", stop)
    said = cut.content[0]
    assert said.type == "text"
    assert said.text == whole.text[: whole.text.index(stop)]


def test_a_loop_of_tools_with_thoughts_comes_to_its_end(documented: Anthropic) -> None:
    asking: Any = {
        "model": HAIKU, "max_tokens": 2048, "tools": [TOOL], "thinking": {"type": "enabled", "budget_tokens": 1024},
    }  # fmt: skip
    first = documented.messages.create(**asking, messages=WEATHER)
    thought, call = first.content
    assert (first.stop_reason, thought.type, call.type) == ("tool_use", "thinking", "tool_use")
    assert call.type == "tool_use"
    assert (call.name, call.input) == ("get_weather", {"city": "Oslo"})
    result: Any = {"type": "tool_result", "tool_use_id": call.id, "content": "It rains, 7 degrees."}
    history: Any = [*WEATHER, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    with documented.messages.stream(**asking, messages=history) as stream:
        last = stream.get_final_message()
    assert (last.stop_reason, [block.type for block in last.content]) == ("end_turn", ["thinking", "text"])
    with documented.messages.stream(**asking, messages=WEATHER) as stream:
        calls = [event for event in stream if event.type == "input_json"]
        streamed = stream.get_final_message()
    assert "".join(event.partial_json for event in calls) == '{"city": "Oslo"}'
    assert [block.type for block in streamed.content] == ["thinking", "tool_use"]


def test_the_sdks_own_loop_of_tools_comes_to_its_end(documented: Anthropic) -> None:
    called = []

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """The weather of a city."""
        called.append(city)
        return "It rains, 7 degrees."

    # It would send the new messages only, if threads were supported.
    for stream in (False, True):
        runner: Any = documented.beta.messages.tool_runner(
            model=HAIKU, max_tokens=500, tools=[get_weather], messages=WEATHER, stream=stream
        )
        last = runner.until_done()
        assert (last.stop_reason, [block.type for block in last.content]) == ("end_turn", ["text"])
    assert called == ["Oslo", "Oslo"]


def test_a_parsed_answer_is_of_its_class(documented: Anthropic) -> None:
    class Person(BaseModel):
        name: str
        age: int

    asked: Any = [{"role": "user", "content": "Extract: Jason is 25 years old."}]
    parsed = documented.messages.parse(model=OPUS, max_tokens=300, messages=asked, output_format=Person)
    assert parsed.parsed_output == Person(name="Jason", age=25)


def test_counts_and_models_are_told(documented: Anthropic) -> None:
    counted = documented.messages.count_tokens(model=HAIKU, messages=WEATHER, tools=[TOOL])
    message = documented.messages.create(model=HAIKU, max_tokens=5, messages=WEATHER, tools=[TOOL])
    assert message.usage.input_tokens == counted.input_tokens
    models = [model.id for model in documented.models.list(limit=4)]
    assert len(models) == len(set(models)) > 10
    assert documented.models.retrieve(HAIKU).id == message.model


FAULTS: list[tuple[str, type[anthropic.APIStatusError]]] = [
    ("invalid_request", anthropic.BadRequestError),
    ("unauthorized", anthropic.AuthenticationError),
    ("forbidden", anthropic.PermissionDeniedError),
    ("unknown_model", anthropic.NotFoundError),
    ("body_too_large", anthropic.APIStatusError),
    ("rate_limit", anthropic.RateLimitError),
    ("server_error", anthropic.InternalServerError),
    ("overloaded", anthropic.APIStatusError),
]


@pytest.mark.parametrize("kind, error", FAULTS)
def test_a_fault_raises_the_error_of_its_kind(
    documented: Anthropic, kind: str, error: type[anthropic.APIStatusError]
) -> None:
    headers = {"X-Mockserver-Fault": f'{{ kind = "error", error = "{kind}" }}'}
    with pytest.raises(error) as raised:
        documented.messages.create(model=HAIKU, max_tokens=5, messages=ASKED, extra_headers=headers)
    body: Any = raised.value.body
    assert raised.value.request_id == body["request_id"]


def test_a_stream_that_fails_half_way_raises(documented: Anthropic) -> None:
    headers = {"X-Mockserver-Fault": '{ kind = "error_event", error = "overloaded", after_event = 4 }'}
    seen: list[str] = []
    stream = documented.messages.create(model=HAIKU, max_tokens=9, messages=ASKED, stream=True, extra_headers=headers)
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        seen.extend(event.type for event in stream)
    assert seen == ["message_start", "content_block_start", "content_block_delta"]
