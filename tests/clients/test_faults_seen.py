"""How each client reacts to each fault: every pair is tried, and compared with the page that lists the results.

`--update-golden` writes the page anew.
"""

import tomllib
from collections.abc import Callable, Container, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest
from cerebras.cloud.sdk import Cerebras
from friendli.core import models
from friendli.core.utils import BackoffStrategy, RetryConfig
from friendli.friendli import SyncFriendli
from qstash import QStash
from yandex_ai_studio_sdk import AIStudio

from mockserver import MockServer
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.parse_faults import read_faults
from mockserver.state.settings import Settings
from tests.support.http import exchange

PAGE = Path(__file__).parents[2] / "mockserver" / "docs" / "faults-seen.md"

PROMPT = "Write 8 words about tides"
# How long a client waits for something to come, in seconds.
PATIENCE = 0.6
# How often a line is tried before it counts as changed.
TRIES = 3
# How many faults are tried at a time.
AT_ONCE = 4
_SPACES = count()

QWEN = "gpt://folder/qwen3-235b-a22b-fp8/latest"
MESSAGES: Any = [{"role": "user", "content": PROMPT}]

# A part of an answer's text, and why the answer ends with it, where it does.
Piece = tuple[str, str | None]
# Asks for an answer: what a stream brings event by event, or a plain answer at once.
Ask = Callable[[str, bool], Iterator[Piece]]


def by_httpx(url: str, stream: bool) -> Iterator[Piece]:
    body = {"model": "llama3.1-8b", "prompt": PROMPT, "stream": stream}
    arguments: dict[str, Any] = {"json": body, "timeout": PATIENCE, "headers": {"authorization": "Bearer k"}}
    with httpx.stream("POST", f"{url}/cerebras/v1/completions", **arguments) as answer:
        answer.raise_for_status()
        lines = answer.iter_lines() if stream else iter((answer.read().decode(errors="replace"),))
        yield from ((line, None) for line in lines if not stream or line.startswith("data: "))


def by_openai(url: str, stream: bool, retries: int = 0, hooks: Mapping[str, Any] | None = None) -> Iterator[Piece]:
    http = openai.DefaultHttpxClient(event_hooks=hooks, timeout=PATIENCE)
    arguments: dict[str, Any] = {"model": QWEN, "messages": MESSAGES}
    with openai.OpenAI(base_url=f"{url}/yandex/v1", api_key="k", max_retries=retries, http_client=http) as client:
        if not stream:
            choice: Any = client.chat.completions.create(**arguments).choices[0]
            yield choice.message.content or "", choice.finish_reason
            return
        with client.chat.completions.create(**arguments, stream=True) as chunks:
            for chunk in chunks:
                for choice in chunk.choices:
                    yield choice.delta.content or "", choice.finish_reason
                if not chunk.choices:
                    yield "", None


def by_cerebras(url: str, stream: bool) -> Iterator[Piece]:
    arguments: dict[str, Any] = {"model": "llama3.1-8b", "prompt": PROMPT}
    with Cerebras(
        base_url=f"{url}/cerebras", api_key="k", timeout=PATIENCE, max_retries=0, warm_tcp_connection=False
    ) as client:
        if not stream:
            answer: Any = client.completions.create(**arguments)
            yield answer.choices[0].text, answer.choices[0].finish_reason
            return
        chunks: Any = client.completions.create(**arguments, stream=True)
        for chunk in chunks:
            yield chunk.choices[0].text or "", chunk.choices[0].finish_reason


def by_qstash(url: str, stream: bool) -> Iterator[Piece]:
    client = QStash("k", base_url=f"{url}/upstash", retry=False)
    with client.http._client as http:
        http.timeout = httpx.Timeout(PATIENCE)
        arguments: dict[str, Any] = {"model": "meta-llama/Meta-Llama-3-8B-Instruct"}
        answer: Any = client.chat.create(messages=MESSAGES, stream=stream, **arguments)
        if not stream:
            yield answer.choices[0].message.content, answer.choices[0].finish_reason
            return
        with answer as chunks:
            for chunk in chunks:
                yield chunk.choices[0].delta.content or "", chunk.choices[0].finish_reason


def by_friendli(url: str, stream: bool) -> Iterator[Piece]:
    once = RetryConfig("none", BackoffStrategy(1, 1, 1.0, 1), retry_connection_errors=False)
    body = models.CompletionsServerlessBodyWithPrompt(
        model="meta-llama/Llama-3.1-8B-Instruct", prompt=PROMPT, stream=stream
    )
    milliseconds = int(PATIENCE * 1000)
    with SyncFriendli(
        token="k", server_url=f"{url}/friendli", retry_config=once, timeout_ms=milliseconds, x_friendli_team="t"
    ) as client:
        answer: Any = client.serverless.completions.complete(serverless_completions_body=body)
        if not stream:
            yield answer.choices[0].text, answer.choices[0].finish_reason
            return
        with answer as events:
            for event in events:
                yield event.data.choices[0].text, event.data.choices[0].finish_reason


