"""Tool calls on the wire of the dialect that has them: two engines, two editions, today's form and the older one."""

import json
import re
from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS, Edition
from tests.support.asking import Answer, ask
from tests.support.reading import choice, gathered, joined, parts

D1 = "gpt://b1gfolder/yandexgpt/latest"
D2 = "gpt://b1gfolder/qwen3-235b-a22b-fp8/latest"
GEMMA = "gpt://b1gfolder/gemma-3-27b-it/latest"
MODELS = pytest.mark.parametrize("model", [D1, D2])
EACH_EDITION = pytest.mark.parametrize("edition", EDITIONS)

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather", "parameters": CITY}}
CLOCK = {"type": "function", "function": {"name": "get_time", "parameters": CITY, "strict": True}}
PEN = {"type": "custom", "custom": {"name": "pen", "description": "Writes"}}
TOOLS = [WEATHER, CLOCK, PEN]
OSLO = {"role": "user", "content": "What's the weather in Oslo?"}
BOTH = {"role": "user", "content": "What's the weather and the time in Oslo?"}
CALLED = {
    "role": "assistant",
    "tool_calls": [
        {"id": "w1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "w1", "content": '{"degrees": 7}'}


def chat(model: str = D2, *, edition: Edition = "documented", fault: str = "", **fields: Any) -> Answer:
    body = {"model": model, "messages": [OSLO], "tools": TOOLS, **fields}
    if "functions" in fields:
        del body["tools"]
    return ask("yandex", body, headers={"x-mockserver-fault": fault}, edition=edition)


def plain(answer: Answer, index: int = 0) -> list[tuple[str, str]]:
    calls = answer.json()["choices"][index]["message"].get("tool_calls", ())
    return [tuple((call.get("function") or call["custom"]).values()) for call in calls]


def fault_of(answer: Answer) -> str:
    assert answer.status == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    text: str = answer.json()["error"]["message"]
    return text


# --- plain ---------------------------------------------------------------------------------------------------------


@EACH_EDITION
def test_the_first_engine_names_calls_by_their_tools_and_numbers_them(edition: Edition) -> None:
    made = choice(chat(D1, edition=edition))
    assert list(made) == ["index", "message", "finish_reason"]
    assert list(made["message"].items()) == [
        ("role", "assistant"),
        ("content", ""),
        (
            "tool_calls",
            [
                {
                    "index": 0,
                    "id": "get_weather",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
                }
            ],
        ),
    ]
    assert made["finish_reason"] == "tool_calls"


@EACH_EDITION
def test_vllm_gives_calls_ids_of_their_own_and_blanks_to_their_json(edition: Edition) -> None:
    made = choice(chat(edition=edition, messages=[BOTH]))
    calls = made["message"]["tool_calls"]
    assert [list(call) for call in calls] == [["id", "type", "function"]] * 2
    assert all(re.fullmatch("chatcmpl-tool-[0-9a-f]{32}", call["id"]) for call in calls)
    assert len({call["id"] for call in calls}) == 2
    assert [call["function"] for call in calls] == [
        {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
        {"name": "get_time", "arguments": '{"city": "Oslo"}'},
    ]
    assert (made["message"]["content"], made["finish_reason"]) == ("", "tool_calls")


def test_only_vllm_obeys_that_calls_come_one_by_one() -> None:
    counts = [len(plain(chat(model, messages=[BOTH], parallel_tool_calls=False))) for model in (D1, D2)]
    assert counts == [2, 1]


@MODELS
def test_usage_counts_the_tokens_of_calls_and_of_the_tools_on_offer(model: str) -> None:
    one, two, none = chat(model), chat(model, messages=[BOTH]), chat(model, tool_choice="none", tools=[WEATHER])
    usage = one.json()["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert 4 < usage["completion_tokens"] < two.json()["usage"]["completion_tokens"]
    assert none.json()["usage"]["prompt_tokens"] < usage["prompt_tokens"]
    for answer in (one, two, chat(model, stream=True), chat(model, messages=[BOTH], stream=True)):
        assert answer.plan.generation is not None
        carried = sum(sum(run.tokens) for run in answer.plan.timeline.runs)
        assert carried == answer.plan.generation.usage.completion_tokens


@pytest.mark.parametrize(
    "tool_choice, names",
    [
        ("auto", ["get_weather"]),
        ("none", []),
        ("required", ["get_weather"]),
        ({"type": "function", "function": {"name": "get_time"}}, ["get_time"]),
        ({"type": "custom", "custom": {"name": "pen"}}, ["pen"]),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [CLOCK]}}, []),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [CLOCK, WEATHER]}}, ["get_weather"]),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [CLOCK]}}, ["get_time"]),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}, []),
    ],
)
@MODELS
def test_the_tool_choice_is_obeyed_plain_and_streamed(model: str, tool_choice: Any, names: list[str]) -> None:
    answer, stream = chat(model, tool_choice=tool_choice), chat(model, tool_choice=tool_choice, stream=True)
    assert [name for name, _ in plain(answer)] == names
    assert plain(answer) == gathered(stream)
    assert choice(answer)["finish_reason"] == parts(stream)[-1]["finish_reason"] == ("tool_calls" if names else "stop")


