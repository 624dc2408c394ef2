"""QStash's messages: what is accepted, when it is delivered, what is reported. Without a socket: a sender is played by
the tests, which perform the tasks of the message store at times of their choosing."""

import base64
import hashlib
import hmac
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mockserver.core.dialect_state import WebhookRequest, WebhookResult
from mockserver.core.dialects import EDITIONS
from mockserver.core.installed import load_dialect
from mockserver.dialects.upstash.attempts import (
    ExpressionError,
    duration,
    milliseconds,
    signing_key,
    wanted_wait,
)
from mockserver.dialects.upstash.dialect import CURRENT_SIGNING_KEY, NEXT_SIGNING_KEY
from mockserver.routes import Routes
from tests.support.asking import QUIET
from tests.support.post import BROKEN, CALLBACK, CHAT, FAILURE, LLM, START, WELL, Post, headers_of


@pytest.fixture
def post() -> Post:
    return Post()


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


# --- what is delivered -----------------------------------------------------------------------------------------------


def test_a_message_for_the_model_becomes_a_request_to_the_chat_with_the_publishers_token(post: Post) -> None:
    id = post.publish(upstash_forward_x_tenant="blue")
    assert post.due() == [
        WebhookRequest(
            id,
            "POST",
            "/llm/v1/chat/completions",
            (
                (b"content-type", b"application/json"),
                (b"x-tenant", b"blue"),
                (b"upstash-message-id", id.encode()),
                (b"upstash-retried", b"0"),
                (b"user-agent", b"Upstash-QStash"),
                (b"authorization", b"Bearer token"),
            ),
            json.dumps(CHAT).encode(),
            0,
            7200.0,
        )
    ]


def test_its_answer_goes_to_the_callback_in_the_recorded_form(post: Post) -> None:
    id = post.publish(upstash_callback_forward_x_user="7")
    post.advance(2)
    answered = ((b"x-b", b"2"), (b"content-type", b"application/json"), (b"x-b", b"3"))
    post.perform(WebhookResult(200, answered, b'{"id":"cmpl-1"}'))
    (task,) = post.due()
    assert (task.method, task.url) == ("POST", CALLBACK)
    assert headers_of(task) | {"Upstash-Signature": ""} == {
        "Content-Type": "application/json",
        "Upstash-Caller-Ip": "127.0.0.1",
        "Upstash-Message-Id": task.message,
        "Upstash-Retried": "0",
        "Upstash-Signature": "",
        "User-Agent": "Upstash-QStash",
        "X-User": "7",
    }
    assert task.message not in ("", id)
    assert list(json.loads(task.body).items()) == [
        ("status", 200),
        ("header", {"Content-Type": ["application/json"], "X-B": ["2", "3"]}),
        ("body", base64.b64encode(b'{"id":"cmpl-1"}').decode()),
        ("sourceMessageId", id),
        ("url", "https://qstash.upstash.io/llm/v1/chat/completions"),
        ("method", "POST"),
        ("sourceHeader", {"Content-Type": ["application/json"]}),
        ("sourceBody", base64.b64encode(json.dumps(CHAT).encode()).decode()),
        ("maxRetries", 3),
        ("notBefore", int(START * 1000)),
        ("createdAt", int(START * 1000)),
        ("callerIP", "127.0.0.1"),
        ("api", "llm"),
    ]


def test_a_message_for_a_url_is_delivered_as_it_is(post: Post) -> None:
    path = "/v2/publish/http://127.0.0.1:9/a?b=1&c=2"
    id = post.publish(path, b"\xffraw", content_type="image/png", upstash_method="put", upstash_forward_x_a="1")
    (task,) = post.perform(WELL)
    assert (task.method, task.url, task.body) == ("PUT", "http://127.0.0.1:9/a?b=1&c=2", b"\xffraw")
    assert {name: headers_of(task)[name] for name in ("Content-Type", "X-A")} == {
        "Content-Type": "image/png",
        "X-A": "1",
    }
    assert post.due() == []
    assert post.states(id) == ["CREATED", "ACTIVE", "DELIVERED"]


def test_the_token_in_a_query_is_not_part_of_the_destination(post: Post) -> None:
    post.publish("/v2/publish/http://127.0.0.1:9/a?b=1&qstash_token=secret", b"", authorization="")
    assert post.due()[0].url == "http://127.0.0.1:9/a?b=1"


def test_reserved_headers_are_not_forwarded_to_an_application(post: Post) -> None:
    post.publish(
        "/v2/publish/http://127.0.0.1:9/",
        b"",
        upstash_forward_host="evil",
        upstash_forward_content_length="99",
        upstash_forward_upstash_signature="forged",
        upstash_forward_authorization="Bearer mine",
    )
    sent = headers_of(post.due()[0])
    assert sent.keys() & {"Host", "Content-Length"} == set()
    assert sent["Authorization"] == "Bearer mine"
    assert sent["Upstash-Signature"] != "forged"


def test_the_signature_is_a_jwt_with_the_documented_claims_at_the_real_time(post: Post) -> None:
    post.publish("/v2/publish/http://127.0.0.1:9/a", b"body", upstash_delay="1d")
    post.advance(90_000)
    head, claims, signature = headers_of(post.due()[0])["Upstash-Signature"].split(".")
    assert decoded(head + "=" * (-len(head) % 4)) == '{"alg":"HS256","typ":"JWT"}'
    told = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert told.pop("jti").startswith("jwt_")
    assert told == {
        "iss": "Upstash",
        "sub": "http://127.0.0.1:9/a",
        "exp": START + 300,
        "nbf": START,
        "iat": START,
        "body": base64.urlsafe_b64encode(hashlib.sha256(b"body").digest()).decode(),
    }
    own = hmac.new(CURRENT_SIGNING_KEY.encode(), f"{head}.{claims}".encode(), hashlib.sha256).digest()
    assert signature == base64.urlsafe_b64encode(own).rstrip(b"=").decode()


def test_the_keys_are_those_of_the_environment_until_they_are_rotated(post: Post) -> None:
    assert (signing_key(0), signing_key(1)) == (CURRENT_SIGNING_KEY, NEXT_SIGNING_KEY)
    assert post.ask("GET", "/v2/keys") == (200, {"current": CURRENT_SIGNING_KEY, "next": NEXT_SIGNING_KEY})
    rotated = {"current": NEXT_SIGNING_KEY, "next": signing_key(2)}
    assert post.ask("POST", "/v2/keys/rotate") == (200, rotated)
    assert post.ask("GET", "/v2/keys") == (200, rotated)


