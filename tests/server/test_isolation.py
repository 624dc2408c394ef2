"""Namespaces on one server: two hundred threads at once, and none of them sees anything of another."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mockserver import MockServer
from tests.support.http import exchange

THREADS = 200
BODY = {"model": "llama3.1-8b", "prompt": "Who am I?"}


def _live(url: str, name: str, number: int) -> dict[str, Any]:
    """All that one test might do in its namespace; the answer is what it has seen of it."""

    def admin(method: str, path: str, body: object = None) -> Any:
        return json.loads(exchange(url, method, f"/_mockserver/ns/{name}{path}", body).body)

    def ask(**fields: Any) -> Any:
        return exchange(url, "POST", f"/ns/{name}/cerebras/v1/completions", {**BODY, **fields})

    admin("POST", "/reset")
    times = number % 3 + 1
    admin("POST", "/stubs", {"name": "me", "times": times, "reply": f"I am {name}."})
    admin("POST", "/faults", {"kind": "error", "error": "rate_limit", "times": 1, "match": {"prompt": "fail"}})
    said = [json.loads(ask().body)["choices"][0]["text"] for _ in range(times)]
    missed, failed, streamed = ask(), ask(prompt="fail"), ask(stream=True, prompt="Tell me")
    seen = {
        "said": said,
        "missed": dict(missed.headers).get("x-mockserver-rule"),
        "failed": failed.status,
        "streamed": streamed.body.endswith(b"data: [DONE]\n\n"),
        "unmatched": [line["prompt"] for line in admin("GET", "/journal/unmatched")["exchanges"]],
        "journal": [line["namespace"] for line in admin("GET", "/journal")["exchanges"]],
        "used": [row["used"] for row in admin("GET", "/stubs")["stubs"]],
    }
    admin("POST", "/reset")
    left = admin("GET", "/stubs")["stubs"] + admin("GET", "/journal")["exchanges"] + admin("GET", "/faults")["faults"]
    return {**seen, "left": left}


def test_two_hundred_threads_on_one_server_never_disturb_one_another() -> None:
    names = [f"test-{number}" for number in range(THREADS)]
    with MockServer() as server:
        with ThreadPoolExecutor(THREADS) as pool:
            lives = list(pool.map(lambda number: _live(server.url, names[number], number), range(THREADS)))
        elsewhere = json.loads(exchange(server.url, "GET", "/_mockserver/stubs").body)
    for number, (name, seen) in enumerate(zip(names, lives, strict=True)):
        times = number % 3 + 1
        assert seen == {
            "said": [f"I am {name}."] * times,
            "missed": None,
            "failed": 429,
            "streamed": True,
            "unmatched": ["Who am I?", "fail", "Tell me"],
            "journal": [name] * (times + 3),
            "used": [times],
            "left": [],
        }
    assert elsewhere["stubs"] == []
