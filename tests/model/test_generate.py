"""Generation: limits, stops, seeds and choices, on values."""

from typing import Any

import pytest

from mockserver.core.generation import Generation, GenerationRequest, Limits, Output, Prompt, Sampling, Stops
from mockserver.model import tokens
from mockserver.model.generate import generate

ENGLISH = "What makes a good library interface?"
PROMPT = Prompt(ENGLISH, ENGLISH, tokens.count(ENGLISH), chat=True)
REQUEST = GenerationRequest("m", (PROMPT,))


def say(seed: int = 42, **changes: Any) -> Generation:
    return generate(REQUEST._replace(**changes), seed)


def text(generation: Generation, index: int = 0) -> str:
    return generation.choices[index].text


def test_a_free_answer_ends_by_itself_and_its_arithmetic_agrees() -> None:
    said = say()
    choice = said.choices[0]
    assert choice.finish_reason == "stop"
    assert said.usage.completion_tokens == len(choice.ids) == len(choice.texts)
    assert tokens.decode(choice.ids) == choice.text
    assert said.usage.total_tokens == PROMPT.token_count + len(choice.ids)


def test_a_limit_cuts_and_says_so() -> None:
    whole = say().choices[0]
    cut = say(limits=Limits(max_tokens=5)).choices[0]
    assert (cut.finish_reason, list(cut.ids)) == ("length", list(whole.ids[:5]))
    exact = say(limits=Limits(max_tokens=len(whole.ids))).choices[0]
    assert exact.finish_reason == "length"
    beyond = say(limits=Limits(max_tokens=len(whole.ids) + 1)).choices[0]
    assert (beyond.finish_reason, beyond.text) == ("stop", whole.text)


def test_no_tokens_at_all_are_an_answer_too() -> None:
    nothing = say(limits=Limits(max_tokens=0))
    assert (nothing.choices[0].text, nothing.choices[0].finish_reason, nothing.steps) == ("", "length", 0)


def test_a_least_length_is_kept_and_starts_with_the_same_story() -> None:
    whole = say().choices[0]
    longer = say(limits=Limits(min_tokens=len(whole.ids) + 50)).choices[0]
    assert len(longer.ids) >= len(whole.ids) + 50
    assert longer.text.startswith(whole.text)
    assert longer.finish_reason == "stop"


def test_a_model_forbidden_to_end_goes_on_to_its_limit() -> None:
    endless = say(limits=Limits(max_tokens=3000, ignore_eos=True)).choices[0]
    assert (len(endless.ids), endless.finish_reason) == (3000, "length")


def test_the_context_window_bounds_an_answer() -> None:
    cut = say(limits=Limits(context=PROMPT.token_count + 7)).choices[0]
    assert (len(cut.ids), cut.finish_reason) == (7, "length")


def test_a_seed_stated_in_an_answer_gives_that_answer_again() -> None:
    said = say(n=3)
    for choice in said.choices:
        assert text(say(sampling=Sampling(seeds=(choice.seed,)))) == choice.text


def test_a_list_of_seeds_gives_each_choice_its_own() -> None:
    said = say(n=3, sampling=Sampling(seeds=(5, 6, 5)))
    assert [choice.seed for choice in said.choices] == [5, 6, 5]
    assert text(said, 0) == text(said, 2) != text(said, 1)


def test_at_temperature_zero_no_seed_of_the_request_matters() -> None:
    texts = {text(say(sampling=Sampling(seeds=(seed,), temperature=0))) for seed in range(5)}
    assert len(texts) == 1
    assert texts == {text(say(sampling=Sampling(top_k=1)))}


def test_the_best_of_several_candidates_comes_first() -> None:
    best = say(n=2, best_of=5)
    candidates = say(n=5)
    assert len(best.choices) == 2
    assert {choice.text for choice in best.choices} < {choice.text for choice in candidates.choices}


@pytest.mark.parametrize("temperature", [0.0, 0.6, 1.0])
def test_the_best_of_as_many_samples_as_are_wanted_are_those_samples(temperature: float) -> None:
    sampling = Sampling(temperature=temperature)
    best, samples = (say(n=4, best_of=best_of, sampling=sampling) for best_of in (4, 1))
    assert sorted(choice.text for choice in best.choices) == sorted(choice.text for choice in samples.choices)


