"""OpenAI's SDK and two frameworks, which ask OpenVINO Model Server for chats, against both of its versions."""

import asyncio
import json

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionChunk, ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from pydantic import BaseModel

from .environments import with_frameworks
from .questions import EDITION, PROMPT, RATE_LIMITED, TIMEOUT, Server, before, middle_of
from .test_ovms import GRAPH, MODEL
from .test_ovms import connected as connected

QWEN = "OpenVINO/Qwen3-8B-int4-ov"
MESSAGES: list[ChatCompletionMessageParam] = [{"role": "user", "content": PROMPT}]
WEATHER: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What is the weather in Oslo and Bergen?"}]
FORECAST: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {
        "name": "forecast",
        "description": "The weather of a town",
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
    },
}


class Harbour(BaseModel):
    """What a structured answer is parsed into."""

    town: str
    boats: int


def text_of(chunks: list[ChatCompletionChunk], key: str = "content") -> str:
    return "".join(getattr(each.delta, key, None) or "" for chunk in chunks for each in chunk.choices)


def test_a_plain_answer_has_the_servers_fields_and_no_others(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=MESSAGES)
    assert set(answer.to_dict()) == {"choices", "created", "model", "object", "usage"}
    (choice,) = answer.choices
    assert set(choice.to_dict()) == {"finish_reason", "index", "logprobs", "message"}
    assert set(choice.message.to_dict()) - {"tool_calls"} == {"content", "role"}
    assert (choice.finish_reason, choice.message.role, answer.object) == ("stop", "assistant", "chat.completion")
    assert choice.message.content
    assert answer.usage
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_stream_joins_to_the_plain_answer_and_has_its_usage_when_asked(client: OpenAI) -> None:
    plain = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=20)
    with client.chat.completions.create(
        model=MODEL, messages=MESSAGES, max_tokens=20, stream=True, stream_options={"include_usage": True}
    ) as stream:
        *chunks, last = list(stream)
    assert text_of(chunks) == plain.choices[0].message.content
    assert (last.choices, last.usage) == ([], plain.usage)
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["length"]
    assert len(chunks) > 3


def test_the_role_comes_in_the_handshake(client: OpenAI) -> None:
    with client.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True) as stream:
        seen = [chunk.choices[0].delta.role for chunk in stream]
    assert seen == ["assistant", *[None] * (len(seen) - 1)]


def test_limits_stops_and_log_probabilities_are_those_of_a_chat(client: OpenAI) -> None:
    create = client.chat.completions.create
    whole = create(model=MODEL, messages=MESSAGES).choices[0].message.content
    assert whole
    stop = middle_of(whole)
    assert create(model=MODEL, messages=MESSAGES, stop=stop).choices[0].message.content == before(whole, stop)
    cut = create(model=MODEL, messages=MESSAGES, max_completion_tokens=7, max_tokens=1, logprobs=True)
    assert cut.usage
    assert cut.usage.completion_tokens == 7
    assert cut.choices[0].logprobs
    rows = cut.choices[0].logprobs.content
    assert rows
    assert "".join(row.token for row in rows) == cut.choices[0].message.content
    assert [row.top_logprobs for row in rows] == [[]] * 7


def test_a_tool_is_called_answered_and_told_plain_and_streamed(observed: OpenAI) -> None:
    create = observed.chat.completions.create
    message = create(model=MODEL, messages=WEATHER, tools=[FORECAST]).choices[0].message
    assert message.tool_calls
    calls = [call for call in message.tool_calls if call.type == "function"]
    assert [json.loads(call.function.arguments) for call in calls] == [{"town": "Oslo"}, {"town": "Bergen"}]
    with observed.chat.completions.stream(model=MODEL, messages=WEATHER, tools=[FORECAST]) as stream:
        streamed = stream.get_final_completion().choices[0]
    assert streamed.finish_reason == "tool_calls"
    assert streamed.message.tool_calls
    assert [call.function.arguments for call in streamed.message.tool_calls] == [c.function.arguments for c in calls]
    history = [
        *WEATHER,
        message.to_dict(),
        *({"role": "tool", "tool_call_id": call.id, "content": "rain and 9 degrees"} for call in calls),
    ]
    told = create(model=MODEL, messages=history, tools=[FORECAST]).choices[0]  # type: ignore[arg-type]
    assert (told.finish_reason, "rain and 9 degrees" in (told.message.content or "")) == ("stop", True)


def test_a_structured_answer_is_parsed(observed: OpenAI) -> None:
    parsed = observed.chat.completions.parse(model=MODEL, messages=MESSAGES, response_format=Harbour)
    assert isinstance(parsed.choices[0].message.parsed, Harbour)


