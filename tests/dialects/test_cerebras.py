"""Cerebras: the OpenAPI page (documented) and what the service answers today (observed; vendor note, part A)."""

import gzip
import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import orjson
import pytest

from mockserver.core.dialects import EDITIONS, Edition, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Choice, Generation, GenerationRequest, Output, Prompt, Usage
from mockserver.core.http import TokenTiming
from mockserver.dialects.cerebras.dialect import CEREBRAS
from mockserver.dialects.cerebras.errors import ERRORS
from mockserver.dialects.cerebras.write import write_completion
from mockserver.model import tokens
from mockserver.state.settings import Settings
from tests.support.asking import FROZEN, QUIET, Answer, ask
from tests.support.reading import choice

MODEL = "gpt-oss-120b"
PROMPT = "The harbour of the small town was quiet in autumn."
BODY: dict[str, Any] = {"model": MODEL, "prompt": PROMPT}

both_editions = pytest.mark.parametrize("edition", EDITIONS)


def complete(edition: Edition = "documented", settings: Settings = QUIET, **fields: Any) -> Answer:
    answer = ask("cerebras", BODY | fields, edition=edition, settings=settings)
    assert answer.status == 200
    return answer


def text(answer: Answer, index: int = 0) -> str:
    return str(choice(answer, index)["text"])


