"""Deliveries over real sockets: QStash's messages arrive at an application, on the namespace's clock."""

import asyncio
import base64
import gzip
import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest

from mockserver import MockServer
from mockserver.core.dialect_state import WebhookRequest, WebhookResult
from mockserver.core.dialects import EDITIONS, Operation, RequestScope
from mockserver.core.http import Call, FrameBatch, Reply
from mockserver.core.installed import load_dialect
from mockserver.server.app import App
from mockserver.server.following import wait_for_deliveries
from mockserver.server.http_client import _tls_context, reach_of
from mockserver.state.settings import Settings
from mockserver.testing.backend import OverHttp
from mockserver.testing.handle import Handle
from tests.support.applications import Application, Said, Taken, application
from tests.support.certificates import write_certificate
from tests.support.http import exchange

CHAT = {"model": "meta-llama/Meta-Llama-3-8B-Instruct", "messages": [{"role": "user", "content": "Tell me of tides."}]}


@pytest.fixture
def app() -> Iterator[Application]:
    with application() as running:
        yield running


@pytest.fixture
def handle(server: MockServer, request: pytest.FixtureRequest) -> Iterator[Handle]:
    space = server.in_namespace(re.sub(r"\W+", "-", request.node.name)[:150])
    yield space
    space.reset()


