"""Clients that behave well or badly, each a small function, so that it is easy to see what it does right or wrong.

They sleep by the server's own clock, which is put forward for them, and so take no time.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from mockserver import Handle

BODY = {"model": "llama3.1-8b", "prompt": "Tell me about tides.", "max_tokens": 12}
PATH = "/cerebras/v1/completions"
CHAT = "/yandex/v1/chat/completions"
MODEL = "gpt://folder/qwen3-235b-a22b-fp8/latest"


@dataclass
class Wire:
    """What a client speaks through, and the clock that it sleeps by."""

    server: Handle
    headers: dict[str, str] = field(default_factory=lambda: {"authorization": "Bearer key-of-the-client"})
    timeout: float = 5.0

    def ask(
        self, body: dict[str, Any] | None = None, path: str = PATH, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """One request; status 0 when the connection broke."""
        with suppress(OSError, HTTPException), self.open(body, path, **headers) as answer:
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        return 0, {}, b""

    @contextmanager
    def open(self, body: dict[str, Any] | None = None, path: str = PATH, **headers: str) -> Iterator[HTTPResponse]:
        """One request, whose answer is to be read."""
        target = urlsplit(self.server.url)
        connection = HTTPConnection(target.hostname or "", target.port, timeout=self.timeout)
        sent = {**self.headers, "content-type": "application/json", "connection": "close", **headers}
        sent = {name.replace("_", "-"): value for name, value in sent.items()}
        connection.request("POST", target.path + path, json.dumps(body or BODY), sent)
        try:
            yield connection.getresponse()
        finally:
            connection.close()

    def sleep(self, seconds: float) -> None:
        """Sleep by the server's clock."""
        self.server.clock.advance(seconds)


Client = Callable[[Wire], object]


def retrying(waits: Iterable[float]) -> Client:
    """A client that tries again after each of these waits, until it has an answer."""

    def client(wire: Wire) -> object:
        for seconds in (*waits, None):
            status, _, _ = wire.ask()
            if status == 200 or seconds is None:
                return status
            wire.sleep(seconds)
        return None

    return client


def obedient(share: float = 1.0) -> Client:
    """A client that stays away for a share of what Retry-After asks for, however that is said."""

    def client(wire: Wire) -> object:
        for _ in range(4):
            status, headers, _ = wire.ask()
            if status == 200:
                return status
            wire.sleep(_asked(headers) * share)
        return None

    return client


def _asked(headers: dict[str, str]) -> float:
    if "retry-after-ms" in headers:
        return float(headers["retry-after-ms"]) / 1000
    text = headers["retry-after"]
    # The clock that the date was said by; a client's own would be the same.
    if not text.isdecimal():
        return parsedate_to_datetime(text).timestamp() - parsedate_to_datetime(headers["date"]).timestamp() + 1
    return float(text)


def counting(wire: Wire) -> object:
    """A client that says with each request that it is the first attempt."""
    return [wire.ask(x_stainless_retry_count="0")[0] for _ in range(3)]


def refreshing(wire: Wire) -> object:
    """A client that is refused for its key, and comes again with a new one."""
    wire.ask(authorization="Bearer old")
    return wire.ask(authorization="Bearer new")[0]


def shortening(wire: Wire) -> object:
    """A client that is refused for what it asked, and asks for less."""
    wire.ask()
    return wire.ask(BODY | {"max_tokens": 4})[0]


def falling_back(wire: Wire) -> object:
    """A client that asks another model when the first fails."""
    wire.ask()
    return wire.ask(BODY | {"model": "gpt-oss-120b"})[0]


def asking_thrice(wire: Wire) -> object:
    """A client that has the same question three times, and an answer each time."""
    return [wire.ask()[0] for _ in range(3)]


def streaming(wire: Wire) -> object:
    """A client that takes whatever a stream gives, however it ends."""
    with suppress(OSError, HTTPException), wire.open(BODY | {"stream": True}) as answer:
        return answer.read()
    return b""


def streaming_again(wire: Wire) -> object:
    """A client that asks again for a stream which did not come to its end."""
    streaming(wire)
    wire.sleep(0.3)
    return streaming(wire)


def cancelling(wire: Wire) -> object:
    """A client that leaves in the middle of a stream."""
    with wire.open(BODY | {"stream": True, "max_tokens": 60}) as answer:
        return answer.read(20)


def impatient(wire: Wire) -> object:
    """A client that waits for a short time only, and then tries again."""
    wire.timeout = 0.05
    wire.ask()
    wire.sleep(0.3)
    wire.timeout = 5.0
    return wire.ask()[0]


def tool_user(results: Callable[[str], str]) -> Client:
    """A client that answers each tool call with what a function makes of its arguments."""
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": parameters}}

    def client(wire: Wire) -> object:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "How is the weather in Oslo?"}]
        body = {"model": MODEL, "messages": messages, "tools": [tool]}
        said = json.loads(wire.ask(body, CHAT)[2])["choices"][0]["message"]
        messages.append({"role": "assistant", "content": "", "tool_calls": said["tool_calls"]})
        messages.extend(_results(said["tool_calls"], results))
        return wire.ask(body, CHAT)[0]

    return client


def _results(calls: Iterable[dict[str, Any]], results: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    for call in calls:
        yield {"role": "tool", "tool_call_id": call["id"], "content": results(call["function"]["arguments"])}


def checking(arguments: str) -> str:
    """What a careful client makes of a tool call: it looks at the arguments first."""
    try:
        return f"Sunny in {json.loads(arguments)['city']}"
    except (ValueError, KeyError) as error:
        return f"Error: {error!r}"


def trusting(arguments: str) -> str:
    """What a careless client makes of it."""
    return "Sunny, 20 degrees"
