"""QStash: much to deliver at once, deliveries to where nobody may go, and filters that would act on everything."""

import time

import orjson

from tests.hostile.attack import Attack, refused, request

PUBLISH, BATCH = "/upstash/v2/publish", "/upstash/v2/batch"
CLOSED = "http://127.0.0.1:9/"
LATER = {"Upstash-Delay": "1d"}
TEN_YEARS = 315_360_000


def in_namespace(
    port: int, name: str, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, bytes]:
    return request(port, method, f"/ns/{name}{path}", body, headers)


def admin(port: int, name: str, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    return request(port, method, f"/_mockserver/ns/{name}{path}", body)


def deliveries(port: int, name: str, count: int) -> list[dict[str, object]]:
    """The deliveries of a namespace, as soon as there are so many."""
    admin(port, name, "GET", f"/wait?deliveries={count}&seconds=20")
    found: list[dict[str, object]] = orjson.loads(admin(port, name, "GET", "/deliveries")[1])["deliveries"]
    return found


def advanced_by_ten_years(port: int) -> None:
    name, items = "qstash-years", [{"destination": CLOSED, "body": "x", "headers": LATER}] * 1_000
    try:
        assert in_namespace(port, name, "POST", BATCH, items)[0] == 200
        for _ in range(2):
            assert admin(port, name, "POST", "/clock", {"advance": TEN_YEARS})[0] == 200
        assert len(deliveries(port, name, 1_000)) >= 1_000
    finally:
        admin(port, name, "POST", "/reset")


def cancelled_at_once(port: int) -> None:
    name, items = "qstash-cancel", [{"destination": CLOSED, "queue": "q"}] * 1_000
    try:
        # Queues take no delays: what is in a paused one waits.
        assert in_namespace(port, name, "POST", "/upstash/v2/queues/q/pause")[0] == 200
        for _ in range(3):
            assert in_namespace(port, name, "POST", BATCH, items)[0] == 200
        status, answer = in_namespace(port, name, "DELETE", "/upstash/v2/messages?count=100000")
        assert (status, answer) == (202, b'{"cancelled":3000}')
    finally:
        admin(port, name, "POST", "/reset")


def megabytes_of_bodies(port: int) -> None:
    name = "qstash-bodies"
    try:
        for _ in range(80):
            # It fails, so that its frames must let go of it as well.
            in_namespace(port, name, "POST", f"{PUBLISH}/{CLOSED}", b"x" * 1_000_000, **{"Upstash-Retries": "0"})
        status, answer = in_namespace(port, name, "GET", "/upstash/v2/events")
        assert (status, len(answer) < 16_000_000) == (200, True)
    finally:
        admin(port, name, "POST", "/reset")


def many_ids(port: int) -> None:
    name, items = "qstash-ids", [{"destination": CLOSED, "headers": LATER}] * 1_000
    try:
        assert in_namespace(port, name, "POST", BATCH, items)[0] == 200
        ids = [f"msg_{number}" for number in range(50_000)]
        assert in_namespace(port, name, "DELETE", "/upstash/v2/messages", {"messageIds": ids})[0] == 202
        assert in_namespace(port, name, "DELETE", "/upstash/v2/messages", {"label": ids})[0] == 202
    finally:
        admin(port, name, "POST", "/reset")


def nowhere(url: str) -> Attack:
    """A message that must not be delivered, and whose callback must not either."""

    def act(port: int) -> None:
        name = f"qstash-nowhere-{time.monotonic_ns()}"
        item = {"destination": url, "headers": {"Upstash-Retries": "0", "Upstash-Callback": url}}
        try:
            assert in_namespace(port, name, "POST", BATCH, [item])[0] == 200
            for each in deliveries(port, name, 2):
                assert each["status"] is None, each
                assert "--deliver" in str(each["error"]) or "never called" in str(each["error"]), each
        finally:
            admin(port, name, "POST", "/reset")

    return Attack(f"a message to {url}", act)


ELSEWHERE = (
    *("http://10.0.0.1/", "http://192.168.0.1:22/", "http://[fd00::1]/", "http://8.8.8.8/", "http://example.com/"),
    *("http://169.254.169.254/", "http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/"),
    *("http://169.254.43518/", "http://[::ffff:169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/"),
    *("http://[2002:a9fe:a9fe::]/", "http://[fd00:ec2::254]/", "http://metadata.google.internal/", "http://Metadata./"),
    *("http://instance-data/", "http://user:pass@10.0.0.1/", "http://127.0.0.1@10.0.0.1/"),
)

ROWS: list[Attack] = [
    Attack("a thousand delayed messages and ten years", advanced_by_ten_years),
    Attack("thousands of messages of a queue cancelled at once", cancelled_at_once),
    Attack("a log of many megabytes", megabytes_of_bodies),
    Attack("50,000 ids and labels against a thousand messages", many_ids),
    *map(nowhere, ELSEWHERE),
    refused("a batch of 100,000 messages", BATCH, lambda: [{"destination": CLOSED}] * 100_000),
    refused("a message of 100,000 headers", BATCH, lambda: [{"headers": {f"h{n}": "" for n in range(100_000)}}]),
    refused(
        "a URL of a megabyte",
        BATCH,
        lambda: [{"destination": "http://a/" + "x" * 1_000_000}],
        status=200,
        says=b"longer",
    ),
    refused("a filter that is misspelt", "/upstash/v2/dlq?labeel=x", lambda: None, method="DELETE", says=b"labeel"),
    refused("an empty filter", "/upstash/v2/messages?label=", lambda: None, method="DELETE", says=b"empty"),
    refused("a misspelt filter in a body", "/upstash/v2/dlq/retry", lambda: {"dlqids": ["1"]}, says=b"dlqids"),
    refused(
        "a delay beyond all numbers",
        f"{PUBLISH}/{CLOSED}",
        lambda: b"",
        headers=lambda: {"Upstash-Delay": "999999999999d" * 1_000},
        says=b"Upstash-Delay",
    ),
    refused(
        "an expression that nests too deep",
        f"{PUBLISH}/{CLOSED}",
        lambda: b"",
        headers=lambda: {"Upstash-Retry-Delay": "(" * 5_000},
        says=b"Upstash-Retry-Delay",
    ),
]