def test_equal_requests_are_different_messages(post: Post) -> None:
    assert len({post.publish() for _ in range(3)}) == 3
    assert Post().publish() == Post().publish()


# --- when ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers, wait",
    [
        ({"upstash_delay": "50s"}, 50.0),
        ({"upstash_delay": "1d10h30m"}, 124_200.0),
        ({"upstash_not_before": str(int(START) + 70)}, 70.0),
        ({"upstash_not_before": str(int(START) + 70), "upstash_delay": "5s"}, 70.0),
        ({"upstash_not_before": "1"}, 0.0),
    ],
)
def test_a_message_is_delivered_when_its_time_has_come(post: Post, headers: dict[str, str], wait: float) -> None:
    id = post.publish(**headers)
    assert post.store.next_due() == START + wait
    assert post.ask("GET", f"/v2/messages/{id}")[1]["notBefore"] == (START + wait) * 1000
    post.advance(wait - 0.1)
    assert post.due() == []
    post.advance(0.1)
    assert len(post.due()) == 1


def test_retries_wait_as_documented_and_a_callback_reports_each_attempt(post: Post) -> None:
    id = post.publish(upstash_failure_callback=FAILURE)
    waits = []
    for attempt in range(4):
        (asked,) = post.perform(BROKEN)
        assert asked.attempt == attempt
        reports = post.due()
        told = [(task.url, json.loads(task.body)) for task in reports]
        for task in reports:
            post.store.done(task, WELL, post.now)
        assert [(url, body["status"], body.get("retried", 0)) for url, body in told] == [
            (CALLBACK, 500, attempt),
            *([(FAILURE, 500, 3)] if attempt == 3 else []),
        ]
        following = post.store.next_due()
        if following is not None:
            waits.append(following - post.now)
            post.now = following
    # "12s", "2m28s", "30m8s"
    assert waits == pytest.approx([math.e**2.5, math.e**5, math.e**7.5])
    assert post.states(id) == [
        "CREATED", *("ACTIVE", "ERROR", "RETRY") * 3, "ACTIVE", "ERROR", "FAILED",
    ]  # fmt: skip
    (dead,) = post.ask("GET", "/v2/dlq")[1]["messages"]
    assert (dead["messageId"], dead["responseStatus"], dead["responseBody"]) == (id, 500, "broken")
    assert json.loads(reports[1].body)["dlqId"] == dead["dlqId"]


def test_an_application_that_does_not_answer_is_tried_again_and_shows_as_status_0(post: Post) -> None:
    id = post.publish("/v2/publish/http://127.0.0.1:9/", b"", upstash_retries="1", upstash_failure_callback=FAILURE)
    post.perform(WebhookResult(error="refused"))
    post.advance(13)
    post.perform(WebhookResult(error="refused"))
    (report,) = post.due()
    body = json.loads(report.body)
    assert (body["status"], decoded(body["body"]), body["retried"], body["sourceMessageId"]) == (0, "refused", 1, id)
    assert [event.get("error") for event in post.events("?state=ERROR")] == ["refused", "refused"]


@pytest.mark.parametrize(
    "answer, wait",
    [
        (((b"retry-after", b"0"),), 0.0),
        (((b"retry-after", b"10"),), 10.0),
        (((b"retry-after", b"6m5s"),), 365.0),
        (((b"retry-after", b"Tue, 14 Nov 2023 22:13:50 GMT"),), 30.0),
        (((b"x-ratelimit-reset", b"20"), (b"x-ratelimit-reset-tokens", b"30")), 20.0),
        (((b"x-ratelimit-reset-requests", b"53s"),), 53.0),
        (((b"x-ratelimit-reset-requests", b"1700000045"),), 45.0),
        (((b"retry-after", b"2d"),), math.e**2.5),
        (((b"retry-after", b"soon"),), math.e**2.5),
    ],
)
def test_an_answer_can_say_when_to_try_again(post: Post, answer: tuple[tuple[bytes, bytes], ...], wait: float) -> None:
    post.publish("/v2/publish/http://127.0.0.1:9/", b"")
    post.perform(WebhookResult(503, answer))
    assert post.store.next_due() == pytest.approx(START + wait)


def test_a_model_is_asked_again_when_its_limits_reset_but_only_if_they_are_exceeded(post: Post) -> None:
    reset = ((b"x-ratelimit-reset-requests", b"53s"),)
    post.publish()
    post.perform(WebhookResult(429, reset))
    assert [task.url for task in post.perform(WELL)] == [CALLBACK]
    assert post.store.next_due() == START + 53
    post.advance(53)
    post.perform(WebhookResult(500, reset))
    post.perform(WELL)
    assert post.store.next_due() == pytest.approx(post.now + math.e**5)


@pytest.mark.parametrize(
    "expression, waits",
    [
        ("1000", [1.0, 1.0]),
        ("1000 * (1 + retried)", [1.0, 2.0]),
        ("pow(2, retried) * 1000", [1.0, 2.0]),
        ("max(1500, pow(2, retried) * 1000)", [1.5, 2.0]),
        ("-5", [0.0, 0.0]),
        ("exp(99)", [86_400.0, 86_400.0]),
        ("1000 / retried", [math.e**2.5, 1.0]),
    ],
)
def test_a_retry_delay_is_an_expression_in_milliseconds(post: Post, expression: str, waits: list[float]) -> None:
    post.publish("/v2/publish/http://127.0.0.1:9/", b"", upstash_retry_delay=expression)
    for wait in waits:
        post.perform(BROKEN)
        following = post.store.next_due()
        assert following == pytest.approx(post.now + wait)
        post.now = following or 0.0


def test_an_application_can_say_that_no_retry_would_help(post: Post) -> None:
    id = post.publish("/v2/publish/http://127.0.0.1:9/", b"")
    post.perform(WebhookResult(489, ((b"Upstash-NonRetryable-Error", b"true"),)))
    assert post.states(id)[-1] == "FAILED"


def test_a_callback_has_options_of_its_own_and_a_dead_letter_where_it_fails(post: Post) -> None:
    post.publish(
        upstash_retries="5", upstash_callback_retries="0", upstash_callback_delay="9s", upstash_callback_method="PATCH",
        upstash_callback_timeout="3s",
    )  # fmt: skip
    post.perform(WELL)
    assert post.due() == []
    post.advance(9)
    (report,) = post.perform(BROKEN)
    assert (report.method, report.timeout) == ("PATCH", 3.0)
    (dead,) = post.ask("GET", "/v2/dlq")[1]["messages"]
    assert (dead["messageId"], dead["url"], dead["maxRetries"]) == (report.message, CALLBACK, 0)


