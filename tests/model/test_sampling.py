"""How a choice is sampled: what holds whatever its controls, how much of it is written, and where it is cut."""

import json
import time
from collections.abc import Iterator, Sequence
from itertools import count
from math import exp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.generation import (
    Constraint,
    Generation,
    GenerationRequest,
    Limits,
    Output,
    Position,
    Prompt,
    Sampling,
    Stops,
    Unseen,
)
from mockserver.model import languages, tokens
from mockserver.model.generate import generate
from mockserver.model.logprobs import ranked
from mockserver.model.sampling import cut_at_stop, first_tokens, freedom, straying
from mockserver.model.token_filter import units, vocabulary
from mockserver.model.tokens import Phrase, phrase

QUESTIONS = (
    "What makes a good library interface?",
    "Расскажи про отпуск в Карелии 😀",
    "日本の庭について教えてください",
)
PLAIN = Sampling()


def prompt(text: str) -> Prompt:
    return Prompt(text, text, tokens.count(text), chat=True)


REQUEST = GenerationRequest("m", (prompt(QUESTIONS[0]),))


def say(seed: int = 42, **changes: Any) -> Generation:
    return generate(REQUEST._replace(**changes), seed)


token_ids = st.integers(0, tokens.VOCABULARY_SIZE + 3) | st.sampled_from(tokens.encode("The sea, a harbour. 海 о"))
samplings = st.builds(
    Sampling,
    seeds=st.tuples() | st.tuples(st.integers(0, 2**40)),
    temperature=st.sampled_from([0.0, 0.3, 1.0, 1.7]),
    top_p=st.sampled_from([1.0, 0.9, 0.1]),
    top_k=st.sampled_from([0, 1, 3, 40]),
    min_p=st.sampled_from([0.0, 0.1, 1.0]),
    frequency_penalty=st.sampled_from([0.0, -2.0, 0.4, 2.0]),
    presence_penalty=st.sampled_from([0.0, -2.0, 0.4, 2.0]),
    repetition_penalty=st.sampled_from([1.0, 0.5, 1.3, 10.0]),
    no_repeat_ngram=st.sampled_from([0, 1, 2, 3]),
    logit_bias=st.lists(
        st.tuples(token_ids, st.sampled_from([-100.0, -3.0, 2.0, 6.0, 100.0])), max_size=4, unique_by=lambda row: row[0]
    ).map(tuple),
    bad_words=st.lists(st.sampled_from(["the", " ", "e", "о", "。", ".", "things are", ""]), max_size=3).map(tuple),
    bad_tokens=st.lists(st.lists(token_ids, max_size=3).map(tuple), max_size=3).map(tuple),
)
questions = st.sampled_from(QUESTIONS).map(prompt)


@settings(max_examples=150)
@given(questions, samplings, st.integers(0, 60))
def test_a_limit_gives_a_prefix_under_any_controls(asked: Prompt, sampling: Sampling, limit: int) -> None:
    whole, cut = (
        say(prompts=(asked,), sampling=sampling, limits=Limits(max_tokens=most)).choices[0] for most in (200, limit)
    )
    assert list(cut.ids) == list(whole.ids[:limit])
    assert list(cut.texts) == list(whole.texts[:limit])
    assert whole == say(prompts=(asked,), sampling=sampling, limits=Limits(max_tokens=200), n=2).choices[0]


@settings(max_examples=150)
@given(questions, samplings)
def test_what_is_banned_never_comes(asked: Prompt, sampling: Sampling) -> None:
    sampling = sampling._replace(logit_bias=tuple(row for row in sampling.logit_bias if row[1] < 0))
    choice = say(prompts=(asked,), sampling=sampling, limits=Limits(max_tokens=150)).choices[0]
    assert not {token for token, bias in sampling.logit_bias if bias == -100} & {*choice.ids}
    assert not [word for word in sampling.bad_words if word and word in choice.text]
    for row in filter(None, sampling.bad_tokens):
        assert not [at for at in range(len(choice.ids)) if tuple(choice.ids[at : at + len(row)]) == row]
    if sampling.no_repeat_ngram > 1:
        size, said = sampling.no_repeat_ngram, (*tokens.encode(asked.text), *choice.ids)
        # The prompt may repeat itself; the answer neither repeats it nor itself.
        grams = [said[at : at + size] for at in range(len(said) - size + 1)]
        fresh = grams[max(len(said) - len(choice.ids) - size + 1, 0) :]
        assert len({*fresh}) == len(fresh)


