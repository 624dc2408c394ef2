"""Which origins and hosts are the machine's own, which are listed, and which are refused."""

from typing import Any

import pytest

from mockserver.core.http import Headers
from mockserver.server.cors import allows_host, allows_origin, page_refusal
from mockserver.state.settings import ConfigError
from mockserver.state.settings.options import from_environment, from_names

LISTED = ("https://app.example", "vscode-webview://1a2b", "tauri://localhost", "null", "http://xn--bcher-kva.example")


@pytest.mark.parametrize("origin", [
    "http://localhost", "https://localhost:5173", "http://app.localhost:3000", "http://a.b.localhost",
    "http://127.0.0.1:8000", "http://127.255.3.4", "http://[::1]:5173", "http://[0:0:0:0:0:0:0:1]",
    "http://[::ffff:127.0.0.1]:1", "HTTP://LocalHost:5173", "http://localhost.:5173",
])  # fmt: skip
def test_pages_of_loopback_origins_are_allowed(origin: str) -> None:
    assert allows_origin("loopback", origin)
    assert allows_origin("vendor", origin)
    assert allows_origin(LISTED, origin)


FOREIGN = [
    "https://evil.example", "null", "", "http://", "localhost", "http://localhost.evil.example", "http://evil-localhost",
    "http://127.0.0.1.evil.example", "http://localhost@evil.example", "http://localhost/", "http://localhost:80:80",
    "http://localhost:8000000", "http://0.0.0.0:8000", "http://10.0.0.1", "http://[::2]", "http://[::ffff:10.0.0.1]",
    "http://[::1", "http://::1", "http://2130706433", "http://0x7f.1", "http://127.1", "http://0177.0.0.1",
    "capacitor://localhost", "app://localhost", "file://", "http://localhost http://evil.example", "http://localhost\\@evil",
    "http://localhost\x00", "http://\xb2localhost", "http://" + "a" * 10_000 + ".localhost", "http:localhost", "*",
]  # fmt: skip


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("cors", ["loopback", "vendor", ("https://app.example",)])
def test_pages_of_other_origins_are_not(cors: Any, origin: str) -> None:
    assert not allows_origin(cors, origin)
    assert allows_origin("any", origin)


@pytest.mark.parametrize("origin", [*LISTED, "HTTPS://APP.example"])
def test_pages_of_listed_origins_are_allowed(origin: str) -> None:
    assert allows_origin(LISTED, origin)


@pytest.mark.parametrize("origin", [
    "http://app.example", "https://app.example:8443", "https://sub.app.example", "https://app.example.evil.test",
    "vscode-webview://1a2b3c", "tauri://elsewhere",
])  # fmt: skip
def test_only_the_exact_origin_is_listed(origin: str) -> None:
    assert not allows_origin(LISTED, origin)


@pytest.mark.parametrize("value, read", [
    ("loopback", "loopback"), ("any", "any"), ("ANY", "any"), (["vendor"], "vendor"), ([], "loopback"),
    ("https://App.example/", ("https://app.example",)),
    ("https://a.test:443, http://b.test:80,http://c.test:8080", ("https://a.test", "http://b.test", "http://c.test:8080")),
    (["https://a.test", "null,loopback", "https://a.test"], ("https://a.test", "null")),
    (["app://-", "capacitor://localhost"], ("app://-", "capacitor://localhost")),
])  # fmt: skip
def test_cors_is_read_from_words_and_lists(value: Any, read: Any) -> None:
    assert from_names({"cors": value}, "option") == {"cors": read}
    assert from_names({"cors": read}, "again") == {"cors": read}


@pytest.mark.parametrize("value", [
    "*", "app.example", "https://*.example", "https://app.example/path", "https://", "https://a b.test", "on", "off",
    "", " , ", "any, https://app.example", ["vendor", "any"], 7, [7], "https://" + "a" * 10_000, "https://user@app.example",
])  # fmt: skip
def test_what_is_no_origin_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="cors") as caught:
        from_names({"cors": value}, "option")
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("host", [
    "localhost", "localhost:8000", "LOCALHOST:8000", "localhost.", "localhost.:8000", "app.localhost:1", "127.0.0.1",
    "127.0.0.1:65535", "127.1.2.3:8000", "[::1]", "[::1]:8000", "[0:0::1]:8000", "[::FFFF:127.0.0.1]:8000",
    "localhost:",
])  # fmt: skip
def test_a_server_on_loopback_answers_to_names_of_loopback(host: str) -> None:
    assert allows_host(host, ())