def test_callbacks_use_the_retries_of_their_message_unless_they_have_their_own(post: Post) -> None:
    post.publish(upstash_retries="1")
    post.perform(WELL)
    (report,) = post.perform(BROKEN)
    post.advance(20)
    assert [(task.message, task.attempt) for task in post.perform(BROKEN)] == [(report.message, 1)]
    assert post.store.next_due() is None


# --- queues ----------------------------------------------------------------------------------------------------------


def test_a_queue_delivers_one_message_after_the_other_with_their_retries_and_callbacks(post: Post) -> None:
    first = post.publish("/v2/enqueue/jobs/api/llm")
    second = post.publish("/v2/enqueue/jobs/http://127.0.0.1:9/second", b"")
    other = post.publish("/v2/enqueue/more/http://127.0.0.1:9/other", b"")
    assert [task.message for task in post.perform(BROKEN, WELL)] == [first, other]
    post.perform(WELL)
    post.advance(13)
    assert [task.message for task in post.perform(WELL)] == [first]
    (report,) = post.due()
    assert report.url == CALLBACK
    assert post.ask("GET", "/v2/queues/jobs")[1]["lag"] == 2
    post.store.done(report, WELL, post.now)
    assert [task.message for task in post.perform(WELL)] == [second]
    assert post.ask("GET", "/v2/queues/jobs")[1]["lag"] == 0


def test_a_queue_can_be_paused_and_widened_and_removed(post: Post) -> None:
    assert post.ask("POST", "/v2/queues", {"queueName": "q", "parallelism": 2}) == (200, None)
    assert post.ask("POST", "/v2/queues/q/pause") == (200, None)
    for number in range(3):
        post.publish(f"/v2/enqueue/q/http://127.0.0.1:9/{number}", b"")
    assert post.due() == []
    assert post.ask("GET", "/v2/queues") == (
        200,
        [
            {
                "createdAt": int(START * 1000), "updatedAt": int(START * 1000), "name": "q",
                "parallelism": 2, "lag": 3, "paused": True,
            }
        ],
    )  # fmt: skip
    assert post.ask("POST", "/v2/queues/q/resume") == (200, None)
    assert len(post.due()) == 2
    assert post.ask("DELETE", "/v2/queues/q") == (200, None)
    assert post.ask("GET", "/v2/queues/q")[0] == 404
    assert post.due() == []


def test_a_cancelled_message_leaves_its_queue(post: Post) -> None:
    first = post.publish("/v2/enqueue/q/http://127.0.0.1:9/1", b"")
    second = post.publish("/v2/enqueue/q/http://127.0.0.1:9/2", b"")
    third = post.publish("/v2/enqueue/q/http://127.0.0.1:9/3", b"")
    for id in (second, first):
        assert post.ask("DELETE", f"/v2/messages/{id}") == (202, {"cancelled": 1})
    assert [task.message for task in post.due()] == [third]


# --- duplicates, batches, lists --------------------------------------------------------------------------------------


def test_a_duplicate_is_accepted_and_not_delivered_for_ten_minutes(post: Post) -> None:
    id = post.publish(upstash_deduplication_id="once")
    twice = {"upstash_deduplication_id": "once", "upstash_callback": CALLBACK}
    assert post.ask("POST", LLM, CHAT, **twice) == (202, {"messageId": id, "deduplicated": True})
    assert len(post.due()) == 1
    post.advance(601)
    assert post.ask("POST", LLM, CHAT, **twice)[0] == 200


def test_content_makes_a_duplicate_where_it_is_asked_to(post: Post) -> None:
    like = {"upstash_content_based_deduplication": "True", "upstash_callback": CALLBACK}
    assert post.ask("POST", LLM, CHAT, **like)[0] == 200
    assert post.ask("POST", LLM, CHAT, **like)[0] == 202
    assert post.ask("POST", LLM, {**CHAT, "max_tokens": 5}, **like)[0] == 200
    assert post.ask("POST", LLM, CHAT, upstash_forward_x="1", **like)[0] == 200
    assert post.ask("POST", LLM, CHAT, **{**like, "upstash_content_based_deduplication": "false"})[0] == 200


def test_a_batch_accepts_what_is_valid_and_says_what_is_not(post: Post) -> None:
    status, answers = post.ask(
        "POST",
        "/v2/batch",
        [
            {"destination": "api/llm", "headers": {"Upstash-Callback": CALLBACK}, "body": json.dumps(CHAT)},
            {"destination": "api/llm", "callback": CALLBACK, "body": CHAT},
            {"destination": "api/llm", "body": "{}"},
            {"destination": "http://127.0.0.1:9/", "headers": {"Upstash-Delay": "soon"}, "body": None, "queue": None},
            {"destination": "http://127.0.0.1:9/", "queue": "q", "headers": {"Upstash-Deduplication-Id": "a"}},
            {"destination": "http://127.0.0.1:9/", "queue": "q", "headers": {"Upstash-Deduplication-Id": "a"}},
            {},
        ],
    )
    ids = [answer.get("messageId") for answer in answers]
    assert (status, answers) == (
        200,
        [
            {"messageId": ids[0]},
            {"messageId": ids[1]},
            {"error": "Upstash-Callback header is required for api/llm"},
            {"error": "invalid Upstash-Delay header: 'soon' is no duration, such as 10s, 5m, 2h or 1d10h30m"},
            {"messageId": ids[4]},
            {"messageId": ids[4], "deduplicated": True},
            {"error": "invalid destination url: endpoint has invalid scheme, add http:// or https://"},
        ],
    )
    assert [(task.message, json.loads(task.body or b"{}")) for task in post.due()] == [
        (ids[0], CHAT),
        (ids[1], CHAT),
        (ids[4], {}),
    ]


def test_a_message_shows_until_it_is_delivered(post: Post) -> None:
    id = post.publish(
        "/v2/enqueue/q/http://127.0.0.1:9/a", b"text", upstash_label="a, b", upstash_callback=CALLBACK,
        upstash_failure_callback=FAILURE, upstash_retry_delay="5", upstash_forward_x_a="1",
    )  # fmt: skip
    assert post.ask("GET", f"/v2/messages/{id}") == (
        200,
        {
            "messageId": id,
            "url": "http://127.0.0.1:9/a",
            "method": "POST",
            "header": {"Content-Type": ["application/json"], "X-A": ["1"]},
            "body": "text",
            "maxRetries": 3,
            "notBefore": int(START * 1000),
            "createdAt": int(START * 1000),
            "callback": CALLBACK,
            "callbackHeader": {"Content-Type": ["application/json"]},
            "failureCallback": FAILURE,
            "failureCallbackHeader": {"Content-Type": ["application/json"]},
            "queueName": "q",
            "retryDelayExpression": "5",
            "callerIP": "127.0.0.1",
            "label": "a",
            "labels": ["a", "b"],
        },
    )
    assert post.ask("DELETE", f"/v2/messages/{id}") == (202, {"cancelled": 1})
    assert post.ask("GET", f"/v2/messages/{id}") == (404, {"error": f"message {id} not found"})