def test_a_custom_tool_is_called_with_free_text() -> None:
    (call,) = choice(chat(messages=[{"role": "user", "content": 'Let the pen write "good morning"'}]))["message"][
        "tool_calls"
    ]
    assert list(call) == ["id", "type", "custom"]
    assert (call["type"], call["custom"]) == ("custom", {"name": "pen", "input": "good morning"})


@pytest.mark.parametrize("name", ["say it", "погода", "x" * 65])
@pytest.mark.parametrize("kind", ["function", "custom"])
def test_a_tool_may_have_a_name_that_the_older_form_refuses(kind: str, name: str) -> None:
    tool = {"type": kind, kind: {"name": name}}
    ((called, _),) = plain(chat(tools=[tool], tool_choice="required"))
    assert called == name
    assert "functions" in fault_of(chat(functions=[{"name": name}]))


def test_a_custom_tool_with_a_pattern_is_called_with_a_text_that_matches_it() -> None:
    grammar = {"syntax": "regex", "definition": "[A-Z]{3}-[0-9]{2}"}
    plate = {"type": "custom", "custom": {"name": "plate", "format": {"type": "grammar", "grammar": grammar}}}
    ((name, text),) = plain(chat(tools=[plate], tool_choice="required"))
    assert name == "plate"
    assert re.fullmatch(grammar["definition"], text)


@MODELS
def test_calls_have_no_log_probabilities(model: str) -> None:
    assert "logprobs" not in choice(chat(model, logprobs=True))
    assert not any("logprobs" in made for made in parts(chat(model, logprobs=True, stream=True)))
    assert choice(chat(model, logprobs=True, tool_choice="none"))["logprobs"]["content"]


# --- streamed ------------------------------------------------------------------------------------------------------


@EACH_EDITION
def test_the_first_engine_streams_its_calls_whole_in_one_chunk(edition: Edition) -> None:
    (made,) = parts(chat(D1, edition=edition, messages=[BOTH], stream=True))
    whole = choice(chat(D1, edition=edition, messages=[BOTH]))["message"]["tool_calls"]
    assert made == {
        "index": 0,
        "delta": {"role": "assistant", "tool_calls": whole},
        "finish_reason": "tool_calls",
    }
    assert [call["index"] for call in whole] == [0, 1]


@pytest.mark.parametrize(
    "edition, model, first_type, repeated",
    [
        ("documented", D2, "function", {}),
        ("observed", D2, "function", {"id": "", "type": ""}),
        ("documented", GEMMA, "function", {}),
        ("observed", GEMMA, "", {"id": "", "type": ""}),
    ],
)
def test_vllm_streams_a_name_and_then_the_arguments_token_by_token(
    edition: Edition, model: str, first_type: str, repeated: dict[str, str]
) -> None:
    role, first, *later, last = parts(chat(model, edition=edition, stream=True))
    assert role["delta"] == {"role": "assistant"}
    (begun,) = first["delta"]["tool_calls"]
    assert begun == {
        "index": 0,
        "id": begun["id"],
        "type": first_type,
        "function": {"name": "get_weather", "arguments": ""},
    }
    assert re.fullmatch("chatcmpl-tool-[0-9a-f]{32}", begun["id"])
    function = {"name": ""} if repeated else {}
    for made in later:
        text = made["delta"]["tool_calls"][0]["function"]["arguments"]
        assert made == {
            "index": 0,
            "delta": {"tool_calls": [{"index": 0, **repeated, "function": {**function, "arguments": text}}]},
        }
    assert len(later) > 3
    assert last == {"index": 0, "delta": {}, "finish_reason": "tool_calls"}


@EACH_EDITION
@MODELS
@pytest.mark.parametrize("n", [1, 3])
def test_streamed_calls_join_to_the_plain_ones(model: str, edition: Edition, n: int) -> None:
    for seed in range(5):
        asked = {"model": model, "messages": [BOTH], "tools": TOOLS, "tool_choice": "required", "n": n}
        headers = {"x-mockserver-seed": str(seed)}
        answer = ask("yandex", asked, headers=headers, edition=edition)
        stream = ask("yandex", {**asked, "stream": True}, headers=headers, edition=edition)
        for index in range(n):
            assert plain(answer, index) == gathered(stream, index) != []
        first = ask("yandex", {**asked, "n": 1}, headers=headers, edition=edition)
        assert plain(first) == plain(answer)


