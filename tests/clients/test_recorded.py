"""The vendors' clients with a recorder: each gets the same answers through it, and again from its stubs."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cerebras.cloud.sdk import Cerebras
from friendli.core.models import CompletionsServerlessBodyWithPrompt
from openai import OpenAI
from qstash import QStash

from mockserver import MockServer
from mockserver.cli import main
from tests.support.asking import FROZEN
from tests.support.recording import led_to, lines_of, recorder

from .friendli_sdk import connected
from .questions import PROMPT, TIMEOUT

CHAT: list[Any] = [{"role": "user", "content": PROMPT}]


class At:
    """A server at a URL, as clients are led to it."""

    def __init__(self, url: str) -> None:
        self.url = url


def by_cerebras(url: str, stream: bool) -> Iterator[Any]:
    with Cerebras(api_key="csk-secret", base_url=f"{url}/cerebras", timeout=TIMEOUT, max_retries=0) as client:
        answer = client.completions.create(model="llama3.1-8b", prompt=PROMPT, max_tokens=20, stream=stream)
        yield from answer if stream else [answer]


def by_friendli(url: str, stream: bool) -> Iterator[Any]:
    body = CompletionsServerlessBodyWithPrompt(
        model="meta-llama/Llama-3.1-8B-Instruct", prompt=PROMPT, max_tokens=20, stream=stream
    )
    with connected(At(url)) as client:
        answer: Any = client.serverless.completions.complete(serverless_completions_body=body)
        yield from answer if stream else [answer]


def by_qstash(url: str, stream: bool) -> Iterator[Any]:
    client = QStash("secret", base_url=f"{url}/upstash", retry=False)
    with client.http._client:
        model = "meta-llama/Meta-Llama-3-8B-Instruct"
        answer: Any = client.chat.create(messages=CHAT, model=model, max_tokens=20, stream=stream)
        yield from answer if stream else [answer]


def by_openai(path: str, model: str) -> Callable[[str, bool], Iterator[Any]]:
    def asked(url: str, stream: bool) -> Iterator[Any]:
        base = url + path
        with OpenAI(api_key="sk-secret", project="f", base_url=base, timeout=TIMEOUT, max_retries=0) as client:
            answer: Any = client.chat.completions.create(model=model, messages=CHAT, max_tokens=20, stream=stream)
            yield from answer if stream else [answer]

    return asked


CLIENTS: Mapping[str, Callable[[str, bool], Iterator[Any]]] = {
    "cerebras": by_cerebras,
    "friendli": by_friendli,
    "qstash": by_qstash,
    "openai at yandex": by_openai("/yandex/v1", "gpt://folder/yandexgpt/latest"),
    "openai at ovms": by_openai("/ovms/v3", "llama3"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_sees_the_vendors_answer_through_the_recorder_and_from_its_stubs(
    name: str, stream: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask, tape, stubs = CLIENTS[name], tmp_path / "tape.jsonl", tmp_path / "stubs"
    latency = "ttft=30ms, itl=3ms"
    with MockServer(strict=True, created=FROZEN, latency=latency) as vendor:
        seen = [*ask(vendor.url, stream)]
        with recorder(tape, led_to(vendor)) as url:
            assert [*ask(url, stream)] == seen
    assert len(seen) > 1 if stream else len(seen) == 1
    assert "secret" not in tape.read_text()
    assert main(["stubs", str(tape), "--pace", "--out", str(stubs)]) == 0
    with MockServer(stubs=str(stubs), unmatched="refuse", strict=True) as replaying:
        assert [*ask(replaying.url, stream)] == seen
        due = [event["due"] for event in replaying.requests[-1].events]
    [line] = [line for line in lines_of(tape) if line["question"]]
    assert due == pytest.approx([event["sent"] for event in line["answer"]["events"]], abs=1e-6)
    assert due[0] >= 0.03
    assert main(["drift", str(tape)]) == 0, capsys.readouterr().out