def hashed(text: str) -> str:
    return f"REDACTED:{hashlib.sha256(text.encode()).hexdigest()}"


@pytest.mark.parametrize(
    ("fields", "body", "headers"),
    [
        ("body", True, ()),
        ("header", False, ("Content-Type", "X-Key", "X-Open")),
        ("header[x-key]", False, ("X-Key",)),
        ("body, headers[X-Key],header[Content-Type]", True, ("Content-Type", "X-Key")),
    ],
)
def test_what_is_redacted_is_delivered_and_shown_by_its_hash_alone(
    post: Post, fields: str, body: bool, headers: tuple[str, ...]
) -> None:
    known = {"Content-Type": "text/plain", "X-Key": "secret", "X-Open": "open"}
    shown = {name: [hashed(value) if name in headers else value] for name, value in known.items()}
    sent = {"content_type": "text/plain", "upstash_forward_x_key": "secret", "upstash_forward_x_open": "open"}
    options = {"upstash_redact_fields": fields, "upstash_retries": "0", "upstash_failure_callback": FAILURE}
    id = post.publish("/v2/publish/http://127.0.0.1:9/a", b"private", **sent, **options)

    def assert_hidden(view: Mapping[str, Any]) -> None:
        # The log has bodies in base64, but for what is redacted.
        plain = "cHJpdmF0ZQ==" if "state" in view else "private"
        assert (view["body"], view["header"]) == (hashed("private") if body else plain, shown)

    assert_hidden(post.ask("GET", f"/v2/messages/{id}")[1])
    (task,) = post.perform(BROKEN)
    assert (task.body, {name: headers_of(task)[name] for name in known}) == (b"private", known)
    [dead] = post.ask("GET", "/v2/dlq")[1]["messages"]
    for view in (dead, post.ask("GET", f"/v2/dlq/{dead['dlqId']}")[1], *post.events(f"?messageId={id}")):
        assert_hidden(view)
    # The callback tells the application everything, and nobody else.
    [callback] = post.due()
    told = json.loads(callback.body)
    assert (base64.b64decode(told["sourceBody"]), told["sourceHeader"]["X-Key"]) == (b"private", ["secret"])
    assert post.ask("GET", f"/v2/messages/{callback.message}")[1]["body"].startswith("REDACTED:")
    again = post.ask("POST", f"/v2/dlq/retry/{dead['dlqId']}")[1]["messageId"]
    assert_hidden(post.ask("GET", f"/v2/messages/{again}")[1])
    assert [each.body for each in post.due()] == [b"private"]


def test_a_message_without_a_body_shows_none(post: Post) -> None:
    id = post.publish("/v2/publish/http://127.0.0.1:9/a", b"", upstash_redact_fields="body")
    assert "body" not in post.ask("GET", f"/v2/messages/{id}")[1]
    assert "body" not in post.events()[0]


def test_a_read_only_token_shows_everything_and_changes_nothing(post: Post) -> None:
    id = post.publish("/v2/enqueue/q/http://127.0.0.1:9/a", b"text")
    reading = {"authorization": "Bearer token_readonly"}
    assert post.ask("GET", f"/v2/messages/{id}", **reading)[1]["body"] == "text"
    assert [each["name"] for each in post.ask("GET", "/v2/queues", **reading)[1]] == ["q"]
    for method, path in (
        ("POST", "/v2/publish/http://127.0.0.1:9/a"),
        ("POST", "/v2/batch"),
        ("DELETE", f"/v2/messages/{id}"),
        ("POST", "/v2/dlq/retry"),
        ("POST", "/v2/queues/q/pause"),
        ("POST", "/v2/keys/rotate"),
    ):
        assert post.ask(method, path, [], **reading)[0] == 403, path
    assert post.states(id) == ["CREATED"]


@pytest.mark.parametrize("outcome", [WELL, BROKEN])
def test_a_message_can_be_read_for_a_minute_after_its_end(post: Post, outcome: WebhookResult) -> None:
    id = post.publish("/v2/publish/http://127.0.0.1:9/", b"", upstash_retries="0")
    post.perform(outcome)
    for seconds, status in ((0, 200), (59, 200), (2, 404)):
        post.advance(seconds)
        assert post.ask("GET", f"/v2/messages/{id}")[0] == status
        assert post.ask("DELETE", f"/v2/messages/{id}")[0] == 404


def test_cancelled_messages_are_never_delivered(post: Post) -> None:
    ids = [post.publish(upstash_delay="1s", upstash_label=label) for label in ("a", "b", "c", "d")]
    assert post.ask("DELETE", f"/v2/messages/{ids[0]}") == (202, {"cancelled": 1})
    assert post.ask("DELETE", f"/v2/messages/{ids[0]}")[0] == 404
    assert post.ask("DELETE", "/v2/messages", {"messageIds": [ids[1], "msg_other"]}) == (202, {"cancelled": 1})
    assert post.ask("DELETE", "/v2/messages?label=c,x") == (202, {"cancelled": 1})
    assert post.ask("DELETE", "/v2/messages") == (202, {"cancelled": 1})
    post.advance(2)
    assert post.due() == []
    assert {*map(tuple, map(post.states, ids))} == {("CREATED", "CANCEL_REQUESTED", "CANCELED")}


def test_a_message_that_is_cancelled_in_flight_is_not_reported(post: Post) -> None:
    id = post.publish()
    (task,) = post.due()
    post.ask("DELETE", f"/v2/messages/{id}")
    post.store.done(task, BROKEN, post.now)
    assert post.store.next_due() is None


def dead_letters(post: Post, count: int) -> list[str]:
    for number in range(count):
        post.publish(f"/v2/publish/http://127.0.0.1:9/{number}", b"\xff", upstash_retries="0", upstash_label="l")
    post.perform(*[BROKEN] * count)
    return [dead["dlqId"] for dead in post.ask("GET", "/v2/dlq")[1]["messages"]]