def middle_of(whole: str) -> str:
    return whole[len(whole) // 2 :][:6]


# --- the wire ----------------------------------------------------------------------------------------------------


@both_editions
def test_a_plain_answer_has_the_recorded_keys_in_their_order(edition: Edition) -> None:
    answer = complete(edition, max_tokens=4)
    body = answer.json()
    usage = body["usage"]
    assert (
        answer.body
        == (
            f'{{"id":"{body["id"]}","choices":[{{"finish_reason":"length","index":0,"text":{json.dumps(text(answer))}}}],'
            f'"created":1700000000,"model":"{MODEL}","system_fingerprint":"{body["system_fingerprint"]}",'
            f'"object":"text_completion","usage":{{"prompt_tokens":{usage["prompt_tokens"]},"completion_tokens":4,'
            f'"total_tokens":{usage["prompt_tokens"] + 4},"prompt_tokens_details":{{"cached_tokens":0}}}},'
            f'"time_info":{orjson.dumps(body["time_info"]).decode()}}}'
        ).encode()
    )
    assert list(body["time_info"]) == ["queue_time", "prompt_time", "completion_time", "total_time", "created"]


@both_editions
def test_a_stream_opens_empty_and_closes_with_finish_reason_usage_and_times(edition: Edition) -> None:
    plain, stream = complete(edition, max_tokens=3).json(), complete(edition, max_tokens=3, stream=True)
    texts = [event["choices"][0]["text"] for event in stream.events()[:-1]]
    assert (texts[0], "".join(texts), texts[-1], len(texts)) == ("", plain["choices"][0]["text"], "", 5)
    head = f'data: {{"id":"{stream.events()[0]["id"]}","choices":['
    tail = (
        f'],"created":1700000000,"model":"{MODEL}","system_fingerprint":"{plain["system_fingerprint"]}",'
        '"object":"text_completion"'
    )
    closing = orjson.dumps({"usage": plain["usage"], "time_info": plain["time_info"]}).decode().removeprefix("{")
    unset = '"finish_reason":null,' if edition == "documented" else ""
    written = [f'{head}{{{unset}"index":0,"text":{json.dumps(said)}}}{tail}}}\n\n' for said in texts[:-1]]
    written.append(f'{head}{{"finish_reason":"length","index":0,"text":""}}{tail},{closing}\n\n')
    assert stream.body.decode() == "".join([*written, "data: [DONE]\n\n"])


def test_every_event_of_a_stream_is_a_frame_of_its_own() -> None:
    frames = [frame for run in complete(max_tokens=5, stream=True).plan.timeline.runs for frame in run.data]
    assert len(frames) == 1 + 5 + 1 + 1
    assert all(frame.startswith(b"data: ") and frame.count(b"\n") == 2 and b"\r" not in frame for frame in frames)


def test_an_id_is_a_uuid_after_a_chats_prefix_and_the_inference_id_of_the_headers() -> None:
    answer, again, other = complete(max_tokens=1), complete(max_tokens=1), complete(max_tokens=2)
    prefix, *groups = answer.json()["id"].split("-")
    assert (prefix, [len(group) for group in groups]) == ("chatcmpl", [8, 4, 4, 4, 12])
    assert groups[2].startswith("4")
    assert answer.json()["id"] == again.json()["id"] != other.json()["id"]
    assert answer.headers["inference-id"] == answer.json()["id"]
    stream = complete(max_tokens=1, stream=True)
    assert {event["id"] for event in stream.events()[:-1]} == {stream.headers["inference-id"]}


def test_a_system_fingerprint_belongs_to_the_model_and_not_to_the_request() -> None:
    first, second, other = complete(max_tokens=1), complete(max_tokens=2), complete(model="llama3.1-8b")
    assert first.json()["system_fingerprint"] == second.json()["system_fingerprint"]
    assert first.json()["system_fingerprint"] != other.json()["system_fingerprint"]
    prefix, _, digits = str(first.json()["system_fingerprint"]).partition("_")
    assert (prefix, len(digits)) == ("fp", 20)


@pytest.mark.parametrize("stream, kind", [(False, "application/json"), (True, "text/event-stream; charset=utf-8")])
def test_an_answer_names_its_type_its_limits_and_its_edge(stream: bool, kind: str) -> None:
    headers = complete(max_tokens=1, stream=stream).headers
    assert headers["content-type"] == kind
    for what in ("limit", "remaining", "reset"):
        for of in ("requests-day", "tokens-minute"):
            assert float(headers[f"x-ratelimit-{what}-{of}"]) > 0
    assert 0 < float(headers["x-ratelimit-reset-tokens-minute"]) <= 60
    assert (headers["server"], headers["cf-cache-status"]) == ("cloudflare", "DYNAMIC")
    assert "cf-ray" in headers


@pytest.mark.parametrize(
    "edition, said",
    [
        ("documented", "max-age=3600; includeSubDomains"),
        ("observed", "max-age=15552000; includeSubDomains; preload"),
    ],
)
def test_the_edge_asks_for_https_for_as_long_as_it_was_recorded_to_at_the_editions_time(
    edition: Edition, said: str
) -> None:
    assert ask("cerebras", BODY, edition=edition).headers["strict-transport-security"] == said


@pytest.mark.parametrize("fault", ["invalid_request", "overloaded", "rate_limit", "payment_required"])
@both_editions
def test_a_refusal_carries_the_limits_but_for_todays_of_a_format_and_of_a_full_queue(
    edition: Edition, fault: str
) -> None:
    model = {"model": "gpt-oss-120b"}
    if fault == "invalid_request":
        headers = ask("cerebras", BODY | model | {"temperature": 3}, edition=edition).headers
    else:
        headers = ask("cerebras", BODY | model, edition=edition, headers={"x-mockserver-fault": fault}).headers
    silent = edition == "observed" and fault in ("invalid_request", "overloaded")
    assert ("x-ratelimit-limit-requests-day" in headers) is not silent
    assert headers.get("x-should-retry") == ("false" if silent and fault == "overloaded" else None)
    assert "inference-id" not in headers


# --- what each field does ----------------------------------------------------------------------------------------


def test_max_tokens_cuts_the_answer_to_a_prefix_and_none_are_allowed() -> None:
    whole, short, nothing = complete(), complete(max_tokens=5), complete(max_tokens=0)
    assert text(whole).startswith(text(short))
    assert choice(whole)["finish_reason"] == "stop"
    assert (choice(short)["finish_reason"], short.json()["usage"]["completion_tokens"]) == ("length", 5)
    assert choice(nothing) == {"finish_reason": "length", "index": 0, "text": ""}
    assert nothing.json()["usage"]["completion_tokens"] == 0


def test_a_stream_of_no_tokens_still_opens_and_closes() -> None:
    opening, closing, done = complete(max_tokens=0, stream=True).events()
    assert opening["choices"] == [{"finish_reason": None, "index": 0, "text": ""}]
    assert closing["choices"] == [{"finish_reason": "length", "index": 0, "text": ""}]
    assert (closing["usage"]["completion_tokens"], done) == (0, "[DONE]")


def test_min_tokens_makes_an_answer_longer_and_minus_one_as_long_as_allowed() -> None:
    natural = complete().json()["usage"]["completion_tokens"]
    longer = complete(min_tokens=natural + 30).json()
    longest = complete(min_tokens=-1, max_tokens=natural + 50)
    assert longer["usage"]["completion_tokens"] >= natural + 30
    assert (choice(longest)["finish_reason"], longest.json()["usage"]["completion_tokens"]) == ("length", natural + 50)


def test_nothing_is_drawn_without_temperature() -> None:
    assert text(complete(seed=7, temperature=0)) == text(complete(seed=8, temperature=0))


def test_echo_puts_the_prompt_before_the_same_text_and_into_the_first_chunk() -> None:
    whole = text(complete())
    assert text(complete(echo=True)) == PROMPT + whole
    events = complete(echo=True, stream=True).events()
    assert events[0]["choices"][0] == {"finish_reason": None, "index": 0, "text": PROMPT}
    assert "".join(event["choices"][0]["text"] for event in events[:-1]) == PROMPT + whole


def test_logprobs_are_four_lists_whose_offsets_count_from_the_start_of_the_prompt() -> None:
    told = choice(complete(max_tokens=6, logprobs=3))
    rows = told["logprobs"]
    assert list(told) == ["finish_reason", "index", "logprobs", "text"]
    assert list(rows) == ["text_offset", "token_logprobs", "tokens", "top_logprobs"]
    assert "".join(rows["tokens"]) == told["text"]
    assert rows["text_offset"][0] == len(PROMPT)
    assert [after - before for before, after in pairwise(rows["text_offset"])] == [
        len(token) for token in rows["tokens"][:-1]
    ]
    for token, logprob, top in zip(rows["tokens"], rows["token_logprobs"], rows["top_logprobs"], strict=True):
        assert top[token] == logprob < 0
        assert len(top) in (3, 4)  # one more where the token itself is not among the three


def test_logprobs_of_0_are_told_without_alternatives() -> None:
    rows = choice(complete(max_tokens=6, logprobs=0))["logprobs"]
    assert list(rows) == ["text_offset", "token_logprobs", "tokens"]
    assert rows["token_logprobs"] == choice(complete(max_tokens=6, logprobs=20))["logprobs"]["token_logprobs"]


def test_logprobs_of_an_echo_begin_with_the_prompts() -> None:
    told = choice(complete(max_tokens=6, logprobs=1, echo=True))
    rows = told["logprobs"]
    assert "".join(rows["tokens"]) == told["text"]
    assert (rows["text_offset"][0], len(rows["token_logprobs"])) == (0, len(rows["tokens"]))


def test_each_chunk_has_the_logprobs_of_its_token() -> None:
    whole = choice(complete(max_tokens=6, logprobs=2))["logprobs"]
    opening, *middle, closing, _ = complete(max_tokens=6, logprobs=2, stream=True).events()
    parts = [event["choices"][0]["logprobs"] for event in middle]
    assert {name: [part[name][0] for part in parts] for name in whole} == whole
    assert [list(event["choices"][0]) for event in middle] == [["finish_reason", "index", "logprobs", "text"]] * 6
    assert "logprobs" not in opening["choices"][0] | closing["choices"][0]


def test_raw_tokens_stand_beside_an_empty_text_and_say_the_same() -> None:
    told = choice(complete(max_tokens=6, return_raw_tokens=True))
    assert list(told) == ["finish_reason", "index", "text", "tokens"]
    assert (told["text"], len(told["tokens"])) == ("", 6)
    assert tokens.decode(told["tokens"]) == text(complete(max_tokens=6))


def test_each_chunk_has_the_id_of_its_token_when_raw_ones_are_wanted() -> None:
    told = choice(complete(max_tokens=6, return_raw_tokens=True))["tokens"]
    _, *middle, closing, _ = complete(max_tokens=6, return_raw_tokens=True, stream=True).events()
    assert [event["choices"] for event in middle] == [
        [{"finish_reason": None, "index": 0, "text": "", "tokens": [token]}] for token in told
    ]
    assert closing["choices"] == [{"finish_reason": "length", "index": 0, "text": ""}]


def test_several_prompts_get_a_choice_each_and_are_counted_together() -> None:
    one, two = complete(max_tokens=5), complete(prompt="Over the mountains", max_tokens=5)
    answer = complete(prompt=[PROMPT, "Over the mountains"], max_tokens=5)
    assert answer.json()["choices"] == [choice(one), choice(two) | {"index": 1}]
    usages = [each.json()["usage"]["total_tokens"] for each in (one, two, answer)]
    assert usages[2] == usages[0] + usages[1]


def test_a_prompt_of_token_ids_is_continued_like_its_text() -> None:
    ids = tokens.encode(PROMPT)
    assert text(complete(prompt=ids)) == text(complete())
    assert complete(prompt=ids).json()["usage"]["prompt_tokens"] == len(ids)
    answer = complete(prompt=[ids, tokens.encode("Over the mountains")], max_tokens=5)
    assert answer.json()["choices"] == complete(prompt=[PROMPT, "Over the mountains"], max_tokens=5).json()["choices"]


def test_a_stream_of_several_prompts_opens_them_all_and_tells_the_usage_once() -> None:
    plain = complete(prompt=[PROMPT, "Over"], max_tokens=4).json()
    events = complete(prompt=[PROMPT, "Over"], max_tokens=4, stream=True).events()[:-1]
    opening = {"finish_reason": None, "text": ""}
    assert [event["choices"][0] for event in events[:2]] == [opening | {"index": 0}, opening | {"index": 1}]
    assert [("usage" in event, "time_info" in event) for event in events] == [(False, False)] * (len(events) - 1) + [
        (True, True)
    ]
    assert events[-1]["usage"] == plain["usage"]
    for told in plain["choices"]:
        mine = [event["choices"][0] for event in events if event["choices"][0]["index"] == told["index"]]
        assert "".join(part["text"] for part in mine) == told["text"]
        assert [part.get("finish_reason") for part in mine] == [None] * (len(mine) - 1) + ["length"]


def test_a_prompt_may_be_left_out() -> None:
    answer = ask("cerebras", {"model": MODEL, "max_tokens": 3})
    assert answer.json()["choices"] == complete(prompt="", max_tokens=3).json()["choices"]
    assert answer.json()["usage"]["prompt_tokens"] == 0


@pytest.mark.parametrize("root", ["root", "fcall", "object", "ws"])
def test_a_grammar_root_of_the_page_is_accepted(root: str) -> None:
    assert complete(grammar_root=root, max_tokens=3).json()["usage"]["completion_tokens"] <= 3


def test_nulls_stand_for_fields_that_are_not_there() -> None:
    names = "stream return_raw_tokens max_tokens min_tokens grammar_root seed stop temperature top_p user logprobs"
    nulls: dict[str, Any] = dict.fromkeys(names.split())
    assert complete(**nulls).json()["choices"] == complete().json()["choices"]


def test_whole_numbers_may_come_as_fractions() -> None:
    whole: dict[str, Any] = {"max_tokens": 5, "n": 2, "seed": 7, "logprobs": 2, "min_tokens": 1, "best_of": 2}
    fractions: dict[str, Any] = {name: float(value) for name, value in whole.items()}
    expected = complete("observed", **whole, prompt=[65, 66]).json()["choices"]
    assert complete("observed", **fractions, prompt=[65.0, 66.0]).json()["choices"] == expected


@pytest.mark.parametrize(
    "body, words",
    [
        (b'{"a":1,}', "trailing comma at line 1 column 8"),
        (b'\n{"a": NaN}', "expected value at line 2 column 7"),
        (b'{"a": "\xc3\xa9\xff"}', "invalid unicode code point at line 1 column 10"),
        (b'{"a": 1e999}', "number out of range at line 1 column 7"),
        (b"[" * 300, "recursion limit exceeded at line 1 column 202"),
        (b'{"a":%b}' % (b"[" * 150 + b"]" * 150), "recursion limit exceeded at line 1 column 306"),
        (b'{"prompt": "%b", "n": x}' % (b"a" * 100_000), "expected value at line 1 column 100021"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_json_is_refused_in_the_parsers_words(body: bytes, words: str) -> None:
    assert ask("cerebras", body).json()["error"]["message"] == f": Invalid JSON: {words}"


def test_a_packed_body_may_come_in_several_parts() -> None:
    body = json.dumps(BODY).encode()
    packed = gzip.compress(body[:9], mtime=0) + gzip.compress(body[9:], mtime=0)
    assert text(ask("cerebras", packed, headers={"content-encoding": " X-GZIP"})) == text(complete())


@pytest.mark.parametrize("damage", [lambda p: p[:-4], lambda p: p[:-12], lambda p: p + b"more", lambda p: p[:4]])
def test_a_damaged_pack_is_refused_though_its_json_be_whole(damage: Callable[[bytes], bytes]) -> None:
    packed = damage(gzip.compress(json.dumps(BODY).encode(), mtime=0))
    answer = ask("cerebras", packed, headers={"content-encoding": "gzip"})
    assert (answer.status, answer.json()["error"]["code"]) == (400, "wrong_api_format")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xc1", id="a mark that means nothing"),
        pytest.param(b"\xc4\x01a", id="a binary"),
        pytest.param(b"\xd4\x01\x02", id="an extension"),
        pytest.param(b"\x81\x01\x02", id="a key that is no text"),
        pytest.param(b"\xa1\xff", id="a text that is no UTF-8"),
        pytest.param(b"\xa5mode", id="a text cut short"),
        pytest.param(b"\xdd\xff\xff\xff\xff", id="a list of which nothing comes"),
        pytest.param(b"\x01\x02", id="two values"),
        pytest.param(b"\x81\xabtemperature\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", id="infinity"),
        pytest.param(b"\x81\xabtemperature\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", id="no number"),
        pytest.param(b"\x91" * 5000 + b"\xc0", id="nested too deeply"),
    ],
)
def test_no_other_message_pack_is_a_request(data: bytes) -> None:
    answer = ask("cerebras", data, headers={"content-type": "Application/VND.msgpack; v=1"})
    message = ": the request is not valid MessagePack"
    assert (answer.status, answer.json()["error"]["message"]) == (400, message)


@pytest.mark.parametrize(
    "data, kind",
    [
        pytest.param(b'{"prompt":[%b1]}' % (b"[]," * 300_000), "application/json", id="JSON"),
        pytest.param(b"\x81\xa6prompt\xdd\x00\x09\x27\xc0" + b"\x90" * 600_000, "application/vnd.msgpack", id="wide"),
        pytest.param(
            b"\x81\xa6prompt\xdd\x00\x04\x93\xe0" + b"\x91\xc0" * 300_000, "application/vnd.msgpack", id="deeper"
        ),
    ],
)
def test_a_pack_of_more_values_than_anybody_means_is_too_large(data: bytes, kind: str) -> None:
    packed = gzip.compress(data, mtime=0)
    assert len(packed) < 10_000
    answer = ask("cerebras", packed, headers={"content-encoding": "gzip", "content-type": kind})
    assert answer.status == 413


# --- times -------------------------------------------------------------------------------------------------------


def test_the_times_of_an_answer_add_up_and_are_never_zero() -> None:
    times = complete(max_tokens=4).json()["time_info"]
    parts = [times[name] for name in ("queue_time", "prompt_time", "completion_time")]
    assert min(parts) > 0
    assert times["total_time"] == pytest.approx(sum(parts))


def test_a_realistic_engine_states_a_little_more_than_its_parts() -> None:
    settings = Settings(created=FROZEN, latency="cerebras")
    times = complete(settings=settings, max_tokens=20).json()["time_info"]
    parts = sum(times[name] for name in ("queue_time", "prompt_time", "completion_time"))
    assert 0.0015 <= times["total_time"] - parts <= 0.004
    assert times == complete(settings=settings, max_tokens=20, stream=True).events()[-2]["time_info"]


def test_the_time_of_the_times_is_whole_on_the_page_and_a_fraction_in_the_service() -> None:
    documented, observed = (complete(edition, max_tokens=1).json()["time_info"]["created"] for edition in EDITIONS)
    assert (documented, observed) == (1_700_000_000, 1_700_000_000.25)
    assert isinstance(documented, int)


# --- editions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"n": 2}, {"best_of": 0}, {"n": "two"}, {"thinking": True}, {"top_k": 5}])
def test_the_page_accepts_fields_that_it_does_not_name_and_ignores_them(fields: Mapping[str, Any]) -> None:
    assert complete(**fields).json()["choices"] == complete().json()["choices"]


def test_the_best_of_several_is_one_of_them() -> None:
    candidates = [told["text"] for told in complete("observed", n=4).json()["choices"]]
    best = complete("observed", best_of=4).json()
    assert [told["index"] for told in best["choices"]] == [0]
    assert best["choices"][0]["text"] in candidates


def test_a_choice_of_one_candidate_may_be_streamed() -> None:
    *chunks, _ = complete("observed", best_of=1, max_tokens=5, stream=True).events()
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == text(complete("observed", max_tokens=5))


@pytest.mark.parametrize(
    "fields",
    [
        {"echo": None},
        {"stream_options": {"include_usage": True}},
        {"frequency_penalty": 0, "presence_penalty": 0, "logit_bias": {"5": -100, "no token": 100}},
        {"prompt_cache_key": "k", "reasoning_format": "parsed", "suffix": "."},
    ],
    ids=["echo", "stream_options", "sampling", "others"],
)
def test_the_service_knows_the_fields_of_its_sdk(fields: Mapping[str, Any]) -> None:
    assert complete("observed", **fields).json()["choices"] == complete("observed").json()["choices"]


# --- refusals (the rest of them: refused/cerebras.json) ----------------------------------------------------------


@both_editions
def test_a_prompt_longer_than_the_context_is_refused_with_both_lengths(edition: Edition) -> None:
    ids = [65] * 131_073
    answer = ask("cerebras", BODY | {"prompt": [[65], ids]}, edition=edition)
    error = {
        "message": "Please reduce the length of the messages or completion. "
        "Current length is 131073 while limit is 131072",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
    # Recorded: the engine's refusals have an id, which is empty.
    said = {"error": error} if edition == "documented" else error | {"id": ""}
    assert (answer.status, answer.json()) == (400, said)
    assert complete(edition, prompt=ids[1:]).json()["usage"]["completion_tokens"] == 0


@both_editions
def test_a_model_outside_a_configured_catalogue_is_not_found(edition: Edition) -> None:
    settings = Settings(created=FROZEN, latency="off", models={"cerebras": ("qwen-3.8-27b",)})
    answer = ask("cerebras", BODY, edition=edition, settings=settings)
    body = answer.json()["error"] if edition == "documented" else answer.json()
    assert (answer.status, body["type"], body["param"], body["code"]) == (
        404,
        "not_found_error",
        "model",
        "model_not_found",
    )


@pytest.mark.parametrize("raw", [b"", b"{", b'{"model": "m",}', b"NaN", b'{"model": "\\ud800"}', b"\xff", b"hello"])
@both_editions
def test_what_is_no_json_is_of_a_wrong_format(edition: Edition, raw: bytes) -> None:
    answer = ask("cerebras", raw, edition=edition)
    body = answer.json()["error"] if edition == "documented" else answer.json()
    assert list(body) == ["message", "type", "param", "code"]
    assert (answer.status, body["type"], body["param"], body["code"]) == (
        400,
        "invalid_request_error",
        "validation_error",
        "wrong_api_format",
    )


@pytest.mark.parametrize("key, status", [("secret", 200), ("other", 401)])
@both_editions
def test_a_wrong_key_is_told_from_none(edition: Edition, key: str, status: int) -> None:
    settings = Settings(created=FROZEN, latency="off", auth=("secret",))
    headers = {"authorization": f"Bearer {key}"}
    answer = ask("cerebras", BODY, headers=headers, edition=edition, settings=settings)
    assert answer.status == status
    if status == 401:
        body = answer.json()["error"] if edition == "documented" else answer.json()
        assert body == {
            "message": "Wrong API Key",
            "type": "invalid_request_error",
            "param": "api_key",
            "code": "wrong_api_key",
        }


def test_a_path_that_nobody_routes_is_answered_with_nothing_at_all() -> None:
    answer = ask("cerebras", BODY, path="/v1/embeddings", method="POST")
    assert (answer.status, answer.body, answer.headers["content-type"]) == (404, b"", "text/plain")


@both_editions
@pytest.mark.parametrize("kind", ERRORS["documented"])
def test_every_failure_has_a_row_in_the_shape_of_its_edition(kind: FailureKind, edition: Edition) -> None:
    row = ERRORS[edition][kind]
    body = row.body(Refusal(kind), row.message)
    if kind is FailureKind.UNKNOWN_PATH:
        assert body == b""
        return
    assert isinstance(body, dict)
    if "detail" not in body:
        error = body["error"] if edition == "documented" else body
        assert list(error)[:4] == ["message", "type", "param", "code"]
        assert error["message"]
    else:
        assert (edition, body) == ("observed", {"detail": row.message})


@pytest.mark.parametrize(
    "kind, status, message, type_, param, code, more",
    [
        (
            FailureKind.SERVER_ERROR, 500, "Encountered a server error, please try again.",
            "server_error", "", "", {"id": ""},
        ),
        (
            FailureKind.RATE_LIMIT, 429, "Requests per minute limit exceeded - too many requests sent.",
            "too_many_requests_error", "quota", "request_quota_exceeded", {},
        ),
        (
            FailureKind.OVERLOADED, 429, "We're experiencing high traffic right now! Please try again soon.",
            "too_many_requests_error", "queue", "queue_exceeded", {},
        ),
        (
            FailureKind.PAYMENT_REQUIRED, 402, "Payment required to access this resource. Visit your billing tab.",
            "payment_required_error", "quota", "payment_required", {},
        ),
    ],
)  # fmt: skip
def test_errors_of_today_are_those_that_were_captured(
    kind: FailureKind, status: int, message: str, type_: str, param: str, code: str, more: dict[str, str]
) -> None:
    row = ERRORS["observed"][kind]
    body = {"message": message, "type": type_, "param": param, "code": code, **more}
    assert (row.status, row.body(Refusal(kind), row.message)) == (status, body)


# --- models and warming ------------------------------------------------------------------------------------------


@both_editions
def test_models_are_listed_with_their_owners(edition: Edition) -> None:
    answer = ask("cerebras", path="/v1/models", edition=edition)
    assert list(answer.json()) == ["object", "data"]
    # Today the shared endpoints have two models.
    models = CEREBRAS.models if edition == "documented" else CEREBRAS.models[:2]
    assert answer.json() == {
        "object": "list",
        "data": [{"id": model.id, "object": "model", "created": 0, "owned_by": model.owned_by} for model in models],
    }
    public = ask("cerebras", path="/public/v1/models", edition=edition).json()["data"]
    assert [model["id"] for model in public] == [model.id for model in models]
    assert list(answer.json()["data"][0]) == ["id", "object", "created", "owned_by"]


def test_every_model_of_the_vendors_pages_is_on_offer() -> None:
    ids = "gpt-oss-120b qwen-3.8-27b gemma-4-31b zai-glm-4.7 llama3.1-8b qwen-3-235b-a22b-instruct-2507 llama-3.3-70b"
    assert [model["id"] for model in ask("cerebras", path="/v1/models").json()["data"]] == ids.split()


@pytest.mark.parametrize("path", ["/v1/models", "/public/v1/models"])
@pytest.mark.parametrize("query", ["", "?format=openrouter", "?format=huggingface"])
def test_a_model_is_the_same_alone_as_in_the_list(path: str, query: str) -> None:
    listed = ask("cerebras", path=path + query).json()["data"]
    assert [model["id"] for model in listed] == [model.id for model in CEREBRAS.models]
    assert [ask("cerebras", path=f"{path}/{model['id']}{query}").json() for model in listed] == listed


def test_a_configured_catalogue_is_what_both_lists_have() -> None:
    settings = Settings(created=FROZEN, latency="off", models={"cerebras": (MODEL, "mine")})
    listed = ask("cerebras", path="/v1/models", settings=settings).json()["data"]
    assert [(model["id"], model["owned_by"]) for model in listed] == [(MODEL, "Cerebras"), ("mine", "Cerebras")]
    _, mine = ask("cerebras", path="/public/v1/models", settings=settings).json()["data"]
    assert (mine["name"], mine["owned_by"], mine["pricing"]) == ("mine", "Cerebras", {"prompt": "0", "completion": "0"})


@both_editions
def test_the_public_catalogue_needs_no_credentials(edition: Edition) -> None:
    asked = [
        ask("cerebras", path=path, headers={"authorization": ""}, edition=edition).status
        for path in ("/public/v1/models", "/public/v1/models/gpt-oss-120b", "/v1/models")
    ]
    assert asked == [200, 200, 401 if edition == "documented" else 403]


def test_a_public_model_has_the_recorded_members_and_figures() -> None:
    answer = ask("cerebras", path="/public/v1/models/gpt-oss-120b").json()
    assert answer.pop("description")
    flags = {
        name: name not in ("vision", "parallel_tool_calls")
        for name in [
            "streaming",
            "function_calling",
            "structured_outputs",
            "vision",
            "json_mode",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "response_format",
            "reasoning",
        ]
    }
    parameters = [
        "temperature",
        "top_p",
        "seed",
        "stop",
        "max_completion_tokens",
        "logprobs",
        "top_logprobs",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "repetition_penalty",
    ]
    assert answer == {
        "id": "gpt-oss-120b",
        "object": "model",
        "created": 1_754_438_400,
        "owned_by": "OpenAI",
        "name": "OpenAI GPT OSS",
        "hugging_face_id": "openai/gpt-oss-120b",
        "pricing": {"prompt": "0.00000035", "completion": "0.00000075"},
        "capabilities": flags,
        "supported_parameters": {name: not name.endswith(("logprobs", "repetition_penalty")) for name in parameters},
        "architecture": {"modality": "text", "tokenizer": "GPT", "instruct_type": "harmony"},
        "limits": {
            "max_context_length": 131_072,
            "max_completion_tokens": 40_960,
            "requests_per_minute": None,
            "tokens_per_minute": None,
        },
        "datacenter_locations": [],
        "deprecated": False,
        "preview": False,
        "quantization": "FP16/8 (weights only)",
    }


@pytest.mark.parametrize("path", ["/v1/models", "/public/v1/models"])
def test_models_can_be_had_in_the_forms_of_those_that_list_providers(path: str) -> None:
    answer = ask("cerebras", path=f"{path}?format=openrouter").json()
    gemma = next(model for model in answer["data"] if model["id"] == "gemma-4-31b")
    assert list(answer) == ["data"]
    assert gemma.pop("description")
    assert gemma == {
        "id": "gemma-4-31b",
        "hugging_face_id": "google/gemma-4-31B",
        "name": "Gemma 4 31B",
        "created": 0,
        "input_modalities": ["text", "image"],
        "output_modalities": ["text"],
        "quantization": "fp16",
        "context_length": 131_072,
        "max_output_length": 40_960,
        "pricing": {
            "prompt": "0.00000099",
            "completion": "0.00000149",
            "image": "0",
            "request": "0",
            "input_cache_read": "0",
        },
        "supported_sampling_parameters": ["temperature", "top_p", "stop", "seed", "max_tokens"],
        "supported_features": ["tools", "json_mode", "structured_outputs", "reasoning"],
    }
    answer = ask("cerebras", path=f"{path}?format=huggingface").json()
    assert list(answer) == ["object", "data"]
    assert next(model for model in answer["data"] if model["id"] == "gemma-4-31b") == {
        "id": "gemma-4-31b",
        "object": "model",
        "created": 0,
        "owned_by": "Google",
        "hugging_face_id": "google/gemma-4-31B",
        "context_length": 131_072,
        "pricing": {"input": 0.99, "output": 1.49},
        "capabilities": {"streaming": True, "function_calling": True, "structured_outputs": True, "vision": True},
    }


@both_editions
def test_warming_a_connection_needs_no_credentials_and_is_no_error(edition: Edition) -> None:
    answer = ask("cerebras", path="/v1/tcp_warming", headers={"authorization": ""}, edition=edition)
    assert (answer.status, answer.json()) == (200, {})


# --- ends and beginnings --------------------------------------------------------------------------------------


def test_the_usage_is_in_the_last_chunk_even_when_a_choice_is_empty() -> None:
    prompts = (Prompt("A", "A", 1), Prompt("B", "B", 1))
    request = GenerationRequest(MODEL, prompts, Output(stream=True))
    full = Choice(0, 0, (65,), ("A",), "stop", prompts[0])
    empty = Choice(1, 0, (), (), "stop", prompts[1])
    reply = write_completion(
        Generation(request, (full, empty), Usage(2, 1)), TokenTiming(), RequestScope("documented", FROZEN, 42)
    )
    events = [event for frames in reply.frames for event in frames.data]
    assert [b'"usage"' in event for event in events] == [False] * (len(events) - 2) + [True, False]


def test_a_stream_tells_the_logprobs_of_an_echoed_prompt() -> None:
    whole = choice(complete(max_tokens=3, logprobs=1, echo=True))["logprobs"]["tokens"]
    events = complete(max_tokens=3, logprobs=1, echo=True, stream=True).events()[:-1]
    parts = [event["choices"][0].get("logprobs", {"tokens": []})["tokens"] for event in events]
    assert [token for part in parts for token in part] == whole