def test_a_custom_tools_call_is_streamed_as_the_chunks_of_a_function() -> None:
    for model in (D1, D2):
        fields: dict[str, Any] = {"tool_choice": {"type": "custom", "custom": {"name": "pen"}}}
        answer, stream = chat(model, **fields), chat(model, stream=True, **fields)
        assert gathered(stream) == plain(answer)
        kinds = {fragment.get("type") for made in parts(stream) for fragment in made["delta"].get("tool_calls", ())}
        assert kinds <= {"function", None}


@MODELS
def test_a_limit_cuts_the_arguments_short_and_says_length(model: str) -> None:
    (whole,) = plain(chat(model))
    for limit in (1, 2, 3, 4):
        answer, stream = chat(model, max_tokens=limit), chat(model, max_tokens=limit, stream=True)
        ((name, arguments),) = plain(answer)
        assert plain(answer) == gathered(stream)
        assert (name, whole[1].startswith(arguments)) == (whole[0], True)
        assert choice(answer)["finish_reason"] == parts(stream)[-1]["finish_reason"] == "length"
        assert answer.json()["usage"]["completion_tokens"] == limit
    assert chat(model, max_tokens=1).json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == ""


# --- the older form ------------------------------------------------------------------------------------------------


@EACH_EDITION
@MODELS
@pytest.mark.parametrize("call", ["auto", {"name": "get_weather"}])
def test_functions_are_called_in_the_older_form(model: str, edition: Edition, call: Any) -> None:
    fields: dict[str, Any] = {"functions": [WEATHER["function"]], "function_call": call, "edition": edition}
    made = choice(chat(model, **fields))
    function = made["message"]["function_call"]
    assert list(made["message"]) == ["role", "content", "function_call"]
    assert (function["name"], json.loads(function["arguments"])) == ("get_weather", {"city": "Oslo"})
    streamed = parts(chat(model, stream=True, **fields))
    pieces = [made["delta"]["function_call"] for made in streamed if "function_call" in made["delta"]]
    assert [piece["name"] for piece in pieces if "name" in piece] == ["get_weather"]
    assert "".join(piece["arguments"] for piece in pieces) == function["arguments"]
    assert made["finish_reason"] == streamed[-1]["finish_reason"] == "function_call"


def test_a_function_that_may_not_be_called_is_not() -> None:
    assert choice(chat(functions=[WEATHER["function"]], function_call="none"))["finish_reason"] == "stop"


# --- history -------------------------------------------------------------------------------------------------------


@MODELS
def test_a_result_ends_the_loop_and_the_answer_tells_it(model: str) -> None:
    history = [OSLO, CALLED, RESULT]
    answer, stream = chat(model, messages=history), chat(model, messages=history, stream=True)
    made = choice(answer)
    assert made["finish_reason"] == "stop"
    assert "degrees: 7" in made["message"]["content"]
    assert joined(stream, "content") == made["message"]["content"]
    assert choice(chat(model, messages=history, tool_choice="required"))["finish_reason"] == "tool_calls"


def test_the_history_is_read_in_neutral_words() -> None:
    older = {"role": "assistant", "content": None, "function_call": {"name": "get_time", "arguments": "{}"}}
    function = {"role": "function", "name": "get_time", "content": "noon"}
    generation = chat(messages=[OSLO, CALLED, RESULT, older, function]).plan.generation
    assert generation is not None
    rows = [(m.role, m.text, m.answers, m.calls) for m in generation.request.prompts[0].messages]
    assert rows == [
        ("user", "What's the weather in Oslo?", None, ()),
        ("assistant", "", None, ("get_weather",)),
        ("tool", '{"degrees": 7}', "get_weather", ()),
        ("assistant", "", None, ("get_time",)),
        ("function", "noon", "get_time", ()),
    ]


def test_the_ids_of_the_first_engine_lead_back_to_their_tools() -> None:
    message = choice(chat(D1))["message"]
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "Rain"}
    assert "Rain" in choice(chat(D1, messages=[OSLO, message, result]))["message"]["content"]


# --- what is refused -----------------------------------------------------------------------------------------------


