"""Secrets are masked by the words of names, by the parts of URLs and by the shapes of tokens; nothing else changes."""

import json
import time
from collections.abc import Callable

import pytest

from mockserver.core.http import Call, Headers
from mockserver.core.secrets import (
    credentials_digest,
    is_secret,
    masked,
    masked_body,
    masked_headers,
    masked_key,
    masked_query,
    masked_text,
)

SECRET_NAMES = """
authorization proxy-authorization x-authorization Authentication X-Auth X-Auth-Token x-authentication-token cookie
set-cookie Cookie2 api-key apikey api_key apiKey API-KEY x-api-key xapikey X-Access-Key X-Private-Key X-Secret-Key
X-Session-Id sessionid session_token X-Amz-Security-Token X-Amz-Signature X-Amz-Credential AWSAccessKeyId
X-Goog-Api-Key X-Goog-Signature Ocp-Apim-Subscription-Key x-functions-key key sig sv-sig token access_token
refreshToken id_token reset_token signature client_secret clientSecret password passwd pwd pass passphrase jwt x-jwt
bearer oauth_token x-csrf-token credentials private-token x-vault-token hmac x-hub-signature-256 stripe-signature
Upstash-Forward-Authorization Upstash-Callback-Forward-Authorization Upstash-Failure-Callback-Forward-X-Api-Key
upstash-forward-cookie qstash_token upstash-signature x-rapidapi-key x-shopify-access-token x-my-password otp
"""
OPEN_NAMES = """
content-type content-length accept accept-encoding user-agent host connection keep-alive idempotency-key
x-idempotency-key sec-websocket-key x-request-id request-id traceparent etag author authority monkey keyboard
x-ratelimit-limit-tokens x-ratelimit-remaining-tokens x-ratelimit-token ratelimit-reset max_tokens max-token
x-max-tokens tokens token-count token_type x-token-limit tokenizer cache-key prompt_cache_key partition_key
public-key surrogate-key upstash-deduplication-id upstash-flow-control-key upstash-method upstash-retries
upstash-callback upstash-forward-content-type x-mockserver-fault x-mockserver-seed x-mockserver-key www-authenticate
access-control-allow-credentials access-control-allow-headers x-amz-date x-amz-algorithm x-goog-user-project
openai-organization x-stainless-retry-count retry-after location session-timeout x-content-type-options model seed
"""


def test_a_name_tells_of_a_secret() -> None:
    for name in SECRET_NAMES.split():
        for written in (name, name.lower(), name.replace("-", "_")):
            assert is_secret(written), written
            assert masked(written, "0123456789abcdef") == "****cdef"


def test_a_name_tells_of_no_secret() -> None:
    assert [name for name in OPEN_NAMES.split() if is_secret(name)] == []
    assert {masked(name, "0123456789abcdef") for name in OPEN_NAMES.split()} == {"0123456789abcdef"}


@pytest.mark.parametrize(
    "value, shown",
    [
        ("Bearer sk-0123456789", "Bearer ****6789"),
        ("bearer short", "bearer ****"),
        ("Basic dXNlcjpwYXNzd29yZA==", "Basic ****"),
        ("Api-Key AQVN0123456789", "Api-Key ****6789"),
        ('Digest username="me", response="0123"', '****123"'),
        ("0123456789", "****6789"),
        ("12345678", "****"),
        ("", "****"),
    ],
)
def test_a_secret_keeps_its_scheme_and_its_end_if_it_is_long(value: str, shown: str) -> None:
    assert masked("authorization", value) == masked("X-Auth", value) == shown