def by_yandex(url: str, stream: bool) -> Iterator[Piece]:
    studio = AIStudio(folder_id="folder", auth="AQVNk", service_map={"http_completions": f"{url}/yandex/v1/"})
    chat = studio.chat.completions("qwen3-235b-a22b-fp8")
    if not stream:
        result: Any = chat.run(PROMPT, timeout=PATIENCE)
        yield result.text or "", result.finish_reason.name.lower()
        return
    said = ""
    for part in chat.run_stream(PROMPT, timeout=PATIENCE):
        # Each part has all the text so far.
        text, reason = part.text or "", part.finish_reason.name.lower()
        yield text.removeprefix(said), None if reason in ("null", "usage") else reason
        said = text or said


CLIENTS: dict[str, Ask] = {
    "httpx": by_httpx,
    "openai": by_openai,
    "cerebras_cloud_sdk": by_cerebras,
    "qstash": by_qstash,
    "friendli": by_friendli,
    "yandex-ai-studio-sdk": by_yandex,
}


@dataclass(frozen=True)
class Heard:
    """What came of a request: pieces of text, why they ended, and the exception that ended them."""

    pieces: tuple[str, ...]
    reason: str | None = None
    error: str = ""

    @property
    def text(self) -> str:
        """All of the text."""
        return "".join(self.pieces)


def hear(ask: Ask, url: str, stream: bool) -> Heard:
    pieces: list[Piece] = []
    error = ""
    try:
        pieces.extend(ask(url, stream))
    except Exception as raised:
        error = _error_name(raised)
    reasons = [str(reason) for _, reason in pieces if reason is not None]
    return Heard(tuple(text for text, _ in pieces), reasons[-1] if reasons else None, error)


def _error_name(error: Exception) -> str:
    answer = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(answer, "status_code", None)
    return f"`{type(error).__name__}`" + (f" ({status})" if isinstance(status, int) else "")


def described(heard: Heard, well: Heard, stream: bool) -> str:
    """What a client has seen, against what it sees when all is well."""
    if heard == well:
        return "as ever"
    events = counted(len(heard.pieces), len(well.pieces))
    if heard.error:
        return f"{events}, then {heard.error}" if heard.pieces else heard.error
    what = "all of the text" if heard.text == well.text else "other text"
    if what == "other text" and well.text.startswith(heard.text):
        what = "less text" if heard.text else "no text"
    if heard.reason != well.reason:
        what += f", `{heard.reason}`" if heard.reason else ", no finish reason"
    unsaid = heard.reason in (well.reason, None) and what != "all of the text"
    return (f"**{what}, no error**" if unsaid else what) + (f", {events}" if stream else "")


def counted(count: int, usual: int) -> str:
    """How many events came, in words that hold for other texts too."""
    words = {usual: "all events", usual - 1: "one event missing", usual + 1: "one event more", 1: "1 event"}
    return words.get(count) or (f"{count} events" if count < 4 else "some of the events")


def tries(url: str, stream: bool) -> str:
    """How often openai's client asks when it is left to retry as it does by itself."""
    asked: list[object] = []
    hear(lambda url, stream: by_openai(url, stream, 2, {"request": [asked.append]}), url, stream)
    return str(len(asked))


# Faults that are told something, so that a client sees within its patience what they do.
TOLD = {
    "keep_alive": "seconds = 0.01",
    "drip": "bytes_per_second = 100000",
    "bandwidth": "bytes_per_second = 100000, piece = 64",
    "content_type": 'value = "text/html"',
}
ERRORS: tuple[str, ...] = (
    "rate_limit",
    "overloaded",
    "server_error",
    "unauthorized",
    "forbidden",
    "payment_required",
    "not_found",
)
ERRORS += ("context_length", "content_filter", "timeout")


def rows(stream: bool) -> Iterator[str]:
    """Every fault of such an answer, in the usual notation."""
    for name, kind in FAULTS.items():
        if kind.calls or (kind.streams and not stream):
            continue
        if name == "error":
            yield from (f'{{ kind = "error", error = "{error}" }}' for error in ERRORS)
            continue
        place = {"after_event": "after_event = 2", "after_token": "after_token = 3"}
        where = [place[key] for key in kind.places if key in place][:1] if stream or kind.says else []
        settings = [f'kind = "{name}"', *where, *([TOLD[name]] if name in TOLD else [])]
        yield f"{{ {', '.join(settings)} }}" if len(settings) > 1 else name


