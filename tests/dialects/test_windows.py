"""Context windows: a prompt that does not fit is refused with the vendor's words and the true numbers."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS, Edition
from mockserver.core.installed import load_dialects
from tests.support.asking import Answer, ask

CEREBRAS = "Please reduce the length of the messages or completion. Current length is {found} while limit is {most}"
FRIENDLI = "the prompt has {found} tokens, the model's maximum length is {most}"
OVMS = (
    "Mediapipe execution failed. MP status - INVALID_ARGUMENT: CalculatorGraph::Run() failed: \n"
    'Calculator::Process() for node "LLMExecutor" failed: '
    "Number of prompt tokens: {found} exceeds model max length: {most}"
)
UPSTASH = (
    "This model's maximum context length is {most} tokens. However, you requested {found} tokens in the messages, "
    "Please reduce the length of the messages."
)
OPENAI = (
    "This model's maximum context length is {most} tokens. However, your messages resulted in {found} tokens. Please "
    "reduce the length of the messages."
)
YANDEX = "number of input tokens must be no more than {most}, got {found}"
# What each says, and the status with which it says so. OVMS knows no window before 2026.
REFUSALS: Mapping[tuple[str, Edition], tuple[int, str]] = {
    ("anthropic", "documented"): (400, "prompt is too long: {found} tokens > {most} maximum"),
    ("cerebras", "documented"): (400, CEREBRAS),
    ("cerebras", "observed"): (400, CEREBRAS),
    ("friendli", "documented"): (422, FRIENDLI),
    ("friendli", "observed"): (422, FRIENDLI),
    ("openai", "documented"): (400, OPENAI),
    ("openai", "observed"): (400, OPENAI),
    ("ovms", "observed"): (400, OVMS),
    ("upstash", "documented"): (400, UPSTASH),
    ("upstash", "observed"): (400, UPSTASH),
    ("yandex", "documented"): (400, YANDEX),
    ("yandex", "observed"): (400, YANDEX),
}
# The engine behind Upstash wants room for one token at least.
ROOM_NEEDED = {"upstash": 1}
# Models of these kinds complete no text, or refuse the older name of the limit.
OTHER_KINDS = (
    # Of the windows of a million tokens a few are enough.
    *("claude-fable", "claude-opus", "claude-sonnet-4-6", "claude-sonnet-5", "claude-haiku-5"),
    *("emb://", "art://", "cls://", "text-embedding", "omni-", "gpt-5", "gpt-6", "o3"),
    *("gpt-3.5-turbo-instruct", "davinci", "babbage"),
)

MODELS = [
    pytest.param(dialect.name, edition, model.id, model.context, id=f"{dialect.name}-{edition}-{model.id}")
    for dialect in load_dialects().values()
    for edition in EDITIONS
    if (dialect.name, edition) in REFUSALS
    for model in dialect.models
    if not model.id.startswith(OTHER_KINDS)
    # The service has only these two.
    if (dialect.name, edition) != ("cerebras", "observed") or model.id in ("gpt-oss-120b", "qwen-3.8-27b")
]
# Names that are not on offer have the windows of their families.
MODELS += [
    pytest.param("openai", "documented", "gpt-4", 8_192),
    pytest.param("openai", "documented", "gpt-4o-2024-11-20", 128_000),
    pytest.param("anthropic", "documented", "claude-haiku-4-5", 200_000),
]


def asked(dialect: str, edition: Edition, model: str, words: int, **more: Any) -> Answer:
    text = " the" * words
    path = load_dialects()[dialect].operations[0].paths[0]
    chat = "chat" in path or "messages" in path
    said: dict[str, Any] = {"messages": [{"role": "user", "content": text}]} if chat else {"prompt": text}
    said |= {"max_tokens": 100} if "messages" in path else {}
    return ask(dialect, {"model": model, **said, **more}, edition=edition)


def words_in(dialect: str, edition: Edition, model: str, tokens: int) -> int:
    """How many words make a prompt of so many tokens: each is one, and the form of a chat takes some."""
    ten = asked(dialect, edition, model, 10, max_tokens=1).plan.generation
    assert ten is not None
    return tokens - (ten.usage.prompt_tokens - 10)


def said(answer: Answer) -> str:
    """The message of a refusal, wherever the vendor puts it."""
    body = answer.json()
    if "detail" in body:
        return str(body["detail"][0]["msg"])
    error = body.get("error", body)
    return str(error["message"] if isinstance(error, dict) else error)


def test_every_dialect_has_its_refusal_here() -> None:
    assert {name for name, _ in REFUSALS} == set(load_dialects())


@pytest.mark.parametrize("dialect, edition, model, context", MODELS)
def test_a_prompt_beyond_the_window_is_refused_with_both_numbers(
    dialect: str, edition: Edition, model: str, context: int
) -> None:
    answer = asked(dialect, edition, model, words_in(dialect, edition, model, context + 1))
    status, words = REFUSALS[dialect, edition]
    expected = words.format(found=context + 1, most=context)
    # Yandex puts the session's id before that.
    assert (answer.status, said(answer)[-len(expected) :]) == (status, expected)


@pytest.mark.parametrize("dialect, edition", REFUSALS)
def test_the_fault_says_it_in_the_same_words_with_figures(dialect: str, edition: Edition) -> None:
    headers = {"x-mockserver-fault": '{ kind = "error", error = "context_length" }'}
    answer = ask(dialect, {}, edition=edition, headers=headers)
    status, words = REFUSALS[dialect, edition]
    # Up to the second figure: what follows tells more of the request.
    known = re.split(r"\{\w+\}", words)[:2]
    assert answer.status == status
    assert re.search(r"\d+".join(map(re.escape, known)) + r"\d+", said(answer))


@pytest.mark.parametrize("dialect, edition, model, context", MODELS)
def test_a_prompt_that_just_fits_is_answered(dialect: str, edition: Edition, model: str, context: int) -> None:
    room = ROOM_NEEDED.get(dialect, 0)
    answer = asked(dialect, edition, model, words_in(dialect, edition, model, context - room))
    assert answer.status == 200
    assert answer.plan.generation is not None
    usage = answer.plan.generation.usage
    assert (usage.prompt_tokens, usage.total_tokens) == (context - room, context)
