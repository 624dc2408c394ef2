"""What a systematic search has found: one field at a time, of each kind of value that is large, deep or wrong."""

from typing import Any

from tests.hostile.attack import Attack, refused, request
from tests.hostile.rows_shapes import CHAT, chat

SETTINGS = "/_mockserver/ns/fuzz/settings"
COMPLETIONS = "/cerebras/v1/completions"


def refused_settings(what: str, says: bytes, **settings: Any) -> Attack:
    return refused(what, SETTINGS, lambda: settings, method="PUT", says=says)


def explained(name: str, path: str, body: dict[str, Any]) -> Attack:
    """A body with thousands of faults, of which an answer tells some."""

    def act(port: int) -> None:
        status, answer = request(port, "POST", path, body, {"x-mockserver-edition": "observed"})
        assert 400 <= status < 500, (status, answer[:500])
        assert len(answer) < 100_000, len(answer)

    return Attack(name, act)


def thousands_of_stops(port: int) -> None:
    """A text that is searched for thousands of stops, none of which it has."""
    body = {
        "model": "meta-llama-3.1-8b-instruct",
        "prompt": "Hi",
        "max_tokens": 30_000,
        "min_tokens": 30_000,
        "stop": [f"@{number}" for number in range(3_000)],
        "stop_tokens": [{"tokens": [number, number]} for number in range(3_000)],
    }
    status, answer = request(port, "POST", "/friendli/serverless/v1/completions", body)
    assert status < 500, (status, answer[:500])


WIDE = {f"k{number}": number for number in range(20_000)}

ROWS: list[Attack] = [
    refused_settings("20,000 rules of quotas", b"at most 1,000", quota=["requests=3/min"] * 20_000),
    refused_settings("20,000 faults of a setting", b"at most 1,000", fault=["cut"] * 20_000),
    refused_settings("a latency of a megabyte", b"at most 10,000", latency="a" * 1_000_000),
    refused_settings("lengths of a megabyte", b"at most 10,000", output_tokens="normal(" + "1," * 500_000),
    *(
        explained(f"20,000 unknown fields in {field}", CHAT, chat(**{field: WIDE}))
        for field in ("stream_options", "tool_choice", "response_format", "prediction")
    ),
    explained(
        "20,000 unknown fields of stream_options in a completion",
        COMPLETIONS,
        {"model": "llama3.1-8b", "prompt": "Hi", "stream": True, "stream_options": WIDE},
    ),
    Attack("thousands of stops and a long answer", thousands_of_stops),
]
