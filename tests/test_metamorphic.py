"""Relations that hold for every dialect, edition and backend, whatever the seed and the prompt."""

import pytest

from tests.support.shapes import SHAPES, Shape

PROMPTS = (
    "What is the capital of Turkey?",
    "Расскажи подробно об отпуске в Карелии",
    "Write a Python function that sorts a list 😀",
    "Once upon a time",
    "日本の庭について教えてください",
)
SEEDS = (0, 1, 7, 42, 2**40, -3)

every_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
many_shapes = pytest.mark.parametrize("shape", [s for s in SHAPES if s.many], ids=lambda shape: shape.id)
every_prompt = pytest.mark.parametrize("prompt", PROMPTS)


@every_shape
@every_prompt
def test_a_stream_says_what_the_plain_answer_says(shape: Shape, prompt: str) -> None:
    for seed in SEEDS:
        plain, stream = shape.plain(prompt, seed), shape.stream(prompt, seed)
        assert shape.text(stream) == shape.text(plain) != ""
        assert shape.usage(stream) == (shape.usage(plain) if shape.stream_usage else None)


@every_shape
@every_prompt
def test_a_lower_limit_gives_a_prefix_of_as_many_tokens(shape: Shape, prompt: str) -> None:
    whole = shape.plain(prompt)
    usage = shape.usage(whole)
    assert usage is not None
    for limit in (limit for limit in (1, 2, 3, 5, 8, 13, 21) if limit >= shape.least):
        cut = shape.plain(prompt, max_tokens=limit)
        cut_usage = shape.usage(cut)
        assert cut_usage is not None
        assert shape.text(whole).startswith(shape.text(cut).rstrip("\ufffd"))
        assert cut_usage["completion_tokens"] == min(limit, usage["completion_tokens"])
        assert cut_usage["total_tokens"] == cut_usage["prompt_tokens"] + cut_usage["completion_tokens"]


@many_shapes
@every_prompt
def test_the_first_of_three_choices_is_the_only_one_of_one(shape: Shape, prompt: str) -> None:
    for seed in SEEDS:
        one, three = shape.plain(prompt, seed), shape.plain(prompt, seed, n=3)
        texts = [shape.text(three, index) for index in range(3)]
        assert texts[0] == shape.text(one)
        assert len(set(texts)) == 3


@many_shapes
def test_three_streamed_choices_are_the_three_plain_ones(shape: Shape) -> None:
    plain, stream = shape.plain(PROMPTS[0], n=3), shape.stream(PROMPTS[0], n=3)
    assert [shape.text(stream, i) for i in range(3)] == [shape.text(plain, i) for i in range(3)]
    assert shape.usage(stream) == (shape.usage(plain) if shape.stream_usage else None)


@every_shape
def test_seeds_tell_different_stories_and_a_seed_always_the_same(shape: Shape) -> None:
    texts = [shape.text(shape.plain(PROMPTS[0], seed)) for seed in SEEDS]
    assert len(set(texts)) == len(SEEDS)
    assert texts == [shape.text(shape.plain(PROMPTS[0], seed)) for seed in SEEDS]


@every_shape
def test_a_stop_ends_the_text_where_it_would_have_come(shape: Shape) -> None:
    if shape.dialect == "yandex" or shape.id in ("friendli-responses", "openai-responses"):
        pytest.skip("the vendor ignores or refuses stop")
    whole = shape.text(shape.plain(PROMPTS[0]))
    stop = whole[len(whole) // 2 :][:6]
    stopped = shape.plain(PROMPTS[0], stop=[stop])
    assert shape.text(stopped) == whole[: whole.index(stop)]


@every_shape
def test_the_tokens_on_the_timeline_are_those_of_the_usage(shape: Shape) -> None:
    for answer in (shape.plain(PROMPTS[0]), shape.stream(PROMPTS[0])):
        carried = sum(sum(run.tokens) for run in answer.plan.timeline.runs)
        assert answer.plan.generation is not None
        assert carried == answer.plan.generation.usage.completion_tokens