NO_HOSTS = [
    "", " ", ":8000", "evil.example", "evil.example:8000", "localhost.evil.example", "evillocalhost",
    "127.0.0.1.nip.io", "2130706433", "0x7f.1", "0x7f000001:8000", "127.1", "0177.0.0.1", "0.0.0.0:8000",
    "192.168.0.7", "[::]", "[::2]:8000", "[::1", "::1", "[::1]]", "localhost:port", "localhost:8000:8000",
    "user@localhost", "localhost/evil", "localhost#", "localhost, evil.example", "localhost..", "[::1%25lo]",
    "a" * 10_000, "a" * 10_000 + ".localhost", "\xff.localhost", "127.0.0.1\x00",
]  # fmt: skip


@pytest.mark.parametrize("host", NO_HOSTS)
def test_it_answers_to_no_other_name(host: str) -> None:
    assert not allows_host(host, ("api.cerebras.ai",))


@pytest.mark.parametrize("host, is_allowed", [
    ("mock.test:8000", True), ("MOCK.test.", True), ("a.dev.test", True), ("a.b.dev.test:1", True), ("dev.test", False),
    ("adev.test", False), ("a.mock.test", False), ("192.168.0.7:8000", True), ("[fe80::1]:8000", True),
])  # fmt: skip
def test_names_are_listed_with_their_subdomains_or_without(host: str, is_allowed: bool) -> None:
    [hosts] = from_names({"allow_host": "Mock.test, *.dev.test, 192.168.0.7, [fe80::1]"}, "option").values()
    assert hosts == ("mock.test", "*.dev.test", "192.168.0.7", "fe80::1")
    assert allows_host(host, hosts) is is_allowed


@pytest.mark.parametrize(
    "value", ["*", "*.", "http://mock.test", "mock.test:8000", "a.*.test", "a b", "", 7, "a" * 1_000]
)
def test_what_is_no_host_name_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"allow_host.* is not a host name"):
        from_names({"allow_host": value}, "option")


def test_both_have_environment_variables() -> None:
    given = {"MOCKSERVER_CORS": "https://app.example,null", "MOCKSERVER_ALLOW_HOST": "*.dev.test"}
    assert from_environment(given) == {"cors": ("https://app.example", "null"), "allow_host": ("*.dev.test",)}


@pytest.mark.parametrize("method, headers, is_let_in", [
    ("POST", {}, True),
    ("POST", {"sec-fetch-mode": "cors"}, True),  # Node's fetch
    ("GET", {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, True),
    ("GET", {"sec-fetch-site": "same-origin"}, True),
    ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, True),
    ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, False),
    ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, False),
    ("POST", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, False),
    ("POST", {"origin": "http://localhost:1", "sec-fetch-site": "cross-site"}, True),
    ("POST", {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}, False),
    ("POST", {"origin": "https://evil.example"}, False),
    ("POST", {"origin": "null", "sec-fetch-site": "cross-site"}, False),
    ("POST", {"origin": "null", "host": ""}, False),
    ("POST", {"origin": "http://dev.example:8000", "host": "dev.example:8000"}, True),
    ("POST", {"origin": "http://dev.example:8001", "host": "dev.example:8000"}, False),
    # A page that a proxy serves, which changes the host.
    ("POST", {"origin": "https://dev.example", "host": "127.0.0.1:8000", "sec-fetch-site": "same-origin"}, True),
    ("POST", {"origin": "https://dev.example", "host": "127.0.0.1:8000", "sec-fetch-site": "same-site"}, False),
])  # fmt: skip
def test_a_request_is_let_in_by_what_a_browser_says_of_its_page(
    method: str, headers: dict[str, str], is_let_in: bool
) -> None:
    given = Headers([(name.encode(), value.encode()) for name, value in headers.items()])
    refusal = page_refusal(method, given, "loopback")
    assert (refusal is None) is is_let_in
    assert refusal is None or (refusal.status == 403 and "--cors" in refusal.message)
    assert page_refusal(method, given, "any") is None