def test_dead_letters_are_listed_by_pages_shown_and_deleted(post: Post) -> None:
    ids = dead_letters(post, 4)
    assert len({*ids}) == 4
    page = post.ask("GET", "/v2/dlq?count=3")[1]
    assert ([dead["dlqId"] for dead in page["messages"]], page["cursor"]) == (ids[:3], "3")
    rest = post.ask("GET", "/v2/dlq?count=3&cursor=3")[1]
    assert ([dead["dlqId"] for dead in rest["messages"]], rest.get("cursor")) == (ids[3:], None)
    assert post.ask("GET", "/v2/dlq?url=http://127.0.0.1:9/2")[1]["messages"][0]["dlqId"] == ids[2]
    assert post.ask("GET", "/v2/dlq?responseStatus=404")[1] == {"messages": []}
    shown = post.ask("GET", f"/v2/dlq/{ids[0]}")[1]
    assert (shown["bodyBase64"], shown["responseHeader"], shown["label"]) == ("/w==", {}, "l")
    assert post.ask("DELETE", f"/v2/dlq/{ids[0]}") == (200, None)
    assert post.ask("GET", f"/v2/dlq/{ids[0]}") == (404, {"error": f"message with dlqId {ids[0]} not found"})
    assert post.ask("DELETE", "/v2/dlq", {"dlqIds": ids[:2]}) == (200, {"deleted": 1})
    assert post.ask("DELETE", f"/v2/dlq?dlqIds={ids[2]}") == (200, {"deleted": 1})
    assert post.ask("DELETE", "/v2/dlq?label=l") == (200, {"deleted": 1})


def test_a_dead_letter_can_be_delivered_again(post: Post) -> None:
    ids = dead_letters(post, 2)
    status, answer = post.ask("POST", f"/v2/dlq/retry/{ids[0]}", upstash_retries="1")
    assert status == 201
    assert [(task.message, task.url, task.body) for task in post.perform(BROKEN)] == [
        (answer["messageId"], "http://127.0.0.1:9/0", b"\xff")
    ]
    assert post.store.next_due() is not None
    status, answer = post.ask("POST", f"/v2/dlq/retry?dlqIds={ids[1]}")
    assert (status, len(answer["responses"])) == (201, 1)
    assert post.ask("GET", "/v2/dlq")[1] == {"messages": []}


def test_a_dead_letter_that_cannot_be_delivered_again_stays(post: Post) -> None:
    (dead,) = dead_letters(post, 1)
    assert post.ask("POST", "/v2/dlq/retry/none") == (404, {"error": "message with dlqId none not found"})
    assert post.ask("POST", "/v2/dlq/retry", b'{"dlqIds": 5}')[0] == 400
    for path in (f"/v2/dlq/retry/{dead}", f"/v2/dlq/retry?dlqIds={dead}"):
        status, answer = post.ask("POST", path, upstash_retries="many")
        assert (status, answer["error"]) == (
            400,
            "invalid Upstash-Retries header: 'many' is not a whole number from 0 to 1000",
        )
    assert [each["dlqId"] for each in post.ask("GET", "/v2/dlq")[1]["messages"]] == [dead]


def test_the_log_is_latest_first_and_can_be_filtered(post: Post) -> None:
    id = post.publish(upstash_timeout="5s", upstash_retry_delay="5")
    post.perform(BROKEN)
    _, answer = post.ask("GET", "/v2/events?count=1")
    assert answer["cursor"] == "1"
    assert [event["state"] for event in post.ask("GET", "/v2/logs")[1]["events"]] == [
        "RETRY", "ERROR", "CREATED", "ACTIVE", "CREATED",
    ]  # fmt: skip
    (error,) = post.events("?state=ERROR")
    assert error == {
        "time": int(START * 1000),
        "messageId": id,
        "header": {"Content-Type": ["application/json"]},
        "body": base64.b64encode(json.dumps(CHAT).encode()).decode(),
        "state": "ERROR",
        "error": "500 status code",
        "responseStatus": 500,
        "responseHeader": {},
        "responseHeaders": {},
        "responseBody": base64.b64encode(b"broken").decode(),
        "url": "https://qstash.upstash.io/llm/v1/chat/completions",
        "timeout": 5000,
        "method": "POST",
        "callback": CALLBACK,
        "callbackHeaders": {"Content-Type": ["application/json"]},
        "maxRetries": 3,
        "retryDelayExpression": "5",
        "retryDelayExpr": "5",
    }
    assert post.events(f"?fromDate={int(START * 1000) + 1}") == []
    assert len(post.events(f"?toDate={int(START * 1000)}&state=CREATED")) == 2


# --- whose messages they are -----------------------------------------------------------------------------------------


def test_messages_queues_and_the_log_are_shown_to_their_publisher_alone(post: Post) -> None:
    other = {"authorization": "Bearer another"}
    (dead,) = dead_letters(post, 1)
    id = post.publish("/v2/enqueue/q/http://127.0.0.1:9/", b"", upstash_forward_authorization="s3cret")
    for path in ("/v2/events", "/v2/logs"):
        assert post.ask("GET", path, **other) == (200, {"events": []})
    assert post.ask("GET", "/v2/dlq", **other) == (200, {"messages": []})
    assert post.ask("GET", "/v2/queues", **other) == (200, [])
    for method, path in (
        ("GET", f"/v2/messages/{id}"),
        ("DELETE", f"/v2/messages/{id}"),
        ("GET", f"/v2/dlq/{dead}"),
        ("DELETE", f"/v2/dlq/{dead}"),
        ("POST", f"/v2/dlq/retry/{dead}"),
        ("GET", "/v2/queues/q"),
    ):
        assert post.ask(method, path, **other)[0] == 404, path
    assert post.ask("DELETE", "/v2/messages", **other) == (202, {"cancelled": 0})
    assert post.ask("DELETE", "/v2/dlq", {"dlqIds": [dead]}, **other) == (200, {"deleted": 0})
    assert post.ask("DELETE", "/v2/queues/q", **other) == (200, None)
    assert post.ask("GET", "/v2/queues/q")[1]["lag"] == 1
    assert [each["dlqId"] for each in post.ask("GET", "/v2/dlq")[1]["messages"]] == [dead]


def test_a_message_is_no_duplicate_of_another_publishers(post: Post) -> None:
    for key in ("token", "another"):
        headers = {"authorization": f"Bearer {key}", "upstash_deduplication_id": "once"}
        assert "deduplicated" not in post.ask("POST", "/v2/publish/http://127.0.0.1:9/", b"", **headers)[1]


