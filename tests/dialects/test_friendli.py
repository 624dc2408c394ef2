"""FriendliAI: both wires to the byte, and what each field of the page and of the service does."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from mockserver.core.dialects import Edition
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, GenerationRequest
from mockserver.dialects.friendli.dialect import FRIENDLI
from mockserver.dialects.friendli.read import known_fields
from mockserver.model import tokens
from mockserver.state.settings import Settings
from tests.support.asking import FROZEN, QUIET, Answer, ask
from tests.support.reading import choice

SERVERLESS = "/serverless/v1/completions"
DEDICATED = "/dedicated/v1/completions"
MODEL = "meta-llama/Llama-3.1-8B-Instruct"
PROMPT = "Write a few sentences about the harbour of a small town in autumn."
USAGE = {"stream_options": {"include_usage": True}}
BEAMS = {"num_beams": 4}

both_editions = pytest.mark.parametrize("edition", ["documented", "observed"])


def legacy(**fields: Any) -> Answer:
    return ask("friendli", {"prompt": PROMPT, **fields})


def current(**fields: Any) -> Answer:
    return ask("friendli", {"model": MODEL, "prompt": PROMPT, **fields}, path=SERVERLESS)


def asked(edition: Edition, **fields: Any) -> Answer:
    return ask("friendli", {"prompt": PROMPT, **fields}, edition=edition)


def request_of(answer: Answer) -> GenerationRequest:
    assert answer.plan.generation is not None
    return answer.plan.generation.request


def places(answer: Answer) -> list[list[str | int]]:
    assert answer.status == 422
    return [entry["loc"] for entry in answer.json()["detail"]]


# --- the page's wire ---------------------------------------------------------------------------------------------


def test_the_pages_answer_has_choices_and_usage_in_the_spacing_of_its_stream() -> None:
    answer = legacy(seed=42, max_tokens=7)
    body = answer.json()
    (only,) = body["choices"]
    assert list(body) == ["choices", "usage"]
    assert list(only) == ["index", "seed", "text", "tokens"]
    assert list(body["usage"]) == ["prompt_tokens", "completion_tokens", "total_tokens"]
    assert (only["index"], only["seed"], len(only["tokens"])) == (0, 42, 7)
    assert answer.body == json.dumps(body).encode()
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("shown", [{}, {"include_output_logprobs": True, "include_output_logits": True}])
def test_the_pages_stream_has_one_event_for_each_token_then_the_whole_answer_on_one_line(shown: dict[str, Any]) -> None:
    plain, stream = (legacy(seed=42, max_tokens=7, **shown, **streamed) for streamed in ({}, {"stream": True}))
    told = choice(plain)
    texts = tokens.texts(told["tokens"])
    lines = [
        f'data: {{"event": "token_sampled", "index": 0, "text": {json.dumps(text)}, "token": {token}}}'
        for text, token in zip(texts, told["tokens"], strict=True)
    ]
    lines.append(f'data: {{"event": "complete", {plain.body.decode()[1:]}')
    assert stream.body.decode() == "".join(f"{line}\n\n" for line in lines)
    assert stream.headers["content-type"] == "text/event-stream"


def test_the_page_is_written_in_ascii_since_its_client_cuts_lines_at_more_than_line_ends() -> None:
    fields: dict[str, Any] = {"prompt": "Расскажи об осени", "forced_output_tokens": tokens.encode("осень\u2028\x85\n")}
    for answer in (legacy(**fields), legacy(**fields, stream=True)):
        assert answer.body.isascii()
        assert answer.status == 200
    assert choice(legacy(**fields))["text"] == "осень\u2028\x85\n"


def test_choices_of_a_stream_take_turns_and_share_one_complete_event() -> None:
    plain = legacy(n=2, seed=[7, 8], max_tokens=3)
    *sampled, complete = legacy(n=2, seed=[7, 8], max_tokens=3, stream=True).events()
    assert [event["index"] for event in sampled] == [0, 1, 0, 1, 0, 1]
    assert complete == {"event": "complete", **plain.json()}
    assert [choice(plain, index)["seed"] for index in (0, 1)] == [7, 8]


def test_an_answer_of_no_tokens_streams_its_complete_event_alone() -> None:
    (complete,) = legacy(max_tokens=0, stream=True).events()
    assert (complete["choices"][0]["text"], complete["choices"][0]["tokens"]) == ("", [])
    assert complete["usage"]["completion_tokens"] == 0


def test_the_page_shows_a_number_for_each_token_when_logprobs_or_logits_are_asked_for() -> None:
    told = choice(legacy(max_tokens=5, include_output_logprobs=True, include_output_logits=True))
    assert list(told) == ["index", "seed", "text", "tokens", "logprobs", "logits"]
    assert len(told["logprobs"]) == len(told["logits"]) == 5
    assert all(logprob <= 0 for logprob in told["logprobs"])
    # A softmax of the logits leads back to the log-probabilities: they differ by one number.
    rows = zip(told["logits"], told["logprobs"], strict=True)
    assert len({round(logit - logprob, 3) for logit, logprob in rows}) == 1
    assert "logits" not in choice(legacy(max_tokens=5, include_output_logprobs=True))
    assert "logprobs" not in choice(legacy(max_tokens=5, include_output_logits=True))


# --- the wire of today -------------------------------------------------------------------------------------------


def test_todays_answer_is_compact_and_has_its_keys_in_the_recorded_order() -> None:
    answer = current(seed=42, max_tokens=7)
    body = answer.json()
    (only,) = body["choices"]
    assert list(body) == ["choices", "id", "model", "object", "usage"]
    assert list(only) == ["finish_reason", "index", "seed", "text", "tokens"]
    assert list(body["usage"]) == ["completion_tokens", "prompt_tokens", "total_tokens"]
    assert (body["model"], body["object"], only["seed"], only["finish_reason"]) == (
        MODEL,
        "text_completion",
        42,
        "length",
    )
    assert re.fullmatch("cmpl-[0-9a-f]{32}", body["id"])
    assert answer.body == json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def test_todays_stream_has_token_chunks_a_final_one_and_done() -> None:
    told = choice(current(seed=42, max_tokens=4))
    stream = current(seed=42, max_tokens=4, stream=True)
    id = stream.events()[0]["id"]
    head, tail = 'data: {"choices":[{', f'}}],"created":{int(FROZEN)},"id":"{id}","object":"text_completion"}}\n\n'
    rows = zip(tokens.texts(told["tokens"]), told["tokens"], strict=True)
    middles = [
        f'"finish_reason":null,"index":0,"logprobs":null,"text":{json.dumps(text, ensure_ascii=False)},"token":{token}'
        for text, token in rows
    ]
    middles.append('"finish_reason":"length","index":0,"logprobs":null,"text":""')
    assert stream.body.decode() == "".join(head + middle + tail for middle in middles) + "data: [DONE]\n\n"
    assert stream.headers["content-type"] == "text/event-stream"


def test_usage_comes_in_a_chunk_of_its_own_only_when_asked_for() -> None:
    plain = current(max_tokens=4).json()
    *_, final, last, done = current(max_tokens=4, stream=True, **USAGE).events()
    assert list(last) == ["choices", "created", "id", "object", "usage"]
    assert (last["choices"], last["usage"], done) == ([], plain["usage"], "[DONE]")
    assert final["choices"][0]["finish_reason"] == "length"
    for options in (None, {}, {"include_usage": False}):
        assert b"usage" not in current(max_tokens=4, stream=True, stream_options=options).body


def test_each_choice_of_a_stream_has_its_own_final_chunk() -> None:
    *chunks, done = current(n=2, max_tokens=2, stream=True).events()
    rows = [(chunk["choices"][0]["index"], chunk["choices"][0]["finish_reason"]) for chunk in chunks]
    assert rows == [(0, None), (1, None), (0, None), (0, "length"), (1, None), (1, "length")]
    assert done == "[DONE]"


def test_logprobs_of_today_are_four_lists_whose_offsets_count_from_the_generated_text() -> None:
    told = choice(current(logprobs=2, max_tokens=6))
    rows = told["logprobs"]
    assert list(told) == ["finish_reason", "index", "logprobs", "seed", "text", "tokens"]
    assert list(rows) == ["text_offset", "token_logprobs", "tokens", "top_logprobs"]
    assert "".join(rows["tokens"]) == told["text"]
    assert rows["text_offset"][0] == 0
    lengths = [len(text) for text in rows["tokens"][:-1]]
    assert [after - before for before, after in pairwise(rows["text_offset"])] == lengths
    for text, logprob, top in zip(rows["tokens"], rows["token_logprobs"], rows["top_logprobs"], strict=True):
        assert top.get(text, logprob) == logprob


@pytest.mark.parametrize("asked", [0, 1, 5])
def test_a_position_has_as_many_alternatives_as_asked_for_even_if_its_token_is_none_of_them(asked: int) -> None:
    rows = choice(current(logprobs=asked, max_tokens=60))["logprobs"]
    assert {len(top) for top in rows["top_logprobs"]} == {asked}
    assert not all(text in top for text, top in zip(rows["tokens"], rows["top_logprobs"], strict=True))


def test_a_stream_tells_the_logprobs_token_by_token() -> None:
    rows = choice(current(logprobs=2, max_tokens=6))["logprobs"]
    *chunks, final, _ = current(logprobs=2, max_tokens=6, stream=True).events()
    streamed = [chunk["choices"][0]["logprobs"] for chunk in chunks]
    assert {key: [row[key][0] for row in streamed] for key in rows} == rows
    assert final["choices"][0]["logprobs"] is None


def test_several_prompts_are_answered_prompt_by_prompt() -> None:
    answer = current(prompt=[PROMPT, "Once upon a time"], n=2, max_tokens=4).json()
    alone = [current(prompt=prompt, max_tokens=4).json() for prompt in (PROMPT, "Once upon a time")]
    assert [each["index"] for each in answer["choices"]] == [0, 1, 2, 3]
    assert [answer["choices"][index]["text"] for index in (0, 2)] == [each["choices"][0]["text"] for each in alone]
    assert answer["usage"]["prompt_tokens"] == sum(each["usage"]["prompt_tokens"] for each in alone)
    assert answer["usage"]["completion_tokens"] == 16


# --- endpoints ---------------------------------------------------------------------------------------------------


def test_the_hosted_endpoints_speak_todays_wire_whatever_edition_is_asked_for() -> None:
    for path in (SERVERLESS, DEDICATED):
        body = {"model": "m", "prompt": PROMPT, "max_tokens": 2}
        answers = [ask("friendli", body, path=path, edition=edition) for edition in ("documented", "observed")]
        assert answers[0].body == answers[1].body
        assert answers[0].json()["object"] == "text_completion"


def test_a_container_names_a_model_only_when_it_is_asked_for_one() -> None:
    without = asked("observed", max_tokens=2).json()
    named = asked("observed", max_tokens=2, model="adapter").json()
    assert list(without) == ["choices", "id", "object", "usage"]
    assert named["model"] == "adapter"
    assert asked("observed", max_tokens=2, model=None).json().keys() == without.keys()


def test_a_dedicated_answer_names_the_endpoint_without_the_adapters_route() -> None:
    body = {"model": "endpoint:adapter", "prompt": PROMPT, "max_tokens": 2}
    assert ask("friendli", body, path=DEDICATED).json()["model"] == "endpoint"
    assert ask("friendli", body, path=SERVERLESS).json()["model"] == "endpoint:adapter"


def test_a_closed_catalogue_knows_no_other_model_and_a_container_needs_none() -> None:
    closed = replace(QUIET, models={"friendli": ("mine",)})
    body = {"prompt": PROMPT, "max_tokens": 2}
    for path in ("/v1/completions", SERVERLESS, DEDICATED):
        assert ask("friendli", {**body, "model": "mine"}, path=path, settings=closed).status == 200
        refused = ask("friendli", {**body, "model": "other"}, path=path, settings=closed)
        page = {"message": "Model not found", "error": {}}
        told = page if path == "/v1/completions" else {"detail": "Model 'other' not found."}
        assert (refused.status, refused.json()) == (404, told)
    assert ask("friendli", body, settings=closed).status == 200
    assert ask("friendli", body, settings=replace(QUIET, models={"friendli": ()})).status == 200


def test_the_list_of_models_needs_no_key_and_leaves_the_pages_codes_out() -> None:
    answer = ask("friendli", path="/serverless/v1/models", headers={"authorization": ""})
    body = answer.json()
    assert list(body) == ["data"]
    assert list(body["data"][0]) == [
        "id", "name", "created", "context_length", "max_completion_tokens", "pricing", "functionality", "description",
        "deprecation_date", "reasoning", "reasoning_options", "input_modalities", "output_modalities", "interleaved",
        "base_model", "mode", "default_params",
    ]  # fmt: skip
    ids = [model["id"] for model in body["data"]]
    assert MODEL in ids
    assert "meta-llama-3.1-8b-instruct" not in ids


def test_the_list_of_models_tells_by_what_each_models_thinking_is_controlled() -> None:
    models = ask("friendli", path="/serverless/v1/models").json()["data"]
    controls = {model["id"]: [each["type"] for each in model["reasoning_options"] or ()] for model in models}
    assert controls["zai-org/GLM-5.3"] == ["effort", "budget_tokens"]
    assert controls["zai-org/GLM-5.2"] == ["effort", "toggle"]
    assert controls["MiniMaxAI/MiniMax-M2.5"] == ["budget_tokens"]
    assert controls["zai-org/GLM-5.1"] == controls["LGAI-EXAONE/K-EXAONE-2.0-750B-A37B"] == ["toggle", "budget_tokens"]
    assert controls[MODEL] == []
    assert models[0]["reasoning_options"][1] == {"type": "budget_tokens", "min": -1, "max": models[0]["context_length"]}
    assert models[0]["pricing"]["input_cache_read"] == "0.00000026"


def test_the_list_of_models_tells_what_each_of_them_reads_and_names_it_by_its_id() -> None:
    models = ask("friendli", path="/serverless/v1/models").json()["data"]
    read = {model["name"]: model["input_modalities"] for model in models if model["input_modalities"] != ["text"]}
    assert read == {
        "zai-org/GLM-5.3-Flash": ["text", "image", "video"],
        "google/gemma-4-31B-it": ["text", "image"],
    }
    assert [model["name"] for model in models] == [model["id"] for model in models]


def test_the_list_of_models_follows_the_settings() -> None:
    closed = replace(QUIET, models={"friendli": ("mine", "meta-llama-3.1-8b-instruct")})
    body = ask("friendli", path="/serverless/v1/models", settings=closed).json()
    assert [model["id"] for model in body["data"]] == ["mine", "meta-llama-3.1-8b-instruct"]


@both_editions
def test_a_container_is_well_as_long_as_it_answers(edition: Edition) -> None:
    answer = ask("friendli", path="/health", headers={"authorization": ""}, edition=edition)
    assert (answer.status, answer.body) == (200, b"{}")


def test_a_team_may_be_named() -> None:
    fields = {"prompt": PROMPT, "max_tokens": 2}
    with_team = ask("friendli", fields, headers={"x-friendli-team": "team"})
    assert with_team.body == ask("friendli", fields).body


def test_the_page_states_its_rate_limits_in_every_answer() -> None:
    names = [f"x-ratelimit-{word}-{of}" for word in ("limit", "remaining", "reset") for of in ("requests", "tokens")]
    for answer in (legacy(max_tokens=1), legacy(n=0)):
        assert [name for name in answer.headers if "ratelimit" in name] == names
        assert all(answer.headers[name].isdigit() for name in names)


@pytest.mark.parametrize(
    "path, fields, headers, limited",
    [
        ("/serverless/v1/completions", {"prompt": PROMPT, "max_tokens": 1}, {}, True),
        ("/serverless/v1/completions", {"prompt": PROMPT, "n": 0}, {}, True),
        ("/serverless/v1/completions", {"prompt": PROMPT}, {"authorization": ""}, False),
        ("/dedicated/v1/completions", {"prompt": PROMPT, "max_tokens": 1}, {}, False),
        ("/v1/completions", {"prompt": PROMPT, "max_tokens": 1}, {}, False),
        ("/serverless/v1/models", None, {}, False),
    ],
)
def test_todays_gateway_states_the_requests_that_are_left_of_a_minute_at_its_shared_endpoints(
    path: str, fields: dict[str, Any] | None, headers: dict[str, str], limited: bool
) -> None:
    body = None if fields is None else {"model": "meta-llama/Llama-3.1-8B-Instruct", **fields}
    answer = ask("friendli", body, path=path, method="POST" if body else "GET", headers=headers, edition="observed")
    stated = {name: value for name, value in answer.headers.items() if "ratelimit" in name}
    names = [f"x-ratelimit-{word}-requests" for word in ("limit", "remaining", "reset")]
    assert stated == (dict(zip(names, ("100", "99", "60"), strict=True)) if limited else {})
    assert "date" in answer.headers


# --- prompts, limits and stops -----------------------------------------------------------------------------------


@both_editions
def test_tokens_are_the_same_prompt_as_their_text(edition: Edition) -> None:
    ids = tokens.encode(PROMPT)
    text, listed = asked(edition, max_tokens=5), asked(edition, prompt=None, tokens=ids, max_tokens=5)
    assert listed.json()["choices"] == text.json()["choices"]
    assert listed.json()["usage"] == text.json()["usage"]


@both_editions
def test_tokens_of_another_vocabulary_are_counted_as_they_are(edition: Edition) -> None:
    answer = asked(edition, prompt=None, tokens=[128000, 2028, 374, 264], max_tokens=2)
    assert answer.json()["usage"] == {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}


@both_editions
def test_a_total_limit_counts_the_prompt_too(edition: Edition) -> None:
    whole = asked(edition, prompt=None, tokens=[5, 6, 7]).json()
    cut = asked(edition, prompt=None, tokens=[5, 6, 7], max_total_tokens=10).json()
    assert cut["usage"] == {"prompt_tokens": 3, "completion_tokens": 7, "total_tokens": 10}
    assert cut["choices"][0]["tokens"] == whole["choices"][0]["tokens"][:7]
    full = asked(edition, prompt=None, tokens=[5, 6, 7], max_total_tokens=3).json()
    assert full["usage"]["completion_tokens"] == 0


def test_a_total_limit_holds_for_each_prompt_by_itself() -> None:
    prompts = ["Once upon a time", PROMPT]
    counts = [tokens.count(prompt) for prompt in prompts]
    answer = current(prompt=prompts, max_total_tokens=20).json()
    assert [len(each["tokens"]) for each in answer["choices"]] == [20 - count for count in counts]


@both_editions
def test_a_lower_limit_makes_a_longer_answer_that_begins_the_same(edition: Edition) -> None:
    short = choice(asked(edition))["tokens"]
    least, total = len(short) + 9, len(short) + 11
    longer = choice(asked(edition, min_tokens=least, max_tokens=least))["tokens"]
    by_total = choice(asked(edition, min_total_tokens=total + tokens.count(PROMPT)))["tokens"]
    assert longer[: len(short)] == by_total[: len(short)] == short
    assert len(longer) == least
    assert len(by_total) >= total


@both_editions
@pytest.mark.parametrize("field", ["stop_tokens", "eos_token"])
def test_each_listed_token_ends_the_answer_by_itself(edition: Edition, field: str) -> None:
    whole = choice(asked(edition))["tokens"]
    ending = whole[9]
    value = [{"tokens": [tokens.EOS, ending]}] if field == "stop_tokens" else [tokens.EOS, ending]
    stopped = choice(asked(edition, **{field: value}))
    assert stopped["tokens"] == whole[: whole.index(ending)]


@both_editions
def test_forced_tokens_are_the_answer(edition: Edition) -> None:
    forced = tokens.encode("Forty-two, of course.")
    plain = asked(edition, forced_output_tokens=forced, n=2, seed=[7, 8])
    assert [choice(plain, index)["tokens"] for index in (0, 1)] == [forced, forced]
    assert choice(plain)["text"] == "Forty-two, of course."
    assert plain.json()["usage"]["completion_tokens"] == 2 * len(forced)
    cut = asked(edition, forced_output_tokens=forced, max_tokens=2)
    assert choice(cut)["tokens"] == forced[:2]


def test_forced_tokens_have_logprobs_as_an_evaluation_wants_them() -> None:
    forced = tokens.encode("Forty-two, of course.")
    assert len(choice(legacy(forced_output_tokens=forced, include_output_logprobs=True))["logprobs"]) == len(forced)
    rows = choice(current(forced_output_tokens=forced, logprobs=2))["logprobs"]
    assert rows["tokens"] == tokens.texts(forced)
    assert len(rows["token_logprobs"]) == len(rows["top_logprobs"]) == len(forced)
    *sampled, _ = legacy(forced_output_tokens=forced, stream=True).events()
    assert [event["token"] for event in sampled] == forced


@pytest.mark.parametrize("limit, reason", [(None, "stop"), (100, "stop"), (4, "stop"), (3, "length"), (0, "length")])
def test_a_forced_answer_ends_by_itself_unless_it_is_cut(limit: int | None, reason: str) -> None:
    given = choice(current(forced_output_tokens=[72, 105, 33, 33], max_tokens=limit))
    assert (given["text"], given["finish_reason"]) == ("Hi!!"[:limit], reason)


def test_forced_tokens_win_over_whatever_else_ends_or_shapes_an_answer() -> None:
    fields = {
        "stop": ["i"],
        "stop_tokens": [{"tokens": [105]}],
        "eos_token": [72],
        "bad_words": ["Hi"],
        "min_tokens": 9,
    }
    form = {"type": "regex", "schema": "[0-9]+"}
    assert choice(legacy(forced_output_tokens=[72, 105], response_format=form, **fields))["tokens"] == [72, 105]


def test_the_likelihood_of_an_answer_depends_on_the_question_and_the_answer_alone() -> None:
    def likelihood(answer: str, **more: Any) -> tuple[float, ...]:
        fields = {"forced_output_tokens": tokens.encode(answer), "include_output_logprobs": True, **more}
        return tuple(choice(legacy(**fields))["logprobs"])

    assert likelihood(" a river", seed=[1]) == likelihood(" a river", seed=[2], temperature=0)
    assert likelihood(" a river") == likelihood(" a river bank")[: len(tokens.encode(" a river"))]
    answers = {likelihood(" a river"), likelihood(" a tree"), likelihood(" a river", prompt="What flows?")}
    assert len(answers) == 3


# --- seeds and sampling ------------------------------------------------------------------------------------------


@both_editions
def test_the_seed_that_an_answer_states_gives_that_answer_again(edition: Edition) -> None:
    picked = asked(edition, n=3, max_tokens=8).json()["choices"]
    seeds = [each["seed"] for each in picked]
    assert len(set(seeds)) == 3
    assert asked(edition, n=3, max_tokens=8, seed=seeds).json()["choices"] == picked
    for seed, each in zip(seeds, picked, strict=True):
        assert choice(asked(edition, max_tokens=8, seed=seed))["text"] == each["text"]


@both_editions
@pytest.mark.parametrize("greedy", [{"temperature": 0}, {"top_k": 1}])
def test_the_likeliest_answer_is_the_same_in_every_choice(edition: Edition, greedy: dict[str, Any]) -> None:
    alone, three = (asked(edition, max_tokens=8, n=n, **greedy).json()["choices"] for n in (1, 3))
    assert [each["text"] for each in three] == [alone[0]["text"]] * 3
    assert len({each["seed"] for each in three}) == 3
    for each in three:
        assert choice(asked(edition, max_tokens=8, seed=each["seed"], **greedy)) == each | {"index": 0}


@both_editions
def test_one_seed_may_stand_in_a_list_and_serves_several_choices(edition: Edition) -> None:
    alone = asked(edition, seed=7, max_tokens=8).json()["choices"]
    assert asked(edition, seed=[7], max_tokens=8).json()["choices"] == alone
    assert asked(edition, seed=7.0, max_tokens=8).json()["choices"] == alone
    three = asked(edition, seed=7, n=3, max_tokens=8).json()["choices"]
    assert three[0] == alone[0]
    assert len({each["text"] for each in three}) == 3


@both_editions
def test_the_largest_seed_comes_back_as_it_went(edition: Edition) -> None:
    assert choice(asked(edition, seed=2**64 - 1, max_tokens=1))["seed"] == 2**64 - 1
    assert choice(asked(edition, seed=[], max_tokens=1))["seed"] < 2**64


@both_editions
def test_fields_that_are_null_say_nothing(edition: Edition) -> None:
    nothing = dict.fromkeys(known_fields(edition, "CompletionFields") - {"prompt"})
    assert len(nothing) > 30
    assert asked(edition, **nothing).json()["choices"] == asked(edition).json()["choices"]


def test_each_edition_ignores_the_fields_of_the_other() -> None:
    of_today = {"logprobs": "x", "stream_options": 7, "min_p": 9, "xtc_threshold": [], "xtc_probability": {}}
    of_the_page = {"num_beams": 99, "timeout_microseconds": "x", "include_output_logprobs": 5, "soft_prompts": 1}
    assert legacy(**of_today, max_tokens=3).body == legacy(max_tokens=3).body
    for name, value in {**of_the_page, "unheard_of": {"a": [1]}}.items():
        assert current(**{name: value}, max_tokens=3).json()["choices"] == current(max_tokens=3).json()["choices"]


# --- beam search -------------------------------------------------------------------------------------------------


def test_a_standard_beam_search_finds_the_same_whatever_the_seed() -> None:
    first, second = (choice(legacy(**BEAMS, seed=seed, max_tokens=8)) for seed in (7, 8))
    assert (first["text"], first["seed"]) == (second["text"], 7)
    assert request_of(legacy(**BEAMS)).sampling.beams == 4


@pytest.mark.parametrize("kind", ["NAIVE_SAMPLING", "STOCHASTIC"])
def test_beams_that_draw_take_a_seed_and_sampling_fields(kind: str) -> None:
    texts = {choice(legacy(**BEAMS, beam_search_type=kind, seed=s, top_k=9, top_p=0.9))["text"] for s in (7, 8)}
    assert len(texts) == 2


def test_options_of_a_beam_search_may_be_given_with_one() -> None:
    options = {"length_penalty": 0.5, "early_stopping": True, "beam_compat_pre_normalization": True}
    assert legacy(**BEAMS, **options, beam_compat_no_post_normalization=True).status == 200
    assert legacy(beam_search_type="STOCHASTIC", max_tokens=1).status == 200  # "ignored if num_beams is not provided"


def test_a_field_that_says_its_default_conflicts_with_nothing() -> None:
    alone = {
        "length_penalty": 1,
        "early_stopping": False,
        "encoder_no_repeat_ngram": 1,
        "encoder_repetition_penalty": 1,
    }
    beams = {"n": 1, "stop": [], "stream": False, "top_k": 0, "top_p": 1.0}
    assert legacy(**alone, max_tokens=1).status == 200
    assert legacy(**BEAMS, **beams, max_tokens=1).status == 200
    assert current(stream_options={}, min_tokens=0, response_format={"type": "json_object"}).status == 200


# --- other options ------------------------------------------------------------------------------------------------


def test_an_engine_slower_than_the_timeout_is_a_429() -> None:
    slow = Settings(created=FROZEN, latency="ttft=1s, itl=100ms")
    body = {"model": "m", "prompt": "Hello", "timeout_microseconds": 1_200_000, "max_tokens": 5}
    assert ask("friendli", body, settings=slow).status == 429
    assert ask("friendli", body | {"stream": True}, settings=slow).status == 200
    assert ask("friendli", body | {"max_tokens": 2}, settings=slow).status == 200


def test_a_timeout_of_a_millisecond_may_be_kept_and_today_there_is_none() -> None:
    assert legacy(timeout_microseconds=1000, max_tokens=1).status == 200
    assert asked("observed", timeout_microseconds=0, max_tokens=1).status == 200


@both_editions
def test_embeddings_for_places_in_the_prompt_are_taken(edition: Edition) -> None:
    vectors = ([0.5] * 8, [0.5] * 7 + [0.25])
    fields: list[dict[str, Any]] = [
        {"token_index_to_replace": places, "embedding_to_replace": vector}
        for places, vector in ((None, None), ([0, 2], vectors[0]), ([0, 2], vectors[1]), ([0, 3], vectors[0]))
    ]
    told = [asked(edition, seed=7, **each).json()["choices"][0]["text"] for each in (*fields, fields[1])]
    assert len({*told}) == 4
    assert told[1] == told[-1]


def test_words_and_positions_of_the_first_client_are_taken() -> None:
    soft = {"token_index_start": 0, "token_index_end": 1, "embeddings": [0.5], "id": None}
    fields: dict[str, Any] = {
        "soft_prompts": [soft],
        "generation_offset": 3,
        "bad_words": ["x"],
        "bad_word_tokens": [{"tokens": [1]}],
    }
    assert legacy(**fields, prompt=None, tokens=[1, 2], position_ids=[0, 1], max_tokens=1).status == 200
    assert legacy(soft_prompts=[soft]).body != legacy().body


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "object", "properties": {"c": {}}}}}


def test_the_pages_schema_is_a_text_whose_properties_are_all_generated() -> None:
    form = {"type": "json_object", "schema": json.dumps(SCHEMA)}
    assert request_of(legacy(response_format=form)).constraint == Constraint("json_complete", SCHEMA)


def test_forms_without_a_schema_and_patterns_are_constraints_too() -> None:
    page = {"type": "json_object"}
    assert request_of(legacy(response_format=page)).constraint == Constraint("json_object")
    assert request_of(legacy(response_format={**page, "schema": None})).constraint == Constraint("json_object")
    assert request_of(legacy(response_format={"type": "text"})).constraint is None
    pattern = {"type": "regex", "schema": "[^a$]+(b|c)\\d"}
    for answer in (legacy(response_format=pattern), current(response_format=pattern)):
        assert request_of(answer).constraint == Constraint("regex", "[^a$]+(b|c)\\d")


def test_todays_schema_is_an_object_that_is_left_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"], "$schema": "http://nowhere.test/x"}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert request_of(current(response_format=form)).constraint == Constraint("json_schema", schema)


@pytest.mark.parametrize(
    "schema, fine",
    [
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "string"}}, "$ref": "#/$defs/a"}, True),
        ({"properties": {"a/b": {"$ref": "#/properties/c%25"}, "c%": {"$ref": "#/properties/a~1b"}}}, False),
        ({"$defs": {"n": {"properties": {"next": {"anyOf": [{"$ref": "#/$defs/n"}]}}}}}, False),
        ({"$ref": "#n", "$defs": {"n": {"$anchor": "n", "properties": {"next": {"$ref": "#n"}}}}}, False),
        ({"$ref": "#n", "$defs": {"n": {"$anchor": "n", "type": "string"}}}, True),
        ({"$id": "http://x/s", "properties": {"next": {"$ref": "http://x/s"}}}, False),
        ({"$id": "http://x/s", "properties": {"next": {"$ref": "s"}}}, False),
        ({"$dynamicAnchor": "n", "properties": {"next": {"$dynamicRef": "#n"}}}, False),
        ({"$id": "http://x/s", "properties": {"b": {"$ref": "http://x/s#/properties/b"}}}, False),
        ({"$id": "http://x/", "$defs": {"a": {"$id": "y", "properties": {"b": {"$ref": "y#/properties/b"}}}}}, False),
        ({"dependencies": {"a": {"$ref": "#"}, "b": ["a"]}}, False),
        ({"$defs": {"ab": {"$ref": "#/$defs/a"}, "a": {"type": "string"}}, "$ref": "#/$defs/ab"}, True),
    ],
)
def test_a_schema_is_recursive_when_a_definition_leads_back_to_itself(schema: Mapping[str, Any], fine: bool) -> None:
    answer = legacy(response_format={"type": "json_object", "schema": json.dumps(schema)}, max_tokens=1)
    assert answer.status == (200 if fine else 422)


def test_todays_objects_have_no_properties_but_those_that_they_name() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object", "additionalProperties": {"type": "integer"}}, "b": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": True,
    }
    for seed in range(5):
        answer = current(response_format={"type": "json_schema", "json_schema": {"schema": schema}}, seed=seed)
        said = json.loads(answer.json()["choices"][0]["text"])
        assert (said["a"], said.keys() <= {"a", "b"}) == ({}, True)


def test_a_schema_that_says_nothing_asks_for_an_object_all_the_same() -> None:
    form = {"type": "json_object", "schema": "{}"}
    for seed in range(5):
        answer = legacy(prompt='Answer in JSON with the keys "name" and "age".', response_format=form, seed=seed)
        assert json.loads(answer.json()["choices"][0]["text"]).keys() == {"name", "age"}


@pytest.mark.parametrize(
    "pattern", ["a$", "^a", "\\Aa", "a\\Z", "a\\z", "(?=a)", "(?!a)", "(?<!a)b", "[\\p{L}]", "\\N"]
)
def test_a_pattern_that_looks_around_or_beyond_ascii_is_refused(pattern: str) -> None:
    expected = [["body", "response_format", "schema"]]
    assert places(legacy(response_format={"type": "regex", "schema": pattern})) == expected
    assert places(current(response_format={"type": "regex", "schema": pattern})) == expected


@pytest.mark.parametrize("pattern", ["\\^a\\$", "[^^$]", "(a)\\1", "(?:a|b)?", "\\w+\\s\\d", "(a)?(?(1)b|c)", "[[a]"])
def test_any_other_pattern_is_taken(pattern: str) -> None:
    assert legacy(response_format={"type": "regex", "schema": pattern}, max_tokens=1).status == 200


def test_the_vendors_evaluation_harness_may_send_its_tokens_as_a_batch_of_one() -> None:
    options = {"temperature": 0, "include_output_logprobs": True, "seed": 1234}
    alone = asked("documented", prompt=None, tokens=[1, 2, 3], forced_output_tokens=[4, 5], **options)
    batched = asked("documented", prompt=None, tokens=[[1, 2, 3]], forced_output_tokens=[[4, 5]], **options)
    assert (batched.status, batched.body) == (200, alone.body)
    assert places(asked("documented", prompt=None, tokens=[[1], [2]])) == [["body", "tokens", 0], ["body", "tokens", 1]]
    assert places(asked("documented", prompt=None, tokens=[[]])) == [["body", "tokens"]]
    assert places(asked("observed", prompt=None, tokens=[[1]])) == [["body", "tokens", 0]]


# --- refusals ----------------------------------------------------------------------------------------------------


def test_every_fault_of_the_first_station_is_named_and_none_of_the_next() -> None:
    answer = legacy(n=0, top_p=5, num_beams=3, stream=True)
    assert places(answer) == [["body", "n"], ["body", "top_p"]]
    assert answer.body.startswith(b'{"detail":[{"loc":["body","n"],"msg":"')


@both_editions
def test_a_body_that_nests_too_deeply_is_refused_and_not_fallen_over(edition: Edition) -> None:
    for value in (b"[" * 900 + b"]" * 900, b'{"a":' * 500 + b"1" + b"}" * 500, b"[" * 9000 + b"]" * 9000):
        answer = ask("friendli", b'{"prompt":' + value + b"}", edition=edition)
        detail = {"loc": ["body", 0], "msg": "JSON decode error, nested too deeply", "type": "json_invalid"}
        assert (answer.status, answer.json()) == (422, {"detail": [detail]})
    wide = {"prompt": "x", "max_tokens": 1, "other": [[1]] * 500}
    assert ask("friendli", wide, edition=edition).status == 200


@both_editions
def test_a_number_of_more_digits_than_python_reads_is_refused_and_not_fallen_over(edition: Edition) -> None:
    assert places(ask("friendli", b'{"prompt":"x","seed":' + b"9" * 5000 + b"}", edition=edition)) == [["body", 0]]


def test_a_schema_that_nests_too_deeply_is_no_schema() -> None:
    deep = '{"not":' * 300 + "{}" + "}" * 300
    assert places(legacy(response_format={"type": "json_object", "schema": deep})) == [
        ["body", "response_format", "schema"]
    ]


def test_every_kind_of_failure_of_the_page_has_a_body_of_one_of_the_two_shapes() -> None:
    error = {"$ref": "#/components/schemas/ErrorResponse", "components": FRIENDLI.contract["documented"]()}
    schema = Draft202012Validator(error)
    for kind in FailureKind:
        row = FRIENDLI.error("documented", kind)
        body = row.body(Refusal(kind), row.message)
        assert schema.is_valid(body)
        assert isinstance(body, dict)
        assert ("detail" in body) == (row.status == 422)


@pytest.mark.parametrize(
    "kind, status, body",
    [
        (FailureKind.MISSING_CREDENTIALS, 401, {"detail": "Unauthorized. Please provide a valid credential."}),
        (FailureKind.UNAUTHORIZED, 401, {"detail": "Unauthorized. Please provide a valid credential."}),
        (FailureKind.PAYMENT_REQUIRED, 403, {"detail": "You've exhausted all your credits."}),
        (FailureKind.UNKNOWN_MODEL, 404, {"detail": "Model not found."}),
        (FailureKind.INVALID_REQUEST, 422, {"message": "The request is not valid"}),
        (FailureKind.RATE_LIMIT, 429, {"message": "Too many requests", "error": {}}),
        (FailureKind.SERVER_ERROR, 500, b"Service Error: Max retries reached for status 500\n"),
    ],
)
def test_todays_gateway_says_detail_and_its_engine_says_message(kind: FailureKind, status: int, body: object) -> None:
    row = FRIENDLI.errors["observed"][kind]
    assert (row.status, row.body(Refusal(kind), row.message)) == (status, body)


@pytest.mark.parametrize(
    "edition, model, told",
    [
        ("observed", "llama", {"detail": "Model 'llama' not found."}),
        ("observed", None, {"detail": "Model not found."}),
        ("documented", "llama", {"message": "Model not found", "error": {}}),
    ],
)
def test_a_fault_that_hides_the_model_names_it_as_the_gateway_does(
    edition: Edition, model: str | None, told: object
) -> None:
    fault = {"x-mockserver-fault": '{ kind = "error", error = "not_found" }'}
    answer = ask("friendli", {"prompt": PROMPT, "model": model}, headers=fault, edition=edition)
    assert (answer.status, answer.json()) == (404, told)


def test_what_the_gateway_says_in_plain_text_is_an_object_in_a_stream_that_has_begun() -> None:
    fault = {"x-mockserver-fault": '{ kind = "error_event", after_event = 1, error = "server_error" }'}
    answer = ask(
        "friendli",
        {"model": "meta-llama/Llama-3.1-8B-Instruct", "prompt": PROMPT, "stream": True, "max_tokens": 3},
        path="/serverless/v1/completions",
        method="POST",
        headers=fault,
    )
    assert answer.events()[-1] == {"message": "Internal server error", "error": {}}


def test_a_team_without_credits_is_refused_otherwise_on_the_page() -> None:
    assert FRIENDLI.errors["documented"][FailureKind.PAYMENT_REQUIRED].status == 402


def test_a_timeout_is_a_429_on_the_page_and_a_504_today() -> None:
    assert FRIENDLI.errors["documented"][FailureKind.TIMEOUT].status == 429
    assert FRIENDLI.errors["observed"][FailureKind.TIMEOUT].status == 504


def test_a_key_may_be_checked() -> None:
    settings = Settings(created=FROZEN, latency="off", auth=("flp_1",))
    body = {"prompt": PROMPT, "max_tokens": 1}
    statuses = [
        ask("friendli", body, headers={"authorization": f"Bearer {key}"}, settings=settings).status
        for key in ("flp_1", "flp_2")
    ]
    assert statuses == [200, 401]
