"""Which tools are called, how often, and with what."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mockserver.core.generation import (
    Constraint,
    GenerationRequest,
    Limits,
    Message,
    Prompt,
    Stops,
    Tool,
    ToolCall,
    ToolChoice,
)
from mockserver.model.generate import generate
from mockserver.model.tools import gist
from mockserver.model.tools.calls import decide

Schema = dict[str, Any]


def properties(*required: str, **rows: Schema) -> Schema:
    return {"type": "object", "properties": rows, "required": list(required), "additionalProperties": False}


TEXT: Schema = {"type": "string"}


def form(name: str, *required: str) -> Tool:
    """A tool of which nothing but the names of texts is known."""
    return Tool(name, "", properties(*required, **dict.fromkeys(required, TEXT)))


ORDER = Tool(
    "order",
    "",
    properties("item", "quantity", "price", item=TEXT, quantity={"type": "integer"}, price={"type": "number"}),
)
WEATHER = Tool(
    "get_weather",
    "Get the current weather for a city",
    properties("city", city=TEXT, unit={"enum": ["celsius", "fahrenheit"]}, days={"type": "integer", "minimum": 1}),
)
CLOCK = Tool("get_time", "The time in a place", properties("place", place=TEXT))
STOCKS = Tool("getStockPrice", "Returns the current price of a share", properties("symbol", symbol=TEXT))
SEARCH = Tool("web_search", "Search the web for information", properties("query", query=TEXT))
MAIL = Tool("send_email", "Sends a message", properties("to", "subject", to={**TEXT, "format": "email"}, subject=TEXT))
SUMS = Tool("calculator", "Evaluates an expression", properties("expression", expression=TEXT))
FLIGHTS = Tool("book_flight", "", properties("from", "to", "date", **{"from": TEXT, "to": TEXT, "date": TEXT}))
PYTHON = Tool("run_code", "Runs Python code", kind="custom")
ALL = (WEATHER, CLOCK, STOCKS, SEARCH, MAIL, SUMS, FLIGHTS, PYTHON)


def chat(*messages: Message | str, tools: tuple[Tool, ...] = ALL, **choice: Any) -> GenerationRequest:
    said = tuple(Message("user", each) if isinstance(each, str) else each for each in messages)
    topic = next((message.text for message in reversed(said) if message.role == "user"), "")
    prompt = Prompt("\n".join(message.text for message in said), topic, 10, chat=True, messages=said)
    return GenerationRequest("m", (prompt,), tools=tools, tool_choice=ToolChoice(**choice))


def called(request: GenerationRequest, key: int = 7) -> list[tuple[str, Any]]:
    calls = decide(request, request.prompts[0], key)
    return [(call.name, json.loads(call.arguments) if call.kind == "function" else call.arguments) for call in calls]


def names(request: GenerationRequest, key: int = 7) -> list[str]:
    return [name for name, _ in called(request, key)]


# --- whether, and which --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt, expected",
    [
        ("What's the weather like in Oslo?", ["get_weather"]),
        ("How hot is it? I mean the temperature outside", ["get_weather"]),
        ("What time is it in Tokyo?", ["get_time"]),
        ("stock price of Apple", ["getStockPrice"]),
        ("What is 17 * 23?", ["calculator"]),
        ("Search for the latest polar expeditions", ["web_search"]),
        ("Email the report to ann@example.com", ["send_email"]),
        ("Use run_code, please", ["run_code"]),
        ("Какая погода будет завтра в Осло?", ["get_weather"]),
        ("Сколько сейчас времени в Москве?", ["get_time"]),
        ("Wie wird das Wetter in Berlin?", ["get_weather"]),
        ("Quelle est la météo à Paris ?", ["get_weather"]),
        ("¿Qué clima hace en Madrid?", ["get_weather"]),
        ("Che previsioni ci sono per Roma?", ["get_weather"]),
        ("Qual é a previsão para Lisboa?", ["get_weather"]),
        ("İstanbul'da hava nasıl?", ["get_weather"]),
        ("Яка погода в Києві?", ["get_weather"]),
        ("北京的天气怎么样？", ["get_weather"]),
        ("東京の天気を教えて", ["get_weather"]),
        ("서울 날씨 알려줘", ["get_weather"]),
        ("Who wrote Faust, and when?", ["web_search"]),
        ("Who are you?", []),
        ("Tell me a joke", []),
        ("Which city is the largest in Norway?", ["web_search"]),
        ("Hello!", []),
        ("Расскажи о гаванях севера", []),
        ("What is your name?", []),
    ],
)
def test_auto_calls_the_tool_that_the_prompt_is_about_in_any_language(prompt: str, expected: list[str]) -> None:
    assert names(chat(prompt)) == expected


@pytest.mark.parametrize(
    "description, prompt",
    [
        ("Показывает расписание автобусов", "Какое расписание у автобуса номер 7?"),
        ("Zeigt den Fahrplan der Busse", "Bitte den Fahrplan für Busse"),
        ("查询公交时刻表", "公交时刻表是什么"),
    ],
)
def test_a_nameless_tool_is_known_by_its_description(description: str, prompt: str) -> None:
    tool = Tool("f1", description, properties(number=TEXT))
    assert names(chat(prompt, tools=(tool,))) == ["f1"]
    assert names(chat("Hello there", tools=(tool,))) == []


def test_a_prompt_about_two_tools_calls_both_and_without_parallel_calls_the_first_of_them() -> None:
    prompt = "What's the weather and the time in Oslo?"
    both = called(chat(prompt))
    assert [name for name, _ in both] == ["get_weather", "get_time"]
    assert called(chat(prompt, parallel=False)) == both[:1]


def test_a_prompt_that_lists_things_calls_a_tool_for_each() -> None:
    found = called(chat("Compare the weather in Oslo, Bergen and New York"))
    assert [(name, arguments["city"]) for name, arguments in found] == [
        ("get_weather", "Oslo"),
        ("get_weather", "Bergen"),
        ("get_weather", "New York"),
    ]


@pytest.mark.parametrize(
    "prompt, weather, time",
    [
        ("Weather in Oslo and Bergen, and what time is it in Tokyo?", ["Oslo", "Bergen"], ["Tokyo"]),
        ("What time is it in Tokyo, and what's the weather in Oslo and Bergen?", ["Oslo", "Bergen"], ["Tokyo"]),
        ("The weather in Oslo, Bergen, and Rome and the time in Tokyo", ["Oslo", "Bergen", "Rome"], ["Tokyo"]),
        ("Weather in Oslo and Bergen, time in Tokyo", ["Oslo", "Bergen"], ["Tokyo"]),
        ("For Oslo, the weather, and for Tokyo, the time", ["Oslo"], ["Tokyo"]),
        (
            "The weather in Oslo and Bergen. They are in Norway. What time is it in Tokyo?",
            ["Oslo", "Bergen"],
            ["Tokyo"],
        ),
        ("The time in St. Petersburg and the weather in New York", ["New York"], ["St. Petersburg"]),
        ("I am in Rome. What's the weather? And the time in Tokyo?", ["Rome"], ["Tokyo"]),
        ("What's the weather and the time in Oslo and Bergen?", ["Oslo", "Bergen"], ["Oslo", "Bergen"]),
        ("Какая погода в Осло, и сколько времени в Токио?", ["Осло"], ["Токио"]),
        ("¿Qué tiempo hace en Oslo y qué hora es en Tokio?", ["Oslo"], ["Tokio"]),
        ("東京の天気と大阪の時間を教えて", ["東京"], ["大阪"]),
    ],
)
def test_each_of_several_tools_is_called_with_what_its_own_clauses_name(
    prompt: str, weather: list[str], time: list[str]
) -> None:
    found = called(chat(prompt, tools=(WEATHER, CLOCK)))
    assert [arguments["city"] for name, arguments in found if name == "get_weather"] == weather
    assert [arguments["place"] for name, arguments in found if name == "get_time"] == time


def test_what_a_clause_does_not_state_is_taken_from_the_whole_prompt() -> None:
    flight, weather = called(chat("On 2031-05-06, check the weather in Madrid, then book a flight from Oslo to Rome"))
    assert flight == ("book_flight", {"from": "Oslo", "to": "Rome", "date": "2031-05-06"})
    assert (weather[0], weather[1]["city"]) == ("get_weather", "Madrid")


def test_a_question_is_answered_for_what_it_names_and_not_for_what_was_stated_before() -> None:
    assert called(chat("I live in Berlin. What's the weather in Oslo?"))[0][1]["city"] == "Oslo"
    assert called(chat("I live in Berlin. What's the weather?"))[0][1]["city"] == "Berlin"


def test_a_tool_that_may_take_none_of_the_things_in_a_list_is_called_once_without_them() -> None:
    forbidden = {"properties": {"city": {"not": {"enum": ["Oslo", "Bergen"]}}}}
    days_first = {"type": "object", "properties": {"days": {"type": "integer"}, "city": TEXT}, "required": ["city"]}
    tool = Tool("get_weather", "The weather", {**days_first, "dependentSchemas": {"days": forbidden}})
    for mode in ("auto", "required"):
        [(name, arguments)] = called(chat("The weather in Oslo and Bergen for 3 days?", tools=(tool,), mode=mode))
        assert (name, arguments["days"], arguments["city"] in ("Oslo", "Bergen")) == ("get_weather", 3, False)


def test_a_place_and_its_country_are_one_thing() -> None:
    assert len(called(chat("What's the weather in Paris, France?"))) == 1
    assert called(chat("What's the weather in Boston, MA?"))[0][1]["city"] == "Boston, MA"


def test_required_calls_a_tool_whatever_the_prompt_says() -> None:
    found = {names(chat("Hello!", mode="required"), key)[0] for key in range(60)}
    assert found == {tool.name for tool in ALL}
    assert names(chat("What's the weather in Oslo?", mode="required")) == ["get_weather"]


def test_required_calls_only_what_is_allowed_and_a_single_name_once() -> None:
    prompt = "What's the weather and the time in Oslo and Bergen?"
    assert set(names(chat(prompt, mode="required", names=("get_time", "web_search")))) == {"get_time"}
    assert names(chat(prompt, mode="required", names=("get_weather",))) == ["get_weather"]
    assert names(chat("Hello!", mode="auto", names=("get_time",))) == []


def test_none_calls_nothing_even_if_the_tool_is_named() -> None:
    assert names(chat("Use get_weather now, weather in Oslo", mode="none")) == []


def test_functions_of_the_older_kind_are_called_one_at_a_time() -> None:
    assert names(chat("Weather and time in Oslo and Bergen", legacy=True)) == ["get_weather"]


HISTORY = (
    Message("user", "What's the weather in Oslo?"),
    Message("assistant", "", calls=("get_weather",)),
    Message("tool", '{"temperature": 7, "sky": {"clouds": "many"}}', answers="get_weather"),
)


def test_a_tools_result_ends_the_loop_unless_a_call_is_required() -> None:
    assert names(chat(*HISTORY)) == []
    assert names(chat(*HISTORY, Message("system", "Be brief"))) == []
    assert names(chat(*HISTORY, mode="required", tools=(WEATHER,))) == ["get_weather"]
    assert names(chat(*HISTORY, "And what's the weather in Bergen?")) == ["get_weather"]


def test_an_agent_whose_calls_are_all_required_comes_to_the_tool_that_ends_it() -> None:
    report = Tool("final_result", "The final response", properties("summary", summary=TEXT))
    tools = (WEATHER, CLOCK, report)
    assert names(chat("What's the weather in Oslo?", tools=tools, mode="required")) == ["get_weather"]
    assert names(chat(*HISTORY, tools=tools, mode="required")) == ["final_result"]
    # What else the prompt is about goes first.
    asked = Message("user", "What are the weather and the time in Oslo?")
    assert names(chat(asked, *HISTORY[1:], tools=tools, mode="required")) == ["get_time"]
    # Refused arguments come back as a result too, and are written anew.
    refused = Message("tool", "summary: too short", answers="final_result")
    assert names(chat(*HISTORY, refused, tools=(WEATHER, report), mode="required")) == ["final_result"]


def test_the_tool_that_takes_an_agents_final_answer_is_called_where_words_would_be_said() -> None:
    final = Tool("final_result", "The final response which ends this conversation", properties("name", name=TEXT))
    assert names(chat("Jason is 25 years old.", tools=(final,))) == ["final_result"]
    asked = chat("What's the weather in Oslo?", tools=(WEATHER, final))
    assert names(asked) == ["get_weather"]
    result = Message("tool", "Rain", "get_weather")
    told = chat(
        "What's the weather in Oslo?", Message("assistant", "", calls=("get_weather",)), result, tools=(WEATHER, final)
    )
    assert names(told) == ["final_result"]
    assert names(chat("Jason is 25 years old.", tools=(final,), mode="none")) == []


@pytest.mark.parametrize(
    "prompt, expected",
    [
        ("Jason is 25 years old", [("P", {"name": "Jason", "age": 25})]),
        ("Is Jason 25 years old?", []),
        ("Jason is tall", []),
        ("It took 25 years", []),
        ("Write a story", []),
    ],
)
def test_a_form_is_filled_where_the_prompt_states_all_that_it_wants(prompt: str, expected: list[Any]) -> None:
    person = Tool("P", "A person", properties("name", "age", name=TEXT, age={"type": "integer"}))
    search = Tool("look", "Looks", properties("query", "topic", query=TEXT, topic=TEXT))
    assert called(chat(prompt, tools=(search, person))) == expected


def test_results_that_an_agent_tells_in_the_users_name_come_to_the_tool_that_takes_its_answer() -> None:
    final = Tool("final_answer", "Provides a final answer to the given problem.", properties("answer", answer=TEXT))
    forecast = Tool("get_weather", "The weather in a city", properties("city", city=TEXT))
    tools = (forecast, CLOCK, final)
    made = "\nCalling tools:\n[{'id': '1', 'type': 'function', 'function': {'name': '%s', 'arguments': {}}}]"
    weather = (Message("assistant", made % "get_weather"), Message("user", "Observation:\nrain in Oslo"))
    clock = (Message("assistant", made % "get_time"), Message("user", "Observation:\n12:30"))
    task = Message("user", "New task:\nWhat's the weather in Oslo?")
    assert called(chat(task, tools=tools, mode="required")) == [("get_weather", {"city": "Oslo"})]
    assert called(chat(task, *weather, tools=tools, mode="required")) == [("final_answer", {"answer": "rain in Oslo"})]
    both = Message("user", "New task:\nWhat are the weather and the time in Oslo?")
    assert called(chat(both, *weather, tools=tools, mode="required")) == [("get_time", {"place": "Oslo"})]
    told = [("final_answer", {"answer": "rain in Oslo; 12:30"})]
    assert called(chat(both, *weather, *clock, tools=tools, mode="required")) == told
    # Whoever writes so without having called anything is a user.
    said = (Message("assistant", "Hello"), Message("user", "Observation:\nwhat's the weather in Rome?"))
    assert called(chat(task, *said, tools=(forecast,))) == [("get_weather", {"city": "Rome"})]


def test_an_agent_to_whom_another_has_handed_over_calls_its_own_tools_until_one_of_them_has_answered() -> None:
    handed_over = (
        Message("user", "What's the weather in Oslo?"),
        Message("assistant", "", calls=("transfer_to_weather_agent",)),
        Message("tool", '{"assistant": "Weather agent"}', answers="transfer_to_weather_agent"),
    )
    back = Tool("transfer_to_triage_agent", "Handoff to the triage agent to handle the request.")
    assert names(chat(*handed_over, tools=(back, WEATHER))) == ["get_weather"]
    assert names(chat(*handed_over, *HISTORY[1:], tools=(back, WEATHER))) == []
    assert names(chat(*handed_over, tools=(back,))) == []


def test_two_agents_do_not_hand_over_to_each_other_for_ever() -> None:
    one, other = (Tool(f"transfer_to_weather_{name}", "Knows the weather") for name in ("one", "other"))
    asked = Message("user", "What's the weather in Oslo?")
    handed = (Message("assistant", "", calls=(one.name,)), Message("tool", "{}", answers=one.name))
    handed_back = (Message("assistant", "", calls=(other.name,)), Message("tool", "{}", answers=other.name))
    assert names(chat(asked, tools=(one,))) == [one.name]
    assert names(chat(asked, *handed, tools=(other,))) == [other.name]
    assert names(chat(asked, *handed, *handed_back, tools=(one,))) == []


def test_the_answer_to_a_result_tells_the_result() -> None:
    said = generate(chat(*HISTORY), 42).choices[0]
    assert "temperature: 7, clouds: many" in said.text
    assert (said.finish_reason, said.calls) == ("stop", ())


@pytest.mark.parametrize(
    "result, told",
    [
        ("Rain, 7 degrees.", "Rain, 7 degrees"),
        ('{"a": [1, null], "b": true}', "a: [1, null], b: true"),
        ("[1, 2]", "[1, 2]"),
        ('"plain"', "plain"),
        ("word " * 60, "word " * 31 + "word…"),
        ("", ""),
    ],
)
def test_the_gist_of_a_result_is_one_short_line(result: str, told: str) -> None:
    assert gist(result) == told


TERMS = properties("a", "b", a={"type": "integer"}, b={"type": "integer"})
ARITHMETIC = (Tool("add", "Adds a and b.", TERMS), Tool("multiply", "Multiplies a and b.", TERMS))


@pytest.mark.parametrize(
    "prompt, expected",
    [
        ("What is 3 * 12? Also, what is 11 + 49?", [("multiply", {"a": 3, "b": 12}), ("add", {"a": 11, "b": 49})]),
        ("What is 2+2?", [("add", {"a": 2, "b": 2})]),
        ("And 3 times 4, please", [("multiply", {"a": 3, "b": 4})]),
        ("1 plus 2, and 3 plus 4", [("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})]),
        ("What is the meaning of life?", []),
    ],
)
def test_each_operation_on_numbers_calls_the_tool_for_it_with_its_own_numbers(
    prompt: str, expected: list[tuple[str, Any]]
) -> None:
    assert called(chat(prompt, tools=ARITHMETIC)) == expected


def test_an_ordered_call_is_of_the_tool_that_fits_best() -> None:
    username = Tool("GenerateUsername", "A username for a person's name and hair color", properties("hair", hair=TEXT))
    prompt = "Generate a user name for Alice, black hair. Use the tool."
    assert names(chat(prompt, tools=(CLOCK, username))) == ["GenerateUsername"]
    assert names(chat("Use the search tool", tools=(CLOCK, SEARCH))) == ["web_search"]
    assert names(chat("Use the map function", tools=(CLOCK, SEARCH))) == []


def test_of_two_tools_with_one_description_only_that_is_called_which_the_prompt_names() -> None:
    twins = tuple(Tool(name, "Rolls back the deployment") for name in ("roll_back_eu", "roll_back_us"))
    assert names(chat("Roll back the deployment", tools=twins)) == ["roll_back_eu", "roll_back_us"]
    assert names(chat("Roll back the deployment with roll_back_us", tools=twins)) == ["roll_back_us"]


@pytest.mark.parametrize(
    "prompt",
    [
        "Do not use any tools. What's the weather in Oslo?",
        "Without calling a function, tell me the weather in Oslo",
        "What's the weather in Oslo? Answer without tools.",
        "Какая погода в Осло? Не используй инструменты",
    ],
)
def test_a_prompt_that_forbids_tools_gets_no_call_unless_one_is_required(prompt: str) -> None:
    assert names(chat(prompt, tools=(WEATHER,))) == []
    assert names(chat(prompt, tools=(WEATHER,), mode="required")) == ["get_weather"]


@pytest.mark.parametrize("prompt", ["Generate a poem about the sea", "Create a recipe", "Find a rhyme for sea"])
def test_a_verb_that_many_tools_share_calls_none(prompt: str) -> None:
    tools = (form("generate_image", "picture"), form("create_user", "name"), form("find_order", "order_id"))
    assert names(chat(prompt, tools=tools)) == []


# --- with what -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tool, prompt, expected",
    [
        (
            WEATHER,
            "weather in Oslo for the next 3 days in Fahrenheit",
            {"city": "Oslo", "unit": "fahrenheit", "days": 3},
        ),
        (WEATHER, "Какая погода в Нижнем Новгороде?", {"city": "Нижнем Новгороде"}),
        (WEATHER, "北京今天天气怎么样", {"city": "北京"}),
        (SEARCH, 'Search for "red foxes"', {"query": "red foxes"}),
        (form("set_alarm", "time"), "Set the alarm for 7am", {"time": "7am"}),
        (form("book_table", "day", "time"), "Book a table tomorrow at 19:30", {"day": "tomorrow", "time": "19:30"}),
        (form("delete_file", "path"), "Delete file a.txt", {"path": "a.txt"}),
        (form("list_files", "directory"), "List the files in /tmp/logs, please.", {"directory": "/tmp/logs"}),
        (form("turn_off_light", "room"), "Turn off the light in the kitchen", {"room": "kitchen"}),
        (
            form("create_event", "title", "date"),
            "Create an event called Launch on March 3",
            {"title": "Launch", "date": "March 3"},
        ),
        (
            form("book_hotel", "check_in", "check_out"),
            "Book a room from June 1 to June 5",
            {"check_in": "June 1", "check_out": "June 5"},
        ),
        (form("distance", "city_a", "city_b"), "From Oslo to Bergen", {"city_a": "Oslo", "city_b": "Bergen"}),
        (form("add_todo", "item"), "Add buy milk to my todo list", {"item": "buy milk"}),
        (form("play_music", "genre"), "Play some jazz", {"genre": "jazz"}),
        (form("refund", "reason"), "Refund it because it was damaged.", {"reason": "it was damaged"}),
        (SEARCH, "Who won the cup in 2018?", {"query": "Who won the cup in 2018"}),
        (
            form("create_user", "username", "email"),
            "Create a user with username jdoe and email jdoe@example.com",
            {"username": "jdoe", "email": "jdoe@example.com"},
        ),
        (
            Tool("order", "", properties("toppings", toppings={"type": "array", "items": TEXT})),
            "A pizza with mushrooms, olives and ham",
            {"toppings": ["mushrooms", "olives", "ham"]},
        ),
        (
            Tool("invite", "", properties("attendees", attendees={"type": "array", "items": TEXT})),
            "Invite them to the meeting called Standup with Anna and Bob",
            {"attendees": ["Anna", "Bob"]},
        ),
        (
            Tool("translate", "", properties("languages", languages={"type": "array", "items": TEXT})),
            "Translate hello to Spanish and German",
            {"languages": ["Spanish", "German"]},
        ),
        (
            form("send", "recipient", "message"),
            "Send Bob a note saying I'm late",
            {"recipient": "Bob", "message": "I'm late"},
        ),
        (form("summarize", "text"), "Summarize this: Cats sleep a lot.", {"text": "Cats sleep a lot."}),
        (form("paint", "color"), "Paint the wall dark green", {"color": "dark green"}),
        (
            form("convert_units", "from_unit", "to_unit"),
            "Convert 5 km to miles",
            {"from_unit": "km", "to_unit": "miles"},
        ),
        (
            form("translate_text", "text", "language"),
            "Translate 'hello' to French",
            {"text": "hello", "language": "French"},
        ),
        (form("create_user", "name"), "Create a user Bob", {"name": "Bob"}),
        (
            form("billing_agent", "input"),
            "Ask billing for the bill of ABC123 this month.",
            {"input": "Ask billing for the bill of ABC123 this month."},
        ),
        (
            form("email", "to", "subject", "body"),
            "Email bob@example.com with the subject Hello and the body See you at 5pm",
            {"to": "bob@example.com", "subject": "Hello", "body": "See you at 5pm"},
        ),
        (
            form("email", "to", "subject", "body"),
            "Email bob@example.com with subject 'Hello' and body 'See you at 5pm'",
            {"to": "bob@example.com", "subject": "Hello", "body": "See you at 5pm"},
        ),
        (form("set_reminder", "text", "time"), "Remind me to buy milk at 6 pm", {"text": "buy milk", "time": "6 pm"}),
        (
            form("move_money", "from_account", "to_account"),
            "Move $50 of money from checking to savings",
            {"from_account": "checking", "to_account": "savings"},
        ),
        (
            form("play_song", "song", "artist"),
            "Play Bohemian Rhapsody by Queen",
            {"song": "Bohemian Rhapsody", "artist": "Queen"},
        ),
        (
            form("create_issue", "title", "repo"),
            "Create an issue titled Login broken in repo acme/web",
            {"title": "Login broken", "repo": "acme/web"},
        ),
        (form("translate", "text"), "Translate good morning to Spanish", {"text": "good morning"}),
        (
            Tool("set_temperature", "", properties("temperature", temperature={"type": "number"})),
            "Set the temperature to 21 degrees",
            {"temperature": 21},
        ),
        (
            Tool("order_pizza", "", properties("quantity", "address", quantity={"type": "integer"}, address=TEXT)),
            "Order 2 large pizzas to 5 Main Street, Boston",
            {"quantity": 2, "address": "5 Main Street, Boston"},
        ),
        (
            form("translate", "text", "target_language"),
            "Translate 'hi' into Thai",
            {"text": "hi", "target_language": "Thai"},
        ),
        (form("say", "text", "language"), "How do you say 'hi' in Latin?", {"text": "hi", "language": "Latin"}),
        (form("translate", "text", "language"), "Translate 'hi' to Frisian", {"text": "hi", "language": "Frisian"}),
        (form("locate", "city", "country"), "Is Lima in Peru?", {"city": "Lima", "country": "Peru"}),
        (form("locate", "city", "country"), "What time is it in Lyon, France?", {"city": "Lyon", "country": "France"}),
        (form("turn_on_lights", "room"), "Turn on the living room lights", {"room": "living room"}),
        (ORDER, "Order 2 packs of Green Tea for 5.50 dollars each", {"item": "Green Tea", "quantity": 2, "price": 5.5}),
        (ORDER, "Order 3 boxes of Oat Bars at $4.20 each", {"item": "Oat Bars", "quantity": 3, "price": 4.2}),
        (form("order_food", "item"), "Order 12 red onions for me", {"item": "red onions"}),
        (form("order_food", "item"), "Buy me a pizza, please", {"item": "pizza"}),
        (SUMS, "What is (2 + 3) * 4?", {"expression": "(2 + 3) * 4"}),
        (SUMS, "How much is 7@8?", {"expression": "7@8"}),
        (SUMS, "What's 15% of 80?", {"expression": "15% of 80"}),
        (
            Tool("collect", "", properties("numbers", numbers={"type": "array", "items": {"type": "integer"}})),
            "Collect all the numbers from: 5, 4, a, 1",
            {"numbers": [5, 4, 1]},
        ),
        (MAIL, 'Mail "Hi Bob" to bob@example.com', {"to": "bob@example.com", "subject": "Hi Bob"}),
        (
            FLIGHTS,
            "Book a flight from Oslo to New York on 2031-05-06",
            {"from": "Oslo", "to": "New York", "date": "2031-05-06"},
        ),
        (
            Tool("multiply", "", properties("a", "b", a={"type": "integer"}, b={"type": "integer"})),
            "Multiply 7 by -9",
            {"a": 7, "b": -9},
        ),
        (Tool("tides", "", properties("harbour", harbour=TEXT)), "Tides in Bergen", {"harbour": "Bergen"}),
        (
            Tool("invite", "", properties("guests", guests={"type": "array", "items": {**TEXT, "format": "email"}})),
            "invite ann@example.com and bob@example.com",
            {"guests": ["ann@example.com", "bob@example.com"]},
        ),
        (
            Tool("transfer", "", properties("amount", "account", amount={"type": "number"}, account=TEXT)),
            "Transfer 250 EUR to DE-1234",
            {"amount": 250, "account": "DE-1234"},
        ),
        (Tool("find_order", "", properties("order_id", order_id=TEXT)), "order A-1234?", {"order_id": "A-1234"}),
        (
            Tool("compare", "", properties("cities", cities={"type": "array", "items": TEXT})),
            "Compare Oslo and Bergen",
            {"cities": ["Oslo", "Bergen"]},
        ),
        (
            Tool("forecast", "", {"$defs": {"t": TEXT}, **properties("town", town={"$ref": "#/$defs/t"})}),
            "forecast for Oslo",
            {"town": "Oslo"},
        ),
        (
            Tool("forecast", "", {"$defs": {"t": {"$anchor": "town", **TEXT}}, **properties(town={"$ref": "#town"})}),
            "forecast for Oslo",
            {"town": "Oslo"},
        ),
        (
            Tool("forecast", "", properties("town", town={"anyOf": [TEXT, {"type": "null"}]})),
            "forecast for Oslo",
            {"town": "Oslo"},
        ),
    ],
)
def test_what_the_prompt_plainly_names_is_in_the_arguments(tool: Tool, prompt: str, expected: Schema) -> None:
    for key in range(5):
        (arguments,) = [arguments for _, arguments in called(chat(prompt, tools=(tool,), mode="required"), key)]
        assert {name: arguments.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    "prompt, expected",
    [
        ("Extract Jason is 25 years old.", {"name": "Jason", "age": 25}),
        ("Extract: Anna Lee, 31 years, lives at 5 Hill Road", {"name": "Anna Lee", "age": 31}),
        ("Meet Ada Lovelace, 36.", {"name": "Ada Lovelace", "age": 36}),
        ("Ивану 40 лет, у него 2 кота", {"age": 40}),
    ],
)
def test_a_form_that_is_filled_by_a_call_holds_whom_the_prompt_names(prompt: str, expected: Schema) -> None:
    person = Tool("final_result", "The final response", properties("name", "age", name=TEXT, age={"type": "integer"}))
    [(_, arguments)] = called(chat(prompt, tools=(person,), mode="required"))
    assert {name: arguments[name] for name in expected} == expected


@pytest.mark.parametrize(
    "prompt", ["Invent a person", "Invent a person as JSON", "Erfinde eine Figur", "Inventa una persona", "Describe me"]
)
def test_an_order_is_nobodys_name(prompt: str) -> None:
    person = Tool("final_result", "The final response", properties("name", name=TEXT))
    for key in range(5):
        [(_, arguments)] = called(chat(prompt, tools=(person,), mode="required"), key)
        assert arguments["name"] not in ("Invent", "JSON", "Erfinde", "Inventa", "Describe")


@pytest.mark.parametrize("order", [("city", "unit"), ("unit", "city")])
def test_a_name_that_one_property_has_taken_is_no_guess_for_another(order: tuple[str, str]) -> None:
    tool = Tool("get_weather", "Get the current weather", properties(*order, **dict.fromkeys(order, TEXT)))
    [(_, arguments)] = called(chat("What is the weather in Oslo?", tools=(tool,)))
    assert arguments["city"] == "Oslo"
    assert arguments["unit"] != "Oslo"


def test_what_the_schema_does_not_accept_is_not_taken_from_the_prompt() -> None:
    tool = Tool("get_weather", "", properties("city", city={"enum": ["Rome", "Paris"]}, days={"maximum": 2}))
    ((_, arguments),) = called(chat("weather in Oslo for 3 days", tools=(tool,)))
    assert arguments["city"] in ("Rome", "Paris")
    assert arguments.get("days") != 3


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object", "properties": {}}])
def test_a_function_without_parameters_is_called_with_an_empty_object(parameters: object) -> None:
    tool = Tool("ping", "", parameters)
    ((name, arguments),) = called(chat("ping", tools=(tool,), mode="required"))
    assert (name, isinstance(arguments, dict)) == ("ping", True)
    assert parameters or arguments == {}


def test_a_custom_tool_gets_code_where_it_runs_code_and_else_what_the_prompt_speaks_of() -> None:
    ((_, code),) = called(chat("Run some Python", tools=(PYTHON,), mode="required"))
    compile(code, "snippet", "exec")
    pen = Tool("pen", "Writes", kind="custom")
    assert called(chat('Write "good morning"', tools=(pen,), mode="required")) == [("pen", "good morning")]


def test_a_custom_tool_with_a_pattern_gets_a_text_that_matches_it() -> None:
    tool = Tool("plate", "", Constraint("regex", r"[A-Z]{2}-\d{3}"), kind="custom")
    for key in range(20):
        ((_, text),) = called(chat("Hello", tools=(tool,), mode="required"), key)
        assert len(text) == 6
        assert text[:2].isupper()
        assert text[3:].isdigit()


leaves: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 3, "maxLength": 9},
        {"type": "string", "format": "date"},
        {"type": "string", "pattern": "^[a-z]{2,4}$"},
        {"enum": ["a", 1, None, "Oslo"]},
        {"const": 5},
        {"type": "integer", "minimum": -3, "maximum": 3},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        {"type": ["string", "null"]},
        {"type": "boolean"},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    ]
)
nested: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(lambda items: {"type": "array", "items": items, "minItems": 1, "maxItems": 3}),
        st.dictionaries(st.sampled_from(["city", "days", "name", "query", "id", "unit"]), inner, max_size=4).map(
            lambda rows: properties(*sorted(rows)[:2], **rows)
        ),
    ),
    max_leaves=6,
)
parameter_sets = st.dictionaries(
    st.sampled_from(["city", "days", "email", "query", "to", "date", "expression", "names", "count"]),
    nested,
    max_size=5,
).map(lambda rows: properties(*sorted(rows)[::2], **rows))
PROMPTS = (
    "What's the weather in Oslo and Bergen for 3 days?",
    'Search for "red foxes" and mail ann@example.com on 2031-05-06 about order A-1',
    "Сколько будет 2 + 2?",
    "",
)


@settings(max_examples=150)
@given(sets=st.lists(parameter_sets, min_size=1, max_size=4), prompt=st.sampled_from(PROMPTS), key=st.integers(0, 99))
def test_arguments_keep_to_the_schema_of_any_set_of_tools(sets: list[Schema], prompt: str, key: int) -> None:
    tools = tuple(Tool(f"tool_{place}", "weather search mail", schema) for place, schema in enumerate(sets))
    request = chat(prompt, tools=tools, mode="required")
    found = called(request, key)
    assert found == called(request, key)
    assert found
    for name, arguments in found:
        Draft202012Validator(sets[int(name.removeprefix("tool_"))]).validate(arguments)


# --- how much of it ------------------------------------------------------------------------------------------------


def flat(calls: tuple[ToolCall, ...]) -> list[str]:
    return [text for call in calls for text in (call.name, *call.texts)]


def test_a_lower_limit_gives_a_beginning_of_the_calls_and_says_length() -> None:
    request = chat("What's the weather and the time in Oslo?")
    (whole,) = generate(request, 42).choices
    assert (whole.finish_reason, len(whole.calls), whole.text) == ("tool_calls", 2, "")
    for limit in range(1, whole.steps):
        limited = GenerationRequest(
            "m", request.prompts, limits=Limits(limit), tools=request.tools, tool_choice=request.tool_choice
        )
        made = generate(limited, 42)
        (cut,) = made.choices
        assert flat(cut.calls) == flat(whole.calls)[:limit]
        assert (cut.finish_reason, cut.steps, made.usage.completion_tokens) == ("length", limit, limit)


def test_a_stop_ends_a_call_within_its_arguments() -> None:
    request = chat("What's the weather in Oslo?", tools=(CLOCK,), mode="required")._replace(stops=Stops(("Oslo",)))
    (cut,) = generate(request, 42).choices
    assert (cut.calls[0].arguments, cut.finish_reason, cut.stop) == ('{"place": "', "stop", "Oslo")


def test_the_first_of_three_choices_calls_what_the_only_one_calls() -> None:
    request = chat("Find me something to read about the sea", mode="required", tools=(MAIL, SEARCH))
    three = GenerationRequest("m", request.prompts, tools=request.tools, tool_choice=request.tool_choice, n=3)
    for seed in range(10):
        assert generate(three, seed).choices[0].calls == generate(request, seed).choices[0].calls


def test_tools_that_are_not_called_change_nothing_of_what_is_said() -> None:
    without = chat("Tell me about the harbours of the north", tools=())
    offered = chat("Tell me about the harbours of the north")
    assert generate(without, 42).choices == generate(offered, 42).choices


@pytest.mark.parametrize("filler", [" ", "\n", "Aa. ", "12 Main St, ", "a, ", "1 ", "and "])
def test_a_prompt_full_of_blanks_or_names_is_read_in_some_milliseconds(filler: str) -> None:
    prompt = f"What is the weather and the time in Oslo? {(filler * 1200)[:1150]}?"
    generate(chat("What is the weather in Oslo?"), 42)
    began = time.process_time()
    generate(chat(prompt), 42)
    assert time.process_time() - began < 0.2