def test_a_callback_belongs_to_the_publisher_of_its_message(post: Post) -> None:
    post.publish()
    post.perform(WELL)
    assert [event["state"] for event in post.events()] == ["CREATED", "ACTIVE", "CREATED", "DELIVERED"]


# --- what acts on many -----------------------------------------------------------------------------------------------

BULK = [("DELETE", "/v2/messages", "cancelled"), ("DELETE", "/v2/dlq", "deleted"), ("POST", "/v2/dlq/retry", "")]


@pytest.mark.parametrize("method, path", [each[:2] for each in BULK])
@pytest.mark.parametrize(
    "query, body",
    [
        ("labeel=none", None),
        ("Label=l", None),
        ("label=", None),
        ("url=&label=l", None),
        ("label[]=l", None),
        ("count=-1", None),
        ("count=all", None),
        ("count=", None),
        ("state=ERROR", None),
        ("", {"labeel": "none"}),
        ("", {"label": ""}),
        ("", {"label": []}),
        ("", {"label": None}),
        ("", {"label": True}),
        ("", {"filter": {"label": "l"}}),
        ("", {"ids": ["1"]}),
        ("", {"count": 1.5}),
    ],
)
def test_a_filter_that_is_unknown_or_empty_is_refused_and_nothing_happens(
    post: Post, method: str, path: str, query: str, body: object
) -> None:
    dead_letters(post, 2)
    post.publish("/v2/publish/http://127.0.0.1:9/", b"", upstash_delay="1h")
    status, answer = post.ask(method, f"{path}?{query}", body)
    assert (status, list(answer)) == (400, ["error"])
    assert len(post.ask("GET", "/v2/dlq")[1]["messages"]) == 2
    assert len(post.store.messages("token")) == 1


def test_a_request_acts_on_as_many_as_it_says_and_on_a_hundred_if_it_does_not(post: Post) -> None:
    for _ in range(106):
        post.publish("/v2/publish/http://127.0.0.1:9/", b"", upstash_delay="1h", upstash_label="l")
    for query, cancelled in (("?count=1", 1), ("?count=0", 0), ("?label=l&count=2", 2), ("", 100), ("?count=500", 3)):
        assert post.ask("DELETE", f"/v2/messages{query}") == (202, {"cancelled": cancelled})


def test_dead_letters_are_deleted_and_repeated_by_pages(post: Post) -> None:
    dead_letters(post, 5)
    assert post.ask("DELETE", "/v2/dlq?count=2") == (200, {"cursor": "0", "deleted": 2})
    status, answer = post.ask("POST", "/v2/dlq/retry?count=2&cursor=0")
    assert (status, answer["cursor"], len(answer["responses"])) == (201, "0", 2)
    assert post.ask("DELETE", "/v2/dlq?count=2&cursor=0") == (200, {"deleted": 1})


def test_filters_may_stand_in_a_body_and_ids_count_alone(post: Post) -> None:
    ids = dead_letters(post, 3)
    assert post.ask("DELETE", "/v2/dlq", {"label": "x"}) == (200, {"deleted": 0})
    assert post.ask("DELETE", "/v2/dlq", {"url": "http://127.0.0.1:9/0", "count": 5}) == (200, {"deleted": 1})
    assert post.ask("DELETE", "/v2/dlq", {"dlqIds": []}) == (200, {"deleted": 0})
    assert post.ask("DELETE", f"/v2/dlq?dlqIds={ids[1]}&label=x") == (200, {"deleted": 1})
    assert post.ask("DELETE", "/v2/dlq?flowControlKey=k") == (200, {"deleted": 0})


def test_a_comma_in_a_url_is_a_part_of_it(post: Post) -> None:
    for path in ("a", "a,b"):
        post.publish(f"/v2/publish/http://127.0.0.1:9/{path}", b"", upstash_delay="1h")
    assert post.ask("DELETE", "/v2/messages?url=http://127.0.0.1:9/a,b") == (202, {"cancelled": 1})
    assert [each.url for each in post.store.messages("token")] == ["http://127.0.0.1:9/a"]


def test_a_page_ends_where_its_bodies_are_large(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.dialects.upstash.management._MOST_BYTES", 5_000)
    for _ in range(3):
        post.publish("/v2/publish/http://127.0.0.1:9/", b"x" * 1_000)
    page = post.ask("GET", "/v2/events")[1]
    assert (len(page["events"]), page["cursor"]) == (2, "2")
    assert len(post.ask("GET", "/v2/events?cursor=2")[1]["events"]) == 1


# --- what is absent --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header, feature",
    [
        ("upstash_cron", "schedules"),
        ("upstash_flow_control_key", "flow control"),
        ("upstash_flow_control_value", "flow control"),
        ("upstash_callback_flow_control_key", "flow control"),
        ("upstash_failure_callback_flow_control_value", "flow control"),
    ],
)
def test_a_header_for_what_is_absent_is_refused(post: Post, header: str, feature: str) -> None:
    status, answer = post.ask("POST", LLM, CHAT, upstash_callback=CALLBACK, **{header: "* * * * *"})
    name = header.replace("_", "-").title()
    says = (
        f"{name} header: mockserver has no {feature}, which Upstash's own local server has: npx @upstash/qstash-cli dev"
    )
    assert (status, answer) == (400, {"error": says})
    item = {"destination": "http://127.0.0.1:9/", "headers": {name: "* * * * *"}}
    assert post.ask("POST", "/v2/batch", [item]) == (200, [{"error": says}])
    assert post.store.messages("token") == []


