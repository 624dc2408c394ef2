"""Lengths that are drawn: free prose ends at them, and everything else where it would have ended anyway."""

from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

import pytest

from mockserver.core.generation import (
    Choice,
    Constraint,
    GenerationRequest,
    Limits,
    Message,
    Output,
    Prompt,
    Sampling,
    Stops,
    Tool,
    ToolChoice,
)
from mockserver.model import tokens
from mockserver.model.generate import generate


@dataclass(frozen=True)
class Between:
    """Anything from `least` to `most` tokens."""

    least: float
    most: float

    def quantile(self, share: float) -> float:
        return self.least + share * (self.most - self.least)


FORTY, WIDE = Between(40, 40), Between(10, 210)
ENGLISH = "What makes a good library interface?"
PERSON = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def prompt_of(text: str, **more: Any) -> Prompt:
    return Prompt(text, text, tokens.count(text), **{"chat": True, **more})


def say(
    lengths: Between | None, text: str = ENGLISH, seed: int = 42, limits: Limits | None = None, **more: Any
) -> Choice:
    return choices(lengths, text, seed, limits, **more)[0]


def choices(
    lengths: Between | None, text: str = ENGLISH, seed: int = 42, limits: Limits | None = None, **more: Any
) -> tuple[Choice, ...]:
    asked = GenerationRequest("m", (prompt_of(text),), limits=(limits or Limits())._replace(lengths=lengths))
    said = generate(asked._replace(**more), seed)
    assert said.usage.completion_tokens == sum(choice.reasoning + choice.answer_tokens for choice in said.choices)
    return said.choices


def ending(choice: Choice) -> tuple[int, str]:
    return len(choice.ids), choice.finish_reason


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        "Explain tides in one sentence.",
        "List five facts about bread",
        "Write a Python function for sorting",
        "What is the capital of Turkey?",
        "Расскажи о китах",
        f"{'Ankara is the capital of Turkey. ' * 8}What is the capital of Turkey?",
    ],
)
@pytest.mark.parametrize("wanted", [1, 7, 300])
def test_prose_of_any_genre_ends_exactly_there_and_is_the_beginning_of_the_same_text(text: str, wanted: int) -> None:
    choice = say(Between(wanted, wanted), text)
    assert ending(choice) == (wanted, "stop")
    endless = say(None, text, limits=Limits(max_tokens=1000, ignore_eos=True))
    assert choice.texts == endless.texts[:wanted]


def test_a_text_to_be_continued_ends_there_too() -> None:
    assert ending(say(FORTY, prompts=(prompt_of("The sea was", chat=False),))) == (40, "stop")


def test_a_lower_limit_of_the_request_wins_and_cuts() -> None:
    whole = say(FORTY)
    assert [ending(say(FORTY, limits=Limits(max_tokens=most))) for most in (0, 39, 40, 41)] == [
        *((0, "length"), (39, "length"), (40, "length"), (40, "stop"))
    ]
    assert say(FORTY, limits=Limits(max_tokens=39)).texts == whole.texts[:39]
    # The context window is a limit like any other.
    assert ending(say(FORTY, limits=Limits(context=tokens.count(ENGLISH) + 8))) == (8, "length")


def test_what_the_request_says_of_its_end_wins() -> None:
    assert ending(say(FORTY, limits=Limits(min_tokens=60))) == (60, "stop")
    assert ending(say(FORTY, limits=Limits(max_tokens=80, ignore_eos=True))) == (80, "length")
    endless = Sampling(logit_bias=((tokens.EOS, -100.0),))
    assert ending(say(FORTY, limits=Limits(max_tokens=80), sampling=endless)) == (80, "length")
    stop = say(None).text.split()[3]
    stopped = say(FORTY, stops=Stops((stop,)))
    assert (stopped.finish_reason, stopped.stop, len(stopped.ids) < 40) == ("stop", stop, True)


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "Reply with exactly: OK"},
        {"text": "Is it safe? Answer yes or no."},
        {"text": "Answer only with valid JSON: a person"},
        {"constraint": Constraint("json_schema", PERSON)},
        {"constraint": Constraint("regex", "[a-z]{5}")},
        {"tools": (Tool("get_weather", "The weather", PERSON),), "tool_choice": ToolChoice("required")},
        {"constraint": Constraint("json_schema", PERSON), "effort": "medium"},
    ],
    ids=str,
)
def test_what_has_a_form_or_is_dictated_keeps_its_own_length(changes: dict[str, Any]) -> None:
    assert say(FORTY, **changes) == say(None, **changes)


