"""Prompt caches: which beginnings of prompts are found, and what the usage and the times of an answer make of that."""

from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.core.installed import load_dialects
from mockserver.state import engines as prompt_cache
from mockserver.state.engines import PromptCache, Reuse
from mockserver.state.namespaces import Namespace
from mockserver.state.plan import answers_long
from mockserver.state.settings import Settings
from tests.support.asking import Answer, ask

CACHING = Settings(prompt_cache=True)
CHATS = "/v1/chat/completions"
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}


def asked(
    namespace: Namespace,
    prompt: str | list[int],
    now: float = 0.0,
    settings: Settings = CACHING,
    headers: Mapping[str, str] | None = None,
    **body: Any,
) -> Answer:
    """The answer to a completion that is asked for at an instant."""
    body = {"model": "gpt-oss-120b", "prompt": prompt, "max_tokens": 4, **body}
    return ask("cerebras", body, settings=settings, namespace=namespace, headers=headers, now=now)


def usage_of(namespace: Namespace, *contents: str, dialect: str = "cerebras", path: str = CHATS, **body: Any) -> Any:
    """The usage of an answer to a conversation of users' messages."""
    messages = [{"role": "user", "content": content} for content in contents]
    body = {"model": "gpt-oss-120b", "messages": messages, "max_tokens": 4, **body}
    return ask(dialect, body, path=path, settings=CACHING, namespace=namespace).json()["usage"]


def cached(answer: Answer) -> int:
    assert answer.plan.generation is not None
    return answer.plan.generation.usage.cached_tokens


def tokens(count: int, last: int = 0) -> list[int]:
    """A prompt of so many tokens, whose last one is given."""
    return [*range(1000, 1000 + count - 1), last]


def test_a_prompt_that_comes_again_is_read_from_the_cache_in_whole_blocks() -> None:
    namespace = Namespace("")
    answers = [asked(namespace, tokens(300)) for _ in range(2)]
    assert [cached(answer) for answer in answers] == [0, 256]
    assert [answer.json()["usage"]["prompt_tokens_details"] for answer in answers] == [
        {"cached_tokens": 0},
        {"cached_tokens": 256},
    ]