URLS = {
    "https://user:pass@host/x": "https://****@host/x",
    "https://token@host": "https://****@host",
    "https://us%40er:pa%3Ass@host:8443/x?a=b": "https://****@host:8443/x?a=b",
    "https://a@b@c@host/y@z": "https://****@host/y@z",
    "redis://:pw@host/0": "redis://****@host/0",
    "https:/user:pass@host/x": "https:/****@host/x",
    "https%3A%2F%2Fuser%3Apass%40host%2Fx": "https%3A%2F%2F****%40host%2Fx",
    "/v2/publish/https://user:pass@host/x?key=0123456789&b=1": "/v2/publish/https://****@host/x?key=****6789&b=1",
    "https://host/x?sig=0123456789&sv=2": "https://host/x?sig=****6789&sv=2",
    "https://host/x?X-Amz-Signature=0123456789&X-Amz-Date=2": "https://host/x?X-Amz-Signature=****6789&X-Amz-Date=2",
    "https://host/cb#access_token=0123456789": "https://host/cb#access_token=****6789",
    "https://host/x%3Ftoken%3D0123456789%26b%3D1": "https://host/x%3Ftoken%3D****6789%26b%3D1",
}
OPEN_URLS = [
    "https://host/x?a=b&max_tokens=5",
    "https://host/@scope/package",
    "https://host:8080/a@b",
    "https://host?mail=me@host",
    "mailto:me@host",
    "git@host:repo",
    "1:2@3",
]
TOKENS = {
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-123": "****-123",
    "sk-proj-0123456789": "****6789",
    "csk-0123456789": "****6789",
    "flp_0123456789": "****6789",
    "AKIAIOSFODNN7EXAMPLE": "****MPLE",
    "ghp_0123456789abcdef": "****cdef",
    "sig_0123456789abcdef": "****cdef",
}


@pytest.mark.parametrize("url", URLS)
def test_urls_lose_their_passwords_and_secret_parameters(url: str) -> None:
    assert masked_text(url) == URLS[url]
    assert masked("upstash-callback", f"{url} ") == f"{URLS[url]} "
    assert masked_text(f'see "{url}", please') == f'see "{URLS[url]}", please'


@pytest.mark.parametrize(
    "text", [*OPEN_URLS, "sk-SK,sk;q=0.9", "task-0123456789", "bearer authentication is used", "a"]
)
def test_texts_without_a_secret_stay_as_they_are(text: str) -> None:
    assert masked_text(text) == text
    assert masked_body(text.encode()).decode() == text


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_are_known_by_their_shape_wherever_they_stand_in_a_header(token: str) -> None:
    assert masked("x-anything", token) == TOKENS[token]
    assert masked("x-anything", f"id={token}, b") == f"id={TOKENS[token]}, b"
    assert masked("x-anything", f"Bearer {token}") == f"Bearer {TOKENS[token]}"
    assert masked_body(json.dumps({"value": token}).encode()) == b'{"value":"%b"}' % TOKENS[token].encode()


@pytest.mark.parametrize(
    "query, shown",
    [
        ("key=0123456789&a=b%20c&c", "key=****6789&a=b%20c&c"),
        ("api%5Fkey=sk%2D0123456789", "api%5Fkey=****6789"),
        ("url=https%3A%2F%2Fu%3Ap%40h%2F%3Fsig%3D0123456789%26b", "url=https://****@h/?sig=****6789%26b"),
        ("https://user:pass@host", "https://****@host"),
        ("token=", "token=****"),
        ("", ""),
    ],
)
def test_queries_lose_their_secrets_and_keep_the_rest(query: str, shown: str) -> None:
    assert masked_query(query) == masked_query(masked_query(query)) == shown


BODIES: list[tuple[object, object]] = [
    (
        [
            {
                "destination": "https://u:p@h/x?key=0123456789",
                "headers": {"Authorization": "Bearer 0123456789", "X-A": "1"},
            }
        ],
        [{"destination": "https://****@h/x?key=****6789", "headers": {"Authorization": "Bearer ****6789", "X-A": "1"}}],
    ),
    (
        {"header": {"Upstash-Forward-X-Auth": ["0123456789"]}, "url": "http://t@h/"},
        {"header": {"Upstash-Forward-X-Auth": ["****6789"]}, "url": "http://****@h/"},
    ),
    ({"sourceHeader": {"Cookie": "a=0123456789"}}, {"sourceHeader": {"Cookie": "****6789"}}),
    (
        {"headers": [{"name": "X-Api-Key", "value": "0123456789"}, ["cookie", "0123456789"]]},
        {"headers": [{"name": "X-Api-Key", "value": "****6789"}, ["cookie", "****6789"]]},
    ),
    (
        {"tools": [{"type": "mcp", "authorization": "0123456789", "server_url": "https://h/?token=0123456789"}]},
        {"tools": [{"type": "mcp", "authorization": "****6789", "server_url": "https://h/?token=****6789"}]},
    ),
    ({"prompt": "Ask https://u:p@h/ for 1"}, {"prompt": "Ask https://****@h/ for 1"}),
]
OPEN_BODIES = [
    {"logprobs": {"content": [{"token": " hello", "bytes": [1]}]}, "max_tokens": 5, "metadata": {"key": "value"}},
    {"tools": [{"function": {"parameters": {"properties": {"api_key": {"type": "string"}}, "required": ["api_key"]}}}]},
    {"messages": [{"role": "user", "content": "My token=abc, key: x and header text"}], "prompt_cache_key": "a"},
    [1, None, True, "key", 12345678901234567890],
]


