"""Request controls, each with its effect, each measured on every dialect that has the field.

A row of the table is a control, the shapes of request that know it, and what to measure. The measures look at answers
as a client sees them: texts, tokens where the vendor shows them, usage and log-probabilities.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import exp
from typing import Any

import pytest

from mockserver.model import tokens
from tests.support.asking import Answer
from tests.support.shapes import SHAPES, Shape

QUESTION = "What makes a good library interface?"
ESSAY = "Write a long essay about the sea."
HARBOUR = "The old harbour at night"

RESPONSES = {shape.id for shape in SHAPES if shape.responds}
MESSAGES = {shape.id for shape in SHAPES if shape.messages}
ALL = {shape.id for shape in SHAPES} - RESPONSES - MESSAGES
FRIENDLI = {"friendli", "friendli-container", "friendli-serverless", "friendli-dedicated"}
FRIENDLI_TODAY = FRIENDLI - {"friendli"}
FRIENDLI_CHATS = {"friendli-chat", "friendli-chat-container", "friendli-chat-serverless"}
FRIENDLI_CHATS_TODAY = FRIENDLI_CHATS - {"friendli-chat"}
OVMS = {"ovms", "ovms-observed"}
OVMS_CHATS = {"ovms-chat", "ovms-chat-observed"}
YANDEX = {"yandex-d1", "yandex-d2"}
CEREBRAS_CHATS = {"cerebras-chat", "cerebras-chat-observed"}
CHATS = {shape.id for shape in SHAPES if shape.chats}
PENALISED = ALL - {"cerebras"}
BIASED = YANDEX | CEREBRAS_CHATS | FRIENDLI_CHATS | {"cerebras-observed", "upstash"}

SAMPLED: tuple[dict[str, Any], ...] = (
    {},
    {"temperature": 0},
    {"temperature": 0.3, "top_p": 0.7},
    {"temperature": 1.5},
)

Effect = Callable[[Shape], None]
CONTROLS: list[tuple[str, set[str], Effect]] = []


def control(name: str, shapes: set[str]) -> Callable[[Effect], Effect]:
    """Put a measure into the table."""

    def listed(effect: Effect) -> Effect:
        CONTROLS.append((f"{name}: {effect.__name__}", shapes, effect))
        return effect

    return listed


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.lower())


def text(shape: Shape, prompt: str = QUESTION, **fields: Any) -> str:
    return shape.text(shape.plain(prompt, **fields))


def sown(shape: Shape, seed: int) -> Shape:
    """The shape with a seed in its body; `plain` takes one for the server."""
    return replace(shape, body=lambda prompt: shape.body(prompt) | {"seed": seed})


def variants(shape: Shape, prompt: str = QUESTION, **fields: Any) -> list[str]:
    """Answers that differ by nothing but a seed: the field where the vendor has it, else the choices of one answer.

    The APIs of responses and of messages have neither, so there the server's seed is another.
    """
    if shape.responds or shape.messages:
        return _by_server(shape, prompt, **fields)
    if shape.dialect == "yandex":
        answer = shape.plain(prompt, n=8, **fields)
        return [shape.text(answer, index) for index in range(8)]
    return [text(sown(shape, seed), prompt, **fields) for seed in range(8)]


def closeness(texts: Sequence[str]) -> float:
    """How many of their words two of the texts share, on average."""
    shares = [len({*words(a)} & {*words(b)}) / len({*words(a)} | {*words(b)}) for a, b in combinations(texts, 2)]
    return sum(shares) / len(shares)


def repeats(text: str, size: int = 1) -> float:
    """The share of n-grams of words that came before in the same text."""
    said = words(text)
    grams = [tuple(said[at : at + size]) for at in range(len(said) - size + 1)]
    return 1 - len(set(grams)) / len(grams)


def most(shape: Shape, count: int) -> dict[str, Any]:
    """The field that limits an answer to as many tokens."""
    return {"max_completion_tokens" if shape.id in YANDEX else "max_tokens": count}


def ids(shape: Shape, answer: Answer) -> list[int]:
    """The tokens of the first choice as the vendor shows them, else those of its text."""
    choice = answer.json()["choices"][0]
    return list(choice["tokens"]) if "tokens" in choice else tokens.encode(shape.text(answer))


# --- chance ------------------------------------------------------------------------------------------------------


@control("temperature", ALL | RESPONSES | MESSAGES)
def at_zero_every_seed_says_the_same(shape: Shape) -> None:
    assert len({*variants(shape, temperature=0)}) == 1
    assert len({text(shape, temperature=0) for _ in range(2)}) == 1
    assert len({shape.text(shape.plain(QUESTION, seed, temperature=0)) for seed in (1, 2, 42)}) == 1


def _by_server(shape: Shape, prompt: str, **fields: Any) -> list[str]:
    return [shape.text(shape.plain(prompt, seed, **fields)) for seed in range(8)]


@control("temperature", ALL | RESPONSES)
def seeds_differ_the_more_the_hotter(shape: Shape) -> None:
    for ask in (variants, _by_server):
        cold, warm, hot = (
            sum(closeness(ask(shape, prompt, temperature=heat)) for prompt in (QUESTION, ESSAY, HARBOUR))
            for heat in (0.2, 0.7, 1.5)
        )
        assert cold > warm + 0.3 > hot + 0.3


@control("top_p", ALL | RESPONSES | MESSAGES)
def a_small_nucleus_is_greedy(shape: Shape) -> None:
    assert {*variants(shape, top_p=0.05)} == {text(shape, temperature=0)}
    assert closeness(variants(shape, top_p=0.4)) > closeness(variants(shape))


@control("top_k", FRIENDLI | FRIENDLI_CHATS | OVMS | MESSAGES)
def one_token_to_choose_from_is_greedy(shape: Shape) -> None:
    assert {*variants(shape, top_k=1)} == {text(shape, temperature=0)}
    assert closeness(variants(shape, top_k=2)) > closeness(variants(shape))


@control("min_p", FRIENDLI_TODAY | FRIENDLI_CHATS_TODAY | {"ovms-observed", "ovms-chat-observed"})
def only_the_likeliest_tokens_are_greedy(shape: Shape) -> None:
    assert {*variants(shape, min_p=0.95)} == {text(shape, temperature=0)}
    assert closeness(variants(shape, min_p=0.5)) > closeness(variants(shape))


@control("xtc_probability", FRIENDLI_TODAY | FRIENDLI_CHATS_TODAY)
def leaving_out_likely_tokens_changes_words(shape: Shape) -> None:
    plain, changed = text(shape), text(shape, xtc_probability=1, xtc_threshold=0.1)
    assert changed != plain
    assert closeness([plain, changed]) > 0.4
    assert text(shape, xtc_probability=1, xtc_threshold=0.6) == text(shape, xtc_probability=1) == plain


@control("seed", ALL - YANDEX)
def a_seed_says_the_same_again_and_another_something_else(shape: Shape) -> None:
    assert variants(shape) == variants(shape)
    assert len({*variants(shape)}) == 8


@control("n", ALL - OVMS - OVMS_CHATS - {"cerebras", "cerebras-chat-observed"})
def so_many_choices_come_and_the_first_is_the_only_one_of_one(shape: Shape) -> None:
    three = shape.plain(QUESTION, n=3)
    texts = [shape.text(three, index) for index in range(3)]
    assert texts[0] == text(shape)
    assert len(three.json()["choices"]) == len({*texts}) == 3


# --- what is said ------------------------------------------------------------------------------------------------


@control("logit_bias", BIASED)
def a_banned_token_never_comes(shape: Shape) -> None:
    common = [tokens.encode(word)[0] for word in (" the", " of", " and")]
    for prompt in (QUESTION, ESSAY, HARBOUR):
        assert " the" in text(shape, prompt)
        banned = text(shape, prompt, logit_bias={str(token): -100 for token in common})
        assert not {" the", " of", " and"} & {tokens.decode((token,)) for token in tokens.encode(banned)}
        assert " the" not in banned


@control("logit_bias", BIASED)
def a_forced_token_is_all_there_is(shape: Shape) -> None:
    (token,) = tokens.encode(" water")
    said = text(shape, logit_bias={str(token): 100}, **most(shape, 7))
    assert said == " water" * 7


@control("logit_bias", BIASED)
def a_bias_in_between_shifts_how_often_a_token_comes(shape: Shape) -> None:
    (token,) = tokens.encode(" water")
    counts = [text(shape, ESSAY, logit_bias={str(token): bias}).count(" water") for bias in (0, 1, 3, 5, 10)]
    assert counts == sorted(counts)
    assert counts[0] < counts[2] < counts[3] < counts[4]
    (the,) = tokens.encode(" the")
    fewer = [text(shape, ESSAY, logit_bias={str(the): bias}).count(" the ") for bias in (0, -1, -4)]
    assert fewer[0] > fewer[1] > fewer[2]


@control("bad_words", FRIENDLI)
def a_bad_word_never_comes_even_across_tokens(shape: Shape) -> None:
    whole = text(shape, ESSAY)
    phrases = [whole[10:24], whole[40:43], " is", "ing", "e t"]
    said = text(shape, ESSAY, bad_words=phrases)
    assert not [phrase for phrase in phrases if phrase in said]
    assert len(words(said)) > 100


@control("bad_word_tokens", FRIENDLI)
def a_bad_sequence_never_comes(shape: Shape) -> None:
    whole = ids(shape, shape.plain(ESSAY))
    rows = [whole[3:5], whole[10:13], whole[20:21]]
    said = ids(shape, shape.plain(ESSAY, bad_word_tokens=[{"tokens": row} for row in rows]))
    assert not [row for row in rows for at in range(len(said)) if said[at : at + len(row)] == row]
    assert len(said) > 100


@control("frequency_penalty", PENALISED)
def penalties_on_frequency_reduce_repeats(shape: Shape) -> None:
    rewarded, plain, some, much = (
        repeats(text(shape, ESSAY, frequency_penalty=penalty)) for penalty in (-2, 0, 0.5, 2)
    )
    assert rewarded > plain > some > much


@control("presence_penalty", PENALISED)
def penalties_on_presence_reduce_repeats(shape: Shape) -> None:
    rewarded, plain, some, much = (repeats(text(shape, ESSAY, presence_penalty=penalty)) for penalty in (-2, 0, 0.5, 2))
    assert rewarded > plain > some > much


@control("repetition_penalty", FRIENDLI | FRIENDLI_CHATS | OVMS)
def penalties_on_repetition_reduce_repeats(shape: Shape) -> None:
    plain, some, much = (repeats(text(shape, ESSAY, repetition_penalty=penalty)) for penalty in (1, 1.1, 2))
    assert plain > some > much
    if shape.id not in ("friendli", "friendli-chat"):  # "should be greater than or equal to 1.0"
        assert repeats(text(shape, ESSAY, repetition_penalty=0.7)) > plain


@control("repetition_penalty", FRIENDLI | FRIENDLI_CHATS | OVMS)
def words_of_the_prompt_count_as_said(shape: Shape) -> None:
    prompt = "Explain lighthouse architecture."
    assert "lighthouse" in text(shape, prompt, temperature=0)
    assert text(shape, prompt, repetition_penalty=3).count("lighthouse") < text(shape, prompt).count("lighthouse")
    if shape.id in FRIENDLI:
        model: dict[str, Any] = {"model": "facebook/blenderbot-400M-distill"}
        said = text(shape, prompt, encoder_repetition_penalty=3, **model)
        assert said.count("lighthouse") < text(shape, prompt, **model).count("lighthouse")


@control("no_repeat_ngram", FRIENDLI | FRIENDLI_CHATS_TODAY)
def no_n_gram_comes_twice(shape: Shape) -> None:
    for size in (2, 3):
        said = [*tokens.encode(ESSAY), *ids(shape, shape.plain(ESSAY, no_repeat_ngram=size))]
        grams = [tuple(said[at : at + size]) for at in range(len(said) - size + 1)]
        assert len({*grams}) == len(grams) > 150
    free = ids(shape, shape.plain(ESSAY, no_repeat_ngram=1))
    assert len({*pairwise(free)}) < len(free) - 1


@control("encoder_no_repeat_ngram", FRIENDLI)
def no_n_gram_comes_from_the_input(shape: Shape) -> None:
    model: dict[str, Any] = {"model": "google/flan-t5-xl"}
    read = ids(shape, shape.plain(ESSAY, **model))
    free, bound = (ids(shape, shape.plain(tokens.decode(read), encoder_no_repeat_ngram=n, **model)) for n in (1, 2))
    assert not {*pairwise(read)}.isdisjoint(pairwise(free))
    assert {*pairwise(read)}.isdisjoint(pairwise(bound))


# --- how much is said --------------------------------------------------------------------------------------------


@control("max_tokens", ALL | RESPONSES | MESSAGES)
def a_limit_gives_a_prefix_under_controls_too(shape: Shape) -> None:
    fields: dict[str, Any] = {"temperature": 0.6, **({"frequency_penalty": 1} if shape.id in PENALISED else {})}
    whole = text(shape, **fields)
    for limit in (limit for limit in (1, 7, 30) if limit >= shape.least):
        answer = shape.plain(QUESTION, **fields, **most(shape, limit))
        assert whole.startswith(shape.text(answer))
        usage = shape.usage(answer)
        assert usage is not None
        assert usage["completion_tokens"] == limit


@control("min_tokens", FRIENDLI | FRIENDLI_CHATS | CEREBRAS_CHATS | {"cerebras", "cerebras-observed"})
def an_answer_has_so_many_tokens_at_least(shape: Shape) -> None:
    answer = shape.plain(QUESTION, min_tokens=400, temperature=0.5)
    assert answer.json()["usage"]["completion_tokens"] >= 400
    assert shape.text(answer).startswith(text(shape, temperature=0.5))


@control("min_total_tokens", FRIENDLI)
def prompt_and_answer_have_so_many_tokens_at_least(shape: Shape) -> None:
    free, usage = (
        answer.json()["usage"] for answer in (shape.plain(QUESTION), shape.plain(QUESTION, min_total_tokens=300))
    )
    assert usage["total_tokens"] >= 300 > free["total_tokens"]


@control("max_total_tokens", FRIENDLI)
def prompt_and_answer_have_so_many_tokens_at_most(shape: Shape) -> None:
    usage = shape.plain(QUESTION, max_total_tokens=30).json()["usage"]
    assert usage["total_tokens"] == 30


@control("ignore_eos", OVMS | OVMS_CHATS)
def an_answer_goes_on_to_its_limit(shape: Shape) -> None:
    answer = shape.plain(QUESTION, ignore_eos=True, max_tokens=900, presence_penalty=0.5)
    choice = answer.json()["choices"][0]
    assert (answer.json()["usage"]["completion_tokens"], choice["finish_reason"]) == (900, "length")


@control("stop_tokens, eos_token", FRIENDLI | FRIENDLI_CHATS)
def a_listed_token_ends_the_answer(shape: Shape) -> None:
    whole = ids(shape, shape.plain(QUESTION))
    end = whole[12]
    fields: list[dict[str, Any]] = [{"eos_token": [end]}]
    if not shape.chats:
        fields.append({"stop_tokens": [{"tokens": [end]}]})
    for field in fields:
        assert ids(shape, shape.plain(QUESTION, **field)) == whole[: whole.index(end)]


@control("stop", (ALL | MESSAGES) - YANDEX)
def a_stop_cuts_what_the_controls_made(shape: Shape) -> None:
    whole = text(shape, temperature=0.5)
    stop = whole[40:46]
    assert text(shape, temperature=0.5, stop=[stop]) == whole[: whole.index(stop)]


@control("forced_output_tokens", FRIENDLI)
def the_answer_is_the_forced_one(shape: Shape) -> None:
    forced = tokens.encode("Say exactly this, and nothing else.")
    assert ids(shape, shape.plain(QUESTION, forced_output_tokens=forced)) == forced


@control("stream", ALL | RESPONSES)
def a_stream_says_the_same_under_controls(shape: Shape) -> None:
    for fields in (*SAMPLED, *(() if shape.strict else ({"presence_penalty": 1.5},))):
        plain, stream = shape.plain(QUESTION, **fields), shape.stream(QUESTION, **fields)
        assert shape.text(stream) == shape.text(plain)
        assert shape.usage(stream) == (shape.usage(plain) if shape.stream_usage else None)


# --- searching ---------------------------------------------------------------------------------------------------


def _mean(choice: dict[str, Any]) -> float:
    logprobs = choice["logprobs"]
    values = logprobs if isinstance(logprobs, list) else logprobs["token_logprobs"]
    return sum(values) / len(values)


@control("best_of", {"cerebras-observed", *OVMS})
def the_likeliest_candidates_come_first(shape: Shape) -> None:
    for prompt in (QUESTION, ESSAY, HARBOUR):
        every = shape.plain(prompt, n=6, best_of=6, logprobs=1).json()["choices"]
        (best,) = shape.plain(prompt, n=1, best_of=6, logprobs=1).json()["choices"]
        scores = [_mean(choice) for choice in every]
        assert scores == sorted(scores, reverse=True)
        assert len({choice["text"] for choice in every}) == 6
        assert (best["text"], _mean(best)) == (every[0]["text"], scores[0])


@control("num_beams", {"friendli"})
def more_beams_find_nothing_worse(shape: Shape) -> None:
    better = 0
    for prompt in (QUESTION, HARBOUR, "List three fruits", "Explain rain to a child"):
        asked: dict[str, Any] = {"max_tokens": 40, "include_output_logprobs": True}
        (greedy,) = shape.plain(prompt, temperature=0, **asked).json()["choices"]
        found = [shape.plain(prompt, num_beams=beams, **asked).json()["choices"] for beams in (2, 5, 20)]
        scores = [_mean(greedy), *(_mean(choice) for (choice,) in found)]
        assert scores == sorted(scores)
        better += scores[0] < scores[-1]
    assert better > 1


@control("beam_search_type", {"friendli"})
def only_beams_that_are_drawn_heed_the_seed(shape: Shape) -> None:
    for kind, count in (("DETERMINISTIC", 1), ("NAIVE_SAMPLING", 4), ("STOCHASTIC", 4)):
        said = {text(sown(shape, seed), num_beams=3, beam_search_type=kind) for seed in (5, 6, 7, 8)}
        assert len(said) == count
    (drawn,) = shape.plain(QUESTION, num_beams=3, beam_search_type="STOCHASTIC").json()["choices"]
    assert text(sown(shape, drawn["seed"]), num_beams=3, beam_search_type="STOCHASTIC") == drawn["text"]


def _search(shape: Shape) -> dict[str, Any]:
    return {"best_of": 10} if shape.dialect == "ovms" else {"num_beams": 10}


@control("length_penalty", {"friendli", *OVMS, *OVMS_CHATS})
def a_high_penalty_promotes_long_answers(shape: Shape) -> None:
    short, usual, long = (
        sum(len(text(shape, prompt, length_penalty=penalty, **_search(shape))) for prompt in (QUESTION, HARBOUR))
        for penalty in (-2, 1, 4)
    )
    assert short < usual < long


@control("early_stopping", {"friendli"})
def stopping_early_takes_the_best_of_the_first_to_end(shape: Shape) -> None:
    prompts = (QUESTION, HARBOUR, "Explain how tides work", "Tell me about sea otters")
    rows = [
        [
            shape.plain(prompt, num_beams=4, early_stopping=early, include_output_logprobs=True).json()["choices"][0]
            for prompt in prompts
        ]
        for early in (True, False)
    ]
    assert all(_mean(early) <= _mean(late) for early, late in zip(*rows, strict=True))
    early, late = (sum(len(choice["tokens"]) for choice in row) for row in rows)
    assert early < late


# --- what is counted and not shown -------------------------------------------------------------------------------


def _details(answer: Answer) -> dict[str, int]:
    found: dict[str, int] = answer.json()["usage"]["completion_tokens_details"]
    return found


@control("reasoning_effort", YANDEX)
def thinking_is_counted_and_grows_with_the_effort(shape: Shape) -> None:
    plain = shape.plain(QUESTION)
    assert "completion_tokens_details" not in plain.json()["usage"]
    thought = []
    for effort in ("none", "minimal", "low", "medium", "high"):
        answer = shape.plain(QUESTION, reasoning_effort=effort)
        thought.append(_details(answer)["reasoning_tokens"])
        usage = answer.json()["usage"]
        assert shape.text(answer) == shape.text(plain)
        assert usage["completion_tokens"] == plain.json()["usage"]["completion_tokens"] + thought[-1]
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert thought[0] == 0
    assert thought == sorted({*thought})


@control("reasoning_effort", YANDEX)
def thinking_counts_towards_the_limit(shape: Shape) -> None:
    answer = shape.plain(QUESTION, reasoning_effort="high", max_completion_tokens=50)
    assert (shape.text(answer), answer.json()["choices"][0]["finish_reason"]) == ("", "length")
    assert answer.json()["usage"]["completion_tokens"] == _details(answer)["reasoning_tokens"] == 50


@control("prediction", YANDEX | CEREBRAS_CHATS)
def what_came_true_is_accepted_and_the_rest_rejected_and_billed(shape: Shape) -> None:
    plain = shape.plain(ESSAY)
    said, cost = shape.text(plain), plain.json()["usage"]["completion_tokens"]
    half = said[: len(said) // 2] + " Something quite unlike it comes instead of all that follows here."
    for predicted, least, most in ((said, 0.99, 1.0), (half, 0.4, 0.6), ("0 1 2 3 4 5 6 7 8 9", 0, 0.01)):
        answer = shape.plain(ESSAY, prediction={"type": "content", "content": predicted})
        details = _details(answer)
        accepted, rejected = details["accepted_prediction_tokens"], details["rejected_prediction_tokens"]
        assert least * cost <= accepted <= most * cost
        assert accepted + rejected == len(tokens.encode(predicted))
        assert answer.json()["usage"]["completion_tokens"] == cost + rejected
        assert shape.text(answer) == said


# --- log-probabilities -------------------------------------------------------------------------------------------

# A chat of OVMS tells no alternatives (see its own tests).
SCORED = ALL - {"friendli"} - OVMS_CHATS


def _asked(shape: Shape, count: int) -> dict[str, Any]:
    """The fields that ask for as many alternatives."""
    if shape.chats:
        return {"logprobs": True, "top_logprobs": count}
    return {"logprobs": min(count, {"ovms": 1, "openai": 5}.get(shape.dialect, count))}


def _rows(shape: Shape, answer: Answer) -> list[tuple[str, float, dict[str, float]]]:
    """The tokens of the first choice with their log-probabilities and those of the likeliest, plain or streamed."""
    if not answer.plan.timeline.streamed:
        found = [answer.json()["choices"][0]["logprobs"]]
    else:
        choices = [event["choices"][0] for event in answer.events() if event != "[DONE]" and event["choices"]]
        found = [choice["logprobs"] for choice in choices if choice.get("logprobs")]
    if "content" in found[0]:
        return [
            (row["token"], row["logprob"], {top["token"]: top["logprob"] for top in row["top_logprobs"]})
            for part in found
            for row in part["content"]
        ]
    columns = ("tokens", "token_logprobs", "top_logprobs")
    return [row for part in found for row in zip(*(part[column] for column in columns), strict=True)]


@control("logprobs", SCORED)
def probabilities_add_up_to_less_than_one(shape: Shape) -> None:
    for fields in SAMPLED:
        answer = shape.plain(QUESTION, **_asked(shape, 20), **fields)
        rows = _rows(shape, answer)
        assert "".join(token for token, _, _ in rows) == shape.text(answer)
        for token, logprob, top in rows:
            assert logprob < 0
            assert sum(map(exp, top.values())) <= 1
            assert top[token] == logprob if token in top else logprob < min(top.values())


@control("logprobs", SCORED)
def the_likeliest_is_what_a_greedy_choice_takes(shape: Shape) -> None:
    for fields in ({"temperature": 0}, {"top_p": 0.01}):
        for token, logprob, top in _rows(shape, shape.plain(QUESTION, **_asked(shape, 4), **fields)):
            assert logprob == top[token] == max(top.values())


@control("logprobs", SCORED - OVMS)
def a_stream_scores_as_the_plain_answer_does(shape: Shape) -> None:
    for fields in SAMPLED:
        asked = {**_asked(shape, 3), **fields}
        assert _rows(shape, shape.stream(QUESTION, **asked)) == _rows(shape, shape.plain(QUESTION, **asked))


@control("logprobs", {"upstash"} | FRIENDLI_CHATS | YANDEX)
def bytes_are_those_of_the_text_and_unlikely_tokens_are_told_as_the_page_says(shape: Shape) -> None:
    unlikely = 0
    for prompt in (QUESTION, "Расскажи об осени 🍁", "日本の庭について教えてください"):
        answer = shape.plain(prompt, temperature=1.9, **_asked(shape, 20))
        rows = answer.json()["choices"][0]["logprobs"]["content"]
        assert bytes(byte for row in rows for byte in row["bytes"]) == shape.text(answer).encode()
        for row in rows:
            listed = row["token"] in [top["token"] for top in row["top_logprobs"]]
            assert listed == (row["logprob"] != -9999.0)
            unlikely += not listed
            alternatives = [top for top in row["top_logprobs"] if top["token"] != row["token"]]
            assert all(bytes(top["bytes"]) == top["token"].encode() for top in alternatives)
    assert unlikely


@control("logprobs", SCORED - CHATS)
def offsets_point_into_the_text(shape: Shape) -> None:
    prompt = "Расскажи об осени"
    answer = shape.plain(prompt, temperature=0.8, **_asked(shape, 1))
    found = answer.json()["choices"][0]["logprobs"]
    said = shape.text(answer)
    if shape.dialect in ("cerebras", "openai"):
        said = prompt + said  # "character offsets since the prompt"
    # "offsets are byte lengths" in the one.
    row: str | bytes = said.encode() if shape.dialect == "ovms" else said
    for token, offset in zip(found["tokens"], found["text_offset"], strict=True):
        assert row[offset:].startswith(token.encode() if isinstance(row, bytes) else token)


@control("echo", {"cerebras", "cerebras-observed", *OVMS})
def an_echoed_prompt_is_scored_like_the_answer(shape: Shape) -> None:
    answer = shape.plain(HARBOUR, echo=True, temperature=0.5, **_asked(shape, 1))
    found = answer.json()["choices"][0]["logprobs"]
    assert "".join(found["tokens"]) == shape.text(answer)
    assert shape.text(answer).startswith(HARBOUR)
    assert len(found["token_logprobs"]) == len(found["tokens"]) == len(found["text_offset"])
    assert all(value < 0 for value in found["token_logprobs"][1:])


@control("logprobs, logit_bias", BIASED)
def biases_show_in_the_scores(shape: Shape) -> None:
    (token,) = tokens.encode(" water")
    limit = most(shape, 30)
    forced = _rows(shape, shape.plain(QUESTION, logit_bias={str(token): 100}, **limit, **_asked(shape, 5)))
    assert all(said == " water" and -0.001 < logprob < 0 for said, logprob, _ in forced)
    banned = {str(tokens.encode(word)[0]): -100 for word in (" the", " a", " is", " of", ".")}
    for _, _, top in _rows(shape, shape.plain(QUESTION, logit_bias=banned, **limit, **_asked(shape, 20))):
        assert not {" the", " a", " is", " of", "."} & {*top}
    for greedy in SAMPLED[:2]:
        raised = _rows(shape, shape.plain(QUESTION, logit_bias={str(token): 5}, **_asked(shape, 5), **greedy))
        assert {said == " water" for said, _, _ in raised} == {True, False}
        assert all(" water" in top and sum(map(exp, top.values())) <= 1 for _, _, top in raised)
        assert not greedy or all(top[said] == max(top.values()) for said, _, top in raised)


@control("logprobs, bad_words", FRIENDLI_TODAY)
def bad_words_are_no_rivals(shape: Shape) -> None:
    for _, _, top in _rows(shape, shape.plain(QUESTION, bad_words=["the", "is"], **_asked(shape, 20))):
        assert not [token for token in top if "the" in token or "is" in token]


@control("include_output_logprobs, include_output_logits", {"friendli"})
def the_page_scores_every_token(shape: Shape) -> None:
    asked: dict[str, Any] = {"include_output_logprobs": True, "include_output_logits": True}
    choice = shape.plain(QUESTION, temperature=0.5, **asked).json()["choices"][0]
    assert len(choice["logprobs"]) == len(choice["logits"]) == len(choice["tokens"])
    assert all(value < 0 for value in choice["logprobs"])
    plain = shape.plain(QUESTION, temperature=0.5).json()["choices"][0]
    assert {"logprobs", "logits"}.isdisjoint(plain)


def test_a_bias_beyond_all_measure_forces_a_token_as_one_of_a_hundred_does() -> None:
    [shape] = [each for each in SHAPES if each.id == "friendli-chat-serverless"]
    [token] = tokens.encode(" water")
    forced, more = (text(shape, logit_bias={str(token): bias}, max_tokens=7) for bias in (100, 1e308))
    assert forced == more


# --- the table ---------------------------------------------------------------------------------------------------

ROWS = [
    pytest.param(shape, effect, id=f"{shape.id}-{name}")
    for name, shapes, effect in CONTROLS
    for shape in SHAPES
    if shape.id in shapes
]


@pytest.mark.parametrize("shape, effect", ROWS)
def test_a_control_has_its_effect(shape: Shape, effect: Effect) -> None:
    effect(shape)