class CountedToken(int):
    """A token that counts how often it is hashed."""

    uses = 0

    def __hash__(self) -> int:
        CountedToken.uses += 1
        return super().__hash__()


def test_a_long_n_gram_costs_no_more_than_one_of_some_tokens() -> None:
    text = "the sea " * 1_000
    asked = prompt(text)._replace(ids=tuple(map(CountedToken, tokens.encode(text))))
    CountedToken.uses = 0
    say(prompts=(asked,), sampling=Sampling(no_repeat_ngram=1_000), limits=Limits(max_tokens=20))
    assert CountedToken.uses <= 70 * len(asked.ids)


@settings(max_examples=100)
@given(questions, samplings, st.sampled_from([0, 1, 5, 20]), st.sampled_from([1, 3]))
def test_log_probabilities_hold_together_under_any_controls(
    asked: Prompt, sampling: Sampling, alternatives: int, candidates: int
) -> None:
    made = say(
        prompts=(asked,),
        sampling=sampling,
        best_of=candidates,
        limits=Limits(max_tokens=60),
        output=Output(logprobs=alternatives),
    )
    choice = made.choices[0]
    banned = {token for token, bias in sampling.logit_bias if bias == -100}
    assert len(choice.positions) == len(choice.ids)
    for token, position in zip(choice.ids, choice.positions, strict=True):
        top = [logprob for _, _, logprob in position.top]
        assert top == sorted(top, reverse=True)
        assert len(top) == len({text for _, text, _ in position.top}) <= alternatives
        assert position.logprob < 0
        assert sum(map(exp, top)) <= 1
        own = [logprob for id_, _, logprob in position.top if id_ == token]
        assert own == [position.logprob] or (
            not own and position.rank >= len(top) and position.logprob <= min(top, default=0)
        )
        assert not banned & {id_ for id_, _, _ in position.top}
        if freedom(sampling) == 0 and candidates == 1:
            assert position.rank == 0


@settings(max_examples=60)
@given(questions, samplings)
def test_a_seed_stated_in_an_answer_gives_that_answer_again_under_controls(asked: Prompt, sampling: Sampling) -> None:
    limits = Limits(max_tokens=80)
    stated = say(prompts=(asked,), sampling=sampling, limits=limits).choices[0]
    again = say(prompts=(asked,), sampling=sampling._replace(seeds=(stated.seed,)), limits=limits).choices[0]
    assert again == stated


@pytest.mark.parametrize(
    "sampling, free, strays",
    [
        (Sampling(), 1.0, 0.0),
        (Sampling(top_k=40), 1.0, 0.0),
        (Sampling(temperature=0), 0.0, 0.0),
        (Sampling(top_k=1, temperature=2.0), 0.0, 0.0),
        (Sampling(top_p=0.1, temperature=2.0), 0.0, 0.0),
        (Sampling(min_p=1.0, temperature=2.0), 0.0, 0.0),
        (Sampling(temperature=0.5), 0.25, 0.0),
        (Sampling(temperature=0.5, top_k=2), 0.125, 0.0),
        (Sampling(temperature=2.0), 1.0, 0.15),
        (Sampling(xtc_probability=1.0, xtc_threshold=0.1), 1.0, 0.2),
        (Sampling(xtc_probability=1.0, xtc_threshold=0.5), 1.0, 0.0),
        (Sampling(xtc_probability=1.0), 1.0, 0.0),
    ],
)
def test_controls_of_chance_decide_how_free_a_choice_is(sampling: Sampling, free: float, strays: float) -> None:
    assert freedom(sampling) == pytest.approx(free)
    assert straying(sampling) == pytest.approx(strays)