def post(handle: Handle, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    """Send a request to QStash; `upstash_delay="5s"` is a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    got = exchange(handle.url, "POST", f"/ns/{handle.namespace}/upstash{path}", body, named)
    return got.status, json.loads(got.body) if got.body else None


def get(handle: Handle, path: str) -> Any:
    return json.loads(exchange(handle.url, "GET", f"/ns/{handle.namespace}/upstash{path}").body)


def publish(handle: Handle, app: Application, body: object = CHAT, **headers: str) -> str:
    """The id of a message to the model, whose answers are delivered to the application."""
    status, answer = post(handle, "/v2/publish/api/llm", body, upstash_callback=f"{app.url}/done", **headers)
    assert status == 200, answer
    id: str = answer["messageId"]
    return id


def said(body: bytes) -> Any:
    """The answer of the model that a callback reports."""
    return json.loads(base64.b64decode(json.loads(body)["body"]))


def test_the_models_answer_is_that_of_the_chat_and_the_journal_has_it(handle: Handle, app: Application) -> None:
    id = publish(handle, app)
    taken = app.next()
    told = json.loads(taken.body)
    assert (taken.method, taken.path, taken.headers["User-Agent"]) == ("POST", "/done", "Upstash-QStash")
    assert (told["status"], told["sourceMessageId"]) == (200, id)
    asked = handle.last
    assert asked.headers["upstash-message-id"] == id
    direct = exchange(handle.url, "POST", f"/ns/{handle.namespace}/upstash/llm/v1/chat/completions", CHAT)
    assert said(taken.body)["choices"] == json.loads(direct.body)["choices"]


def test_stubs_answer_messages_too(handle: Handle, app: Application) -> None:
    handle.on(dialect="upstash").reply("It rains.")
    publish(handle, app)
    assert said(app.next().body)["choices"][0]["message"]["content"] == "It rains."


def test_a_failing_application_is_tried_again_when_the_clock_is_advanced(handle: Handle, app: Application) -> None:
    app.will_answer(500, Said(0), 503, 500)
    publish(handle, app, upstash_failure_callback=f"{app.url}/never")
    for attempt, wait in enumerate((12.2, 148.5, 1808.1)):
        deliveries = handle.wait_for_deliveries(attempt + 1)
        assert deliveries[-1].attempt == attempt
        handle.clock.advance(wait)
    deliveries = handle.wait_for_deliveries(4)
    assert [(each.status, bool(each.error), each.url) for each in deliveries] == [
        (500, False, f"{app.url}/done"),
        (None, True, f"{app.url}/done"),
        (503, False, f"{app.url}/done"),
        (500, False, f"{app.url}/done"),
    ]
    assert handle.story()[-6:-3] == [
        "Sent to applications:",
        f"   #1 POST {app.url}/done -> 500 (attempt 1, {deliveries[0].message})",
        f"   #2 POST {app.url}/done -> {deliveries[1].error} (attempt 2, {deliveries[0].message})",
    ]
    bodies = {app.next().body for _ in range(4)}
    assert len(bodies) == 1
    (dead,) = get(handle, "/v2/dlq")["messages"]
    assert (dead["url"], dead["responseStatus"]) == (f"{app.url}/done", 500)


def test_a_failing_model_is_asked_again_and_its_last_failure_is_reported(handle: Handle, app: Application) -> None:
    handle.on(operation="chat_completions").error("overloaded")
    id = publish(handle, app, upstash_retries="1", upstash_failure_callback=f"{app.url}/failed")
    assert json.loads(app.next().body)["status"] == 429
    handle.wait_for_deliveries(1)
    handle.clock.advance(60)
    reports = [app.next(), app.next()]
    told = {taken.path: json.loads(taken.body) for taken in reports}
    assert {path: (body["status"], body["retried"]) for path, body in told.items()} == {
        "/done": (429, 1),
        "/failed": (429, 1),
    }
    assert get(handle, f"/v2/dlq/{told['/failed']['dlqId']}")["messageId"] == id
    assert len(handle.requests) == 2


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_model_over_its_quota_is_asked_again_when_the_quota_allows_it(
    handle: Handle, app: Application, edition: str
) -> None:
    handle.settle(quota="requests=1/min", edition=edition)
    publish(handle, app)
    assert json.loads(app.next().body)["status"] == 200
    id = publish(handle, app)
    assert json.loads(app.next().body)["status"] == 429
    handle.wait_for_deliveries(2)
    (retry,) = [event for event in get(handle, f"/v2/events?messageId={id}")["events"] if event["state"] == "RETRY"]
    assert 50_000 < retry["nextDeliveryTime"] - retry["time"] <= 61_000
    handle.clock.advance(61)
    told = json.loads(app.next().body)
    assert (told["status"], told["retried"]) == (200, 1)


def test_a_broken_connection_to_the_model_is_a_failure_without_a_status(handle: Handle, app: Application) -> None:
    publish(handle, app, upstash_forward_x_mockserver_fault="reset")
    told = json.loads(app.next().body)
    assert (told["status"], base64.b64decode(told["body"])) == (0, b"the connection was reset")


def test_an_error_instead_of_the_receipt_means_that_nothing_is_published(handle: Handle) -> None:
    fault = "{ kind = 'error', error = 'server_error' }"
    headers = {"upstash_callback": "http://127.0.0.1:9/", "x_mockserver_fault": fault}
    assert post(handle, "/v2/publish/api/llm", CHAT, **headers)[0] == 500
    assert get(handle, "/v2/events") == {"events": []}


def test_what_a_lost_receipt_has_published_is_a_duplicate_afterwards(handle: Handle, app: Application) -> None:
    with pytest.raises(ConnectionResetError):
        publish(handle, app, upstash_deduplication_id="once", x_mockserver_fault="reset")
    again = {"upstash_callback": f"{app.url}/done", "upstash_deduplication_id": "once"}
    status, answer = post(handle, "/v2/publish/api/llm", CHAT, **again)
    assert (status, answer["deduplicated"]) == (202, True)
    assert json.loads(app.next().body)["sourceMessageId"] == answer["messageId"]
    assert len(handle.wait_for_deliveries(1)) == 1


def test_a_slow_model_times_out_on_the_namespaces_clock(handle: Handle, app: Application) -> None:
    publish(handle, app, upstash_forward_x_mockserver_latency="ttft=600s", upstash_timeout="1m")
    handle.wait_for_requests(1)
    handle.clock.advance(61)
    told = json.loads(app.next().body)
    assert (told["status"], base64.b64decode(told["body"])) == (0, b"no answer within 60 s")


def test_a_slow_application_times_out_on_the_namespaces_clock(handle: Handle) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        post(handle, f"/v2/publish/{url}", b"hi", upstash_retries="0", upstash_timeout="30s")
        connection, _ = listener.accept()
        with connection:
            handle.clock.advance(29)
            assert not handle.deliveries[0].ended
            handle.clock.advance(2)
            (delivered,) = handle.wait_for_deliveries(1)
    assert (delivered.error, delivered.status) == ("no answer within 30 s", None)
    assert delivered.seconds >= 30


def test_delays_wait_for_the_clock(handle: Handle, app: Application) -> None:
    url = f"{app.url}/a%20b?c=d"
    assert post(handle, f"/v2/publish/{url}", b"hello", upstash_delay="1h", upstash_method="PUT")[0] == 200
    handle.clock.advance(3601)
    taken = app.next()
    assert (taken.method, taken.path, taken.body) == ("PUT", "/a%20b?c=d", b"hello")


def test_a_queue_delivers_in_order(handle: Handle, app: Application) -> None:
    for number in range(5):
        body = CHAT | {"max_tokens": number + 1}
        post(handle, "/v2/enqueue/jobs/api/llm", body, upstash_callback=f"{app.url}/{number}")
    assert [app.next().path for _ in range(5)] == [f"/{number}" for number in range(5)]


def test_hundreds_of_messages_are_delivered(handle: Handle, app: Application) -> None:
    batch = [{"destination": f"{app.url}/{number}", "body": "x"} for number in range(200)]
    assert post(handle, "/v2/batch", batch)[0] == 200
    assert {app.next().path for _ in range(200)} == {f"/{number}" for number in range(200)}
    assert len(handle.wait_for_deliveries(200)) == 200


def test_a_reset_breaks_off_what_is_under_way_and_forgets_the_rest(handle: Handle, app: Application) -> None:
    publish(handle, app, upstash_forward_x_mockserver_latency="ttft=600s")
    publish(handle, app, upstash_delay="1h")
    handle.wait_for_requests(1)
    handle.reset()
    handle.clock.advance(7300)
    assert handle.deliveries == []
    assert get(handle, "/v2/events") == {"events": []}
    publish(handle, app)
    app.next()
    assert app.taken.empty()


def test_namespaces_have_messages_of_their_own(server: MockServer, app: Application) -> None:
    one, other = server.in_namespace("courier-a"), server.in_namespace("courier-b")
    publish(one, app, upstash_delay="1h")
    other.clock.advance(3700)
    assert get(other, "/v2/events") == {"events": []}
    assert len(get(one, "/v2/events")["events"]) == 1


def test_a_handle_of_another_process_sees_the_same(handle: Handle, app: Application) -> None:
    remote = Handle(OverHttp(handle.url.partition("/ns/")[0], handle.namespace))
    publish(handle, app, upstash_callback_forward_x_user="7")
    (delivered,) = remote.wait_for_deliveries(1)
    assert [delivered] == handle.deliveries
    assert (delivered.headers["x-user"], delivered.status, delivered.ended) == ("7", 200, True)
    with pytest.raises(TimeoutError, match="for 2 deliveries, of which 1 ended"):
        remote.wait_for_deliveries(2, timeout=0.01)


def test_a_compressed_answer_is_decompressed(handle: Handle, app: Application) -> None:
    told = (("content-encoding", "gzip"), ("x-a", "1"))
    app.will_answer(Said(200, gzip.compress(b"thanks"), told), Said(200, b"broken", told))
    for _ in range(2):
        post(handle, f"/v2/publish/{app.url}/", b"", upstash_retries="0")
        app.next()
        handle.wait_for_deliveries(len(handle.deliveries))
    first, second = handle.wait_for_deliveries(2)
    assert (first.status, first.answer) == (200, "thanks")
    assert second.error.endswith(
        "the answer is not valid gzip: Error -3 while decompressing data: incorrect header check"
    )


def test_a_long_answer_of_an_application_is_read_in_part(handle: Handle, app: Application) -> None:
    app.will_answer(Said(500, b"x" * 3_000_000))
    post(handle, f"/v2/publish/{app.url}/", b"", upstash_retries="0", upstash_failure_callback=f"{app.url}/failed")
    app.next()
    assert len(base64.b64decode(json.loads(app.next().body)["body"])) == 1_048_576


def test_an_application_that_speaks_no_http_has_failed(handle: Handle) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        post(handle, f"/v2/publish/{url}", b"hi", upstash_retries="0")
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"220 mail.example ESMTP\r\n\r\n")
        (delivered,) = handle.wait_for_deliveries(1)
    assert delivered.status is None
    assert "illegal status line" in delivered.error


def test_an_application_without_tls_is_told_from_one_that_is_not_trusted(handle: Handle) -> None:
    with application() as app:
        post(handle, f"/v2/publish/{app.url.replace('http:', 'https:')}/", b"hi", upstash_retries="0")
        (delivered,) = handle.wait_for_deliveries(1)
    assert delivered.error.endswith(": the server there speaks no TLS; use http:// in its URL")


def test_an_application_with_a_certificate_is_trusted_as_the_environment_says(
    handle: Handle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = write_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with application(context) as app:
        for file in ("", str(certificate)):
            monkeypatch.setenv("SSL_CERT_FILE", file)
            _tls_context.cache_clear()
            post(handle, f"/v2/publish/{app.url}/", b"secret", upstash_retries="0")
            handle.wait_for_deliveries(2 if file else 1)
    _tls_context.cache_clear()
    first, second = handle.deliveries
    assert "Trust the certificate: SSL_CERT_FILE" in first.error
    assert (second.status, app.next().body) == (200, b"secret")


@pytest.mark.parametrize(
    "text, kind",
    [
        *((text, "loopback") for text in ("127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1")),
        *((text, "private") for text in ("10.0.0.1", "172.31.0.1", "192.168.1.5", "fd12::1", "::ffff:10.0.0.1")),
        *((text, "public") for text in ("8.8.8.8", "172.32.0.1", "2001:4860::8888", "::ffff:8.8.8.8", "100.64.0.1")),
        *((text, "public") for text in ("64:ff9b::a00:1", "2002:a00:1::1", "::a00:1", "255.255.255.255", "0.1.2.3")),
        *((text, "never") for text in ("169.254.169.254", "169.254.0.1", "fe80::1", "fd00:ec2::254", "fd20:ce::254")),
        *((text, "never") for text in ("100.100.100.200", "192.0.0.192", "168.63.129.16", "::ffff:169.254.169.254")),
        # Embedded: compatible, translated, NAT64, 6to4, Teredo (whose client is inverted), ISATAP.
        *((text, "never") for text in ("::a9fe:a9fe", "::ffff:0:a9fe:a9fe", "64:ff9b::a9fe:a9fe")),
        *((text, "never") for text in ("64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1")),
        *((text, "never") for text in ("2001::5601:5601", "2001:db8::200:5efe:a9fe:a9fe", "fd12::5efe:a9fe:a9fe")),
    ],
)
def test_an_address_is_near_or_far_or_never_called(text: str, kind: str) -> None:
    assert reach_of(ip_address(text)) == kind


PRIVATE, PUBLIC = "is in a private network; to call it, use --deliver private", "is a public address; to call it, use "
NEVER, NAME = "is never called: clouds answer there", "is not this machine; to call it, use --deliver private"


@pytest.mark.parametrize(
    "url, error",
    [
        *((url, PRIVATE) for url in ("http://10.0.0.1/", "http://0xa000001/", "http://[::ffff:192.168.0.1]/")),
        *((url, PUBLIC) for url in ("https://8.8.8.8/", "http://134744072/", "http://0x8080808/", "http://010.8.8.8/")),
        *(
            (url, NAME)
            for url in ("https://app.example.com/x", "http://127.0.0.1.nip.io/", "http://localhost.evil.com/")
        ),
        *(
            (url, NEVER)
            for url in ("http://169.254.169.254/latest", "http://2852039166/", "http://0251.0376.0251.0376/")
        ),
        *((url, NEVER) for url in ("http://0xA9.254.43518/", "http://[::ffff:a9fe:a9fe]/", "http://[fe80::1]/")),
        *((url, NEVER) for url in ("http://METADATA.google.internal/", "http://metadata./", "http://instance-data/")),
        ("http://\uff4detadata.azure/", NEVER),
    ],
)
def test_what_is_not_on_this_machine_is_not_called(handle: Handle, url: str, error: str) -> None:
    headers = {"Upstash-Retries": "0", "Upstash-Callback": url}
    assert post(handle, "/v2/batch", [{"destination": url, "headers": headers}])[0] == 200
    delivered = handle.wait_for_deliveries(2)
    assert all(error in each.error and each.status is None for each in delivered)
    assert "--deliver" in delivered[0].error or error == NEVER
    assert error in get(handle, "/v2/dlq")["messages"][0]["responseBody"]
    assert any(error in event.get("error", "") for event in get(handle, "/v2/logs")["events"])


class Resolver:
    """Gives the name `app.test` the addresses that a test says, each time the next ones."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.answers = list(answers)

    def __call__(self, host: str, *_: object, **options: object) -> list[tuple[Any, ...]]:
        if host != "app.test":
            return REAL(host, *_, **options)  # type: ignore[arg-type]
        return [(0, 0, 0, "", (address, 0)) for address in self.answers.pop(0)]


REAL = socket.getaddrinfo


@pytest.mark.parametrize("deliver", ["loopback", "private"])
def test_a_name_is_resolved_once_and_its_checked_address_is_called(
    handle: Handle, app: Application, monkeypatch: pytest.MonkeyPatch, deliver: str
) -> None:
    resolver = Resolver(("127.0.0.1",), ("169.254.169.254",), ("8.8.8.8", "127.0.0.1"), ("8.8.8.8",))
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    handle.settle(deliver=deliver)
    url = app.url.replace("127.0.0.1", "app.test")
    for number in range(4):
        post(handle, f"/v2/publish/{url}/{number}", b"", upstash_retries="0")
        handle.wait_for_deliveries(number + 1)
    first, second, third, fourth = handle.deliveries
    assert (first.status, third.status) == (200, 200)
    assert [app.next().headers["Host"] for _ in range(2)] == [url.removeprefix("http://")] * 2
    assert second.error.startswith("app.test leads to 169.254.169.254, which is never called")
    assert fourth.error == "app.test leads to 8.8.8.8, which is a public address; to call it, use --deliver any"


def test_a_name_that_is_looked_up_for_ever_holds_up_nobody(
    handle: Handle, app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def hang(host: str, *_: object, **options: object) -> list[tuple[Any, ...]]:
        if host == "app.test":
            over.wait(10)
        return REAL("127.0.0.1", *_, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    for host in ("app.test", app.url.removeprefix("http://").replace("127.0.0.1", "here.test")):
        post(handle, f"/v2/publish/http://{host}/", b"", upstash_retries="0", upstash_timeout="30s")
    assert handle.wait_for_deliveries(1)[1].status == 200
    handle.clock.advance(31)
    assert handle.wait_for_deliveries(2)[0].error == "no answer within 30 s"
    over.set()


@pytest.mark.parametrize("path", ["/_mockserver/reset", "/%5fmockserver/reset", "/ns/mine/%255Fmockserver/stubs"])
def test_nothing_is_delivered_to_the_admin_api(handle: Handle, path: str) -> None:
    post(handle, "/v2/batch", [{"destination": handle.url + path, "headers": {"Upstash-Retries": "0"}}])
    (delivery,) = handle.wait_for_deliveries(1)
    assert delivery.status is None
    assert delivery.error == "/_mockserver is the admin API of a mockserver, to which nothing is delivered"


@pytest.mark.parametrize("deliver", ["loopback", "private", "any"])
def test_metadata_is_never_called(handle: Handle, monkeypatch: pytest.MonkeyPatch, deliver: str) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", Resolver(("fd00:ec2::254",)))
    handle.settle(deliver=deliver)
    for number, host in enumerate(("169.254.169.254", "[64:ff9b::a9fe:a9fe]", "metadata", "app.test")):
        post(handle, f"/v2/publish/http://{host}/", b"", upstash_retries="0")
        assert NEVER in handle.wait_for_deliveries(number + 1)[-1].error


def test_a_redirect_is_an_answer_and_is_not_followed(handle: Handle, app: Application) -> None:
    app.will_answer(Said(302, b"", (("location", f"{app.url}/elsewhere"),)))
    post(handle, f"/v2/publish/{app.url}/", b"", upstash_retries="0")
    (delivered,) = handle.wait_for_deliveries(1)
    assert (delivered.status, app.next().path, app.taken.empty()) == (302, "/", True)


@pytest.mark.parametrize(
    "host", ["localhost", "app.localhost", "0.0.0.0", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]
)
def test_this_machine_has_many_names(handle: Handle, app: Application, host: str) -> None:
    post(handle, f"/v2/publish/{app.url.replace('127.0.0.1', host)}/", b"", upstash_retries="0")
    assert [each.status for each in handle.wait_for_deliveries(1)] == [200]


def test_a_vendor_that_is_simulated_here_is_asked_here(handle: Handle, app: Application) -> None:
    handle.on(dialect="cerebras").reply("It rains.")
    url = "https://api.cerebras.ai/v1/chat/completions?a=b"
    chat = {"model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Hello"}]}
    headers = {"upstash_forward_authorization": "Bearer theirs", "upstash_callback": f"{app.url}/done"}
    assert post(handle, f"/v2/publish/{url}", chat, **headers)[0] == 200
    taken = app.next()
    assert said(taken.body)["choices"][0]["message"]["content"] == "It rains."
    assert json.loads(taken.body)["url"] == url
    asked = handle.last
    assert (asked.dialect, asked.query, asked.headers["host"]) == ("cerebras", "a=b", "api.cerebras.ai")
    assert [(each.url, each.status) for each in handle.wait_for_deliveries(2)] == [(url, 200), (f"{app.url}/done", 200)]


def test_it_is_called_if_the_settings_say_so(handle: Handle) -> None:
    handle.settle(deliver="any")
    post(handle, "/v2/publish/http://nobody.invalid/x", b"", upstash_retries="0")
    (delivered,) = handle.wait_for_deliveries(1)
    assert delivered.error.startswith("nobody.invalid:80: ")


# --- a dialect of one's own ------------------------------------------------------------------------------------------


class Hooks:
    """The webhook queue of a vendor that tells an application what its model has said, once and without retries."""

    def __init__(self) -> None:
        self.waiting: list[WebhookRequest] = []
        self.done_with: list[tuple[str, int | None]] = []

    def due(self, now: float, real: float, most: int) -> list[WebhookRequest]:
        due, self.waiting = self.waiting[:most], self.waiting[most:]
        return due

    def next_due(self) -> float | None:
        return 0.0 if self.waiting else None

    def done(self, task: WebhookRequest, outcome: WebhookResult, now: float) -> None:
        self.done_with.append((task.url, outcome.status))
        if task.is_internal:
            self.waiting.append(WebhookRequest(task.message, "POST", task.headers[0][1].decode(), body=outcome.body))


def test_a_dialect_of_ones_own_can_send_requests_too(app: Application) -> None:
    def order(call: Call, scope: RequestScope) -> Reply:
        task = WebhookRequest("job-1", "GET", "/said", ((b"x-to", app.url.encode()),))
        assert isinstance(scope.webhooks, Hooks)
        return Reply(202, (), (), orders=(partial(scope.webhooks.waiting.append, task),))

    def say(call: Call, scope: RequestScope) -> Reply:
        return Reply(200, (), (FrameBatch((b"It rains.",), (0,), (0,)),))

    operations = (
        Operation("order", "POST", ("/jobs",), handler=order, secured=False),
        Operation("say", "GET", ("/said",), handler=say, secured=False),
    )
    acme = load_dialect("upstash")._replace(name="acme", hosts=(), operations=operations, webhooks=Hooks)

    async def ordered() -> tuple[int, Taken, list[tuple[str, int | None]]]:
        served = App(Settings(latency="off"), {"acme": acme})
        async with httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url="http://mock") as client:
            status = (await client.post("/acme/jobs")).status_code
        taken = await asyncio.to_thread(app.next)
        deliveries = served.app_state.namespaces.get("").deliveries
        assert await wait_for_deliveries(deliveries, 1, 5.0)
        webhooks = deliveries.webhooks(acme)
        assert isinstance(webhooks, Hooks)
        return status, taken, webhooks.done_with

    status, taken, done = asyncio.run(ordered())
    assert (status, taken.method, taken.body) == (202, "POST", b"It rains.")
    assert done == [("/said", 200), (app.url, 200)]
