"""Namespaces: by path, by header, by key."""

import pytest

from mockserver.core.http import Headers
from mockserver.state.namespaces import namespace_of


@pytest.mark.parametrize(
    "query, headers, found",
    [
        ("qstash_token=mock-ns-d", {}, "d"),
        ("a=1&qstash_token=mock-ns-d%2De&b=2", {}, "d-e"),
        ("qstash_token=sk-mock-ns-d", {}, ""),
        ("qstash_token=mock-key", {}, ""),
        ("qstash_token=mock-ns-d", {"authorization": "Bearer sk-1"}, "d"),
        ("qstash_token=mock-ns-d", {"authorization": "Bearer mock-ns-c"}, "c"),
        ("qstash_token=mock-ns-d", {"x-mockserver-namespace": "b"}, "b"),
    ],
)
def test_a_key_in_the_query_names_a_namespace_too(query: str, headers: dict[str, str], found: str) -> None:
    raw = Headers((name.encode(), value.encode()) for name, value in headers.items())
    assert namespace_of("/v1/models", raw, query) == (found, "/v1/models")


@pytest.mark.parametrize(
    "path, headers, found",
    [
        ("/v1/models", {}, ("", "/v1/models")),
        ("/ns/a/v1/models", {}, ("a", "/v1/models")),
        ("/ns/a", {}, ("a", "/")),
        ("/v1/models", {"x-mockserver-namespace": "b"}, ("b", "/v1/models")),
        ("/v1/models", {"authorization": "Bearer mock-ns-c"}, ("c", "/v1/models")),
        ("/v1/models", {"authorization": "Api-Key mock-ns-c"}, ("c", "/v1/models")),
        ("/v1/models", {"authorization": "Bearer sk-mock-ns-c"}, ("", "/v1/models")),
        ("/ns/a/v1/models", {"x-mockserver-namespace": "b", "authorization": "Bearer mock-ns-c"}, ("a", "/v1/models")),
        ("/v1/models", {"x-mockserver-namespace": "b", "authorization": "Bearer mock-ns-c"}, ("b", "/v1/models")),
    ],
)
def test_the_first_that_names_a_namespace_counts(path: str, headers: dict[str, str], found: tuple[str, str]) -> None:
    raw = Headers((name.encode(), value.encode()) for name, value in headers.items())
    assert namespace_of(path, raw) == found
