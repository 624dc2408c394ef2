"""Questions: the requests that are measured, each as bytes."""

from typing import Any

from bench.load import Address
from bench.servers import ask, events_of
from bench.wire import NUMBER, request

PATH = "/cerebras/v1/completions"
# The number makes every prompt a new one where it is filled in; else it is a text like any other.
PROMPT = f"{NUMBER} " + "Explain how a suspension bridge carries its load. " * 6
# How many events of a stream come before its first token (an empty one, as the vendor sends it).
BEFORE = 1


def plain(tokens: int, **more: Any) -> bytes:
    """A completion of exactly so many tokens."""
    return request(PATH, _body(tokens) | more)


def stream(tokens: int, **more: Any) -> bytes:
    """The same as a stream."""
    return request(PATH, _body(tokens) | {"stream": True} | more)


def long_text(characters: int) -> str:
    """A prompt of so many characters, with a place for the number of the request and no two lines alike."""
    # A line has more than fifty characters.
    lines = (
        f"Line {n}: the bridge at {n * 37 % 1009} carries {n * 7919 % 100_003} tons, doesn't it?\n"
        for n in range(characters // 50 + 1)
    )
    return f"{NUMBER} {''.join(lines)}"[:characters]


def long(characters: int, tokens: int = 16) -> bytes:
    """A completion whose prompt has so many characters, of a model whose context has no bound."""
    return unbounded(long_text(characters), tokens)


def unbounded(prompt: str, tokens: int = 16) -> bytes:
    """A completion of a model whose context has no bound."""
    return request("/ovms/v3/completions", {"model": "llama3", "prompt": prompt, "max_tokens": tokens})


def bare_plain(tokens: int) -> bytes:
    """The plain question to the bare server."""
    return request("/plain", _body(tokens))


def bare_stream(tokens: int) -> bytes:
    """The stream's question to the bare server."""
    return request("/stream", _body(tokens) | {"stream": True})


def answers(address: Address, tokens: int) -> tuple[bytes, bytes]:
    """What the product answers, plain and streamed: the bytes that the bare server shall send."""
    return ask(address, plain(tokens)), events_of(ask(address, stream(tokens)))


def _body(tokens: int) -> dict[str, Any]:
    return {"model": "llama3.1-8b", "prompt": PROMPT, "max_tokens": tokens, "min_tokens": tokens}