def test_a_model_to_which_everything_is_forbidden_says_nothing_and_ends() -> None:
    everything = tuple((token, -100.0) for token in range(tokens.EOS))
    for limits in (Limits(max_tokens=50), Limits(max_tokens=50, ignore_eos=True), Limits(min_tokens=50)):
        choice = say(sampling=Sampling(logit_bias=everything), limits=limits).choices[0]
        assert (choice.text, list(choice.ids)) == ("", [])


def test_the_end_of_a_text_is_a_token_that_can_be_banned_and_forced() -> None:
    endless = say(sampling=Sampling(logit_bias=((tokens.EOS, -100.0),)), limits=Limits(max_tokens=900)).choices[0]
    assert (len(endless.ids), endless.finish_reason) == (900, "length")
    ended = say(sampling=Sampling(logit_bias=((tokens.EOS, 100.0),)), limits=Limits(max_tokens=900)).choices[0]
    assert (list(ended.ids), ended.finish_reason) == ([], "stop")


def test_forced_bytes_of_a_character_come_out_as_one() -> None:
    first, *rest = tokens.encode("\U0001f9ff")
    assert rest
    said = say(sampling=Sampling(logit_bias=((first, 100.0),)), limits=Limits(max_tokens=4)).choices[0]
    assert list(said.ids) == [first] * 4
    assert tokens.decode(said.ids).startswith(said.text)


@pytest.mark.parametrize("kind", ["json_object", "json_schema"])
def test_controls_leave_a_demanded_form_alone(kind: Any) -> None:
    form = Constraint(kind, {"type": "object", "properties": {"the": {"type": "string"}}, "required": ["the"]})
    wild = Sampling(temperature=2.0, bad_words=("{", '"', "the"), frequency_penalty=2.0, logit_bias=((500, 100.0),))
    text = say(constraint=form, sampling=wild).choices[0].text
    assert isinstance(json.loads(text), dict)
    assert text == say(constraint=form).choices[0].text
    cold = {say(seed, constraint=form, sampling=Sampling(temperature=0)).choices[0].text for seed in range(5)}
    assert len(cold) == 1


def test_beams_are_ranked_by_score_and_the_first_to_end_are_the_shortest() -> None:
    def beam(*logprobs: float) -> tuple[Position, ...]:
        return tuple(map(Position, logprobs))

    beams = [beam(-1.0, -1.0), beam(-0.5, -0.5, -0.5, -3.5), beam(-1.5), beam(-0.9, -0.9, -0.9)]
    assert ranked(beams, Sampling(beams=2, early_stopping=False)) == [3, 0, 1, 2]
    assert ranked(beams, Sampling(beams=2, early_stopping=True)) == [0, 2]
    assert ranked(beams, Sampling(beams=2, early_stopping=False, length_penalty=0.0)) == [2, 0, 3, 1]
    assert ranked(beams, Sampling(beams=2, early_stopping=False, length_penalty=9.0)) == [1, 3, 0, 2]
    assert ranked([beam(), beam(-9.0)], PLAIN) == [1, 0]


def test_thinking_and_predictions_are_counted_beside_the_text() -> None:
    plain = say()
    said = len(plain.choices[0].ids)
    assert plain.usage.unseen is None
    thought = say(effort="low", n=2)
    assert thought.usage.unseen is not None
    assert 96 <= thought.usage.unseen.reasoning < 320
    text = plain.choices[0].text
    assert say(prediction=text).usage.unseen == Unseen(accepted=said)
    # The model's own words come back after an insertion and a gap.
    edited = f"Really? {text[: len(text) // 3]}{text[len(text) // 2 :]}"
    usage = say(prediction=edited).usage.unseen
    assert usage is not None
    assert usage.accepted > 0.7 * said
    assert usage.accepted + usage.rejected == len(tokens.encode(edited))
    limited = say(prediction=edited * 5, limits=Limits(max_tokens=said + 4)).usage
    assert limited.completion_tokens == said + 4