def test_an_answer_dictated_by_instructions_keeps_its_length_and_a_report_of_a_tool_does_not() -> None:
    text = "I love it"
    told = Message("system", "You label reviews. Answer with good or bad.")
    prompt = prompt_of(text, messages=(told, Message("user", text)))
    assert say(FORTY, prompts=(prompt,)) == say(None, prompts=(prompt,))
    result = Message("tool", '{"sky": "rain"}', "get_weather")
    reported = prompt_of(text, messages=(told, Message("user", text), result))
    assert ending(say(FORTY, prompts=(reported,))) == (40, "stop")


def test_words_end_there_although_tools_are_on_offer() -> None:
    assert ending(say(FORTY, tools=(Tool("get_weather", "The weather", PERSON),))) == (40, "stop")


@pytest.mark.parametrize("shown", [True, False])
def test_thoughts_count_and_leave_at_least_half_to_the_text(shown: bool) -> None:
    output = Output(reasoning=shown)
    long = say(Between(3000, 3000), effort="low", output=output)
    usual = say(None, effort="low", output=output)
    assert (long.reasoning, long.reasoning + len(long.ids)) == (usual.reasoning, 3000)
    short = say(Between(41, 41), effort="high", output=output)
    assert (short.reasoning, *ending(short)) == (20, 21, "stop")
    assert short.thoughts == say(None, effort="high", output=output).thoughts[:20]
    shortest = say(Between(1, 1), effort="high", output=output)
    assert (shortest.reasoning, *ending(shortest)) == (0, 1, "stop")


def test_a_limit_cuts_thoughts_and_text_of_a_drawn_length() -> None:
    whole = say(Between(200, 200), effort="high")
    cut = say(Between(200, 200), effort="high", limits=Limits(max_tokens=150))
    assert (whole.reasoning, cut.reasoning, ending(cut)) == (100, 100, (50, "length"))
    assert cut.texts == whole.texts[:50]


def test_each_choice_draws_for_itself_and_the_first_is_that_of_a_single_one() -> None:
    several = choices(WIDE, n=4)
    assert len({len(choice.ids) for choice in several}) > 2
    assert several[0] == say(WIDE)
    again = say(WIDE, sampling=Sampling(seeds=(several[2].seed,)))
    assert again.texts == several[2].texts


def test_seeds_draw_and_a_greedy_answer_has_one_length_under_all_of_them() -> None:
    assert len({len(say(WIDE, seed=seed).ids) for seed in range(8)}) > 4
    assert len({len(say(WIDE, seed=seed, sampling=Sampling(temperature=0)).ids) for seed in range(8)}) == 1


def test_log_probabilities_and_sampling_change_no_length() -> None:
    usual = say(WIDE)
    with_positions = say(WIDE, output=Output(logprobs=2))
    assert with_positions.texts == usual.texts
    assert len(with_positions.positions) == len(usual.texts)
    penalized = say(WIDE, sampling=Sampling(frequency_penalty=1.0, logit_bias=((500, 3.0),)))
    assert len(penalized.ids) == len(usual.ids)


def test_lengths_of_many_prompts_are_distributed_as_wanted() -> None:
    drawn = [len(say(WIDE, f"Tell me about number {number}.").ids) for number in range(400)]
    assert mean(drawn) == pytest.approx(110, abs=8)
    assert stdev(drawn) == pytest.approx(200 / 12**0.5, abs=5)
    assert (min(drawn) < 16, max(drawn) > 204) == (True, True)


@pytest.mark.parametrize("wanted, given", [(-3, 1), (0.2, 1), (2.6, 3)])
def test_a_length_is_a_whole_number_of_tokens_and_at_least_one(wanted: float, given: int) -> None:
    assert len(say(Between(wanted, wanted)).ids) == given