def test_engines_cache_nothing_unless_asked_to() -> None:
    namespace = Namespace("")
    assert [cached(asked(namespace, tokens(300), settings=Settings())) for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("count, found", [(127, 0), (128, 0), (129, 128), (256, 128), (257, 256)])
def test_the_last_token_of_a_prompt_is_always_computed(count: int, found: int) -> None:
    namespace = Namespace("")
    asked(namespace, tokens(count))
    assert cached(asked(namespace, tokens(count))) == found


def test_a_block_is_found_only_after_the_same_beginning() -> None:
    namespace = Namespace("")
    asked(namespace, tokens(400))
    changed = tokens(400)
    changed[200] = 7
    assert cached(asked(namespace, changed)) == 128
    assert cached(asked(namespace, [7, *tokens(399)])) == 0


def test_a_conversation_that_goes_on_finds_what_it_had_before() -> None:
    namespace = Namespace("")
    first = "The first message is long. " * 60
    assert [
        usage_of(namespace, *contents)["prompt_tokens_details"]["cached_tokens"]
        for contents in [(first,), (first, "And then?"), (f"Today: {first}", "And then?")]
    ] == [0, 256, 0]


def test_tools_are_read_before_the_conversation() -> None:
    namespace, message = (Namespace(""), "The message is long. " * 60)
    usages = [usage_of(namespace, message, tools=tools) for tools in ([], [WEATHER], [WEATHER])]
    found = [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
    assert found[:2] == [0, 0]
    assert found[2] > 0


def test_each_model_and_each_namespace_has_a_cache_of_its_own() -> None:
    namespace = Namespace("")
    asked(namespace, tokens(300))
    assert cached(asked(namespace, tokens(300), model="llama3.1-8b")) == 0
    assert cached(asked(Namespace("other"), tokens(300))) == 0


def test_a_block_expires_when_its_lifetime_after_the_last_use_is_over() -> None:
    namespace = Namespace("")
    assert [cached(asked(namespace, tokens(300), now)) for now in (0.0, 299.0, 598.0, 899.0)] == [0, 256, 256, 0]


def test_a_reset_empties_the_cache() -> None:
    namespace = Namespace("")
    asked(namespace, tokens(300))
    namespace.reset()
    assert cached(asked(namespace, tokens(300))) == 0


def test_what_the_model_never_read_is_not_cached() -> None:
    namespace = Namespace("")
    refused = asked(namespace, tokens(300), headers={"x-mockserver-fault": '{ kind = "error", error = "rate_limit" }'})
    assert refused.status == 429
    assert [cached(asked(namespace, tokens(300))) for _ in range(2)] == [0, 256]


def test_the_first_token_comes_sooner_and_the_answer_states_it() -> None:
    namespace, latency = Namespace(""), {"x-mockserver-latency": "prefill_per_token=1ms, itl=1ms"}
    answers = [asked(namespace, tokens(300), headers=latency) for _ in range(2)]
    assert [round(answer.plan.pace.prefill, 9) for answer in answers if answer.plan.pace] == [0.3, 0.044]
    assert [round(answer.json()["time_info"]["prompt_time"], 9) for answer in answers] == [0.3, 0.044]


def test_the_text_does_not_depend_on_the_cache() -> None:
    namespace = Namespace("")
    plain = asked(namespace, tokens(300), settings=Settings()).json()["choices"]
    assert [asked(namespace, tokens(300)).json()["choices"] for _ in range(2)] == [plain, plain]


def test_a_usage_that_a_stub_states_is_not_changed() -> None:
    namespace, reply = Namespace(""), '{"text": "Hello.", "usage": {"cached_tokens": 5}}'
    answers = [asked(namespace, tokens(300), headers={"x-mockserver-reply": reply}) for _ in range(2)]
    assert [cached(answer) for answer in answers] == [5, 5]


def test_several_prompts_of_one_request_are_looked_up_each_by_itself() -> None:
    namespace = Namespace("")
    asked(namespace, tokens(300))
    plan = asked(namespace, [tokens(300), tokens(200, 9), [5, *tokens(300)]]).plan  # type: ignore[list-item]
    assert plan.generation is not None
    assert plan.generation.usage.cached_tokens == 256 + 128
    assert plan.generation.usage.written_tokens == 256


def test_a_long_prompt_is_not_looked_up_on_the_event_loop() -> None:
    body = {"model": "m", "prompt": "one two three " * 5000, "max_tokens": 1}
    for settings in (Settings(latency="off"), Settings(latency="off", prompt_cache=True)):
        assert answers_long(ask("ovms", body, settings=settings).plan) is settings.prompt_cache


def test_the_blocks_used_least_recently_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_cache, "_MOST_BLOCKS", 3)
    cache = PromptCache()
    for blocks in (("a", "b"), ("c",), ("a",), ("d",)):
        Reuse(cache, blocks, 10.0, 0, 0).keep()
    assert list(cache) == ["c", "a", "d"]


@pytest.mark.parametrize(
    "dialect, path, model, details",
    [
        ("yandex", CHATS, "gpt://b1gmockfolder/yandexgpt/latest", ("prompt_tokens_details",)),
        ("friendli", "/serverless/v1/chat/completions", "meta-llama-3.1-8b-instruct", ("prompt_tokens_details",)),
        ("ovms", "/v3/chat/completions", "llama3", ()),
        ("upstash", "/llm/v1/chat/completions", "meta-llama/Meta-Llama-3-8B-Instruct", ()),
    ],
)
def test_each_vendor_states_cached_tokens_where_it_has_a_place_for_them(
    dialect: str, path: str, model: str, details: tuple[str, ...]
) -> None:
    namespace, message = Namespace(""), "The message is long. " * 60
    [first, again] = [usage_of(namespace, message, dialect=dialect, path=path, model=model) for _ in range(2)]
    assert set(again) - set(first) == set(details)
    assert all(again[name]["cached_tokens"] > 0 for name in details)


def test_vllm_states_what_it_has_written_to_its_cache() -> None:
    namespace, message = Namespace(""), "The message is long. " * 60
    asked_twice = (
        usage_of(namespace, message, dialect="friendli", path=f"/serverless{CHATS}", model="zai-org/GLM-5.3-Flash")
        for _ in range(2)
    )
    usages = [usage["prompt_tokens_details"] for usage in asked_twice]
    assert [(usage["cached_tokens"] > 0, usage["created_cache_tokens"] > 0) for usage in usages] == [
        (False, True),
        (True, False),
    ]


def test_every_dialect_that_caches_says_how() -> None:
    caching = {name: dialect.prompt_caching for name, dialect in load_dialects().items()}
    assert {name for name, how in caching.items() if how is None} == {"upstash"}
    assert all(how.block > 0 and how.lifetime > 0 for how in caching.values() if how is not None)