@pytest.mark.parametrize("path", ["/v2/schedules", "/v2/topics", "/v2/topics/t/endpoints", "/v2/flowControl/k"])
def test_a_path_for_what_is_absent_is_unknown(path: str) -> None:
    router = Routes({"upstash": load_dialect("upstash")}, QUIET)
    found = {method: router.find(method, f"/upstash{path}") for method in ("GET", "POST", "DELETE")}
    assert all(route is None or route.operation is None for route in found.values())


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "path, body, headers, error",
    [
        (LLM, CHAT, {"upstash_callback": ""}, "Upstash-Callback header is required for api/llm"),
        (
            LLM,
            CHAT,
            {"upstash_callback": "ftp://x/"},
            "invalid Upstash-Callback header: endpoint has invalid scheme, add http:// or https://",
        ),
        (LLM, CHAT, {"upstash_callback": "http://"}, "invalid Upstash-Callback header: endpoint has no valid host"),
        (LLM, CHAT, {"upstash_callback": "http://a b/"}, "invalid Upstash-Callback header: endpoint has no valid host"),
        (
            LLM,
            CHAT,
            {"upstash_callback": "http://a:99999/"},
            "invalid Upstash-Callback header: Port out of range 0-65535",
        ),
        (LLM, CHAT, {"upstash_callback": "http://[::1/"}, "invalid Upstash-Callback header: Invalid IPv6 URL"),
        (LLM, {**CHAT, "stream": True}, {}, "streaming is not supported for api/llm"),
        (LLM, b"{", {}, "invalid request body: not valid JSON"),
        (LLM, [], {}, "invalid request body: not a JSON object"),
        (LLM, CHAT, {"upstash_retries": "-1"}, "invalid Upstash-Retries header: '-1' is not a whole number"),
        (LLM, CHAT, {"upstash_retries": "1.5"}, "invalid Upstash-Retries header: '1.5' is not a whole number"),
        (LLM, CHAT, {"upstash_retries": "\u0663"}, "invalid Upstash-Retries header"),
        (LLM, CHAT, {"upstash_delay": "5"}, "invalid Upstash-Delay header: '5' is no duration"),
        (LLM, CHAT, {"upstash_delay": "5 minutes"}, "invalid Upstash-Delay header: '5 minutes' is no duration"),
        (LLM, CHAT, {"upstash_not_before": "tomorrow"}, "invalid Upstash-Not-Before header: 'tomorrow' is not"),
        (LLM, CHAT, {"upstash_delay": "999999999999d"}, "invalid Upstash-Delay header: it ends after the year 9999"),
        (LLM, CHAT, {"upstash_not_before": "9" * 15}, "invalid Upstash-Not-Before header"),
        (LLM, CHAT, {"upstash_timeout": "-5s"}, "invalid Upstash-Timeout header: '-5s' is no duration"),
        (LLM, CHAT, {"upstash_redact_fields": "bodies"}, "invalid Upstash-Redact-Fields header: 'bodies' does not"),
        (LLM, CHAT, {"upstash_method": "BREW"}, "invalid Upstash-Method header: 'BREW' is not one of GET, POST"),
        (LLM, CHAT, {"upstash_retry_delay": "1 +"}, "invalid Upstash-Retry-Delay header: '1 +' is no expression"),
        (
            LLM,
            CHAT,
            {"upstash_content_based_deduplication": "maybe"},
            "invalid Upstash-Content-Based-Deduplication header: 'maybe' is neither true nor false",
        ),
        (LLM, CHAT, {"upstash_deduplication_id": "a:1"}, "DeduplicationId cannot contain ':'"),
        (LLM, CHAT, {"upstash_callback_retries": "x"}, "invalid Upstash-Callback-Retries header: 'x' is not"),
        (LLM, CHAT, {"upstash_failure_callback": "x"}, "invalid Upstash-Failure-Callback header: endpoint has"),
        (
            LLM,
            CHAT,
            {"upstash_failure_callback": FAILURE, "upstash_failure_callback_delay": "x"},
            "invalid Upstash-Failure-Callback-Delay header: 'x' is no duration",
        ),
        (
            "/v2/publish/my-group",
            b"",
            {},
            "invalid destination url: endpoint has invalid scheme, add http:// or https://",
        ),
        ("/v2/publish/http://", b"", {}, "invalid destination url: endpoint has no valid host"),
        *(
            ("/v2/enqueue/a/api/llm", CHAT, late, "Upstash-Not-Before/Upstash-Delay can not be used with enqueue")
            for late in ({"upstash_delay": "1s"}, {"upstash_not_before": "1"})
        ),
        ("/v2/enqueue/a+b/api/llm", CHAT, {}, "invalid queue name: it can only contain alphanumeric characters"),
        ("/v2/batch", {}, {}, "invalid batch: the body is not an array of messages"),
        ("/v2/batch", b"[", {}, "invalid batch: the body is not an array of messages"),
        ("/v2/batch", [1], {}, "invalid batch: the body is not an array of messages"),
        (
            "/v2/batch",
            [{"headers": {str(n): "" for n in range(10_001)}}],
            {},
            "invalid batch: its messages have more than",
        ),
        ("/v2/publish/http://a/" + "x" * 16_384, b"", {}, "invalid destination url: endpoint is longer than 16384"),
        ("/v2/batch", [{}] * 1001, {}, "invalid batch: it has more than 1000 messages"),
        ("/v2/batch", b"[" * 500 + b"]" * 500, {}, "invalid batch: the body is not an array of messages"),
        ("/v2/queues", {"queueName": "a b"}, {}, "invalid queue name: it can only contain"),
        ("/v2/queues", {"queueName": "a", "parallelism": 0}, {}, "invalid parallelism: it must be greater than 0"),
        ("/v2/queues", {"queueName": "a", "parallelism": True}, {}, "invalid parallelism"),
        ("/v2/queues", {"queueName": "a", "paused": 1}, {}, "invalid paused: it must be true or false"),
        ("/v2/queues/a b/pause", None, {}, "invalid queue name: it can only contain"),
    ],
)
def test_what_cannot_be_accepted_is_refused_in_qstashs_form(
    post: Post, edition: str, path: str, body: object, headers: dict[str, str], error: str
) -> None:
    headers = {"upstash_callback": CALLBACK} | headers
    status, answer = post.ask("POST", path, body, edition, **headers)
    assert (status, list(answer)) == (400, ["error"])
    assert answer["error"].startswith(error)
    assert post.store.messages("token") == []


@pytest.mark.parametrize(
    "name, fits, exceeds, error",
    [
        ("Upstash-Retries", "5", "6", "quota maxRetries exceeded, current limit: 5"),
        ("Upstash-Delay", "7d", "7d1s", "quota maxDelay exceeded, current limit: 604800"),
        (
            "Upstash-Not-Before",
            *(str(int(START) + wait) for wait in (604_800, 604_801)),
            "quota maxDelay exceeded, current limit: 604800",
        ),
    ],
)
def test_one_message_beyond_the_quotas_of_a_free_account_refuses_its_whole_batch(
    post: Post, name: str, fits: str, exceeds: str, error: str
) -> None:
    batch = [{"destination": "http://127.0.0.1:9/", "headers": {name: value}} for value in (fits, exceeds)]
    assert post.ask("POST", "/v2/batch", batch, "observed") == (400, {"error": error})
    assert post.ask("POST", "/v2/batch", batch[:1], "observed")[0] == 200
    status, answers = post.ask("POST", "/v2/batch", batch)
    assert (status, ["messageId" in answer for answer in answers]) == (200, [True, True])