@pytest.mark.parametrize("best_of", [3, 4])
def test_the_beams_of_a_search_differ_however_short_they_are(best_of: int) -> None:
    for number in range(20):
        asked = f"Tell me about harbour number {number}"
        fields: dict[str, Any] = {
            "prompts": (Prompt(asked, asked, tokens.count(asked), chat=True),),
            "sampling": Sampling(temperature=0, beams=best_of, early_stopping=False),
            "best_of": best_of,
            "limits": Limits(max_tokens=6),
        }
        beams, (best,) = say(n=3, **fields).choices, say(n=1, **fields).choices
        assert len({beam.text for beam in beams}) == 3
        assert (best.text, best.positions) == (beams[0].text, beams[0].positions)


def test_a_search_may_find_equal_beams_where_there_are_no_others() -> None:
    said = say(n=4, best_of=4, sampling=Sampling(temperature=0, beams=4), limits=Limits(max_tokens=0))
    assert [beam.text for beam in said.choices] == [""] * 4


def test_several_prompts_give_their_choices_in_order() -> None:
    other = Prompt("Tell me about sea otters", "Tell me about sea otters", 6, chat=True)
    both = say(prompts=(PROMPT, other), n=2)
    assert [choice.index for choice in both.choices] == [0, 1, 2, 3]
    assert text(both, 0) == text(say())
    assert text(both, 2) == text(say(prompts=(other,)))
    assert both.usage.prompt_tokens == PROMPT.token_count + 6


@pytest.mark.parametrize("alternatives", [0, 1, 5, 20])
def test_log_probabilities_hold_together(alternatives: int) -> None:
    from math import exp

    choice = say(output=Output(logprobs=alternatives)).choices[0]
    assert len(choice.positions) == len(choice.ids)
    assert choice.text == text(say())
    for token, position in zip(choice.ids, choice.positions, strict=True):
        top = [logprob for _, _, logprob in position.top]
        assert top == sorted(top, reverse=True)
        assert len(top) == alternatives == len({said for _, said, _ in position.top})
        assert sum(map(exp, top)) <= 1
        assert position.logprob < 0
        own = [logprob for id, _, logprob in position.top if id == token]
        assert own == [position.logprob] or (not own and all(position.logprob <= logprob for logprob in top))


def test_a_greedy_choice_is_always_the_likeliest() -> None:
    choice = say(output=Output(logprobs=3), sampling=Sampling(temperature=0)).choices[0]
    assert all(row.top[0][0] == token for token, row in zip(choice.ids, choice.positions, strict=True))


def test_more_alternatives_change_nothing_about_the_likelier_ones() -> None:
    few, many = (say(output=Output(logprobs=count)).choices[0].positions for count in (2, 9))
    assert [row.top for row in few] == [row.top[:2] for row in many]


def test_an_echoed_prompt_is_given_back_beside_the_answer() -> None:
    choice = say(output=Output(echo=True, logprobs=1)).choices[0]
    assert "".join(choice.echo_texts) == PROMPT.text
    assert len(choice.echo_positions) == len(choice.echo_texts)
    assert choice.text == text(say())


def test_a_stop_text_cuts_at_its_first_place() -> None:
    whole = text(say())
    stop = whole[30:37]
    stopped = say(stops=Stops(texts=("never said", stop)))
    assert (text(stopped), stopped.choices[0].stop) == (whole[: whole.index(stop)], stop)
    kept = say(stops=Stops(texts=(stop,), include=True))
    assert text(kept) == whole[: whole.index(stop) + len(stop)]
    assert stopped.usage.completion_tokens == len(stopped.choices[0].texts)


def test_a_stop_neither_ends_an_answer_before_its_least_length_nor_is_part_of_it() -> None:
    whole = say().choices[0]
    for stop in (whole.text[0], whole.texts[5], "".join(whole.texts[8:12])):
        later = say(stops=Stops(texts=(stop,)), limits=Limits(min_tokens=10)).choices[0]
        assert (len(later.ids) >= 10, stop in later.text) == (True, False)
    late = whole.texts[-2]
    stopped = say(stops=Stops(texts=(late,)), limits=Limits(min_tokens=1)).choices[0]
    assert (stopped.text, stopped.stop) == (whole.text[: whole.text.index(late)], late)


def test_a_sequence_of_stop_tokens_cuts_before_it() -> None:
    whole = say().choices[0]
    stop = tuple(whole.ids[6:8])
    stopped = say(stops=Stops(tokens=(stop,))).choices[0]
    assert (list(stopped.ids), stopped.stop, stopped.finish_reason) == (list(whole.ids[:6]), stop[-1], "stop")