def table(server: MockServer, stream: bool, pool: ThreadPoolExecutor, known: Container[str]) -> Iterator[str]:
    """The lines of a table. A line that is not known is tried again, since a slow machine may make anybody wait."""
    space = f"{server.url}/ns/seen"
    for _ in range(TRIES):
        well = {name: hear(ask, space, stream) for name, ask in CLIENTS.items()}
        if all(heard.text and not heard.error for heard in well.values()):
            break
    else:
        raise AssertionError(f"all is not well without a fault: {well}")
    yield f"| fault | {' | '.join(CLIENTS)} | openai's tries |"
    yield f"| --- |{' --- |' * (len(CLIENTS) + 1)}"

    def line_of(fault: str) -> str:
        with faulted(server, fault) as url:
            for _ in range(TRIES if known else 1):
                line = f"| `{fault}` | {' | '.join(row(url, well, stream, pool))} |"
                if line in known:
                    break
        return line

    # Most of the time is spent waiting until the clients' patience has an end.
    with ThreadPoolExecutor(AT_ONCE) as lines:
        yield from lines.map(line_of, rows(stream))


@contextmanager
def faulted(server: MockServer, fault: str) -> Iterator[str]:
    """A base URL where every request has a fault: in a namespace of its own, or at a server of its own."""
    [read] = read_faults(fault)
    if FAULTS[read.kind].listens:
        failing = read_faults(f'{{ kind = "{read.kind}", for = 600 }}')
        with MockServer(Settings(port=0, latency="off", log_level="warning", fault=failing)) as closed:
            yield closed.url
    else:
        table = tomllib.loads(f"fault = {fault}")["fault"] if fault.startswith("{") else {"kind": fault}
        space = f"ns/seen-{next(_SPACES)}"
        armed = exchange(server.url, "POST", f"/_mockserver/{space}/faults", {**table, "name": "seen"})
        assert armed.status == 201, armed.body
        yield f"{server.url}/{space}"


def row(url: str, well: Mapping[str, Heard], stream: bool, pool: ThreadPoolExecutor) -> list[str]:
    """What each client sees, and how often openai's tries."""
    trying = pool.submit(tries, url, stream)
    heard = [(name, pool.submit(hear, ask, url, stream)) for name, ask in CLIENTS.items()]
    return [*(described(each.result(), well[name], stream) for name, each in heard), trying.result()]


@pytest.fixture
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """openai's client tries again at once, and Yandex' SDK, which leaves its HTTP client five seconds whatever it is
    told, waits no longer than the others."""
    for name in ("INITIAL_RETRY_DELAY", "MAX_RETRY_DELAY"):
        monkeypatch.setattr(f"openai._base_client.{name}", 0.0)
    impatient = {**vars(httpx), "AsyncClient": partial(httpx.AsyncClient, timeout=PATIENCE)}
    monkeypatch.setattr("yandex_ai_studio_sdk._client.httpx_", SimpleNamespace(**impatient))


HEAD = """# What clients see of each fault

Written by a test (`tests/clients/test_faults_seen.py`), which tries every pair and is red when one has changed. Every
client asks its own vendor's dialect with its usual settings, but for its patience: it waits {patience} s for something
to come. `httpx` asks Cerebras for the bare bytes, `openai` Yandex. Nobody retries but in the last column: how many
requests `openai` makes when it is left its usual two retries. (`yandex-ai-studio-sdk` gives up after five seconds
whatever it is told; the test makes it as impatient as the others.)

"as ever" means that the client has noticed nothing. What is bold is what an application must notice itself: text or
its ending is missing, and neither an error nor a finish reason says so. Faults of tool calls are left out, since nobody
calls a tool here.
"""


def page(server: MockServer, known: Container[str]) -> str:
    with ThreadPoolExecutor((len(CLIENTS) + 1) * AT_ONCE) as pool:
        plain, streamed = ("\n".join(table(server, stream, pool, known)) for stream in (False, True))
    head = HEAD.format(patience=PATIENCE)
    return f"{head}\n## A plain answer\n\n{plain}\n\n## A stream\n\n{streamed}\n"


@pytest.mark.filterwarnings("ignore")
def test_every_client_sees_every_fault_as_the_page_says(
    frozen_server: MockServer, impatience: None, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page(frozen_server, ()), encoding="utf-8")
    expected = PAGE.read_text(encoding="utf-8")
    assert page(frozen_server, expected.splitlines()) == expected
