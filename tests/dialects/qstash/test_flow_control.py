"""QStash's flow control: how many attempts of a key are under way at once, and begin in a period."""

import pytest

from tests.support.post import BROKEN, CALLBACK, CHAT, LLM, START, WELL, Post


def flowing(
    post: Post, value: str, key: str = "k", path: str = "/v2/publish/http://127.0.0.1:9/to", **more: str
) -> str:
    return post.publish(path, upstash_flow_control_key=key, upstash_flow_control_value=value, **more)


def test_so_many_messages_of_a_key_are_under_way_at_once_whatever_their_destination(post: Post) -> None:
    ids = [flowing(post, "parallelism=2"), flowing(post, "parallelism=2", path=LLM), flowing(post, "parallelism=2")]
    other = flowing(post, "parallelism=1", key="other")
    first = post.due()
    assert [task.message for task in first] == [ids[0], ids[1], other]
    assert post.ask("GET", "/v2/flowControl/k")[1] == {
        "flowControlKey": "k",
        "waitListSize": 1,
        "parallelismMax": 2,
        "parallelismCount": 2,
        "rateMax": 0,
        "rateCount": 2,
        "ratePeriod": 1,
        "ratePeriodStart": int(START),
        "isPaused": False,
        "isPinnedParallelism": False,
        "isPinnedRate": False,
    }
    post.mailbox.done(first[0], WELL, post.now)
    assert [task.message for task in post.due()] == [ids[2]]


def test_so_many_attempts_of_a_key_begin_in_a_period_and_retries_count(post: Post) -> None:
    ids = [flowing(post, "rate=2, period=1m", upstash_retries="1", upstash_retry_delay="1000") for _ in range(4)]
    assert [task.message for task in post.perform(BROKEN, WELL)] == ids[:2]
    post.now += 30
    assert post.due() == []
    assert post.mailbox.next_due() == START + 60
    post.now = START + 60
    assert [task.message for task in post.perform(WELL, WELL)] == ids[2:]
    post.now += 60
    assert [(task.message, task.attempt) for task in post.perform(WELL)] == [(ids[0], 1)]
    assert [each["waitListSize"] for each in post.ask("GET", "/v2/flowControl?search=k")[1]] == [0]
    assert post.ask("GET", "/v2/flowControl?search=x") == (200, [])


def test_a_cancelled_message_leaves_its_place_to_the_next_one_of_its_key(post: Post) -> None:
    ids = [flowing(post, "parallelism=1") for _ in range(4)]
    assert [task.message for task in post.due()] == ids[:1]
    post.ask("DELETE", f"/v2/messages/{ids[1]}")
    post.ask("DELETE", f"/v2/messages/{ids[0]}")
    assert [task.message for task in post.due()] == ids[2:3]
    assert post.ask("GET", "/v2/flowControl/k")[1]["waitListSize"] == 1


def test_a_key_can_be_paused_pinned_and_begin_a_new_period(post: Post) -> None:
    assert post.ask("POST", "/v2/flowControl/k/pause") == (200, None)
    ids = [flowing(post, "rate=1,period=3600") for _ in range(5)]
    assert post.due() == []
    post.ask("POST", "/v2/flowControl/k/resume")
    assert [task.message for task in post.perform(WELL)] == ids[:1]
    post.ask("POST", "/v2/flowControl/k/resetRate")
    assert [task.message for task in post.perform(WELL)] == ids[1:2]
    assert post.ask("POST", "/v2/flowControl/k/pin?rate=2&period=10") == (200, None)
    assert [task.message for task in post.perform(WELL, WELL)] == ids[2:4]
    ids.append(flowing(post, "rate=100,parallelism=7"))
    _, pinned = post.ask("GET", "/v2/flowControl/k")
    shown = [
        pinned[name] for name in ("rateMax", "ratePeriod", "isPinnedRate", "parallelismMax", "isPinnedParallelism")
    ]
    assert shown == [2, 10, True, 7, False]
    post.ask("POST", "/v2/flowControl/k/unpin?rate=true")
    ids.append(flowing(post, "rate=100"))
    assert [task.message for task in post.perform(WELL, WELL, WELL)] == ids[4:]


def test_a_message_shows_its_flow_control_and_can_be_found_by_it(post: Post) -> None:
    id = flowing(post, "ratePerSecond=5, parallelism=3, period=1d", upstash_delay="1h")
    flowing(post, "rate=1", key="other", upstash_delay="1h")
    _, message = post.ask("GET", f"/v2/messages/{id}")
    shown = {"flowControlKey": "k", "parallelism": 3, "rate": 5, "ratePerSecond": 5, "period": 86_400}
    assert {name: message[name] for name in shown} == shown
    [event] = post.ask("GET", "/v2/events?flowControlKey=k")[1]["events"]
    assert (event["messageId"], event["flowControlKey"]) == (id, "k")
    assert post.ask("DELETE", "/v2/messages?flowControlKey=k") == (202, {"cancelled": 1})


def test_a_callback_has_flow_control_of_its_own_and_not_that_of_its_message(post: Post) -> None:
    own = {"upstash_callback_flow_control_key": "c", "upstash_callback_flow_control_value": "parallelism=1"}
    for _ in range(2):
        flowing(post, "parallelism=9", upstash_callback=CALLBACK, **own)
    post.perform(WELL, WELL)
    assert [task.url for task in post.due()] == [CALLBACK]
    counts = [each["parallelismCount"] for each in post.ask("GET", "/v2/flowControl")[1]]
    assert counts == [0, 1]


@pytest.mark.parametrize(
    "key, value, complaint",
    [
        ("k", "", "Upstash-Flow-Control-Key header needs Upstash-Flow-Control-Value"),
        ("", "rate=1", "Upstash-Flow-Control-Value header needs Upstash-Flow-Control-Key"),
        ("k", "10", "'10' is not one of parallelism=5, rate=10 and period=1m"),
        ("k", "period=1m", "neither parallelism nor rate is given"),
        ("k", "rate=0", "rate '0' is not a whole number greater than 0"),
        ("k", "rate=1,period=8d", "period '8d' is not longer than nothing and at most a week"),
    ],
)
def test_flow_control_that_makes_no_sense_is_refused(post: Post, key: str, value: str, complaint: str) -> None:
    headers = {"upstash_callback": CALLBACK, "upstash_flow_control_key": key, "upstash_flow_control_value": value}
    said = complaint if "header" in complaint else f"invalid Upstash-Flow-Control-Value header: {complaint}"
    assert post.ask("POST", LLM, CHAT, **headers) == (400, {"error": said})
    assert post.ask("GET", "/v2/flowControl/k") == (404, {"error": "flow control key k not found"})
    assert post.ask("POST", "/v2/flowControl/k/pin?rate=x")[0] == 400