@pytest.mark.parametrize("language", languages.LANGUAGES)
def test_every_language_has_words_to_put_in_the_place_of_others(language: str) -> None:
    found = vocabulary(language)
    assert len(found) == len({*found}) > 300
    assert all(word.isalpha() and word == word.lower() for word in found)


@pytest.mark.parametrize("text", [*QUESTIONS, "(see [the docs](x)) 1,234.5\n\n- item_one isn't 😀😀", ""])
def test_units_have_all_tokens_of_a_phrase_in_their_order(text: str) -> None:
    cut = units(phrase(text))
    assert tuple(token for unit in cut for token in unit.ids) == phrase(text).ids
    assert "".join(unit.text for unit in cut) == text
    assert all(unit.text == unit.lead + unit.text[len(unit.lead) :] for unit in cut)
    assert all(unit.word == unit.text[len(unit.lead) :].lower() for unit in cut)


WORDS = [phrase(" one two"), phrase(" three"), None, phrase(" four five"), phrase(" six")]
TEXTS = [" one", " two", " three", " four", " five", " six"]


@pytest.mark.parametrize(
    "limit, least, said, ended",
    [
        (0, 0, 0, False),
        (2, 0, 2, False),
        (3, 0, 3, False),
        (9, 0, 3, True),
        (9, 4, 5, True),
        (4, 4, 4, False),
        (9, 9, 6, True),
    ],
)
def test_a_limit_gives_a_prefix_and_a_text_ends_where_it_may(limit: int, least: int, said: int, ended: bool) -> None:
    ids, texts, is_ended = first_tokens(iter(WORDS), limit, least)
    assert (len(ids), texts, is_ended) == (said, TEXTS[:said], ended)


def test_no_more_is_written_than_is_needed() -> None:
    written = count()

    def endless() -> Iterator[Phrase]:
        while True:
            next(written)
            yield phrase(" one two")

    assert len(first_tokens(endless(), 5, 0)[0]) == 5
    assert next(written) == 3


PIECES = st.lists(st.sampled_from(("a", "b", "ab", "ba ", "c")), max_size=8)
STOPS = st.builds(
    Stops,
    st.lists(st.text("abc ", max_size=3), max_size=3).map(tuple),
    st.lists(st.lists(st.integers(1, 4), max_size=3).map(tuple), max_size=3).map(tuple),
    st.booleans(),
)


def end_of(ids: Sequence[int], texts: Sequence[str], stops: Stops, least: int) -> int | None:
    """Where the stop ends, in characters, that is complete first."""
    text, begin = "".join(texts), len("".join(texts[:least]))
    ends = [text.find(stop, begin) + len(stop) for stop in stops.texts if stop and text.find(stop, begin) >= 0]
    for stop in filter(None, stops.tokens):
        starts = (at for at in range(least, len(ids)) if tuple(ids[at : at + len(stop)]) == stop)
        ends += [len("".join(texts[: at + len(stop)])) for at in starts]
    return min(ends, default=None)


@given(PIECES, st.data(), STOPS, st.integers(0, 5))
def test_the_stop_that_is_complete_first_cuts(texts: list[str], data: st.DataObject, stops: Stops, least: int) -> None:
    ids = data.draw(st.lists(st.integers(1, 4), min_size=len(texts), max_size=len(texts)))
    end, stopped = end_of(ids, texts, stops, least), cut_at_stop(ids, texts, stops, least)
    assert (stopped is None) == (end is None)
    if stopped is None or end is None:
        return
    kept = "".join(stopped.texts)
    assert "".join(texts).startswith(kept)
    assert len(stopped.ids) == len(stopped.texts)
    if isinstance(stopped.stop, str):
        assert len(kept) == end - (0 if stops.include else len(stopped.stop))
    else:
        assert len(kept) < end


def test_thousands_of_stops_are_looked_for_in_no_time() -> None:
    ids = [1, 2, 3, 4] * 10_000
    texts = ["word "] * len(ids)
    stops = Stops(tuple(f"@{number}" for number in range(2_000)), tuple((1, number) for number in range(5, 20_000)))
    began = time.process_time()
    assert cut_at_stop(ids, texts, stops) is None
    assert time.process_time() - began < 1