def test_thoughts_come_under_a_name_of_their_own_unless_they_are_switched_off(observed: OpenAI) -> None:
    create = observed.chat.completions.create
    plain = create(model=QWEN, messages=MESSAGES).choices[0].message
    with create(model=QWEN, messages=MESSAGES, stream=True) as stream:
        chunks = list(stream)
    thoughts = plain.to_dict()["reasoning_content"]
    assert thoughts
    assert (text_of(chunks), text_of(chunks, "reasoning_content")) == (plain.content, thoughts)
    quiet = {"chat_template_kwargs": {"enable_thinking": False}}
    assert (
        "reasoning_content" not in create(model=QWEN, messages=MESSAGES, extra_body=quiet).choices[0].message.to_dict()
    )


def test_a_refusal_is_one_string_that_the_graph_has_wrapped(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        client.chat.completions.create(model=MODEL, messages=[])
    assert refusal.value.response.json() == {"error": GRAPH + "Messages array cannot be empty"}


def test_a_fault_is_the_sdks_own_error_class(client: OpenAI) -> None:
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model=MODEL, messages=MESSAGES, extra_headers=RATE_LIMITED)


def test_the_asynchronous_client_gets_the_same_words_at_any_concurrency(server: Server, observed: OpenAI) -> None:
    async def ask() -> list[str | None]:
        async with (
            AsyncOpenAI(
                api_key="unused",
                base_url=f"{server.url}/ovms/v3",
                default_headers={EDITION: "observed"},
                timeout=TIMEOUT,
                max_retries=0,
            ) as client,
            asyncio.timeout(TIMEOUT),
        ):
            create = client.chat.completions.create
            answers = await asyncio.gather(*(create(model=MODEL, messages=MESSAGES) for _ in range(4)))
            return [answer.choices[0].message.content for answer in answers]

    whole = observed.chat.completions.create(model=MODEL, messages=MESSAGES).choices[0].message.content
    assert asyncio.run(ask()) == [whole] * 4


LANGCHAIN = """
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

@tool
def get_weather(town: str) -> str:
    "Tells the weather in a town."
    return f"rain in {town}"

class User(BaseModel):
    name: str
    age: int

chat = ChatOpenAI(base_url="URL/ovms/v3", api_key="unused", model="llama3", default_headers={"EDITION": "observed"})
asked = [("user", "What's the weather in Oslo?")]
called = chat.bind_tools([get_weather]).invoke(asked)
[call] = called.tool_calls
print(call["name"], call["args"])
streamed = None
for chunk in chat.bind_tools([get_weather]).stream(asked):
    streamed = chunk if streamed is None else streamed + chunk
print([(each["name"], each["args"]) for each in streamed.tool_calls] == [(call["name"], call["args"])])
print(chat.bind_tools([get_weather]).invoke([*asked, called, get_weather.invoke(call)]).content)
for method in ("function_calling", "json_schema"):
    print(type(chat.with_structured_output(User, method=method).invoke("Jason is 25 years old.")).__name__)
print("".join(chunk.content for chunk in chat.stream("Hello")) == chat.invoke("Hello").content)
"""
PYDANTIC_AI = """
import asyncio
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

class User(BaseModel):
    name: str
    age: int

def get_weather(town: str) -> str:
    "Tells the weather in a town."
    return f"rain in {town}"

async def main() -> None:
    client = AsyncOpenAI(base_url="URL/ovms/v3", api_key="unused", default_headers={"EDITION": "observed"})
    for name in ("llama3", "OpenVINO/Qwen3-8B-int4-ov"):
        model = OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client))
        async with Agent(model, tools=[get_weather]).run_stream("What's the weather in Oslo?") as run:
            print(await run.get_output())
            print([part.part_kind for message in run.all_messages() for part in message.parts])
        async with Agent(model, output_type=User).run_stream("Jason is 25 years old.") as run:
            print(await run.get_output())
    try:
        await Agent(model).run("Hello")
    except UnexpectedModelBehavior as problem:
        print(str(problem).splitlines()[1])

asyncio.run(main())
"""


def test_langchain_calls_tools_fills_forms_and_streams(server: Server) -> None:
    program = LANGCHAIN.replace("URL", server.url).replace("EDITION", EDITION)
    called, streamed, told, *rest = with_frameworks(program).splitlines()
    assert (called, streamed) == ("get_weather {'town': 'Oslo'}", "True")
    assert "rain in Oslo" in told
    assert rest == ["User", "User", "True"]


def test_an_agent_of_pydantic_ai_streams_calls_and_thoughts_and_misses_an_id_in_a_plain_answer(server: Server) -> None:
    program = PYDANTIC_AI.replace("URL", server.url).replace("EDITION", EDITION)
    told, parts, user, thinking_told, thinking_parts, thinking_user, missed = with_frameworks(program).splitlines()
    assert "rain in Oslo" in told
    assert "rain in Oslo" in thinking_told
    assert parts == "['user-prompt', 'tool-call', 'tool-return', 'text']"
    assert thinking_parts == "['user-prompt', 'thinking', 'tool-call', 'tool-return', 'thinking', 'text']"
    assert user == thinking_user == "name='Jason' age=25"
    # No version of the server sends one.
    assert missed == "id"