@pytest.mark.parametrize(
    "edition, parallelism, outcome",
    [
        ("observed", 2, (200, None)),
        ("observed", 3, (400, {"error": "quota maxParallelism exceeded, current limit: 2"})),
        ("documented", 3, (200, None)),
    ],
)
def test_a_free_account_may_widen_a_queue_to_two(
    post: Post, edition: str, parallelism: int, outcome: tuple[int, object]
) -> None:
    assert post.ask("POST", "/v2/queues", {"queueName": "q", "parallelism": parallelism}, edition) == outcome


@pytest.mark.parametrize(
    "path",
    ["/v2/dlq?count=x", "/v2/dlq?cursor=x", "/v2/events?fromDate=-1", "/v2/events?toDate=1e3", "/v2/logs?cursor=-1"],
)
def test_a_query_that_is_no_number_is_refused(post: Post, path: str) -> None:
    assert post.ask("GET", path)[0] == 400


@pytest.mark.parametrize("path", ["/v2/messages", "/v2/dlq"])
@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'{"messageIds": 5, "dlqIds": 5}', b'{"messageIds": [5], "dlqIds": [5]}']
)
def test_a_body_that_lists_nothing_is_refused(post: Post, path: str, body: bytes) -> None:
    assert post.ask("DELETE", path, body)[0] == 400


def test_a_message_has_a_megabyte_at_most(post: Post) -> None:
    path, limit = "/v2/publish/http://127.0.0.1:9/", 1_048_576
    assert post.ask("POST", path, b"x" * limit)[0] == 200
    assert post.ask("POST", path, b"x" * (limit + 1)) == (413, {"error": "quota maxMessageSize exceeded"})
    status, answers = post.ask("POST", "/v2/batch", [{"destination": "http://127.0.0.1:9/", "body": "x" * (limit + 1)}])
    assert (status, answers) == (200, [{"error": "quota maxMessageSize exceeded"}])
    headers = {"Upstash-Label": "x," * 40_000}
    status, answers = post.ask("POST", "/v2/batch", [{"destination": "http://127.0.0.1:9/", "headers": headers}])
    assert (status, answers) == (200, [{"error": "headers are too large"}])


def test_a_batch_says_of_a_message_to_the_model_what_a_single_one_is_told(post: Post) -> None:
    headers = {"upstash-callback": "http://127.0.0.1:9/"}
    for body in ("{", "[]", '{"stream": true}'):
        status, single = post.ask("POST", "/v2/publish/api/llm", body.encode(), **headers)
        message = {"destination": "api/llm", "headers": headers, "body": body}
        assert (status, post.ask("POST", "/v2/batch", [message])) == (400, (200, [single]))


def test_every_operation_wants_the_token(post: Post) -> None:
    for operation in load_dialect("upstash").operations:
        for path in operation.paths:
            status, answer = post.ask(operation.method, path, b"{}", authorization="")
            assert (status, answer) == (401, {"error": "unable to authenticate: invalid token"})


@pytest.mark.parametrize(
    "text",
    [
        *("", "1 +", "(1", "1)", "foo(1)", "pow(1)", "abs(1, 2)", "1 1", "2 ^ 3", "a", "()", "max(,)"),
        "-" * 99,
        "x" * 999,
    ],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        milliseconds(text, 0)


@pytest.mark.parametrize(
    "text, value",
    [
        ("1 + 2 * 3 - 4 / 2 % 3", 5.0),
        ("-(2 - retried) * 1.5", 1.5),
        ("pow(2, 3) + exp(0) + sqrt(9) + abs(-1) + floor(1.5) + ceil(1.5) + round(1.4) + min(1, 2) + max(1, 2)", 20.0),
        ("sqrt(-1)", None),
        ("1 / 0", None),
        ("pow(10, 999)", None),
        ("max(1, 1 / 0)", None),
    ],
)
def test_an_expression_has_a_value_or_none(text: str, value: float | None) -> None:
    assert milliseconds(text, 3) == value


@pytest.mark.parametrize("read", [duration, lambda text: wanted_wait(((b"retry-after", text.encode()),), 0.0)])
def test_durations_are_sums_of_parts(read: Callable[[str], float]) -> None:
    texts: Mapping[str, float] = {"1h2m3s": 3723.0, "500ms": 0.5, "1.5s": 1.5, "7us": 7e-6}
    assert [read(text) for text in texts] == pytest.approx([*texts.values()])


def test_a_message_store_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.dialects.upstash.message_store._MOST_MESSAGES", 3)
    monkeypatch.setattr("mockserver.dialects.upstash.message_store._MOST_DEAD", 2)
    post = Post()
    ids = [post.publish(f"/v2/enqueue/q/http://127.0.0.1:9/{number}", b"") for number in range(5)]
    assert [message.id for message in post.store.messages("token")] == ids[2:]
    assert post.ask("GET", "/v2/queues/q")[1]["lag"] == 3
    assert len(dead_letters(Post(), 1)) == 1
    assert len(dead_letters(Post(), 3)) == 2


def test_headers_count_for_the_bound_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.dialects.upstash.message_store._MOST_BYTES", 100_000)
    post = Post()
    for _ in range(4):
        post.publish(
            "/v2/publish/http://127.0.0.1:9/", b"", upstash_callback_forward_x="x" * 40_000, upstash_callback=CALLBACK
        )
    assert len(post.store.messages("token")) == 2


def test_what_is_cancelled_leaves_nothing_behind(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.dialects.upstash.message_store._MOST_STALE", 10)
    for _ in range(30):
        id = post.publish("/v2/publish/http://127.0.0.1:9/", b"", upstash_delay="1d")
        post.store.cancel((id,), post.now)
    assert len(post.store._waiting) < 15


def test_queues_without_messages_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.dialects.upstash.message_store._MOST_QUEUES", 3)
    post = Post()
    post.publish("/v2/enqueue/kept/http://127.0.0.1:9/", b"")
    for name in ("a", "b", "c"):
        post.ask("POST", "/v2/queues", {"queueName": name})
    assert [each["name"] for each in post.ask("GET", "/v2/queues")[1]] == ["kept", "c"]


def test_a_log_of_long_messages_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.dialects.upstash.message_store._MOST_BYTES", 2500)
    post = Post()
    for _ in range(4):
        post.publish("/v2/publish/http://127.0.0.1:9/", b"x" * 100)
    assert len(post.store.messages("token")) == 2
    assert [event["state"] for event in post.events()] == ["CREATED", "CREATED"]
