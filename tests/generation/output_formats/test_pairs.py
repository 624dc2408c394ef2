"""Values that a prompt states as pairs of a name and a value."""

from time import process_time
from typing import Any

import pytest

from mockserver.generation.output_formats.pairs import stated_pairs


@pytest.mark.parametrize(
    "text, pairs",
    [
        (
            "Respond with this in json. city=San Francisco, state=CA, weather=sunny, temp=60",
            {"city": "San Francisco", "state": "CA", "weather": "sunny", "temp": 60},
        ),
        ("name=Bob; age=3; ok=true; d=1.5; c=null.", {"name": "Bob", "age": 3, "ok": True, "d": 1.5, "c": None}),
        ("Return JSON with city=Paris and country=France.", {"city": "Paris", "country": "France"}),
        ("a = 'two words', b = \"007\", zip=007", {"a": "two words", "b": "007", "zip": "007"}),
        ("Settings:\ntemperature=0.5\nmodel=x. The rest is as usual.", {"temperature": 0.5, "model": "x"}),
        ("город=Москва, страна=Россия", {"город": "Москва", "страна": "Россия"}),
        ("big=1e999, nan=NaN", {"big": "1e999", "nan": "NaN"}),
        ("a=1, b=2. Elsewhere are c=3, d=4", {"a": 1, "b": 2}),
    ],
)
def test_a_list_of_pairs_states_values(text: str, pairs: dict[str, Any]) -> None:
    assert stated_pairs(text) == pairs


@pytest.mark.parametrize(
    "text",
    ["", "a=1", "What is 1+1?", "x = f(1)\ny = 3", "if a == 1, b = g(2)", "https://x.com/?a=1&b=2", "E=mc^2"],
)
def test_a_single_pair_code_and_the_query_of_a_url_state_nothing(text: str) -> None:
    assert stated_pairs(text) == {}


@pytest.mark.parametrize("text", ["a=" * 10_000, "a=b " * 5_000, "a=b," * 5_000, "a = " + "b " * 9_000])
def test_a_long_prompt_is_searched_quickly(text: str) -> None:
    begun = process_time()
    stated_pairs(text)
    assert process_time() - begun < 0.5