def tool(parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": parameters}}


@pytest.mark.parametrize(
    "fields, message",
    [
        (
            {"messages": [OSLO, CALLED, {**RESULT, "tool_call_id": "w2"}]},
            "'messages[2].tool_call_id' answers a call that was not made: 'w2'",
        ),
        ({"messages": [OSLO, RESULT]}, "'messages[1].tool_call_id' answers a call that was not made: 'w1'"),
        ({"tools": [tool({"type": "string"})]}, "'tools[0].function.parameters' must be a schema of type 'object'"),
        (
            {"functions": [{"name": "f", "parameters": {"type": "array"}}]},
            "'functions[0].parameters' must be a schema of type 'object'",
        ),
        (
            {"tools": [WEATHER, {"type": "custom", "custom": {"name": "pen", "format": {"type": "poem"}}}]},
            "'tools[1].custom.format.type' must be one of 'text', 'grammar'",
        ),
    ],
)
def test_what_no_model_can_do_is_refused_with_the_field_to_blame(fields: dict[str, Any], message: str) -> None:
    assert fault_of(chat(**fields)) == message


@pytest.mark.parametrize(
    "fields, field",
    [
        ({"tools": [tool({"type": "objekt", "properties": {}})]}, "tools[0].function.parameters"),
        ({"tools": [tool({"properties": {"a": {"type": 5}}})]}, "tools[0].function.parameters"),
        ({"tools": [tool({"properties": {"a": {"$ref": "#/$defs/b"}}})]}, "tools[0].function.parameters"),
        ({"tools": [tool({"properties": {"a": False}, "required": ["a"]})]}, "tools[0].function.parameters"),
        (
            {
                "tools": [
                    {
                        "type": "custom",
                        "custom": {
                            "name": "f",
                            "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "("}},
                        },
                    }
                ]
            },
            "tools[0].custom.format.grammar.definition",
        ),
    ],
)
def test_schemas_and_patterns_that_nothing_satisfies_are_refused(fields: dict[str, Any], field: str) -> None:
    assert fault_of(chat(**fields)).startswith(f"'{field}' ")


# --- faults --------------------------------------------------------------------------------------------------------


@MODELS
@pytest.mark.parametrize("stream", [False, True])
def test_a_broken_call_is_one_that_nobody_can_use(model: str, stream: bool) -> None:
    def broken(how: str) -> tuple[str, str]:
        answer = chat(model, stream=stream, fault=f'{{ kind = "broken_tool_call", how = "{how}" }}')
        assert answer.plan.faults == ("broken_tool_call",)
        (call,) = gathered(answer) if stream else plain(answer)
        return call

    name, arguments = broken("json")
    with pytest.raises(json.JSONDecodeError):
        json.loads(arguments)
    assert name == "get_weather"
    assert broken("name")[0] not in ("get_weather", "get_time", "pen", "")
    assert json.loads(broken("name")[1]) == {"city": "Oslo"}
    assert json.loads(broken("schema")[1]) == [{"city": "Oslo"}]


def test_a_call_that_is_not_made_cannot_be_broken() -> None:
    answer = chat(tool_choice="none", fault="broken_tool_call")
    assert (answer.status, answer.plan.faults) == (200, ())


@MODELS
@pytest.mark.parametrize("prompt, first", [("What's the weather in Oslo?", "I"), ("Расскажи о погоде в Осло", "КИЯ")])
def test_a_model_that_declines_says_so_in_the_prompts_language(model: str, prompt: str, first: str) -> None:
    messages = [{"role": "user", "content": prompt}]
    fields: dict[str, Any] = {"messages": messages, "fault": "refusal", "logprobs": True}
    answer, stream = chat(model, **fields), chat(model, stream=True, **fields)
    message = choice(answer)["message"]
    assert list(message) == ["role", "content", "refusal"]
    assert (message["content"], message["refusal"][0] in first, choice(answer)["finish_reason"]) == ("", True, "stop")
    assert joined(stream, "refusal") == message["refusal"]
    assert not any("content" in made["delta"] for made in parts(stream))
    rows = choice(answer)["logprobs"]
    assert (rows["content"], "".join(row["token"] for row in rows["refusal"])) == ([], message["refusal"])
    streamed = [row for made in parts(stream) for row in made.get("logprobs", {}).get("refusal", ())]
    assert streamed == rows["refusal"]
    assert answer.json()["usage"]["completion_tokens"] == len(rows["refusal"])


def test_a_dialect_without_refusals_declines_in_plain_text() -> None:
    body = {"model": "meta-llama/Meta-Llama-3-8B-Instruct", "messages": [OSLO]}
    answer = ask("upstash", body, headers={"x-mockserver-fault": "refusal"})
    assert answer.json()["choices"][0]["message"]["content"].startswith("I")


def test_faults_of_the_model_count_the_steps_of_its_calls() -> None:
    whole = plain(chat())[0][1]
    for count in range(1, 5):
        answer = chat(fault=f'{{ kind = "finish", after_token = {count} }}')
        assert whole.startswith(plain(answer)[0][1])
        assert answer.json()["usage"]["completion_tokens"] == count
    assert plain(chat(fault="silence")) == []
    stuck = plain(chat(fault='{ kind = "repeat", after_token = 1 }'))[0][1]
    assert re.fullmatch(r'\{"(city)+', stuck)
    assert stuck.count("city") > 3
