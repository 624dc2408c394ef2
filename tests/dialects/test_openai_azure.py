"""What Azure's clients get: chats with the results of content filters, and errors of Azure's own."""

from typing import Any

import pytest

from tests.support.asking import ask

DEPLOYMENT = "/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
HELLO = {"messages": [{"role": "user", "content": "Say hello"}], "max_tokens": 2}
SAFE = {"filtered": False, "severity": "safe"}
CATEGORIES = ("hate", "self_harm", "sexual", "violence")
NOT_FOUND = {"detected": False, "filtered": False}


V1 = {"path": "/v1/chat/completions", "headers": {"authorization": "", "api-key": "k"}}


@pytest.mark.parametrize("way", [{"path": DEPLOYMENT}, V1], ids=["deployment", "v1"])
def test_a_chat_is_laid_out_as_azure_does(way: dict[str, Any]) -> None:
    answer = ask("openai", {**HELLO, "model": "gpt-4o"}, method="POST", **way)
    body = answer.json()
    (prompt,) = body["prompt_filter_results"]
    assert list(prompt.items()) == [
        ("prompt_index", 0),
        ("content_filter_results", {**dict.fromkeys(CATEGORIES, SAFE), "jailbreak": NOT_FOUND}),
    ]
    parts = (body, *body["choices"], body["usage"], body["usage"]["latency_checkpoint"])
    assert all(list(part) == sorted(part) for part in parts)
    assert answer.body.endswith(b"}\n")
    found = body["choices"][0]["content_filter_results"]
    protected = dict.fromkeys(("protected_material_code", "protected_material_text"), NOT_FOUND)
    assert found == {**dict.fromkeys(CATEGORIES, SAFE), **protected}
    limits = {name: value for name, value in answer.headers.items() if name.startswith("x-ratelimit-re")}
    assert limits == {
        "x-ratelimit-remaining-requests": "249",
        "x-ratelimit-reset-requests": "0",
        "x-ratelimit-renewalperiod-requests": "60",
        "x-ratelimit-remaining-tokens": "249991",
        "x-ratelimit-reset-tokens": "0",
        "x-ratelimit-renewalperiod-tokens": "60",
    }
    assert "apim-request-id" in answer.headers
    assert "openai-version" not in answer.headers
    assert ("x-ms-deployment-name" in answer.headers) == (way != V1)
    filtered = ask(
        "openai",
        HELLO,
        path=DEPLOYMENT,
        method="POST",
        headers={"x-mockserver-fault": "{ kind = 'finish', reason = 'content_filter' }"},
    ).json()
    assert filtered["choices"][0]["content_filter_results"]["violence"] == {"filtered": True, "severity": "medium"}


def test_a_stream_of_a_deployment_begins_with_what_the_filters_say_of_the_prompt() -> None:
    asked = {**HELLO, "stream": True, "stream_options": {"include_usage": True}}
    first, *chunks, usage, done = ask("openai", asked, path=DEPLOYMENT, method="POST").events()
    assert list(first) == ["choices", "created", "id", "model", "object", "prompt_filter_results"]
    assert done == "[DONE]"
    text = {"protected_material_text": NOT_FOUND}
    assert [chunk["choices"][0]["content_filter_results"] for chunk in chunks] == [{}, text, text, {}]
    assert all(list(chunk) == sorted(chunk) for chunk in (*chunks, usage))
    assert all("obfuscation" in chunk for chunk in chunks)
    assert (usage["choices"], "latency_checkpoint" in usage) == ([], True)


def test_a_response_says_what_the_filters_found_and_names_the_deployment() -> None:
    asked = {"model": "gpt-4o", "input": "Hello"}
    body = ask("openai", asked, path="/responses?api-version=2025-04-01-preview", method="POST").json()
    names = list(body)
    assert names[names.index("completed_at") + 1] == "content_filters"
    assert (body["model"], "billing" in body) == ("gpt-4o", False)
    found = [(each["source_type"], each["blocked"]) for each in body["content_filters"]]
    assert found == [("prompt", False), ("completion", False)]
    assert body["content_filters"][0]["content_filter_results"] == {
        **dict.fromkeys(CATEGORIES, SAFE),
        "jailbreak": NOT_FOUND,
    }


def test_paths_without_a_version_are_azures() -> None:
    asked = {"model": "gpt-4o", "input": "Hello"}
    for method, path in (("POST", "/responses"), ("GET", "/responses/resp_1"), ("GET", "/models")):
        answer = ask("openai", asked if method == "POST" else None, path=path, method=method)
        assert (answer.status, answer.json()["error"]["message"]) == (404, f"Invalid URL ({method} {path})")


@pytest.mark.parametrize(
    "fault, status, error",
    [
        ("unauthorized", 401, {"code": "401"}),
        ("unknown_model", 404, {"type": "invalid_request_error", "code": "DeploymentNotFound"}),
        ("content_filter", 400, {"type": None, "param": "prompt", "code": "content_filter", "status": 400}),
        ("unknown_path", 404, {"code": "404"}),
        ("rate_limit", 429, {"code": "429"}),
        ("server_error", 500, {"type": "server_error", "param": None, "code": None}),
    ],
)
@pytest.mark.parametrize("path", [DEPLOYMENT, "/v1/chat/completions"])
def test_azures_errors_are_its_own(path: str, fault: str, status: int, error: dict[str, Any]) -> None:
    headers = {"authorization": "", "api-key": "k", "x-mockserver-fault": fault}
    answer = ask("openai", {"model": "gpt-4o", **HELLO}, path=path, method="POST", headers=headers)
    told = answer.json()["error"]
    assert (answer.status, {name: told[name] for name in error}) == (status, error)
    assert told.keys() - error.keys() <= {"message", "innererror"}
