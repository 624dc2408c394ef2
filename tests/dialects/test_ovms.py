"""OpenVINO Model Server: the exact wire of both versions, what each parameter does, and the grouping of streams."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mockserver.core.dialects import EDITIONS, Edition
from mockserver.dialects.ovms.write import Flush, by_delay, by_words
from mockserver.model import tokens
from mockserver.state.settings import Settings
from tests.support.asking import FROZEN, QUIET, Answer, ask

JSON = {"content-type": "application/json"}
PROMPT = "Once upon a time there was a harbour"
CLOSED = Settings(created=FROZEN, latency="off", models={"ovms": ("llama3", "org/own")})
GRAPH = (
    "Mediapipe execution failed. MP status - INVALID_ARGUMENT: CalculatorGraph::Run() failed: \n"
    'Calculator::Process() for node "LLMExecutor" failed: '
)
CORS = {f"access-control-allow-{name}": "*" for name in ("origin", "methods", "headers")}

each_edition = pytest.mark.parametrize("edition", EDITIONS)


def complete(edition: Edition = "documented", settings: Settings = QUIET, **fields: Any) -> Answer:
    body = {"model": "llama3", "prompt": PROMPT, **fields}
    return ask("ovms", body, edition=edition, headers=JSON, settings=settings)


def stream(edition: Edition = "documented", **fields: Any) -> Answer:
    return complete(edition, stream=True, **fields)


def look(path: str, edition: Edition = "documented", settings: Settings = QUIET, method: str = "GET") -> Answer:
    return ask("ovms", path=path, edition=edition, settings=settings, method=method)


def text_of(answer: Answer, index: int = 0) -> str:
    return str(answer.json()["choices"][index]["text"])


def said(answer: Answer) -> list[str]:
    return [choice["text"] for event in answer.events()[:-1] for choice in event["choices"]]


def own_headers(answer: Answer) -> dict[str, str]:
    return {key: value for key, value in answer.headers.items() if not key.startswith("x-mockserver-")}


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def event(edition: Edition, choice: Mapping[str, object] | None, **more: object) -> bytes:
    """An event as the server writes it: its keys in their order, `more` at the end."""
    choices, kind = [] if choice is None else [choice], "text_completion" + ".chunk" * (edition == "observed")
    chunk = {"choices": choices, "created": int(FROZEN), "model": "llama3", "object": kind, **more}
    return b"data: " + compact(chunk) + b"\n\n"


# --- one body ----------------------------------------------------------------------------------------------------


@each_edition
def test_a_plain_answer_is_these_bytes_around_its_text(edition: Edition) -> None:
    answer = complete(edition, max_tokens=4)
    count = tokens.count(PROMPT) + 1  # "/completions adds the BOS token"
    choice = {"finish_reason": "length", "index": 0, "logprobs": None, "text": text_of(answer)}
    usage = {"prompt_tokens": count, "completion_tokens": 4, "total_tokens": count + 4}
    if edition == "documented":
        usage = dict(sorted(usage.items()))
    assert answer.body == compact(
        {
            "choices": [choice],
            "created": int(FROZEN),
            "model": "llama3",
            "object": "text_completion",
            "usage": usage,
        }
    )


def test_plain_headers_are_few_and_the_newer_server_adds_cors() -> None:
    kind = {"content-type": "application/json; charset=utf-8"}
    assert own_headers(complete("documented")) == kind
    assert own_headers(complete("observed")) == kind | CORS


@each_edition
def test_logprobs_have_four_lists_and_offsets_in_bytes(edition: Edition) -> None:
    answer = complete(edition, prompt="Напиши о море 😀", max_tokens=9, logprobs=1)
    (choice,) = answer.json()["choices"]
    rows = choice["logprobs"]
    assert list(rows) == ["tokens", "token_logprobs", "top_logprobs", "text_offset"]
    assert "".join(rows["tokens"]) == choice["text"]
    assert all(value <= 0 for value in rows["token_logprobs"])
    assert rows["top_logprobs"] == [{t: v} for t, v in zip(rows["tokens"], rows["token_logprobs"], strict=True)]
    assert rows["text_offset"] == [len("".join(rows["tokens"][:k]).encode()) for k in range(9)]


@each_edition
def test_logprobs_null_are_none(edition: Edition) -> None:
    assert complete(edition, logprobs=None, max_tokens=3).json()["choices"][0]["logprobs"] is None


@each_edition
def test_echo_puts_the_prompt_before_the_text_and_does_not_count_it(edition: Edition) -> None:
    plain, echo = complete(edition, max_tokens=5), complete(edition, max_tokens=5, echo=True)
    assert text_of(echo) == PROMPT + text_of(plain)
    assert echo.json()["usage"] == plain.json()["usage"]


@each_edition
@pytest.mark.parametrize("max_tokens", [0, 2])
def test_an_echo_begins_with_the_bos_token_which_has_no_logprob(edition: Edition, max_tokens: int) -> None:
    answer = complete(edition, max_tokens=max_tokens, echo=True, logprobs=1).json()
    (choice,) = answer["choices"]
    rows = choice["logprobs"]
    assert {len(row) for row in rows.values()} == {answer["usage"]["total_tokens"]}
    assert "".join(rows["tokens"]) == choice["text"]
    assert (rows["tokens"][0], rows["token_logprobs"][0], rows["top_logprobs"][0]) == ("", None, {"": None})
    assert all(value < 0 for value in rows["token_logprobs"][1:])
    assert rows["text_offset"][:3] == [0, 0, len(rows["tokens"][1].encode())]


@each_edition
def test_an_echo_without_tokens_is_the_prompt_alone(edition: Edition) -> None:
    answer = complete(edition, max_tokens=0, echo=True)
    assert (text_of(answer), answer.json()["choices"][0]["finish_reason"]) == (PROMPT, "length")
    assert answer.json()["usage"]["completion_tokens"] == 0


# --- what the parameters do --------------------------------------------------------------------------------------


@each_edition
def test_a_stop_is_left_out_unless_it_is_asked_for(edition: Edition) -> None:
    whole = text_of(complete(edition, max_tokens=30))
    stop = whole[len(whole) // 2 :][:4]
    end = whole.index(stop)
    for value in (stop, [stop], ["never to be seen", stop]):
        stopped = complete(edition, max_tokens=30, stop=value)
        assert (text_of(stopped), stopped.json()["choices"][0]["finish_reason"]) == (whole[:end], "stop")
    kept = complete(edition, max_tokens=30, stop=stop, include_stop_str_in_output=True)
    assert text_of(kept) == whole[: end + len(stop)]


@each_edition
def test_an_empty_list_of_stops_is_none(edition: Edition) -> None:
    assert complete(edition, stop=[]).body == complete(edition).body


def test_the_older_server_takes_4_stops_and_the_newer_16() -> None:
    stops = [f"#{number}#" for number in range(17)]
    assert complete("documented", stop=stops[:4]).status == 200
    assert complete("documented", stop=stops[:5]).status == 400
    assert complete("observed", stop=stops[:16]).status == 200
    assert complete("observed", stop=stops).status == 400


@each_edition
def test_max_tokens_may_be_more_than_an_answer_without_its_end_may_have(edition: Edition) -> None:
    assert complete(edition, max_tokens=4096).body == complete(edition).body


def test_ignoring_the_end_goes_on_to_the_limit_which_the_older_server_sets_to_4000() -> None:
    for edition in EDITIONS:
        usage = complete(edition, ignore_eos=True, max_tokens=900).json()["usage"]
        assert usage["completion_tokens"] == 900
    assert complete("documented", ignore_eos=True).json()["usage"]["completion_tokens"] == 4000
    assert complete("documented", ignore_eos=True, max_tokens=4000).status == 200
    assert complete("documented", ignore_eos=False, max_tokens=4001).status == 200
    assert complete("observed", ignore_eos=True, max_tokens=4001).status == 200


def test_a_context_window_bounds_the_newer_server_only() -> None:
    prompt = "sea " * 9000
    count = tokens.count(prompt) + 1
    refused = complete("observed", prompt=prompt, max_tokens=1)
    assert refused.json() == {"error": f"{GRAPH}Number of prompt tokens: {count} exceeds model max length: 8192"}
    assert refused.status == 400
    assert complete("documented", prompt=prompt, max_tokens=1).json()["usage"]["prompt_tokens"] == count


def test_an_answer_fills_the_window_of_the_newer_server_and_no_more() -> None:
    usage = complete("observed", ignore_eos=True).json()["usage"]
    assert usage["total_tokens"] == 8192


@each_edition
def test_a_beam_search_gives_the_best_n_and_sums_their_tokens(edition: Edition) -> None:
    answer = complete(edition, n=2, best_of=3, max_tokens=6)
    assert [choice["index"] for choice in answer.json()["choices"]] == [0, 1]
    assert text_of(answer, 0) != text_of(answer, 1)
    assert answer.json()["usage"]["completion_tokens"] == 12


@each_edition
def test_a_beam_search_and_a_greedy_one_heed_no_seed(edition: Edition) -> None:
    for fields in ({"best_of": 2}, {"temperature": 0}, {"temperature": 0.0, "top_p": 0.5}):
        assert complete(edition, seed=1, **fields).body == complete(edition, seed=2, **fields).body


def test_the_seed_is_0_in_the_older_server_and_the_engines_own_in_the_newer() -> None:
    assert text_of(complete("documented")) == text_of(complete("documented", seed=0))
    assert text_of(complete("observed")) != text_of(complete("observed", seed=0))


@each_edition
def test_what_needs_a_sampler_is_free_without_one(edition: Edition) -> None:
    free: dict[str, Any] = {"top_k": 0} if edition == "documented" else {"top_p": 0}
    assert complete(edition, temperature=0, **free).status == 200
    assert complete(edition, best_of=2, **free).status == 200
    assert complete(edition, top_k=-1).status == 200


def test_top_p_is_above_0_and_an_empty_top_k_is_all_tokens_by_the_page() -> None:
    assert complete("documented", temperature=0, top_p=0).status == 400
    assert complete("documented", top_k=None).body == complete("documented", top_k=-1).body


@each_edition
def test_unknown_fields_are_ignored(edition: Edition) -> None:
    odd: dict[str, Any] = {"logit_bias": {"5": 100}, "suffix": "!", "user": 7, "min_tokens": "x"}
    assert complete(edition, **odd).json()["choices"] == complete(edition).json()["choices"]


def test_fields_of_the_other_version_are_unknown_ones() -> None:
    assert complete("documented", min_p="x", skip_special_tokens="x").status == 200
    assert complete("observed", diversity_penalty="x", num_assistant_tokens="x").status == 200


@pytest.mark.parametrize(
    "field",
    [
        "stream_options", "ignore_eos", "frequency_penalty", "presence_penalty", "repetition_penalty", "length_penalty",
        "temperature", "top_p", "seed", "stop", "include_stop_str_in_output", "best_of", "n", "echo",
    ],
)  # fmt: skip
def test_null_is_absent_for_the_newer_server_and_a_fault_for_the_older(field: str) -> None:
    null: dict[str, Any] = {field: None}
    assert complete("observed", **null).json() == complete("observed").json()
    assert complete("documented", **null).status == 400


@each_edition
def test_speculative_decoding_changes_no_text(edition: Edition) -> None:
    plain = complete(edition).body
    assert complete(edition, num_assistant_tokens=5).body == plain
    assert complete(edition, assistant_confidence_threshold=0.4).body == plain


@each_edition
def test_the_first_of_equal_keys_counts(edition: Edition) -> None:
    raw = b'{"model":"llama3","prompt":"Hi","max_tokens":2,"max_tokens":7,"seed":1,"model":3}'
    answer = ask("ovms", raw, edition=edition, headers=JSON)
    assert (answer.status, answer.json()["usage"]["completion_tokens"]) == (200, 2)


def test_the_first_of_equal_keys_counts_within_other_fields_too() -> None:
    raw = b'{"model":"llama3","prompt":"Hi","max_tokens":2,"stream":true,%b}'
    options = b'"stream_options":{"include_usage":true,"include_usage":false}'
    assert b'"usage":{' in ask("ovms", raw % options, edition="observed", headers=JSON).body
    forms = b'"response_format":{"type":"text"},"response_format":{"type":"json_schema","json_schema":{"schema":{}}}'
    told = ask("ovms", raw % forms, edition="observed", headers=JSON).plan.request
    assert told is not None
    assert told.constraint is None


@each_edition
def test_brackets_within_texts_are_no_nesting(edition: Edition) -> None:
    assert complete(edition, prompt='[[{{"\\' * 100, max_tokens=2).status == 200
    assert complete(edition, max_tokens=2, user=[[number] for number in range(500)]).status == 200


# --- models ------------------------------------------------------------------------------------------------------


@each_edition
def test_any_model_is_served_unless_the_catalogue_is_closed(edition: Edition) -> None:
    assert complete(edition, model="my/own model").json()["model"] == "my/own model"
    assert complete(edition, model="org/own", settings=CLOSED).status == 200
    refused = complete(edition, model="other", settings=CLOSED, temperature=9, stream=True)
    assert (refused.status, refused.json()) == (
        404,
        {"error": "Mediapipe graph definition with requested name is not found"},
    )
    assert refused.headers["content-type"] == "application/json; charset=utf-8"


@each_edition
def test_models_are_listed_data_first(edition: Edition) -> None:
    entries = [
        {"id": name, "object": "model", "created": int(FROZEN), "owned_by": "OVMS"} for name in ("llama3", "org/own")
    ]
    for path in ("/v3/models", "/v3/v1/models", "/v1/models"):
        assert look(path, edition, CLOSED).body == compact({"data": entries, "object": "list"})
    assert look("/v3/models/org/own", edition, CLOSED).body == compact(entries[1])


@each_edition
def test_all_paths_of_completions_answer_alike(edition: Edition) -> None:
    bodies = {
        ask("ovms", {"model": "m", "prompt": "Hi"}, path=path, method="POST", edition=edition, headers=JSON).body
        for path in ("/v3/completions", "/v3/v1/completions", "/v1/completions")
    }
    assert len(bodies) == 1


def test_a_body_that_is_not_declared_as_json_is_not_read_by_the_newer_server() -> None:
    body = {"model": "llama3", "prompt": "Hi", "max_tokens": 2}
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert ask("ovms", body, edition="documented", headers=form).status == 200
    assert ask("ovms", body, edition="observed", headers=form).status == 404
    charset = {"content-type": "Application/JSON; charset=utf-8"}
    assert ask("ovms", body, edition="observed", headers=charset).status == 200


@each_edition
def test_probes_answer_with_nothing(edition: Edition) -> None:
    for probed in ("health/live", "health/ready", "models/llama3/ready", "models/llama3/versions/1/ready"):
        answer = look(f"/v2/{probed}", edition, CLOSED)
        assert (answer.status, answer.body) == (200, b"")
    assert look("/v2/models/other/ready", edition, CLOSED).status == 404


@each_edition
def test_the_server_tells_its_version(edition: Edition) -> None:
    assert look("/v2", edition).body == compact({"name": "OpenVINO Model Server", "version": "2026.4.1"})


@each_edition
@pytest.mark.parametrize("path, method", [("/v1/config", "GET"), ("/v1/config/reload", "POST")])
def test_the_state_of_the_models_is_printed_over_many_lines(edition: Edition, path: str, method: str) -> None:
    settings = Settings(created=FROZEN, latency="off", models={"ovms": ("llama3",)})
    assert look(path, edition, settings, method).body.decode() == (
        '{\n"llama3" : \n{\n "model_version_status": [\n  {\n   "version": "1",\n   "state": "AVAILABLE",\n'
        '   "status": {\n    "error_code": "OK",\n    "error_message": "OK"\n   }\n  }\n ]\n}\n}'
    )


@each_edition
def test_the_state_of_a_model_names_it_in_its_own_letters(edition: Edition) -> None:
    settings = Settings(created=FROZEN, latency="off", models={"ovms": ("模型/β",)})
    assert look("/v1/config", edition, settings).body.startswith('{\n"模型/β" : \n'.encode())


def test_a_browsers_first_question_is_answered_by_the_newer_server() -> None:
    answer = look("/v3/completions", "observed", method="OPTIONS")
    assert (answer.status, answer.body) == (200, b"")
    assert CORS.items() <= answer.headers.items()
    assert look("/v3/completions", "documented", method="OPTIONS").status == 406


# --- streams -----------------------------------------------------------------------------------------------------

GROUPING = {"documented": by_words, "observed": by_delay}
CASE = ["T", "EST", " TEST", " TEST", " TEST"]


def texts(flushes: Sequence[Flush]) -> list[str]:
    return [flush.text for flush in flushes]


def test_words_leave_with_the_space_after_them_and_the_last_token_joins_the_end() -> None:
    assert list(by_words(CASE)) == [
        Flush("TEST ", at=2, out=2),
        Flush("TEST ", at=3, out=3),
        Flush("TEST TEST", at=4, out=5, last=True),
    ]


def test_delayed_tokens_leave_when_two_more_are_there_and_the_last_two_with_the_end() -> None:
    assert list(by_delay(CASE)) == [
        Flush("T", at=2, out=1),
        Flush("EST", at=3, out=2),
        Flush(" TEST", at=4, out=3),
        Flush(" TEST TEST", at=4, out=5, last=True),
    ]


@pytest.mark.parametrize(
    "edition, pieces, grouped",
    [
        ("documented", ["a", "\n", "b", " c", "d"], ["a\n", "b ", "cd"]),
        ("observed", ["a", "\n", "b", " c", "d"], ["a\n", "b", " cd"]),
        ("documented", ["a", "b\n"], ["ab\n"]),
        ("observed", ["a", "b\n"], ["ab\n", ""]),
        # A character in the making adds nothing, or shows as U+FFFD; tabs and other spaces end no word.
        ("documented", ["a ", "", "😀", " b", "\tc\u00a0d"], ["a ", "😀 ", "b\tc\u00a0d"]),
        ("documented", ["a", " \ufffd", "b", " c"], ["a ", "\ufffdb c"]),
        ("observed", ["a", "b", "", "😀", "c", "d"], ["ab", "😀", "cd"]),
        ("observed", ["a", "b", "c\ufffd", "d", "e"], ["ab", "c\ufffdde"]),
        ("documented", [], [""]),
        ("observed", [], [""]),
    ],
)
def test_line_ends_let_everything_go_and_half_characters_hold(
    edition: Edition, pieces: list[str], grouped: list[str]
) -> None:
    assert texts(list(GROUPING[edition](pieces))) == grouped


@each_edition
def test_grouping_loses_no_text_and_no_token(edition: Edition) -> None:
    for prompt in (PROMPT, "Расскажи о море 😀", "日本の庭について", "Write a Python function"):
        choice = complete(edition, prompt=prompt).plan.generation
        assert choice is not None
        pieces = choice.choices[0].texts
        flushes = list(GROUPING[edition](pieces))
        assert "".join(texts(flushes)) == "".join(pieces)
        assert [flush.last for flush in flushes] == [False] * (len(flushes) - 1) + [True]
        assert [flush.at for flush in flushes] == sorted(flush.at for flush in flushes)
        assert flushes[-1].out == len(pieces)


@each_edition
def test_a_stream_is_these_bytes_around_its_texts(edition: Edition) -> None:
    answer = stream(edition, max_tokens=8, stream_options={"include_usage": True})
    *parts, last = [text for text in said(answer) if text or edition == "documented"]
    observed = edition == "observed"

    def piece(text: str, reason: str | None) -> dict[str, object]:
        rest: dict[str, object] = {"index": 0, "logprobs": None, "text": text}
        return {**rest, "finish_reason": reason} if observed else {"finish_reason": reason, **rest}

    hello = {"index": 0, "text": "", "finish_reason": None}
    usage = complete(edition, max_tokens=8).json()["usage"]
    assert answer.body == b"".join(
        (
            event(edition, hello) if observed else b"",
            *(event(edition, piece(text, None), usage=None) for text in parts),
            event(edition, piece(last, "length"), usage=None),
            event(edition, None, usage=usage),
            b"data: [DONE]\n\n",
        )
    )


def test_stream_headers_are_those_of_the_note() -> None:
    kind = {"content-type": "text/event-stream", "cache-control": "no-cache", "connection": "keep-alive"}
    assert own_headers(stream("documented")) == kind
    assert own_headers(stream("observed")) == kind | CORS


@each_edition
def test_usage_is_absent_from_a_stream_that_does_not_ask_for_it(edition: Edition) -> None:
    fields: dict[str, Any]
    for fields in ({}, {"stream_options": {}}, {"stream_options": {"include_usage": False}}):
        events = stream(edition, **fields).events()
        assert events[-1] == "[DONE]"
        assert not any("usage" in event for event in events[:-1])


@each_edition
def test_a_stream_says_what_the_plain_answer_says(edition: Edition) -> None:
    for fields in ({}, {"max_tokens": 1}, {"max_tokens": 2}, {"max_tokens": 3}, {"echo": True}, {"temperature": 0}):
        assert "".join(said(stream(edition, **fields))) == text_of(complete(edition, **fields))


def test_the_newer_server_shakes_hands_only_while_it_has_a_token_but_no_text() -> None:
    def shakes(**fields: Any) -> bool:
        (first, *_) = stream("observed", **fields).events()
        return "logprobs" not in first["choices"][0]

    assert shakes()
    assert shakes(max_tokens=2)
    assert not shakes(max_tokens=1)
    # An echoed prompt comes with the first token, and yields text at once.
    assert not shakes(echo=True)


@each_edition
def test_a_stop_is_part_of_a_stream(edition: Edition) -> None:
    whole = text_of(complete(edition, max_tokens=30))
    stop = whole[len(whole) // 2 :][:4]
    events = stream(edition, max_tokens=30, stop=stop).events()
    assert (
        "".join(c["text"] for event in events[:-1] for c in event["choices"])
        == (whole[: whole.index(stop) + len(stop)])
    )
    assert events[-2]["choices"][0]["finish_reason"] == "stop"


@each_edition
def test_the_end_leaves_in_one_write_with_the_last_token(edition: Edition) -> None:
    settings = Settings(created=FROZEN, latency="ovms")
    answer = complete(edition, settings, stream=True, max_tokens=9, stream_options={"include_usage": True})
    runs = list(answer.plan.timeline.runs)
    due = [instant for run in runs for instant in run.due]
    assert due == sorted(due)
    assert len(set(due[-3:])) == 1
    assert len(set(due)) > 4
    # Only what stands in one run can leave in one write.
    assert [b'"finish_reason":"length"' in event for event in runs[-1].data[-3:]] == [True, False, False]
    assert runs[-1].data[-1] == b"data: [DONE]\n\n"


@each_edition
def test_each_frame_says_how_many_tokens_it_carries(edition: Edition) -> None:
    fields: dict[str, Any]
    for fields in ({"max_tokens": 9}, {"echo": True, "max_tokens": 9}, {"echo": True, "max_tokens": 0}, {}):
        answer = stream(edition, **fields)
        carried = [count for run in answer.plan.timeline.runs for count in run.tokens]
        assert answer.plan.generation is not None
        assert sum(carried) == answer.plan.generation.usage.completion_tokens
        assert min(carried) == 0 == carried[-1]


@each_edition
def test_an_echoed_stream_of_no_tokens_is_the_prompt_and_its_end(edition: Edition) -> None:
    events = stream(edition, echo=True, max_tokens=0).events()
    assert "".join(c["text"] for event in events[:-1] for c in event["choices"]) == PROMPT
    assert events[-2]["choices"][0]["finish_reason"] == "length"


# --- paths -------------------------------------------------------------------------------------------------------

WRONG_ENDPOINTS = ("/v3/", "/v3/models", "/v3/models/llama3", "/v3/completions/", "/v3/a/b", "/v1/models", "/v1/a")
INVALID_URLS = ("/v3", "/v1", "/v4/completions", "/v4/chat/completions")


@each_edition
def test_a_post_below_a_root_gets_as_far_as_the_graph(edition: Edition) -> None:
    def post(path: str, body: object) -> tuple[int, str]:
        answer = ask("ovms", body, path=path, method="POST", edition=edition, settings=CLOSED)
        return answer.status, answer.json()["error"]

    for path in WRONG_ENDPOINTS:
        status, message = post(path, {"model": "llama3"})
        assert (status, message[: len(GRAPH) + 14]) == (400, f"{GRAPH}Wrong endpoint"), path
        assert post(path, {"model": "other"})[0] == 404
        assert post(path, b"{")[0] == 412
    for path in INVALID_URLS:
        assert post(path, {"model": "llama3"}) == (400, "Invalid request URL"), path


def test_a_stream_is_a_boolean_where_the_path_says_responses() -> None:
    assert ask("ovms", {"model": "llama3", "stream": 1}, path="/v3/a/responses", method="POST").status == 412


@each_edition
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS"])
def test_a_path_that_climbs_is_refused_before_all_else(edition: Edition, method: str) -> None:
    answer = ask("ovms", {"model": "llama3"}, path="/v3/a/../completions", method=method, edition=edition)
    assert (answer.status, answer.json()) == (400, {"error": "The provided base path is invalid or doesn't exists"})


@each_edition
def test_two_dots_within_a_name_climb_nowhere(edition: Edition) -> None:
    assert complete(edition, model="a..b", max_tokens=1).status == 200
    assert look("/v2/models/a..b/ready", edition).status == 200


@each_edition
def test_head_is_get_without_a_body(edition: Edition) -> None:
    for path in ("/v3/completions", "/v3/models", "/v2/health/live", "/v1/config/reload", "/nowhere"):
        assert look(path, edition, method="HEAD").status == look(path, edition).status


@each_edition
@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "/v3/completions", 400),
        ("GET", "/v1/config/reload", 406),
        ("POST", "/v1/config", 406),
        ("POST", "/v2", 406),
        ("POST", "/v2/models/llama3/ready", 406),
        ("DELETE", "/v3/models", 406),
        ("PUT", "/nowhere", 406),
    ],
)
def test_the_method_is_to_blame_where_the_path_has_another(
    edition: Edition, method: str, path: str, status: int
) -> None:
    assert look(path, edition, method=method).status == status


# --- refusals ----------------------------------------------------------------------------------------------------


@each_edition
def test_a_refused_stream_is_bare_json_under_a_streams_headers(edition: Edition) -> None:
    answer = stream(edition, temperature=3)
    assert answer.status == 400
    assert answer.body == compact({"error": f"{GRAPH}temperature out of range(0.0, 2.0)"})
    assert answer.headers["content-type"] == "text/event-stream"


@each_edition
def test_a_plain_refusal_has_the_headers_of_a_plain_answer(edition: Edition) -> None:
    refused, answered = complete(edition, temperature=3), complete(edition)
    assert refused.body == compact({"error": f"{GRAPH}temperature out of range(0.0, 2.0)"})
    assert own_headers(refused) == own_headers(answered)


ORDER: dict[Edition, tuple[tuple[str, Any], ...]] = {
    "documented": (
        ("stream_options", 1), ("ignore_eos", 1), ("max_tokens", -1), ("frequency_penalty", 9),
        ("presence_penalty", 9), ("repetition_penalty", ""), ("diversity_penalty", ""), ("length_penalty", ""),
        ("temperature", 9), ("top_p", 9), ("top_k", ""), ("seed", ""), ("stop", 1), ("include_stop_str_in_output", 1),
        ("best_of", 0), ("n", 0), ("num_assistant_tokens", 0), ("prompt", 1), ("logprobs", 2), ("echo", 1),
        ("repetition_penalty", 0),
    ),
    "observed": (
        ("stream_options", 1), ("ignore_eos", 1), ("max_tokens", -1), ("frequency_penalty", 9),
        ("presence_penalty", 9), ("repetition_penalty", ""), ("length_penalty", ""), ("temperature", 9), ("top_p", 9),
        ("min_p", 1), ("top_k", 0), ("seed", -1), ("stop", 1), ("include_stop_str_in_output", 1), ("best_of", 0),
        ("n", 0), ("skip_special_tokens", 1), ("prompt", 1), ("logprobs", 2), ("echo", 1), ("repetition_penalty", 0),
    ),
}  # fmt: skip


@each_edition
def test_of_two_faults_the_earlier_in_the_vendors_order_is_told(edition: Edition) -> None:
    rows = ORDER[edition]
    alone = [complete(edition, **{name: value}).json()["error"] for name, value in rows]
    assert len(set(alone)) == len(rows)
    for earlier in range(len(rows)):
        for later in range(earlier + 1, len(rows)):
            if rows[earlier][0] != rows[later][0]:
                both = complete(edition, **dict((rows[earlier], rows[later]))).json()["error"]
                assert both == alone[earlier]


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**63, 2**64, -(2**63), 1e308, -1e308, True, "1", [], {}])
def test_numbers_are_fractions_or_integers_of_32_bits(value: object) -> None:
    for edition in EDITIONS:
        answer = complete(edition, length_penalty=value, max_tokens=1)
        # What is too large for 64 bits is a fraction to the server's parser.
        assert (answer.status == 200) == (isinstance(value, float) or value == 2**64)


@each_edition
def test_the_ends_of_ranges_are_allowed(edition: Edition) -> None:
    for fields in (
        {"temperature": 2}, {"temperature": 2.0}, {"frequency_penalty": -2}, {"presence_penalty": 2.0}, {"top_p": 1},
        {"seed": 4294967295}, {"best_of": 19, "n": 19}, {"top_k": 2147483647}, {"repetition_penalty": 0.1},
    ):  # fmt: skip
        assert complete(edition, max_tokens=1, **fields).status == 200
