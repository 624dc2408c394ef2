"""How much work the streams of chats and completions are, whichever vendor writes them."""

from typing import Any

import pytest

from mockserver.core.generation import Choice, Generation
from mockserver.dialects.openai.replies import chat_logprobs
from tests.support.asking import ask


@pytest.mark.parametrize(
    "dialect, asked",
    [
        ("cerebras", {"model": "llama3.1-8b", "prompt": ["Tell me about tides"] * 60}),
        ("upstash", {"model": "m", "messages": [{"role": "user", "content": "Tell me about tides"}], "n": 60}),
    ],
)
def test_a_stream_of_many_choices_asks_a_few_times_which_of_them_ends_last(
    dialect: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_through: list[int] = []

    def last_choice(generation: Generation) -> Choice:
        looked_through.append(len(generation.choices))
        return max(generation.choices, key=lambda choice: (choice.last_step, choice.index))

    monkeypatch.setattr(Generation, "last_choice", property(last_choice))
    answer = ask(dialect, {**asked, "max_tokens": 2, "stream": True})
    assert answer.status == 200
    # Once for each time that the stream is walked, and not for each choice, which took seconds for thousands.
    assert set(looked_through) == {60}
    assert len(looked_through) <= 3


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize(
    "dialect, module, model",
    [
        ("upstash", "openai.replies", "m"),
        ("yandex", "yandex.write", "gpt://folder/qwen3/latest"),
        ("yandex", "yandex.write", "gpt://folder/yandexgpt/latest"),
    ],
)
def test_log_probabilities_of_a_stream_are_written_as_it_goes(
    dialect: str, module: str, model: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[Any] = []

    def counted(*stretch: Any) -> list[dict[str, Any]]:
        written = chat_logprobs(*stretch)
        rows.extend(written)
        return written

    monkeypatch.setattr(f"mockserver.dialects.{module}.chat_logprobs", counted)
    said = [{"role": "user", "content": "Write an essay of 500 words about tides"}]
    asked = {"model": model, "messages": said, "n": n, "stream": True, "logprobs": True}
    timeline = ask(dialect, asked).plan.timeline
    runs, most = iter(timeline.runs), 0
    rows.clear()
    while next(runs, None) is not None:
        most = max(most, len(rows))
        rows.clear()
    # A few chunks, of all choices together: hundreds of tokens with their alternatives take many milliseconds.
    assert 0 < most <= 200
