"""QStash's schedules, which publish messages again and again, and their cron expressions."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mockserver.dialects.upstash.qstash.cron import read_cron
from tests.support.post import BROKEN, CALLBACK, CHAT, ENDPOINTS, START, WELL, Post, headers_of

URL = "http://127.0.0.1:9/job"


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def plan(post: Post, destination: str = URL, body: object = b"tick", cron: str = "*/5 * * * *", **headers: str) -> str:
    """The id of a schedule that is made."""
    status, answer = post.ask("POST", f"/v2/schedules/{destination}", body, upstash_cron=cron, **headers)
    assert status == 200, answer
    id: str = answer["scheduleId"]
    return id


def test_a_schedule_publishes_at_the_times_of_its_expression(post: Post) -> None:
    # START is 22:13:20.
    id = plan(post, upstash_forward_x_a="1", upstash_method="PUT")
    assert (id[:4], post.mailbox.next_due(), post.due()) == ("scd_", START + 100, [])
    post.advance(100)
    (task,) = post.perform(WELL)
    assert (task.method, task.url, task.body) == ("PUT", URL, b"tick")
    assert {"X-A": "1", "Upstash-Schedule-Id": id}.items() <= headers_of(task).items()
    assert post.mailbox.next_due() == START + 400


def test_a_clock_that_is_put_forward_makes_up_for_what_it_has_passed(post: Post) -> None:
    plan(post, cron="0 * * * *", upstash_delay="10s")
    post.advance(86_400 + 9)
    times = [task.message for task in post.due()]
    assert (len(times), len({*times})) == (24, 24)


def test_a_leap_of_years_is_made_up_for_to_a_bound(post: Post) -> None:
    plan(post, cron="* * * * *")
    post.advance(10 * 365 * 86_400)
    post.due()
    assert len(post.mailbox.messages()) == 1_000
    assert (post.mailbox.schedules.next_due() or 0) - post.now <= 60


def test_a_schedule_shows_its_message_and_its_times(post: Post) -> None:
    id = plan(
        post,
        upstash_schedule_id="nightly",
        upstash_retries="1",
        upstash_delay="1m",
        upstash_callback=CALLBACK,
        upstash_label="a",
        upstash_flow_control_key="k",
        upstash_flow_control_value="rate=2",
    )
    shown = {
        "createdAt": int(START * 1000),
        "scheduleId": "nightly",
        "cron": "*/5 * * * *",
        "destination": URL,
        "method": "POST",
        "header": {"Content-Type": ["application/json"]},
        "body": "tick",
        "retries": 1,
        "delay": 60,
        "callback": CALLBACK,
        "callbackHeader": {"Content-Type": ["application/json"]},
        "flowControlKey": "k",
        "rate": 2,
        "ratePerSecond": 2,
        "period": 1,
        "callerIP": "127.0.0.1",
        "isPaused": False,
        "label": "a",
        "labels": ["a"],
        "nextScheduleTime": int(START * 1000) + 100_000,
    }
    assert id == "nightly"
    assert post.ask("GET", "/v2/schedules/nightly") == (200, shown)
    assert post.ask("GET", "/v2/schedules") == (200, [shown])


def test_a_schedule_tells_what_has_become_of_its_last_message(post: Post) -> None:
    id = plan(post, upstash_retries="0")

    def last() -> tuple[int, list[str]]:
        _, shown = post.ask("GET", f"/v2/schedules/{id}")
        return shown["lastScheduleTime"] - int(START * 1000), [*shown["lastScheduleStates"].values()]

    post.advance(100)
    assert len(post.due()) == 1
    assert last() == (100_000, ["IN_PROGRESS"])
    first = post.mailbox.messages()[0].id
    post.advance(300)
    (following,) = post.due()
    post.mailbox.done(following, BROKEN, post.now)
    assert last() == (400_000, ["FAIL"])
    post.advance(300)
    post.perform(WELL)
    assert last() == (700_000, ["SUCCESS"])
    assert first in {event["messageId"] for event in post.events(f"?scheduleId={id}")}


def test_a_paused_schedule_publishes_nothing_and_makes_up_for_nothing(post: Post) -> None:
    id = plan(post)
    assert post.ask("POST", f"/v2/schedules/{id}/pause") == (200, None)
    _, shown = post.ask("GET", f"/v2/schedules/{id}")
    assert (shown["isPaused"], "nextScheduleTime" in shown, post.mailbox.next_due()) == (True, False, None)
    post.advance(1_000)
    assert post.due() == []
    assert post.ask("PATCH", f"/v2/schedules/{id}/resume") == (200, None)
    assert post.due() == []
    post.advance(300)
    assert len(post.due()) == 1


def test_a_schedule_with_the_id_of_another_takes_its_place(post: Post) -> None:
    for body in (b"old", b"new"):
        assert plan(post, body=body, upstash_schedule_id="job") == "job"
    post.advance(100)
    assert [task.body for task in post.due()] == [b"new"]


def test_equal_requests_make_schedules_of_their_own(post: Post) -> None:
    first = plan(post)
    second = plan(post)
    post.ask("DELETE", f"/v2/schedules/{first}")
    assert len({first, second, plan(post)}) == 3


def test_a_removed_schedule_is_gone_and_what_it_has_published_is_not(post: Post) -> None:
    id = plan(post, upstash_delay="1h")
    post.advance(100)
    assert post.due() == []
    assert post.ask("DELETE", f"/v2/schedules/{id}") == (200, None)
    assert post.ask("GET", "/v2/schedules") == (200, [])
    post.advance(3_600)
    assert len(post.due()) == 1


def test_a_schedule_publishes_to_the_endpoints_that_its_group_has_then(team: Post) -> None:
    id = plan(team, "team")
    assert team.ask("GET", f"/v2/schedules/{id}")[1]["destination"] == "team"
    team.ask("POST", ENDPOINTS, {"endpoints": [{"url": "http://127.0.0.1:9/three"}]})
    team.advance(100)
    assert [task.url for task in team.perform(WELL, WELL, WELL)][-1] == "http://127.0.0.1:9/three"
    team.ask("DELETE", "/v2/topics/team")
    team.advance(300)
    assert team.due() == []


def test_a_schedule_may_ask_the_model_and_go_through_a_queue(post: Post) -> None:
    id = plan(post, "api/llm", CHAT, upstash_callback=CALLBACK, upstash_queue_name="line")
    _, shown = post.ask("GET", f"/v2/schedules/{id}")
    assert (shown["destination"], shown["queueName"]) == ("api/llm", "line")
    post.advance(100)
    (task,) = post.perform(WELL)
    assert (task.url, dict(task.headers)[b"authorization"]) == ("/llm/v1/chat/completions", b"Bearer token")
    assert json.loads(post.due()[0].body)["scheduleId"] == id


@pytest.mark.parametrize(
    "destination, headers, complaint",
    [
        (URL, {}, "Upstash-Cron header is required"),
        (
            URL,
            {"upstash_cron": "* * * *"},
            "invalid Upstash-Cron header: expected exactly 5 fields, found 4",
        ),
        (URL, {"upstash_cron": "0 0 30 2 *"}, "invalid Upstash-Cron header: it never comes to pass"),
        (URL, {"upstash_cron": "@daily", "upstash_schedule_id": "a b"}, "invalid schedule id: it can only contain"),
        (URL, {"upstash_cron": "@daily", "upstash_retries": "many"}, "invalid Upstash-Retries header:"),
        ("nobody", {"upstash_cron": "@daily"}, "invalid destination url: endpoint has invalid scheme"),
        ("api/llm", {"upstash_cron": "@daily"}, "Upstash-Callback header is required for api/llm"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(
    destination: str, headers: dict[str, str], complaint: str, post: Post
) -> None:
    status, answer = post.ask("POST", f"/v2/schedules/{destination}", CHAT, **headers)
    assert (status, answer["error"].startswith(complaint)) == (400, True), answer
    assert post.ask("GET", "/v2/schedules") == (200, [])


def test_an_unknown_schedule_is_not_found(post: Post) -> None:
    asked = [("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("PATCH", "/pause"), ("POST", "/resume")]
    answers = [post.ask(method, f"/v2/schedules/none{path}") for method, path in asked]
    assert answers == [(404, {"error": "schedule none not found"})] * len(asked)


def test_the_messages_under_way_are_counted(team: Post) -> None:
    team.ask("POST", "/v2/publish/team", b"news")
    tasks = team.due()
    assert team.ask("GET", "/v2/globalParallelism") == (200, {"parallelismMax": 100, "parallelismCount": 2})
    for task in tasks:
        team.mailbox.done(task, WELL, team.now)
    assert team.ask("GET", "/v2/globalParallelism")[1]["parallelismCount"] == 0


# --- cron expressions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, after, following",
    [
        ("* * * * *", "2026-01-01T00:00:00", "2026-01-01T00:01:00"),
        ("*/15 9-17 * * MON-FRI", "2026-01-02T17:45:00", "2026-01-05T09:00:00"),
        ("0 0 1,15 * *", "2026-01-15T00:00:00", "2026-02-01T00:00:00"),
        ("30 6 * feb,Dec *", "2026-03-01T00:00:00", "2026-12-01T06:30:00"),
        ("0 0 29 2 *", "2096-03-01T00:00:00", "2104-02-29T00:00:00"),
        # Both days are restricted: one of them is enough.
        ("0 0 13 * FRI", "2026-01-01T00:00:00", "2026-01-02T00:00:00"),
        ("0 12 * * 7", "2026-01-01T00:00:00", "2026-01-04T12:00:00"),
        ("0 12 * * 5/1", "2026-01-03T13:00:00", "2026-01-09T12:00:00"),
        ("50/4 * * * ?", "2026-01-01T00:51:00", "2026-01-01T00:54:00"),
        ("@daily", "2026-01-01T00:00:00", "2026-01-02T00:00:00"),
        ("@Weekly", "2026-01-01T00:00:00", "2026-01-04T00:00:00"),
        ("CRON_TZ=America/New_York 0 9 * * *", "2026-07-01T12:59:00", "2026-07-01T13:00:00"),
        ("CRON_TZ=America/New_York 0 9 * * *", "2026-01-01T12:59:00", "2026-01-01T14:00:00"),
        ("TZ=Asia/Tokyo 0 0 * * *", "2026-01-01T00:00:00", "2026-01-01T15:00:00"),
    ],
)
def test_an_expression_says_when_it_comes_next(text: str, after: str, following: str) -> None:
    assert read_cron(text).next_after(at(after)) == at(following)


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("", "expected exactly 5 fields, found 0"),
        ("60 * * * *", "invalid minute '60': it must be from 0 to 59"),
        ("* 24 * * *", "invalid hour '24'"),
        ("* * 0 * *", "invalid day of month '0'"),
        ("* * * JANUARY *", "invalid month 'JANUARY'"),
        ("* * * * 8", "invalid day of week '8'"),
        ("*/0 * * * *", r"invalid minute '\*/0'"),
        ("5-1 * * * *", "invalid minute '5-1'"),
        ("1,, * * * *", "invalid minute ''"),
        ("*/x * * * *", r"invalid minute '\*/x'"),
        ("-1 * * * *", "invalid minute ''"),
        ("@never", "expected exactly 5 fields, found 1"),
        ("CRON_TZ=Mars/Olympus * * * * *", "unknown time zone Mars/Olympus"),
        ("CRON_TZ=../../etc/passwd * * * * *", "unknown time zone"),
    ],
)
def test_what_is_no_cron_expression_says_why(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_cron(text)


def every_field(value: Any) -> str:
    return " ".join([str(value)] * 5)


def test_a_list_of_everything_is_every_minute() -> None:
    assert read_cron(every_field("*")) == read_cron("0-59 0-23 * 1-12 *")
