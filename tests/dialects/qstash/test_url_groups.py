"""QStash's URL groups, which fan messages out."""

import json

import pytest

from tests.support.post import CALLBACK, ENDPOINTS, ONE, START, TWO, WELL, Post


def test_a_group_shows_its_endpoints_in_their_order(team: Post) -> None:
    team.advance(5)
    team.ask("POST", ENDPOINTS, {"endpoints": [{**ONE, "name": "renamed"}, {"url": "https://a.test"}]})
    shown = {
        "createdAt": int(START * 1000),
        "updatedAt": int(START * 1000) + 5000,
        "name": "team",
        "endpoints": [{"name": "renamed", "url": ONE["url"]}, TWO, {"url": "https://a.test"}],
    }
    assert team.ask("GET", "/v2/topics/team") == (200, shown)
    assert team.ask("GET", "/v2/topics") == (200, [shown])


def test_a_group_without_endpoints_is_gone(team: Post) -> None:
    assert team.ask("DELETE", ENDPOINTS, {"endpoints": [{"name": "first"}]}) == (200, None)
    assert team.ask("GET", "/v2/topics/team")[1]["endpoints"] == [TWO]
    team.ask("DELETE", ENDPOINTS, {"endpoints": [{"url": TWO["url"]}]})
    assert team.ask("GET", "/v2/topics/team") == (404, {"error": "topic team not found"})


def test_a_group_can_be_deleted_at_once(team: Post) -> None:
    assert team.ask("DELETE", "/v2/topics/team") == (200, None)
    assert team.ask("GET", "/v2/topics") == (200, [])
    status, answer = team.ask("POST", "/v2/publish/team", b"x")
    assert (status, answer["error"][:24]) == (400, "invalid destination url:")


@pytest.mark.parametrize("path", ["/v2/publish/team", "/v2/enqueue/line/team"])
def test_a_message_to_a_group_goes_to_each_endpoint(path: str, team: Post) -> None:
    status, receipts = team.ask("POST", path, b"news", upstash_callback=CALLBACK)
    assert (status, [each["url"] for each in receipts]) == (200, [ONE["url"], TWO["url"]])
    assert len({each["messageId"] for each in receipts}) == 2
    team.ask("POST", "/v2/queues", {"queueName": "line", "parallelism": 2})
    tasks = team.perform(WELL, WELL)
    assert [(task.url, task.body) for task in tasks] == [(ONE["url"], b"news"), (TWO["url"], b"news")]
    reports = [json.loads(task.body) for task in team.due()]
    assert [(each["topicName"], each.get("endpointName")) for each in reports] == [("team", "first"), ("team", None)]


def test_messages_of_a_group_show_it_and_are_found_by_it(team: Post) -> None:
    _, (first, second) = team.ask("POST", "/v2/publish/team", b"news")
    other = team.publish("/v2/publish/http://127.0.0.1:9/", b"other")
    _, message = team.ask("GET", f"/v2/messages/{first['messageId']}")
    assert (message["topicName"], message["endpointName"]) == ("team", "first")
    found = {event["messageId"] for event in team.events("?topicName=team")}
    assert found == {first["messageId"], second["messageId"]} - {other}


@pytest.mark.parametrize("header", ["upstash_deduplication_id", "upstash_content_based_deduplication"])
def test_each_endpoint_knows_its_own_duplicates(header: str, team: Post) -> None:
    _, first = team.ask("POST", "/v2/publish/team", b"news", **{header: "true"})
    assert not any("deduplicated" in each for each in first)
    status, again = team.ask("POST", "/v2/publish/team", b"news", **{header: "true"})
    assert (status, again) == (202, [{**each, "deduplicated": True} for each in first])
    team.ask("POST", ENDPOINTS, {"endpoints": [{"url": "http://127.0.0.1:9/three"}]})
    status, third = team.ask("POST", "/v2/publish/team", b"news", **{header: "true"})
    assert (status, ["deduplicated" in each for each in third]) == (200, [True, True, False])
    assert len(team.due()) == 3


def test_a_batch_has_a_list_of_receipts_for_a_group(team: Post) -> None:
    messages = [{"destination": "team", "body": "a"}, {"destination": ONE["url"]}, {"destination": "nobody"}]
    _, (group, single, refused) = team.ask("POST", "/v2/batch", messages)
    assert ([each["url"] for each in group], [*single], [*refused]) == (
        [ONE["url"], TWO["url"]],
        ["messageId"],
        ["error"],
    )
    assert len(team.due()) == 3


@pytest.mark.parametrize(
    "method, path, body, status",
    [
        ("POST", "/v2/topics/a b/endpoints", {"endpoints": [ONE]}, 400),
        ("POST", ENDPOINTS, {"endpoints": []}, 400),
        ("POST", ENDPOINTS, {"endpoints": [{"name": "n"}]}, 400),
        ("POST", ENDPOINTS, {"endpoints": [{"url": "127.0.0.1"}]}, 400),
        ("POST", ENDPOINTS, {"endpoints": [{"url": 7}]}, 400),
        ("POST", ENDPOINTS, {"endpoints": "http://a.test"}, 400),
        ("POST", ENDPOINTS, b"{", 400),
        ("POST", ENDPOINTS, {"endpoints": [{"url": f"http://a.test/{n}"} for n in range(101)]}, 412),
        ("DELETE", ENDPOINTS, {"endpoints": [{}]}, 400),
        ("DELETE", ENDPOINTS, {}, 400),
    ],
)
def test_endpoints_that_make_no_sense_are_refused(
    method: str, path: str, body: object, status: int, post: Post
) -> None:
    answered, answer = post.ask(method, path, body)
    assert (answered, [*answer]) == (status, ["error"])
    assert post.ask("GET", "/v2/topics") == (200, [])