@pytest.mark.parametrize("body, shown", BODIES)
def test_bodies_lose_the_secrets_of_headers_urls_and_fields(body: object, shown: object) -> None:
    once = masked_body(json.dumps(body).encode())
    assert json.loads(once) == shown
    assert masked_body(once) == once


@pytest.mark.parametrize("body", OPEN_BODIES)
def test_bodies_without_a_secret_are_the_same_bytes(body: object) -> None:
    data = json.dumps(body, indent=1).encode()
    assert masked_body(data) is data


@pytest.mark.parametrize(
    "body, shown",
    [
        (b"grant_type=x&client_secret=0123456789", b"grant_type=x&client_secret=****6789"),
        (b"key = value, at http://u:p@h", b"key = value, at http://****@h"),
        (
            b'{"headers": {"authorization": "Bearer 0123456789", "a": "',
            b'{"headers": {"authorization": "Bearer ****6789", "a": "',
        ),
        (b"\xff\x00://u:p@h", b"\xff\x00://u:p@h"),
        (b'{"headers": "' + b"1" * 5000 + b'", "n": ' + b"1" * 5000 + b"}", None),
        (b'{"key": ' * 5000 + b"1" + b"}" * 5000, None),
    ],
)
def test_bodies_that_are_no_proper_json_are_masked_as_text(body: bytes, shown: bytes | None) -> None:
    assert masked_body(body) == (body if shown is None else shown)


def test_long_json_is_masked_without_being_parsed() -> None:
    secrets = {"headers": {"X-Api-Key": "0123456789", "authorization": ["Bearer 0123456789"]}, "url": "http://u:p@h"}
    shown = {"headers": {"X-Api-Key": "****6789", "authorization": ["Bearer ****6789"]}, "url": "http://****@h"}
    long = {"token": "open", "text": ["word " * 30_000] * 10}
    assert json.loads(masked_body(json.dumps({**long, **secrets}).encode())) == {**long, **shown}


def test_what_is_masked_stays_so() -> None:
    assert masked_key(masked_key("0123456789")) == "****6789"
    assert masked("cookie", "****") == "****"
    headers = ((b"authorization", b"Bearer 0123456789"), (b"authorization", b"x"), (b"a", b"http://u:p@h"))
    assert masked_headers(headers) == {"authorization": "Bearer ****6789", "a": "http://****@h"}


def test_credentials_do_not_depend_on_what_changes_from_request_to_request() -> None:
    def digest(**headers: str) -> str:
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        return credentials_digest(Call("POST", "/", Headers(raw), query="sig=1"))

    assert digest(x_api_key="a", cookie="1", x_signature="1") == digest(x_api_key="a", cookie="2", x_signature="2")
    assert digest(x_api_key="a") != digest(x_api_key="b")


LONG: dict[str, Callable[[int], str]] = {
    "many @": lambda n: "https://" + "a@" * n,
    "many @ and no end": lambda n: "https://" + "a@" * n + "/",
    "many schemes": lambda n: "://" * n,
    "schemes without users": lambda n: "https://a" * n,
    "encoded schemes": lambda n: "%3A%2F%2F" * n,
    "percent signs": lambda n: "://" + "%" * n,
    "parameters": lambda n: "&key=1" * n,
    "separators": lambda n: "&" * n,
    "names": lambda n: "?" + "a" * n,
    "values": lambda n: "?key=" + "%" * n,
    "bearers": lambda n: "bearer " * n,
    "spaces": lambda n: "bearer" + " " * n,
    "tokens": lambda n: "eyJ" * n,
    "dots": lambda n: "eyJaaaaaaaa" + ".a" * n,
    "prefixes": lambda n: "sk-" * n,
    "capitals": lambda n: "A" * n,
}


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize(
    "mask",
    [masked_text, masked_query, is_secret, lambda text: masked("x", text), lambda text: masked_body(text.encode())],
    ids=["text", "query", "name", "header", "body"],
)
def test_masking_takes_time_in_proportion(kind: str, mask: Callable[[str], object]) -> None:
    def took(n: int) -> float:
        text = LONG[kind](n)
        begun = time.process_time()
        mask(text)
        return time.process_time() - begun

    assert any(took(20_000) < 0.5 for _ in range(2))
